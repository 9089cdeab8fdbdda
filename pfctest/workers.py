"""A storm from several processes, each with its share of the interfaces, for more frames than one CPU can send.

Workers end what they began when they are asked to end, and die with their parent, however that ends.
"""
from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Tuple, Union

from pfctest import storm
from pfctest.options import Request
from pfctest.pacing import Progress, Stop
from pfctest.realtime import die_with_parent
from pfctest.sender import SendError
from pfctest.storm import Outcome, Plan

Answer = Union[Outcome, SendError]
_Worker = Tuple[int, Connection]


def run(request: Request, planned: Plan) -> Outcome:
    """Send what is planned with `request.workers` processes, or fewer when there are fewer interfaces.

    Returns:
        What was sent in all; gaps and open time are those of the worker that left the queue open for longest.

    Raises:
        SendError: as `storm.run`; the other workers have ended then.
    """
    shares = [share for share in (_share(planned, number, request.workers) for number in range(request.workers))
              if share.interfaces]
    if len(shares) < 2:
        return storm.run(request, planned)
    stop = Stop()
    workers: list[_Worker] = []
    with storm.heeding(stop, lambda number: _tell([pid for pid, _ in workers], number)):
        with _held():
            for share in shares:
                workers.append(_start(request, share, [here for _, here in workers]))
        if stop.why:  # asked before the last one was there
            _tell([pid for pid, _ in workers], signal.SIGTERM)
        answers = [_answer(worker, workers) for worker in workers]
    failures = [answer for answer in answers if isinstance(answer, SendError)]
    if failures:
        raise failures[0]
    return _together([answer for answer in answers if isinstance(answer, Outcome)])


@contextmanager
def _held() -> Iterator[None]:
    """Keep back signals that would end a storm: a worker that has just been forked would lose them.

    It has its parent's handlers, and begins with signals held back until it heeds them itself (`storm.heeding`).
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, storm.STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _share(planned: Plan, number: int, workers: int) -> Plan:
    """Every `workers`-th interface."""
    return replace(planned, interfaces=planned.interfaces[number::workers], frames=planned.frames[number::workers],
                   releases=planned.releases[number::workers])


def _start(request: Request, share: Plan, others: Sequence[Connection]) -> _Worker:
    """Start a worker; its process id, and where its answer comes from (`others`: where the others' answers do)."""
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)

    def work(parent: int) -> None:
        die_with_parent(parent)
        for end in (here, *others):
            end.close()
        _work(request, share, there)

    process = context.Process(target=work, args=(os.getpid(),), daemon=True)
    process.start()
    there.close()
    return int(process.pid or 0), here


def _work(request: Request, share: Plan, there: Connection) -> None:
    answer: Answer
    try:
        answer = storm.run(request, share)
    except SendError as error:
        answer = error
    there.send(answer)


def _answer(worker: _Worker, workers: Sequence[_Worker]) -> Answer:
    """What a worker has to say at its end; when it failed, the others are asked to end too."""
    pid, here = worker
    try:
        answer: Answer = here.recv()
    except EOFError:
        answer = SendError(f"the worker {pid} was killed: what it paused opens when the last quanta have run out")
    if isinstance(answer, SendError):
        _tell([other for other, _ in workers if other != pid], signal.SIGTERM)
    return answer


def _tell(processes: Sequence[int], number: int) -> None:
    for pid in processes:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _together(outcomes: Sequence[Outcome]) -> Outcome:
    worst = max(outcomes, key=lambda outcome: (outcome.gaps.open_share or 0.0, outcome.gaps.longest_ns))
    totals = {name: sum(getattr(outcome.progress, name) for outcome in outcomes)
              for name in ("frames", "refused", "missed", "last_frames")}
    progress = Progress(**totals, last_ns=worst.progress.last_ns)
    return replace(worst, progress=progress, released=all(outcome.released for outcome in outcomes),
                   failure="; ".join(outcome.failure for outcome in outcomes if outcome.failure))
