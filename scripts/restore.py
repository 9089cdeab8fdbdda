"""Ends what a run of the qualification left behind: stops the traffic of a testbed and puts its switches back.

It works from any machine: what is put back is in the lease that the run left on the switch. A run that lives on this
machine is refused (stop it: it puts the state back itself), unless with `--force`; a run of another machine loses its
lease and ends in ERROR.
Exit status: 0 when the traffic is stopped and everything is back, 1 when not, 3 for a refusal.
"""
from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.command import exit_status_of  # noqa: E402  (the path comes first)
from scripts.lab_command import NOT_PASS, PASS, complain, find_testbed, run_in_lab  # noqa: E402
from scripts.suite import REFUSED  # noqa: E402
from scripts.testbeds import TESTBED_FILE, CommandParser, environment  # noqa: E402
from tests.common.clone import RESULTS  # noqa: E402
from tests.common.errors import LabError  # noqa: E402
from tests.common.pfc.model.errors import QualificationError  # noqa: E402
from tests.common.pfc.lab.clock import WallClock  # noqa: E402
from tests.common.pfc.lab.generator import Generator  # noqa: E402
from tests.common.pfc.lab.generator_ports import set_links  # noqa: E402
from tests.common.pfc.lab.option import adapted  # noqa: E402
from tests.common.pfc.lab.reservation import ReservationLost  # noqa: E402
from tests.common.pfc.lease.taking import LeaseTaker  # noqa: E402
from tests.common.pfc.record.records import new_run_id  # noqa: E402
from tests.common.snappi_tests.snappi_fixtures import open_api  # noqa: E402
from tests.common.standalone import StandaloneLab  # noqa: E402


def status_of_restoring(lab: StandaloneLab, force: bool) -> int:
    """Restores a testbed; returns the exit status."""
    try:
        return PASS if restore(lab, force) else NOT_PASS
    except ReservationLost as error:
        complain(f"{error}; --force ends it all the same")
        return REFUSED


def restore(lab: StandaloneLab, force: bool) -> bool:
    """Stops the traffic and puts every switch of the testbed back; returns whether the traffic was stopped.

    The switches are taken first, so that no run begins anything anew while the traffic is being stopped.

    Raises:
        ReservationLost: a run lives on this machine; then nothing was changed on the switch that it has.
        QualificationError: a switch could not be put back, or not be reached.
    """
    run_id = new_run_id()
    with contextlib.ExitStack() as stack:
        found = {
            host.hostname: stack.enter_context(LeaseTaker(host, run_id).healed(force)) for host in lab.duthosts
        }
        stopped = attempt(lambda: quiet(_generator(lab)))
    for hostname, seen in found.items():
        done = "nothing to put back" if seen is None else f"what {seen} changed is put back"
        print(f"{hostname}: {done}", flush=True)
    if stopped:
        print(f"testbed {lab.tbinfo['conf-name']}: traffic is stopped", flush=True)
    return stopped


def _generator(lab: StandaloneLab) -> Generator:
    """The traffic generators of a testbed."""
    clock = WallClock()
    return Generator(adapted(open_api(lab.tbinfo, lab.duthosts[0]), clock), clock)


def quiet(generator: Generator) -> None:
    """Nothing is sent any more, and every link that a run had taken down is up."""
    generator.stop()
    set_links(generator, [], True)


def attempt(action: Callable[[], None]) -> bool:
    """Whether it could be done; why not is said. The switches are put back either way."""
    try:
        action()
    except (LabError, QualificationError) as error:
        complain(f"traffic could not be stopped: {error}")
        return False
    return True


EXAMPLES = """
examples:
  pfc-restore vtb-t0                                    after a run that was killed
  pfc-restore acme-t0 --testbed-file lab/testbed.yaml   a lab's own testbed
  pfc-restore acme-t0 --force                           end a run that hangs, too
"""


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line.

    Raises:
        Refusal: it cannot be understood.
    """
    parser = CommandParser(prog="pfc-restore", description=__doc__.split("\n\n")[0] if __doc__ else None,
                           epilog=EXAMPLES, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("testbed", metavar="TESTBED", help="testbed to restore")
    parser.add_argument("--testbed-file", default=str(TESTBED_FILE), metavar="FILE",
                        help="testbed file (default: ansible/testbed.yaml)")
    parser.add_argument("--inventory", metavar="FILE",
                        help="inventory (default: the entry's own; that of a virtual testbed as it is running)")
    parser.add_argument("--force", action="store_true", help="also if the run is a process of this machine and lives")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and status 3 for a refusal, no traceback."""
    return exit_status_of(lambda: restore_testbed(parse(arguments)))


def restore_testbed(options: argparse.Namespace) -> int:
    """The command.

    Raises:
        Refusal: there is no such testbed.
    """
    environment(RESULTS)
    later = "what a killed run left on it, the next run puts back"
    testbed = find_testbed(options.testbed, Path(options.testbed_file).resolve(), options.inventory, later)
    return run_in_lab(testbed, lambda lab: status_of_restoring(lab, options.force))


if __name__ == "__main__":
    sys.exit(main())
