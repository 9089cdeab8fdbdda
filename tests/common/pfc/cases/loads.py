"""LOAD-1 to LOAD-4: a full line without a storm, from one tx port; nothing is congested. M2O-1 to M2O-6: two ports send
into one; in a storm, the last one, three where there are. SPEED-1 to SPEED-4: a port that is faster than the port under
test sends into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..lab.lab import Lab
from ..model.checking import at_priority, everything_received, nothing_received, priority_of
from ..model.counters import DutCounters
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort
from ..model.traffic import Role
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .congestion import LoadMaker, OfferedLoad, load_case, offered_load, room_s, timing
from .engine import Procedure, Table, Targets
from .frames import Sizes, imix
from .hold_in_storm import HeldRun, Hold, back_pressure, hold_s, measure, validity
from .ingress import IngressLoad, entered, equal_ports, faster_port, ingress_taken
from .targets import each_reached_lossless, whole_port

MOSTLY_LOSSLESS = PlanCase("load-mostly-lossless", "LOAD-1")
MOSTLY_LOSSY = PlanCase("load-mostly-lossy", "LOAD-2")
ONE_LOSSLESS = PlanCase("load-one-lossless", "LOAD-3")
MIXED_SIZES = PlanCase("load-mixed-sizes", "LOAD-4")

TOO_MUCH_LOSSLESS = PlanCase("m2o-lossless", "M2O-1")
TOO_MUCH_LOSSY = PlanCase("m2o-lossy", "M2O-2")
TOO_MUCH_OF_BOTH = PlanCase("m2o-lossless-and-lossy", "M2O-3")
VARYING = PlanCase("m2o-varying-load", "M2O-4")
NO_CONGESTION = PlanCase("m2o-no-congestion", "M2O-5")
SEVERAL_IN_STORM = PlanCase("m2o-storm", "M2O-6")

FAST_MOSTLY_LOSSLESS = PlanCase("speed-mostly-lossless", "SPEED-1")
FAST_MOSTLY_LOSSY = PlanCase("speed-mostly-lossy", "SPEED-2")
FAST_NO_CONGESTION = PlanCase("speed-no-congestion", "SPEED-3")
FAST_STORM = PlanCase("speed-storm", "SPEED-4")

BASE_LOSSLESS = 15  # percent of each tx port's line in M2O-4, all lossless priorities together
BASE_LOSSY = 20
MORE = 60
HELD_PERCENT = 50  # of each tx port's line in M2O-6: the priority that is held
BESIDE_PERCENT = 18  # all lossy ones together
LOSSLESS_PERCENT = 56  # of the slower line: it has room for both. Of 400 Gb/s into 100 14 and 9
LOSSY_PERCENT = 36

Ports = Callable[[PortUnderTest], Sequence[ConnectedPort]]


def tx_port(subject: PortUnderTest) -> Sequence[ConnectedPort]:
    """The tx port alone."""
    return (subject.pair.tx,)


def fast_port(subject: PortUnderTest) -> Sequence[ConnectedPort]:
    """The fastest port that is faster than the port under test; empty where there is none."""
    fast = faster_port(subject)
    return () if fast is None else (fast,)


def both_kinds(ports: Ports, needs: str) -> Targets:
    """The whole port, where DSCP values lead to lossless and to lossy priorities, and these ports can send into it."""
    return whole_port.where(
        lambda subject: ports(subject) and subject.qos.reached_lossless and subject.qos.reached_lossy, needs
    )


def with_room(
    ports: Ports, lossless_percent: int, lossy_percent: int, sizes: Callable[[Lab], Sizes] | None = None
) -> LoadMaker:
    """As much as the line has room for: so much of its line from each of these ports, for all lossless priorities
    together and for all lossy ones; in frames of these sizes."""

    def load(lab: Lab, target: Target) -> OfferedLoad:
        loads = _from_each(lab, ports, lossless_percent, lossy_percent, room_s(lab))
        return offered_load(lab, loads, sizes(lab) if sizes else ())

    return load


def too_much(ports: Ports, lossless_percent: int, lossy_percent: int) -> LoadMaker:
    """More than the line has room for, likewise."""

    def load(lab: Lab, target: Target) -> OfferedLoad:
        entering = sum(port.speed_mbps for port in ports(lab.subject)) * (lossless_percent + lossy_percent)
        times = timing(lab, entering // lab.subject.pair.speed_mbps)
        return offered_load(lab, _from_each(lab, ports, lossless_percent, lossy_percent, times.data_s), times=times)

    return load


def one_priority(lab: Lab, target: Target) -> OfferedLoad:
    """A full line of the priority under test alone."""
    return offered_load(lab, [IngressLoad(lab.subject.pair.tx, target, 100, room_s(lab))])


def varying(lab: Lab, target: Target) -> OfferedLoad:
    """Traffic that the line has room for, and into it more lossless data from one port, half as long later from the
    other one too, until both have stopped: 70, 130, 190, 130 and again 70 % of the line.

    Each of the two lasts until both would have filled the shared buffer; by an exact clock twice as long, or groups of
    large buffers would not have to send XOFF.
    """
    lossless = lab.subject.qos.reached_lossless
    ports = equal_ports(lab.subject)
    start_s, base_s, fillings = (0.1, 6.0, 2) if lab.clock.exact else (3.0, 20.0, 1)
    length_s = fillings * timing(lab, 2 * (BASE_LOSSLESS + BASE_LOSSY + MORE)).settled_s
    more = [IngressLoad(port, lossless, MORE, length_s, start_s + n * length_s / 2) for n, port in enumerate(ports)]
    return offered_load(lab, [*_from_each(lab, equal_ports, BASE_LOSSLESS, BASE_LOSSY, base_s), *more])


def into_slower(lab: Lab, target: Target) -> OfferedLoad:
    """From the faster port as much as the slower line has room for."""
    return offered_load(lab, _slower_line(lab, room_s(lab)))


def paused_from_each(lab: Lab, target: Target, before: DutCounters) -> HeldRun:
    """One lossless priority from two ports, or three where there are, while it is paused: what is held of all is in one
    queue. And as much of lossy ones as the line has room for."""
    kinds = ((target, HELD_PERCENT), (lab.subject.qos.reached_lossy, BESIDE_PERCENT))
    loads = _of_kinds(equal_ports(lab.subject, most=3), kinds, hold_s(lab))
    return measure(lab, Hold(target, tuple(loads), lab.delays.port_s), before)


def paused_slower(lab: Lab, target: Target, before: DutCounters) -> HeldRun:
    """What `into_slower` sends, while lossless priorities are paused at the port under test."""
    paused = lab.subject.qos.reached_lossless
    return measure(lab, Hold(paused, tuple(_slower_line(lab, hold_s(lab))), lab.delays.port_s), before)


def judge_paused(run: HeldRun) -> Iterator[Check]:
    """What is lossless is held at its sender and whole in the end; what is lossy is left alone."""
    subject = run.subject
    data = run.flows("paused", Role.TEST)
    yield from ingress_taken(run, "drained", "in the storm")
    held = [flow for flow in data if priority_of(flow) in run.hold.paused]
    yield from nothing_received("blocked-while-paused", subject, held, "while paused")
    lossy = [flow for flow in data if priority_of(flow) not in run.hold.paused]
    yield from everything_received("background-unaffected", subject, lossy, "in the storm")
    yield from everything_received("nothing-lost", subject, run.data, "once the storm had stopped")
    for port in entered(run.hold.loads):
        yield from back_pressure(run, port.port, lambda priority: at_priority(subject, priority, port.port))


def _from_each(
    lab: Lab, ports: Ports, lossless_percent: int, lossy_percent: int, seconds: float
) -> list[IngressLoad]:
    """So much of its line from each of these ports, for all lossless priorities together and for all lossy ones."""
    qos = lab.subject.qos
    kinds = ((qos.reached_lossless, lossless_percent), (qos.reached_lossy, lossy_percent))
    return _of_kinds(ports(lab.subject), kinds, seconds)


def _of_kinds(ports: Sequence[ConnectedPort], kinds: Sequence[tuple[Target, int]], seconds: float) -> list[IngressLoad]:
    """From each of these ports so much of its line for all priorities of a kind together."""
    return [IngressLoad(port, priorities, percent, seconds) for port in ports for priorities, percent in kinds]


def _slower_line(lab: Lab, seconds: float) -> list[IngressLoad]:
    [fast] = fast_port(lab.subject)
    slow_mbps = lab.subject.pair.speed_mbps
    lossless, lossy = (
        max(1, percent * slow_mbps // fast.speed_mbps) for percent in (LOSSLESS_PERCENT, LOSSY_PERCENT)
    )
    return _from_each(lab, fast_port, lossless, lossy, seconds)


ALIKE = (
    "up, on another traffic generator than the port under test, and with the same priorities, some of them lossless and"
    " some lossy"
)
BOTH = both_kinds(tx_port, "DSCP values that lead to lossless priorities and ones that lead to lossy priorities")
SECOND = both_kinds(equal_ports, f"a second tx port: of the same speed, {ALIKE}")
EACH_FROM_TWO = each_reached_lossless.where(SECOND.on, SECOND.needs)
FASTER = both_kinds(fast_port, f"a faster tx port: {ALIKE}")

LOADS: Table = {
    MOSTLY_LOSSLESS: load_case(with_room(tx_port, 88, 12), BOTH),
    MOSTLY_LOSSY: load_case(with_room(tx_port, 40, 60), BOTH),
    ONE_LOSSLESS: load_case(one_priority, each_reached_lossless),
    MIXED_SIZES: load_case(with_room(tx_port, 60, 40, imix), BOTH),
}
MANY_TO_ONE: Table = {
    TOO_MUCH_LOSSLESS: load_case(too_much(equal_ports, 88, 12), SECOND),
    TOO_MUCH_LOSSY: load_case(too_much(equal_ports, 15, 60), SECOND),
    TOO_MUCH_OF_BOTH: load_case(too_much(equal_ports, 40, 60), SECOND),
    VARYING: load_case(varying, SECOND),
    NO_CONGESTION: load_case(with_room(equal_ports, 18, 27), SECOND),
    SEVERAL_IN_STORM: Procedure(paused_from_each, validity, judge_paused, EACH_FROM_TWO),
}
MIXED_SPEED: Table = {
    FAST_MOSTLY_LOSSLESS: load_case(too_much(fast_port, 88, 12), FASTER),
    FAST_MOSTLY_LOSSY: load_case(too_much(fast_port, 40, 60), FASTER),
    FAST_NO_CONGESTION: load_case(into_slower, FASTER),
    FAST_STORM: Procedure(paused_slower, validity, judge_paused, FASTER),
}
CASES: Table = {**LOADS, **MANY_TO_ONE, **MIXED_SPEED}
