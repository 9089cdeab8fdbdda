"""What a campaign is: sources, a count and a seed; from these its entries and its parts follow, always the same."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from scripts.campaign import catalogue
from scripts.campaign.entries import CATALOGUE, GENERATED, HEALTHY, MUSEUM, ROOT, CampaignEntry
from scripts.campaign.generated import generate
from scripts.campaign.groups import port_groups
from scripts.campaign.healthy import draw_healthy
from scripts.campaign.part import FaultPart
from scripts.testbeds import Refusal

CAMPAIGN_FILE = "campaign.json"
PARTS = "parts"
PART_FILE = "part.json"
KEPT = "deployed"
MUSEUM_MODULE = "scripts.campaign.museum"


@dataclass(frozen=True)
class Campaign:
    """A campaign.

    Attributes:
        name: its folder's, below the folder of results.
        sources: where its entries come from.
        counts: source -> how many are drawn, of those that are drawn.
        seed: of what is drawn.
        commit: under test; `dirty` where the tree has changes that are not committed.
        mutant: what is weakened in the suite; empty: nothing.
        only: names of entries; none: all.
        is_thorough: whether all of `pfc-qualify --quick` is carried out at least.
        began: when, ISO 8601, UTC.
    """

    name: str
    sources: tuple[str, ...]
    counts: dict[str, int]
    seed: str
    commit: str
    is_dirty: bool
    began: str
    mutant: str = ""
    only: tuple[str, ...] = ()
    is_thorough: bool = False

    def entries(self) -> list[CampaignEntry]:
        """All entries, in the order of the sources."""
        found: list[CampaignEntry] = []
        for source in self.sources:
            found += _entries(source, self)
        return [entry for entry in found if not self.only or entry.name in self.only]

    def parts(self) -> list[FaultPart]:
        """Its parts: of what is broken as many in one bring-up as there are groups of ports; of healthy testbeds each
        by itself."""
        entries = self.entries()
        broken = [entry for entry in entries if entry.source != HEALTHY]
        parts = [
            FaultPart(f"{entries[0].source}-{number:04}", entries, self.mutant, is_thorough=self.is_thorough)
            for number, entries in enumerate(in_bring_ups(broken, len(port_groups())), 1)
        ]
        healthy = [FaultPart(f"healthy-{entry.name}", (entry,), self.mutant)
                   for entry in entries if entry.source == HEALTHY]
        return parts + healthy

    def write(self, folder: Path) -> None:
        """Keeps it in its folder, and each part in that part's: what is drawn changes with the commit."""
        folder.mkdir(parents=True)
        for part in self.parts():
            own = folder / PARTS / part.name
            own.mkdir(parents=True)
            (own / PART_FILE).write_text(json.dumps(part.document()) + "\n", encoding="utf-8")
        (folder / CAMPAIGN_FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def load(folder: Path) -> Campaign:
    """The campaign of a folder.

    Raises:
        Refusal: there is none.
    """
    file = folder / CAMPAIGN_FILE
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return Campaign(**{**found, "sources": tuple(found["sources"]), "only": tuple(found["only"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise Refusal(f"there is no campaign in {folder}: {' '.join(str(error).split())}") from error


def load_parts(folder: Path) -> list[FaultPart]:
    """The parts of the campaign of a folder, as they were when it was begun."""
    files = sorted((folder / PARTS).glob(f"*/{PART_FILE}"))
    return [FaultPart.of(json.loads(file.read_text(encoding="utf-8"))) for file in files]


def in_bring_ups(entries: Sequence[CampaignEntry], size: int) -> list[tuple[CampaignEntry, ...]]:
    """Entries by bring-up, each of one source and testbed: at most `size`, of which at most one is about a moment of
    the testbed's time, and comes first, and at most one is lasting, and comes last. One that is both has a bring-up to
    itself, as one has that others would be disturbed by. Those with the first entries come first."""
    found: list[tuple[CampaignEntry, ...]] = []
    for source, testbed in dict.fromkeys((entry.source, entry.testbed) for entry in entries):
        every = [entry for entry in entries if (entry.source, entry.testbed) == (source, testbed)]
        alone = [entry for entry in every if entry.is_for_itself]
        found += [(entry,) for entry in alone]
        own = [entry for entry in every if entry not in alone]
        timed = [entry for entry in own if entry.is_timed]
        lasting = [entry for entry in own if entry.is_lasting]
        others = [entry for entry in own if not entry.is_timed and not entry.is_lasting]
        while timed or lasting or others:
            first = timed[:1]
            last = lasting[:1]
            rest = size - len(first) - len(last)
            found.append((*first, *others[:rest], *last))
            timed = timed[1:]
            lasting = lasting[1:]
            others = others[rest:]
    places = {entry.key: place for place, entry in enumerate(entries)}
    return sorted(found, key=lambda own: min(places[entry.key] for entry in own))


def has_museum() -> bool:
    """Whether the bugs of the field are there."""
    return importlib.util.find_spec(MUSEUM_MODULE) is not None


def _entries(source: str, campaign: Campaign) -> list[CampaignEntry]:
    if source == CATALOGUE:
        return list(catalogue.FAULTS)
    if source == MUSEUM:
        return [bug.entry for bug in import_module(MUSEUM_MODULE).MUSEUM]
    if source == GENERATED:
        return generate(campaign.seed, campaign.counts[source])
    return draw_healthy(campaign.seed, campaign.counts[source])


def commit_under_test() -> tuple[str, bool]:
    """The commit of the clone, and whether the tree has changes that are not committed; no clone: empty.

    Raises:
        Refusal: git cannot be asked.
    """
    git = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    said = [subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False, env=git)
            for words in (("rev-parse", "HEAD"), ("status", "--porcelain"))]
    if said[0].returncode:
        raise Refusal("the seed is the commit under test, and git does not know one here: give --seed")
    return said[0].stdout.strip(), bool(said[1].stdout.strip())
