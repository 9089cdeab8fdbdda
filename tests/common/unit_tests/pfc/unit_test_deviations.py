"""What a record says of how switch and testbed differ from what the plan assumes, of every family that knows of one."""

import dataclasses
import json

import pytest

from tests.common.pfc.cases import sent_pauses, watchdog
from tests.common.pfc.cases.plan import deviations
from tests.common.pfc.model.deviations import DEVIATIONS, allowed_for
from tests.common.pfc.model.tolerances import EXACT, HARDWARE


def test_the_families_deviations_are_among_them():
    """Beside those that every run rests on."""
    found = deviations()
    for own in (DEVIATIONS, sent_pauses.DEVIATIONS, watchdog.DEVIATIONS):
        assert set(own) <= set(found), f"{set(own) - set(found)} are missing"


@pytest.mark.parametrize("asic, tolerances, expected", [
    ("vs", EXACT, {}),
    ("broadcom", EXACT, {"watchdog-judges": "intervals"}),
    ("cisco-8000 voq", EXACT, {"shared-buffer-pool": "ingress_lossless_pool", "lossy-pauses-counted": "1",
                               "sent-pause-unused-times": "any", "watchdog-drops-what-comes-in": "no"}),
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
