"""The data flows of test cases: a flow for each priority of a load."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..lab.lab import Lab
from ..model.arithmetic import share_percent
from ..model.traffic import FlowPlan, Role


@dataclass(frozen=True)
class DataLoad:
    """Data of several priorities, a flow for each, all with the same part of the line.

    Attributes:
        name: what its flows are called, `Test Flow`.
        role: what they are for.
        priorities: one flow for each.
        percent: of the line where they enter, all of them together.
        seconds: how long each sends; None: until it is stopped.
        frame_bytes: size of the frames with FCS.
        mix: sizes of frames and their weights, instead of `frame_bytes`.
        delay_s: from the start of the phase to the first frame.
        enters, leaves: the switch ports where frames come in and are meant to leave; empty: those of the pair.
    """

    name: str
    role: Role
    priorities: tuple[int, ...]
    percent: float
    seconds: float | None
    frame_bytes: int
    mix: tuple[tuple[int, int], ...] = ()
    delay_s: float = 0.0
    enters: str = ""
    leaves: str = ""


def data_flows(lab: Lab, loads: Iterable[DataLoad]) -> list[FlowPlan]:
    """The flows of these loads, called by load, priority and port under test; raises QualificationError where no DSCP
    value reaches a priority."""
    made = list(loads)
    for load in made:
        lab.subject.qos.check_reached(load.priorities)
    return [
        FlowPlan(
            lab.builder.flow_name(f"{load.name} Prio {priority}"), load.role, priority, load.frame_bytes,
            share_percent(load.percent, len(load.priorities)), seconds=load.seconds,
            delay_ns=round(load.delay_s * 1e9), enters=load.enters, leaves=load.leaves, mix=load.mix,
        )
        for load in made
        for priority in load.priorities
    ]
