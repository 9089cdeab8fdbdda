"""Data that enters by one port or more and leaves by the port under test: its flows, whether it was sent, and whether
some of it was taken."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..lab.lab import Lab
from ..model.checking import never_taken, priority_of, sent_as_due
from ..model.measurement import CaseRun
from ..model.ports import ConnectedPort
from ..model.traffic import FlowPlan, Role
from ..record.verdict import Check
from .flows import DataLoad, data_flows

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


def entered(loads: Iterable[IngressLoad]) -> tuple[ConnectedPort, ...]:
    """The ports that these loads enter by."""
    return tuple(dict.fromkeys(load.enters for load in loads))


def ingress_applied(run: CaseRun, phase: str, when: str, held: Collection[int] = ()) -> Iterator[Check]:
    """Of the data that was counted in a phase what was due was sent in the whole run, whichever ports it entered by;
    `held`: the priorities that the switch is meant to hold."""
    for flow in run.flows(phase, Role.TEST, Role.BACKGROUND):
        priority = priority_of(flow)
        pushed = run.pfc_sent_in_all(flow.plan.enters)
        yield sent_as_due(run.subject, flow, pushed[priority], priority in held, when)


def ingress_taken(run: CaseRun, phase: str, when: str) -> Iterator[Check]:
    """Some of every flow that was counted in a phase was taken by the switch, whichever ports it entered by
    (`never_taken`)."""
    for flow in run.flows(phase, Role.TEST, Role.BACKGROUND):
        yield from never_taken(run.subject, [flow], run.pfc_sent_in_all(flow.plan.enters), when)
