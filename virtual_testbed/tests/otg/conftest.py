"""A testbed of one T0 with four ports, served over HTTP in a thread of the test's own process."""
from __future__ import annotations

import asyncio
import threading
import time
from contextlib import contextmanager

import pytest

from virtual_testbed.dataplane.model.configuration import (BufferProfile, PoolConfig, SchedulerConfig, SwitchConfig,
                                                           SwitchPortConfig, VlanConfig)
from virtual_testbed.engine.testbed import Arguments, GeneratorLink, SwitchAddress, Engine, serving
from virtual_testbed.faults import parse_fault

SWITCH = "vtb-t0-01"
SWITCH_MAC = "02:00:5e:00:00:01"
PORTS = {f"127.1.0.{chassis};1;{port}": f"Ethernet{4 * index}"
         for index, (chassis, port) in enumerate(((1, 1), (1, 2), (2, 1), (2, 2)))}
DSCP_TO_TC = {dscp: {3: 3, 4: 4, 5: 2, 8: 0, 46: 5, 48: 6}.get(dscp, 1) for dscp in range(64)}
LOSSLESS = BufferProfile("ingress_lossless_pool", size=1248, dynamic_th=0, xoff=165568, xon=2288, xon_offset=2288)
LOSSY = BufferProfile("ingress_lossless_pool", size=0, dynamic_th=3)


def port_config(name, admin_up=True):
    identity = {priority: priority for priority in range(8)}
    return SwitchPortConfig(
        name, 100_000, admin_up, frozenset({3, 4}), frozenset({3, 4}), DSCP_TO_TC, identity,
        {priority: priority if priority in (3, 4, 7) else 0 for priority in range(8)}, identity,
        {0: LOSSY, 3: LOSSLESS, 4: LOSSLESS},
        {queue: BufferProfile("egress_lossless_pool", static_th=12766208) if queue in (3, 4)
         else BufferProfile("egress_lossy_pool", dynamic_th=3) for queue in range(7)},
        {queue: SchedulerConfig("DWRR", 15 if queue in (3, 4) else 14) for queue in range(7)})


def switch_config(down=()):
    ports = {name: port_config(name, name not in down) for name in PORTS.values()}
    return SwitchConfig(
        SWITCH, SWITCH_MAC, "broadcom", 208, ports,
        {"ingress_lossless_pool": PoolConfig(10875072, 4194112), "egress_lossless_pool": PoolConfig(15982720),
         "egress_lossy_pool": PoolConfig(9243812)},
        (VlanConfig(1000, frozenset(ports), ("192.168.0.1/21", "fc02:1000::1/64")),))


class Agent:
    """Configures the switch as this module says, once; counts what it is asked for."""

    def __init__(self, network, down=()):
        self.network = network
        self.config = switch_config(down)
        self.applied = False
        self.published = 0
        self.failure = None

    def apply_configuration(self):
        if self.failure:
            raise self.failure
        if not self.applied:
            self.network.configure_switch(self.config)
        self.applied = True

    def publish_states(self):
        self.apply_configuration()
        self.published += 1

    def next_stage_ps(self):
        return None

    def awaited_ps(self):
        return None

    def due_polls(self, until_ps):
        return {}

    def missed_polls(self, after_ps, made):
        return ()

    def poll(self, groups):
        raise AssertionError("no poll was due")


class Server:
    """A served testbed: its `url`, and the agents made so far."""

    def __init__(self, clock, down=(), faults=()):
        links = tuple(GeneratorLink(location, SWITCH, port, 100_000, 5) for location, port in PORTS.items())
        arguments = Arguments("vtb", clock, 0, 0, (SwitchAddress(SWITCH, "", ""),), links, (),
                              tuple(map(parse_fault, faults)))
        self.agents = []
        self.down = down
        self.engine = Engine(arguments, self._make_agent, time.monotonic_ns)
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ready = threading.Event()

    def _make_agent(self, switch, network, arguments):
        self.agents.append(Agent(network, self.down))
        return self.agents[-1]

    async def _serve(self):
        async with serving(self.engine, [0]) as ports:
            self.url = f"http://127.0.0.1:{ports[0]}"
            self._ready.set()
            await self._stop.wait()

    @contextmanager
    def running(self):
        thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        thread.start()
        try:
            assert self._ready.wait(60)
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(60)
            self._loop.close()
            self.engine.worker.shutdown()


@pytest.fixture
def make_server():
    """Serves a testbed for a `with` block: make_server("virtual")."""
    return lambda clock="virtual", down=(), faults=(): Server(clock, down, faults).running()


@pytest.fixture
def server(make_server):
    """A served testbed with a virtual clock."""
    with make_server() as running:
        yield running
