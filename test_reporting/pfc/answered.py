"""A connection to PostgreSQL that ends where the server says nothing for too long.

The server's own limits (`statement_timeout`) are of no use where it is frozen itself, or a pooler before it is paused;
nor are those of TCP, as long as its machine acknowledges what it gets.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

import psycopg


class AnsweredConnection(psycopg.Connection[Any]):
    """A connection that is closed where nothing comes for so long.

    Attributes:
        limit_s: seconds; what comes in parts may take longer.
        may_take_long: whether now an answer is waited for without a limit.
    """

    limit_s: float = float("inf")
    may_take_long: Callable[[], bool]

    def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **options: Any) -> Any:
        """Everything that psycopg waits for on a connection."""
        return super().wait(self._heard(gen), *arguments, **options)

    def _heard(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """The steps of what is waited for: psycopg says after each interval whether there is something to read or
        room to write."""
        ready = None
        heard = time.monotonic()
        while True:
            try:
                wanted = gen.send(ready)
            except StopIteration as end:
                return end.value
            ready = yield wanted
            if ready:
                heard = time.monotonic()
            elif time.monotonic() - heard > self.limit_s and not self.may_take_long():
                self.close()
                raise psycopg.OperationalError(f"the server did not answer for {self.limit_s:g} s")
