"""Benchmarks: prints one line a figure and writes `results/bench.json`, a list of {name, value, unit}.

Times are CPU seconds of this process, so that other work on the machine disturbs them little; ratios compare what ran
in the same run. What is measured and how to read it: docs/benchmarks.md. A figure that misses its limit is marked; the
exit status stays 0.
"""
from __future__ import annotations

import argparse
import gc
import json
import platform
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path

import simpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pfctest.tests import bench as generator  # noqa: E402
from pfctest.timing import frames_per_second_to_block, response_allowance_ps  # noqa: E402
from scripts import bench_hard, bench_sweep  # noqa: E402
from test_reporting.tests import benchmarks as reporting  # noqa: E402
from virtual_testbed.dataplane.model.traffic import DataFlow, Duration, Flow, PauseFlow  # noqa: E402
from virtual_testbed.dataplane.compiled import compile_all  # noqa: E402
from virtual_testbed.dataplane.network import Network  # noqa: E402
from virtual_testbed.tests.dataplane import testbeds  # noqa: E402
from virtual_testbed.tests.dataplane.oracle import Oracle  # noqa: E402
from virtual_testbed.tests.dataplane.simpy_queue import SimpyQueue  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
MANY_PORTS = 64
MANY_SPEED_MBPS = 400_000
MANY_DSCPS = (8, 0, 5, 3, 4, 46, 48, 56)
"""One DSCP for each of the eight traffic classes; 56 is class 7."""
SHARE_PERCENT = 12
PHASE_SEED = 1
DATA_DELAY_MS = 1
SPAN_SECONDS = 60
LONG_SPAN_SECONDS = 3600
READS = 60
SWEEP_SECONDS = 10
SWEEP_READS = 10
PEER_MILLISECONDS = 4
PEER_RUNS = 3


@dataclass(frozen=True)
class Figure:
    """One result; `unit` is `s` of CPU, `1/s` a CPU second, or `ratio`. Those of `pfctest`, which keeps times, are of
    the wall clock."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Bound:
    """What a figure must reach (`limit`) and should reach (`goal`); `at_least`: more is better."""

    limit: float
    goal: float | None = None
    at_least: bool = False

    def missed(self, value: float, bound: float) -> bool:
        """Whether a value is on the wrong side of a bound."""
        return value < bound if self.at_least else value > bound


@dataclass(frozen=True)
class Cost:
    """CPU seconds of a run, frames that its flows (data and storms) sent in it, CPU seconds of building it before."""

    cpu_s: float
    frames: int
    setup_s: float = 0.0

    @property
    def frames_per_cpu_s(self) -> float:
        """Simulated frames in a CPU second."""
        return self.frames / self.cpu_s


BOUNDS = {
    **{f"dataplane.hard.{case.name}.cpu_s_per_s": Bound(5, 1) for case in bench_hard.CASES},
    "dataplane.64x400g.60s.cpu_s": Bound(10, 1),
    "dataplane.64x400g.frames_per_cpu_s": Bound(1e10, 1e11, at_least=True),
    "dataplane.64x400g.3600s_over_60s": Bound(1.5),
    "dataplane.64x400g_over_32x400g": Bound(2.6, 2.2),
    "dataplane.32x100g.sweep_port.cpu_s": Bound(0.2),
    "dataplane.over_oracle": Bound(1e4, 1e5, at_least=True),
    "dataplane.over_simpy": Bound(1e4, 1e5, at_least=True),
    "sweep.overhead_over_upstream": Bound(1.0),
    "sweep.waves_traffic_saved": Bound(10, at_least=True),
    "reporting.sqlite.last_over_first": Bound(1.3),
    "reporting.postgresql.last_over_first": Bound(1.5),
    "pfctest.max_fps_over_trafgen": Bound(0.5, 1, at_least=True),
    **{f"pfctest.open_share.{what}": Bound(0.01, 0.001) for what in ("100g", "400g", "800g", "32x100g")},
}


def cpu_seconds(what: Callable[[], None]) -> float:
    """CPU seconds that a call takes; what earlier ones left behind is collected before."""
    gc.collect()
    before = time.process_time()
    what()
    return time.process_time() - before


def traffic_of_one_port() -> list[Flow]:
    """A storm on priority 3 of the second port; test and background traffic to it at 50 % of the line each."""
    return [testbeds.storm("storm", 1, {3: 0xFFFF}), testbeds.data("test", 0, 1, [3], 3), *testbeds.background(0, 1)]


def one_port(ports: int, seconds: int, reads: int) -> Cost:
    """One port of a 100G switch under test, from START to the last read.

    Args:
        ports: ports of the switch.
        seconds: simulated time.
        reads: how often all counters of the switch are read on the way.
    """
    flows = traffic_of_one_port()
    net = testbeds.network(testbeds.switch_config(ports), flows)

    def traffic() -> None:
        net.start_flows(testbeds.names(flows))
        for read in range(1, reads + 1):
            net.advance_to(seconds * testbeds.SECOND * read // reads)
            net.switch_counters(testbeds.SWITCH)

    return Cost(cpu_seconds(traffic), frames_sent(net, flows))


def frames_sent(net: Network, flows: Sequence[Flow]) -> int:
    """Frames that flows have sent, storms included."""
    return sum(net.flow_counters(flow.name).frames_tx for flow in flows)


def storms_of_many_ports(ports: int, phases: random.Random) -> list[PauseFlow]:
    """A storm on priorities 3 and 4 from every port, two frames in each pause time, each with a phase of its own."""
    rate = frames_per_second_to_block(MANY_SPEED_MBPS)
    return [testbeds.storm(f"storm {port}", port, {3: 0xFFFF, 4: 0xFFFF}, rate, duration=_phase(phases, rate))
            for port in range(ports)]


def data_of_many_ports(ports: int, phases: random.Random) -> list[DataFlow]:
    """Eight flows of 12 % each, one for each class, from every port to the next one, each with a phase of its own."""
    rate = testbeds.line_rate(1024, MANY_SPEED_MBPS) * SHARE_PERCENT / 100
    return [testbeds.data(f"data {port} {queue}", port, (port + 1) % ports, [dscp], queue, rate_fps=rate,
                          duration=_phase(phases, rate))
            for port in range(ports) for queue, dscp in enumerate(MANY_DSCPS)]


def _phase(phases: random.Random, rate_fps: Fraction | int) -> Duration:
    """A start within one period: ports in step would share their events, which no lab's ports do."""
    return Duration(phases.randrange(int(testbeds.SECOND / rate_fps)))


def network_of_many_ports(ports: int, flows: Sequence[Flow]) -> Network:
    """A 400G switch, every pause acting after the whole response time that the standard allows."""
    response_ps = response_allowance_ps(MANY_SPEED_MBPS)
    config = testbeds.switch_config(ports, MANY_SPEED_MBPS, response_ps=response_ps,
                                    dscp_to_tc={**testbeds.DSCP_TO_TC, MANY_DSCPS[7]: 7})
    net = testbeds.network(config, [])
    generator_ports = [replace(port, response_ps=response_ps) for port in testbeds.generator_ports(ports)]
    net.set_traffic(generator_ports, testbeds.hosts(ports), flows)
    return net


def many_ports(milliseconds: int, ports: int = MANY_PORTS) -> Cost:
    """All ports send and receive at 96 % under storms, from START to the last of `READS` reads.

    Args:
        milliseconds: simulated time, more than `DATA_DELAY_MS`; all counters of all flows are read at equal distances.
        ports: ports of the switch.
    """
    phases = random.Random(PHASE_SEED)
    storms = storms_of_many_ports(ports, phases)
    data = data_of_many_ports(ports, phases)
    flows: list[Flow] = [*storms, *data]
    before = time.process_time()
    net = network_of_many_ports(ports, flows)
    setup_s = time.process_time() - before

    def traffic() -> None:
        net.start_flows(testbeds.names(storms))
        net.advance_to(DATA_DELAY_MS * testbeds.MS)
        net.start_flows(testbeds.names(data))
        for read in range(1, READS + 1):
            net.advance_to(max(net.now_ps, milliseconds * testbeds.MS * read // READS))
            for flow in flows:
                net.flow_counters(flow.name)

    return Cost(cpu_seconds(traffic), frames_sent(net, flows), setup_s)


def oracle_one_port(milliseconds: int) -> Cost:
    """The traffic of `one_port` frame by frame, on the two ports that it touches."""
    config = testbeds.switch_config(2)
    flows = traffic_of_one_port()
    links = [(testbeds.location(number), config.name, port, 100_000, 5) for number, port in enumerate(config.ports)]
    oracle = Oracle([config], links)
    oracle.set_traffic(testbeds.generator_ports(2), testbeds.hosts(2), flows)

    def traffic() -> None:
        oracle.start_flows(testbeds.names(flows))
        oracle.advance_to(milliseconds * testbeds.MS)

    spent = cpu_seconds(traffic)
    counts = oracle.read()
    return Cost(spent, sum(counts["flow", flow.name, "frames_tx"] for flow in flows))


def simpy_one_port(milliseconds: int) -> Cost:
    """The traffic of `one_port` in SimPy, on the two ports that it touches."""
    model = SimpyQueue(testbeds.switch_config(2), traffic_of_one_port())
    spent = cpu_seconds(lambda: model.advance_to(milliseconds * testbeds.MS))
    return Cost(spent, model.frames_tx.total())


def fastest(peer: Callable[[int], Cost]) -> Cost:
    """The best of several runs of a peer: a disturbed one would flatter the data plane, which has one run only."""
    return min((peer(PEER_MILLISECONDS) for _ in range(PEER_RUNS)), key=lambda cost: cost.cpu_s)


def figures_of_one_port() -> list[Figure]:
    """A port of a sweep; the data plane against frame-by-frame models."""
    sweep = one_port(32, SWEEP_SECONDS, SWEEP_READS)
    queue = one_port(2, SPAN_SECONDS, READS)
    oracle = fastest(oracle_one_port)
    model = fastest(simpy_one_port)
    return [
        Figure("dataplane.32x100g.sweep_port.cpu_s", sweep.cpu_s, "s"),
        Figure("dataplane.32x100g.frames_per_cpu_s", sweep.frames_per_cpu_s, "1/s"),
        Figure("dataplane.2x100g.frames_per_cpu_s", queue.frames_per_cpu_s, "1/s"),
        Figure("dataplane.oracle.frames_per_cpu_s", oracle.frames_per_cpu_s, "1/s"),
        Figure("dataplane.simpy.frames_per_cpu_s", model.frames_per_cpu_s, "1/s"),
        Figure("dataplane.over_oracle", queue.frames_per_cpu_s / oracle.frames_per_cpu_s, "ratio"),
        Figure("dataplane.over_simpy", queue.frames_per_cpu_s / model.frames_per_cpu_s, "ratio"),
    ]


def figures_of_many_ports() -> list[Figure]:
    """All ports of a large switch, for a minute and for an hour."""
    minute = many_ports(SPAN_SECONDS * 1000)
    hour = many_ports(LONG_SPAN_SECONDS * 1000)
    half = many_ports(SPAN_SECONDS * 1000, MANY_PORTS // 2)
    return [
        Figure("dataplane.64x400g.setup.cpu_s", minute.setup_s, "s"),
        Figure("dataplane.64x400g.60s.cpu_s", minute.cpu_s, "s"),
        Figure("dataplane.64x400g.frames_per_cpu_s", minute.frames_per_cpu_s, "1/s"),
        Figure("dataplane.64x400g.3600s_over_60s", hour.cpu_s / minute.cpu_s, "ratio"),
        Figure("dataplane.64x400g_over_32x400g", minute.cpu_s / half.cpu_s, "ratio"),
    ]


def figures_of_generator() -> list[Figure]:
    """The pause frame generator on a veth pair; none where no network namespace can be made."""
    return [Figure(*figure) for figure in generator.figures()]


def figures_of_reporting() -> list[Figure]:
    """What the reporting databases cost, PostgreSQL's server included."""
    return [Figure(*one) for one in reporting.figures()]


def figures_of_sweep() -> list[Figure]:
    """A sweep's time per port outside traffic against the sequence of upstream's test, and what waves save."""
    return [Figure(*one) for one in bench_sweep.figures()]


def figures_of_hard() -> list[Figure]:
    """Traffic that hardly repeats, on the shipped T0 as deployed."""
    return [Figure(*one) for one in bench_hard.figures()]


GROUPS = {
    "hard": figures_of_hard,
    "sweep": figures_of_sweep,
    "reporting": figures_of_reporting,
    "pfctest": figures_of_generator,
    "many-ports": figures_of_many_ports,
    "one-port": figures_of_one_port,
}


def versions() -> str:
    """What ran, for whoever compares two runs."""
    return (f"{platform.python_implementation()} {platform.python_version()}, peers: SimPy {simpy.__version__}, "
            f"the oracle of the data plane's tests; {platform.machine()}")


def line(figure: Figure) -> str:
    """A figure as it is printed, with limit and goal where it has them."""
    text = f"{figure.name:42} {figure.value:12.4g} {figure.unit:5}"
    bound = BOUNDS.get(figure.name)
    if bound is None:
        return text.rstrip()
    sign = ">=" if bound.at_least else "<="
    text += f"  limit {sign} {bound.limit:<6g}"
    if bound.goal is not None:
        text += f" goal {sign} {bound.goal:g}"
    if bound.missed(figure.value, bound.limit):
        return text.rstrip() + "  MISSES ITS LIMIT"
    missed_goal = bound.goal is not None and bound.missed(figure.value, bound.goal)
    return text.rstrip() + ("  misses its goal" if missed_goal else "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures and write them to `results/bench.json`."""
    parser = argparse.ArgumentParser(description="Print the data plane's benchmarks and write results/bench.json.")
    parser.add_argument("--only", choices=sorted(GROUPS), help="measure one group and leave results/bench.json alone")
    only = parser.parse_args(arguments).only
    print(versions())
    compile_all()  # measured apart: `dataplane.compile.cpu_s`
    found: list[Figure] = []
    for measure in [GROUPS[only]] if only else GROUPS.values():
        for figure in measure():
            print(line(figure), flush=True)
            found.append(figure)
    if not only:
        target = ROOT / "results" / "bench.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps([asdict(figure) for figure in found], indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
