"""The command line; everything that can be refused before a testbed is touched is refused."""
from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.against_sonic.checkout import NO_GIT, Checkout
from scripts.early import check_faults, check_machine, check_virtual
from scripts.testbeds import TESTBED_FILE, CommandParser, Refusal, read_entry
from scripts.upstream.python_3_12 import find_python
from scripts.upstream.tree import OVER_SSH, SUITES, check_names, find_tree
from tests.common.clone import RESULTS, ROOT
from virtual_testbed.faults import absolute
from virtual_testbed.ixnetwork.habits import HabitError, read_habits

EXAMPLES = """
examples:
  python -m scripts.upstream ~/sonic-mgmt                                   every PFC test that restarts nothing
  python -m scripts.upstream ~/sonic-mgmt --tests test_global_pause,pfcwd   some of them
  python -m scripts.upstream ~/sonic-mgmt --tests 'test_pfc_pause_single_lossless_prio[' --fault pause-ignored
  python -m scripts.upstream ~/sonic-mgmt --tests all_to_all --ixnetwork --habit sends-what-was-held
  python -m scripts.upstream ~/sonic-mgmt --over-ssh                        those that need no traffic generator
  python -m scripts.upstream ~/sonic-mgmt --tests qualification/ --options snappi_tests/pfc/qualification
"""
REPORT = "upstream.json"


@dataclass(frozen=True)
class UpstreamRequest:
    """What is run.

    Attributes:
        tree: the checkout.
        python: Python 3.12.
        names: parts of the names of tests; none: all that restart nothing.
        options: further words for pytest.
        habits: of the chassis behind IxNetwork's API; None: they speak OTG over gRPC.
        suites: folders and files of the checkout.
        project: commit of this project when it began, and its date.
    """

    tree: Checkout
    python: Path
    names: tuple[str, ...]
    options: tuple[str, ...]
    habits: tuple[str, ...] | None = None
    suites: tuple[str, ...] = SUITES
    project: str = NO_GIT


def parser(description: str = "") -> CommandParser:
    """The command line."""
    line = CommandParser(prog="python -m scripts.upstream", description=description, epilog=EXAMPLES,
                         allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    line.add_argument("checkout", nargs="?", default="", metavar="CHECKOUT",
                      help="of sonic-mgmt; nothing is written into it")
    line.add_argument("--tests", default="", metavar="NAMES",
                      help="parts of tests' names, for instance test_global_pause,pfcwd_basic (default: all but those"
                           " that restart the switch or its services)")
    line.add_argument("--fault", action="append", default=[], metavar="FAULT", type=absolute,
                      help="break the virtual switch, for instance pause-ignored; may be repeated")
    line.add_argument("--over-ssh", action="store_const", const=OVER_SSH, default=SUITES, dest="suites",
                      help="run those tests that concern PFC and need no traffic generator, on the switch alone")
    line.add_argument("--ixnetwork", action="store_true",
                      help="speak to IxNetwork's API, as sonic-mgmt does on hardware, not OTG over gRPC")
    line.add_argument("--habit", action="append", default=[], metavar="NAMES",
                      help="what the chassis behind IxNetwork's API does, for instance sends-what-was-held"
                           " (docs/ixnetwork.md); may be repeated, implies --ixnetwork")
    line.add_argument("--options", default="", metavar="WORDS",
                      help="further words for pytest: where the checkout has this suite in it (make overlay), the"
                           " suite's folder, by which pytest knows the suite's options, and these options")
    line.add_argument("--testbed", default="vtb-t0", metavar="NAME", help="a virtual testbed (default: %(default)s)")
    line.add_argument("--testbed-file", default=str(TESTBED_FILE), metavar="FILE",
                      help="testbed file (default: ansible/testbed.yaml)")
    add_places(line)
    return line


def add_places(line: CommandParser) -> None:
    """The options that say where Python 3.12 is, and where results go."""
    line.add_argument("--python", default="", metavar="PROGRAM", help="Python 3.12 (default: it is looked for)")
    line.add_argument("--results", type=Path, default=RESULTS, metavar="DIR",
                      help="folder of what it leaves (default: results)")


def check(options: argparse.Namespace) -> UpstreamRequest:
    """Refuses what cannot be carried out.

    Raises:
        Refusal: one sentence that says what is wrong.
    """
    tree = find_tree(options.checkout)
    names = tuple(name for name in (text.strip() for text in options.tests.split(",")) if name)
    check_names(names, tree, options.suites)
    more = _words(options.options)
    habits = _habits(options)
    testbed_file = Path(options.testbed_file).resolve()
    entry = read_entry(options.testbed, testbed_file)
    if not entry.get("virtual"):
        raise Refusal(f"testbed '{options.testbed}' is hardware, where sonic-mgmt's tests run without this command")
    check_faults(options.fault, {options.testbed: entry})
    check_virtual(options.testbed, testbed_file, options.fault)
    check_machine(options.results.resolve(), ROOT)
    project = Checkout("sonic-mgmt-pfc", ROOT).commit()
    return UpstreamRequest(tree, find_python(options.python), names, more, habits, options.suites, project)


def _habits(options: argparse.Namespace) -> tuple[str, ...] | None:
    habits = tuple(name for text in options.habit for name in map(str.strip, text.split(",")) if name)
    try:
        read_habits(habits)
    except HabitError as error:
        raise Refusal(str(error)) from error
    return habits if habits or options.ixnetwork else None


def _words(options: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(options))
    except ValueError as error:
        raise Refusal(f"--options: {options}: not words as a shell has them ({error})") from None


def parse(arguments: Sequence[str] | None, description: str) -> argparse.Namespace:
    """Reads the command line. Raises `Refusal` where it cannot be understood."""
    return parser(description).parse_args(arguments)
