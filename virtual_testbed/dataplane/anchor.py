"""A way (line, receiver and trains) at the beginning of a regime, from which it is placed at any later instant."""
from __future__ import annotations

from dataclasses import dataclass

from virtual_testbed.dataplane.control import Control
from virtual_testbed.dataplane.events import NEVER
from virtual_testbed.dataplane.line import ControlItem
from virtual_testbed.dataplane.pause import PauseReceiver
from virtual_testbed.dataplane.ways import Way, under_way


@dataclass(eq=False)
class Anchor:
    """One way at the beginning of the regime, when all control frames under way have been received.

    Attributes:
        items: frames of each kind (launched, arrived); `numbers` the next frame of each train.
        counts, kinds, until_ps: of the receiver; ends of pauses that frames under way prolong are not known.
    """

    way: Way
    items: dict[ControlItem, tuple[int, int]]
    numbers: list[int]
    counts: list[int]
    kinds: dict[str, int]
    until_ps: list[int]

    def place(self, begin_ps: int) -> None:
        """The state in which all frames due before `begin_ps` have been received, and none after."""
        line, receiver, trains = self.way
        line.controls.clear()
        line.flight.clear()
        line.on_line = None
        line.busy_until_ps = 0
        receiver.responding.clear()
        receiver.counts[:] = self.counts
        receiver.kinds.update(self.kinds)
        receiver.until_ps[:] = self.until_ps
        for item, (launched, arrived) in self.items.items():
            item.launched, item.arrived = launched, arrived
        for train, number in zip(trains, self.numbers):
            train.number = max(number, min(train.limit, train.schedule.count(begin_ps - 1)))
            frames = train.number - number
            if frames:
                train.item.launched += frames
                if line.is_up:
                    train.item.arrived += frames
                    receiver.count(train.item.frame, frames)
                    _forget_ends(receiver, receiver.reading(train.item.frame), receiver.until_ps)


def anchor(way: Way) -> Anchor:
    """A way as it is now."""
    line, receiver, trains = way
    moving = under_way(way)
    items = {item: (item.launched, item.arrived) for item in {*(train.item for train in trains), *moving}}
    for item in line.controls:
        launched, arrived = items[item]
        items[item] = launched + 1, arrived
    for item in moving:
        launched, arrived = items[item]
        items[item] = launched, arrived + line.is_up
    counts, kinds = _counted_ahead(way, moving)
    found = Anchor(way, items, [train.number for train in trains], counts, kinds, list(receiver.until_ps))
    coming = [receiver.reading(item.frame) for item in moving]
    for control in (*coming, *(control for _, control in receiver.responding)):
        _forget_ends(receiver, control, found.until_ps)
    return found


def _counted_ahead(way: Way, moving: list[ControlItem]) -> tuple[list[int], dict[str, int]]:
    """What the receiver will have counted when the frames under way have come; its own counts stay."""
    receiver = way.receiver
    counts, kinds = list(receiver.counts), dict(receiver.kinds)
    if way.line.is_up:
        for item in moving:
            receiver.count(item.frame, 1)
    ahead = list(receiver.counts), dict(receiver.kinds)
    receiver.counts[:] = counts
    receiver.kinds.update(kinds)
    return ahead


def _forget_ends(receiver: PauseReceiver, control: Control, until_ps: list[int]) -> None:
    """The pauses that a frame prolongs end at an instant that is not known; not before its successor comes."""
    for priority, quanta in control.pauses:
        if quanta and receiver.shuts[priority]:
            until_ps[priority] = NEVER
