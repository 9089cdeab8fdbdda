"""Watermarks that begin anew. A switch shows the most that was held since somebody's clear: without one an earlier run
would be judged, or a profile that was larger then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..lab.clock import wait_for
from ..lab.lab import Lab
from ..model.errors import QualificationError
from .switch_counters import HEADROOM, QUEUES, SHARED, group_counts, queues_used

CLEARS = {
    HEADROOM: "sonic-clear priority-group watermark headroom",
    SHARED: "sonic-clear priority-group watermark shared",
    QUEUES: "sonic-clear queue watermark unicast",
}
"""What shows a kind of watermarks -> what sets it to 0."""
DEADLINE_S = 5.0
"""How long a clear may take: orchagent is told of it, and waited for by nobody."""


def clear_watermarks(lab: Lab, age_s: float, places: Mapping[str, Mapping[str, Iterable[int]]]) -> None:
    """Sets watermarks to 0 once the switch has polled what earlier traffic left behind: its registers keep that until a
    poll, which adds it to what was cleared.

    Args:
        lab: what to measure with.
        age_s: seconds after which everything has been polled.
        places: command that shows them -> port -> numbers of the groups (or queues) that have to be at 0 then.

    Raises:
        QualificationError: they are not.
    """
    lab.clock.sleep(age_s)
    lab.dut.ask({_name(command): lab.dut.guarded(CLEARS[command]) for command in places})
    high: list[str] = []

    def are_cleared() -> bool:
        high[:] = _above_0(lab, places)
        return not high

    if not wait_for(are_cleared, DEADLINE_S, lab.clock):
        raise QualificationError(f"{lab.dut.name} {high[0]}")


def _above_0(lab: Lab, places: Mapping[str, Mapping[str, Iterable[int]]]) -> list[str]:
    """What is not at 0: where, what is expected, what is shown."""
    printed = lab.dut.ask({_name(command): command for command in places})
    found = []
    for command, ports in places.items():
        kind = "UC" if command == QUEUES else "PG"
        for port, numbers in ports.items():
            shown = _shown(printed[_name(command)], command, port)
            found += [
                f"{port}: expected 0 bytes in the watermark of {kind}{number} (`{command}`) {DEADLINE_S:.0f} s after"
                f" `{CLEARS[command]}`, got {shown[number]}"
                for number in numbers if shown.get(number, 0)
            ]
    return found


def _name(command: str) -> str:
    """What a command is called among those of one call."""
    return command.replace(" ", "-")


def _shown(text: str, command: str, port: str) -> Mapping[int, int]:
    """Group or queue of a port -> bytes; those that are not counted are absent."""
    return queues_used(text, port) if command == QUEUES else group_counts(text, command).get(port, {})
