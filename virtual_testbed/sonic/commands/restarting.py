"""Asking the switch's agent for a restart, and what is up of a switch."""
from __future__ import annotations

import datetime
import os
import sys
import time

from virtual_testbed.sonic.agent_keys import CAUSES, RESTART_KEY, SERVICES_KEY, UP
from virtual_testbed.sonic.commands.context import SwitchContext
from virtual_testbed.sonic.databases import Config, as_json, read_hash, read_hashes
from virtual_testbed.sonic.restarts import RestartRequest, row_name

_LONGEST_S = 10.0
"""How long a command waits until the agent begins what was asked for, wall clock."""
_PAUSE_S = 0.02
_DATE = "%a %b %d %I:%M:%S %p UTC %Y"


def ask_for(switch: SwitchContext, kind: str, config: Config | None = None) -> None:
    """Ask for a restart. `config`: what it comes up with; None: what is in CONFIG_DB. Raises DatabaseError."""
    now = datetime.datetime.now(datetime.UTC)
    user = os.environ.get("SUDO_USER") or os.environ.get("USER") or "admin"
    request = RestartRequest(kind, "admin" if user == "root" else user, now.strftime(_DATE), row_name(now),
                             config="" if config is None else as_json(config))
    fields = [text for pair in request.fields().items() for text in pair]
    switch.connect("STATE_DB").call("HSET", RESTART_KEY, *fields)


def await_begin(switch: SwitchContext, command: str) -> None:
    """Wait until the agent has begun what was asked for. When it does not, that is taken back, and `command` ends with
    one sentence. Raises DatabaseError.
    """
    state = switch.connect("STATE_DB")
    deadline = time.monotonic() + _LONGEST_S
    while state.call("EXISTS", RESTART_KEY):
        if time.monotonic() > deadline:
            is_taken_back = state.call("DEL", RESTART_KEY)
            if is_taken_back:
                sys.exit(f"error: {command} has not begun within {_LONGEST_S:.0f} s, and will not: nothing follows "
                         "what is written to the switch's databases")
            return
        time.sleep(_PAUSE_S)


def running_containers(switch: SwitchContext) -> set[str]:
    """The containers that have started. Raises DatabaseError."""
    return {name for name, state in read_hash(switch.connect("STATE_DB"), SERVICES_KEY).items() if state == UP}


def reboots(switch: SwitchContext) -> dict[str, dict[str, str]]:
    """Name of each reboot -> its row, the last one first. Raises DatabaseError."""
    state = switch.connect("STATE_DB")
    keys = sorted(state.call("KEYS", f"{CAUSES}*"), reverse=True)
    return {key.removeprefix(CAUSES): row for key, row in read_hashes(state, keys).items()}
