"""What results come to: of each source how many are caught, escaped, could not be measured or were judged wrongly, and
how often the diagnosis named port, priority, metric and cause rightly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from scripts.campaign.entries import SOURCES
from scripts.campaign.results import Blame, EntryResult, EntryVerdict


@dataclass(frozen=True)
class SourceScore:
    """The score of a source.

    Attributes:
        source: its name.
        planned: entries of the campaign.
        results: of those that were judged.
    """

    source: str
    planned: int
    results: tuple[EntryResult, ...]

    @property
    def due(self) -> list[EntryResult]:
        """Those that a tester could see."""
        return [one for one in self.results if not one.entry.unseen]

    def those(self, judgement: EntryVerdict) -> list[EntryResult]:
        """Those that were judged so, of those that a tester could see."""
        return [one for one in self.due if one.judgement is judgement]

    @property
    def unseen(self) -> list[EntryResult]:
        """Those that no tester could see."""
        return [one for one in self.results if one.entry.unseen]

    @property
    def good(self) -> int:
        """How many were judged as they should: broken ones caught, healthy ones passed."""
        return len(self.those(EntryVerdict.CAUGHT)) + len(self.those(EntryVerdict.PASSED))

    @property
    def blamed(self) -> list[EntryResult]:
        """Those that were caught: of which the diagnosis has to name port, priority, metric and cause."""
        return self.those(EntryVerdict.CAUGHT)

    def named_rightly(self, what: str = "is_right") -> int:
        """Of how many that were caught the diagnosis names something rightly: `port`, `priority`, `metric`, `cause`;
        `is_right`: all four."""
        return sum(bool(getattr(one.blame, what)) for one in self.blamed)

    @property
    def seconds(self) -> float:
        """That their judging took, one after the other."""
        return sum(one.seconds for one in self.results)


WHAT_IS_NAMED = tuple(one.name for one in fields(Blame))
COLUMNS = ("source", "judged", "as it should be", "escaped", "ERROR", "misjudged", "no tester could see",
           *(f"{what} named" for what in WHAT_IS_NAMED), "all named", "minutes")


def scores(planned: Iterable[tuple[str, int]], results: Sequence[EntryResult]) -> list[SourceScore]:
    """The score of each source that was planned, in the order of `SOURCES`."""
    counts = dict(planned)
    return [SourceScore(source, counts[source], tuple(one for one in results if one.entry.source == source))
            for source in SOURCES if source in counts]


def row(score: SourceScore) -> list[str]:
    """A source's cells, as `COLUMNS` names them."""
    due = len(score.due)
    blamed = len(score.blamed)
    named = [_share(score.named_rightly(what), blamed) for what in (*WHAT_IS_NAMED, "is_right")]
    return [
        score.source, f"{len(score.results)} of {score.planned}", _share(score.good, due),
        *(str(len(score.those(one))) for one in (EntryVerdict.ESCAPED, EntryVerdict.ERROR, EntryVerdict.MISJUDGED)),
        str(len(score.unseen)), *named, f"{score.seconds / 60:.0f}",
    ]


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "-"


def not_as_declared(results: Iterable[EntryResult]) -> Iterator[EntryResult]:
    """Results that are not what was declared, the worst first: escapes, then what was not measured or judged wrongly,
    then wrong names."""
    order = (EntryVerdict.ESCAPED, EntryVerdict.MISJUDGED, EntryVerdict.ERROR, EntryVerdict.CAUGHT, EntryVerdict.PASSED)
    found = [one for one in results if not one.is_as_declared]
    yield from sorted(found, key=lambda one: (order.index(one.judgement), one.entry.key))
