"""A part of a campaign: one bring-up of a virtual testbed with several broken ports, each in a group of ports of its
own, judged one after the other. What is not as declared is judged again in a testbed where nothing else is broken, and
this counts.

By hand: `python -m scripts.campaign.part PART.json FOLDER`. Exit status: 0 every entry is judged, 2 not all, 3 refused.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from scripts.campaign import results
from scripts.campaign.broken_testbed import broken_testbed, reserved_switch
from scripts.campaign.entries import HEALTHY, ROOT, CampaignEntry
from scripts.campaign.groups import PortGroup, port_groups
from scripts.campaign.healthy import measure
from scripts.campaign.judging import EntryBench, judge
from scripts.campaign.mutants import mutated
from scripts.campaign.results import EntryResult, entry_document, entry_of
from scripts.command import exit_status_of
from scripts.output import put
from scripts.testbeds import CommandParser, Refusal, catch_signals

FILE = ".py:"
NOT_ALL = 2
"""Exit status: the time was over before every entry was judged."""


@dataclass(frozen=True)
class FaultPart:
    """Entries that are judged in one bring-up.

    Attributes:
        name: unique in the campaign; its results are in a folder of that name.
        entries: at most one for each group of ports. One whose fault begins or ends at a moment comes first.
        mutant: name of what is weakened in the suite; empty: nothing.
        again: whether what is not as declared is judged again alone.
        is_thorough: whether all of `pfc-qualify --quick` is carried out at least.
    """

    name: str
    entries: tuple[CampaignEntry, ...]
    mutant: str = ""
    again: bool = True
    is_thorough: bool = False

    def document(self) -> dict[str, Any]:
        """The part as its file has it."""
        return {"name": self.name, "entries": [entry_document(entry) for entry in self.entries],
                "mutant": self.mutant, "again": self.again, "is_thorough": self.is_thorough}

    @classmethod
    def read(cls, file: Path) -> FaultPart:
        """The part of a file.

        Raises:
            Refusal: it describes none.
            OSError: it cannot be read.
        """
        try:
            return cls.of(json.loads(file.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError) as error:
            raise Refusal(f"{file} describes no part of a campaign: {' '.join(str(error).split())}") from error

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> FaultPart:
        """The part of a document."""
        entries = tuple(map(entry_of, document["entries"]))
        return cls(document["name"], entries, document["mutant"], document["again"],
                   document.get("is_thorough", False))


@dataclass
class PartRun:
    """Carries out a part.

    Attributes:
        part: what is judged.
        folder: takes the results.
        kept: where processes keep what Ansible deployed; None: nowhere.
        end_at: second of the epoch: no entry begins after it.
        groups: of ports of the testbed.
    """

    part: FaultPart
    folder: Path
    kept: Path | None = None
    end_at: float = float("inf")
    groups: Sequence[PortGroup] = field(default_factory=port_groups)

    def run(self) -> bool:
        """Judges what has no result yet; whether all have one then.

        Raises:
            Failure: a testbed does not come up.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        left = self._left()
        if left and self._is_time():
            with nullcontext() if not self.part.mutant else mutated(self.part.mutant):
                self._judge(left, is_alone=len(self.part.entries) == 1)
                for group, entry, before in self._doubtful():
                    if self._is_time():
                        self._judge([(group, entry)], is_alone=True, before=before)
        return self.is_done

    @property
    def is_done(self) -> bool:
        """Whether every entry has a result that counts."""
        return not self._left()

    @property
    def file(self) -> Path:
        """Of the results."""
        return self.folder / results.LINES

    def _is_time(self) -> bool:
        return time.time() < self.end_at

    def _left(self) -> list[tuple[PortGroup, CampaignEntry]]:
        """What has no result that counts, with its ports."""
        done = {result.entry.key for result in results.read(self.file) if self._counts(result)}
        return [(group, entry) for group, entry in zip(self.groups, self.part.entries) if entry.key not in done]

    def _counts(self, result: EntryResult) -> bool:
        return result.is_alone or result.is_as_declared or not self.part.again

    def _doubtful(self) -> list[tuple[PortGroup, CampaignEntry, EntryResult]]:
        """What has to be judged again, with what came of it among others."""
        found = {result.entry.key: result for result in results.read(self.file) if not self._counts(result)}
        return [(group, entry, found[entry.key]) for group, entry in self._left() if entry.key in found]

    def _judge(
        self, entries: Sequence[tuple[PortGroup, CampaignEntry]], is_alone: bool, before: EntryResult | None = None
    ) -> None:
        """Brings a testbed up with these, and judges those that were not judged in company."""
        known = {result.entry.key for result in results.read(self.file)} if before is None else set()
        wanted = [(group, entry) for group, entry in entries if entry.key not in known]
        if not wanted:
            return
        if wanted[0][1].source == HEALTHY:
            self._tell(measure(wanted[0][1], self.folder))
            return
        faults = [absolute(fault) for group, entry in wanted for fault in entry.at(group.roles)]
        with _bench(faults, self.kept) as bench:
            for group, entry in wanted:
                if not self._is_time():
                    return
                result = replace(judge(bench, group, entry, self.part.is_thorough), is_alone=is_alone,
                                 shared=before.short if before else None)
                self._tell(result)

    def _tell(self, result: EntryResult) -> None:
        """Keeps a result, and says it."""
        results.append(self.file, [result])
        put(f"{line(result)}\n", sys.stdout)


@contextmanager
def _bench(faults: Sequence[str], kept: Path | None) -> Iterator[EntryBench]:
    """A testbed with these faults, up for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        with broken_testbed(Path(folder), faults, kept=kept) as testbed, reserved_switch(testbed) as dut:
            yield EntryBench.of(testbed, dut)


def absolute(fault: str) -> str:
    """A specification whose file, if it has one, is found from any folder."""
    return str(ROOT / fault) if FILE in fault and not fault.startswith("/") else fault


def line(result: EntryResult) -> str:
    """What a user sees of a result: `caught   catalogue pause-leaks (12 s): blamed rightly`."""
    if result.entry.declared is None:
        return (f"{result.judgement.value:9} {result.entry.key} ({result.seconds:.0f} s, {len(result.cases)} cases):"
                f" {result.entry.setting}")
    said = "blamed rightly" if result.blame.is_right else f"not named rightly: {', '.join(result.blame.wrong)}"
    if result.judgement is results.EntryVerdict.ESCAPED:
        said = f"nobody could see it: {result.entry.unseen}" if result.entry.unseen else "every verdict is PASS"
    alone = ", alone" if result.is_alone else ""
    return (f"{result.judgement.value:9} {result.entry.key} ({result.seconds:.0f} s, {len(result.cases)} cases{alone}):"
            f" {said}; {', '.join(result.faults)}")


def parser() -> CommandParser:
    """The command line."""
    made = CommandParser(prog="python -m scripts.campaign.part", description=__doc__, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("part", type=Path, metavar="PART.json", help="the part")
    made.add_argument("folder", type=Path, metavar="FOLDER",
                      help="of its results; what is there already is not measured again")
    made.add_argument("--deployed", type=Path, metavar="DIR", help="where parts keep what Ansible deployed")
    made.add_argument("--until", type=float, default=float("inf"), metavar="SECOND",
                      help="of the epoch, from which on nothing is begun (default: go on to the end)")
    return made


def measure_part(arguments: Sequence[str] | None) -> int:
    """The command.

    Raises:
        Refusal: its part cannot be measured.
    """
    catch_signals()
    options = parser().parse_args(arguments)
    kept = options.deployed.resolve() if options.deployed else None
    run = PartRun(FaultPart.read(options.part), options.folder.resolve(), kept, options.until)
    try:
        return 0 if run.run() else NOT_ALL
    except KeyboardInterrupt:
        put("interrupted\n", sys.stderr)
        return NOT_ALL


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and status 3 for a refusal, no traceback."""
    return exit_status_of(lambda: measure_part(arguments))


if __name__ == "__main__":
    sys.exit(main())
