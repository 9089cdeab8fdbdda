"""The PFC watchdog: a poll on a fixed grid, detection, action, restoration.

Facts: sonic-swss `pfcwdorch.cpp`, `pfc_detect_<platform>.lua`, `pfc_restore.lua`, `pfcactionhandler.cpp`. Queue n is
watched through PFC class n. The grid starts when the watchdog is first configured; a first poll only remembers.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from virtual_testbed.dataplane.model.configuration import SwitchConfig, SwitchPortConfig, WatchdogConfig
from virtual_testbed.dataplane.model.counters import Sample, WatchdogState
from virtual_testbed.dataplane.model.events import POLL, EventLoop
from virtual_testbed.dataplane.model.units import PS_PER_MS

OPERATIONAL, STORMED = "operational", "stormed"
DROP, FORWARD, ALERT = "drop", "forward", "alert"
FrameCounts = tuple[int, int, int, int]
"""Frames (sent, dropped) of a queue and (accepted, dropped) of its priority group."""


Judgement = Callable[[Sample, Sample], bool]
"""Whether two polls in a row look like a storm."""


def broadcom(before: Sample, now: Sample) -> bool:
    """Pause frames came, the queue never went from off to on, and was paused at both polls."""
    return now.pfc_rx > before.pfc_rx and now.on2off == before.on2off and before.paused and now.paused


def mellanox(before: Sample, now: Sample) -> bool:
    """Frames wait, none left, and the queue was paused for more than 99 % of the time."""
    stuck = now.occupancy > 0 and now.packets == before.packets
    return stuck and (now.paused_ps - before.paused_ps) * 100 > (now.time_ps - before.time_ps) * 99


def generic(before: Sample, now: Sample) -> bool:
    """Nothing left, and pause frames came while frames wait, or the idle queue was paused for more than 80 % of the
    time.
    """
    if now.packets != before.packets:
        return False
    if now.occupancy > 0:
        return now.pfc_rx > before.pfc_rx
    return (now.paused_ps - before.paused_ps) * 10 > (now.time_ps - before.time_ps) * 8


PERSONALITIES: dict[str, Judgement] = {"broadcom": broadcom, "mellanox": mellanox}


class WatchedPort(Protocol):
    """What the watchdog reads of a switch port, and what it does to it."""

    @property
    def config(self) -> SwitchPortConfig:
        """The port's configuration."""

    def sample(self, number: int, now_ps: int) -> Sample:
        """Read a queue for a poll."""

    def detection_ms(self, number: int, configured_ms: int) -> int:
        """How long a storm of a queue has to last."""

    def detects(self, number: int, storms: int) -> bool:
        """Whether a storm of a queue is detected after so many others."""

    def restoration_ms(self, number: int, configured_ms: int) -> int:
        """How long a storm of a queue has to be over."""

    def restores(self, number: int) -> bool:
        """Whether a queue works again after its storm."""

    def frames_through(self, number: int) -> FrameCounts:
        """Frames through a queue and its priority group so far."""

    def act_on_storm(self, number: int, action: str, now_ps: int) -> None:
        """Apply `drop`, `forward` or `alert` to a queue and its priority."""

    def undo_action(self, number: int, now_ps: int) -> None:
        """Let a queue and its priority work again."""

    def undo_rest(self, number: int, now_ps: int) -> None:
        """The watchdog is stopped: let a queue work again if something of an action has not been undone."""


class QueueWatch:
    """The watchdog of one (port, queue)."""

    def __init__(self, port: WatchedPort, queue: int) -> None:
        self.port = port
        self.queue = queue
        self.config: WatchdogConfig | None = None
        self.last: Sample | None = None
        self.left_ms = 0
        self.status = OPERATIONAL
        self.action = ""
        self.detected = 0
        self.detected_before = 0
        self.restored = 0
        self.totals: FrameCounts = (0, 0, 0, 0)
        self.latest: FrameCounts = (0, 0, 0, 0)
        self.base: FrameCounts = (0, 0, 0, 0)

    def set(self, config: WatchdogConfig | None, now_ps: int) -> None:
        """Take a configuration; None, or another one, ends a storm and starts anew."""
        if config == self.config:
            return
        if self.status == STORMED:
            self.clear(now_ps)
        self.port.undo_rest(self.queue, now_ps)
        self.config = config
        self.detected_before = self.detected
        self.last = None
        self.left_ms = self._detection_ms()

    def _detection_ms(self) -> int:
        return self.port.detection_ms(self.queue, self.config.detection_ms) if self.config else 0

    def _restoration_ms(self) -> int:
        if self.config is None or self.config.restoration_ms is None:
            return 0
        return self.port.restoration_ms(self.queue, self.config.restoration_ms)

    def poll(self, sample: Sample, poll_ms: int, positive: Judgement) -> str:
        """Judge one poll: `storm`, `restore` or nothing."""
        before = self.last
        self.last = sample
        if self.config is None or before is None:
            return ""
        if self.status == OPERATIONAL or self.action == ALERT:
            return self._detect(positive(before, sample), poll_ms)
        if self.config.restoration_ms is None:
            return ""
        if sample.pfc_rx > before.pfc_rx:
            self.left_ms = self._restoration_ms()
            return ""
        if self.left_ms <= poll_ms:
            return "restore"
        self.left_ms -= poll_ms
        return ""

    def _detect(self, positive: bool, poll_ms: int) -> str:
        if not positive:
            self.left_ms = self._detection_ms()
            return "restore" if self.status == STORMED else ""
        if self.left_ms > poll_ms:
            self.left_ms -= poll_ms
            return ""
        self.left_ms = self._detection_ms()
        detects = self.status == OPERATIONAL and self.port.detects(self.queue, self.detected - self.detected_before)
        return "storm" if detects else ""

    def storm(self, action: str, now_ps: int) -> None:
        """A storm begins: act."""
        self.status = STORMED
        self.action = action
        self.detected += 1
        self.base = self.port.frames_through(self.queue)
        if self.config is not None and action != ALERT:
            self.left_ms = self._restoration_ms()
        self.port.act_on_storm(self.queue, action, now_ps)

    def clear(self, now_ps: int) -> None:
        """A storm ends: undo."""
        self.latest = self._since_base()
        self.totals = _add(self.totals, self.latest)
        self.status = OPERATIONAL
        self.restored += 1
        self.left_ms = self._detection_ms()
        self.port.undo_action(self.queue, now_ps)

    def _since_base(self) -> FrameCounts:
        now = self.port.frames_through(self.queue)
        return (now[0] - self.base[0], now[1] - self.base[1], now[2] - self.base[2], now[3] - self.base[3])

    def state(self) -> WatchdogState:
        """What the counters show."""
        latest = self._since_base() if self.status == STORMED else self.latest
        totals = _add(self.totals, latest) if self.status == STORMED else self.totals
        return WatchdogState(self.status, self.detected, self.restored, *totals, *latest)


def _add(a: FrameCounts, b: FrameCounts) -> FrameCounts:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])


class SwitchWatchdog:
    """The watchdog of a switch: all watched queues and the poll."""

    def __init__(self, ports: Mapping[str, WatchedPort], loop: EventLoop) -> None:
        self.ports = ports
        self.loop = loop
        self.watches: dict[tuple[str, int], QueueWatch] = {}
        self.poll_ms = 0
        self.big_red_switch = False
        self.positive: Judgement = generic
        self.poll_action = self._poll

    def configure(self, config: SwitchConfig, now_ps: int) -> None:
        """Take the switch's configuration: which queues are watched, how, and how often; the ports have theirs."""
        self.positive = PERSONALITIES.get(config.asic_type, generic)
        for name, port in self.ports.items():
            wanted = port.config.watchdog_priorities if port.config.watchdog else frozenset()
            for queue in range(8):
                if queue in wanted and (name, queue) not in self.watches:
                    self.watches[name, queue] = QueueWatch(port, queue)
                if (name, queue) in self.watches:
                    self.watches[name, queue].set(port.config.watchdog if queue in wanted else None, now_ps)
        active = any(watch.config for watch in self.watches.values())
        poll_ms = config.watchdog_poll_ms if active else 0
        if poll_ms != self.poll_ms:
            self.loop.cancel(self.poll_action)
            self.poll_ms = poll_ms
            if poll_ms:
                self.loop.at(now_ps + poll_ms * PS_PER_MS, self.poll_action, POLL)
        if config.big_red_switch != self.big_red_switch:
            self._set_big_red_switch(config.big_red_switch, now_ps)

    def _set_big_red_switch(self, on: bool, now_ps: int) -> None:
        self.big_red_switch = on
        for watch in self.watches.values():
            if watch.config is not None and watch.status == STORMED:
                watch.clear(now_ps)
            if watch.config is not None and on:
                watch.storm(DROP, now_ps)

    def _poll(self, now_ps: int) -> None:
        self.loop.at(now_ps + self.poll_ms * PS_PER_MS, self.poll_action, POLL)
        if self.big_red_switch:
            return
        for watch in self.watches.values():
            if watch.config is None:
                continue
            verdict = watch.poll(watch.port.sample(watch.queue, now_ps), self.poll_ms, self.positive)
            if verdict:
                self.loop.watcher.before_change()
            if verdict == "storm":
                watch.storm(watch.config.action, now_ps)
            elif verdict == "restore" and watch.port.restores(watch.queue):
                watch.clear(now_ps)
