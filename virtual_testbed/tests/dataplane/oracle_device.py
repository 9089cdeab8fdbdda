"""A switch of the oracle: its ports, its configuration, its watchdog's polls."""
from __future__ import annotations

from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.tests.dataplane.oracle_clock import POLL, Cable, Clock
from virtual_testbed.tests.dataplane.oracle_control import OracleFault
from virtual_testbed.tests.dataplane.oracle_forwarding import Ways
from virtual_testbed.tests.dataplane.oracle_switch import Device, SwitchPort
from virtual_testbed.tests.dataplane.oracle_watchdog import Watch
from virtual_testbed.tests.dataplane.oracle_watched import WatchedPort


class Switch(Device):
    """One switch."""

    def __init__(self, clock: Clock, config: SwitchConfig, faults: list[OracleFault], ways: Ways) -> None:
        super().__init__(clock, config, faults, ways)
        self.watched: dict[str, WatchedPort] = {}
        self.watches: dict[tuple[str, int], Watch] = {}
        self.poll_ms, self.big_red_switch, self._polling = 0, False, object()
        self.polled_at: int | None = None

    def plug(self, name: str, cable: Cable, index: int) -> None:
        """Make a port with its cable."""
        self.ports[name] = port = SwitchPort(self, name, cable, index)
        self.watched[name] = WatchedPort(port)
        if any(fault.name == "pfc-unasked" for fault in port.faults.faults):
            port.send_unasked()

    def configure(self, config: SwitchConfig) -> None:
        """Take a configuration."""
        self.config = config
        for name, port in self.ports.items():
            for number in range(8):
                port.groups[number].profile = config.ports[name].priority_groups.get(number)
                port.queues[number].profile = config.ports[name].queues.get(number)
        self.pools.configure(config.pools)
        for port in self.ports.values():
            port.priorities_changed()
        self.set_watchdog()

    def set_watchdog(self) -> None:
        """Take the watchdog's part of the configuration."""
        for name, port in self.ports.items():
            for queue in range(8):
                watch = self.watches.setdefault((name, queue), Watch(self.watched[name], queue))
                watch.configure(port.config.watchdog if queue in port.config.watchdog_priorities else None)
        poll_ms = self.config.watchdog_poll_ms if any(watch.config for watch in self.watches.values()) else 0
        if poll_ms != self.poll_ms:
            self.poll_ms, self._polling = poll_ms, object()
            if poll_ms:
                self.plan_poll(self._polling)
        if self.config.big_red_switch != self.big_red_switch:
            self.big_red_switch = self.config.big_red_switch
            self.turn_big_red_switch()

    def turn_big_red_switch(self) -> None:
        """Every watched queue drops, or works again."""
        for watch in [watch for watch in self.watches.values() if watch.config]:
            if watch.stormed:
                watch.restore()
            if self.big_red_switch:
                watch.storm("drop")

    def plan_poll(self, ticket: object) -> None:
        """Poll after each interval while anything is watched."""
        def poll() -> None:
            if self._polling is ticket:
                self.plan_poll(ticket)
                self.poll_all()
        self.clock.at(self.clock.now + self.poll_ms * 10**9, POLL, 0, poll)

    def poll_all(self) -> None:
        """One poll: everything is read, then judged, then followed."""
        poll_us = 1000 * self.poll_ms
        passed_us = poll_us if self.polled_at is None else (self.clock.now - self.polled_at) // 10**6
        self.polled_at = self.clock.now
        seen = [(watch, watch.port.poll(watch.queue)) for watch in self.watches.values() if watch.config]
        if self.big_red_switch:
            return
        events = [watch.poll(self.config.asic_type, poll, passed_us, poll_us) for watch, poll in seen]
        for (watch, _), event in zip(seen, events):
            watch.follow(event)
