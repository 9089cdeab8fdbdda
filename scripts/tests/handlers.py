"""Signal handlers as they were, after commands that catch signals for the rest of their process."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What `StopSignal.catch` and `catch_signals` catch."""


@contextmanager
def handlers_put_back() -> Iterator[None]:
    """Puts the handlers of these signals back at the end of the `with` block."""
    before = {number: signal.getsignal(number) for number in CAUGHT}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
