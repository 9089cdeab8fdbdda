"""Measures how many broken switches the suite sees: faults by the hundred, many in one bring-up of a virtual testbed,
each judged as a user's run judges a port, and healthy testbeds that nothing may be said of.

Sources: catalogue (every built-in fault, with the test cases that must see it), museum (bugs of real switches),
generated (faults with options drawn at random), healthy (random testbeds). A campaign that was ended, or has reached
the end of its slice, goes on with --resume. docs/campaign.md
Exit status: 0 everything is as declared, 1 something escaped or was judged or blamed wrongly, 2 something was not
measured, 3 refused.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from scripts.campaign import results, shrinking
from scripts.campaign.entries import GENERATED, HEALTHY, MUSEUM, SOURCES, CampaignEntry
from scripts.campaign.mutants import MUTANTS
from scripts.campaign.page import write_page, write_table
from scripts.campaign.part import NOT_ALL, FaultPart, PartRun, line
from scripts.campaign.plan import (
    KEPT, PART_FILE, PARTS, Campaign, commit_under_test, has_museum, load, load_parts,
)
from scripts.campaign.recording import record
from scripts.campaign.results import EntryResult, EntryVerdict
from scripts.campaign.scores import COLUMNS, not_as_declared, row, scores
from scripts.command import exit_status_of_parts
from scripts.output import put
from scripts.parts.executors import SCHEDULER_HELP, executor
from scripts.parts.part import PYTHON, JobPart, PartEnd
from scripts.parts.running import PartExecutor, PartObserver, RunningPart, run_parts
from scripts.parts.stop import StopSignal
from scripts.testbeds import CommandParser, Refusal, environment, shown
from tests.common.clone import RESULTS
from tests.common.pfc.record.records import new_run_id

COUNTS = {GENERATED: 60, HEALTHY: 20}
"""How many are drawn unless the user says so."""
SHRUNK_PARTS = "shrunk"
UNITS = {"s": 1, "m": 60, "h": 3600}
EXAMPLES = """
examples:
  pfc-campaign                                                 everything, one part on each processor
  pfc-campaign --sources generated --count 1000 --slice 60m    an hour of it
  pfc-campaign --resume campaign-20261124T220000Z-4711         go on with it
  pfc-campaign --sources catalogue --mutant no-accounting      what the suite sees with one thing less
"""


def parser() -> CommandParser:
    """The command line."""
    made = CommandParser(prog="pfc-campaign", description=__doc__, epilog=EXAMPLES, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--sources", metavar="NAMES", help="with commas between them (default: all)")
    made.add_argument("--count", metavar="N", help="entries that are drawn of each source that draws (default:"
                      f" {', '.join(f'{count} {source}' for source, count in COUNTS.items())})")
    made.add_argument("--seed", metavar="TEXT", help="of what is drawn (default: the commit under test)")
    made.add_argument("--only", metavar="NAMES", help="names of entries, with commas between them (default: all)")
    made.add_argument("--thorough", action="store_true", default=None,
                      help="carry the quick plan out also where PFC-1 to PFC-4 are not all PASS, for the diagnosis")
    made.add_argument("--mutant", metavar="NAME", choices=sorted(MUTANTS),
                      help=f"weaken the suite in one place: {', '.join(sorted(MUTANTS))}")
    made.add_argument("--shrink", type=int, default=0, metavar="N",
                      help="make each drawn fault that escaped as simple as N more runs of the plan allow (default: 0)")
    made.add_argument("--slice", default="", metavar="TIME",
                      help="begin nothing after this time: 50s, 60m or 2h (default: go on to the end)")
    made.add_argument("--resume", metavar="NAME", help="go on with a campaign")
    made.add_argument("--at-once", type=int, metavar="N", help="parts at the same time (default: one a processor)")
    made.add_argument("--scheduler", metavar="ADDRESS", help=SCHEDULER_HELP)
    made.add_argument("--results", default=str(RESULTS), metavar="DIR", help="folder of results (default: results)")
    return made


def new_campaign(options: argparse.Namespace) -> Campaign:
    """The campaign that the options ask for.

    Raises:
        Refusal: it cannot be carried out.
    """
    there = [source for source in SOURCES if source != MUSEUM or has_museum()]
    sources = options.sources.replace(" ", "").split(",") if options.sources is not None else there
    wrong = [source for source in sources if source not in there]
    if wrong or not sources:
        raise Refusal(f"--sources has '{', '.join(wrong)}': expected some of {', '.join(there)}")
    if options.count is not None and not re.fullmatch(r"[1-9][0-9]*", options.count):
        raise Refusal(f"--count is '{options.count}', it takes a number from 1 on")
    counts = {source: int(options.count or count) for source, count in COUNTS.items() if source in sources}
    commit, is_dirty = commit_under_test() if options.seed is None else ("", False)
    if options.seed is not None:
        try:
            commit, is_dirty = commit_under_test()
        except Refusal:
            commit = "unknown"
    seed = options.seed if options.seed is not None else commit
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    only = tuple(filter(None, (options.only or "").replace(" ", "").split(",")))
    campaign = Campaign(f"campaign-{new_run_id()}", tuple(dict.fromkeys(sources)), counts, seed, commit, is_dirty, now,
                        options.mutant or "", only, bool(options.thorough))
    unknown = set(only) - {entry.name for entry in campaign.entries()}
    if unknown:
        raise Refusal(f"--only has '{', '.join(sorted(unknown))}': {', '.join(sources)} has no such entry")
    return campaign


def parse_time(text: str) -> float:
    """Seconds of `50s`, `60m`, `2h`; nothing: for ever.

    Raises:
        Refusal: it is no such thing.
    """
    if not text:
        return float("inf")
    found = re.fullmatch(r"([1-9][0-9]*)([smh])", text)
    if found is None:
        raise Refusal(f"--slice is '{text}', it takes a time such as 50s, 60m or 2h")
    return int(found[1]) * UNITS[found[2]]


class SlicedExecutor:
    """Starts parts until the end of a slice."""

    def __init__(self, executor: PartExecutor, end_at: float) -> None:
        """`executor`: starts them; `end_at`: second of the epoch."""
        self._executor = executor
        self._end_at = end_at

    @property
    def is_over(self) -> bool:
        """Whether the slice is."""
        return time.time() >= self._end_at

    def start(self, part: JobPart, is_retry: bool) -> RunningPart | None:
        """Starts a part.

        Raises:
            OSError: it cannot be started, or it is too late.
        """
        if self.is_over:
            raise OSError("the slice is over")
        return self._executor.start(part, is_retry)


class PartsSaid(PartObserver):
    """Says each result once it is there."""

    def __init__(self, sliced: SlicedExecutor) -> None:
        """`sliced`: what starts the parts."""
        self._sliced = sliced
        self._said: dict[str, int] = {}

    def looked(self, part: JobPart) -> None:
        """What is new of a part."""
        file = part.folder / results.LINES
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        lines = text[:text.rfind("\n") + 1].splitlines()  # one that is not written to its end is for the next time
        for document in results.documents(lines[self._said.get(part.name, 0):]):
            put(f"{line(EntryResult.of(document))}\n", sys.stdout)
        self._said[part.name] = len(lines)

    def ended(self, part: JobPart, end: PartEnd) -> None:
        """A part that did not do what it had to is named."""
        self.looked(part)
        if end.status in (None, NOT_ALL) and self._sliced.is_over:
            return
        if end.cause or end.status not in (0, NOT_ALL):
            why = end.cause or f"it ended with status {end.status}"
            put(f"error: part {part.name}: {why} ({shown(part.folder / part.log)})\n", sys.stderr)


def carry_out(
    campaign: Campaign, folder: Path, slice_s: float, at_once: int, scheduler: str | None, stop: StopSignal,
    shrink_tries: int = 0,
) -> int:
    """Carries out what is left of a campaign, for so long; returns the exit status.

    Raises:
        Refusal: Dask's workers cannot.
    """
    parts = load_parts(folder)
    end_at = time.time() + slice_s
    left = [as_part(part, folder, end_at) for part in parts if not PartRun(part, folder / PARTS / part.name).is_done]
    say(f"campaign {campaign.name}: {sum(len(part.entries) for part in parts)} entries in {len(parts)} parts,"
        f" {len(left)} left; seed {campaign.seed}{', a dirty tree' if campaign.is_dirty else ''}"
        f"{f', mutant {campaign.mutant}' if campaign.mutant else ''}; {shown(folder)}")
    with executor(scheduler, folder, left) as carrying:
        sliced = SlicedExecutor(carrying, end_at)
        run_parts(sliced, left, at_once, stop, PartsSaid(sliced))
        found = results_of(parts, folder)
        if shrink_tries:
            run_parts(sliced, shrink_parts(campaign, found, folder, shrink_tries), at_once, stop, PartsSaid(sliced))
    entries = [entry for part in parts for entry in part.entries]
    conclude(campaign, entries, found, folder)
    return exit_status(entries, found)


def as_part(part: FaultPart, folder: Path, end_at: float) -> JobPart:
    """What carries a part out; it begins no entry after `end_at`, seconds of the epoch."""
    own = folder / PARTS / part.name
    end = () if end_at == float("inf") else ("--until", f"{end_at:.0f}")
    words = (PYTHON, "-m", "scripts.campaign.part", str(own / PART_FILE), str(own), "--deployed", str(folder / KEPT))
    return JobPart(part.name, (*words, *end), own)


def shrink_parts(campaign: Campaign, found: Sequence[EntryResult], folder: Path, tries: int) -> list[JobPart]:
    """What makes the drawn faults simpler that escaped, where that was not done."""
    parts = []
    for one in found:
        own = folder / SHRUNK_PARTS / one.entry.name
        if one.entry.source == GENERATED and one.judgement is EntryVerdict.ESCAPED and shrinking.read(own) is None:
            words = (PYTHON, "-m", "scripts.campaign.shrinking", campaign.seed, one.entry.name, str(own),
                     "--tries", str(tries), "--deployed", str(folder / KEPT))
            parts.append(JobPart(f"shrink-{one.entry.name}", words, own))
    return parts


def shrunk_of(folder: Path, found: Sequence[EntryResult]) -> dict[str, str]:
    """Key of an entry -> what it was made to, where it was."""
    known = {one.entry.key: shrinking.read(folder / SHRUNK_PARTS / one.entry.name) for one in found
             if one.entry.source == GENERATED}
    return {key: str(one) for key, one in known.items() if one is not None}


def results_of(parts: Sequence[FaultPart], folder: Path) -> list[EntryResult]:
    """What is known of the entries of parts."""
    return [result for part in parts for result in results.read(folder / PARTS / part.name / results.LINES)]


def conclude(
    campaign: Campaign, entries: Sequence[CampaignEntry], found: Sequence[EntryResult], folder: Path
) -> None:
    """Says the scores, and what is not as declared; writes page and table, and both into the reporting database."""
    planned: dict[str, int] = {}
    for entry in entries:
        planned[entry.source] = planned.get(entry.source, 0) + 1
    score = scores(planned.items(), found)
    for one in score:
        say(", ".join(f"{name}: {cell}" for name, cell in zip(COLUMNS, row(one), strict=True)))
    for result in not_as_declared(found):
        say(line(result))
        for sentence in result.diagnosis:
            say(f"    {sentence}")
    final = [one for one in found if one.is_alone or one.is_as_declared]
    for problem in record(campaign, entries, final, folder):
        say(f"not in a database: {problem}")
    reasons = shrunk_of(folder, found)
    for key, words in reasons.items():
        say(f"{key}: {words}")
    say(f"page: {shown(write_page(folder, campaign, score, found, reasons))}")
    say(f"table: {shown(write_table(folder, campaign, score, found, reasons))}")
    say(f"results: {shown(folder)}; what is left is measured with --resume {campaign.name}")


def exit_status(entries: Sequence[CampaignEntry], found: Sequence[EntryResult]) -> int:
    """0: all is as declared; 1: something is not; 2: something was not measured."""
    bad = [one for one in found if not one.is_as_declared]
    if any(one.judgement is not EntryVerdict.ERROR for one in bad):
        return 1
    return 2 if bad or len(found) < len(entries) else 0


def say(text: str) -> None:
    """A line for the user, if there is still one."""
    put(f"{text}\n", sys.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and status 3 for a refusal, no traceback."""
    return exit_status_of_parts("pfc-campaign", arguments, lambda stop: begin_or_resume(arguments, stop))


def begin_or_resume(arguments: Sequence[str] | None, stop: StopSignal) -> int:
    """The command.

    Raises:
        Refusal: it cannot be carried out.
    """
    options = parser().parse_args(arguments)
    if options.at_once is not None and options.at_once < 1:
        raise Refusal(f"--at-once is {options.at_once}, it takes a number from 1 on")
    base = Path(options.results).resolve()
    slice_s = parse_time(options.slice)
    if options.resume is None:
        campaign = new_campaign(options)
        campaign.write(base / campaign.name)
    else:
        given = ("sources", "count", "seed", "only", "mutant", "thorough")
        others = [f"--{name}" for name in given if getattr(options, name) is not None]
        if others:
            raise Refusal(f"--resume goes on with a campaign as it is: leave out {', '.join(others)}")
        campaign = load(base / options.resume)
    environment(base)
    return carry_out(campaign, base / campaign.name, slice_s, options.at_once or os.cpu_count() or 1,
                     options.scheduler, stop, options.shrink)


if __name__ == "__main__":
    sys.exit(main())
