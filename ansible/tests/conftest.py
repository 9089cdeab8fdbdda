"""A switch that is only a dictionary, and this project's modules without Ansible around them."""

from __future__ import annotations

import copy
import importlib.util
import json
import sys
from pathlib import Path

import jsonpatch
import pytest

# pytest names this folder's modules ansible.tests.*, and so makes a package `ansible` of the folder above: it must not
# hide the real one.
if getattr(sys.modules.get("ansible"), "__file__", None) is None:
    sys.modules.pop("ansible", None)

import ansible.module_utils  # noqa: E402

ANSIBLE = Path(__file__).resolve().parent.parent
ansible.module_utils.__path__.append(str(ANSIBLE / "module_utils"))

from ansible.module_utils.pfc.qos_templates import QOS_TABLES  # noqa: E402


def load_library(name):
    """A module of ansible/library."""
    key = f"pfc_ansible_library_{name}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, ANSIBLE / "library" / f"{name}.py")
        sys.modules[key] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[key])
    return sys.modules[key]


class FakeSwitch:
    """Answers the commands that the modules use, over CONFIG_DB as a dictionary; remembers them."""

    def __init__(self, tables):
        self.tables = copy.deepcopy(tables)
        self.commands = []
        self.saved = None
        self.broken = {}
        self.templates = {}
        self.pools = ["BUFFER_POOL_TABLE:egress_lossless_pool"]
        self.groups = []
        self.links = {}

    def run(self, command):
        """(exit status, stdout, stderr) of a command."""
        self.commands.append(command)
        name = " ".join(command[:2])
        if name in self.broken:
            return self.broken[name]
        actions = {"sonic-cfggen -d": self._print, "config apply-patch": self._patch, "config load": self._load,
                   "config save": self._save, "pfcwd stop": self._stop, "pfcwd start": self._start,
                   "pfcwd start_default": self._start_default, "pfcwd interval": self._interval,
                   "sonic-db-cli CONFIG_DB": self._delete, "sonic-cfggen -j": self._generate, "config qos": self._clear,
                   "config interface": self._speed, "sonic-db-cli APPL_DB": self._ask}
        return 0, actions[name](command[2:]) or "", ""

    def changes(self):
        """The commands that are not readings."""
        return [command for command in self.commands if command[0] != "sonic-cfggen"]

    def speeds(self):
        """The speeds that were set, one by one."""
        return [(command[3], command[4]) for command in self.commands if command[1:3] == ["interface", "speed"]]

    def _generate(self, arguments):
        """With templates: what they make. To the database: these tables, beside what is there."""
        tables = json.loads(Path(arguments[0]).read_text())
        if "--write-to-db" in arguments:
            self._load([arguments[0], "-y"])
            return ""
        assert not set(tables) & set(self.templates), "the templates are given a configuration without QoS"
        return json.dumps({**tables, **self.templates, "build_version": "202505.1"})

    def _clear(self, arguments):
        assert arguments == ["clear"]
        self.tables = {table: rows for table, rows in self.tables.items() if table not in QOS_TABLES}
        self.pools = self.pools[1:]

    def _speed(self, arguments):
        assert arguments[0] == "speed"
        self.tables["PORT"][arguments[1]]["speed"] = arguments[2]

    def _ask(self, arguments):
        if arguments == ["KEYS", "BUFFER_POOL_TABLE:*"]:
            self.pools, found = self.pools[1:], self.pools[:1]
            return "\n".join(found)
        if arguments == ["KEYS", "BUFFER_PG_TABLE:*"]:
            return "\n".join(self.groups)
        return self.links.get(arguments[1].split(":")[1], "")

    def _print(self, _):
        return json.dumps(self.tables)

    def _patch(self, arguments):
        self.tables = jsonpatch.JsonPatch(json.loads(Path(arguments[0]).read_text())).apply(self.tables)
        assert all(self.tables.values()), "SONiC refuses empty tables"

    def _load(self, arguments):
        assert arguments[1:] == ["-y"]
        for table, rows in json.loads(Path(arguments[0]).read_text()).items():
            for key, row in rows.items():
                self.tables.setdefault(table, {}).setdefault(key, {}).update(row)

    def _save(self, arguments):
        assert arguments == ["-y"]
        self.saved = copy.deepcopy(self.tables)

    def _remove(self, keys):
        for key in keys:
            self.tables.get("PFC_WD", {}).pop(key, None)
        if not self.tables.get("PFC_WD"):
            self.tables.pop("PFC_WD", None)

    def _stop(self, ports):
        self._remove(ports or list(self.tables["PORT"]))

    def _start(self, arguments):
        action, restoration, detection = arguments[1], arguments[3], arguments[-1]
        for port in list(self.tables["PORT"]) if arguments[4:-1] == ["all"] else arguments[4:-1]:
            self._set(port, action, detection, restoration)

    def _set(self, port, action, detection, restoration):
        if self.tables["PORT_QOS_MAP"].get(port, {}).get("pfc_enable"):
            self.tables.setdefault("PFC_WD", {})[port] = {
                "action": action, "detection_time": detection, "restoration_time": restoration,
                "pfc_stat_history": "disable"}

    def _start_default(self, _):
        for port in self.tables["DEVICE_NEIGHBOR"]:
            self._set(port, "drop", "200", "200")
        self._interval(["200"])

    def _interval(self, arguments):
        self.tables.setdefault("PFC_WD", {}).setdefault("GLOBAL", {})["POLL_INTERVAL"] = arguments[0]

    def _delete(self, arguments):
        assert arguments == ["DEL", "PFC_WD|GLOBAL"]
        self._remove(["GLOBAL"])


class FakeModule:
    """What the modules use of AnsibleModule."""

    def __init__(self, switch, params, check_mode=False):
        self.params, self.check_mode, self.warnings = params, check_mode, []
        self.run_command = switch.run

    def warn(self, text):
        """Remember a warning."""
        self.warnings.append(text)


@pytest.fixture
def tables():
    """A switch of four ports, PFC on all but the last."""
    ports = ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet40"]
    return {
        "DEVICE_METADATA": {"localhost": {"hwsku": "Arista-7060CX-32S-C32", "default_pfcwd_status": "enable"}},
        "PORT": {port: {"admin_status": "up", "alias": f"et{at}", "index": str(at + 1), "speed": "100000"}
                 for at, port in enumerate(ports)},
        "PORT_QOS_MAP": {port: {"pfc_enable": "3,4"} for port in ports[:3]},
        "DEVICE_NEIGHBOR": {port: {"name": "generator", "port": "Port1"} for port in ports[:2]},
    }


@pytest.fixture
def switch(tables):
    """A switch with `tables`."""
    return FakeSwitch(tables)


@pytest.fixture
def library():
    """Loads a module of ansible/library by name."""
    return load_library


@pytest.fixture
def fake_module():
    """Makes a FakeModule."""
    return FakeModule


@pytest.fixture
def lab(tmp_path):
    """A lab folder of one T0 with two cabled ports; its files may be rewritten by the test."""
    (tmp_path / "files").mkdir()
    (tmp_path / "vars" / "hwsku").mkdir(parents=True)
    (tmp_path / "testbed.yaml").write_text("- {conf-name: lab-t0, topo: small, inv_name: lab, dut: [sw1]}\n"
                                           "- {name: lab-new, topo: {name: small}, inv_name: lab, duts: [sw1]}\n")
    (tmp_path / "files" / "graph_groups.yml").write_text("- other\n- lab\n")
    for kind, header in (("devices", "Hostname,ManagementIp,HwSku,Type"),
                         ("links", "StartDevice,StartPort,EndDevice,EndPort,BandWidth,VlanID,VlanMode")):
        (tmp_path / "files" / f"sonic_other_{kind}.csv").write_text(f"{header}\n")
    (tmp_path / "files" / "sonic_lab_devices.csv").write_text(
        "Hostname,ManagementIp,HwSku,Type\nsw1,192.0.2.1/24,Arista-7060CX-32S-C32,DevSonic\n"
        "snappi-1,192.0.2.2/24,SNAPPI-tester,DevSnappiChassis\n")
    (tmp_path / "files" / "sonic_lab_links.csv").write_text(
        "StartDevice,StartPort,EndDevice,EndPort,BandWidth,VlanID,VlanMode\n"
        "sw1,Ethernet0,snappi-1,Card1/Port1,100000,2,Access\nsw1,Ethernet4,snappi-1,Card1/Port2,100000,3,Access\n")
    (tmp_path / "vars" / "topo_small.yml").write_text(
        "topology:\n  host_interfaces: [0, 1]\n  DUT:\n    loopback: {ipv4: [10.1.0.32/32]}\n    vlan_configs:\n"
        "      default_vlan_config: one\n      one:\n"
        "        Vlan1000: {id: 1000, intfs: [0, 1], prefix: 192.168.0.1/21, prefix_v6: 'FC02:1000::1/64'}\n"
        "configuration_properties: {common: {dut_type: ToRRouter, dut_asn: 65100}}\nconfiguration: {}\n")
    return tmp_path
