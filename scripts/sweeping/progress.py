"""What a sweep says while it lasts: on a terminal a line for each testbed that is drawn again, in a log a line for each
port that is finished."""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import TextIO

from scripts.sweeping.part import MEASURING
from scripts.sweeping.tally import Place
from scripts.sweeping.watch import Part
from tests.common.pfc.verdict import Status

UP, CLEAR = "\x1b[A", "\x1b[K"


class Progress:
    """Tells the user."""

    def __init__(self, parts: Sequence[Part], out: TextIO, columns: int | None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is said yet.

        Args:
            parts: those that are going to be carried out.
            out: where to.
            columns: the width of the terminal; None: it is a log.
            clock: seconds; it has the origin of `Part.first_done`.
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
        since_s, before = part.first_done or (self._clock(), done)
        left = time_left(done - before, total - done, self._clock() - since_s)
        return ", ".join([f"{done} of {total} ports", counts, *([left] if left and part.ended is None else [])])

    def _of(self, part: Part, place: Place) -> str:
        """`FAIL: vtb-t0-01 Ethernet8 priority 3: expected ...`."""
        return ": ".join(text for text in (part.tally.verdict(place).value, part.tally.cause(place)) if text)

    def _say(self, text: str) -> None:
        print(f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ} {text}", file=self._out, flush=True)

    def _permanent(self, text: str) -> None:
        """A line above those that are drawn again."""
        self._erase()
        print(text, file=self._out, flush=True)

    def _draw(self) -> None:
        if self._columns is None:
            return
        self._erase()
        for part in self._parts:
            said = part.step if part.began is not None else "waits"
            said = "ended" if part.ended is not None and part.began is not None else said
            if part.tally.places:
                said = f"{said + ',' if said != MEASURING else ''} {self.standing(part)}".strip()
            # one column less than there are: a full line would wrap, and the next drawing miss it
            self._out.write(f"{part.testbed:{self._width}}  {said}"[:self._columns - 1] + "\n")
        self._drawn = len(self._parts)
        self._out.flush()

    def _erase(self) -> None:
        self._out.write(f"{UP}{CLEAR}" * self._drawn)
        self._drawn = 0


def time_left(done: int, left: int, elapsed: float) -> str:
    """The time that ports take which are left, from what those took that this command measured after the first.

    Args:
        done: ports measured in `elapsed` seconds.
        left: ports to measure.

    Returns:
        `about 40 s left`; empty where there is no rate yet, or nothing left.
    """
    if done <= 0 or left <= 0:
        return ""
    seconds = elapsed / done * left
    if seconds < 120:
        return f"about {seconds:.0f} s left"
    return f"about {seconds / 60:.0f} min left" if seconds < 7200 else f"about {seconds / 3600:.1f} h left"
