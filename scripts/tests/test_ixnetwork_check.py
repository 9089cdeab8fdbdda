"""The suite through snappi_ixnetwork, in the environment that has it (`make test-all` installs it): the objects that
its configurations become, and a sample of `make ixnetwork-check`."""
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scripts.ixnetwork_check import (
    ALL_WITH_ROOM, BESIDE_REFUSED, CAUGHT, FAULTS, NOT_STARTED, ODD, PASSES, QUICK, REFUSED, CheckedRun, Expected,
    main, runs,
)
from tests.common.pfc.record.verdict import Status
from virtual_testbed.ixnetwork.habits import CARD, HABITS
from virtual_testbed.supervision.state import STATE_VARIABLE

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / ".venv-ixnetwork/bin/python"
SCRIPT = ROOT / "scripts/ixnetwork_check.py"
OBJECTS = ROOT / "scripts/tests/test_ixnetwork_objects.py"
HABITS_TRIED = ("odd", "crc-errors")
SCENARIOS = ("PFC-1", "SENT-1")
FAULT = "pause-ignored@Ethernet0"
HANG_S = 1200
installed = pytest.mark.skipif(
    not PYTHON.exists(), reason=f"{PYTHON.relative_to(ROOT)} is not there: `make ixnetwork-check` or `make test-all`"
                                " installs snappi_ixnetwork (820 MB)")


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command in that environment, with this clone's sources and a folder of its own for what it leaves."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), STATE_VARIABLE: str(folder / "state"),
                   "ANSIBLE_HOME": str(folder / "ansible")}
    return subprocess.run([PYTHON, *command], cwd=ROOT, env=environment, check=False, capture_output=True, text=True,
                          timeout=HANG_S)


@installed
@pytest.mark.slow("another environment's imports: some seconds, but only `make test-all` installs it")
def test_the_objects_that_configurations_become(tmp_path: Path) -> None:
    ended = run("-m", "pytest", "-q", "-p", "no:cacheprovider", OBJECTS, folder=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout and "skipped" not in ended.stdout, ended.stdout


@installed
@pytest.mark.long("a sample of `make ixnetwork-check`")
@pytest.mark.slow("three virtual testbeds, one after another: two minutes")
def test_a_sample_of_habits_and_a_broken_switch(tmp_path: Path) -> None:
    """A correct switch passes whatever the chassis does; what it cannot do is said; a broken one is caught."""
    ended = run(SCRIPT, "--results", tmp_path / "results", "--habits", ",".join(HABITS_TRIED), "--scenario",
                ",".join(SCENARIOS), "--faults", FAULT, folder=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    report = tmp_path / "results" / "ixnetwork-check.json"
    came: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))
    odd, crc, broken = came
    assert odd["verdicts"] == dict.fromkeys(SCENARIOS, "PASS") and odd["reason"] == "", odd
    assert crc["verdicts"] == {"PFC-1": "ERROR"} and "has CRC errors" in crc["reason"], crc
    assert broken["verdicts"] == {"PFC-1": "FAIL"} and "frames received while paused" in broken["reason"], broken
    assert ended.stdout.splitlines()[-1] == f"3 of 3 runs came out as they have to; {report}"


def test_a_habit_that_there_is_none_of_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["check", "--habits", "odd,slowstop", "--results", str(tmp_path / "left")])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "habit 'slowstop' is none: expected some of odd, " in capsys.readouterr().err
    assert not (tmp_path / "left").exists()


def test_each_habit_that_is_tried_exists() -> None:
    tried = {habit for one in runs("PFC-1", ["odd", *HABITS, *REFUSED, ""], []) for habit in one.habits}
    assert tried == {*HABITS, *(habit for habit in REFUSED if habit.startswith(CARD))}


def test_a_run_for_each_habit_and_each_fault() -> None:
    planned = runs("PFC,COUNT-1", ["", "odd", "crc-errors", "no-start-beside"], [FAULT])
    assert [(one.habits, one.scenarios, one.faults) for one in planned] == [
        ((), "PFC,COUNT-1", ()), (ODD, "PFC,COUNT-1", ()), (("crc-errors",), "PFC-1", ()),
        *[(("no-start-beside",), "PFC,COUNT-1", ())] * 2, (ODD, FAULTS[FAULT], (FAULT,))]
    assert [one.expected.needed for one in planned] == [
        Status.PASS, Status.PASS, Status.ERROR, None, Status.PASS, Status.FAIL]
    assert runs(QUICK, ["no-start-beside"], [])[0].expected.needed is Status.ERROR, "some of these start beside others"
    assert [one.asks for one in planned] == [False, False, False, False, True, False], "its entry has the answers"
    assert not any(Status.FAIL in one.expected.statuses for one in planned if not one.faults), "a correct switch"


@dataclass(frozen=True)
class Judged:
    """What of a record an expectation looks at."""

    plan_id: str
    cause: str | None = None


NO_TAG = "frames of 66 bytes have no room for the instrumentation tag: 78 bytes or more"
REFUSED_BESIDE = "1 Pause Storm has to start beside data, and by the testbed's pfc_conditions it starts nothing"


@pytest.mark.parametrize(("expected", "judged", "wrong"), [
    (PASSES, [("PFC-1", None, Status.PASS)], ""),
    (PASSES, [("PFC-1", None, Status.PASS), ("PFC-2", "lost", Status.FAIL)], "FAIL: lost"),
    (PASSES, [("PFC-1", "no link", Status.ERROR)], "ERROR: no link"),
    (NOT_STARTED, [("PFC-1", "expected at least 9 frames sent in the storm, got 0", Status.ERROR)], ""),
    (NOT_STARTED, [("PFC-1", None, Status.PASS)], "nothing is ERROR"),
    (NOT_STARTED, [("PFC-1", "no link", Status.ERROR)], "the reason is 'no link'"),
    (ALL_WITH_ROOM, [("PAIRS-1", NO_TAG, Status.ERROR), ("PAIRS-1", None, Status.PASS)], ""),
    (ALL_WITH_ROOM, [("PFC-1", None, Status.PASS)], ""),
    (ALL_WITH_ROOM, [("PAIRS-1", NO_TAG, Status.ERROR)], f"nothing is PASS: {NO_TAG}"),
    (ALL_WITH_ROOM, [("PAIRS-1", NO_TAG, Status.ERROR), ("PFC-1", "no link", Status.ERROR),
                     ("PFC-2", None, Status.PASS)], "the reason is 'no link'"),
    (CAUGHT, [("PFC-1", "lost", Status.FAIL), ("PFC-2", None, Status.PASS)], ""),
    (CAUGHT, [("PFC-1", None, Status.PASS)], "nothing is FAIL"),
    (BESIDE_REFUSED, [("PFC-1", None, Status.PASS), ("TIME-5", REFUSED_BESIDE, Status.ERROR)], ""),
    (BESIDE_REFUSED, [("WD-4", REFUSED_BESIDE, Status.ERROR)], ""),
    (BESIDE_REFUSED, [("PFC-1", REFUSED_BESIDE, Status.ERROR)], f"PFC-1 is ERROR: {REFUSED_BESIDE}"),
    (BESIDE_REFUSED, [("TIME-5", None, Status.PASS)], "TIME-5 is PASS: "),
    (BESIDE_REFUSED, [("TIME-5", "no link", Status.ERROR)], "TIME-5: the reason is 'no link'"),
    (BESIDE_REFUSED, [("PFC-1", "lost", Status.FAIL)], "FAIL: lost"),
])
def test_what_should_have_been_otherwise(
    expected: Expected, judged: list[tuple[str, str | None, Status]], wrong: str
) -> None:
    """A FAIL of a correct switch always; a PASS where nothing can have been on the wire."""
    records: list[Any] = [(Judged(plan_id, cause), status) for plan_id, cause, status in judged]
    assert expected.wrong(records) == wrong


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_switch_is_named_with_the_cases_that_see_it(fault: str) -> None:
    [planned] = runs("PFC-1", [], [fault])
    assert isinstance(planned, CheckedRun) and planned.faults == (fault,) and planned.title == f"all odd ones; {fault}"
