"""Pauses that are flows of the traffic generator: it counts what it sent, and knows its frames where they come out."""

from __future__ import annotations

from collections.abc import Iterator

from ..lab.generator import PauseSender
from ..lab.lab import Lab
from ..lab.pause_source import PauseSource
from ..model.checking import at_tested, every_pause_counted, none_of
from ..model.counters import DutCounters
from ..model.measurement import Measurement
from ..model.traffic import Role
from ..record.verdict import Check
from .validity import storm_sent


class GeneratorPauses:
    """The traffic generator as the source of pauses."""

    sender: PauseSender | None = None

    def arrived(self, lab: Lab, before: DutCounters) -> DutCounters:
        """Returns the counters as they are: nothing more is sent."""
        return before

    def is_shown(self, run: Measurement) -> bool:
        """True: the generator counts the frames that it sends."""
        return True

    def storm_ran(self, run: Measurement) -> Iterator[Check]:
        """The storm had so many pause frames that the pause cannot have lapsed on average."""
        least = run.scenario.least_storm_frames(run.subject.pair.speed_mbps)
        yield from storm_sent(at_tested(run), run.flows("paused", Role.STORM), least)

    def every_pause_counted(self, run: Measurement, priority: int) -> Check:
        """The switch counted as many pauses as were sent."""
        return every_pause_counted(run, priority, run.pauses_sent(priority), "once the storm had stopped ")

    def none_forwarded(self, run: Measurement) -> Iterator[Check]:
        """None of its pause frames came back to it."""
        forwarded = sum(running.frames_rx for running, _ in run.storms)
        yield none_of(
            "pause-not-forwarded", at_tested(run), f"pause frames forwarded to {run.subject.pair.tx.port}", forwarded
        )


TRAFFIC_GENERATOR: PauseSource = GeneratorPauses()


def pauses_of(lab: Lab) -> PauseSource:
    """The source of a lab's pauses."""
    return lab.pause_source or TRAFFIC_GENERATOR
