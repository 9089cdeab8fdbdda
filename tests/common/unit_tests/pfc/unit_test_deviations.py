"""What a record says of how switch and testbed differ from what the plan assumes."""

import dataclasses
import json

import pytest

from tests.common.pfc.cases.plan import deviations
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.model.deviations import allowed_for
from tests.common.pfc.model.tolerances import EXACT, HARDWARE
from tests.common.unit_tests.pfc.fakes import FakeHost, FakeWorld


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


@pytest.mark.parametrize("traits, asic", [
    ("dlr: recovery:", "broadcom"),
    ('dlr:None recovery:"HARDWARE"', "broadcom recovery:hardware"),
    ("dlr:true recovery:\n", "broadcom dlr:true"),
    ("broadcom-dnx\ndlr:false recovery:hardware\n", "broadcom broadcom-dnx dlr:false recovery:hardware"),
])
def test_what_else_an_asic_says_of_itself_is_in_its_name(traits, asic):
    """In STATE_DB, where orchagent writes what it can do, and in the files of its platform."""
    assert Dut(FakeHost(FakeWorld(traits=traits))).state().asic == asic, "part of what is known of the ASIC"
