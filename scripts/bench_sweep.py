"""What a port of a sweep costs outside its traffic, against the commands that sonic-mgmt's single-port test sends; and
what waves save.

Both are carried out on one virtual testbed, in one process, over the same SSH connection and the same OTG API, with the
same flows. What is compared is the real time of all calls to switch and generators, without those that let the
testbed's clock run: waits cost nothing there, and the traffic of both is computed in them. sonic-mgmt's sequence is
that of `run_pfc_test` with two lossless priorities and one switch (tests/snappi_tests/pfc/files/helper.py and
tests/common/snappi_tests/traffic_generation.py), without what only IxNetwork has.
"""
from __future__ import annotations

import io
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scripts.campaign.broken_testbed import broken_testbed
from scripts.tests.broken import Bench, watchdog_stopped
from tests.common.pfc.cases.flows import RESUMED
from tests.common.pfc.cases.storm_sequence import scenario_traffic
from tests.common.pfc.lab.clock import Clock
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.sweep.port_sweep import scenario

PORTS = ("Ethernet0", "Ethernet4", "Ethernet64", "Ethernet68")
POLLS = 10
CLEARED_FIRST = ("pfcstat -c", "sonic-clear queuecounters", "sonic-clear counters")
CLEARED_AGAIN = ("sonic-clear counters", "sonic-clear queuecounters", "sonic-clear pfccounters",
                 "sudo sonic-clear pfccounters")


class TimedClock:
    """A clock that adds up the real time spent in letting it run.

    Attributes:
        spent_s: that time.
    """

    exact = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.spent_s = 0.0

    def moment(self) -> float:
        """As of the clock."""
        return self._clock.moment()

    def now(self) -> float:
        """Simulated seconds."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Lets it run."""
        began = time.perf_counter()
        self._clock.sleep(seconds)
        self.spent_s += time.perf_counter() - began


def outside_traffic_s(clock: TimedClock, what: Callable[[], object]) -> float:
    """Real seconds that a call takes without those in which the clock runs."""
    began = time.perf_counter()
    ran = clock.spent_s
    what()
    return time.perf_counter() - began - (clock.spent_s - ran)


class Upstream:
    """One port as sonic-mgmt's test has it."""

    def __init__(self, bench: Bench, port: str) -> None:
        self._bench = bench
        self._plan = bench.plan_sweep().plans[port]
        self._api = bench.api
        self._shell = bench.dut.host.shell
        lab = open_lab(self._plan, bench.dut, bench.api, bench.clock)
        ours = scenario_traffic(lab, scenario(lab.subject.qos))
        resumed = ours.names(phase=RESUMED)  # upstream's test sends no second time
        self._config = lab.builder.build([flow for name, flow in ours.flows.items() if name not in resumed]).config
        self._names = [flow.name for flow in self._config.flows]

    def measure(self) -> None:
        """The calls of one run."""
        pair = self._plan.subject.pair
        tested = self._plan.subject.qos.lossless
        self._run(*CLEARED_FIRST, *CLEARED_FIRST)
        self._api.set_config(self._config)
        self._run("sonic-clear macsec")
        self._protocols()
        self._run(*CLEARED_AGAIN)
        self._transmit("start")
        for _ in range(POLLS):
            for priority in tested:
                for port in (pair.rx.port, pair.tx.port):
                    self._run(f"show queue counters {port} | sed -n '/UC{priority}/p'")
            self._bench.clock.sleep(1)
        for _ in range(3):  # in flight, all stopped, in the end
            self._metrics()
        self._transmit("stop")
        for priority in tested:
            for way, port in (("Rx", pair.rx.port), ("Tx", pair.tx.port)):
                self._run(*[f"show pfc counters | sed -n '/Port {way}/,/^$/p' | grep {port}"] * 2)
            self._run(f"sonic-db-cli COUNTERS_DB HGET COUNTERS_QUEUE_NAME_MAP {pair.tx.port}:{priority}",
                      "sonic-db-cli COUNTERS_DB HGET COUNTERS:oid:0x0 SAI_QUEUE_STAT_DROPPED_PACKETS")
        self._run("sonic-cfggen -d --print-data")

    def _run(self, *commands: str) -> None:
        for command in commands:
            self._shell(command)

    def _protocols(self) -> None:
        """Starts them, and looks whether addresses are resolved."""
        state = self._api.control_state()
        state.protocol.all.state = state.protocol.all.START
        self._api.set_control_state(state)
        self._api.get_config()
        for neighbors in ("ipv4_neighbors", "ipv6_neighbors"):
            request = self._api.states_request()
            request.choice = neighbors
            self._api.get_states(request)

    def _transmit(self, verb: str) -> None:
        state: Any = self._api.control_state()
        state.traffic.flow_transmit.state = verb
        self._api.set_control_state(state)

    def _metrics(self) -> None:
        request = self._api.metrics_request()
        request.flow.flow_names = self._names
        self._api.get_metrics(request)


def simulated_s(clock: Clock, what: Callable[[], object]) -> float:
    """Seconds on the testbed's clock that a call takes."""
    began = clock.now()
    what()
    return clock.now() - began


def traffic_saved(bench: Bench) -> float:
    """Time on the testbed's clock of all ports one after another over that of waves, without the preflight of each.

    Two ports one after another and one alone say how long a port takes, and what comes before it.
    """
    one_s, two_s = (simulated_s(bench.clock, partial(bench.sweep, 1, only)) for only in (PORTS[:1], PORTS[:2]))
    port_s = two_s - one_s
    waves_s = simulated_s(bench.clock, partial(bench.sweep, None)) - (one_s - port_s)
    return port_s * len(bench.plan_sweep().plans) / waves_s


def figures() -> list[tuple[str, float, str]]:
    """Name, value and unit: real seconds of a port outside its traffic in both, their ratio, and how much less traffic
    time waves of all ports take than the ports one after another."""
    with TemporaryDirectory() as folder, broken_testbed(Path(folder), ()) as testbed:
        # snappi's client writes two lines about properties under review for each configuration that it sends
        with redirect_stderr(io.StringIO()), watchdog_stopped(testbed) as bench:
            clock = TimedClock(bench.clock)
            bench.clock = clock
            ours = outside_traffic_s(clock, lambda: bench.sweep(1, PORTS)) / len(PORTS)
            runs = [Upstream(bench, port).measure for port in PORTS]
            theirs = sum(outside_traffic_s(clock, run) for run in runs) / len(PORTS)
            saved = traffic_saved(bench)
    return [
        ("sweep.port_outside_traffic_s", ours, "s"),
        ("sweep.upstream_outside_traffic_s", theirs, "s"),
        ("sweep.overhead_over_upstream", ours / theirs, "ratio"),
        ("sweep.waves_traffic_saved", saved, "ratio"),
    ]


if __name__ == "__main__":
    for name, value, unit in figures():
        print(f"{name:42} {value:12.4g} {unit}")
