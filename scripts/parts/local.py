"""Parts as processes of this machine, tied to the life of the one that starts them."""
from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

from scripts.parts import hold
from scripts.parts.part import END_FILE, PYTHON, JobPart, PartEnd, write_end
from scripts.parts.running import ENDING_S
from tests.common.clone import ROOT
from virtual_testbed.process import command_tied_to

LOCK_FILE = "part.lock"


class PartProcess:
    """A part, carried out by a process of this machine. That is interrupted when the thread that made this ends."""

    def __init__(self, part: JobPart, is_retry: bool, worker: str) -> None:
        """Starts it.

        Args:
            part: it.
            is_retry: whether its log goes on.
            worker: who carries it out.

        Raises:
            OSError: it cannot be started.
        """
        self.worker = worker
        self._part = part
        self._began_s = time.monotonic()
        self._is_asked = False
        part.folder.mkdir(parents=True, exist_ok=True)
        (part.folder / END_FILE).unlink(missing_ok=True)
        words = [sys.executable if part.command[0] == PYTHON else part.command[0], *part.command[1:]]
        command = [sys.executable, hold.__file__, str(part.folder / LOCK_FILE), str(ENDING_S), *words]
        with (part.folder / part.log).open("ab") as log:
            if not is_retry:
                log.truncate(0)
            self._child = subprocess.Popen(
                command_tied_to(os.getpid(), signal.SIGINT, command), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True, env={**os.environ, **dict(part.environment)})
        self._descriptor: int | None = None
        with contextlib.suppress(OSError):  # too many open files
            self._descriptor = os.pidfd_open(self._child.pid)

    def fileno(self) -> int | None:
        """A file descriptor that is readable when the process ends; None: there are too many open files for one."""
        return self._descriptor

    def poll(self) -> PartEnd | None:
        """How it ended; that is kept in its folder where it came to its end by itself."""
        status = self._child.poll()
        if status is None:
            return None
        end = PartEnd(status, time.monotonic() - self._began_s, self.worker, self._cause(status), status < 0)
        if not end.cause:
            with contextlib.suppress(OSError):  # a full disk: it is carried out once more when the job goes on
                write_end(self._part, end)
        return end

    def interrupt(self) -> None:
        """Asks its process to end: as by Ctrl-C."""
        self._is_asked = True
        self._child.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Ends its process at once."""
        self._is_asked = True
        self._child.kill()

    def close(self) -> None:
        """Gives up the file descriptor."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _cause(self, status: int) -> str:
        """Why the exit status says nothing; empty: it is the part's own."""
        if self._is_asked:
            return "interrupted"
        if status < 0:
            return f"its process was killed by {signal.Signals(-status).name}"
        return last_words(self._part).removeprefix("error: ") if status == hold.HELD else ""


def last_words(part: JobPart) -> str:
    """The last line that a part printed."""
    try:
        said = (part.folder / part.log).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        said = []
    return (said or ["it said nothing"])[-1]


class LocalExecutor:
    """Starts parts as children of this process."""

    def start(self, part: JobPart, is_retry: bool) -> PartProcess:
        """Starts a part; there is always room.

        Raises:
            OSError: it cannot be started.
        """
        return PartProcess(part, is_retry, socket.gethostname())
