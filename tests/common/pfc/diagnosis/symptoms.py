"""What is wrong with a port under test, and what a rule makes of it: place, priorities, metric, cause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, KeysView, Mapping
from dataclasses import dataclass, replace

from ..record.case import priorities_text
from ..record.verdict import Check

UNKNOWN = "the cause cannot be told from these checks"
NOT_MEASURED = "not-measured"
"""Name of what stands for a verdict that is ERROR without any check: its sentence is what was seen."""


@dataclass(frozen=True)
class BadCheck:
    """A check that is not PASS, in a test case."""

    plan_id: str
    check: Check

    @property
    def port(self) -> str:
        """`vtb-t0-01 Ethernet8`: where the check looked."""
        return " ".join(self.check.where.split()[:2])

    @property
    def priorities(self) -> list[int]:
        """What its place names; of a record that was read back there is nothing else. An ERROR without a place says of
        which priority the frames are that it is about."""
        named_at = "frames of " if self.check.name == NOT_MEASURED else ""
        text = self.check.message if named_at else self.check.where
        found = re.search(rf"{named_at}priorit(?:y|ies) (\d(?:, \d)*)", text)
        return [int(one) for one in found[1].split(", ")] if found else []


class Symptoms:
    """What is wrong with one port under test.

    Attributes:
        tested: the port under test, `vtb-t0-01 Ethernet0`.
        bad: checks that are FAIL, each once; of a port that has none those that are ERROR.
        passed: checks that held: plan id, name, place.
    """

    def __init__(self, tested: str, bad: Iterable[BadCheck], passed: frozenset[tuple[str, str, str]]) -> None:
        self.tested = tested
        self.bad = list(dict.fromkeys(bad))
        self.passed = passed

    def where(self, holds: Callable[[BadCheck], bool]) -> Symptoms:
        """Those that something holds for."""
        return Symptoms(self.tested, (one for one in self.bad if holds(one)), self.passed)

    def of(self, *names: str) -> Symptoms:
        """Those of these checks or test cases: `nothing-lost`, `CLASS-3`, `WD`; none named: all."""
        return self.where(lambda one: not names or not {one.check.name, one.plan_id, one.plan_id.split("-")[0]}
                          .isdisjoint(names))

    def saying(self, pattern: str) -> Symptoms:
        """Those whose message has a text like this."""
        return self.where(lambda one: re.search(pattern, one.check.message) is not None)

    def called(self, names: Mapping[str, str]) -> Symptoms:
        """The same with other plan ids for some, old -> new."""
        bad = (replace(one, plan_id=names.get(one.plan_id, one.plan_id)) for one in self.bad)
        passed = frozenset((names.get(plan_id, plan_id), name, where) for plan_id, name, where in self.passed)
        return Symptoms(self.tested, bad, passed)

    def any(self, *names: str) -> bool:
        """Whether one of these checks, or one of these test cases, is not PASS."""
        return bool(self.of(*names).bad)

    def has(self, *names: str) -> bool:
        """Whether each of these is not PASS."""
        return all(self.any(name) for name in names)

    def only(self, *names: str) -> bool:
        """Whether something is not PASS, and these alone."""
        return bool(self.bad) and len(self.of(*names).bad) == len(self.bad)

    def passed_in(self, name: str, but: str) -> bool:
        """Whether a check held in a test case that is not of a family."""
        return any(check == name and plan_id.split("-")[0] != but for plan_id, check, _ in self.passed)

    def seen(self, none: bool) -> Symptoms:
        """Those that saw nothing (or something)."""
        return self.where(lambda one: (one.check.seen == 0) == none)

    @property
    def ports(self) -> tuple[str, ...]:
        """Where the checks looked."""
        return tuple(dict.fromkeys(one.port for one in self.bad))

    @property
    def priorities(self) -> tuple[int, ...]:
        """What the checks are about."""
        return tuple(sorted({priority for one in self.bad for priority in one.priorities}))

    @property
    def cases(self) -> KeysView[str]:
        """The test cases, by plan id, in their order."""
        return dict.fromkeys(one.plan_id for one in self.bad).keys()

    @property
    def who(self) -> str:
        """`priority 3`, `priorities 3, 4`; where no check names one: the port."""
        return priorities_text(self.priorities) if self.priorities else "the port"

    @property
    def metrics(self) -> tuple[str, ...]:
        """What the checks count for."""
        return tuple(sorted({one.check.metric_name for one in self.bad}))

    @property
    def tested_port(self) -> str:
        """`Ethernet0`: the port under test."""
        return self.tested.split()[-1]

    @property
    def numbers(self) -> str:
        """What the first of them saw."""
        first = self.bad[0].check
        if first.name == NOT_MEASURED:
            return first.message
        return f"{', '.join(self.metrics)} {first.name}: expected {first.expected}, got {first.seen}"

    def words(self, pattern: str) -> str:
        """What a pattern's first group finds in the first message that has it."""
        found = next((found for one in self.bad if (found := re.search(pattern, one.check.message))), None)
        return found[1] if found else ""


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong with a port.

    Attributes:
        port: the port whose frames or counters are wrong, `vtb-t0-01 Ethernet8`.
        priorities: what is wrong there; none: the whole port.
        metrics: of the checks that show it.
        cause: the sentence without its place.
        is_certain: whether these checks have no other explanation that a rule knows.
        left_out: plan id of a test case that would tell more, and was not carried out; empty: none is known.
    """

    port: str
    priorities: tuple[int, ...]
    metrics: tuple[str, ...]
    cause: str
    is_certain: bool = True
    left_out: str = ""

    def __str__(self) -> str:
        """The sentence."""
        return f"{self.port}: {self.cause}" + ("" if self.is_certain else f"; {UNKNOWN}")


@dataclass(frozen=True)
class FurtherCase:
    """A test case that tells more of a cause.

    Attributes:
        plan_id: of the test case.
        looks: what it does: `looks at these pauses`.
    """

    plan_id: str
    looks: str

    def is_left_out(self, found: Symptoms) -> bool:
        """Whether no test case of its family was carried out."""
        family = self.plan_id.split("-")[0]
        return not found.any(family) and all(plan_id.split("-")[0] != family for plan_id, _, _ in found.passed)

    def __str__(self) -> str:
        """As a sentence goes on."""
        return f"; {self.plan_id} {self.looks}, and was not carried out"


@dataclass(frozen=True)
class Rule:
    """A cause.

    Attributes:
        says: what is wrong, of the checks that matter: `{who}` are their priorities, `{port}` is where they looked,
            `{cases}` are their test cases.
        about: names of checks; none: all.
        holds: whether the symptoms show it; None: any of these checks is enough.
        picks: of these checks those that matter.
        further: what else is said, of all symptoms.
        told_by: a test case that tells more.
        at: the port that is wrong, of all symptoms; None: where the checks that matter looked.
        is_port: whether the whole port is wrong, whatever priorities the checks are about.
        is_certain: whether nothing else shows like this.
    """

    says: str | Callable[[Symptoms], str]
    about: tuple[str, ...]
    holds: Callable[[Symptoms], bool] | None = None
    picks: Callable[[Symptoms], Symptoms] | None = None
    further: Callable[[Symptoms], str] | None = None
    told_by: FurtherCase | None = None
    at: Callable[[Symptoms], str] | None = None
    is_port: bool = False
    is_certain: bool = True

    def where(self, condition: Callable[[Symptoms], bool]) -> Rule:
        """The rule where something else holds too."""
        own = self.holds
        return replace(self, holds=condition if own is None else lambda found: condition(found) and own(found))

    def diagnosis(self, found: Symptoms) -> Diagnosis | None:
        """What it says of symptoms; None: they do not show it."""
        about = found.of(*self.about)
        about = about if self.picks is None else self.picks(about)
        if not about.bad or self.holds is not None and not self.holds(found):
            return None
        port = about.ports[0]
        words = {"who": about.who, "port": port.split()[-1], "cases": ", ".join(about.cases)}
        cause = self.says.format(**words) if isinstance(self.says, str) else self.says(about)
        cause += self.further(found) if self.further else ""
        left_out = self.told_by if self.told_by and self.told_by.is_left_out(found) else None
        cause += str(left_out or "")
        where = self.at(found) if self.at else port
        priorities = () if self.is_port else about.priorities
        return Diagnosis(where, priorities, about.metrics, f"{cause} ({about.numbers})", self.is_certain,
                         left_out.plan_id if left_out else "")
