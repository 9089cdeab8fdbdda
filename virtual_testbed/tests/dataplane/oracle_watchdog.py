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


def is_stuck(asic_type: str, old: Poll, new: Poll) -> bool:
    """Whether two polls in a row look like a storm."""
    came = new.pfc_rx > old.pfc_rx
    if asic_type == "broadcom":
        return came and new.on2off == old.on2off and old.paused and new.paused
    if new.sent != old.sent:
        return False
    paused_ps, passed_ps = new.paused_ps - old.paused_ps, new.at - old.at
    if asic_type == "mellanox":
        return new.held > 0 and paused_ps * 100 > passed_ps * 99
    return came if new.held else paused_ps * 10 > passed_ps * 8


@dataclass(eq=False)
class Watch:
    """The watchdog of one queue."""

    port: Watched
    queue: int
    config: WatchdogConfig | None = None
    stormed: bool = False
    action: str = ""
    detected: int = 0
    restored: int = 0
    left_ms: int = 0
    last: Poll | None = None
    base: Four = NOTHING
    totals: Four = NOTHING
    latest: Four = NOTHING

    def configure(self, config: WatchdogConfig | None) -> None:
        """Take a configuration; another one, or none, ends a storm."""
        if config == self.config:
            return
        if self.stormed:
            self.restore()
        self.config, self.last = config, None
        self.wait()

    def wait(self) -> None:
        """Begin to wait for a storm."""
        self.left_ms = self.port.detection_ms(self.queue, self.config.detection_ms) if self.config else 0

    def poll(self, asic_type: str, poll_ms: int) -> None:
        """One poll."""
        config = self.config
        if config is None:
            return
        old, self.last = self.last, self.port.poll(self.queue)
        if old is None:
            return
        if self.stormed and self.action != "alert":
            self._poll_in_storm(config, self.last.pfc_rx > old.pfc_rx, poll_ms)
        elif not is_stuck(asic_type, old, self.last):
            self.wait()
            if self.stormed and self.port.restores(self.queue):
                self.restore()
        elif self.left_ms > poll_ms:
            self.left_ms -= poll_ms
        else:
            self.wait()
            if not self.stormed:
                self.storm(config.action)

    def _poll_in_storm(self, config: WatchdogConfig, goes_on: bool, poll_ms: int) -> None:
        if config.restoration_ms is None:
            return
        if goes_on:
            self.left_ms = config.restoration_ms
        elif self.left_ms <= poll_ms:
            if self.port.restores(self.queue):
                self.restore()
        else:
            self.left_ms -= poll_ms

    def storm(self, action: str) -> None:
        """A storm begins."""
        self.stormed, self.action = True, action
        self.detected += 1
        self.base = self.port.seen(self.queue)
        if action != "alert" and self.config is not None:
            self.left_ms = self.config.restoration_ms or 0
        self.port.act(self.queue, action)

    def restore(self) -> None:
        """A storm ends."""
        self.latest = self._since_storm()
        self.totals = _plus(self.totals, self.latest)
        self.stormed = False
        self.restored += 1
        self.wait()
        self.port.undo(self.queue)

    def counts(self) -> tuple[Four, Four]:
        """Frames seen in all storms, and in the last one."""
        if self.stormed:
            return _plus(self.totals, self._since_storm()), self._since_storm()
        return self.totals, self.latest

    def _since_storm(self) -> Four:
        a, b, c, d = (new - old for new, old in zip(self.port.seen(self.queue), self.base))
        return a, b, c, d


def _plus(one: Four, other: Four) -> Four:
    a, b, c, d = (x + y for x, y in zip(one, other))
    return a, b, c, d
