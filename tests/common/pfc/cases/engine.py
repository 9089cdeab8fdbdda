"""Carrying out a test case. A case is a row of a table: what it is about on a port, how it is measured, whether that
was a measurement, and what is judged. Each family of cases has a table, `CASES`; `plan` finds the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from ..lab.counter_polling import POLL_GRACE_S
from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..model.measurement import CaseRun, PortUnderTest
from ..record.case import PlanCase, Target
from ..record.verdict import Check, Status


class Measured(Protocol):
    """What was measured; usually a `CaseRun`."""

    @property
    def settled(self) -> DutCounters | None:
        """The switch's last counters, if everything of this run is in them; None: the next run has to read anew."""

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""


RunT = TypeVar("RunT", bound=Measured)
Checks = Callable[[RunT], Iterable[Check]]


@dataclass(frozen=True)
class Finding:
    """What came of carrying out a test case.

    Attributes:
        checks: what was judged.
        invalid: reasons why it was no measurement, best first (status ERROR); then nothing was judged.
        evidence: the numbers behind it, for the record.
        settled: the switch's last counters, as `Measured` has them.
        audit_checks: what auditors found beside it.
    """

    checks: Sequence[Check]
    invalid: Sequence[Check]
    evidence: Mapping[str, Any]
    settled: DutCounters | None = None
    audit_checks: Sequence[Check] = ()


@dataclass(frozen=True)
class Targets:
    """What a case is about on a port.

    Attributes:
        on: the targets on a port: the case is carried out once for each. Empty: it cannot be carried out there.
        needs: what a port has to have for that, for a note: "several lossless priorities".
        wider: those that these are part of: what they need is needed too.
    """

    on: Callable[[PortUnderTest], list[Target]]
    needs: str = ""
    wider: Targets | None = None

    def where(self, holds: Callable[[PortUnderTest], object], needs: str) -> Targets:
        """The same on ports of which something holds; `needs` says what."""
        return Targets(lambda subject: self.on(subject) if holds(subject) else [], needs, self)

    def lack(self, subject: PortUnderTest) -> str | None:
        """What a port lacks, the first of several things; None: nothing."""
        return None if self.on(subject) else (self.wider.lack(subject) if self.wider else None) or self.needs


@dataclass(frozen=True)
class Procedure(Generic[RunT]):
    """How a test case is carried out.

    Attributes:
        measure: the course of the case, given what to measure with, its target, and counters that have everything in
            them that came before. Raises QualificationError where a step cannot be done; it leaves no
            traffic running and nothing changed on the switch, however it ends.
        validity: checks of the measurement itself, best cause first: unless all are PASS nothing is judged.
        judge: checks of the switch.
        targets: what the case is about on a port.
        is_audited: whether auditors look on: all its frames enter and leave by ports of the switch under test.
    """

    measure: Callable[[Lab, Target, DutCounters], RunT]
    validity: Checks[RunT]
    judge: Checks[RunT]
    targets: Targets
    is_audited: bool = True

    def carry_out(self, lab: Lab, target: Target, before: DutCounters | None) -> Finding:
        """Measures and judges a test case for one of its targets; raises QualificationError where a step could not be
        done. `before`: the switch's counters with everything in them that came before; None: they are waited for and
        read."""
        run = self.measure(lab, target, settled_counters(lab) if before is None else before)
        return finding_of(lab, run, self.validity, self.judge)


Table = Mapping[PlanCase, Procedure[Any]]
"""The cases of a family."""


def finding_of(lab: Lab, run: RunT, validity: Checks[RunT], judge: Checks[RunT]) -> Finding:
    """What a run comes to, late counts among it: it is judged if it was a measurement."""
    run = with_late_counts(lab, run, validity, judge)
    invalid = unmet(validity(run))
    return Finding([] if invalid else list(judge(run)), invalid, run.evidence(), run.settled)


def with_late_counts(lab: Lab, run: RunT, validity: Checks[RunT], judge: Checks[RunT]) -> RunT:
    """A run before anything else is sent. A poll of the counters may come later than the switch says: where a check
    fails PFC counters are read once more, `POLL_GRACE_S` later, if the run ended with a reading. Raises
    QualificationError where they cannot be read: what they might have mended is no FAIL."""
    if not isinstance(run, CaseRun) or run.settled is not run.after or unmet(validity(run)) or not unmet(judge(run)):
        return run
    lab.clock.sleep(POLL_GRACE_S)
    read = lab.dut.counters()
    after = replace(run.after, pfc_rx=read.pfc_rx, pfc_tx=read.pfc_tx)
    return replace(run, after=after, during=after if run.during is run.after else run.during)


def unmet(made: Iterable[Check]) -> list[Check]:
    """The checks that are not PASS."""
    return [one for one in made if one.status is not Status.PASS]


def settled_counters(
    lab: Lab, wait_s: float | None = None, also: Mapping[str, str] = MappingProxyType({})
) -> DutCounters:
    """The switch's counters with everything in them that came before; raises QualificationError where they cannot be
    read. `wait_s`: how old what is read may be (None: as old as counters of ports); `also`: as of `Dut.counters`."""
    lab.clock.sleep(lab.delays.port_s if wait_s is None else wait_s)
    return lab.dut.counters(also=also)


@contextmanager
def sending(lab: Lab, traffic: Traffic) -> Iterator[None]:
    """A configuration that the traffic generator has, unless it refuses it (QualificationError); no flow runs on when
    the `with` block ends, however that is."""
    lab.generator.push(traffic)
    try:
        yield
    finally:
        lab.generator.stop()
