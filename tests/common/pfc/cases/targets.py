"""What test cases are about on a port: by themselves or together, the priorities that it has of a kind."""

from __future__ import annotations

from collections.abc import Callable

from ..model.qos import PortQos
from ..record.case import Target
from .engine import Targets

Priorities = Callable[[PortQos], Target]


def each(priorities: Priorities, needs: str = "") -> Targets:
    """Each of these priorities by itself."""
    return Targets(lambda subject: [(priority,) for priority in priorities(subject.qos)], needs)


def together(priorities: Priorities, least: int = 0, needs: str = "") -> Targets:
    """All of these priorities together, where there are so many at least."""
    return Targets(lambda subject: [priorities(subject.qos)] if len(priorities(subject.qos)) >= least else [], needs)


whole_port = Targets(lambda subject: [()])
each_lossless = each(lambda qos: qos.lossless)  # one that no DSCP value reaches is refused when it is carried out
all_lossless = together(lambda qos: qos.lossless)
first_lossless = together(lambda qos: qos.lossless[:1])  # for what is asked of all of them together in another case
several_lossless = together(lambda qos: qos.lossless, 2, "several lossless priorities")
all_lossy = together(lambda qos: qos.reached_lossy)  # perhaps none of them
each_reached_lossless = each(lambda qos: qos.reached_lossless, "a lossless priority that some DSCP value leads to")
all_reached_lossless = together(lambda qos: qos.reached_lossless, 1, each_reached_lossless.needs)
several_reached_lossless = together(
    lambda qos: qos.reached_lossless, 2, "several lossless priorities that DSCP values lead to"
)
