"""sonic-mgmt's modules that ask a switch for facts: they run on virtual switches, and return what is there."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.against_sonic.checkout import Checkout
from scripts.against_sonic.configurations import TESTBEDS
from scripts.against_sonic.environment import make_environment
from scripts.against_sonic.installation import STAND_IN, copy_modules
from scripts.against_sonic.minigraph import MINIGRAPH, minigraph
from tests.common.clone import ROOT
from virtual_testbed.lab_files.description import virtual_testbeds
from virtual_testbed.tests.supervision.deployed import BIN, Deployed, brought_up

PACKAGES = ("ipaddr", "jinja2", "lxml", "natsort", "netaddr", "PyYAML", "redis")
"""What the modules and sonic_py_common import."""
BY_SWITCH = "by the switch's own packages"
BY_OURS = "by this project's module"
_ANSWER = re.compile(r"^(\S+) \| (SUCCESS|CHANGED|FAILED!|UNREACHABLE!)[^\n]*? => ", re.MULTILINE)
_OWN = ROOT / "ansible/library"
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class FactsModule:
    """A module of sonic-mgmt.

    Attributes:
        arguments: as on Ansible's command line.
        has_ours: whether this project has a module of that name, which must return the same.
        expected: what must be among the facts, by CONFIG_DB.
        table: what CONFIG_DB must have, or the module fails, also on SONiC.
    """

    name: str
    arguments: str = ""
    has_ours: bool = False
    expected: Callable[[Facts], Facts] = lambda config: {}
    table: str = "PORT"


@dataclass
class FactsComparison:
    """What came out: how often a module ran on a switch, how many facts it returned, and what differs."""

    runs: int = 0
    facts: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, place: str, facts: int, differences: Sequence[str]) -> None:
        """One more run. `place`: switch, module and arguments; `facts`: how many it returned."""
        self.runs += 1
        self.facts += facts
        self.differences += [f"{place}: {one}" for one in differences]


def _platform(config: Facts) -> Facts:
    metadata = config["DEVICE_METADATA"]["localhost"]
    return {"hwsku": metadata["hwsku"], "platform": metadata["platform"]}


def _states(config: Facts) -> Facts:
    return {name: row["state"] for name, row in config["FEATURE"].items()}


def _vlans(config: Facts) -> Facts:
    """VLANs in the shape of `vlan_facts`."""
    found: dict[str, Any] = {name: {"name": name, "vlanid": row["vlanid"]} for name, row in config["VLAN"].items()}
    for key, row in config["VLAN_MEMBER"].items():
        name, port = key.split("|")
        found[name].setdefault("members", {})[port] = {"tagging_mode": row["tagging_mode"]}
    for key in config["VLAN_INTERFACE"]:
        name, bar, prefix = key.partition("|")
        if bar:
            address, length = prefix.split("/")
            found[name].setdefault("interfaces", []).append({"addr": address, "prefixlen": int(length)})
    return found


def _basic(config: Facts) -> Facts:
    metadata = config["DEVICE_METADATA"]["localhost"]
    return {"basic_facts": {**_platform(config), "router_mac": metadata["mac"], "router_type": metadata["type"],
                            "mgmt_interface": [key.split("|")[1] for key in config["MGMT_INTERFACE"]]},
            "features": config["FEATURE"]}


def _interfaces(config: Facts) -> Facts:
    """No port is asked for."""
    return {"ansible_interface_link_down_ports": []}


def _minigraph(config: Facts) -> Facts:
    """What a minigraph says too. A port is one of it that has a VLAN or an address."""
    members = {key.split("|")[1] for key in config.get("VLAN_MEMBER", {})}
    with_address = {key.split("|")[0] for key in config.get("INTERFACE", {}) if "|" in key}
    aliases = {name: row["alias"] for name, row in config["PORT"].items()}
    return {"minigraph_hwsku": _platform(config)["hwsku"], "minigraph_port_name_to_alias_map": aliases,
            "minigraph_ports": {name: {"name": name, "alias": aliases[name]} for name in members | with_address},
            "minigraph_neighbors": {name: {"name": row["name"], "port": row["port"], "namespace": ""}
                                    for name, row in config.get("DEVICE_NEIGHBOR", {}).items()}}


def _ports(config: Facts) -> Facts:
    return {"PORT": config["PORT"]}


_HOST = "host={{ inventory_hostname }}"
MODULES = (
    FactsModule("sonic_basic_facts", expected=_basic),
    FactsModule("dut_basic_facts", expected=lambda config: {"dut_basic_facts": {
        **_platform(config), "feature_status": _states(config), "num_asic": 1, "is_chassis": False}}),
    FactsModule("config_facts", f"{_HOST} source=running", has_ours=True, expected=_ports),
    FactsModule("config_facts", f"{_HOST} source=persistent", has_ours=True, expected=_ports),
    FactsModule("feature_facts", expected=lambda config: {"feature_facts": _states(config)}),
    FactsModule("interface_facts", expected=_interfaces),
    FactsModule("minigraph_facts", _HOST, expected=_minigraph),
    FactsModule("vlan_facts", expected=lambda config: {"ansible_vlan_facts": _vlans(config)}, table="VLAN"),
)
"""What is run. The others need what a virtual switch does not have: docs/real-sonic.md."""


def compare_facts(sonic_mgmt: Checkout, buildimage: Checkout) -> FactsComparison:
    """Run the modules on every switch of every virtual testbed, deployed.

    Raises:
        InstallationError: what they import cannot be installed.
    """
    found = FactsComparison()
    python = _install(buildimage, ROOT / ".venv/real-sonic/facts")
    for testbed in virtual_testbeds(TESTBEDS):
        with tempfile.TemporaryDirectory() as folder, brought_up(testbed.name, Path(folder)) as lab:
            lab.play("deploy_testbed.yml")
            configs = {switch.name: lab.configuration(switch.name) for switch in testbed.switches}
            for name, config in configs.items():
                lab.write(name, MINIGRAPH, minigraph(name, config))
            for module in MODULES:
                _compare(module, _Ansible(lab, sonic_mgmt.folder, python), configs, found)
    return found


def differences(theirs: Any, ours: Any, place: str = "") -> Iterator[str]:
    """Where two facts differ: a place, with what both say."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in sorted(theirs.keys() | ours.keys(), key=str):
            below = f"{place}.{name}".lstrip(".")
            if name not in theirs or name not in ours:
                yield f"{below}: {'only here' if name in ours else 'only there'}"
            else:
                yield from differences(theirs[name], ours[name], below)
    elif theirs != ours:
        yield f"{place}: there {theirs!r}, here {ours!r}"


class _Ansible:
    """Runs modules on the switches of a testbed."""

    def __init__(self, lab: Deployed, sonic_mgmt: Path, python: Path) -> None:
        self._lab = lab
        self._sonic_mgmt = sonic_mgmt
        self._python = python

    def by_sonic(self, module: FactsModule) -> dict[str, Facts | str]:
        """What sonic-mgmt's module says by SONiC's packages, by switch: facts, or why it failed."""
        return self._theirs(module, "-e", f"ansible_python_interpreter={self._python}")

    def by_switch(self, module: FactsModule) -> dict[str, Facts | str]:
        """What it says by the switch's own packages."""
        return self._theirs(module)

    def ours(self, module: FactsModule) -> dict[str, Facts | str]:
        """What this project's module of that name says."""
        return self._run(module, _OWN, [], ANSIBLE_MODULE_UTILS=str(ROOT / "ansible/module_utils"))

    def _theirs(self, module: FactsModule, *words: str) -> dict[str, Facts | str]:
        return self._run(module, self._sonic_mgmt / "ansible/library", words,
                         ANSIBLE_MODULE_UTILS=str(self._sonic_mgmt / "ansible/module_utils"))

    def _run(self, module: FactsModule, folder: Path, words: Sequence[str], **settings: str) -> dict[str, Facts | str]:
        command = [str(BIN / "ansible"), "-i", str(self._lab.inventory), "sonic", "-b", "-M", str(folder), "-m",
                   module.name, "-a", module.arguments, *words]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env={
            **os.environ, **self._lab.ansible_settings(), "ANSIBLE_CALLBACK_RESULT_FORMAT": "json", **settings})
        return dict(read_answers(ended.stdout))


def read_answers(printed: str) -> Iterator[tuple[str, Facts | str]]:
    """What Ansible prints of a module's run: of each switch its facts, or why there are none."""
    for found in _ANSWER.finditer(printed):
        result, _ = json.JSONDecoder().raw_decode(printed, found.end())
        if found[2] in ("SUCCESS", "CHANGED"):
            yield found[1], {name: value for name, value in result["ansible_facts"].items()
                             if not name.startswith("discovered_")}
        else:
            yield found[1], " ".join(str(result.get("msg", result)).split())


def _compare(module: FactsModule, ansible: _Ansible, configs: Mapping[str, Facts], comparison: FactsComparison) -> None:
    by_sonic = ansible.by_sonic(module)
    others = {BY_SWITCH: ansible.by_switch(module)}
    if module.has_ours:
        others[BY_OURS] = ansible.ours(module)
    for switch in [switch for switch, config in configs.items() if module.table in config]:
        place = f"{switch} {module.name} {module.arguments}"
        facts = by_sonic.get(switch, "no answer")
        if isinstance(facts, str):
            comparison.add(place, 0, [f"sonic-mgmt's fails: {facts}"])
            continue
        found = list(_unexpected(facts, module.expected(configs[switch])))
        found += [f"{way}: {one}" for way, other in others.items()
                  for one in _beside(facts, other.get(switch, "no answer"))]
        comparison.add(place, len(facts), found)


def _beside(facts: Facts, other: Facts | str) -> list[str]:
    return [f"fails: {other}"] if isinstance(other, str) else list(differences(facts, other))


def _unexpected(facts: Facts, expected: Facts) -> Iterator[str]:
    """What is expected of the facts and not in them; further facts are no difference."""
    for name, value in expected.items():
        if name not in facts:
            yield f"{name}: missing"
        elif isinstance(value, dict) and value.keys() <= facts[name].keys():
            yield from differences({key: facts[name][key] for key in value}, value, name)
        else:
            yield from differences(facts[name], value, name)


def _install(buildimage: Checkout, folder: Path) -> Path:
    """The Python that the modules run in on a switch: with the switch's Redis, sonic_py_common and swsscommon.

    Raises:
        InstallationError: pip failed.
        OSError: a part of the checkout is missing, or nothing can be written.
    """
    make_environment(folder / "env", PACKAGES)
    code = folder / "code"
    python = folder / "python3"
    shutil.rmtree(code, ignore_errors=True)
    code.mkdir(parents=True)
    copy_modules(buildimage, code)
    python.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={STAND_IN}:{code} PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore\n"
        f'export SONIC_CONTEXT="$(dirname "$(command -v pfcstat)")/.context.json"\n'
        f'exec {folder / "env/bin/python"} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return python
