"""A machine that is too busy: the suite waits for a simulation that gets on, and says whose fault it is when none does.

Verdicts beside a real load are measured by hand; here the engine is stopped, which is the most that a load can do.
"""
from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock
from tests.common.pfc.model.errors import QualificationError

ENGINE = {"testbed": "vtb", "switches": [], "switch_links": [], "faults": [], "generator_ports": [
    {"location": "127.1.0.1;1;1", "speed_mbps": 100000, "switch": "sw", "switch_port": "Ethernet0", "cable_m": 5}]}
Start = Callable[[str], "Engine"]


class Engine:
    """An engine's process, and where its clock is."""

    def __init__(self, arguments: Path) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "virtual_testbed.engine.testbed", str(arguments)],
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.clock_url = json.loads(self.process.stdout.readline())["clock_url"]

    def end(self) -> None:
        """Ends it, also when it is stopped."""
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts an engine with a clock of the mode that is asked for."""
    started = []

    def run(mode: str) -> Engine:
        path = tmp_path / f"{mode}.json"
        path.write_text(json.dumps({**ENGINE, "clock": mode}), encoding="utf-8")
        started.append(Engine(path))
        return started[-1]

    yield run
    for engine in started:
        engine.end()


@pytest.mark.parametrize("mode", ["virtual", "realtime"])
def test_an_engine_that_has_no_cpu_is_no_verdict_on_the_switch(start: Start, mode: str) -> None:
    """Neither FAIL nor a cause that names the switch; once it gets on, so does the run."""
    engine = start(mode)
    clock = EndpointClock(engine.clock_url, timeout_s=0.5)
    engine.process.send_signal(signal.SIGSTOP)
    with pytest.raises(QualificationError, match="^the virtual testbed was too slow, or hangs: "):
        clock.sleep(0.01)
    engine.process.send_signal(signal.SIGCONT)
    patient = EndpointClock(engine.clock_url)
    before_s = patient.now()
    patient.sleep(0.01)
    assert patient.now() >= before_s + 0.01


def test_a_realtime_run_waits_for_simulated_time_not_for_the_wall_clock(start: Start) -> None:
    """What lags is measured as what does not."""
    engine = start("realtime")
    clock = EndpointClock(engine.clock_url)
    began_s = clock.now()
    waiting = time.monotonic()
    clock.sleep(0.3)
    assert clock.now() - began_s >= 0.3
    assert time.monotonic() - waiting >= 0.2, "a realtime simulation is not hurried"
