"""Two small testbeds, of one switch with four ports each, that are up and deployed and are used like hardware."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent
NAMES = ("small-1", "small-2")
PORTS = ("Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12")
HWSKU = "Arista-7060CX-32S-C32"


GRAPH_COLUMNS = "StartDevice,StartPort,EndDevice,EndPort,BandWidth,VlanID,VlanMode"
TOPOLOGY = {
    "topology": {"host_interfaces": [0, 1, 2, 3], "DUT": {
        "loopback": {"ipv4": ["10.1.0.32/32"]},
        "vlan_configs": {"default_vlan_config": "one_vlan_a", "one_vlan_a": {"Vlan1000": {
            "id": 1000, "intfs": [0, 1, 2, 3], "prefix": "192.168.0.1/21", "prefix_v6": "fc02:1000::1/64",
            "tag": 1000}}}}},
    "configuration_properties": {"common": {"dut_asn": 65100, "dut_type": "ToRRouter", "swrole": "leaf",
                                            "failure_rate": 0}},
    "configuration": {}}


def describe(folder: Path) -> Path:
    """Writes the testbed file of both testbeds, and the graph and the topology that it needs; returns its path."""
    (folder / "files").mkdir()
    (folder / "vars/hwsku").mkdir(parents=True)
    shutil.copy(ROOT / f"ansible/vars/hwsku/{HWSKU}.yml", folder / "vars/hwsku")
    entries = [{"conf-name": name, "topo": "small", "ptf": "ptf", "ptf_ip": "127.0.0.1/8", "dut": [f"{name}-01"],
                "inv_name": name, "virtual": True} for name in NAMES]
    (folder / "testbed.yaml").write_text(yaml.safe_dump(entries), encoding="utf-8")
    (folder / "files/graph_groups.yml").write_text(yaml.safe_dump(list(NAMES)), encoding="utf-8")
    (folder / "vars/topo_small.yml").write_text(yaml.safe_dump(TOPOLOGY), encoding="utf-8")
    for number, name in enumerate(NAMES):
        _describe_graph(folder / "files", name, 1 + 2 * number)
    return folder / "testbed.yaml"


def _describe_graph(folder: Path, name: str, chassis: int) -> None:
    """One switch, two ports of it on each of two traffic generators, the first of which has that number."""
    chassises = [chassis, chassis + 1]
    devices = ["Hostname,ManagementIp,HwSku,Type", f"{name}-01,127.0.0.1/8,{HWSKU},DevSonic",
               *(f"snappi-{number},127.1.0.{number}/8,SNAPPI-tester,DevSnappiChassis" for number in chassises)]
    links = [GRAPH_COLUMNS, *(f"{name}-01,{port},snappi-{chassises[place // 2]},Card1/Port{1 + place % 2},100000,"
                              f"{10 + place},Access" for place, port in enumerate(PORTS))]
    (folder / f"sonic_{name}_devices.csv").write_text("\n".join(devices) + "\n", encoding="utf-8")
    (folder / f"sonic_{name}_links.csv").write_text("\n".join(links) + "\n", encoding="utf-8")


@contextmanager
def small_lab(folder: Path, faults: Sequence[str] = ()) -> Iterator[Path]:
    """Both testbeds, up and deployed.

    Args:
        folder: an empty one.
        faults: what the switches do wrong, each of one switch.

    Yields:
        A testbed file that says nothing of their being virtual.
    """
    testbed_file = describe(folder)
    state = folder / "state"
    entries = []
    with ExitStack() as stack:
        down = [str(BIN / "virtual-testbed"), "down", "--purge", "--state", str(state)]
        stack.callback(lambda: subprocess.run(down, stdout=subprocess.DEVNULL, check=True))
        for name in NAMES:
            runtime = _up(name, testbed_file, state, [fault for fault in faults if f"@{name}-" in fault])
            shutil.copy(runtime["inventory"], folder / name)
            entries.append(_entry(runtime))
        hardware = folder / "hardware.yaml"
        hardware.write_text(yaml.safe_dump(entries), encoding="utf-8")
        yield hardware


def _up(name: str, testbed_file: Path, state: Path, faults: Sequence[str]) -> dict[str, Any]:
    command = [str(BIN / "virtual-testbed"), "up", name, "--clock", "virtual", "--json", "--state", str(state),
               "--testbed-file", str(testbed_file), "--owner-pid", str(os.getpid())]
    for fault in faults:
        command += ["--fault", fault]
    up = subprocess.run(command, capture_output=True, text=True, check=False)
    assert up.returncode == 0, up.stderr
    runtime: dict[str, Any] = json.loads(up.stdout)
    deployed = subprocess.run(
        [BIN / "ansible-playbook", "-i", runtime["inventory"], "deploy_testbed.yml", "-e", f"testbed_name={name}",
         "-e", f"testbed_file={runtime['testbed_file']}"],
        cwd=ROOT / "ansible", env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible/ansible.cfg"),
                                   "ANSIBLE_HOME": str(state / "ansible")},
        capture_output=True, text=True, check=False)
    assert deployed.returncode == 0, deployed.stdout
    return runtime


def _entry(runtime: dict[str, Any]) -> dict[str, Any]:
    """A testbed's entry with the endpoints that it has, as hardware has them."""
    entry: dict[str, Any] = yaml.safe_load(Path(runtime["testbed_file"]).read_text(encoding="utf-8"))[0]
    del entry["virtual"]
    return entry
