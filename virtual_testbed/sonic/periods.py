"""What ports have counted in a period of the switch's own time: a command asks for it and waits, the agent looks at its
beginning and at its end. A row in STATE_DB for each, which goes when the command is done, or has ended without a word:
the command lets it live for a short time, again and again (`ALIVE_MS`), and the agent writes only where it still is.

A command that slept by itself would see as much simulated time pass as somebody lets, or none.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Collection

from virtual_testbed.sonic import databases
from virtual_testbed.sonic.resp import Connection

PREFIX = "VIRTUAL_SWITCH_PERIOD|"
"""Begin of the keys; the rest is another one for each command."""
SECONDS = "seconds"
"""Written by the command: how long; the rest by the agent."""
MOST_S = 10**6
"""The longest period; the shortest is a second."""
NOW, FIRST, SECOND = "now_ns", "first", "second"
"""The switch's time; what was seen at the beginning, and at the end (`Look`)."""
LOOKS = "looks"
"""How often the agent has looked after periods: it does so again and again unless time is being computed."""
ALIVE_MS = 5_000
"""How long a row stays after its command's last sign of life, wall clock."""
_READ = """
    if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return {} end
    return redis.call('HGETALL', KEYS[1])
"""
_WRITE = """
    if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return 0 end
    redis.call('HSET', KEYS[1], unpack(ARGV))
    return 1
"""
_PS_PER_S = 10**12
_PS_PER_NS = 1000
Look = Callable[[], str]
"""What the ports show now."""


class Periods:
    """The periods of one switch that are not over.

    Args:
        connection: STATE_DB; its owner closes it.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ends_ps: dict[str, int] = {}
        self._looks = 0

    def begin(self, keys: Collection[str], now_ps: int, look: Look) -> None:
        """Begin those of these rows that are new; what is no row of a command is left alone. Raises DatabaseError."""
        for key in sorted(keys):
            if key in self._ends_ps:
                continue
            row = databases.pairs(self._connection.call("EVAL", _READ, 1, key))
            seconds = _seconds(row)
            if seconds is not None and self._write(key, now_ps, FIRST, look()):
                self._ends_ps[key] = now_ps + seconds * _PS_PER_S

    def pass_time(self, now_ps: int, look: Look) -> None:
        """Tell what time it is, end what is over, and forget what nobody waits for. Raises DatabaseError."""
        self._looks += 1
        for key, end_ps in list(self._ends_ps.items()):
            is_over = end_ps <= now_ps
            seen = (SECOND, look()) if is_over else ()
            is_there = self._write(key, now_ps, *seen)
            if is_over or not is_there:
                del self._ends_ps[key]

    def next_ps(self) -> int | None:
        """When the next one is over; None: there are none."""
        return min(self._ends_ps.values(), default=None)

    def _write(self, key: str, now_ps: int, *fields: str) -> bool:
        """Write the time and these fields into a row, unless it has gone; whether it is there. Raises DatabaseError."""
        now_ns = now_ps // _PS_PER_NS
        return bool(self._connection.call("EVAL", _WRITE, 1, key, NOW, now_ns, LOOKS, self._looks, *fields))


def _seconds(row: dict[str, str]) -> int | None:
    """How long a command asks for; None: it does not, or no longer."""
    text = row.get(SECONDS, "")
    if FIRST in row or not re.fullmatch("[0-9]{1,7}", text):
        return None
    return int(text) if 1 <= int(text) <= MOST_S else None
