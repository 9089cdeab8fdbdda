"""SWEEP-3 on a broken switch: one virtual testbed with faults on scattered ports, storms on all of its ports."""
from __future__ import annotations

from collections.abc import Mapping

import pytest

from scripts.tests import broken as switches
from scripts.campaign.entries import ROOT
from scripts.tests.broken import Case, case
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.verdict import Status
from tests.common.pfc.sweep.watchdog_all_ports import WATCHDOG_ALL_PORTS

SLOW = pytest.mark.slow("storms on all ports of a switch")

PAGE = ROOT / "docs/testplan/sweep-all-ports.md"
DETECTED = "storm-detected storm-counted restoration-counted"
HELD = "sender-not-held no-back-pressure"

# 45 % of the line in seven flows, 1/7 of it each, for 2 s. A frame that comes in by a port in storm is dropped there,
# so what a port does with frames that leave by it shows only where its tx port is broken as well.
BROKEN = [
    case(fault, verdicts, checks, message, WATCHDOG_ALL_PORTS)
    for fault, verdicts, checks, message in (
        ("watchdog-blind@Ethernet8", "FAIL PASS", DETECTED,
         "Ethernet8 priority 3: expected the queue stormed in the storm, got operational"),
        ("watchdog-leaks@Ethernet16", "FAIL PASS", "dropped-in-storm",
         "Ethernet16 priority 3: expected 0 frames from Ethernet80 to Ethernet16 received in the storms, got 1539409"),
        ("watchdog-leaks@Ethernet80", "FAIL PASS", "dropped-in-storm",
         "Ethernet80 priority 4: expected 0 frames from Ethernet16 to Ethernet80 received in the storms, got 1539409"),
        ("watchdog-wide@Ethernet24", "PASS FAIL", "background-unaffected",
         "Ethernet24 priority 0: expected all ... frames from Ethernet88 to Ethernet24 received in the storms, got 0"),
        ("watchdog-never-restores@Ethernet32", "FAIL PASS", "restored restoration-counted resumed",
         "Ethernet32 priority 3: expected the queue operational after the storm, got stormed"),
        ("watchdog-uncounted@Ethernet40,only=storms", "FAIL PASS", "storm-counted restoration-counted",
         "Ethernet40 priority 4: expected 1 storm counted as detected, got 0"),
        ("lossy-dropped@Ethernet52,one_in=4", "PASS FAIL", "clean-flow background-unaffected resumed",
         "Ethernet52 priority 0: expected all 1000 frames received without any storm, got 750"),
        ("watchdog-blind@Ethernet56", "FAIL PASS", f"{DETECTED} {HELD}",
         "Ethernet120 priority 3: expected at least ... frames from Ethernet120 to Ethernet56 sent in the storms, got"),
        ("watchdog-blind@Ethernet120", "FAIL PASS", f"{DETECTED} {HELD}",
         "Ethernet120 priority 3: expected 0 PFC frames sent out of Ethernet120 in the storms, got"),
    )
]
ELSEWHERE = {"Ethernet96": {"resumed"}}  # data enters by Ethernet32, which goes on dropping what comes in


@pytest.fixture(name="outcomes", scope="module")
def fixture_outcomes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Outcome]:
    """What came of the ports of a testbed with these faults."""
    faults = [one.fault for one in BROKEN]
    with switches.broken_bench(tmp_path_factory.mktemp("watchdogs"), faults) as bench:
        return bench.full_load(WATCHDOG_ALL_PORTS)


def under_test(broken: Case) -> str:
    """The port whose verdict a fault is about."""
    return broken.fault.split("@")[1].split(",")[0]


@SLOW
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.fault)
def test_a_broken_port_fails(broken: Case, outcomes: Mapping[str, Outcome]) -> None:
    switches.compare(outcomes[under_test(broken)], broken)


@SLOW
def test_all_other_ports_pass(outcomes: Mapping[str, Outcome]) -> None:
    bad = {port: {check.name for verdict in outcome.verdicts for check in verdict.checks
                  if check.status is not Status.PASS} for port, outcome in outcomes.items()}
    failed = {port for port, names in bad.items() if names}
    assert len(outcomes) == 32 and failed == {*map(under_test, BROKEN), *ELSEWHERE}
    assert {port: bad[port] for port in ELSEWHERE} == ELSEWHERE
    for port in {*outcomes} - failed:
        switches.passed_as_documented(outcomes[port], switches.documented_checks(PAGE, WATCHDOG_ALL_PORTS.plan_id))


def test_every_check_is_failed_by_some_switch() -> None:
    failed = {check for broken in BROKEN for check in broken.checks}
    assert failed == switches.documented_checks(PAGE, WATCHDOG_ALL_PORTS.plan_id)
