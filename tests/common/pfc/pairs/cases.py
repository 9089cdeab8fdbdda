"""PAIRS-1 and PAIRS-2: PFC-1's steps for each row of a covering array, one storm after the other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

from ..cases import frames
from ..cases.checks import judge, validity
from ..cases.engine import Procedure, Table, settled_counters, unmet, with_late_counts
from ..cases.parts import saying
from ..cases.pauses import pause_lossless
from ..cases.storm_sequence import measure
from ..cases.targets import each_reached_lossless, several_reached_lossless
from ..lab.lab import Lab
from ..lab.reservation import ReservationLost
from ..model.checking import at_priorities, error_unless
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import Measurement, PortUnderTest
from ..model.ports import hosts_behind
from ..model.scenario import Scenario
from ..record.case import PlanCase, Target
from ..record.verdict import LOSSLESS, LOSSY, Check, Status
from .array import (
    CELLS, CELLS_FILLED, LARGEST, LOADS, ONE_MORE, SMALLEST, PairsRow, only_in, pause_frame, rows_on,
)

logger = logging.getLogger(__name__)

SINGLE = PlanCase("pairs-lossless-single", "PAIRS-1")
SEVERAL = PlanCase("pairs-lossless-several", "PAIRS-2")


@dataclass(frozen=True)
class PairsRun:
    """The rows of the array that pause the target, measured one after the other.

    Attributes:
        subject: the port under test.
        target: the priorities that are held.
        rows: those of the target.
        runs: row -> what was measured; one that could not be is absent.
        refused: row -> why it could not be measured.
        last: the switch's last counters, with everything in them.
    """

    subject: PortUnderTest
    target: Target
    rows: Sequence[PairsRow]
    runs: Mapping[PairsRow, Measurement]
    refused: Mapping[PairsRow, str]
    last: DutCounters

    @property
    def settled(self) -> DutCounters:
        """The counters after the last row."""
        return self.last

    def evidence(self) -> dict[str, Any]:
        """The numbers of each row, for the record."""
        return {
            f"row {row.number}": {
                "levels": row.levels(),
                **(self.runs[row].evidence() if row in self.runs else {"refused": self.refused[row]}),
            }
            for row in self.rows
        }


def ip_versions(lab: Lab) -> tuple[int, ...]:
    """The run's IP version, and the other one where all ports of the lab have addresses of it."""
    own = lab.subject.ip_version
    other = 10 - own
    try:
        hosts_behind(tuple(lab.builder.hosts), lab.config_db, other)
    except QualificationError:
        return (own,)
    return (own, other)


def with_ip_version(lab: Lab, ip_version: int) -> Lab:
    """What to measure with where data is of this IP version."""
    if ip_version == lab.subject.ip_version:
        return lab
    own = lab.builder.hosts
    others = hosts_behind(tuple(own), lab.config_db, ip_version)
    hosts = {port: replace(host, mac=own[port].mac) for port, host in zip(own, others, strict=True)}
    subject = replace(lab.subject, ip_version=ip_version)
    return replace(lab, subject=subject, builder=replace(lab.builder, subject=subject, hosts=hosts))


def data_s(lab: Lab, paused: Target) -> float:
    """How long data is sent: the least load fills the buffer one and a half times with each paused priority, so that
    the sender has to be held. Where time is not exact, whole seconds."""
    needed_bits = Fraction(3, 2) * len(paused) * 8 * lab.subject.buffer.size_bytes
    seconds = needed_bits / (lab.subject.pair.speed_mbps * 10**6 * Fraction(min(LOADS) // 2, 100))
    return float(seconds) if lab.clock.exact else ceil(seconds)


def scenario_of(lab: Lab, row: PairsRow) -> Scenario:
    """The storm and the data of a row.

    Raises:
        QualificationError: the switch does not say what its ports carry.
    """
    subject = lab.subject
    half = row.load_percent // 2
    scenario = replace(
        pause_lossless(row.paused, subject.qos), test_percent=half, background_percent=half,
        data_s=data_s(lab, row.paused), pause_quanta=row.quanta, storm_refreshes=Fraction(row.refreshes),
        frame=pause_frame(row, subject, lab.builder.mac(lab.port)),
    )
    sizes = SIZES[row.size](lab)
    return replace(scenario, mix=sizes) if len(sizes) > 1 else replace(scenario, frame_bytes=sizes[0][0])


SIZES: Mapping[str, Callable[[Lab], frames.Sizes]] = {
    SMALLEST: frames.smallest,
    CELLS_FILLED: lambda lab: _cells(0),
    ONE_MORE: lambda lab: _cells(1),
    LARGEST: frames.largest,
}
"""What the levels of the size of data frames stand for, with FCS."""


def _cells(more: int) -> frames.Sizes:
    """As many frames of one cell and of two, of each size that a cell may have, and so many bytes more."""
    return tuple((size + more, 1) for size in sorted({number * cell for number in (1, 2) for cell in CELLS}))


def measure_rows(lab: Lab, target: Target, before: DutCounters) -> PairsRun:
    """Each row in turn. One that the generator refuses does not keep the others from being measured."""
    rows = [row for row in rows_on(lab.subject, ip_versions(lab)) if row.paused == target]
    runs: dict[PairsRow, Measurement] = {}
    refused: dict[PairsRow, str] = {}
    for row in rows:
        logger.info("%s: %s", lab.subject.where(), row)
        other = with_ip_version(lab, row.ip_version)
        try:
            run = measure(other, scenario_of(other, row), before)
            runs[row] = with_late_counts(other, run, validity, judge)
            before = runs[row].after
        except ReservationLost:
            raise
        except QualificationError as error:
            refused[row] = str(error)
            before = settled_counters(lab)
    return PairsRun(lab.subject, target, rows, runs, refused, before)


def judge_rows(pairs: PairsRun) -> Iterator[Check]:
    """The checks of each row; of one that was no measurement, why: that is ERROR in both metrics."""
    found = {row: list(_checks(pairs, row)) for row in pairs.rows}
    failing = [row for row in pairs.rows if any(check.status is Status.FAIL for check in found[row])]
    common = only_in(failing, [row for row in pairs.rows if row not in failing])
    blamed = f"; in all failing rows, and no other: {', '.join(common)}" if common else ""
    for row in pairs.rows:
        yield from saying(found[row], f"{row}{blamed if row in failing else ''}")


def _checks(pairs: PairsRun, row: PairsRow) -> Iterator[Check]:
    if row in pairs.refused:
        place = at_priorities(pairs.subject, pairs.target)
        check = error_unless("row-measured", place, False, "a row that can be measured", pairs.refused[row])
        yield from _in_both_metrics(check)
    elif invalid := unmet(validity(pairs.runs[row])):
        yield from _in_both_metrics(invalid[0])
    else:
        yield from judge(pairs.runs[row])


def _in_both_metrics(check: Check) -> Iterator[Check]:
    for metric in (LOSSLESS, LOSSY):
        yield replace(check, metric_name=metric, priority=None)


CASES: Table = {
    SINGLE: Procedure(measure_rows, lambda run: (), judge_rows, each_reached_lossless),
    SEVERAL: Procedure(measure_rows, lambda run: (), judge_rows, several_reached_lossless),
}
