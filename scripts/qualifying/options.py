"""The command line of a qualification; everything that can be refused before a testbed is touched is refused."""
from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scripts.early import check_faults, check_machine, check_ports, check_priorities, check_virtual
from scripts.testbeds import TESTBED_FILE, CommandParser, Refusal, hardware_testbed, read_entry
from tests.common.clone import RESULTS, ROOT
from tests.common.pfc.selection.cases_named import select
from tests.common.pfc.selection.sets import parse_set
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.soak.duration import SOAK
from virtual_testbed.faults import absolute
from virtual_testbed.ixnetwork.habits import CARD, HABITS, HabitError, read_habits

EXAMPLES = """
examples:
  pfc-qualify                                     the whole plan on a port of the virtual testbed vtb-t0
  pfc-qualify --quick --port Ethernet8            the quick families, on another port
  pfc-qualify --scenario PFC-2,WD --set 3,4       some test cases; these priorities together
  pfc-qualify --fault pause-ignored@Ethernet0     a switch that is broken on purpose: FAIL
  pfc-qualify --testbed lab-t0-1 --testbed-file /srv/lab/testbed.yaml --deploy --port Ethernet0
"""
QUICK = ("PFC", "FRAME", "COUNT", "LOAD", "M2O", "SPEED", "HEAD", "TIME", "CLASS", "SENT", "FLAP")
"""Families of `--quick`: more than half of the time on a virtual testbed is for the other ones."""


def parse(arguments: Sequence[str] | None, description: str) -> argparse.Namespace:
    """Reads the command line.

    Args:
        arguments: None: the process's own.
        description: what `--help` begins with.

    Raises:
        Refusal: it cannot be understood.
    """
    parser = CommandParser(prog="pfc-qualify", description=description, epilog=EXAMPLES, allow_abbrev=False,
                           formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--testbed", default="vtb-t0", metavar="NAME", help="testbed to qualify (default: %(default)s)")
    parser.add_argument("--testbed-file", default=str(TESTBED_FILE), metavar="FILE",
                        help="testbed file (default: ansible/testbed.yaml)")
    parser.add_argument("--port", default="", metavar="PORT",
                        help="port under test (default: of each speed that the switch has the first with a traffic "
                             "generator behind it)")
    parser.add_argument("--fault", action="append", default=[], metavar="FAULT", type=absolute,
                        help="break the virtual switch, for instance pause-ignored@Ethernet0; may be repeated")
    parser.add_argument("--scenario", action="append", default=[], metavar="CASE",
                        help="test case of the plan, by id, name or family: PFC-1,global-pause,WD; may be repeated "
                             "(default: the whole plan)")
    parser.add_argument("--quick", action="store_true",
                        help=f"only the test cases that cost least for what they see: {', '.join(QUICK)}")
    parser.add_argument("--ixnetwork", action="store_true",
                        help="reach the virtual traffic generator through snappi_ixnetwork and IxNetwork's REST API")
    parser.add_argument("--habit", action="append", default=[], metavar="HABIT",
                        help=f"what the chassis behind that does; may be repeated: {', '.join(HABITS)}, {CARD}TYPE")
    parser.add_argument("--set", action="append", default=[], metavar="PRIORITIES",
                        help="priorities to pause together, for instance 3,4; may be repeated (default: all lossless "
                             "ones, all lossy ones)")
    parser.add_argument("--ip-version", choices=["4", "6"], default="4", help="of the data (default: %(default)s)")
    parser.add_argument("--change-config", action="store_true",
                        help="also what changes a hardware switch's configuration and puts it back (on a virtual one "
                             "always): test cases, addresses for ports that have none")
    parser.add_argument("--same-generator", action="store_true",
                        help="data may also enter by a port on the port under test's own traffic generator")
    parser.add_argument("--soak", default="", metavar="TIME",
                        help="also a pause storm of this time, 90s, 10m or 2h (SOAK-1; default: none)")
    parser.add_argument("--deploy", action="store_true", help="deploy a hardware testbed too (a virtual one always is)")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR",
                        help="folder of results, and of the reporting database (default: results)")
    parser.add_argument("--verbose", action="store_true", help="print all that pytest prints, not a line for a family")
    options = parser.parse_args(arguments)
    if options.quick and options.scenario:
        raise Refusal("--quick and --scenario both say which test cases are meant: give one of them")
    scenario = [*QUICK, *(["SOAK"] if options.soak else [])] if options.quick else options.scenario
    ixnetwork = options.ixnetwork or bool(options.habit)
    return argparse.Namespace(**{**vars(options), "scenario": scenario, "ixnetwork": ixnetwork})


def check_ixnetwork(options: argparse.Namespace, entry: Mapping[str, Any]) -> None:
    """Refuses IxNetwork's API where it cannot be had.

    Raises:
        Refusal: the testbed is hardware, a habit does not exist, or snappi_ixnetwork is not installed.
    """
    if not options.ixnetwork:
        return
    if not entry.get("virtual"):
        raise Refusal(f"--ixnetwork is for virtual testbeds; {options.testbed} is hardware, and its entry's"
                      " tg_api_transport says how its traffic generator is reached")
    try:
        read_habits(options.habit)
    except HabitError as error:
        raise Refusal(str(error)) from error
    if find_spec("snappi_ixnetwork") is None:
        raise Refusal("--ixnetwork needs snappi_ixnetwork, which is not installed here: `make ixnetwork-check` installs"
                      " it in an environment of its own")


def check(options: argparse.Namespace) -> Mapping[str, Any]:
    """Refuses what cannot be carried out; returns the testbed's entry.

    Raises:
        Refusal: one sentence that says what is wrong.
    """
    name = options.testbed
    testbed_file = Path(options.testbed_file).resolve()
    entry = read_entry(name, testbed_file)
    if not entry.get("virtual"):
        hardware_testbed(name, entry, testbed_file)
    check_ixnetwork(options, entry)
    check_faults(options.fault, {name: entry})
    try:
        cases = select(",".join(options.scenario).replace(" ", "").split(","))
        sets = [parse_set(text) for text in options.set]
        SOAK.ask(options.soak)
        if options.soak and not any(case.family == "SOAK" for case in cases):
            raise Refusal("--soak is the time of SOAK-1, which --scenario leaves out: name SOAK-1 there as well")
    except QualificationError as error:
        raise Refusal(str(error)) from error
    if entry.get("virtual"):
        check_virtual(name, testbed_file, options.fault)
        check_priorities(sets, cases, name, testbed_file, options.port)
    check_ports([options.port] if options.port else [], name, entry, testbed_file)
    check_machine(options.results.resolve(), ROOT)
    return entry
