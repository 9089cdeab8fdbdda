"""Entries of a campaign: a broken switch port, what it has to be judged to be, and where that comes from.

An entry names no port. It has the ports of a group to itself, and names them by their roles: `rx`, the port under test,
where pauses arrive and data leaves; `tx`, where data comes in; `further`, where it also does where a test case has
several senders; `beside`, a bystander. `opposite` is another one, which all groups have: nothing may be broken there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status

ROOT = Path(__file__).resolve().parent.parent.parent
ROLES = ("rx", "tx", "beside", "opposite", "further")
HELD = frozenset({3, 4})
"""The lossless priorities of SONiC's own maps, which the virtual testbeds have."""
FREE = frozenset({0, 1, 2, 5, 6})
"""Their lossy priorities that data has."""
ALL = frozenset(range(8))
PORT: frozenset[int] = frozenset()
"""No priority: the whole port."""
BOTH = (LOSSLESS, LOSSY)
LASTING = ("pause-outlives-flap",)
"""Faults that leave a port shut for ever."""
UNASKED = ("pfc-unasked",)
"""Faults that disturb full lines all the time: whatever is measured beside takes ten times as long to compute."""
CATALOGUE = "catalogue"
MUSEUM = "museum"
GENERATED = "generated"
HEALTHY = "healthy"
SOURCES = (CATALOGUE, MUSEUM, GENERATED, HEALTHY)


def at_ports(text: str, ports: Mapping[str, str]) -> str:
    """A text with the names of ports for `{rx}`, `{tx}`, `{beside}`, `{opposite}`."""
    for role, port in ports.items():
        text = text.replace(f"{{{role}}}", port)
    return text


@dataclass(frozen=True)
class Declaration:
    """What a run must make of an entry, written down before it runs.

    Attributes:
        at: the role of the port that has to be named as the one that is wrong.
        priorities: those that may be named, of which at least one has to be; none: the port as a whole.
        metrics: those that may be named, of which at least one has to be.
        says: a pattern (`re.search`) that the sentence of the diagnosis has; roles in braces stand for ports,
            `{priority}` for any of the priorities.
        verdicts: what the verdict may be: FAIL, ERROR where nothing can be measured.
        may_be_port: whether the port as a whole may be named as well as some of `priorities`.
    """

    at: str
    priorities: frozenset[int]
    metrics: tuple[str, ...]
    says: str
    verdicts: tuple[Status, ...] = (Status.FAIL,)
    may_be_port: bool = False

    def __post_init__(self) -> None:
        """Refuses what no run could fulfil."""
        assert self.at in ROLES, f"'{self.at}' is no role: expected {', '.join(ROLES)}"
        assert self.metrics and set(self.metrics) <= set(BOTH), f"{self.metrics} are no metrics"
        assert self.verdicts and Status.PASS not in self.verdicts, f"{self.says}: a broken switch is not to be PASS"

    def has_priorities(self, named: Iterable[int]) -> bool:
        """Whether these are priorities that have to be named."""
        found = set(named)
        return found <= self.priorities and (bool(found) == bool(self.priorities) or self.may_be_port)

    def is_said_by(self, sentence: str, ports: Mapping[str, str]) -> bool:
        """Whether a sentence of the diagnosis has the cause; `ports`: role -> name."""
        return re.search(self.pattern(ports), sentence) is not None

    def pattern(self, ports: Mapping[str, str]) -> str:
        """What the sentence has, with the names of ports (role -> name) and priorities."""
        return at_ports(self.says, {**ports, "priority": f"[{''.join(map(str, sorted(self.priorities)))}]"})


@dataclass(frozen=True)
class CampaignEntry:
    """A port that is broken in some way, or a testbed that is not.

    Attributes:
        source: `catalogue`, `museum`, `generated`.
        name: unique within its source.
        faults: specifications as `virtual-testbed up --fault` takes them, with roles for ports:
            `pause-acts-elsewhere@{rx},priority=3,on={beside}`. A fault class's file is relative to the project's root.
        declared: what a run must make of it; None: nothing is broken, and every verdict must be PASS.
        cases: plan ids of the test cases that are carried out, each of which need not, but one of which must see it;
            none: those that `stages` says, which do not depend on the entry.
        unseen: why no tester could see it; empty: one must.
        testbed: of ansible/testbed.yaml.
        ip_version: of the data.
        setting, seed: of a healthy testbed what was drawn for it, in words, and what it was drawn by.
    """

    source: str
    name: str
    faults: tuple[str, ...]
    declared: Declaration | None
    cases: tuple[str, ...] = ()
    unseen: str = ""
    testbed: str = "vtb-t0"
    ip_version: int = 4
    setting: str = ""
    seed: str = ""

    @property
    def key(self) -> str:
        """`museum sonic-swss-1055`: what it is known by in results."""
        return f"{self.source} {self.name}"

    @property
    def is_timed(self) -> bool:
        """Whether a fault begins or ends at a moment of the testbed's time: then nothing may run before it."""
        return any(pair.startswith(("from=", "until=")) for fault in self.faults for pair in fault.split(","))

    @property
    def is_lasting(self) -> bool:
        """Whether what a fault does outlasts the cases, so that the switch goes on pausing senders: then nothing may
        run after it."""
        return any(fault.split("@")[0] in LASTING for fault in self.faults)

    @property
    def is_for_itself(self) -> bool:
        """Whether nothing else may be in the testbed: a fault is not one of a group's port, or holds up what is
        measured beside it; or it is timed and lasting."""
        is_wide = any("@{" not in fault or fault.split("@")[0] in UNASKED for fault in self.faults)
        return is_wide or self.is_timed and self.is_lasting

    def at(self, ports: Mapping[str, str]) -> tuple[str, ...]:
        """The specifications at the ports of a group (role -> name)."""
        return tuple(at_ports(fault, ports) for fault in self.faults)


@dataclass(frozen=True)
class FieldBug:
    """A bug of a real switch, as its report has it.

    Attributes:
        repository, number: `sonic-swss` and 1055 of https://github.com/sonic-net/sonic-swss/issues/1055.
        happened: what was seen there, in a sentence.
        entry: a switch that behaves like it.
    """

    repository: str
    number: int
    happened: str
    entry: CampaignEntry

    @classmethod
    def of(
        cls, repository: str, number: int, happened: str, faults: tuple[str, ...], declared: Declaration,
        cases: tuple[str, ...], ip_version: int = 4,
    ) -> FieldBug:
        """The bug, and what a campaign makes of it."""
        entry = CampaignEntry(MUSEUM, f"{repository}-{number}", faults, declared, cases, ip_version=ip_version)
        return cls(repository, number, happened, entry)
