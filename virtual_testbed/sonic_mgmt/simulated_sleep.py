"""A pytest plugin for sonic-mgmt's environment: where sonic-mgmt waits, simulated time is advanced by that much, and it
goes on at once. Its clocks (`time.time`, `time.monotonic`, `time.perf_counter`) show the time that passed so as passed.

A call of Ansible takes simulated time too, always the same, and so does stopping flows, as on IxNetwork: tests rely on
it that counters of a switch, which are a second old at most, those of queues ten, have been taken anew by the time that
they come to read them.

While a call of Ansible runs, a command of a switch may wait in the switch's own time (`portstat -p 1`), which the clock
says (`awaited_ns`): so much passes then. Calls in several threads let it pass once. Processes, which sonic-mgmt forks
for some calls, do not know of each other: each may let a step too much pass (`LONGEST_STEP_S`), and the clocks of each
show what it has let pass itself.

What waits for threads of its own process (`WATCHERS`) waits for real, as they do: sonic-mgmt's plugin
`parallel_fixture` looks after its threads every 0.1 s as long as pytest runs, and simulated time would pass all the
while, as fast as the machine allows.

What sonic-mgmt measures by `datetime.now()`, it measures of its own calls, to wait for the rest of an interval
(`INTERVALS`): there it sees simulated time alone, or a busy machine would shorten the interval.

Where sonic-mgmt speaks to IxNetwork, its client (`CLIENTS`) waits for links, addresses, captures and statistics, all of
which are the testbed's: it waits in simulated time too. Its connection waits for the API server itself, for real.

Used as `-p simulated_sleep` with this folder in PYTHONPATH and the clock of a virtual testbed in VIRTUAL_TESTBED_CLOCK.
Only what these files wait for is simulated: Ansible, SSH and the other libraries wait for real ones.
"""
from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, tzinfo
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CLOCK = "VIRTUAL_TESTBED_CLOCK"
TIMEOUT_S = 600.0
"""Without any progress: the clock says so every second while it gets on."""
LONGEST_STEP_S = 0.25
"""Of simulated time in one request: traffic that can only be stepped frame by frame is then computed as long as it
takes, where one request for all of it would be refused."""
CALL_S = 0.3
"""What a call of Ansible takes over SSH on an idle machine, 0.3 to 0.5 s."""
LOOK_S = 0.25
"""How often, while such a call runs, is looked whether a command waits; real time."""
STOP_S = 11.0
"""What IxNetwork takes to stop flows (`Flows stop 11.021s`, in the log of sonic-mgmt's pull request 26268)."""
CLIENTS = ("snappi_ixnetwork", "ixnetwork_restpy/assistants")
"""Folders of installed packages, those of IxNetwork's client."""
ITEMS = "ixnetwork_restpy.testplatform.sessions.ixnetwork.traffic.trafficitem.trafficitem"
STOP = "StopStatelessTrafficBlocking"
"""By which that client stops traffic items, and the module that has it."""
CLOCKS = ("time", "monotonic", "perf_counter")
WATCHERS = frozenset({
    ("common/plugins/parallel_fixture/__init__.py", "_monitor_workers"),
    ("common/helpers/parallel.py", "parallel_run_threaded"),
    ("common/utilities.py", "join_all"),
})
"""Functions, each by its file, that wait for nothing but threads of their own process."""

INTERVALS = "tests.common.snappi_tests.traffic_generation"
"""The module whose `run_traffic_and_collect_stats` does so."""
LOG = logging.getLogger(__name__)


class SimulatedTime:
    """What `time` has for the files of some folders."""

    def __init__(self, clock_url: str, folder: Path, clients: Sequence[Path] = ()) -> None:
        """Nothing was slept yet.

        Args:
            clock_url: of a virtual testbed whose clock stands still.
            folder: sonic-mgmt's, whose files wait in simulated time, but for `WATCHERS`.
            clients: further folders whose files do.
        """
        self._clock_url = clock_url.rstrip("/")
        self._url = f"{self._clock_url}/advance"
        self._begin_locks()
        os.register_at_fork(after_in_child=self._begin_locks)  # another thread may have held them
        self._folder = f"{folder}{os.sep}"
        self._clients = tuple(f"{client}{os.sep}" for client in clients)
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # it is on loopback
        self._sleep = time.sleep
        self.slept_s = 0.0

    def _begin_locks(self) -> None:
        self._counting = threading.Lock()
        self._serving = threading.Lock()

    def sleep(self, seconds: float) -> None:
        """In the place of `time.sleep`. Raises `OSError` where the clock does not answer, or refuses."""
        if not self._is_theirs():
            self._sleep(seconds)
        elif seconds < 0:
            raise ValueError("sleep length must be non-negative")
        else:
            self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Lets simulated time pass. Raises `OSError` where the clock does not answer, or refuses."""
        if seconds > 0:
            self._ask_for(seconds)
            with self._counting:
                self.slept_s += seconds

    @contextmanager
    def serving_switches(self) -> Iterator[None]:
        """Lets as much simulated time pass as commands of switches wait for, a step at a time, until the end. What goes
        wrong is logged, and raised at the end: `OSError` where the clock did not answer, or refused, or whatever it is.
        """
        ended = threading.Event()
        failed: list[Exception] = []

        def serve() -> None:
            try:
                while not ended.wait(LOOK_S):
                    while not ended.is_set() and self._serve_a_step():
                        pass
            except Exception as error:  # whatever it is: a thread that ends says nothing to those who wait for it
                LOG.exception("no simulated time for the commands of switches")
                failed.append(error)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        if failed:
            raise failed[0]

    def _serve_a_step(self) -> bool:
        """Lets a step of what is still awaited pass; False: nothing is. One thread at a time, so that each sees what
        the others have let pass.
        """
        with self._serving:
            seconds = min(self._awaited_s(), LONGEST_STEP_S)
            self.advance(seconds)
        return seconds > 0

    def _awaited_s(self) -> float:
        """How long a command of a switch waits, the one that waits the least long."""
        with self._opener.open(self._clock_url, timeout=TIMEOUT_S) as answer:
            clock: dict[str, int] = json.load(answer)
        return (clock.get("awaited_ns", clock["now_ns"]) - clock["now_ns"]) / 1e9

    def shown_by(self, clock: Callable[[], float]) -> Callable[[], float]:
        """In the place of a clock of `time`: what was slept has passed on it."""
        def shown() -> float:
            return clock() + (self.slept_s if self._is_theirs() else 0.0)
        return shown

    def _is_theirs(self) -> bool:
        """Whether a file of the folders has called the function that asks, and waits for more than its own threads."""
        caller = sys._getframe(2).f_code
        if caller.co_filename.startswith(self._clients):
            return True
        if not caller.co_filename.startswith(self._folder):
            return False
        return (caller.co_filename.removeprefix(self._folder), caller.co_name) not in WATCHERS

    def _ask_for(self, seconds: float) -> None:
        left_ns = max(1, round(seconds * 1e9))
        while left_ns > 0:
            step_ns = min(left_ns, round(LONGEST_STEP_S * 1e9))
            body = json.dumps({"nanoseconds": step_ns}).encode()
            request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
            try:
                with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                    answer.read()
            except urllib.error.HTTPError as error:
                said = error.read().decode(errors="replace").strip()
                raise OSError(f"not the switch, the virtual testbed refused ({self._url}): {said}") from error
            left_ns -= step_ns


def dates_of(simulated: SimulatedTime) -> type[datetime]:
    """In the place of `datetime`: nothing passes on it but simulated time."""
    began_s = datetime.now().timestamp() - simulated.slept_s

    class SimulatedDates(datetime):
        """Dates, of which `now` is simulated."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> SimulatedDates:
            """When simulated time is."""
            return cls.fromtimestamp(began_s + simulated.slept_s, tz)

    return SimulatedDates


SIMULATED = pytest.StashKey[SimulatedTime]()


@pytest.fixture(scope="session", autouse=True)
def simulated_dates(pytestconfig: pytest.Config) -> Iterator[None]:
    """The module of `INTERVALS` has them while tests run, where tests have imported it."""
    with pytest.MonkeyPatch.context() as patch:
        if INTERVALS in sys.modules:
            patch.setattr(sys.modules[INTERVALS], "datetime", dates_of(pytestconfig.stash[SIMULATED]))
        yield


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before sonic-mgmt's modules are imported, some of which import the functions themselves."""
    simulated = SimulatedTime(os.environ[CLOCK], early_config.rootpath, clients())
    early_config.stash[SIMULATED] = simulated
    patch = pytest.MonkeyPatch()
    early_config.add_cleanup(patch.undo)
    for name in CLOCKS:
        patch.setattr(time, name, simulated.shown_by(getattr(time, name)))
    patch.setattr(time, "sleep", simulated.sleep)
    with_simulated_calls(patch, simulated)
    with_simulated_stops(patch, simulated)


def clients() -> list[Path]:
    """The folders of `CLIENTS` that are installed."""
    found = []
    for client in CLIENTS:
        package, _, below = client.partition("/")
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            found.append(Path(spec.origin).parent / below)
    return found


def with_simulated_calls(patch: pytest.MonkeyPatch, simulated: SimulatedTime) -> None:
    """Each call of Ansible, of one module or several, takes `CALL_S`, and what commands of switches wait."""
    from ansible.executor.task_queue_manager import TaskQueueManager
    run = TaskQueueManager.run

    def run_later(manager: Any, play: Any) -> Any:
        simulated.advance(CALL_S)
        with simulated.serving_switches():
            return run(manager, play)

    patch.setattr(TaskQueueManager, "run", run_later)


def with_simulated_stops(patch: pytest.MonkeyPatch, simulated: SimulatedTime) -> None:
    """Stopping flows takes `STOP_S` after they have stopped."""
    import snappi
    for kind in (snappi.snappi.GrpcApi, snappi.snappi.HttpApi):
        patch.setattr(kind, "set_control_state", stopping_later(kind.set_control_state, simulated))
    if find_spec("ixnetwork_restpy") is not None:
        item = importlib.import_module(ITEMS).TrafficItem
        patch.setattr(item, STOP, ending_later(getattr(item, STOP), simulated))


def ending_later(stop: Callable[..., Any], simulated: SimulatedTime) -> Callable[..., Any]:
    """In the place of what snappi_ixnetwork calls where an item runs, and nowhere else."""
    def stop_later(*arguments: Any, **named: Any) -> Any:
        answer = stop(*arguments, **named)
        simulated.advance(STOP_S)
        return answer
    return stop_later


def stopping_later(set_state: Callable[[Any, Any], Any], simulated: SimulatedTime) -> Callable[[Any, Any], Any]:
    """In the place of snappi's `set_control_state`."""
    def set_later(api: Any, payload: Any) -> Any:
        answer = set_state(api, payload)
        if payload.choice == payload.TRAFFIC and payload.traffic.flow_transmit.state == "stop":
            simulated.advance(STOP_S)
        return answer
    return set_later
