"""Whether a run was a measurement at all. If not, nothing is judged: ERROR, with the cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from ..lab.pause_source import PauseSource
from ..model.checking import Place, at_port, at_tested, error_unless, flows_of, priority_of, sent_as_due
from ..model.counters import changed
from ..model.measurement import Measurement, Readings
from ..model.traffic import FlowStats, Role
from ..record.verdict import LOSSLESS, Check, Status
from .generator_pauses import TRAFFIC_GENERATOR


def validity(run: Measurement, pauses: PauseSource = TRAFFIC_GENERATOR) -> list[Check]:
    """Reasons why the run was no measurement: checks with status ERROR only, best cause first. Empty for a good run.

    Args:
        run: the run.
        pauses: where its storm came from.
    """
    around = [*watchdog_stopped(run), *links_kept(run), *counters_kept(run)]
    return unmet([*around, *_storm_ran(run, pauses), *_load_applied(run)])


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


def _storm_ran(run: Measurement, pauses: PauseSource) -> Iterator[Check]:
    """The storm must have lasted, and must have stopped when it was told to."""
    yield from pauses.storm_ran(run)
    place = at_tested(run)
    for running, stopped in run.storms:
        yield storm_running(place, running, stopped)
        seen = "running" if stopped.transmitting else "stopped"
        expected = "the storm stopped before held frames were counted"
        yield error_unless("storm-stopped", place, seen == "stopped", expected, seen)


def storm_running(place: Place, counted: FlowStats, stopped: FlowStats) -> Check:
    """The storm ran when frames were counted, and, where it was a chain of flows, until it was stopped, without a gap.

    Args:
        place: where.
        counted, stopped: its statistics then, and after it was stopped.
    """
    seen = stopped.gap or ("running" if counted.transmitting else "stopped")
    return error_unless("storm-running", place, seen == "running", "the storm running when frames were counted", seen)


def _load_applied(run: Measurement) -> Iterator[Check]:
    """What was due must have been sent, in the storm and after it."""
    for when, stats, pushed in (
        ("in the storm", run.paused, run.pfc_sent()), ("after the storm", run.resumed, run.pfc_sent_after())
    ):
        for flow in flows_of(stats.values(), Role.TEST, Role.BACKGROUND):
            held = run.scenario.holds and flow.plan.role is Role.TEST  # after the storm `resumed-rate` judges it
            yield sent_as_due(run.subject, flow, pushed[priority_of(flow)], held, when)
