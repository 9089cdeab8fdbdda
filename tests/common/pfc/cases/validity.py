"""Whether a run was a measurement at all. If not, nothing is judged: ERROR, with the cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import ceil

from ..model.arithmetic import line_rate_fps
from ..model.counters import changed
from ..model.measurement import Measurement, Readings
from ..model.traffic import FlowStats, Role
from ..record.verdict import LOSSLESS, Check, Status
from .checking import Place, at_port, at_priority, at_tested, error_unless, flows_of, least_load, priority_of


def validity(run: Measurement) -> list[Check]:
    """Reasons why the run was no measurement: checks with status ERROR only, best cause first. Empty for a good run."""
    return unmet([*watchdog_stopped(run), *links_kept(run), *counters_kept(run), *_storm_ran(run), *_load_applied(run)])


def unmet(made: Iterable[Check]) -> list[Check]:
    """Those that are not PASS."""
    return [one for one in made if one.status is not Status.PASS]


def watchdog_stopped(run: Readings) -> Iterator[Check]:
    """The watchdog must not have acted: it drops what the pause should hold."""
    storms = run.storms_detected()
    for queue in sorted({*storms, *run.stormed()}):
        port, _, priority = queue.partition(":")
        place = Place(f"{run.subject.pair.rx.device} {port} priority {priority}", LOSSLESS)
        seen = f"{storms[queue]} detected" if queue in storms else "the queue still in storm"
        seen = f"a watchdog that detected a storm although it was stopped ({seen})"
        yield error_unless("watchdog-stopped", place, False, "a stopped watchdog", seen)
    configured = {*run.before.watchdog_ports, *run.during.watchdog_ports}
    for port in (run.subject.pair.rx.port, run.subject.pair.tx.port):
        expected = f"no row PFC_WD|{port} in CONFIG_DB after `pfcwd stop`"
        yield error_unless("watchdog-stopped", at_port(run.subject, port), port not in configured, expected, "one")


def links_kept(run: Readings) -> Iterator[Check]:
    """Both links were up before the traffic and while it ran."""
    for port in (run.subject.pair.rx.port, run.subject.pair.tx.port):
        for moment, counters in (("before", run.before), ("in", run.during)):
            state = counters.interfaces.get(port)
            seen = "up" if state is not None and state.oper_up else "down"
            yield error_unless(
                "link-up", at_port(run.subject, port), seen == "up", f"the link up {moment} the storm", seen
            )


def counters_kept(run: Readings) -> Iterator[Check]:
    """Counters only grow, from 0; one that fell was cleared in between, and what it gained is unknown."""
    pair, readings = run.subject.pair, (run.before, run.during, run.after)
    ways = (
        (pair.rx.port, "receive", [reading.pfc_rx for reading in readings]),
        (pair.tx.port, "send", [reading.pfc_tx for reading in readings]),
    )
    for port, way, counts in ways:
        place, least = at_port(run.subject, port), min(min(count.get(port, (0,))) for count in counts)
        yield error_unless("counters-kept", place, least >= 0, f"PFC {way} counters from 0 on", least)
        fell = -min(min(changed(early, late, port)) for early, late in pairwise(counts))
        expected = f"PFC {way} counters that were not cleared in the run"
        yield error_unless("counters-kept", place, fell <= 0, expected, f"one that fell by {fell}")


def _storm_ran(run: Measurement) -> Iterator[Check]:
    """The storm must have lasted: so many pause frames that the pause cannot have lapsed on average. And it must have
    stopped when it was told to."""
    place, least = at_tested(run), run.scenario.least_storm_frames(run.subject.pair.speed_mbps)
    if run.subject.pauses_from is not None:
        yield from _storm_arrived(run, least)
    for running, stopped in run.storms:
        if run.subject.pauses_from is None:
            sent, expected = running.frames_tx, f"a storm of at least {least} pause frames"
            yield error_unless("storm-ran", place, sent >= least, expected, sent)
        yield storm_running(place, running, stopped)
        seen = "running" if stopped.transmitting else "stopped"
        expected = "the storm stopped before held frames were counted"
        yield error_unless("storm-stopped", place, seen == "stopped", expected, seen)


def shown(run: Measurement) -> bool:
    """Whether the switch or the traffic shows that a storm arrived, and lasted: as many pause frames were counted as
    hold it, or the test traffic was held. A storm of the traffic generator is known from the frames that it sent."""
    test = flows_of(run.paused.values(), Role.TEST)
    held = run.scenario.holds and all(flow.frames_rx == 0 for flow in test)
    least = run.scenario.least_storm_frames(run.subject.pair.speed_mbps)
    return run.subject.pauses_from is None or held or _most_counted(run) >= least


def _most_counted(run: Measurement) -> int:
    """Of the paused priorities, the frames of the one that most were counted for until the storm's end neared."""
    received = run.pfc_received()
    return max((received[priority] for priority in run.scenario.paused), default=0)


def _storm_arrived(run: Measurement, least: int) -> Iterator[Check]:
    """Of a storm from a host, as the switch and the traffic show it. A storm of which a good switch shows nothing
    cannot be told from one that never arrived. Where the switch should have counted it and counted nothing, frames
    after the run decide whether it is to blame (`arrival`)."""
    place, counted = at_tested(run), _most_counted(run)
    owes_a_count = set(run.scenario.paused) > set(run.uncounted)
    expected = f"a storm of which the switch counts at least {least} pause frames, or that holds the test traffic"
    yield error_unless("storm-ran", place, shown(run) or (counted == 0 and owes_a_count), expected, counted)
    yield from _storm_unbroken(run, place)


def _storm_unbroken(run: Measurement, place: Place) -> Iterator[Check]:
    """No switch is blamed for frames that came through while the host, by its own report, let the queue open: as many
    as fit on the line in that time; nor where there is no report. That is all that is asked of it; it never makes a
    PASS."""
    test = flows_of(run.paused.values(), Role.TEST)
    leaked, said = sum(flow.frames_rx for flow in test), [storm.open_s for storm in run.host_storms]
    gaps = [open_s for open_s in said if open_s is not None]
    smallest = min(flow.plan.mean_bytes for flow in test)
    room = ceil(sum(gaps) * line_rate_fps(smallest, run.subject.pair.speed_mbps))
    blamed = leaked > room and len(gaps) == len(said)
    open_for = f"{1000 * sum(gaps):.3f} ms in which the host sent none" if len(gaps) == len(said) else "no report of it"
    seen = f"{open_for}, and {leaked} frames that came through"
    expected = "a storm without a gap that explains the frames that came through"
    yield error_unless("storm-unbroken", place, not run.scenario.holds or leaked == 0 or blamed, expected, seen)


def storm_running(place: Place, counted: FlowStats, stopped: FlowStats) -> Check:
    """The storm ran when frames were counted, and, where it was a chain of flows, until it was stopped, without a gap.

    Args:
        place: where.
        counted, stopped: its statistics then, and after it was stopped.
    """
    seen = stopped.gap or ("running" if counted.transmitting else "stopped")
    return error_unless("storm-running", place, seen == "running", "the storm running when frames were counted", seen)


def _load_applied(run: Measurement) -> Iterator[Check]:
    """What was due must have been sent; where the switch may have held it, anything is enough here: the rest is
    judged."""
    pfc_sent = run.pfc_sent()
    for phase, stats in (("in the storm", run.paused), ("after the storm", run.resumed)):
        for flow in flows_of(stats.values(), Role.TEST, Role.BACKGROUND):
            priority = priority_of(flow)
            meant_to_be_held = run.scenario.holds and flow.plan.role is Role.TEST
            may_be_held = meant_to_be_held or (stats is run.paused and pfc_sent[priority] > 0)
            least = 1 if may_be_held else least_load(run.subject, flow.plan)
            place, expected = at_priority(run.subject, priority), f"at least {least} frames sent {phase}"
            yield error_unless("load-applied", place, flow.frames_tx >= least, expected, flow.frames_tx)
