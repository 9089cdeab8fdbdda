"""Parts of the sweeping command: its job, what is read of a run while it grows, progress, exit status."""
import dataclasses
import fcntl
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scripts.sweeping.job import Job, create, held, load
from scripts import testbeds
from scripts.early import own_faults
from scripts.sweeping.progress import Progress
from scripts.sweeping.summary import exit_status, summary
from scripts.sweeping.tally import NO_VERDICT, VerdictTally
from scripts.suite import PYTEST_LOG, Ended, how_it_ended
from scripts.sweeping.testbed_run import RUN_FILE
from scripts.sweeping.watch import TestbedRun
from scripts.testbeds import Refusal
from tests.common.pfc.record.verdict import Status

DEVICE = "vtb-t0-01"
LOSSLESS, LOSSY = METRICS = ("pfc.lossless", "pfc.lossy")
PORTS = ("Ethernet0", "Ethernet4")


def record(port: str, metric: str, status: str = "PASS", cause: str | None = None) -> str:
    """A line of `records.jsonl`."""
    return json.dumps({"device_id": DEVICE, "port_id": port, "plan_id": "SWEEP-1", "priority": None,
                       "metric_name": metric, "status": status, "cause": cause}) + "\n"


def write(folder: Path, *lines: str) -> None:
    """Appends to the records of a run on two ports."""
    folder.mkdir(parents=True, exist_ok=True)
    expected = [[DEVICE, port, metric] for port in PORTS for metric in METRICS]
    (folder / "run.json").write_text(json.dumps({"expected": expected}), encoding="utf-8")
    with (folder / "records.jsonl").open("a", encoding="utf-8") as file:
        file.write("".join(lines))


def both(port: str, status: str = "PASS", cause: str | None = None) -> str:
    """The records of a port's two metrics."""
    return "".join(record(port, metric, status, cause) for metric in METRICS)


def job_in(folder: Path, **told: Any) -> Job:
    """A job on vtb-a and vtb-b."""
    return Job("night", str(folder), ("vtb-a", "vtb-b"), "/lab/testbed.yaml", **told)


def run_of(folder: Path, *lines: str, ended: Mapping[str, Any] | None = None, testbed: str = "vtb-a") -> TestbedRun:
    """A testbed's run that left records, and (`testbed_run.json`) how it ended."""
    job = job_in(folder)
    write(job.folder_of(testbed), *lines)
    if ended is not None:
        (job.folder_of(testbed) / RUN_FILE).write_text(json.dumps(ended), encoding="utf-8")
    return TestbedRun(job, testbed)


def test_a_summary_says_what_was_broken_on_purpose(tmp_path: Path) -> None:
    healthy = run_of(tmp_path, *map(both, PORTS), ended={"pytest": 0})
    broken = run_of(tmp_path, *map(both, PORTS), ended={"pytest": 0}, testbed="vtb-b")
    assert "deliberately broken" not in summary([healthy, broken])
    file = broken.folder / "run.json"
    run = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**run, "faults": ["pause-ignored@Ethernet0", "lossy-dropped"]}), encoding="utf-8")
    broken = TestbedRun(job_in(tmp_path), "vtb-b")
    assert summary([healthy, broken]).splitlines()[0] == (
        "deliberately broken: pause-ignored@Ethernet0, lossy-dropped (vtb-b)")


def test_a_fault_is_for_the_testbed_that_has_its_switch() -> None:
    faults = ["pause-ignored", "deaf@Ethernet0", "deaf@sw-1:Ethernet4,priority=3", "lab.py:Mine@sw-2:Ethernet8"]
    assert own_faults(faults, {"dut": ["sw-1"]}) == faults[:3]
    assert own_faults(faults, {"duts": ["sw-2", "sw-3"]}) == [*faults[:2], faults[3]]


def test_a_job_is_kept_and_loaded(tmp_path: Path) -> None:
    job = job_in(tmp_path, hardware=("vtb-b",), concurrency="max",
                 faults=("deaf@Ethernet0",), ports_only=True, both=True)
    create(job)
    assert load(tmp_path, "night") == job
    with pytest.raises(Refusal, match="^job 'night' is there already"):
        create(job)
    with pytest.raises(Refusal, match=r"^nothing to resume: .*job\.json is not there; .* has the jobs night$"):
        load(tmp_path, "day")
    with held(job), pytest.raises(Refusal, match="^job 'night' is being run by another pfc-sweep"), held(job):
        pass
    job.path.write_text('{"schema": 9}', encoding="utf-8")
    with pytest.raises(Refusal, match="is not a job file of this version"):
        load(tmp_path, "night")


def test_a_job_is_held_as_nfs_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, modes = job_in(tmp_path), []
    create(job)
    monkeypatch.setattr(fcntl, "flock", lambda file, how: modes.append(file.writable()))
    with held(job):
        assert modes == [True], "NFS refuses an exclusive lock of a file that is open for reading only"


def test_a_job_knows_a_testbed_file_of_the_clone_wherever_that_is(tmp_path: Path) -> None:
    job = dataclasses.replace(job_in(tmp_path), testbed_file=str(testbeds.TESTBED_FILE))
    create(job)
    assert json.loads(job.path.read_text(encoding="utf-8"))["testbed_file"] == "ansible/testbed.yaml"
    assert load(tmp_path, "night") == job


def test_a_port_is_done_when_all_its_metrics_have_a_verdict(tmp_path: Path) -> None:
    tally = VerdictTally(tmp_path)
    assert tally.read() == [] and tally.places == []
    write(tmp_path, record("Ethernet4", LOSSLESS), record("Ethernet4", LOSSY, "FAIL", "12 frames")[:-9])
    assert tally.read() == [] and len(tally.places) == 2
    with (tmp_path / "records.jsonl").open("r+b") as file:  # what a run that goes on does with a line that was cut off
        file.truncate(len(record("Ethernet4", LOSSLESS)))
    write(tmp_path, record("Ethernet4", LOSSY, "FAIL", "12 frames"))
    assert tally.read() == [(DEVICE, "Ethernet4")]
    assert tally.verdict((DEVICE, "Ethernet4")) is Status.FAIL and tally.cause((DEVICE, "Ethernet4")) == "12 frames"
    assert tally.verdict((DEVICE, "Ethernet0")) is Status.ERROR and tally.cause((DEVICE, "Ethernet0")) == NO_VERDICT
    assert tally.read() == []


def test_the_last_verdict_holds(tmp_path: Path) -> None:
    write(tmp_path, both("Ethernet0", "ERROR", "gone"), both("Ethernet4"))
    tally = VerdictTally(tmp_path)
    place = (DEVICE, "Ethernet0")
    tally.read()
    tally.forget_errors()
    assert tally.done == [(DEVICE, "Ethernet4")] and tally.cause(place) == "gone"
    write(tmp_path, both("Ethernet0"))
    assert tally.read() == [place] and tally.verdict(place) is Status.PASS and not tally.cause(place)


@pytest.mark.parametrize("line", ["{\n", "[]\n", '{"device_id": "a"}\n'])
def test_what_cannot_be_read_is_no_pass(tmp_path: Path, line: str) -> None:
    run = run_of(tmp_path, both("Ethernet0"), both("Ethernet4"), line, ended={"pytest": 0})
    assert "cannot be read" in run.tally.problem and not run.is_finished
    assert exit_status([run]) == 2


def test_what_can_be_read_again_is_no_problem_any_more(tmp_path: Path) -> None:
    write(tmp_path, both("Ethernet0"))
    tally = VerdictTally(tmp_path)
    tally.read()
    (tmp_path / "run.json").rename(tmp_path / "away")
    (tmp_path / "run.json").mkdir()
    assert tally.read() == [] and "cannot be read" in tally.problem
    (tmp_path / "run.json").rmdir()
    write(tmp_path, both("Ethernet4"))
    assert tally.read() == [(DEVICE, "Ethernet4")] and not tally.problem


def test_a_broken_line_stays_a_problem_and_hides_none_before_it(tmp_path: Path) -> None:
    write(tmp_path, both("Ethernet0"), "{\n", both("Ethernet4"))
    tally = VerdictTally(tmp_path)
    assert tally.read() == [(DEVICE, "Ethernet0")] and "cannot be read" in tally.problem
    assert tally.read() == [] and "cannot be read" in tally.problem


OVER: Mapping[str, Any] = {"pytest": 0}
FAILED: Mapping[str, Any] = {"pytest": 1}
REFUSED: Mapping[str, Any] = {"pytest": 4, "cause": "no such port", "refused": True}


@pytest.mark.parametrize(("statuses", "ended", "status", "finished"), [
    (("PASS", "PASS"), OVER, 0, True),
    (("PASS", "FAIL"), FAILED, 1, True),
    (("FAIL", "ERROR"), FAILED, 1, False),
    (("PASS", "ERROR"), FAILED, 2, False),
    (("PASS", None), OVER, 2, False),
    ((None, None), OVER, 2, False),
    (("FAIL", None), {"pytest": None, "cause": "interrupted"}, 1, False),
    (("PASS", "PASS"), {"pytest": None, "cause": "interrupted"}, 2, False),
    (("PASS", "PASS"), FAILED, 2, False),
    (("PASS", "PASS"), None, 2, False),
    ((None, None), REFUSED, 3, False),
    (("PASS", None), REFUSED, 2, False),
])
def test_exit_status(tmp_path: Path, statuses: tuple[str | None, ...], ended: Mapping[str, Any] | None, status: int,
                     finished: bool) -> None:
    lines = [both(port, one, "why") for port, one in zip(PORTS, statuses, strict=True) if one]
    run = run_of(tmp_path, *lines, ended=ended)
    healthy = run_of(tmp_path, both("Ethernet0"), both("Ethernet4"), ended=OVER, testbed="vtb-b")
    assert exit_status([run]) == status and run.is_finished is finished
    assert exit_status([run, healthy]) == (2 if status == 3 else status)


def test_a_switch_that_is_not_as_it_was_is_named_beside_a_fail_and_can_be_gone_on_with(tmp_path: Path) -> None:
    run = run_of(tmp_path, both("Ethernet0", "FAIL", "12 frames"), both("Ethernet4"),
                 ended={"pytest": 1, "cause": "clean-up: the watchdog is not as it was"})
    assert summary([run]).splitlines()[3:] == [
        f"FAIL {DEVICE} Ethernet0: 12 frames", f"ERROR vtb-a: clean-up: the watchdog is not as it was ({run.folder})"]
    assert exit_status([run]) == 1 and not run.is_finished


def test_the_summary_has_each_reason_once(tmp_path: Path) -> None:
    run = run_of(tmp_path, both("Ethernet0", "FAIL", "12 frames"), ended={"pytest": None, "cause": "interrupted"})
    assert summary([run]).splitlines()[2].split() == ["vtb-a", "2", "0", "1", "1", "1", "0", "FAIL"]
    assert summary([run]).splitlines()[3:] == [
        f"FAIL {DEVICE} Ethernet0: 12 frames", f"ERROR {DEVICE} Ethernet4: {NO_VERDICT}",
        f"ERROR vtb-a: interrupted ({run.folder})"]


@pytest.mark.parametrize(("text", "status", "ended"), [
    ("ERROR: no such port\n", 4, Ended(4, "no such port", True)),
    ("!!! _pytest.outcomes.Exit: error: the switch is away !!!\n", 4, Ended(4, "the switch is away", True)),
    ("note: the run ends here, --pfc-resume=/r goes on with it: SSH is gone\n", 2, Ended(2, "SSH is gone")),
    ("", 1, Ended(1)),
    ("note: addresses were given to 2 ports\n", 1, Ended(1)),
    ("note: clean-up: sw-1: the watchdog is not as it was\nnote: clean-up: sw-1: the watchdog is not as it was\n", 1,
     Ended(1, "clean-up: sw-1: the watchdog is not as it was")),
    ("note: database x cannot be written: away; the run goes on, its records are in /r and tried again at the end\n", 1,
     Ended(1)),
    ("note: database x cannot be written: away; deliver the records later with: pfc-report sync --results /r\n", 1,
     Ended(1, "database x cannot be written: away; deliver the records later with: pfc-report sync --results /r")),
    ("note: 2 records of run night-vtb-a are neither in a file nor in every database\n", 1,
     Ended(1, "2 records of run night-vtb-a are neither in a file nor in every database")),
    ("", 0, Ended(0)),
])
def test_how_pytest_ended(tmp_path: Path, text: str, status: int, ended: Ended) -> None:
    log = tmp_path / PYTEST_LOG
    log.write_text(f"ERROR: of an earlier one\n= test session starts =\n{text}", encoding="utf-8")
    assert how_it_ended(status, tmp_path) == ended
    log.write_text("", encoding="utf-8")
    assert how_it_ended(3, tmp_path) == Ended(3, f"pytest ended with status 3 ({log})")
    assert how_it_ended(-9, tmp_path, 3) == Ended(-9, f"pytest was killed by SIGKILL, 3 times ({log})")


def progress_of(folder: Path, columns: int | None) -> tuple[Progress, TestbedRun, io.StringIO]:
    """One port was measured before."""
    run = run_of(folder, both("Ethernet0"))
    run.began = 90.0
    (run.folder / "testbed_run.log").write_text("== bring-up\n== sweep\n", encoding="utf-8")
    out = io.StringIO()
    return Progress([run], out, columns, clock=lambda: 120.0), run, out


def test_a_log_has_a_line_for_each_port(tmp_path: Path) -> None:
    progress, run, out = progress_of(tmp_path, None)
    progress.update(run, [])
    assert out.getvalue().split(" ", 1)[1] == "vtb-a sweep\n"
    write(run.folder, both("Ethernet4", "FAIL", "12 frames"))
    progress.update(run, run.tally.read())
    progress.update(run, [])
    assert [line.split(" ", 1)[1] for line in out.getvalue().splitlines()] == [
        "vtb-a sweep", f"vtb-a {DEVICE} Ethernet4 FAIL: 12 frames (2 of 2 ports, 1 PASS, 1 FAIL, 0 ERROR)"]


def test_a_terminal_has_a_line_for_each_testbed(tmp_path: Path) -> None:
    progress, run, out = progress_of(tmp_path, 40)
    progress.update(run, [])
    assert out.getvalue() == "vtb-a  1 of 2 ports, 1 PASS, 0 FAIL, 0 \n"
    out.truncate(out.seek(0))
    write(run.folder, both("Ethernet4", "ERROR", "gone"))
    progress.update(run, run.tally.read())
    assert out.getvalue() == ("\x1b[A\x1b[K" f"{DEVICE} Ethernet4 ERROR: gone\n"
                              "vtb-a  2 of 2 ports, 1 PASS, 0 FAIL, 1 \n")
