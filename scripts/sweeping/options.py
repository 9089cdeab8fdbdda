"""Makes a new job of the options: everything that can be refused before a testbed is touched is refused."""
from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.early import check_faults, check_machine, check_ports, check_virtual, own_faults, switches
from scripts.sweeping.job import Job, check_name
from scripts.testbeds import TESTBED_FILE, Refusal, hardware_testbed, read_entry
from tests.common.clone import ROOT
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.records import new_run_id
from tests.snappi_tests.pfc.qualification.files.sweep import ALL_AT_ONCE, NO_WAVES, parse_concurrency

Entries = Mapping[str, Mapping[str, Any]]


def new_job(options: argparse.Namespace) -> Job:
    """The job that the options ask for.

    Raises:
        Refusal: it cannot be carried out.
    """
    testbed_file = Path(options.testbed_file or TESTBED_FILE).resolve()
    names = tuple(sorted(set(_names(options.testbed))))
    entries = {name: read_entry(check_name(name, "testbed"), testbed_file) for name in names}
    check_apart(entries)
    hardware = tuple(name for name, entry in entries.items() if not entry.get("virtual"))
    for name in hardware:
        hardware_testbed(name, entries[name], testbed_file)
    check_faults(options.fault or (), entries)
    concurrency = options.concurrency or (ALL_AT_ONCE if options.both else "1")
    try:
        if parse_concurrency(concurrency) == 1 and options.both:
            raise Refusal(NO_WAVES.format("--"))
    except QualificationError as error:
        raise Refusal(str(error).replace("--pfc-", "--")) from error
    if options.ports is not None and not all(options.ports.replace(" ", "").split(",")):
        raise Refusal(f"--ports is {options.ports!r}, it takes names of ports with commas between them")
    job = Job(check_name(options.job if options.job is not None else new_run_id(), "job"),
              str(Path(options.results).resolve()), names, str(testbed_file), hardware, concurrency,
              options.ports or "", tuple(options.fault or ()), options.ip_version or "4", options.deploy,
              options.same_generator, options.ports_only, options.both, options.change_config)
    for name, entry in entries.items():
        if entry.get("virtual"):
            check_virtual(name, testbed_file, own_faults(job.faults, entry))
        check_ports([port for port in job.ports.replace(" ", "").split(",") if port], name, entry, testbed_file)
    check_machine(Path(job.results), ROOT)
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
