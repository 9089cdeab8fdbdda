"""What PFC-1 to PFC-4 are about on a port: functions that say it, once for each target, and none where the port lacks
what the case needs."""

from __future__ import annotations

from ..model.measurement import PortUnderTest
from ..record.case import Target

SEVERAL_LOSSLESS = "several lossless priorities"


def each_lossless(subject: PortUnderTest) -> list[Target]:
    """Every lossless priority by itself; one that no DSCP value reaches is refused when it is carried out."""
    return [(priority,) for priority in subject.qos.lossless]


def several_lossless(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities together, where there are several."""
    return [subject.qos.lossless] if len(subject.qos.lossless) > 1 else []


def all_lossy(subject: PortUnderTest) -> list[Target]:
    """All lossy priorities that some DSCP value reaches together; perhaps none of them."""
    return [subject.qos.reached_lossy]


def whole_port(subject: PortUnderTest) -> list[Target]:
    """The whole port."""
    return [()]
