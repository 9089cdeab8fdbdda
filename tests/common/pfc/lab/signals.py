"""Signals that would end a process while it has switches."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

ENDING = (signal.SIGTERM, signal.SIGHUP)


def as_interrupts() -> ExitStack:
    """From now on signals that would end the process at once raise KeyboardInterrupt, until what this returns is
    closed. What is ignored (`nohup`) or heeded by others stays so."""
    heeded = ExitStack()
    for number in ENDING:
        if _is_main() and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
            heeded.callback(signal.signal, number, signal.SIG_DFL)
    return heeded


@contextmanager
def put_off() -> Iterator[list[int]]:
    """Signals that come inside the `with` block only get into the list that it yields."""
    came: list[int] = []
    with ExitStack() as heeded:
        for number in (signal.SIGINT, *ENDING):
            if _is_main() and (before := signal.getsignal(number)) not in (signal.SIG_IGN, None):
                signal.signal(number, lambda number, frame: came.append(number))
                heeded.callback(signal.signal, number, before)
        yield came


def _is_main() -> bool:
    """Only the main thread may set handlers."""
    return threading.current_thread() is threading.main_thread()
