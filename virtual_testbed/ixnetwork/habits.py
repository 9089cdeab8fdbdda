"""Habits of chassis: what IxNetwork may do that OTG does not say, each to be switched on by its name."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

REFRESH_NS = 2 * 10**9
LATENCY_NS = 4 * 10**9
CRC_ERRORS = 3
FLAP_NS = 10**8


class HabitError(ValueError):
    """A habit that does not exist; `str()` is one sentence."""


@dataclass(frozen=True)
class Habits:
    """What a chassis does.

    Attributes:
        finished_stay_started: a traffic item that has sent all stays `started`, so that nobody starts it again.
        counts_accumulate: counts go on; clearing statistics clears nothing.
        refresh_ns: how often statistics are taken; 0: they are those of the moment.
        start_ns, stop_ns: how long a call takes that starts or stops traffic; frames flow from the middle of the one to
            the middle of the other.
        waits_for_statistics: behind a start and a stop an item is in a state of its own until statistics are taken.
        wipes_captures: `clearCaptureInfos` removes what a capture holds.
        other_spelling: addresses come back in another spelling than they were given in (IPv6 written out).
        card: type of the ports; empty: one that PFC is known to work with.
        crc_errors: ports count frames with errors while traffic runs.
        link_flaps: the link of the first port goes down and up again while traffic runs.
        relinks: a port that comes into the session has no link for a moment.
        no_start_beside: what is told to start while something runs does not, and nobody says so.
        sends_what_was_held: an item of a fixed time is a number of frames, and those that PFC holds are sent later; it
            is `started` until then.
        needs_room: bytes that IxNetwork's tag needs in a frame behind its headers; a flow without that is refused.
    """

    finished_stay_started: bool = False
    counts_accumulate: bool = False
    refresh_ns: int = 0
    start_ns: int = 0
    stop_ns: int = 0
    waits_for_statistics: bool = False
    wipes_captures: bool = True
    other_spelling: bool = False
    card: str = ""
    crc_errors: bool = False
    link_flaps: bool = False
    relinks: bool = False
    no_start_beside: bool = False
    sends_what_was_held: bool = False
    needs_room: int = 0


HABITS: dict[str, dict[str, Any]] = {
    "finished-stay-started": {"finished_stay_started": True},
    "counts-accumulate": {"counts_accumulate": True},
    "late-statistics": {"refresh_ns": REFRESH_NS},
    "slow-start": {"start_ns": LATENCY_NS, "refresh_ns": REFRESH_NS},
    "slow-stop": {"stop_ns": LATENCY_NS, "refresh_ns": REFRESH_NS},
    "waiting-states": {"waits_for_statistics": True, "refresh_ns": REFRESH_NS},
    "captures-kept": {"wipes_captures": False},
    "other-spelling": {"other_spelling": True},
    "crc-errors": {"crc_errors": True},
    "link-flaps": {"link_flaps": True},
    "relinks": {"relinks": True},
    "no-start-beside": {"no_start_beside": True},
    "sends-what-was-held": {"sends_what_was_held": True},
    "instrumentation-tag": {"needs_room": 12},
}
CARD = "card="
"""`card=TYPE`: ports of that type of card."""


def read_habits(names: Sequence[str]) -> Habits:
    """The habits of these names, together.

    Raises:
        HabitError: one does not exist.
    """
    found = Habits()
    for name in names:
        if name.startswith(CARD) and name != CARD:
            found = replace(found, card=name.removeprefix(CARD))
        elif name in HABITS:
            found = replace(found, **HABITS[name])
        else:
            raise HabitError(f"habit {name!r}: there is none of that name; habits are {', '.join(HABITS)}, {CARD}TYPE")
    return found
