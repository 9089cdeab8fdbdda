"""What test cases of further families are about on a port, as `targets` says it of the first ones."""

from __future__ import annotations

from ..model.measurement import PortUnderTest
from ..record.case import Target

LOSSLESS_REACHED = "a lossless priority that some DSCP value leads to"
SEVERAL_LOSSLESS_REACHED = "several lossless priorities that DSCP values lead to"
CHANGEABLE = "a switch whose configuration may be changed (a virtual testbed, or --pfc-change-config on hardware)"
REACHED_CHANGEABLE = f"{LOSSLESS_REACHED}, and {CHANGEABLE}"


def first_lossless(subject: PortUnderTest) -> list[Target]:
    """The first lossless priority by itself: for what is asked of all of them together in another case."""
    return [subject.qos.lossless[:1]]


def all_lossless(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities together, one or more."""
    return [subject.qos.lossless]


def all_lossless_changeable(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities together, where the switch's configuration may be changed."""
    return [subject.qos.lossless] if subject.changeable else []


def each_reached_lossless(subject: PortUnderTest) -> list[Target]:
    """Every lossless priority that some DSCP value reaches, by itself."""
    return [(priority,) for priority in subject.qos.reached_lossless]


def all_reached_lossless(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities that some DSCP value reaches, together, one or more."""
    return [subject.qos.reached_lossless] if subject.qos.reached_lossless else []


def all_reached_changeable(subject: PortUnderTest) -> list[Target]:
    """The same, where the switch's configuration may be changed."""
    return all_reached_lossless(subject) if subject.changeable else []


def several_reached_lossless(subject: PortUnderTest) -> list[Target]:
    """The same, where there are several."""
    return [subject.qos.reached_lossless] if len(subject.qos.reached_lossless) > 1 else []
