"""A switch whose watchdog detects a storm only where frames wait, as healthy ones of NVIDIA do: PASS, because a storm
begins with a few; FAIL where the suite takes the switch for one that needs none."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from scripts.campaign.broken_testbed import Testbed, broken_testbed
from scripts.tests.broken import HEALTHY_RX, HEALTHY_TX, Case, watchdog_stopped
from scripts.tests.test_broken_aging import become
from tests.common.pfc.cases.watchdog.actions import DROP_SINGLE
from tests.common.pfc.cases.watchdog.all_to_all import DROP_ALL_TO_ALL
from tests.common.pfc.cases.watchdog.repeated import REPEATED
from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.record.verdict import Status
from tests.common.pfc.sweep.watchdog_all_ports import WATCHDOG_ALL_PORTS

pytestmark = pytest.mark.slow("a testbed of its own, and storms: a minute and a half")
FILE = "needs_frames.py"
NEEDS_FRAMES = '''
from dataclasses import replace

from virtual_testbed.dataplane.model.hooks import Fault


class NeedsFrames(Fault):
    """A queue that holds no frame is not taken for stormed (sonic-swss pfc_detect_mellanox.lua)."""

    name = "needs-frames"

    def watchdog_sees(self, queue, sample):
        return sample if sample.occupancy else replace(sample, paused=False)
'''
FAULTS = [f"{FILE}:NeedsFrames@*", "watchdog-leaks@*,only=received"]
"""With the second one the action `drop` is on the queue alone, as there."""


@pytest.fixture(name="testbed", scope="module")
def fixture_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """Its switch needs frames."""
    folder = tmp_path_factory.mktemp("frames")
    with broken_testbed(folder, FAULTS, {FILE: NEEDS_FRAMES}) as testbed:
        yield testbed


def outcome(testbed: Testbed, plan: PlanCase) -> tuple[set[Status], list[str]]:
    """The verdicts of a case, and what is said."""
    with watchdog_stopped(testbed) as bench:
        found = bench.judge(Case("", "", "", frozenset(), "", plan, (HEALTHY_RX, HEALTHY_TX)))
    messages = [message for verdict in found.verdicts for message in verdict.messages]
    return {verdict.status for verdict in found.verdicts}, messages


def test_taken_for_one_that_needs_none_it_fails(testbed: Testbed) -> None:
    statuses, messages = outcome(testbed, DROP_SINGLE)
    assert Status.FAIL in statuses, messages
    assert any("expected 0 PFC frames sent out of Ethernet64 in the storm" in message for message in messages), messages


@pytest.mark.parametrize("plan", [DROP_SINGLE, DROP_ALL_TO_ALL, REPEATED], ids=lambda plan: plan.plan_id)
def test_it_passes(testbed: Testbed, plan: PlanCase) -> None:
    become(testbed, "mellanox")
    assert outcome(testbed, plan) == ({Status.PASS}, [])


def test_all_its_ports_pass_together(testbed: Testbed) -> None:
    become(testbed, "mellanox")
    with watchdog_stopped(testbed) as bench:
        found = bench.full_load(WATCHDOG_ALL_PORTS)
    verdicts = [verdict for one in found.values() for verdict in one.verdicts]
    assert [message for verdict in verdicts for message in verdict.messages] == []
    assert len(found) == 32 and {verdict.status for verdict in verdicts} == {Status.PASS}
