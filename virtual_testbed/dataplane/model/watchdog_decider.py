"""How the PFC watchdog decides at a poll, as SONiC's scripts do it on each platform.

Facts: sonic-swss `pfc_detect_<platform>.lua`, `pfc_restore.lua`, `pfc_restore_cisco-8000.lua` (commit e6b0c5b5). What
they remember of a queue outlives a stop of the watchdog there, and so does a storm's end.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from virtual_testbed.dataplane.model.configuration import WatchdogConfig
from virtual_testbed.dataplane.model.counters import Sample
from virtual_testbed.dataplane.model.units import PS_PER_US

OPERATIONAL, STORMED = "operational", "stormed"
DROP, FORWARD, ALERT = "drop", "forward", "alert"
STORM, RESTORE = "storm", "restore"
_US_PER_MS = 1000


@dataclass(frozen=True)
class PolledQueue:
    """A watched queue at a poll: what was read of it, its state (`status`), and how it is watched. `is_big_red`: the
    big red switch is on, nothing is decided.
    """

    port: str
    number: int
    sample: Sample
    status: str
    config: WatchdogConfig
    is_big_red: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """Port and number."""
        return self.port, self.number


class Decision(NamedTuple):
    """A storm of a queue begins (`storm`) or ends (`restore`)."""

    port: str
    queue: int
    event: str


class Decider(Protocol):
    """Who says at each poll of a switch's watchdog where a storm begins and where one ends."""

    def decide(self, polled: Sequence[PolledQueue], poll_ms: int, now_ps: int) -> Sequence[Decision]:
        """Judge a poll of all watched queues, which are polled every `poll_ms`. A storm of a queue in storm, or an end
        where there is none, has no effect.
        """


class Interval(NamedTuple):
    """What two polls in a row say of a queue, times in microseconds. `elapsed_us` was measured, `poll_us` is what was
    configured.
    """

    before: Sample
    now: Sample
    poll_us: int
    elapsed_us: int

    @property
    def has_pauses(self) -> bool:
        """Whether pause frames came."""
        return self.now.pfc_rx > self.before.pfc_rx

    @property
    def stands_still(self) -> bool:
        """Whether no frame left."""
        return self.now.packets == self.before.packets

    @property
    def paused_us(self) -> int:
        """How long the queue was paused, as a counter of microseconds has it."""
        return self.now.paused_ps // PS_PER_US - self.before.paused_ps // PS_PER_US

    @property
    def is_mostly_paused(self) -> bool:
        """Whether that is more than 80 % of a configured interval."""
        return self.paused_us * 10 > self.poll_us * 8


def _broadcom(seen: Interval) -> bool:
    """Pause frames came, the queue never went from off to on, and was paused at both polls."""
    return seen.has_pauses and seen.now.on2off == seen.before.on2off and seen.before.paused and seen.now.paused


def _mellanox(seen: Interval) -> bool:
    """Frames wait, none left, and the queue was paused for more than 99 % of the time."""
    return seen.now.occupancy > 0 and seen.stands_still and seen.paused_us * 100 > seen.elapsed_us * 99


def _generic(seen: Interval) -> bool:
    """Nothing left, and pause frames came while frames wait, or the idle queue was mostly paused."""
    return seen.stands_still and (seen.has_pauses if seen.now.occupancy else seen.is_mostly_paused)


def _prestera(seen: Interval) -> bool:
    """Frames wait, none left, and pause frames came: of how long a queue is paused nothing is known."""
    return seen.now.occupancy > 0 and seen.stands_still and seen.has_pauses


def _teralynx(seen: Interval) -> bool:
    """Pause frames came, the queue was mostly paused, and no waiting frame left."""
    return seen.has_pauses and seen.is_mostly_paused and (seen.now.occupancy == 0 or seen.stands_still)


def _cisco(seen: Interval) -> bool:
    """The queue is paused at this poll."""
    return seen.now.paused


RENEWED, DELETED, KEPT = "renewed", "deleted", "kept"


@dataclass(frozen=True)
class Personality:
    """How the scripts of a platform decide.

    Attributes:
        looks_stormy: whether an interval speaks for a storm.
        at_storm: what becomes of the counters of pauses that are remembered when a storm is found: they are RENEWED
            as at every poll, DELETED (the poll after it only remembers) or KEPT (it compares with the one before).
        measures: the time between polls is measured and may be 1 % short of the detection time in all.
        by_pause_status: the state at a poll is enough: a first poll is judged too, and a storm is over when the queue
            is not paused, whatever frames come.
    """

    looks_stormy: Callable[[Interval], bool]
    at_storm: str = RENEWED
    measures: bool = False
    by_pause_status: bool = False


GENERIC = Personality(_generic, DELETED)
PERSONALITIES = {
    "broadcom": Personality(_broadcom), "mellanox": Personality(_mellanox, DELETED, measures=True),
    "vs": GENERIC, "barefoot": GENERIC, "nephos": Personality(_generic), "clounix": Personality(_generic),
    "marvell-teralynx": Personality(_teralynx, KEPT), "marvell-prestera": Personality(_prestera),
    "cisco-8000": Personality(_cisco, by_pause_status=True)}
"""By `asic_type`; any other one decides as `vs` does."""


@dataclass
class _Memory:
    """What is remembered of a queue from poll to poll; the scripts' fields `..._last` and `..._TIME_LEFT`. `pfc_rx` is
    the only one that is read and written in a storm.
    """

    last: Sample | None = None
    pfc_rx: int | None = None
    detection_left_us: int | None = None
    restoration_left_us: int | None = None


class PersonalityDecider:
    """Decides as the scripts of a platform do."""

    def __init__(self, asic_type: str) -> None:
        self._personality = PERSONALITIES.get(asic_type, GENERIC)
        self._memories: dict[tuple[str, int], _Memory] = {}
        self._polled_ps: int | None = None

    def decide(self, polled: Sequence[PolledQueue], poll_ms: int, now_ps: int) -> Sequence[Decision]:
        """See `Decider`."""
        poll_us = poll_ms * _US_PER_MS
        elapsed_us = poll_us if self._polled_ps is None else (now_ps - self._polled_ps) // PS_PER_US
        self._polled_ps = now_ps
        decisions = []
        for queue in polled:
            event = "" if queue.is_big_red else self._judge(queue, poll_us, elapsed_us)
            if event:
                decisions.append(Decision(queue.port, queue.number, event))
        return decisions

    def _judge(self, queue: PolledQueue, poll_us: int, elapsed_us: int) -> str:
        memory = self._memories.setdefault(queue.key, _Memory())
        if queue.status == OPERATIONAL or queue.config.action == ALERT:
            return self._detect(queue, memory, poll_us, elapsed_us)
        if queue.config.restoration_ms is None:
            return ""
        return self._restore(queue, memory, poll_us)

    def _detect(self, queue: PolledQueue, memory: _Memory, poll_us: int, elapsed_us: int) -> str:
        detection_us = queue.config.detection_ms * _US_PER_MS
        left_us = detection_us if memory.detection_left_us is None else memory.detection_left_us
        before = self._before(queue.sample, memory)
        memory.last = queue.sample
        memory.pfc_rx = queue.sample.pfc_rx
        memory.detection_left_us = left_us
        if before is None:
            return ""
        if not self._personality.looks_stormy(Interval(before, queue.sample, poll_us, elapsed_us)):
            memory.detection_left_us = detection_us
            return RESTORE if queue.config.action == ALERT and queue.status == STORMED else ""
        passed_us = elapsed_us if self._personality.measures else poll_us
        if not self._lasts_long_enough(left_us, passed_us, detection_us):
            memory.detection_left_us = left_us - passed_us
            return ""
        memory.detection_left_us = detection_us
        if self._personality.at_storm == DELETED:
            memory.last = None
            memory.pfc_rx = None
        elif self._personality.at_storm == KEPT:
            memory.last, memory.pfc_rx = replace(queue.sample, paused_ps=before.paused_ps), before.pfc_rx
        return STORM

    def _before(self, now: Sample, memory: _Memory) -> Sample | None:
        """What was read at the poll before; None: nothing to compare with."""
        if self._personality.by_pause_status:
            return now
        if memory.last is None or memory.pfc_rx is None:
            return None
        return replace(memory.last, pfc_rx=memory.pfc_rx)

    def _lasts_long_enough(self, left_us: int, passed_us: int, detection_us: int) -> bool:
        if self._personality.measures:
            return (detection_us - left_us + passed_us) * 100 > detection_us * 99
        return left_us <= passed_us

    def _restore(self, queue: PolledQueue, memory: _Memory, poll_us: int) -> str:
        restoration_us = (queue.config.restoration_ms or 0) * _US_PER_MS
        left_us = restoration_us if memory.restoration_left_us is None else memory.restoration_left_us
        is_over = self._is_over(queue.sample, memory)
        memory.pfc_rx = queue.sample.pfc_rx
        memory.restoration_left_us = left_us
        if is_over is None:
            return ""
        if is_over and left_us > poll_us:
            memory.restoration_left_us = left_us - poll_us
            return ""
        memory.restoration_left_us = restoration_us
        return RESTORE if is_over else ""

    def _is_over(self, now: Sample, memory: _Memory) -> bool | None:
        """Whether a storm is over at this poll; None: nothing to compare with."""
        if self._personality.by_pause_status:
            return not now.paused
        return None if memory.pfc_rx is None else now.pfc_rx == memory.pfc_rx
