"""FRAME: pause frames of other kinds than PFC-1 to PFC-4 send. Valid ones, however unusual, hold what they name; all
others change nothing on a full line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..lab.lab import Lab
from ..model.arithmetic import MAX_QUANTA
from ..model.counters import DutCounters
from ..model.qos import PRIORITIES
from ..model.scenario import Scenario, Storm
from ..model.traffic import PauseFrame, pfc_frame
from ..record.case import PlanCase, Target
from .engine import Finding, Procedure, all_lossless, first_lossless, several_lossless
from .pauses import find, pause_lossless

NO_SOURCE = "00:00:00:00:00:00"
RESERVED_BITS = tuple(range(8, 16))  # the vector's upper byte
UNKNOWN_OPERATION_CODE = 0x0102  # IEEE 802.3, table 31A-1: reserved; PFC is 0x0101
OTHER_ETHER_TYPE = 0x88B5  # IEEE 802: for local experiments; MAC control is 0x8808

ZERO_SOURCE_SINGLE = PlanCase("zero-source-single", "FRAME-1")
ZERO_SOURCE_SEVERAL = PlanCase("zero-source-several", "FRAME-2")
ALL_ENABLED = PlanCase("all-enabled", "FRAME-3")
NONE_ENABLED_SINGLE = PlanCase("none-enabled-single", "FRAME-4")
NONE_ENABLED_SEVERAL = PlanCase("none-enabled-several", "FRAME-5")
RESERVED_ENABLED = PlanCase("reserved-enabled", "FRAME-6")
UNKNOWN_OPERATION = PlanCase("unknown-operation-code", "FRAME-7")
OTHER_DESTINATION = PlanCase("other-destination", "FRAME-8")
OTHER_TYPE = PlanCase("other-ether-type", "FRAME-9")

FrameMaker = Callable[[Target, Lab], PauseFrame]


def zero_source(target: Target, lab: Lab) -> PauseFrame:
    """PFC for the target from 00:00:00:00:00:00: the source says nothing about a pause."""
    return replace(pfc_frame(target, MAX_QUANTA), source=NO_SOURCE)


def all_enabled(target: Target, lab: Lab) -> PauseFrame:
    """PFC for all eight priorities, whether or not data reaches them."""
    return pfc_frame(PRIORITIES, MAX_QUANTA)


def one_time(target: Target, lab: Lab) -> PauseFrame:
    """A time for each priority of the target, and no enable bit: no time is valid."""
    return replace(pfc_frame(target, MAX_QUANTA), enabled=())


def all_times(target: Target, lab: Lab) -> PauseFrame:
    """Times for all eight priorities, and no enable bit."""
    return replace(pfc_frame(PRIORITIES, MAX_QUANTA), enabled=())


def reserved_enabled(target: Target, lab: Lab) -> PauseFrame:
    """Times for all eight priorities, and only the vector's eight reserved bits: they enable nobody."""
    return replace(pfc_frame(PRIORITIES, MAX_QUANTA), enabled=RESERVED_BITS)


def unknown_operation(target: Target, lab: Lab) -> PauseFrame:
    """What would be PFC for the target, with an operation code that stands for nothing."""
    return replace(pfc_frame(target, MAX_QUANTA), operation_code=UNKNOWN_OPERATION_CODE)


def other_destination(target: Target, lab: Lab) -> PauseFrame:
    """PFC for the target, to the host behind the tx port: it must neither be obeyed nor forwarded there."""
    return replace(pfc_frame(target, MAX_QUANTA), destination=lab.builder.mac(lab.subject.pair.tx.port))


def other_type(target: Target, lab: Lab) -> PauseFrame:
    """What would be PFC for the target, with an ether type that is not MAC control's."""
    return replace(pfc_frame(target, MAX_QUANTA), ether_type=OTHER_ETHER_TYPE)


VALID: Mapping[PlanCase, FrameMaker] = {
    ZERO_SOURCE_SINGLE: zero_source,
    ZERO_SOURCE_SEVERAL: zero_source,
    ALL_ENABLED: all_enabled,
}
INVALID: Mapping[PlanCase, tuple[FrameMaker, str]] = {
    NONE_ENABLED_SINGLE: (one_time, "PFC frames with a time and no enable bit"),
    NONE_ENABLED_SEVERAL: (all_times, "PFC frames with eight times and no enable bit"),
    RESERVED_ENABLED: (reserved_enabled, "PFC frames with reserved enable bits only"),
    UNKNOWN_OPERATION: (unknown_operation, f"MAC control frames of operation code 0x{UNKNOWN_OPERATION_CODE:04x}"),
    OTHER_DESTINATION: (other_destination, "PFC frames to another destination"),
    OTHER_TYPE: (other_type, f"frames of ether type 0x{OTHER_ETHER_TYPE:04x} that are PFC otherwise"),
}


def frame_scenario(case: PlanCase, target: Target, lab: Lab) -> Scenario:
    """The scenario of a case: the traffic of PFC-1 and PFC-2 in a storm of these frames.

    Raises:
        QualificationError: it cannot be carried out on the port.
    """
    scenario = pause_lossless(case, target, lab.subject.qos)
    if case in VALID:
        return replace(scenario, frame=VALID[case](target, lab))
    frame, called = INVALID[case]
    return replace(scenario, storm=Storm.INVALID, frame=frame(target, lab), called=called)


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """Runs the scenario of `case` and judges it, as PFC-1 if the frames are valid, else as PFC-4."""
    return find(lab, frame_scenario(case, target, lab), before)


CASES: Mapping[PlanCase, Procedure] = {
    ZERO_SOURCE_SINGLE: Procedure(carry_out, first_lossless),
    ZERO_SOURCE_SEVERAL: Procedure(carry_out, several_lossless, "several lossless priorities"),
    ALL_ENABLED: Procedure(carry_out, all_lossless),
    NONE_ENABLED_SINGLE: Procedure(carry_out, first_lossless),
    NONE_ENABLED_SEVERAL: Procedure(carry_out, all_lossless),
    RESERVED_ENABLED: Procedure(carry_out, all_lossless),
    UNKNOWN_OPERATION: Procedure(carry_out, all_lossless),
    OTHER_DESTINATION: Procedure(carry_out, all_lossless),
    OTHER_TYPE: Procedure(carry_out, all_lossless),
}
