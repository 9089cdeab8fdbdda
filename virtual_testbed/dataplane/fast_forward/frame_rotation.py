"""Frames of a flow that take turns, and when their turns come again.

Frames that differ in nothing but a DSCP that leads nowhere else are alike: traffic recurs when like frames are where
others were. Their turns are then not the same, nor are the frames under way, which follow from them.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from virtual_testbed.dataplane.model.flow import FlowState, Lane
from virtual_testbed.dataplane.model.generator import GeneratorSide


def length(flow: FlowState) -> int:
    """After how many frames a flow sends frames again that are like those: of one size, along one path."""
    alike = [(lane.path, lane.frame_bytes) for lane in flow.lanes]
    number = len(alike)
    return next(turns for turns in range(1, number + 1) if not number % turns and alike[turns:] == alike[:-turns])


def likeness(frame: object) -> tuple[int, ...]:
    """The same for frames that are alike."""
    return (id(frame.flow), id(frame.path), frame.frame_bytes) if isinstance(frame, Lane) else (id(frame),)


def is_in_turn(side: GeneratorSide) -> bool:
    """Whether the frames under way are those whose turns were last; not so where a flow has begun anew since."""
    return all(frame is _earlier(frame.flow, since) for _, frame, since in _under_way(side))


def replace_frames_under_way(side: GeneratorSide) -> None:
    """The flows of a generator port have taken other turns: let the frames under way be those whose turns were last."""
    frames = [frame for _, frame in side.line.flight]
    for place, frame, since in _under_way(side):
        frames[place] = _earlier(frame.flow, since)
    side.line.replace_frames(frames)
    if side.current is not None:
        side.replace_current(_earlier(side.current.flow, 0))


def _under_way(side: GeneratorSide) -> Iterator[tuple[int, Lane, int]]:
    """Data frames on the line and on the cable, the last one first: place in the flight, frame, how many its flow has
    put on the line since."""
    since: Counter[FlowState] = Counter()
    for place in reversed(range(len(side.line.flight))):
        frame = side.line.flight[place][1]
        if isinstance(frame, Lane):
            yield place, frame, since[frame.flow]
            since[frame.flow] += 1


def _earlier(flow: FlowState, since: int) -> Lane:
    """The frame that a flow put on the line so many frames before its last one."""
    return flow.lanes[(flow.position - 1 - since) % len(flow.lanes)]
