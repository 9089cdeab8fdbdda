"""Whether the switch counted the pause frames that it got, also those that end a pause, and those of lossy priorities.

SONiC shows a receive counter for each priority, and what an ASIC counts there differs: where one is known not to count
a kind of frame, any number of these will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

from ..model.checking import COUNTER, at_priority, every_pause_counted, fail_unless, no_pause_sent
from ..model.deviations import Deviation, deviation
from ..model.measurement import CaseRun, PortUnderTest
from ..model.qos import PRIORITIES
from ..model.traffic import FlowStats, PauseFrame
from ..record.verdict import Check

DEVIATIONS = (
    Deviation(
        "xon-counted", ("-8122", "-8223"), "no",
        "its receive counters do not count frames with a time of 0 (sonic-mgmt, `pfc_counters.py`)",
        date(2026, 11, 24),
    ),
    Deviation(
        "xon-counted", (), "yes",
        "SONiC counts a received PFC frame for each priority that it enables, whatever its time",
        date(2026, 11, 24),
    ),
)


def pauses_counted(run: CaseRun, storms: Iterable[FlowStats]) -> Iterator[Check]:
    """The switch counted each pause frame of these storms for the priorities that it enables, XON too, and held no
    other priority's sender than the tested ones'."""
    storms = list(storms)
    for priority in PRIORITIES:
        yield counted_for(run, storms, priority)
        if priority not in run.tested:
            yield from no_pause_sent("no-other-back-pressure", run, [priority])


def counted_for(run: CaseRun, storms: Iterable[FlowStats], priority: int, when: str = "") -> Check:
    """The switch counted for a priority each frame of these storms that enables it; of those that its ASIC may not
    count, any number. `when` is for the message, `in the end `."""
    sent = [(storm.plan.pause, storm.frames_tx) for storm in storms if storm.plan.pause is not None]
    named = [(pause, frames) for pause, frames in sent if priority in pause.enabled]
    most = sum(frames for _, frames in named)
    least = sum(frames for pause, frames in named if _is_counted(run.subject, pause, priority))
    if least == most:
        return every_pause_counted(run, priority, most, when)
    frames = run.pfc_received_in_all()[priority]
    tolerances = run.subject.tolerances
    expected = f"{least} to {most} {COUNTER} {when}".rstrip() + tolerances.more_or_less
    met = tolerances.alike(frames, min(max(frames, least), most))
    return fail_unless("every-pause-counted", at_priority(run.subject, priority), met, expected, frames)


def _is_counted(subject: PortUnderTest, pause: PauseFrame, priority: int) -> bool:
    """Whether the ASIC is to count such a frame for a priority that it enables."""
    if priority in subject.uncounted(pause.enabled):
        return False
    return pause.quanta[priority] > 0 or deviation("xon-counted", subject.asic, DEVIATIONS).value == "yes"
