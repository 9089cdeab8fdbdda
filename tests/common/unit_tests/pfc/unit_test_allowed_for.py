"""What a platform and a testbed are allowed, and that a record says so."""

import dataclasses
import json
from datetime import date

import pytest

from tests.common.pfc.model.deviations import DEVIATIONS, Deviation, allowed_for, deviation
from tests.common.pfc.model.tolerances import EXACT, HARDWARE

OTHERS = Deviation("limit", (), "8", "what all others have", date(2026, 11, 20))
SPECIAL = Deviation("limit", ("-8122",), "0", "of one platform", date(2026, 11, 20))
FAMILY = Deviation("limit", ("cisco-8000",), "1", "of its family", date(2026, 11, 20))


@pytest.mark.parametrize(("asic", "pool", "counted"), [
    ("broadcom", "egress_lossless_pool", "8"),
    ("mellanox x86_64-mlnx_msn4600c-r0", "egress_lossless_pool", "8"),
    ("", "egress_lossless_pool", "8"),
    ("broadcom voq x86_64-arista_7800r3_48cq2_lc", "ingress_lossless_pool", "8"),
    ("broadcom broadcom-dnx", "ingress_lossless_pool", "8"),
    ("cisco-8000 x86_64-8102_64h_o-r0", "ingress_lossless_pool", "1"),
    ("cisco-8000 x86_64-8122_64eh_o-r0", "ingress_lossless_pool", "0"),
])
def test_what_holds_on_a_platform(asic, pool, counted):
    """Told by a part of all that is known of the ASIC; of a platform before that of its family."""
    found = [deviation(name, asic).value for name in ("shared-buffer-pool", "lossy-pauses-counted")]
    assert found == [pool, counted], f"on {asic or 'an unknown ASIC'}: {found}"


def test_the_first_entry_that_matches_holds():
    """A platform stands before its family, and what holds for all others at the end."""
    among = (SPECIAL, FAMILY, OTHERS)
    found = [deviation("limit", asic, among) for asic in ("cisco-8000 x86_64-8122", "cisco-8000", "broadcom")]
    assert found == [SPECIAL, FAMILY, OTHERS], found


def test_every_difference_ends_with_what_holds_for_all_others():
    """Otherwise a switch that nobody has named would have no value, or a named one that of all others."""
    for name in {entry.name for entry in DEVIATIONS}:
        general = [not entry.asics for entry in DEVIATIONS if entry.name == name]
        assert general == [False] * (len(general) - 1) + [True], f"{name}: the general entry is not the only, last one"


def test_a_usual_switch_where_all_is_exact_is_allowed_nothing():
    """Nor is a reason of its own a difference."""
    assert allowed_for("broadcom", EXACT, DEVIATIONS) == [], "nothing is special"
    told = dataclasses.replace(EXACT, reason="another rack with the same clock")
    assert allowed_for("broadcom", told, DEVIATIONS) == [], "the numbers are the same"


def test_what_is_special_to_a_platform_is_in_the_record():
    """With its reason and its date, as JSON has them."""
    found = allowed_for("cisco-8000", EXACT, (*DEVIATIONS, OTHERS))
    assert [(one["name"], one["value"]) for one in found] == [
        ("shared-buffer-pool", "ingress_lossless_pool"), ("lossy-pauses-counted", "1"),
    ], found
    assert found[1]["asics"] == ["cisco-8000"] and found[1]["since"] == "2026-11-21", found[1]
    assert json.loads(json.dumps(found)) == found, "JSON keeps it as it is"


def test_what_a_testbed_allows_is_in_the_record():
    """Each number that is another one than where all is exact, beside that one."""
    found = {one["name"]: (one["value"], one["instead_of"]) for one in allowed_for("broadcom", HARDWARE, DEVIATIONS)}
    assert found == {
        "line_percent": (99, 100), "load_tolerance_percent": (1, 0), "count_tolerance_percent": (1, 0),
        "storm_limit_s": (60, 0), "whole_seconds": (True, False),
    }, found
    card = dataclasses.replace(EXACT, pfc_queues=4, reason="a card with four queues")
    only = {"name": "pfc_queues", "value": 4, "instead_of": 8, "reason": "a card with four queues"}
    assert allowed_for("broadcom", card, DEVIATIONS) == [only], "one number differs"


@pytest.mark.parametrize(("percent", "due", "least", "most"), [
    (0, 0, 0, 0), (0, 100, 100, 100), (0, 10**12, 10**12, 10**12),
    (1, 0, 0, 0), (1, 50, 50, 50), (1, 100, 99, 101), (1, 199, 198, 200), (1, 47680, 47204, 48156),
    (0.5, 200, 199, 201), (100, 7, 0, 14),
])
def test_counts_that_are_alike(percent, due, least, most):
    """The limits themselves are; one frame beyond them is not, and where nothing may lie between, no other count."""
    tolerances = dataclasses.replace(EXACT, count_tolerance_percent=percent)
    around = [tolerances.alike(counted, due) for counted in (least - 1, least, most, most + 1)]
    assert around == [False, True, True, False], f"{percent} % of {due}, expected {least} to {most}: {around}"


@pytest.mark.parametrize(("percent", "said"), [
    (0, ""), (1, " (1 % more or less)"), (0.5, " (0.5 % more or less)"), (1.0, " (1 % more or less)"),
])
def test_how_near_two_counts_have_to_be_is_said_behind_the_number(percent, said):
    """Where they have to be equal nothing is said."""
    seen = dataclasses.replace(EXACT, count_tolerance_percent=percent).more_or_less
    assert seen == said, repr(seen)
