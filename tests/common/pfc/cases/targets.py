"""What a test case is about on a port: functions that say it, once for each target, and none where the port lacks what
the case needs."""

from __future__ import annotations

from ..model.measurement import PortUnderTest
from ..record.case import Target

SEVERAL_LOSSLESS = "several lossless priorities"
LOSSLESS_REACHED = "a lossless priority that some DSCP value leads to"
SEVERAL_LOSSLESS_REACHED = "several lossless priorities that DSCP values lead to"
CHANGEABLE = "a switch whose configuration may be changed (a virtual testbed, or --pfc-change-config on hardware)"


def each_lossless(subject: PortUnderTest) -> list[Target]:
    """Every lossless priority by itself; one that no DSCP value reaches is refused when it is carried out."""
    return [(priority,) for priority in subject.qos.lossless]


def first_lossless(subject: PortUnderTest) -> list[Target]:
    """The first lossless priority by itself: for what is asked of all of them together in another case."""
    return [subject.qos.lossless[:1]]


def all_lossless(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities together, one or more."""
    return [subject.qos.lossless]


def several_lossless(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities together, where there are several."""
    return [subject.qos.lossless] if len(subject.qos.lossless) > 1 else []


def all_lossless_changeable(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities together, where the switch's configuration may be changed."""
    return [subject.qos.lossless] if subject.changeable else []


def each_reached_lossless(subject: PortUnderTest) -> list[Target]:
    """Every lossless priority that some DSCP value reaches, by itself."""
    return [(priority,) for priority in subject.qos.reached_lossless]


def all_reached_lossless(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities that some DSCP value reaches, together, one or more."""
    return [subject.qos.reached_lossless] if subject.qos.reached_lossless else []


def several_reached_lossless(subject: PortUnderTest) -> list[Target]:
    """The same, where there are several."""
    return [subject.qos.reached_lossless] if len(subject.qos.reached_lossless) > 1 else []


def all_lossy(subject: PortUnderTest) -> list[Target]:
    """All lossy priorities that some DSCP value reaches together; perhaps none of them."""
    return [subject.qos.reached_lossy]


def whole_port(subject: PortUnderTest) -> list[Target]:
    """The whole port."""
    return [()]
