"""Makes a new job of the options: everything that can be refused before a testbed is touched is refused."""
from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.sweeping.job import Job, check_name, shard_of
from scripts.testbeds import TESTBED_FILE, Refusal, hardware_testbed, read_entry
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import summary as some
from tests.common.pfc.record.run import new_run_id
from tests.snappi_tests.pfc.qualification.files.sweep import parse_concurrency
from virtual_testbed.description import DescriptionError, load_testbed
from virtual_testbed.faults import FaultError, parse_fault

Entries = Mapping[str, Mapping[str, Any]]
FAULTY_SWITCH = re.compile(r"@([^:,@=]+):")


def new_job(options: argparse.Namespace) -> Job:
    """The job that the options ask for.

    Raises:
        Refusal: it cannot be carried out.
    """
    testbed_file = Path(options.testbed_file or TESTBED_FILE).resolve()
    names = shard_of(_names(options.testbed), options.shard)
    entries = {name: read_entry(check_name(name, "testbed"), testbed_file) for name in names}
    check_apart(entries)
    for name, entry in entries.items():
        if not entry.get("virtual"):
            hardware_testbed(name, entry, testbed_file)
    check_faults(options.fault or (), entries)
    concurrency = options.concurrency or "1"
    try:
        parse_concurrency(concurrency)
    except QualificationError as error:
        raise Refusal(str(error).replace("--pfc-", "--")) from error
    if options.ports is not None and not all(options.ports.replace(" ", "").split(",")):
        raise Refusal(f"--ports is {options.ports!r}, it takes names of ports with commas between them")
    job = Job(check_name(options.job if options.job is not None else new_run_id(), "job"),
              str(Path(options.results).resolve()), names, str(testbed_file), options.shard, concurrency,
              options.ports or "", tuple(options.fault or ()), options.ip_version or "4", options.deploy,
              options.same_generator, options.ports_only)
    for name, entry in entries.items():
        if entry.get("virtual"):
            check_virtual(name, testbed_file, faults_of(job.faults, entry))
    return job


def _names(texts: Sequence[str] | None) -> list[str]:
    """The testbeds of `--testbed`."""
    names = ",".join(texts or ["vtb-t0"]).replace(" ", "").split(",")
    if not all(names):
        raise Refusal(f"--testbed is {','.join(texts or [])!r}, it takes names of testbeds with commas between them")
    return names


def check_apart(entries: Entries) -> None:
    """Refuses testbeds that would measure each other.

    Raises:
        Refusal: two have a switch, or the API server of the traffic generators, in common.
    """
    owners: dict[str, str] = {}
    for name, entry in entries.items():
        for used in _uses(entry):
            other = owners.setdefault(used, name)
            if other != name:
                raise Refusal(f"testbeds {other} and {name} have {used} in common: sweep one after the other")


def _uses(entry: Mapping[str, Any]) -> list[str]:
    """What a testbed must have for itself; the endpoints of a virtual one are made when it comes up."""
    uses = [f"the switch {dut}" for dut in switches(entry)]
    server = entry.get("tg_api_server") or str(entry.get("ptf_ip") or "").split("/")[0]
    return uses if entry.get("virtual") or not server else [*uses, f"the API server {server}"]


def switches(entry: Mapping[str, Any]) -> list[str]:
    """The switches of a testbed."""
    duts = entry.get("dut") or entry.get("duts") or []
    return [str(dut) for dut in (duts if isinstance(duts, list) else [duts])]


def check_faults(faults: Sequence[str], entries: Entries) -> None:
    """Refuses faults that no testbed can have.

    Raises:
        Refusal: a testbed is hardware, a fault means nothing, or it names a switch that is in none.
    """
    for name, entry in entries.items():
        if faults and not entry.get("virtual"):
            raise Refusal(f"testbed '{name}' is hardware: --fault is for virtual testbeds only")
    known = {switch for entry in entries.values() for switch in switches(entry)}
    for fault in faults:
        named = FAULTY_SWITCH.search(fault)
        if named is not None and named[1] not in known:
            there = ", ".join(sorted(known))
            raise Refusal(f"--fault {fault}: no testbed has the switch {named[1]}; there are {there}")
        try:
            parse_fault(fault)
        except FaultError as error:
            raise Refusal(f"--fault: {error}") from error


def check_virtual(name: str, testbed_file: Path, faults: Sequence[str]) -> None:
    """Refuses a virtual testbed that cannot be brought up as it is described.

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
            raise Refusal(f"--fault {fault}: testbed '{name}' has no port {port}, it takes one of {some([*ports])}")


def faults_of(faults: Sequence[str], entry: Mapping[str, Any]) -> list[str]:
    """The faults of a testbed: those that name no switch, and those that name one of its own."""
    named = [(fault, FAULTY_SWITCH.search(fault)) for fault in faults]
    return [fault for fault, found in named if found is None or found[1] in switches(entry)]
