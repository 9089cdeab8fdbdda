"""What a sweep says while it lasts: on a terminal a line for each testbed that is drawn again, in a log a line for each
port that is finished."""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import TextIO

from scripts.sweeping.output import put
from scripts.sweeping.part import MEASURING
from scripts.sweeping.tally import Place
from scripts.sweeping.watch import Part
from tests.common.pfc.record.verdict import Status

UP, CLEAR = "\x1b[A", "\x1b[K"


class Progress:
    """Tells the user."""

    def __init__(self, parts: Sequence[Part], out: TextIO | None, columns: int | None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is said yet.

        Args:
            parts: those that are going to be carried out.
            out: where to; what cannot be written there is dropped.
            columns: the width of the terminal; None: it is a log.
            clock: seconds; it has the origin of the parts' own.
        """
        self._parts, self._out, self._columns, self._clock = parts, out, columns, clock
        self._drawn = 0
        self._steps: dict[str, str] = {}
        self._width = max(len(part.testbed) for part in parts)

    def tell(self, part: Part, news: Sequence[Place]) -> None:
        """Some ports of a testbed have a new verdict; in a terminal the time left is told anew even if none has."""
        if self._columns is None and self._steps.get(part.testbed) != part.step and part.ended is None:
            self._steps[part.testbed] = part.step
            self._say(f"{part.testbed} {part.step}")
        for place in news:
            verdict = part.tally.verdict(place)
            if self._columns is None:
                self._say(f"{part.testbed} {' '.join(place)} {self._of(part, place)} ({self.standing(part)})")
            elif verdict is not Status.PASS:
                self._permanent(f"{' '.join(place)} {self._of(part, place)}")
        self._draw()

    def standing(self, part: Part) -> str:
        """`12 of 32 ports, 11 PASS, 1 FAIL, 0 ERROR, about 2 min left`."""
        done, total = len(part.tally.done), len(part.tally.places)
        counts = ", ".join(f"{part.tally.count(status)} {status.value}" for status in Status)
        left = time_left(part.pace.seconds_left(total - done, self._clock()))
        return ", ".join([f"{done} of {total} ports", counts, *([left] if left and part.ended is None else [])])

    def _of(self, part: Part, place: Place) -> str:
        """`FAIL: vtb-t0-01 Ethernet8 priority 3: expected ...`."""
        return ": ".join(text for text in (part.tally.verdict(place).value, part.tally.cause(place)) if text)

    def _say(self, text: str) -> None:
        put(f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ} {text}\n", self._out)

    def _permanent(self, text: str) -> None:
        """A line above those that are drawn again."""
        put(f"{self._erased()}{text}\n", self._out)

    def _draw(self) -> None:
        if self._columns is None:
            return
        lines = []
        for part in self._parts:
            said = part.step if part.began is not None else "waits"
            said = "ended" if part.ended is not None and part.began is not None else said
            if part.tally.places:
                said = f"{said + ',' if said != MEASURING else ''} {self.standing(part)}".strip()
            # one column less than there are: a full line would wrap, and the next drawing miss it
            lines.append(f"{part.testbed:{self._width}}  {said}"[:self._columns - 1] + "\n")
        put(self._erased() + "".join(lines), self._out)
        self._drawn = len(self._parts)

    def _erased(self) -> str:
        """What takes the lines away that are drawn again."""
        drawn, self._drawn = self._drawn, 0
        return f"{UP}{CLEAR}" * drawn


def time_left(seconds: float) -> str:
    """`about 40 s left`; empty for less than half a second, or where it cannot be told."""
    if seconds < 0.5:
        return ""
    if seconds < 120:
        return f"about {seconds:.0f} s left"
    return f"about {seconds / 60:.0f} min left" if seconds < 7200 else f"about {seconds / 3600:.1f} h left"
