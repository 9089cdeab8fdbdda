"""What the watchdog's test cases have in common: their runs, whether these were a measurement, and what is judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from ...lab.generator import SETTLE_S
from ...lab.watchdog import DROP, OPERATIONAL, STORMED, Timers
from ...lab.watchdog_deviations import drops_what_comes_in
from ...model.checking import (
    Place, at_flow, at_least, at_port, at_priorities, at_priority, at_queue, at_sender, error_unless,
    everything_received, fail_unless, least_load, none_of, nothing_received, priority_of, sent_as_due, way,
)
from ...model.counters import DutCounters, WatchdogRow, changed
from ...model.measurement import NEVER_STORMED, CaseRun
from ...model.traffic import FlowStats, Role
from ...record.verdict import Check
from ..storm_length import storm_held
from ..validity import counters_kept, links_kept, load_applied, lossy_in_background, storm_stopped

DATA_S = 2
FRAME_BYTES = 1024
COUNTED = ("detected", "restored", "tx_ok", "tx_dropped", "rx_ok", "rx_dropped")
"""What `WatchdogRow` counts since the last reset."""


def lead_s(timers: Timers) -> float:
    """Seconds from a storm's start to the data in it: it must have been detected."""
    return timers.latest_detection_s + SETTLE_S


@dataclass(frozen=True)
class WatchdogRun(CaseRun):
    """A pause storm on a port whose watchdog runs. `during` was read in the storm, `after` just before the watchdog was
    stopped. Phases, where a case has no others: `stormed` in the storm, `over` when it had stopped, `resumed` of the
    data sent again.

    Attributes:
        timers: the watchdog's.
        queues: the watched queues; of many ports at once, the port under test's own.
        storms_on: the ports that had a storm in the phase `stormed`; none: the port under test.
    """

    timers: Timers
    queues: tuple[str, ...]
    storms_on: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def stormed_ports(self) -> tuple[str, ...]:
        """The ports that had a storm in the phase `stormed`."""
        return self.storms_on or (self.subject.pair.rx.port,)

    @property
    def ports_used(self) -> list[str]:
        """The port under test, the tx port, and those of other watched queues."""
        pair = self.subject.pair
        return list(dict.fromkeys((pair.rx.port, pair.tx.port, *(queue.split(":")[0] for queue in self.queues))))

    def queue(self, priority: int) -> str:
        """The port under test's queue of a priority, as the watchdog names it."""
        return f"{self.subject.pair.rx.port}:{priority}"

    def gained(self, queue: str, until: DutCounters) -> WatchdogRow:
        """What the watchdog counted for a queue since before the run; status and last storm are those of the end."""
        first = self.before.watchdog.get(queue, NEVER_STORMED)
        last = until.watchdog.get(queue, NEVER_STORMED)
        counted = [getattr(last, name) - getattr(first, name) for name in COUNTED]
        return WatchdogRow(last.status, *counted, last=last.last)

    def in_storm(self, counters: DutCounters) -> list[str]:
        """The queues that were in storm at that time."""
        return [queue for queue in self.queues if counters.watchdog.get(queue, NEVER_STORMED).status == STORMED]

    @property
    def settled(self) -> DutCounters | None:
        """The last counters; not with the statistics of a queue in storm, which stopping the watchdog changed."""
        return None if self.in_storm(self.after) else self.after

    def details(self) -> dict[str, Any]:
        """The watchdog's times and counts, and what the storm paused."""
        return {
            "watchdog": asdict(self.timers),
            "watchdog_gained": {queue: asdict(self.gained(queue, self.after)) for queue in self.queues},
            "storm_priorities": list(self.tested),
        }


def undisturbed_while_watched(run: CaseRun) -> Iterator[Check]:
    """Both links were up, and no counter was cleared; the watchdog runs, and may act."""
    yield from links_kept(run)
    yield from counters_kept(run)


def validity(run: WatchdogRun) -> Iterator[Check]:
    """Whether the run was a measurement, best cause first."""
    subject = run.subject
    place = at_priorities(run.subject, run.tested)
    over = run.flows("over", Role.STORM)
    yield from undisturbed_while_watched(run)
    yield from storm_held(run, place, run.flows("stormed", Role.STORM), lead_s(run.timers) + DATA_S)
    yield from storm_stopped(place, over)
    yield from storm_unbroken(place, over)
    yield from load_applied(subject, run.flows("stormed"), run.pfc_sent, "in the storm", [Role.TEST])
    yield from applied_again(run)
    yield from lossy_in_background(subject, run.flows("stormed", Role.BACKGROUND))


def lone_storm(run: WatchdogRun) -> Iterator[Check]:
    """Whether a storm without data lasted until it must have been detected, and then stopped; the port may have been
    down meanwhile."""
    place = at_priorities(run.subject, run.tested)
    storms = run.flows("over", Role.STORM)
    yield from storm_held(run, place, storms, lead_s(run.timers))
    yield from storm_stopped(place, storms)


def kept_lone_storm(run: WatchdogRun) -> Iterator[Check]:
    """Whether links stayed up, no counter was cleared, and a storm without data lasted without a gap until it must have
    been detected, and then stopped."""
    yield from undisturbed_while_watched(run)
    storms = run.flows("over", Role.STORM)
    yield from storm_lasted(run, at_priorities(run.subject, run.tested), storms, lead_s(run.timers))


def detected(run: WatchdogRun, when: str = "in the storm") -> Iterator[Check]:
    """The storm was detected, once, on the queues that it paused. `when`: for the messages."""
    for priority in run.tested:
        place = at_priority(run.subject, priority)
        row = run.gained(run.queue(priority), run.during)
        yield fail_unless("storm-detected", place, row.status == STORMED, f"the queue {STORMED} {when}", row.status)
        expected = "1 storm counted as detected"
        yield fail_unless("storm-counted", place, row.detected == 1, expected, row.detected)
        expected = f"no storm counted as restored {when}"
        yield fail_unless("restoration-counted", place, row.restored == 0, expected, row.restored)


def no_other_storm(run: WatchdogRun) -> Iterator[Check]:
    """No other queue of the ports was taken for stormed, by status or count: a check of each that was."""
    tested = [run.queue(priority) for priority in run.tested]
    rows = {queue: run.gained(queue, run.during) for queue in run.queues if queue not in tested}
    stormed = {queue: row for queue, row in rows.items() if row.detected or row.status == STORMED}
    expected = "no storm on any other queue"
    if not stormed:
        yield fail_unless("no-other-storm", at_port(run.subject), True, expected, "none")
    for queue, row in stormed.items():
        seen = f"{row.detected} ({row.status})"
        yield fail_unless("no-other-storm", at_queue(run.subject, queue), False, expected, seen)


def is_dropped(run: WatchdogRun, flow: FlowStats) -> bool:
    """Whether the action has to drop a test flow: one that leaves by a port with a storm, or comes in there."""
    comes_in = flow.plan.enters in run.stormed_ports and drops_what_comes_in(run.subject.asic)
    return run.timers.action == DROP and (flow.plan.leaves in run.stormed_ports or comes_in)


def at_storm(run: WatchdogRun, flow: FlowStats) -> Place:
    """The priority of a flow, at the port with a storm that it leaves by, or comes in by: there the watchdog acts."""
    stormed = [port for port in (flow.plan.leaves, flow.plan.enters) if port in run.stormed_ports]
    return at_priority(run.subject, priority_of(flow), stormed[0]) if stormed else at_flow(run.subject, flow)


def acted(run: WatchdogRun, when: str = "in the storm", passing: str = "") -> Iterator[Check]:
    """`drop`: no frame of a stormed priority gets out by a port with a storm or in; `forward`: all do. Everything else
    passes, and no sender is held. What of the traffic of a port with a storm is lost, either way, is about that port.

    Args:
        run: the run.
        when: for the messages.
        passing: the same for test traffic that passes; empty: no other.
    """
    subject = run.subject
    at = partial(at_storm, run)
    for flow in run.flows("stormed", Role.TEST):
        if is_dropped(run, flow):
            yield from nothing_received("dropped-in-storm", subject, [flow], when, at)
        else:
            spared = not {flow.plan.enters, flow.plan.leaves} & {*run.stormed_ports}
            name = "other-ports-unaffected" if spared else "forwarded-in-storm"
            yield from everything_received(name, subject, [flow], passing or when, at)
        least = least_load(subject, flow.plan)
        what = f"frames {way(flow)}sent {when}"
        yield at_least("sender-not-held", at_sender(subject, flow), least, what, flow.frames_tx)
    background = run.flows("stormed", Role.BACKGROUND)
    yield from everything_received("background-unaffected", subject, background, when, at)
    for port in run.ports_used:
        for priority, frames in enumerate(run.pfc_sent(port)):
            place = at_priority(subject, priority, port)
            yield none_of("no-back-pressure", place, f"PFC frames sent out of {port} {when}", frames)


def restored(run: WatchdogRun, when: str = "after the storm") -> Iterator[Check]:
    """After the storm each queue works again, and that was counted once. `when`: for the messages."""
    for priority in run.tested:
        place = at_priority(run.subject, priority)
        row = run.gained(run.queue(priority), run.after)
        expected = f"the queue {OPERATIONAL} {when}"
        yield fail_unless("restored", place, row.status == OPERATIONAL, expected, row.status)
        expected = "1 storm counted as restored"
        yield fail_unless("restoration-counted", place, row.restored == 1, expected, row.restored)


def applied_again(run: WatchdogRun, when: str = "after the storm") -> Iterator[Check]:
    """Data after the storm was sent as it was due, or the switch has sent enough pauses out of the port that it enters
    by to hold it for so long. `when`: for the messages."""
    for flow in run.flows("resumed"):
        enters = flow.plan.enters or run.subject.pair.tx.port
        pauses = changed(run.during.pfc_tx, run.after.pfc_tx, enters)[priority_of(flow)]
        yield sent_as_due(run.subject, flow, pauses, False, when)


def works_again(run: WatchdogRun, when: str = "after the storm") -> Iterator[Check]:
    """Data after the storm gets through, and no sender of it is held. `when`: for the messages."""
    data = run.flows("resumed")
    yield from everything_received("resumed", run.subject, data, when, partial(at_storm, run))
    for flow in data:
        least = least_load(run.subject, flow.plan)
        what = f"frames {way(flow)}sent {when}"
        yield at_least("sender-not-held", at_sender(run.subject, flow), least, what, flow.frames_tx)


def storm_lasted(run: CaseRun, place: Place, storms: Sequence[FlowStats], seconds: float) -> Iterator[Check]:
    """Each of these storms held for so many seconds at least, then stopped, and had no gap."""
    yield from storm_held(run, place, storms, seconds)
    yield from storm_stopped(place, storms)
    yield from storm_unbroken(place, storms)


def storm_unbroken(place: Place, storms: Iterable[FlowStats]) -> Iterator[Check]:
    """Each of these storms that was a chain of flows ran without a gap until it was stopped."""
    for storm in storms:
        expected = "the storm running until it was stopped"
        yield error_unless("storm-running", place, not storm.gap, expected, storm.gap or "running")
