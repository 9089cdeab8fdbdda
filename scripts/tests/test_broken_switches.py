"""The suite is proven by the switches it fails: one virtual testbed, broken in another way on each port, judged port by
port by the suite's own steps over SSH and OTG. One port goes through all of it, with Ansible and pytest."""
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from scripts.campaign.broken_testbed import HANG_S, SWITCH, Testbed, broken_testbed
from scripts.campaign.entries import ROOT
from scripts.tests.broken import (
    HEALTHY_RX, HEALTHY_TX, Bench, Case, case, compare, documented_checks, documented_faults, healthy,
    passed_as_documented, watchdog_stopped,
)
from tests.common.pfc.cases.pauses import GLOBAL_PAUSE, LOSSY, SEVERAL_LOSSLESS, SINGLE_LOSSLESS
from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY as LOSSY_METRIC

FAULTS_MD = ROOT / "docs/faults.md"
SUITE = "snappi_tests/pfc/qualification"
ITEM = f"{SUITE}/test_pfc_plan.py::test_pfc_plan[PFC-1-{SWITCH}|3]"
ONLY_ON_THE_FAKE_SWITCH = {"resumed-rate"}  # no hook slows a switch down after a storm: unit_test_cases.py shows it
OWN_FILE = "shifted.py"  # the worked example of docs/faults.md, relative to the folder where the testbed is started
FURTHER_FILES = {  # ways of being broken that nobody reported; they show that a check can fail
    "crossed.py": '''
from virtual_testbed.dataplane.model.hooks import Fault

class Crossed(Fault):
    """A pause of class 7, which no data has, shuts queue 3 too."""

    name = "crossed"

    def shut_queues(self, priority, queues):
        return queues | {3} if priority == 7 else queues
''',
    "eighth.py": '''
from virtual_testbed.dataplane.model.hooks import Fault

class Eighth(Fault):
    """Of eight PFC frames that are sent one is counted."""

    name = "eighth"

    def published(self, key, fields):
        return {name: str(int(value) // 8) if "PFC" in name and name.endswith("_TX_PKTS") else value
                for name, value in fields.items()}
''',
}
PFC_CASES = (SINGLE_LOSSLESS, SEVERAL_LOSSLESS, LOSSY, GLOBAL_PAUSE)

# Their times are simulated time, so these two come first.
WATCHDOG = case("watchdog-stop-ignored@Ethernet36,until=60s", "ERROR ERROR", "watchdog-stopped",
                "Ethernet36 priority 3: expected a stopped watchdog, got a watchdog that detected a storm although it "
                "was stopped (1 detected)")
FROZEN_IN_THE_RUN = case("counters-frozen@Ethernet40,from=83.5s", "FAIL PASS", "pause-counted every-pause-counted",
                         "Ethernet40 priority 3: expected more than 0 PFC frames in the receive counter, got 0")

# Two faults of one pair, each on a priority of its own, share what is done once for a pair.
CASES = [
    case("pause-ignored@Ethernet4,priority=3", "FAIL PASS", "blocked-while-paused held-within-buffer back-pressure",
         "Ethernet4 priority 3: expected 0 frames received while paused, got "),
    case("lossy-queue-paused@Ethernet4,priority=4", "PASS FAIL", "background-unaffected",
         "Ethernet4 priority 1: expected all ... frames received while priority 4 was paused, got 0"),
    case("pfc-miscounted@Ethernet8,priority=3", "FAIL PASS", "pause-counted every-pause-counted no-other-pause-counted",
         "Ethernet8 priority 4: expected 0 PFC frames in the receive counter, got "),
    case("pause-leaks@Ethernet8,priority=4", "FAIL PASS", "blocked-while-paused",
         "Ethernet8 priority 4: expected 0 frames received while paused, got "),
    case("counters-negative@Ethernet12,priority=3", "FAIL PASS", "every-pause-counted",
         "Ethernet12 priority 3: expected ... PFC frames in the receive counter once the storm had stopped, got "),
    case("pfc-not-counted@Ethernet12,priority=4", "FAIL PASS", "pause-counted every-pause-counted",
         "Ethernet12 priority 4: expected more than 0 PFC frames in the receive counter, got 0"),
    replace(
        case("counted-short@Ethernet92", "FAIL PASS", "every-pause-counted",
             "Ethernet92 priority 3: expected ... PFC frames in the receive counter once the storm had stopped, got "),
        ports=("Ethernet92", HEALTHY_RX),
    ),
    replace(
        case("held-frames-aged@Ethernet96", "FAIL PASS", "held-within-buffer held-frames-drained",
             "Ethernet0 priority 3: expected all ... frames received once the storm had stopped, got 0"),
        ports=("Ethernet96", HEALTHY_RX),
    ),
    case("pfc-forwarded@Ethernet16", "FAIL PASS", "pause-not-forwarded",
         "Ethernet16 priority 3: expected 0 pause frames forwarded to Ethernet64, got "),
    case("lossless-dropped@Ethernet20,one_in=4", "FAIL PASS",
         "clean-flow background-unaffected held-frames-drained resumed",
         "Ethernet20 priority 3: expected all 1000 frames received without any storm, got 750"),
    case("lossy-dropped@Ethernet24,one_in=4", "PASS FAIL", "clean-flow background-unaffected resumed",
         "Ethernet24 priority 0: expected all 1000 frames received without any storm, got 750"),
    case("counters-frozen@Ethernet28", "ERROR ERROR", "",
         "Ethernet28 priority 0: expected 1000 frames with DSCP [8] to leave through queue UC0, got 0"),
    case("counters-wrap@Ethernet32", "ERROR ERROR", "",
         "Ethernet32 priority ... to leave through queue ..., got a counter, one "
         "that wrapped at 2^32: it fell by "),
    case("counters-wrap@Ethernet52,before=20000", "ERROR ERROR", "counters-kept",
         "Ethernet52: expected PFC receive counters that only grow in the run, got one that wrapped at 2^32: it fell "
         "by "),
    case("headroom-missing@Ethernet68,priority=3", "FAIL PASS", "held-frames-drained",
         "Ethernet68 priority 3: expected all ... frames received once the storm had stopped, got "),
    case("xoff-not-sent@Ethernet68,priority=4", "FAIL PASS", "back-pressure held-within-buffer held-frames-drained",
         "Ethernet68 priority 4: expected more than 0 PFC frames sent out of Ethernet68 to hold the sender, got 0"),
    case("refresh-missing@Ethernet72,priority=3", "FAIL PASS", "held-within-buffer held-frames-drained",
         "Ethernet72 priority 3: expected fewer than the 15982720 bytes of egress_lossless_pool sent while paused, "),
    case("malformed-pfc-sent@Ethernet72,priority=4", "FAIL PASS", "held-within-buffer held-frames-drained",
         "Ethernet72 priority 4: expected fewer than the 15982720 bytes of egress_lossless_pool sent while paused, "),
    case("xoff-wrong-priority@Ethernet76", "PASS FAIL", "no-other-back-pressure",
         "Ethernet76 priority 0: expected 0 PFC frames sent out of Ethernet76, got "),
    case("eighth.py:Eighth@Ethernet80", "FAIL PASS", "back-pressure",
         "Ethernet80 priority 3: expected at least 148... PFC frames sent out of Ethernet80 to hold the sender, got 5"),
]
# The other test cases, on the same broken ports and on a few more. Where a port has two faults, both are seen.
MISCOUNTED, GLOBAL_HONOURED = "pfc-miscounted@Ethernet48", "global-pause-honoured@Ethernet56"
CROSSED = "crossed.py:Crossed@Ethernet60"
CASES += [
    case("pause-ignored@Ethernet4,priority=3", "FAIL FAIL",
         "blocked-while-paused held-within-buffer back-pressure background-unaffected",
         "Ethernet4 priority 1: expected all ... frames received while priorities 3, 4 were paused, got 0",
         SEVERAL_LOSSLESS),
    case("pfc-forwarded@Ethernet16", "FAIL PASS", "pause-not-forwarded",
         "Ethernet16 priorities 3, 4: expected 0 pause frames forwarded to Ethernet64, got ", SEVERAL_LOSSLESS),
    case("pfc-forwarded@Ethernet16", "PASS FAIL", "pause-not-forwarded",
         "Ethernet16 priorities 0, 1, 2, 5, 6: expected 0 pause frames forwarded to Ethernet64, got ", LOSSY),
    case("pfc-forwarded@Ethernet16", "FAIL PASS", "pause-not-forwarded",
         "Ethernet16: expected 0 pause frames forwarded to Ethernet64, got ", GLOBAL_PAUSE),
    case("lossless-dropped@Ethernet20,one_in=4", "FAIL PASS", "clean-flow test-unaffected throughput",
         "Ethernet20 priority 3: expected all ... frames received in a storm of 802.3x pause frames, got ",
         GLOBAL_PAUSE),
    case("lossy-dropped@Ethernet24,one_in=4", "PASS FAIL", "clean-flow background-unaffected resumed",
         "Ethernet24 priority 0: expected all 1000 frames received without any storm, got 750", SEVERAL_LOSSLESS),
    case("lossy-dropped@Ethernet24,one_in=4", "PASS FAIL", "clean-flow test-unaffected",
         "Ethernet24 priority 1: expected all ... frames received in a pause storm on priorities 0, 1, 2, 5, 6, got ",
         LOSSY),
    case("xoff-not-sent@Ethernet68,priority=4", "FAIL PASS", "back-pressure held-within-buffer held-frames-drained",
         "Ethernet68 priority 4: expected fewer than the 15982720 bytes of egress_lossless_pool sent while paused, ",
         SEVERAL_LOSSLESS),
    case("xoff-wrong-priority@Ethernet76", "PASS FAIL", "no-other-back-pressure",
         "Ethernet76 priority 0: expected 0 PFC frames sent out of Ethernet76, got ", SEVERAL_LOSSLESS),
    case(MISCOUNTED, "FAIL FAIL", "pause-counted every-pause-counted no-other-pause-counted",
         "Ethernet48 priority 5: expected 0 PFC frames in the receive counter, got ", SEVERAL_LOSSLESS),
    case(MISCOUNTED, "FAIL FAIL", "pause-counted every-pause-counted no-other-pause-counted",
         "Ethernet48 priority 3: expected 0 PFC frames in the receive counter, got ", LOSSY),
    case(CROSSED, "FAIL FAIL", "test-unaffected background-unaffected no-back-pressure",
         "Ethernet64 priority 3: expected 0 PFC frames sent out of Ethernet64, got ", LOSSY),
    case("lossy-queue-paused@Ethernet60,priority=2", "FAIL FAIL",
         "test-unaffected background-unaffected no-back-pressure",
         "Ethernet60 priority 1: expected all ... frames received in a pause storm on priorities 0, 1, 2, 5, 6, got ",
         LOSSY),
    case(GLOBAL_HONOURED, "FAIL FAIL", "test-unaffected throughput global-pause-not-counted no-back-pressure",
         "Ethernet56 priority 0: expected 0 PFC frames in the receive counter, got ", GLOBAL_PAUSE),
]
OWN = case(f"{OWN_FILE}:Shifted@Ethernet44,priority=3", "FAIL PASS",
           "blocked-while-paused held-within-buffer back-pressure no-other-back-pressure background-unaffected",
           "Ethernet64 priority 4: expected 0 PFC frames sent out of Ethernet64, got ")
PAIRS = list(dict.fromkeys(one.pair for one in CASES))
CASES.sort(key=lambda broken: PAIRS.index(broken.pair))  # a case begins with the counters that its pair's last one left
ALL = [WATCHDOG, FROZEN_IN_THE_RUN, *CASES, OWN]


def sooner_or_later(broken: Case) -> Any:
    """A case as a parameter: `make test` has PFC-1, without what drops frame by frame."""
    is_slow = broken.plan is not SINGLE_LOSSLESS or broken.name == "held-frames-aged"
    marks = [pytest.mark.slow("many broken switches, some of which drop frame by frame: a minute")] if is_slow else []
    return pytest.param(broken, marks=marks, id=f"{broken.plan.plan_id}-{broken.name}")


def test_every_fault_that_the_documentation_calls_caught_is_here() -> None:
    assert {one.name for one in ALL} == {*documented_faults("PFC"), OWN_FILE, *FURTHER_FILES}


@pytest.mark.parametrize("plan", PFC_CASES, ids=lambda plan: plan.plan_id)
def test_every_check_of_every_test_case_is_failed_by_some_switch(plan: PlanCase) -> None:
    documented = documented_checks(next((ROOT / "docs/testplan").glob(f"{plan.plan_id.lower()}-*.md")), plan.plan_id)
    failed = {check for one in ALL if one.plan is plan and "FAIL" in (one.lossless, one.lossy) for check in one.checks}
    assert failed == documented - ONLY_ON_THE_FAKE_SWITCH


def fault_files() -> dict[str, str]:
    """The fault classes that are not built in: file name -> text."""
    blocks = re.findall(r"```python\n(.*?)```", FAULTS_MD.read_text(encoding="utf-8"), re.DOTALL)
    return {**FURTHER_FILES, OWN_FILE: next(block for block in blocks if "class Shifted" in block)}


@pytest.fixture(name="testbed", scope="module")
def fixture_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A testbed with all these faults."""
    with broken_testbed(tmp_path_factory.mktemp("broken"), [one.fault for one in ALL], fault_files()) as testbed:
        yield testbed


@pytest.fixture(scope="module")
def own_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A testbed with one fault, so that light traffic goes between healthy ports."""
    with broken_testbed(tmp_path_factory.mktemp("own"), [OWN.fault], fault_files()) as testbed:
        yield testbed


@pytest.mark.slow("a minute of simulated time, and storms: twenty seconds")
def test_faults_that_begin_or_end_in_simulated_time(testbed: Testbed) -> None:
    """A watchdog that cannot be stopped in the first minute; counters that stand still from a storm's beginning on."""
    with watchdog_stopped(testbed) as bench:
        compare(bench.judge(WATCHDOG), WATCHDOG)
        bench.clock.sleep(60 - bench.clock.now())
        compare(bench.judge(FROZEN_IN_THE_RUN), FROZEN_IN_THE_RUN)


def run_suite(testbed: Testbed, port: str, *options: str) -> tuple[int, str, list[dict[str, Any]]]:
    """The suite as it is started for a switch: exit status, what it printed, its records."""
    results = testbed["folder"] / port
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", "pytest.ini", *options, "--testbed", "vtb-t0",
         "--testbed_file", testbed["testbed_file"], "--inventory", testbed["inventory"],
         "--host-pattern", "all", "--pfc-port", port, "--pfc-tx-port", HEALTHY_TX, "--pfc-results", str(results),
         "--pfc-run-id", port, "-p", "no:cacheprovider"],
        cwd=ROOT / "tests", env=testbed["environment"], capture_output=True, text=True, check=False, timeout=HANG_S)
    lines = (results / "records.jsonl").read_text().splitlines()
    return ended.returncode, ended.stdout, [json.loads(line) for line in lines]


@pytest.mark.slow("the whole way of a healthy port, where a broken one has it too: twenty seconds")
def test_the_whole_suite_on_a_healthy_port(own_testbed: Testbed) -> None:
    """Two test cases of the plan, over IPv6; those that were not asked for are named."""
    status, printed, records = run_suite(own_testbed, HEALTHY_RX, SUITE, "--pfc-scenario", "PFC-1,pause-lossy",
                                         "--pfc-set", "0,5", "--pfc-ip-version", "6")
    assert status == 0, printed
    seen = [(record["plan_id"], record["priority"], record["metric_name"], record["status"]) for record in records]
    assert seen == [(plan_id, priority, metric, "PASS")
                    for plan_id, priorities in (("PFC-1", (3, 4)), ("PFC-3", (0, 5)))
                    for priority in priorities for metric in (LOSSLESS, LOSSY_METRIC)]
    assert {record["evidence"]["ip_version"] for record in records} == {6}
    assert "do not speak for PFC-2 (pause-lossless-several), PFC-4 (global-pause), FRAME (all 10), " in printed


def test_the_whole_suite_on_a_broken_port(own_testbed: Testbed) -> None:
    """A port that a class of one's own breaks."""
    status, printed, records = run_suite(own_testbed, OWN.pair[0], ITEM)
    assert records[0]["status"] == "FAIL", printed
    assert status == 1 and OWN.is_said_by(printed), printed
    failed = {check["name"] for record in records for check in record["checks"] if check["status"] != "PASS"}
    assert failed == OWN.checks


@pytest.mark.parametrize(("option", "sentence"), [
    ("--pfc-scenario=PFC-1,PFC-77", "scenario 'PFC-77' is not in the plan; it has PFC-1 to PFC-4, "),
    ("--pfc-set=3", "vtb-t0-01 Ethernet0: priority 3: one lossless priority alone; a set to be paused at once has "),
])
def test_a_selection_that_is_none_is_refused(testbed: Testbed, option: str, sentence: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", "pytest.ini", SUITE, "--testbed", "vtb-t0",
         "--testbed_file", testbed["testbed_file"], "--inventory", testbed["inventory"], "--host-pattern", "all",
         "--pfc-results", str(testbed["folder"] / "none"), option, "-p", "no:cacheprovider"],
        cwd=ROOT / "tests", env=testbed["environment"], capture_output=True, text=True, check=False, timeout=HANG_S)
    assert ended.returncode == 4, ended.stdout
    errors = [line for line in (ended.stdout + ended.stderr).splitlines() if line.startswith("ERROR")]
    assert len(errors) == 1 and errors[0].startswith(f"ERROR: {sentence}"), ended.stdout + ended.stderr


@pytest.fixture(name="bench", scope="module")
def fixture_bench(testbed: Testbed) -> Iterator[Bench]:
    """For all ports whose faults are there all the time; the suite's own runs above stop the watchdog themselves."""
    with watchdog_stopped(testbed) as bench:
        yield bench


@pytest.mark.parametrize("broken", [*map(sooner_or_later, CASES)])
def test_every_fault_is_caught_and_nothing_else(bench: Bench, broken: Case) -> None:
    compare(bench.judge(broken), broken)


@pytest.mark.parametrize("plan", PFC_CASES, ids=lambda plan: plan.plan_id)
def test_a_healthy_port_passes_every_test_case(bench: Bench, plan: PlanCase) -> None:
    documented = documented_checks(next((ROOT / "docs/testplan").glob(f"{plan.plan_id.lower()}-*.md")), plan.plan_id)
    passed_as_documented(bench.judge(healthy(plan)), documented)
