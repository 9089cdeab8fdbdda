"""Whether the next stretch of time can be skipped, and how; else it is stepped, and the reason is counted."""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from virtual_testbed.dataplane.counters import Statistics
from virtual_testbed.dataplane.events import NEVER, EventLoop
from virtual_testbed.dataplane.flow import Lane
from virtual_testbed.dataplane.generator import GeneratorSide
from virtual_testbed.dataplane.port import Path, SwitchPort
from virtual_testbed.dataplane.recurrence import Recurrence
from virtual_testbed.dataplane.regime import Regime
from virtual_testbed.dataplane.survey import NotRegular, Survey
from virtual_testbed.dataplane.switch import Switch

FIRST_CHECK = 256
"""Instants to step after a change before looking again whether the rest can be skipped; doubled at each failure."""
LONGEST_CHECK = 1 << 16


class Skip:
    """See the module.

    Args:
        sides: generator ports by location; `switches` by name.
    """

    def __init__(self, loop: EventLoop, sides: Mapping[str, GeneratorSide], switches: Mapping[str, Switch]) -> None:
        self.loop, self._all_sides, self._switches = loop, sides, switches
        self.sides: list[GeneratorSide] = []
        self.ports: list[SwitchPort] = []
        self.recurrence = Recurrence(loop, self._reason, self._schedule)
        self.regenerations = self.skipped_ps = 0
        self.reasons: dict[str, int] = {}
        self._regime: Regime | None = None
        self._is_short = self._is_unplugged = False
        self._wait = FIRST_CHECK
        loop.before_span, loop.at_check = self._before_span, self._at_check
        loop.before_timers = self._before_timers
        loop.before_change = self._before_poll_acts
        loop.at_section = self.recurrence.at_section

    def rebuild(self) -> None:
        """Cables, ports or flows have changed."""
        used = set(self._used_ports())
        self.ports = [port for switch in self._switches.values() for port in switch.ports.values()
                      if port.peer is not None and (port in used or not port.is_quiet)]
        self.sides = [side for side in self._all_sides.values() if side.switch_port in self.ports]
        self._is_unplugged = any(side.switch_port is None and side.flows for side in self._all_sides.values())
        self.recurrence.watch(self.sides, self.ports)
        for side in self.sides:
            side.flows_changed = self.reset
            side.holds_changed = self.recurrence.choose_section
        self.reset()

    def _used_ports(self) -> Iterator[SwitchPort | None]:
        """Switch ports that frames pass, those of flows and those still under way; the rest need not be looked at."""
        starts: list[Path | None] = []
        for side in self._all_sides.values():
            if side.flows or side.storms or side.is_busy:
                yield side.switch_port
            starts += [path for flow in side.flows for path in flow.paths]
            starts += [frame.path for _, frame in side.line.flight if isinstance(frame, Lane)]
        for switch in self._switches.values():
            starts += [path for path in switch.paths if path.inside]
            starts += [frame.onward for port in switch.ports.values() for _, frame in port.line.flight
                       if isinstance(frame, Path)]
        for path in starts:
            while path is not None:
                yield path.in_port
                yield path.out
                path = path.onward

    def reset(self) -> None:
        """Something from outside has changed: what was found before says nothing about what comes."""
        self._regime, self._is_short = None, False
        self._wait = self.loop.check_in = FIRST_CHECK
        self.recurrence.is_wanted = False
        self.recurrence.reset()

    def before_change(self) -> None:
        """Something is about to change: the ends of all pauses must be known."""
        self._look_back(self.loop.now_ps, True)
        self.reset()

    def _before_timers(self) -> None:
        self._look_back(self.loop.next_timer_ps - 1, True)
        self.reset()

    def _before_poll_acts(self) -> None:
        self._look_back(self.loop.now_ps, False)
        self.reset()

    def _look_back(self, now_ps: int, whole: bool) -> None:
        """Step a longer window up to now, if the last one was too short to know the end of every pause."""
        regime, self._regime = self._regime, None
        if regime is not None and self._is_short:
            self._is_short = False
            self._recompute(regime, now_ps - regime.long_window_ps, now_ps, whole)

    def _before_span(self, last_ps: int) -> None:
        if self._regime is not None:
            self._try(last_ps)

    def _at_check(self, last_ps: int) -> None:
        self.loop.check_in = self._wait
        if self._is_unplugged:
            self._reason("a generator port with flows has no switch")
            return
        if any(port.tap is not None for port in self.ports):
            self._reason("a capture is open")
            return
        if self._regime is None or self.loop.now_ps > self._regime.end_ps:
            self._regime = None
            self._wait = min(2 * self._wait, LONGEST_CHECK)
            self.loop.check_in = self._wait
            try:
                survey = Survey(self.sides, self.ports, self.loop.now_ps, self.loop.next_change_ps)
                self._regime = Regime(survey, self.loop.now_ps)
            except NotRegular as reason:
                self._reason(str(reason))
                self.recurrence.is_wanted = True
                return
            self.recurrence.is_wanted = False
        self._try(last_ps)

    def _try(self, last_ps: int) -> None:
        """Jump as far as the regime allows, if that is worth it; where it ends, the ends of pauses must be known."""
        regime, now_ps = self._regime, self.loop.now_ps
        if regime is None:
            return
        it_ends = last_ps > regime.end_ps
        end_ps = min(last_ps, regime.end_ps)
        begin_ps = end_ps - (regime.long_window_ps if it_ends else regime.window_ps)
        if end_ps - regime.long_window_ps >= regime.valid_ps and begin_ps - now_ps >= regime.window_ps:
            self.skipped_ps += begin_ps - now_ps
            self.regenerations += 1
            self._is_short = not it_ends
            self._recompute(regime, begin_ps, end_ps, True)
        elif it_ends and self._is_short:
            self._look_back(now_ps, True)

    def _recompute(self, regime: Regime, begin_ps: int, now_ps: int, whole: bool) -> None:
        """Step a window up to now; `whole`: all of that instant, not only what a poll at it sees."""
        loop = self.loop
        peaks = regime.peaks()
        regime.place(begin_ps)
        loop.now_ps = begin_ps - 1
        loop.awake.clear()
        self._schedule()
        self.recurrence.reset()
        loop.check_in = NEVER
        loop.rerun(now_ps, whole)
        loop.check_in, loop.section = self._wait, False
        regime.restore_peaks(peaks, now_ps)

    def _schedule(self) -> None:
        """Set all events of traffic anew from the state of the ports."""
        self.loop.heap.clear()
        for side in self.sides:
            side.schedule()
            side.line.schedule()
            side.receiver.schedule()
            for storm in side.storms:
                storm.train.expect()
        for port in self.ports:
            port.schedule()
            port.line.schedule()
            port.receiver.schedule()
            for train in port.sender.trains:
                train.expect()

    def _reason(self, reason: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def statistics(self) -> Statistics:
        """How the result was computed so far."""
        found = self.recurrence
        return Statistics(self.loop.instants, self.regenerations, found.jumps, found.cycles,
                          self.skipped_ps + found.skipped_ps, dict(self.reasons))
