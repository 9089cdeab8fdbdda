"""The sweeping command on two small testbeds at once: killed, interrupted and resumed; what it refuses."""
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts import testbeds
from scripts.sweep import job_of, parser
from scripts.sweeping import testbed_run
from scripts.testbeds import Refusal
from scripts.tests.small_lab import NAMES, PORTS, ROOT, describe, small_lab
from test_reporting.pfc import history, queries
from test_reporting.pfc.database import open_store
from test_reporting.pfc.html_report import write_report
from virtual_testbed.faults import BUILT_IN

SCRIPT = ROOT / "scripts/sweep.py"
HANG_S = 300
SECOND = f"{NAMES[1]}-01"
FAULT = f"pause-ignored@{SECOND}:Ethernet4"
LABS = """
- {conf-name: lab-1, inv_name: lab, dut: [switch-a], tg_api_server: 'server:443'}
- {conf-name: lab-2, inv_name: lab, dut: [switch-b], tg_api_server: 'server:443'}
- {conf-name: vtb-1, virtual: true, dut: [switch-c], inv_name: vtb}
- {conf-name: vtb-2, virtual: true, dut: [switch-c, switch-d], inv_name: vtb}
- {conf-name: ../out, virtual: true, dut: [switch-e], inv_name: vtb}
"""


def command(results: Path, *arguments: str) -> list[str]:
    """The command, with a folder of its own for results."""
    return [sys.executable, str(SCRIPT), "--results", str(results), *arguments]


def environment(results: Path) -> dict[str, str]:
    """Nothing is written outside."""
    return {**os.environ, "ANSIBLE_HOME": str(results / "ansible"), "PFC_REPORT_DB": f"sqlite:///{results / 'pfc.db'}"}


def sweep(results: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs it to its end."""
    return subprocess.run(command(results, *arguments), env=environment(results), capture_output=True, text=True,
                          check=False, timeout=HANG_S)


def records_of(folder: Path) -> list[dict[str, Any]]:
    """What a run wrote."""
    return [json.loads(line) for line in (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()]


def ports_of(folder: Path) -> set[str]:
    """The ports that have a verdict."""
    return {record["port_id"] for record in records_of(folder)} if (folder / "records.jsonl").is_file() else set()


def wait_for_ports(folder: Path, number: int, child: subprocess.Popen[str]) -> None:
    """Returns as soon as so many ports have a verdict."""
    deadline = time.monotonic() + HANG_S
    while len(ports_of(folder)) < number:
        assert time.monotonic() < deadline and child.poll() is None, f"{ports_of(folder)} have a verdict"
        time.sleep(0.02)


def pytest_of(folder: Path) -> int:
    """The process that measures a testbed of a job: the one that was told this folder."""
    found = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline")
             if {b"pytest", str(folder).encode()} <= set(_words(path))]
    assert len(found) == 1, found
    return found[0]


def _words(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\0")
    except OSError:  # it has ended
        return []


@pytest.fixture(scope="module", name="lab")
def fixture_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A testbed file of two small testbeds that are up; a port of the second one is broken."""
    with small_lab(tmp_path_factory.mktemp("lab"), [FAULT]) as testbed_file:
        yield testbed_file


@pytest.mark.slow("one job over two testbeds, four times begun")
def test_a_job_is_killed_interrupted_and_resumed(lab: Path, tmp_path: Path) -> None:
    """What was measured stays; the rest is measured once."""
    told = ["--testbed-file", str(lab), "--testbed", ",".join(reversed(NAMES)), "--job", "night", "--ports-only"]
    first = tmp_path / "night" / NAMES[0]
    with subprocess.Popen(command(tmp_path, *told), env=environment(tmp_path), stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT) as child:
        wait_for_ports(first, 1, child)
        os.kill(pytest_of(first), signal.SIGKILL)
        wait_for_ports(first, len(ports_of(first)) + 1, child)
        child.send_signal(signal.SIGTERM)
        said = child.communicate(timeout=HANG_S)[0]
    assert child.returncode in (1, 2), said
    assert "pytest was killed by SIGKILL" in (first / "testbed_run.log").read_text(encoding="utf-8")
    assert re.search(rf"^ERROR {NAMES[0]}-01 .*Ethernet12: no verdict", said, re.MULTILINE), said
    assert f"ERROR {NAMES[0]}: interrupted" in said and "--resume night" in said, said
    resumed = sweep(tmp_path, "--resume", "night")
    check_resumed(resumed, tmp_path / "night")
    assert resumed.stdout.count(f"deliberately broken: {FAULT} ({NAMES[1]})\n") == 1, resumed.stdout
    assert resumed.stdout.count("deliberately broken") == 1, resumed.stdout
    check_what_was_broken(tmp_path)
    again = sweep(tmp_path, "--resume", "night")
    assert again.returncode == 3
    assert again.stderr == f"error: nothing to do: job 'night' has a verdict of each port of {', '.join(NAMES)}\n"


def check_resumed(resumed: subprocess.CompletedProcess[str], folder: Path) -> None:
    """What was measured is not measured again, the rest is."""
    assert resumed.returncode == 1, resumed.stdout + resumed.stderr
    assert re.search(rf"^{NAMES[0]}: [23] of 4 ports were measured before, not again: Ethernet0, Ethernet4",
                     resumed.stdout, re.MULTILINE), resumed.stdout
    check_verdicts(folder)


def check_verdicts(folder: Path) -> None:
    """Every port has its verdicts once, all of them PASS but the broken port's, and the ids of the job."""
    for name in NAMES:
        records = records_of(folder / name)
        verdicts = Counter((record["port_id"], record["metric_name"]) for record in records)
        assert verdicts == Counter((port, metric) for port in PORTS for metric in ("pfc.lossless", "pfc.lossy")), name
        failed = {record["port_id"] for record in records if record["status"] == "FAIL"}
        assert failed == ({"Ethernet4"} if f"{name}-01" == SECOND else set()), name
        assert {record["status"] for record in records} <= {"PASS", "FAIL"}, name
        assert {record["run_id"] for record in records} == {f"night-{name}"}, name
        assert json.loads((folder / name / "run.json").read_text(encoding="utf-8"))["job_id"] == "night", name


def check_what_was_broken(results: Path) -> None:
    """The fault of the second testbed is in its run, its records, the database, its session's summary and its page, and
    its runs are in no trend; the first testbed's say that nothing was broken."""
    store = open_store(f"sqlite:///{results / 'pfc.db'}")
    for name, faults in zip(NAMES, ([], [FAULT]), strict=True):
        folder = results / "night" / name
        assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["faults"] == faults, name
        assert {tuple(record["faults"]) for record in records_of(folder)} == {tuple(faults)}, name
        banner = f"deliberately broken: {FAULT}"
        assert (banner in (folder / "pytest.log").read_text(encoding="utf-8")) == bool(faults), name
        with store.reading() as connection:
            assert queries.faults_of(queries.find_run(connection, f"night-{name}")) == faults, name
            rows = queries.record_rows(connection, f"night-{name}") + queries.metric_rows(connection, f"night-{name}")
            assert [row["faults"] for row in rows] == [faults] * len(rows) != [], name
            page = write_report(connection, [f"night-{name}"], None, results / "page.html", results).path
        assert (f"<b>deliberately broken:</b> <bdi>{FAULT}</bdi>" in page.read_text(encoding="utf-8")) == bool(faults)
    with store.reading() as connection:
        assert [run["testbed"] for run in history.trend(connection, history.Selection(), 20)] == [NAMES[0]]


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--testbed", "vtb-9"], "testbed 'vtb-9' is not in {file}; it has ../out, lab-1, lab-2, vtb-1, vtb-2"),
    (["--testbed", "vtb-1,,vtb-2"], "--testbed is 'vtb-1,,vtb-2', it takes names of testbeds with commas between them"),
    (["--testbed", "../out"], "testbed '../out' cannot be a folder's name: expected up to 80 letters, digits and any"
     " of _.- after the first"),
    (["--testbed", "lab-1,lab-2"], "testbeds lab-1 and lab-2 have the API server server:443 in common: sweep one after"
     " the other"),
    (["--testbed", "vtb-1,vtb-2"], "testbeds vtb-1 and vtb-2 have the switch switch-c in common: sweep one after the"
     " other"),
    (["--testbed", "lab-1"], "testbed 'lab-1': inv_name names the inventory {folder}/lab, which is not a file"),
    (["--testbed", "vtb-1", "--fault", "pause-ignored@switch-d:Ethernet0"],
     "fault pause-ignored@switch-d:Ethernet0: no testbed has the switch switch-d; there are switch-c"),
    (["--testbed", "vtb-1", "--fault", "foo"], "fault 'foo' is unknown: expected one of " + ", ".join(
        sorted(BUILT_IN)) + ", or path/to/file.py:ClassName"),
    (["--testbed", "vtb-1", "--fault", "pause-ignored@Ethernet0,priority=9"],
     "fault 'pause-ignored@Ethernet0,priority=9': priority 9 does not exist: expected 0..7"),
    (["--testbed", "vtb-1"], "{folder}/files/graph_groups.yml: cannot be read (No such file or directory)"),
    (["--testbed", "vtb-1", "--concurrency", "0"], "--concurrency is '0', it takes a number from 1 on, or max"),
    (["--testbed", "vtb-1", "--both", "--concurrency", "1"], "--both measures each port in a wave, too: --concurrency"
     " takes a number from 2 on, or max"),
    (["--testbed", "vtb-1", "--ports", "Ethernet0,"], "--ports is 'Ethernet0,', it takes names of ports with commas"
     " between them"),
    (["--testbed", "vtb-1", "--at-once", "0"], "--at-once is 0, it takes a number from 1 on"),
    (["--testbed", "vtb-1", "--at-once", "many"], "argument --at-once: invalid int value: 'many'"),
    (["--testbed", "vtb-1", "--job", ""], "job '' cannot be a folder's name: expected up to 80 letters, digits and any"
     " of _.- after the first"),
    (["--resume", "none"], "nothing to resume: {folder}/results/none/job.json is not there; {folder}/results has no"
     " job"),
    (["--resume", "none", "--ports", "Ethernet0"], "--resume goes on with a job with the options that it has: leave out"
     " --testbed-file, --ports"),
    (["--nonsense"], "unrecognized arguments: --nonsense"),
])
def test_refusals(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    """One sentence; no folder is made."""
    (tmp_path / "testbed.yaml").write_text(LABS, encoding="utf-8")
    file = [] if arguments == ["--resume", "none"] else ["--testbed-file", str(tmp_path / "testbed.yaml")]
    with pytest.raises(Refusal) as refused:
        job_of(parser().parse_args([*arguments, *file, "--results", str(tmp_path / "results")]))
    assert str(refused.value) == sentence.format(file=tmp_path / "testbed.yaml", folder=tmp_path)
    assert not (tmp_path / "results").exists()


def test_a_fault_on_a_port_that_is_not_there_is_refused(tmp_path: Path) -> None:
    told = ["--testbed-file", str(describe(tmp_path)), "--testbed", ",".join(NAMES), "--results", str(tmp_path / "no")]
    with pytest.raises(Refusal) as refused:
        job_of(parser().parse_args([*told, "--fault", "pause-ignored@Ethernet1"]))
    assert str(refused.value).startswith(
        f"fault pause-ignored@Ethernet1: testbed '{NAMES[0]}' has no port Ethernet1, it takes one of Ethernet0, ")
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("given", [[], ["--change-config"]])
def test_leave_to_change_the_configuration_is_the_suite_s(tmp_path: Path, given: list[str]) -> None:
    """In a job that is resumed too."""
    told = ["--testbed-file", str(describe(tmp_path)), "--testbed", NAMES[0], "--results", str(tmp_path / "results")]
    job = job_of(parser().parse_args([*told, "--job", "one", *given]))
    resumed = job_of(parser().parse_args(["--resume", "one", "--results", str(tmp_path / "results")]))
    testbed = testbeds.TestbedFiles(NAMES[0], tmp_path / "testbed.yaml", tmp_path / "inventory")
    for one in (job, resumed):
        assert ("--pfc-change-config" in testbed_run.command(one, testbed)) is bool(given)


def test_a_refusal_is_one_sentence_and_status_3(tmp_path: Path) -> None:
    ended = sweep(tmp_path, "--resume", "none")
    assert ended.returncode == 3 and ended.stderr.startswith("error: nothing to resume: "), ended.stderr
    assert ended.stderr.count("\n") == 1
