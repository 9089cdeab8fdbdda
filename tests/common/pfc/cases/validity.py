"""Whether a run was a measurement at all: the checks that families share. One that is not PASS is ERROR, and then
nothing is judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ..model.checking import Place, SentBy, at_port, at_queue, error_unless, priority_of, sent_as_due
from ..model.counters import changed, fallen
from ..model.measurement import CaseRun, PortUnderTest
from ..model.traffic import FlowStats, Role
from ..record.verdict import LOSSY, Check


def undisturbed(run: CaseRun) -> Iterator[Check]:
    """The watchdog did not act, both links were up, and no counter was cleared."""
    yield from watchdog_stopped(run)
    yield from links_kept(run)
    yield from counters_kept(run)


def watchdog_stopped(run: CaseRun) -> Iterator[Check]:
    """The watchdog must not have acted: it drops what the pause should hold."""
    storms = run.storms_detected()
    for queue in sorted({*storms, *run.stormed()}):
        seen = f"{storms[queue]} detected" if queue in storms else "the queue still in storm"
        seen = f"a watchdog that detected a storm although it was stopped ({seen})"
        yield error_unless("watchdog-stopped", at_queue(run.subject, queue), False, "a stopped watchdog", seen)
    configured = {*run.before.watchdog_ports, *run.during.watchdog_ports}
    for port in (run.subject.pair.rx.port, run.subject.pair.tx.port):
        expected = f"no row PFC_WD|{port} in CONFIG_DB after `pfcwd stop`"
        yield error_unless("watchdog-stopped", at_port(run.subject, port), port not in configured, expected, "one")


def links_kept(run: CaseRun) -> Iterator[Check]:
    """Both links were up before the traffic, while it ran, and after it."""
    for port in (run.subject.pair.rx.port, run.subject.pair.tx.port):
        for moment, counters in (("before", run.before), ("during", run.during), ("after", run.after)):
            state = counters.interfaces.get(port)
            seen = "up" if state is not None and state.oper_up else "down"
            expected = f"the link up {moment} the traffic"
            yield error_unless("link-up", at_port(run.subject, port), seen == "up", expected, seen)


def counters_kept(run: CaseRun) -> Iterator[Check]:
    """Counters only grow, from 0; one that fell was cleared, or wrapped, and what it gained is unknown."""
    pair = run.subject.pair
    readings = (run.before, run.during, run.after)
    ways = (
        (pair.rx.port, "receive", [reading.pfc_rx for reading in readings]),
        (pair.tx.port, "send", [reading.pfc_tx for reading in readings]),
    )
    for port, way, counts in ways:
        place = at_port(run.subject, port)
        least = min(min(count.get(port, (0,))) for count in counts)
        yield error_unless("counters-kept", place, least >= 0, f"PFC {way} counters from 0 on", least)
        fell = -min(min(changed(early, late, port)) for early, late in pairwise(counts))
        expected = f"PFC {way} counters that only grow in the run"
        yield error_unless("counters-kept", place, fell <= 0, expected, fallen(fell))


def storm_stopped(
    place: Place, storms: Iterable[FlowStats], expected: str = "the storm stopped in the end"
) -> Iterator[Check]:
    """Each of these storms had stopped."""
    for storm in storms:
        seen = "running" if storm.transmitting else "stopped"
        yield error_unless("storm-stopped", place, seen == "stopped", expected, seen)


def storm_running(place: Place, counted: FlowStats, stopped: FlowStats) -> Check:
    """The storm ran when frames were counted, and, where it was a chain of flows, without a gap until it was stopped:
    `stopped` are its statistics after that."""
    seen = stopped.gap or ("running" if counted.transmitting else "stopped")
    return error_unless("storm-running", place, seen == "running", "the storm running when frames were counted", seen)


def load_applied(
    subject: PortUnderTest, flows: Iterable[FlowStats], sent: SentBy, when: str, held: Sequence[Role] = ()
) -> Iterator[Check]:
    """The data flows among these sent what was due; of those that the switch is meant to hold (the roles `held`) any
    frame is enough. `sent`: what the switch sent to their senders meanwhile; `when`: for the message, `in the storm`.
    """
    for flow in flows:
        if flow.plan.role is not Role.STORM:
            pauses = sent(flow.plan.enters or None)[priority_of(flow)]
            yield sent_as_due(subject, flow, pauses, flow.plan.role in held, when)


def lossy_in_background(
    subject: PortUnderTest, background: Iterable[FlowStats], none: str = "0 such flows"
) -> Iterator[Check]:
    """Without lossy traffic nothing says that it is spared; `none` says for the message why there is none."""
    lossy = [flow for flow in background if priority_of(flow) not in subject.qos.lossless]
    place = Place(subject.where(), LOSSY)
    expected = "background traffic on a lossy priority"
    yield error_unless("lossy-background", place, bool(lossy), expected, f"{len(lossy)} such flows" if lossy else none)
