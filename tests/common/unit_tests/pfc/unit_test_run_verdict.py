"""Many verdicts become one, of a run."""

import itertools

import pytest

from tests.common.pfc.record.effective_records import NOT_FINISHED, NOTHING_MEASURED, Verdict, aggregate
from tests.common.unit_tests.pfc.unit_test_verdict import ERROR, FAIL, PASS

PASSED = Verdict(PASS)
FAILED = Verdict(FAIL, "f")
BROKEN = Verdict(ERROR, "e")


@pytest.mark.parametrize("verdicts, expected", [
    ([], Verdict(ERROR, NOTHING_MEASURED)),
    ([PASSED], PASSED),
    ([PASSED, PASSED], PASSED),
    ([FAILED], FAILED),
    ([BROKEN], BROKEN),
    ([PASSED, FAILED], FAILED),
    ([PASSED, BROKEN], BROKEN),
    ([BROKEN, FAILED], FAILED),
    ([PASSED, BROKEN, FAILED], FAILED),
    ([FAILED, Verdict(FAIL, "g"), BROKEN], Verdict(FAIL, "f (and 1 more)")),
    ([Verdict(ERROR)], Verdict(ERROR, "no cause was given")),
])
def test_many_verdicts_become_one(verdicts, expected):
    """With the first cause."""
    assert aggregate(verdicts) == expected, aggregate(verdicts)
    assert aggregate(iter(reversed(verdicts))).status == expected.status, aggregate(reversed(verdicts))


def test_only_passes_make_a_pass():
    """Of a run that has finished."""
    for count in range(4):
        for verdicts in itertools.product([PASSED, FAILED, BROKEN], repeat=count):
            for finished in (True, False):
                is_pass = aggregate(verdicts, finished).status is PASS
                expected = finished and count > 0 and set(verdicts) == {PASSED}
                assert is_pass == expected, f"{verdicts}, finished: {finished}: {is_pass}"


def test_before_the_end_nothing_is_pass():
    """It is ERROR, unless it failed already."""
    assert aggregate([PASSED], finished=False) == Verdict(ERROR, NOT_FINISHED), "a run that goes on"
    assert aggregate([PASSED, FAILED], finished=False) == FAILED, "a FAIL stays one"
    assert aggregate([], finished=False) == Verdict(ERROR, NOTHING_MEASURED), "nothing yet"
