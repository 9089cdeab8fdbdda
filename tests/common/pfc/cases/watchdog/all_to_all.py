"""WD-6 and WD-7: three ports that all send to each other, storms on two of them, and the watchdog on all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from typing import Any

from ...lab.generator import SETTLE_S, Traffic
from ...lab.lab import Lab
from ...lab.watchdog import DROP, FORWARD, OPERATIONAL, Timers, Watchdog, watching
from ...lab.watchdog_deviations import forwards
from ...model.checking import at_port, at_priorities, at_queue, fail_unless
from ...model.counters import DutCounters
from ...model.traffic import FlowPlan, Role
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..engine import Table, sending
from ..data_loads import DataLoad, data_flows
from ..flows import again, later
from ..ingress import equal_ports
from ..parts import CasePart, RunInParts, in_parts
from ..storm_sequence import pause_storm
from ..validity import load_applied
from . import checks
from .checks import DATA_S, FRAME_BYTES, WatchdogRun, acted, lead_s, works_again
from .steps import data_again, data_in_storms, early_flows, end_storms
from .watched import FORWARDS, WATCHED, all_watched, watched_alike

DROP_ALL_TO_ALL = PlanCase("watchdog-drop-all-to-all", "WD-6")
FORWARD_ALL_TO_ALL = PlanCase("watchdog-forward-all-to-all", "WD-7")
BOTH = "Both"
"""The phase of the second storm and of the data in both."""
IN_BOTH = "in both storms"
ALONE = "Alone"
"""The phase of the data in the second storm, once the first one was over."""
IN_SECOND = "in the second storm, once the first was over"
LONG_MS = 2000
"""Longer than what is waited for besides: a storm that is detected, or over, twice as late beside another one shows."""
LATE_STOP_S = 1.0  # by which a generator may stop a storm later than it is told to

SECOND_PORT = (
    "a second port of the same speed for data to enter by, on another traffic generator than the port under test"
)
THREE_PORTS = all_watched.where(equal_ports, SECOND_PORT).where(
    lambda subject: watched_alike(subject.qos, [port.port for port in equal_ports(subject)]),
    f"the same lossless priorities {WATCHED} at the ports that data enters by",
)
THREE_PORTS_FORWARDING = THREE_PORTS.where(lambda subject: forwards(subject.asic), FORWARDS)


@dataclass(frozen=True)
class Loads:
    """Percent of the line: test traffic of each other port into that of the first storm, test traffic of each other
    pair, background of each pair."""

    into: int
    among: int
    background: int


@dataclass(frozen=True)
class StormRound(WatchdogRun):
    """A storm on one port, later on another one too, the end of the first, and that of the second; `during` was read in
    the first. Further phases: `both`, of the data in both, and `alone`, of that in the second once the first was over.

    Attributes:
        second: the port of the later storm; that of the first is `first`.
        both: the switch's counters in both storms.
        alone: the same in the second one, when the queues of the first must have been restored.
        ended: the same when all queues must have been restored.
    """

    second: str
    both: DutCounters
    alone: DutCounters
    ended: DutCounters

    @property
    def first(self) -> str:
        """The port of the first storm."""
        return self.storms_on[0]

    @property
    def in_both(self) -> WatchdogRun:
        """The run as it was in both storms."""
        phases = {**self.phases, "stormed": self.phases["both"]}
        return replace(self, during=self.both, phases=phases, storms_on=(self.first, self.second))

    @property
    def in_second(self) -> WatchdogRun:
        """The run as it was in the second storm, once the first was over."""
        phases = {**self.phases, "stormed": self.phases["alone"]}
        return replace(self, during=self.alone, phases=phases, storms_on=(self.second,))

    def details(self) -> dict[str, Any]:
        """Also which ports had the storms."""
        return {**super().details(), "first_storm": self.first, "second_storm": self.second}


def all_to_all(lab: Lab, target: Target, before: DutCounters, timers: Timers, loads: Loads) -> RunInParts:
    """Two rounds, the watchdog running on. In the first one the storm on the other port begins first, so that the port
    under test gets its own beside one; what that leaves wrong shows in the second, where its storm is the first."""
    lab.subject.qos.check_reached(target)
    ports = [lab.port, *(port.port for port in equal_ports(lab.subject))]
    with watching(lab.dut, lab.clock, ports, lab.subject.qos.lossless) as watchdog:
        watchdog.start(timers)
        turned = _round(lab, target, watchdog, before, ports[::-1], loads)
        own = _round(lab, target, watchdog, turned.after, ports, loads, is_last=True)
    return both_rounds(turned, own)


def both_rounds(turned: StormRound, own: StormRound) -> RunInParts:
    """Both rounds, each with its checks; the numbers of the later one are the case's own."""
    parts = (
        CasePart(own, validity, judge),
        CasePart(turned, validity, judge, "turned_round", f"{turned.first} the first to have a storm"),
    )
    return RunInParts(parts, own.settled)


def _round(
    lab: Lab, target: Target, watchdog: Watchdog, before: DutCounters, ports: Sequence[str], loads: Loads,
    is_last: bool = False,
) -> StormRound:
    """A storm on the first of these ports, data between all, a storm on the last one too, the same data, the end of the
    first storm, data from and to the tx port, the end of the other, data from the tx port. `is_last`: the watchdog is
    stopped then."""
    timers = watchdog.timers
    assert timers is not None, "it runs"
    traffic = _traffic(lab, target, ports, loads, timers)
    with sending(lab, traffic):
        stormed = data_in_storms(lab, traffic)
        during = watchdog.counters()
        in_both = data_in_storms(lab, traffic, BOTH)
        both = watchdog.counters()
        first = traffic.names(Role.STORM)
        second = traffic.names(Role.STORM, phase=BOTH)
        _end(lab, first, timers)
        in_second = data_in_storms(lab, traffic, ALONE)
        alone = watchdog.counters()
        _end(lab, second, timers)
        ended = watchdog.counters()
        over = lab.generator.stats([*first, *second])
        phases = {"stormed": stormed, "both": in_both, "alone": in_second, "over": over,
                  "resumed": data_again(lab, traffic)}
    after = watchdog.stop() if is_last else watchdog.counters()
    return StormRound(
        lab.subject, before, during, after, target, phases, timers, watchdog.queues, ports[-1], both, alone, ended,
        storms_on=(ports[0],),
    )


def _end(lab: Lab, storms: Sequence[str], timers: Timers) -> None:
    """Stops storms, and waits until their queues must have been restored, however late the generator stops them."""
    end_storms(lab, storms, timers)
    if not lab.clock.exact:
        lab.clock.sleep(LATE_STOP_S)


def _traffic(lab: Lab, target: Target, ports: Sequence[str], loads: Loads, timers: Timers) -> Traffic:
    """What a round sends. The phases of its flows: the first, `BOTH`, `ALONE`, and that of the data sent again."""
    end_s = timers.latest_restoration_s + SETTLE_S + LATE_STOP_S
    storm = pause_storm(lab, target, end_s + 2 * (lead_s(timers) + DATA_S + lab.delays.port_s))
    first, second = (
        [replace(storm, name=lab.builder.flow_name(f"Pause Storm {port}"), enters=port, leaves=ports[1]),
         *early_flows(lab, target, ports[1], port)]
        for port in (ports[0], ports[-1])
    )
    data = _data(lab, target, ports, loads, timers)
    tx = lab.subject.pair.tx.port
    alone = later((replace(flow, delay_ns=0) for flow in data if tx in (flow.enters, flow.leaves)), ALONE)
    resumed = again(flow for flow in data if flow.enters == tx)
    return lab.builder.build([*first, *data, *later([*second, *data], BOTH), *alone, *resumed])


def _data(lab: Lab, target: Target, ports: Sequence[str], loads: Loads, timers: Timers) -> list[FlowPlan]:
    """Test flows of the tested priorities and background of one lossy one, for each pair of ports and direction, once
    the storm that is started with them must have been detected."""

    def load(role: Role, enters: str, leaves: str, priorities: Target, percent: int) -> DataLoad:
        name = f"{role.value} {enters} {leaves}"
        return DataLoad(name, role, priorities, percent, DATA_S, FRAME_BYTES, (), lead_s(timers), enters, leaves)

    made = []
    for enters, leaves in permutations(ports, 2):
        made.append(load(Role.TEST, enters, leaves, target, loads.into if leaves == ports[0] else loads.among))
        made.append(load(Role.BACKGROUND, enters, leaves, lab.subject.qos.reached_lossy[:1], loads.background))
    return data_flows(lab, made)


def validity(run: StormRound) -> Iterator[Check]:
    """Whether a round was a measurement, best cause first."""
    yield from checks.validity(run)
    for moment, when in ((run.in_both, IN_BOTH), (run.in_second, IN_SECOND)):
        yield from load_applied(run.subject, moment.flows("stormed"), moment.pfc_sent, when, [Role.TEST])


def judge(run: StormRound) -> Iterator[Check]:
    """All checks of a round that was a measurement."""
    first = {f"{run.first}:{priority}" for priority in run.tested}
    second = {f"{run.second}:{priority}" for priority in run.tested}
    yield from _stormed("stormed-queues", run, run.during, first)
    yield from _stormed("stormed-queues-later", run, run.both, first | second)
    yield from _stormed("stormed-queues-last", run, run.alone, second)
    yield from _stormed("restored", run, run.ended, set())
    yield from _counted(run, first | second)
    yield from acted(run, passing=f"in a storm on {run.first}")
    yield from acted(run.in_both, IN_BOTH)
    yield from acted(run.in_second, IN_SECOND)
    yield from works_again(run, "after both storms")


def _stormed(name: str, run: WatchdogRun, counters: DutCounters, expected: set[str]) -> Iterator[Check]:
    """Exactly these queues were in storm."""
    for port in run.ports_used:
        own = sorted(queue for queue in expected if queue.split(":")[0] == port)
        found = sorted(queue for queue in run.in_storm(counters) if queue.split(":")[0] == port)
        wanted = f"{', '.join(own) or 'no queue'} in storm, all others {OPERATIONAL}"
        wrong = sorted(int(queue.split(":")[1]) for queue in set(own) ^ set(found))
        place = at_priorities(run.subject, wrong, port) if wrong else at_port(run.subject, port)
        yield fail_unless(name, place, own == found, wanted, ", ".join(found) or "none")


def _counted(run: WatchdogRun, stormed: set[str]) -> Iterator[Check]:
    """One storm was counted as detected and restored for each of these queues, none for the others."""
    for queue in run.queues:
        row = run.gained(queue, run.after)
        due = int(queue in stormed)
        expected = f"{due} storms counted as detected and restored"
        met = row.detected == row.restored == due
        seen = f"{row.detected} and {row.restored}"
        yield fail_unless("storms-counted", at_queue(run.subject, queue), met, expected, seen)


TOO_MUCH = Loads(into=60, among=10, background=9)  # 2 x 60 % are more than the line; none of it may have to leave
FITTING = Loads(into=40, among=10, background=5)  # 2 x (40 + 5) % all have to
CASES: Table = {
    DROP_ALL_TO_ALL: in_parts(
        partial(all_to_all, timers=Timers(DROP, detection_ms=LONG_MS), loads=TOO_MUCH), THREE_PORTS
    ),
    FORWARD_ALL_TO_ALL: in_parts(
        partial(all_to_all, timers=Timers(FORWARD, restoration_ms=LONG_MS), loads=FITTING), THREE_PORTS_FORWARDING
    ),
}
