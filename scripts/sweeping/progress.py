"""Shows how far a sweep is: on a terminal a line for each testbed that is drawn again, in a log a line for each
port that is finished."""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import TextIO

from scripts.output import put
from scripts.sweeping.tally import DevicePort
from scripts.sweeping.testbed_run import MEASURING
from scripts.sweeping.watch import TestbedRun
from tests.common.pfc.record.verdict import Status

UP = "\x1b[A"
CLEAR = "\x1b[K"


class Progress:
    """Prints how far each testbed is."""

    def __init__(self, runs: Sequence[TestbedRun], out: TextIO | None, columns: int | None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is said yet.

        Args:
            runs: those that are going to be carried out.
            out: where to; what cannot be written there is dropped.
            columns: the width of the terminal; None: it is a log.
            clock: seconds, with the same origin as the runs' own.
        """
        self._runs = runs
        self._out = out
        self._columns = columns
        self._clock = clock
        self._drawn = 0
        self._steps: dict[str, str] = {}
        self._width = max(len(run.testbed) for run in runs)

    def update(self, run: TestbedRun, news: Sequence[DevicePort]) -> None:
        """Prints the ports of a testbed that have a new verdict; on a terminal also the time left, even if none has."""
        if self._columns is None and self._steps.get(run.testbed) != run.step and run.ended is None:
            self._steps[run.testbed] = run.step
            self._say(f"{run.testbed} {run.step}")
        for place in news:
            verdict = run.tally.verdict(place)
            if self._columns is None:
                self._say(f"{run.testbed} {' '.join(place)} {self._of(run, place)} ({self.standing(run)})")
            elif verdict is not Status.PASS:
                self._permanent(f"{' '.join(place)} {self._of(run, place)}")
        self._draw()

    def standing(self, run: TestbedRun) -> str:
        """`12 of 32 ports, 11 PASS, 1 FAIL, 0 ERROR, about 2 min left`."""
        done = len(run.tally.done)
        total = len(run.tally.places)
        counts = ", ".join(f"{run.tally.count(status)} {status.value}" for status in Status)
        left = time_left(run.eta.seconds_left(total - done, self._clock()))
        return ", ".join([f"{done} of {total} ports", counts, *([left] if left and run.ended is None else [])])

    def _of(self, run: TestbedRun, place: DevicePort) -> str:
        """`FAIL: vtb-t0-01 Ethernet8 priority 3: expected ...`."""
        return ": ".join(text for text in (run.tally.verdict(place).value, run.tally.cause(place)) if text)

    def _say(self, text: str) -> None:
        put(f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ} {text}\n", self._out)

    def _permanent(self, text: str) -> None:
        """A line above those that are drawn again."""
        put(f"{self._erased()}{text}\n", self._out)

    def _draw(self) -> None:
        if self._columns is None:
            return
        lines = []
        for run in self._runs:
            said = run.step if run.began is not None else "waits"
            said = "ended" if run.ended is not None and run.began is not None else said
            if run.tally.places:
                said = f"{said + ',' if said != MEASURING else ''} {self.standing(run)}".strip()
            # one column less than there are: a full line would wrap, and the next drawing miss it
            lines.append(f"{run.testbed:{self._width}}  {said}"[:self._columns - 1] + "\n")
        put(self._erased() + "".join(lines), self._out)
        self._drawn = len(self._runs)

    def _erased(self) -> str:
        """What takes the lines away that are drawn again."""
        drawn = self._drawn
        self._drawn = 0
        return f"{UP}{CLEAR}" * drawn


def time_left(seconds: float) -> str:
    """`about 40 s left`; empty for less than half a second, or where it is not known."""
    if seconds < 0.5:
        return ""
    if seconds < 120:
        return f"about {seconds:.0f} s left"
    return f"about {seconds / 60:.0f} min left" if seconds < 7200 else f"about {seconds / 3600:.1f} h left"
