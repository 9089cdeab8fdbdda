"""Entries that are drawn at random: a fault, or two of one port, with options, priority and moment. Entry number N of a
seed is always the same, however many are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from scripts.campaign.entries import GENERATED, CampaignEntry, Declaration
from scripts.campaign.kinds import KINDS, FaultKind, Knob, Options, does_something

LIMITED = 0.4
"""How often a fault that may be is limited to a priority."""
TIMED = 0.15
"""How often a fault that may begin at any moment begins at one of the first `LATEST_S` seconds."""
LATEST_S = 100
PAIRED = 0.1
"""How often a second fault of the same port joins it."""


@dataclass(frozen=True)
class DrawnFault:
    """A fault with what was drawn for it.

    Attributes:
        kind: what fault.
        knobs: the options that it has.
        options: their values, and `priority` and `from` where they were drawn.
    """

    kind: FaultKind
    knobs: tuple[Knob, ...]
    options: Options

    @property
    def specification(self) -> str:
        """With the role of its port."""
        return ",".join([f"{self.kind.name}@{{{self.kind.role}}}",
                         *(f"{name}={value}" for name, value in self.options.items())])

    @property
    def declaration(self) -> Declaration:
        """What must be said of it."""
        return self.kind.declaration(self.options)

    def simpler(self) -> Iterator[DrawnFault]:
        """The same with one thing less that was drawn: no moment, no priority, a plain value."""
        for name in sorted({"from", "priority"} - {knob.name for knob in self.knobs}):  # some need their priority
            if name in self.options:
                yield replace(self, options={key: value for key, value in self.options.items() if key != name})
        for knob in self.knobs:
            for value in _towards(knob, self.options[knob.name]):
                yield replace(self, options={**self.options, knob.name: value})


def _towards(knob: Knob, value: str) -> list[str]:
    """Values between one that was drawn and the plain one, the plainest first; none, where it is plain."""
    if value == knob.plain:
        return []
    if knob.words:
        return [knob.plain]
    between = round((int(value) * int(knob.plain)) ** 0.5)
    return list(dict.fromkeys(map(str, (int(knob.plain), between)))) if str(between) != value else [knob.plain]


def drawn(seed: str, number: int) -> tuple[DrawnFault, ...]:
    """The faults of entry `number` of a seed."""
    random = Random(f"{seed} {number}")
    first = _draw(random, KINDS)
    like = [kind for kind in KINDS if kind.name != first.kind.name and kind.role == first.kind.role]
    if random.random() >= PAIRED or not like:
        return (first,)
    second = _draw(random, like)
    return (first, second) if second.declaration.at == first.declaration.at else (first,)


def _draw(random: Random, kinds: tuple[FaultKind, ...] | list[FaultKind]) -> DrawnFault:
    """One that does something."""
    while True:
        kind = random.choice(kinds)
        knobs = random.choice(kind.forms)
        options = {knob.name: knob.draw(random) for knob in knobs}
        if kind.priorities and random.random() < LIMITED:
            options["priority"] = random.choice(kind.priorities)
        if kind.is_any_time and random.random() < TIMED:
            options["from"] = f"{random.randint(1, LATEST_S)}s"
        if does_something(kind, options):
            return DrawnFault(kind, knobs, options)


def entry_of_faults(name: str, faults: tuple[DrawnFault, ...]) -> CampaignEntry:
    """The entry of faults that were drawn; of two either may be named."""
    declared = faults[0].declaration
    for other in faults[1:]:
        also = other.declaration
        both = bool(declared.priorities) and bool(also.priorities)
        metrics = tuple(dict.fromkeys((*declared.metrics, *also.metrics)))
        declared = Declaration(
            declared.at, declared.priorities | also.priorities, metrics,
            f"{declared.says}|{also.says}", tuple(dict.fromkeys((*declared.verdicts, *also.verdicts))),
            may_be_port=declared.may_be_port or also.may_be_port or not both,
        )
    return CampaignEntry(GENERATED, name, tuple(fault.specification for fault in faults), declared)


def generate(seed: str, count: int) -> list[CampaignEntry]:
    """The first entries of a seed."""
    return [entry_of_faults(f"{number:04}", drawn(seed, number)) for number in range(1, count + 1)]


def simpler(faults: tuple[DrawnFault, ...]) -> Iterator[tuple[DrawnFault, ...]]:
    """Simpler ones, each with one thing less; one fault of two first."""
    if len(faults) > 1:
        yield from ((fault,) for fault in faults)
    for place, fault in enumerate(faults):
        for other in fault.simpler():
            yield (*faults[:place], other, *faults[place + 1:])
