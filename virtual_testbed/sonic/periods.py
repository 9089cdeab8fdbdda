"""What ports have counted in a period of the switch's own time: a command asks for it and waits, the agent looks at its
beginning and at its end. A row in STATE_DB for each, which goes when the command is done.

A command that slept by itself would see as much simulated time pass as somebody lets, or none.
"""
from __future__ import annotations

from collections.abc import Callable, Collection

from virtual_testbed.sonic import databases
from virtual_testbed.sonic.resp import Connection

PREFIX = "VIRTUAL_SWITCH_PERIOD|"
"""Begin of the keys; the rest is another one for each command."""
SECONDS = "seconds"
"""Written by the command: how long; the rest by the agent."""
NOW, FIRST, SECOND = "now_ns", "first", "second"
"""The switch's time; what was seen at the beginning, and at the end (`Look`)."""
KEPT_S = 60
"""How long a row stays that no command takes, wall clock."""
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
        self._told_ps = -1

    def begin(self, keys: Collection[str], now_ps: int, look: Look) -> None:
        """Begin those of these rows that are new. Raises DatabaseError."""
        for key in sorted(keys):
            row = databases.read_hash(self._connection, key)
            if key not in self._ends_ps and FIRST not in row and row.get(SECONDS, "").isdecimal():
                self._connection.call("HSET", key, NOW, now_ps // _PS_PER_NS, FIRST, look())
                self._ends_ps[key] = now_ps + int(row[SECONDS]) * _PS_PER_S

    def pass_time(self, now_ps: int, look: Look) -> None:
        """Tell what time it is, and end what is over. Raises DatabaseError."""
        if now_ps == self._told_ps:
            return
        self._told_ps = now_ps
        for key, end_ps in list(self._ends_ps.items()):
            if not self._connection.call("EXISTS", key):  # the command has given up
                del self._ends_ps[key]
                continue
            self._connection.call("HSET", key, NOW, now_ps // _PS_PER_NS)
            if end_ps <= now_ps:
                self._connection.transaction([("HSET", key, SECOND, look()), ("EXPIRE", key, KEPT_S)])
                del self._ends_ps[key]

    def next_ps(self) -> int | None:
        """When the next one is over; None: there are none."""
        return min(self._ends_ps.values(), default=None)
