"""What a campaign found, for people: a page, and the table of docs/campaign.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from scripts.campaign.plan import Campaign
from scripts.campaign.results import EntryResult, EntryVerdict
from scripts.campaign.scores import COLUMNS, SourceScore, not_as_declared, row
from test_reporting.pfc import html_report

HERE = Path(__file__).resolve().parent
TEMPLATE = "campaign.html.j2"
PAGE = "campaign.html"
TABLE = "campaign.md"


def write_page(
    folder: Path, campaign: Campaign, score: Sequence[SourceScore], found: Sequence[EntryResult],
    reasons: Mapping[str, str] = {},
) -> Path:
    """Writes the page into the campaign's folder; returns its path. Arguments as of `table_lines`."""
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    style = Markup((Path(html_report.__file__).parent / "report.css").read_text(encoding="utf-8"))
    bad = list(not_as_declared(found))
    text = environment.get_template(TEMPLATE).render(
        campaign=campaign, about=about(campaign), title=title(score), style=style, columns=COLUMNS,
        rows=[row(one) for one in score], bad=bad, unseen=[one for one in found if one.entry.unseen],
        good=[one for one in found if one.is_as_declared and not one.entry.unseen], priorities=priorities,
        reasons=reasons)
    page = folder / PAGE
    page.write_text(text, encoding="utf-8")
    return page


def write_table(
    folder: Path, campaign: Campaign, score: Sequence[SourceScore], found: Sequence[EntryResult],
    reasons: Mapping[str, str] = {},
) -> Path:
    """Writes the table into the campaign's folder; returns its path. Arguments as of `table_lines`."""
    file = folder / TABLE
    file.write_text("\n".join(table_lines(campaign, score, found, reasons)) + "\n", encoding="utf-8")
    return file


def table_lines(
    campaign: Campaign, score: Sequence[SourceScore], found: Sequence[EntryResult], reasons: Mapping[str, str] = {}
) -> Iterator[str]:
    """The scores and what is not as declared, in Markdown.

    Args:
        campaign: it.
        score: of each source.
        found: its results.
        reasons: key of an entry -> what is known of why it is not as declared.
    """
    yield about(campaign)
    yield ""
    yield _cells(COLUMNS)
    yield _cells(["---"] * len(COLUMNS))
    yield from (_cells(row(one)) for one in score)
    yield ""
    bad = list(not_as_declared(found))
    if not bad:
        yield "Everything is as declared."
        return
    yield _cells(("entry", "fault", "what came of it", "why, or the test case that is missing"))
    yield _cells(["---"] * 4)
    for one in bad:
        said = one.judgement.value
        if one.judgement is EntryVerdict.CAUGHT:
            said = f"caught, not named rightly: {', '.join(one.blame.wrong)}; {'; '.join(one.diagnosis)}"
        elif one.diagnosis:
            said = f"{said}: {'; '.join(one.diagnosis)}"
        yield _cells((one.entry.key, "`" + "` `".join(one.faults) + "`" if one.faults else one.entry.setting, said,
                      reasons.get(one.entry.key, "not known")))


def about(campaign: Campaign) -> str:
    """`2026-11-24, commit abc, seed abc`."""
    tree = ", with changes that are not committed" if campaign.is_dirty else ""
    mutant = f", mutant {campaign.mutant}" if campaign.mutant else ""
    return f"{campaign.began[:10]}, commit {campaign.commit}{tree}, seed {campaign.seed}{mutant}"


def title(score: Sequence[SourceScore]) -> str:
    """`catalogue 70 of 73, healthy 20 of 20`."""
    return ", ".join(f"{one.source} {one.good} of {len(one.due)}" for one in score) or "nothing was judged"


def priorities(result: EntryResult) -> str:
    """What may be named of a result's entry."""
    declared = result.entry.declared
    named = sorted(declared.priorities) if declared is not None else []
    return f"some of priorities {', '.join(map(str, named))}" if named else "the port as a whole"


def _cells(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
