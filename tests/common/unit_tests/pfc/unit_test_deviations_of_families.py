"""Deviations that families of test cases declare, and what a record says of all that are allowed for."""

import dataclasses
import json

import pytest

from tests.common.pfc.cases import sent_pauses, watchdog_cases
from tests.common.pfc.cases.plan import deviations, lack_of
from tests.common.pfc.cases.watchdog.all_to_all import FORWARD_ALL_TO_ALL, SECOND_PORT
from tests.common.pfc.cases.watchdog.watched import FORWARDS, IN_SOFTWARE
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.model.deviations import DEVIATIONS, allowed_for
from tests.common.pfc.model.tolerances import EXACT, HARDWARE
from tests.common.unit_tests.pfc.fakes import FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS


def test_the_families_deviations_are_among_them():
    """Beside those that every run rests on."""
    found = deviations()
    for own in (DEVIATIONS, sent_pauses.DEVIATIONS, watchdog_cases.DEVIATIONS):
        assert set(own) <= set(found), f"{set(own) - set(found)} are missing"


@pytest.mark.parametrize("asic, tolerances, expected", [
    ("vs", EXACT, {}),
    ("broadcom", EXACT, {"watchdog-judges": "intervals"}),
    ("marvell-teralynx", EXACT, {"watchdog-drops-what-comes-in": "no", "watchdog-detects-at-empty-queue": "yes"}),
    ("marvell", EXACT, {"watchdog-drops-what-comes-in": "no", "watchdog-detects-at-empty-queue": "no"}),
    ("broadcom dlr:true", EXACT, {"watchdog-judges": "intervals", "watchdog-drops-what-comes-in": "no",
                                  "watchdog-action-changes": "no"}),
    ("cisco-8000 voq", EXACT, {"shared-buffer-pool": "ingress_lossless_pool", "lossy-pauses-counted": "1",
                               "sent-pause-unused-times": "any", "watchdog-drops-what-comes-in": "no",
                               "watchdog-forwards": "no", "watchdog-action-changes": "no",
                               "watchdog-detects-at-empty-queue": "no", "watchdog-counts-pauses-to-restore": "no",
                               "watchdog-judges": "instants",
                               "all-drops-read": "no"}),
    ("vs", HARDWARE, {"line_percent": 99, "load_tolerance_percent": 1, "count_tolerance_percent": 1,
                      "storm_limit_s": 60, "whole_seconds": True}),
    ("vs", dataclasses.replace(EXACT, count_tolerance_percent=2, reason="slow counters"),
     {"count_tolerance_percent": 2}),
])
def test_records_say_what_is_allowed_for(asic, tolerances, expected):
    """What is special to the ASIC, and what of the testbed is not exact: each with its reason, as JSON has it."""
    found = allowed_for(asic, tolerances, deviations())
    assert {one["name"]: one["value"] for one in found} == expected, found
    assert all(one["reason"] for one in found) and json.loads(json.dumps(found)) == found, found


@pytest.mark.parametrize("asic, left_out", [
    ("broadcom", set()),
    ("broadcom dlr:true", {"WD-11"}),
    ("broadcom recovery:hardware", {f"WD-{number}" for number in range(1, 21)} - {"WD-8", "WD-9"}),
    ("cisco-8000", {"WD-3", "WD-7", "WD-11", "WD-20"}),
])
def test_actions_that_a_platform_refuses_are_not_tried(asic, left_out):
    """CONFIG_DB would keep them, and nothing be watched: FAIL of a switch that is right."""
    planned = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None).subject
    subject = dataclasses.replace(planned, further=(planned.pair.tx,))
    table = watchdog_cases.CASES
    found = {case.plan_id for case, own in table.items()
             if own.targets.on(subject) and not own.targets.on(dataclasses.replace(subject, asic=asic))}
    assert found == left_out, found


@pytest.mark.parametrize(("asic", "ports", "lack"), [
    ("broadcom", 2, None),
    ("broadcom recovery:hardware", 2, IN_SOFTWARE),
    ("broadcom recovery:hardware", 1, IN_SOFTWARE),
    ("cisco-8000", 2, FORWARDS),
    ("cisco-8000", 1, SECOND_PORT),
])
def test_what_is_said_to_be_lacking_is_lacking(asic, ports, lack):
    """Of several things that a case needs the first one that is not there."""
    planned = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None).subject
    subject = dataclasses.replace(planned, further=(planned.pair.tx,) if ports == 2 else (), asic=asic)
    found = lack_of(FORWARD_ALL_TO_ALL, subject)
    assert found == lack, found
