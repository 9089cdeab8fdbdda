"""FLAP: the link of the port under test goes down and comes up again, with and without a pause storm. Then PFC-1's
steps must find the port as ever."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..lab.clock import wait_for
from ..lab.configuration import RowRestorer, read_config, reservation_of
from ..lab.generator import SETTLE_S, Traffic
from ..lab.generator_ports import set_links
from ..lab.lab import Lab
from ..lab.watchdog import DROP, Timers, Watchdog
from ..model.checking import (
    at_port, at_priority, error_unless, everything_received, fail_unless, none_of, priority_of, sent_as_due,
)
from ..model.counters import DutCounters, changed
from ..model.errors import QualificationError
from ..model.measurement import NEVER_STORMED, CaseRun, Measurement
from ..model.scenario import Scenario, Storm
from ..model.traffic import Role, Stats
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from . import checks, storm_sequence
from .engine import Procedure, Table, sending, settled_counters, unmet
from .flows import DataLoad, data_flows
from .switch_counters import PORTS, port_counts
from .targets import all_lossless
from .validity import counters_kept, load_applied, storm_sent, watchdog_stopped
from .watchdog.actions import watching_pair

logger = logging.getLogger(__name__)

QUIET = PlanCase("flap-without-storm", "FLAP-1")
IN_STORM = PlanCase("flap-in-storm", "FLAP-2")
SHUTDOWN = PlanCase("shutdown-in-storm", "FLAP-3")
TEST_PERCENT = BACKGROUND_PERCENT = 25
FRAME_BYTES = 1024
LEAD_S = 1.0  # storm before data, data before the link goes down
AFTER_S = 1  # data after the flap
LINK_DEADLINE_S = 60.0  # optics that train; a virtual link is there at once
BEFORE, AFTER = "before the flap", "after the flap"
ALSO = {"data": PORTS}

Switch = Callable[[bool], None]  # takes the link down (False) or up (True)


@dataclass(frozen=True)
class LinkDown:
    """How the link goes down: in a storm or not, by the switch's configuration or the generator's end of the link."""

    in_storm: bool
    by_switch: bool = False


LINKS_DOWN: Mapping[PlanCase, LinkDown] = {
    QUIET: LinkDown(in_storm=False),
    IN_STORM: LinkDown(in_storm=True),
    SHUTDOWN: LinkDown(in_storm=True, by_switch=True),
}


@dataclass(frozen=True)
class FlapRun(CaseRun):
    """One flap; `during` was read while the link was down, when all that its going down caused had been counted. Flows
    are looked at before it (storm and data) and after it (the data that was sent when the link was up again).

    Attributes:
        still_down: the counters later on, the link still down.
        watched: the watchdog's statistics when it had been started; None: it was not.
    """

    still_down: DutCounters
    watched: DutCounters | None

    @property
    def port(self) -> str:
        """The port under test."""
        return self.subject.pair.rx.port

    def dropped(self, reading: DutCounters) -> int:
        """What the port had dropped on its way out."""
        return port_counts(reading.printed["data"], self.port).tx_dropped

    def storms(self) -> dict[str, int]:
        """Queue -> storms that the watchdog detected since it was started."""
        if self.watched is None:
            return {}
        before = self.watched.watchdog
        return {
            queue: row.detected - before.get(queue, NEVER_STORMED).detected
            for queue, row in self.after.watchdog.items()
        }

    def details(self) -> dict[str, Any]:
        """What was counted while the link was down, and later."""
        return {
            "tx_dropped_down": [self.dropped(self.during), self.dropped(self.still_down)],
            "pfc_received_after_the_flap": list(changed(self.still_down.pfc_rx, self.after.pfc_rx, self.port)),
            "storms_watched": self.storms(),
        }


@dataclass(frozen=True)
class FlapAndPauses:
    """A flap, and PFC-1's steps after it. Where the flap left the port otherwise than it was they would measure what is
    known already, and are left out (None)."""

    flap: FlapRun
    pauses: Measurement | None

    @property
    def settled(self) -> DutCounters | None:
        """The counters after the last step."""
        return None if self.pauses is None else self.pauses.after

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return self.flap.evidence() | ({} if self.pauses is None else {"afterwards": self.pauses.evidence()})


def measure(lab: Lab, case: PlanCase, target: Target, before: DutCounters) -> FlapAndPauses:
    """The flap, and if it was a measurement in which nothing was wrong, PFC-1's steps.

    Raises:
        QualificationError: a step could not be done, or the link did not come up again. However this ends no traffic
            runs on, the link is told to be up, and the watchdog is stopped.
    """
    flap = measure_flap(lab, LINKS_DOWN[case], target, before)
    if unmet([*flap_validity(flap), *judge_flap(flap)]):
        return FlapAndPauses(flap, None)
    return FlapAndPauses(flap, storm_sequence.measure(lab, _afterwards(lab, case, target), flap.after))


def _afterwards(lab: Lab, case: PlanCase, target: Target) -> Scenario:
    """PFC-1's (with several priorities PFC-2's) scenario, shorter and with the load of the flap."""
    return Scenario(
        case, Storm.LOSSLESS, target, lab.subject.qos.others(target), test_percent=TEST_PERCENT,
        background_percent=BACKGROUND_PERCENT, data_s=AFTER_S
    )


def measure_flap(lab: Lab, way: LinkDown, target: Target, before: DutCounters) -> FlapRun:
    """Traffic, the flap in it, and the same traffic after it."""
    traffic = flap_traffic(lab, way, target)
    with watching_pair(lab) as watchdog:
        with sending(lab, traffic):
            with _link(lab, way) as switch:
                watched = None if way.in_storm else _watch(watchdog)
                sent = _send_before(lab, traffic)
                switch(False)
                down = settled_counters(lab, also=ALSO)
                still_down = settled_counters(lab, also=ALSO)
                lab.generator.stop()
                switch(True)
            phases = {BEFORE: sent, AFTER: _send_after(lab, traffic)}
        lab.clock.sleep(lab.delays.port_s)
        after = lab.dut.counters() if watched is None else watchdog.stop()
    return FlapRun(lab.subject, before, down, after, target, phases, still_down, watched)


def _watch(watchdog: Watchdog) -> DutCounters:
    watchdog.start(Timers(DROP))
    return watchdog.counters()


def _send_before(lab: Lab, traffic: Traffic) -> Stats:
    """Storm and data, which run on."""
    names = traffic.names(Role.STORM, Role.CLEAN)
    lab.generator.start(names)
    lab.clock.sleep(LEAD_S)
    return lab.generator.stats(names)


def _send_after(lab: Lab, traffic: Traffic) -> Stats:
    """Data without a storm, once the link is up."""
    names = traffic.names(Role.TEST, Role.BACKGROUND)
    lab.generator.push(traffic)  # hosts resolve their gateway anew
    lab.generator.start(names)
    lab.generator.run_out(names, AFTER_S)
    lab.clock.sleep(SETTLE_S)
    return lab.generator.stats(names)


@contextmanager
def _link(lab: Lab, way: LinkDown) -> Iterator[Switch]:
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
            lab.dut.ask({"link": lab.dut.guarded(f"config interface {'startup' if up else 'shutdown'} {port}")})
        else:
            set_links(lab.generator, [lab.builder.port_name(port)], up)
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
    """The port's row is written down before it changes, so that it comes back also if this run dies."""
    reservation = reservation_of(lab)
    found = {"PORT": {port: read_config(lab).get("PORT", {}).get(port)}}
    RowRestorer(lab.dut.host, reservation).keep(found)
    lab.dut.ask({"write": reservation.write()})


def flap_traffic(lab: Lab, way: LinkDown, target: Target) -> Traffic:
    """The storm, data that runs while the link goes down (role CLEAN, until it is stopped), and the same data for
    later."""
    loads = (Role.TEST, TEST_PERCENT, target), (Role.BACKGROUND, BACKGROUND_PERCENT, lab.subject.qos.others(target))
    data = [DataLoad("Data", Role.CLEAN, priorities, percent, None, FRAME_BYTES) for _, percent, priorities in loads]
    data += [DataLoad("Data After", role, priorities, percent, AFTER_S, FRAME_BYTES)
             for role, percent, priorities in loads]
    storms = [storm_sequence.pause_storm(lab, target)] if way.in_storm else []
    return lab.builder.build([*storms, *data_flows(lab, data)])


def validity(run: FlapAndPauses) -> Iterator[Check]:
    """Whether the flap was a measurement, and what came after it."""
    yield from flap_validity(run.flap)
    if run.pauses is not None:
        yield from checks.validity(run.pauses)


def judge(run: FlapAndPauses) -> Iterator[Check]:
    """What the flap must leave, and what the storm after it must do."""
    yield from judge_flap(run.flap)
    if run.pauses is not None:
        yield from checks.judge(run.pauses)


def flap_validity(run: FlapRun) -> Iterator[Check]:
    """Whether the link flapped as it was meant to; storm and data ran when it went down; data was there after the flap,
    unless the switch held it: that is judged."""
    if run.watched is None:
        yield from watchdog_stopped(run)
    yield from _links(run)
    yield from counters_kept(run)
    yield from storm_sent(at_port(run.subject), run.flows(BEFORE, Role.STORM), 1)
    yield from load_applied(run.subject, run.flows(BEFORE, Role.CLEAN), run.pfc_sent(), BEFORE, [Role.CLEAN])
    pushed = changed(run.still_down.pfc_tx, run.after.pfc_tx, run.subject.pair.tx.port)
    for flow in run.flows(AFTER):
        yield sent_as_due(run.subject, flow, 0, pushed[priority_of(flow)] > 0, AFTER)


def judge_flap(run: FlapRun) -> Iterator[Check]:
    """What a flap must leave."""
    when = "once the link was up again, without a storm"
    test, background = (run.flows(AFTER, role) for role in (Role.TEST, Role.BACKGROUND))
    yield from everything_received("pause-ended-with-link", run.subject, test, when)
    yield from everything_received("flows-after-flap", run.subject, background, when)
    yield from _nothing_counted(run)
    yield from _no_storm(run)


def _nothing_counted(run: FlapRun) -> Iterator[Check]:
    """Frames for a port whose link is down are no frames that it dropped on their way out: they never came so far. And
    no pause arrives through a link that is down, or afterwards, when no storm runs."""
    place = at_port(run.subject)
    first = run.dropped(run.during)
    later = run.dropped(run.still_down)
    expected = f"TX_DRP of {first} as soon as all had settled and later on, while the link was down"
    yield fail_unless("tx-drop-while-down", place, first == later, expected, later)
    for priority, frames in enumerate(changed(run.during.pfc_rx, run.after.pfc_rx, run.port)):
        place = at_priority(run.subject, priority)
        yield none_of("no-pause-counted-after", place, "PFC frames received since the link went down", frames)


def _no_storm(run: FlapRun) -> Iterator[Check]:
    for queue, storms in sorted(run.storms().items()):
        port, _, priority = queue.partition(":")
        if port == run.port:
            place = at_priority(run.subject, int(priority))
            yield none_of("no-storm-detected", place, "storms detected around a flap without a storm", storms)


def _links(run: FlapRun) -> Iterator[Check]:
    """The link was up, then down for as long as it was meant to be, then up; the other one was never down."""
    moments = (("before", run.before, True), ("in", run.during, False), ("at the end of", run.still_down, False),
               ("after", run.after, True))
    for moment, reading, up in moments:
        for port, wanted in ((run.port, up), (run.subject.pair.tx.port, True)):
            state = reading.interfaces.get(port)
            seen = "up" if state is not None and state.oper_up else "down"
            expected = f"the link {'up' if wanted else 'down'} {moment} the flap"
            yield error_unless("link-flapped", at_port(run.subject, port), (seen == "up") == wanted, expected, seen)


CASES: Table = {case: Procedure(measure, validity, judge, all_lossless) for case in LINKS_DOWN}
