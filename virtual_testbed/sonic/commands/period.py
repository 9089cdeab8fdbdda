"""Waiting for a period of the switch's own time, in which ports count."""
from __future__ import annotations

import json
import sys
import time
import uuid
from typing import Any

from virtual_testbed.sonic.commands.context import SwitchContext
from virtual_testbed.sonic.databases import read_hash
from virtual_testbed.sonic.periods import FIRST, NOW, PREFIX, SECOND, SECONDS
from virtual_testbed.sonic.resp import Connection

_LONGEST_S = 10.0
"""How long the switch's time may stand still, wall clock."""
_PAUSE_S = 0.05
_MOST_S = 10**6
Look = dict[str, dict[str, dict[str, str]]]
"""`COUNTERS`, `RATES` and `PORT_TABLE`, by object id or port."""


def looks(switch: SwitchContext, seconds: int, command: str) -> tuple[Look, Look]:
    """What the ports show now, and so many seconds of the switch's time later. `command` ends with one sentence when
    that time does not pass. Raises DatabaseError.
    """
    if not 0 < seconds <= _MOST_S:
        sys.exit(f"error: {command}: the period must be 1..{_MOST_S} seconds, found {seconds}")
    key = f"{PREFIX}{uuid.uuid4().hex}"
    with switch.connect("STATE_DB") as state:
        state.call("HSET", key, SECONDS, seconds)
        try:
            row = _awaited(state, key, command)
        finally:
            state.call("DEL", key)
    return _read(row[FIRST]), _read(row[SECOND])


def _awaited(state: Connection, key: str, command: str) -> dict[str, str]:
    now_ns = ""
    moved_s = time.monotonic()
    while True:
        row = read_hash(state, key)
        if SECOND in row:
            return row
        if not row:
            sys.exit(f"error: {command}: the switch has started anew meanwhile")
        if row.get(NOW, "") != now_ns:
            now_ns = row[NOW]
            moved_s = time.monotonic()
        if time.monotonic() - moved_s > _LONGEST_S:
            sys.exit(f"error: {command}: the switch's time has stood still for {_LONGEST_S:.0f} s: its testbed's clock "
                     "has to be advanced meanwhile; or read twice, or see RX_BPS and TX_BPS, which are between two "
                     "polls")
        time.sleep(_PAUSE_S)


def _read(text: str) -> Look:
    found: Any = json.loads(text)
    return {name: found[name] for name in ("COUNTERS", "RATES", "PORT_TABLE")}
