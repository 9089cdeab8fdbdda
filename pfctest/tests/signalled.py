"""Workers that send nothing, signalled as they start, in a process of their own: they are forked from it.

`python -m pfctest.tests.signalled worker NUMBER` signals each worker as soon as it is there, and prints what ended it;
`python -m pfctest.tests.signalled parent` signals the parent while they start, and prints whom it signals in turn.
"""
from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from unittest import mock

from pfctest import storm, workers
from pfctest.gaps import Gaps
from pfctest.interface import Interface
from pfctest.pacing import SendCounts, StopRequest
from pfctest.storm import StormPlan, StormReport

PLAN = StormPlan(tuple(Interface(name, 1, "02:00:00:00:00:01", 100_000) for name in "ab"), (b"frame",) * 2,
                 (b"end",) * 2, 335_539, 167_769)
REQUEST: Any = SimpleNamespace(workers=2)


def send_nothing(request: object, share: StormPlan) -> StormReport:
    """Stands for a storm: how it would end."""
    stop = StopRequest()
    with storm.heeding(stop):
        return StormReport(SendCounts(), Gaps(None), stop.why or "duration", False, "ordinary")


def signal_workers(number: int) -> None:
    """Prints how the storm ended."""
    with mock.patch.object(workers, "die_with_parent", lambda parent: os.kill(os.getpid(), number)):
        print(workers.run(REQUEST, PLAN).ended_by)


def signal_parent() -> None:
    """Prints, for each time that the parent passed its signal on, the number of workers and the signal."""
    start = workers._start

    def interrupted(*words: Any) -> Any:
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # another thread would not hold it back
        return start(*words)

    def note(processes: Sequence[int], number: int) -> None:
        print(len(processes), signal.Signals(number).name)

    with mock.patch.object(workers, "_start", interrupted), mock.patch.object(workers, "_signal", note):
        workers.run(REQUEST, PLAN)


def main() -> None:
    """The program. SIGINT is heeded also where the tests run in a shell's background, which ignores it, and SIGHUP also
    under nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with mock.patch.object(storm, "run", send_nothing):
        if sys.argv[1] == "worker":
            signal_workers(int(sys.argv[2]))
        else:
            signal_parent()


if __name__ == "__main__":
    main()
