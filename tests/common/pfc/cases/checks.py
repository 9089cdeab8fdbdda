"""The checks of a scenario's run. What the standard makes exact is exact: no frame of a paused priority, every frame of
all others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..model.checking import (
    COUNTER, Place, all_at_rate, at_flow, at_least, at_priorities, at_priority, at_sender, at_tested,
    everything_received, fail_unless, held_by_pauses, least_load, never_taken, no_pause_counted, no_pause_sent,
    nothing_received, priority_of,
)
from ..model.measurement import Measurement
from ..model.scenario import Storm
from ..model.traffic import FlowStats, Role
from ..record.verdict import Check
from .engine import unmet
from .validity import load_applied, lossy_in_background, storm_running, storm_stopped, undisturbed


def validity(run: Measurement) -> Iterator[Check]:
    """Whether the run of a scenario was a measurement, best cause first."""
    yield from undisturbed(run)
    yield from storm_and_load(run)


def storm_and_load(run: Measurement) -> Iterator[Check]:
    """Whether its storm ran, and stopped, and its data was sent."""
    yield from run.pauses.storm_ran(run)
    for running, stopped in run.storms:
        yield storm_running(at_tested(run), running, stopped)
        yield from storm_stopped(at_tested(run), [stopped], "the storm stopped before held frames were counted")
    held = [Role.TEST] if run.scenario.holds else []
    yield from load_applied(run.subject, run.flows("paused"), run.pfc_sent, "in the storm", held)
    yield from load_applied(run.subject, run.flows("resumed"), run.pfc_sent_again, "after the storm")


def judge(run: Measurement) -> list[Check]:
    """All checks of a run that was a measurement."""
    kept = run.pauses.none_forwarded(run)
    uncongested = no_pause_sent("no-back-pressure", run, range(8))  # where nothing is held and no link overloaded
    if run.scenario.storm is Storm.LOSSLESS:
        made = [_pause_obeyed(run), _pause_counted(run), kept, _back_pressure(run), _background(run),
                _lossy_in_background(run), _after_the_storm(run)]
    elif run.scenario.storm is Storm.LOSSY:
        made = [_test_unaffected(run), _background(run), _pause_counted(run), kept, uncongested]
    else:  # 802.3x pause names no priority, so it is PFC of none; nor is a frame that pauses nobody
        name = "global-pause-not-counted" if run.scenario.storm is Storm.GLOBAL else "pause-not-counted"
        uncounted = no_pause_counted(name, run, range(8))
        made = [_test_unaffected(run), _background(run), _throughput(run), uncounted, kept, uncongested]
    return [check for checks in made for check in checks]


def _pause_obeyed(run: Measurement) -> Iterator[Check]:
    test = run.flows("paused", Role.TEST)
    yield from nothing_received("blocked-while-paused", run.subject, test, "while paused")
    held_bytes = sum(flow.bytes_tx for flow in test) + run.held_elsewhere
    buffer = run.subject.buffer
    met = held_bytes < buffer.size_bytes
    place = at_tested(run) if met else _overfilled(run)
    expected = f"fewer than the {buffer.size_bytes} bytes of {buffer.pool} sent while paused"
    expected += f", those held for other ports ({run.held_elsewhere}) among them" if run.held_elsewhere else ""
    yield fail_unless("held-within-buffer", place, met, expected, held_bytes)


def _overfilled(run: Measurement) -> Place:
    """Where the check stands when more was sent than the buffer takes: at the priorities each of which alone is too
    much, if there are such, else at all tested ones. It came in by the tx port, which did not hold the sender. But the
    port under test is to blame where frames left by it, or where only what other ports hold makes it too much."""
    subject = run.subject
    test = run.flows("paused", Role.TEST)
    alone = [priority_of(flow) for flow in test if flow.bytes_tx >= subject.buffer.size_bytes]
    if sum(flow.bytes_tx for flow in test) < subject.buffer.size_bytes:
        return at_tested(run)
    wrong = sorted(set(alone)) or list(run.scenario.tested)
    escaped = any(flow.frames_rx for flow in test if priority_of(flow) in wrong)
    return at_priorities(subject, wrong, None if escaped else subject.pair.tx.port)


def _test_unaffected(run: Measurement) -> Iterator[Check]:
    """The storm changes nothing, and the switch has room: as much goes out as comes in."""
    yield from everything_received("test-unaffected", run.subject, run.flows("paused", Role.TEST), run.scenario.moment)


def _throughput(run: Measurement) -> Iterator[Check]:
    """The line was full: each priority came through at its part of the line rate, so all together at the line rate.
    What may be missing is what the sender's own start and clock may cost (`Tolerances.load_tolerance_percent`)."""
    data = run.flows("paused", Role.TEST, Role.BACKGROUND)
    yield from all_at_rate("throughput", run.subject, data, run.scenario.moment)


def _pause_counted(run: Measurement) -> Iterator[Check]:
    paused = run.scenario.paused
    counted = run.pfc_received_in_all()
    uncounted = run.subject.uncounted(paused)
    none = [] if any(counted[one] for one in uncounted) else uncounted  # an image may be mended
    for priority in (one for one in paused if one not in none):
        place = at_priority(run.subject, priority)
        yield fail_unless("pause-counted", place, counted[priority] > 0, f"more than 0 {COUNTER}", counted[priority])
        yield run.pauses.every_pause_counted(run, priority)
    yield from no_pause_counted("no-other-pause-counted", run, (one for one in range(8) if one not in paused))


def _back_pressure(run: Measurement) -> Iterator[Check]:
    tx = run.subject.pair.tx.port
    for flow in run.flows("paused", Role.TEST):
        place = at_priority(run.subject, priority_of(flow), tx)
        sent = run.pfc_sent_in_all()[priority_of(flow)]
        yield held_by_pauses(place, run.subject, flow, f"PFC frames sent out of {tx} to hold the sender", sent)
    others = (one for one in range(8) if one not in run.scenario.tested)
    yield from no_pause_sent("no-other-back-pressure", run, others)
    data = run.flows("paused", Role.TEST, Role.BACKGROUND)
    yield from never_taken(run.subject, data, run.pfc_sent, run.scenario.moment)


def _background(run: Measurement) -> Iterator[Check]:
    background = run.flows("paused", Role.BACKGROUND)
    yield from everything_received("background-unaffected", run.subject, background, run.scenario.moment)


def _lossy_in_background(run: Measurement) -> Iterator[Check]:
    """Lossy background traffic was there, or nothing says that it is spared."""
    seen = f"none: DSCP_TO_TC_MAP|{run.subject.qos.dscp_map} leads to lossless priorities only"
    yield from unmet(lossy_in_background(run.subject, run.flows("paused", Role.BACKGROUND), seen))


def _after_the_storm(run: Measurement) -> Iterator[Check]:
    test = run.flows("drained", Role.TEST)
    when = "once the storm had stopped"
    yield from everything_received("held-frames-drained", run.subject, test, when, partial(_lost_at, run))
    yield from never_taken(run.subject, run.flows("resumed"), run.pfc_sent_again, "after the storm")
    for flow in run.flows("resumed", Role.TEST):
        place = at_priority(run.subject, priority_of(flow))
        least = least_load(run.subject, flow.plan)
        yield at_least("resumed-rate", place, least, "frames taken by the switch after the storm", flow.frames_tx)
    yield from everything_received("resumed", run.subject, run.flows("resumed"), "in traffic without a storm")


def _lost_at(run: Measurement, flow: FlowStats) -> Place:
    """Where held frames were lost: at the port under test if that loses some of the priority without a storm too, else
    where they came in. In a row of switches nobody knows which of them it was."""
    pair = run.subject.pair
    priority = priority_of(flow)
    leaks = any(one.frames_rx < one.frames_tx for one in run.flows("resumed") if priority_of(one) == priority)
    if leaks or flow.frames_rx == flow.frames_tx or pair.tx.device != pair.rx.device:
        return at_flow(run.subject, flow)
    return at_sender(run.subject, flow)
