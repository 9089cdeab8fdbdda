"""Faults of received pauses that meet: several classes, one after another, several ports, or a link that comes up.

The port named is the one where the pause arrives.
"""
from __future__ import annotations

from virtual_testbed.dataplane.model.hooks import IGNORED, PROLONGS, Fault, Scope
from virtual_testbed.dataplane.model.units import PS_PER_MS
from virtual_testbed.faults.options import FaultAtAnother, NumberedFault, choice, concerns

Pauses = tuple[tuple[int, int], ...]
CLASSES = range(8)


class ResumeAll(Fault):
    """A time of 0 for any class ends the pauses of all classes that the frame itself does not pause."""

    name = "resume-all"

    def timers(self, pauses: Pauses) -> Pauses:
        """With a time of 0 for every other class."""
        return _with_ends(self, pauses) if any(not quanta for _, quanta in pauses) else pauses


class ResumeLowest(Fault):
    """Of the classes that a frame resumes with a time of 0 the lowest does; the others stay paused as they are."""

    name = "resume-lowest"

    def timers(self, pauses: Pauses) -> Pauses:
        """Without further times of 0."""
        lowest = next((number for number, quanta in pauses if not quanta), None)
        return tuple((number, quanta) for number, quanta in pauses
                     if quanta or number == lowest or not concerns(self, number))


class PauseReplaces(Fault):
    """A PFC frame that enables a class ends the pauses of those that it does not enable."""

    name = "pause-replaces"

    def timers(self, pauses: Pauses) -> Pauses:
        """With a time of 0 for every other class."""
        return _with_ends(self, pauses) if pauses else pauses


def _with_ends(fault: Fault, pauses: Pauses) -> Pauses:
    return (*pauses, *((number, 0) for number in CLASSES if number not in dict(pauses) and concerns(fault, number)))


class RefreshIgnored(Fault):
    """A pause of a class that is paused already does nothing: the class resumes when its first pause is over, and only
    the next frame pauses it again. A time of 0 resumes as ever.
    """

    name = "refresh-ignored"

    def further_pause(self, priority: int, effect: str) -> str:
        """Nothing."""
        return IGNORED


class ShorterIgnored(Fault):
    """A pause shorter than what is left of the one before does not shorten it. A time of 0 resumes as ever."""

    name = "shorter-ignored"

    def further_pause(self, priority: int, effect: str) -> str:
        """It can only prolong."""
        return PROLONGS


class OneTimeForAll(Fault):
    """All classes that a PFC frame enables get one time: the longest of them, or with `which=first` that of the lowest
    class.

    Raises:
        ValueError: `which` is neither `longest` nor `first`.
    """

    name = "one-time-for-all"
    options = ("which",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._is_first = choice(options, "which", "longest", "first") == "first"

    def timers(self, pauses: Pauses) -> Pauses:
        """With that time."""
        times = [quanta for _, quanta in pauses]
        one = (times[0] if self._is_first else max(times)) if times else 0
        return tuple((number, one if concerns(self, number) else quanta) for number, quanta in pauses)


class TimesSwapped(Fault):
    """The classes that a PFC frame enables get its times in the reverse order: the lowest class that of the highest."""

    name = "times-swapped"

    def timers(self, pauses: Pauses) -> Pauses:
        """With these times."""
        swapped = zip(pauses, reversed(pauses))
        return tuple((number, other if concerns(self, number) else quanta)
                     for (number, quanta), (_, other) in swapped)


class TimesRounded(NumberedFault):
    """The times of a PFC frame are kept with the exponent of its longest one: of each other time only what is left
    above that one's upper `bits` (8) bits, so that a short pause beside a long one is shorter or none at all.
    """

    name = "times-rounded"
    options = ("bits",)
    defaults = {"bits": 8}

    def timers(self, pauses: Pauses) -> Pauses:
        """With these times."""
        longest = max((quanta for _, quanta in pauses), default=0)
        lost = max(0, longest.bit_length() - self.number("bits"))
        return tuple((number, quanta >> lost << lost if quanta != longest and concerns(self, number) else quanta)
                     for number, quanta in pauses)


class PauseActsElsewhere(FaultAtAnother):
    """A received pause also shuts the queue of its priority at the port `on`; with `only=yes` not at its own."""

    name = "pause-acts-elsewhere"

    def shut_queues(self, priority: int, queues: frozenset[int]) -> frozenset[int]:
        """None here, if only those elsewhere."""
        return frozenset() if self.is_only else queues

    def shut_elsewhere(self, priority: int, own: frozenset[int],
                       queues: frozenset[tuple[str, int]]) -> frozenset[tuple[str, int]]:
        """The queues of the same numbers."""
        return queues | {(self.on, queue) for queue in own}


class PfcCountedElsewhere(FaultAtAnother):
    """Received PFC frames are counted at the port `on`: also, or with `only=yes` not at their own. They act as ever."""

    name = "pfc-counted-elsewhere"

    def counted_at(self, priority: int, ports: frozenset[str]) -> frozenset[str]:
        """There."""
        return frozenset({self.on}) if self.is_only else ports | {self.on}


class PauseIgnoredAfterLinkUp(NumberedFault):
    """For `ms` (1000) milliseconds after the link has come up a received pause stops nothing; it is counted."""

    name = "pause-ignored-after-link-up"
    options = ("ms",)
    defaults = {"ms": 1000}

    def deaf_after_link_up_ps(self, priority: int, time_ps: int) -> int:
        """What `ms` says."""
        return self.number("ms") * PS_PER_MS


FAULTS: tuple[type[Fault], ...] = (
    ResumeAll, ResumeLowest, PauseReplaces, RefreshIgnored, ShorterIgnored, OneTimeForAll, TimesSwapped, TimesRounded,
    PauseActsElsewhere,
    PfcCountedElsewhere, PauseIgnoredAfterLinkUp)
