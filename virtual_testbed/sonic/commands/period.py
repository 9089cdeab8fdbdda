"""Waiting for a period of the switch's own time, in which ports count."""
from __future__ import annotations

import json
import sys
import time
import uuid
from typing import Any, NoReturn

from virtual_testbed.sonic.commands.context import SwitchContext
from virtual_testbed.sonic.databases import read_fields
from virtual_testbed.sonic.periods import ALIVE_MS, FIRST, LOOKS, MOST_S, NOW, PREFIX, SECOND, SECONDS
from virtual_testbed.sonic.resp import Connection

_LONGEST_S = 10.0
"""How long the switch's time may stand still while its agent looks, wall clock."""
_LONGEST_SILENCE_S = 600.0
"""How long the agent may not look, as it does not while time is being computed; wall clock."""
_PAUSE_S = 0.05
Look = dict[str, dict[str, dict[str, str]]]
"""`COUNTERS`, `RATES` and `PORT_TABLE`, by object id or port."""


def looks(switch: SwitchContext, seconds: int, command: str) -> tuple[Look, Look]:
    """What the ports show now, and so many seconds of the switch's time later. `command` ends with one sentence when
    that time does not pass. Raises DatabaseError.
    """
    if not 0 < seconds <= MOST_S:
        sys.exit(f"error: {command}: the period must be 1..{MOST_S} seconds, found {seconds}")
    key = f"{PREFIX}{uuid.uuid4().hex}"
    with switch.connect("STATE_DB") as state:
        state.transaction([("HSET", key, SECONDS, seconds), ("PEXPIRE", key, ALIVE_MS)])
        try:
            _wait(state, key, command)
            row = read_fields(state, [key], [FIRST, SECOND])[0]
        finally:
            state.call("DEL", key)
    if not row:
        _exit_without_row(command)
    return _read(row[FIRST]), _read(row[SECOND])


def _wait(state: Connection, key: str, command: str) -> None:
    """Until the agent has looked at the end of the period."""
    seen = [None, None]  # the switch's time, and how often its agent has looked
    moved_s = looked_s = time.monotonic()
    while True:
        is_there, found, is_over = state.batch([
            ("PEXPIRE", key, ALIVE_MS), ("HMGET", key, NOW, LOOKS), ("HEXISTS", key, SECOND)])
        if is_over:
            return
        if not is_there:
            _exit_without_row(command)
        now_s = time.monotonic()
        if found != seen:
            looked_s = now_s
        if found[0] != seen[0]:
            moved_s = now_s
        seen = found
        if looked_s - moved_s > _LONGEST_S:
            sys.exit(f"error: {command}: the switch's time has stood still for {_LONGEST_S:.0f} s: its testbed's clock "
                     "has to be advanced meanwhile; or read twice, or see RX_BPS and TX_BPS, which are between two "
                     "polls")
        if now_s - looked_s > _LONGEST_SILENCE_S:
            sys.exit(f"error: {command}: the switch's testbed has computed, or done nothing, for "
                     f"{_LONGEST_SILENCE_S:.0f} s")
        time.sleep(_PAUSE_S)


def _exit_without_row(command: str) -> NoReturn:
    sys.exit(f"error: {command}: the switch has started anew meanwhile, or the command has stood still for "
             f"{ALIVE_MS // 1000} s")


def _read(text: str) -> Look:
    found: Any = json.loads(text)
    return {name: found[name] for name in ("COUNTERS", "RATES", "PORT_TABLE")}
