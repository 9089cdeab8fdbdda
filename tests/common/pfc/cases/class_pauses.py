"""CLASS: pauses of several lossless priorities, each of which lasts for its own time whatever happens to the others.

The course is TIME's: pauses at a fixed rate, and what they leave of the line. In each window another priority has the
load: it must lose what the frames say of it, and what they say of the others must change nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from ..model.arithmetic import MAX_QUANTA, QUANTUM_BITS
from ..model.qos import PRIORITIES
from ..record.case import PlanCase, Target
from .engine import Table
from .pause_pattern import WINDOW_EXACT_S, Pauses, TimedPause
from .targets import several_lossless
from .timing import SHORT_COUNT, SHORT_QUANTA, Course, timed_case

OWN_TIMES = PlanCase("class-own-times", "CLASS-1")
ONE_RESUMES = PlanCase("class-one-resumes", "CLASS-2")
INTERLEAVED = PlanCase("class-interleaved", "CLASS-3")
EVERY_SET = PlanCase("class-every-set", "CLASS-4")
TEST_PERCENT = 90
BESIDE_PERCENT = 1  # all paused priorities without the load: little, because they take their part when they like
BACKGROUND_PERCENT = 9
COUNT = 6  # periods in 4 ms: each is twice the longest pause, which is 335.5 us
SHORT = 16_384  # 83.9 us


@dataclass(frozen=True)
class PauseOfPeriod:
    """A pause frame of each period.

    Attributes:
        at_us: when it comes, as of `TimedPause`.
        own: its time for the priority that has the load; None: it does not name that.
        others: the same for the other tested priorities.
        rest: the same for all that are not tested.
    """

    at_us: int
    own: int | None
    others: int | None
    rest: int | None = None

    def to(self, own: int, others: Target) -> TimedPause:
        """The frame, where `own` has the load."""
        times = {**dict.fromkeys(PRIORITIES, self.rest), own: self.own, **dict.fromkeys(others, self.others)}
        quanta = {priority: time for priority, time in times.items() if time is not None}
        return TimedPause(quanta, Fraction(self.at_us))


Storm = tuple[PauseOfPeriod, ...]
BOTH = PauseOfPeriod(0, MAX_QUANTA, MAX_QUANTA)
STORMS: Mapping[PlanCase, Mapping[int, tuple[Storm, ...]]] = {  # periods in 4 ms -> storms
    OWN_TIMES: {
        COUNT: ((PauseOfPeriod(0, MAX_QUANTA, SHORT),), (PauseOfPeriod(0, SHORT, MAX_QUANTA),)),
        # a short time is lost where it is rounded as the longest one
        SHORT_COUNT: ((PauseOfPeriod(0, SHORT_QUANTA, MAX_QUANTA),),),
    },
    ONE_RESUMES: {COUNT: (
        (BOTH, PauseOfPeriod(100, 0, None)),
        (BOTH, PauseOfPeriod(100, None, 0)),
        (BOTH, PauseOfPeriod(100, 0, 0)),
        (BOTH, PauseOfPeriod(100, 0, MAX_QUANTA)),
        (BOTH, PauseOfPeriod(100, MAX_QUANTA, 0)),
        (BOTH, PauseOfPeriod(100, None, None, rest=0)),
        (PauseOfPeriod(0, MAX_QUANTA, MAX_QUANTA, rest=0),),
    )},
    INTERLEAVED: {
        COUNT: ((PauseOfPeriod(0, MAX_QUANTA, None), PauseOfPeriod(100, None, MAX_QUANTA)),),
        4 * COUNT: ((
            PauseOfPeriod(0, SHORT, None), *(PauseOfPeriod(at_us, None, SHORT // 4) for at_us in (40, 80, 120)),
        ),),
    },
}


def _course(target: Target, storms: list[tuple[Target, Pauses]]) -> Course:
    return Course(tuple(storms), TEST_PERCENT, BESIDE_PERCENT, BACKGROUND_PERCENT)


def each_in_turn(case: PlanCase) -> Callable[[Target], Course]:
    """The storms of a case, with the load on each of the tested priorities."""

    def course(target: Target) -> Course:
        others = {own: tuple(priority for priority in target if priority != own) for own in target}
        return _course(target, [
            ((own,), Pauses(tuple(sent.to(own, others[own]) for sent in storm), count))
            for own in target for count, storms in STORMS[case].items() for storm in storms
        ])

    return course


def sets_of(target: Target) -> list[Target]:
    """Each priority, each two of them, all but one, and all: of up to four priorities that is every set."""
    sizes = (1, 2, len(target) - 1, len(target))
    return list(dict.fromkeys(one for size in sizes for one in combinations(target, size)))


def every_set(target: Target) -> Course:
    """Each set of priorities is paused by itself, one after the other, and then again; a pause lasts at most half of
    the time until the next."""
    sets = sets_of(target)
    apart_us = WINDOW_EXACT_S * 10**6 / COUNT / len(sets)
    quanta = min(SHORT, int(apart_us / 2 * 100_000 / QUANTUM_BITS))
    frames = tuple(TimedPause(dict.fromkeys(one, quanta), place * apart_us) for place, one in enumerate(sets))
    return _course(target, [((own,), Pauses(frames, COUNT)) for own in target])


COURSES: Mapping[PlanCase, Callable[[Target], Course]] = {
    **{case: each_in_turn(case) for case in STORMS}, EVERY_SET: every_set,
}
CASES: Table = {case: timed_case(course, several_lossless) for case, course in COURSES.items()}
