"""A port that was measured in a wave and alone: the worse of both, and what shows in one of them only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..model.ports import summary
from ..record.case import Outcome
from ..record.verdict import Check, PortVerdict, Status, combine

ALONE = "alone"
WORSE = (Status.PASS, Status.ERROR, Status.FAIL)
UNION = ("files", "files_missing")
"""Of the evidence: what is of both measurements."""


@dataclass(frozen=True)
class ModeOutcome:
    """One of the two measurements.

    Attributes:
        mode: how the port was measured: `alone`, or `in a wave with Ethernet4, Ethernet8`.
        outcome: what came of it.
    """

    mode: str
    outcome: Outcome

    @property
    def status(self) -> Status:
        """Of all its verdicts."""
        return combine(verdict.status for verdict in self.outcome.verdicts)

    def checks(self, metric: str) -> list[Check]:
        """The checks of a metric; what kept it from being measured is one of them."""
        return [check for one in self.outcome.verdicts if one.metric_name == metric for check in _with_cause(one)]


def mode_of(port: str, wave: Sequence[str]) -> str:
    """How a port was measured."""
    others = [other for other in wave if other != port]
    return f"in a wave with {summary(others)}" if others else ALONE


def worse_of(wave: ModeOutcome, alone: ModeOutcome) -> Outcome:
    """The verdicts of both measurements together: a verdict is FAIL if it was in one of them, else ERROR if it was, and
    each reason says in which. Its evidence is that of the worse one, and of the other under `measured_also`."""
    verdicts = [
        replace(verdict, checks=list(_together(wave, alone, verdict.metric_name)), error=None)
        for verdict in wave.outcome.verdicts
    ]
    worse, other = (wave, alone) if WORSE.index(wave.status) >= WORSE.index(alone.status) else (alone, wave)
    evidence = {**worse.outcome.evidence, "measured": worse.mode,
                "measured_also": {**_own(other.outcome.evidence), "measured": other.mode}}
    for name in UNION:
        found = [one for each in (wave, alone) for one in each.outcome.evidence.get(name, ())]
        evidence |= {name: list(dict.fromkeys(found))} if found else {}
    return Outcome(wave.outcome.case, verdicts, evidence)


def without_a_wave(alone: Outcome) -> Outcome:
    """What a port comes to beside which no other can be measured: what shows in a wave only is not known of it."""
    verdicts = []
    for verdict in alone.verdicts:
        where = f"{verdict.device} {verdict.port}"
        expected = "another port that can be measured at once, for a measurement in a wave"
        lacks = Check("measured", verdict.metric_name, Status.ERROR, expected, "none", where)
        verdicts.append(replace(verdict, checks=[*verdict.checks, lacks]))
    return replace(alone, verdicts=verdicts)


def _with_cause(verdict: PortVerdict) -> Iterator[Check]:
    yield from verdict.checks
    if verdict.status is Status.ERROR and not any(verdict.cause == check.message for check in verdict.checks):
        where = f"{verdict.device} {verdict.port}"
        cause = verdict.cause
        yield Check("measured", verdict.metric_name, Status.ERROR, "a measurement", "none", where, text=cause)


def _together(wave: ModeOutcome, alone: ModeOutcome, metric: str) -> Iterator[Check]:
    """The checks of both; what is the same in both once."""
    for own, other in ((wave, alone), (alone, wave)):
        others = other.checks(metric)
        for check in own.checks(metric):
            if check not in others:
                yield replace(check, text=f"{_said(check, own.mode, others)}: {check.message}")
            elif own is wave:
                yield check


def _said(check: Check, mode: str, others: Sequence[Check]) -> str:
    """`only alone` where the other measurement was one, and did not say the same of the same place."""
    bad = [one for one in others if one.status is not Status.PASS]
    is_said = any((one.name, one.where) == (check.name, check.where) or one.status is Status.ERROR for one in bad)
    return mode if check.status is Status.PASS or is_said else f"only {mode}"


def _own(evidence: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in evidence.items() if name not in UNION}
