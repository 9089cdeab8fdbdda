"""Makes an escape as simple as it can be: one thing less that was drawn, or a value nearer to the plain one, as long as
the suite still sees nothing.

By hand: `python -m scripts.campaign.shrinking SEED NAME FOLDER`. Exit status: 0 done, 2 interrupted, 3 refused.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scripts.campaign import results
from scripts.campaign.generated import DrawnFault, drawn, entry_of_faults, simpler
from scripts.campaign.part import NOT_ALL, FaultPart, PartRun
from scripts.campaign.results import EntryVerdict
from scripts.command import exit_status_of
from scripts.output import put
from scripts.testbeds import CommandParser, catch_signals

SHRUNK = "shrunk.json"
Faults = tuple[DrawnFault, ...]


@dataclass(frozen=True)
class Shrunk:
    """What an escape was made to.

    Attributes:
        name: of the entry.
        faults: the simplest that still escapes.
        caught: the simpler ones that were tried and do not.
        is_simplest: whether nothing simpler is left to try.
    """

    name: str
    faults: tuple[str, ...]
    caught: tuple[str, ...]
    is_simplest: bool

    def __str__(self) -> str:
        """For people."""
        seen = f"; seen: {', '.join(self.caught)}" if self.caught else ""
        return f"simplest that escapes{'' if self.is_simplest else ' so far'}: {' '.join(self.faults)}{seen}"


def shrink(name: str, faults: Faults, escapes: Callable[[Faults], bool], tries: int) -> Shrunk:
    """Looks for simpler faults that still escape.

    Args:
        name: of the entry.
        faults: that escape.
        escapes: whether some do.
        tries: how often it may be asked.
    """
    caught: list[str] = []
    tried = {_called(faults)}
    is_simplest = False
    while not is_simplest and tries > 0:
        is_simplest = True
        for candidate in simpler(faults):
            if _called(candidate) in tried:
                continue
            if tries == 0:
                is_simplest = False
                break
            tries -= 1
            tried.add(_called(candidate))
            if escapes(candidate):
                faults = candidate
                is_simplest = False
                break
            caught.append(_called(candidate))
    return Shrunk(name, tuple(fault.specification for fault in faults), tuple(caught), is_simplest)


def _called(faults: Faults) -> str:
    return " ".join(fault.specification for fault in faults)


def read(folder: Path) -> Shrunk | None:
    """What was found in a folder; None: nothing yet."""
    file = folder / SHRUNK
    if not file.exists():
        return None
    found = json.loads(file.read_text(encoding="utf-8"))
    return Shrunk(found["name"], tuple(found["faults"]), tuple(found["caught"]), found["is_simplest"])


def measured(folder: Path, kept: Path | None) -> Callable[[Faults], bool]:
    """Asks the suite, each in a testbed where nothing else is broken; what was asked before is known."""
    def escapes(faults: Faults) -> bool:
        entry = entry_of_faults(_called(faults), faults)
        known = {one.entry.name: one for one in results.read(folder / results.LINES)}
        if entry.name not in known:
            PartRun(FaultPart("try", (entry,), again=False), folder, kept).run()
            known = {one.entry.name: one for one in results.read(folder / results.LINES)}
        return known[entry.name].judgement is EntryVerdict.ESCAPED
    return escapes


def parser() -> CommandParser:
    """The command line."""
    made = CommandParser(prog="python -m scripts.campaign.shrinking", description=__doc__, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("seed", metavar="SEED", help="of the campaign")
    made.add_argument("name", type=int, metavar="NAME", help="number of the entry that escaped, as 0017")
    made.add_argument("folder", type=Path, metavar="FOLDER", help="of what comes of it")
    made.add_argument("--tries", type=int, default=20, metavar="N", help="runs of the plan at most (default: 20)")
    made.add_argument("--deployed", type=Path, metavar="DIR", help="where parts keep what Ansible deployed")
    return made


def shrink_entry(arguments: Sequence[str] | None) -> int:
    """The command.

    Raises:
        Refusal: its command line is not understood, or a testbed does not come up.
    """
    catch_signals()
    options = parser().parse_args(arguments)
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    asked = measured(folder, options.deployed.resolve() if options.deployed else None)
    try:
        found = shrink(f"{options.name:04}", drawn(options.seed, options.name), asked, options.tries)
    except KeyboardInterrupt:
        put("interrupted\n", sys.stderr)
        return NOT_ALL
    (folder / SHRUNK).write_text(json.dumps(asdict(found)) + "\n", encoding="utf-8")
    put(f"{found}\n", sys.stdout)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and status 3 for a refusal, no traceback."""
    return exit_status_of(lambda: shrink_entry(arguments))


if __name__ == "__main__":
    sys.exit(main())
