from __future__ import annotations

import itertools

import pytest

from test_reporting.pfc.judging import judge
from test_reporting.pfc.record import encode_line, parse_line
from test_reporting.pfc.verdict import NOTHING_MEASURED, Status, Verdict
from test_reporting.tests.samples import verdict


def record(number, status, name, replaces=None):
    return parse_line(encode_line(verdict(number, status, record_id=name, replaces=replaces)))


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
    for order in itertools.permutations(records):
        assert judge(order, finished=True) == expected


def test_before_the_end_it_is_not_pass():
    assert judge([record(1, "PASS", "a")], finished=False).status is Status.ERROR
