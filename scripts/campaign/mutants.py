"""Mutants of the suite: a check that is not made, a limit that is wider. A campaign with one shows whether that is
noticed: the score has to fall. They are patches of this process alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from tests.common.pfc.accounting import auditor
from tests.common.pfc.cases import qualifier, timing_storms
from tests.common.pfc.cases.engine import Finding
from tests.common.pfc.lab.watchdog import Timers
from tests.common.pfc.record.verdict import Check

Patches = Callable[[], Sequence[AbstractContextManager[Any]]]
WIDER = 10
"""How many times as wide the limits of a mutant are."""


@dataclass(frozen=True)
class Mutant:
    """A suite with something less.

    Attributes:
        name: as `--mutant` takes it.
        says: what is less, for the table.
        patches: what makes it so.
        blinds: names of the catalogue's faults that it must keep the suite from catching, of which one is enough.
    """

    name: str
    says: str
    patches: Patches
    blinds: tuple[str, ...]


def _without(*names: str) -> Patches:
    """The suite without some checks: made, and thrown away before they are judged."""
    def kept(checks: Sequence[Check]) -> list[Check]:
        return [check for check in checks if check.name not in names]

    def patches() -> Sequence[AbstractContextManager[Any]]:
        own = qualifier.judged

        def judged(subject: Any, case: Any, target: Any, finding: Finding, clean_flow: Sequence[Check]) -> Any:
            less = replace(finding, checks=kept(finding.checks), audit_checks=kept(finding.audit_checks))
            return own(subject, case, target, less, kept(clean_flow))

        return [patch.object(qualifier, "judged", judged)]
    return patches


def _no_arrival() -> Sequence[AbstractContextManager[Any]]:
    """Nobody looks whether pauses arrived."""
    return [patch.object(auditor, "_arrival", lambda *given: None)]


def _late_response() -> Sequence[AbstractContextManager[Any]]:
    """So many times as many frames may pass before a pause acts."""
    in_all = timing_storms.most_passed_in_all
    each = timing_storms.most_passed
    return [patch.object(timing_storms, "most_passed_in_all", lambda *given: WIDER * in_all(*given)),
            patch.object(timing_storms, "most_passed", lambda *given: WIDER * each(*given))]


def _patient_watchdog() -> Sequence[AbstractContextManager[Any]]:
    """The watchdog may take so many times as long."""
    own = Timers.detection_bounds_ms

    def bounds(*given: Any) -> Any:
        earliest, latest = own(*given)
        return earliest, WIDER * latest

    return [patch.object(Timers, "detection_bounds_ms", bounds)]


ALL = (
    Mutant("no-accounting", "counters of ports are not explained by what was sent (`counter-explained`)",
           _without("counter-explained"), ("pause-acts-elsewhere", "pfc-counted-elsewhere", "xoff-elsewhere")),
    Mutant("no-arrival", "nobody looks whether pauses arrived (`storm-arrived`)", _no_arrival,
           ("storm-never-arrives", "control-uncounted")),
    Mutant("no-pause-count", "received pauses are not counted to the frame (`every-pause-counted`)",
           _without("every-pause-counted"), ("counted-short", "counters-negative")),
    Mutant("no-leaks", "no frame is looked for in a storm (`blocked-while-paused`, `held-queue-stands-still`)",
           _without("blocked-while-paused", "held-queue-stands-still"), ("pause-leaks",)),
    Mutant("late-response", f"{WIDER} times as many frames may pass before a pause acts (`stopped-in-time`)",
           _late_response, ("pause-late", "slow-response")),
    Mutant("no-xon", "the end of congestion is not looked for (`xon-sent`, `sender-resumed`)",
           _without("xon-sent", "sender-resumed"), ("xon-not-sent",)),
    Mutant("no-source", "the source of pause frames is not looked at (`source`, `source-own`)",
           _without("source", "source-own"), ("zero-source-sent",)),
    Mutant("no-shares", "shares of a line are not compared with weights (`share-by-weight`)",
           _without("share-by-weight"), ("weights-ignored",)),
    Mutant("no-thresholds", "headroom and XOFF threshold are not measured (`headroom-full`, `xoff-threshold`)",
           _without("headroom-full", "xoff-threshold"), ("headroom-short", "xoff-early")),
    Mutant("patient-watchdog", f"a storm may be detected {WIDER} times as late (`detection-time`)", _patient_watchdog,
           ("watchdog-late",)),
)
MUTANTS = {mutant.name: mutant for mutant in ALL}


@contextmanager
def mutated(name: str) -> Iterator[None]:
    """The suite with a mutant, inside the `with` block."""
    with ExitStack() as stack:
        for one in MUTANTS[name].patches():
            stack.enter_context(one)
        yield
