"""Random histories of watched queues: what each poll of the watchdog reads of them, and how they are watched."""
from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from virtual_testbed.dataplane.model.configuration import WatchdogConfig
from virtual_testbed.dataplane.model.counters import Sample
from virtual_testbed.dataplane.model.units import PS_PER_US
from virtual_testbed.dataplane.model.watchdog_decider import ALERT, DROP, FORWARD

POLLS_MS = (100, 200, 250, 333, 1000)
_STAYS_PERCENT = 75
_STOPS_PERCENT = 1
_EDGES = (80, 99)
"""Shares of an interval at which platforms draw their lines: histories come near them."""
STORM, BEGINS, ENDS, LAPSES, NEAR, RESUMED, QUIET = range(7)
"""What goes on between two polls: paused all the time, from some instant on or up to one, again and again, as long as
makes a difference, frames that only resume, nothing."""
_KINDS = (STORM, STORM, STORM, BEGINS, ENDS, LAPSES, NEAR, RESUMED, QUIET, QUIET)


def _config(chooser: random.Random, poll_ms: int) -> WatchdogConfig:
    """Times around whole numbers of polls, and others."""
    detection_ms = max(100, chooser.choice([1, 2, 3]) * poll_ms + chooser.choice([0, 0, 0, 1, 2, 4, 5, -1, 50]))
    restoration_ms = chooser.choice([None, detection_ms, 2 * detection_ms, max(100, poll_ms + 1)])
    return WatchdogConfig(chooser.choice([DROP, DROP, FORWARD, ALERT]), detection_ms, restoration_ms)


@dataclass
class QueueHistory:
    """One queue: what was counted up to now, how it is watched (None: it is not), and what goes on."""

    chooser: random.Random
    poll_ms: int
    has_traffic: bool
    sample: Sample = Sample(0, 0, 0, False, 0, 0, 0)
    config: WatchdogConfig | None = None
    _kind: int = QUIET

    def __post_init__(self) -> None:
        self.config = _config(self.chooser, self.poll_ms)

    def advance(self, elapsed_us: int) -> None:
        """Go on to the next poll."""
        if self.chooser.randrange(100) >= _STAYS_PERCENT:
            self._kind = self.chooser.choice(_KINDS)
        if self.chooser.randrange(100) < _STOPS_PERCENT:
            self.config = _config(self.chooser, self.poll_ms) if self.config is None else None
        paused_us, frames, ended, is_paused = self._pauses(elapsed_us)
        left, waiting = self._frames(paused_us == elapsed_us, is_paused)
        before = self.sample
        self.sample = Sample(before.time_ps + elapsed_us * PS_PER_US, before.pfc_rx + frames, before.on2off + ended,
                             is_paused, before.packets + left, 208 * waiting, before.paused_ps + paused_us * PS_PER_US)

    def _pauses(self, elapsed_us: int) -> tuple[int, int, int, bool]:
        """Time paused, pause frames, pauses that ended, and whether the queue is paused at the end."""
        some = self.chooser.randrange(1, 2000)
        if self._kind == STORM:
            return elapsed_us, some, 0, True
        if self._kind == BEGINS:
            self._kind = STORM
            return self.chooser.randrange(elapsed_us), some, 0, True
        if self._kind == ENDS:
            self._kind = QUIET
            return self.chooser.randrange(elapsed_us), self.chooser.choice([0, some]), 1, False
        if self._kind == LAPSES:
            return self.chooser.randrange(elapsed_us), some, self.chooser.randrange(some + 1), bool(some % 2)
        if self._kind == NEAR:
            edge_us = elapsed_us * self.chooser.choice(_EDGES) // 100
            return edge_us + self.chooser.choice([-1, 0, 1]), some, self.chooser.choice([0, 0, 1]), bool(some % 2)
        return 0, some if self._kind == RESUMED else 0, int(self.sample.paused), False

    def _frames(self, is_shut: bool, is_paused: bool) -> tuple[int, int]:
        """Frames that left, and frames that wait at the end."""
        if not self.has_traffic:
            return 0, 0
        left = 0 if is_shut else self.chooser.choice([0, 1, 100_000])
        return left, self.chooser.choice([1, 1000]) if is_paused else self.chooser.choice([0, 0, 1])


@dataclass
class Round:
    """Queues of one switch, which are polled together."""

    seed: int
    queues: Sequence[tuple[str, int]]
    poll_ms: int = field(init=False)
    is_big_red: bool = False

    def __post_init__(self) -> None:
        self.chooser = random.Random(self.seed)
        self.poll_ms = self.chooser.choice(POLLS_MS)
        self.now_ps = 0
        self.histories = {key: QueueHistory(self.chooser, self.poll_ms, self.chooser.random() < 0.7)
                          for key in self.queues}

    def advance(self) -> None:
        """Go on to the next poll, which now and then is late; the big red switch is seldom on."""
        late_us = self.chooser.choice([0] * 18 + [1, self.poll_ms * 400])
        elapsed_us = self.poll_ms * 1000 + late_us
        self.is_big_red = self.chooser.randrange(100) < (60 if self.is_big_red else 2)
        self.now_ps += elapsed_us * PS_PER_US
        for history in self.histories.values():
            history.advance(elapsed_us)
