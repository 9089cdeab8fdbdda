"""One direction of a cable with the control frames that it carries, and what those do at its end.

A train is **steady** when its frames change nothing: each comes before the pause that it prolongs would end, or the
receiver does not honour the class.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from virtual_testbed.dataplane.fast_forward.busy_periods import FrameTimes, Stream, busy_period_ps
from virtual_testbed.dataplane.model.control_frames import DISCARD, PFC, Control, MacControlFrame
from virtual_testbed.dataplane.model.events import NEVER, EventLoop, Strand, Watcher
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.hooks import PROLONGS, RESTARTS
from virtual_testbed.dataplane.model.line import ControlItem, ItemSnapshot, Line, Train, TrainSnapshot
from virtual_testbed.dataplane.model.pause_receiver import PauseReceiver, ReceiverSnapshot
from virtual_testbed.dataplane.model.port import SwitchPort
from virtual_testbed.dataplane.model.units import pause_time_ps


class Steadiness(NamedTuple):
    """What the control frames of a path do.

    Attributes:
        keeps: classes that they keep paused from now on, and how long any pause frame of such a class must last.
        changes_ps: until when nothing else happens; `disturbs`: a frame under way does something else.
        jitter_ps: longest time from a frame's due instant until it has been sent.
    """

    keeps: Mapping[int, int]
    changes_ps: int
    disturbs: bool
    jitter_ps: int


class ControlPath(NamedTuple):
    """A line with its sender, the receiver at its end, and the trains that run on it."""

    sender: GeneratorSide | SwitchPort
    line: Line
    receiver: PauseReceiver
    trains: list[Train]

    def under_way(self) -> list[ControlItem]:
        """Control frames that wait for the line or are on the cable."""
        return [*self.line.controls, *(frame for _, frame in self.line.flight if isinstance(frame, ControlItem))]

    def steadiness(self, longest_frame_ps: int, now_ps: int) -> Steadiness | None:
        """What the control frames do when data frames of at most this time share the line.

        Returns:
            None when they may fill the line.
        """
        trains = self.trains
        if not (trains or self.line.controls or self.line.flight or self.receiver.responding):
            return Steadiness({}, NEVER, False, longest_frame_ps)  # what comes of the below where there is no frame
        waiting_ps = sum(item.tx_time_ps for item in self.line.controls)
        streams = [Stream(train.schedule.step, FrameTimes.of([train.item.tx_time_ps]), 0) for train in trains]
        jitter_ps = busy_period_ps(streams, longest_frame_ps + waiting_ps)
        if jitter_ps is None:
            return None
        acts = self._acts(now_ps + jitter_ps)
        keeps: dict[int, int] = {}
        for priority, since_ps in enumerate(self.receiver.since_ps):
            if since_ps is None or not self._restarts(priority, acts, now_ps):
                continue
            gap_ps = self._kept_by(priority, jitter_ps, acts, now_ps)
            if gap_ps is not None:
                keeps[priority] = gap_ps
        changes_ps = min((train.due_ps - 1 for train in trains if self._changes(self._reading(train.item), keeps)),
                         default=NEVER)
        for train in trains:
            if train.limit < NEVER:
                changes_ps = min(changes_ps, train.schedule.instant_ps(train.limit - 1) - 1)
        disturbs = any(self._changes(control, keeps) for _, control in acts)
        return Steadiness(keeps, changes_ps, disturbs, jitter_ps)

    def _reading(self, item: ControlItem) -> Control:
        """What comes of a frame at the end of the line."""
        control = self.receiver.reading(item.frame)
        return control if self.line.is_up and control.kind == PFC else Control(DISCARD)

    def _acts(self, sent_ps: int) -> list[tuple[int, Control]]:
        """What the frames under way do, and when at the latest, if those that wait have been sent by `sent_ps`."""
        line = self.line
        receiver = self.receiver
        arrivals = [(time_ps, frame) for time_ps, frame in line.flight if isinstance(frame, ControlItem)]
        arrivals += [(sent_ps + line.propagation_ps, item) for item in line.controls]
        return [*receiver.responding,
                *((time_ps + receiver.response_ps, self._reading(item)) for time_ps, item in arrivals)]

    def _restarts(self, priority: int, acts: Sequence[tuple[int, Control]], now_ps: int) -> bool:
        """Whether each frame that pauses a class from now on makes its time begin anew: also where what is left of a
        pause may be longer, if all of them pause as long.
        """
        further = self.receiver.habits[priority].further
        if further != PROLONGS:
            return further == RESTARTS
        controls = [control for _, control in acts] + [self._reading(train.item) for train in self.trains]
        lasts_ps = {_lasts_ps(self.receiver, control, priority) for control in controls} - {0}
        return len(lasts_ps) == 1 and self.receiver.until_ps[priority] <= now_ps + min(lasts_ps)

    def _kept_by(self, priority: int, jitter_ps: int, acts: Sequence[tuple[int, Control]], now_ps: int) -> int | None:
        """Longest time between frames that keep a class paused for ever; None: its pause may end."""
        receiver = self.receiver
        late_ps = jitter_ps + self.line.propagation_ps + receiver.response_ps
        lasting = [train for train in self.trains if train.limit >= NEVER and train.schedule.longest_gap_ps + jitter_ps
                   <= _lasts_ps(receiver, self._reading(train.item), priority)]
        if not lasting:
            return None
        next_ps = min(train.due_ps for train in lasting) + late_ps
        under_way = [(time_ps, _lasts_ps(receiver, control, priority)) for time_ps, control in acts
                     if priority in dict(control.timers)]
        first_ps = min([next_ps, *(time_ps for time_ps, _ in under_way)])
        if receiver.until_ps[priority] < first_ps or any(now_ps + lasts_ps < next_ps for _, lasts_ps in under_way):
            return None
        return min(train.schedule.longest_gap_ps for train in lasting) + jitter_ps

    def _changes(self, control: Control, keeps: Mapping[int, int]) -> bool:
        """True when a frame does more than prolong pauses that are kept."""
        receiver = self.receiver
        return any(receiver.honoured[priority] and (quanta or receiver.since_ps[priority] is not None) and (
            priority not in keeps or _lasts_ps(receiver, control, priority) < keeps[priority])
            for priority, quanta in control.timers)

    def carry_begin_ps(self, jitter_ps: int, time_ps: int) -> int:
        """From when on frames must be looked at one by one to know the state of a steady path at `time_ps`."""
        longest_ps = max((train.schedule.longest_gap_ps for train in self.trains), default=0)
        return time_ps - 3 * jitter_ps - self.line.propagation_ps - self.receiver.response_ps - longest_ps

    def carry(self, loop: EventLoop, jitter_ps: int, time_ps: int) -> None:
        """Move a path that carries steady trains and nothing else to `time_ps`, every event up to then processed.

        `carry_begin_ps` must lie in the future. Its last frames are stepped, alone.
        """
        begin_ps = self.carry_begin_ps(jitter_ps, time_ps)
        self.anchor().place(begin_ps)
        strand = Strand(Watcher(), begin_ps - 1, NEVER)
        with loop.apart(strand):
            self.sender.schedule()
            self.line.schedule()
            self.receiver.schedule()
            for train in self.trains:
                train.expect()
        loop.run_apart(strand, time_ps)

    def anchor(self) -> ControlPathAnchor:
        """The path as it is now."""
        moving = self.under_way()
        items = {item: item.snapshot() for item in {*(train.item for train in self.trains), *moving}}
        for item in self.line.controls:
            items[item] = items[item]._replace(launched=items[item].launched + 1)
        for item in moving:
            items[item] = items[item]._replace(arrived=items[item].arrived + self.line.is_up)
        now = self.receiver.snapshot()
        for item in moving if self.line.is_up else ():
            self.receiver.count(item.frame, 1)
        ahead = self.receiver.snapshot()
        self.receiver.restore(now)
        coming = [self.receiver.reading(item.frame) for item in moving]
        until_ps = _with_open_ends(self.receiver, now.until_ps, (*coming, *(control for _, control in now.responding)))
        return ControlPathAnchor(self, items, [train.snapshot() for train in self.trains],
                                 ahead._replace(responding=(), until_ps=until_ps))


@dataclass(eq=False)
class ControlPathAnchor:
    """A control path at the beginning of a steady state, when all control frames under way have been received; it is
    placed at any later instant from there.

    Attributes:
        items: frames of each kind; `trains` as they are.
        receiver: its state; ends of pauses that frames under way prolong are not known.
    """

    control_path: ControlPath
    items: dict[ControlItem, ItemSnapshot]
    trains: list[TrainSnapshot]
    receiver: ReceiverSnapshot

    def place(self, begin_ps: int) -> None:
        """The state in which all frames due before `begin_ps` have been received, and none after."""
        path = self.control_path
        path.line.empty()
        for item, counts in self.items.items():
            item.restore(counts)
        came: list[tuple[MacControlFrame, int]] = []
        for train, begin in zip(path.trains, self.trains):
            number = max(begin.number, min(begin.limit, train.schedule.count(begin_ps - 1)))
            frames = number - begin.number
            train.restore(TrainSnapshot(begin.base_ps, number, begin.limit))
            train.item.count(frames, frames * path.line.is_up)
            if frames and path.line.is_up:
                came.append((train.item.frame, frames))
        if not came:
            path.receiver.restore(self.receiver)
            return
        controls = [path.receiver.reading(frame) for frame, _ in came]
        until_ps = _with_open_ends(path.receiver, self.receiver.until_ps, controls)
        path.receiver.restore(self.receiver._replace(until_ps=until_ps))
        for frame, frames in came:
            path.receiver.count(frame, frames)


def control_paths(sides: Iterable[GeneratorSide], ports: Iterable[SwitchPort]) -> list[ControlPath]:
    """All control paths of generator ports and switch ports with cables."""
    found = []
    for side in sides:
        if side.switch_port is not None:
            running = [storm.train for storm in side.storms if storm.train.is_running]
            found.append(ControlPath(side, side.line, side.switch_port.receiver, running))
    for port in ports:
        peer = port.peer
        if isinstance(peer, (SwitchPort, GeneratorSide)):
            running = [train for train in port.sender.all_trains if train.is_running]
            found.append(ControlPath(port, port.line, peer.receiver, running))
    return found


def _lasts_ps(receiver: PauseReceiver, control: Control, priority: int) -> int:
    """How long a frame pauses a class (0: it does not, or ends its pause)."""
    return pause_time_ps(dict(control.timers).get(priority, 0), receiver.speed_mbps)


def _with_open_ends(receiver: PauseReceiver, until_ps: Sequence[int], controls: Iterable[Control]) -> tuple[int, ...]:
    """Ends of pauses when some frames come: those that a frame prolongs end at an instant that is not known, not before
    its successor comes.
    """
    ends_ps = list(until_ps)
    for control in controls:
        for priority, quanta in control.timers:
            if quanta and receiver.honoured[priority]:
                ends_ps[priority] = NEVER
    return tuple(ends_ps)
