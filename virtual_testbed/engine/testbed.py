"""One virtual testbed's engine as a process: `python -m virtual_testbed.engine.testbed ENGINE.json`.

Puts data plane, switches' agents, clock and traffic generator together and serves OTG (HTTP and gRPC) and the clock on
loopback. When ready it prints one JSON line with its addresses; it ends on SIGTERM.
"""
from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import itertools
import json
import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from pfctest.interface import InterfaceError
from pfctest.sender import SendError
from virtual_testbed.dataplane.model.configuration import SwitchConfig, VlanConfig
from virtual_testbed.dataplane.outside import OpenNetwork
from virtual_testbed.engine.clock import PS_PER_NS, RealtimeClock, VirtualClock
from virtual_testbed.engine.refreshed import RefreshedSimulation
from virtual_testbed.engine.simulation import Agent, OperationRunner, Simulation, SimulationError
from virtual_testbed.engine.wire import Wire, Wires
from virtual_testbed.faults import Fault, FaultError, parse_fault
from virtual_testbed.ixnetwork.front import IxNetworkFront
from virtual_testbed.ixnetwork.habits import read_habits
from virtual_testbed.ixnetwork.session import IxNetworkSession
from virtual_testbed.lab_files.cables import GeneratorLink, SwitchLink, WireLink
from virtual_testbed.otg import grpc_front
from virtual_testbed.otg.http_front import HttpFront
from virtual_testbed.otg.service import OtgService
from virtual_testbed.otg.simulation_clock import SimulationClock
from virtual_testbed.process import die_with_parent
from virtual_testbed.sonic.agent import SonicAgent
from virtual_testbed.sonic.system_log import SystemLog

HOST = "127.0.0.1"
PACE_S = 0.1
WIRE_ROUNDS = 2
"""A testbed with wire ports follows the wall clock so many times as often."""
MADE_BEFORE_LOOK = 50_000
"""So many objects are made before Python looks for garbage among the latest (its own number is 700). A queue may be
tens of thousands of objects that are no garbage: taking one from compiled code is 3 times as fast so."""
LOG = logging.getLogger(__name__)


class EngineError(Exception):
    """An argument file that describes no testbed, or a testbed that cannot be put together; `str()` is one sentence."""


@dataclass(frozen=True)
class SwitchAddress:
    """Where a switch's databases are, what hardware it is, and where its files are; empty: it has none."""

    name: str
    redis_socket: str
    hwsku: str
    root: str = ""


@dataclass(frozen=True)
class Arguments:
    """The content of ENGINE.json."""

    testbed: str
    clock: str
    otg_port: int
    clock_port: int
    switches: tuple[SwitchAddress, ...]
    generator_links: tuple[GeneratorLink, ...]
    switch_links: tuple[SwitchLink, ...]
    faults: tuple[Fault, ...]
    otg_grpc_port: int = 0
    wires: tuple[WireLink, ...] = ()
    swss: str | None = None
    ixnetwork_port: int = 0
    habits: tuple[str, ...] | None = None


AgentFactory = Callable[[SwitchAddress, "ObservedNetwork", Arguments], Agent]


class ObservedNetwork(OpenNetwork):
    """The data plane, with the switches' present configurations to look at."""

    def __init__(self, faults: Sequence[Fault] = ()) -> None:
        super().__init__(faults)
        self.configurations: dict[str, SwitchConfig] = {}

    def configure_switch(self, config: SwitchConfig) -> None:
        """Applies a switch's configuration and remembers it."""
        super().configure_switch(config)
        self.configurations[config.name] = config


class ConfiguredFabric:
    """The fabric as the switches' present configurations make it.

    Args:
        links: the generator ports' cables.
        cables: those between switches.
        configurations: the switches' present configurations, by name; read at every question.
    """

    def __init__(self, links: Sequence[GeneratorLink], cables: Sequence[SwitchLink],
                 configurations: Mapping[str, SwitchConfig]) -> None:
        self._links = {link.location: link for link in links}
        self._speeds = {link.location: link.speed_mbps for link in links}
        self._peers = {near: far for cable in cables for near, far in ((cable.a, cable.b), (cable.b, cable.a))}
        self._configurations = configurations

    @property
    def speeds(self) -> Mapping[str, int]:
        """Speed of the link of every generator port in Mb/s, by location."""
        return self._speeds

    @property
    def switch_macs(self) -> frozenset[str]:
        """MAC addresses of the switches, lower case."""
        return frozenset(config.mac.lower() for config in self._configurations.values())

    def gateway_mac(self, location: str, gateway: str) -> str | None:
        """MAC of the switch that has the address `gateway` on that port or in its VLAN, also on a switch further on."""
        link = self._links[location]
        port = (link.switch, link.switch_port)
        if not self._is_up(port):
            return None
        config = self._configurations[link.switch]
        wanted = ipaddress.ip_address(gateway)
        if _has(config.port_addresses.get(link.switch_port, ()), wanted):
            return config.mac
        for vlan in config.vlans:
            if link.switch_port in vlan.members:
                for name, addresses in self._segment(link.switch, vlan.vlan_id):
                    if _has(addresses, wanted):
                        return self._configurations[name].mac
        return None

    def _segment(self, first: str, vlan_id: int) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The switches that a broadcast in a VLAN reaches, nearest first, with their addresses in it."""
        waiting = deque([first])
        seen = {first}
        while waiting:
            name = waiting.popleft()
            vlan = next((vlan for vlan in self._configurations[name].vlans if vlan.vlan_id == vlan_id), None)
            if vlan is None:
                continue
            yield name, vlan.addresses
            for far in self._beyond(name, vlan):
                if far not in seen:
                    seen.add(far)
                    waiting.append(far)

    def _beyond(self, name: str, vlan: VlanConfig) -> Iterator[str]:
        """The switches behind the cables of a VLAN's member ports that are up and in the same VLAN at both ends."""
        for member in sorted(vlan.members):
            far = self._peers.get((name, member))
            if far is not None and self._is_up((name, member)) and self._is_up(far) and any(
                    other.vlan_id == vlan.vlan_id and far[1] in other.members
                    for other in self._configurations[far[0]].vlans):
                yield far[0]

    def _is_up(self, place: tuple[str, str]) -> bool:
        """The port is there and not shut down."""
        config = self._configurations.get(place[0])
        port = config.ports.get(place[1]) if config else None
        return port is not None and port.admin_up


def _has(addresses: Sequence[str], wanted: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return wanted in {ipaddress.ip_interface(address).ip for address in addresses}


class Engine:
    """All parts of one testbed, put together.

    Args:
        arguments: what belongs to it.
        make_agent: makes the SONiC side of a switch.
        monotonic_ns: the wall clock, for a realtime testbed.
    """

    def __init__(self, arguments: Arguments, make_agent: AgentFactory, monotonic_ns: Callable[[], int]) -> None:
        network = ObservedNetwork(arguments.faults)
        for link in arguments.generator_links:
            network.add_link(link.location, link.switch, link.switch_port, link.speed_mbps, link.cable_m)
        for cable in arguments.switch_links:
            network.add_switch_link(cable.a, cable.b, cable.speed_mbps, cable.cable_m)
        fabric = ConfiguredFabric(arguments.generator_links, arguments.switch_links, network.configurations)
        service = OtgService(network, fabric)
        agents = {switch.name: _factory(make_agent, switch, network, arguments)
                  for switch in arguments.switches}
        self._service = service
        self.wires: Wires | None = None
        simulation = Simulation(network, agents, self._sample)
        simulation.publish()  # makes the agents: a switch that cannot be reached is reported now, not later
        self.realtime = arguments.clock == "realtime"
        advanced = RefreshedSimulation(simulation)
        clock: SimulationClock = RealtimeClock(advanced, monotonic_ns) if self.realtime else VirtualClock(advanced)
        self.wires = _wires(arguments.wires, network, clock)
        self.operations = OperationRunner(simulation, clock)
        self.worker = ThreadPoolExecutor(1, "testbed")
        self.front = HttpFront(service, clock, self.operations, self.worker, network.progress)
        self.grpc_front = grpc_front.GrpcFront(
            service,
            lambda operation, changes: self.worker.submit(self.operations.perform, operation, changes).result())
        self.ixnetwork: web.Application | None = None
        if arguments.habits is not None:
            habits = read_habits(arguments.habits)
            session = IxNetworkSession(service, fabric.speeds, habits, lambda ns: _let_pass(clock, ns))
            advanced.refresh_with(session.chassis.take_statistics, habits.refresh_ns * PS_PER_NS)
            self.ixnetwork = IxNetworkFront(session, self.front.compute).application()

    def _sample(self) -> None:
        """Time has passed: counters are noted, and what the switches send to the outside is sent."""
        self._service.sample()
        if self.wires is not None:
            self.wires.transmit()


def _let_pass(clock: SimulationClock, nanoseconds: int) -> None:
    """Has simulated time pass in the middle of an operation; a clock that follows the wall clock goes by itself."""
    if nanoseconds:
        clock.advance({"nanoseconds": nanoseconds})


def _wires(links: Sequence[WireLink], network: ObservedNetwork, clock: SimulationClock) -> Wires | None:
    """The wire ports; None without any. Raises EngineError."""
    if not links:
        return None
    if not isinstance(clock, RealtimeClock):
        raise EngineError("wire ports need a clock that follows the wall clock: bring the testbed up with "
                          "--clock realtime")
    try:
        return Wires(network, [Wire(link) for link in links], clock.simulated_ps)
    except (InterfaceError, SendError, OSError) as error:
        raise EngineError(f"wire port: {error}") from error


def _factory(make: AgentFactory, switch: SwitchAddress, network: ObservedNetwork,
             arguments: Arguments) -> Callable[[], Agent]:
    return lambda: make(switch, network, arguments)


def sonic_agent(switch: SwitchAddress, network: ObservedNetwork, arguments: Arguments) -> Agent:
    """The agent of a SONiC switch on its Redis."""
    swss = None if arguments.swss is None else Path(arguments.swss)
    log = SystemLog(Path(switch.root), switch.name) if switch.root else None
    return SonicAgent(switch.name, switch.redis_socket, switch.hwsku, network, arguments.faults, swss, log)


def read_arguments(path: Path) -> Arguments:
    """Reads ENGINE.json.

    Raises:
        EngineError: it cannot be read, or something in it is missing or wrong.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EngineError(f"{path}: cannot be read: {error}") from error
    try:
        return _arguments(data)
    except KeyError as error:
        raise EngineError(f"{path}: the field {error} is missing") from error
    except (TypeError, ValueError, FaultError, AttributeError) as error:
        raise EngineError(f"{path}: {error}") from error


def _arguments(data: dict[str, Any]) -> Arguments:
    if data["clock"] not in ("virtual", "realtime"):
        raise ValueError(f"clock is {data['clock']!r}, virtual or realtime expected")
    return Arguments(
        testbed=str(data["testbed"]), clock=data["clock"],
        otg_port=int(data.get("otg_port") or 0), clock_port=int(data.get("clock_port") or 0),
        switches=tuple(SwitchAddress(switch["name"], switch["redis_socket"], switch["hwsku"], switch.get("root", ""))
                       for switch in data.get("switches", ())),
        generator_links=tuple(GeneratorLink(port["location"], port["switch"], port["switch_port"],
                                            int(port["speed_mbps"]), int(port["cable_m"]))
                              for port in data.get("generator_ports", ())),
        switch_links=tuple(SwitchLink((link["a"][0], link["a"][1]), (link["b"][0], link["b"][1]),
                                      int(link["speed_mbps"]), int(link["cable_m"]))
                           for link in data.get("switch_links", ())),
        faults=tuple(parse_fault(spec) for spec in data.get("faults", ())),
        otg_grpc_port=int(data.get("otg_grpc_port") or 0),
        wires=tuple(WireLink(wire["location"], int(wire["speed_mbps"]), wire["interface"])
                    for wire in data.get("wires", ())),
        swss=data.get("swss"), ixnetwork_port=int(data.get("ixnetwork_port") or 0),
        habits=None if data.get("habits") is None else tuple(data["habits"]))


@contextlib.asynccontextmanager
async def serving(engine: Engine, ports: Sequence[int]) -> AsyncIterator[list[int]]:
    """Serves a testbed on loopback while the context lasts; its clock, if realtime, and its switches go on unasked.

    Args:
        engine: what to serve.
        ports: TCP ports, all serving the same; 0 takes a free one.

    Yields:
        The ports that were taken.

    Raises:
        EngineError: a port cannot be used.
    """
    runner = web.AppRunner(engine.front.application(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    pacer = asyncio.create_task(_pace(engine))
    try:
        for port in ports:
            try:
                await web.TCPSite(runner, HOST, port).start()
            except OSError as error:
                raise EngineError(f"{HOST}:{port} cannot be used: {error.strerror or error}") from error
        yield [address[1] for address in runner.addresses]
    finally:
        pacer.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await pacer
        await runner.cleanup()


@contextlib.asynccontextmanager
async def serving_ixnetwork(engine: Engine, port: int) -> AsyncIterator[dict[str, str]]:
    """Serves IxNetwork's REST API on loopback while the context lasts, where the testbed has one.

    Args:
        engine: what to serve.
        port: a TCP port; 0 takes a free one.

    Yields:
        Its address for the ready line; empty: it has none.

    Raises:
        EngineError: the port cannot be used.
    """
    if engine.ixnetwork is None:
        yield {}
        return
    runner = web.AppRunner(engine.ixnetwork, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, HOST, port).start()
        except OSError as error:
            raise EngineError(f"{HOST}:{port} cannot be used: {error.strerror or error}") from error
        yield {"ixnetwork_url": f"http://{HOST}:{runner.addresses[0][1]}"}
    finally:
        await runner.cleanup()


@contextlib.contextmanager
def serving_grpc(engine: Engine, port: int) -> Iterator[int]:
    """Serves OTG over gRPC on loopback while the context lasts.

    Args:
        engine: what to serve.
        port: a TCP port; 0 takes a free one.

    Yields:
        The port that was taken.

    Raises:
        EngineError: the port cannot be used.
    """
    try:
        server, taken = engine.grpc_front.start(f"{HOST}:{port}")
    except OSError as error:
        raise EngineError(f"{HOST}:{port} cannot be used: {error}") from error
    try:
        yield taken
    finally:
        grpc_front.end(server)


async def _pace(engine: Engine) -> None:
    """Has a testbed follow the wall clock when it is realtime, and its switches' configuration, until cancelled."""
    loop = asyncio.get_running_loop()
    rounds = WIRE_ROUNDS if engine.wires is not None else 1
    for number in itertools.count(1):
        await asyncio.sleep(PACE_S / rounds)
        await loop.run_in_executor(engine.worker, engine.operations.pace,
                                   engine.realtime and number % rounds == 0)


async def run(arguments: Arguments) -> None:
    """Serves until SIGTERM or SIGINT.

    Raises:
        EngineError: the testbed cannot be put together or served.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        engine = Engine(arguments, sonic_agent, time.monotonic_ns)
    except (SimulationError, ValueError) as error:
        raise EngineError(f"testbed {arguments.testbed}: {error}") from error
    ports = list(dict.fromkeys((arguments.otg_port, arguments.clock_port or arguments.otg_port)))
    async with serving(engine, ports) as taken, serving_ixnetwork(engine, arguments.ixnetwork_port) as ixnetwork:
        with serving_grpc(engine, arguments.otg_grpc_port) as grpc_port:
            ready = {"ready": True, "otg_url": f"http://{HOST}:{taken[0]}", "otg_grpc": f"{HOST}:{grpc_port}",
                     "clock_url": f"http://{HOST}:{taken[-1]}/clock", **ixnetwork}
            print(json.dumps(ready), flush=True)
            LOG.info("testbed %s, %s clock, on port %d", arguments.testbed, arguments.clock, taken[0])
            await stop.wait()


def main() -> int:
    """The command; the exit status is 1 when it could not run, with one sentence on stderr."""
    die_with_parent()
    gc.set_threshold(MADE_BEFORE_LOOK)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if len(sys.argv) != 2:
        print("error: one argument is expected, the path of the engine's JSON file", file=sys.stderr)
        return 2
    try:
        asyncio.run(run(read_arguments(Path(sys.argv[1]))))
    except EngineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)  # not `return`: that would wait for a computation that nobody wants any more


if __name__ == "__main__":
    sys.exit(main())
