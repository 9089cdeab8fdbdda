"""WD-6 and WD-7: three ports that all send to each other, storms on two of them, and the watchdog on all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from typing import Any

from ...lab.lab import Lab
from ...lab.watchdog import DROP, FORWARD, OPERATIONAL, Timers, watching
from ...lab.watchdog_deviations import forwards
from ...model.checking import at_port, at_priorities, everything_received, fail_unless
from ...model.counters import DutCounters
from ...model.traffic import FlowPlan, Role
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..engine import Procedure, Table, sending
from ..data_loads import DataLoad, data_flows
from ..flows import again
from ..ingress import equal_ports
from ..storm_sequence import pause_storm
from .actions import data_again, data_in_storms, storms_over
from .checks import DATA_S, FRAME_BYTES, WatchdogRun, acted, at_queue, lead_s, validity
from .early import early_flows
from .watched import FORWARDS, all_watched

DROP_ALL_TO_ALL = PlanCase("watchdog-drop-all-to-all", "WD-6")
FORWARD_ALL_TO_ALL = PlanCase("watchdog-forward-all-to-all", "WD-7")

THREE_PORTS = all_watched.where(
    equal_ports,
    "a second port of the same speed for data to enter by, on another traffic generator than the port under test",
)
THREE_PORTS_FORWARDING = THREE_PORTS.where(lambda subject: forwards(subject.asic), FORWARDS)


@dataclass(frozen=True)
class Loads:
    """Percent of the line: test traffic of each other port into the port under test, test traffic of each other pair,
    background of each pair."""

    into: int
    among: int
    background: int


@dataclass(frozen=True)
class SeveralPorts(WatchdogRun):
    """A run on three ports; `during` was read while the storm was on the port under test only.

    Attributes:
        second: the other port that had a storm, later.
        both: the switch's counters while both had one.
    """

    second: str
    both: DutCounters

    def details(self) -> dict[str, Any]:
        """Also which port had the second storm."""
        return {**super().details(), "second_storm": self.second}


def all_to_all(
    lab: Lab, case: PlanCase, target: Target, before: DutCounters, action: str, loads: Loads
) -> SeveralPorts:
    """A storm on the port under test, data between all ports, a storm on another port too, the end of both, data from
    the tx port. Frames and counters are read in the first storm, in both, and after both."""
    lab.subject.qos.check_reached(target)
    timers = Timers(action)
    ports = [lab.port, *(port.port for port in equal_ports(lab.subject))]
    data = _data(lab, target, ports, loads, timers)
    resumed = again(flow for flow in data if flow.enters == lab.subject.pair.tx.port)
    storms = _storms(lab, target, ports, timers)
    traffic = lab.builder.build([*(flow for flows in storms for flow in flows), *data, *resumed])
    mine, other = ([flow.name for flow in flows] for flows in storms)
    with watching(lab.dut, ports, lab.subject.qos.lossless) as watchdog, sending(lab, traffic):
        watchdog.start(timers)
        stormed = data_in_storms(lab, traffic, mine)
        during = watchdog.counters()
        lab.generator.start(other)
        lab.clock.sleep(lead_s(timers))
        both = watchdog.counters()
        phases = {"stormed": stormed, "over": storms_over(lab, traffic, timers), "resumed": data_again(lab, traffic)}
        return SeveralPorts(
            lab.subject, before, during, watchdog.stop(), target, phases, timers, watchdog.queues, ports[-1], both
        )


def _storms(lab: Lab, target: Target, ports: list[str], timers: Timers) -> list[list[FlowPlan]]:
    """The flows of a storm into the port under test, and of one into the last port."""
    storm = pause_storm(lab, target, 2 * lead_s(timers) + DATA_S + lab.delays.port_s)
    return [
        [replace(storm, name=lab.builder.named(f"Pause Storm {stormed}"), enters=stormed, leaves=ports[1]),
         *early_flows(lab, target, stormed, ports[1])]
        for stormed in (ports[0], ports[-1])
    ]


def _data(lab: Lab, target: Target, ports: list[str], loads: Loads, timers: Timers) -> list[FlowPlan]:
    """Test flows of the tested priorities and background of one lossy one, for each pair of ports and direction, once
    the first storm must have been detected."""

    def load(role: Role, enters: str, leaves: str, priorities: Target, percent: int) -> DataLoad:
        name = f"{role.value} {enters} {leaves}"
        return DataLoad(name, role, priorities, percent, DATA_S, FRAME_BYTES, (), lead_s(timers), enters, leaves)

    made = []
    for enters, leaves in permutations(ports, 2):
        made.append(load(Role.TEST, enters, leaves, target, loads.into if leaves == ports[0] else loads.among))
        made.append(load(Role.BACKGROUND, enters, leaves, lab.subject.qos.reached_lossy[:1], loads.background))
    return data_flows(lab, made)


def judge(run: SeveralPorts) -> Iterator[Check]:
    """All checks of a run that was a measurement."""
    mine = {run.queue(priority) for priority in run.tested}
    both = mine | {f"{run.second}:{priority}" for priority in run.tested}
    yield from _stormed("stormed-queues", run, run.during, mine)
    yield from _stormed("stormed-queues-later", run, run.both, both)
    yield from _stormed("restored", run, run.after, set())
    yield from _counted(run, both)
    yield from acted(run, passing=f"in a storm on {run.subject.pair.rx.port}")
    yield from everything_received("resumed", run.subject, run.flows("resumed"), "after both storms")


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
        yield fail_unless("storms-counted", at_queue(run, queue), met, expected, f"{row.detected} and {row.restored}")


TOO_MUCH = Loads(into=60, among=10, background=9)  # 2 x 60 % are more than the line; none of it may have to leave
FITTING = Loads(into=40, among=10, background=5)  # 2 x (40 + 5) % all have to

CASES: Table = {
    DROP_ALL_TO_ALL: Procedure(
        partial(all_to_all, action=DROP, loads=TOO_MUCH), validity, judge, THREE_PORTS
    ),
    FORWARD_ALL_TO_ALL: Procedure(
        partial(all_to_all, action=FORWARD, loads=FITTING), validity, judge, THREE_PORTS_FORWARDING
    ),
}
