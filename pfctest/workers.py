"""A storm from several processes, each with its share of the interfaces, for more frames than one CPU can send.

Workers end what they began when they are asked to end, and die with their parent, however that ends.
"""
from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Tuple, Union

from pfctest import storm
from pfctest.options import StormRequest
from pfctest.pacing import SendCounts, StopRequest
from pfctest.realtime import die_with_parent
from pfctest.sender import SendError
from pfctest.storm import StormPlan, StormReport

Answer = Union[StormReport, SendError]
_Worker = Tuple[int, Connection]


def run(request: StormRequest, planned: StormPlan) -> StormReport:
    """Send what is planned with `request.workers` processes, or fewer when there are fewer interfaces.

    Returns:
        What was sent in all; gaps and open time are those of the worker that left the queue open for longest.

    Raises:
        SendError: as `storm.run`, of the worker that failed first; the others have ended then.
    """
    shares = [share for share in (_share(planned, number, request.workers) for number in range(request.workers))
              if share.interfaces]
    if len(shares) < 2:
        return storm.run(request, planned)
    stop = StopRequest()
    workers: list[_Worker] = []
    with storm.heeding(stop, lambda number: _signal([pid for pid, _ in workers], number)):
        with _held():
            for share in shares:
                workers.append(_start(request, share, [here for _, here in workers]))
        if stop.why:  # asked before the last one was there
            _signal([pid for pid, _ in workers], signal.SIGTERM)
        answers = list(_answers(workers))
    failures = [answer for answer in answers if isinstance(answer, SendError)]
    if failures:
        raise failures[0]
    return _together([answer for answer in answers if isinstance(answer, StormReport)])


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


def _share(planned: StormPlan, number: int, workers: int) -> StormPlan:
    """Every `workers`-th interface."""
    return replace(planned, interfaces=planned.interfaces[number::workers], frames=planned.frames[number::workers],
                   releases=planned.releases[number::workers])


def _start(request: StormRequest, share: StormPlan, others: Sequence[Connection]) -> _Worker:
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


def _work(request: StormRequest, share: StormPlan, there: Connection) -> None:
    answer: Answer
    try:
        answer = storm.run(request, share)
    except SendError as error:
        answer = error
    there.send(answer)


def _answers(workers: Sequence[_Worker]) -> Iterator[Answer]:
    """What workers have to say at their ends, as they end; when one has failed, the others are asked to end too."""
    left: dict[Any, int] = {here: pid for pid, here in workers}
    while left:
        for here in wait(list(left)):
            answer = _answer(left.pop(here), here)
            if isinstance(answer, SendError):
                _signal(list(left.values()), signal.SIGTERM)
            yield answer


def _answer(pid: int, here: Any) -> Answer:
    """What a worker that has ended has to say."""
    try:
        answer: Answer = here.recv()
    except EOFError:
        answer = SendError(f"the worker {pid} was killed: what it paused opens when the last quanta have run out")
    return answer


def _signal(processes: Sequence[int], number: int) -> None:
    for pid in processes:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _together(reports: Sequence[StormReport]) -> StormReport:
    worst = max(reports, key=lambda report: (report.counts.refused > 0 and report.gaps.sends < 2,
                                             report.gaps.open_share or 0.0, report.gaps.longest_ns))
    totals = {name: sum(getattr(report.counts, name) for report in reports)
              for name in ("frames", "refused", "missed", "last_frames")}
    by_interface: Counter[str] = Counter()
    for report in reports:
        by_interface.update(report.counts.by_interface)
    counts = SendCounts(**totals, last_ns=worst.counts.last_ns, by_interface=by_interface)
    return replace(worst, counts=counts, released=all(report.released for report in reports),
                   failure="; ".join(report.failure for report in reports if report.failure))
