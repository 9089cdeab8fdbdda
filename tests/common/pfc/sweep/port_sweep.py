"""SWEEP-1: one port after another, or several at once: its lossless priorities paused, data on all that it has, all
of it at line rate. The port's own configuration says which those are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..cases.checks import judge, validity
from ..cases.engine import Finding, finding_of
from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..lab.option import flows_beside
from ..model.arithmetic import share_percent
from ..model.counters import DutCounters
from ..model.qos import PortQos
from ..model.scenario import Scenario, Storm
from ..model.traffic import FlowPlan, PauseFrame, pfc_frame
from ..record.case import PlanCase, Target
from .at_once import Part, build_together, measure_together

PORT = PlanCase("port-sweep", "SWEEP-1")


class EvenScenario(Scenario):
    """A storm of a flow for each tested priority; every data flow has the same part of the line."""

    def pauses(self) -> Mapping[str, PauseFrame]:
        """A flow that pauses it for each of them."""
        return {f"Pause Prio {priority}": pfc_frame((priority,), self.pause_quanta) for priority in self.paused}

    def share(self, priority: int) -> float:
        """The part of any."""
        return share_percent(100, len(self.tested) + len(self.background))


def scenario(qos: PortQos, paused: Target | None = None) -> Scenario:
    """Lossless priorities of a port (None: all that it has) are paused; data on each priority, in equal parts of the
    line.

    Raises:
        QualificationError: no DSCP value reaches one of them.
    """
    tested = qos.lossless if paused is None else paused
    qos.check_reached(tested)
    background = qos.others(tested)
    return EvenScenario(Storm.LOSSLESS, tested, background, background_percent=50 if background else 0)


def measure(labs: Sequence[Lab], before: DutCounters, beside: bool = False) -> list[Finding]:
    """Measures ports of one switch at once; a finding for each.

    Args:
        labs: the ports.
        before: the switch's counters, read when all earlier traffic was in them.
        beside: whether what options send beside a case goes the other way meanwhile, from each port under test to its
            tx port, by which nothing of the case leaves.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    parts = [Part(lab, scenario(lab.subject.qos)) for lab in labs]
    runs = measure_together(parts, before, build=partial(_build, beside=beside))
    findings = [finding_of(lab, run, validity, judge) for lab, run in zip(labs, runs, strict=True)]
    at_once = {"ports_at_once": [lab.port for lab in labs]}
    return [replace(finding, evidence={**finding.evidence, **at_once}) for finding in findings]


def _build(parts: Sequence[Part], beside: bool) -> Traffic:
    """One configuration of the flows of these parts."""
    other_way = [_other_way(part.lab) if beside else [] for part in parts]
    names = [flow.name for flows in other_way for flow in flows]
    whole = build_together([(part.lab.builder, [*part.flows(), *further])
                            for part, further in zip(parts, other_way, strict=True)])
    own = {name: flow for name, flow in whole.flows.items() if name not in names}
    return replace(whole, flows=own, beside={name: whole.flows[name] for name in names})


def _other_way(lab: Lab) -> list[FlowPlan]:
    """What options send beside a case between the port under test and its tx port, to this one only."""
    pair = lab.subject.pair
    subject = replace(lab.subject, bystanders=(pair.rx, pair.tx))
    return [flow for flow in flows_beside(subject) if flow.enters == pair.rx.port]
