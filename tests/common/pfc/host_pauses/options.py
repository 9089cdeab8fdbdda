"""What `pfctest` has to be told to send the frames of a storm. docs/pfctest.md has its options."""

from __future__ import annotations

from collections.abc import Iterable

from ..model.errors import QualificationError
from ..model.qos import PRIORITIES
from ..model.traffic import PAUSE_ADDRESS, PAUSE_SOURCE, PauseFrame

PROBE_FRAMES, PROBE_FPS = 100, 1000


def frame_options(frame: PauseFrame) -> list[str]:
    """Options for a frame. Its source is the interface's own address, unless the source is what the frame is about.

    Raises:
        QualificationError: pfctest sends no such frame.
    """
    if frame.ether_type is not None:
        raise QualificationError(
            f"a frame of ether type 0x{frame.ether_type:04x} is asked for, pfctest sends MAC control frames only"
        )
    said = [f"--global --quanta={frame.quanta[0]}".split()] if frame.is_global else [_times(frame), _vector(frame)]
    if frame.source != PAUSE_SOURCE:
        said.append([f"--raw-source={frame.source}"])
    if frame.destination != PAUSE_ADDRESS:
        said.append([f"--raw-destination={frame.destination}"])
    if frame.operation_code is not None:
        said.append([f"--raw-opcode=0x{frame.operation_code:04x}"])
    return [option for options in said for option in options]


def probe_options(priorities: Iterable[int]) -> list[str]:
    """Options for frames that every switch counts and none notices: PFC for 1 quantum, 100 of them in 0.1 s."""
    classes = ",".join(map(str, priorities))
    return [f"--priority={classes}", "--quanta=1", f"--iteration={PROBE_FRAMES}", f"--rate={PROBE_FPS}"]


def _times(frame: PauseFrame) -> list[str]:
    return [f"--q{priority}={quanta}" for priority, quanta in enumerate(frame.quanta) if quanta]


def _vector(frame: PauseFrame) -> list[str]:
    """The enabled classes by name, so that pfctest knows what to release; others by their bits."""
    if frame.enabled and set(frame.enabled) <= set(PRIORITIES):
        return [f"--p{priority}" for priority in frame.enabled]
    return [f"--raw-vector=0x{sum(1 << bit for bit in frame.enabled):04x}"]
