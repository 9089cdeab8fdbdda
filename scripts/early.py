"""What can be refused before a testbed is touched: faults, ports and priorities that it does not have, what this
machine lacks."""
from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.testbeds import ANSIBLE, Refusal
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import ConnectedPort, natural
from tests.common.pfc.model.ports import summary as some
from tests.common.pfc.model.ports import with_generators
from tests.common.pfc.model.qos import read_port_qos
from tests.common.pfc.record.case import PlanCase, Target
from tests.common.pfc.selection.sets import check_sets
from tests.common.snappi_tests.port import GENERATOR_NAMES
from virtual_testbed.faults import FaultError, parse_fault
from virtual_testbed.lab_files.connection_graph import ConnectionGraphError, load_graph
from virtual_testbed.lab_files.description import DescriptionError, load_testbed
from virtual_testbed.sonic.factory import qos_tables

Entry = Mapping[str, Any]
FAULTY_SWITCH = re.compile(r"@([^:,@=]+):")
LEAST_FREE_MB = 100
"""What a run needs on the disk: its records and evidence (some MB), a virtual testbed's logs and databases."""


def check_machine(*places: Path) -> None:
    """Refuses a machine without an SSH client, or without room for what a run writes.

    Args:
        places: folders that it writes to; they need not be there.

    Raises:
        Refusal: one of them is missing.
    """
    if shutil.which("ssh") is None:
        raise Refusal("there is no ssh on the PATH: Ansible reaches every switch by OpenSSH's client, install that")
    for place in places:
        there = next(folder for folder in (place, *place.parents) if folder.is_dir())
        free = shutil.disk_usage(there).free // 1_000_000
        if free < LEAST_FREE_MB:
            raise Refusal(f"{there} has {free} MB left on its disk, a run needs {LEAST_FREE_MB} MB")


def switches(entry: Entry) -> list[str]:
    """The switches of a testbed."""
    duts = entry.get("dut") or entry.get("duts") or []
    return [str(dut) for dut in (duts if isinstance(duts, list) else [duts])]


def check_faults(faults: Sequence[str], entries: Mapping[str, Entry]) -> None:
    """Refuses faults that no testbed can have.

    Args:
        faults: as the user wrote them.
        entries: name -> the entry of each testbed.

    Raises:
        Refusal: a testbed is hardware, a fault means nothing, or it names a switch that is in none.
    """
    for name, entry in entries.items():
        if faults and not entry.get("virtual"):
            raise Refusal(f"testbed '{name}' is hardware: a fault is for virtual testbeds only")
    known = {switch for entry in entries.values() for switch in switches(entry)}
    for fault in faults:
        named = FAULTY_SWITCH.search(fault)
        if named is not None and named[1] not in known:
            there = ", ".join(sorted(known))
            raise Refusal(f"fault {fault}: no testbed has the switch {named[1]}; there are {there}")
        try:
            parse_fault(fault)
        except FaultError as error:
            raise Refusal(str(error)) from error


def check_virtual(name: str, testbed_file: Path, faults: Sequence[str]) -> None:
    """Refuses a virtual testbed that cannot be brought up as it is described.

    Args:
        name: of the testbed.
        testbed_file: where its entry is from.
        faults: its own.

    Raises:
        Refusal: the description is wrong, or a fault is on a port that the testbed does not have.
    """
    try:
        testbed = load_testbed(name, testbed_file)
    except DescriptionError as error:
        raise Refusal(str(error)) from error
    ports = {port for switch in testbed.switches for port in switch.hwsku.ports}
    for fault in faults:
        port = parse_fault(fault).scope.port
        if port is not None and port not in ports:
            raise Refusal(f"fault {fault}: testbed '{name}' has no port {port}, it takes one of {some([*ports])}")


def own_faults(faults: Sequence[str], entry: Entry) -> list[str]:
    """The faults of a testbed: those that name no switch, and those that name one of its own."""
    named = [(fault, FAULTY_SWITCH.search(fault)) for fault in faults]
    return [fault for fault, found in named if found is None or found[1] in switches(entry)]


def check_ports(wanted: Iterable[str], name: str, entry: Entry, testbed_file: Path) -> None:
    """Refuses ports that no switch of a testbed has a traffic generator behind, as its connection graph says.

    Args:
        wanted: names of ports.
        name: of the testbed.
        entry: its entry.
        testbed_file: where that is from.

    Raises:
        Refusal: there is none of that name, or the files of the connection graph are wrong.
    """
    asked = [*wanted]
    if not asked:
        return
    there = {found.port for found in _generator_ports(entry, testbed_file)}
    missing = [port for port in asked if port not in there]
    if missing:
        raise Refusal(f"testbed '{name}' has no port {', '.join(missing)} with a traffic generator behind it; it has"
                      f" {some(sorted(there, key=natural))}")


def default_ports(entry: Entry, testbed_file: Path, same_generator: bool) -> dict[int, str | None]:
    """The ports that are measured where the user names none: speed in Mb/s -> the first port of that speed with another
    one for data to enter by; None: there is none. Of the speed of the switch's first port none is named, that is the
    suite's to choose. Of a switch without a generator, a T1, nothing is known here: one port without a name (speed 0).

    Args:
        entry: of the testbed.
        testbed_file: where that is from.
        same_generator: whether data may enter by a port on the same traffic generator.

    Raises:
        Refusal: the files of the connection graph are wrong.
    """
    behind = [port for port in _generator_ports(entry, testbed_file) if port.device == switches(entry)[0]]
    own = with_generators(behind, same_generator)
    chosen: dict[int, str | None] = {own[0].speed_mbps if own else 0: ""}
    for rx in own:
        others = [tx for tx in own if tx.speed_mbps == rx.speed_mbps and tx != rx]
        is_paired = any(tx.generator != rx.generator for tx in others)
        if chosen.get(rx.speed_mbps) is None:
            chosen[rx.speed_mbps] = rx.port if is_paired else None
    return chosen


def _generator_ports(entry: Entry, testbed_file: Path) -> list[ConnectedPort]:
    """The switches' ports that have a traffic generator behind them, in their natural order.

    Raises:
        Refusal: the files of the connection graph are wrong.
    """
    lab = (testbed_file.parent / str(entry.get("lab_folder") or ".")).resolve()
    folder = lab / "files" if (lab / "files").is_dir() else ANSIBLE / "files"
    try:
        graph = load_graph(str(entry.get("inv_name")), folder)
    except ConnectionGraphError as error:
        raise Refusal(str(error)) from error
    own = switches(entry)
    ends = [(*pair, link.speed_mbps) for link in graph.links
            for pair in ((link.start, link.end), (link.end, link.start))]
    found = [ConnectedPort(*near, far[0], far[1], speed) for near, far, speed in ends
             if near[0] in own and any(part in far[0].lower() for part in GENERATOR_NAMES)]
    return sorted(found, key=lambda port: natural(port.port))


def check_priorities(sets: Sequence[Target], cases: Sequence[PlanCase], name: str, testbed_file: Path, port: str
                     ) -> None:
    """Refuses sets of priorities that cannot be paused together on a virtual switch, as it is going to be deployed.

    Args:
        sets: of priorities.
        cases: the test cases that are selected.
        name: of the testbed.
        testbed_file: where its entry is from.
        port: under test; empty: it is not known yet.

    Raises:
        Refusal: a set is none of lossless priorities or of lossy ones, or none of the selected cases is about it.
    """
    under_test = port or "the port under test"
    hwsku = load_testbed(name, testbed_file).switches[0].hwsku
    tables = qos_tables({"PORT": {under_test: {}}}, hwsku)
    try:
        check_sets(sets, cases, read_port_qos(tables, f"testbed '{name}'", under_test))
    except QualificationError as error:
        raise Refusal(str(error)) from error
