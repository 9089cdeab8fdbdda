"""Compares the virtual switch with SONiC's own code, as far as checkouts of it are given: `make real-sonic`.

    SWSS       sonic-swss: the watchdog's scripts decide as the data plane does by itself

docs/real-sonic.md says what is compared and what came out. Nothing of SONiC is kept here.
Exit status: 0 nothing differs that is not known, 1 something does, 3 refused.
"""
from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.against_sonic import decisions, switches  # noqa: E402  (the path has to be there first)
from scripts.against_sonic.checkout import Checkout, CheckoutError, checkout  # noqa: E402
from scripts.suite import REFUSED  # noqa: E402
from virtual_testbed.sonic.watchdog_scripts import ScriptError  # noqa: E402

EQUAL, DIFFERS = 0, 1
LANDMARKS = {"swss": ("sonic-swss", "orchagent")}
"""What a checkout is one of, and what it has, by the option that names it."""


@dataclass(frozen=True)
class Part:
    """One comparison: which checkout it needs, what it is about, and what runs it, printing what it finds; it returns
    how much differs.
    """

    needs: str
    about: str
    run: Callable[[argparse.Namespace, Checkout], int]


def judge(found: decisions.Comparison) -> int:
    """Print what a platform came to; returns how much differs. Where nothing was decided nothing was compared."""
    print(f"  {found}", flush=True)
    decided = all(found.counts[event] for event in ("storm", "restore"))
    if not decided:
        print(f"  {found.platform}: no storm begins and ends in these: expected more of them")
    return len(found.differences) + (not decided)


def compare_decisions(options: argparse.Namespace, swss: Checkout) -> int:
    """Random histories, judged by both."""
    return sum(judge(decisions.compare(platform, swss.folder, options.histories, options.seed))
               for platform in decisions.platforms())


def compare_switches(options: argparse.Namespace, swss: Checkout) -> int:
    """Random testbeds, run both ways."""
    return sum(judge(switches.compare_testbeds(platform, swss.folder, options.testbeds))
               for platform in decisions.platforms())


PARTS = (
    Part("swss", "the watchdog's scripts and the data plane judge the same random histories", compare_decisions),
    Part("swss", "random testbeds with the scripts and without, all counters", compare_switches),
)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, (repository, _) in LANDMARKS.items():
        parser.add_argument(f"--{name}", default="", metavar="CHECKOUT", help=f"of {repository}")
    parser.add_argument("--histories", type=int, default=10_000, help="of each platform (default: %(default)s)")
    parser.add_argument("--testbeds", type=int, default=50, help="of each platform (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first histories (default: %(default)s)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs all parts whose checkout is given; returns the exit status."""
    options = parse(arguments)
    try:
        given = {name: checkout(repository, getattr(options, name), landmark)
                 for name, (repository, landmark) in LANDMARKS.items() if getattr(options, name)}
        print(f"{datetime.date.today().isoformat()}")
        for found in given.values():
            print(f"{found.repository}: {found.commit()}")
        return DIFFERS if sum(run(part, given, options) for part in PARTS) else EQUAL
    except (CheckoutError, ScriptError) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED


def run(part: Part, given: dict[str, Checkout], options: argparse.Namespace) -> int:
    """Runs a part, or says which checkout is missing; returns how much differs."""
    if part.needs not in given:
        print(f"skipped: {part.about}: no checkout of {LANDMARKS[part.needs][0]} "
              f"({part.needs.upper()}=<checkout>)")
        return 0
    print(f"{part.about}:", flush=True)
    return part.run(options, given[part.needs])


if __name__ == "__main__":
    sys.exit(main())
