"""FLAP: the link of the port under test goes down and comes up again, with and without a pause storm."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from ..lab.clock import wait_for
from ..lab.configuration import read_config
from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..lab.preflight import SETTLE_S
from ..lab.watchdog import DROP, Timers, Watchdog, watching
from ..model.arithmetic import share_percent
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.scenario import Scenario, Storm
from ..model.traffic import FlowPlan, FlowStats, Role
from ..record.case import PlanCase, Target
from ..record.verdict import Status
from . import storm_sequence as steps
from .checks import judge as judge_pauses, validity as pauses_validity
from .drops import PORTS as PORTS_COMMAND
from .engine import Finding, OldProcedure as Procedure, unmet
from .flap_checks import FlapRun, judge, validity
from .targets import all_lossless

logger = logging.getLogger(__name__)

QUIET = PlanCase("flap-without-storm", "FLAP-1")
IN_STORM = PlanCase("flap-in-storm", "FLAP-2")
SHUTDOWN = PlanCase("shutdown-in-storm", "FLAP-3")
TEST_PERCENT = BACKGROUND_PERCENT = 25
FRAME_BYTES = 1024
LEAD_S = 1.0  # storm before data, data before the link goes down
AFTER_S = 1  # data after the flap
LINK_DEADLINE_S = 60.0  # optics that train; a virtual link is there at once

Switch = Callable[[bool], None]  # takes the link down (False) or up (True)


@dataclass(frozen=True)
class Way:
    """How the link goes down: in a storm or not, by the switch's configuration or the generator's end of the link."""

    in_storm: bool
    by_switch: bool = False


WAYS: Mapping[PlanCase, Way] = {QUIET: Way(False), IN_STORM: Way(True), SHUTDOWN: Way(True, by_switch=True)}


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """The flap, and then PFC-1's steps, which must find the port as ever. Where the flap left it otherwise they would
    measure what is known already, and are left out."""
    flap = measure(lab, WAYS[case], target, before)
    invalid = validity(flap)
    found = [] if invalid else judge(flap)
    if invalid or any(check.status is not Status.PASS for check in found):
        return Finding(found, invalid, flap.evidence())
    later = steps.measure(lab, _afterwards(lab, case, target), flap.after)
    invalid = unmet(pauses_validity(later))
    evidence = {**flap.evidence(), "afterwards": later.evidence()}
    return Finding([] if invalid else [*found, *judge_pauses(later)], invalid, evidence, later.after)


CASES: Mapping[PlanCase, Procedure] = {case: Procedure(carry_out, all_lossless) for case in WAYS}


def _afterwards(lab: Lab, case: PlanCase, target: Target) -> Scenario:
    """PFC-1's (with several priorities PFC-2's) scenario, shorter and with the load of the flap."""
    others = tuple(priority for priority in lab.subject.qos.reachable if priority not in target)
    return Scenario(
        case, Storm.LOSSLESS, target, others, test_percent=TEST_PERCENT, background_percent=BACKGROUND_PERCENT,
        data_s=AFTER_S
    )


def measure(lab: Lab, way: Way, target: Target, before: DutCounters | None) -> FlapRun:
    """Traffic, the flap in it, and the same traffic after it.

    Raises:
        QualificationError: a step could not be done, or the link did not come up again. However this ends no traffic
            runs on, the link is told to be up, and the watchdog is stopped.
    """
    pair, traffic = lab.subject.pair, flap_traffic(lab, way, target)
    if before is None:
        lab.clock.sleep(lab.delays.port_s)
        before = lab.dut.counters()
    with watching(lab.dut, (pair.rx.port, pair.tx.port), lab.subject.qos.lossless) as watchdog:
        lab.generator.push(traffic)
        try:
            with _link(lab, way) as switch:
                watched = _watch(watchdog) if not way.in_storm else None
                sent, down, still_down = _flap(lab, traffic, switch)
            flows = _traffic_after(lab, traffic)
        finally:
            lab.generator.stop()
        lab.clock.sleep(lab.delays.port_s)
        after = watchdog.stop() if watched is not None else lab.dut.counters()
    return FlapRun(lab.subject, before, down, after, target, still_down, watched, sent, flows)


def _watch(watchdog: Watchdog) -> DutCounters:
    watchdog.start(Timers(DROP))
    return watchdog.counters()


def _flap(
    lab: Lab, traffic: Traffic, switch: Switch
) -> tuple[Mapping[str, FlowStats], DutCounters, DutCounters]:
    """Storm and data; the link goes down under them, they end while it is down, and it comes up again.

    Returns:
        What was sent until the link went down; and the counters of two moments while it is down: all that happened
        when it went down is in the first.
    """
    names = traffic.names(Role.STORM, Role.CLEAN)
    lab.generator.start(names)
    lab.clock.sleep(LEAD_S)
    sent = lab.generator.stats(names)
    switch(False)
    lab.clock.sleep(lab.delays.port_s)
    down = lab.dut.counters(also={"data": PORTS_COMMAND})
    lab.clock.sleep(lab.delays.port_s)
    still_down = lab.dut.counters(also={"data": PORTS_COMMAND})
    lab.generator.stop()
    switch(True)
    return sent, down, still_down


def _traffic_after(lab: Lab, traffic: Traffic) -> Mapping[str, FlowStats]:
    """Data without a storm, once the link is up."""
    names = traffic.names(Role.TEST, Role.BACKGROUND)
    lab.generator.push(traffic)  # hosts resolve their gateway anew
    lab.generator.start(names)
    lab.generator.run_out(names, AFTER_S)
    lab.clock.sleep(SETTLE_S)
    return lab.generator.stats(names)


@contextmanager
def _link(lab: Lab, way: Way) -> Iterator[Switch]:
    """What takes the link of the port under test down and up; it is up when the `with` block ends, however that is.

    Raises:
        QualificationError: it is not.
    """
    port = lab.subject.pair.rx.port
    if way.by_switch:
        _write_down(lab, port)

    is_up = True

    def switch(up: bool) -> None:
        nonlocal is_up
        is_up = False  # also where the order to bring it up gets lost
        logger.info("%s: the link goes %s", lab.subject.where(), "up" if up else "down")
        if way.by_switch:
            lab.dut.ask({"link": _guarded(lab, f"config interface {'startup' if up else 'shutdown'} {port}")})
        else:
            lab.generator.set_links([lab.builder.port_name(port)], up)
        is_up = up

    try:
        yield switch
    finally:
        if not is_up:
            switch(True)
    if not wait_for(lambda: _is_up(lab, port), LINK_DEADLINE_S, lab.clock):
        raise QualificationError(
            f"{lab.subject.where()}: expected the link up again within {LINK_DEADLINE_S:.0f} s after the flap, got down"
        )


def _is_up(lab: Lab, port: str) -> bool:
    state = lab.dut.counters().interfaces.get(port)
    return state is not None and state.oper_up and state.admin_up


def _write_down(lab: Lab, port: str) -> None:
    """The port's row goes into the lease before it changes, so that whoever finds the lease of a dead run brings it
    back."""
    lease = lab.dut.lease
    assert lease is not None, f"{lab.dut.name}: its configuration is changed without a lease"
    row = read_config(lab).get("PORT", {}).get(port)
    lease.rows = {**lease.rows, "PORT": {port: row, **lease.rows.get("PORT", {})}}
    lab.dut.ask({"rewrite": lease.rewrite()})


def _guarded(lab: Lab, command: str) -> str:
    """The command, for as long as the switch is this run's."""
    return command if lab.dut.lease is None else f"{{ {lab.dut.lease.held()}; }} && {command}"


def flap_traffic(lab: Lab, way: Way, target: Target) -> Traffic:
    """The storm, data that runs while the link goes down (role CLEAN, until it is stopped), and the same data for
    later."""
    name = lab.builder.named
    others = tuple(priority for priority in lab.subject.qos.reachable if priority not in target)
    flows = [steps.pause_storm(lab, target)] if way.in_storm else []
    for role, percent, priorities in (
        (Role.TEST, TEST_PERCENT, target), (Role.BACKGROUND, BACKGROUND_PERCENT, others)
    ):
        share = share_percent(percent, len(priorities))
        for priority in priorities:
            over, later = name(f"Data Prio {priority}"), name(f"Data After Prio {priority}")
            flows.append(FlowPlan(over, Role.CLEAN, priority, FRAME_BYTES, share))
            flows.append(FlowPlan(later, role, priority, FRAME_BYTES, share, seconds=AFTER_S))
    return lab.builder.build(flows)
