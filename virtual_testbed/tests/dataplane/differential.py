"""Random small testbeds, run by the data plane and by the oracle, compared in every counter at random instants."""
from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from virtual_testbed.dataplane.configuration import (BufferProfile, PoolConfig, SchedulerConfig, SwitchConfig,
                                                     WatchdogConfig)
from virtual_testbed.dataplane.network import Network
from virtual_testbed.dataplane.traffic import Duration, Flow
from virtual_testbed.faults import Fault, parse_fault
from virtual_testbed.tests.dataplane import testbeds
from virtual_testbed.tests.dataplane.oracle import Oracle, OracleFaults

CLASSES = {0: 8, 1: 0, 2: 5, 3: 3, 4: 4, 5: 46, 6: 48}
PERCENTS = [Fraction(n) for n in (5, 10, 25, 45, 50, 100)] + [Fraction(50, 7), Fraction(100, 3)]
PAUSE_GAPS = [Fraction(1, 2), Fraction(9, 10), Fraction(1), Fraction(11, 10), Fraction(3)]
Step = tuple[int, str, Any]


@dataclass
class Case:
    """A testbed, its traffic, and what happens when: (ps, command, argument) with commands start, stop, configure,
    read.
    """

    config: SwitchConfig
    speeds: list[int]
    cables: list[int]
    flows: list[Flow]
    steps: list[Step]
    honours: bool = True
    faults: list[str] = field(default_factory=list)


def make_case(seed: int, steady: bool | None = None) -> Case:
    """A random case; the family (watchdog, steady traffic, anything) follows from the seed."""
    rng = random.Random(seed)
    if steady or (steady is None and rng.random() < 0.25):
        return _steady_case(rng)
    ports = rng.choice([2, 3, 3, 4])
    watchdog = rng.random() < 0.2
    speed = rng.choice([10_000]) if watchdog else rng.choice([25_000, 50_000, 100_000, 400_000])
    speeds = [speed if rng.random() < 0.8 or watchdog else rng.choice([25_000, 100_000]) for _ in range(ports)]
    cables = [rng.choice([0, 1, 5, 40, 300]) for _ in range(ports)]
    config = _config(rng, ports, speeds)
    flows = _data_flows(rng, speeds, 0.1 if watchdog else 1.0) + _storms(rng, speeds, watchdog)
    span_ps = 6 * testbeds.MS if watchdog else rng.randrange(20, 60) * testbeds.US * 100_000 // speed
    if watchdog:
        config = replace(config, asic_type=rng.choice(["broadcom", "mellanox", "vs"]), watchdog_poll_ms=1)
        for name in config.ports:
            config = testbeds.change_port(config, name, watchdog=WatchdogConfig(
                rng.choice(["drop", "forward", "alert"]), rng.choice([1, 2]), rng.choice([None, 1, 2])))
    return Case(config, speeds, cables, flows, _steps(rng, config, flows, span_ps, watchdog), rng.random() < 0.9,
                _faults(rng, list(config.ports)))


def _steady_case(rng: random.Random) -> Case:
    """Storms that do not lapse, few flows without an end, a long span: cycles recur and are skipped."""
    ports, speed = rng.choice([2, 3]), rng.choice([100_000, 400_000])
    speeds = [speed] * ports
    config = _config(rng, ports, speeds)
    flows: list[Flow] = []
    for tx in range(ports):
        for number in range(rng.randrange(1, 4)):
            queue = rng.choice([0, 1, 3, 3, 4, 6])
            rx = rng.choice([n for n in range(ports) if n != tx])
            rate = testbeds.line_rate(1024, speed) * rng.choice([Fraction(1, 4), Fraction(1, 3), Fraction(50, 700)])
            flows.append(testbeds.data(f"d{tx}.{number}", tx, rx, [CLASSES[queue]], queue, rate_fps=rate))
        if rng.random() < 0.5:
            pauses = {rng.choice([3, 4, 1]): 0xFFFF}
            flows.append(testbeds.storm(f"s{tx}", tx, pauses, rng.randrange(3000, 5000) * speed // 100_000))
    span_ps = rng.randrange(100, 200) * testbeds.US * 100_000 // speed
    return Case(config, speeds, [rng.choice([0, 5, 40, 300]) for _ in speeds], flows,
                _steps(rng, config, flows, span_ps, False), True, _faults(rng, list(config.ports)))


def _config(rng: random.Random, ports: int, speeds: list[int]) -> SwitchConfig:
    threshold = rng.choice([-2, -1, 0, 1, 3])
    pool = rng.choice([40_000, 100_000, 400_000, 8_000_000])
    lossless = BufferProfile("ingress", rng.choice([0, 208, 1248, 1000]), threshold, None,
                             rng.choice([3000, 20_000, 165_568]), rng.choice([0, 2288]), rng.choice([0, 2288]))
    lossy_queue = BufferProfile("egress_lossy", rng.choice([0, 1664]), rng.choice([-1, 0, 1]))
    lossless_queue = BufferProfile("egress_lossless", 0, None, 1 << 40)
    schedulers = {q: rng.choice([SchedulerConfig("DWRR", rng.choice([1, 5, 14, 15])), SchedulerConfig("STRICT")])
                  for q in range(8) if rng.random() < 0.9}
    config = testbeds.switch_config(
        ports, cell_bytes=rng.choice([1, 80, 208, 254]), schedulers=schedulers,
        priority_groups={0: BufferProfile("ingress", 0, None, 1 << 40), 3: lossless, 4: lossless},
        queues={q: lossless_queue if q in (3, 4) else lossy_queue for q in range(8)},
        pools={"ingress": PoolConfig(pool, rng.choice([0, 0, 30_000])), "egress_lossless": PoolConfig(1 << 40),
               "egress_lossy": PoolConfig(rng.choice([20_000, 200_000]))})
    for number, name in enumerate(list(config.ports)):
        config = testbeds.change_port(config, name, speed_mbps=speeds[number])
    return config


def _data_flows(rng: random.Random, speeds: list[int], share: float) -> list[Flow]:
    flows: list[Flow] = []
    sizes = rng.choice([[1024], [1024], [64, 1500], [256, 1024, 1518]])
    for tx, speed in enumerate(speeds):
        left = Fraction(100)
        for number in range(rng.randrange(0, 5)):
            percent = min(left, rng.choice(PERCENTS))
            left -= percent
            if percent <= 0:
                break
            classes = rng.choice([[3], [3], [4], [1], [0, 1], [3, 4, 1], [6]])
            size = rng.choice(sizes)
            rx = rng.choice([n for n in range(len(speeds)) if n != tx])
            rate = testbeds.line_rate(size, speed) * percent / 100 * Fraction(share).limit_denominator(10)
            flows.append(testbeds.data(f"d{tx}.{number}", tx, rx, [CLASSES[c] for c in classes], classes[0],
                                       frame_bytes=size, rate_fps=rate, duration=_duration(rng, rate)))
    return flows


def _duration(rng: random.Random, rate: Fraction) -> Duration:
    delay = rng.choice([0, 0, 0, rng.randrange(5 * testbeds.US)])
    kind = rng.random()
    if kind < 0.6:
        return Duration(delay)
    if kind < 0.8:
        return Duration(delay, time_ps=rng.randrange(1, 30 * testbeds.US))
    return Duration(delay, frames=rng.randrange(1, 200))


def _storms(rng: random.Random, speeds: list[int], watchdog: bool) -> list[Flow]:
    flows: list[Flow] = []
    for tx, speed in enumerate(speeds):
        for number in range(rng.choice([0, 1, 1, 2])):
            quanta = 0xFFFF if watchdog and rng.random() < 0.7 else rng.choice([5, 50, 300, 2000])
            pauses = {n: rng.choice([quanta, quanta, quanta // 2, 0])
                      for n in rng.sample(range(8), rng.choice([1, 1, 2]))}
            pauses |= {3: quanta} if rng.random() < 0.6 else {}
            pause_ps = quanta * 512 * 10**6 // speed
            rate = Fraction(10**12, pause_ps) / rng.choice(PAUSE_GAPS)
            if rng.random() < 0.5:
                rate = Fraction(max(1, round(rate)))
            rate = min(rate, testbeds.line_rate(64, speed) / 2)
            duration = Duration(rng.choice([0, rng.randrange(20 * testbeds.US)]),
                                frames=rng.choice([None, None, rng.randrange(1, 20)]))
            flows.append(testbeds.storm(f"s{tx}.{number}", tx, pauses, rate, duration=duration))
    return flows


def _steps(rng: random.Random, config: SwitchConfig, flows: list[Flow], span_ps: int, watchdog: bool) -> list[Step]:
    names = [flow.name for flow in flows]
    steps: list[Step] = [(0, "start", names)]
    for _ in range(rng.randrange(2, 6)):
        steps.append((rng.randrange(span_ps), "read", None))
    for _ in range(rng.randrange(0, 4)):
        chosen = rng.sample(names, rng.randrange(1, len(names) + 1)) if names else []
        steps.append((rng.randrange(span_ps), rng.choice(["stop", "start"]), chosen))
    if rng.random() < 0.4:
        port = rng.choice(list(config.ports))
        change: dict[str, Any] = {"pfc_priorities": frozenset(rng.choice([{3, 4}, {3}, set()]))}
        if watchdog:
            change = rng.choice([change, {"watchdog": None}])
        steps.append((rng.randrange(span_ps), "configure", testbeds.change_port(config, port, **change)))
    steps.append((span_ps, "read", None))
    steps += [(span_ps, "stop", names), (2 * span_ps, "read", None)]
    return sorted(steps, key=lambda step: step[0])


def _faults(rng: random.Random, ports: list[str]) -> list[str]:
    if rng.random() < 0.6:
        return []
    name = rng.choice(["pause-ignored", "lossy-queue-paused", "pause-leaks", "lossless-dropped", "lossy-dropped",
                       "pfc-not-counted", "xoff-not-sent"])
    options = {"pause-leaks": ",period_ms=1", "lossless-dropped": ",one_in=7", "lossy-dropped": ",one_in=5"}
    return [f"{name}@{rng.choice(ports)}{options.get(name, '')}"]


def oracle_faults(faults: list[Fault]) -> OracleFaults:
    """The same faults in the oracle's words."""
    result = OracleFaults()
    for fault in faults:
        port = str(fault.scope.port)
        sets = {"pause-ignored": result.deaf, "lossy-queue-paused": result.shuts_queue_1,
                "pfc-not-counted": result.uncounted, "xoff-not-sent": result.mute}
        if fault.name in sets:
            sets[fault.name].add(port)
        elif fault.name == "pause-leaks":
            result.leak_ps[port] = int(fault.values["period_ms"]) * testbeds.MS
        elif fault.name == "lossless-dropped":
            result.drop_lossless[port] = int(fault.values["one_in"])
        elif fault.name == "lossy-dropped":
            result.drop_lossy[port] = int(fault.values["one_in"])
    return result


def run_case(case: Case) -> tuple[list[str], Network]:
    """Differences between data plane and oracle, as sentences; and the data plane for its statistics."""
    faults = [parse_fault(spec) for spec in case.faults]
    net = Network(faults)
    links = [(testbeds.location(n), name, case.speeds[n], case.cables[n]) for n, name in enumerate(case.config.ports)]
    for place, name, speed, cable in links:
        net.add_link(place, case.config.name, name, speed, cable)
    net.configure_switch(case.config)
    oracle = Oracle(case.config, links, oracle_faults(faults))
    ports, hosts = testbeds.generator_ports(len(links), case.honours), testbeds.hosts(len(links))
    net.set_traffic(ports, hosts, case.flows)
    oracle.set_traffic(ports, hosts, case.flows)
    differences: list[str] = []
    for time_ps, command, argument in case.steps:
        for model in (net, oracle):
            model.advance_to(time_ps)
            if command == "start":
                model.start_flows(argument)
            elif command == "stop":
                model.stop_flows(argument)
            elif command == "configure":
                model.configure_switch(argument) if isinstance(model, Network) else model.configure(argument)
        if command == "read":
            differences += compare(net, oracle, case)
            if differences:
                break
    return differences, net


def compare(net: Network, oracle: Oracle, case: Case) -> list[str]:
    """Every counter that both have."""
    mine, theirs = read_network(net, case), read_oracle(oracle, case)
    return [f"at {net.now_ps} ps {key}: data plane {mine.get(key)}, oracle {theirs.get(key)}"
            for key in sorted(mine.keys() | theirs.keys(), key=str) if mine.get(key) != theirs.get(key)]


def read_network(net: Network, case: Case) -> dict[Any, Any]:
    """The data plane's counters by name."""
    found: dict[Any, Any] = {}
    for flow in case.flows:
        counters = net.flow_counters(flow.name)
        found["flow tx", flow.name], found["flow rx", flow.name] = counters.frames_tx, counters.frames_rx
    switch = net.switch_counters(case.config.name)
    for number, (name, port) in enumerate(switch.ports.items()):
        found["rx", name], found["in drops", name] = port.rx_packets, port.rx_drops
        found["pfc rx", name], found["pfc tx", name] = port.pfc_rx, port.pfc_tx
        found["on2off", name], found["paused us", name] = port.pfc_on2off, port.pause_duration_us
        found["generator pfc rx", name] = net.generator_counters(f"p{number}").pfc_rx
        for n in range(8):
            queue, group = switch.queues[name, n], switch.priority_groups[name, n]
            found["queue", name, n] = (queue.packets, queue.dropped_packets, queue.occupancy_bytes,
                                       queue.watermark_bytes)
            found["group", name, n] = (group.occupancy_bytes, group.shared_watermark_bytes,
                                       group.headroom_watermark_bytes)
            watched = switch.watchdog.get((name, n))
            found["watchdog", name, n] = (False, 0, 0) if watched is None else (
                watched.status == "stormed", watched.detected, watched.restored)
    return found


def read_oracle(oracle: Oracle, case: Case) -> dict[Any, Any]:
    """The oracle's counters under the same names."""
    found: dict[Any, Any] = {}

    def count(*key: Any) -> int:
        return oracle.count.get(key, 0)
    for flow in case.flows:
        for what in ("flow tx", "flow rx"):
            found[what, flow.name] = count(what, flow.name)
    for name, port in oracle.ports.items():
        found["rx", name] = count("rx", name)
        found["in drops", name] = count("in drops", name) + sum(count("in drops", name, n) for n in range(8))
        for what in ("pfc rx", "pfc tx", "generator pfc rx"):
            found[what, name] = tuple(count(what, name, n) for n in range(8))
        found["on2off", name] = tuple(port.on2off)
        found["paused us", name] = tuple(int((total + (oracle.now - since if since is not None else 0)) // 10**6)
                                         for total, since in zip(port.paused, port.begun))
        for n in range(8):
            queue, group, state = port.queues[n], port.groups[n], oracle.watch[name, n]
            found["queue", name, n] = (count("tx", name, n), count("out drops", name, n),
                                       queue.reserved + queue.shared, queue.peak)
            found["group", name, n] = (group.reserved + group.shared + group.headroom, group.peak, group.headroom_peak)
            found["watchdog", name, n] = (state["stormed"], state["detected"], state["restored"])
    return found
