"""WD-6 and WD-7: three ports that all send to each other, storms on two of them, and the watchdog on all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations

from ...lab.generator import Traffic
from ...lab.lab import Lab
from ...lab.preflight import SETTLE_S
from ...lab.watchdog import DROP, FORWARD, OPERATIONAL, STORMED, Timers, Watchdog, watching
from ...model.checking import Place, at_port, at_priority, fail_unless, flows_of, least_load, priority_of
from ...model.counters import DutCounters
from ...model.measurement import NEVER_STORMED, PortUnderTest
from ...model.traffic import FlowPlan, Role
from ...record.case import PlanCase, Target
from ...record.verdict import LOSSLESS, Check
from ..engine import Finding, OldProcedure as Procedure
from ..flows import DataLoad, again, data_flows
from ..storm_sequence import pause_storm
from ..targets import equal_ports
from .actions import DATA_S, FRAME_BYTES, is_dropped, lead_s, send_again, settled, storm_s
from .checks import Stats, WatchdogRun, all_received, background, invalid, no_back_pressure, way

DROP_ALL_TO_ALL = PlanCase("watchdog-drop-all-to-all", "WD-6")
FORWARD_ALL_TO_ALL = PlanCase("watchdog-forward-all-to-all", "WD-7")


@dataclass(frozen=True)
class Loads:
    """Percent of the line: test traffic of each other port into the port under test, test traffic of each other pair,
    background of each pair."""

    into: int
    among: int
    background: int


PLANS: Mapping[PlanCase, tuple[str, Loads]] = {
    DROP_ALL_TO_ALL: (DROP, Loads(60, 10, 9)),  # 2 x 60 % are more than the line; none of it may have to leave
    FORWARD_ALL_TO_ALL: (FORWARD, Loads(40, 10, 5)),  # 2 x (40 + 5) % all have to
}


@dataclass(frozen=True)
class SeveralPorts:
    """A run on three ports.

    Attributes:
        first: what was seen while the storm was on the port under test only, and of the whole run at its end.
        second: the other port that had a storm, later.
        both: the switch's counters while both had one.
        resumed: statistics of the flows that were sent again after both.
    """

    first: WatchdogRun
    second: str
    both: DutCounters
    resumed: Stats


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """A storm on the port under test, data between all ports, a storm on another port too, the end of both, data."""
    before = settled(lab, target, before)
    action, loads = PLANS[case]
    ports = (lab.subject.pair.rx.port, *(port.port for port in equal_ports(lab.subject)))
    waits_s = 2 * (Timers(action).latest_detection_s + SETTLE_S) + DATA_S + lab.delays.port_s
    storms = _storms(lab, pause_storm(lab, target, waits_s), ports)
    data = _data(lab, target, ports, loads, Timers(action))
    resumed = again(flow for flow in data if flow.enters == lab.subject.pair.tx.port)
    traffic = lab.builder.build([*storms, *data, *resumed])
    lab.generator.push(traffic)
    with watching(lab.dut, ports, lab.subject.qos.lossless) as watchdog:
        watchdog.start(Timers(action))
        try:
            run = _measure(lab, traffic, watchdog, (before, target, Timers(action), ports[-1]))
        finally:
            lab.generator.stop()
    wrong = invalid(run.first)
    evidence = {**run.first.evidence(), "second_storm": run.second}
    return Finding([] if wrong else list(judge(run)), wrong, evidence, run.first.last_counters())


def _targets(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities, where there is a third port."""
    return [subject.qos.lossless] if equal_ports(subject) else []


NEEDS = "a second port of the same speed for data to enter by, on another traffic generator than the port under test"
CASES: Mapping[PlanCase, Procedure] = {
    DROP_ALL_TO_ALL: Procedure(carry_out, _targets, NEEDS),
    FORWARD_ALL_TO_ALL: Procedure(carry_out, _targets, NEEDS),
}


def _storms(lab: Lab, storm: FlowPlan, ports: tuple[str, ...]) -> list[FlowPlan]:
    """A storm into the port under test, and one into the last port."""
    name = lab.builder.named
    return [
        replace(storm, name=name(f"Pause Storm {enters}"), enters=enters, leaves=ports[1])
        for enters in (ports[0], ports[-1])
    ]


def _data(
    lab: Lab, target: Target, ports: tuple[str, ...], loads: Loads, timers: Timers
) -> list[FlowPlan]:
    """Test flows of the tested priorities and background of one other, for each pair of ports and direction, once the
    first storm must have been detected."""
    others = [other for other in lab.subject.qos.reachable if other not in lab.subject.qos.lossless]
    made = []
    for enters, leaves in permutations(ports, 2):
        test = loads.into if leaves == ports[0] else loads.among
        for role, priorities, percent in (
            (Role.TEST, target, test), (Role.BACKGROUND, tuple(others[:1]), loads.background)
        ):
            name = f"{role.value} {enters} {leaves}"
            made.append(DataLoad(name, role, priorities, percent, DATA_S, FRAME_BYTES, (), lead_s(timers), enters,
                                 leaves))
    return data_flows(lab, made)


def _measure(
    lab: Lab, traffic: Traffic, watchdog: Watchdog, run: tuple[DutCounters, Target, Timers, str]
) -> SeveralPorts:
    """The steps; frames and counters are read in the first storm, in both, and after both."""
    before, target, timers, second = run
    mine, other = traffic.names(Role.STORM)
    data = traffic.names(Role.TEST, Role.BACKGROUND)
    lab.generator.start([mine, *data])
    lab.clock.sleep(lead_s(timers))
    lab.generator.run_out(data, DATA_S)
    lab.clock.sleep(lab.delays.port_s)
    stormed, during = lab.generator.stats([mine, *data]), watchdog.counters()
    lab.generator.start([other])
    lab.clock.sleep(timers.latest_detection_s + SETTLE_S)
    both = watchdog.counters()
    lab.generator.stop([mine, other])
    lab.clock.sleep(timers.latest_restoration_s + SETTLE_S)
    over = lab.generator.stats([mine, other])
    resumed = send_again(lab, traffic)
    lab.clock.sleep(SETTLE_S)
    phases: dict[str, Stats] = {"stormed": stormed, "over": over, "resumed": lab.generator.stats(resumed)}
    first = WatchdogRun(
        lab.subject, before, during, watchdog.stop(), target, timers, watchdog.queues, storm_s(timers), phases
    )
    return SeveralPorts(first, second, both, phases["resumed"])


def judge(run: SeveralPorts) -> Iterator[Check]:
    """All checks of a run that was a measurement."""
    first = run.first
    mine = {first.queue(priority) for priority in first.tested}
    both = mine | {f"{run.second}:{priority}" for priority in first.tested}
    yield from _stormed("stormed-queues", first, first.during, mine)
    yield from _stormed("stormed-queues-later", first, run.both, both)
    yield from _stormed("restored", first, first.after, set())
    yield from _counted(first, both)
    yield from _acted(first)
    yield from background(first)
    yield from no_back_pressure(first)
    yield from all_received("resumed", first, run.resumed.values(), "after both storms")


def _stormed(name: str, run: WatchdogRun, counters: DutCounters, expected: set[str]) -> Iterator[Check]:
    """Exactly these queues were in storm."""
    seen = {queue for queue in run.queues if counters.watchdog.get(queue, NEVER_STORMED).status == STORMED}
    for port in run.ports_used:
        own = sorted(queue for queue in expected if queue.split(":")[0] == port)
        found = sorted(queue for queue in seen if queue.split(":")[0] == port)
        wanted = f"{', '.join(own) or 'no queue'} in storm, all others {OPERATIONAL}"
        yield fail_unless(name, at_port(run.subject, port), own == found, wanted, ", ".join(found) or "none")


def _counted(run: WatchdogRun, stormed: set[str]) -> Iterator[Check]:
    """One storm was counted as detected and restored for each of these queues, none for the others."""
    for queue in run.queues:
        port, _, priority = queue.partition(":")
        place = Place(run.subject.where(int(priority), port), LOSSLESS)
        row, due = run.gained(queue, run.after.watchdog), int(queue in stormed)
        expected, met = f"{due} storms counted as detected and restored", row.detected == row.restored == due
        yield fail_unless("storms-counted", place, met, expected, f"{row.detected} and {row.restored}")


def _acted(run: WatchdogRun) -> Iterator[Check]:
    """Test traffic: dropped or forwarded at the port under test, whole between the others; no sender is held."""
    rx = run.subject.pair.rx.port
    for flow in flows_of(run.phases["stormed"].values(), Role.TEST):
        place, least = at_priority(run.subject, priority_of(flow)), least_load(run.subject, flow.plan)
        if is_dropped(run, flow):
            expected = f"0 frames {way(run, flow)} received in the storm"
            yield fail_unless("dropped-in-storm", place, flow.frames_rx == 0, expected, flow.frames_rx)
        else:
            spared = rx not in (flow.plan.enters, flow.plan.leaves)
            name = "other-ports-unaffected" if spared else "forwarded-in-storm"
            yield from all_received(name, run, [flow], f"in a storm on {rx}")
        expected = f"at least {least} frames {way(run, flow)} sent in the storm"
        yield fail_unless("sender-not-held", place, flow.frames_tx >= least, expected, flow.frames_tx)
