"""SWEEP-1: one port after another, or several at once: its lossless priorities paused, data on all that it has, all
of it at line rate. The port's own configuration says which those are. Senders go on after a pause for as long as the
headroom of the port that their data enters by covers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from ..cases.checks import judge, validity
from ..cases.engine import Finding, finding_of
from ..cases.group_headroom import Headroom, delays, read_headroom
from ..cases.group_profiles import profiles_command
from ..lab.generator import Traffic
from ..lab.generator_ports import reacting_after
from ..lab.lab import Lab
from ..lab.option import flows_beside
from ..model.arithmetic import MAX_QUANTA, share_percent
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import Measurement
from ..model.qos import PortQos
from ..model.scenario import Scenario, Storm
from ..model.traffic import FlowPlan, PauseFrame, pfc_frame
from ..record.case import PlanCase, Target
from .at_once import Part, build_together, measure_together

logger = logging.getLogger(__name__)

PORT = PlanCase("port-sweep", "SWEEP-1")


@dataclass(frozen=True)
class LateSender:
    """The sender behind a tx port.

    Attributes:
        quanta: how long it goes on after a pause reached it; 0: it stops at once.
        headroom_bytes: the headrooms that take what it sends meanwhile.
    """

    quanta: int = 0
    headroom_bytes: int = 0


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
    senders = late_senders(parts)
    headroom_bytes = sum(sender.headroom_bytes for sender in senders.values())
    runs = measure_together(parts, before, build=partial(_build, senders=senders, beside=beside))
    findings = [finding_of(lab, _with_headroom(run, headroom_bytes), validity, judge)
                for lab, run in zip(labs, runs, strict=True)]
    at_once = {"ports_at_once": [lab.port for lab in labs]}
    return [
        replace(finding, evidence={**finding.evidence, **at_once, "reaction_quanta": senders[lab.port].quanta})
        for lab, finding in zip(labs, findings, strict=True)
    ]


def late_senders(parts: Sequence[Part]) -> dict[str, LateSender]:
    """Port under test -> the sender behind its tx port, which goes on after a pause for as long as the headroom of each
    paused priority covers, whatever else is as slow as it may be (HEAD); where a pool shares less headroom than all
    groups have that are filled together, for so much less. All stop at once where that cannot be told: no document
    says how the pipelines of a chip divide a pool of headroom, so on hardware that is filled by one port at a time."""
    try:
        filled = read_headrooms(parts)
    except QualificationError as error:
        logger.warning("senders stop as soon as a pause reaches them: %s", error)
        return {part.lab.port: LateSender() for part in parts}
    together = [headroom for headrooms in filled.values() for headroom in headrooms]
    if len(parts) > 1 and not all(_is_known(headroom, parts[0].lab.clock.exact) for headroom in together):
        return {part.lab.port: LateSender() for part in parts}
    part_of_each = _pool_part(together)
    return {
        part.lab.port: _late_sender(part, [replace(headroom, xoff_bytes=int(headroom.xoff_bytes * part_of_each))
                                           for headroom in filled[part.lab.port]])
        for part in parts
    }


def _is_known(headroom: Headroom, exact: bool) -> bool:
    """Whether it is known how much of this headroom there is where those of other ports are filled too."""
    return headroom.room is not None and (exact or not headroom.room.pool_headroom)


def _pool_part(headrooms: Sequence[Headroom]) -> Fraction:
    """How much of each of these headrooms their pool has where all of them are filled at once."""
    due = sum(headroom.xoff_bytes for headroom in headrooms)
    shared = [headroom.room.pool_headroom for headroom in headrooms if headroom.room and headroom.room.pool_headroom]
    return min([Fraction(1), *(Fraction(size, due) for size in shared)])


def read_headrooms(parts: Sequence[Part]) -> dict[str, list[Headroom]]:
    """Port under test -> the headroom of each paused priority at its tx port.

    Raises:
        QualificationError: one has none, or what it is cannot be told.
    """
    ports = {part.lab.port: part.lab.subject.pair.tx.port for part in parts}
    printed = parts[0].lab.dut.ask({tx: profiles_command(tx) for tx in ports.values()})
    found = {}
    for part in parts:
        tx = ports[part.lab.port]
        headroom = read_headroom(printed[tx], part.lab.config_db, part.lab.subject.qos, tx)
        found[part.lab.port] = [headroom[priority] for priority in part.scenario.tested]
    return found


def _late_sender(part: Part, headrooms: Sequence[Headroom]) -> LateSender:
    """All data fills the sender's line, each priority alike."""
    priorities = len(part.scenario.tested) + len(part.scenario.background)
    speed = part.lab.subject.pair.tx.speed_mbps
    frame_bytes = part.scenario.frame_bytes
    covered = [delays(one, speed, priorities, frame_bytes=frame_bytes).covered for one in headrooms]
    quanta = min(MAX_QUANTA, *covered)
    return LateSender(quanta, sum(headroom.xoff_bytes for headroom in headrooms) if quanta else 0)


def _with_headroom(run: Measurement, headroom_bytes: int) -> Measurement:
    """What late senders fill of headrooms is held beside the shared buffer."""
    if not headroom_bytes:
        return run
    buffer = run.subject.buffer
    larger = replace(buffer, pool=f"{buffer.pool} and headroom", size_bytes=buffer.size_bytes + headroom_bytes)
    return replace(run, subject=replace(run.subject, buffer=larger))


def _build(parts: Sequence[Part], senders: Mapping[str, LateSender], beside: bool) -> Traffic:
    """One configuration of the flows of these parts."""
    other_way = [_other_way(part.lab) if beside else [] for part in parts]
    names = [flow.name for flows in other_way for flow in flows]
    whole = build_together([(part.lab.builder, [*part.flows(), *further])
                            for part, further in zip(parts, other_way, strict=True)])
    reacting_after(whole, {part.lab.builder.port_name(part.lab.subject.pair.tx.port): senders[part.lab.port].quanta
                           for part in parts})
    own = {name: flow for name, flow in whole.flows.items() if name not in names}
    return replace(whole, flows=own, beside={name: whole.flows[name] for name in names})


def _other_way(lab: Lab) -> list[FlowPlan]:
    """What options send beside a case between the port under test and its tx port, to this one only."""
    pair = lab.subject.pair
    subject = replace(lab.subject, bystanders=(pair.rx, pair.tx))
    return [flow for flow in flows_beside(subject) if flow.enters == pair.rx.port]
