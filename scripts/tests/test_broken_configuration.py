"""The cases that change a switch's configuration, on switches that are broken in their way: one virtual testbed for
all. And a run that is killed while it has the configuration changed."""
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from scripts.campaign.broken_testbed import SWITCH, OpenSsh, broken_testbed
from scripts.campaign.entries import ROOT
from scripts.tests.broken import (
    HEALTHY_RX, HEALTHY_TX, Bench, Case, compare, documented_checks, documented_faults, healthy,
    passed_as_documented, watchdog_stopped, wreck,
)
from tests.common.pfc.cases import reconfigured
from tests.common.pfc.cases.reconfigured import (
    EACH, EIGHT, ONE, PUT_BACK, SEVEN, SEVEN_COVERED, SEVEN_SENT, SEVEN_STOPPED, SEVEN_TIMED, SEVEN_WATCHED, TAGGED,
    TAGGED_AFTERWARDS, TAGGED_STOPPED, THREE,
)
from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock
from tests.common.pfc.lab.configuration import trusting_tags
from tests.common.pfc.lab.dut import READ_CONFIG, Dut
from tests.common.pfc.lab.restore import SwitchRestorer, read_state
from tests.common.pfc.record.case import PlanCase

SLOW = pytest.mark.slow("two families of the plan, each case on each switch that is broken in its way")

ONLY_ON_THE_FAKE_SWITCH = {"resumed-rate"}  # no hook slows a switch down after a storm: unit_test_cases.py shows it
PAGES = {"LSET": "lset-lossless-sets.md", "TAG": "tag-priority-by-vlan-tag.md"}
PLAN = tuple(reconfigured.CASES)
OF_ANOTHER_CASE = {  # its checks, as its page has them; the tests of its family show that each of them can fail
    SEVEN_SENT: ("sent-pause-frames.md", "SENT-2"), SEVEN_STOPPED: ("time-pauses.md", "TIME-5"),
    SEVEN_TIMED: ("class-interplay.md", "CLASS-1"), SEVEN_WATCHED: ("wd-watchdog.md", "WD-2"),
    TAGGED_STOPPED: ("time-pauses.md", "TIME-5"),
}
OF_TWO = {"xon-sent-alone", "drained-alone"}  # checks of SENT-2 that seven priorities do not have
HANG_S = 120
KILLED = """
import json, os, signal, sys
from scripts.campaign.broken_testbed import OpenSsh
from scripts.tests.broken import HEALTHY_RX, HEALTHY_TX
from tests.common.pfc.lab.configuration import RowRestorer, lossless_set
from tests.common.pfc.lab.dut import READ_CONFIG
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock
host = OpenSsh(json.loads(sys.argv[1]))
config_db = json.loads(host.shell(READ_CONFIG)["stdout"])
rows = lossless_set(config_db, host.hostname, (HEALTHY_RX, HEALTHY_TX), tuple(range(7)))
clock = EndpointClock(sys.argv[2])
restorer = SwitchRestorer(host, "killed", clock)
with restorer.watchdog_stopped() as lease, RowRestorer(host, lease).configured(config_db, rows, clock):
    os.kill(os.getpid(), signal.SIGKILL)
"""


FILES = {  # ways of being broken that nobody reported; they show that a check can fail
    "crossed.py": '''
from dataclasses import replace

from virtual_testbed.dataplane.model.hooks import Fault


class Crossed(Fault):
    """A pause of a priority above 2 shuts queues 2 and 3 as well."""

    name = "crossed"

    def shut_queues(self, priority, queues):
        return queues | {2, 3} if priority > 2 else queues


class LateOfThree(Fault):
    """With three or more lossless priorities pauses act four times as late as they may."""

    name = "late-of-three"

    def takes_effect(self, before, config):
        return replace(config, response_ps=4 * config.response_ps) if len(config.pfc_priorities) > 2 else config


class LateByTag(Fault):
    """Where a port sorts frames by their tag pauses act four times as late as they may."""

    name = "late-by-tag"

    def takes_effect(self, before, config):
        return replace(config, response_ps=4 * config.response_ps) if config.dot1p_to_tc else config


class TagForClass(Fault):
    """Where a port sorts frames by their tag each tag is its own class, whatever the map has."""

    name = "tag-for-class"

    def takes_effect(self, before, config):
        return replace(config, dot1p_to_tc={number: number for number in range(8)}) if config.dot1p_to_tc else config


class ControlPaused(Fault):
    """A pause of priority 7 shuts its queue, also where it is lossy."""

    name = "control-paused"

    def shut_queues(self, priority, queues):
        return queues | {7} if priority == 7 else queues


class UsualTwo(Fault):
    """Queues 3 and 4 alone are watched, whatever `pfcwd_sw_enable` has."""

    name = "usual-two"

    def takes_effect(self, before, config):
        return replace(config, watchdog_priorities=config.watchdog_priorities & {3, 4})


class AlsoSeven(Fault):
    """A congested group pauses priority 7 as well."""

    name = "also-seven"

    def xoff_priorities(self, group, priorities):
        return priorities | {7} if priorities else priorities
''',
}
# Each pair has what can be told apart in one run.
KEPT, HONOURED, WRECK = ("Ethernet8", HEALTHY_TX), ("Ethernet12", HEALTHY_TX), ("Ethernet4", "Ethernet80")
DIVIDED = ("Ethernet24", "Ethernet88")
FIFTH, FIFTH_HELD = ("Ethernet28", HEALTHY_TX), ("Ethernet36", "Ethernet100")
LATE = ("Ethernet40", HEALTHY_TX)
UNUSED = ("Ethernet44", HEALTHY_TX)
LITERAL, CONTROL = ("Ethernet48", "Ethernet112"), ("Ethernet52", HEALTHY_TX)
FORGETFUL = ("Ethernet32", "Ethernet96")
SEVENTH = ("Ethernet20", "Ethernet84")  # nothing else uses its tx port, so that cases of others may come in between
FAULTS = (
    "pfc-removal-ignored@Ethernet8", "crossed.py:Crossed@Ethernet8", "pause-ignored@Ethernet8,priority=2",
    "global-pause-honoured@Ethernet12", "pfc-forwarded@Ethernet12", "lossless-dropped@Ethernet12,one_in=4",
    "pause-ignored@Ethernet4,priority=0", "pause-ignored@Ethernet4,priority=3", "pfc-miscounted@Ethernet4",
    "pfc-forwarded@Ethernet4", "lossless-dropped@Ethernet4,one_in=4", "lossy-dropped@Ethernet4,one_in=4",
    "crossed.py:AlsoSeven@Ethernet80", "pause-ignored@Ethernet16,priority=6", "pause-ignored@Ethernet20,priority=7",
    "headroom-divided@Ethernet88", "xon-not-sent@Ethernet100,priority=5", "pause-short@Ethernet28,priority=5",
    "maps-forgotten@Ethernet96,map=tag", "crossed.py:LateOfThree@Ethernet40", "crossed.py:LateByTag@Ethernet44",
    "crossed.py:UsualTwo@Ethernet44", "crossed.py:TagForClass@Ethernet112", "crossed.py:ControlPaused@Ethernet52",
)


COUNTED = "pause-counted every-pause-counted no-other-pause-counted"
LOST = "clean-flow background-unaffected held-frames-drained resumed pause-not-forwarded no-other-back-pressure"
NOT_HELD = "blocked-while-paused held-within-buffer back-pressure"
NOT_WATCHED = "storm-detected storm-counted restored restoration-counted frames-counted"
NOT_DROPPED = "dropped-in-storm sender-not-held no-back-pressure"
NOT_SPARED = "test-unaffected background-unaffected no-back-pressure"
CASES = [
    wreck(KEPT, ONE, "FAIL FAIL", f"{NOT_HELD} {NOT_SPARED}",
          "Ethernet8 priority 3: expected all ... frames received in a pause storm on priorities 0, 1, 3, 4, 5, 6, "),
    wreck(KEPT, PUT_BACK, "FAIL FAIL", NOT_SPARED,
          "Ethernet8 priority 2: expected all ... frames received in a pause storm on priorities 0, 1, 2, 5, 6, got 0"),
    wreck(WRECK, ONE, "FAIL FAIL", f"{COUNTED} {LOST} test-unaffected",
          "Ethernet4 priority 3: expected 0 PFC frames in the receive counter, got "),
    wreck(WRECK, THREE, "FAIL FAIL", f"{COUNTED} {LOST} {NOT_HELD}",
          "Ethernet4 priority 0: expected 0 frames received while paused, got "),
    wreck(WRECK, SEVEN, "FAIL FAIL", f"{COUNTED} {LOST} {NOT_HELD}",
          "Ethernet4 priority 3: expected 0 frames received while paused, got "),
    wreck(WRECK, EACH, "FAIL FAIL", f"{COUNTED} {LOST} {NOT_HELD}",
          "Ethernet4 priority 3: expected 0 frames received while paused, got "),
    wreck(("Ethernet16", HEALTHY_TX), EACH, "FAIL PASS", NOT_HELD,
          "Ethernet16 priority 6: expected 0 frames received while paused, got "),
    wreck(SEVENTH, EACH, "FAIL PASS", NOT_HELD, "Ethernet20 priority 7: expected 0 frames received while paused, got "),
    wreck(WRECK, PUT_BACK, "FAIL FAIL", f"{COUNTED} {LOST} {NOT_HELD} test-unaffected",
          "Ethernet4 priority 3: expected 0 frames received while paused, got "),
    wreck(WRECK, TAGGED, "FAIL FAIL", f"{COUNTED} {LOST} {NOT_HELD}",
          "Ethernet4 priority 3: expected 0 frames received while paused, got "),
    wreck(HONOURED, EIGHT, "FAIL -", "clean-flow test-unaffected throughput global-pause-not-counted no-back-pressure"
          " pause-not-forwarded", "Ethernet12 priority 7: expected all ... frames received in a storm of 802.3x pause"),
    wreck(WRECK, SEVEN_COVERED, "FAIL FAIL",
          "clean-flow blocked-while-paused nothing-lost back-pressure no-other-back-pressure",
          "Ethernet80 priority 0: expected all ... frames received, senders going on for "),
    wreck(DIVIDED, SEVEN_COVERED, "FAIL -", "nothing-lost",
          "Ethernet88 priority 0: expected all ... frames received, senders going on for 14869 quanta, got "),
    wreck(FIFTH_HELD, SEVEN_SENT, "FAIL PASS", "xon-sent",
          "Ethernet100 priority 5: expected XON, a time of 0, as the last pause frame once the storm had stopped"),
    wreck(FIFTH, SEVEN_STOPPED, "FAIL PASS", "held-to-the-end stopped-in-time",
          "Ethernet28 priority 5: expected at most 0 frames received from the end of storm 1 to "),
    wreck(FIFTH_HELD, SEVEN_STOPPED, "FAIL PASS", "sender-resumed",
          "Ethernet100 priority 5: expected frames sent soon after storm "),
    wreck(LATE, SEVEN_STOPPED, "FAIL PASS", "stopped-in-time",
          "Ethernet40 priorities 0, 1, 2, 3, 4, 5, 6: expected at most ... frames received from the beginning of "),
    wreck(FIFTH, SEVEN_TIMED, "FAIL PASS", "paused-long-enough",
          "Ethernet28 priority 5: expected at most ... frames received in pauses of 16384 quanta for "),
    wreck(UNUSED, SEVEN_WATCHED, "FAIL PASS", f"{NOT_WATCHED} {NOT_DROPPED}",
          "Ethernet44 priority 0: expected the queue stormed in the storm, got N/A"),
    wreck(UNUSED, TAGGED_STOPPED, "FAIL PASS", "stopped-in-time resumed",
          "Ethernet44 priorities 3, 4: expected at most ... frames received from the beginning of "),
    wreck(WRECK, TAGGED_AFTERWARDS, "FAIL FAIL", f"{COUNTED} {LOST} {NOT_HELD}",
          "Ethernet4 priority 3: expected 0 frames received while paused, got "),
    wreck(LITERAL, TAGGED, "FAIL FAIL", "blocked-while-paused held-within-buffer background-unaffected",
          "Ethernet48 priority 3: expected 0 frames received while paused, got "),
    wreck(CONTROL, ONE, "PASS FAIL", "test-unaffected",
          "Ethernet52 priority 7: expected all ... frames received in a pause storm on priorities "),
    wreck(FORGETFUL, TAGGED_AFTERWARDS, "FAIL PASS", NOT_HELD,
          "Ethernet32 priority 3: expected 0 frames received while paused, got "),
]

SORTED_BY_DSCP = wreck((HEALTHY_TX, HEALTHY_RX), TAGGED, "FAIL PASS", NOT_HELD,
                       "Ethernet64 priority 3: expected 0 frames received while paused, got ")


def documented(plan: PlanCase) -> set[str]:
    """The checks that the test plan has for a case."""
    page, plan_id = OF_ANOTHER_CASE.get(plan, (PAGES[plan.family], plan.plan_id))
    checks = documented_checks(ROOT / "docs/testplan" / page, plan_id)
    return checks - OF_TWO if plan is SEVEN_SENT else checks


@pytest.mark.parametrize("plan", [plan for plan in PLAN if plan not in OF_ANOTHER_CASE], ids=lambda plan: plan.plan_id)
def test_every_check_of_every_test_case_is_failed_by_some_switch(plan: PlanCase) -> None:
    failed = {check for one in CASES if one.plan is plan for check in one.checks}
    assert failed == documented(plan) - ONLY_ON_THE_FAKE_SWITCH


def test_every_fault_that_the_documentation_calls_caught_is_here() -> None:
    assert documented_faults("LSET") <= {fault.split("@")[0] for fault in FAULTS}


@pytest.fixture(name="testbed", scope="module")
def fixture_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Any]]:
    """A testbed with all these faults."""
    with broken_testbed(tmp_path_factory.mktemp("broken"), FAULTS, FILES) as testbed:
        yield testbed


def config_of(host: OpenSsh) -> dict[str, Any]:
    """CONFIG_DB."""
    return dict(json.loads(host.shell(READ_CONFIG)["stdout"]))


@SLOW
def test_what_a_killed_run_left_is_put_back_and_never_planned_with(testbed: Mapping[str, Any]) -> None:
    """A run is killed while another set is lossless; the next one plans with the switch's own, and finds it. No row
    that buffermgrd makes of a set stays.
    """
    host = OpenSsh(testbed["switches"][SWITCH])
    try:
        before = config_of(host)
        switch = json.dumps(testbed["switches"][SWITCH])
        clock = testbed["clock"]["url"]
        ended = subprocess.run([sys.executable, "-c", KILLED, switch, clock], cwd=ROOT, check=False, timeout=HANG_S)
        assert ended.returncode == -signal.SIGKILL
        left = config_of(host)
        assert left["PORT_QOS_MAP"][HEALTHY_RX]["pfc_enable"] == "0,1,2,3,4,5,6"
        assert read_state(Dut(host)).config_db == {**before, "PFC_WD": left["PFC_WD"]}
        with SwitchRestorer(host, "next", EndpointClock(clock)).watchdog_stopped():
            assert config_of(host) == {**before, "PFC_WD": left["PFC_WD"]}
        assert config_of(host) == before
    finally:
        host.close()


@pytest.fixture(name="bench", scope="module")
def fixture_bench(testbed: Mapping[str, Any]) -> Iterator[Bench]:
    """For all ports."""
    with watchdog_stopped(testbed) as bench:
        yield bench


@SLOW
@pytest.mark.parametrize("broken", CASES, ids=lambda broken: f"{broken.plan.plan_id}-{broken.pair[0]}")
def test_every_fault_is_caught_and_nothing_else(bench: Bench, broken: Case) -> None:
    compare(bench.judge(broken), broken)


@SLOW
@pytest.mark.parametrize("plan", [plan for plan in PLAN if plan is not EACH], ids=lambda plan: plan.plan_id)
def test_no_other_case_sees_that_the_highest_priority_cannot_be_paused(bench: Bench, plan: PlanCase) -> None:
    passed_as_documented(bench.judge(wreck(SEVENTH, plan, "PASS PASS", "", "")), documented(plan))


@SLOW
@pytest.mark.parametrize("plan", PLAN, ids=lambda plan: plan.plan_id)
def test_a_healthy_port_passes_every_test_case(bench: Bench, plan: PlanCase) -> None:
    passed_as_documented(bench.judge(healthy(plan)), documented(plan))


@SLOW
def test_ports_that_go_on_sorting_by_dscp_fail(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch has the map of tags, and its ports do not use it."""
    table = "DOT1P_TO_TC_MAP"
    monkeypatch.setattr(reconfigured, "trusting_tags", lambda *found: {table: trusting_tags(*found)[table]})
    compare(bench.judge(SORTED_BY_DSCP), SORTED_BY_DSCP)
