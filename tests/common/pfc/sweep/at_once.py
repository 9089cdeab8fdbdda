"""Several ports of a switch that are measured at once: what is sent is one configuration, what is counted is each
port's own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..cases.storm_sequence import measure, scenario_flows
from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..lab.otg_config import TrafficBuilder
from ..model.counters import DutCounters
from ..model.measurement import Measurement
from ..model.scenario import Scenario
from ..model.traffic import FlowPlan, FlowStats, Role

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Part:
    """One port's part in what is measured at once: what it is measured with, and the scenario."""

    lab: Lab
    scenario: Scenario

    def flows(self) -> list[FlowPlan]:
        """The scenario's flows on this port."""
        return scenario_flows(self.lab, self.scenario)

    def own(self, stats: Mapping[str, FlowStats]) -> dict[str, FlowStats]:
        """The statistics of this port's flows, out of those of all."""
        names = {flow.name for flow in self.flows()}
        return {name: flow for name, flow in stats.items() if name in names}

    def held_bytes(self, run: Measurement) -> int:
        """Bytes that the switch held on this port while its storm ran: they came out once it had stopped."""
        counted = self.own(run.phases["paused"])
        return sum(
            round((flow.frames_rx - counted[name].frames_rx) * flow.plan.mean_bytes)
            for name, flow in self.own(run.phases["drained"]).items() if flow.plan.role is Role.TEST
        )


def build(parts: Sequence[Part]) -> Traffic:
    """The flows of these parts, each built with its own port's builder."""
    return build_together([(part.lab.builder, part.flows()) for part in parts])


def build_together(parts: Sequence[tuple[TrafficBuilder, Sequence[FlowPlan]]]) -> Traffic:
    """One configuration of the flows of several ports under test; no port is used by two of them, and of several none
    has flows beside its own.

    Args:
        parts: a port's builder and its flows.
    """
    first, its_flows = parts[0]
    if len(parts) == 1:
        return first.build(its_flows)
    config = first.empty()
    built = [builder.build_into(config, flows) for builder, flows in parts]
    return Traffic(config, {name: flow for one in built for name, flow in one.flows.items()})


def measure_together(
    parts: Sequence[Part], before: DutCounters, build: Callable[[Sequence[Part]], Traffic] = build
) -> list[Measurement]:
    """The steps of the test plan on several ports at once (`storm_sequence.measure`).

    Args:
        parts: ports of one switch and their scenarios, which last equally long; no port is in two of them, unless
            `build` allows for that.
        before: the switch's counters, read when all earlier traffic was in them.
        build: makes one configuration of the flows of all parts.

    Returns:
        A measurement for each part.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    logger.info("measured at once: %s", ", ".join(part.lab.subject.where() for part in parts))
    whole = measure(parts[0].lab, parts[0].scenario, before, traffic=build(parts))
    held = [part.held_bytes(whole) for part in parts]
    return [
        replace(
            whole, subject=part.lab.subject, tested=part.scenario.tested, scenario=part.scenario,
            phases={phase: part.own(stats) for phase, stats in whole.phases.items()}, held_elsewhere=sum(held) - own,
        )
        for part, own in zip(parts, held, strict=True)
    ]
