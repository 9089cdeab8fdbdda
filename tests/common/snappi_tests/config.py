"""An OTG configuration of all tester ports of a switch, as sonic-mgmt's fixture `snappi_testbed_config` gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.common.devices.sonic import SonicHost
from tests.common.errors import LabError
from tests.common.pfc.model.ports import ConnectedPort, hosts_behind
from tests.common.snappi_tests.port import PortFacts


@dataclass
class SnappiPortConfig:
    """One tester port: its place in the configuration, and the addresses of the host behind it."""

    id: int
    ip: str
    mac: str
    gateway: str
    gateway_mac: str
    prefix_len: str
    peer_port: str


def whole_config(api: Any, ports: Sequence[PortFacts], duthost: SonicHost) -> tuple[Any, list[SnappiPortConfig]]:
    """Ports, layer 1 and hosts of all tester ports of one switch.

    Returns:
        The configuration, and a description of each port.

    Raises:
        LabError: no port, or ports of different speeds.
    """
    speeds = {port["speed"] for port in ports}
    if len(speeds) != 1:
        raise LabError(
            f"the tester ports of {duthost.hostname} have the speeds {', '.join(sorted(speeds)) or '(no port)'}; one"
            " is needed"
        )
    config = api.config()
    config.options.port_options.location_preemption = True
    layer1 = config.layer1.layer1(name="L1 config", port_names=[f"Port {index}" for index in range(len(ports))])[-1]
    layer1.speed = f"speed_{int(speeds.pop()) // 1000}_gbps"
    for priority in range(8):
        setattr(layer1.flow_control.ieee_802_1qbb, f"pfc_class_{priority}", priority)
    config_db = duthost.get_config_db()
    router_mac = str(config_db["DEVICE_METADATA"]["localhost"]["mac"])
    described = []
    hosts = hosts_behind([_connected(port) for port in ports], config_db)
    for index, (port, host) in enumerate(zip(ports, hosts, strict=True)):
        config.ports.port(name=f"Port {index}", location=port["location"])
        device = config.devices.device(name=f"Device Port {index}")[-1]
        ethernet = device.ethernets.ethernet(name=f"Ethernet Port {index}", mac=host.mac)[-1]
        ethernet.connection.port_name = f"Port {index}"
        ethernet.ipv4_addresses.ipv4(
            name=f"Ipv4 Port {index}", address=host.address, gateway=host.gateway, prefix=host.prefix_bits
        )
        described.append(
            SnappiPortConfig(
                index, host.address, host.mac, host.gateway, router_mac, str(host.prefix_bits), port["peer_port"]
            )
        )
    return config, described


def _connected(port: PortFacts) -> ConnectedPort:
    return ConnectedPort(
        port["peer_device"], port["peer_port"], port["chassis"], port["location"], int(port["speed"])
    )
