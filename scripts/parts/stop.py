"""Signals that ask for the end of a job."""
from __future__ import annotations

import os
import signal


class StopSignal:
    """Whether a signal asked for the end of the job."""

    def __init__(self) -> None:
        """No signal is caught yet."""
        self.asked = False
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        """Is readable once a signal came, so that waiting for a process ends."""
        return self._woken

    def catch(self) -> None:
        """Ctrl-C and the like ask for the end; a terminal that is closed too, unless `nohup` was said."""
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signum != signal.SIGHUP or signal.getsignal(signum) != signal.SIG_IGN:
                signal.signal(signum, self._ask)

    def _ask(self, signum: int, frame: object) -> None:
        if not self.asked:
            os.write(self._wake, b"!")
        self.asked = True
