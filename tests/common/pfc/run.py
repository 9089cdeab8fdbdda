"""The steps of one scenario on one port, and what comes of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .cases import Target, make_scenario
from .checks import judge
from .dut import DutCounters
from .errors import QualificationError
from .measurement import Measurement
from .polling import wait_for
from .preflight import SETTLE_S, Lab, preflight
from .scenario import PlanCase, Scenario, named
from .traffic import FlowStats, Role, Traffic
from .validity import validity
from .verdict import LOSSLESS, LOSSY, Check, PortVerdict

logger = logging.getLogger(__name__)

DRAIN_DEADLINE_S = 10.0


@dataclass(frozen=True)
class Outcome:
    """What one scenario found on one port: a verdict for each metric and priority, and the numbers behind them."""

    case: PlanCase
    verdicts: Sequence[PortVerdict]
    evidence: Mapping[str, Any]


class Qualifier:
    """Runs scenarios on one port pair, with one preflight for all of them.

    A scenario begins with the counters that the one before left, so nothing else may be measured on these two ports in
    between.
    """

    def __init__(self, lab: Lab) -> None:
        """`lab`: what to measure with."""
        self._lab = lab
        self._preflight: list[Check] | QualificationError | None = None
        self._settled: DutCounters | None = None  # a reading with all in it that came before the next storm

    def qualify(self, case: PlanCase, target: Target) -> Outcome:
        """Runs one scenario; whatever goes wrong becomes an ERROR verdict with its cause, and no traffic goes on.

        Args:
            case: the test case of the plan.
            target: the priorities under test; none: the whole port.
        """
        try:
            scenario = make_scenario(case, target, self._lab.subject.qos)
            clean_flow = self._fly()
            before, self._settled = self._settled, None
            measurement = measure(self._lab, scenario, before)
            self._settled = measurement.after
            evidence, invalid = measurement.evidence(), validity(measurement)
            checks = invalid or clean_flow + judge(measurement)
        except QualificationError as error:
            return Outcome(case, self._verdicts(target, [], str(error)), {})
        except Exception as error:
            logger.exception("the run broke off")
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            where = self._lab.subject.where() + (f" {named(target)}" if target else "")
            return Outcome(case, self._verdicts(target, [], f"{where}: the run broke off: {reason}"), {})
        cause = invalid[0].message if invalid else None
        return Outcome(case, self._verdicts(target, checks, cause), evidence)

    def _fly(self) -> list[Check]:
        """The preflight's checks, made once; a lab that cannot measure stays so for every scenario."""
        if self._preflight is None:
            try:
                self._preflight, self._settled = preflight(self._lab)
            except QualificationError as error:
                self._preflight = error
        if isinstance(self._preflight, QualificationError):
            raise self._preflight
        return self._preflight

    def _verdicts(self, target: Target, checks: Sequence[Check], error: str | None) -> list[PortVerdict]:
        """A verdict for each priority of the target and each metric. What is about none of the target, or about all of
        it together, counts for each."""
        rx = self._lab.subject.pair.rx
        verdicts = []
        for priority in target or (None,):
            others = [other for other in target if other != priority]
            for metric in (LOSSLESS, LOSSY):
                own = [check for check in checks if check.metric_name == metric and check.priority not in others]
                verdicts.append(PortVerdict(rx.device, rx.port, priority, metric, own, error))
        return verdicts


def measure(lab: Lab, scenario: Scenario, before: DutCounters | None = None) -> Measurement:
    """The steps of the test plan: storm, 1 s later the data, count while the storm runs, stop it, drain; and where the
    storm held frames, send the same again.

    Args:
        lab: what to measure with.
        scenario: what to measure.
        before: the switch's counters, read when all earlier traffic was in them; None: waited for and read.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    traffic = lab.builder.scenario(scenario)
    if before is None:
        lab.clock.sleep(lab.ages.port_s)  # pauses of an earlier scenario must not come into the counters in this one
        before = lab.dut.counters()
    lab.generator.push(traffic)
    try:
        paused, during = _in_the_storm(lab, traffic, scenario)
        logger.info("%s: storm stopped, held frames drain", lab.subject.where())
        lab.generator.stop(traffic.names(Role.STORM))
        lab.clock.sleep(SETTLE_S)
        drained = _drain(lab, traffic)
        resumed, after = _without_a_storm(lab, traffic, scenario)
    finally:
        lab.generator.stop()
    return Measurement(lab.subject, scenario, paused, drained, resumed, before, during, after)


def _in_the_storm(lab: Lab, traffic: Traffic, scenario: Scenario) -> tuple[dict[str, FlowStats], DutCounters]:
    """Storm and data; what was counted while the storm still ran."""
    where, kind = lab.subject.where(), scenario.storm.name.lower()
    logger.info("%s: %s storm on %s", where, kind, named(scenario.paused) if scenario.paused else "the port")
    lab.generator.start(traffic.names(Role.STORM))
    lab.clock.sleep(scenario.storm_lead_s)
    logger.info("%s: test traffic on %s, background on %s", where, list(scenario.tested), list(scenario.background))
    _send(lab, traffic, scenario)
    lab.clock.sleep(lab.ages.port_s)
    return lab.generator.stats(traffic.flows), lab.dut.counters()


def _without_a_storm(lab: Lab, traffic: Traffic, scenario: Scenario) -> tuple[dict[str, FlowStats], DutCounters]:
    """The same data again, if the storm held any; and the counters, which must have everything by then: the next
    scenario begins with them."""
    names = traffic.names(Role.TEST, Role.BACKGROUND) if scenario.holds else []
    if names:
        logger.info("%s: the same traffic without a storm", lab.subject.where())
        _send(lab, traffic, scenario)
    lab.clock.sleep(lab.ages.port_s)
    return lab.generator.stats(names) if names else {}, lab.dut.counters()


def _send(lab: Lab, traffic: Traffic, scenario: Scenario) -> None:
    names = traffic.names(Role.TEST, Role.BACKGROUND)
    lab.generator.start(names)
    lab.generator.run_out(names, scenario.data_s)


def _drain(lab: Lab, traffic: Traffic) -> dict[str, FlowStats]:
    """Waits until the storm has stopped and every held frame has arrived, or will not. They are counted apart from what
    is sent afterwards."""
    names = traffic.names(Role.STORM, Role.TEST)
    latest = [lab.generator.stats(names)]

    def empty() -> bool:
        latest.append(lab.generator.stats(names))
        return all(
            not flow.transmitting if flow.plan.role is Role.STORM else flow.frames_rx >= flow.frames_tx
            for flow in latest[-1].values()
        )

    if not wait_for(empty, DRAIN_DEADLINE_S, lab.clock, 0.5):
        logger.warning(
            "%s: frames that were held did not all arrive within %.0f s", lab.subject.where(), DRAIN_DEADLINE_S
        )
    return latest[-1]
