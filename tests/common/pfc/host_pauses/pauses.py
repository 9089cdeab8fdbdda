"""Pause storms of a host as a verdict sees them: what the switch and the traffic show of them, and no more.

What the host says of the frames that it sent is nothing that a verdict rests on. Before the first storm, and after each
one that the switch should have counted and neither its counters nor the traffic show, the host sends a few PFC frames:
then either the switch is wrong about storms, or the way to it is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import cast

from ..lab.clock import Clock
from ..lab.generator import Generator
from ..lab.lab import HostOf, Lab, PauseSource
from ..model.arithmetic import line_rate_fps
from ..model.checking import COUNTER, at_port, at_priority, at_tested, error_unless, fail_unless
from ..model.counters import DutCounters, changed
from ..model.errors import NoMeasurement
from ..model.measurement import Measurement
from ..model.traffic import FlowStats, Role
from ..record.verdict import Check
from .entry import HostPort
from .options import PROBE_FRAMES
from .source import HostSource, HostStorm

LEAST_COUNTED = PROBE_FRAMES * 9 // 10  # a driver may refuse some


@dataclass(frozen=True)
class HostInterface:
    """A host's interface as the testbed's entry names it, not reached yet, and the speed of its cable."""

    port: HostPort
    speed_mbps: int

    @property
    def where(self) -> str:
        """`fanout-01 Ethernet48`, for messages."""
        return self.port.where

    def open(self, host_of: HostOf, clock: Clock) -> HostPauses:
        """The interface as a source of pauses.

        Args:
            host_of: makes the Ansible host object whose `shell` runs as root.
            clock: what to wait on.

        Raises:
            QualificationError: the host cannot send storms; the sentence says what is missing.
        """
        source = HostSource(host_of(self.port.host), self.port, self.speed_mbps, clock)
        source.check()
        return HostPauses(source, self.where)


@dataclass(frozen=True)
class HostMeasurement(Measurement):
    """A run of which nothing showed that its storm arrived, so that the host had to show after it that its pauses do.

    Attributes:
        shown: the last counters, where they did; None: they did not.
        not_arrived: why they cannot have arrived; None: they did.
    """

    shown: DutCounters | None = None
    not_arrived: Check | None = None

    @property
    def settled(self) -> DutCounters | None:
        """The last counters; None where pauses may still be on their way."""
        return self.shown


class HostDriver(Generator):
    """Drives data as the class does that it is combined with (`HostPauses.driver`); storms are the host's.

    Attributes:
        sender: what starts and stops the storms.
    """

    sender: HostSource

    def own(self, names: Iterable[str]) -> list[str]:
        """All but the storms."""
        return self._data_among(list(names))

    def _start(self, names: Sequence[str]) -> None:
        """Storms first: they send when this returns."""
        for name in self._storms_among(names):
            self.sender.start(self._flows[name])
        own = self._data_among(names)
        if own or not names:
            super()._start(own)

    def _stop(self, names: Sequence[str]) -> None:
        """Storms first; those that do not stop keep no data running."""
        try:
            if storms := self._storms_among(names or list(self._flows)):
                self.sender.stop(storms)
        finally:
            own = self._data_among(names)
            if own or not names:
                super()._stop(own)

    def _statistics(self, names: Sequence[str]) -> dict[str, FlowStats]:
        """Of a storm what the host knows."""
        own = self._data_among(names)
        counted = super()._statistics(own) if own else {}
        return {name: counted[name] if name in counted else self.sender.statistics(self._flows[name])
                for name in names}

    def _storms_among(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name in self._flows and self._flows[name].pause is not None]

    def _data_among(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name not in self._storms_among(names)]


class HostPauses(PauseSource):
    """A host's interface as the source of pauses.

    Attributes:
        sender: what starts and stops the storms.
    """

    def __init__(self, sender: HostSource, where: str) -> None:
        """`where`: `fanout-01 Ethernet48`, for messages."""
        self.sender = sender
        self._where = where

    def driver(self, made: type[Generator]) -> type[Generator]:
        """Data is driven as ever, storms by the host."""
        return cast(type[Generator], type("HostDriver", (HostDriver, made), {"sender": self.sender}))

    def arrived(self, lab: Lab, before: DutCounters) -> DutCounters:
        """Sends a few PFC frames, and waits until the switch's counters have them: for one lossless priority is enough,
        whether each is counted is judged of storms.

        Raises:
            NoMeasurement: they were counted on another port, or on none, or a counter fell meanwhile.
            QualificationError: they were not sent.
        """
        lossless = lab.subject.qos.lossless
        self.sender.probe(lossless)
        lab.clock.sleep(lab.delays.port_s)
        after = lab.dut.counters()
        own = changed(before.pfc_rx, after.pfc_rx, lab.port)
        if min(own) < 0:
            expected = f"PFC receive counters that only grow while {self._where} sends {PROBE_FRAMES} frames"
            seen = f"one that fell by {-min(own)}: leave the switch's counters alone"
            raise NoMeasurement(_not_arrived(lab, expected, seen))
        if max(own[priority] for priority in lossless) < LEAST_COUNTED:
            expected = f"PFC frames from {self._where} in its receive counters"
            seen = f"them {_counted(lab, before, after)}: check the cable, and pfc_pause_source"
            raise NoMeasurement(_not_arrived(lab, expected, seen))
        return after

    def confirmed(self, lab: Lab, run: Measurement) -> Measurement:
        """Where nothing of the storm was seen, the host has to show that its pauses arrive: else this was no
        measurement."""
        if self.is_shown(run):
            return run
        try:
            return HostMeasurement(**vars(run), shown=self.arrived(lab, run.after))
        except NoMeasurement as error:
            return HostMeasurement(**vars(run), not_arrived=error.check)

    def is_shown(self, run: Measurement) -> bool:
        """Whether so many pause frames were counted as hold the queue, or the test traffic was held."""
        test = run.flows("paused", Role.TEST)
        held = run.scenario.holds and all(flow.frames_rx == 0 for flow in test)
        return held or _most_counted(run) >= _least(run)

    def storm_ran(self, run: Measurement) -> Iterator[Check]:
        """As the switch and the traffic show it. A storm of which a good switch shows nothing cannot be told from one
        that never arrived. Where the switch should have counted it and counted nothing, `arrived` decides after the
        run whether it is to blame."""
        if isinstance(run, HostMeasurement) and run.not_arrived is not None:
            yield run.not_arrived
        place = at_tested(run)
        counted = _most_counted(run)
        owes_a_count = set(run.scenario.paused) > set(run.subject.uncounted(run.scenario.paused))
        met = self.is_shown(run) or (counted == 0 and owes_a_count)
        expected = f"a storm of which the switch counts at least {_least(run)} pause frames, or that holds the test"
        yield error_unless("storm-ran", place, met, f"{expected} traffic", counted)
        yield _storm_unbroken(run)

    def every_pause_counted(self, run: Measurement, priority: int) -> Check:
        """The switch counted at least what a storm that held has, and no more than its rate makes in its time."""
        storms = [storm for storm in _storms(run) if storm.plan.pause and priority in storm.plan.pause.enabled]
        least = _least(run)
        most = sum(storm.most_frames for storm in storms)
        frames = run.pfc_received_in_all()[priority]
        met = frames >= least and (frames <= most or run.subject.tolerances.alike(frames, most))
        expected = f"{least} to {most} {COUNTER} once the storm had stopped"
        return fail_unless("every-pause-counted", at_priority(run.subject, priority), met, expected, frames)

    def none_forwarded(self, run: Measurement) -> Iterator[Check]:
        """Makes no check: a host's pause frames are no flow that the traffic generator would know."""
        return iter(())


def _storms(run: Measurement) -> list[HostStorm]:
    """The storms after they had stopped."""
    return [stopped for _, stopped in run.storms if isinstance(stopped, HostStorm)]


def _least(run: Measurement) -> int:
    """As many pause frames as hold a queue from the storm's start to the data's end."""
    return run.scenario.least_storm_frames(run.subject.pair.speed_mbps)


def _most_counted(run: Measurement) -> int:
    """The largest count of pause frames among the paused priorities, until the storm's end neared."""
    received = run.pfc_received()
    return max((received[priority] for priority in run.scenario.paused), default=0)


def _storm_unbroken(run: Measurement) -> Check:
    """No switch is blamed for frames that came through while the host, by its own report, let the queue open: as many
    as fit on the line in that time; nor where there is no report. That is all that is asked of it; it never makes a
    PASS."""
    test = run.flows("paused", Role.TEST)
    leaked = sum(flow.frames_rx for flow in test)
    said = [storm.open_s for storm in _storms(run)]
    gaps = [open_s for open_s in said if open_s is not None]
    smallest = min(flow.plan.mean_bytes for flow in test)
    room = ceil(sum(gaps) * line_rate_fps(smallest, run.subject.pair.speed_mbps))
    blamed = leaked > room and len(gaps) == len(said)
    open_for = f"{1000 * sum(gaps):.3f} ms in which the host sent none" if len(gaps) == len(said) else "no report of it"
    seen = f"{open_for}, and {leaked} frames that came through"
    expected = "a storm without a gap that explains the frames that came through"
    met = not run.scenario.holds or leaked == 0 or blamed
    return error_unless("storm-unbroken", at_tested(run), met, expected, seen)


def _counted(lab: Lab, before: DutCounters, after: DutCounters) -> str:
    """Where they were counted instead, or how few of them."""
    gained = {port: max(changed(before.pfc_rx, after.pfc_rx, port)) for port in after.pfc_rx if port in before.pfc_rx}
    others = [port for port, frames in gained.items() if port != lab.port and frames > 0]
    if gained[lab.port] > 0:
        lossless = changed(before.pfc_rx, after.pfc_rx, lab.port)
        return f"{max(lossless[one] for one in lab.subject.qos.lossless)} times of {PROBE_FRAMES}"
    return f"in those of {', '.join(others)}" if others else "nowhere"


def _not_arrived(lab: Lab, expected: str, seen: str) -> Check:
    return error_unless("pauses-arrive", at_port(lab.subject, lab.port), False, expected, seen)
