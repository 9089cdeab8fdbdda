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
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from scripts.campaign import results
from scripts.campaign.entries import GENERATED, HEALTHY, MUSEUM, SOURCES
from scripts.campaign.mutants import MUTANTS
from scripts.campaign.part import NOT_ALL, FaultPart, PartRun, line
from scripts.campaign.plan import KEPT, PARTS, Campaign, commit_under_test, has_museum, load
from scripts.campaign.results import EntryResult, Judgement
from scripts.campaign.scores import COLUMNS, not_as_declared, row, scores
from scripts.output import put, settle
from scripts.parts.local import LocalExecutor
from scripts.parts.part import PYTHON, Part, PartEnd
from scripts.parts.running import PartExecutor, PartObserver, run_parts
from scripts.parts.stop import StopSignal
from scripts.suite import REFUSED
from scripts.testbeds import (
    CommandParser, Refusal, adopt_orphans, end_orphans, environment, note_command, reason, shown,
)
from tests.common.clone import RESULTS
from tests.common.pfc.record.records import new_run_id

COUNTS = {GENERATED: 60, HEALTHY: 20}
"""How many are drawn unless the user says so."""
UNITS = {"s": 1, "m": 60, "h": 3600}
EXAMPLES = """
examples:
  pfc-campaign                                               everything, in parts of this machine's processors
  pfc-campaign --sources generated --count 1000 --slice 60m  an hour of it
  pfc-campaign --resume 20261124-2200                        go on with it
  pfc-campaign --sources catalogue --mutant no-accounting    what the suite sees with one thing less
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
    made.add_argument("--mutant", metavar="NAME", choices=sorted(MUTANTS),
                      help=f"weaken the suite in one place: {', '.join(sorted(MUTANTS))}")
    made.add_argument("--slice", default="", metavar="TIME",
                      help="begin nothing after this time: 50s, 60m or 2h (default: go on to the end)")
    made.add_argument("--resume", metavar="NAME", help="go on with a campaign")
    made.add_argument("--at-once", type=int, metavar="N", help="parts at the same time (default: one a processor)")
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
                        options.mutant or "", only)
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


class PartsSaid(PartObserver):
    """Says each result once it is there."""

    def __init__(self, folder: Path) -> None:
        """`folder`: of the campaign."""
        self._folder = folder
        self._said: dict[str, int] = {}

    def looked(self, part: Part) -> None:
        """What is new of a part."""
        file = part.folder / results.LINES
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        for text in lines[self._said.get(part.name, 0):]:
            put(f"{line(EntryResult.of(json.loads(text)))}\n", sys.stdout)
        self._said[part.name] = len(lines)

    def ended(self, part: Part, end: PartEnd) -> None:
        """A part that did not do what it had to is named."""
        self.looked(part)
        if end.cause or end.status not in (0, NOT_ALL):
            why = end.cause or f"it ended with status {end.status}"
            put(f"error: part {part.name}: {why} ({shown(part.folder / part.log)})\n", sys.stderr)


def carry_out(
    campaign: Campaign, folder: Path, slice_s: float, at_once: int, executor: PartExecutor, stop: StopSignal
) -> int:
    """Carries out what is left of a campaign, for so long; returns the exit status."""
    parts = campaign.parts()
    end_at = time.time() + slice_s
    left = [as_part(part, folder, end_at) for part in parts if not PartRun(part, folder / PARTS / part.name).is_done]
    say(f"campaign {campaign.name}: {sum(len(part.entries) for part in parts)} entries in {len(parts)} parts,"
        f" {len(left)} left; seed {campaign.seed}{', a dirty tree' if campaign.is_dirty else ''}"
        f"{f', mutant {campaign.mutant}' if campaign.mutant else ''}; {shown(folder)}")
    run_parts(executor, left, at_once, stop, PartsSaid(folder))
    found = results_of(campaign, folder)
    conclude(campaign, found, folder)
    return exit_status(campaign, found)


def as_part(part: FaultPart, folder: Path, end_at: float) -> Part:
    """What carries a part out; it begins no entry after `end_at`, seconds of the epoch."""
    own = folder / PARTS / part.name
    own.mkdir(parents=True, exist_ok=True)
    file = own / "part.json"
    file.write_text(json.dumps(part.document()) + "\n", encoding="utf-8")
    end = "never" if end_at == float("inf") else f"{end_at:.0f}"
    return Part(part.name, (PYTHON, "-m", "scripts.campaign.part", str(file), str(own), str(folder / KEPT), end), own)


def results_of(campaign: Campaign, folder: Path) -> list[EntryResult]:
    """What is known of the entries of a campaign."""
    return [result for part in campaign.parts() for result in results.read(folder / PARTS / part.name / results.LINES)]


def conclude(campaign: Campaign, found: Sequence[EntryResult], folder: Path) -> None:
    """Says the scores, and what is not as declared."""
    planned: dict[str, int] = {}
    for entry in campaign.entries():
        planned[entry.source] = planned.get(entry.source, 0) + 1
    for score in scores(planned.items(), found):
        say(", ".join(f"{name}: {cell}" for name, cell in zip(COLUMNS, row(score), strict=True)))
    for result in not_as_declared(found):
        say(line(result))
        for sentence in result.diagnosis:
            say(f"    {sentence}")
    say(f"results: {shown(folder)}")


def exit_status(campaign: Campaign, found: Sequence[EntryResult]) -> int:
    """0: all is as declared; 1: something is not; 2: something was not measured."""
    bad = [one for one in found if not one.is_as_declared]
    if any(one.judgement is not Judgement.ERROR for one in bad):
        return 1
    return 2 if bad or len(found) < len(campaign.entries()) else 0


def say(text: str) -> None:
    """A line for the user, if there is still one."""
    put(f"{text}\n", sys.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and status 3 for a refusal, no traceback."""
    stop = StopSignal()
    stop.catch()
    adopt_orphans()
    note_command("pfc-campaign", arguments)
    try:
        options = parser().parse_args(arguments)
        if options.at_once is not None and options.at_once < 1:
            raise Refusal(f"--at-once is {options.at_once}, it takes a number from 1 on")
        base = Path(options.results).resolve()
        slice_s = parse_time(options.slice)
        if options.resume is None:
            campaign = new_campaign(options)
            campaign.write(base / campaign.name)
        else:
            given = ("sources", "count", "seed", "only", "mutant")
            others = [f"--{name}" for name in given if getattr(options, name) is not None]
            if others:
                raise Refusal(f"--resume goes on with a campaign as it is: leave out {', '.join(others)}")
            campaign = load(base / options.resume)
        environment(base)
        return carry_out(campaign, base / campaign.name, slice_s, options.at_once or os.cpu_count() or 1,
                         LocalExecutor(), stop)
    except (Refusal, OSError) as error:
        put(f"error: {reason(error) if isinstance(error, OSError) else error}\n", sys.stderr)
        return REFUSED
    finally:
        end_orphans()
        for out in (sys.stdout, sys.stderr):
            settle(out)


if __name__ == "__main__":
    sys.exit(main())
