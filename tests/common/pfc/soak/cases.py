"""SOAK-1: PFC-2's storm for many minutes. What has to hold for its seconds has to hold all the time, and readings at
intervals say when something did not."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

from ..cases import storm_sequence
from ..cases.checks import judge, validity
from ..cases.engine import Procedure, Table
from ..cases.flows import RESUMED
from ..cases.pauses import pause_lossless
from ..cases.targets import all_lossless
from ..lab.counter_polling import POLL_GRACE_S
from ..lab.generator import SETTLE_S, Traffic
from ..lab.lab import Lab
from ..model.checking import Place, at_priority, fail_unless, priority_of
from ..model.counters import DutCounters
from ..model.measurement import Measurement
from ..model.scenario import Scenario
from ..model.traffic import FlowPlan, Role, Stats
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .duration import SOAK

logger = logging.getLogger(__name__)

LONG_STORM = PlanCase("soak-in-storm", "SOAK-1")
TEST_PERCENT = BACKGROUND_PERCENT = 25
RESUMED_S = 2  # data after the storm
LOOKS = 20  # readings in the storm, no more often than LEAST_INTERVAL_S says
LEAST_INTERVAL_S = 10.0
LEAST_COUNTED = 2  # that part of an interval's pauses (a half) is counted at least: a reading is as old as its poll


@dataclass(frozen=True)
class Look:
    """What was seen at one moment of the storm.

    Attributes:
        at_s: seconds after the data began.
        stats: of the data.
        counters: the switch's.
    """

    at_s: float
    stats: Stats
    counters: DutCounters


@dataclass(frozen=True)
class SoakRun(Measurement):
    """The storm, as PFC-2 would measure it, and what was seen in between.

    Attributes:
        looks: in order; the first as soon as everything is held.
    """

    looks: Sequence[Look] = field(kw_only=True)

    @property
    def fps(self) -> int:
        """Pause frames a second of the storm."""
        return self.scenario.storm_fps(self.subject.pair.speed_mbps)

    def received(self, priority: int) -> list[int]:
        """Frames of a tested priority that had come through at each look."""
        return [
            sum(flow.frames_rx for flow in look.stats.values()
                if flow.plan.role is Role.TEST and priority_of(flow) == priority)
            for look in self.looks
        ]

    def pauses_counted(self, priority: int) -> list[int]:
        """Pauses for a priority that the port under test had counted at each look."""
        return [look.counters.pfc_rx[self.subject.pair.rx.port][priority] for look in self.looks]

    def back_pressure(self, priority: int) -> list[int]:
        """Pauses for a priority that the switch had sent to the sender at each look."""
        return [look.counters.pfc_tx[self.subject.pair.tx.port][priority] for look in self.looks]

    def when(self, intervals: Sequence[int]) -> str:
        """`in 2 of 20 intervals, the first from 120 to 150 s`."""
        first = intervals[0]
        begin_s = self.looks[first].at_s
        end_s = self.looks[first + 1].at_s
        return f"in {len(intervals)} of {len(self.looks) - 1} intervals, the first from {begin_s:.0f} to {end_s:.0f} s"

    def details(self) -> dict[str, Any]:
        """Also what each look saw of the tested priorities."""
        return {**super().details(), "looks": [
            {
                "at_s": round(look.at_s, 3),
                **{str(priority): {
                    "frames_rx": self.received(priority)[place], "pfc_rx": self.pauses_counted(priority)[place],
                    "pfc_tx": self.back_pressure(priority)[place],
                } for priority in self.tested},
            }
            for place, look in enumerate(self.looks)
        ]}


def measure(lab: Lab, target: Target, before: DutCounters) -> SoakRun:
    """Storm, data for as long as was asked for, looked at all the time; the storm's end, drained, data once more.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    scenario = replace(
        pause_lossless(target, lab.subject.qos), test_percent=TEST_PERCENT, background_percent=BACKGROUND_PERCENT,
        data_s=SOAK.seconds
    )
    traffic = lab.builder.build([_shorter_again(flow) for flow in storm_sequence.scenario_flows(lab, scenario)])
    looks: list[Look] = []
    run = storm_sequence.measure(lab, scenario, before, traffic=traffic, look_on=partial(look_on, looks))
    return SoakRun(**vars(run), looks=looks)


def _shorter_again(flow: FlowPlan) -> FlowPlan:
    return replace(flow, seconds=float(RESUMED_S)) if flow.phase == RESUMED else flow


def look_on(looks: list[Look], lab: Lab, scenario: Scenario, traffic: Traffic) -> None:
    """Looks at the data and the switch until the data has ended: the first time when all is held."""
    data = traffic.names(Role.TEST, Role.BACKGROUND)
    began_s = lab.clock.now()
    late_s = 0.0 if lab.clock.exact else POLL_GRACE_S
    shortest_s = LEAST_COUNTED * (lab.delays.port_s + late_s)  # less the age of a late reading, that part is left
    interval_s = max(LEAST_INTERVAL_S, scenario.data_s / LOOKS, shortest_s)
    due_s = lab.delays.port_s + SETTLE_S
    while due_s < scenario.data_s - shortest_s:
        lab.clock.sleep(max(0.0, due_s - (lab.clock.now() - began_s)))
        looks.append(Look(lab.clock.now() - began_s, lab.generator.stats(data), lab.dut.counters()))
        logger.info("%s: %.0f of %d s in the storm", lab.subject.where(), looks[-1].at_s, scenario.data_s)
        due_s = looks[-1].at_s + interval_s
    lab.generator.run_out(data, max(0.0, scenario.data_s - (lab.clock.now() - began_s)))
    looks.append(Look(lab.clock.now() - began_s, lab.generator.stats(data), lab.dut.counters()))


def judge_soak(run: SoakRun) -> Iterator[Check]:
    """PFC-2's checks, and that what they say held at each look."""
    yield from judge(run)
    for priority in run.tested:
        yield from throughout(run, priority)


def throughout(run: SoakRun, priority: int) -> Iterator[Check]:
    """Nothing of a priority came through, and its pauses were counted and sent, at each look as at the end."""
    subject = run.subject
    received = run.received(priority)
    leaks = [place for place, (early, late) in enumerate(pairwise((0, *received))) if late > early]
    intervals = [max(0, place - 1) for place in leaks]  # what came before the first look came before its interval
    seen: int | str = f"{received[-1]} {run.when(intervals)}" if leaks else 0
    place = at_priority(subject, priority)
    yield fail_unless("held-throughout", place, not leaks, "0 frames received at any time in the storm", seen)
    half = [int(run.fps * (late.at_s - early.at_s)) // LEAST_COUNTED for early, late in pairwise(run.looks)]
    what = "PFC frames in the receive counter in every interval, at least half of those sent"
    yield _rises("counted-throughout", place, run, run.pauses_counted(priority), half, what)
    sender = at_priority(subject, priority, subject.pair.tx.port)
    what = f"PFC frames sent out of {subject.pair.tx.port} in every interval to hold the sender"
    yield _rises("held-back-throughout", sender, run, run.back_pressure(priority), [1] * len(half), what)


def _rises(
    name: str, place: Place, run: SoakRun, counts: Sequence[int], least: Sequence[int], what: str
) -> Check:
    """A counter rises by so much from each look to the next."""
    gained = [late - early for early, late in pairwise(counts)]
    short = [number for number, (gain, due) in enumerate(zip(gained, least, strict=True)) if gain < due]
    seen: int | str = f"{gained[short[0]]} {run.when(short)}" if short else min(gained, default=0)
    return fail_unless(name, place, not short, what, seen)


CASES: Table = {
    LONG_STORM: Procedure(
        measure, validity, judge_soak,
        all_lossless.where(lambda subject: SOAK.seconds, "--pfc-soak, which says how long (10m)"),
    ),
}
