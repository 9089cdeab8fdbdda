"""What the watchdog reads of a switch port, and what it does to it."""
from __future__ import annotations

from collections.abc import Set

from virtual_testbed.dataplane.model.configuration import SwitchPortConfig
from virtual_testbed.dataplane.model.counters import Sample
from virtual_testbed.dataplane.model.hooks import DROPPING, DROPPING_RECEIVED, NOT_OBEYED, NOT_SENT
from virtual_testbed.dataplane.model.port import SwitchPort
from virtual_testbed.dataplane.model.watchdog import DROP, FORWARD, FrameCounts


DONE = frozenset({DROPPING, DROPPING_RECEIVED, NOT_OBEYED, NOT_SENT})
"""All that `drop` does to a queue."""


class WatchedSwitchPort:
    """A switch port as the watchdog sees it."""

    def __init__(self, port: SwitchPort) -> None:
        self.port = port
        self._hit: dict[int, frozenset[int]] = {}
        self._left: dict[int, frozenset[int]] = {}

    @property
    def config(self) -> SwitchPortConfig:
        """The port's configuration."""
        return self.port.config

    def sample(self, number: int, now_ps: int) -> Sample:
        """Read a queue for a poll of the watchdog."""
        receiver = self.port.receiver
        queue = self.port.queues[number]
        packets = sum(path.tx for path in self.port.leaving if path.queue is queue)
        sample = Sample(now_ps, self.port.pfc_counts[number], receiver.on2off[number], receiver.is_paused(number),
                        packets, queue.reserved + queue.shared, receiver.duration_ps(number, now_ps))
        return self.port.ask(number, sample, lambda fault, seen: fault.watchdog_sees(number, seen))

    def sample_in_storm(self, number: int, first: Sample, others: bool, now_ps: int) -> Sample:
        """The same of a queue in storm: what was read first, and whether every other watched queue is in storm."""
        return self.port.ask(number, self.sample(number, now_ps),
                             lambda fault, seen: fault.watchdog_sees_in_storm(number, first, others, seen))

    def detection_ms(self, number: int, configured_ms: int) -> int:
        """How long a storm of a queue has to last."""
        return self.port.ask(number, configured_ms, lambda fault, ms: fault.watchdog_detection_ms(number, ms))

    def detects(self, number: int, storms: int, elsewhere: frozenset[str]) -> bool:
        """Whether a storm of a queue is detected after so many others, while these other ports have one."""
        does = self.port.ask(number, True, lambda fault, found: fault.watchdog_detects(number, storms, found))
        return self.port.ask(number, does, lambda fault, found: fault.watchdog_detects_beside(number, elsewhere, found))

    def restoration_ms(self, number: int, configured_ms: int) -> int:
        """How long a storm of a queue has to be over."""
        return self.port.ask(number, configured_ms, lambda fault, ms: fault.watchdog_restoration_ms(number, ms))

    def restores(self, number: int) -> bool:
        """Whether a queue works again after its storm."""
        return self.port.ask(number, True, lambda fault, does: fault.watchdog_restores(number, does))

    def frames_through(self, number: int) -> FrameCounts:
        """Frames (sent, dropped) of a queue and (accepted, dropped) of its priority group so far."""
        port = self.port
        queue = port.queues[number]
        group = port.pgs[port.config.tc_to_pg[number]]
        out = [path for path in port.leaving if path.queue is queue]
        into = [path for path in (*port.paths, *port.past) if path.pg is group]
        return (sum(path.tx for path in out), sum(path.tx_side_drops for path in out),
                sum(path.rx - path.rx_side_drops for path in into),
                sum(path.pg_drops + path.watchdog_rx_drops for path in into))

    def act_on_storm(self, number: int, action: str, now_ps: int) -> None:
        """Do what the watchdog's `drop` or `forward` does to a queue and its priority (`alert`: nothing)."""
        done = self.port.ask(number, action, lambda fault, found: fault.watchdog_action(number, found))
        self._hit[number] = self.port.ask(number, frozenset({number}), lambda fault, found: fault.watchdog_queues(
            number, found))
        for queue in sorted(self._hit[number]):
            if done in (DROP, FORWARD):
                self.port.not_obeyed.add(queue)
                self.port.not_sent.add(queue)
            if done == DROP:
                self._drop(queue)
            if self._flushes(number, done):
                self.port.flush(self.port.queues[queue], now_ps)
        self.port.apply_priorities(now_ps)

    def _flushes(self, number: int, action: str) -> bool:
        """Whether what is done to a queue in storm discards what it holds."""
        does = action == DROP and self.port.switch.config.asic_type == "broadcom"
        return self.port.ask(number, does, lambda fault, found: fault.watchdog_flushes(number, action, found))

    def undo_action(self, number: int, now_ps: int) -> None:
        """Undo what the watchdog has done to a queue and its priority."""
        parts = self.port.ask(number, DONE, lambda fault, found: fault.watchdog_undoes(number, found))
        hit = self._hit.pop(number, frozenset())
        self._undo(hit, parts, now_ps)
        self._left.pop(number, None)
        if not parts >= DONE:
            self._left[number] = hit

    def undo_rest(self, number: int, now_ps: int) -> None:
        """Undo what a storm's end has left of what was done."""
        if number in self._left:
            self._undo(self._left.pop(number), DONE, now_ps)

    def _undo(self, hit: frozenset[int], parts: Set[str], now_ps: int) -> None:
        for queue in sorted(hit.difference(*self._hit.values())):
            if NOT_OBEYED in parts:
                self.port.not_obeyed.discard(queue)
            if NOT_SENT in parts:
                self.port.not_sent.discard(queue)
            if DROPPING in parts:
                self.port.queues[queue].dropping = False
            if DROPPING_RECEIVED in parts:
                self.port.pgs[self.port.config.tc_to_pg[queue]].dropping = False
        self.port.apply_priorities(now_ps)

    def _drop(self, number: int) -> None:
        """Drop what would leave by the queue, and what comes in with its traffic class if that has a group of its
        own.
        """
        port = self.port
        port.queues[number].dropping = True
        group = port.config.tc_to_pg[number]
        both = port.ask(number, True, lambda fault, drops: fault.watchdog_drops_received(number, drops))
        if both and list(port.config.tc_to_pg.values()).count(group) == 1:
            port.pgs[group].dropping = True
