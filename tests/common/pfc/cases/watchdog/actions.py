"""WD-1 to WD-3, WD-9 and WD-11: what the watchdog's actions do to the traffic of a port in a pause storm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from ...lab.generator import SETTLE_S, Traffic
from ...lab.lab import Lab
from ...lab.watchdog import DROP, FORWARD, Timers, Watchdog, watching
from ...model.checking import at_priority, fail_unless, priority_of
from ...model.counters import DutCounters
from ...model.ports import PortPair
from ...model.traffic import FlowPlan, Role, Stats
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..engine import Procedure, Table, sending
from ..data_loads import DataLoad, data_flows
from ..flows import RESUMED, again
from ..ingress import faster_port
from ..storm_sequence import pause_storm
from .checks import (
    DATA_S, FRAME_BYTES, WatchdogRun, acted, detected, is_dropped, lead_s, no_other_storm, restored, validity,
    works_again,
)
from .early import early_flows, early_frames
from .watched import all_watched, all_watched_changing, all_watched_forwarding, each_watched, several_watched

TOWARDS_PERCENT = 45  # of the line: all test (background) flows towards the port under test together
BACK_PERCENT = 25  # the same of those that come back
FAST_PERCENT = 60  # of the line of a faster port: test traffic in the storm, more than the port under test could send

DROP_SINGLE = PlanCase("watchdog-drop-single", "WD-1")
DROP_SEVERAL = PlanCase("watchdog-drop-several", "WD-2")
FORWARD_ALL = PlanCase("watchdog-forward", "WD-3")
MIXED_SPEED = PlanCase("watchdog-mixed-speed", "WD-9")
ACTION_CHANGED = PlanCase("watchdog-action-changed", "WD-11")

NEEDS_FASTER = "a port for data to enter by that is faster than the port under test, on another traffic generator"


def watching_pair(lab: Lab) -> AbstractContextManager[Watchdog]:
    """The watchdog of the port under test and the tx port: `watching`."""
    pair = lab.subject.pair
    return watching(lab.dut, (pair.rx.port, pair.tx.port), lab.subject.qos.lossless)


def storm_then_data(
    lab: Lab, case: PlanCase, target: Target, before: DutCounters, action: str = DROP, first: str = ""
) -> WatchdogRun:
    """A storm without data, or with as little as its detection needs; when it must have been detected, data both ways;
    after restoration the same again. The watchdog begins with the action `first` (empty: the same one) and ten times
    as long, and gets the other action and times while it runs, before the storm.
    """
    lab.subject.qos.check_reached(target)
    timers = Timers(action)
    storm = pause_storm(lab, target, lead_s(timers) + DATA_S + lab.delays.port_s)
    traffic = lab.builder.build([storm, *early_flows(lab, target), *watched_flows(lab, target, timers)])
    with watching_pair(lab) as watchdog, sending(lab, traffic):
        if first:
            longer = {"detection_ms": 10 * timers.detection_ms, "restoration_ms": 10 * timers.restoration_ms}
            watchdog.start(replace(timers, action=first, **longer))
            lab.clock.sleep(SETTLE_S)
            watchdog.start_over(timers)
        else:
            watchdog.start(timers)
        return storms_and_again(lab, traffic, watchdog, timers, target, before)


def from_faster(lab: Lab, case: PlanCase, target: Target, before: DutCounters) -> WatchdogRun:
    """The same with a faster tx port."""
    faster = faster_port(lab.subject)
    assert faster is not None, f"{case.plan_id} is carried out where a faster port is"
    subject = replace(lab.subject, pair=PortPair(lab.subject.pair.rx, faster))
    return storm_then_data(replace(lab, subject=subject), case, target, before)


def watched_flows(lab: Lab, target: Target, timers: Timers) -> list[FlowPlan]:
    """Test flows of these priorities and background of every other one, towards the port under test and back, once a
    storm must have been detected; and the same again for the time after it. From a faster port more test traffic enters
    than could leave, and none goes back: after the storm as much is sent as can leave."""
    others = lab.subject.qos.others(target)
    rx = lab.subject.pair.rx
    tx = lab.subject.pair.tx
    fitting = TOWARDS_PERCENT * rx.speed_mbps // tx.speed_mbps

    def load(name: str, role: Role, percent: int, enters: str = tx.port, leaves: str = rx.port) -> DataLoad:
        priorities = target if role is Role.TEST else others
        return DataLoad(name, role, priorities, percent, DATA_S, FRAME_BYTES, (), lead_s(timers), enters, leaves)

    test = load("Test Flow", Role.TEST, fitting)
    background = load("Background Flow", Role.BACKGROUND, fitting)
    if tx.speed_mbps == rx.speed_mbps:
        test_back = load("Test Back Flow", Role.TEST, BACK_PERCENT, rx.port, tx.port)
        background_back = load("Background Back Flow", Role.BACKGROUND, BACK_PERCENT, rx.port, tx.port)
        flows = data_flows(lab, [background, test, test_back, background_back])
        return [*flows, *again(flows)]
    too_much = replace(test, percent=FAST_PERCENT)
    return [*data_flows(lab, [background, too_much]), *again(data_flows(lab, [background, test]))]


def even_flows(lab: Lab, target: Target, percent: float, seconds: float) -> list[FlowPlan]:
    """Test flows of these priorities and background of all others, `percent` of the line each, towards the port under
    test."""
    return data_flows(lab, [
        DataLoad("Test Flow", Role.TEST, target, percent, seconds, FRAME_BYTES),
        DataLoad("Background Flow", Role.BACKGROUND, lab.subject.qos.others(target), percent, seconds, FRAME_BYTES),
    ])


def storms_and_again(
    lab: Lab, traffic: Traffic, watchdog: Watchdog, timers: Timers, target: Target, before: DutCounters
) -> WatchdogRun:
    """The storms of a configuration that was pushed, on `target`; data in them, their end, and data again. The watchdog
    runs with these times, and is stopped in the end."""
    stormed = data_in_storms(lab, traffic)
    during = watchdog.counters()
    phases = {"stormed": stormed, "over": storms_over(lab, traffic, timers), "resumed": data_again(lab, traffic)}
    return WatchdogRun(lab.subject, before, during, watchdog.stop(), target, phases, timers, watchdog.queues)


def data_in_storms(lab: Lab, traffic: Traffic, phase: str = "") -> Stats:
    """The storms of a phase, with their early data, and its data; their statistics when the data has ended and the
    switch's counters have it too."""
    storms = traffic.names(Role.STORM, Role.CLEAN, phase=phase)
    data = traffic.names(Role.TEST, Role.BACKGROUND, phase=phase)
    lab.generator.start([*storms, *data])
    lab.clock.sleep(max(traffic.flows[name].delay_ns for name in data) / 1e9)
    lab.generator.run_out(data, DATA_S)
    lab.clock.sleep(lab.delays.port_s)
    return lab.generator.stats([*storms, *data])


def storms_over(lab: Lab, traffic: Traffic, timers: Timers) -> Stats:
    """Stops all storms; their statistics, and those of the test data, when all queues must have been restored."""
    storms = traffic.names(Role.STORM)
    end_storms(lab, storms, timers)
    return lab.generator.stats([*storms, *traffic.names(Role.TEST)])


def end_storms(lab: Lab, storms: Sequence[str], timers: Timers) -> None:
    """Stops storms, and waits until their queues must have been restored."""
    lab.generator.stop(storms)
    lab.clock.sleep(timers.latest_restoration_s + SETTLE_S)


def data_again(lab: Lab, traffic: Traffic) -> Stats:
    """The data of the time after the storms; its statistics when it has ended and the switch's counters have it too."""
    names = traffic.names(phase=RESUMED)
    lab.generator.start(names)
    lab.generator.run_out(names, DATA_S)
    lab.clock.sleep(lab.delays.port_s)
    return lab.generator.stats(names)


def judge(run: WatchdogRun) -> Iterator[Check]:
    """All checks of a run that was a measurement."""
    yield from detected(run)
    yield from no_other_storm(run)
    yield from acted(run)
    yield from restored(run)
    yield from _frames_counted(run)
    yield from works_again(run)


def _frames_counted(run: WatchdogRun) -> Iterator[Check]:
    """Each frame of the stormed priorities in the storm was counted: as sent or dropped by the queue, or as taken or
    dropped where it came in; of the last storm and of all. No other frame was, so these numbers are exact, but for
    those that the storm began with: what becomes of them on its detection is not said anywhere."""
    tolerances = run.subject.tolerances
    for flow in run.flows("stormed", Role.TEST):
        place = at_priority(run.subject, priority_of(flow))
        row = run.gained(run.queue(priority_of(flow)), run.after)
        comes_in = flow.plan.enters == run.subject.pair.rx.port
        if comes_in:
            counted = {"RX OK/DROP": (row.rx_ok, row.rx_dropped), "RX LAST OK/DROP": row.last[2:]}
        else:
            counted = {"TX OK/DROP": (row.tx_ok, row.tx_dropped), "TX LAST OK/DROP": row.last[:2]}
        due = (0, flow.frames_tx) if is_dropped(run, flow) else (flow.frames_tx, 0)
        early = 0 if comes_in else early_frames(run.subject)
        or_more = f", up to {early} more of each" if early else ""
        for column, seen in counted.items():
            met = all(tolerances.alike(one, min(max(one, least), least + early))
                      for least, one in zip(due, seen, strict=True))
            expected = f"{due[0]}/{due[1]}{tolerances.more_or_less} in `pfcwd show stats` {column}{or_more}"
            yield fail_unless("frames-counted", place, met, expected, f"{seen[0]}/{seen[1]}")


CASES: Table = {
    DROP_SINGLE: Procedure(storm_then_data, validity, judge, each_watched),
    DROP_SEVERAL: Procedure(storm_then_data, validity, judge, several_watched),
    FORWARD_ALL: Procedure(partial(storm_then_data, action=FORWARD), validity, judge, all_watched_forwarding),
    MIXED_SPEED: Procedure(from_faster, validity, judge, all_watched.where(faster_port, NEEDS_FASTER)),
    ACTION_CHANGED: Procedure(partial(storm_then_data, first=FORWARD), validity, judge, all_watched_changing),
}
