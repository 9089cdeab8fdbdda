"""Whether the next stretch of time can be skipped for a set of ports, and how; else it is stepped, and the reason is
counted.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from virtual_testbed.dataplane.compiled import Compiled
from virtual_testbed.dataplane.fast_forward.ledger import Ledger
from virtual_testbed.dataplane.fast_forward.recurrence import Recurrence
from virtual_testbed.dataplane.fast_forward.steady_proof import LatencyUnknown, NotSteady, SteadyProof
from virtual_testbed.dataplane.fast_forward.steady_state import SteadyState
from virtual_testbed.dataplane.model.counters import STARTED
from virtual_testbed.dataplane.model.events import (COMPILED_EVENTS_PER_EVENT, NEVER, EventLoop, Exhausted,
                                                    Watcher)
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.port import SwitchPort

FIRST_CHECK = 256
"""Instants to step after a change before looking again whether the rest can be skipped; doubled at each failure."""
LONGEST_CHECK = 1 << 16
COMPILED_FROM = 1 << 12
"""After so much work since the last change compiled code goes on, if it is installed."""
FIRST_COMPILED = 1 << 18
MOST_COMPILED = 1 << 22
"""So many instants at a time, twice as many each time: what can be skipped is looked for in between. The most are less
than a second's work."""
MANY_REGENERATIONS = 16
"""Skips after which they may be compared with what compiled code would have cost."""
MOST_USELESS = 16
"""After so many steady states since the last change that ended before they could be used, compiled code no longer stops
where one could be: each stop carries the state of all ports out of the tables and back."""
MOST_FOR_ALTERNATIVE = 8
"""The alternative may cost so many times what stepping in compiled code would have. That is not free of other costs:
between its turns the state of all ports is looked through. Measured: 2 to 4 times where components get far apart, 15
times beside a full line of which a frame is dropped now and then, 60 to 110 times where they are together again each
few microseconds."""
EVENTS_PER_PROVEN_FLOW = 20
"""To look for a steady state costs so much for each flow. Measured: 16 to 22, with 14 and 68 flows."""
EVENTS_PER_FRAME = 4
"""It is sent, reaches the switch, leaves it, and reaches its end."""
MOST_FOR_LATENCY = 50_000
"""So much work may be done where the latency of flows is what keeps time from being skipped; then it is given up."""
LONGEST_WAIT_PS = 10_000_000_000
"""Where a steady state can be used only after longer than this, cycles are looked for too: one may be seen sooner."""


class Spent(NamedTuple):
    """What it has cost, in events that the loop steps, proofs included; and how much simulated time has passed for it.
    """

    events: int
    passed_ps: int


class Alternative(Protocol):
    """What a set of ports tries where its traffic is not steady."""

    def advance(self, whole: Skip, last_ps: int) -> bool:
        """Lead the traffic on towards the last instant of the span; False: not at all."""

    def reset(self) -> None:
        """Something from outside has changed: forget what was found."""

    def is_turn_of_all(self) -> bool:
        """Whether all ports are to be stepped together for a while, in case they recur."""

    def cost(self) -> Spent:
        """What it has cost lately, since one of its latest attempts began; nothing where there was none since the last
        change."""


class NoAlternative:
    """Nothing else is tried: frames are stepped."""

    def advance(self, whole: Skip, last_ps: int) -> bool:
        """Leads nowhere."""
        return False

    def reset(self) -> None:
        """Has nothing to forget."""

    def is_turn_of_all(self) -> bool:
        """Takes no turns."""
        return False

    def cost(self) -> Spent:
        """Does nothing."""
        return Spent(0, 0)


class Skip(Watcher):
    """See the module.

    Args:
        compiled: steps in compiled code, if that is installed.
        alternative: what to try where the traffic is not steady up to the end of the span.

    Attributes:
        sides, ports: those that are looked at: nothing else influences them.
        last_work: how much work may have been done when it looks; beyond, the run ends.
        steady_state: what holds now, if anything does.
        regenerations, skipped_ps: what was skipped, `recurrence` apart.
    """

    def __init__(self, loop: EventLoop, ledger: Ledger, compiled: Compiled,
                 alternative: Alternative = NoAlternative()) -> None:
        self.loop = loop
        self.recurrence = Recurrence(loop, ledger, self.schedule)
        self.last_work = NEVER
        self.steady_state: SteadyState | None = None
        self.sides: Sequence[GeneratorSide] = []
        self.ports: Sequence[SwitchPort] = []
        self.regenerations = 0
        self.skipped_ps = 0
        self._ledger = ledger
        self._compiled = compiled
        self._alternative = alternative
        self._refusal = ""
        self._is_short = False
        self._wait = FIRST_CHECK
        self._compiled_turn = FIRST_COMPILED
        self._compiled_refused = False
        self._alternative_given_up = False
        self._begin_work = 0
        self._begin_cost = 0
        self._begin_ps = 0
        self._begin_regenerations = 0
        self._useless = 0
        self._first_for_latency: int | None = None

    def watch(self, sides: Sequence[GeneratorSide], ports: Sequence[SwitchPort], refusal: str = "") -> None:
        """Take the ports that are looked at; `refusal` says why nothing may be skipped, if so."""
        self.sides = sides
        self.ports = ports
        self._refusal = refusal
        self.recurrence.watch(sides, ports)
        self._first_for_latency = None
        self.reset()

    def allow(self, last_work: int) -> None:
        """Let a run end when it looks and more work was done (`NEVER`: let it go on)."""
        self.last_work = last_work

    def flows_changed(self) -> None:
        """Forget what was found."""
        self.reset()

    def holds_changed(self) -> None:
        """Sample another flow, perhaps."""
        self.recurrence.choose_sample()

    def pause_decided(self, line: object, now_ps: int) -> None:
        """Note it."""
        self._ledger.note_decision(line, now_ps)

    def reset(self) -> None:
        """Something from outside has changed: what was found before says nothing about what comes."""
        self.forget_steady_state()
        self._wait = FIRST_CHECK
        self._compiled_turn = FIRST_COMPILED
        self._compiled_refused = False
        self._alternative_given_up = False
        self._begin_work = self.loop.work
        self._begin_cost = self.loop.cost
        self._begin_ps = self.loop.now_ps
        self._begin_regenerations = self.regenerations
        self._useless = 0
        self.loop.check_after(FIRST_CHECK)
        self.recurrence.want(False)
        self._alternative.reset()
        self.recurrence.reset()

    def settle(self) -> None:
        """The ends of all pauses must be known now."""
        self._look_back(self.loop.now_ps, True)

    def before_timers(self) -> None:
        """Timers change something from outside."""
        self._end_steady_state(self.loop.next_timer_ps - 1, True)
        self.reset()

    def before_change(self) -> None:
        """A poll is about to change something from outside."""
        self._end_steady_state(self.loop.now_ps, False)
        self.reset()

    def _end_steady_state(self, now_ps: int, whole: bool) -> None:
        self._look_back(now_ps, whole)
        self.steady_state = None

    def _look_back(self, now_ps: int, whole: bool) -> None:
        """Step a longer window up to now, if the last one was too short to know the end of every pause."""
        if self.steady_state is not None and self._is_short:
            self._is_short = False
            self._recompute(self.steady_state, now_ps - self.steady_state.long_window_ps, now_ps, whole)

    def before_span(self, last_ps: int) -> None:
        """Jump over it if that is known to be possible."""
        if self.steady_state is not None:
            self._try(last_ps)

    def at_sample(self, now_ps: int, last_ps: int) -> None:
        """Look whether the state is one that was seen before."""
        self.recurrence.at_sample(now_ps, last_ps)

    def at_check(self, last_ps: int) -> None:
        """Look for a steady state, and skip if there is one."""
        self.loop.check_after(self._wait)
        if self.loop.work > self.last_work:
            raise Exhausted
        if self.steady_state is not None and self.loop.now_ps <= self.steady_state.end_ps:
            self._try(last_ps)
            self._step_compiled(last_ps)
            return
        self._wait = min(2 * self._wait, LONGEST_CHECK)
        self.loop.check_after(self._wait)
        self.find_steady_state()
        self._judge_alternative()
        if self.may_skip_to(last_ps):
            self._try(last_ps)
        elif self._has_alternative() and self._alternative.advance(self, last_ps):
            self._wait = FIRST_CHECK
            self.loop.check_after(FIRST_CHECK)
        else:
            self._try(last_ps)
            self._step_compiled(last_ps)

    def _step_compiled(self, last_ps: int) -> None:
        """Step on in compiled code: up to where a steady state can be used, unless that does not pay, or many have
        ended before; not in the turn of all, in which they may be seen recurring."""
        state = self.steady_state
        now_ps = self.loop.now_ps
        if self.loop.work - self._begin_work < COMPILED_FROM:
            return
        if self._alternative.is_turn_of_all() and self._has_alternative():
            return
        if state is not None and not self._is_tapped and self._skips_pay(state, last_ps):
            usable_ps = min(last_ps, state.valid_ps + state.long_window_ps + state.window_ps)
            is_usable = state.end_ps >= usable_ps
            self._useless += not is_usable
            if is_usable or self._useless <= MOST_USELESS:
                last_ps = usable_ps
        stepper = self._compiled.stepper() if now_ps < last_ps else None
        if stepper is None:
            return
        if state is not None and last_ps > state.end_ps:
            self._end_steady_state(now_ps, True)
        self._compiled_refused = not stepper.step(self.sides, self.ports, last_ps, self._compiled_turn)
        if not self._compiled_refused:
            self._compiled_turn = min(2 * self._compiled_turn, MOST_COMPILED)
            self.recurrence.reset()
            self.schedule()
            self.loop.check_after(FIRST_CHECK)

    def _skips_pay(self, state: SteadyState, last_ps: int) -> bool:
        """Whether skips have cost less since the last change than compiled code would have; also where it is too early
        to say."""
        if self.regenerations - self._begin_regenerations < MANY_REGENERATIONS or state.end_ps >= last_ps:
            return True
        return self.loop.cost - self._begin_cost < self._compiled_work(self.loop.now_ps - self._begin_ps)

    def _judge_alternative(self) -> None:
        """Give the alternative up, until the next change, once it has cost far more than compiled code would have."""
        cost = self._alternative.cost()
        if cost.events > COMPILED_FROM and cost.events > MOST_FOR_ALTERNATIVE * self._compiled_work(cost.passed_ps):
            self._alternative_given_up = True

    def _has_alternative(self) -> bool:
        """Whether the alternative may be tried: unless it is given up for compiled code that can go on instead."""
        return not self._alternative_given_up or self._compiled_refused or self._compiled.stepper() is None

    def _compiled_work(self, passed_ps: int) -> int:
        """How much work it is to step everything for that time in compiled code, whatever is held just now."""
        events = sum(passed_ps * EVENTS_PER_FRAME // step_ps for step_ps in self._steps_ps())
        return events // COMPILED_EVENTS_PER_EVENT

    def _steps_ps(self) -> Iterator[int]:
        """The time between two frames of each flow that sends."""
        for side in self.sides:
            yield from (flow.step for flow in side.flows if flow.state == STARTED)
            yield from (storm.train.schedule.step for storm in side.storms if storm.train.is_running)

    def may_skip_to(self, last_ps: int) -> bool:
        """Whether a steady state holds up to then and may be used."""
        return self.steady_state is not None and self.steady_state.end_ps >= last_ps and not self._is_tapped

    @property
    def _is_tapped(self) -> bool:
        """Whether a capture is open, which must see every frame."""
        return any(port.capture_room for port in self.ports)

    def find_steady_state(self) -> None:
        """Look for a steady state that holds from now on; if there is none, cycles are looked for."""
        self.steady_state = None
        self.recurrence.want(False)
        if self._refusal:
            self._ledger.count(self._refusal)
            return
        now_ps = self.loop.now_ps
        try:
            proof = self._proof()
        except NotSteady as reason:
            self._ledger.count(str(reason))
            self.recurrence.want(not self._is_tapped)
            return
        self.steady_state = SteadyState(proof, now_ps)
        waits_ps = self.steady_state.valid_ps + self.steady_state.window_ps - now_ps
        self.recurrence.want(waits_ps > LONGEST_WAIT_PS and not self._is_tapped)

    def _proof(self) -> SteadyProof:
        """That a steady state holds from now on; latencies that have cost too much already are given up for it."""
        self.loop.count_proof(EVENTS_PER_PROVEN_FLOW * sum(len(side.flows) for side in self.sides))
        try:
            return SteadyProof(self.sides, self.ports, self._ledger, self.loop.now_ps, self.loop.next_change_ps)
        except LatencyUnknown:
            if not self._notes_that_latency_costs_too_much():
                raise
            self._give_up_latency()
            return SteadyProof(self.sides, self.ports, self._ledger, self.loop.now_ps, self.loop.next_change_ps)

    def _notes_that_latency_costs_too_much(self) -> bool:
        """Whether too much has been stepped since the first time that this was asked: latency is what keeps time from
        being skipped."""
        if self._first_for_latency is None:
            self._first_for_latency = self.loop.work
        return self.loop.work - self._first_for_latency > MOST_FOR_LATENCY

    def _give_up_latency(self) -> None:
        """What is measured of these ports' flows is not known any more."""
        self._ledger.count("latency given up")
        self._first_for_latency = None
        for flow in (flow for side in self.sides for flow in side.flows if flow.is_measured):
            flow.give_up_latency()

    def forget_steady_state(self) -> None:
        """It has been left."""
        self.steady_state = None
        self._is_short = False

    def _try(self, last_ps: int) -> None:
        """Jump as far as the steady state allows, if that is worth it; where it ends, ends of pauses must be known."""
        state = self.steady_state
        now_ps = self.loop.now_ps
        if state is None:
            return
        it_ends = last_ps > state.end_ps
        end_ps = min(last_ps, state.end_ps)
        begin_ps = end_ps - (state.long_window_ps if it_ends else state.window_ps)
        is_usable = end_ps - state.long_window_ps >= state.valid_ps and begin_ps - now_ps >= state.window_ps
        if is_usable and not state.is_settled(now_ps) and self._notes_that_latency_costs_too_much():
            self._give_up_latency()
        if is_usable and state.is_settled(now_ps):
            if self._is_tapped:
                self._ledger.count("a capture is open")
                return
            self.skipped_ps += begin_ps - now_ps
            self.regenerations += 1
            self._is_short = not it_ends
            self._wait = FIRST_CHECK  # what comes after it may be as short as the steady state was
            self._recompute(state, begin_ps, end_ps, True)
        elif it_ends:
            self._look_back(now_ps, True)

    def _recompute(self, steady_state: SteadyState, begin_ps: int, now_ps: int, whole: bool) -> None:
        """Step a window up to now; `whole`: all of that instant, not only what a poll at it sees."""
        peaks = steady_state.peaks()
        steady_state.place(begin_ps, self.loop.now_ps)
        self.loop.move_to(begin_ps - 1)
        self.schedule()
        self.recurrence.reset()
        self.loop.rerun(now_ps, whole)
        self.loop.check_after(self._wait)
        steady_state.restore_peaks(peaks, now_ps)

    def schedule(self) -> None:
        """Set all events of traffic anew from the state of the ports."""
        self.loop.forget_traffic()
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
            for train in port.sender.all_trains:
                train.expect()
