"""Runs sonic-mgmt's own checks and the unit tests on each change of the series, in a copy of a checkout.

The copy has a change and the changes that it builds on, no others. Exit status: 0 when no check failed, 1 when one
did, 2 for a refusal. What could not be run is named, with its reason.
"""
from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tabulate import tabulate

from scripts.against_sonic.environment import InstallationError, make_environment
from scripts.overlay import OverlayError, check_checkout, check_place
from scripts.series.changes import (
    MOST_LINES, ROOT, TRAVELS, SeriesChange, SeriesError, find_change, find_changes, series,
)
from scripts.series.checks import FAILED, NOTHING, PASSED, SKIPPED, ChangedTree, CheckOutcome, Pythons, outcomes
from scripts.series.evidence import read_evidence
from scripts.series.hooks import Hook, packages_of, read_hooks
from scripts.series.plan_document import document_of, plan_document
from scripts.upstream.python_3_12 import ENVIRONMENT

TOOLS = ROOT / ".venv-series"
LEFT = shutil.ignore_patterns(".git", "__pycache__", "*.pyc", ".pytest_cache", "_cache", "logs")
WIDTH = 12
"""Of a column's head."""
ALL_PASSED, SOME_FAILED, REFUSED = 0, 1, 2


def copy_checkout(checkout: Path, to: Path) -> None:
    """Copies a checkout without its history, as a repository of its own: a hook asks git what is new."""
    shutil.copytree(checkout, to, symlinks=True, ignore=LEFT)
    subprocess.run(["git", "init", "-q", str(to)], check=True)


def put_in(tree: Path, root: Path, changes: Iterable[SeriesChange]) -> None:
    """Makes the copy have these changes and no others; what they bring is in git's index."""
    for folder in (*TRAVELS, str(document_of(next(iter(changes))).parent)):
        shutil.rmtree(tree / folder, ignore_errors=True)
    (tree / ".git/index").unlink(missing_ok=True)
    for change in changes:
        for file in change.all_files:
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / file, tree / file)
        document = tree / document_of(change)
        document.parent.mkdir(parents=True, exist_ok=True)
        document.write_text(plan_document(root, change, read_evidence()), encoding="utf-8")
        added = [str(file) for file in (*change.all_files, document_of(change))]
        subprocess.run(["git", "-C", str(tree), "add", "-f", *added], check=True)


def find_pythons(hooks: Sequence[Hook]) -> Pythons:
    """The environments; that of the hooks is made, with the package index, where it is not there."""
    theirs = ENVIRONMENT / "bin/python"
    found = theirs if ENVIRONMENT.with_name(f"{ENVIRONMENT.name}.packages").is_file() else None
    try:
        make_environment(TOOLS, packages_of(hooks))
    except (InstallationError, OSError) as error:
        return Pythons(None, found, Path(sys.executable), f"the programs cannot be installed: {error}")
    return Pythons(TOOLS / "bin", found, Path(sys.executable))


def too_long(root: Path, change: SeriesChange) -> CheckOutcome:
    """Whether a change is small enough to be read: its modules, and its plan document."""
    lines = change.lines + plan_document(root, change, read_evidence()).count("\n")
    said = f"{lines} lines without unit tests; at most {MOST_LINES} can be reviewed"
    return CheckOutcome("lines", FAILED, said) if lines > MOST_LINES else CheckOutcome("lines", str(lines))


def check_series(checkout: Path, name: str, root: Path = ROOT) -> dict[str, list[CheckOutcome]]:
    """Checks each change, or those that a name means; returns its name -> what came of each check.

    Raises:
        OverlayError, SeriesError: nothing can be checked.
    """
    changes = series(root)
    chosen = find_changes(changes, name) if name else changes
    check_checkout(checkout, root)
    for folder in TRAVELS:
        check_place(checkout, folder)
    hooks = read_hooks(checkout)
    pythons = find_pythons(hooks)
    found = {}
    with tempfile.TemporaryDirectory(prefix="series-") as scratch:
        tree = Path(scratch) / "sonic-mgmt"
        copy_checkout(checkout, tree)
        for change in chosen:
            needed = [find_change(changes, one) for one in change.needs]
            put_in(tree, root, [*needed, change])
            changed = ChangedTree(tree, change)
            found[change.step.name] = [too_long(root, change), *outcomes(changed, hooks, pythons)]
            print("\n".join(said_of(change, found[change.step.name])), flush=True)
    return found


def said_of(change: SeriesChange, found: Iterable[CheckOutcome]) -> list[str]:
    """What is said of a change while others are still being checked."""
    failed = [one for one in found if one.result == FAILED]
    heads = ", ".join(one.check for one in failed)
    return [f"{change.step.name}: {heads} failed" if failed else f"{change.step.name}: no check failed",
            *(f"  {line}" for one in failed for line in one.said.splitlines())]


def report(found: dict[str, list[CheckOutcome]]) -> list[str]:
    """The table of the checks that look at some change, then what was skipped."""
    names = [one.check for one in next(iter(found.values()))]
    shown = [place for place in range(len(names)) if any(row[place].result != NOTHING for row in found.values())]
    rows = [[name, *(row[place].result for place in shown)] for name, row in found.items()]
    headers = ["", *(names[place] for place in shown)]
    lines = ["", tabulate(rows, headers=headers, maxheadercolwidths=WIDTH), ""]
    idle = dict.fromkeys(name for place, name in enumerate(names) if place not in shown)
    if idle:
        lines.append(f"for files that no change here has: {', '.join(idle)}")
    skipped = {(one.check, one.said) for row in found.values() for one in row if one.result == SKIPPED}
    lines += [f"skipped: {check}: {said}" for check, said in sorted(skipped)]
    passed = sum(one.result == PASSED for row in found.values() for one in row)
    failed = sum(one.result == FAILED for row in found.values() for one in row)
    return [*lines, f"{len(found)} changes: {passed} checks passed, {failed} failed, {len(skipped)} kinds not run"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="series-check", description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT", help="a checkout of sonic-mgmt")
    parser.add_argument("--series", default="", metavar="STEP",
                        help="one change, or all of a name without its number (default: each)")
    given = parser.parse_args(arguments)
    try:
        found = check_series(given.checkout.expanduser().absolute(), given.series)
    except (OverlayError, SeriesError) as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return REFUSED
    print("\n".join(report(found)))
    failed = any(one.result == FAILED for row in found.values() for one in row)
    return SOME_FAILED if failed else ALL_PASSED


if __name__ == "__main__":
    sys.exit(main())
