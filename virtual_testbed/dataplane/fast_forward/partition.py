"""Advancing components apart where the whole can only be stepped: those that are steady are left behind and computed
when the others have arrived.

Components meet in shared pools only. So for a session it is proven first that no threshold test of a steady component
can turn out differently whatever the others do within a budget of each pool. The others are stepped, each on its own,
for as long as they stay within that budget and no test of theirs depends on what anybody else holds; where one
might, all are brought to that instant and stepped together.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from virtual_testbed.dataplane.fast_forward import skip
from virtual_testbed.dataplane.fast_forward.components import Component
from virtual_testbed.dataplane.fast_forward.ledger import Ledger
from virtual_testbed.dataplane.fast_forward.skip import Skip, Spent
from virtual_testbed.dataplane.model.buffer import BufferPool
from virtual_testbed.dataplane.model.events import NEVER, EventLoop

SHORTEST_PS = 10_000_000
"""A shorter stretch is not worth the proof."""
SHORTER = (0, 4, 8)
"""If what is wanted cannot be proven, try it for a stretch that is shorter by two to the power of these."""
LONGER = 4
"""A stretch is first tried so much longer than the one before: most are alike."""
FIRST_STRETCH_PS = 1_000_000_000
"""The first stretch of a session is no longer: the events that it costs tell how long the next one may be."""
BUDGETS = range(1, 5)
"""The budget is the free bytes of a pool divided by two to the power of one of these, the largest that fits."""
FIRST_TURN = 1 << 14
LONGEST_TURN = 1 << 20
"""Instants that a session may step; doubled whenever one has used them up."""
SESSIONS_JUDGED = 16
"""What sessions cost is known of so many of them at most."""
TURN_OF_ALL = 8
"""Then all are stepped together for that fraction of them: they may recur, in one jump instead of one each stretch.
Where all have to be stepped, that turn comes first."""


@dataclass(frozen=True)
class Terms:
    """What has been proven before components are advanced apart.

    Attributes:
        steady, others: the components that wait, and those that go on.
        end_ps: the last instant that it is proven for.
        rises: most bytes of each shared pool that the steady ones use by then beyond what they use now.
        most: bytes of each shared pool that may be in use by then, budget of the others included.
    """

    steady: Sequence[Component]
    others: Sequence[Component]
    end_ps: int
    rises: Mapping[BufferPool, int]
    most: Mapping[BufferPool, int]


class PartitionedRun:
    """A stretch of time in which steady components wait while the others are advanced."""

    def __init__(self, loop: EventLoop, ledger: Ledger, terms: Terms, turn: int, last_work: int) -> None:
        self.last_instant = loop.instants + turn
        self.last_work = last_work
        self.loop = loop
        self.steady = terms.steady
        self.others = terms.others
        self.end_ps = terms.end_ps
        self._ledger = ledger
        self._rises = terms.rises
        self._most = terms.most
        self._longest_tried_ps = FIRST_STRETCH_PS
        self._has_begun = False
        shut = [period_ps for component in self.others for port in component.ports for queue in range(8)
                for period_ps in (port.leak_period_ps(queue), port.aging_ps(queue))]
        self._longest_ps = min([NEVER, *(period_ps - 1 for period_ps in shut if period_ps)])

    def run(self) -> int:
        """Bring everything to one instant, as late as possible, and return it."""
        begin_ps = self.loop.now_ps
        now_ps = begin_ps
        until_ps = self._next(now_ps)
        if until_ps is None:
            return begin_ps
        for component in self.others:
            self._begin(component)
        self._has_begun = True
        while until_ps is not None:
            self._step(now_ps, until_ps)
            now_ps = until_ps
            self.end_ps = min(self.end_ps, self.loop.next_timer_ps - 1)  # a leak may have begun
            goes_on = (now_ps < self.end_ps and self.loop.instants < self.last_instant
                       and self.loop.work <= self.last_work)
            until_ps = self._next(now_ps) if goes_on else None
        for component in self.steady:
            self._begin(component)
            self.loop.run_apart(component.strand, now_ps)
        for component in (*self.steady, *self.others):
            with self.loop.apart(component.strand):
                component.skip.settle()
        self.loop.move_to(now_ps)
        return now_ps

    def _step(self, now_ps: int, until_ps: int) -> None:
        """Advance the others from now on. The next stretch is to cost no more events than are left by then."""
        before = self.loop.work
        for component in self.others:
            self.loop.run_apart(component.strand, until_ps)
        stepped = self.loop.work - before
        left = self.last_work - self.loop.work
        if stepped:
            affordable_ps = max(SHORTEST_PS, (until_ps - now_ps) * left // stepped)
            self._longest_tried_ps = min(self._longest_tried_ps, affordable_ps)

    def _begin(self, component: Component) -> None:
        component.strand.begin(self.loop.now_ps, skip.FIRST_CHECK)
        with self.loop.apart(component.strand):
            component.skip.recurrence.reset()
            component.skip.schedule()

    def _next(self, now_ps: int) -> int | None:
        """How far the others can be advanced from now; None: not far enough to be worth it."""
        span_ps = min(self.end_ps - now_ps, self._longest_ps, self._longest_tried_ps)
        shortest_ps = min(SHORTEST_PS, span_ps)
        while span_ps >= shortest_ps:
            if self._allows(now_ps, now_ps + span_ps):
                self._longest_tried_ps = span_ps * LONGER
                return now_ps + span_ps
            span_ps //= 2
        return None

    def _allows(self, now_ps: int, until_ps: int) -> bool:
        """Whether the others stay within the budget up to then, and no decision of theirs depends on anybody else.

        Sets the pools' ceilings for that stretch: what is proven while it is stepped allows for them too.
        """
        busy = [component for component in self.others if not (self._has_begun and component.is_quiet(until_ps))]
        found = [component.rises(self._most, now_ps, until_ps) for component in busy]
        ceilings = {pool: pool.used + self._rises[pool] + sum(rises[pool] for rises in found) for pool in self._most}
        if any(ceilings[pool] > most for pool, most in self._most.items()):
            return False
        self._ledger.set_ceilings(ceilings)
        return all(component.is_free(self._most, now_ps, until_ps) for component in busy)


class Partition:
    """See the module.

    Args:
        ledger: told of each reason why components were not advanced apart.

    Attributes:
        components: those that there are; `sessions` in which they were advanced apart, `apart_ps` in all.
    """

    def __init__(self, loop: EventLoop, ledger: Ledger) -> None:
        self.loop = loop
        self._ledger = ledger
        self.components: list[Component] = []
        self.sessions = 0
        self.apart_ps = 0
        self._marks: dict[Component, object] = {}
        self._turn = FIRST_TURN
        self._turn_of_all_ends = 0
        self._judged_from: tuple[int, int] | None = None

    def watch(self, components: list[Component]) -> None:
        """Take the components that there are."""
        self.components = components
        self._marks.clear()

    def reset(self) -> None:
        """Something from outside has changed."""
        self._marks.clear()
        self._turn = FIRST_TURN
        self._turn_of_all_ends = 0
        self._judged_from = None
        for component in self.components:
            component.skip.reset()

    def is_turn_of_all(self) -> bool:
        """Whether it is the turn of all together."""
        return self.loop.instants < self._turn_of_all_ends

    def cost(self) -> Spent:
        """Since one of the last `SESSIONS_JUDGED` sessions began; nothing where there was none since the last change.
        What is stepped between two sessions counts."""
        if self._judged_from is None:
            return Spent(0, 0)
        cost, time_ps = self._judged_from
        return Spent(self.loop.cost - cost, self.loop.now_ps - time_ps)

    def advance(self, whole: Skip, last_ps: int) -> bool:
        """Advance everything towards `last_ps`, as far as the components can be advanced apart; False: not at all.

        Args:
            whole: how all are advanced together.
        """
        begin_ps = self.loop.now_ps
        if len(self.components) < 2 or last_ps - begin_ps < SHORTEST_PS or self.is_turn_of_all():
            return False
        try:
            terms = self._agree(last_ps)
            end_ps = self._run(terms, whole.last_work) if terms is not None else begin_ps
        finally:
            self._ledger.set_ceilings({})
        if end_ps is None:
            return False
        if terms is None or end_ps == begin_ps:
            self._ledger.count("components that share a pool are near a threshold")
            return False
        self.sessions += 1
        self.apart_ps += end_ps - begin_ps
        self._marks = {component: component.marks() for component in terms.steady}
        whole.forget_steady_state()
        whole.schedule()
        whole.recurrence.reset()
        return True

    def _run(self, terms: Terms, last_work: int) -> int | None:
        """Have a session, and return when it has ended; None: it is the turn of all together."""
        if not terms.steady and not self._turn_of_all_ends:
            self._turn_of_all_ends = self.loop.instants + self._turn // TURN_OF_ALL
            return None
        if self._judged_from is None or self.sessions % SESSIONS_JUDGED == 0:
            self._judged_from = self.loop.cost, self.loop.now_ps
        session = PartitionedRun(self.loop, self._ledger, terms, self._turn, last_work)
        end_ps = session.run()
        if self.loop.instants >= session.last_instant:
            self._turn_of_all_ends = self.loop.instants + self._turn // TURN_OF_ALL
            self._turn = min(2 * self._turn, LONGEST_TURN)
        return end_ps

    def _agree(self, last_ps: int) -> Terms | None:
        """Terms with the largest budget that leaves every steady component as it is."""
        steady = [component for component in self.components if self._is_steady(component, last_ps)]
        others = [component for component in self.components if component not in steady]
        pools = _shared(self.components)
        now_ps = self.loop.now_ps
        for shorter in SHORTER:
            until_ps = now_ps + (last_ps - now_ps >> shorter)
            found = [component.rises(pools, now_ps, until_ps) for component in steady]
            rises = {pool: sum(more[pool] for more in found) for pool in pools}
            for shift in BUDGETS:
                most = {pool: _with_budget(pool, pool.used + rises[pool], shift) for pool in pools}
                self._ledger.set_ceilings(most)
                if all(component.fits(until_ps) for component in steady):
                    return Terms(steady, others, until_ps, rises, most)
        return None

    def _is_steady(self, component: Component, last_ps: int) -> bool:
        """A steady state holds there up to `last_ps`: a new one, or one found before if no threshold was reached since.
        """
        found = component.skip.steady_state
        if found is None or found.end_ps <= self.loop.now_ps or self._marks.get(component) != component.marks():
            component.skip.find_steady_state()
        return component.skip.may_skip_to(last_ps)


def _with_budget(pool: BufferPool, taken: int, shift: int) -> int:
    """Bytes of a pool that may be in use when so many are taken and the budget is the rest over a power of two."""
    return taken + (max(0, pool.size - taken) >> shift)


def _shared(components: Sequence[Component]) -> list[BufferPool]:
    """Pools that more than one component uses."""
    users = Counter(pool for component in components for pool in component.pools)
    return [pool for pool, number in users.items() if number > 1]
