"""A train: MAC control frames of one kind that come due regularly and wait for their line."""
from __future__ import annotations

from virtual_testbed.dataplane.events import CONTROL_DUE, NEVER, EventLoop
from virtual_testbed.dataplane.line import ControlItem
from virtual_testbed.dataplane.units import Schedule


class Train:
    """See the module.

    Args:
        order: orders trains whose frames come due at one instant.

    Attributes:
        number: the next frame's; `limit` how many frames there are in all (`NEVER`: no end). They are equal when the
            train does not run.
    """

    __slots__ = ("item", "schedule", "order", "loop", "number", "limit", "due")

    def __init__(self, item: ControlItem, schedule: Schedule, order: int, loop: EventLoop) -> None:
        self.item, self.schedule, self.order, self.loop = item, schedule, order, loop
        self.number = self.limit = 0
        self.due = self._due

    @property
    def is_running(self) -> bool:
        """True while frames are still to come due."""
        return self.number < self.limit

    @property
    def due_ps(self) -> int:
        """When the next frame comes due."""
        return self.schedule.instant_ps(self.number) if self.number < self.limit else NEVER

    @property
    def residue(self) -> int:
        """What the next due instant lacks of its exact value, in fractions of a picosecond."""
        schedule = self.schedule
        number = self.number % schedule.burst if schedule.burst else self.number
        return number * (schedule.step * schedule.parts + schedule.rest) % schedule.parts

    def start(self, base_ps: int, number: int, limit: int) -> None:
        """Run from frame `number` of a schedule that begins at `base_ps` up to `limit` frames in all."""
        self.schedule.base_ps, self.number, self.limit = base_ps, number, limit
        self.expect()

    def stop(self) -> None:
        """No further frame comes due."""
        self.limit = self.number

    def expect(self) -> None:
        """Set the event of the next frame."""
        if self.number < self.limit:
            self.loop.push_traffic((self.schedule.instant_ps(self.number), CONTROL_DUE, self.order, self.due))

    def _due(self, now_ps: int) -> None:
        if self.due_ps != now_ps:
            return  # stopped meanwhile
        self.number += 1
        self.expect()
        self.item.line.queue(self.item, now_ps)
