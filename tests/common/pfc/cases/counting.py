"""COUNT: the switch's data counters while pauses come in: pauses are neither data nor drops, and what the switch counts
is what the generators sent and received."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..lab.counter_polling import PollDelays
from ..lab.lab import Lab
from ..model.arithmetic import MAX_QUANTA, holding_fps
from ..model.checking import at_port, error_unless
from ..model.counters import DutCounters
from ..model.measurement import PortUnderTest, Readings, flow_numbers
from ..model.qos import PRIORITIES
from ..model.traffic import FlowStats, PauseFrame, pfc_frame
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .checks import validity
from .counting_checks import Counted, Storm, judge_data, judge_pauses, own_frames
from .counting_readings import PORTS_COMMAND, PortCounts, commands, data_counters, port_counts
from .drops import drops_delay_s
from .engine import Finding, OldProcedure as Procedure, settled_counters, unmet
from .pauses import pause_lossless
from .storm_sequence import measure, pause_storm
from .targets import all_lossless
from .validity import counters_kept, links_kept, watchdog_stopped

PAUSES = PlanCase("count-pauses", "COUNT-1")
EMPTY_PAUSES = PlanCase("count-empty-pauses", "COUNT-2")
DATA = PlanCase("count-data", "COUNT-3")
STORM_S = 5


@dataclass(frozen=True)
class PausesOnly(Readings):
    """A storm without any data.

    Attributes:
        frame: what its frames said.
        storm: its statistics, after it had ended.
    """

    frame: PauseFrame
    storm: FlowStats

    @property
    def gained(self) -> PortCounts:
        """What the port under test counted in the meantime."""
        early, late = (port_counts(one.printed["data"], self.subject.pair.rx.port) for one in (self.before, self.after))
        return late.since(early)

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        flows = flow_numbers({"storm": {self.storm.plan.name: self.storm}})
        counted = {"storm_frame": asdict(self.frame), "counted_in_all": {"rx": asdict(self.gained)}}
        return {"flows": flows, **self.counted(), **counted}


def count_pauses(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """A storm and no data: neither a data frame nor a drop may be counted. `before` has no data counters, so they are
    read here."""
    frame = pfc_frame(target, MAX_QUANTA)
    frame = frame if case is PAUSES else replace(pfc_frame(PRIORITIES, MAX_QUANTA), enabled=())
    run, allowed = _storm_alone(lab, frame), own_frames(lab.clock.exact)
    gained = run.gained
    invalid = unmet([*watchdog_stopped(run), *links_kept(run), *counters_kept(run), *_kept(lab.subject, gained.least()),
                     *_storm_ran(run)])
    checks = [] if invalid else judge_pauses(run, gained, Storm(frame.enabled, run.storm.frames_tx), allowed)
    return Finding(checks, invalid, {**run.evidence(), "own_frames_allowed": allowed}, run.after)


def count_data(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """PFC-1's steps for all lossless priorities together; the data counters are read with every reading. Each waits
    until all groups of counters have been polled."""
    scenario = pause_lossless(case, target, lab.subject.qos)
    patient = _patient(lab)
    run = measure(patient, scenario, settled_counters(patient, also=commands(lab.subject)), commands(lab.subject))
    early, during, late = (data_counters(run.subject, one) for one in (run.before, run.during, run.after))
    counted = Counted(run.subject, early, during, late, own_frames(lab.clock.exact))
    fell = min(counted.in_storm.least(), counted.after.since(counted.during).least())
    invalid = [*unmet(validity(run)), *unmet(_kept(run.subject, fell))]
    checks = [] if invalid else judge_data(run, counted)
    return Finding(checks, invalid, {**run.evidence(), **counted.evidence()}, run.after)


CASES: Mapping[PlanCase, Procedure] = {
    PAUSES: Procedure(count_pauses, all_lossless),
    EMPTY_PAUSES: Procedure(count_pauses, all_lossless),
    DATA: Procedure(count_data, all_lossless),
}


def _storm_alone(lab: Lab, frame: PauseFrame) -> PausesOnly:
    """The hosts ask for their gateways before the first reading, so that this is not counted as data of the storm."""
    subject = lab.subject
    storm = replace(pause_storm(lab, frame.enabled), seconds=STORM_S, pause=frame)
    wait_s, also = lab.delays.port_s, {"data": PORTS_COMMAND}
    try:
        lab.generator.push(lab.builder.build([storm]))
        lab.clock.sleep(wait_s)
        before = lab.dut.counters(also=also)
        lab.generator.start([storm.name])
        lab.generator.run_out([storm.name], STORM_S)
        lab.clock.sleep(wait_s)
        stats, after = lab.generator.stats([storm.name]), lab.dut.counters(also=also)
    finally:
        lab.generator.stop()
    return PausesOnly(subject, before, after, after, frame, stats[storm.name])


def _storm_ran(run: PausesOnly) -> Iterator[Check]:
    """The storm sent at least as many frames as would have held a pause."""
    subject, sent = run.subject, run.storm.frames_tx
    least = int(holding_fps(MAX_QUANTA, subject.pair.speed_mbps) * STORM_S)
    place, expected = at_port(subject, subject.pair.rx.port), f"a storm of at least {least} pause frames"
    yield error_unless("storm-ran", place, sent >= least, expected, sent)


def _kept(subject: PortUnderTest, least: int) -> Iterator[Check]:
    """Counters only grow; `least` is what the one gained that gained least. One that fell was cleared in between, and
    what it gained is unknown."""
    place, expected = at_port(subject, subject.pair.rx.port), "data counters that were not cleared in the run"
    yield error_unless("counters-kept", place, least >= 0, expected, f"one that fell by {-least}")


def _patient(lab: Lab) -> Lab:
    """A lab that waits for the slowest counters where it would wait for those of ports."""
    wait_s = drops_delay_s(lab)
    return replace(lab, delays=PollDelays(wait_s, wait_s, wait_s))
