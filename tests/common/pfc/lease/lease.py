"""The lease of a switch: who measures with it, until when, and the state found. One file on the switch.

The file is `.pfc_qualification/lease.json` in the login's home directory (commands start there). It is written whole
or not at all, under a lock of that directory that the kernel drops with the shell that holds it. The state found is in
it from its first moment on, so a run that is killed at any time leaves a file from which the switch can be healed.
It runs out `LASTS_S` after it was last touched; both times are the switch's own, so that no other clock matters.

Before a run changes rows of other tables than the watchdog's, it writes the file anew, with these rows as found; before
it changes what is not in CONFIG_DB, with a shell command that brings that back. Such a file has a schema of its own, so
that a version that would put back the watchdog, or rows, alone refuses it.
"""

from __future__ import annotations

import getpass
import json
import os
import shlex
import socket
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..lab.cli_text import first_line
from ..lab.reservation import Reservation, ReservationLost
from ..lab.restore import WATCHDOG
from ..model.errors import QualificationError

FOLDER = ".pfc_qualification"
LEASE_FILE = f"{FOLDER}/lease.json"
SCHEMA = 1  # the watchdog's table alone
SCHEMA_WITH_ROWS = 2  # rows of other tables too; null: there was no such row
SCHEMA_WITH_SCRIPTS = 3  # and shell commands
LASTS_S = 600  # a run touches its lease at each reading of the counters, at most about a minute apart on hardware
LOCK_S = 10  # the lock is held for file operations only; who waits longer meets a switch that hangs
TAKEN = 3  # exit status: the lease is not what the caller thinks
PROC = Path("/proc")


@dataclass(frozen=True)
class LeaseOwner:
    """A process that holds a lease, known from any other one.

    Attributes:
        user, host, pid: for people.
        system: the boot id of the kernel and the PID namespace in which `pid` is a process; empty: unknown. Containers
            have host names and kernels in common, a PID namespace they do not.
        started: when the process started, in the kernel's ticks since its boot.
    """

    user: str
    host: str
    pid: int
    system: str
    started: int

    @classmethod
    def of(cls, pid: int) -> LeaseOwner:
        """The process `pid` of this machine."""
        return cls(_user(), socket.gethostname(), pid, _system(), (_stat(pid) or ("", 0))[1])

    def is_here(self) -> bool:
        """Whether it is, or was, a process that this one can see."""
        return bool(self.system) and self.system == _system()

    def is_dead(self) -> bool:
        """Whether the process is known to have ended: it was one of this system, and is none of it now. A process that
        cannot be seen from here counts as alive."""
        if not self.is_here():
            return False
        try:
            os.kill(self.pid, 0)  # also where /proc hides other users' processes
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        now = _stat(self.pid)
        return now is not None and (now[0] in "ZX" or now[1] != self.started)

    def __str__(self) -> str:
        return f"process {self.pid} of {self.user} on {self.host}"


@dataclass
class Lease(Reservation):
    """What the file says: the owner, its run, and the state before the first run.

    Attributes:
        owner, run_id: whose it is.
        token: tells a lease from all others, also of the same process.
    """

    owner: LeaseOwner
    run_id: str
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def remedy(self) -> str:
        """What puts back what could not be put back yet, for messages."""
        return f"the next run or `pfc-restore NAME` does that from {LEASE_FILE} on the switch"

    def text(self) -> str:
        """The file's contents, one line."""
        tables = {WATCHDOG: self.watchdog, **self.rows}
        owner = asdict(self.owner)
        content = {"token": self.token, "run_id": self.run_id, "owner": owner, "tables": tables}
        if self.scripts:
            return json.dumps({"schema": SCHEMA_WITH_SCRIPTS, **content, "scripts": self.scripts})
        return json.dumps({"schema": SCHEMA_WITH_ROWS if self.rows else SCHEMA, **content})

    def still_ours(self) -> str:
        """A shell command: makes the lease last again, and fails if it is not in the file (any more)."""
        return f"grep -qsF '\"token\": \"{self.token}\"' {LEASE_FILE} && touch -c {LEASE_FILE}"

    def check(self) -> str:
        """A shell command: as `still_ours`; where it fails, it prints what `LOOK` does."""
        return f"{{ {self.still_ours()}; }} || {{ {LOOK}; exit 1; }}"

    def loss(self, hostname: str, text: str) -> ReservationLost:
        """The exception of the run whose lease is not on the switch (any more), from what `check` printed."""
        seen = find(hostname, text, 0)
        now = "pfc-restore or someone ended it" if seen is None else f"it is now that of {seen}"
        return ReservationLost(
            f"{hostname}: this run lost its lease of the switch ({now}); nothing that was measured since counts"
        )

    def take(self, instead_of: Seen | None) -> str:
        """A shell command: writes the file, if what was seen is still so; else exit status `TAKEN`."""
        seen = f"test ! -e {LEASE_FILE}"
        if instead_of is not None:
            seen = f'test "$(sha256sum 2>&1 < {LEASE_FILE} | cut -c -64)" = {shlex.quote(instead_of.digest)}'
        return _locked(f"{seen} || exit {TAKEN}; {self._put()}")

    def write(self) -> str:
        """A shell command: writes the file anew, if it is this lease's; else exit status `TAKEN`."""
        return _locked(f"{{ {self.still_ours()}; }} || exit {TAKEN}; {self._put()}")

    def _put(self) -> str:
        """A shell command: the file is there whole, or as it was."""
        write = (
            f"umask 077; mkdir -p {FOLDER} && printf '%s\\n' {shlex.quote(self.text())} > {LEASE_FILE}.new && "
            f"sync {LEASE_FILE}.new && mv {LEASE_FILE}.new {LEASE_FILE}"
        )
        return f"{{ {write}; }} || {{ rm -f {LEASE_FILE}.new; exit 1; }}"

    def give_up(self) -> str:
        """A shell command: removes the file; the folder too, if nothing else is in it."""
        remove = f"rm -f {LEASE_FILE} && {{ rmdir {FOLDER} 2>/dev/null || true; }}"
        return _locked(f"{{ {self.still_ours()}; }} || exit {TAKEN}; {remove}")


@dataclass(frozen=True)
class Seen:
    """A lease that was found on a switch.

    Attributes:
        lease: what it says.
        age_s: seconds since it was touched, on the switch's clock; below 0 if that clock was set back.
        digest: of the file's bytes.
    """

    lease: Lease
    age_s: int
    digest: str

    def is_over(self) -> bool:
        """Whether another run may take it: its owner is known to be dead, or did not touch it in time. One touched far
        in the future is over too: the switch's clock was set back, and nobody touched it since."""
        return self.lease.owner.is_dead() or abs(self.age_s) >= LASTS_S

    def __str__(self) -> str:
        return f"run {self.lease.run_id} ({self.lease.owner})"


def _locked(script: str) -> str:
    """`script` in a subshell that has the lock."""
    busy = f"echo 'the lock of the home directory is held by another process'; exit {TAKEN}"
    return f"( flock -w {LOCK_S} 9 || {{ {busy}; }}; {script} ) 9<."


# A shell command: the lease's age, its digest and its text; nothing where there is none.
LOOK = _locked(
    f"test ! -e {LEASE_FILE} || {{ echo $(( $(date +%s) - $(stat -c %Y {LEASE_FILE}) )); "
    f"sha256sum < {LEASE_FILE} | cut -c -64; cat {LEASE_FILE}; }}"
)


def find(hostname: str, text: str, status: int) -> Seen | None:
    """The lease on a switch, from what `LOOK` printed and its exit status; None: there is none.

    Raises:
        ReservationLost: the lock of the home directory could not be had.
        QualificationError: there is a file that is no lease.
    """
    if status == TAKEN:
        raise ReservationLost(
            f"{hostname}: {LEASE_FILE} on the switch cannot be looked at: {first_line(text)}; try again"
        )
    try:
        if status:
            raise OSError(text.rstrip().rpartition("\n")[2])
        return _parse(text)
    except (OSError, ValueError, KeyError, TypeError) as error:
        said = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise QualificationError(
            f"{hostname}: {LEASE_FILE} on the switch cannot be read ({said}); look at it, put the watchdog back by hand"
            " and remove it"
        ) from error


def refuse_if_taken(hostname: str, seen: Seen | None) -> None:
    """Says in one sentence who has the switch.

    Raises:
        ReservationLost: a run that may still live has it, and is not this process.
    """
    if seen is not None and not seen.is_over() and seen.lease.owner != LeaseOwner.of(os.getpid()):
        raise ReservationLost(refusal(hostname, seen))


def refusal(hostname: str, seen: Seen) -> str:
    """The sentence for whoever finds the switch taken."""
    return (
        f"{hostname}: {seen} has this switch, and its lease runs out in {LASTS_S - seen.age_s} s unless it goes on;"
        " wait for its end, or stop it and run `pfc-restore NAME`"
    )


def _parse(text: str) -> Seen | None:
    if not text.strip():
        return None
    age, digest, *lines = text.split("\n")
    content = json.loads("\n".join(lines))
    if content["schema"] not in range(SCHEMA, SCHEMA_WITH_SCRIPTS + 1):
        raise ValueError(f"its schema is {content['schema']!r}, expected {SCHEMA} to {SCHEMA_WITH_SCRIPTS}")
    tables = dict(content["tables"])
    for name, rows in tables.items():
        kinds = dict if name == WATCHDOG else dict | None
        if not isinstance(rows, dict) or not all(isinstance(row, kinds) for row in rows.values()):
            raise ValueError(f"{name} is no table")
    watchdog = tables.pop(WATCHDOG)
    scripts = {str(name): str(script) for name, script in dict(content.get("scripts", {})).items()}
    owner = _owner(content["owner"])
    lease = Lease(owner, str(content["run_id"]), str(content["token"]), watchdog=watchdog, rows=tables, scripts=scripts)
    return Seen(lease, int(age), digest)


def _owner(content: Mapping[str, Any]) -> LeaseOwner:
    """An owner as the file has it."""
    user, host, system = (str(content[name]) for name in ("user", "host", "system"))
    return LeaseOwner(user, host, int(content["pid"]), system, int(content["started"]))


def _system() -> str:
    """What `LeaseOwner.system` is on this machine; empty where there is no Linux."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink(PROC / 'self/ns/pid')}"
    except OSError:
        return ""


def _stat(pid: int) -> tuple[str, int] | None:
    """State and start time of a process (proc(5): fields 3 and 22 of `stat`); None if it cannot be seen."""
    try:
        fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[19])


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        return f"uid {os.getuid()}"
