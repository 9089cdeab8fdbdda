"""FLAP: one run, whether it was a measurement, and what a flap must leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..model.checking import (
    at_port, at_priority, error_unless, everything_received, fail_unless, flows_of, least_load, priority_of,
)
from ..model.counters import DutCounters, changed
from ..model.measurement import NEVER_STORMED, Readings, flow_numbers
from ..model.traffic import FlowStats, Role
from ..record.case import Target
from ..record.verdict import Check
from .counting_readings import port_counts
from .engine import unmet
from .validity import counters_kept, watchdog_stopped


@dataclass(frozen=True)
class FlapRun(Readings):
    """One run; `during` was read while the link was down, when all that its going down caused had been counted.

    Attributes:
        target: the lossless priorities that data was sent for, and paused in a storm.
        still_down: the counters later on, the link still down.
        watched: the watchdog's statistics when it had been started; None: it was not.
        sent: flow name -> statistics of storm and data before the link went down.
        flows: flow name -> statistics of the data sent when the link was up again.
    """

    target: Target
    still_down: DutCounters
    watched: DutCounters | None
    sent: Mapping[str, FlowStats]
    flows: Mapping[str, FlowStats]

    @property
    def port(self) -> str:
        """The port under test."""
        return self.subject.pair.rx.port

    def dropped(self, reading: DutCounters) -> int:
        """What the port had dropped on its way out."""
        return port_counts(reading.printed["data"], self.port).tx_dropped

    def storms(self) -> dict[str, int]:
        """Queue -> storms that the watchdog detected since it was started."""
        before = {} if self.watched is None else self.watched.watchdog
        return {
            queue: row.detected - before.get(queue, NEVER_STORMED).detected
            for queue, row in self.after.watchdog.items()
            if self.watched is not None
        }

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return {
            **self.counted(),
            "flows": flow_numbers({"before the flap": self.sent, "after the flap": self.flows}),
            "tx_dropped_down": [self.dropped(self.during), self.dropped(self.still_down)],
            "pfc_received_after_the_flap": list(self._received_later()),
            "storms_watched": self.storms(),
        }

    def _received_later(self) -> tuple[int, ...]:
        return changed(self.still_down.pfc_rx, self.after.pfc_rx, self.port)


def validity(run: FlapRun) -> list[Check]:
    """Reasons why the run was no measurement, best cause first; empty for a good run."""
    quiet = watchdog_stopped(run) if run.watched is None else iter(())
    return unmet([*quiet, *_links(run), *counters_kept(run), *_applied(run)])


def judge(run: FlapRun) -> list[Check]:
    """All checks of a run that was a measurement."""
    when = "once the link was up again, without a storm"
    return [
        *everything_received("pause-ended-with-link", run.subject, flows_of(run.flows.values(), Role.TEST), when),
        *everything_received("flows-after-flap", run.subject, flows_of(run.flows.values(), Role.BACKGROUND), when),
        *_counters(run),
        *_storms(run),
    ]


def _counters(run: FlapRun) -> Iterator[Check]:
    """Frames for a port whose link is down are no frames that it dropped on their way out: they never came so far. And
    no pause arrives through a link that is down, or afterwards, when no storm runs."""
    place = at_port(run.subject, run.port)
    first, later = run.dropped(run.during), run.dropped(run.still_down)
    expected = f"TX_DRP of {first} as soon as all had settled and later on, while the link was down"
    yield fail_unless("tx-drop-while-down", place, first == later, expected, later)
    for priority, frames in enumerate(changed(run.during.pfc_rx, run.after.pfc_rx, run.port)):
        place, expected = at_priority(run.subject, priority), "0 PFC frames received since the link went down"
        yield fail_unless("no-pause-counted-after", place, frames == 0, expected, frames)


def _storms(run: FlapRun) -> Iterator[Check]:
    for queue, storms in sorted(run.storms().items()):
        port, _, priority = queue.partition(":")
        if port == run.port:
            place, expected = at_priority(run.subject, int(priority)), "0 storms detected around a flap without a storm"
            yield fail_unless("no-storm-detected", place, storms == 0, expected, storms)


def _links(run: FlapRun) -> Iterator[Check]:
    """The link was up, then down for as long as it was meant to be, then up; the other one was never down."""
    moments = (("before", run.before, True), ("in", run.during, False), ("at the end of", run.still_down, False),
               ("after", run.after, True))
    for moment, reading, up in moments:
        for port, wanted in ((run.port, up), (run.subject.pair.tx.port, True)):
            state = reading.interfaces.get(port)
            seen = "up" if state is not None and state.oper_up else "down"
            expected = f"the link {'up' if wanted else 'down'} {moment} the flap"
            yield error_unless("link-flapped", at_port(run.subject, port), (seen == "up") == wanted, expected, seen)


def _applied(run: FlapRun) -> Iterator[Check]:
    """Storm and data ran when the link went down; data was there after the flap, unless something held it: that is
    judged."""
    early = run.pfc_sent()
    for flow in run.sent.values():
        name = "storm-ran" if flow.plan.role is Role.STORM else "load-applied"
        priority = flow.plan.priority
        place = at_port(run.subject, run.port) if priority is None else at_priority(run.subject, priority)
        held = priority is not None and early[priority] > 0  # by the switch, maybe since before: that is judged
        expected = "at least 1 frame sent before the flap"
        yield error_unless(name, place, flow.frames_tx > 0 or held, expected, flow.frames_tx)
    pushed = changed(run.still_down.pfc_tx, run.after.pfc_tx, run.subject.pair.tx.port)
    for flow in run.flows.values():
        priority = priority_of(flow)
        least = 1 if pushed[priority] else least_load(run.subject, flow.plan)
        place, expected = at_priority(run.subject, priority), f"at least {least} frames sent after the flap"
        yield error_unless("load-applied", place, flow.frames_tx >= least, expected, flow.frames_tx)
