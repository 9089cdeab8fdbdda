"""SWEEP-1: one port after another, or several at once: its lossless priorities paused, data on all that it has, all
of it at line rate. The port's own configuration says which those are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..cases.engine import Finding, Procedure, whole_port
from ..cases.pauses import judge_storm, others_reached, reached
from ..cases.storm_sequence import Part, measure_together
from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..model.qos import PortQos
from ..model.scenario import Scenario, Storm
from ..record.case import PlanCase, Target

PORT = PlanCase("port-sweep", "SWEEP-1")


def scenario(qos: PortQos) -> Scenario:
    """All lossless priorities of a port are paused; data on each priority, in equal parts of the line.

    Raises:
        QualificationError: no DSCP value reaches a lossless priority.
    """
    paused = reached(qos.lossless, qos)
    background = others_reached(paused, qos)
    return Scenario(PORT, Storm.LOSSLESS, paused, background, background_percent=50 if background else 0,
                    even=True, apart=True)


def measure(labs: Sequence[Lab], before: DutCounters | None) -> list[Finding]:
    """Measures ports of one switch at once; a finding for each.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    parts = [Part(lab, scenario(lab.subject.qos)) for lab in labs]
    findings = [judge_storm(run) for run in measure_together(parts, before)]
    at_once = {"ports_at_once": [lab.port for lab in labs]}
    return [replace(finding, evidence={**finding.evidence, **at_once}) for finding in findings]


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """One port alone."""
    return measure([lab], before)[0]


CASES: Mapping[PlanCase, Procedure] = {PORT: Procedure(carry_out, whole_port)}
