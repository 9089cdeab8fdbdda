"""sonic-mgmt's connection graph: `sonic_<group>_devices.csv` and `sonic_<group>_links.csv`, checked row by row."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

# What sonic-mgmt's traffic generator code accepts as a port's speed, in Mb/s (its `speed_type`).
LINK_SPEEDS_MBPS = (10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000, 800_000)
# sonic-mgmt recognises a generator by its host name (`get_peer_snappi_chassis`).
GENERATOR_NAMES = ("snappi", "ixia", "stc")  # the suite knows a traffic generator by the same parts of its name

_DEVICE_COLUMNS = ("Hostname", "ManagementIp", "HwSku", "Type")
_LINK_COLUMNS = ("StartDevice", "StartPort", "EndDevice", "EndPort", "BandWidth")


class ConnectionGraphError(Exception):
    """A connection graph file that cannot be used; the text is one sentence that names file and row."""


@dataclass(frozen=True)
class GraphDevice:
    """A device of the connection graph, a row of the devices file; `where` is `file row n` for messages."""

    name: str
    address: str
    hwsku: str
    type: str
    where: str

    @property
    def is_generator(self) -> bool:
        """A traffic generator's chassis (its API server is another row)."""
        return self.type.endswith("Chassis") or self.hwsku.endswith("-tester") and "ApiServ" not in self.type

    @property
    def is_switch(self) -> bool:
        """A SONiC switch."""
        return self.type == "DevSonic"


@dataclass(frozen=True)
class GraphLink:
    """A cable of the connection graph, a row of the links file: two ends (device, port) and the speed in Mb/s."""

    start: tuple[str, str]
    end: tuple[str, str]
    speed_mbps: int
    where: str


@dataclass(frozen=True)
class ConnectionGraph:
    """The devices and links of one graph group (`inv_name` of a testbed)."""

    group: str
    devices_file: Path
    links_file: Path
    devices: Mapping[str, GraphDevice]
    links: tuple[GraphLink, ...]

    def peers(self, names: Collection[str]) -> set[str]:
        """What is at the other ends of these devices' cables."""
        ends = [(link.start[0], link.end[0]) for link in self.links]
        return {far for link in ends for near, far in (link, link[::-1]) if near in names}


def load_graph(group: str, files: Path) -> ConnectionGraph:
    """Read and check the files of one group.

    Args:
        group: the graph group, equal to the inventory's name.
        files: the folder `ansible/files`.

    Raises:
        ConnectionGraphError: a file is missing, the group is not listed, or a row is wrong.
    """
    _check_group(group, files / "graph_groups.yml")
    devices_file, links_file = files / f"sonic_{group}_devices.csv", files / f"sonic_{group}_links.csv"
    devices: dict[str, GraphDevice] = {}
    for where, row in _rows(devices_file, _DEVICE_COLUMNS):
        device = GraphDevice(row["Hostname"], row["ManagementIp"].partition("/")[0], row["HwSku"], row["Type"], where)
        if not device.name:
            raise ConnectionGraphError(f"{where}: Hostname is empty")
        if device.name in devices:
            raise ConnectionGraphError(f"{where}: {device.name} stands already in {devices[device.name].where}")
        devices[device.name] = device
    links = tuple(_link(where, row) for where, row in _rows(links_file, _LINK_COLUMNS))
    _check_ends(links, devices, devices_file)
    return ConnectionGraph(group, devices_file, links_file, devices, links)


def _check_group(group: str, path: Path) -> None:
    """The group must stand in graph_groups.yml, or sonic-mgmt's `conn_graph_facts` would not find its files."""
    try:
        groups = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ConnectionGraphError(f"{path}: cannot be read ({_first_line(error)})") from error
    if not isinstance(groups, list) or group not in groups:
        raise ConnectionGraphError(f"{path}: lists no group {group}, which is the testbed's inv_name (found: {groups})")


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows of a CSV file with `file row n` before each (n counts lines from 1); cells are stripped."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConnectionGraphError(f"{path}: cannot be read ({_first_line(error)})") from error
    reader = csv.DictReader(text.splitlines(), restval="")
    missing = [name for name in columns if name not in (reader.fieldnames or ())]
    if missing:
        raise ConnectionGraphError(f"{path}: has no column {missing[0]} (needed: {', '.join(columns)})")
    for row in reader:
        if None in row:
            raise ConnectionGraphError(f"{path} row {reader.line_num}: has more cells than the header has columns")
        yield f"{path} row {reader.line_num}", {name: value.strip() for name, value in row.items()}


def _link(where: str, row: Mapping[str, str]) -> GraphLink:
    """One link with both ends named and a speed that SONiC's test code knows."""
    for column in ("StartDevice", "StartPort", "EndDevice", "EndPort"):
        if not row[column]:
            raise ConnectionGraphError(f"{where}: a link has two ends, but {column} is empty")
    start, end = (row["StartDevice"], row["StartPort"]), (row["EndDevice"], row["EndPort"])
    if start == end:
        raise ConnectionGraphError(f"{where}: both ends are {start[0]} {start[1]}")
    if row["BandWidth"] not in map(str, LINK_SPEEDS_MBPS):
        raise ConnectionGraphError(f"{where}: BandWidth {row['BandWidth'] or '(empty)'} is no speed of a SONiC port in "
                                   f"Mb/s (one of {', '.join(map(str, LINK_SPEEDS_MBPS))})")
    return GraphLink(start, end, int(row["BandWidth"]), where)


def _check_ends(links: tuple[GraphLink, ...], devices: Mapping[str, GraphDevice], devices_file: Path) -> None:
    """Every end's device is known, and no end has two cables."""
    seen: dict[tuple[str, str], str] = {}
    for link in links:
        for end in (link.start, link.end):
            if end[0] not in devices:
                raise ConnectionGraphError(f"{link.where}: {end[0]} is not in {devices_file}")
            if end in seen:
                raise ConnectionGraphError(f"{link.where}: {end[0]} {end[1]} is linked already in {seen[end]}")
            seen[end] = link.where


def _first_line(error: Exception) -> str:
    """The gist of an error of the operating system or of the YAML reader."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).splitlines()[0] if str(error) else type(error).__name__
