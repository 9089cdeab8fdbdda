"""SWEEP-1: one port after another, or several at once: its lossless priorities paused, data on all that it has, all
of it at line rate. The port's own configuration says which those are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..cases.checks import judge, validity
from ..cases.engine import Finding, found
from ..cases.storm_sequence import Part, measure_together
from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..model.qos import PortQos
from ..model.scenario import Scenario, Storm
from ..record.case import PlanCase

PORT = PlanCase("port-sweep", "SWEEP-1")


def scenario(qos: PortQos) -> Scenario:
    """All lossless priorities of a port are paused; data on each priority, in equal parts of the line.

    Raises:
        QualificationError: no DSCP value reaches a lossless priority.
    """
    qos.check_reached(qos.lossless)
    background = qos.reached_lossy
    return Scenario(PORT, Storm.LOSSLESS, qos.lossless, background, background_percent=50 if background else 0,
                    even=True, apart=True)


def measure(labs: Sequence[Lab], before: DutCounters) -> list[Finding]:
    """Measures ports of one switch at once; a finding for each.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    parts = [Part(lab, scenario(lab.subject.qos)) for lab in labs]
    findings = [found(run, validity, judge) for run in measure_together(parts, before)]
    at_once = {"ports_at_once": [lab.port for lab in labs]}
    return [replace(finding, evidence={**finding.evidence, **at_once}) for finding in findings]
