"""Small testbeds for the data plane's tests: a switch like a SONiC T0, generator ports p0.. on Ethernet0, Ethernet4,
...
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from pfctest.frame import encode, pfc_frame
from virtual_testbed.dataplane.model.configuration import (BufferProfile, PoolConfig, SchedulerConfig, SwitchConfig,
                                                           SwitchPortConfig, VlanConfig, WatchdogConfig)
from virtual_testbed.dataplane.model.hooks import Fault
from virtual_testbed.dataplane.model.traffic import DataFlow, Duration, GeneratorPort, EmulatedHost, PauseFlow
from virtual_testbed.dataplane.network import Network

SWITCH = "dut"
SWITCH_MAC = "00:aa:bb:cc:dd:ee"
US = 10**6
MS = 10**9
SECOND = 10**12
DSCP_TO_TC = {dscp: 1 for dscp in range(64)} | {3: 3, 4: 4, 5: 2, 8: 0, 46: 5, 48: 6}
IDENTITY = {number: number for number in range(8)}
TC_TO_PG = {0: 0, 1: 0, 2: 0, 3: 3, 4: 4, 5: 0, 6: 0, 7: 7}
LOSSLESS = BufferProfile("ingress", 1248, 0, None, 165568, 2288, 2288)
BACKGROUND_DSCPS = {0: (8,), 1: (0, 1, 2), 2: (5,), 4: (4,), 5: (46,), 6: (48,)}


def switch_config(ports: int = 4, speed_mbps: int = 100_000, **changes: Any) -> SwitchConfig:
    """A T0 of `ports` ports in one VLAN; `changes` are fields of SwitchConfig, or of each port's configuration."""
    lossy = BufferProfile("ingress", 0, None, 1 << 40)
    queue_profiles = {q: BufferProfile("egress_lossless", 0, None, 1 << 40) if q in (3, 4)
                      else BufferProfile("egress_lossy", 1664, -1) for q in range(8)}
    port = SwitchPortConfig("", speed_mbps, True, frozenset({3, 4}), frozenset({3, 4}), DSCP_TO_TC, IDENTITY, TC_TO_PG,
                            IDENTITY, {0: lossy, 3: LOSSLESS, 4: LOSSLESS}, queue_profiles,
                            {q: SchedulerConfig("DWRR", 15 if q in (3, 4) else 14) for q in range(7)})
    own = {key: value for key, value in changes.items() if key in SwitchPortConfig.__dataclass_fields__}
    names = [port_name(n) for n in range(ports)]
    configured = {name: replace(port, name=name, **own) for name in names}
    config = SwitchConfig(SWITCH, SWITCH_MAC, "broadcom", 208, configured,
                          {"ingress": PoolConfig(12_766_208), "egress_lossless": PoolConfig(1 << 40),
                           "egress_lossy": PoolConfig(10_000_000)}, (VlanConfig(1000, frozenset(names)),))
    return replace(config, **{key: value for key, value in changes.items() if key not in own})


def port_name(number: int) -> str:
    """Ethernet0, Ethernet4, ..."""
    return f"Ethernet{4 * number}"


def change_port(config: SwitchConfig, port: str, **changes: Any) -> SwitchConfig:
    """The configuration with one port changed."""
    return replace(config, ports={**config.ports, port: replace(config.ports[port], **changes)})


def location(number: int) -> str:
    """Location of a generator port."""
    return f"127.1.0.1;1;{number + 1}"


def mac(number: int) -> str:
    """MAC address of the host behind a generator port."""
    return f"00:00:22:33:44:{number:02x}"


def generator_ports(count: int, honours: bool = True) -> list[GeneratorPort]:
    """Generator ports p0.., each class pausing its own transmit queue."""
    mapping = tuple((n, n) for n in range(8)) if honours else ()
    return [GeneratorPort(f"p{n}", location(n), 0, mapping) for n in range(count)]


def hosts(count: int) -> list[EmulatedHost]:
    """One host behind each generator port."""
    return [EmulatedHost(f"h{n}", f"p{n}", mac(n), (f"192.168.0.{n + 2}", f"fc02:1000::{n + 2:x}"))
            for n in range(count)]


def line_rate(frame_bytes: int, speed_mbps: int = 100_000) -> Fraction:
    """Frames a second, back to back."""
    return Fraction(speed_mbps * 10**6, 8 * (frame_bytes + 20))


def data(name: str, tx: int, rx: int, dscp: Sequence[int], queue: int, **changes: Any) -> DataFlow:
    """A data flow from port `tx` to `rx` at 50 % of 100 Gb/s with frames of 1024 bytes, unless `changes` say
    otherwise.
    """
    flow = DataFlow(name, f"p{tx}", (f"p{rx}",), mac(tx), mac(rx), f"192.168.0.{tx + 2}", f"192.168.0.{rx + 2}",
                    tuple(dscp), queue, (1024,), line_rate(1024) / 2)
    return replace(flow, **changes)


def storm(name: str, tx: int, pauses: dict[int, int], rate_fps: int | Fraction = 5960, **changes: Any) -> PauseFlow:
    """A PFC storm from port `tx`."""
    frame = encode(pfc_frame("00:00:00:00:00:00", pauses))
    return replace(PauseFlow(name, f"p{tx}", (), frame, Fraction(rate_fps)), **changes)


def background(tx: int, rx: int, duration: Duration = Duration()) -> list[DataFlow]:
    """50 % of the line shared by one flow for each priority but 3."""
    rate = line_rate(1024) / 2 / len(BACKGROUND_DSCPS)
    return [data(f"background {queue}", tx, rx, dscp, queue, rate_fps=rate, duration=duration)
            for queue, dscp in BACKGROUND_DSCPS.items()]


def pair(number: int, storm_fps: int) -> list[Any]:
    """Traffic of one port pair, at rates of its own: background and a storm, whose pauses lapse below 2981 frames/s."""
    tx, rx = 2 * number, 2 * number + 1
    rate = line_rate(1024) * Fraction(1000 - 17 * number, 20_000)
    flows = [replace(flow, name=f"{flow.name} of {number}", rate_fps=rate) for flow in background(tx, rx)]
    return [storm(f"storm {number}", rx, {3: 0xFFFF}, storm_fps),
            data(f"test {number}", tx, rx, [3], 3, rate_fps=rate / 10), *flows]


def network(config: SwitchConfig, flows: Sequence[Any], faults: Sequence[Fault] = (), honours: bool = True) -> Network:
    """A configured network with traffic, one generator port of the same speed on each switch port."""
    net = Network(faults)
    for number, port in enumerate(config.ports.values()):
        net.add_link(location(number), config.name, port.name, port.speed_mbps, 5)
    net.configure_switch(config)
    net.set_traffic(generator_ports(len(config.ports), honours), hosts(len(config.ports)), flows)
    return net


def names(flows: Sequence[Any]) -> list[str]:
    """Names of flows."""
    return [flow.name for flow in flows]


def with_watchdog(config: SwitchConfig, port: str, action: str = "drop", detection_ms: int = 200,
                  restoration_ms: int | None = 200) -> SwitchConfig:
    """The configuration with the watchdog on for one port."""
    return change_port(config, port, watchdog=WatchdogConfig(action, detection_ms, restoration_ms))
