"""SOAK on switches that break after minutes: one virtual testbed, whose time is simulated."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from scripts.campaign.entries import ROOT
from scripts.tests.broken import (
    HEALTHY_TX, Bench, Case, broken_bench, compare, documented_checks, documented_faults, healthy,
    passed_as_documented, wreck,
)
from tests.common.pfc.cases.pauses import SEVERAL_LOSSLESS
from tests.common.pfc.soak.cases import LONG_STORM
from tests.common.pfc.soak.duration import SOAK, parse_duration

SLOW = pytest.mark.slow("storms of ten simulated minutes")

PAGE = ROOT / "docs/testplan/soak-long-storm.md"
LEAKING, FROZEN = ("Ethernet4", HEALTHY_TX), ("Ethernet8", "Ethernet84")
FAULTS = ("pause-leaks@Ethernet4,period_ms=120000", "counters-frozen@Ethernet8,from=300s",
          "counters-frozen@Ethernet84,from=300s")
CASES = [  # simulated time: counters freeze in the first one
    wreck(FROZEN, LONG_STORM, "FAIL PASS", "counted-throughout held-back-throughout every-pause-counted "
          "back-pressure",
          "Ethernet8 priority 3: expected PFC frames in the receive counter in every interval, at least half of those "
          "sent, got 0 in "),
    wreck(LEAKING, LONG_STORM, "FAIL PASS", "blocked-while-paused held-throughout",
          "Ethernet4 priority 3: expected 0 frames received at any time in the storm, got ... of 20 intervals, the "
          "first from "),
]
SHORT = wreck(LEAKING, SEVERAL_LOSSLESS, "PASS PASS", "", "")
ITS_OWN = {"counted-throughout", "held-back-throughout", "held-throughout"}
"""The checks that are not those of PFC-2, which other switches fail."""


def test_every_fault_that_the_documentation_calls_caught_is_here() -> None:
    assert documented_faults("SOAK") == {fault.split("@")[0] for fault in FAULTS}


def test_every_check_of_its_own_is_failed_by_some_switch() -> None:
    assert ITS_OWN <= {check for one in CASES for check in one.checks} <= documented_checks(PAGE, "SOAK-1")


@pytest.fixture(name="bench", scope="module")
def fixture_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """For a testbed with all these faults, and ten minutes to soak."""
    SOAK.seconds = parse_duration("10m")
    try:
        with broken_bench(tmp_path_factory.mktemp("broken"), FAULTS) as bench:
            yield bench
    finally:
        SOAK.seconds = 0


@SLOW
@pytest.mark.parametrize("broken", CASES, ids=lambda broken: broken.pair[0])
def test_what_breaks_after_minutes_is_caught_and_when_is_said(bench: Bench, broken: Case) -> None:
    compare(bench.judge(broken), broken)


@SLOW
def test_the_short_cases_see_nothing_of_it(bench: Bench) -> None:
    """A queue that leaks after two minutes."""
    outcome = bench.judge(SHORT)
    assert {verdict.status.value for verdict in outcome.verdicts} == {"PASS"}


@SLOW
def test_a_healthy_port_passes_with_exactly_the_documented_checks(bench: Bench) -> None:
    passed_as_documented(bench.judge(healthy(LONG_STORM)), documented_checks(PAGE, "SOAK-1"))
