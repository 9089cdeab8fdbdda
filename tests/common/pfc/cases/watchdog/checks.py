"""What the watchdog's test cases have in common: their runs, whether these were a measurement, and what is judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...lab.watchdog import OPERATIONAL, STORMED, Timers
from ...model.arithmetic import MAX_QUANTA, holding_fps
from ...model.checking import Place, at_port, at_priority, error_unless, fail_unless, flows_of, priority_of, sent_as_due
from ...model.counters import DutCounters, WatchdogRow
from ...model.measurement import NEVER_STORMED, Readings, flow_numbers
from ...model.traffic import FlowStats, Role
from ...record.case import Target, named
from ...record.verdict import LOSSLESS, LOSSY, Check
from ..engine import unmet
from ..validity import counters_kept, links_kept

Stats = Mapping[str, FlowStats]


@dataclass(frozen=True)
class WatchdogRun(Readings):
    """A pause storm on a port whose watchdog runs; `after` was read just before the watchdog was stopped.

    Attributes:
        tested: the priorities that the storm pauses.
        timers: the watchdog's.
        queues: the watched queues.
        storm_s: seconds that the storm lasted at least when frames were counted in it.
        phases: name -> statistics of all flows then: `stormed` in the storm, `over` when it had stopped, `resumed`
            of the data sent again.
    """

    tested: Target
    timers: Timers
    queues: tuple[str, ...]
    storm_s: float
    phases: Mapping[str, Stats]

    @property
    def ports_used(self) -> list[str]:
        """The ports that the watchdog ran on."""
        return list(dict.fromkeys(queue.split(":")[0] for queue in self.queues))

    def place(self) -> Place:
        """The tested priorities of the port under test together."""
        if len(self.tested) == 1:
            return at_priority(self.subject, self.tested[0])
        return Place(f"{self.subject.where()} {named(self.tested)}", LOSSLESS)

    def queue(self, priority: int) -> str:
        """The port under test's queue of a priority, as the watchdog names it."""
        return f"{self.subject.pair.rx.port}:{priority}"

    def gained(self, queue: str, until: Mapping[str, WatchdogRow]) -> WatchdogRow:
        """What the watchdog counted for a queue since before the run; the status is that of the end."""
        first, last = self.before.watchdog.get(queue, NEVER_STORMED), until.get(queue, NEVER_STORMED)
        earlier, later = asdict(first), asdict(last)
        return WatchdogRow(last.status, *(later[name] - earlier[name] for name in later if name != "status"))

    def pfc_sent_by_all(self) -> tuple[int, ...]:
        """PFC frames for priorities 0 to 7 that the switch sent out of all its ports that are used, in the storm."""
        return tuple(sum(frames) for frames in zip(*map(self.pfc_sent, self.ports_used), strict=True))

    def last_counters(self) -> DutCounters | None:
        """What the next run may begin with: not with the statistics of a queue in storm, which stopping the watchdog
        changed."""
        stormed = any(self.after.watchdog.get(queue, NEVER_STORMED).status == STORMED for queue in self.queues)
        return None if stormed else self.after

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return {
            "flows": flow_numbers(self.phases),
            **self.counted(),
            "watchdog": asdict(self.timers),
            "watchdog_gained": {queue: asdict(self.gained(queue, self.after.watchdog)) for queue in self.queues},
            "storm_priorities": list(self.tested),
        }


def invalid(run: WatchdogRun) -> list[Check]:
    """Reasons why the run was no measurement: checks with status ERROR only."""
    made = [*links_kept(run), *counters_kept(run), *storm_ran(run), *load_applied(run)]
    return unmet([*made, *lossy_in_background(run)])


def storm_ran(run: WatchdogRun) -> Iterator[Check]:
    """So many pause frames that the pause cannot have lapsed on average, and it ended when it was told to."""
    least = int(holding_fps(MAX_QUANTA, run.subject.pair.speed_mbps) * run.storm_s)
    for flow in flows_of(run.phases["stormed"].values(), Role.STORM):
        expected = f"a storm of at least {least} pause frames"
        yield error_unless("storm-ran", run.place(), flow.frames_tx >= least, expected, flow.frames_tx)
    for flow in flows_of(run.phases["over"].values(), Role.STORM):
        seen = "running" if flow.transmitting else "stopped"
        yield error_unless("storm-stopped", run.place(), seen == "stopped", "the storm stopped in the end", seen)
        seen, expected = flow.gap or "running", "the storm running until it was stopped"
        yield error_unless("storm-running", run.place(), not flow.gap, expected, seen)


def load_applied(run: WatchdogRun) -> Iterator[Check]:
    """What was due must have been sent, unless the switch held it: then it is judged."""
    for phase in ("stormed", "resumed"):
        for flow in flows_of(run.phases.get(phase, {}).values(), Role.TEST, Role.BACKGROUND):
            pushed = run.pfc_sent_by_all()[priority_of(flow)] if phase == "stormed" else 0
            may_be_held = phase == "stormed" and flow.plan.role is Role.TEST
            yield sent_as_due(run.subject, flow, pushed, may_be_held, f"({phase})")


def lossy_in_background(run: WatchdogRun) -> Iterator[Check]:
    """Without lossy traffic nothing says that it is spared."""
    flows = flows_of(run.phases["stormed"].values(), Role.BACKGROUND)
    lossy = [flow for flow in flows if priority_of(flow) not in run.subject.qos.lossless]
    seen = f"{len(lossy)} such flows"
    place = Place(run.subject.where(), LOSSY)
    yield error_unless("lossy-background", place, bool(lossy), "background traffic on a lossy priority", seen)


def detected(run: WatchdogRun) -> Iterator[Check]:
    """The storm was detected, once, on the queues that it paused and on no other one."""
    yield from found(run)
    yield no_other_storm(run, [run.queue(priority) for priority in run.tested])


def found(run: WatchdogRun) -> Iterator[Check]:
    """The storm was detected, once, on the queues that it paused."""
    for priority in run.tested:
        place, row = at_priority(run.subject, priority), run.gained(run.queue(priority), run.during.watchdog)
        yield fail_unless("storm-detected", place, row.status == STORMED, "the queue stormed in the storm", row.status)
        expected = "1 storm counted as detected"
        yield fail_unless("storm-counted", place, row.detected == 1, expected, row.detected)


def no_other_storm(run: WatchdogRun, tested: Iterable[str]) -> Check:
    """No other queue of the ports was taken for stormed, by status or count."""
    spared = set(tested)
    others = [queue for queue in run.queues if queue not in spared]
    rows = {queue: run.gained(queue, run.during.watchdog) for queue in others}
    stormed = [queue for queue, row in rows.items() if row.detected or row.status == STORMED]
    place = at_port(run.subject, run.subject.pair.rx.port)
    return fail_unless(
        "no-other-storm", place, not stormed, "no storm on any other queue", ", ".join(stormed) or "none"
    )


def restored(run: WatchdogRun) -> Iterator[Check]:
    """After the storm each queue works again, and that was counted once."""
    for priority in run.tested:
        place, row = at_priority(run.subject, priority), run.gained(run.queue(priority), run.after.watchdog)
        expected = f"the queue {OPERATIONAL} after the storm"
        yield fail_unless("restored", place, row.status == OPERATIONAL, expected, row.status)
        expected = "1 storm counted as restored"
        yield fail_unless("restoration-counted", place, row.restored == 1, expected, row.restored)


def no_back_pressure(run: WatchdogRun) -> Iterator[Check]:
    """Frames that are dropped or forwarded are not held, so the switch pauses nobody."""
    for priority, frames in enumerate(run.pfc_sent_by_all()):
        expected = f"0 PFC frames sent out of {', '.join(run.ports_used)} in the storm"
        yield fail_unless("no-back-pressure", at_priority(run.subject, priority), frames == 0, expected, frames)


def way(run: WatchdogRun, flow: FlowStats) -> str:
    """Which way a data flow goes, for messages: `from Ethernet64 to Ethernet0`."""
    pair = run.subject.pair
    return f"from {flow.plan.enters or pair.tx.port} to {flow.plan.leaves or pair.rx.port}"


def all_received(name: str, run: WatchdogRun, flows: Iterable[FlowStats], when: str) -> Iterator[Check]:
    """Every frame that these flows sent was received."""
    for flow in flows:
        place, expected = at_priority(run.subject, priority_of(flow)), f"all {flow.frames_tx} frames"
        expected = f"{expected} {way(run, flow)} received {when}"
        yield fail_unless(name, place, flow.frames_rx == flow.frames_tx, expected, flow.frames_rx)


def background(run: WatchdogRun, when: str = "in the storm") -> Iterator[Check]:
    """All of the background arrives, both ways."""
    flows = flows_of(run.phases["stormed"].values(), Role.BACKGROUND)
    yield from all_received("background-unaffected", run, flows, when)
