"""Captures of what a generator port receives: the first frames after its start, data and control."""
from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from virtual_testbed.dataplane.model.control_frames import MacControlFrame
from virtual_testbed.dataplane.model.counters import CapturedFrame
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.port import Path
from virtual_testbed.dataplane.model.traffic import DataFlow

FCS_BYTES = 4
NUMBER_BYTES = 8


class Note(NamedTuple):
    """A frame that reaches the port at `time_ps`: a control frame, or a data frame by its path and number."""

    time_ps: int
    control: MacControlFrame | None
    path: Path | None
    number: int


class PortCapture:
    """One port's capture.

    Attributes:
        is_open: frames are still recorded.
    """

    def __init__(self, start_ps: int, limit_frames: int) -> None:
        self._start_ps = start_ps
        self._limit = limit_frames
        self._stop_ps: int | None = None
        self._notes: list[Note] = []

    @property
    def is_open(self) -> bool:
        """False once it is stopped or full."""
        return self._stop_ps is None and len(self._notes) < self._limit

    @property
    def room(self) -> int:
        """How many more frames it can take."""
        return self._limit - len(self._notes)

    def data_sent(self, path: Path, number: int, arrival_ps: int) -> None:
        """A data frame reaches the port soon."""
        self._add(Note(arrival_ps, None, path, path.number + number * path.cycle))

    def control_arrived(self, frame: MacControlFrame, now_ps: int) -> None:
        """A control frame reaches the port."""
        self._add(Note(now_ps, frame, None, 0))

    def _add(self, note: Note) -> None:
        if self.is_open and note.time_ps > self._start_ps:
            self._notes.append(note)

    def stop(self, now_ps: int) -> None:
        """Frames from now on are not captured."""
        self._stop_ps = now_ps if self._stop_ps is None else self._stop_ps

    def cut(self, now_ps: int) -> None:
        """The cable is cut: what had not come yet never comes."""
        self._notes = [note for note in self._notes if note.time_ps <= now_ps]

    def frames(self, now_ps: int, flows: Mapping[int, DataFlow]) -> list[CapturedFrame]:
        """The frames captured by now, as bytes before the FCS; `flows` by number."""
        until_ps = now_ps if self._stop_ps is None else min(now_ps, self._stop_ps)
        found = sorted((note for note in self._notes if note.time_ps <= until_ps), key=lambda note: note.time_ps)
        return [CapturedFrame(note.time_ps, _bytes(note, flows)) for note in found
                if note.control is not None or (note.path is not None and note.path.flow in flows)]


def tap(side: GeneratorSide, capture: PortCapture | None, now_ps: int) -> None:
    """Let a capture, if there is an open one, observe what reaches a generator port."""
    if side.switch_port is None:
        return
    if capture is not None and not side.is_up:
        capture.cut(now_ps)
    observer = capture if capture is not None and capture.is_open else None
    side.switch_port.observe(observer)
    side.receiver.observe(observer)


def _bytes(note: Note, flows: Mapping[int, DataFlow]) -> bytes:
    if note.control is not None:
        return note.control.data
    assert note.path is not None
    flow = flows[note.path.flow]
    number = note.number
    if flow.content is not None:
        return flow.content(flow, number, *note.path.macs)
    return number.to_bytes(NUMBER_BYTES, "big").ljust(flow.sizes[number % len(flow.sizes)] - FCS_BYTES, b"\0")
