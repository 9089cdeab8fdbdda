"""A Redis of one's own for a comparison."""
from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from virtual_testbed.sonic.resp import Connection, DatabaseError
from virtual_testbed.supervision.plan import redis_server

_PATIENCE_S = 20.0


@contextlib.contextmanager
def own_redis() -> Iterator[str]:
    """The socket of a Redis that ends with the context.

    Raises:
        DatabaseError: it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="sonic-") as folder:
        socket = str(Path(folder, "redis.sock"))
        command = [redis_server(), "--port", "0", "--unixsocket", socket, "--databases", "16", "--save", "",
                   "--notify-keyspace-events", "KA", "--dir", folder]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                _wait_for(socket)
                yield socket
            finally:
                process.terminate()


def _wait_for(socket: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            with Connection(socket) as connection:
                connection.call("PING")
                return
        except DatabaseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
