"""Watermarks that begin anew. A switch shows the most that was held since somebody's clear: without one an earlier run
would be judged, or a profile that was larger then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..lab.clock import wait_for
from ..lab.lab import Lab
from ..model.errors import QualificationError
from .switch_counters import HEADROOM, QUEUES, SHARED, group_counts, queues_used

DEADLINE_S = 5.0
"""How long a clear may take: orchagent is told of it, and waited for by nobody."""


@dataclass(frozen=True)
class WatermarkKind:
    """A kind of watermarks.

    Attributes:
        clear: the command that sets them to 0.
        objects: what they are of, as COUNTERS_DB's name map has it (`PG`, `QUEUE`).
        field: their name in COUNTERS_DB.
    """

    clear: str
    objects: str
    field: str

    def row(self, table: str, port: str, number: int) -> str:
        """The key of one of them in a table of COUNTERS_DB, for a shell."""
        name = f"sonic-db-cli COUNTERS_DB HGET COUNTERS_{self.objects}_NAME_MAP {port}:{number}"
        return f'"{table}:$({name})"'


KINDS = {
    HEADROOM: WatermarkKind(
        "sonic-clear priority-group watermark headroom", "PG",
        "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES",
    ),
    SHARED: WatermarkKind(
        "sonic-clear priority-group watermark shared", "PG", "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES",
    ),
    QUEUES: WatermarkKind(
        "sonic-clear queue watermark unicast", "QUEUE", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES",
    ),
}
"""What shows a kind of watermarks -> that kind."""
Places = Mapping[str, Mapping[str, Iterable[int]]]
"""Command that shows a kind -> port -> numbers of its priority groups (or queues)."""


def clear_watermarks(lab: Lab, age_s: float, places: Places) -> Places:
    """Sets watermarks to 0 once the switch has polled what earlier traffic left behind: its registers keep that until a
    poll, which adds it to what was cleared. Returns the kinds that the switch counts: of any other, too, a clear writes
    a 0, and no poll changes it (sonic-swss `watermarkorch.cpp`).

    Args:
        lab: what to measure with.
        age_s: seconds after which everything has been polled.
        places: what has to be at 0 then.

    Raises:
        QualificationError: it is not.
    """
    counted = _counted(lab, places)
    lab.clock.sleep(age_s)
    lab.dut.ask({_name(command): lab.dut.guarded(KINDS[command].clear) for command in counted})
    high: list[tuple[str, str, int, int]] = []

    def are_cleared() -> bool:
        high[:] = _above_0(lab, counted)
        return not high

    if not wait_for(are_cleared, DEADLINE_S, lab.clock):
        _set_to_0(lab, high)
        high[:] = _above_0(lab, counted)
    if high:
        command, port, number, shown = high[0]
        raise QualificationError(
            f"{lab.dut.name} {port}: expected 0 bytes in the watermark of {_column(command)}{number} (`{command}`)"
            f" {DEADLINE_S:.0f} s after `{KINDS[command].clear}`, got {shown}"
        )
    return counted


def _counted(lab: Lab, places: Places) -> Places:
    """The kinds of which a poll has read the first of these places."""
    asked = {}
    for command, ports in places.items():
        port, numbers = next(iter(ports.items()))
        kind = KINDS[command]
        row = kind.row("COUNTERS", port, next(iter(numbers)))
        asked[_name(command)] = f"sonic-db-cli COUNTERS_DB HGET {row} {kind.field}"
    said = lab.dut.ask(asked)
    return {command: ports for command, ports in places.items() if said[_name(command)].strip().isdigit()}


def _set_to_0(lab: Lab, places: Iterable[tuple[str, str, int, int]]) -> None:
    """Does what a clear has to do: orchagent knows the groups that there were when it cleared for the first time, and
    leaves those out that came later."""
    for command, port, number, _ in places:
        kind = KINDS[command]
        row = kind.row("USER_WATERMARKS", port, number)
        lab.dut.ask({"set": lab.dut.guarded(f"sonic-db-cli COUNTERS_DB HSET {row} {kind.field} 0")})


def _above_0(lab: Lab, places: Places) -> Iterator[tuple[str, str, int, int]]:
    """What is not at 0: the command that shows it, its port and number, and what is shown."""
    printed = lab.dut.ask({_name(command): command for command in places})
    for command, ports in places.items():
        for port, numbers in ports.items():
            shown = _shown(printed[_name(command)], command, port)
            yield from ((command, port, number, shown[number]) for number in numbers if shown.get(number, 0))


def _name(command: str) -> str:
    """What a command is called among those of one call."""
    return command.replace(" ", "-")


def _column(command: str) -> str:
    """How the names of a table's columns begin."""
    return "UC" if command == QUEUES else "PG"


def _shown(text: str, command: str, port: str) -> Mapping[int, int]:
    """Group or queue of a port -> bytes; those that are not counted are absent."""
    return queues_used(text, port) if command == QUEUES else group_counts(text, command).get(port, {})
