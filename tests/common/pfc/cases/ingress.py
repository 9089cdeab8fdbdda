"""Data that enters by one port or more and leaves by the port under test: its flows, whether it was sent, and whether
some of it was taken."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..lab.lab import Lab
from ..model.checking import never_taken, priority_of, sent_as_due
from ..model.measurement import CaseRun, PortUnderTest
from ..model.ports import ConnectedPort, PortPair
from ..model.traffic import FlowPlan, Role
from ..record.verdict import Check
from .data_loads import DataLoad, data_flows
from .validity import counters_kept, links_kept, watchdog_stopped

FRAME_BYTES = 1024
"""Size of the frames with FCS."""


@dataclass(frozen=True)
class IngressLoad:
    """Data that enters by one port and leaves by the port under test: `percent` of the port's line, split evenly over
    these priorities.

    Attributes:
        enters: the switch port.
        priorities: one flow for each.
        percent: of the line of that port.
        seconds: how long it is sent.
        delay_s: from the start of all data to its first frame.
    """

    enters: ConnectedPort
    priorities: tuple[int, ...]
    percent: int
    seconds: float
    delay_s: float = 0.0


def ingress_flows(lab: Lab, loads: Sequence[IngressLoad], mix: tuple[tuple[int, int], ...]) -> list[FlowPlan]:
    """The flows of these loads, all of role TEST; `mix`: sizes of frames and their weights; empty: `FRAME_BYTES`
    each."""
    return data_flows(lab, [
        DataLoad(f"Data {number} {load.enters.port}", Role.TEST, load.priorities, load.percent, load.seconds,
                 FRAME_BYTES, mix, load.delay_s, load.enters.port)
        for number, load in enumerate(loads)
    ])


def entered(loads: Iterable[IngressLoad]) -> tuple[ConnectedPort, ...]:
    """The ports that these loads enter by."""
    return tuple(dict.fromkeys(load.enters for load in loads))


def ingress_undisturbed(run: CaseRun, ports: Iterable[ConnectedPort]) -> Iterator[Check]:
    """The watchdog did not act, the links of the port under test and of these ports, which data entered by, were up,
    and no counter was cleared."""
    pairs = [replace(run, subject=replace(run.subject, pair=PortPair(run.subject.pair.rx, port))) for port in ports]
    yield from watchdog_stopped(run)
    for pair in pairs:
        yield from links_kept(pair)
    for pair in pairs:
        yield from counters_kept(pair)


def ingress_applied(run: CaseRun, phase: str, when: str, held: Collection[int] = ()) -> Iterator[Check]:
    """Of the data that was counted in a phase what was due was sent in the whole run, whichever ports it entered by;
    `held`: the priorities that the switch is meant to hold."""
    for flow in run.flows(phase, Role.TEST, Role.BACKGROUND):
        priority = priority_of(flow)
        pauses = run.pfc_sent_in_all(flow.plan.enters)
        yield sent_as_due(run.subject, flow, pauses[priority], priority in held, when)


def ingress_taken(run: CaseRun, phase: str, when: str) -> Iterator[Check]:
    """Some of every flow that was counted in a phase was taken by the switch, whichever ports it entered by
    (`never_taken`)."""
    yield from never_taken(run.subject, run.flows(phase, Role.TEST, Role.BACKGROUND), run.pfc_sent_in_all, when)


def equal_ports(subject: PortUnderTest, most: int = 2) -> tuple[ConnectedPort, ...]:
    """The tx port, and others of the same speed, `most` of them together; empty where there is no other."""
    others = [port for port in subject.further if port.speed_mbps == subject.pair.speed_mbps]
    return (subject.pair.tx, *others[:most - 1]) if others else ()


def faster_port(subject: PortUnderTest) -> ConnectedPort | None:
    """The fastest port that data may enter by, if it is faster than the port under test."""
    fastest = max(subject.further, key=lambda port: port.speed_mbps, default=subject.pair.tx)
    return fastest if fastest.speed_mbps > subject.pair.speed_mbps else None
