"""The plugins that sonic-mgmt's pytest is started with: which tests run, what is written of them, how time passes."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import snappi

from virtual_testbed.sonic_mgmt.outcomes import is_chosen
from virtual_testbed.sonic_mgmt.simulated_sleep import (
    CALL_S, ITEMS, LONGEST_STEP_S, LOOK_S, STOP, STOP_S, SimulatedTime, stopping_later,
)

STAND_INS = Path(__file__).resolve().parents[1] / "sonic_mgmt"
SUITE = '''
import time, pytest, waits_elsewhere
from time import sleep

def test_good(): import nnpy
@pytest.mark.topology("tgen", "t0")
def test_bad(): assert 1 == 2, "one\\nis not two"
@pytest.fixture
def broken(): raise RuntimeError("no lab")
def test_broken(broken): pass
@pytest.fixture
def ends_badly():
    yield
    raise RuntimeError("not put back")
def test_ends_badly(ends_badly): assert False, "first"
def test_skipped(): pytest.skip("no such port")
def test_x_reboot(): pass
@pytest.mark.topology("multidut-tgen")
def test_of_others(): pass
@pytest.mark.topology("any")
def test_sleeps():
    began = time.time(), time.monotonic()
    sleep(1000.25)
    time.sleep(0)
    assert 1000.25 <= time.time() - began[0] < 1100 and 1000.25 <= time.monotonic() - began[1] < 1100
    waits_elsewhere.wait()
def test_watched():
    from common.plugins.parallel_fixture import watched_for
    began = time.time()
    assert watched_for(0.3) >= 2 and 0.3 <= time.time() - began < 100
def test_rest_of_an_interval():
    from tests.common.snappi_tests.traffic_generation import interval
    assert interval(60) == 60, "whatever its call takes in real time"
def test_ansible():
    from ansible.executor.task_queue_manager import TaskQueueManager
    with pytest.raises(AttributeError):
        TaskQueueManager.run(None, None)
'''
INTERVAL = '''
import threading, time
from datetime import datetime
def interval(seconds):
    began = datetime.now()
    time.sleep(6)  # a call, in simulated time
    threading.Event().wait(0.7)  # and in real time
    left = round(seconds - (datetime.now() - began).total_seconds())
    time.sleep(left)
    return (datetime.now() - began).total_seconds()
'''
"""As sonic-mgmt collects statistics once a minute: it waits for what its own calls have left of the minute."""
CONFTEST = '''
import tests.common.snappi_tests.traffic_generation
def pytest_addoption(parser): parser.addoption("--topology")
def pytest_configure(config): config.addinivalue_line("markers", "topology(name): of theirs")
'''
ELSEWHERE = '''
import time
def wait():
    began = time.time()
    time.sleep(0.01)
    assert time.time() - began < 500
'''
WATCHER = '''
import threading, time
rounds = 0
def _monitor_workers():
    global rounds
    while True:
        rounds += 1
        time.sleep(0.1)
threading.Thread(target=_monitor_workers, daemon=True).start()
def watched_for(seconds):
    before, event = rounds, threading.Event()
    event.wait(seconds)
    return rounds - before
'''
"""As sonic-mgmt's plugin looks after its threads as long as pytest runs."""


CLIENT_TEST = '''
import time, ixnetwork_restpy.connection, ixnetwork_restpy.assistants.statistics, snappi_ixnetwork.vport
from ITEMS import TrafficItem

def test_client():
    began = time.time()
    snappi_ixnetwork.vport.wait(500)
    ixnetwork_restpy.assistants.statistics.wait(300)
    ixnetwork_restpy.connection.wait(0.01)
    assert 800 <= time.time() - began < 900
    assert TrafficItem().STOP("sync", async_operation=False) == ("sync", False)
'''.replace("ITEMS", ITEMS).replace("STOP", STOP)
CLIENT_WAITS = '''
import time
def wait(seconds):
    before = time.time()
    time.sleep(seconds)
    assert time.time() - before >= seconds
'''
CLIENT_ITEM = '''
class TrafficItem:
    def STOP(self, *arguments, **named):
        return (*arguments, *named.values())
'''.replace("STOP", STOP)
"""As snappi_ixnetwork and ixnetwork_restpy wait, and stop a traffic item."""


FORKS = '''
import os, signal, sys
from virtual_testbed.sonic_mgmt.simulated_sleep import SimulatedTime
simulated = SimulatedTime(*sys.argv[1:])
with simulated._serving, simulated._counting:
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        simulated._serve_a_step()
        os._exit(0)
    sys.exit(os.waitpid(child, 0)[1])
'''
"""A process that forks while one of its threads lets time pass; the child does so too, and ends after 10 s at most."""


class FakeClock(BaseHTTPRequestHandler):
    """Takes down what it is advanced by; refuses what would lead beyond a limit."""

    advanced: list[int] = []
    limit_ns = 10**15
    awaited_ns = 0
    says = b""

    def do_GET(self) -> None:  # noqa: N802
        now_ns = sum(self.advanced)
        awaited = {"awaited_ns": self.awaited_ns} if self.awaited_ns > now_ns else {}
        body = self.says or json.dumps({"now_ns": now_ns, **awaited}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:  # noqa: N802
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["nanoseconds"]
        is_refused = sum(self.advanced) + asked > self.limit_ns
        if not is_refused:
            self.advanced.append(asked)
        body = b"takes too long" if is_refused else b"{}"
        self.send_response(500 if is_refused else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Says nothing."""


@pytest.fixture(name="clock")
def fixture_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(FakeClock, "advanced", [])
    server = HTTPServer(("127.0.0.1", 0), FakeClock)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/clock"
    server.shutdown()
    thread.join()
    server.server_close()


def run(folder: Path, clock: str, names: str,
        *files: tuple[str, str]) -> tuple[dict[str, list[str]], dict[str, tuple[str, str]], int]:
    """What was planned, result and reason of each test, and the exit status that was written.

    Args:
        folder: for all of it.
        clock: its address.
        names: parts of names of tests, with commas.
        files: further ones, name in the folder and text.
    """
    suite, elsewhere = folder / "tests", folder / "elsewhere"
    for file, text in ((suite / "test_x.py", SUITE), (suite / "conftest.py", CONFTEST),
                       (suite / "pytest.ini", "[pytest]"),
                       (suite / "common/plugins/parallel_fixture/__init__.py", WATCHER),
                       (suite / "common/snappi_tests/traffic_generation.py", INTERVAL),
                       (elsewhere / "waits_elsewhere.py", ELSEWHERE),
                       *((folder / name, text) for name, text in files)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    outcomes = folder / "outcomes.jsonl"
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
    subprocess.run([sys.executable, "-m", "pytest", "-p", "simulated_sleep", "-p", "outcomes", "-c", "pytest.ini",
                    "-p", "no:cacheprovider", "--topology", "tgen"], cwd=suite, check=False, capture_output=True,
                   env={**kept, "PYTHONPATH": os.pathsep.join(map(str, (STAND_INS, elsewhere, folder))),
                        "VIRTUAL_TESTBED_CLOCK": clock, "UPSTREAM_OUTCOMES": str(outcomes), "UPSTREAM_TESTS": names})
    planned, *came, ended = [json.loads(line) for line in outcomes.read_text(encoding="ascii").splitlines()]
    found = {event["test"].partition("::")[2]: (event["result"], event["reason"]) for event in came}
    assert [event["test"] for event in came] == planned["planned"]
    return planned, found, ended["ended"]


def test_what_is_written_of_each_test(tmp_path: Path, clock: str) -> None:
    planned, found, ended = run(tmp_path, clock, "")
    assert planned["left_out"] == ["test_x.py::test_x_reboot"] and ended == 1
    assert {test: result for test, (result, _) in found.items()} == {
        "test_good": "passed", "test_bad": "failed", "test_broken": "error", "test_ends_badly": "error",
        "test_skipped": "skipped", "test_sleeps": "passed", "test_watched": "passed",
        "test_rest_of_an_interval": "passed", "test_ansible": "passed"}, found
    assert found["test_bad"][1].startswith("AssertionError: one\n  is not two")
    assert found["test_broken"][1] == "RuntimeError: no lab" and found["test_skipped"][1] == "no such port"
    assert sum(FakeClock.advanced) == (1000.25 + 60 + CALL_S) * 1e9 and max(FakeClock.advanced) == LONGEST_STEP_S * 1e9


def test_what_the_clock_refuses_is_the_reason(tmp_path: Path, clock: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeClock, "limit_ns", 10**9)
    _, found, _ = run(tmp_path, clock, "test_sleeps")
    assert list(found) == ["test_sleeps"]
    assert "not the switch, the virtual testbed refused" in found["test_sleeps"][1]
    assert found["test_sleeps"][1].endswith("takes too long")


def test_ixnetworks_client_waits_in_simulated_time_but_for_its_server(tmp_path: Path, clock: str) -> None:
    packages = {f"elsewhere/{name}.py": text for name, text in {
        "snappi_ixnetwork/__init__": "", "snappi_ixnetwork/vport": CLIENT_WAITS, "ixnetwork_restpy/__init__": "",
        "ixnetwork_restpy/assistants/statistics": CLIENT_WAITS, "ixnetwork_restpy/connection": CLIENT_WAITS,
        ITEMS.replace(".", "/"): CLIENT_ITEM}.items()}
    _, found, _ = run(tmp_path, clock, "test_client", *packages.items(), ("tests/test_client.py", CLIENT_TEST))
    assert found == {"test_client": ("passed", "")}, found
    assert sum(FakeClock.advanced) == (500 + 300 + STOP_S) * 1e9


def control_of(kind: str, state: str) -> snappi.ControlState:
    control = snappi.ControlState()
    if kind == "flows":
        control.traffic.flow_transmit.state = state
    elif kind == "protocols":
        control.protocol.all.state = state
    else:
        control.port.capture.state = state
    return control


@pytest.mark.parametrize("kind, state, seconds", [
    ("flows", "stop", STOP_S), ("flows", "start", 0), ("protocols", "stop", 0), ("captures", "stop", 0)])
def test_stopping_flows_takes_the_time_that_a_chassis_takes(tmp_path: Path, clock: str, kind: str, state: str,
                                                            seconds: float) -> None:
    told = []
    simulated = SimulatedTime(clock, tmp_path)

    def set_state(api: object, payload: snappi.ControlState) -> str:
        told.append((payload, sum(FakeClock.advanced)))
        return "done"

    asked = control_of(kind, state)
    assert stopping_later(set_state, simulated)(None, asked) == "done"
    assert told == [(asked, 0)], "they stop first"
    assert sum(FakeClock.advanced) == seconds * 1e9


def test_time_passes_for_a_command_of_a_switch_that_waits(
    tmp_path: Path, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a call of Ansible runs, and as much as is waited for."""
    simulated = SimulatedTime(clock, tmp_path)
    monkeypatch.setattr(FakeClock, "awaited_ns", 3 * 10**9)
    with simulated.serving_switches():
        until_advanced(3 * 10**9)
        time.sleep(3 * LOOK_S)
    monkeypatch.setattr(FakeClock, "awaited_ns", 9 * 10**9)
    time.sleep(2 * LOOK_S)
    assert sum(FakeClock.advanced) == 3 * 10**9 and simulated.slept_s == 3


def test_what_the_clock_refuses_meanwhile_is_said_at_the_end(
    tmp_path: Path, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeClock, "awaited_ns", 3 * 10**9)
    monkeypatch.setattr(FakeClock, "limit_ns", 10**9)
    with pytest.raises(OSError, match="takes too long"), SimulatedTime(clock, tmp_path).serving_switches():
        time.sleep(3 * LOOK_S)


def test_a_call_that_ends_is_not_held_up_by_a_command_that_waits_on(
    tmp_path: Path, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a timeout of Ansible."""
    monkeypatch.setattr(FakeClock, "awaited_ns", 10**12)
    with SimulatedTime(clock, tmp_path).serving_switches():
        until_advanced(1)
    advanced = len(FakeClock.advanced)
    time.sleep(2 * LOOK_S)
    assert len(FakeClock.advanced) == advanced < 10**12 / (LONGEST_STEP_S * 1e9)


def test_calls_beside_each_other_let_the_time_pass_once(
    tmp_path: Path, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated = SimulatedTime(clock, tmp_path)
    monkeypatch.setattr(FakeClock, "awaited_ns", 30 * 10**9)
    with contextlib.ExitStack() as calls:
        for _ in range(4):
            calls.enter_context(simulated.serving_switches())
        until_advanced(30 * 10**9)
        time.sleep(3 * LOOK_S)
    assert sum(FakeClock.advanced) == 30 * 10**9 and simulated.slept_s == 30


def test_a_forked_process_does_not_wait_for_a_thread_of_its_parent(
    tmp_path: Path, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeClock, "awaited_ns", 10**9)
    subprocess.run([sys.executable, "-c", FORKS, clock, str(tmp_path)], check=True, timeout=20)
    assert sum(FakeClock.advanced) == LONGEST_STEP_S * 1e9


def test_whatever_goes_wrong_meanwhile_is_said_at_the_end(
    tmp_path: Path, clock: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(FakeClock, "says", b"no JSON")
    with pytest.raises(json.JSONDecodeError), SimulatedTime(clock, tmp_path).serving_switches():
        time.sleep(3 * LOOK_S)
    with pytest.raises(KeyError, match="of the call"), SimulatedTime(clock, tmp_path).serving_switches():
        time.sleep(3 * LOOK_S)
        raise KeyError("of the call")
    said = [record.getMessage() for record in caplog.records]
    assert said == ["no simulated time for the commands of switches"] * 2


def until_advanced(nanoseconds: int) -> None:
    deadline = time.monotonic() + 20
    while sum(FakeClock.advanced) < nanoseconds:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("test, names, chosen", [
    ("a::test_x[1]", [], True), ("a::test_x_reboot[1]", [], False), ("a::test_x[1]", ["x["], True),
    ("a::test_x[1]", ["y", "a::"], True), ("a::test_x[1]", ["y"], False), ("a::test_x_reboot", ["test_x"], False),
    ("a::test_x_reboot", ["x_reboot"], True), ("a::x_restart", ["reboot", "x"], False),
    ("pfc/warm_reboot/a::test_x_reboot", ["x_reboot"], False),
    ("pfc/warm_reboot/a::test_x_reboot", ["warm_reboot"], True)])
def test_which_tests_run(test: str, names: list[str], chosen: bool) -> None:
    assert is_chosen(test, names) is chosen
