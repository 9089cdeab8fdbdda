"""What came of entries: a JSON line for each, written when it is known, read when a campaign goes on or is counted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from scripts.campaign.entries import CampaignEntry, Declaration
from tests.common.pfc.record.verdict import Status

LINES = "entries.jsonl"


class EntryVerdict(StrEnum):
    """What a run made of an entry."""

    CAUGHT = "caught"
    """A verdict as declared."""
    ESCAPED = "escaped"
    """Every verdict is PASS."""
    ERROR = "ERROR"
    """It could not be measured, though it had to be."""
    MISJUDGED = "misjudged"
    """FAIL where the switch is not at fault, or where nothing can be measured; of a healthy one in any case."""
    PASSED = "passed"
    """Every verdict of a healthy testbed is PASS."""


@dataclass(frozen=True)
class Blame:
    """Whether the diagnosis names what was declared.

    Attributes:
        port, priority, metric, cause: each by itself.
    """

    port: bool = False
    priority: bool = False
    metric: bool = False
    cause: bool = False

    @property
    def is_right(self) -> bool:
        """Whether all of it is named rightly."""
        return self.port and self.priority and self.metric and self.cause

    @property
    def wrong(self) -> list[str]:
        """What is not: `priority`, `cause`."""
        return [one.name for one in fields(self) if not getattr(self, one.name)]


@dataclass(frozen=True)
class EntryResult:
    """What came of an entry.

    Attributes:
        entry: the entry.
        ports: role -> name of the port that had it.
        judgement: what the verdicts are, against what was declared.
        blame: what the diagnosis names rightly; of an entry that escaped nothing.
        diagnosis: its sentences.
        cases: the test cases that were carried out, in order: `PFC-1 3`; `case_seconds`: how long each took.
        verdicts: test case -> metric -> verdict.
        checks: those that are not PASS, each with `case`, `name`, `status`, `metric`, `message`.
        more_checks: how many more there are.
        seconds: that it took.
        began_s, simulated_s: when it began in the testbed's time, and how much of that it took.
        is_alone: whether nothing else was broken in the testbed.
        shared: where it was measured again, alone: what came of it among others (judgement and sentences).
    """

    entry: CampaignEntry
    ports: Mapping[str, str]
    judgement: EntryVerdict
    blame: Blame = Blame()
    diagnosis: Sequence[str] = ()
    cases: Sequence[str] = ()
    case_seconds: Sequence[float] = ()
    verdicts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    checks: Sequence[Mapping[str, Any]] = ()
    more_checks: int = 0
    seconds: float = 0.0
    began_s: float = 0.0
    simulated_s: float = 0.0
    is_alone: bool = False
    shared: Mapping[str, Any] | None = None

    @property
    def is_as_declared(self) -> bool:
        """Whether it was caught, and blamed rightly; or, of one that no tester could see, that nothing was said."""
        if self.entry.declared is None:
            return self.judgement is EntryVerdict.PASSED
        if self.entry.unseen:
            return self.judgement is EntryVerdict.ESCAPED
        return self.judgement is EntryVerdict.CAUGHT and self.blame.is_right

    @property
    def faults(self) -> tuple[str, ...]:
        """The specifications at the ports that it had."""
        return self.entry.at(self.ports)

    @property
    def short(self) -> dict[str, Any]:
        """What another result keeps of this one."""
        return {"judgement": self.judgement.value, "diagnosis": list(self.diagnosis), "blame": asdict(self.blame)}

    def document(self) -> dict[str, Any]:
        """The result as its line has it."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return found | {
            "entry": entry_document(self.entry), "judgement": self.judgement.value, "blame": asdict(self.blame),
            "specifications": list(self.faults),
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> EntryResult:
        """The result of a line; what this version does not know is left out."""
        known = {one.name for one in fields(cls)}
        found = {name: value for name, value in document.items() if name in known}
        return cls(**found | {
            "entry": entry_of(document["entry"]), "judgement": EntryVerdict(document["judgement"]),
            "blame": Blame(**document["blame"]),
        })


def entry_document(entry: CampaignEntry) -> dict[str, Any]:
    """An entry as JSON can have it."""
    declared = entry.declared
    found = {one.name: getattr(entry, one.name) for one in fields(entry)}
    said = None if declared is None else {
        "at": declared.at, "priorities": sorted(declared.priorities), "metrics": list(declared.metrics),
        "says": declared.says, "verdicts": [verdict.value for verdict in declared.verdicts],
        "may_be_port": declared.may_be_port}
    return found | {"faults": list(entry.faults), "cases": list(entry.cases), "declared": said}


def entry_of(document: Mapping[str, Any]) -> CampaignEntry:
    """The entry of a document."""
    said = document["declared"]
    declared = said and Declaration(
        said["at"], frozenset(said["priorities"]), tuple(said["metrics"]), said["says"],
        tuple(map(Status, said["verdicts"])), said["may_be_port"])
    return CampaignEntry(**{**document, "faults": tuple(document["faults"]), "cases": tuple(document["cases"]),
                            "declared": declared})


def append(file: Path, results: Iterable[EntryResult]) -> None:
    """Adds lines; one that a kill tore is ended first, so that it spoils no other."""
    torn = file.exists() and not file.read_bytes()[-1:] in (b"", b"\n")
    with file.open("a", encoding="utf-8") as out:
        out.write("\n" if torn else "")
        for result in results:
            out.write(f"{json.dumps(result.document())}\n")


def documents(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """What lines say; one that a kill tore says nothing."""
    for line in lines:
        with suppress(ValueError):
            yield json.loads(line)


def read(file: Path) -> list[EntryResult]:
    """The results of a file, of each entry the last one; a torn line is none."""
    found: dict[str, EntryResult] = {}
    for document in documents(file.read_text(encoding="utf-8").splitlines() if file.exists() else ()):
        result = EntryResult.of(document)
        found[result.entry.key] = result
    return list(found.values())
