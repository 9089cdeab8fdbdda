"""What a client learns of an advance that takes long: that it gets on, for as long as it does."""
from __future__ import annotations

import itertools
import json
import socket
import threading
from urllib.parse import urlsplit

import pytest

from virtual_testbed.otg import http_front

INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"


class SlowServer:
    """A served testbed whose advance lasts until `finish` is set; `asked` is set when it has looked `LOOKS` times
    whether the computation gets on."""

    LOOKS = 5

    def __init__(self, server, progress):
        self.finish = threading.Event()
        self.asked = threading.Event()
        self._looks = 0
        self._moves = progress
        front, clock = server.engine.front, server.engine.front._clock
        computes = clock.advance
        front._progress = self._look
        clock.advance = lambda request: self.finish.wait() and computes(request)
        self.url = server.url

    def _look(self):
        self._looks += 1
        if self._looks == self.LOOKS:
            self.asked.set()
        return next(self._moves)


def advance(url, version="1.1"):
    """A socket on which an advance by 5 ns was asked for."""
    address = urlsplit(url)
    connection = socket.create_connection((address.hostname, address.port), timeout=60)
    body = json.dumps({"nanoseconds": 5}).encode()
    connection.sendall(f"POST /clock/advance HTTP/{version}\r\nHost: vtb\r\nConnection: close\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection


def answer_of(connection):
    """All that is left to read, from the status line on."""
    return b"".join(iter(lambda: connection.recv(4096), b""))


@pytest.fixture
def slow(server, monkeypatch):
    """Makes a served testbed slow; its progress is an iterator. An advance is let go at the end, whatever happens."""
    monkeypatch.setattr(http_front, "PROGRESS_S", 0.01)
    made = []

    def make(progress):
        made.append(SlowServer(server, progress))
        return made[-1]
    yield make
    for one in made:
        one.finish.set()


def test_as_long_as_a_computation_gets_on_it_says_so(slow):
    running = slow(itertools.count())
    with advance(running.url) as connection:
        assert connection.recv(len(INTERIM), socket.MSG_WAITALL) == INTERIM
        assert connection.recv(len(INTERIM), socket.MSG_WAITALL) == INTERIM
        running.finish.set()
        last = answer_of(connection).replace(INTERIM, b"")
    assert last.startswith(b"HTTP/1.1 200 OK\r\n")
    assert json.loads(last.partition(b"\r\n\r\n")[2])["now_ns"] == 5


@pytest.mark.parametrize(("progress", "version"), [(itertools.repeat(0), "1.1"), (itertools.count(), "1.0")])
def test_nothing_is_said_of_one_that_does_not_nor_to_an_old_client(slow, progress, version):
    """HTTP/1.0 has no interim responses."""
    running = slow(progress)
    with advance(running.url, version) as connection:
        assert running.asked.wait(60)
        running.finish.set()
        assert answer_of(connection).startswith(f"HTTP/{version} 200 OK\r\n".encode())


def test_a_client_that_leaves_is_no_error(slow, caplog):
    running = slow(itertools.count())
    with advance(running.url) as connection:
        assert connection.recv(len(INTERIM), socket.MSG_WAITALL) == INTERIM
    looks = running._looks
    running.finish.set()
    with advance(running.url) as connection:
        assert b"200 OK" in answer_of(connection)
    assert running._looks > looks and not caplog.records


def test_the_data_plane_tells_its_progress(server):
    """The engine hands it to the front."""
    before = server.engine.front._progress()
    server.engine.worker.submit(server.engine.operations.perform,
                                lambda: server.engine.front._clock.advance({"nanoseconds": 7}), False).result()
    assert server.engine.front._progress() != before


def test_an_advance_of_a_clock_that_follows_the_wall_clock_waits_for_the_simulation(make_server):
    with make_server("realtime") as server:
        clock = server.engine.front._clock
        readings = [{"mode": "realtime", "now_ns": now_ns, "lag_ns": 10**9} for now_ns in (40, 60, 101)]
        clock.advance = lambda request: 100
        clock.read = clock.read_awaited = lambda: readings.pop(0)
        with advance(server.url) as connection:
            body = answer_of(connection).rpartition(b"\r\n\r\n")[2]
        assert json.loads(body)["now_ns"] == 101 and not readings
