"""The steps of one scenario on one port, and what comes of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .checks import judge, validity
from .dut import DutCounters
from .errors import QualificationError
from .measurement import Measurement
from .polling import wait_for
from .preflight import SETTLE_S, Lab, preflight
from .scenario import PlanCase, Scenario, make_scenario
from .traffic import FlowStats, Role, Traffic
from .verdict import LOSSLESS, LOSSY, Check, PortVerdict

logger = logging.getLogger(__name__)

DRAIN_DEADLINE_S = 10.0


@dataclass(frozen=True)
class Outcome:
    """What one scenario found on one port: a verdict for each metric, and the numbers behind them."""

    case: PlanCase
    verdicts: Sequence[PortVerdict]
    evidence: Mapping[str, Any]


class Qualifier:
    """Runs scenarios on one port pair, with one preflight for all of them."""

    def __init__(self, lab: Lab) -> None:
        """`lab`: what to measure with."""
        self._lab = lab
        self._preflight: list[Check] | QualificationError | None = None
        self._settled: DutCounters | None = None  # a reading with all in it that came before the next storm

    def qualify(self, case: PlanCase, priority: int) -> Outcome:
        """Runs one scenario; whatever goes wrong becomes an ERROR verdict with its cause, and no traffic goes on.

        Args:
            case: the test case of the plan.
            priority: the priority under test.
        """
        try:
            scenario = make_scenario(case, priority, self._lab.subject.qos)
            clean_flow = self._fly()
            before, self._settled = self._settled, None
            measurement = measure(self._lab, scenario, before)
            self._settled = measurement.after
            evidence, invalid = measurement.evidence(), validity(measurement)
            checks = invalid or clean_flow + judge(measurement)
        except QualificationError as error:
            return self._outcome(case, priority, [], {}, str(error))
        except Exception as error:
            logger.exception("the run broke off")
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            where = self._lab.subject.where(priority)
            return self._outcome(case, priority, [], {}, f"{where}: the run broke off: {reason}")
        return self._outcome(case, priority, checks, evidence, invalid[0].message if invalid else None)

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

    def _outcome(
        self, case: PlanCase, priority: int, checks: Sequence[Check], evidence: Mapping[str, Any], error: str | None
    ) -> Outcome:
        rx = self._lab.subject.pair.rx
        verdicts = []
        for metric in (LOSSLESS, LOSSY):
            own = [check for check in checks if check.metric_name == metric]
            verdicts.append(PortVerdict(rx.device, rx.port, priority, metric, own, error))
        return Outcome(case, verdicts, evidence)


def measure(lab: Lab, scenario: Scenario, before: DutCounters | None = None) -> Measurement:
    """The steps of the test plan: storm, 1 s later the data, count while the storm runs, stop it, drain, send again.

    Args:
        lab: what to measure with.
        scenario: what to measure.
        before: the switch's counters, read when all earlier traffic was in them; None: waited for and read.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    traffic = lab.builder.scenario(scenario)
    where = lab.subject.where()
    if before is None:
        lab.clock.sleep(lab.ages.port_s)  # pauses of an earlier scenario must not come into the counters in this one
        before = lab.dut.counters()
    lab.generator.push(traffic)
    try:
        logger.info("%s: storm on priority %s", where, list(scenario.tested))
        lab.generator.start(traffic.names(Role.STORM))
        lab.clock.sleep(scenario.storm_lead_s)
        logger.info(
            "%s: test traffic on %s, background on %s", where, list(scenario.tested), list(scenario.background)
        )
        _send(lab, traffic, scenario)
        lab.clock.sleep(lab.ages.port_s)
        paused = lab.generator.stats(traffic.flows)
        during = lab.dut.counters()
        logger.info("%s: storm stopped, held frames drain", where)
        lab.generator.stop(traffic.names(Role.STORM))
        lab.clock.sleep(SETTLE_S)
        drained = _drain(lab, traffic)
        logger.info("%s: the same traffic without a storm", where)
        _send(lab, traffic, scenario)
        lab.clock.sleep(max(SETTLE_S, lab.ages.port_s - scenario.data_s))  # the counters must have all of the storm
        resumed = lab.generator.stats(traffic.names(Role.TEST, Role.BACKGROUND))
        after = lab.dut.counters()
    finally:
        lab.generator.stop()
    return Measurement(lab.subject, scenario, paused, drained, resumed, before, during, after)


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
