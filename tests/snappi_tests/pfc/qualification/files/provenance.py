"""What a run's page says of where its verdicts come from: who measured what with which software, and how to do it
again."""

from __future__ import annotations

import getpass
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.common.pfc.lab.dut import SwitchState
from tests.common.pfc.model.ports import ConnectedPort, PortPair

COMMAND = "PFC_COMMAND"
"""The environment variable by which a command that starts pytest says how it was called."""
OPERATOR = "PFC_OPERATOR"
GIT_SECONDS = 10


def of_session() -> dict[str, str]:
    """`operator`, `command` and, where the suite lies in a git checkout, `suite_commit`."""
    commit = suite_commit(Path(__file__).parent)
    return {"operator": operator(), "command": command(), **({"suite_commit": commit} if commit else {})}


def of_switch(state: SwitchState) -> dict[str, str]:
    """`serial`, where the switch says it."""
    return {"serial": state.serial} if state.serial else {}


def of_pair(pair: PortPair) -> dict[str, Any]:
    """`ports`: the port under test and the one where data enters, each with the generator port behind it."""
    return {"ports": {"under_test": _port(pair.rx), "tx": _port(pair.tx)}}


def _port(port: ConnectedPort) -> dict[str, str]:
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
