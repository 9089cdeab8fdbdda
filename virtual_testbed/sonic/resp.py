"""A small client of Redis' protocol (RESP 2) over a unix socket.

The commands of a switch use it and not redis-py because importing that takes 0.15 s, more than all the rest of a
command. Replies are decoded: bulk strings to str, integers to int, nil to None, arrays to lists. Reference: the
protocol specification of Redis ("RESP protocol description").
"""
from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from typing import Any

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
        self._stream = self._socket.makefile("rb")
        if database:
            self.call("SELECT", database)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; harmless when closed."""
        self._stream.close()
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
            raise DatabaseError(f"the connection to Redis at {self.path} is lost: {error}") from error

    def read(self) -> Reply:
        """The next reply or message. Raises DatabaseError."""
        reply = self._read_or_error()
        if isinstance(reply, DatabaseError):
            raise reply
        return reply

    def _read_or_error(self) -> Reply:
        try:
            return self._reply(self._stream.readline())
        except OSError as error:
            raise DatabaseError(f"the connection to Redis at {self.path} is lost: {error}") from error

    def _reply(self, line: bytes) -> Reply:
        if not line.endswith(b"\r\n"):
            raise DatabaseError(f"the connection to Redis at {self.path} is lost")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return DatabaseError(rest.decode())
        if kind == b":":
            return int(rest)
        size = int(rest)
        if size < 0:
            return None
        if kind == b"$":
            return self._stream.read(size + 2)[:-2].decode(errors="surrogateescape")
        return [self._element() for _ in range(size)]

    def _element(self) -> Reply:
        """As `_read_or_error`; a missing field, the most frequent element, takes the shortest way."""
        line = self._stream.readline()
        return None if line == b"$-1\r\n" else self._reply(line)


def _encode(command: Sequence[object]) -> bytes:
    parts = [argument if isinstance(argument, bytes) else str(argument).encode(errors="surrogateescape")
             for argument in command]
    return b"*%d\r\n" % len(parts) + b"".join([b"$%d\r\n%b\r\n" % (len(part), part) for part in parts])
