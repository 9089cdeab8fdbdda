"""One direction of a cable with the control frames that it carries, and what those do at its end.

A train is **steady** when its frames change nothing: each comes before the pause that it prolongs would end, or the
receiver does not honour the class.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from virtual_testbed.dataplane.bounds import Stream, busy_period_ps
from virtual_testbed.dataplane.control import DISCARD, PFC, Control
from virtual_testbed.dataplane.events import NEVER
from virtual_testbed.dataplane.generator import GeneratorSide
from virtual_testbed.dataplane.line import ControlItem, Line
from virtual_testbed.dataplane.pause import PauseReceiver
from virtual_testbed.dataplane.port import SwitchPort
from virtual_testbed.dataplane.train import Train
from virtual_testbed.dataplane.units import pause_time_ps


class Way(NamedTuple):
    """A line, the receiver at its end, and the trains that run on it."""

    line: Line
    receiver: PauseReceiver
    trains: list[Train]


class Steadiness(NamedTuple):
    """What the control frames of a way do.

    Attributes:
        keeps: classes that they keep paused from now on, and how long any pause frame of such a class must last.
        changes_ps: until when nothing else happens; `disturbs`: a frame under way does something else.
        jitter_ps: longest time from a frame's due instant until it has been sent.
    """

    keeps: Mapping[int, int]
    changes_ps: int
    disturbs: bool
    jitter_ps: int


def ways(sides: Iterable[GeneratorSide], ports: Iterable[SwitchPort]) -> list[Way]:
    """All ways of generator ports and switch ports with cables."""
    found = [Way(side.line, side.switch_port.receiver, [s.train for s in side.storms if s.train.is_running])
             for side in sides if side.switch_port is not None]
    for port in ports:
        peer = port.peer
        if isinstance(peer, (SwitchPort, GeneratorSide)):
            found.append(Way(port.line, peer.receiver, [train for train in port.sender.all_trains if train.is_running]))
    return found


def under_way(way: Way) -> list[ControlItem]:
    """Control frames that wait for the line or are on the cable."""
    return [*way.line.controls, *(frame for _, frame in way.line.flight if isinstance(frame, ControlItem))]


def steadiness(way: Way, longest_frame_ps: int, now_ps: int) -> Steadiness | None:
    """What the control frames of a way do when data frames of at most this time share the line.

    Returns:
        None when they may fill the line.
    """
    trains = way.trains
    if not (trains or way.line.controls or way.line.flight or way.receiver.responding):
        return Steadiness({}, NEVER, False, longest_frame_ps)  # what comes of the below where there is no such frame
    waiting_ps = sum(item.tx_time_ps for item in way.line.controls)
    streams = [Stream(train.schedule.step, train.item.tx_time_ps, 0) for train in trains]
    jitter_ps = busy_period_ps(streams, longest_frame_ps + waiting_ps)
    if jitter_ps is None:
        return None
    acts = _acts(way, now_ps + jitter_ps)
    keeps: dict[int, int] = {}
    for priority, since_ps in enumerate(way.receiver.since_ps):
        gap_ps = None if since_ps is None else _kept_by(way, priority, jitter_ps, acts, now_ps)
        if gap_ps is not None:
            keeps[priority] = gap_ps
    changes_ps = min((train.due_ps - 1 for train in trains if _changes(way, _reading(way, train.item), keeps)),
                     default=NEVER)
    for train in trains:
        if train.limit < NEVER:
            changes_ps = min(changes_ps, train.schedule.instant_ps(train.limit - 1) - 1)
    return Steadiness(keeps, changes_ps, any(_changes(way, control, keeps) for _, control in acts), jitter_ps)


def _reading(way: Way, item: ControlItem) -> Control:
    """What comes of a frame of the way."""
    control = way.receiver.reading(item.frame)
    return control if way.line.is_up and control.kind == PFC else Control(DISCARD)


def _acts(way: Way, sent_ps: int) -> list[tuple[int, Control]]:
    """What the frames under way do, and when at the latest, if those that wait have been sent by `sent_ps`."""
    line, receiver = way.line, way.receiver
    arrivals = [(time_ps, frame) for time_ps, frame in line.flight if isinstance(frame, ControlItem)]
    arrivals += [(sent_ps + line.propagation_ps, item) for item in line.controls]
    return [*receiver.responding,
            *((time_ps + receiver.response_ps, _reading(way, item)) for time_ps, item in arrivals)]


def _kept_by(way: Way, priority: int, jitter_ps: int, acts: Sequence[tuple[int, Control]], now_ps: int) -> int | None:
    """Longest time between frames that keep a class paused for ever; None: its pause may end."""
    receiver = way.receiver
    late_ps = jitter_ps + way.line.propagation_ps + receiver.response_ps
    lasting = [train for train in way.trains if train.limit >= NEVER and train.schedule.longest_gap_ps + jitter_ps
               <= _lasts_ps(receiver, _reading(way, train.item), priority)]
    if not lasting:
        return None
    next_ps = min(train.due_ps for train in lasting) + late_ps
    under_way = [(time_ps, _lasts_ps(receiver, control, priority)) for time_ps, control in acts
                 if priority in dict(control.pauses)]
    first_ps = min([next_ps, *(time_ps for time_ps, _ in under_way)])
    if receiver.until_ps[priority] < first_ps or any(now_ps + lasts_ps < next_ps for _, lasts_ps in under_way):
        return None
    return min(train.schedule.longest_gap_ps for train in lasting) + jitter_ps


def _lasts_ps(receiver: PauseReceiver, control: Control, priority: int) -> int:
    """How long a frame pauses a class (0: it does not, or ends its pause)."""
    return pause_time_ps(dict(control.pauses).get(priority, 0), receiver.speed_mbps)


def _changes(way: Way, control: Control, keeps: Mapping[int, int]) -> bool:
    """True when a frame does more than prolong pauses that are kept."""
    receiver = way.receiver
    return any(receiver.shuts[priority] and (quanta or receiver.since_ps[priority] is not None) and (
        priority not in keeps or _lasts_ps(receiver, control, priority) < keeps[priority])
        for priority, quanta in control.pauses)


def carry_begin_ps(way: Way, jitter_ps: int, time_ps: int) -> int:
    """From when on frames must be looked at one by one to know the state of a steady way at `time_ps`."""
    longest_ps = max((train.schedule.longest_gap_ps for train in way.trains), default=0)
    return time_ps - 3 * jitter_ps - way.line.propagation_ps - way.receiver.response_ps - longest_ps


def carry(way: Way, jitter_ps: int, time_ps: int) -> None:
    """Move a way that carries steady trains and nothing else to `time_ps`, every event up to then processed.

    `carry_begin_ps` must lie in the future.
    """
    line, receiver, trains = way
    begin_ps = carry_begin_ps(way, jitter_ps, time_ps)
    for item in line.controls:
        item.launched += 1
    for item in under_way(way):
        _arrived(receiver, item, 1)
    line.controls.clear()
    line.flight.clear()
    receiver.responding.clear()
    line.on_line, line.busy_until_ps = None, begin_ps
    dues: list[tuple[int, int, Train]] = []
    for train in trains:
        first = max(train.number, train.schedule.count(begin_ps - 1))
        train.item.launched += first - train.number
        _arrived(receiver, train.item, first - train.number)
        train.number = train.schedule.count(time_ps)
        dues += [(train.schedule.instant_ps(number), train.order, train) for number in range(first, train.number)]
    for due_ps, _, train in sorted(dues, key=lambda due: due[:2]):
        _send(way, train.item, due_ps, time_ps)


def _send(way: Way, item: ControlItem, due_ps: int, time_ps: int) -> None:
    """A frame comes due: what has become of it by `time_ps`."""
    line, receiver = way.line, way.receiver
    start_ps = max(due_ps, line.busy_until_ps)
    if start_ps > time_ps:
        line.controls.append(item)
        return
    end_ps = start_ps + item.tx_time_ps
    item.launched += 1
    line.on_line, line.busy_until_ps = item, end_ps
    if not line.is_up:
        return
    arrival_ps = end_ps + line.propagation_ps
    if arrival_ps > time_ps:
        line.flight.append((arrival_ps, item))
        return
    _arrived(receiver, item, 1)
    acts_ps, control = arrival_ps + receiver.response_ps, receiver.reading(item.frame)
    if control.kind != PFC:
        return
    if acts_ps > time_ps:
        receiver.responding.append((acts_ps, control))
        return
    for priority, quanta in control.pauses:
        if receiver.shuts[priority]:
            receiver.until_ps[priority] = acts_ps + pause_time_ps(quanta, receiver.speed_mbps)


def _arrived(receiver: PauseReceiver, item: ControlItem, frames: int) -> None:
    if frames and item.line.is_up:
        item.arrived += frames
        receiver.count(item.frame, frames)
