"""COUNT: the switch's data counters while pauses come in: pauses are neither data nor drops, and what the switch counts
is what the generators sent and received. What the switch and its neighbours send by themselves is let pass: what moves
on the idle switch (`may_gain`), on hardware `own_frames` more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import partial
from typing import Any

from ..lab.counter_polling import PollDelays
from ..lab.lab import Lab
from ..model.arithmetic import MAX_QUANTA, pause_seconds
from ..model.checking import (
    Place, at_most, at_port, at_priority, error_unless, fail_unless, no_pause_counted, none_of, priority_of,
)
from ..model.counters import DutCounters, fallen
from ..model.deviations import Deviation, deviation
from ..model.errors import QualificationError
from ..model.measurement import CaseRun, Measurement, PortUnderTest
from ..model.qos import PRIORITIES
from ..model.traffic import FlowStats, PauseFrame, Role
from ..record.case import PlanCase, Target
from ..record.verdict import LOSSY, Check
from . import checks, storm_sequence
from .engine import Procedure, Table, sending, settled_counters
from .counted_bytes import byte_bounds
from .frames import FrameMaker, all_times, pfc
from .pause_counts import counted_for
from .pauses import pause_lossless
from .storm_length import storm_held
from .switch_counters import (
    GROUPS, IN_OCTETS, OUT_OCTETS, PORTS, DataCounters, PortCounts, at_port_for, data_counters, data_commands,
    drops_delay_s, may_gain, of_group, own_frames, port_counts, port_hash, port_hash_command, priority_groups,
    watch_idle,
)
from .targets import all_lossless
from .validity import undisturbed

PAUSES = PlanCase("count-pauses", "COUNT-1")
EMPTY_PAUSES = PlanCase("count-empty-pauses", "COUNT-2")
DATA = PlanCase("count-data", "COUNT-3")
STORM_S = 5
OCTETS = (IN_OCTETS, OUT_OCTETS)
PAUSED_US = "SAI_PORT_STAT_PFC_{}_RX_PAUSE_DURATION_US"
ENDS = "SAI_PORT_STAT_PFC_{}_ON2OFF_RX_PKTS"
"""Of a priority, where the switch polls it: microseconds that it was paused, and how often its pauses ended."""
MOST_ENDS = 10
"""Gaps that a real generator may leave in a storm, each of which lets a pause end."""
DEVIATIONS = (
    Deviation(
        "queue-counts", ("broadcom-dnx",), "enqueued",
        "a virtual output queue counts what comes in for it, also while it is paused (sonic-buildimage#21007)",
        date(2026, 11, 30),
    ),
    Deviation("queue-counts", (), "sent", "a queue counts what leaves by it", date(2026, 11, 30)),
)


@dataclass(frozen=True)
class PausesRun(CaseRun):
    """A storm without any data; its flow is looked at when it had ended (`storm`).

    Attributes:
        allowed: how many frames the port under test may count that no generator sent.
        history: what it counted of the pauses beside their number, by the names in COUNTERS_DB.
    """

    allowed: PortCounts
    history: Mapping[str, int]

    @property
    def storm(self) -> FlowStats:
        """Its statistics."""
        return self.flows("storm")[0]

    @property
    def frame(self) -> PauseFrame:
        """What its frames said."""
        frame = self.storm.plan.pause
        assert frame is not None, f"flow {self.storm.plan.name} is no storm"
        return frame

    @property
    def gained(self) -> PortCounts:
        """What the port under test counted in the meantime."""
        return _gained(self.subject.pair.rx.port, self.before, self.after)

    def details(self) -> dict[str, Any]:
        """The storm, and the data counters."""
        return {
            "storm_frame": asdict(self.frame),
            "counted_in_all": {"rx": asdict(self.gained)},
            "own_frames_allowed": {"rx": asdict(self.allowed)},
            "pause_history": dict(self.history),
        }


@dataclass(frozen=True)
class DataRun(Measurement):
    """PFC-1's steps with the data counters.

    Attributes:
        early, storming, late: the data counters before it, in the storm, and when all was over.
        allowed: how many frames each may have counted that no generator sent.
        octets: port -> bytes received and sent that it counted in all, by their names in COUNTERS_DB; what the switch
            does not count is absent.
    """

    early: DataCounters = field(kw_only=True)
    storming: DataCounters = field(kw_only=True)
    late: DataCounters = field(kw_only=True)
    allowed: DataCounters = field(kw_only=True)
    octets: Mapping[str, Mapping[str, int]] = field(kw_only=True)

    @property
    def in_storm(self) -> DataCounters:
        """What was counted until the storm's end neared."""
        return self.storming.since(self.early)

    @property
    def in_all(self) -> DataCounters:
        """What was counted until all was over."""
        return self.late.since(self.early)

    def tx(self, counted: DataCounters) -> PortCounts:
        """The part of what was counted that the tx port counted."""
        return counted.entering[self.subject.pair.tx.port]

    def details(self) -> dict[str, Any]:
        """Also the data counters."""
        return {
            **super().details(),
            "counted_in_storm": self._numbers(self.in_storm),
            "counted_in_all": self._numbers(self.in_all),
            "own_frames_allowed": self._numbers(self.allowed),
            "octets_counted": {port: dict(counted) for port, counted in self.octets.items()},
        }

    def _numbers(self, counted: DataCounters) -> dict[str, Any]:
        return {
            "rx": asdict(counted.leaving), "tx": asdict(self.tx(counted)), "queues": dict(counted.queues),
            "queue_bytes": dict(counted.queue_bytes),
            "queue_drops": dict(counted.queue_drops),
            "queue_drop_bytes": dict(counted.queue_drop_bytes),
            "group_drops": dict(counted.group_drops[self.subject.pair.tx.port]),
        }


def measure_pauses(lab: Lab, target: Target, before: DutCounters, frame_of: FrameMaker) -> PausesRun:
    """A storm of such frames and no data. The hosts ask for their gateways when they get a configuration; the counters,
    `before` has none of data, are read after that, so that it is not counted as data of the storm: twice before it, to
    see what moves by itself."""
    frame = frame_of(target, lab)
    storm = replace(storm_sequence.pause_storm(lab, frame.enabled), seconds=STORM_S, pause=frame)
    also = {"data": PORTS, _hash_of(lab.port): port_hash_command(lab.port)}
    with sending(lab, lab.builder.build([storm])):
        quiet = settled_counters(lab, also=also)
        quiet_s = lab.clock.now()
        watch_idle(lab)
        early = settled_counters(lab, also=also)
        early_s = lab.clock.now()
        lab.generator.start([storm.name])
        lab.generator.run_out([storm.name], STORM_S)
        late = settled_counters(lab, also=also)
        late_s = lab.clock.now()
        phases = {"storm": lab.generator.stats([storm.name])}
    allowance = _allowance(lab, early_s - quiet_s, late_s - early_s)
    allowed = _gained(lab.port, quiet, early).each(allowance)
    history = _port_gained(lab.port, early, late, (*map(PAUSED_US.format, PRIORITIES), *map(ENDS.format, PRIORITIES)))
    return PausesRun(lab.subject, early, late, late, target, phases, allowed, history)


def measure_data(lab: Lab, target: Target, before: DutCounters) -> DataRun:
    """PFC-1's steps for all lossless priorities together; the data counters are read with every reading. Each waits
    until all groups of counters have been polled. Two come before it, to see what moves by itself."""
    scenario = pause_lossless(target, lab.subject.qos)
    patient = _patient(lab)
    ends = (lab.port, lab.subject.pair.tx.port)
    also = {**data_commands(lab.port), **{_hash_of(port): port_hash_command(port) for port in ends}}
    groups = priority_groups(lab.config_db, lab.dut.name, lab.subject.pair.tx.port)
    idle = settled_counters(patient, also=also)
    idle_s = lab.clock.now()
    watch_idle(lab)
    before = settled_counters(patient, also=also)
    before_s = lab.clock.now()
    run = storm_sequence.measure(patient, scenario, before, also)
    allowance = _allowance(lab, before_s - idle_s, lab.clock.now() - before_s)
    quiet, early, storming, late = (
        queue_by_queue(run.subject, groups, one) for one in (idle, run.before, run.during, run.after)
    )
    octets = {port: _port_gained(port, run.before, run.after, OCTETS) for port in ends}
    allowed = early.since(quiet).each(allowance)
    return DataRun(**vars(run), early=early, storming=storming, late=late, allowed=allowed, octets=octets)


def _allowance(lab: Lab, idle_s: float, lasted_s: float) -> Callable[[int], int]:
    """What a counter gained on the idle switch -> how much it may gain in the run that nobody sent."""
    return lambda idle: own_frames(lab.clock.exact) + may_gain(idle, max(idle_s, 1.0), lasted_s)


def _gained(port: str, before: DutCounters, after: DutCounters) -> PortCounts:
    """What a port counted between two readings."""
    early, late = (port_counts(one.printed["data"], port) for one in (before, after))
    return late.since(early)


def _hash_of(port: str) -> str:
    """The name of the command that prints a port's hash of COUNTERS_DB."""
    return f"hash_{port}"


def _port_gained(port: str, before: DutCounters, after: DutCounters, names: Collection[str]) -> dict[str, int]:
    """What a port counted between two readings, by these names in COUNTERS_DB; what the switch does not count is
    absent."""
    early, late = (port_hash(one.printed[_hash_of(port)], names) for one in (before, after))
    return {name: count - early[name] for name, count in late.items() if name in early}


def _patient(lab: Lab) -> Lab:
    """A lab that waits for the slowest counters where it would wait for those of ports."""
    wait_s = drops_delay_s(lab)
    return replace(lab, delays=PollDelays(wait_s, wait_s))


def queue_by_queue(subject: PortUnderTest, groups: Mapping[int, int], reading: DutCounters) -> DataCounters:
    """The data counters of a reading that `data_commands` were run with; `groups`: priority -> its priority group where
    data enters.

    Raises:
        QualificationError: a command printed no counts for a port, or for the queue or the priority group of a priority
            that data reaches.
    """
    tx = subject.pair.tx.port
    counted = data_counters(reading.printed, subject.pair.rx.port, [tx])
    for priority in subject.qos.reachable:
        of_group(counted.group_drops[tx], GROUPS, tx, groups.get(priority, priority))
        if priority not in counted.queues or priority not in counted.queue_drops:
            raise QualificationError(
                f"{subject.where(priority)}: `show queue counters` printed no Counter/pkts and Drop/pkts for queue"
                f" UC{priority}: its counters are not being polled"
            )
    return counted


def pauses_validity(run: PausesRun) -> Iterator[Check]:
    """Nothing disturbed the storm, and it sent as many frames as would have held a pause."""
    yield from undisturbed(run)
    yield _data_counters_kept(run.subject, run.gained.least())
    yield from storm_held(run, at_port(run.subject), [run.storm], STORM_S)


def data_validity(data: DataRun) -> Iterator[Check]:
    """Whether PFC-1's steps were a measurement."""
    yield from checks.validity(data)
    yield _data_counters_kept(data.subject, min(data.in_storm.least(), data.late.since(data.storming).least()))


def _data_counters_kept(subject: PortUnderTest, least: int) -> Check:
    """No counter of data frames fell: one that did was cleared, or wrapped: what it gained is unknown. `least` is the
    smallest gain of all of them."""
    expected = "data counters that only grow in the run"
    return error_unless("counters-kept", at_port(subject), least >= 0, expected, fallen(-least))


def judge_pauses(run: PausesRun) -> Iterator[Check]:
    """Checks that the frames arrived, without which nothing would follow from the other counters; then that none of
    them was counted for a priority that it did not enable, nor as data."""
    enabled = run.frame.enabled
    for priority in enabled:
        yield counted_for(run, [run.storm], priority, "once the storm had stopped ")
    others = [priority for priority in PRIORITIES if priority not in enabled]
    yield from no_pause_counted("no-other-pause-counted", run, others, ", as none enabled it")
    yield from _pauses_are_no_data(run.subject, run.gained, run.allowed)
    yield from _history_of_others(run, others)
    for priority in enabled:
        yield from _history_kept(run, priority)


def judge_data(data: DataRun) -> Iterator[Check]:
    """The data counters in PFC-1's steps."""
    yield from _held_queue_stands_still(data)
    yield from _queues_agree(data)
    yield from _bytes_agree(data)
    yield from _ports_agree(data)
    yield from _octets_agree(data)
    yield from _pauses_are_no_data(data.subject, data.in_all.leaving, data.allowed.leaving)
    yield from _nothing_dropped(data)


def _pauses_are_no_data(subject: PortUnderTest, gained: PortCounts, own: PortCounts) -> Iterator[Check]:
    """No data comes in by the port under test, so nothing but the storm can raise these."""
    place = at_port(subject)
    for name, column, frames, allowed in (
        ("pauses-are-no-data", "RX_OK", gained.rx_ok, own.rx_ok),
        ("pauses-are-no-drops", "RX_DRP", gained.rx_dropped, own.rx_dropped),
    ):
        expected = f"{_up_to(allowed)} frames more in {column}, as only pauses come in there"
        yield fail_unless(name, place, frames <= allowed, expected, frames)


def _history_of_others(run: PausesRun, others: Iterable[int]) -> Iterator[Check]:
    """A priority that no frame enables is never paused, by the switch's own counters, where it has them."""
    for priority in others:
        for counter, what in ((PAUSED_US, "us counted as paused"), (ENDS, "ends of pauses counted")):
            if (gained := run.history.get(counter.format(priority))) is not None:
                place = at_priority(run.subject, priority)
                yield none_of("no-other-pause-history", place, f"{what}, as no frame enabled it", gained)


def _history_kept(run: PausesRun, priority: int) -> Iterator[Check]:
    """The storm is one pause, as long as it: by the switch's own counters, where they move. (A SAI that does not have
    one says 0, or nothing. One that has the time of any priority has it of each.)"""
    place = at_priority(run.subject, priority)
    is_exact = not run.subject.tolerances.load_tolerance_percent
    pause_s = float(pause_seconds(MAX_QUANTA, run.subject.pair.speed_mbps))
    off = pause_s if is_exact else pause_s + STORM_S / 10  # real generators start late, and leave gaps
    added_up_s = 0.0 if is_exact else run.storm.frames_tx * pause_s  # a SAI may add up the quanta of each frame
    longest = max(STORM_S, added_up_s)
    paused_us = run.history.get(PAUSED_US.format(priority))
    if paused_us is not None and any(run.history.get(PAUSED_US.format(one)) for one in PRIORITIES):
        expected = f"from {STORM_S - off:.6f} to {longest + off:.6f} s counted as paused"
        met = STORM_S - off <= paused_us / 1e6 <= longest + off
        yield fail_unless("pause-time-counted", place, met, expected, f"{paused_us / 1e6:.6f} s")
    if ends := run.history.get(ENDS.format(priority), 0):
        most = 1 if is_exact else MOST_ENDS
        yield at_most("pause-ends-counted", place, most, "ends of pauses counted in the storm", ends)


def _nothing_dropped(data: DataRun) -> Iterator[Check]:
    """No drop counter rises, whatever is held: back-pressure holds the sender, and no line is overloaded."""
    subject = data.subject
    gained = data.in_all
    rx = subject.pair.rx.port
    tx = subject.pair.tx.port
    queues = [priority for priority, frames in sorted(gained.queue_drops.items()) if frames]
    groups = [group for group, frames in sorted(gained.group_drops[tx].items()) if frames]
    for port, column, frames, allowed, priorities in (
        (rx, "TX_DRP", gained.leaving.tx_dropped, data.allowed.leaving.tx_dropped, queues),
        (tx, "TX_DRP", data.tx(gained).tx_dropped, data.tx(data.allowed).tx_dropped, []),
        (tx, "RX_DRP", data.tx(gained).rx_dropped, data.tx(data.allowed).rx_dropped, groups),
    ):
        expected = f"{_up_to(allowed)} frames more in {column}"
        met = frames <= allowed
        place = at_port_for(subject, [] if met else priorities, port)
        yield fail_unless("no-port-drops", place, met, expected, frames)
    for priority in subject.qos.reachable:
        frames = gained.queue_drops.get(priority, 0)
        yield none_of(
            "no-queue-drops", at_priority(subject, priority), f"frames more in Drop/pkts of queue UC{priority}", frames
        )
    for group, frames in sorted(gained.group_drops[tx].items()):
        lossless = group in subject.qos.lossless  # a lossy group is several priorities'
        place = at_priority(subject, group, tx) if lossless else Place(subject.where(port=tx), LOSSY)
        yield none_of("no-group-drops", place, f"frames more dropped in PG{group}", frames)


def _held_queue_stands_still(data: DataRun) -> Iterator[Check]:
    """While the storm runs no frame leaves through a paused queue, by the queue's own counter; where that counts what
    comes in for it, none that was not sent."""
    counts_all = deviation("queue-counts", data.subject.asic, DEVIATIONS).value == "enqueued"
    for flow in data.flows("paused", Role.TEST):
        priority = priority_of(flow)
        place = at_priority(data.subject, priority)
        frames = data.in_storm.queues.get(priority, 0)
        most = flow.frames_tx if counts_all else 0
        expected = f"{_up_to(most)} frames more in Counter/pkts of queue UC{priority} while it was paused"
        yield fail_unless("held-queue-stands-still", place, frames <= most, expected, frames)


def _queues_agree(data: DataRun) -> Iterator[Check]:
    """What left through a queue is what the generator received of its priority."""
    received = _received_in_all(data)
    for flow in data.flows("paused", Role.BACKGROUND):
        yield _agreeing_queue(data, priority_of(flow), flow.frames_rx, data.in_storm, "in the storm")
    for priority in data.subject.qos.reachable:
        yield _agreeing_queue(data, priority, received[priority], data.in_all, "in all")


def _agreeing_queue(data: DataRun, priority: int, frames_rx: int, gained: DataCounters, when: str) -> Check:
    place = at_priority(data.subject, priority)
    frames = gained.queues.get(priority, 0)
    expected = f"the {frames_rx} frames that the generator received {when} in Counter/pkts of queue UC{priority}"
    allowed = data.allowed.queues.get(priority, 0)
    expected += _or_more(allowed)
    return fail_unless("queue-agrees", place, 0 <= frames - frames_rx <= allowed, expected, frames)


def _bytes_agree(data: DataRun) -> Iterator[Check]:
    """Bytes that left through a queue are those of its frames."""
    for priority in data.subject.qos.reachable:
        if priority not in data.in_all.queue_bytes:
            continue
        flows = [flow for flow in _data(data) if priority_of(flow) == priority]
        frames = sum(flow.frames_rx for flow in flows)
        others = max(0, data.in_all.queues.get(priority, 0) - frames)
        due = byte_bounds(frames, _bytes_received(flows), others)
        place = at_priority(data.subject, priority)
        what = f"Counter/bytes of queue UC{priority}, as {frames} frames have"
        yield _bytes_due("bytes-agree", place, due, what, data.in_all.queue_bytes[priority])


def _bytes_due(name: str, place: Place, due: range, what: str, counted: int) -> Check:
    expected = f"from {due[0]} to {due[-1]} bytes more in {what}"
    return fail_unless(name, place, counted in due, expected, counted)


def _bytes_received(flows: Iterable[FlowStats]) -> int:
    """What the frames of these flows have in all that were received."""
    return sum(int(flow.frames_rx * flow.plan.mean_bytes) for flow in flows)


def _ports_agree(data: DataRun) -> Iterator[Check]:
    """What came in by the tx port and left by the port under test is what the generators sent and received."""
    pair = data.subject.pair
    sent = sum(flow.frames_tx for flow in _data(data))
    in_storm = sum(flow.frames_rx for flow in data.flows("paused", Role.TEST, Role.BACKGROUND))
    in_all = sum(_received_in_all(data).values())
    rows = (
        ("received-agrees", pair.tx.port, "RX_OK", "sent", sent, data.tx(data.in_all).rx_ok, "in all"),
        ("sent-agrees", pair.rx.port, "TX_OK", "received", in_storm, data.in_storm.leaving.tx_ok, "in the storm"),
        ("sent-agrees", pair.rx.port, "TX_OK", "received", in_all, data.in_all.leaving.tx_ok, "in all"),
    )
    own = {"RX_OK": data.tx(data.allowed).rx_ok, "TX_OK": data.allowed.leaving.tx_ok}
    for name, port, column, did, due, frames, when in rows:
        allowed = own[column]
        expected = f"the {due} frames that the generator {did} {when} in {column}{_or_more(allowed)}"
        met = 0 <= frames - due <= allowed
        yield fail_unless(name, at_port(data.subject, port), met, expected, frames)


def _octets_agree(data: DataRun) -> Iterator[Check]:
    """Bytes that a port counts are those of the data that came in or left there. Whether the ASIC counts pauses among
    them is its affair: where only these come in it may be all of them, or none."""
    pair = data.subject.pair
    flows = _data(data)
    sent = sum(flow.frames_tx for flow in flows)
    others = max(data.tx(data.in_all).rx_ok - sent, data.tx(data.allowed).rx_ok)
    due = byte_bounds(sent, sum(flow.bytes_tx for flow in flows), others)
    yield from _octets_due(data, pair.tx.port, IN_OCTETS, due, f"{sent} frames")
    received = sum(flow.frames_rx for flow in flows)
    others = max(data.in_all.leaving.tx_ok - received, data.allowed.leaving.tx_ok)
    due = byte_bounds(received, _bytes_received(flows), others)
    yield from _octets_due(data, pair.rx.port, OUT_OCTETS, due, f"{received} frames")
    storms = data.flows("drained", Role.STORM)
    pauses = sum(flow.frames_tx for flow in storms)
    others = max(data.in_all.leaving.rx_ok, data.allowed.leaving.rx_ok)
    most = byte_bounds(pauses, sum(flow.bytes_tx for flow in storms), others)[-1]
    yield from _octets_due(data, pair.rx.port, IN_OCTETS, range(most + 1), f"at most {pauses} pauses")


def _octets_due(data: DataRun, port: str, name: str, due: range, frames: str) -> Iterator[Check]:
    """None where the switch does not have the counter."""
    counted = data.octets[port].get(name)
    if counted is not None:
        place = at_port(data.subject, port)
        yield _bytes_due("octets-agree", place, due, f"{name}, as {frames} have", counted)


def _data(run: Measurement) -> list[FlowStats]:
    """The data flows of all phases, each frame in one of them: held frames were sent in the storm, received later."""
    return [
        *run.flows("paused", Role.BACKGROUND),
        *run.flows("drained", Role.TEST),
        *run.flows("resumed"),
    ]


def _received_in_all(run: Measurement) -> Mapping[int, int]:
    """Priority -> frames that the generator received of it."""
    received = dict.fromkeys(run.subject.qos.reachable, 0)
    for flow in _data(run):
        received[priority_of(flow)] += flow.frames_rx
    return received


def _up_to(allowed: int) -> str:
    return f"at most {allowed}" if allowed else "0"


def _or_more(allowed: int) -> str:
    return f" (or up to {allowed} more)" if allowed else ""


CASES: Table = {
    PAUSES: Procedure(partial(measure_pauses, frame_of=pfc()), pauses_validity, judge_pauses, all_lossless),
    EMPTY_PAUSES: Procedure(partial(measure_pauses, frame_of=all_times), pauses_validity, judge_pauses, all_lossless),
    DATA: Procedure(measure_data, data_validity, judge_data, all_lossless),
}
