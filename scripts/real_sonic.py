"""Compares the virtual switch with SONiC's own code, as far as checkouts of it are given: `make real-sonic`.

    SWSS         sonic-swss: the watchdog's scripts decide as the data plane does by itself
    UTILITIES    sonic-utilities, with BUILDIMAGE (sonic-buildimage): its commands run on the virtual switch and print
                 what the virtual switch's own do; what its tests expect to be printed the suite understands or refuses

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

from scripts.against_sonic import decisions, literals, switches, tools  # noqa: E402  (the path has to be there first)
from scripts.against_sonic.checkout import Checkout, CheckoutError, checkout  # noqa: E402
from scripts.against_sonic.deviations import DEVIATIONS  # noqa: E402
from scripts.against_sonic.field_bugs import field_bugs  # noqa: E402
from scripts.against_sonic.installation import Installation, InstallationError  # noqa: E402
from scripts.suite import REFUSED  # noqa: E402
from virtual_testbed.sonic.watchdog_scripts import ScriptError  # noqa: E402

EQUAL, DIFFERS = 0, 1
LANDMARKS = {"swss": ("sonic-swss", "orchagent"), "utilities": ("sonic-utilities", "scripts/pfcstat"),
             "buildimage": ("sonic-buildimage", "src/sonic-py-common/sonic_py_common")}
"""What a checkout is one of, and what it has, by the option that names it."""


@dataclass(frozen=True)
class Against:
    """One comparison: which checkouts it needs, what it is about, and what runs it, printing what it finds; it returns
    how much differs.
    """

    needs: tuple[str, ...]
    about: str
    run: Callable[..., int]


def judge(found: decisions.PlatformComparison) -> int:
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


def show_field_bugs(options: argparse.Namespace, swss: Checkout) -> int:
    """Bugs of the scripts show as they were reported."""
    found = list(field_bugs(swss.folder))
    for shown in found:
        print(f"  {shown.bug}: {shown.seen}: {'as reported' if shown.is_as_reported else 'NOT as reported'}")
    return sum(not shown.is_as_reported for shown in found)


def compare_commands(options: argparse.Namespace, utilities: Checkout, buildimage: Checkout) -> int:
    """sonic-utilities' commands and the virtual switch's own."""
    found = tools.compare_tools(Installation(utilities, buildimage))
    print(f"  {found.compared} outputs in seven states, {found.equal} equal, {len(found.differences)} differ")
    for deviation in DEVIATIONS:
        print(f"  known since {deviation.seen}, {found.known.get(deviation, 0)} outputs: {deviation.why}")
    for difference in found.differences:
        print(f"  {difference}")
    unmet = [deviation for deviation in DEVIATIONS if deviation not in found.known]
    for deviation in unmet:
        print(f"  nothing differs so any more: {deviation.why}: take it out of the list")
    return len(found.differences) + len(unmet)


def compare_readings(options: argparse.Namespace, utilities: Checkout) -> int:
    """What sonic-utilities' tests expect its commands to print."""
    found = literals.read_literals(utilities.folder)
    print(f"  {found.literals} texts, {len(found.broken)} neither understood nor refused in one sentence")
    for name, count in found.understood.items():
        print(f"  understood as {name}: {count}")
    for sentence in found.broken:
        print(f"  {sentence}")
    return len(found.broken) + (found.literals == 0)


PARTS = (
    Against(("swss",), "the watchdog's scripts and the data plane judge the same random histories", compare_decisions),
    Against(("swss",), "random testbeds with the scripts and without, all counters", compare_switches),
    Against(("swss",), "field bugs of the watchdog's scripts", show_field_bugs),
    Against(("utilities", "buildimage"), "sonic-utilities' commands on the virtual switch", compare_commands),
    Against(("utilities",), "what sonic-utilities' tests expect to be printed, read by the suite", compare_readings),
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
    except (CheckoutError, InstallationError, ScriptError) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED


def run(part: Against, given: dict[str, Checkout], options: argparse.Namespace) -> int:
    """Runs a part, or says which checkout is missing; returns how much differs."""
    missing = [name for name in part.needs if name not in given]
    if missing:
        wanted = " and ".join(f"{LANDMARKS[name][0]} ({name.upper()}=<checkout>)" for name in missing)
        print(f"skipped: {part.about}: no checkout of {wanted}")
        return 0
    print(f"{part.about}:", flush=True)
    return part.run(options, *(given[name] for name in part.needs))


if __name__ == "__main__":
    sys.exit(main())
