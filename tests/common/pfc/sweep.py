"""Sweeps the ports of a switch: each measured with its own priorities and judged on its own, one after another or
several at once."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from .dut import DutCounters
from .errors import QualificationError
from .families import sweep as family
from .polling import Clock, WallClock, wait_for
from .preflight import Flown, Lab, preflight_together
from .run import Outcome, broken_off, judged
from .verdict import Status

logger = logging.getLogger(__name__)

LAB_DEADLINE_S = 60.0  # a traffic generator's API server or a switch's SSH server that is started again answers by then


class LabGone(QualificationError):
    """The switch or the traffic generators do not answer any more: no port can be measured."""


class Sweeper:
    """Measures ports of one switch. All of them are looked at by a preflight before the first is measured."""

    def __init__(
        self, labs: Mapping[str, Lab], flights: Sequence[Sequence[str]], waves: Sequence[Sequence[str]],
        patience: Clock | None = None,
    ) -> None:
        """Nothing is measured yet.

        Args:
            labs: port under test -> what it is measured with; all have one traffic generator and one switch.
            flights: the same ports, in groups that a preflight takes at once.
            waves: the same ports, in groups that are measured at once.
            patience: the clock on which a lab is waited for that does not answer; None: real time.
        """
        self._labs = labs
        self._flights = flights
        self._waves = waves
        self._patience = patience or WallClock()
        self._flown: dict[str, Flown] = {}
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
        if not self._flown:
            self._fly(self._flights)
        if port not in self._outcomes:
            self._outcomes |= self._try(wave)
        if _cause(self._outcomes[port]) and port not in self._tried_again:
            self._try_again([other for other in wave if _cause(self._outcomes[other])])
        return self._outcomes[port]

    def _try_again(self, failed: Sequence[str]) -> None:
        """Ports of a wave that could not be measured, once more: together, and where that cannot be done, each alone,
        so that one that stops the wave stops no other."""
        causes = {port: _cause(self._outcomes[port]) for port in failed}
        for cause in dict.fromkeys(causes.values()):
            logger.warning("tried once more, because: %s", cause)
        self._wait_for_the_lab()
        self._fly([[port for port in flight if port in failed] for flight in self._flights])
        again = self._try(failed)
        if len(failed) > 1 and all(map(_cause, again.values())):
            self._wait_for_the_lab()
            for port in failed:
                again |= self._try([port])
        if any(map(_cause, again.values())):
            self._wait_for_the_lab()
        self._tried_again |= set(failed)
        self._outcomes |= {
            port: replace(outcome, evidence={**outcome.evidence, "first_try": causes[port]})
            for port, outcome in again.items()
        }

    def _fly(self, flights: Sequence[Sequence[str]]) -> None:
        """The preflight of some ports."""
        flying = [flight for flight in flights if flight]
        try:
            flown, self._settled = preflight_together([[self._labs[port] for port in flight] for flight in flying])
        except QualificationError as error:
            flown, self._settled = {port: error for flight in flying for port in flight}, None
        self._flown |= flown

    def _try(self, ports: Sequence[str]) -> dict[str, Outcome]:
        """What comes of some ports that are measured at once."""
        outcomes, labs, before = dict[str, Outcome](), [], self._settled
        for port in ports:
            lab, flown = self._labs[port], self._flown[port]
            try:
                if isinstance(flown, QualificationError):
                    raise flown
                family.scenario(lab.subject.qos)
                labs.append(lab)
            except QualificationError as error:
                outcomes[port] = broken_off(lab.subject, family.PORT, (), error)
        if not labs:
            return outcomes
        self._settled = None
        try:
            findings = family.measure(labs, before)
        except Exception as error:
            return outcomes | {lab.port: broken_off(lab.subject, family.PORT, (), error) for lab in labs}
        for lab, finding in zip(labs, findings, strict=True):
            clean = self._flown[lab.port]
            assert not isinstance(clean, QualificationError), f"{lab.port} was measured without a preflight"
            outcome = judged(lab.subject, family.PORT, (), finding, clean)
            at_once = {"ports_at_once": [other.port for other in labs]}
            outcomes[lab.port] = replace(outcome, evidence={**outcome.evidence, **at_once})
            self._settled = finding.after
        return outcomes

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
                lab.generator.look()
                lab.clock.now()
            except QualificationError as error:
                reasons.append(str(error))
                return False
            return True

        if not wait_for(answers, LAB_DEADLINE_S, self._patience, 1.0):
            raise LabGone(reasons[-1])


def _cause(outcome: Outcome) -> str | None:
    """Why a port could not be measured; None: it was. One that failed was: no second try may pass it."""
    if any(verdict.status is Status.FAIL for verdict in outcome.verdicts):
        return None
    errors = (verdict for verdict in outcome.verdicts if verdict.status is Status.ERROR)
    return next((verdict.cause for verdict in errors), None)


def with_one_generator(labs: Iterable[tuple[str, Lab]]) -> dict[str, Lab]:
    """Labs of one switch that are used together: the traffic generators are told what to send by one object, which
    knows all flows."""
    known = dict(labs)
    first = next(iter(known.values()), None)
    if first is None:
        return known
    return {port: replace(lab, generator=first.generator, clock=first.clock, dut=first.dut)
            for port, lab in known.items()}
