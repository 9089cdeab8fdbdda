"""Becomes a part's process once that has the part's folder for itself: `hold.py LOCK SECONDS COMMAND...`.

What was started for a part and outlives its worker, because it puts a switch back, holds the lock as long as it lives,
on whatever machine that has the folder. So a part that is carried out anew never meets itself.
"""
from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
from collections.abc import Sequence

HELD = 75  # exit status (EX_TEMPFAIL of sysexits.h): another process has the folder


def hold(lock: str, seconds: int) -> str:
    """Locks a file until this process, and those that inherit the lock, have ended.

    Args:
        lock: path of the file; it says who has it.
        seconds: to wait for it.

    Returns:
        Why it could not be had, in one sentence; empty: it could.
    """
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.set_inheritable(descriptor, True)
        signal.signal(signal.SIGALRM, _too_late)
        signal.alarm(seconds)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        signal.alarm(0)
        os.truncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    except TimeoutError:
        with open(lock, encoding="utf-8", errors="replace") as file:
            owner = file.read().strip() or "another process"
        return f"{lock}: {owner} carries this part out, and has not ended within {seconds} s"
    except OSError as error:
        return f"{lock} cannot be locked: {error.strerror}"
    return ""


def _too_late(signum: int, frame: object) -> None:
    raise TimeoutError


def main(arguments: Sequence[str]) -> int:
    """Locks, then runs the command in this process's place."""
    lock, seconds, *command = arguments
    try:
        problem = hold(lock, int(seconds))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    if problem:
        print(f"error: {problem}", flush=True)
        return HELD
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.execvp(command[0], command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
