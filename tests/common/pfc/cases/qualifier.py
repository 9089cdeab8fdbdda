"""Carries out test cases on one port, and says what came of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, replace

from ..lab.lab import Lab
from ..lab.observer import evidence_of
from ..lab.option import Auditor
from ..lab.preflight import preflight
from ..model.counters import DutCounters
from ..model.errors import QualificationError, SwitchUnreachable
from ..model.measurement import PortUnderTest
from ..record.case import Outcome, PlanCase, Target, priorities_text
from ..record.verdict import LOSSLESS, LOSSY, Check, PortVerdict, Status
from .engine import Finding
from .plan import procedures

logger = logging.getLogger(__name__)


class Qualifier:
    """Runs scenarios on one port pair, with one preflight for all of them.

    A scenario begins with the counters that the one before left, so nothing else may be measured on these two ports in
    between; before `go_on_with` it may.
    """

    def __init__(self, lab: Lab, auditors: Sequence[Auditor] = ()) -> None:
        """`lab`: what to measure with. `auditors`: what looks on."""
        self.lab = lab
        self._auditors = auditors
        self._preflight: list[Check] | QualificationError | None = None
        self.settled: DutCounters | None = None  # a reading with all in it that came before the next storm

    def go_on_with(self, lab: Lab) -> None:
        """Goes on with another lab of the same port. What the preflight found holds for it too, but a refusal may have
        been of the moment; the counters are read anew, since others may have used the port."""
        self.lab = lab
        self.settled = None
        if isinstance(self._preflight, QualificationError):
            self._preflight = None

    def qualify(self, case: PlanCase, target: Target) -> Outcome:
        """Runs one scenario; whatever goes wrong becomes an ERROR verdict with its cause, and no traffic goes on."""
        subject = self.lab.subject
        try:
            clean_flow = self._send_clean_flows()
            before = self.settled
            self.settled = None
            for observer in self.lab.observers:
                observer.measurement_started(f"{case.plan_id} {self.lab.port} {','.join(map(str, target))}")
            procedure = procedures()[case]
            for auditor in self._auditors:
                auditor.begin(self.lab)
            finding = procedure.carry_out(self.lab, target, before)
            if procedure.is_audited and not finding.invalid:
                audited = [check for auditor in self._auditors for check in auditor.audit([self.lab], case)[0]]
                finding = replace(finding, audit_checks=audited)
            for auditor in self._auditors:
                finding = replace(finding, checks=auditor.reconsidered(self.lab, case, finding.checks),
                                  audit_checks=auditor.reconsidered(self.lab, case, finding.audit_checks))
        except Exception as error:
            return broken_off(subject, case, target, error).with_evidence(evidence_of(self.lab.observers))
        self.settled = finding.settled
        return judged(subject, case, target, finding, clean_flow).with_evidence(evidence_of(self.lab.observers))

    def _send_clean_flows(self) -> list[Check]:
        """The preflight's checks, made once; but a switch that did not answer may answer the next scenario."""
        if self._preflight is None:
            for observer in self.lab.observers:
                observer.measurement_started(f"preflight {self.lab.port}", for_all=True)
            try:
                checks, settled = preflight(self.lab)
                self.settled = self.lab.pause_source.arrived(self.lab, settled)
                self._preflight = checks
            except SwitchUnreachable:
                raise
            except QualificationError as error:
                more = "; ".join(filter(None, (auditor.explain(self.lab) for auditor in self._auditors)))
                self._preflight = QualificationError(f"{error}; {more}") if more else error
        if isinstance(self._preflight, QualificationError):
            raise self._preflight
        return self._preflight


def judged(
    subject: PortUnderTest, case: PlanCase, target: Target, finding: Finding, clean_flow: Sequence[Check]
) -> Outcome:
    """What a test case that was carried out comes to; `clean_flow`: the checks of the port's preflight."""
    judged_metrics = {check.metric_name for check in finding.checks}
    # of a metric that the case did not judge, a clean flow alone says nothing: then it has no check, which is ERROR
    clean = [one for one in clean_flow if one.metric_name in judged_metrics or one.status is not Status.PASS]
    checks = [*(finding.invalid or finding.checks), *clean, *finding.audit_checks]
    cause = finding.invalid[0].message if finding.invalid else None
    evidence = {**finding.evidence, "conditions": asdict(subject.tolerances)}
    return Outcome(case, _verdicts(subject, case, target, checks, cause), evidence)


def broken_off(subject: PortUnderTest, case: PlanCase, target: Target, error: Exception) -> Outcome:
    """What a test case comes to that could not be carried out: ERROR, with the cause. What is no QualificationError is
    a defect of this program, and logged."""
    if isinstance(error, QualificationError):
        return Outcome(case, _verdicts(subject, case, target, [], str(error)), {})
    logger.error("the run broke off", exc_info=error)
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    where = subject.where() + (f" {priorities_text(target)}" if target else "")
    return Outcome(case, _verdicts(subject, case, target, [], f"{where}: the run broke off: {reason}"), {})


def _verdicts(
    subject: PortUnderTest, case: PlanCase, target: Target, checks: Sequence[Check], error: str | None
) -> list[PortVerdict]:
    """A verdict for each priority of the target and each metric that the case owes, or that it failed a check of. A
    check that is about a priority of the target counts for that one; any other, of all of them together, of a priority
    that is not paused or of another port, counts for each: none is left out."""
    rx = subject.pair.rx
    failed = [check.metric_name for check in checks if check.status is Status.FAIL and check.required]
    metrics = dict.fromkeys([*case.metrics, *(metric for metric in (LOSSLESS, LOSSY) if metric in failed)])
    # what held of a metric that is not owed stands in the verdict that is
    checks = [one if one.metric_name in metrics else replace(one, metric_name=case.metrics[0]) for one in checks]
    verdicts = []
    for priority in target or (None,):
        others = [other for other in target if other != priority]
        for metric in metrics:
            own = [check for check in checks if check.metric_name == metric and check.priority not in others]
            verdicts.append(PortVerdict(rx.device, rx.port, priority, metric, own, error))
    return verdicts
