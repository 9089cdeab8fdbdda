"""Measurement -> checks. First whether the run was a measurement at all (if not: ERROR, nothing is judged), then the
verdict's checks. What the standard makes exact is exact: no frame of a paused priority, every frame of all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from .arithmetic import due_frames
from .measurement import Measurement, Subject
from .sonic_text import changed
from .traffic import FlowStats, Role
from .verdict import LOSSLESS, LOSSY, Check, Status

LOAD_TOLERANCE = 0.01  # for a generator's own clock and start-up; a flow that was held falls short by far more
COUNT_TOLERANCE = 0.01  # for what a generator itself counts while it starts and stops


@dataclass(frozen=True)
class Place:
    """Where a check looked, and the metric that it counts for."""

    where: str
    metric_name: str


def at_priority(subject: Subject, priority: int) -> Place:
    """A priority of the port under test."""
    metric = LOSSLESS if priority in subject.qos.lossless else LOSSY
    return Place(subject.where(priority), metric)


def at_port(subject: Subject, port: str) -> Place:
    """A whole port: what is wrong with it concerns the lossless metric, and through its ERROR the other one."""
    return Place(subject.where(port=port), LOSSLESS)


def required(name: str, place: Place, met: bool, expected: str, seen: int | str) -> Check:
    """A check of the switch: FAIL when it is not met."""
    return Check(name, place.metric_name, Status.PASS if met else Status.FAIL, expected, seen, place.where)


def needed(name: str, place: Place, met: bool, expected: str, seen: int | str) -> Check:
    """A check of the measurement itself: ERROR when it is not met."""
    return Check(name, place.metric_name, Status.PASS if met else Status.ERROR, expected, seen, place.where)


def judge(run: Measurement) -> list[Check]:
    """All checks of a run that was a measurement."""
    return [*_pause_obeyed(run), *_pause_counted(run), *_pause_kept(run), *_back_pressure(run),
            *_background(run), *_after_the_storm(run)]


def validity(run: Measurement) -> list[Check]:
    """Reasons why the run was no measurement: checks with status ERROR only, best cause first. Empty for a good run."""
    made = [*_watchdog(run), *_links(run), *_counters_kept(run), *_storm_ran(run), *_load_applied(run)]
    return [one for one in made if one.status is not Status.PASS]


def everything_received(name: str, subject: Subject, flows: Iterable[FlowStats], when: str) -> Iterator[Check]:
    """Every frame that these flows sent was received."""
    for flow in flows:
        place = at_priority(subject, _priority(flow))
        expected = f"all {flow.frames_tx} frames received {when}"
        yield required(name, place, flow.frames_rx == flow.frames_tx, expected, flow.frames_rx)


def _watchdog(run: Measurement) -> Iterator[Check]:
    """The watchdog must not have acted: it drops what the pause should hold."""
    storms = run.storms_detected()
    for queue in sorted({*storms, *run.stormed()}):
        port, _, priority = queue.partition(":")
        place = Place(f"{run.subject.pair.rx.device} {port} priority {priority}", LOSSLESS)
        seen = f"{storms[queue]} detected" if queue in storms else "the queue still in storm"
        seen = f"a watchdog that detected a storm although it was stopped ({seen})"
        yield needed("watchdog-stopped", place, False, "a stopped watchdog", seen)
    configured = {*run.before.watchdog_ports, *run.during.watchdog_ports}
    for port in (run.subject.pair.rx.port, run.subject.pair.tx.port):
        expected = f"no row PFC_WD|{port} in CONFIG_DB after `pfcwd stop`"
        yield needed("watchdog-stopped", at_port(run.subject, port), port not in configured, expected, "one")


def _links(run: Measurement) -> Iterator[Check]:
    for port in (run.subject.pair.rx.port, run.subject.pair.tx.port):
        for moment, counters in (("before", run.before), ("in", run.during)):
            state = counters.interfaces.get(port)
            seen = "up" if state is not None and state.oper_up else "down"
            yield needed("link-up", at_port(run.subject, port), seen == "up", f"the link up {moment} the storm", seen)


def _counters_kept(run: Measurement) -> Iterator[Check]:
    """Counters only grow, from 0; one that fell was cleared in between, and what it gained is unknown."""
    pair, readings = run.subject.pair, (run.before, run.during, run.after)
    ways = (
        (pair.rx.port, "receive", [reading.pfc_rx for reading in readings]),
        (pair.tx.port, "send", [reading.pfc_tx for reading in readings]),
    )
    for port, way, counts in ways:
        place, least = at_port(run.subject, port), min(min(count.get(port, (0,))) for count in counts)
        yield needed("counters-kept", place, least >= 0, f"PFC {way} counters from 0 on", least)
        fell = -min(min(changed(early, late, port)) for early, late in pairwise(counts))
        expected = f"PFC {way} counters that were not cleared in the run"
        yield needed("counters-kept", place, fell <= 0, expected, f"one that fell by {fell}")


def _storm_ran(run: Measurement) -> Iterator[Check]:
    """The storm must have lasted: so many pause frames that the pause cannot have lapsed on average. And it must have
    stopped when it was told to."""
    place = at_priority(run.subject, run.scenario.tested[0])
    least, sent = run.scenario.least_storm_frames(run.subject.pair.speed_mbps), run.storm.frames_tx
    yield needed("storm-ran", place, sent >= least, f"a storm of at least {least} pause frames", sent)
    seen = "running" if run.storm.transmitting else "stopped"
    yield needed("storm-running", place, seen == "running", "the storm running when frames were counted", seen)
    seen = "running" if run.storm_stopped.transmitting else "stopped"
    yield needed("storm-stopped", place, seen == "stopped", "the storm stopped before held frames were counted", seen)


def _load_applied(run: Measurement) -> Iterator[Check]:
    """What was due must have been sent; where the switch may have held it, anything is enough here: the rest is
    judged."""
    pfc_sent = run.pfc_sent()
    for phase, stats in (("in the storm", run.paused), ("after the storm", run.resumed)):
        for flow in _flows(stats.values(), Role.TEST, Role.BACKGROUND):
            priority = _priority(flow)
            may_be_held = flow.plan.role is Role.TEST or (stats is run.paused and pfc_sent[priority] > 0)
            least = 1 if may_be_held else _least_load(run, flow)
            place, expected = at_priority(run.subject, priority), f"at least {least} frames sent {phase}"
            yield needed("load-applied", place, flow.frames_tx >= least, expected, flow.frames_tx)


def _pause_obeyed(run: Measurement) -> Iterator[Check]:
    test = _flows(run.paused.values(), Role.TEST)
    for flow in test:
        place = at_priority(run.subject, _priority(flow))
        expected = "0 frames received while paused"
        yield required("blocked-while-paused", place, flow.frames_rx == 0, expected, flow.frames_rx)
    held_bytes, buffer = sum(flow.bytes_tx for flow in test), run.subject.buffer
    place = at_priority(run.subject, run.scenario.tested[0])
    expected = f"fewer than the {buffer.size_bytes} bytes of {buffer.pool} sent while paused"
    yield required("held-within-buffer", place, held_bytes < buffer.size_bytes, expected, held_bytes)


def _pause_counted(run: Measurement) -> Iterator[Check]:
    counter = "PFC frames in the receive counter"
    for priority, frames in enumerate(run.pfc_received()):
        place = at_priority(run.subject, priority)
        if priority in run.scenario.tested:
            yield required("pause-counted", place, frames > 0, f"more than 0 {counter}", frames)
        else:
            yield required("no-other-pause-counted", place, frames == 0, f"0 {counter}", frames)
    sent = run.storm_stopped.frames_tx
    for priority in run.scenario.tested:
        place, frames = at_priority(run.subject, priority), run.pfc_received_in_all()[priority]
        expected = f"{sent} {counter} once the storm had stopped (1 % more or less)"
        yield required("every-pause-counted", place, abs(frames - sent) <= sent * COUNT_TOLERANCE, expected, frames)


def _pause_kept(run: Measurement) -> Iterator[Check]:
    place, forwarded = at_priority(run.subject, run.scenario.tested[0]), run.storm.frames_rx
    expected = f"0 pause frames forwarded to {run.subject.pair.tx.port}"
    yield required("pause-not-forwarded", place, forwarded == 0, expected, forwarded)


def _back_pressure(run: Measurement) -> Iterator[Check]:
    sent_out = f"PFC frames sent out of {run.subject.pair.tx.port}"
    for priority, frames in enumerate(run.pfc_sent()):
        place = at_priority(run.subject, priority)
        if priority in run.scenario.tested:
            yield required("back-pressure", place, frames > 0, f"more than 0 {sent_out} to hold the sender", frames)
        else:
            yield required("no-other-back-pressure", place, frames == 0, f"0 {sent_out}", frames)


def _background(run: Measurement) -> Iterator[Check]:
    background, tested = _flows(run.paused.values(), Role.BACKGROUND), ", ".join(map(str, run.scenario.tested))
    when = f"while priority {tested} was paused"
    yield from everything_received("background-unaffected", run.subject, background, when)
    if not any(_priority(flow) not in run.subject.qos.lossless for flow in background):
        place = Place(run.subject.where(), LOSSY)
        seen = f"none: DSCP_TO_TC_MAP|{run.subject.qos.dscp_map} leads to lossless priorities only"
        yield needed("lossy-background", place, False, "background traffic on a lossy priority", seen)


def _after_the_storm(run: Measurement) -> Iterator[Check]:
    when = "once the storm had stopped"
    yield from everything_received("held-frames-drained", run.subject, _flows(run.drained.values(), Role.TEST), when)
    for flow in _flows(run.resumed.values(), Role.TEST):
        place, least = at_priority(run.subject, _priority(flow)), _least_load(run, flow)
        expected = f"at least {least} frames taken by the switch after the storm"
        yield required("resumed-rate", place, flow.frames_tx >= least, expected, flow.frames_tx)
    yield from everything_received("resumed", run.subject, run.resumed.values(), "in traffic without a storm")


def _least_load(run: Measurement, flow: FlowStats) -> int:
    speed_mbps, scenario = run.subject.pair.speed_mbps, run.scenario
    due = due_frames(flow.plan.percent or 0, scenario.frame_bytes, speed_mbps, scenario.data_s)
    return round(due * (1 - LOAD_TOLERANCE))


def _flows(flows: Iterable[FlowStats], *roles: Role) -> list[FlowStats]:
    return [flow for flow in flows if flow.plan.role in roles]


def _priority(flow: FlowStats) -> int:
    assert flow.plan.priority is not None, f"flow {flow.plan.name} carries no priority"
    return flow.plan.priority
