"""The PFC watchdog: a poll on a fixed grid, what is decided at it (`watchdog_decider`), action, restoration.

Facts: sonic-swss `pfcwdorch.cpp`, `pfcwdsworch.cpp`, `pfcactionhandler.cpp`. Queue n is watched through PFC class n.
The grid starts when the watchdog is first configured.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from virtual_testbed.dataplane.model.configuration import SwitchConfig, SwitchPortConfig, WatchdogConfig
from virtual_testbed.dataplane.model.counters import Sample, WatchdogState
from virtual_testbed.dataplane.model.events import POLL, EventLoop
from virtual_testbed.dataplane.model.units import PS_PER_MS
from virtual_testbed.dataplane.model.watchdog_decider import (
    ALERT, DROP, FORWARD, OPERATIONAL, STORM, STORMED, Decider, Decision, PersonalityDecider, PolledQueue)

__all__ = ["ALERT", "DROP", "FORWARD", "FrameCounts", "QueueWatch", "SwitchWatchdog", "WatchedPort"]


FrameCounts = tuple[int, int, int, int]
"""Frames (sent, dropped) of a queue and (accepted, dropped) of its priority group."""


class WatchedPort(Protocol):
    """What the watchdog reads of a switch port, and what it does to it."""

    @property
    def config(self) -> SwitchPortConfig:
        """The port's configuration."""

    def sample(self, number: int, now_ps: int) -> Sample:
        """Read a queue for a poll."""

    def sample_in_storm(self, number: int, first: Sample, others: bool, now_ps: int) -> Sample:
        """Read a queue in storm. `first`: what was read of it last before that; `others`: every other queue that is
        watched at the port is in storm too.
        """

    def detection_ms(self, number: int, configured_ms: int) -> int:
        """How long a storm of a queue has to last."""

    def detects(self, number: int, storms: int, elsewhere: frozenset[str]) -> bool:
        """Whether a storm of a queue is detected after so many others, while these other ports have one."""

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
        self.status = OPERATIONAL
        self.detected = 0
        self.detected_before = 0
        self.restored = 0
        self.totals: FrameCounts = (0, 0, 0, 0)
        self.latest: FrameCounts = (0, 0, 0, 0)
        self.base: FrameCounts = (0, 0, 0, 0)
        self._seen: Sample | None = None
        self._first: Sample | None = None
        self._counts = True  # `alert` counts storms and no frames (sonic-swss `pfcactionhandler.h`)

    def set(self, config: WatchdogConfig | None, now_ps: int) -> None:
        """Take a configuration; None, or another action, ends a storm."""
        if config == self.config:
            return
        goes_on = config is not None and self.config is not None and config.action == self.config.action
        self.config = config
        if goes_on:
            return
        self.port.undo_rest(self.queue, now_ps)
        if self.status == STORMED:
            self.clear(now_ps)
        self.detected_before = self.detected

    def polled(self, is_big_red: bool, others: bool, now_ps: int) -> PolledQueue | None:
        """What a poll reads of the queue; None: it is not watched. `others`: every other watched queue of its port is
        in storm.
        """
        config = self.config
        if config is None:
            return None
        number = self.queue
        restoration_ms = config.restoration_ms
        if restoration_ms is not None:
            restoration_ms = self.port.restoration_ms(number, restoration_ms)
        watched = replace(
            config, detection_ms=self.port.detection_ms(number, config.detection_ms), restoration_ms=restoration_ms)
        if self.status == STORMED and self._first is not None:
            sample = self.port.sample_in_storm(number, self._first, others, now_ps)
        else:
            sample = self.port.sample(number, now_ps)
        self._seen = sample
        return PolledQueue(self.port.config.name, number, sample, self.status, watched, is_big_red)

    def takes(self, event: str, elsewhere: frozenset[str]) -> bool:
        """Whether an event that was decided is acted upon, while these other ports have a queue in storm."""
        if self.config is None:
            return False
        if event == STORM:
            return self.status == OPERATIONAL and self.port.detects(
                self.queue, self.detected - self.detected_before, elsewhere)
        return self.status == STORMED and self.port.restores(self.queue)

    def storm(self, action: str, now_ps: int) -> None:
        """A storm begins: act."""
        self.status = STORMED
        self._first = self._seen
        self.detected += 1
        self._counts = action != ALERT
        self.base = self.port.frames_through(self.queue)
        self.port.act_on_storm(self.queue, action, now_ps)

    def clear(self, now_ps: int) -> None:
        """A storm ends: undo."""
        self.latest = self._since_base()
        self.totals = _add(self.totals, self.latest)
        self.status = OPERATIONAL
        self.restored += 1
        self.port.undo_action(self.queue, now_ps)

    def _since_base(self) -> FrameCounts:
        if not self._counts:
            return (0, 0, 0, 0)
        now = self.port.frames_through(self.queue)
        return (now[0] - self.base[0], now[1] - self.base[1], now[2] - self.base[2], now[3] - self.base[3])

    def state(self) -> WatchdogState:
        """What was counted up to now."""
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
        self.poll_action = self._poll
        self._personality: tuple[str, Decider] = ("", PersonalityDecider(""))
        self._given: Decider | None = None

    def decide_by(self, decider: Decider) -> None:
        """Leave it to somebody else from now on where a storm begins and ends."""
        self._given = decider

    def configure(self, config: SwitchConfig, now_ps: int) -> None:
        """Take the switch's configuration: which queues are watched, how, and how often; the ports have theirs."""
        if config.asic_type != self._personality[0]:
            self._personality = config.asic_type, PersonalityDecider(config.asic_type)
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
        calm = {name for (name, _), watch in self.watches.items() if watch.config and watch.status == OPERATIONAL}
        watched = (watch.polled(self.big_red_switch, name not in calm, now_ps)
                   for (name, _), watch in self.watches.items())
        polled = [queue for queue in watched if queue is not None]
        decider = self._given or self._personality[1]
        for decision in decider.decide(polled, self.poll_ms, now_ps):
            self._act(decision, now_ps)

    def _act(self, decision: Decision, now_ps: int) -> None:
        """A notification that orchagent gets. Those of other queues, or while the big red switch is on, it ignores."""
        watch = self.watches.get((decision.port, decision.queue))
        elsewhere = frozenset(name for (name, _), other in self.watches.items() if other.status == STORMED)
        if watch is None or self.big_red_switch or not watch.takes(decision.event, elsewhere - {decision.port}):
            return
        self.loop.watcher.before_change()
        if decision.event == STORM and watch.config is not None:
            watch.storm(watch.config.action, now_ps)
        else:
            watch.clear(now_ps)
