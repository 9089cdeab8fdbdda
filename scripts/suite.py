"""The suite as a command runs it: pytest with what it prints in the run's folder, and what its end means."""
from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts import testbeds
from tests.common.clone import ROOT
from tests.common.pfc.record.verdict import Status

EXIT_STATUS = {Status.PASS: 0, Status.FAIL: 1, Status.ERROR: 2}
"""Of the commands that measure; what they refuse is `REFUSED`."""
REFUSED = 3
SUITE = "snappi_tests/pfc/qualification"
PYTEST_LOG = "pytest.log"
DEPLOY_LOG = "deploy.log"
JUNIT = "junit.xml"
ALL_RAN = (0, 1)  # pytest: each item was run
USAGE = 4  # pytest: refused
NOTHING = 5  # pytest: no item is left
REASON = re.compile(r"^(?:ERROR: |!+ .*Exit: error: |error: )(.+?)(?: !+)?$", re.MULTILINE)
LEFT = re.compile(r"^note: the run ends here, (?:.+ goes on with it|unfinished): (.+)$", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
NOTE = re.compile(r"^note: (.+)$", re.MULTILINE)
UNDONE = re.compile(r"^note: (clean-up: .+|.+; deliver the records later with: .+|final metrics: .+|"
                    r"\d+ records of run \S+ are neither in a file nor in every database)$", re.MULTILINE)
"""What keeps a session from PASS though each item was run: a switch is not as it was, a verdict is not stored."""


@dataclass(frozen=True)
class Ended:
    """How the run on a testbed ended.

    Attributes:
        pytest: exit status of pytest, negative where a signal killed it; None: it was not started.
        cause: why not everything was measured, stored and put back, in one sentence; empty: everything was.
        refused: whether its options cannot be carried out.
    """

    pytest: int | None
    cause: str = ""
    refused: bool = False


def suite_command(testbed: testbeds.TestbedFiles, folder: Path, modules: Sequence[str], *options: str) -> list[str]:
    """pytest on the suite, as sonic-mgmt starts it, from `tests/`.

    Args:
        testbed: the testbed, up and deployed.
        folder: of the run.
        modules: what of the suite is run.
        options: more of pytest's.
    """
    return [sys.executable, "-m", "pytest", "-c", "pytest.ini", *modules, "--testbed", testbed.name,
            "--testbed_file", str(testbed.testbed_file), "--inventory", str(testbed.inventory),
            "--host-pattern", "all", f"--junit-xml={folder / JUNIT}", *options]


def run_suite(command: Sequence[str], folder: Path, meanwhile: Callable[[], None] | None = None) -> int:
    """Runs pytest; what it prints is added to the folder's `pytest.log`. Returns its exit status.

    Args:
        command: of `suite_command`.
        folder: of the run.
        meanwhile: is called now and then, and once more at the end.
    """
    with (folder / PYTEST_LOG).open("a", encoding="utf-8") as log:
        return testbeds.run(command, ROOT / "tests", log, meanwhile)


def how_it_ended(status: int, folder: Path, tries: int = 1) -> Ended:
    """What an exit status of pytest means; what was printed says why it refused.

    Args:
        status: of pytest; negative: the signal that killed it.
        folder: of the run.
        tries: how often it was started.
    """
    log = folder / PYTEST_LOG
    if status in ALL_RAN:
        undone = UNDONE.findall(_said(log)) if status else []
        return Ended(status, "; ".join(dict.fromkeys(undone)))
    if status < 0:
        often = f", {tries} times" if tries > 1 else ""
        return Ended(status, f"pytest was killed by {signal.Signals(-status).name}{often} ({testbeds.shown(log)})")
    text = _said(log)
    notes = LEFT.findall(text) or (NOTE.findall(text) if status == NOTHING else [])
    why = (REASON.findall(text) or notes or [f"pytest ended with status {status} ({testbeds.shown(log)})"])[-1]
    return Ended(status, why, refused=status == USAGE)


def _said(log: Path) -> str:
    """What the last pytest printed."""
    return COLOUR.sub("", log.read_text(encoding="utf-8", errors="replace")).rpartition("test session starts")[2]
