"""Data of several priorities that comes in by one port or more and leaves by the port under test: the flows, and the
ports that they may enter by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..lab.lab import Lab
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort
from ..model.traffic import FlowPlan, Role
from ..record.case import Target
from .flows import DataLoad, data_flows

FRAME_BYTES = 1024


@dataclass(frozen=True)
class IngressLoad:
    """Data that enters by one port: `percent` of the port's line, split evenly over these priorities.

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


def ingress_flows(
    lab: Lab, loads: Sequence[IngressLoad], mix: tuple[tuple[int, int], ...] = ()
) -> list[FlowPlan]:
    """The flows of these loads, all of role TEST.

    Args:
        lab: names the flows.
        loads: where they enter, and how much.
        mix: sizes of frames and their weights; empty: `FRAME_BYTES` each.
    """
    return data_flows(lab, [
        DataLoad(f"Data {number} {load.enters.port}", Role.TEST, load.priorities, load.percent, load.seconds,
                 FRAME_BYTES, mix, load.delay_s, load.enters.port)
        for number, load in enumerate(loads)
    ])


def equal_ports(subject: PortUnderTest) -> tuple[ConnectedPort, ...]:
    """The tx port, and a second one of the same speed; empty where there is none."""
    second = [port for port in subject.further if port.speed_mbps == subject.pair.speed_mbps]
    return (subject.pair.tx, second[0]) if second else ()


def faster_port(subject: PortUnderTest) -> ConnectedPort | None:
    """The fastest port that data may enter by, if it is faster than the port under test."""
    fastest = max(subject.further, key=lambda port: port.speed_mbps, default=subject.pair.tx)
    return fastest if fastest.speed_mbps > subject.pair.speed_mbps else None


def lossy_priorities(subject: PortUnderTest) -> tuple[int, ...]:
    """The lossy priorities that some DSCP value reaches, ascending."""
    return tuple(priority for priority in subject.qos.reachable if priority not in subject.qos.lossless)


def lossless_priorities(subject: PortUnderTest) -> tuple[int, ...]:
    """The lossless priorities that some DSCP value reaches, ascending."""
    return tuple(priority for priority in subject.qos.reachable if priority in subject.qos.lossless)


def each_reached_lossless(subject: PortUnderTest) -> list[Target]:
    """Every lossless priority that some DSCP value reaches, by itself."""
    return [(priority,) for priority in lossless_priorities(subject)]


def all_reached_lossless(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities that some DSCP value reaches together, one or more."""
    return [lossless_priorities(subject)] if lossless_priorities(subject) else []


def several_reached_lossless(subject: PortUnderTest) -> list[Target]:
    """The same, where there are several."""
    return all_reached_lossless(subject) if len(lossless_priorities(subject)) > 1 else []


LOSSLESS_REACHED = "a lossless priority that some DSCP value leads to"
