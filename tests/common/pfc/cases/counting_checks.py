"""What COUNT's readings are compared with.

On a virtual testbed the counters agree to the frame. On hardware hosts and switches also send frames of their own (ARP,
neighbour discovery, LLDP), each seldom: `OWN_FRAMES` of them are let pass, where a single lost burst is far more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..model.checking import Place, at_port, at_priority, fail_unless, flows_of, priority_of
from ..model.measurement import Measurement, PortUnderTest, Readings
from ..model.qos import PRIORITIES
from ..model.traffic import FlowStats, Role
from ..record.verdict import LOSSLESS, LOSSY, Check
from .counting_readings import DataCounters, PortCounts

OWN_FRAMES = 100  # in a run of a minute, on a port or in a queue: some protocols, none of them twice a second


@dataclass(frozen=True)
class Storm:
    """A storm that has ended: the priorities that its frames pause, and how many frames it sent."""

    enabled: tuple[int, ...]
    sent: int


@dataclass(frozen=True)
class Counted:
    """The data counters of a run: before it, in the storm, and when all was over; how many frames more than the
    generators' may be in them."""

    subject: PortUnderTest
    before: DataCounters
    during: DataCounters
    after: DataCounters
    own_frames: int

    @property
    def in_storm(self) -> DataCounters:
        """What was counted until the storm's end neared."""
        return self.during.since(self.before)

    @property
    def in_all(self) -> DataCounters:
        """What was counted until all was over."""
        return self.after.since(self.before)

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return {
            "counted_in_storm": self.in_storm.evidence(),
            "counted_in_all": self.in_all.evidence(),
            "own_frames_allowed": self.own_frames,
        }


def own_frames(exact: bool) -> int:
    """Frames that may be counted beside those of the generators' flows: none where time is exact, as nobody sends
    frames of his own there."""
    return 0 if exact else OWN_FRAMES


def judge_pauses(run: Readings, gained: PortCounts, storm: Storm, allowed: int) -> list[Check]:
    """All checks of a storm without data, after which the port under test has counted `gained`."""
    return [
        *_every_pause_counted(run, storm),
        *_no_other_pause_counted(run, storm),
        *_pauses_are_no_data(run.subject, gained, allowed),
    ]


def judge_data(run: Measurement, counted: Counted) -> list[Check]:
    """All checks of PFC-1's steps."""
    return [
        *_held_queue_stands_still(run, counted),
        *_queues_agree(run, counted),
        *_ports_agree(run, counted),
        *_pauses_are_no_data(run.subject, counted.in_all.rx, counted.own_frames),
        *_nothing_dropped(counted),
    ]


def _every_pause_counted(run: Readings, storm: Storm) -> Iterator[Check]:
    """That the frames arrived: otherwise nothing would follow from the other counters."""
    tolerances = run.subject.tolerances
    for priority in storm.enabled:
        place, frames = at_priority(run.subject, priority), run.pfc_received_in_all()[priority]
        expected = f"{storm.sent} PFC frames in the receive counter once the storm had stopped"
        expected += f" ({tolerances.more_or_less})"
        yield fail_unless("every-pause-counted", place, tolerances.alike(frames, storm.sent), expected, frames)


def _no_other_pause_counted(run: Readings, storm: Storm) -> Iterator[Check]:
    """Nor is a pause counted for a priority that no frame enabled."""
    for priority in (one for one in PRIORITIES if one not in storm.enabled):
        place, frames = at_priority(run.subject, priority), run.pfc_received_in_all()[priority]
        expected = "0 PFC frames in the receive counter, as none enabled it"
        yield fail_unless("no-other-pause-counted", place, frames == 0, expected, frames)


def _pauses_are_no_data(subject: PortUnderTest, gained: PortCounts, allowed: int) -> Iterator[Check]:
    """No data comes in by the port under test, so nothing but the storm can raise these."""
    place = at_port(subject, subject.pair.rx.port)
    for name, column, frames in (
        ("pauses-are-no-data", "RX_OK", gained.rx_ok),
        ("pauses-are-no-drops", "RX_DRP", gained.rx_dropped),
    ):
        expected = f"{_up_to(allowed)} frames more in {column}, as only pauses come in there"
        yield fail_unless(name, place, frames <= allowed, expected, frames)


def _nothing_dropped(counted: Counted) -> Iterator[Check]:
    """No drop counter rises, whatever is held: back-pressure holds the sender, and no line is overloaded."""
    subject, gained = counted.subject, counted.in_all
    for port, column, frames, allowed in (
        (subject.pair.rx.port, "TX_DRP", gained.rx.tx_dropped, 0),
        (subject.pair.tx.port, "TX_DRP", gained.tx.tx_dropped, 0),
        (subject.pair.tx.port, "RX_DRP", gained.tx.rx_dropped, counted.own_frames),
    ):
        expected = f"{_up_to(allowed)} frames more in {column}"
        yield fail_unless("no-port-drops", at_port(subject, port), frames <= allowed, expected, frames)
    for priority in subject.qos.reachable:
        frames = gained.queue_drops.get(priority, 0)
        expected = f"0 frames more in Drop/pkts of queue UC{priority}"
        yield fail_unless("no-queue-drops", at_priority(subject, priority), frames == 0, expected, frames)
    for group, frames in enumerate(gained.group_drops):
        metric = LOSSLESS if group in subject.qos.lossless else LOSSY
        place = Place(subject.where(port=subject.pair.tx.port), metric)
        yield fail_unless("no-group-drops", place, frames == 0, f"0 frames more dropped in PG{group}", frames)


def _held_queue_stands_still(run: Measurement, counted: Counted) -> Iterator[Check]:
    """In the middle of the storm: the queue's own counter, not the generator's."""
    for priority in run.scenario.tested:
        place, frames = at_priority(run.subject, priority), counted.in_storm.queues.get(priority, 0)
        expected = f"0 frames more in Counter/pkts of queue UC{priority} while it was paused"
        yield fail_unless("held-queue-stands-still", place, frames == 0, expected, frames)


def _queues_agree(run: Measurement, counted: Counted) -> Iterator[Check]:
    """What left through a queue is what the generator received of its priority."""
    received = _received_in_all(run)
    for flow in flows_of(run.paused.values(), Role.BACKGROUND):
        yield _agreeing_queue(counted, priority_of(flow), flow.frames_rx, counted.in_storm, "in the storm")
    for priority in run.subject.qos.reachable:
        yield _agreeing_queue(counted, priority, received[priority], counted.in_all, "in all")


def _agreeing_queue(counted: Counted, priority: int, frames_rx: int, gained: DataCounters, when: str) -> Check:
    place, frames = at_priority(counted.subject, priority), gained.queues.get(priority, 0)
    expected = f"the {frames_rx} frames that the generator received {when} in Counter/pkts of queue UC{priority}"
    expected += _or_more(counted)
    return fail_unless("queue-agrees", place, 0 <= frames - frames_rx <= counted.own_frames, expected, frames)


def _ports_agree(run: Measurement, counted: Counted) -> Iterator[Check]:
    """What came in by the tx port and left by the port under test is what the generators sent and received."""
    pair = run.subject.pair
    rows = (
        ("received-agrees", pair.tx.port, "RX_OK", "sent", sum(flow.frames_tx for flow in _data(run)),
         counted.in_all.tx.rx_ok, "in all"),
        ("sent-agrees", pair.rx.port, "TX_OK", "received", sum(_received_in_storm(run)),
         counted.in_storm.rx.tx_ok, "in the storm"),
        ("sent-agrees", pair.rx.port, "TX_OK", "received", sum(_received_in_all(run).values()),
         counted.in_all.rx.tx_ok, "in all"),
    )
    for name, port, column, did, due, frames, when in rows:
        expected = f"the {due} frames that the generator {did} {when} in {column}{_or_more(counted)}"
        met = 0 <= frames - due <= counted.own_frames
        yield fail_unless(name, at_port(run.subject, port), met, expected, frames)


def _data(run: Measurement) -> list[FlowStats]:
    """The data flows of all phases, each frame in one of them: held frames were sent in the storm, received later."""
    return [
        *flows_of(run.paused.values(), Role.BACKGROUND),
        *flows_of(run.drained.values(), Role.TEST),
        *run.resumed.values(),
    ]


def _received_in_storm(run: Measurement) -> list[int]:
    return [flow.frames_rx for flow in flows_of(run.paused.values(), Role.TEST, Role.BACKGROUND)]


def _received_in_all(run: Measurement) -> Mapping[int, int]:
    """Priority -> frames that the generator received of it."""
    received = dict.fromkeys(run.subject.qos.reachable, 0)
    for flow in _data(run):
        received[priority_of(flow)] += flow.frames_rx
    return received


def _up_to(allowed: int) -> str:
    return f"at most {allowed}" if allowed else "0"


def _or_more(counted: Counted) -> str:
    return f" (or up to {counted.own_frames} more)" if counted.own_frames else ""
