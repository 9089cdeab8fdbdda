"""The clock of a virtual testbed, and its endpoint."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.common.pfc.lab.option import open_clock
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock


REFUSED_NS = 3


@pytest.fixture
def endpoint():
    """A clock server: its URL, its time, and the requests that it got. While it answers a step, it says `pauses` times
    that it gets on, `pause_s` apart; with `hangs` set it never answers one."""
    state = {"mode": "virtual", "now_ns": 0, "steps": [], "pauses": 0, "pause_s": 0.0, "hangs": None}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._answer(200, {"mode": state["mode"], "now_ns": state["now_ns"], "lag_ns": 0})

        def do_POST(self):
            step = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["nanoseconds"]
            state["steps"].append(step)
            if step == REFUSED_NS:
                self._answer(400, {"code": 400, "kind": "x", "errors": ["nobody has that much time"]})
                return
            if state["hangs"] is not None:
                state["hangs"].wait()
            for _ in range(state["pauses"]):
                self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                time.sleep(state["pause_s"])
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
    clock = open_clock({"clock": url})
    assert clock.exact, "expected a clock on which what lasts milliseconds can be measured"
    clock.sleep(1.5)
    clock.sleep(7200.25)
    assert state["steps"] == [1500000000, 3600000000000, 3600000000000, 250000000], state["steps"]
    assert clock.now() == 7201.75, clock.now()


@pytest.mark.parametrize("seconds, step_ns", [(0.0115015872, 11501588), (1.1, 1100000000), (0.3, 300000000)])
def test_a_virtual_clock_does_not_return_early(endpoint, seconds, step_ns):
    """Data of 11.5015872 ms has ended after 11,501,588 ns, and is still on the line 1 ns before."""
    url, state = endpoint
    EndpointClock(url).sleep(seconds)
    assert state["steps"] == [step_ns], f"expected one step of {step_ns} ns, got {state['steps']}"


def test_a_virtual_clock_never_sleeps_for_nothing(endpoint):
    """What is left until a deadline may be a rounding error of seconds; a poller that sleeps 0 ns never gets there."""
    url, state = endpoint
    EndpointClock(url).sleep(1e-10)
    EndpointClock(url).sleep(0)
    assert state["steps"] == [1], f"expected one step of 1 ns, got {state['steps']}"


def test_a_simulation_that_follows_real_time_is_waited_for(endpoint):
    """On its own clock: where a busy machine makes it fall behind, a run takes longer and measures the same."""
    url, state = endpoint
    state["mode"] = "realtime"
    clock = open_clock({"realtime_clock": url})
    assert not clock.exact, "expected a clock on which flows start when they can"
    clock.sleep(2)
    assert state["steps"] == [2 * 10**9], f"expected to wait for the simulation, got {state['steps']}"
    state["now_ns"] += 10**9
    assert clock.moment() == 3.0, f"expected the time that has passed by itself too, got {clock.moment()}"


def test_a_refusal_is_told(endpoint):
    """With the server's reason."""
    url, _ = endpoint
    expected = r"^not the switch, the virtual testbed refused \(.*\): nobody has that much time$"
    with pytest.raises(QualificationError, match=expected):
        EndpointClock(url).sleep(REFUSED_NS / 1e9)


def test_a_computation_that_gets_on_may_take_longer_than_the_limit(endpoint):
    """The limit is one for no progress, which the server tells."""
    url, state = endpoint
    state |= {"pauses": 8, "pause_s": 0.25}
    clock = EndpointClock(url, timeout_s=1.5)
    clock.sleep(1)
    assert clock.now() == 1.0, f"expected the step to be made, got {clock.now()}"


def test_a_computation_that_does_not_get_on_is_the_machines_fault(endpoint):
    """No word of the switch, and what was seen."""
    url, state = endpoint
    state["hangs"] = threading.Event()
    clock = EndpointClock(url, timeout_s=0.2)
    said = (
        r"the virtual testbed was too slow, or hangs: not a verdict on the switch: its simulation made no progress"
        r" in 0.2 s"
        rf" \({url}/advance; load average [0-9.]+ on [0-9]+ CPUs\)"
    )
    try:
        with pytest.raises(QualificationError, match=said):
            clock.sleep(1)
    finally:
        state["hangs"].set()


def test_a_clock_that_is_away_is_one_sentence():
    """The URL and the reason."""
    with pytest.raises(QualificationError, match="the testbed's clock http://127.0.0.1:1/clock cannot be reached: "):
        open_clock({"clock": "http://127.0.0.1:1/clock"})
