"""Commands that need the lab of a testbed and run no tests: pytest's options, pytest-ansible and the suite's own
`conftest.py` make it, and a function gets it."""
from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.testbeds import Refusal, TestbedFiles, files_of, hardware_testbed, read_entry, running_testbed
from tests.common.clone import ROOT
from tests.common.errors import LabError
from tests.common.pfc.model.errors import QualificationError
from tests.common.standalone import StandaloneLab, lab_of

PASS = 0
NOT_PASS = 1
QUIETLY = ("-qq", "-s", "--no-header", "--no-summary", "--assert", "plain", "-p", "no:cacheprovider", "-o",
           "log_cli=false")
LabAction = Callable[[StandaloneLab], int]


class LabPlugin:
    """A pytest plugin that does something else than collecting and running tests.

    Attributes:
        status: the exit status of that, once it is done.
    """

    def __init__(self, action: LabAction) -> None:
        """`action`: gets the lab, and returns an exit status."""
        self._action = action
        self.status = NOT_PASS

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Nothing is collected."""
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Does it."""
        try:
            self.status = self._action(lab_of(session.config))
        except (LabError, QualificationError) as error:
            complain(str(error))
        return True


def run_in_lab(testbed: TestbedFiles, action: LabAction) -> int:
    """Does something with the lab of a testbed; returns the exit status.

    Args:
        testbed: where it is described.
        action: gets the lab, and returns an exit status.
    """
    plugin = LabPlugin(action)
    tests = ROOT / "tests"
    ended = pytest.main(
        ["-c", str(tests / "pytest.ini"), "--rootdir", str(tests), str(tests), *QUIETLY, "--testbed", testbed.name,
         "--testbed_file", str(testbed.testbed_file), "--inventory", str(testbed.inventory), "--host-pattern", "all"],
        plugins=[plugin])
    return plugin.status if ended in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) else NOT_PASS


def find_testbed(name: str, testbed_file: Path, inventory: str | None, why_not: str) -> TestbedFiles:
    """The testbed with its endpoints: hardware as its files say, a virtual one as it is running.

    Args:
        name: of the testbed.
        testbed_file: where it is described.
        inventory: of Ansible; None: the entry's own, that of a virtual testbed as it is running.
        why_not: what follows where a virtual testbed is not up.

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
        raise Refusal(f"the virtual testbed '{name}' is not up: {why_not}")
    return files_of(name, runtime)


def complain(sentence: str) -> None:
    """One sentence for the user."""
    print(f"error: {sentence}", file=sys.stderr, flush=True)
