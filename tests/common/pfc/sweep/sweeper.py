"""Sweeps the ports of a switch: each measured with its own priorities and judged on its own, one after another or
several at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..cases.engine import Finding, settled_counters
from ..cases.qualifier import broken_off, judged
from ..lab.clock import Clock, WallClock, wait_for
from ..lab.generator_ports import look
from ..lab.lab import Lab
from ..lab.observer import RunObserver, evidence_of
from ..lab.option import Auditor
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.qos import PortQos
from ..model.scenario import Scenario
from ..record.case import Outcome, PlanCase
from ..record.verdict import Check, Status
from . import port_sweep as family
from .modes import ALONE, ModeOutcome, mode_of, without_a_wave, worse_of
from .preflight_in_batches import PreflightResult, preflight_in_batches

logger = logging.getLogger(__name__)

LAB_DEADLINE_S = 60.0  # a traffic generator's API server or a switch's SSH server that is started again answers by then


class LabGone(QualificationError):
    """The switch or the traffic generators do not answer any more: no port can be measured."""


@dataclass(frozen=True)
class SweepCase:
    """A test case that is carried out on several ports at once.

    Attributes:
        case: the test case.
        scenario: what it is on a port with these priorities; refuses a port that it cannot be carried out on.
        measure: a finding for each port, from what they are measured with and counters that have everything in them
            that came before. It leaves no traffic running, however it ends.
        all_or_none: a port's verdict is about all of them, so none is measured without the others.
    """

    case: PlanCase
    scenario: Callable[[PortQos], Scenario]
    measure: Callable[[Sequence[Lab], DutCounters], list[Finding]]
    all_or_none: bool = False


PORT_BY_PORT = SweepCase(family.PORT, family.scenario, family.measure)


class Sweeper:
    """Measures ports of one switch. All of them are looked at by a preflight before the first is measured."""

    def __init__(
        self, labs: Mapping[str, Lab], batches: Sequence[Sequence[str]], waves: Sequence[Sequence[str]],
        how: SweepCase = PORT_BY_PORT, patience: Clock | None = None, auditors: Sequence[Auditor] = (),
    ) -> None:
        """Nothing is measured yet.

        Args:
            labs: port under test -> what it is measured with; all have one traffic generator and one switch.
            batches: the same ports, in groups that a preflight takes at once.
            waves: the same ports, in groups that are measured at once. One that is in several is measured in the first
                and in the last of them, that by itself: its verdict is the worse one of both.
            how: what is carried out.
            patience: the clock used while waiting for an unresponsive lab; None: real time.
            auditors: what looks on.
        """
        self._labs = labs
        self._batches = batches
        self._waves = waves
        self._how = how
        self._patience = patience or WallClock()
        self._auditors = auditors
        self._results: dict[str, PreflightResult] = {}
        self._settled: DutCounters | None = None  # a reading with all in it that came before the next storm
        self._outcomes: dict[tuple[str, ...], dict[str, Outcome]] = {}  # wave -> port -> what came of it
        self._tried_again: set[tuple[tuple[str, ...], str]] = set()

    def outcome(self, port: str) -> Outcome:
        """What came of a port; measures its waves if that was not yet. A port that could not be measured is tried once
        more.

        Raises:
            LabGone: neither it nor any other can be measured any more.
        """
        if not self._results:
            self._send_clean_flows(self._batches)
        waves = [wave for wave in self._waves if port in wave]
        in_wave = self._outcome_in(waves[0], port)
        if len(waves) == 1:
            return in_wave
        mode = mode_of(port, in_wave.evidence.get("ports_at_once", waves[0]))
        if mode == ALONE:
            return without_a_wave(in_wave)
        return worse_of(ModeOutcome(mode, in_wave), ModeOutcome(ALONE, self._outcome_in(waves[-1], port)))

    @property
    def failures(self) -> dict[str, Outcome]:
        """Port -> what came of it, of those that failed so far: that stands, whatever can be measured besides."""
        return {port: outcome for found in self._outcomes.values() for port, outcome in found.items()
                if _failed(outcome)}

    def _outcome_in(self, wave: Sequence[str], port: str) -> Outcome:
        """What came of a port in a wave."""
        key = tuple(wave)
        if key not in self._outcomes:
            self._outcomes[key] = self._try(wave)
        found = self._outcomes[key]
        failed = [other for other in wave if _cause(found[other]) and (key, other) not in self._tried_again]
        if port in failed or failed and self._is_whole(wave):  # before returning a verdict that the retry may change
            self._tried_again |= {(key, other) for other in failed}
            again = self._try_again(wave, failed, found)
            found |= again
            if any(map(_cause, again.values())):
                self._wait_for_the_lab()
        return found[port]

    def _is_whole(self, wave: Sequence[str]) -> bool:
        """Whether a verdict is about all ports of a wave, so that none is measured again without the others: where the
        case says so, and where its ports are measured alone besides."""
        alone_too = sum(wave[0] in other for other in self._waves) > 1
        return self._how.all_or_none or alone_too and len(wave) > 1

    def _try_again(
        self, wave: Sequence[str], failed: Sequence[str], first: Mapping[str, Outcome]
    ) -> dict[str, Outcome]:
        """Ports of a wave that could not be measured, once more: together, and where that cannot be done, each alone,
        so that one that stops the wave stops no other. Where none is measured without the others, all are, and one that
        only now failed has failed."""
        causes = {port: _cause(first[port]) for port in failed}
        for cause in dict.fromkeys(causes.values()):
            logger.warning("tried once more, because: %s", cause)
        self._wait_for_the_lab()
        self._send_clean_flows([[port for port in batch if port in failed] for batch in self._batches])
        found = self._try(wave if self._is_whole(wave) else failed)
        again = {port: outcome for port, outcome in found.items()
                 if port in failed or _failed(outcome) and not _failed(first[port])}
        if len(failed) > 1 and not self._is_whole(wave) and all(map(_cause, again.values())):
            self._wait_for_the_lab()
            for port in failed:
                again |= self._try([port])
        return {
            port: replace(outcome, evidence={**outcome.evidence, "first_try": causes.get(port, "PASS")})
            for port, outcome in again.items()
        }

    def _send_clean_flows(self, batches: Sequence[Sequence[str]]) -> None:
        """The preflight of some ports."""
        measurable = [batch for batch in batches if batch]
        self._start_measurement("preflight", for_all=True)
        try:
            results, self._settled = preflight_in_batches(
                [[self._labs[port] for port in batch] for batch in measurable]
            )
        except QualificationError as error:
            results = {port: error for batch in measurable for port in batch}
            self._settled = None
        self._results |= results

    def _try(self, ports: Sequence[str]) -> dict[str, Outcome]:
        """What comes of some ports that are measured at once."""
        outcomes = dict[str, Outcome]()
        labs = []
        before = self._settled
        for port in ports:
            lab = self._labs[port]
            results = self._results[port]
            try:
                if isinstance(results, QualificationError):
                    raise results
                self._how.scenario(lab.subject.qos)
                labs.append(lab)
            except QualificationError as error:
                outcomes[port] = broken_off(lab.subject, self._how.case, (), error)
        if not labs:
            return outcomes
        self._settled = None
        self._start_measurement(f"{self._how.case.plan_id} {' '.join(lab.port for lab in labs)}")
        for lab, outcome in zip(labs, self._carry_out(labs, before), strict=True):
            outcomes[lab.port] = outcome.with_evidence(evidence_of(self._observers, lab.builder.flow_name("")))
        return outcomes

    def _carry_out(self, labs: Sequence[Lab], before: DutCounters | None) -> list[Outcome]:
        """What comes of ports that can be measured, at once."""
        try:
            settled = settled_counters(labs[0]) if before is None else before
            for auditor in self._auditors:
                auditor.begin(labs[0], labs[1:])
            findings = self._audited(labs, self._how.measure(labs, settled))
        except Exception as error:
            return [broken_off(lab.subject, self._how.case, (), error) for lab in labs]
        outcomes = []
        for lab, finding in zip(labs, findings, strict=True):
            clean = self._results[lab.port]
            assert not isinstance(clean, QualificationError), f"{lab.port} was measured without a preflight"
            outcomes.append(judged(lab.subject, self._how.case, (), finding, clean))
            self._settled = finding.settled
        return outcomes

    def _audited(self, labs: Sequence[Lab], findings: Sequence[Finding]) -> list[Finding]:
        """The findings with the auditors' checks of those ports that were measured, without what is not known to be the
        switch's fault."""
        found = list(findings)
        shared_with: list[tuple[Auditor, list[Check]]] = []
        for auditor in self._auditors if any(not finding.invalid for finding in findings) else ():
            audited = auditor.audit(labs, self._how.case)
            shared_with.append((auditor, [check for check in audited[0] if _is_shared(check, audited)]))
            found = [finding if finding.invalid else replace(finding, audit_checks=[*finding.audit_checks, *checks])
                     for finding, checks in zip(found, audited, strict=True)]
        for auditor in self._auditors:  # before other measurements are made
            found = [replace(one, checks=auditor.reconsidered(lab, self._how.case, one.checks),
                             audit_checks=auditor.reconsidered(lab, self._how.case, one.audit_checks))
                     for lab, one in zip(labs, found, strict=True)]
        for auditor, shared in shared_with:
            if shared and not self._how.all_or_none:
                found = self._traced(auditor, labs, found, shared)
        return found

    def _traced(
        self, auditor: Auditor, labs: Sequence[Lab], found: Sequence[Finding], shared: Sequence[Check]
    ) -> list[Finding]:
        """The findings where some of an auditor's checks (`shared`) are of all ports, because any may be why they
        failed: each port is measured alone, and where that shows for some, the others are cleared."""
        logger.warning("each port of the wave is measured alone, because: %s", shared[0].message)
        places = {(check.name, check.where) for check in shared}
        shown = [bool(places & self._bad_places_alone(auditor, lab)) for lab in labs]
        cleared = [any(shown) and not is_why for is_why in shown]
        return [
            replace(one, settled=None,
                    audit_checks=[check for check in one.audit_checks if not (is_cleared and check in shared)])
            for is_cleared, one in zip(cleared, found, strict=True)
        ]

    def _bad_places_alone(self, auditor: Auditor, lab: Lab) -> set[tuple[str, str]]:
        """Names and places of the auditor's checks that fail when a port is measured alone; none, where that cannot be
        done."""
        try:
            auditor.begin(lab)
            self._how.measure([lab], settled_counters(lab))
            found = auditor.audit([lab], self._how.case)[0]
        except QualificationError as error:
            logger.warning("%s: %s", lab.subject.where(), error)
            return set()
        return {(check.name, check.where) for check in found if check.status is Status.FAIL}

    @property
    def _observers(self) -> Sequence[RunObserver]:
        """The observers of the one generator and the one switch that all ports are measured with."""
        return next(iter(self._labs.values())).observers

    def _start_measurement(self, name: str, for_all: bool = False) -> None:
        for observer in self._observers:
            observer.measurement_started(name, for_all)

    def _wait_for_the_lab(self) -> None:
        """Returns when switch and traffic generators answer.

        Raises:
            LabGone: they do not.
        """
        reasons = [""]

        def answers() -> bool:
            try:
                lab = next(iter(self._labs.values()))
                lab.dut.ask({"hello": "true"})
                look(lab.generator)
                lab.clock.now()
            except QualificationError as error:
                reasons.append(str(error))
                return False
            return True

        if not wait_for(answers, LAB_DEADLINE_S, self._patience, 1.0):
            raise LabGone(reasons[-1])


def _cause(outcome: Outcome) -> str | None:
    """Why a port could not be measured; None: it was. One that failed was: no second try may pass it."""
    if _failed(outcome):
        return None
    errors = (verdict for verdict in outcome.verdicts if verdict.status is Status.ERROR)
    return next((verdict.cause for verdict in errors), None)


def _is_shared(check: Check, of_ports: Sequence[list[Check]]) -> bool:
    """Whether a check is of each of several ports, and failed."""
    return check.status is Status.FAIL and len(of_ports) > 1 and all(check in checks for checks in of_ports)


def _failed(outcome: Outcome) -> bool:
    return any(verdict.status is Status.FAIL for verdict in outcome.verdicts)
