"""Benchmarks: prints one line a figure and writes `results/bench.json`, a list of {name, value, unit}.

Times are CPU seconds of this process, so that other work on the machine disturbs them little; ratios compare with the
frame-by-frame oracle of the data plane's tests, in the same run.
"""
from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

from virtual_testbed.dataplane.traffic import Flow
from virtual_testbed.tests.dataplane import testbeds
from virtual_testbed.tests.dataplane.oracle import Oracle, OracleFaults

ROOT = Path(__file__).resolve().parent.parent
SWEEP_SECONDS = 10
READS = 10
ORACLE_MILLISECONDS = 2


@dataclass(frozen=True)
class Figure:
    """One result; `unit` is `s` of CPU, `1/s` a CPU second, or `ratio`."""

    name: str
    value: float
    unit: str


def cpu_seconds(what: Callable[[], None]) -> float:
    """CPU seconds that a call takes."""
    before = time.process_time()
    what()
    return time.process_time() - before


def traffic_of_one_port() -> list[Flow]:
    """A storm on priority 3 of the second port; test and background traffic to it at 50 % of the line each."""
    return [testbeds.storm("storm", 1, {3: 0xFFFF}), testbeds.data("test", 0, 1, [3], 3), *testbeds.background(0, 1)]


def one_port(milliseconds: int, reads: int) -> tuple[float, int]:
    """One port of a 32 x 100G switch under test.

    Args:
        milliseconds: simulated time of the traffic.
        reads: how often all counters are read on the way.

    Returns:
        CPU seconds, and frames sent.
    """
    flows = traffic_of_one_port()
    net = testbeds.network(testbeds.switch_config(32), flows)

    def traffic() -> None:
        net.start_flows(testbeds.names(flows))
        for read in range(1, reads + 1):
            net.advance_to(milliseconds * testbeds.MS * read // reads)
            net.switch_counters(testbeds.SWITCH)

    spent = cpu_seconds(traffic)
    return spent, sum(net.flow_counters(name).frames_tx for name in testbeds.names(flows))


def oracle_one_port(milliseconds: int) -> tuple[float, int]:
    """The same traffic, frame by frame, on the two ports that it touches; see `one_port`."""
    config = testbeds.switch_config(2)
    flows = traffic_of_one_port()
    links = [(testbeds.location(number), port, 100_000, 5) for number, port in enumerate(config.ports)]
    oracle = Oracle(config, links, OracleFaults())
    oracle.set_traffic(testbeds.generator_ports(2), testbeds.hosts(2), flows)
    oracle.start_flows(testbeds.names(flows))
    spent = cpu_seconds(lambda: oracle.advance_to(milliseconds * testbeds.MS))
    return spent, sum(oracle.count.get(("flow tx", name), 0) for name in testbeds.names(flows))


def figures() -> list[Figure]:
    """Run all benchmarks."""
    sweep_s, sweep_frames = one_port(SWEEP_SECONDS * 1000, READS)
    oracle_s, oracle_frames = oracle_one_port(ORACLE_MILLISECONDS)
    ratio = Fraction(sweep_frames) / Fraction(sweep_s) / (Fraction(oracle_frames) / Fraction(oracle_s))
    return [
        Figure("dataplane.32x100g.sweep_port.cpu_s", sweep_s, "s"),
        Figure("dataplane.32x100g.frames_per_cpu_s", sweep_frames / sweep_s, "1/s"),
        Figure("dataplane.oracle.frames_per_cpu_s", oracle_frames / oracle_s, "1/s"),
        Figure("dataplane.over_oracle", float(ratio), "ratio"),
    ]


def main() -> int:
    """Print the figures and write them to `results/bench.json`."""
    found = figures()
    for figure in found:
        print(f"{figure.name:42} {figure.value:14.4g} {figure.unit}")
    target = ROOT / "results" / "bench.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps([asdict(figure) for figure in found], indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
