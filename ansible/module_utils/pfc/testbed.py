"""A testbed as the lab's files describe it: its entry, its topology, its switches and their cables.

Runs where Ansible runs. Nothing here asks a switch.
"""

from __future__ import annotations

import os
from typing import Any, Mapping

import yaml

from ansible.module_utils.pfc.graph import Graph, is_switch, read_graph
from ansible.module_utils.pfc.hwsku import load


class TestbedError(Exception):
    """The files do not describe this testbed; the text is one sentence."""

    __test__ = False  # the name is not pytest's


def load_yaml(path: str) -> Any:
    """The content of a YAML file.

    Raises:
        TestbedError: it cannot be read.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return yaml.safe_load(file)
    except OSError as error:
        raise TestbedError(f"{path} cannot be read ({error.strerror})") from error
    except yaml.YAMLError as error:
        raise TestbedError(f"{path} is not YAML ({' '.join(str(error).split())})") from error


def entry_name(entry: Mapping[str, Any]) -> str:
    """Name of an entry, in the classic or the newer form."""
    return str(entry.get("conf-name") or entry.get("name") or "")


def find_entry(name: str, path: str) -> dict[str, Any]:
    """The entry of a testbed.

    Raises:
        TestbedError: there is none of this name, or more than one.
    """
    entries = load_yaml(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise TestbedError(f"{path} must be a list of testbeds")
    found = [entry for entry in entries if entry_name(entry) == name]
    if len(found) != 1:
        valid = ", ".join(entry_name(entry) for entry in entries) or "none"
        count = "more than one" if found else "no"
        raise TestbedError(f"{path} has {count} testbed {name or '(empty)'} (it has: {valid})")
    return dict(found[0])


def dut_names(entry: Mapping[str, Any], path: str) -> list[str]:
    """The switches of an entry, under `dut` or `duts`."""
    value = entry.get("dut") or entry.get("duts") or []
    names = [str(name) for name in value] if isinstance(value, list) else [str(value)]
    if not names:
        raise TestbedError(f"{path}: testbed {entry_name(entry)} names no switch (key `dut` or `duts`)")
    return names


def lab_folder(entry: Mapping[str, Any], path: str, otherwise: str) -> str:
    """The folder with `files/` and `vars/`: the entry's `lab_folder`, the testbed file's own, or `otherwise`."""
    own = os.path.dirname(os.path.abspath(path))
    if entry.get("lab_folder"):
        return os.path.join(own, str(entry["lab_folder"]))
    return own if os.path.isfile(os.path.join(own, "files", "graph_groups.yml")) else otherwise


def describe(name: str, path: str, otherwise: str) -> dict[str, Any]:
    """All that the files say of a testbed.

    Args:
        name: its `conf-name` or `name`.
        path: the testbed file.
        otherwise: the lab folder of a testbed file that stands alone.

    Returns:
        name, testbed_file, lab_folder, inv_name, topology_name, topology_file, topology (its content), links_file and
        duts: {name: {hwsku, hwsku_where, known_ports (None: nothing is known of the HwSKU), links: [{port, peer,
        peer_port, speed, where}], and the topology of this switch: topology_name, topology_file, topology}}.

    Raises:
        TestbedError: the testbed file or a topology is wrong.
        GraphError: a graph file is wrong.
        HwSkuError: the file of a HwSKU is wrong.
    """
    entry = find_entry(name, path)
    names = dut_names(entry, path)
    for key in ("inv_name", "topo"):
        if not entry.get(key):
            raise TestbedError(f"{path}: testbed {name} has no {key}")
    lab = lab_folder(entry, path, otherwise)
    group = str(entry["inv_name"])
    chosen = topologies_of(entry, names, path)
    read = {topology: _topology(topology, lab) for topology in dict.fromkeys((topology_of(entry), *chosen.values()))}
    graph = read_graph(os.path.join(lab, "files"), group)
    duts = {dut: {**_dut(dut, graph, path), **read[chosen[dut]]} for dut in names}
    hwskus = {found["hwsku"] for found in duts.values()}
    ports = {hwsku: (load(os.path.join(lab, "vars", "hwsku"), hwsku) or {}).get("ports") for hwsku in hwskus}
    return {
        "name": name, "testbed_file": path, "lab_folder": lab, "inv_name": group, **read[topology_of(entry)],
        "links_file": os.path.join(lab, "files", f"sonic_{group}_links.csv"), "dut_names": names,
        "duts": {dut: {**found, "known_ports": ports[found["hwsku"]]} for dut, found in duts.items()},
    }


def topology_of(entry: Mapping[str, Any]) -> str:
    """Name of the topology; the newer form may write `topo: {name: ...}`."""
    topology = entry["topo"]
    return str(topology.get("name", "")) if isinstance(topology, dict) else str(topology)


def topologies_of(entry: Mapping[str, Any], names: list[str], path: str) -> dict[str, str]:
    """Name of the topology of each switch: the entry's, or what `dut_topo` says of a switch.

    Raises:
        TestbedError: `dut_topo` is no dictionary, or names a switch that the testbed does not have.
    """
    own = entry.get("dut_topo") or {}
    where = f"{path}: dut_topo of testbed {entry_name(entry)}"
    if not isinstance(own, dict):
        raise TestbedError(f"{where} must be a dictionary of switch and topology, found {own}")
    for name in own:
        if name not in names:
            raise TestbedError(f"{where} names {name}, which is not one of its switches ({', '.join(names)})")
    return {name: str(own.get(name) or topology_of(entry)) for name in names}


def _topology(name: str, lab: str) -> dict[str, Any]:
    """A topology with its name and file."""
    path = os.path.join(lab, "vars", f"topo_{name}.yml")
    return {"topology_name": name, "topology_file": path, "topology": read_topology(path)}


def read_topology(path: str) -> dict[str, Any]:
    """A topology file.

    Raises:
        TestbedError: it is not one.
    """
    data = load_yaml(path)
    if not isinstance(data, dict) or not isinstance(data.get("topology"), dict):
        raise TestbedError(f"{path} has no dictionary `topology`")
    return dict(data)


def _dut(name: str, graph: Graph, path: str) -> dict[str, Any]:
    """A switch and its cables."""
    if name not in graph.devices:
        raise TestbedError(f"{path}: switch {name} is not in {graph.devices_file} "
                           f"(it has: {', '.join(sorted(graph.devices))})")
    device = graph.devices[name]
    if not is_switch(device):
        raise TestbedError(f"{graph.where[name]}: {name} is a switch under test and must be of Type DevSonic, found "
                           f"{device['Type'] or '(empty)'}")
    links = [{"port": port, "peer": peer, "peer_port": peer_port, "peer_is_switch": is_switch(graph.devices[peer]),
              "speed": link.row["BandWidth"], "where": link.where}
             for port, peer, peer_port, link in graph.links_of(name)]
    return {"hwsku": device["HwSku"], "hwsku_where": graph.where[name], "links": links}
