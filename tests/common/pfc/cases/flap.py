"""FLAP-1 to FLAP-4 and FLAP-8: the link of the port under test goes down and comes up again, with and without a pause
storm. Then PFC-1's steps must find the port as ever."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import Any

from ..lab.clock import wait_for
from ..lab.configuration import RowRestorer, read_config, reservation_of
from ..lab.counter_polling import POLL_GRACE_S
from ..lab.generator import SETTLE_S, Traffic
from ..lab.generator_ports import set_links
from ..lab.lab import Lab
from ..lab.restore import put_back_or_raise
from ..lab.watchdog import OPERATIONAL, STORMED, Watchdog
from ..model.arithmetic import MAX_QUANTA, storm_fps
from ..model.checking import (
    COUNTER, at_most, at_port, at_priority, at_queue, error_unless, everything_received, fail_unless, no_pause_sent,
    none_of, pauses_to_hold, priority_of, sent_as_due, storm_sent,
)
from ..model.counters import DutCounters, changed
from ..model.errors import QualificationError
from ..model.measurement import NEVER_STORMED, CaseRun
from ..model.qos import PRIORITIES
from ..model.response_time import response_seconds
from ..model.scenario import Scenario
from ..model.traffic import FlowStats, Role, Stats
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from . import checks, storm_sequence
from .engine import Table, sending, settled_counters, unmet, with_late_counts
from .data_loads import DataLoad, data_flows
from .parts import CasePart, RunInParts, in_parts
from .pauses import pause_lossless
from .storm_length import storm_held
from .switch_counters import PORTS, port_counts
from .targets import all_lossless
from .validity import counters_kept, load_applied, watchdog_stopped
from .watchdog.checks import DATA_S, lead_s, storm_unbroken
from .watchdog.steps import TIMERS, watching_pair
from .watchdog.watched import all_watched

logger = logging.getLogger(__name__)

QUIET = PlanCase("flap-without-storm", "FLAP-1")
IN_STORM = PlanCase("flap-in-storm", "FLAP-2")
SHUTDOWN = PlanCase("shutdown-in-storm", "FLAP-3")
UP_IN_STORM = PlanCase("link-up-in-storm", "FLAP-4")
WATCHED = PlanCase("flap-with-watchdog", "FLAP-8")
TEST_PERCENT = BACKGROUND_PERCENT = 25
FRAME_BYTES = 1024
LEAD_S = 1.0  # storm before data, data before the link goes down
AFTER_S = 1  # data after the flap
EDGE_FRAMES = 2  # on their way when a pause acts
LINK_DEADLINE_S = 60.0  # optics that train; a virtual link is there at once
UP_S = 3.0  # storm and data once the link is up and frames pass
LATE_UP_S = Fraction(1, 10)  # on hardware a generator's storm may go on so long after its link is up
BEFORE = "before the flap"
DOWN = "while the link was down"
UP = "when the link had come up"
DETECTED = "when the storm must have been detected under the link that had come up"
STILL = "while the storm went on under the link that had come up"
AFTER = "after the flap"
ALSO = {"data": PORTS}

Switch = Callable[[bool], None]  # takes the link down (False) or up (True)


@dataclass(frozen=True)
class LinkDown:
    """How the link goes down: in a storm or not, by the switch's configuration or the generator's end of the link;
    whether storm and data are still there when it comes up, and whether the watchdog runs, which must have detected
    the storm before. `words`: of a case with several flaps, which one this is."""

    in_storm: bool
    by_switch: bool = False
    comes_up_in_storm: bool = False
    watched: bool = False
    words: str = ""

    @property
    def lead_s(self) -> float:
        """How long storm and data run before the link goes down."""
        return lead_s(TIMERS) if self.in_storm and self.watched else LEAD_S


LINKS_DOWN: Mapping[PlanCase, tuple[LinkDown, ...]] = {
    QUIET: (LinkDown(in_storm=False, watched=True),),
    IN_STORM: (LinkDown(in_storm=True),),
    SHUTDOWN: (LinkDown(in_storm=True, by_switch=True),),
    UP_IN_STORM: (LinkDown(in_storm=True, comes_up_in_storm=True),),
    WATCHED: (
        LinkDown(in_storm=True, watched=True, words="the storm ended with the link"),
        LinkDown(in_storm=True, comes_up_in_storm=True, watched=True, words="the storm went on"),
    ),
}


@dataclass(frozen=True)
class FlapRun(CaseRun):
    """One flap; `during` was read while the link was down, when all that its going down caused had been counted. Flows
    are looked at before it (storm and data) and after it (the data that was sent when the link was up again); where
    they are still there when the link comes up, also while it is down, and then.

    Attributes:
        still_down: the counters later on, the link still down.
        quiet: the counters when the traffic before and in the flap had ended, the link up again.
        watched: the watchdog's statistics when it had been started; None: it was not.
        exact: whether flows go on at the instant at which their link comes up.
        in_storm: the counters in a storm that the watchdog must have detected: before the link went down; where the
            storm goes on, twice more when it has come up. None: no watchdog runs, or there is no storm.
    """

    still_down: DutCounters
    quiet: DutCounters
    watched: DutCounters | None
    exact: bool
    in_storm: tuple[DutCounters, ...] = field(default=(), kw_only=True)

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

    @property
    def comes_up_in_storm(self) -> bool:
        """Whether storm and data were still there when the link came up."""
        return UP in self.phases

    def gained(self, role: Role, since: str = DOWN, until: str = UP) -> list[FlowStats]:
        """What flows of a role sent and received between two moments: from when the link was down until it had been up
        for a while."""
        first = self.phases[since]
        return [
            replace(flow, frames_tx=flow.frames_tx - first[flow.plan.name].frames_tx,
                    frames_rx=flow.frames_rx - first[flow.plan.name].frames_rx)
            for flow in self.flows(until, role)
        ]

    @property
    def passed_s(self) -> Fraction:
        """For how long frames had passed since the link came up: by the data that nothing pauses."""
        free = [flow for flow in self.gained(Role.CLEAN) if priority_of(flow) not in self.tested]
        speed_mbps = self.subject.pair.tx.speed_mbps
        return max((flow.frames_rx / flow.plan.rate(speed_mbps) for flow in free), default=Fraction(0))

    @property
    def unpaused_s(self) -> Fraction:
        """How long after the link came up the first pause may act: the storm's frames come at their rate."""
        speed_mbps = self.subject.pair.speed_mbps
        first_s = Fraction(1, storm_fps(MAX_QUANTA, speed_mbps)) + response_seconds(speed_mbps)
        return first_s if self.exact else first_s + LATE_UP_S

    def details(self) -> dict[str, Any]:
        """What was counted while the link was down, and later."""
        return {
            "tx_dropped_down": [self.dropped(self.during), self.dropped(self.still_down)],
            "pfc_received_after_the_flap": list(changed(self.still_down.pfc_rx, self.after.pfc_rx, self.port)),
            "storms_watched": self.storms(),
        }


def measure(lab: Lab, target: Target, before: DutCounters, ways: Sequence[LinkDown]) -> RunInParts:
    """The flaps, and PFC-1's steps after them: nothing more where a flap was no measurement, or left something wrong,
    as that would measure what is known already.

    Raises:
        QualificationError: a step could not be done, or the link did not come up again. However this ends no traffic
            runs on, the link is told to be up, and the watchdog is stopped.
    """
    parts: list[CasePart[Any]] = []
    for way in ways:
        flap = with_late_counts(lab, measure_flap(lab, way, target, before), flap_validity, judge_flap)
        key = f"flap_{len(parts) + 1}" if parts else ""
        parts.append(CasePart(flap, flap_validity, judge_flap, key, way.words))
        if unmet([*flap_validity(flap), *judge_flap(flap)]):
            return RunInParts(tuple(parts), settled=None)
        before = flap.after
    pauses = storm_sequence.measure(lab, pfc_1_at_its_load(lab, target), before)
    pauses = with_late_counts(lab, pauses, checks.validity, checks.judge)
    afterwards = CasePart(pauses, checks.validity, checks.judge, "afterwards")
    return RunInParts((*parts, afterwards), pauses.after)


def pfc_1_at_its_load(lab: Lab, target: Target) -> Scenario:
    """PFC-1's (with several priorities PFC-2's) scenario, shorter and with the load of a flap."""
    scenario = pause_lossless(target, lab.subject.qos)
    return replace(scenario, test_percent=TEST_PERCENT, background_percent=BACKGROUND_PERCENT, data_s=AFTER_S)


def measure_flap(lab: Lab, way: LinkDown, target: Target, before: DutCounters) -> FlapRun:
    """Traffic, the flap in it, and the same traffic after it."""
    traffic = flap_traffic(lab, way, target)
    stormed: list[DutCounters] = []
    with watching_pair(lab) as watchdog:
        with sending(lab, traffic):
            with switched_link(lab, way.by_switch) as switch:
                watched = _watch(watchdog) if way.watched else None
                phases = {BEFORE: _send_before(lab, traffic, way.lead_s)}
                if way.in_storm and way.watched:
                    stormed.append(watchdog.counters())
                switch(False)
                down = settled_counters(lab, _settling_s(lab), ALSO)
                still_down = settled_counters(lab, also=ALSO)
                if way.comes_up_in_storm:
                    phases[DOWN] = lab.generator.stats(phases[BEFORE])
                else:
                    lab.generator.stop()
                switch(True)
            if way.comes_up_in_storm:
                phases[UP] = _stay_up(lab, target, phases[DOWN])
                if way.watched:
                    stormed += _stay_stormed(lab, watchdog, phases)
                lab.generator.stop()
            if stormed:
                lab.clock.sleep(TIMERS.latest_restoration_s + SETTLE_S)
            quiet = settled_counters(lab)
            phases[AFTER] = _send_after(lab, traffic)
        lab.clock.sleep(lab.delays.port_s)
        after = lab.dut.counters() if watched is None else watchdog.stop()
    return FlapRun(lab.subject, before, down, after, target, phases, still_down, quiet, watched, lab.clock.exact,
                   in_storm=tuple(stormed))


def _settling_s(lab: Lab) -> float:
    """How long after the link went down all is counted that came of it, also by a poll that comes late: the reading
    after this one must find nothing more."""
    return lab.delays.port_s + (0.0 if lab.clock.exact else POLL_GRACE_S)


def _watch(watchdog: Watchdog) -> DutCounters:
    watchdog.start(TIMERS)
    return watchdog.counters()


def _send_before(lab: Lab, traffic: Traffic, seconds: float) -> Stats:
    """Storm and data, which run on."""
    names = traffic.names(Role.STORM, Role.CLEAN)
    lab.generator.start(names)
    lab.clock.sleep(seconds)
    return lab.generator.stats(names)


def _stay_up(lab: Lab, target: Target, down: Stats) -> Stats:
    """Storm and data under the link that has come up, for a while from when frames pass; then their statistics."""
    free = [name for name, flow in down.items() if flow.plan.role is Role.CLEAN and priority_of(flow) not in target]

    def pass_again() -> bool:
        return any(flow.frames_rx > down[name].frames_rx for name, flow in lab.generator.stats(free).items())

    wait_for(pass_again, LINK_DEADLINE_S, lab.clock)
    lab.clock.sleep(UP_S)
    return lab.generator.stats(down)


def _stay_stormed(lab: Lab, watchdog: Watchdog, phases: dict[str, Stats]) -> list[DutCounters]:
    """The same storm and data once the storm must have been detected and all is counted that came of what was held
    until then, and a while later: the counters, twice."""
    counters = []
    for moment, seconds in ((DETECTED, _settling_s(lab)), (STILL, DATA_S + lab.delays.port_s)):
        lab.clock.sleep(seconds)
        counters.append(watchdog.counters())
        phases[moment] = lab.generator.stats(phases[UP])
    return counters


def _send_after(lab: Lab, traffic: Traffic) -> Stats:
    """Data without a storm, once the link is up."""
    names = traffic.names(Role.TEST, Role.BACKGROUND)
    lab.generator.push(traffic)  # hosts resolve their gateway anew
    lab.generator.start(names)
    lab.generator.run_out(names, AFTER_S)
    lab.clock.sleep(SETTLE_S)
    return lab.generator.stats(names)


@contextmanager
def switched_link(lab: Lab, by_switch: bool, at: str = "") -> Iterator[Switch]:
    """What takes the link of a port (empty: the port under test) down and up, at the switch's end or the generator's;
    when the `with` block ends, however that is, it is up, or QualificationError is raised."""
    port = at or lab.subject.pair.rx.port
    if by_switch:
        _write_down(lab, port)

    is_up = True

    def switch(up: bool) -> None:
        nonlocal is_up
        is_up = False  # also where the order to bring it up gets lost
        logger.info("%s: the link goes %s", lab.subject.where(port=port), "up" if up else "down")
        if by_switch:
            lab.dut.ask({"link": lab.dut.guarded(f"config interface {'startup' if up else 'shutdown'} {port}")})
        else:
            set_links(lab.generator, [lab.builder.port_name(port)], up)
        is_up = up

    try:
        yield switch
    finally:
        if not is_up and by_switch:
            put_back_or_raise(f"the link of {port}", partial(switch, True), reservation_of(lab), lab.clock)
        elif not is_up:
            switch(True)
    if not wait_for(lambda: _is_up(lab, port), LINK_DEADLINE_S, lab.clock):
        raise QualificationError(
            f"{lab.subject.where(port=port)}: expected the link up again within {LINK_DEADLINE_S:.0f} s after the "
            "flap, got down"
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
    down_s = _settling_s(lab) + lab.delays.port_s
    up_s = UP_S + (DATA_S + down_s if way.watched else 0.0)
    waits_s = 2 * LINK_DEADLINE_S + way.lead_s + up_s + down_s if way.comes_up_in_storm else 0.0
    storms = [storm_sequence.pause_storm(lab, target, waits_s)] if way.in_storm else []
    return lab.builder.build([*storms, *data_flows(lab, data)])


def flap_validity(run: FlapRun) -> Iterator[Check]:
    """Whether the link flapped as it was meant to; storm and data ran when it went down, and where they are meant to
    when it came up; data was there after the flap, unless the switch held it: that is judged."""
    if run.watched is None:
        yield from watchdog_stopped(run)
    yield from _links(run)
    yield from counters_kept(run)
    yield from storm_sent(at_port(run.subject), run.flows(BEFORE, Role.STORM), 1)
    yield from load_applied(run.subject, run.flows(BEFORE, Role.CLEAN), run.pfc_sent, BEFORE, [Role.CLEAN])
    if run.comes_up_in_storm:
        yield from came_up_in_storm(run)
    if STILL in run.phases:
        yield from stayed_stormed(run)
    pauses = changed(run.quiet.pfc_tx, run.after.pfc_tx, run.subject.pair.tx.port)
    for flow in run.flows(AFTER):
        held = pauses[priority_of(flow)] >= pauses_to_hold(run.subject, flow)
        yield sent_as_due(run.subject, flow, 0, held, AFTER)


def came_up_in_storm(run: FlapRun) -> Iterator[Check]:
    """Frames passed under the link that had come up, and the storm was there as long as they did: else it came later,
    and what passed before it says nothing of the switch."""
    place = at_port(run.subject)
    passed_s = run.passed_s
    seen = f"{float(passed_s):.3f} s"
    yield error_unless("frames-passed", place, passed_s > run.unpaused_s, "unpaused data under the link again", seen)
    due_s = passed_s if run.exact else passed_s - LATE_UP_S / 2
    fps = storm_fps(MAX_QUANTA, run.subject.pair.speed_mbps)
    yield from storm_sent(place, run.gained(Role.STORM), floor(fps * due_s * Fraction(99, 100)))


def stayed_stormed(run: FlapRun) -> Iterator[Check]:
    """The storm had no gap, and there was data in it, unless the switch held it: that is judged."""
    place = at_port(run.subject)
    yield from storm_unbroken(place, run.flows(STILL, Role.STORM))
    yield from storm_held(run, place, run.gained(Role.STORM, DETECTED, STILL), DATA_S)
    pauses = _sent_in_storm(run)
    for flow in run.gained(Role.CLEAN, DETECTED, STILL):
        met = flow.frames_tx > 0 or pauses[priority_of(flow)] > 0
        yield error_unless("load-applied", at_priority(run.subject, priority_of(flow)), met, f"data {STILL}", "none")


def _sent_in_storm(run: FlapRun) -> Sequence[int]:
    """The pauses for the sender while the watchdog acted under the link that had come up, by priority."""
    return changed(run.in_storm[1].pfc_tx, run.in_storm[2].pfc_tx, run.subject.pair.tx.port)


def judge_flap(run: FlapRun) -> Iterator[Check]:
    """What a flap must leave."""
    when = "once the link was up again, without a storm"
    test, background = (run.flows(AFTER, role) for role in (Role.TEST, Role.BACKGROUND))
    ended = "flows-after-flap" if run.comes_up_in_storm else "pause-ended-with-link"
    yield from everything_received(ended, run.subject, test, when)
    yield from everything_received("flows-after-flap", run.subject, background, when)
    if run.comes_up_in_storm and not run.in_storm:
        yield from held_from_the_first(run)
    yield from _nothing_counted(run)
    yield from nobody_held(run)
    yield from (detected_and_over(run) if run.in_storm else _no_storm(run))
    if STILL in run.phases:
        yield from dropped_again(run)


def held_from_the_first(run: FlapRun) -> Iterator[Check]:
    """Pauses under a link that has just come up hold as any others, and are counted."""
    received = changed(run.still_down.pfc_rx, run.after.pfc_rx, run.port)
    for flow in run.gained(Role.CLEAN):
        priority = priority_of(flow)
        if priority not in run.tested:
            continue
        place = at_priority(run.subject, priority)
        most = ceil(flow.plan.rate(run.subject.pair.tx.speed_mbps) * run.unpaused_s) + EDGE_FRAMES
        what = f"frames received in the {float(run.passed_s):.1f} s after the link came up in a storm"
        yield at_most("held-from-link-up", place, most, what, flow.frames_rx)
        expected = f"more than 0 {COUNTER} after the link came up in a storm"
        yield fail_unless("pause-counted-after", place, received[priority] > 0, expected, received[priority])


def _nothing_counted(run: FlapRun) -> Iterator[Check]:
    """Frames for a port whose link is down are no frames that it dropped on their way out: they never came so far. And
    no pause arrives through a link that is down, or afterwards, when no storm runs."""
    place = at_port(run.subject)
    first = run.dropped(run.during)
    later = run.dropped(run.still_down)
    expected = f"TX_DRP of {first} as soon as all had settled and later on, while the link was down"
    yield fail_unless("tx-drop-while-down", place, first == later, expected, later)
    last = run.still_down if run.comes_up_in_storm else run.after
    for priority, frames in enumerate(changed(run.during.pfc_rx, last.pfc_rx, run.port)):
        place = at_priority(run.subject, priority)
        yield none_of("no-pause-counted-after", place, "PFC frames received since the link went down", frames)


def nobody_held(run: FlapRun) -> Iterator[Check]:
    """No sender is paused for a port whose link is down, nor afterwards, when no storm runs. Frames that wait when the
    link goes down may bring a pause until they are dropped: by the first reading they are. Where time is exact and no
    storm ran nothing waits."""
    tx = run.subject.pair.tx.port
    lossless = run.subject.qos.lossless
    yield from no_pause_sent("no-other-back-pressure", run, (one for one in PRIORITIES if one not in lossless))
    if not run.exact and _is_any_slower(run):
        return
    first = run.before if run.exact and run.watched is not None and not run.in_storm else run.during
    last = run.still_down if run.comes_up_in_storm else run.after
    sent = changed(first.pfc_tx, last.pfc_tx, tx)
    for priority in lossless:
        what = f"PFC frames sent out of {tx} for a port whose link is down, or was"
        yield none_of("no-pause-sent-after", at_priority(run.subject, priority, tx), what, sent[priority])


def _is_any_slower(run: FlapRun) -> bool:
    """Whether the switch has a slower port: it may flood frames for a port that is down, and there they are too many,
    so that their sender is rightly paused."""
    speed_mbps = run.subject.pair.speed_mbps
    return any(port.oper_up and port.speed_mbps < speed_mbps for port in run.during.interfaces.values())


def _no_storm(run: FlapRun) -> Iterator[Check]:
    for queue, storms in sorted(run.storms().items()):
        if queue.startswith(f"{run.port}:"):
            place = at_queue(run.subject, queue)
            yield none_of("no-storm-detected", place, "storms detected around a flap without a storm", storms)


def detected_and_over(run: FlapRun) -> Iterator[Check]:
    """The watchdog has the queues in storm before the flap, and when the storm goes on under the link that has come up:
    it may have been over meanwhile, and detected again. Once it is over they work again."""
    for priority in run.tested:
        place = at_priority(run.subject, priority)
        queue = f"{run.port}:{priority}"
        for reading, when in zip(run.in_storm, (BEFORE, DETECTED, STILL)):
            status = reading.watchdog.get(queue, NEVER_STORMED).status
            yield fail_unless("storm-detected", place, status == STORMED, f"the queue {STORMED} {when}", status)
        status = run.after.watchdog.get(queue, NEVER_STORMED).status
        expected = f"the queue {OPERATIONAL} after storm and flap"
        yield fail_unless("restored", place, status == OPERATIONAL, expected, status)


def dropped_again(run: FlapRun) -> Iterator[Check]:
    """The action is on the queues under a link that has come up in the storm, as before: nothing gets out, and nobody
    is held, unless frames may be flooded to a slower port."""
    tx = run.subject.pair.tx.port
    pauses = _sent_in_storm(run)
    for flow in run.gained(Role.CLEAN, DETECTED, STILL):
        priority = priority_of(flow)
        if priority not in run.tested:
            continue
        yield none_of("dropped-in-storm", at_priority(run.subject, priority), f"frames received {STILL}",
                      flow.frames_rx)
        if run.exact or not _is_any_slower(run):
            yield none_of("no-back-pressure", at_priority(run.subject, priority, tx),
                          f"PFC frames sent out of {tx} {STILL}", pauses[priority])


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


CASES: Table = {
    case: in_parts(partial(measure, ways=ways), all_watched if case is WATCHED else all_lossless)
    for case, ways in LINKS_DOWN.items()
}
