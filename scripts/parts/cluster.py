"""Parts on the workers of Dask: which worker carries out which part is decided here, so that a part that dies is begun
anew in one place, and a worker that is not fit gets none."""
from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from distributed import CancelledError, Client, Future, KilledWorker

from scripts.output import put
from scripts.parts import worker_parts
from scripts.parts.part import JobPart, PartEnd, read_end
from scripts.parts.running import ENDING_S, POLL_S
from scripts.testbeds import Refusal, reason

ANSWER_S = 10.0
GONE_S = 60.0
"""How long a part waits for a worker to come back that reaches what it needs."""


@dataclass(frozen=True)
class ReachingWorker:
    """A worker of Dask.

    Attributes:
        address: unique; a worker that is started again has another one.
        name: for people.
        room: parts that it carries out at the same time.
        reaches: names of testbeds.
    """

    address: str
    name: str
    room: int
    reaches: frozenset[str]

    def can(self, part: JobPart) -> bool:
        """Whether it reaches all that a part needs."""
        return self.reaches >= set(part.needs)


class DaskPart:
    """A part that a worker of Dask carries out."""

    def __init__(self, executor: DaskExecutor, worker: ReachingWorker, part: JobPart, future: Future[dict[str, Any]]
                 ) -> None:
        """It was given to Dask."""
        self.worker = worker.name
        self.address = worker.address
        self._executor = executor
        self._part = part
        self._future = future
        self._began_s = time.monotonic()
        self._asked_s = float("inf")

    def fileno(self) -> int | None:
        """None: Dask has to be asked."""
        return None

    def poll(self) -> PartEnd | None:
        """How it ended: as the worker says, or as the part's folder does where the worker is gone."""
        status = self._future.status
        if status == "finished":
            return self._result()
        if status == "error":
            return self._failed(self._future.exception())
        if status == "pending" and self.address in self._executor.addresses() and not self._is_given_up():
            return None
        return self._gone()

    def interrupt(self) -> None:
        """Asks its worker to end its process; one that does not end within a while is killed there."""
        self._asked_s = time.monotonic()
        self._executor.interrupt(self.address, str(self._future.key))

    def kill(self) -> None:
        """Its worker does that by itself."""

    def close(self) -> None:
        """Dask forgets it."""
        self._executor.forget(self)
        self._future.release()

    def _result(self) -> PartEnd:
        try:
            end = PartEnd(**self._future.result(timeout=ANSWER_S))
        except (CancelledError, KilledWorker, OSError, TimeoutError):
            return self._gone()
        return end

    def _failed(self, error: BaseException | None) -> PartEnd:
        if isinstance(error, KilledWorker):
            return self._gone()
        why = reason(error) if isinstance(error, OSError) else repr(error)
        return PartEnd(None, self._seconds(), self.worker, f"it could not be started: {why}")

    def _gone(self) -> PartEnd:
        """Its worker is gone: perhaps the part came to its end before that."""
        with contextlib.suppress(OSError):
            os.listdir(self._part.folder)  # a network file system looks at the folder again
        self._future.cancel()
        return read_end(self._part) or PartEnd(
            None, self._seconds(), self.worker, f"worker {self.worker} is gone", died=True)

    def _is_given_up(self) -> bool:
        """Whether its worker was asked to end it, and does not answer."""
        return time.monotonic() - self._asked_s > ENDING_S + ANSWER_S

    def _seconds(self) -> float:
        return time.monotonic() - self._began_s


class DaskExecutor:
    """Starts parts on the workers of Dask that are fit, as many on each as it has room for."""

    def __init__(self, address: str, folder: Path, gone_s: float = GONE_S) -> None:
        """Connects.

        Args:
            address: of the scheduler.
            folder: that holds the folders of the parts; all workers see it under this path.
            gone_s: how long a part waits for a worker to come back that reaches what it needs.

        Raises:
            Refusal: the scheduler does not answer.
        """
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is said here
        try:
            self._client = Client(address, timeout=ANSWER_S, set_as_default=False, name="pfc")
        except (OSError, TimeoutError, ValueError) as error:
            raise Refusal(f"Dask's scheduler at {address} does not answer: {error}") from error
        self._address = address
        self._folder = folder
        self._gone_s = gone_s
        self._running: list[DaskPart] = []
        self._problems: dict[str, str] = {}
        self._workers: list[ReachingWorker] = []
        self._looked_s = float("-inf")
        self._missed_s: dict[str, float] = {}

    def __enter__(self) -> DaskExecutor:
        """Is connected."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
                 ) -> None:
        """What still runs is interrupted by its worker."""
        with contextlib.suppress(OSError, TimeoutError):
            self._client.close(ANSWER_S)

    def check(self, parts: Sequence[JobPart]) -> None:
        """Looks at the workers that are there.

        Raises:
            Refusal: there is none, one is not fit, or none reaches what a part needs.
        """
        workers = self._look()
        if not self._problems:
            raise Refusal(f"Dask's scheduler at {self._address} has no worker: start one with `pfc-worker"
                          f" {self._address}`")
        for problem in filter(None, self._problems.values()):
            raise Refusal(problem)
        for part in parts:
            if not any(worker.can(part) for worker in workers):
                raise Refusal(self._out_of_reach(part))

    def start(self, part: JobPart, is_retry: bool) -> DaskPart | None:
        """Gives a part to the worker with the most room; None: none that reaches what it needs has room.

        Raises:
            OSError: no worker reaches it any more.
        """
        able = [worker for worker in self._look() if worker.can(part)]
        if not able:
            missed_s = self._missed_s.setdefault(part.name, time.monotonic())
            if time.monotonic() - missed_s > self._gone_s:
                raise OSError(self._out_of_reach(part))
            return None
        self._missed_s.pop(part.name, None)
        worker = max(able, key=lambda worker: (self._room(worker), -len(worker.reaches)))
        if self._room(worker) < 1:
            return None
        future = self._client.submit(
            _task(), {**asdict(part), "folder": str(part.folder)}, is_retry, key=f"{part.name}-{uuid.uuid4().hex}",
            workers=[worker.address], allow_other_workers=False, pure=False,
            resources={worker_parts.REACHES + name: 1 for name in part.needs})
        started = DaskPart(self, worker, part, future)
        self._running.append(started)
        return started

    def forget(self, part: DaskPart) -> None:
        """A part has ended: its worker has room again."""
        self._running.remove(part)

    def addresses(self) -> set[str]:
        """Of the workers that are there and fit."""
        return {worker.address for worker in self._look()}

    def interrupt(self, address: str, key: str) -> None:
        """Has the process of a task ended in order. Where the worker is gone, its part is found to be."""
        with contextlib.suppress(OSError, TimeoutError):
            self._client.run(worker_parts.interrupt, key, workers=[address], on_error="ignore")

    def _room(self, worker: ReachingWorker) -> int:
        return worker.room - sum(part.address == worker.address for part in self._running)

    def _out_of_reach(self, part: JobPart) -> str:
        if not self._workers:
            return f"Dask's scheduler at {self._address} has no worker any more, or is gone itself"
        known = "; ".join(f"{worker.name} reaches {', '.join(sorted(worker.reaches)) or 'none'}"
                          for worker in self._workers)
        return (f"no worker of Dask's scheduler at {self._address} reaches {', '.join(part.needs)}, which '{part.name}'"
                f" needs ({known})")

    def _look(self) -> list[ReachingWorker]:
        """The workers that are there and fit, asked for once a second; a new one is examined."""
        if time.monotonic() - self._looked_s < POLL_S:
            return self._workers
        try:
            found = self._client.scheduler_info().get("workers", {})  # without them where the scheduler is gone
        except (OSError, TimeoutError):
            found = {}
        workers = sorted((_worker(address, about) for address, about in found.items()), key=lambda one: one.name)
        self._examine([worker for worker in workers if worker.address not in self._problems])
        self._workers = [worker for worker in workers if not self._problems.get(worker.address)]
        self._looked_s = time.monotonic()
        return self._workers

    def _examine(self, workers: Sequence[ReachingWorker]) -> None:
        """Finds out whether workers see the folder and run the same code; one that does not is told of, once."""
        if not workers:
            return
        is_first = not self._problems
        with self._token() as (token, content):
            said = self._client.run(
                worker_parts.examine, str(token), content, worker_parts.clone_version(), worker_parts.clone_commit(),
                workers=[worker.address for worker in workers], on_error="return")
        for worker in workers:
            answer = said.get(worker.address, "is gone")
            problem = answer if isinstance(answer, str) else f"cannot be asked: {answer!r}"
            self._problems[worker.address] = problem and f"worker {worker.name} {problem}"
            if problem and not is_first:
                put(f"note: {self._problems[worker.address]}: it carries out nothing\n", sys.stderr)

    @contextlib.contextmanager
    def _token(self) -> Iterator[tuple[Path, str]]:
        """A file in the folder that no other folder has, and what is in it."""
        content = uuid.uuid4().hex
        token = self._folder / f".seen-{content}"
        token.write_text(content, encoding="utf-8")
        try:
            yield token, content
        finally:
            token.unlink()


def _worker(address: str, about: Mapping[str, Any]) -> ReachingWorker:
    """A worker, as the scheduler knows it."""
    prefix = worker_parts.REACHES
    reaches = frozenset(name.removeprefix(prefix) for name in about["resources"] if name.startswith(prefix))
    return ReachingWorker(address, str(about["name"]), int(about["nthreads"]), reaches)


def _task() -> Callable[[dict[str, Any], bool], dict[str, Any]]:
    """What a worker is given. It has no name in a module and takes plain values, because Dask's scheduler unpacks it
    too, and is started where this project need not be."""

    def carry_out(part: dict[str, Any], is_retry: bool) -> dict[str, Any]:
        from distributed import get_worker

        worker: Any = get_worker()
        ended: dict[str, Any] = worker.plugins["pfc-parts"].carry_out(part, is_retry, worker.get_current_task())
        return ended

    return carry_out
