"""What test cases are about on a port: functions that say it, once for each target, and none where the port lacks what
the case needs; and what that is, for notes."""

from __future__ import annotations

from collections.abc import Callable

from ..model.measurement import PortUnderTest
from ..model.qos import PortQos
from ..record.case import Target
from .engine import Targets

SEVERAL_LOSSLESS = "several lossless priorities"
LOSSLESS_REACHED = "a lossless priority that some DSCP value leads to"
SEVERAL_LOSSLESS_REACHED = "several lossless priorities that DSCP values lead to"
CHANGEABLE = "a switch whose configuration may be changed (a virtual testbed, or --pfc-change-config on hardware)"

Priorities = Callable[[PortQos], Target]


def each(priorities: Priorities) -> Targets:
    """Each of these priorities by itself."""
    return lambda subject: [(priority,) for priority in priorities(subject.qos)]


def together(priorities: Priorities, least: int = 0) -> Targets:
    """All of these priorities together, where there are so many at least."""
    return lambda subject: [priorities(subject.qos)] if len(priorities(subject.qos)) >= least else []


def whole_port(subject: PortUnderTest) -> list[Target]:
    """The whole port."""
    return [()]


def where_changeable(targets: Targets) -> Targets:
    """These targets, where the switch's configuration may be changed."""
    return lambda subject: targets(subject) if subject.changeable else []


each_lossless = each(lambda qos: qos.lossless)  # one that no DSCP value reaches is refused when it is carried out
all_lossless = together(lambda qos: qos.lossless)
first_lossless = together(lambda qos: qos.lossless[:1])  # for what is asked of all of them together in another case
several_lossless = together(lambda qos: qos.lossless, 2)
all_lossless_changeable = where_changeable(all_lossless)
all_lossy = together(lambda qos: qos.reached_lossy)  # perhaps none of them
each_reached_lossless = each(lambda qos: qos.reached_lossless)
all_reached_lossless = together(lambda qos: qos.reached_lossless, 1)
several_reached_lossless = together(lambda qos: qos.reached_lossless, 2)
