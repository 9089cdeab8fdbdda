"""Pauses of several classes: what each loses, and which sets are paused."""

from fractions import Fraction

import pytest

from tests.common.pfc.cases import class_pauses
from tests.common.pfc.cases.timing import BRIEF_COUNT, COURSES, SHORT_COUNT
from tests.common.unit_tests.pfc.unit_test_timing import SPEEDS


def test_what_a_class_loses_whatever_the_others_do():
    """Of CLASS-2, for the priority with the load: ended after 100 us; its whole time; ended with all others; ended;
    refreshed at 100 us; its whole time, where lossy ones are ended apart, or in each frame."""
    windows = class_pauses.COURSES[class_pauses.ONE_RESUMES]((3, 4)).windows
    own = [float(window.pauses.held(window.loaded[0], 100_000).seconds) * 1e6 for window in windows]
    due = 2 * (100, 335.539, 100, 100, 435.539, 335.539, 335.539)
    assert own == [pytest.approx(us, abs=0.001) for us in due], f"got {own}"
    assert [window.loaded for window in windows] == 7 * [(3,)] + 7 * [(4,)], "each of them has the load in turn"


@pytest.mark.parametrize(("number", "sets"), [(2, 3), (3, 7), (4, 15), (5, 21), (8, 45)])
def test_every_set_of_priorities_is_paused_up_to_four(number, sets):
    """And of more each one, each two, all but one, and all; no two pauses overlap."""
    target = tuple(range(number))
    assert len(set(class_pauses.sets_of(target))) == sets, f"got {class_pauses.sets_of(target)}"
    for window in class_pauses.every_set(target).windows:
        held = window.pauses.held(window.loaded[0], 100_000)
        assert held.times == sum(window.loaded[0] in frame.quanta for frame in window.pauses.frames), f"got {held}"


@pytest.mark.parametrize("speed", SPEEDS)
def test_the_paused_share_is_the_same_at_every_speed(speed):
    """A window holds whole periods, and no pause reaches into the next, but those that are to hold all along."""
    courses = [(case, course((3, 4))) for case, course in {**COURSES, **class_pauses.COURSES}.items()]
    for case, course in courses:
        for window in course.windows:
            pauses = window.pauses
            seconds = Fraction(4, 1000) * 100_000 / speed
            share, usual = (
                pauses.held(window.loaded[0], one).seconds * pauses.fps(one) for one in (speed, 100_000)
            )
            assert share == pytest.approx(float(usual), rel=0.01), f"{case.plan_id} at {speed} Mb/s: {float(share)}"
            overlaps = window.pauses.count in (SHORT_COUNT, BRIEF_COUNT)
            assert share == 1 if overlaps else share < 1, f"{case.plan_id} at {speed} Mb/s: {float(share)}"
            periods = float(seconds * pauses.fps(speed))
            whole = pytest.approx(pauses.count, rel=1e-4, abs=0.1)
            assert periods == whole, f"{case.plan_id} at {speed} Mb/s: {periods} periods in a window"
