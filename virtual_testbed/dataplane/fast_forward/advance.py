"""How the data plane gets on: all ports together if that can be skipped, else components apart, else step by step."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from virtual_testbed.dataplane.compiled import Compiled
from virtual_testbed.dataplane.fast_forward.components import Component, components
from virtual_testbed.dataplane.fast_forward.ledger import Ledger
from virtual_testbed.dataplane.fast_forward.partition import Partition
from virtual_testbed.dataplane.fast_forward.skip import Skip
from virtual_testbed.dataplane.model.counters import Statistics
from virtual_testbed.dataplane.model.events import NEVER, EventLoop, Exhausted
from virtual_testbed.dataplane.model.flow import Lane
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.port import Path, SwitchPort, fold
from virtual_testbed.dataplane.model.switch import Switch

MOST_EVENTS = 8_000_000
"""Work that is done in one go, in events that the loop steps: half a minute of computing or more. Of traffic that can
only be stepped nobody waits for more."""


class Advance:
    """See the module.

    Args:
        sides: generator ports by location; `switches` by name.

    Attributes:
        ledger: what is known beside the state of the ports.
    """

    def __init__(self, loop: EventLoop, sides: Mapping[str, GeneratorSide], switches: Mapping[str, Switch]) -> None:
        self.loop = loop
        self.ledger = Ledger()
        self.partition = Partition(loop, self.ledger)
        self._compiled = Compiled(loop, self.ledger.count)
        self.whole = Skip(loop, self.ledger, self._compiled, self.partition)
        self._sides = sides
        self._switches = switches
        loop.attach(self.whole)

    def run(self, until_ps: int) -> str:
        """Compute up to then, or until more than `MOST_EVENTS` were stepped.

        Returns:
            Why it had to end before, if it had to.
        """
        begin_ps = self.loop.now_ps
        before = self.ledger.reasons.copy()
        first = self.loop.events
        self.whole.allow(self.loop.work + MOST_EVENTS)
        try:
            self.loop.run(until_ps)
        except Exhausted:
            new = {reason: number - before[reason] for reason, number in self.ledger.reasons.items()}
            why = max((reason for reason in new if new[reason] > 0), key=new.__getitem__, default="")
            return (f"computing {_seconds(begin_ps)} to {_seconds(until_ps)} of simulated time takes too long: frames "
                    f"can only be looked at one by one{f' ({why})' if why else ''}, and after "
                    f"{self.loop.events - first} events {_seconds(self.loop.now_ps)} is reached, where time stands now")
        finally:
            self.whole.allow(NEVER)
        return ""

    def rebuild(self) -> None:
        """Cables, ports or flows have changed."""
        paths = set(_onward(self._starts()))
        fold([port for switch in self._switches.values() for port in switch.ports.values()], paths)
        used = {port for path in paths for port in (path.in_port, path.out)} | set(self._sending())
        used |= {other for port in used if port is not None for other in port.ties.bound}
        ports = [port for switch in self._switches.values() for port in switch.ports.values()
                 if port.peer is not None and (port in used or not port.is_quiet)]
        sides = [side for side in self._sides.values() if side.switch_port in ports]
        is_unplugged = any(side.switch_port is None and side.flows for side in self._sides.values())
        found = [] if is_unplugged else components(sides, ports, paths)
        self.partition.watch([Component(*parts, self.loop, self.ledger, self._compiled) for parts in found]
                             if len(found) > 1 else [])
        self.whole.watch(sides, ports, "a generator port with flows has no switch" if is_unplugged else "")

    def _starts(self) -> Iterator[Path]:
        """First paths that frames take, those of flows and those still under way."""
        for side in self._sides.values():
            yield from (path for flow in side.flows for path in flow.paths)
            yield from (frame.path for _, frame in side.line.flight if isinstance(frame, Lane) and frame.path)
        for switch in self._switches.values():
            yield from (path for path in switch.paths if path.inside)
            yield from (frame.onward for port in switch.ports.values() for _, frame in port.line.flight
                        if isinstance(frame, Path) and frame.onward)

    def _sending(self) -> Iterator[SwitchPort | None]:
        """Switch ports whose generator port has something to send."""
        for side in self._sides.values():
            if side.flows or side.storms or side.is_busy:
                yield side.switch_port

    def reset(self) -> None:
        """Something from outside has changed: what was found before says nothing about what comes."""
        self.whole.reset()

    def before_change(self) -> None:
        """Something is about to change: the ends of all pauses must be known."""
        self.whole.settle()
        self.reset()

    def statistics(self) -> Statistics:
        """How the result was computed so far."""
        skip = self.whole
        recurrence = self.whole.recurrence
        partition = self.partition
        compiled = self._compiled
        return Statistics(self.loop.instants, skip.regenerations, recurrence.jumps + compiled.leaps,
                          recurrence.cycles + compiled.cycles,
                          skip.skipped_ps + recurrence.skipped_ps + compiled.skipped_ps, partition.sessions,
                          partition.apart_ps, dict(self.ledger.reasons), self.loop.compiled_events)


def _seconds(time_ps: int) -> str:
    return f"{time_ps / 1e12:.6f} s"


def _onward(starts: Iterable[Path]) -> Iterator[Path]:
    """Paths and those after them."""
    for start in starts:
        path: Path | None = start
        while path is not None:
            yield path
            path = path.onward
