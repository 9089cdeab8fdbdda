"""WD-1 to WD-3 and WD-9: what the watchdog's actions do to the traffic of a port in a pause storm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...lab.generator import Traffic
from ...lab.lab import Lab
from ...lab.preflight import SETTLE_S
from ...lab.watchdog import DROP, FORWARD, Timers, Watchdog, watching
from ...model.checking import at_priority, fail_unless, flows_of, least_load, priority_of
from ...model.counters import DutCounters
from ...model.deviations import drops_what_comes_in
from ...model.errors import QualificationError
from ...model.measurement import PortUnderTest
from ...model.ports import PortPair
from ...model.traffic import FlowPlan, FlowStats, Role
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..engine import Finding, OldProcedure as Procedure
from ..flows import RESUMED, DataLoad, again, data_flows
from ..storm_sequence import pause_storm
from ..targets import all_lossless, faster_port, first_lossless, several_lossless
from .checks import Stats, WatchdogRun, all_received, background, detected, invalid, no_back_pressure, restored, way

DATA_S = 2
FRAME_BYTES = 1024
TOWARDS_PERCENT, BACK_PERCENT = 45, 25  # of the line: all test (background) flows of one direction together
FAST_PERCENT = 60  # of the line of a faster port: test traffic in the storm, more than the port under test could send

DROP_SINGLE = PlanCase("watchdog-drop-single", "WD-1")
DROP_SEVERAL = PlanCase("watchdog-drop-several", "WD-2")
FORWARD_ALL = PlanCase("watchdog-forward", "WD-3")
MIXED_SPEED = PlanCase("watchdog-mixed-speed", "WD-9")


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """A storm without data; when it must have been detected, data both ways; after restoration the same again."""
    pair, timers = lab.subject.pair, Timers(FORWARD if case is FORWARD_ALL else DROP)
    before = settled(lab, target, before)
    storm = pause_storm(lab, target, timers.latest_detection_s + SETTLE_S + DATA_S + lab.delays.port_s)
    traffic = lab.builder.build([storm, *watched_flows(lab, target, timers)])
    lab.generator.push(traffic)
    with watching(lab.dut, (pair.rx.port, pair.tx.port), lab.subject.qos.lossless) as watchdog:
        watchdog.start(timers)
        try:
            phases, during, after = storm_and_again(lab, traffic, watchdog, timers)
        finally:
            lab.generator.stop()
    run = WatchdogRun(
        lab.subject, before, during, after, target, timers, watchdog.queues, storm_s(timers), phases
    )
    wrong = invalid(run)
    return Finding([] if wrong else list(judge(run)), wrong, run.evidence(), run.last_counters())


def carry_out_from_faster(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """The same with a faster tx port.

    Raises:
        QualificationError: there is none.
    """
    faster = faster_port(lab.subject)
    if faster is None:
        raise QualificationError(f"{lab.subject.where()}: {case.plan_id} needs {NEEDS_FASTER}")
    subject = replace(lab.subject, pair=PortPair(lab.subject.pair.rx, faster))
    return carry_out(replace(lab, subject=subject), case, target, before)


def _all_from_faster(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities, where data may enter by a faster port."""
    return [subject.qos.lossless] if faster_port(subject) else []


NEEDS_FASTER = "a port for data to enter by that is faster than the port under test, on another traffic generator"
CASES: Mapping[PlanCase, Procedure] = {
    DROP_SINGLE: Procedure(carry_out, first_lossless),
    DROP_SEVERAL: Procedure(carry_out, several_lossless, "several lossless priorities"),
    FORWARD_ALL: Procedure(carry_out, all_lossless),
}
MIXED_CASES: Mapping[PlanCase, Procedure] = {
    MIXED_SPEED: Procedure(carry_out_from_faster, _all_from_faster, NEEDS_FASTER),
}


def settled(lab: Lab, target: Target, before: DutCounters | None) -> DutCounters:
    """Counters with everything in them that came before.

    Raises:
        QualificationError: no DSCP value reaches a priority that is to be tested.
    """
    qos = lab.subject.qos
    for priority in target:
        if priority not in qos.dscps:
            raise QualificationError(
                f"{qos.where(priority)}: no DSCP value reaches it, DSCP_TO_TC_MAP|{qos.dscp_map} leads to"
                f" {list(qos.reachable)} only"
            )
    if before is None:
        lab.clock.sleep(lab.delays.port_s)
        before = lab.dut.counters()
    return before


def watched_flows(lab: Lab, target: Target, timers: Timers) -> list[FlowPlan]:
    """Test flows of these priorities and background of every other one, towards the port under test and back, once a
    storm must have been detected; and the same again for the time after it. From a faster port more test traffic enters
    than could leave, and none goes back: after the storm as much is sent as can leave."""
    others = tuple(other for other in lab.subject.qos.reachable if other not in target)
    rx, tx = lab.subject.pair.rx, lab.subject.pair.tx
    fitting = TOWARDS_PERCENT * rx.speed_mbps // tx.speed_mbps

    def towards(name: str, role: Role, priorities: Target, percent: float) -> DataLoad:
        return DataLoad(name, role, priorities, percent, DATA_S, FRAME_BYTES, (), lead_s(timers), tx.port, rx.port)

    def back(name: str, role: Role, priorities: Target) -> DataLoad:
        return DataLoad(name, role, priorities, BACK_PERCENT, DATA_S, FRAME_BYTES, (), lead_s(timers), rx.port, tx.port)

    background = towards("Background Flow", Role.BACKGROUND, others, fitting)
    if tx.speed_mbps == rx.speed_mbps:
        flows = data_flows(lab, [
            background, towards("Test Flow", Role.TEST, target, fitting), back("Test Back Flow", Role.TEST, target),
            back("Background Back Flow", Role.BACKGROUND, others),
        ])
        return [*flows, *again(flows)]
    flows = data_flows(lab, [background, towards("Test Flow", Role.TEST, target, FAST_PERCENT)])
    after = data_flows(lab, [background, towards("Test Flow", Role.TEST, target, fitting)])
    return [*flows, *again(after)]


def even_flows(lab: Lab, target: Target, percent: float, seconds: float) -> list[FlowPlan]:
    """Test flows of these priorities and background of all others, `percent` of the line each, towards the port under
    test."""
    others = tuple(other for other in lab.subject.qos.reachable if other not in target)
    return data_flows(lab, [
        DataLoad("Test Flow", Role.TEST, target, percent, seconds, FRAME_BYTES),
        DataLoad("Background Flow", Role.BACKGROUND, others, percent, seconds, FRAME_BYTES),
    ])


def lead_s(timers: Timers) -> float:
    """Seconds from a storm's start to the data in it: it must have been detected."""
    return timers.latest_detection_s + SETTLE_S


def storm_s(timers: Timers) -> float:
    """Seconds that a storm lasts at least when frames are counted in it."""
    return lead_s(timers) + DATA_S


def storm_and_again(
    lab: Lab, traffic: Traffic, watchdog: Watchdog, timers: Timers
) -> tuple[dict[str, Stats], DutCounters, DutCounters]:
    """The storms of a configuration, data in them, their end, and data again.

    Returns:
        The statistics by phase; the counters in the storms, and in the end, when the watchdog has been stopped.
    """
    storms = traffic.names(Role.STORM)
    data = traffic.names(Role.TEST, Role.BACKGROUND)
    lab.generator.start([*storms, *data])
    lab.clock.sleep(max(traffic.flows[name].delay_ns for name in data) / 1e9)
    lab.generator.run_out(data, DATA_S)
    lab.clock.sleep(lab.delays.port_s)
    stormed, during = lab.generator.stats([*storms, *data]), watchdog.counters()
    lab.generator.stop(storms)
    lab.clock.sleep(timers.latest_restoration_s + SETTLE_S)
    over = lab.generator.stats(storms)
    resumed = send_again(lab, traffic)
    lab.clock.sleep(lab.delays.port_s)
    return {"stormed": stormed, "over": over, "resumed": lab.generator.stats(resumed)}, during, watchdog.stop()


def send_again(lab: Lab, traffic: Traffic) -> list[str]:
    """Sends the data of the time after the storms, until it ends; returns the names of its flows."""
    names = traffic.names(phase=RESUMED)
    lab.generator.start(names)
    lab.generator.run_out(names, DATA_S)
    return names


def judge(run: WatchdogRun) -> Iterator[Check]:
    """All checks of a run that was a measurement."""
    yield from detected(run)
    yield from _acted(run)
    yield from background(run)
    yield from no_back_pressure(run)
    yield from restored(run)
    yield from _frames_counted(run)
    yield from all_received("resumed", run, run.phases["resumed"].values(), "after the storm")


def _acted(run: WatchdogRun) -> Iterator[Check]:
    """`drop`: no frame of a stormed priority gets out by the port or in; `forward`: all do. The sender is not held."""
    for flow in flows_of(run.phases["stormed"].values(), Role.TEST):
        place, least = at_priority(run.subject, priority_of(flow)), least_load(run.subject, flow.plan)
        if is_dropped(run, flow):
            expected = f"0 frames {way(run, flow)} received in the storm"
            yield fail_unless("dropped-in-storm", place, flow.frames_rx == 0, expected, flow.frames_rx)
        else:
            yield from all_received("forwarded-in-storm", run, [flow], "in the storm")
        expected = f"at least {least} frames {way(run, flow)} sent in the storm"
        yield fail_unless("sender-not-held", place, flow.frames_tx >= least, expected, flow.frames_tx)


def is_dropped(run: WatchdogRun, flow: FlowStats) -> bool:
    """Whether the action has to drop a test flow: one that leaves by the port under test, or comes in there."""
    rx = run.subject.pair.rx.port
    comes_in = flow.plan.enters == rx and drops_what_comes_in(run.subject.asic)
    return run.timers.action == DROP and (flow.plan.leaves == rx or comes_in)


def _frames_counted(run: WatchdogRun) -> Iterator[Check]:
    """Each frame of the stormed priorities in the storm was counted: as sent or dropped by the queue, or as taken or
    dropped where it came in. No other frame was; so these numbers are exact."""
    for flow in flows_of(run.phases["stormed"].values(), Role.TEST):
        priority = priority_of(flow)
        row = run.gained(run.queue(priority), run.after.watchdog)
        comes_in = flow.plan.enters == run.subject.pair.rx.port
        seen = (row.rx_ok, row.rx_dropped) if comes_in else (row.tx_ok, row.tx_dropped)
        due = (0, flow.frames_tx) if is_dropped(run, flow) else (flow.frames_tx, 0)
        expected = f"{due[0]}/{due[1]} in `pfcwd show stats` {'RX' if comes_in else 'TX'} OK/DROP"
        met = seen == due
        yield fail_unless("frames-counted", at_priority(run.subject, priority), met, expected, f"{seen[0]}/{seen[1]}")
