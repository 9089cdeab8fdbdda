"""A sweep of which something is killed at a random moment goes on: its verdicts are those of an undisturbed one,
nothing is there twice, nothing is missing, the watchdog is as before. `SWEEP_KILLS=10` kills ten times, not three."""
from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import snappi

from scripts.campaign.broken_testbed import HANG_S, SWITCH, OpenSsh, Testbed, bring_up, broken_testbed
from scripts.campaign.entries import ROOT
from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock

pytestmark = pytest.mark.slow("a sweep for each thing that can be killed in it")

PORTS = ("Ethernet0", "Ethernet4", "Ethernet64", "Ethernet68")
FAULT = "pause-leaks@Ethernet4"  # one port fails, so that not every verdict is the same
VICTIMS = ("pytest", "engine", f"{SWITCH}.ssh", "supervisor")
SEED = 5
TRIES = 4
LOOKS = 40
LOOK_S = 0.5  # for what was killed to be there again
CACHE = "cache"
OPTIONS = ("--log-cli-level=INFO",)

Verdict = tuple[str, str, str, str, tuple[tuple[str, str, str], ...]]


@dataclass(frozen=True)
class Kill:
    """What is killed when the sweep has printed this part of all that it prints."""

    victim: str
    moment: float

    @property
    def name(self) -> str:
        """For the test's id."""
        return f"{self.victim}-at-{self.moment:.2f}"


def kills(number: int) -> list[Kill]:
    """So many, the same every time. Of fewer than ten none waits for a testbed that is gone."""
    chance = random.Random(SEED)
    victims = VICTIMS if number >= 10 else VICTIMS[:3]
    return [Kill(victims[place % len(victims)], chance.random()) for place in range(number)]


class Sweep:
    """A sweep of some ports of a virtual testbed, in a folder for its records."""

    def __init__(self, testbed: Testbed, folder: Path) -> None:
        self._testbed = testbed
        self._folder = folder

    @property
    def records(self) -> list[dict[str, Any]]:
        """All records."""
        path = self._folder / "records.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def run(self, victim: str = "", after: int = 0, options: Sequence[str] = (), stop_at: str = "",
            stop_by: signal.Signals = signal.SIGINT) -> tuple[int, list[str]]:
        """Begins, or goes on; something is killed when so many lines were printed, and pytest signalled when this was.

        Returns:
            Exit status and what was printed.
        """
        kept = (self._folder / "records.jsonl").exists()
        command = [
            sys.executable, "-u", "-m", "pytest", "-c", "pytest.ini", *OPTIONS, f"-o=cache_dir={self._folder / CACHE}",
            "snappi_tests/pfc/qualification/test_port_sweep.py", "--testbed", "vtb-t0",
            "--testbed_file", self._testbed["testbed_file"], "--inventory", self._testbed["inventory"],
            "--host-pattern", "all", "--pfc-ports", ",".join(PORTS),
            "--pfc-resume" if kept else "--pfc-results", str(self._folder), *options]
        printed: list[str] = []
        with subprocess.Popen(command, cwd=ROOT / "tests", env=self._testbed["environment"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            assert process.stdout is not None
            for line in process.stdout:
                printed.append(line)
                if len(printed) == after:
                    os.kill(self._pid(victim, process.pid), signal.SIGKILL)
                if stop_at and stop_at in line:
                    process.send_signal(stop_by)
            return process.wait(HANG_S), printed

    def _pid(self, victim: str, pytest_pid: int) -> int:
        """The process that is meant, as the testbed's state says now."""
        if victim == "pytest":
            return pytest_pid
        runtime = json.loads((self._testbed["folder"] / "vtb-t0/runtime.json").read_text(encoding="utf-8"))
        found = runtime["supervisor"] if victim == "supervisor" else runtime["children"][victim]
        return int(found["pid"])


def verdicts(records: list[dict[str, Any]]) -> list[Verdict]:
    """What the records that count say: an ERROR whose place another one took does not."""
    replaced = {record["replaces"] for record in records}
    return sorted(
        (record["port_id"], record["metric_name"], record["plan_id"], record["status"],
         tuple(sorted((check["name"], check["where"], check["status"]) for check in record["checks"])))
        for record in records if record["status"] != "ERROR" or record["record_id"] not in replaced)


def flow_states(testbed: Testbed) -> set[str]:
    """What the flows of the generators do, 0.1 s from now: a frame that is on the line is sent, and one that the
    switch's pauses hold back."""
    runtime = json.loads((testbed["folder"] / "vtb-t0/runtime.json").read_text(encoding="utf-8"))
    EndpointClock(runtime["clock"]["url"]).sleep(0.1)
    api = snappi.api(location=runtime["otg"]["url"])
    request = api.metrics_request()
    request.flow.flow_names = []
    return {metric.transmit for metric in api.get_metrics(request).flow_metrics}


def watchdog(testbed: Testbed) -> dict[str, Any]:
    """PFC_WD of the switch's CONFIG_DB; an SSH server that was killed is back within seconds."""
    for _ in range(LOOKS):
        runtime = json.loads((testbed["folder"] / "vtb-t0/runtime.json").read_text(encoding="utf-8"))
        host = OpenSsh(runtime["switches"][SWITCH])
        try:
            said = host.shell("sonic-cfggen -d --print-data")
        finally:
            host.close()
        if said["rc"] == 0:
            return dict(json.loads(said["stdout"])["PFC_WD"])
        time.sleep(LOOK_S)
    raise AssertionError(f"{SWITCH} did not answer for {LOOKS * LOOK_S:.0f} s: {said['stderr']}")


@dataclass(frozen=True)
class Undisturbed:
    """A testbed, and what a sweep of it comes to when nothing is killed: verdicts, how many lines it prints."""

    testbed: Testbed
    verdicts: list[Verdict]
    lines: int
    watchdog: dict[str, Any]


@pytest.fixture(name="undisturbed", scope="module")
def fixture_undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undisturbed]:
    """One sweep, port by port."""
    folder = tmp_path_factory.mktemp("kills")
    with broken_testbed(folder, [FAULT]) as testbed:
        before = watchdog(testbed)
        assert {"GLOBAL", *PORTS} <= set(before)
        sweep = Sweep(testbed, folder / "undisturbed")
        status, printed = sweep.run()
        found = verdicts(sweep.records)
        assert status == 1 and len(found) == 2 * len(PORTS), "".join(printed)
        assert watchdog(testbed) == before
        yield Undisturbed(testbed, found, len(printed), before)


def test_an_undisturbed_sweep_fails_one_port(undisturbed: Undisturbed) -> None:
    assert [one[:4] for one in undisturbed.verdicts if one[3] != "PASS"] == [
        ("Ethernet4", "pfc.lossless", "SWEEP-1", "FAIL")]


@pytest.mark.parametrize("kill", kills(int(os.environ.get("SWEEP_KILLS", "3"))), ids=lambda kill: kill.name)
def test_a_sweep_goes_on_after_a_kill(undisturbed: Undisturbed, kill: Kill, tmp_path: Path) -> None:
    testbed = undisturbed.testbed
    sweep = Sweep(testbed, tmp_path / "run")
    after = 1 + int(kill.moment * (undisturbed.lines - 1))
    status, printed = sweep.run(kill.victim, after)
    story = printed
    if kill.victim == "supervisor":
        bring_up(testbed["folder"], [FAULT], "vtb-t0")
    for _ in range(TRIES):
        if verdicts(sweep.records) == undisturbed.verdicts and status == 1:
            break
        status, printed = sweep.run()
        story = [*story, "== once more\n", *printed]
    assert verdicts(sweep.records) == undisturbed.verdicts and status == 1, "".join(story)
    assert watchdog(testbed) == undisturbed.watchdog, "".join(story)
    print(f"{kill.name}: killed after line {after}, {story.count('== once more' + chr(10))} further runs")


@pytest.mark.parametrize("stop_by", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_traffic_and_puts_the_switch_back(undisturbed: Undisturbed, stop_by: signal.Signals,
                                                             tmp_path: Path) -> None:
    """Ctrl-C, and the end of a pipeline that is cancelled."""
    sweep = Sweep(undisturbed.testbed, tmp_path / "run")
    status, printed = sweep.run(stop_at=f"{SWITCH} {PORTS[1]}: test traffic on ", stop_by=stop_by)
    text = "".join(printed)
    assert status == 2 and "KeyboardInterrupt" in text, text
    assert [(one["port_id"], one["status"]) for one in sweep.records] == 2 * [(PORTS[0], "PASS")], text
    for port in PORTS[1:]:
        why = f"{SWITCH} {port}: the run ended before it was measured"
        assert f"ERROR SWEEP-1 pfc.lossless, pfc.lossy: {why}\n" in text, text
    assert flow_states(undisturbed.testbed) == {"stopped"}, text
    assert watchdog(undisturbed.testbed) == undisturbed.watchdog, text
    status, printed = sweep.run(options=[f"--junit-xml={tmp_path / 'junit.xml'}"])
    assert status == 1 and verdicts(sweep.records) == undisturbed.verdicts, "".join(printed)
    cases = ElementTree.parse(tmp_path / "junit.xml").iter("testcase")
    assert [case.get("name") for case in cases] == [f"test_port[{SWITCH}|{port}]" for port in PORTS[1:]]


def test_a_port_is_an_item_that_pytest_chooses_by_name_or_because_it_failed(undisturbed: Undisturbed, tmp_path: Path
                                                                            ) -> None:
    item = "snappi_tests/pfc/qualification/test_port_sweep.py::test_port[{}|{}]"
    status, printed = Sweep(undisturbed.testbed, tmp_path).run(options=["--collect-only", "-q", "-k", f"{PORTS[2]}]"])
    chosen = [line.strip() for line in printed if "::" in line]
    assert status == 0 and chosen == [item.format(SWITCH, PORTS[2])], "".join(printed)
    last = tmp_path / CACHE / "v/cache/lastfailed"
    last.parent.mkdir(parents=True, exist_ok=True)
    last.write_text(json.dumps({item.format(SWITCH, PORTS[1]): True}), encoding="utf-8")
    status, printed = Sweep(undisturbed.testbed, tmp_path).run(options=["--collect-only", "-q", "--lf"])
    chosen = [line.strip() for line in printed if "::" in line]
    assert status == 0 and chosen == [item.format(SWITCH, PORTS[1])], "".join(printed)


def test_only_the_plan_is_printed_and_nothing_begins(undisturbed: Undisturbed, tmp_path: Path) -> None:
    folder = tmp_path / "plan"
    status, printed = Sweep(undisturbed.testbed, folder).run(options=["--pfc-plan-only"])
    text = "".join(printed)
    assert status == 0 and {path.name for path in folder.iterdir()} <= {CACHE}, text
    assert all(f": {port} <- " in text for port in PORTS) and "4 ports in 4 waves" in text, text
    assert watchdog(undisturbed.testbed) == undisturbed.watchdog, "a lease was taken, or the watchdog stopped"


def test_a_sweep_of_which_everything_is_measured_measures_nothing(undisturbed: Undisturbed) -> None:
    sweep = Sweep(undisturbed.testbed, undisturbed.testbed["folder"] / "undisturbed")
    before = sweep.records
    status, printed = sweep.run()
    assert status == 1 and "4 items were measured before, not again: Ethernet0, Ethernet4, " in "".join(printed)
    assert sweep.records == before
