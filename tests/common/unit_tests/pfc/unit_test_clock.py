"""Waiting on a clock, and the virtual clock's endpoint."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.common.pfc.lab.clock import EndpointClock, WallClock, open_clock, wait_for
from tests.common.pfc.model.errors import QualificationError
from tests.common.unit_tests.pfc.fakes import FakeClock, FakeWorld


@pytest.mark.parametrize("true_at, met, ended_at", [(0.0, True, 0.0), (2.0, True, 2.0), (9.0, False, 5.0)])
def test_wait_for(true_at, met, ended_at):
    """It returns as soon as the condition holds, and gives up at the deadline, not later."""
    clock = FakeClock(FakeWorld())
    seen = wait_for(lambda: clock.now() >= true_at, 5.0, clock)
    assert (seen, clock.now()) == (met, ended_at), f"expected {met} at {ended_at} s, got {seen} at {clock.now()} s"


@pytest.fixture
def endpoint():
    """A clock server: its URL, its time, and the requests that it got."""
    state = {"mode": "virtual", "now_ns": 0, "steps": []}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._answer(200, {"mode": state["mode"], "now_ns": state["now_ns"], "lag_ns": 0})

        def do_POST(self):
            step = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["nanoseconds"]
            state["steps"].append(step)
            if state["mode"] != "virtual":
                self._answer(400, {"error": "this clock follows real time"})
                return
            state["now_ns"] += step
            self.do_GET()

        def _answer(self, status, body):
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/clock", state
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_virtual_clock_advances_by_exactly_the_time_slept(endpoint):
    """In steps of at most an hour."""
    url, state = endpoint
    clock = open_clock(url)
    assert isinstance(clock, EndpointClock), type(clock)
    clock.sleep(1.5)
    clock.sleep(7200.25)
    assert state["steps"] == [1500000000, 3600000000000, 3600000000000, 250000000], state["steps"]
    assert clock.now() == 7201.75, clock.now()


def test_a_virtual_clock_never_sleeps_for_nothing(endpoint):
    """What is left until a deadline may be a rounding error of seconds; a poller that sleeps 0 ns never gets there."""
    url, state = endpoint
    EndpointClock(url).sleep(1e-10)
    EndpointClock(url).sleep(0)
    assert state["steps"] == [1], f"expected one step of 1 ns, got {state['steps']}"


def test_the_wall_clock_is_used_where_no_clock_can_be_advanced(endpoint):
    """Without an endpoint, and where the testbed follows real time."""
    url, state = endpoint
    state["mode"] = "realtime"
    assert isinstance(open_clock(url), WallClock), "expected the wall clock"
    assert isinstance(open_clock(None), WallClock), "expected the wall clock"
    with pytest.raises(QualificationError, match="refused the request: .*follows real time"):
        EndpointClock(url).sleep(1)


def test_a_clock_that_is_away_is_one_sentence():
    """The URL and the reason."""
    with pytest.raises(QualificationError, match="the testbed's clock http://127.0.0.1:1/clock cannot be reached: "):
        open_clock("http://127.0.0.1:1/clock")
