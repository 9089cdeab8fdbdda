"""`vtb-chain` for the data plane's tests and for the picture in docs/data-plane.md: three T0 in a row as they are
deployed, without the ports that have no cable and without the watchdog.

Generator ports are named `1.0`: switch 1, Ethernet0. The switches are in one VLAN, so that frames are bridged.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from pfctest.frame import encode, pfc_frame
from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.dataplane.model.hooks import Fault
from virtual_testbed.dataplane.model.traffic import DataFlow, Duration, Flow, GeneratorPort, EmulatedHost, PauseFlow
from virtual_testbed.dataplane.network import Network
from virtual_testbed.sonic.databases import Config
from virtual_testbed.sonic.factory import factory_config, qos_tables, switch_mac
from virtual_testbed.sonic.profile import load_profile
from virtual_testbed.sonic.translate import translate

SWITCHES = ("vtb-chain-01", "vtb-chain-02", "vtb-chain-03")
UP, DOWN = "Ethernet120", "Ethernet124"
"""A switch's port towards the switch before it, and towards the one behind it."""
GENERATOR_PORTS = (0, 4, 8, 12)
SPEED_MBPS, NEAR_M, FAR_M = 100_000, 5, 40
SENDER, RECEIVER, SECOND_SENDER = "1.0", "3.0", "3.8"
PARTS = 64
Value = TypeVar("Value")


def configurations() -> list[SwitchConfig]:
    """The three switches."""
    profile = load_profile("Arista-7060CX-32S-C32")
    found = []
    for place, name in enumerate(SWITCHES):
        config = translate(_deployed(name, place), profile, name, switch_mac(name)).config
        ports = {port: config.ports[port] for port in sorted(config.vlans[0].members)}
        found.append(replace(config, ports=ports))
    return found


def _deployed(name: str, place: int) -> Config:
    """CONFIG_DB of a switch after the deployment, as far as the data plane takes notice of it."""
    profile = load_profile("Arista-7060CX-32S-C32")
    ports = [f"Ethernet{number}" for number in GENERATOR_PORTS] + [UP, DOWN]
    config = factory_config(profile, name)
    config["DEVICE_METADATA"]["localhost"]["type"] = "ToRRouter"
    config["DEVICE_NEIGHBOR"] = {port: {"name": "the other end", "port": port} for port in ports}
    config["VLAN"] = {"Vlan1000": {"vlanid": "1000"}}
    config["VLAN_MEMBER"] = {f"Vlan1000|{port}": {"tagging_mode": "untagged"} for port in ports}
    config["VLAN_INTERFACE"] = {"Vlan1000": {}, f"Vlan1000|192.168.7.{place + 1}/21": {}}
    config |= qos_tables(config, profile)
    config["CABLE_LENGTH"]["AZURE"] |= {UP: f"{FAR_M}m", DOWN: f"{FAR_M}m"}
    return config


def location(port: str) -> str:
    """Location of a generator port."""
    switch, number = port.split(".")
    return f"127.1.0.{3 + int(number) // 8};{switch};{1 + int(number) % 8 // 4}"


def host(port: str) -> EmulatedHost:
    """The host behind a generator port."""
    switch, number = map(int, port.split("."))
    mac = f"00:00:22:33:{switch:02x}:{number:02x}"
    return EmulatedHost(f"h{port}", port, mac, (f"192.168.{switch}.{number + 10}",))


def network(flows: Sequence[Flow], faults: Sequence[Fault] = ()) -> Network:
    """The testbed with traffic that has been started; every generator port obeys PFC, without response time."""
    net, names = Network(faults), [f"{n}.{port}" for n in (1, 2, 3) for port in GENERATOR_PORTS]
    for name in names:
        switch, number = name.split(".")
        net.add_link(location(name), SWITCHES[int(switch) - 1], f"Ethernet{number}", SPEED_MBPS, NEAR_M)
    for before, after in zip(SWITCHES, SWITCHES[1:]):
        net.add_switch_link((before, DOWN), (after, UP), SPEED_MBPS, FAR_M)
    for config in configurations():
        net.configure_switch(config)
    mapping = tuple((n, n) for n in range(8))
    net.set_traffic([GeneratorPort(name, location(name), 0, mapping) for name in names],
                    [host(name) for name in names], flows)
    net.start_flows([flow.name for flow in flows])
    return net


def data(name: str, tx: str, percent: int, dscp: int, **changes: Any) -> DataFlow:
    """Frames of 1024 bytes to the receiver at `percent` of the line rate; the transmit queue is the DSCP's class."""
    queue = {3: 3, 4: 4, 46: 5}.get(dscp, 1)
    rate = Fraction(SPEED_MBPS * 10**6 * percent, 8 * (1024 + 20) * 100)
    source, target = host(tx), host(RECEIVER)
    flow = DataFlow(name, tx, (RECEIVER,), source.mac, target.mac, source.addresses[0], target.addresses[0], (dscp,),
                    queue, (1024,), rate)
    return replace(flow, **changes)


def storm(duration: Duration) -> PauseFlow:
    """Pauses of class 3 from the receiver, two in each pause time."""
    frame = encode(pfc_frame(host(RECEIVER).mac, {3: 0xFFFF}))
    return PauseFlow("storm", RECEIVER, (), frame, Fraction(5960), duration)


def changes(net: Network, read: Callable[[Network], Value], instant_ps: int) -> tuple[Value, Value]:
    """What is read one picosecond before an instant and at it: different when it changes there and nowhere else."""
    net.advance_to(instant_ps - 1)
    before = read(net)
    net.advance_to(instant_ps)
    return before, read(net)


def first_changes(make: Callable[[], Network], reads: Mapping[str, Callable[[Network], Any]],
                  until_ps: int) -> dict[str, int]:
    """The first instant at which each value is another than at the beginning, to the picosecond.

    Bisection, into many parts at a time: as time does not go back, every round advances a new testbed, and reads each
    value at the instants that divide what is left for it.

    Args:
        make: makes the testbed.
        reads: what to read, by name.
        until_ps: end of the search.

    Raises:
        ValueError: one of them does not change.
    """
    fresh = make()
    initial = {name: read(fresh) for name, read in reads.items()}
    left = {name: (0, until_ps) for name in reads}
    while any(high - low > 1 for low, high in left.values()):
        net = make()
        probes = sorted({(low + (high - low) * part // PARTS, name)
                         for name, (low, high) in left.items() for part in range(1, PARTS + 1)})
        left = {name: (low, high + 1) for name, (low, high) in left.items()}
        for time_ps, name in probes:
            low, high = left[name]
            if time_ps < high:
                net.advance_to(time_ps)
                changed = reads[name](net) != initial[name]
                left[name] = (low, time_ps) if changed else (time_ps, high)
        unchanged = sorted(name for name, (_, high) in left.items() if high > until_ps)
        if unchanged:
            raise ValueError(f"{unchanged[0]} does not change within {until_ps} ps")
    return {name: high for name, (_, high) in left.items()}
