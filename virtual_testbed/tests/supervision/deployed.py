"""A testbed of the project that is up with a virtual clock and deployed by Ansible, and traffic between its hosts."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import snappi

from virtual_testbed.process import processes_of_run
from virtual_testbed.supervision.state import TestbedFolder, read_json

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
DRAIN_MS = 50


def run(*command: str | Path, **environment: str) -> str:
    """Output of a program that must succeed."""
    done = subprocess.run([*map(str, command)], env={**os.environ, **environment}, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@contextlib.contextmanager
def deployed(name: str, folder: Path) -> Iterator[Deployed]:
    """Brings a testbed up and deploys it while the context lasts; arguments as below."""
    with brought_up(name, folder) as found:
        found.play("deploy_testbed.yml")
        yield found


@contextlib.contextmanager
def brought_up(name: str, folder: Path) -> Iterator[Deployed]:
    """Brings a testbed up while the context lasts; afterwards nothing of it is left.

    Args:
        name: a testbed of the project.
        folder: an empty folder.
    """
    state, run_folder = folder / "state", ""
    try:
        run(BIN / "virtual-testbed", "up", name, "--clock", "virtual", "--state", state,
            "--testbed-file", ROOT / "ansible" / "testbed.yaml", "--owner-pid", str(os.getpid()))
        run_folder = read_json(TestbedFolder(state / name).run)["run_folder"]
        yield Deployed(state / name, folder)
    finally:
        run(BIN / "virtual-testbed", "down", "--purge", "--state", state)
        assert not (state / name).exists()
        assert not run_folder or not (Path(run_folder).exists() or processes_of_run(run_folder))


@dataclass(frozen=True)
class Host:
    """A host that a generator port plays, with one address of either family and the switch's address as gateway."""

    location: str
    mac: str
    address: str
    gateway: str
    prefix: int

    @property
    def family(self) -> str:
        """`ipv4` or `ipv6`, as OTG names them."""
        return "ipv6" if ":" in self.address else "ipv4"


def routed_host(location: str, mac: str, family: str, number: int) -> Host:
    """The neighbour of a routed port; `number` is the port's among the routed ports of the testbed."""
    address, gateway, prefix = {
        "ipv4": (f"10.0.0.{2 * number + 1}", f"10.0.0.{2 * number}", 31),
        "ipv6": (f"fc00::{4 * number + 2:x}", f"fc00::{4 * number + 1:x}", 126)}[family]
    return Host(location, mac, address, gateway, prefix)


@dataclass(frozen=True)
class Load:
    """What is sent: percent of the line rate, for how long, and whether the rx port pauses class 3 meanwhile."""

    percent: int = 90
    milliseconds: int = 2
    paused: bool = False


class Deployed:
    """The switches, the traffic generators and the clock of a testbed."""

    def __init__(self, folder: Path, home: Path) -> None:
        """`folder` is the testbed's, `home` where Ansible may write."""
        self.folder, self._home = folder, home
        self._runtime = json.loads((folder / "runtime.json").read_text(encoding="utf-8"))
        self.inventory = Path(self._runtime["inventory"])
        self.api = snappi.api(location=self._runtime["otg"]["url"])

    def play(self, playbook: str) -> str:
        """Output of a playbook of the project on this testbed."""
        return run(BIN / "ansible-playbook", "-i", self.inventory, ROOT / "ansible" / playbook, "-e",
                   f"testbed_name={self.folder.name}", "-e", f"testbed_file={self.folder / 'testbed.yaml'}",
                   **self.ansible_settings())

    def ansible_settings(self) -> dict[str, str]:
        """What Ansible takes from the environment."""
        return {"HOME": str(self._home), "ANSIBLE_CONFIG": str(ROOT / "ansible" / "ansible.cfg"),
                "ANSIBLE_HOME": str(self._home / "ansible")}

    def ssh(self, switch: str, command: str) -> str:
        """Output of a command on a switch."""
        return run("ssh", "-F", self.folder / "ssh" / "config", switch, command)

    def write(self, switch: str, path: str, text: str) -> None:
        """Writes a file on a switch."""
        subprocess.run(["ssh", "-F", self.folder / "ssh" / "config", switch, f"sudo tee {path}"], input=text, text=True,
                       check=True, stdout=subprocess.DEVNULL)

    def configuration(self, switch: str) -> dict[str, Any]:
        """CONFIG_DB of a switch."""
        found: dict[str, Any] = json.loads(self.ssh(switch, "sudo sonic-cfggen -d --print-data"))
        return found

    def class_3_frames(self, switch: str, side: str) -> dict[str, int]:
        """PFC frames of class 3 that each port has received (`Rx`) or sent (`Tx`), for ports that have any."""
        table = self.ssh(switch, "show pfc counters").split(f"Port {side}")[1].split("Port ")[0]
        rows = [line.split() for line in table.splitlines() if line.split()[:1] and line.split()[0].startswith("Eth")]
        counts = {row[0]: int(row[4].replace(",", "")) for row in rows}
        return {port: count for port, count in counts.items() if count}

    def advance(self, milliseconds: int) -> None:
        """Time passes."""
        body = json.dumps({"nanoseconds": milliseconds * 10**6}).encode()
        url = self._runtime["clock"]["url"] + "/advance"
        urllib.request.urlopen(urllib.request.Request(url, body)).close()

    def connect(self, tx: Host, rx: Host) -> str:
        """Sets a configuration of two hosts.

        Returns:
            The MAC address that the tx host's gateway resolves to.
        """
        config = self.api.config()
        for name, host in (("tx", tx), ("rx", rx)):
            config.ports.port(name=name, location=host.location)
            ethernet = config.devices.device(name=f"{name} host")[-1].ethernets.ethernet(
                name=f"{name} ethernet", mac=host.mac)[-1]
            ethernet.connection.port_name = name
            addresses = ethernet.ipv4_addresses if host.family == "ipv4" else ethernet.ipv6_addresses
            addresses.add(name=f"{name} ip", address=host.address, gateway=host.gateway, prefix=host.prefix)
        layer1 = config.layer1.layer1(name="layer 1", port_names=["tx", "rx"])[-1]
        layer1.flow_control.ieee_802_1qbb.pfc_class_3 = 3
        self.config = config
        self.api.set_config(config)
        request = self.api.states_request()
        request.choice = f"{tx.family}_neighbors"
        neighbors = getattr(request, request.choice)
        neighbors.ethernet_names = ["tx ethernet"]
        return str(getattr(self.api.get_states(request), request.choice)[0].link_layer_address)

    def send(self, tx: Host, rx: Host, mac: str, load: Load = Load()) -> tuple[int, int]:
        """Sends frames of DSCP 3 and 1024 bytes between the hosts of `connect`.

        Args:
            tx, rx: the hosts.
            mac: where the frames are addressed to.
            load: how much.

        Returns:
            Frames sent, frames received after all have arrived.
        """
        self.configure(tx, rx, mac, load)
        self.transmit("start")
        self.advance(load.milliseconds)
        self.transmit("stop")
        self.advance(DRAIN_MS)
        request = self.api.metrics_request()
        request.flow.flow_names = ["data"]
        metric = self.api.get_metrics(request).flow_metrics[0]
        return metric.frames_tx, metric.frames_rx

    def configure(self, tx: Host, rx: Host, mac: str, load: Load) -> None:
        """Sets the flows `data` and, where the load is paused, `storm` of `send`."""
        self.config.flows.clear()
        flow = self.config.flows.flow(name="data")[-1]
        flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "tx", ["rx"]
        ethernet = flow.packet.ethernet()[-1]
        ip = flow.packet.ipv4()[-1] if tx.family == "ipv4" else flow.packet.ipv6()[-1]
        ethernet.src.value, ethernet.dst.value, ethernet.pfc_queue.value = tx.mac, mac, 3
        ip.src.value, ip.dst.value = tx.address, rx.address
        if tx.family == "ipv4":
            ip.priority.dscp.phb.value = 3
        else:
            ip.traffic_class.value = 3 << 2
        flow.size.fixed, flow.rate.percentage, flow.metrics.enable = 1024, load.percent, True
        if load.paused:
            self._add_storm()
        self.api.set_config(self.config)

    def _add_storm(self) -> None:
        """Pause frames for class 3 from the rx port, twice as often as is needed to hold it at 100 Gb/s."""
        storm = self.config.flows.flow(name="storm")[-1]
        storm.tx_rx.port.tx_name, storm.tx_rx.port.rx_names = "rx", ["tx"]
        pause = storm.packet.pfcpause()[-1]
        pause.class_enable_vector.value, pause.pause_class_3.value, storm.rate.pps = 0b1000, 0xFFFF, 5960

    def transmit(self, state: str, flows: Sequence[str] = ()) -> None:
        """Starts or stops flows; none named: all."""
        control = self.api.control_state()
        control.traffic.flow_transmit.state = state
        if flows:
            control.traffic.flow_transmit.flow_names = list(flows)
        self.api.set_control_state(control)
