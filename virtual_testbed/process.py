"""Life and death of processes: children end with their parent, a pid is only trusted with its start time.

`python -m virtual_testbed.process COMMAND...` runs a program that cannot ask for that itself: it asks, then execs.
`command_tied_to` makes such a command line: nothing runs between fork and exec of whoever starts it, which may have
threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1  # linux/prctl.h

# The supervisor sets both for its children: its own pid, and what marks all processes of one run.
PARENT_VARIABLE = "VIRTUAL_TESTBED_PARENT"
RUN_VARIABLE = "VIRTUAL_TESTBED_RUN"

TIED = "--tied-to"

_SWEEPS = 400  # a killed process needs the CPU once more
_SWEEP_PAUSE_S = 0.05


def die_with_parent(expected_parent: int | None = None, with_signal: int = signal.SIGKILL) -> None:
    """Ask the kernel to end this process when its parent dies, also when the parent is killed with SIGKILL.

    Call it first thing in a child. The setting survives exec of an ordinary program, not fork and not a change of
    user. (The kernel means the parent's thread that forked, so a parent must fork from a thread that stays.)

    Args:
        expected_parent: pid of the parent as the parent knows it; default: what the supervisor put into the
            environment, which is taken out here so that it misleads no grandchild. With it the race is closed in
            which the parent dies before this call.
        with_signal: the signal to receive.

    Raises:
        OSError: the kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(with_signal), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl(PR_SET_PDEATHSIG): {os.strerror(number)}")
    parent = os.environ.pop(PARENT_VARIABLE, "")
    if expected_parent is None and parent.isdigit():
        expected_parent = int(parent)
    if expected_parent is not None and os.getppid() != expected_parent:
        os.kill(os.getpid(), with_signal)


@dataclass(frozen=True)
class ProcessIdentity:
    """A process that cannot be mistaken for a later one with the same pid.

    Attributes:
        pid: process id.
        start_time: clock ticks after boot at which it started (field 22 of /proc/<pid>/stat).
    """

    pid: int
    start_time: int

    def is_alive(self) -> bool:
        """True while exactly this process runs (a zombie does not run)."""
        return self == identify(self.pid) and process_state(self.pid) not in ("Z", "X", "")

    def send(self, number: int) -> None:
        """Send a signal to exactly this process; nothing happens when it is gone."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self == identify(self.pid):
                signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return
        finally:
            os.close(handle)


def _stat_fields(pid: int) -> list[str]:
    """Fields of /proc/<pid>/stat from the third on (state is first); empty when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(")")[2].split()  # the name, in parentheses, may hold blanks and parentheses itself


def process_state(pid: int) -> str:
    """One letter of /proc/<pid>/stat (R, S, D, Z, ...); empty when there is no such process."""
    fields = _stat_fields(pid)
    return fields[0] if fields else ""


def identify(pid: int) -> ProcessIdentity | None:
    """The identity of the process that has this pid now; None when there is none."""
    fields = _stat_fields(pid)
    return ProcessIdentity(pid, int(fields[19])) if len(fields) > 19 else None


def waited_for_cpu_s(pid: int) -> float:
    """Seconds for which a process, its first thread, was ready to run and others had the CPUs (Linux' `sched-stats`); 0
    where there is no such process, or the kernel does not count that."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except OSError:
        return 0.0


def this_process() -> ProcessIdentity:
    """The identity of the calling process."""
    identity = identify(os.getpid())
    if identity is None:
        raise OSError("/proc/self/stat cannot be read: /proc is not mounted")
    return identity


def processes_of_run(run: str) -> list[ProcessIdentity]:
    """Processes that carry `VIRTUAL_TESTBED_RUN=<run>` in the environment they were started with, but this one."""
    wanted = f"{RUN_VARIABLE}={run}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        identity = identify(int(folder.name))  # before the environment: a pid that is reused between is then not hit
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # it is gone, or another user's
            continue
        if identity is not None and wanted in environment and identity.is_alive():
            found.append(identity)
    return found


def end_run(run: str) -> list[ProcessIdentity]:
    """Kill what is left of a run.

    Returns:
        What did not end within twenty seconds (a process in uninterruptible sleep); normally empty.
    """
    left: list[ProcessIdentity] = []
    for _ in range(_SWEEPS):  # again and again: what is found may have started more in the meantime
        left = processes_of_run(run)
        if not left:
            break
        for identity in left:
            identity.send(signal.SIGKILL)
        time.sleep(_SWEEP_PAUSE_S)
    return left


def command_tied_to(parent: int, with_signal: int, command: Sequence[str | Path]) -> list[str]:
    """The words that run a command which receives a signal when its parent dies.

    Args:
        parent: pid of the process that will start it.
        with_signal: the signal to receive.
        command: the program, found by $PATH where it is a bare name, and its arguments.
    """
    # -P: this file's folder holds modules that are named as others are
    return [sys.executable, "-P", str(Path(__file__).resolve()), TIED, str(parent), str(int(with_signal)),
            *map(str, command)]


def main(arguments: list[str]) -> None:
    """Become the given program, tied to the parent's life."""
    if arguments[0] == TIED:
        _, parent, with_signal, *arguments = arguments
        die_with_parent(int(parent), int(with_signal))
    else:
        die_with_parent()
    os.execvp(arguments[0], arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
