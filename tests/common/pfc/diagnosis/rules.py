"""What failed checks have in common, in one sentence: rules over their names, priorities, places and numbers.

A rule says what the numbers show and no more; what no rule explains is said to be unexplained.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..record.case import named
from ..record.verdict import Check, PortVerdict, Status

Case = tuple[str, PortVerdict]  # plan id, verdict


@dataclass(frozen=True)
class FailedCheck:
    """A check that failed, in a test case."""

    plan_id: str
    check: Check

    @property
    def port(self) -> str:
        """`vtb-t0-01 Ethernet8`: where the check looked."""
        return " ".join(self.check.where.split()[:2])

    @property
    def priorities(self) -> list[int]:
        """What its place names; of a record that was read back there is nothing else."""
        found = re.search(r"priorit(?:y|ies) (\d(?:, \d)*)", self.check.where)
        return [int(one) for one in found[1].split(", ")] if found else []


class Symptoms:
    """The failed checks of one port under test.

    Attributes:
        failures: each once.
    """

    def __init__(self, failures: Iterable[FailedCheck]) -> None:
        self.failures = list(dict.fromkeys(failures))

    def of(self, *names: str) -> Symptoms:
        """Those of these names."""
        return Symptoms(one for one in self.failures if one.check.name in names)

    def has(self, *names: str) -> bool:
        """Whether a check of each of these names failed."""
        return {*names} <= {one.check.name for one in self.failures}

    def any(self, *names: str) -> bool:
        """Whether a check of one of these names failed."""
        return bool(self.of(*names).failures)

    def only_in(self, *plan_ids: str) -> bool:
        """Whether something failed, and in these test cases alone."""
        return bool(self.failures) and all(one.plan_id in plan_ids for one in self.failures)

    def family(self, family: str) -> Symptoms:
        """Those of the test cases of a family."""
        return Symptoms(one for one in self.failures if one.plan_id.startswith(f"{family}-"))

    @property
    def port(self) -> str:
        """Where the first check looked."""
        return self.failures[0].port

    @property
    def first(self) -> str:
        """What the first check says."""
        check = self.failures[0].check
        return f"expected {check.expected}, got {check.seen}"

    @property
    def who(self) -> str:
        """`priority 3`, `priorities 3, 4`; where no check names one: the port."""
        found = sorted({priority for one in self.failures for priority in one.priorities})
        return named(found) if found else "the port"

    def seen(self, none: bool) -> Symptoms:
        """Those that saw nothing (or something)."""
        return Symptoms(one for one in self.failures if (one.check.seen == 0) == none)


@dataclass(frozen=True)
class Rule:
    """A cause.

    Attributes:
        name: of the rule.
        holds: whether symptoms show it.
        says: the sentence, of symptoms that show it.
    """

    name: str
    holds: Callable[[Symptoms], bool]
    says: Callable[[Symptoms], str]


def _only(*plan_ids: str) -> Callable[[Symptoms], bool]:
    return lambda found: found.only_in(*plan_ids)


def _any(*names: str) -> Callable[[Symptoms], bool]:
    return lambda found: found.any(*names)


def _stopped_others(found: Symptoms) -> bool:
    hit = found.of("background-unaffected", "test-unaffected").seen(none=True)
    return bool(hit.failures) and not found.family("WD").failures


def _stops_others(found: Symptoms) -> str:
    hit = found.of("background-unaffected", "test-unaffected")
    starved = hit.seen(none=False)
    behind = f"; {starved.who} starve behind it" if starved.failures else ""
    return f"{hit.port}: a pause also stops {hit.seen(none=True).who}, of which no frame came{behind}"


def _about(words: str, *names: str) -> Callable[[Symptoms], str]:
    """A sentence about the checks of these names (none: all), with their port, priorities and the first's numbers."""
    def says(found: Symptoms) -> str:
        one = found.of(*names) if names else found
        return f"{one.port}: {words.format(who=one.who)} ({one.failures[0].check.name}: {one.first})"

    return says


RULES = (
    Rule("frames lost without a storm", _any("clean-flow"),
         _about("frames of {who} are lost on their way out, also without any storm", "clean-flow")),
    Rule("pauses as data", _any("pauses-are-no-data"), _about("pauses are counted as data", "pauses-are-no-data")),
    Rule("pauses as drops", _any("pauses-are-no-drops"), _about("pauses are counted as drops", "pauses-are-no-drops")),
    Rule("802.3x pause", _only("PFC-4"), _about("802.3x pause frames are taken for PFC")),
    Rule("no enable bit", _only("FRAME-4", "FRAME-5", "FRAME-6", "COUNT-2"),
         _about("PFC frames that enable no priority are obeyed or counted")),
    Rule("unknown operation code", _only("FRAME-7"), _about("MAC control frames of another operation code are obeyed")),
    Rule("zero source", lambda found: found.only_in("FRAME-1", "FRAME-2") and found.has("pause-counted"),
         _about("PFC frames from 00:00:00:00:00:00 are neither counted nor obeyed", "blocked-while-paused")),
    Rule("pauses forwarded", _any("pause-not-forwarded"),
         _about("pause frames are forwarded to other ports", "pause-not-forwarded")),
    Rule("another destination", _only("FRAME-8"), _about("PFC frames to another destination are obeyed")),
    Rule("other queue stopped", _stopped_others, _stops_others),
    Rule("watchdog blind", _any("storm-detected"),
         _about("the watchdog does not detect the pause storm on {who}", "storm-detected")),
    Rule("watchdog false alarm", _any("no-storm-detected", "no-other-storm"),
         _about("the watchdog detects a storm on {who} where there is none", "no-storm-detected", "no-other-storm")),
    Rule("watchdog times", _any("detection-time"),
         _about("the watchdog detects storms on {who} at another time than it is told to", "detection-time")),
    Rule("watchdog drops others", lambda found: found.family("WD").any("background-unaffected"),
         _about("the watchdog's action also hits {who}", "background-unaffected")),
    Rule("watchdog restores", _any("restored"),
         _about("the watchdog does not restore {who} after the storm", "restored")),
    Rule("watchdog leaks", _any("dropped-in-storm"),
         _about("the watchdog detects the storm, but does not drop {who}", "dropped-in-storm")),
    Rule("watchdog counters", _any("storm-counted", "restoration-counted", "frames-counted"),
         _about("the watchdog acts, but does not count it for {who}")),
    Rule("pause ignored", lambda found: found.any("blocked-while-paused") and found.any("back-pressure"),
         _about("pauses of {who} stop nothing", "blocked-while-paused")),
    Rule("pause too short", lambda found: found.any("paused-long-enough")
         or found.has("blocked-while-paused", "held-within-buffer"),
         _about("pauses of {who} hold for less than their time", "paused-long-enough", "blocked-while-paused")),
    Rule("paused queue leaks", _any("blocked-while-paused", "held-queue-stands-still"),
         _about("some frames of {who} leave although their queue is paused", "blocked-while-paused",
                "held-queue-stands-still")),
    Rule("slow response", _any("stopped-in-time"), _about("pauses of {who} act too late", "stopped-in-time")),
    Rule("flap", _any("pause-ended-with-link"),
         _about("a pause of {who} outlives the link's going down", "pause-ended-with-link")),
    Rule("no early resume", _any("resumed-in-time"),
         _about("a pause time of 0 does not let {who} go on", "resumed-in-time")),
    Rule("pause length", _any("length-to-scale"),
         _about("pauses of {who} do not last as long as their quanta say", "length-to-scale")),
    Rule("pfc_enable", lambda found: found.family("LSET").any("test-unaffected"),
         _about("{who} is paused although the configuration took it out of pfc_enable", "test-unaffected")),
    Rule("counted elsewhere", lambda found: found.any("no-other-pause-counted") and found.any("every-pause-counted"),
         _about("pauses are counted for {who}, which they are not for", "no-other-pause-counted")),
    Rule("not counted", _any("pause-counted"),
         _about("pauses of {who} act, but are not counted", "pause-counted")),
    Rule("no XOFF", _any("xoff-sent", "back-pressure"),
         _about("no pause is sent for {who}, and its sender is not held", "xoff-sent", "back-pressure")),
    Rule("not refreshed", _any("refreshed"), _about("the pause sent for {who} is not repeated in time", "refreshed")),
    Rule("short pause frame", _any("length", "eight-times"),
         _about("pause frames that are sent end too early, so that receivers discard them", "length", "eight-times")),
    Rule("no XON", _any("xon-sent", "sender-resumed"),
         _about("the end of congestion is not told to senders of {who}", "xon-sent", "sender-resumed")),
    Rule("source address", _any("source", "source-own"),
         _about("pause frames have a wrong source", "source", "source-own")),
    Rule("unasked pause", _any("no-back-pressure"),
         _about("pauses of {who} are sent although nothing is congested", "no-back-pressure")),
    Rule("pause of another priority", _any("no-other-back-pressure", "no-other-enabled", "hop-no-other-back-pressure"),
         _about("{who} is paused too while others are congested", "no-other-back-pressure", "no-other-enabled",
                "hop-no-other-back-pressure")),
    Rule("sender not held", _any("held-within-buffer"),
         _about("pauses are sent for {who}, but its sender sends more than the buffer takes", "held-within-buffer")),
    Rule("no headroom", _any("held-frames-drained", "headroom-full", "no-group-drops"),
         _about("pauses are sent for {who}, but frames that come in after them are lost", "held-frames-drained",
                "headroom-full", "no-group-drops")),
    Rule("XOFF threshold", _any("xoff-threshold"),
         _about("the first pause for {who} is sent at another fill than the buffer profile says", "xoff-threshold")),
    Rule("drops not counted", _any("port-drops-counted", "queue-drops-counted", "group-drops-counted"),
         _about("dropped frames are not counted")),
    Rule("shares", _any("share-by-weight"),
         _about("the line is not shared by the queues' weights: {who}", "share-by-weight")),
    Rule("count is off", _any("every-pause-counted"),
         _about("the receive counter of {who} is not the number of pauses sent", "every-pause-counted")),
)
"""The most specific first."""


def diagnose(cases: Sequence[Case]) -> list[str]:
    """One sentence for each port under test that has failed checks, in their order; ports without any have none."""
    ports: dict[tuple[str, str], list[FailedCheck]] = {}
    for plan_id, verdict in cases:
        failed = [FailedCheck(plan_id, one) for one in verdict.checks if one.required and one.status is Status.FAIL]
        if failed and verdict.error is None:
            ports.setdefault((verdict.device, verdict.port), []).extend(failed)
    return [sentence_of(Symptoms(failures)) for failures in ports.values()]


def sentence_of(found: Symptoms) -> str:
    """What the first rule that holds says; else that there is none."""
    rule = next((one for one in RULES if one.holds(found)), None)
    if rule is not None:
        return rule.says(found)
    number = len(found.failures)
    return f"no single cause found: {number} checks failed, first {found.failures[0].check.message}"
