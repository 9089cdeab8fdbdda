"""A connection to Redis over a unix socket; hiredis reads and writes its protocol (RESP 2).

The commands of a switch use it and not redis-py because importing that takes 0.15 s, more than all the rest of a
command. Replies are decoded: bulk strings to str, integers to int, nil to None, arrays to lists.
"""
from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from typing import Any

import hiredis

_MOST_BYTES = 1 << 16  # that are taken from the socket at once
_INCOMPLETE = object()
Reply = Any  # str | int | None | list[Reply]


class DatabaseError(Exception):
    """Redis cannot be reached or refused a command; the text is one sentence."""


class Connection:
    """One connection to one numbered database. Not for several threads."""

    def __init__(self, path: str, database: int = 0, timeout_s: float | None = 10.0) -> None:
        """Connect. Raises DatabaseError when no Redis listens at `path`."""
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise DatabaseError(f"no Redis answers at {path}: {error.strerror or error}") from error
        self._reader = hiredis.Reader(replyError=DatabaseError, encoding="utf-8", errors="surrogateescape",
                                      notEnoughData=_INCOMPLETE)
        if database:
            self.call("SELECT", database)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; harmless when closed. What loses it closes it, too: a reply that comes too late would
        be taken for that of the next command."""
        self._socket.close()

    def call(self, *arguments: object) -> Reply:
        """Run one command and return its reply. Raises DatabaseError for an error reply or a lost connection."""
        return self.batch([arguments])[0]

    def batch(self, commands: Iterable[Sequence[object]]) -> list[Reply]:
        """Run commands in one round trip; returns their replies. Raises DatabaseError for the first error reply."""
        commands = list(commands)
        self.send(commands)
        replies = [self._read_or_error() for _ in commands]
        for reply in replies:
            if isinstance(reply, DatabaseError):
                raise reply
        return replies

    def transaction(self, commands: Iterable[Sequence[object]]) -> list[Reply]:
        """Run commands as one MULTI/EXEC: others see all of them or none."""
        replies: list[Reply] = self.batch([("MULTI",), *commands, ("EXEC",)])[-1]
        return replies

    def send(self, commands: Iterable[Sequence[object]]) -> None:
        """Send commands without waiting for replies (publish/subscribe). Raises DatabaseError."""
        try:
            self._socket.sendall(b"".join(_encode(command) for command in commands))
        except OSError as error:
            raise self._lost(error) from error

    def read(self) -> Reply:
        """The next reply or message. Raises DatabaseError."""
        reply = self._read_or_error()
        if isinstance(reply, DatabaseError):
            raise reply
        return reply

    def _read_or_error(self) -> Reply:
        try:
            while (reply := self._reader.gets()) is _INCOMPLETE:
                received = self._socket.recv(_MOST_BYTES)
                if not received:
                    raise self._lost("it has ended")
                self._reader.feed(received)
        except (OSError, hiredis.ProtocolError) as error:
            raise self._lost(error) from error
        return reply

    def _lost(self, reason: object) -> DatabaseError:
        self.close()
        return DatabaseError(f"the connection to Redis at {self.path} is lost: {reason}")


def _encode(command: Sequence[object]) -> bytes:
    parts: tuple[Any, ...] = tuple(part if isinstance(part, bytes) else str(part).encode(errors="surrogateescape")
                                   for part in command)
    return bytes(hiredis.pack_command(parts))
