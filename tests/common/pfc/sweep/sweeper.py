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
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.qos import PortQos
from ..model.scenario import Scenario
from ..record.case import PlanCase
from ..record.outcome import Outcome
from ..record.verdict import Status
from . import port_sweep as family
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
        how: SweepCase = PORT_BY_PORT, patience: Clock | None = None,
    ) -> None:
        """Nothing is measured yet.

        Args:
            labs: port under test -> what it is measured with; all have one traffic generator and one switch.
            batches: the same ports, in groups that a preflight takes at once.
            waves: the same ports, in groups that are measured at once.
            how: what is carried out.
            patience: the clock used while waiting for an unresponsive lab; None: real time.
        """
        self._labs = labs
        self._batches = batches
        self._waves = waves
        self._how = how
        self._patience = patience or WallClock()
        self._results: dict[str, PreflightResult] = {}
        self._settled: DutCounters | None = None  # a reading with all in it that came before the next storm
        self._outcomes: dict[str, Outcome] = {}
        self._tried_again: set[str] = set()

    def outcome(self, port: str) -> Outcome:
        """What came of a port; measures its wave if that was not yet. A port that could not be measured is tried once
        more.

        Raises:
            LabGone: neither it nor any other can be measured any more.
        """
        wave = next(wave for wave in self._waves if port in wave)
        if not self._results:
            self._send_clean_flows(self._batches)
        if port not in self._outcomes:
            self._outcomes |= self._try(wave)
        failed = [other for other in wave if _cause(self._outcomes[other]) and other not in self._tried_again]
        if port in failed or failed and self._how.all_or_none:  # before returning a verdict that the retry may change
            self._try_again(wave, failed)
        return self._outcomes[port]

    def _try_again(self, wave: Sequence[str], failed: Sequence[str]) -> None:
        """Ports of a wave that could not be measured, once more: together, and where that cannot be done, each alone,
        so that one that stops the wave stops no other. Where none is measured without the others, all are, and one that
        only now failed has failed."""
        causes = {port: _cause(self._outcomes[port]) for port in failed}
        for cause in dict.fromkeys(causes.values()):
            logger.warning("tried once more, because: %s", cause)
        self._wait_for_the_lab()
        self._send_clean_flows([[port for port in batch if port in failed] for batch in self._batches])
        found = self._try(wave if self._how.all_or_none else failed)
        again = {port: outcome for port, outcome in found.items()
                 if port in failed or _failed(outcome) and not _failed(self._outcomes[port])}
        if len(failed) > 1 and not self._how.all_or_none and all(map(_cause, again.values())):
            self._wait_for_the_lab()
            for port in failed:
                again |= self._try([port])
        if any(map(_cause, again.values())):
            self._wait_for_the_lab()
        self._tried_again |= set(failed)
        self._outcomes |= {
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
            outcomes[lab.port] = outcome.with_evidence(evidence_of(self._observers, lab.builder.named("")))
        return outcomes

    def _carry_out(self, labs: Sequence[Lab], before: DutCounters | None) -> list[Outcome]:
        """What comes of ports that can be measured, at once."""
        try:
            settled = settled_counters(labs[0]) if before is None else before
            findings = self._how.measure(labs, settled)
        except Exception as error:
            return [broken_off(lab.subject, self._how.case, (), error) for lab in labs]
        outcomes = []
        for lab, finding in zip(labs, findings, strict=True):
            clean = self._results[lab.port]
            assert not isinstance(clean, QualificationError), f"{lab.port} was measured without a preflight"
            outcomes.append(judged(lab.subject, self._how.case, (), finding, clean))
            self._settled = finding.settled
        return outcomes

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


def _failed(outcome: Outcome) -> bool:
    return any(verdict.status is Status.FAIL for verdict in outcome.verdicts)
