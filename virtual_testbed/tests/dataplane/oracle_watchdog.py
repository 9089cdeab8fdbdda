"""The oracle's watchdog: one (port, queue) polled at a time."""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from virtual_testbed.dataplane.model.configuration import WatchdogConfig

Four = tuple[int, int, int, int]
NOTHING: Four = (0, 0, 0, 0)


class Poll(NamedTuple):
    """What a poll reads."""

    at: int
    pfc_rx: int
    on2off: int
    paused: bool
    sent: int
    held: int
    paused_ps: int


class Watched(Protocol):
    """What the watchdog reads of a port and does to it."""

    def poll(self, queue: int) -> Poll:
        """Read a queue."""

    def detection_ms(self, queue: int, configured_ms: int) -> int:
        """How long a storm has to last."""

    def restores(self, queue: int) -> bool:
        """Whether the end of a storm is acted upon."""

    def seen(self, queue: int) -> Four:
        """Frames sent by and dropped at the queue, accepted by and dropped at its priority group, so far."""

    def act(self, queue: int, action: str) -> None:
        """Apply an action."""

    def undo(self, queue: int) -> None:
        """Undo it."""


FORGETFUL = ("mellanox", "vs")
"""Platforms whose script deletes what it remembers when it finds a storm."""


def is_stuck(asic_type: str, old: Poll, new: Poll, passed_us: int, poll_us: int) -> bool:
    """Whether two polls in a row, so long after one another, look like a storm."""
    came = new.pfc_rx > old.pfc_rx
    if asic_type == "broadcom":
        return came and new.on2off == old.on2off and old.paused and new.paused
    if new.sent != old.sent:
        return False
    paused_us = new.paused_ps // 10**6 - old.paused_ps // 10**6
    if asic_type == "mellanox":
        return new.held > 0 and paused_us * 100 > passed_us * 99
    return came if new.held else paused_us * 10 > poll_us * 8


@dataclass(eq=False)
class Watch:
    """The watchdog of one queue."""

    port: Watched
    queue: int
    config: WatchdogConfig | None = None
    stormed: bool = False
    detected: int = 0
    restored: int = 0
    storm_left_us: int | None = None
    end_left_us: int | None = None
    last: Poll | None = None
    last_came: int | None = None
    base: Four = NOTHING
    totals: Four = NOTHING
    latest: Four = NOTHING
    alerts: bool = False

    def configure(self, config: WatchdogConfig | None) -> None:
        """Take a configuration; another action, or none, ends a storm."""
        before, self.config = self.config, config
        if before is not None and config is not None and before.action == config.action:
            return
        if self.stormed:
            self.restore()

    def poll(self, asic_type: str, new: Poll, passed_us: int, poll_us: int) -> str:
        """One poll: what follows of it, `storm`, `restore` or nothing."""
        config = self.config
        if config is None:
            return ""
        if self.stormed and config.action != "alert":
            return self._poll_in_storm(config, new, poll_us)
        wait_us = 1000 * self.port.detection_ms(self.queue, config.detection_ms)
        left_us = wait_us if self.storm_left_us is None else self.storm_left_us
        old, came = self.last, self.last_came
        self.last, self.last_came, self.storm_left_us = new, new.pfc_rx, left_us
        if old is None or came is None:
            return ""
        if not is_stuck(asic_type, old._replace(pfc_rx=came), new, passed_us, poll_us):
            self.storm_left_us = wait_us
            return "restore" if self.stormed else ""
        is_long = left_us <= poll_us
        if asic_type == "mellanox":
            is_long = (wait_us - left_us + passed_us) * 100 > wait_us * 99
            poll_us = passed_us
        if not is_long:
            self.storm_left_us = left_us - poll_us
            return ""
        self.storm_left_us = wait_us
        if asic_type in FORGETFUL:
            self.last = self.last_came = None
        return "storm"

    def follow(self, event: str) -> None:
        """Begin a storm or end one."""
        if event == "storm" and not self.stormed and self.config is not None:
            self.storm(self.config.action)
        if event == "restore" and self.stormed and self.port.restores(self.queue):
            self.restore()

    def _poll_in_storm(self, config: WatchdogConfig, new: Poll, poll_us: int) -> str:
        if config.restoration_ms is None:
            return ""
        end_us = 1000 * config.restoration_ms
        old, self.last_came = self.last_came, new.pfc_rx
        left_us = end_us if self.end_left_us is None else self.end_left_us
        self.end_left_us = left_us
        if old is None:
            return ""
        if old == new.pfc_rx and left_us > poll_us:
            self.end_left_us = left_us - poll_us
            return ""
        self.end_left_us = end_us
        return "restore" if old == new.pfc_rx else ""

    def storm(self, action: str) -> None:
        """A storm begins."""
        self.stormed = True
        self.detected += 1
        self.alerts = action == "alert"
        self.base = self.port.seen(self.queue)
        self.port.act(self.queue, action)

    def restore(self) -> None:
        """A storm ends."""
        self.latest = self._since_storm()
        self.totals = _plus(self.totals, self.latest)
        self.stormed = False
        self.restored += 1
        self.port.undo(self.queue)

    def counts(self) -> tuple[Four, Four]:
        """Frames seen in all storms, and in the last one."""
        if self.stormed:
            return _plus(self.totals, self._since_storm()), self._since_storm()
        return self.totals, self.latest

    def _since_storm(self) -> Four:
        a, b, c, d = (new - old for new, old in zip(self.port.seen(self.queue), self.base))
        return NOTHING if self.alerts else (a, b, c, d)


def _plus(one: Four, other: Four) -> Four:
    a, b, c, d = (x + y for x, y in zip(one, other))
    return a, b, c, d
