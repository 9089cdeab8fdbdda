"""Where everything of a running virtual testbed is, for programs: `read_endpoints`."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from virtual_testbed.supervision.state import TestbedFolder, read_json


class EndpointsError(Exception):
    """A testbed that is not up; `str()` is one sentence."""


@dataclass(frozen=True)
class SwitchEndpoint:
    """How one switch is reached: SSH on loopback with a key and a known host key, and Redis by its socket."""

    name: str
    ssh_host: str
    ssh_port: int
    user: str
    key_file: Path
    known_hosts: Path
    redis_socket: Path


@dataclass(frozen=True)
class OtgPort:
    """One traffic generator port: its OTG `location`, and the switch port at the other end of its cable."""

    location: str
    switch: str
    switch_port: str
    speed_mbps: int


@dataclass(frozen=True)
class Endpoints:
    """A running testbed.

    Attributes:
        name: of the testbed.
        otg_url: OTG over HTTP, `http://127.0.0.1:36613`; `otg_grpc`: over gRPC, `127.0.0.1:40215`.
        clock_mode: `realtime` or `virtual`; `clock_url`: GET reads the clock, POST to `/advance` below it advances it.
        testbed_file, inventory: sonic-mgmt's files with the endpoints of this run.
        ssh_config: for OpenSSH's `-F`; host names are the switches'.
        switches: by name.
        otg_ports: all of the testbed.
    """

    name: str
    otg_url: str
    otg_grpc: str
    clock_mode: str
    clock_url: str
    testbed_file: Path
    inventory: Path
    ssh_config: Path
    switches: Mapping[str, SwitchEndpoint]
    otg_ports: tuple[OtgPort, ...]

    def variables(self) -> dict[str, str]:
        """The same for the environment of programs that know nothing of this class; `switch` is the first one's."""
        first = next(iter(self.switches.values()))
        return {
            "VIRTUAL_TESTBED_NAME": self.name, "VIRTUAL_TESTBED_OTG": self.otg_url,
            "VIRTUAL_TESTBED_OTG_GRPC": self.otg_grpc, "VIRTUAL_TESTBED_CLOCK": self.clock_url,
            "VIRTUAL_TESTBED_OTG_PORTS": ",".join(port.location for port in self.otg_ports),
            "VIRTUAL_TESTBED_FILE": str(self.testbed_file), "VIRTUAL_TESTBED_INVENTORY": str(self.inventory),
            "VIRTUAL_TESTBED_SSH_CONFIG": str(self.ssh_config),
            "VIRTUAL_TESTBED_SWITCHES": ",".join(self.switches), "VIRTUAL_TESTBED_SSH_HOST": first.ssh_host,
            "VIRTUAL_TESTBED_SSH_PORT": str(first.ssh_port), "VIRTUAL_TESTBED_SSH_USER": first.user,
            "VIRTUAL_TESTBED_SSH_KEY": str(first.key_file), "VIRTUAL_TESTBED_REDIS": str(first.redis_socket)}


def read_endpoints(folder: Path) -> Endpoints:
    """The endpoints of a testbed that is up.

    Args:
        folder: where it keeps its files: the state folder's subfolder with its name.

    Raises:
        EndpointsError: it is not up.
    """
    files = TestbedFolder(folder)
    runtime = files.read_runtime()
    if runtime.get("status") != "up":
        raise EndpointsError(f"testbed {files.name} is not up in {folder.parent}")
    switches = {name: _switch(name, values) for name, values in runtime["switches"].items()}
    ports = tuple(OtgPort(link["location"], link["switch"], link["switch_port"], int(link["speed_mbps"]))
                  for link in read_json(folder / "engine.json")["generator_ports"])
    return Endpoints(
        runtime["testbed"], runtime["otg"]["url"], runtime["otg"]["grpc"], runtime["clock"]["mode"],
        runtime["clock"]["url"], Path(runtime["testbed_file"]), Path(runtime["inventory"]), files.ssh / "config",
        switches, ports)


def _switch(name: str, values: Mapping[str, Any]) -> SwitchEndpoint:
    return SwitchEndpoint(name, values["ssh_host"], int(values["ssh_port"]), values["user"], Path(values["key_file"]),
                          Path(values["known_hosts"]), Path(values["redis_socket"]))
