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

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.suite import REFUSED  # noqa: E402  (the path has to be there first)
from scripts.testbeds import (  # noqa: E402
    TESTBED_FILE, Refusal, TestbedFiles, environment, files_of, hardware_testbed, read_entry, running_testbed)
from tests.common.clone import RESULTS, ROOT  # noqa: E402
from tests.common.errors import LabError  # noqa: E402
from tests.common.pfc.model.errors import QualificationError  # noqa: E402
from tests.common.pfc.lab.clock import WallClock  # noqa: E402
from tests.common.pfc.lab.generator import Generator  # noqa: E402
from tests.common.pfc.lab.generator_ports import set_links  # noqa: E402
from tests.common.pfc.lab.reservation import ReservationLost  # noqa: E402
from tests.common.pfc.lease.taking import LeaseTaker  # noqa: E402
from tests.common.pfc.record.records import new_run_id  # noqa: E402
from tests.common.snappi_tests.snappi_fixtures import open_api  # noqa: E402
from tests.common.standalone import StandaloneLab, lab_of  # noqa: E402

PASS = 0
NOT_PASS = 1
QUIETLY = ("-qq", "-s", "--no-header", "--no-summary", "--assert", "plain", "-p", "no:cacheprovider", "-o",
           "log_cli=false")


class Restorer:
    """A pytest plugin that restores instead of collecting and running tests: pytest's options, pytest-ansible and the
    suite's own `conftest.py` make the lab."""

    def __init__(self, force: bool) -> None:
        """`force`: also under a run that lives on this machine."""
        self._force = force
        self.status = NOT_PASS

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Nothing is collected."""
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Does it; the outcome is in `status`."""
        try:
            self.status = PASS if restore(lab_of(session.config), self._force) else NOT_PASS
        except ReservationLost as error:
            complain(f"{error}; --force ends it all the same")
            self.status = REFUSED
        except (LabError, QualificationError) as error:
            complain(str(error))
        return True


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
        stopped = attempt(lambda: quiet(Generator(open_api(lab.tbinfo, lab.duthosts[0]), WallClock())))
    for hostname, seen in found.items():
        done = "nothing to put back" if seen is None else f"what {seen} changed is put back"
        print(f"{hostname}: {done}", flush=True)
    if stopped:
        print(f"testbed {lab.tbinfo['conf-name']}: traffic is stopped", flush=True)
    return stopped


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


def complain(sentence: str) -> None:
    """One sentence for the user."""
    print(f"error: {sentence}", file=sys.stderr, flush=True)


def find_testbed(name: str, testbed_file: Path, inventory: str | None) -> TestbedFiles:
    """The testbed with its endpoints: hardware as its files say, a virtual one as it is running.

    Raises:
        Refusal: it does not exist, or it is virtual and not up.
    """
    entry = read_entry(name, testbed_file)
    if inventory:
        return TestbedFiles(name, testbed_file, Path(inventory).resolve())
    if not entry.get("virtual"):
        return hardware_testbed(name, entry, testbed_file)
    runtime = running_testbed(name)
    if runtime is None:
        raise Refusal(f"the virtual testbed '{name}' is not up: what a run changed on it is gone with it")
    return files_of(name, runtime)


def run(testbed: TestbedFiles, force: bool) -> int:
    """Restores a testbed; returns the exit status."""
    restorer = Restorer(force)
    tests = ROOT / "tests"
    ended = pytest.main(
        ["-c", str(tests / "pytest.ini"), "--rootdir", str(tests), str(tests), *QUIETLY, "--testbed", testbed.name,
         "--testbed_file", str(testbed.testbed_file), "--inventory", str(testbed.inventory), "--host-pattern", "all"],
        plugins=[restorer])
    return restorer.status if ended in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) else NOT_PASS


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="pfc-restore", description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("testbed", metavar="TESTBED", help="testbed to restore")
    parser.add_argument("--testbed-file", default=str(TESTBED_FILE), metavar="FILE",
                        help="testbed file (default: ansible/testbed.yaml)")
    parser.add_argument("--inventory", metavar="FILE",
                        help="inventory (default: the entry's own; that of a virtual testbed as it is running)")
    parser.add_argument("--force", action="store_true", help="also if the run is a process of this machine and lives")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and status 3 for a refusal, no traceback."""
    options = parse(arguments)
    environment(RESULTS)
    try:
        testbed = find_testbed(options.testbed, Path(options.testbed_file).resolve(), options.inventory)
        return run(testbed, options.force)
    except (Refusal, OSError) as error:
        complain(str(error))
        return REFUSED


if __name__ == "__main__":
    sys.exit(main())
