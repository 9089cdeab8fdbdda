"""PAIRS, and TIME-7, on broken switches: one virtual testbed for all."""
from collections.abc import Iterator

import pytest

from scripts.campaign.entries import ROOT
from scripts.tests.broken import (
    Bench, Case, broken_bench, case, compare, documented_checks, documented_faults, healthy,
    passed_as_documented,
)
from tests.common.pfc.cases.timing import SHORT
from tests.common.pfc.pairs.cases import CASES, SINGLE
from tests.common.pfc.record.case import PlanCase

SLOW = pytest.mark.slow("PAIRS on each of some broken switches")

PAGE = ROOT / "docs/testplan/pairs-parameters.md"
FILES = {
    "levels.py": '''
from pfctest.frame import decode
from virtual_testbed.dataplane.model.control_frames import PFC, Control
from virtual_testbed.dataplane.model.hooks import Fault


class ShortIgnored(Fault):
    """Times below 256 quanta do nothing."""

    name = "short-ignored"

    def timers(self, pauses):
        return tuple((priority, quanta) for priority, quanta in pauses if not 0 < quanta < 256)


class TimesEnable(Fault):
    """Where a frame enables some class, each class with a time is paused."""

    name = "times-enable"

    def parse(self, frame, reading):
        if reading.kind != PFC or not reading.pauses:
            return reading
        times = enumerate(decode(frame, any_destination=True).quanta)
        return Control(PFC, reading.pauses, tuple((priority, quanta) for priority, quanta in times if quanta))


class NoSourceShort(Fault):
    """Frames from 00:00:00:00:00:00 pause for times of 0x8000 quanta and more only."""

    name = "no-source-short"

    def parse(self, frame, reading):
        if reading.kind != PFC or frame[6:12] != bytes(6):
            return reading
        kept = tuple((priority, quanta) for priority, quanta in reading.pauses if quanta >= 0x8000)
        return Control(PFC, reading.pauses, kept)


class CellsDropped(Fault):
    """One in 1000 frames is dropped that fill two cells of 208 bytes to the last byte."""

    name = "cells-dropped"

    def drop_one_of_size(self, queue, frame_bytes, frames):
        return 1000 if frame_bytes == 416 else frames


class CellPlusOneDropped(Fault):
    """One in 20 frames is dropped that have a byte more than one cell of 254 bytes, of one priority."""

    name = "cell-plus-one-dropped"

    def drop_one_of_size(self, queue, frame_bytes, frames):
        return 20 if (queue, frame_bytes) == (4, 255) else frames

''',
}
HELD = "background-unaffected no-other-back-pressure"
NOT_HELD = "blocked-while-paused held-within-buffer back-pressure"
ONLY = "... in all failing rows, and no other:"
BROKEN = [
    case("levels.py:ShortIgnored@Ethernet8", "FAIL PASS", "paused-long-enough",
         "Ethernet8 priority 3: expected at most ... frames received in pauses of 255 quanta for 3, ", SHORT),
    case("levels.py:TimesEnable@Ethernet12", "FAIL PASS", HELD,
         f"Ethernet12 priority 4: expected all {ONLY} enabled its own, eight times), got ", SINGLE),
    case("levels.py:NoSourceShort@Ethernet16", "FAIL PASS", NOT_HELD,
         "Ethernet16 priority 3: expected 0 frames received while paused ... source 00:00:00:00:00:00", SINGLE),
    case("levels.py:CellsDropped@Ethernet20", "FAIL FAIL", "background-unaffected held-frames-drained resumed",
         f"Ethernet20 priority 0: expected all {ONLY} data frames cells), got ", SINGLE),
    case("levels.py:CellPlusOneDropped@Ethernet24", "FAIL PASS", "background-unaffected resumed",
         f"Ethernet24 priority 4: expected all {ONLY} data frames cells + 1, source the host's), got ", SINGLE),
    case("misclassified@Ethernet88,ip=6,to=0", "FAIL PASS", NOT_HELD,
         f"Ethernet0 priority 3: expected 0 frames received while paused {ONLY} IP v6), got ",
         SINGLE),
]


def page(plan: PlanCase) -> set[str]:
    """The checks that are documented for a test case."""
    return documented_checks(PAGE, plan.plan_id)


def test_every_fault_that_the_documentation_calls_caught_is_here() -> None:
    assert {one.name for one in BROKEN if not one.fault.startswith("levels.py")} == documented_faults("PAIRS")


@pytest.fixture(name="bench", scope="module")
def fixture_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """For a testbed with these faults, each at a port."""
    with broken_bench(tmp_path_factory.mktemp("broken"), [one.fault for one in BROKEN], FILES) as bench:
        yield bench


@SLOW
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.fault.split("@")[0])
def test_every_fault_is_caught_and_nothing_else(bench: Bench, broken: Case) -> None:
    compare(bench.judge(broken), broken)


@SLOW
@pytest.mark.parametrize("plan", CASES, ids=lambda plan: plan.plan_id)
def test_a_healthy_port_passes_by_exactly_the_documented_checks(bench: Bench, plan: PlanCase) -> None:
    passed_as_documented(bench.judge(healthy(plan)), page(plan))
