"""SWEEP-2: pause storms on all ports of a switch, then all flows on all ports at line rate, each port both sending and
receiving; and then the storms stop and everything drains."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor
from typing import Any

from ..cases.checks import judge, validity
from ..cases.engine import Finding, finding_of
from ..cases.fresh_watermarks import clear_watermarks
from ..cases.group_room import MOST_CELL_BYTES, UNIT_CELLS
from ..cases.switch_counters import HEADROOM, SHARED, delay_s, priority_groups
from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..lab.otg_config import TrafficBuilder
from ..model.arithmetic import PAUSE_FRAME_BYTES, line_rate_fps, share_percent
from ..model.checking import Place, all_at_rate, error_unless, fail_unless, priority_of
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import Measurement
from ..model.qos import PortQos
from ..model.scenario import Scenario
from ..model.traffic import FlowPlan, FlowStats, Role
from ..record.case import PlanCase
from ..record.verdict import LOSSLESS, Check
from . import port_sweep as sweep
from .at_once import Part, measure_together
from .watermarks import Pool, Watermarks, ingress_pool, read_watermarks, together

logger = logging.getLogger(__name__)

ALL_PORTS = PlanCase("full-load", "SWEEP-2")


def data_percent(plan: Scenario, speed_mbps: int, line_percent: float = 100) -> int:
    """What data may fill when a storm for each lossless priority is sent on its line too, percent of what the testbed
    has for a full line: whole percent of a line.

    Of any speed a storm that renews each pause twice takes 0.004 % of the line: two frames of 84 bytes with preamble
    and gap in a pause of 65535 times 64 bytes. The pauses that hold the generators are as few, on the lines that the
    switch sends on. Where the testbed's full line leaves a percent free anyway, that is room enough.
    """
    frames = plan.storm_fps(speed_mbps) * len(plan.paused)
    room = floor(100 - 100 * frames / line_rate_fps(PAUSE_FRAME_BYTES, speed_mbps))
    return room if line_percent > room else 100


@dataclass(frozen=True)
class FullPart(Part):
    """One port's part where its generator port sends data to another port too. `percent`: what all its data fills of
    the line where it enters."""

    percent: int

    def flows(self) -> list[FlowPlan]:
        """Storm, test and background flows, each with the ports where it enters and leaves."""
        rx = self.lab.subject.pair.rx.port
        tx = self.lab.subject.pair.tx.port
        flows = super().flows()
        at_once = [flow for flow in flows if flow.pause is None and not flow.phase]
        share = share_percent(self.percent, len(at_once))
        return [
            replace(flow, enters=rx, leaves=tx) if flow.pause is not None
            else replace(flow, enters=tx, leaves=rx, percent=share)
            for flow in flows
        ]


@dataclass(frozen=True)
class FullRun(Measurement):
    """What one port did under the load of all, by its own flows and counters.

    Attributes:
        marks: the watermarks of all ports; `groups` those of this port's data where it enters, by priority.
        pool: the ingress pool; `shared_bytes` and `headroom_bytes` the sums of what each lossless group of all ports
            had of it at most, perhaps at different times.
        own_headroom_bytes: of the paused priorities' groups where this port's data enters; 0: not known.
    """

    marks: Watermarks = field(kw_only=True)
    groups: Mapping[int, int] = field(kw_only=True)
    pool: Pool = field(kw_only=True)
    shared_bytes: int = field(kw_only=True)
    headroom_bytes: int = field(kw_only=True)
    own_headroom_bytes: int = field(kw_only=True)

    @property
    def headroom_limit(self) -> tuple[int, str]:
        """The most headroom that a group may have used, and whose it is: what the pool shares, or else what the port
        has, rounded up by a unit of cells; the whole pool where neither is known."""
        if self.pool.headroom_bytes or not self.own_headroom_bytes:
            return self.pool.headroom_bytes or self.pool.size_bytes, self.pool.name
        return self.own_headroom_bytes + UNIT_CELLS * MOST_CELL_BYTES, self.subject.pair.tx.port

    def details(self) -> dict[str, Any]:
        """Also this port's watermarks."""
        pair = self.subject.pair
        return {
            **super().details(),
            "watermark_bytes": {port: self.marks.counted(port) for port in (pair.rx.port, pair.tx.port)},
            "watermarks_of_all_ports": {"shared_bytes": self.shared_bytes, "headroom_bytes": self.headroom_bytes},
            "ingress_pool": {"name": self.pool.name, "size_bytes": self.pool.size_bytes,
                             "headroom_bytes": self.pool.headroom_bytes},
            "own_headroom_bytes": self.own_headroom_bytes,
        }


def measure(labs: Sequence[Lab], whole: TrafficBuilder, before: DutCounters) -> list[Finding]:
    """Measures all of these ports at once; a finding for each.

    Args:
        labs: the ports, each of them the tx port of another one.
        whole: builds flows between any two of them.
        before: the switch's counters, with everything in them that came before.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    lab = labs[0]
    pool = ingress_pool(lab.config_db, lab.dut.name)
    age_s = delay_s(lab.config_db, lab.dut.name, "PG_WATERMARK") or 0.0
    is_counted = age_s > 0
    parts = full_parts(labs, sweep.scenario)

    def build(parts: Sequence[Part]) -> Traffic:
        return whole.build([flow for part in parts for flow in part.flows()])

    if is_counted:
        is_counted = _clear_marks(labs, age_s)
        before = lab.dut.counters()
    runs = measure_together(parts, before, build=build)
    lab.clock.sleep(age_s)
    marks = read_watermarks(lab.dut) if is_counted else Watermarks({}, {}, {})
    own = own_headrooms(parts) if is_counted else {}
    return [finding_of(lab, one, validity, judge_full) for one in _full_runs(labs, runs, marks, pool, own)]


def own_headrooms(parts: Sequence[Part]) -> dict[str, int]:
    """Port under test -> bytes of headroom of the paused priorities' groups at its tx port; empty: that cannot be
    told."""
    try:
        headrooms = sweep.read_headrooms(parts)
    except QualificationError as error:
        logger.warning("headroom is compared with the pool: %s", error)
        return {}
    return {port: sum(headroom.xoff_bytes for headroom in found) for port, found in headrooms.items()}


def full_parts(
    labs: Sequence[Lab], scenario: Callable[[PortQos], Scenario], percent: int | None = None
) -> list[FullPart]:
    """Each port's part. A port that serves several others as tx port divides its line among them.

    Args:
        labs: the ports.
        scenario: what each has a part in.
        percent: what all data that enters by a port fills of its line; None: as much as there is room for.
    """
    served = Counter(lab.subject.pair.tx.port for lab in labs)
    parts = []
    for lab in labs:
        pair = lab.subject.pair
        plan = scenario(lab.subject.qos)
        fills = percent or data_percent(plan, pair.speed_mbps, lab.subject.tolerances.line_percent)
        parts.append(FullPart(lab, plan, fills // served[pair.tx.port]))
    return parts


def _clear_marks(labs: Sequence[Lab], age_s: float) -> bool:
    """Lets the watermarks of the groups that hold data begin anew. Whether they did: no document asks for them, so that
    ports of a switch whose watermarks do not are measured all the same."""
    groups: dict[str, set[int]] = {}
    for lab in labs:
        port = lab.subject.pair.tx.port
        of = priority_groups(lab.config_db, lab.dut.name, port)
        groups.setdefault(port, set()).update(of[priority] for priority in lab.subject.qos.lossless if priority in of)
    try:
        return len(clear_watermarks(labs[0], age_s, {HEADROOM: groups, SHARED: groups})) == 2
    except QualificationError as error:
        logger.warning("watermarks are not judged: %s", error)
        return False


def _full_runs(
    labs: Sequence[Lab], runs: Sequence[Measurement], marks: Watermarks, pool: Pool, own: Mapping[str, int]
) -> list[FullRun]:
    device = labs[0].dut.name
    config_db = labs[0].config_db
    places = {lab.port: priority_groups(config_db, device, lab.subject.pair.tx.port) for lab in labs}
    lossless = [(run.subject.pair.tx.port, places[lab.port][priority])
                for lab, run in zip(labs, runs, strict=True) for priority in run.scenario.tested]
    shared_bytes, headroom_bytes = (together(kind, sorted(set(lossless))) for kind in (marks.shared, marks.headroom))
    return [
        FullRun(**vars(run), marks=marks, groups=places[lab.port], pool=pool, shared_bytes=shared_bytes,
                headroom_bytes=headroom_bytes, own_headroom_bytes=own.get(lab.port, 0))
        for lab, run in zip(labs, runs, strict=True)
    ]


def judge_full(full: FullRun) -> list[Check]:
    """A port by what its storm must do, by its rates, and by what the buffers say."""
    return [*judge(full), *_full_rate(full), *_marks(full)]


def _full_rate(run: Measurement) -> Iterator[Check]:
    """A sender that the switch holds back sends less and loses nothing: only this notices. Lossy priorities have their
    part of the line while the lossless ones of all ports are paused, and each has it once the storms are over."""
    in_the_storm = run.flows("paused", Role.BACKGROUND)
    yield from all_at_rate("full-rate", run.subject, in_the_storm, run.scenario.moment)
    yield from all_at_rate("full-rate", run.subject, run.flows("resumed"), "once the storms had stopped")


def _held(run: Measurement) -> dict[int, FlowStats]:
    """Priority -> the flow whose frames the switch held."""
    return {priority_of(flow): flow for flow in run.flows("paused", Role.TEST)}


def _marks(full: FullRun) -> Iterator[Check]:
    """The watermark of a group shows at least half of the held bytes: a part of them is in reserved memory, which a
    watermark leaves out. And no group has had more than there is. Where a switch does not count watermarks it has a
    verdict all the same, as no document asks for them."""
    pool = full.pool
    tx = full.subject.pair.tx.port
    for priority, flow in _held(full).items():
        group = full.groups[priority]
        place = _group(full, priority)
        used = full.marks.used(tx, group)
        if used is None:
            expected = "watermarks of shared bytes and headroom"
            yield replace(error_unless("watermark-counted", place, False, expected, "none"), required=False)
            continue
        least = round((flow.frames_tx - flow.frames_rx) * flow.plan.mean_bytes / 2)
        expected = f"a watermark of at least {least} bytes, half of what was held there"
        yield fail_unless("watermark-shown", place, used >= least, expected, used)
        for what, marks, (size, owner) in (("shared bytes", full.marks.shared, (pool.size_bytes, pool.name)),
                                           ("headroom", full.marks.headroom, full.headroom_limit)):
            expected = f"a watermark of {what} within the {size} bytes of {owner}"
            most = marks[tx][group]
            yield fail_unless("watermark-within-pool", place, most <= size, expected, most)


def _group(full: FullRun, priority: int) -> Place:
    """The priority group where this port's data of a priority enters."""
    subject = full.subject
    name = f"{subject.where(priority, subject.pair.tx.port)} PG{full.groups[priority]}"
    return Place(name, LOSSLESS, priority)
