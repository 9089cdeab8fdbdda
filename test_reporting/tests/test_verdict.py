from __future__ import annotations

import itertools

import pytest

from test_reporting.pfc.verdict import NOT_FINISHED, NOTHING_MEASURED, Status, Verdict, aggregate

PASS, FAIL, ERROR = Verdict(Status.PASS), Verdict(Status.FAIL, "f"), Verdict(Status.ERROR, "e")


@pytest.mark.parametrize("verdicts, expected", [
    ([], Verdict(Status.ERROR, NOTHING_MEASURED)),
    ([PASS], PASS),
    ([PASS, PASS], PASS),
    ([FAIL], FAIL),
    ([ERROR], ERROR),
    ([PASS, FAIL], FAIL),
    ([PASS, ERROR], ERROR),
    ([ERROR, FAIL], FAIL),
    ([PASS, ERROR, FAIL], FAIL),
    ([FAIL, Verdict(Status.FAIL, "g"), ERROR], Verdict(Status.FAIL, "f (and 1 more)")),
    ([Verdict(Status.ERROR)], Verdict(Status.ERROR, "no cause was given")),
])
def test_many_verdicts_become_one(verdicts, expected):
    assert aggregate(verdicts) == expected
    assert aggregate(iter(reversed(verdicts))).status == expected.status


def test_only_passes_make_a_pass():
    for count in range(4):
        for verdicts in itertools.product([PASS, FAIL, ERROR], repeat=count):
            for finished in (True, False):
                is_pass = aggregate(verdicts, finished).status is Status.PASS
                assert is_pass == (finished and count > 0 and set(verdicts) == {PASS})


def test_before_the_end_nothing_is_pass():
    assert aggregate([PASS], finished=False) == Verdict(Status.ERROR, NOT_FINISHED)
    assert aggregate([PASS, FAIL], finished=False) == FAIL
    assert aggregate([], finished=False) == Verdict(Status.ERROR, NOTHING_MEASURED)


def test_numbers_are_those_of_sonic_mgmt():
    assert [status.number for status in (Status.PASS, Status.FAIL, Status.ERROR)] == [0, 1, None]
