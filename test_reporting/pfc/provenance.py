"""What a run's page says of where its verdicts come from: who measured what with which software, and how to do it
again."""

from __future__ import annotations

import getpass
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

COMMAND = "PFC_COMMAND"
"""The environment variable by which a command that starts pytest says how it was called."""
OPERATOR = "PFC_OPERATOR"
GIT_SECONDS = 10


class WiredPort(Protocol):
    """A switch port with the generator port behind it."""

    @property
    def device(self) -> str:
        """The switch."""

    @property
    def port(self) -> str:
        """Its port."""

    @property
    def generator(self) -> str:
        """The traffic generator behind it."""

    @property
    def location(self) -> str:
        """The generator port."""


class WiredPair(Protocol):
    """The port under test and the one where data enters."""

    @property
    def rx(self) -> WiredPort:
        """The port under test."""

    @property
    def tx(self) -> WiredPort:
        """Where data enters."""


class ConfiguredPriorities(Protocol):
    """What the switch's configuration says of the priorities of the port under test."""

    @property
    def lossless(self) -> tuple[int, ...]:
        """Those with PFC enabled."""

    @property
    def dscps(self) -> Mapping[int, tuple[int, ...]]:
        """Priority -> DSCP values that reach it."""

    @property
    def dscp_map(self) -> str:
        """The name of that map."""


class ConfiguredPool(Protocol):
    """The pool of lossless frames that cannot leave."""

    @property
    def pool(self) -> str:
        """Its name."""

    @property
    def size_bytes(self) -> int:
        """Its size."""


class MeasuredPort(Protocol):
    """What a run measures, as the suite plans it."""

    @property
    def pair(self) -> WiredPair:
        """The port under test and the one where data enters."""

    @property
    def qos(self) -> ConfiguredPriorities:
        """Its priorities."""

    @property
    def buffer(self) -> ConfiguredPool:
        """Where held frames are."""


def provenance(
    subjects: Sequence[MeasuredPort] = (), serial: str = "", watched: Callable[[Any], Sequence[int]] = lambda _: ()
) -> dict[str, Any]:
    """What a run's `info` says of where its verdicts come from: `operator`, `command`, and, where they are known,
    `suite_commit`, `serial`, and of one port under test `ports` (`under_test` and `tx`, each with the generator port
    behind it) and `priorities` (what the switch's configuration says of them: `lossless`, `watched`, `dscps` by
    priority, `dscp_map`, `pool`, `pool_bytes`). Of several ports `priorities_by_ports` has that once for all that are
    configured alike, with their names in `ports`.

    Args:
        subjects: the ports that the run measures; none: they are not known.
        serial: of the switch; empty: not known.
        watched: of a port's priorities those that the PFC watchdog watches once it runs.
    """
    commit = suite_commit(Path(__file__).parent)
    known: dict[str, Any] = {"suite_commit": commit, "serial": serial, **_configured(subjects, watched)}
    return {"operator": operator(), "command": command(), **{name: value for name, value in known.items() if value}}


def _configured(subjects: Sequence[MeasuredPort], watched: Callable[[Any], Sequence[int]]) -> dict[str, Any]:
    if len(subjects) == 1:
        pair = subjects[0].pair
        return {"ports": {"under_test": _port(pair.rx), "tx": _port(pair.tx)},
                "priorities": _priorities(subjects[0], watched)}
    alike: list[dict[str, Any]] = []
    for subject in subjects:
        found = _priorities(subject, watched)
        group = next((one for one in alike if one == {**found, "ports": one["ports"]}), None)
        if group is None:
            alike.append({**found, "ports": [subject.pair.rx.port]})
        else:
            group["ports"].append(subject.pair.rx.port)
    return {"priorities_by_ports": alike}


def _priorities(subject: MeasuredPort, watched: Callable[[Any], Sequence[int]]) -> dict[str, Any]:
    qos = subject.qos
    return {
        "lossless": list(qos.lossless), "watched": list(watched(qos)),
        "dscps": {str(priority): list(values) for priority, values in sorted(qos.dscps.items())},
        "dscp_map": qos.dscp_map, "pool": subject.buffer.pool, "pool_bytes": subject.buffer.size_bytes}


def _port(port: WiredPort) -> dict[str, str]:
    return {"device": port.device, "port": port.port, "generator": port.generator, "location": port.location}


def operator() -> str:
    """Who measures: what `$PFC_OPERATOR` says, else the account and the machine."""
    told = os.environ.get(OPERATOR, "").strip()
    if told:
        return told
    try:
        account = getpass.getuser()
    except (KeyError, OSError):  # no such account
        account = str(os.getuid())
    return f"{account}@{socket.gethostname()}"


def command() -> str:
    """What is typed to measure the same again: what `$PFC_COMMAND` says, else this process's command line."""
    told = os.environ.get(COMMAND, "").strip()
    return told or shlex.join(["python", "-m", "pytest", *sys.argv[1:]])


def suite_commit(folder: Path) -> str:
    """The commit of the suite, with "and changes" where files differ from it; empty: it is in no git checkout."""
    commit = _git(folder, "rev-parse", "HEAD")
    if not commit:
        return ""
    return f"{commit} and changes" if _git(folder, "status", "--porcelain", "--untracked-files=no") else commit


def _git(folder: Path, *arguments: str) -> str:
    """What git prints; empty where it says no, or is not there."""
    try:
        answer = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False,
                                timeout=GIT_SECONDS, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"})
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
