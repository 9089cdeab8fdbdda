"""A switch with two wire ports in realtime: `python -m virtual_testbed.tests.engine.plant`, told by lines on stdin.

Its links are of 10 Mb/s, where 65535 quanta last 3.4 s: no sender and no machine is too slow to keep a queue shut.
Generator port p1 sends to p0 in priorities 1, 3 and 4; the cables of p0 and p1 are those of the interfaces sw0 and sw1.
Each line `read` is answered by a line of JSON: what all counters say now.
"""
from __future__ import annotations

import json
import sys
import time
from typing import Any

from virtual_testbed.dataplane.model.configuration import PoolConfig, SwitchConfig
from virtual_testbed.dataplane.outside import OpenNetwork
from virtual_testbed.dataplane.model.traffic import Flow
from virtual_testbed.engine.clock import RealtimeClock
from virtual_testbed.engine.wire import Wire, Wires
from virtual_testbed.lab_files.cables import WireLink
from virtual_testbed.tests.dataplane import testbeds

SPEED_MBPS = 10
DSCPS = {1: 0, 3: 3, 4: 4}


def open_network(config: SwitchConfig, flows: list[Flow]) -> OpenNetwork:
    """A configured network with traffic, as `testbeds.network`."""
    net = OpenNetwork()
    for number, port in enumerate(config.ports.values()):
        net.add_link(testbeds.location(number), config.name, port.name, port.speed_mbps, 5)
    net.configure_switch(config)
    net.set_traffic(testbeds.generator_ports(len(config.ports)), testbeds.hosts(len(config.ports)), flows)
    return net


def plant() -> OpenNetwork:
    """The switch, its flows not yet started; 12 kB fill its priority groups."""
    flows: list[Flow] = [testbeds.data(f"priority {priority}", 1, 0, [dscp], priority, sizes=(256,), rate_fps=200)
                         for priority, dscp in DSCPS.items()]
    pools = {"ingress": PoolConfig(24_000), "egress_lossless": PoolConfig(1 << 40), "egress_lossy": PoolConfig(1 << 40)}
    return open_network(testbeds.switch_config(2, SPEED_MBPS, pools=pools), flows)


def counters(net: OpenNetwork) -> dict[str, Any]:
    """What is read: frames sent and received of each flow by its priority, and the switch ports' PFC counters."""
    flows = {priority: net.flow_counters(f"priority {priority}") for priority in DSCPS}
    ports = net.switch_counters(testbeds.SWITCH).ports
    return {
        "tx": {priority: flow.frames_tx for priority, flow in flows.items()},
        "rx": {priority: flow.frames_rx for priority, flow in flows.items()},
        **{name: {what: getattr(port, what) for what in ("pfc_rx", "pfc_tx", "pfc_on2off", "pause_duration_us",
                                                         "pause_rx", "rx_errors", "rx_drops", "tx_drops")}
           for name, port in ports.items()}}


class World:
    """The network, as far as a clock needs it."""

    def __init__(self, net: OpenNetwork) -> None:
        self._net = net

    @property
    def awaited_ps(self) -> int | None:
        return None

    @property
    def now_ps(self) -> int:
        """Simulated time."""
        return self._net.now_ps

    def advance_to(self, time_ps: int) -> None:
        """Computes up to that instant."""
        self._net.advance_to(time_ps)

    def publish(self) -> None:
        """Nothing."""


def main() -> None:
    """See the module."""
    net = plant()
    clock = RealtimeClock(World(net), time.monotonic_ns)
    links = [WireLink(testbeds.location(number), SPEED_MBPS, f"sw{number}") for number in range(2)]
    wires = Wires(net, [Wire(link) for link in links], clock.simulated_ps)
    net.start_flows([f"priority {priority}" for priority in DSCPS])
    print("ready", flush=True)
    for _ in sys.stdin:
        clock.settle()
        wires.transmit()
        print(json.dumps(counters(net)), flush=True)
    wires.close()


if __name__ == "__main__":
    main()
