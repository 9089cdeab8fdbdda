"""An ERROR that was tried again does not count; a FAIL does, whatever came after it."""

from __future__ import annotations

import itertools

import pytest

from tests.common.pfc.record.effective_records import NOTHING_MEASURED, Outline, Verdict, judge
from tests.common.pfc.record.parsing import parse_moment
from tests.common.pfc.record.verdict import Status


def record(number, status, name, replaces=None):
    """What decides of a record; `number` is when it was made."""
    moment = parse_moment(f"2026-01-31T13:00:00.{number:06d}Z")
    return Outline(name, moment, status, None if status == "PASS" else "the cause", replaces)


@pytest.mark.parametrize("records, expected", [
    ([record(1, "ERROR", "a"), record(2, "PASS", "b", "a")], Verdict(Status.PASS)),
    ([record(1, "ERROR", "a"), record(2, "FAIL", "b", "a")], Verdict(Status.FAIL, "the cause")),
    ([record(1, "ERROR", "a"), record(2, "ERROR", "b", "a")], Verdict(Status.ERROR, "the cause")),
    ([record(1, "ERROR", "a"), record(2, "ERROR", "b", "a"), record(3, "PASS", "c", "b")], Verdict(Status.PASS)),
    ([record(1, "FAIL", "a"), record(2, "PASS", "b", "a")], Verdict(Status.FAIL, "the cause")),
    ([record(1, "ERROR", "a"), record(2, "PASS", "b")], Verdict(Status.ERROR, "the cause")),
    ([record(1, "ERROR", "a"), record(2, "PASS", "b", "other")], Verdict(Status.ERROR, "the cause")),
    ([record(2, "ERROR", "a"), record(1, "PASS", "b", "a")], Verdict(Status.ERROR, "the cause")),
    ([record(1, "ERROR", "a", "b"), record(1, "ERROR", "b", "a"), record(2, "PASS", "c")],
     Verdict(Status.ERROR, "the cause (and 1 more)")),
    ([record(1, "ERROR", "a", "a"), record(2, "PASS", "c")], Verdict(Status.ERROR, "the cause")),
    ([], Verdict(Status.ERROR, NOTHING_MEASURED))])
def test_only_an_error_that_was_tried_again_later_does_not_count(records, expected):
    """In whatever order they are read."""
    for order in itertools.permutations(records):
        found = judge(order, finished=True)
        assert found == expected, f"expected {expected}, got {found}"


def test_before_the_end_it_is_not_pass():
    """It is ERROR until all has been measured."""
    found = judge([record(1, "PASS", "a")], finished=False)
    assert found.status is Status.ERROR, f"got {found}"
