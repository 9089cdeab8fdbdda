"""The qualification command: what it refuses, what it says of a PASS, a FAIL and an ERROR, and that it ends what it
started."""
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from scripts import early
from scripts.qualify import conclude
from scripts.qualifying.progress import FamilyProgress, ItemEvents
from scripts.suite import Ended
from scripts.testbeds import Refusal, virtual_testbed as brought_up
from scripts.tests.small_lab import BIN, NAMES, ROOT, describe
from tests.common.pfc.selection.cases_named import plan_ids
from virtual_testbed.supervision.state import STATE_VARIABLE

SCRIPT = ROOT / "scripts/qualify.py"
MOST_LINES = 60  # of a FAIL
HANG_S = 300

HARDWARE = """
- conf-name: lab-1
  inv_name: lab
  dut: [switch-a]
- conf-name: virtual-1
  virtual: true
  inv_name: vtb
"""


def qualify(tmp_path: Path, *arguments: str, testbeds: str | None = HARDWARE,
            environment: Mapping[str, str] = os.environ) -> subprocess.CompletedProcess[str]:
    testbed_file = tmp_path / "testbed.yaml"
    if testbeds is not None:
        testbed_file.write_text(testbeds)
    command = [sys.executable, str(SCRIPT), "--testbed-file", str(testbed_file), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_S, env=environment)


@pytest.mark.parametrize(("arguments", "testbeds", "sentence"), [
    (["--testbed", "vtb-t9"], HARDWARE, "testbed 'vtb-t9' is not in {file}; it has lab-1, virtual-1"),
    (["--testbed", "lab-1"], HARDWARE,
     "testbed 'lab-1': inv_name names the inventory {folder}/lab, which is not a file"),
    (["--testbed", "virtual-1", "--scenario", "PFC-2,PFC-77"], HARDWARE,
     f"scenario 'PFC-77' is not in the plan; it has {plan_ids()}"),
    (["--testbed", "virtual-1", "--set", "3;4"], HARDWARE,
     "'3;4' is no set of priorities: expected numbers from 0 to 7, as in 3,4"),
    (["--testbed", "virtual-1", "--quick", "--scenario", "PFC"], HARDWARE,
     "--quick and --scenario both say which test cases are meant: give one of them"),
    (["--testbed", "virtual-1", "--scenario", "PFC", "--soak", "10m"], HARDWARE,
     "--soak is the time of SOAK-1, which --scenario leaves out: name SOAK-1 there as well"),
    (["--testbed", "virtual-1", "--nonsense"], HARDWARE, "unrecognized arguments: --nonsense"),
    (["--testbed", "lab-1"], "lab-1: {}\n", "testbed file {file} must hold a list of testbed entries"),
    (["--testbed", "lab-1"], None, "testbed file {file} cannot be read: [Errno 2] No such file or directory: '{file}'"),
])
def test_refusals(tmp_path: Path, arguments: list[str], testbeds: str | None, sentence: str) -> None:
    ended = qualify(tmp_path, *arguments, testbeds=testbeds)
    assert ended.returncode == 3
    expected = sentence.format(file=tmp_path / "testbed.yaml", folder=tmp_path)
    assert ended.stderr == f"error: {expected}\n"


@pytest.fixture(scope="module", name="lab")
def fixture_lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The testbed file of small virtual testbeds, none of them up."""
    return describe(tmp_path_factory.mktemp("lab"))


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--port", "Ethernet99"], "testbed '{name}' has no port Ethernet99 with a traffic generator behind it; it has"
     " Ethernet0, Ethernet4, Ethernet8, Ethernet12"),
    (["--set", "7"], "testbed '{name}' the port under test priority 7: no DSCP value reaches it, DSCP_TO_TC_MAP|AZURE"
     " leads to [0, 1, 2, 3, 4, 5, 6] only"),
    (["--set", "3,5"], "testbed '{name}' the port under test: priorities 3, 5: lossless and lossy priorities together;"
     " a set to be paused at once has several lossless priorities (of [3, 4]) or lossy ones only"),
    (["--fault", "pause-ignored@Ethernet1"], "fault pause-ignored@Ethernet1: testbed '{name}' has no port Ethernet1, it"
     " takes one of Ethernet0, Ethernet4, Ethernet8, ... Ethernet124 (32 ports)"),
    (["--fault", "foo@Ethernet0"], "fault 'foo' is unknown: expected one of "),
])
def test_what_a_virtual_testbed_lacks_is_refused_early(lab: Path, arguments: list[str], sentence: str) -> None:
    command = [sys.executable, str(SCRIPT), "--testbed-file", str(lab), "--testbed", NAMES[0], *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith(f"error: {sentence.format(name=NAMES[0])}"), ended.stderr


def test_a_machine_without_ssh_or_room_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    early.check_machine(tmp_path / "results")
    monkeypatch.setattr(early, "LEAST_FREE_MB", 10**12)
    with pytest.raises(Refusal, match=r"MB left on its disk, a run needs 1000000000000 MB$"):
        early.check_machine(tmp_path / "results")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refusal, match="^there is no ssh on the PATH"):
        early.check_machine(tmp_path / "results")


def events(*statuses: str) -> list[dict[str, object]]:
    """A session of one item of PFC and some of WD."""
    items = [{"family": "PFC", "status": "PASS"}, *({"family": "WD", "status": status} for status in statuses)]
    return [{"planned": {"PFC": 1, "WD": len(statuses)}}, *items]


def test_a_line_for_each_family() -> None:
    out = io.StringIO()
    moments: Iterator[float] = iter([0, 0, 2, 5])
    progress = FamilyProgress(out, False, lambda: next(moments))
    for event in events("FAIL", "PASS", "skipped", "FAIL"):
        progress.take(event)
    assert out.getvalue() == ("PFC     1 items  PASS                        2 s\n"
                              "WD      4 items  1 PASS, 2 FAIL, 1 skipped    3 s\n")


def test_a_bar_on_a_terminal_is_drawn_again() -> None:
    out = io.StringIO()
    progress = FamilyProgress(out, True)
    for event in events("PASS", "PASS"):
        progress.take(event)
    drawn = out.getvalue().split("\r\x1b[K")
    assert drawn[2] == "WD      2 items  [##########..........] PASS", drawn
    assert drawn[3].startswith("WD      2 items  PASS "), drawn
    progress.take({"family": "TAG", "status": "PASS"})
    progress.end()
    assert out.getvalue().endswith("\r\x1b[K")


def test_a_line_that_is_not_whole_is_read_later(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    reader = ItemEvents(file)
    assert list(reader.read()) == []
    file.write_text('{"planned": {}}\n{"fam')
    assert list(reader.read()) == [{"planned": {}}]
    file.write_text('{"planned": {}}\n{"family": "PFC"}\n')
    assert list(reader.read()) == [{"family": "PFC"}]
    with file.open("a") as torn:
        torn.write('{"fam{"family": "WD"}\n{"family": "LSET"}\n')
    assert list(reader.read()) == [{"family": "LSET"}]


def progress_of(*events: dict[str, object]) -> FamilyProgress:
    """What a session said."""
    progress = FamilyProgress(None, False)
    for event in events:
        progress.take(event)
    return progress


FAILED = {"family": "PFC", "status": "FAIL"}


@pytest.mark.parametrize(("ended", "said", "last"), [
    (Ended(0), {"status": "PASS", "cause": "", "summary": ["table"]}, "PASS after 7 s"),
    (Ended(1), {"status": "FAIL", "cause": "12 frames", "summary": []}, "FAIL after 7 s: 12 frames"),
    (Ended(1), {"status": "ERROR", "cause": "no storm", "summary": []}, "ERROR after 7 s: no storm"),
    (Ended(1), {"status": "PASS", "cause": "", "summary": []},
     "ERROR after 7 s: every verdict is PASS, but not the session: {folder}/pytest.log says why"),
    (Ended(1, "clean-up: lost"), {"status": "FAIL", "cause": "12 frames", "summary": []},
     "FAIL after 7 s: 12 frames; clean-up: lost"),
    (Ended(1, "clean-up: lost"), {"status": "PASS", "cause": "", "summary": []}, "ERROR after 7 s: clean-up: lost"),
    (Ended(1), {"planned": {}},
     "ERROR after 7 s: not every item was measured by the session: {folder}/pytest.log says why"),
    (Ended(-9, "pytest was killed by SIGKILL"), FAILED, "FAIL after 7 s: pytest was killed by SIGKILL"),
    (Ended(-9, "pytest was killed by SIGKILL"), {"planned": {}}, "ERROR after 7 s: pytest was killed by SIGKILL"),
    (Ended(5, "nothing can be measured"), {"planned": {}}, "ERROR after 7 s: nothing can be measured"),
])
def test_the_last_line_and_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                       monkeypatch: pytest.MonkeyPatch, ended: Ended, said: dict[str, object],
                                       last: str) -> None:
    monkeypatch.setenv("PFC_REPORT_DB", "sqlite:////x.db postgresql://ci:secret@db/pfc")
    assert conclude(ended, progress_of({"planned": {"PFC": 2}}, said), tmp_path, False, 7.0).value == last.split()[0]
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == last.format(folder=tmp_path)
    assert "reporting database: sqlite:////x.db postgresql://ci:***@db/pfc\n" in printed


LINKS = {  # speed in Gb/s and number of the traffic generator of each port, in their natural order
    "one speed": ("100 1", "100 1", "100 2"),
    "two speeds": ("100 1", "400 1", "400 1", "100 2", "400 2"),
    "one without another": ("100 1", "800 1", "400 1", "100 2", "400 2"),
    "on one generator": ("100 1", "100 2", "400 1", "400 1"),
    "no generator": (),
}


@pytest.mark.parametrize(("links", "same_generator", "ports"), [
    ("one speed", False, {100: ""}),
    ("two speeds", False, {100: "", 400: "Ethernet1"}),
    ("one without another", False, {100: "", 800: None, 400: "Ethernet2"}),
    ("on one generator", False, {100: "", 400: None}),
    ("on one generator", True, {100: "", 400: "Ethernet2"}),
    ("no generator", False, {0: ""}),
])
def test_one_port_of_each_speed(tmp_path: Path, links: str, same_generator: bool,
                                ports: dict[int, str | None]) -> None:
    """A port of another device of the testbed, and one of a generator, is none of the switch's."""
    rows = [("switch-a", f"Ethernet{number}", f"snappi-{link.split()[1]}", f"Port{number}", int(link.split()[0]) * 1000)
            for number, link in enumerate(LINKS[links])]
    rows += [("switch-b", "Ethernet0", "snappi-1", "Port90", 200_000)]
    rows += [("switch-a", "Ethernet90", "server", "0", 10_000)]
    files = tmp_path / "files"
    files.mkdir()
    (files / "graph_groups.yml").write_text("- lab\n", encoding="utf-8")
    kinds = {"snappi": "DevSnappiChassis", "switch": "DevSonic", "server": "Server"}
    devices = {name: kinds[name[:6]] for row in rows for name in (row[0], row[2])}
    texts = {
        "devices": ["Hostname,ManagementIp,HwSku,Type",
                    *(f"{name},10.0.0.1/8,x,{kind}" for name, kind in devices.items())],
        "links": ["StartDevice,StartPort,EndDevice,EndPort,BandWidth", *(",".join(map(str, row)) for row in rows)],
    }
    for name, lines in texts.items():
        (files / f"sonic_lab_{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    entry = {"conf-name": "lab-1", "inv_name": "lab", "dut": ["switch-a", "switch-b"]}
    found = early.default_ports(entry, tmp_path / "testbed.yaml", same_generator)
    assert found == {speed * 1000: port for speed, port in ports.items()}


@pytest.mark.slow("a qualification of a virtual testbed with two speeds")
def test_a_port_of_each_speed_is_measured(tmp_path: Path) -> None:
    """Each in a run of its own, of one job; a port that is named is measured alone."""
    ended = qualify_in(tmp_path, "--testbed", "vtb-mixed", "--scenario", "PFC-4", "--fault", "pfc-forwarded@Ethernet32")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    lines = ended.stdout.splitlines()
    assert sum(line.startswith("== no port of 800G is measured: ") for line in lines) == 1, ended.stdout
    assert lines[-1].endswith(" s: the first port, 100G PASS; Ethernet32, 400G FAIL"), lines[-1]
    runs = [json.loads(file.read_text(encoding="utf-8")) for file in (tmp_path / "results").glob("*/run.json")]
    assert len(runs) == 2 and len({run["job_id"] for run in runs}) == 1 and runs[0]["job_id"], runs
    alone = qualify_in(tmp_path, "--testbed", "vtb-mixed", "--scenario", "PFC-4", "--port", "Ethernet0")
    assert alone.returncode == 0 and "400G" not in alone.stdout, alone.stdout


@pytest.mark.parametrize("closed", ["stdout", "reader"])
def test_nobody_has_to_listen(tmp_path: Path, closed: str) -> None:
    """What is refused is refused all the same, and the status says it."""
    arguments = ["--testbed-file", str(tmp_path / "none.yaml")]
    line = shlex.join([sys.executable, str(SCRIPT), *arguments])
    script = f"{line} >&-" if closed == "stdout" else f"set -o pipefail; {line} | true"
    assert subprocess.run(["bash", "-c", script], check=False, stderr=subprocess.DEVNULL).returncode == 3


def qualify_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A qualification that keeps everything in a folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PFC_REPORT_DB"}
    environment[STATE_VARIABLE] = str(folder / "state")
    command = [sys.executable, str(SCRIPT), "--results", str(folder / "results"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=4 * HANG_S, env=environment)


@pytest.mark.slow("brings a virtual testbed up twice")
def test_a_testbed_that_is_up_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is up for nobody is used, and stays up; one that another command brought up is that command's."""
    lab = describe(tmp_path)
    told = ["--testbed-file", str(lab), "--testbed", NAMES[0], "--scenario", "PFC-4"]
    virtual_testbed = [str(BIN / "virtual-testbed")]
    where = ["--state", str(tmp_path / "state")]
    up = [*virtual_testbed, "up", NAMES[0], "--testbed-file", str(lab), "--clock", "virtual", *where]
    try:
        subprocess.run(up, check=True, stdout=subprocess.DEVNULL)
        used = qualify_in(tmp_path, *told)
        assert used.returncode == 0 and "is up already, on the virtual clock" in used.stdout, used.stdout + used.stderr
        broken = qualify_in(tmp_path, *told, "--fault", "pause-ignored@Ethernet0")
        assert broken.returncode == 3 and "is up already with no fault, and faults are injected" in broken.stderr
        monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
        refusal = pytest.raises(Refusal, match="a chassis gets its API and habits when it is brought up")
        with refusal, brought_up(NAMES[0], lab, (), habits=()):
            pytest.fail("it has no chassis")
        subprocess.run([*virtual_testbed, "status", NAMES[0], *where], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*virtual_testbed, "down", NAMES[0], *where], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*up, "--owner-pid", str(os.getpid())], check=True, stdout=subprocess.DEVNULL)
        refused = qualify_in(tmp_path, *told)
        assert refused.returncode == 3, refused.stdout
        assert f"virtual testbed '{NAMES[0]}' is up for process {os.getpid()}, which takes it down" in refused.stderr
    finally:
        subprocess.run([*virtual_testbed, "down", NAMES[0], *where], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.slow("a broken switch through two families of the plan")
def test_a_fail_is_short_and_says_where_the_rest_is(tmp_path: Path) -> None:
    ended = qualify_in(tmp_path, "--scenario", "PFC,FRAME", "--fault", "pause-ignored@Ethernet0")
    lines = ended.stdout.splitlines()
    assert (ended.returncode, ended.stderr) == (1, ""), ended.stdout
    assert len(lines) <= MOST_LINES, ended.stdout
    assert lines.count("deliberately broken: pause-ignored@Ethernet0") == 1, ended.stdout
    assert lines[-1].startswith("FAIL after "), lines[-1]
    assert lines[-1].endswith(" priority 3: expected 0 frames received while paused, got 29932951"), lines[-1]
    page, = (line.removeprefix("page: ") for line in lines if line.startswith("page: "))
    assert "<b>deliberately broken:</b> <bdi>pause-ignored@Ethernet0</bdi>" in Path(page).read_text(encoding="utf-8")
    events_of_run = Path(page).with_name("items.jsonl").read_text(encoding="ascii").splitlines()
    planned = sum(int(items) for items in re.findall(r"^[A-Z0-9]+ +(\d+) items ", ended.stdout, re.MULTILINE))
    assert sum("family" in json.loads(line) for line in events_of_run) == planned > 10


def test_what_outlives_its_step_is_ended() -> None:
    body = ("import subprocess\n"
            "from scripts.testbeds import adopt_orphans, end_orphans\n"
            "adopt_orphans()\n"
            "subprocess.run(['sh', '-c', 'sleep 600 & echo $!'], check=True)\n"
            "end_orphans()\n")
    ended = subprocess.run([sys.executable, "-c", body], cwd=SCRIPT.parent.parent, stdout=subprocess.PIPE, text=True,
                           check=True, timeout=60)
    assert not Path("/proc", ended.stdout.strip()).exists()


@pytest.mark.slow("a qualification of its own testbed")
def test_a_folder_with_a_space_in_its_name(tmp_path: Path) -> None:
    """The testbed file and the state of the virtual testbed may lie in one."""
    folder = tmp_path / "my lab"
    folder.mkdir()
    ended = qualify_in(folder, "--testbed-file", str(describe(folder)), "--testbed", NAMES[0], "--scenario", "PFC-1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (folder / "results/pfc.db").is_file()
