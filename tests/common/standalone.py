"""The lab of one pytest session when no sonic-mgmt is around: read once, when first needed, and shared by all
fixtures."""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.common.devices.ansible_hosts import ANSIBLE_DIR, AnsibleHosts
from tests.common.devices.duthosts import DutHosts
from tests.common.devices.local import Localhost
from tests.common.devices.sonic import SonicHost
from tests.common.errors import LabError, RunAnsibleModuleFail
from tests.common.pfc.lab.dut import Dut, SwitchState
from tests.common.pfc.lab.option import check_keys, options, tolerances_of
from tests.common.pfc.lab.planning import connected_port, measured_device, plan_device
from tests.common.pfc.lab.port_plan import LabFacts, PortPlan, PortRequest
from tests.common.pfc.lab.restore import read_state
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import natural
from tests.common.snappi_tests.port import PortFacts, generator_ports
from tests.common.testbed import TestbedEntry, TestbedInfo

DEFAULT_TESTBED_FILE = ANSIBLE_DIR / "testbed.yaml"


class StandaloneLab:
    """Everything about the testbed that `--testbed` names. Each attribute raises LabError with one sentence when it
    cannot be had."""

    def __init__(self, config: pytest.Config) -> None:
        """`config` holds the options."""
        self._config = config

    @cached_property
    def tbinfo(self) -> TestbedEntry:
        """The testbed's entry."""
        testbed_file = self._config.getoption("testbed_file") or DEFAULT_TESTBED_FILE
        return TestbedInfo(Path(testbed_file).resolve()).entry(self._config.getoption("testbed"))

    @cached_property
    def localhost(self) -> Localhost:
        """This machine."""
        return Localhost(self._hosts)

    @cached_property
    def duthosts(self) -> DutHosts:
        """The switches. Nothing is sent to them yet."""
        return DutHosts([SonicHost(self._hosts, name) for name in self.tbinfo["duts"]])

    def host(self, name: str) -> SonicHost:
        """A host of the inventory, a switch or another Linux host."""
        return SonicHost(self._hosts, name)

    @cached_property
    def conn_graph_facts(self) -> dict[str, Any]:
        """How the lab is connected: `device_conn[switch][port] = {peerdevice, peerport, speed}`, and `device_info`.

        One run of the module reads the whole graph of the group that the testbed's `inv_name` names, in the folder
        `files` of the lab: the entry's `lab_folder` (a rendered testbed file has one), else the testbed file's own.
        """
        testbed_file = Path(self._config.getoption("testbed_file") or DEFAULT_TESTBED_FILE).resolve()
        beside = testbed_file.parent / str(self.tbinfo.get("lab_folder") or ".") / "files"
        folder = beside if beside.is_dir() else ANSIBLE_DIR / "files"
        duts = self.tbinfo["duts"]
        group = str(self.tbinfo.get("inv_name", ""))
        try:
            answer = self.localhost.conn_graph_facts(filepath=f"{folder}/", group=group, anchor=duts)
        except (RunAnsibleModuleFail, AttributeError) as error:
            raise LabError(f"the connection graph of {', '.join(duts)} cannot be read: {error}") from error
        return dict(answer["ansible_facts"])

    @cached_property
    def fanout_graph_facts(self) -> dict[str, Any]:
        """How the devices behind the switches are connected: by name, with `device_info` and `device_conn` of each."""
        graph = self.conn_graph_facts
        links = [link for dut in self.tbinfo["duts"] for link in graph["device_conn"].get(dut, {}).values()]
        kinds = [kind for kind, content in graph.items() if kind.startswith("device_") and isinstance(content, dict)]
        peers = sorted({str(link["peerdevice"]) for link in links})
        return {peer: {kind: graph[kind].get(peer, {}) for kind in kinds} for peer in peers}

    @cached_property
    def generator_ports(self) -> list[PortFacts]:
        """The switches' ports behind which there is a traffic generator, in sonic-mgmt's shape."""
        return generator_ports(self.tbinfo["duts"], self.conn_graph_facts, self.fanout_graph_facts)

    @cached_property
    def port_plan(self) -> PortPlan:
        """What is measured on one port of the first switch, as the options say (`asked`)."""
        try:
            return plan_device(self.facts, self.tbinfo["duts"][0], self.asked)
        except QualificationError as error:
            raise LabError(str(error)) from error

    @cached_property
    def device(self) -> str:
        """The switch that is measured for the first one; the testbed's entry is understood."""
        facts = self.facts
        try:
            check_keys(facts.testbed)
            chosen = measured_device(facts, self.tbinfo["duts"][0])
            tolerances_of(facts.testbed)
            for option in options():
                option.pauses_named(facts.testbed)
        except QualificationError as error:
            raise LabError(str(error)) from error
        return chosen.device

    @cached_property
    def ports(self) -> list[str]:
        """The ports of that switch with a traffic generator behind them, in natural order."""
        found = sorted((port.port for port in self.facts.ports if port.device == self.device), key=natural)
        if not found:
            raise LabError(f"{self.device}: the links file connects no port of it to a traffic generator")
        return found

    def look(self) -> None:
        """Reads the testbed's files and finds out what is connected.

        Raises:
            LabError, QualificationError: it cannot be measured.
        """
        _ = self.facts

    @cached_property
    def facts(self) -> LabFacts:
        """What is known of the testbed; each switch is read once."""
        ports = [connected_port(port) for port in self.generator_ports]
        return LabFacts(self.tbinfo, cache(self._state), ports, self.conn_graph_facts["device_conn"])

    @property
    def asked(self) -> PortRequest:
        """What the options `--pfc-port`, `--pfc-tx-port`, `--pfc-ip-version`, `--pfc-change-config` and
        `--pfc-same-generator` ask for, where they exist."""
        rx, tx = (self._config.getoption(option, default=None) for option in ("pfc_port", "pfc_tx_port"))
        ip_version = int(self._config.getoption("pfc_ip_version", default=4))
        allowed = ("pfc_change_config", "pfc_same_generator")
        change, same = (bool(self._config.getoption(option, default=False)) for option in allowed)
        return PortRequest(rx, tx, ip_version, change, same)

    def _state(self, name: str) -> SwitchState:
        return read_state(Dut(self.duthosts[name]))

    @cached_property
    def _hosts(self) -> AnsibleHosts:
        return AnsibleHosts(self._config)


LAB_KEY = pytest.StashKey[StandaloneLab]()


def lab_of(config: pytest.Config) -> StandaloneLab:
    """The session's lab."""
    if LAB_KEY not in config.stash:
        config.stash[LAB_KEY] = StandaloneLab(config)
    return config.stash[LAB_KEY]
