"""Carries out the parts of a job, several at the same time, and ends them in order when a signal asks for that."""
from __future__ import annotations

import selectors
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from scripts.parts.part import JobPart, PartEnd
from scripts.parts.stop import StopSignal
from scripts.testbeds import CLEAN_UP_SECONDS, INTERRUPTS, reason

POLL_S = 1.0
ENDING_S = (INTERRUPTS + 1) * CLEAN_UP_SECONDS  # pytest puts the switch back, then the testbed is taken down
TRIES = 3  # of a part that dies: then something is wrong that another process, or worker, does not mend


class RunningPart(Protocol):
    """A part that a process carries out, here or elsewhere."""

    worker: str
    """Who carries it out."""

    def fileno(self) -> int | None:
        """A file descriptor that is readable when it has ended; None: it has to be looked at now and then."""

    def poll(self) -> PartEnd | None:
        """How it ended; None: it has not."""

    def interrupt(self) -> None:
        """Asks its process to end in order."""

    def kill(self) -> None:
        """Ends its process at once."""

    def close(self) -> None:
        """Gives up what was needed to watch it; it has ended."""


class PartExecutor(Protocol):
    """Starts parts."""

    def start(self, part: JobPart, is_retry: bool) -> RunningPart | None:
        """Starts a part.

        Args:
            part: it does not run, as far as is known here.
            is_retry: whether it was started by this command before, and died.

        Returns:
            The part; None: there is no room for it at present.

        Raises:
            OSError: it cannot be started; the text says why.
        """


class PartObserver:
    """Is told what becomes of the parts; says nothing."""

    def began(self, part: JobPart, worker: str) -> None:
        """A part was started on a worker; also each time that it is started anew because it died."""

    def looked(self, part: JobPart) -> None:
        """A part runs: called about once a second, and once more after `died` or `ended`."""

    def died(self, part: JobPart, end: PartEnd) -> None:
        """A part died, and is going to be started anew."""

    def ended(self, part: JobPart, end: PartEnd) -> None:
        """A part has ended, and is not started again."""


@dataclass
class _Started:
    part: JobPart
    running: RunningPart
    asked_s: float | None = None

    def end(self) -> None:
        """Asks its process to end, once; one that does not within a while is killed."""
        if self.asked_s is None:
            self.asked_s = time.monotonic()
            self.running.interrupt()
        elif time.monotonic() - self.asked_s > ENDING_S:
            self.running.kill()


def run_parts(executor: PartExecutor, parts: Sequence[JobPart], at_once: int, stop: StopSignal,
              observer: PartObserver) -> None:
    """Carries out parts; returns, or raises what the observer raised, when all that were started have ended.

    Args:
        executor: starts them.
        parts: in the order in which they are started where all have room.
        at_once: so many run at the same time, at most.
        stop: when that is asked for, those that run are ended and the others are not started.
        observer: is told what becomes of each part.
    """
    run = _PartsRun(executor, parts, at_once, stop, observer)
    try:
        while run.started or (run.waiting and not stop.asked):
            run.start()
            run.sleep()
            run.look()
    finally:
        while run.started:  # after an exception: what is on a switch is put back whatever went wrong here
            run.end()
            run.sleep()
            run.reap()


class _PartsRun:
    def __init__(self, executor: PartExecutor, parts: Sequence[JobPart], at_once: int, stop: StopSignal,
                 observer: PartObserver) -> None:
        self.waiting = list(parts)
        self.started: list[_Started] = []
        self._executor = executor
        self._at_once = at_once
        self._stop = stop
        self._observer = observer
        self._deaths: dict[str, int] = {}

    def start(self) -> None:
        """Starts what has room; what does not lets others pass."""
        for part in self.waiting[:]:
            if self._stop.asked or len(self.started) >= self._at_once:
                return
            try:
                running = self._executor.start(part, part.name in self._deaths)
            except OSError as error:
                self.waiting.remove(part)
                self._observer.ended(part, PartEnd(None, 0.0, "", f"it could not be started: {reason(error)}"))
                continue
            if running is not None:
                self.waiting.remove(part)
                self.started.append(_Started(part, running))
                self._observer.began(part, running.worker)

    def sleep(self) -> None:
        """Returns after a while, or as soon as a part ended or a signal came."""
        with selectors.DefaultSelector() as selector:
            if not self._stop.asked:
                selector.register(self._stop, selectors.EVENT_READ)
            for one in self.started:
                descriptor = one.running.fileno()
                if descriptor is not None:
                    selector.register(descriptor, selectors.EVENT_READ)
            if self.started or self.waiting:
                selector.select(POLL_S)

    def look(self) -> None:
        """Tells the observer of each part that runs, or has ended."""
        if self._stop.asked:
            self.end()
        running = [one.part for one in self.started]
        self.reap()
        for part in running:
            self._observer.looked(part)

    def end(self) -> None:
        """Asks all that run to end."""
        for one in self.started:
            one.end()

    def reap(self) -> None:
        """Drops the parts that have ended; one that died is going to be started anew, so many times."""
        for one in self.started[:]:
            end = one.running.poll()
            if end is None:
                continue
            self.started.remove(one)
            one.running.close()
            deaths = self._deaths[one.part.name] = self._deaths.get(one.part.name, 0) + end.died
            if end.died and one.asked_s is None and not self._stop.asked and deaths < TRIES:
                self.waiting.insert(0, one.part)
                self._observer.died(one.part, end)
            else:
                self._observer.ended(one.part, end)
