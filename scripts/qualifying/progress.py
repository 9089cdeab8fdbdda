"""Shows how far a qualification is: a line for each family of the plan, on a terminal with a bar while it runs."""
from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from scripts.output import put
from tests.common.pfc.record.verdict import Status

BEGINNING = "\r"
CLEAR = "\x1b[K"
BAR = 20
SKIPPED = "skipped"
"""The status of an item that turned out to be about nothing on this port."""
ORDER = (*(status.value for status in Status), SKIPPED)

Event = dict[str, Any]


class ItemEvents:
    """What `item_log` writes, while it does."""

    def __init__(self, file: Path) -> None:
        """Nothing is read yet.

        Args:
            file: need not be there.
        """
        self._file = file
        self._offset = 0

    def read(self) -> Iterator[Event]:
        """What is new. A line counts once it is whole; one that a full disk tore does not."""
        if not self._file.is_file():
            return
        with self._file.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if line.endswith(b"\n"):
                    self._offset += len(line)
                    with suppress(ValueError):
                        yield json.loads(line)


class FamilyProgress:
    """Prints a line for each family."""

    def __init__(self, out: TextIO | None, is_terminal: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is said yet.

        Args:
            out: where to; what cannot be written there is dropped.
            is_terminal: whether a line can be drawn again.
            clock: seconds.
        """
        self._out = out
        self._is_terminal = is_terminal
        self._clock = clock
        self._planned: dict[str, int] = {}
        self._done: dict[str, Counter[str]] = {}
        self._since = clock()
        self._seen = set[str]()
        self.verdict: Event = {}
        """The last event; empty: there was none."""

    @property
    def status(self) -> Status:
        """The verdict; of a session that did not come to its end, ERROR unless an item failed."""
        return Status(self.verdict.get("status", Status.FAIL if Status.FAIL.value in self._seen else Status.ERROR))

    def end(self) -> None:
        """Takes the bar of a family away that has not come to its end."""
        put(self._erased(), self._out)

    def take(self, event: Event) -> None:
        """Takes in what happened, and says it."""
        if "planned" in event:
            self._planned = event["planned"]
            self._since = self._clock()
        elif "family" in event:
            self._ended(event["family"], event["status"])
        else:
            self.verdict = event

    def _ended(self, family: str, status: str) -> None:
        """An item has ended."""
        self._seen.add(status)
        done = self._done.setdefault(family, Counter())
        done[status] += 1
        total = self._planned.get(family, done.total())
        if done.total() >= total:
            now = self._clock()
            line = f"{family:5}{total:4} items  {verdicts(done):24} {now - self._since:4.0f} s"
            put(f"{self._erased()}{line}\n", self._out)
            self._since = now
        elif self._is_terminal:
            filled = BAR * done.total() // total
            bar = "#" * filled + "." * (BAR - filled)
            put(f"{self._erased()}{family:5}{total:4} items  [{bar}] {verdicts(done)}", self._out)

    def _erased(self) -> str:
        """What takes the bar away."""
        return BEGINNING + CLEAR if self._is_terminal else ""


def verdicts(found: Counter[str]) -> str:
    """`PASS`, or `3 PASS, 6 FAIL`."""
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{found[status]} {status}" for status in ORDER if found[status])


class LogTail:
    """Prints what is added to a log, as it stands there."""

    def __init__(self, log: Path, out: TextIO | None) -> None:
        """Nothing is printed yet.

        Args:
            log: need not be there.
            out: where to.
        """
        self._log = log
        self._out = out
        self._offset = 0

    def copy(self) -> None:
        """Prints what is new."""
        if not self._log.is_file():
            return
        with self._log.open("rb") as file:
            file.seek(self._offset)
            new = file.read()
        self._offset += len(new)
        put(new.decode("utf-8", "replace"), self._out)
