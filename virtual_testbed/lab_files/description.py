"""What the lab files say a virtual testbed is: read, checked as a whole, and turned into frozen values.

The files are sonic-mgmt's: `testbed.yaml` with the connection graph in `files/` and topologies in `vars/` beside it.
Nothing is started here; every error is one sentence that names the file and the row.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from virtual_testbed.lab_files.cables import GeneratorLink, SwitchLink
from virtual_testbed.lab_files.connection_graph import (
    GENERATOR_NAMES,
    ConnectionGraph,
    ConnectionGraphError,
    GraphDevice,
    GraphLink,
    load_graph,
)
from virtual_testbed.sonic.profile import FOLDER, Profile, ProfileError, load_profile

# Lengths that SONiC's buffer templates assume (buffers_config.j2): a server's cable, and one between a T0 and a T1. The
# deployment writes the same ones into CABLE_LENGTH.
GENERATOR_CABLE_M = 5
SWITCH_CABLE_M = 40

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_RESERVED_NAMES = frozenset(
    {"runtime.json", "run.json", "plan.json", "engine.json", "testbed.yaml", "lock", "ssh", "log", "switches", "engine",
     "runtime", "run", "plan", "supervisor"})


class DescriptionError(Exception):
    """The lab files do not describe a virtual testbed that can be started; the text is one sentence."""


@dataclass(frozen=True)
class SwitchDescription:
    """A device under test as the lab files describe it; `build` is its `build_version`, None for the default one."""

    name: str
    hwsku: Profile
    build: str | None = None


@dataclass(frozen=True)
class Testbed:
    """A virtual testbed, ready to be started.

    `entry` is its entry of the testbed file, every key kept; its `lab_folder` is the absolute path of the folder whose
    `files/` and `vars/` describe the testbed, so that a copy of the entry elsewhere still means these.
    """

    __test__ = False  # the name is not pytest's

    name: str
    file: Path
    entry: Mapping[str, Any]
    inv_name: str
    switches: tuple[SwitchDescription, ...]
    generators: Mapping[str, str]
    generator_links: tuple[GeneratorLink, ...]
    switch_links: tuple[SwitchLink, ...]


def load_testbed(name: str, testbed_file: Path, profiles: Path = FOLDER) -> Testbed:
    """Read and check the description of one virtual testbed.

    Args:
        name: its `conf-name` (or `name`).
        testbed_file: `ansible/testbed.yaml`. `files/` and `vars/` are those of the entry's `lab_folder` (relative to
            the testbed file), else those beside it.
        profiles: folder of the HwSKU profiles.

    Raises:
        DescriptionError: the description is wrong; the sentence says where.
    """
    file = testbed_file.resolve()
    try:
        where, entry = _find_entry(name, file)
        if entry.get("virtual") is not True:
            raise DescriptionError(f"testbed {name} is hardware; `virtual-testbed` only starts virtual ones")
        inv_name = _inventory_name(entry, where)
        lab = (file.parent / str(entry.get("lab_folder") or ".")).resolve()
        entry["lab_folder"] = str(lab)
        names = _dut_names(entry, where)
        _check_topologies(entry, lab, where, names)
        graph = load_graph(inv_name, lab / "files")
        builds = _of_switches(entry, "virtual_builds", where, names)
        switches = tuple(replace(_switch(dut, graph, where, profiles), build=builds.get(dut)) for dut in names)
        generators = _generators(entry, graph, where, [switch.name for switch in switches])
        cables = _Cables({switch.name: switch for switch in switches}, generators, graph)
        return Testbed(name, file, entry, inv_name, switches, generators, cables.to_generators(), cables.of_switches())
    except (ConnectionGraphError, ProfileError) as error:
        raise DescriptionError(str(error)) from error


def virtual_testbeds(testbed_file: Path) -> list[Testbed]:
    """All virtual testbeds of a testbed file, in its order.

    Raises:
        DescriptionError: the description of one is wrong.
    """
    names = [_entry_name(entry) for _, entry in _entries(testbed_file.resolve()) if entry.get("virtual") is True]
    return [load_testbed(name, testbed_file) for name in names]


def _entries(file: Path) -> list[tuple[str, dict[str, Any]]]:
    """All entries, each with `file line n`."""
    try:
        text = file.read_text(encoding="utf-8")
        data = yaml.safe_load(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except OSError as error:
        raise DescriptionError(f"{file}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DescriptionError(f"{file}: is not YAML ({' '.join(str(error).split())})") from error
    if not isinstance(data, list) or not isinstance(root, yaml.SequenceNode):
        raise DescriptionError(f"{file}: a testbed file is a list of testbeds, found {type(data).__name__}")
    entries = []
    for node, entry in zip(root.value, data):
        where = f"{file} line {node.start_mark.line + 1}"
        if not isinstance(entry, dict) or not _entry_name(entry):
            raise DescriptionError(f"{where}: a testbed needs a `conf-name` (or `name`)")
        entries.append((where, entry))
    return entries


def _entry_name(entry: Mapping[str, Any]) -> str:
    """Name of an entry in the classic or the newer form."""
    return str(entry.get("conf-name") or entry.get("name") or "")


def _find_entry(name: str, file: Path) -> tuple[str, dict[str, Any]]:
    """The one entry of this name."""
    entries = _entries(file)
    found = [(where, entry) for where, entry in entries if _entry_name(entry) == name]
    if not found:
        valid = ", ".join(_entry_name(entry) for _, entry in entries) or "none"
        raise DescriptionError(f"{file}: no testbed {name} (it has: {valid})")
    if len(found) > 1:
        raise DescriptionError(f"{found[1][0]}: testbed {name} stands already in {found[0][0]}")
    _check_name(name, "testbed", found[0][0])
    return found[0]


def _check_name(name: str, what: str, where: str) -> None:
    """Names become files of the state folder."""
    if not _NAME.fullmatch(name) or name in _RESERVED_NAMES:
        raise DescriptionError(f"{where}: {what} {name!r} cannot be used as a name "
                               "(letters, digits, `_`, `.`, `-`, and none of the state folder's own names)")


def _inventory_name(entry: Mapping[str, Any], where: str) -> str:
    """`inv_name`: the inventory's file name and the graph group."""
    name = str(entry.get("inv_name") or "")
    if not name:
        raise DescriptionError(f"{where}: testbed {_entry_name(entry)} has no inv_name")
    _check_name(name, "inv_name", where)
    return name


def _check_topologies(entry: Mapping[str, Any], lab: Path, where: str, duts: list[str]) -> None:
    """A topology that is named, as `topo: NAME`, `topo: {name: NAME}` or in `dut_topo`, must exist."""
    topology = entry.get("topo")
    if isinstance(topology, dict):
        topology = topology.get("name")
    for key, name in (("topo", topology), *(("dut_topo", name)
                                            for name in _of_switches(entry, "dut_topo", where, duts).values())):
        if name and not (lab / "vars" / f"topo_{name}.yml").is_file():
            raise DescriptionError(f"{where}: {key} {name} needs {lab / 'vars'}/topo_{name}.yml, which does not exist")


def _of_switches(entry: Mapping[str, Any], key: str, where: str, duts: list[str]) -> dict[str, str]:
    """What an entry says of single switches under a key, by their names."""
    values = entry.get(key) or {}
    if not isinstance(values, dict):
        raise DescriptionError(f"{where}: {key} must be a dictionary with names of switches, found {values}")
    for name, value in values.items():
        if name not in duts:
            raise DescriptionError(f"{where}: {key} names {name}, which is not one of the testbed's switches "
                                   f"({', '.join(duts)})")
        if not _NAME.fullmatch(str(value)):
            raise DescriptionError(f"{where}: {key} of {name} is {value!r}; it takes letters, digits, `_`, `.` and `-`")
    return {str(name): str(value) for name, value in values.items()}


def _names(entry: Mapping[str, Any], keys: tuple[str, ...]) -> list[str]:
    """A list of names under the first of these keys that is there; one name may stand without a list."""
    value: Any = next((entry[key] for key in keys if entry.get(key)), [])
    return [str(name) for name in value] if isinstance(value, list) else [str(value)]


def _dut_names(entry: Mapping[str, Any], where: str) -> list[str]:
    """The DUTs of an entry, `dut` or `duts`."""
    names = _names(entry, ("dut", "duts"))
    if not names:
        raise DescriptionError(f"{where}: testbed {_entry_name(entry)} has no `dut` (or `duts`)")
    if len(set(names)) < len(names):
        raise DescriptionError(f"{where}: testbed {_entry_name(entry)} names a DUT twice ({', '.join(names)})")
    for name in names:
        _check_name(name, "DUT", where)
    return names


def _switch(name: str, graph: ConnectionGraph, where: str, profiles: Path) -> SwitchDescription:
    """A DUT with its ports."""
    device = graph.devices.get(name)
    if device is None:
        raise DescriptionError(f"{where}: DUT {name} is not in {graph.devices_file}")
    if not device.is_switch:
        raise DescriptionError(f"{device.where}: DUT {name} must be of Type DevSonic, found {device.type or '(empty)'}")
    try:
        return SwitchDescription(name, load_profile(device.hwsku, profiles))
    except ProfileError as error:
        raise DescriptionError(f"{device.where}: {name}: {error}") from error


def _generators(entry: Mapping[str, Any], graph: ConnectionGraph, where: str, duts: list[str]) -> dict[str, str]:
    """Generators (name -> address): those of `tgs` where the entry has it, else every one that is cabled to a DUT."""
    listed = _names(entry, ("tgs",))
    for name in listed:
        if name not in graph.devices:
            raise DescriptionError(f"{where}: traffic generator {name} is not in {graph.devices_file}")
        if not graph.devices[name].is_generator:
            raise DescriptionError(f"{graph.devices[name].where}: {name} is listed in `tgs`, but is of Type "
                                   f"{graph.devices[name].type or '(empty)'} (a generator is e.g. DevSnappiChassis)")
    wanted = listed or graph.peers(duts)
    return {device.name: _generator_address(device) for device in graph.devices.values()
            if device.is_generator and device.name in wanted}


def _generator_address(device: GraphDevice) -> str:
    """The address of a generator whose name sonic-mgmt would recognise."""
    if not any(part in device.name for part in GENERATOR_NAMES):
        raise DescriptionError(f"{device.where}: traffic generator {device.name} is not recognised as one: its host "
                               f"name must contain one of {', '.join(GENERATOR_NAMES)}")
    try:
        return str(ipaddress.ip_address(device.address))
    except ValueError:
        raise DescriptionError(f"{device.where}: ManagementIp {device.address or '(empty)'} of traffic generator "
                               f"{device.name} is no IP address") from None


class _Cables:
    """The links of a graph as seen from one testbed's switches."""

    def __init__(self, switches: Mapping[str, SwitchDescription], generators: Mapping[str, str],
                 graph: ConnectionGraph) -> None:
        self._switches = switches
        self._generators = generators
        self._graph = graph
        self._links = [link for link in graph.links if link.start[0] in switches or link.end[0] in switches]
        for link in self._links:
            self._check(link)

    def _check(self, link: GraphLink) -> None:
        """Both ends are things that a virtual testbed can connect, and the switch has the port."""
        if link.start[0] == link.end[0]:
            raise DescriptionError(f"{link.where}: both ends are on {link.start[0]}; a cable connects two devices")
        for name, port in (link.start, link.end):
            if name in self._switches:
                self._check_port(link, self._switches[name], port)
                continue
            device = self._graph.devices[name]
            if not device.is_generator and not device.is_switch:
                raise DescriptionError(f"{link.where}: {name} is of Type {device.type or '(empty)'}; a virtual testbed "
                                       "connects switches and traffic generators only")

    @staticmethod
    def _check_port(link: GraphLink, switch: SwitchDescription, name: str) -> None:
        """The HwSKU has the port, and it can be as fast as the cable."""
        hwsku = switch.hwsku
        if name not in hwsku.ports:
            names = list(hwsku.ports)
            raise DescriptionError(f"{link.where}: {switch.name} ({hwsku.hwsku}) has no port {name} "
                                   f"(it has {len(names)}: {names[0]} ... {names[-1]})")
        speeds = hwsku.ports[name].speeds
        if link.speed_mbps not in speeds:
            raise DescriptionError(f"{link.where}: BandWidth {link.speed_mbps} is no speed of {switch.name} {name} "
                                   f"(it has {', '.join(map(str, speeds))} Mb/s)")

    def to_generators(self) -> tuple[GeneratorLink, ...]:
        """Cables to generators, in the links file's order. At least one."""
        found: list[GeneratorLink] = []
        where: dict[str, str] = {}
        for link in self._links:
            switch, peer = (link.start, link.end) if link.start[0] in self._switches else (link.end, link.start)
            if peer[0] not in self._generators:
                continue
            location = generator_location(self._generators[peer[0]], peer[1], link.where)
            if location in where:
                raise DescriptionError(f"{link.where}: {peer[0]} {peer[1]} has the location {location}, which "
                                       f"{where[location]} has already (two generators of one address?)")
            where[location] = link.where
            found.append(GeneratorLink(location, *switch, link.speed_mbps, GENERATOR_CABLE_M))
        if not found:
            raise DescriptionError(f"{self._graph.links_file}: no link between a traffic generator and one of "
                                   f"{', '.join(self._switches)}")
        return tuple(found)

    def of_switches(self) -> tuple[SwitchLink, ...]:
        """Cables between two switches of the testbed; one to a switch of another testbed stays unplugged."""
        return tuple(SwitchLink(link.start, link.end, link.speed_mbps, SWITCH_CABLE_M) for link in self._links
                     if link.start[0] in self._switches and link.end[0] in self._switches)


def generator_location(address: str, port: str, where: str) -> str:
    """How sonic-mgmt's fixtures name a generator's port to OTG: `ip;card;port` for CardN/PortM, `ip/M` for PortM.

    Raises:
        DescriptionError: the port has another name.
    """
    match = re.fullmatch(r"(?:Card(\d+)/)?Port(\d+)", port)
    if match is None:
        raise DescriptionError(f"{where}: a traffic generator's port is named CardN/PortM or PortM, found {port}")
    card, number = match.groups()
    return f"{address};{card};{number}" if card else f"{address}/{number}"
