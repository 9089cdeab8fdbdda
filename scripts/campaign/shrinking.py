"""Makes an escape as simple as it can be: one thing less that was drawn, or a value nearer to the plain one, as long as
the suite still sees nothing.

Run by hand: `python -m scripts.campaign.shrinking SEED NAME TRIES FOLDER [DEPLOYED]`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scripts.campaign import results
from scripts.campaign.generated import DrawnFault, drawn, entry_of_faults, simpler
from scripts.campaign.part import FaultPart, PartRun
from scripts.campaign.results import EntryVerdict
from scripts.output import put
from scripts.suite import REFUSED
from scripts.testbeds import Refusal, adopt_orphans, catch_signals, end_orphans

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Shrinks an entry; what came of it is in the folder."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if len(given) not in (4, 5) or not given[1].isdigit() or not given[2].isdigit():
        put("error: expected SEED NAME TRIES FOLDER [DEPLOYED]\n", sys.stderr)
        return REFUSED
    seed, name, tries, folder = given[:4]
    catch_signals()
    adopt_orphans()
    try:
        where = Path(folder).resolve()
        where.mkdir(parents=True, exist_ok=True)
        asked = measured(where, Path(given[4]).resolve() if len(given) == 5 else None)
        found = shrink(name, drawn(seed, int(name)), asked, int(tries))
        (where / SHRUNK).write_text(json.dumps(asdict(found)) + "\n", encoding="utf-8")
        put(f"{found}\n", sys.stdout)
        return 0
    except (Refusal, OSError, ValueError) as error:
        put(f"error: {' '.join(str(error).split())}\n", sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        put("interrupted\n", sys.stderr)
        return REFUSED
    finally:
        end_orphans()


if __name__ == "__main__":
    sys.exit(main())
