"""SIZE-6: data in frames of every size that the ports carry, without a storm; nothing is congested."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..model.arithmetic import line_rate_fps
from ..model.checking import everything_received, never_taken, no_pause_sent
from ..model.counters import DutCounters
from ..model.measurement import CaseRun
from ..model.qos import PRIORITIES
from ..model.traffic import FlowPlan, Role
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .data_loads import DataLoad, data_flows
from .engine import Procedure, Table, sending
from .frames import largest, smallest
from .targets import whole_port
from .validity import load_applied, undisturbed

logger = logging.getLogger(__name__)

EVERY_SIZE = PlanCase("every-frame-size", "SIZE-6")
PERCENT = 50
"""Of the line, all priorities together: small frames that come in a row do not fill it either."""
ROUNDS = 4
"""How often a flow sends each size where a virtual testbed has to compute every frame. Where frames cost nothing it is
`MANY_ROUNDS`, which sees what is lost now and then, too."""
MANY_ROUNDS = 100


@dataclass(frozen=True)
class SizesRun(CaseRun):
    """One run; its phase `sent` is when all was over.

    Attributes:
        sizes: of the frames with FCS, from the smallest to the largest.
        rounds: how often each flow sent each size.
    """

    sizes: range
    rounds: int

    def details(self) -> dict[str, Any]:
        """Which sizes were sent."""
        return {"frame_bytes": [self.sizes[0], self.sizes[-1]], "rounds": self.rounds}


def rounds_on(lab: Lab) -> int:
    """How often a flow sends each size."""
    return ROUNDS if lab.clock.exact else MANY_ROUNDS


def size_flows(lab: Lab, sizes: range) -> list[FlowPlan]:
    """A flow for each priority that a DSCP value reaches, where every frame is computed for one lossless and one lossy
    one alone; of as many frames as there are sizes, several times."""
    qos = lab.subject.qos
    priorities = (*qos.reached_lossless[:1], *qos.reached_lossy[:1]) if lab.clock.exact else qos.reachable
    mean = (sizes[0] + sizes[-1]) // 2
    load = DataLoad("Every Size", Role.TEST, priorities, PERCENT, None, mean)
    return [replace(flow, frames=rounds_on(lab) * len(sizes)) for flow in data_flows(lab, [load])]


def build(lab: Lab, flows: Sequence[FlowPlan], sizes: range) -> Traffic:
    """The configuration of these flows, each of one DSCP value, and each frame of it one byte larger than the one
    before; after the largest the smallest again."""
    qos = lab.subject.qos
    one = {priority: dscps[:1] for priority, dscps in qos.dscps.items()}
    subject = replace(lab.subject, qos=replace(qos, dscps=one))
    traffic = replace(lab.builder, subject=subject).build(flows)
    for flow in traffic.config.flows:
        if flow.name in traffic.flows:
            flow.size.increment.start = sizes[0]
            flow.size.increment.end = sizes[-1]
            flow.size.increment.step = 1
    return traffic


def lasting_s(lab: Lab, flows: Sequence[FlowPlan]) -> float:
    """How long these flows take to send their frames."""
    entry_mbps = lab.subject.pair.tx.speed_mbps
    frames = sum(flow.frames or 0 for flow in flows)
    return float(100 * frames / (PERCENT * line_rate_fps(flows[0].frame_bytes, entry_mbps)))


def measure(lab: Lab, target: Target, before: DutCounters) -> SizesRun:
    """Sends every size of every priority, and counts.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    sizes = range(smallest(lab)[0][0], largest(lab)[0][0] + 1)
    flows = size_flows(lab, sizes)
    traffic = build(lab, flows, sizes)
    names = list(traffic.flows)
    with sending(lab, traffic):
        logger.info("%s: frames of %d to %d bytes", lab.subject.where(), sizes[0], sizes[-1])
        lab.generator.start(names)
        lab.generator.run_out(names, lasting_s(lab, flows))
    lab.clock.sleep(lab.delays.port_s)
    sent = lab.generator.stats(names)
    after = lab.dut.counters()
    return SizesRun(lab.subject, before, after, after, target, {"sent": sent}, sizes, rounds_on(lab))


def validity(run: SizesRun) -> Iterator[Check]:
    """Whether every size was sent."""
    yield from undisturbed(run)
    yield from load_applied(run.subject, run.flows("sent"), run.pfc_sent, "in all")


def judge(run: SizesRun) -> Iterator[Check]:
    """Every frame arrives, and nobody is held."""
    flows = run.flows("sent")
    yield from never_taken(run.subject, flows, run.pfc_sent, "in all")
    when = f"of every size from {run.sizes[0]} to {run.sizes[-1]} bytes"
    yield from everything_received("nothing-lost", run.subject, flows, when)
    yield from no_pause_sent("no-back-pressure", run, PRIORITIES)


CASES: Table = {
    EVERY_SIZE: Procedure(measure, validity, judge, whole_port),
}
