"""A port of the oracle as its watchdog sees it, and what the watchdog does to it."""
from __future__ import annotations

from virtual_testbed.tests.dataplane.oracle_switch import SwitchPort
from virtual_testbed.tests.dataplane.oracle_watchdog import Four, Poll


class WatchedPort:
    """See the module; `hit`: queues that are acted on, by the queue in storm."""

    def __init__(self, port: SwitchPort) -> None:
        self.port = port
        self.hit: dict[int, set[int]] = {}

    def poll(self, queue: int) -> Poll:
        """What the watchdog reads."""
        held = self.port.queues[queue].reserved + self.port.queues[queue].shared
        sent = self.port.queues[queue].packets
        if self.port.fault("watchdog-blind", queue):
            return Poll(self.port.clock.now, 0, 0, False, sent, held, 0)
        now, came, pauses = self.port.clock.now, self.port.pfc_rx[queue], self.port.pauses
        if self.port.fault("watchdog-false-alarm", queue):
            return Poll(now, came + sent, 0, True, 0, max(held, 1), now)
        return Poll(now, came, pauses.on2off[queue], pauses.since[queue] is not None, sent, held,
                    pauses.duration(queue))

    def detection_ms(self, queue: int, configured_ms: int) -> int:
        """How long a storm has to last."""
        return configured_ms * (self.port.fault("watchdog-late", queue) or 1)

    def restores(self, queue: int) -> bool:
        """Whether the watchdog lets a queue work again."""
        return not self.port.fault("watchdog-never-restores", queue)

    def seen(self, queue: int) -> Four:
        """Frames through a queue and its priority group."""
        out, into = self.port.queues[queue], self.port.groups[self.port.config.tc_to_pg[queue]]
        return out.packets, out.dropped, into.passed, into.dropped

    def act(self, queue: int, action: str) -> None:
        """The watchdog's action on a storm."""
        if action == "alert":
            return
        self.hit[queue] = set(range(8)) if self.port.fault("watchdog-wide", queue) else {queue}
        for one in sorted(self.hit[queue]):
            self.port.muted.add(one)
            if action == "drop" and not self.port.fault("watchdog-leaks", queue):
                self.set_dropping(one, True)
                if self.port.switch.config.asic_type == "broadcom":
                    self.port.discard(self.port.queues[one])
        self.port.priorities_changed()

    def undo(self, queue: int) -> None:
        """The end of the watchdog's action."""
        for one in self.hit.pop(queue, set()).difference(*self.hit.values()):
            self.port.muted.discard(one)
            self.set_dropping(one, False)
        self.port.priorities_changed()

    def set_dropping(self, queue: int, dropping: bool) -> None:
        """Drop for a queue, and into its class's group if no other class shares that."""
        self.port.queues[queue].dropping = dropping
        groups = self.port.config.tc_to_pg
        if [tc for tc in groups if groups[tc] == groups[queue]] == [queue]:
            self.port.groups[groups[queue]].dropping = dropping
