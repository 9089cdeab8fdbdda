"""Which counts of pause frames are right, by what the ASIC counts."""
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.pause_counts import counted_for
from tests.common.pfc.cases.plan import deviations
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, PauseFrame, Role
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.unit_test_accounting import SUBJECT

BROADCOM, CISCO, CISCO_8122 = "broadcom", "cisco-8000 x86_64-8111", "cisco-8000 x86_64-8122_64eh_o-r0"


def storm(times, frames):
    """A flow of PFC frames with these times, by priority."""
    pause = PauseFrame(tuple(times.get(priority, 0) for priority in range(8)), tuple(times))
    return FlowStats(FlowPlan("storm", Role.STORM, None, 64, pause=pause), False, frames, 0)


def count(asic, storms, priority, received):
    """The check of what the switch counted for a priority."""
    gained = tuple(received if one == priority else 0 for one in range(8))
    run = SimpleNamespace(subject=replace(SUBJECT, asic=asic), pfc_received_in_all=lambda: gained)
    return counted_for(run, storms, priority, "in the end ")


@pytest.mark.parametrize(("asic", "storms", "priority", "right", "expected"), [
    (BROADCOM, [storm({3: 9}, 70), storm({3: 0, 4: 9}, 30)], 3, {100}, "100 "),
    (BROADCOM, [storm({3: 9}, 70), storm({0: 0, 1: 0, 2: 0}, 30)], 1, {30}, "30 "),
    (CISCO, [storm({3: 9}, 70), storm({3: 0, 4: 9}, 30)], 3, {100}, "100 "),
    (CISCO, [storm({3: 9}, 70), storm({0: 0, 1: 0, 2: 0}, 30)], 1, {0, 30}, "0 to 30 "),
    (CISCO, [storm({1: 9}, 70)], 1, {70}, "70 "),
    (CISCO_8122, [storm({3: 9}, 70), storm({3: 0, 4: 9}, 30)], 3, {70, 100}, "70 to 100 "),
    (CISCO_8122, [storm({3: 0}, 30)], 3, {0, 30}, "0 to 30 "),
    (CISCO_8122, [storm({1: 9}, 70)], 1, {0, 70}, "0 to 70 "),
])
def test_frames_that_an_asic_may_not_count(asic, storms, priority, right, expected):
    """Nothing but these may be missing, and none may be too many."""
    for received in (0, 30, 69, 70, 71, 100, 101):
        check = count(asic, storms, priority, received)
        least = min(right)
        held = least <= received <= max(right)
        assert (check.status is Status.PASS) == held, f"{received} for {priority}: {check.message}"
        assert str(check.expected).startswith(expected), check.expected


def test_records_name_what_was_allowed_for():
    """As a deviation of the plan's."""
    assert [one.value for one in deviations() if one.name == "xon-counted"] == ["no", "yes"], deviations()
