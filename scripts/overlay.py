"""Copies what travels of this project into a sonic-mgmt checkout, or changes of it. docs/upstream.md says what that
is, and why.

Only new files are made: where one of them exists already nothing is copied, so no file of the checkout can change.
Exit status: 0 when everything is copied, 2 for a refusal (then the checkout is as it was).
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from scripts.output import put, settle
from scripts.series.changes import (
    ROOT, TRAVELS, SeriesChange, SeriesError, find_change, find_changes, series, travelling,
)
from scripts.series.evidence import read_evidence
from scripts.series.plan_document import document_of, plan_document

LANDMARKS = (
    "ansible",
    "tests/conftest.py",
    "tests/common/testbed.py",
    "tests/common/snappi_tests",
    "tests/snappi_tests/pfc",
)
"""What a sonic-mgmt checkout has."""
COPIED, REFUSED = 0, 2


class OverlayError(Exception):
    """The overlay cannot be made; the text is one sentence for the user."""


def check_checkout(checkout: Path, root: Path) -> None:
    """Refuses what is no sonic-mgmt checkout.

    Raises:
        OverlayError: says what was found.
    """
    if not checkout.is_dir():
        raise OverlayError(f"{checkout} is no folder: SONIC_MGMT has to be a checkout of sonic-mgmt")
    if checkout.samefile(root):
        raise OverlayError(f"{checkout} is this project itself: SONIC_MGMT has to be a checkout of sonic-mgmt")
    missing = [name for name in LANDMARKS if not (checkout / name).exists()]
    if missing:
        raise OverlayError(f"{checkout} is no sonic-mgmt checkout: it has no {', no '.join(missing)}")


def check_place(checkout: Path, name: str | Path) -> None:
    """Refuses what is there already (a broken link counts), and what would be outside the checkout."""
    place = checkout / name
    if os.path.lexists(place):
        raise OverlayError(
            f"{place} exists already: nothing is copied over what is there; remove it, or take a fresh checkout"
        )
    if not place.resolve().is_relative_to(checkout.resolve()):
        raise OverlayError(f"{place} is outside the checkout, at {place.resolve()}: nothing is copied through a link")


def check_needs(checkout: Path, chosen: Sequence[SeriesChange], changes: Sequence[SeriesChange]) -> None:
    """Refuses changes where one that they build on is not there, nor among them."""
    names = [change.step.name for change in chosen]
    needed = dict.fromkeys(need for change in chosen for need in change.needs if need not in names)
    missing = [need for need in needed if not is_there(checkout, need, changes)]
    if missing:
        builds = "builds" if len(names) == 1 else "build"
        raise OverlayError(f"{', '.join(names)} {builds} on {', '.join(missing)}, which {checkout} has not (or not"
                           f" all of it): copy SERIES={missing[0]} first")


def is_there(checkout: Path, name: str, changes: Sequence[SeriesChange]) -> bool:
    """Whether a checkout has all files of a change."""
    return all((checkout / file).is_file() for file in find_change(changes, name).all_files)


def write(checkout: Path, texts: Mapping[Path, bytes]) -> None:
    """Writes new files.

    Args:
        checkout: where.
        texts: file, relative to it -> what it holds.

    Raises:
        OverlayError: one could not be written; what had been written before it is removed again.
    """
    made: list[Path] = []
    try:
        for file, text in texts.items():
            place = checkout / file
            made += missing_parents(place)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text)
    except OSError as error:
        remove(made)
        raise OverlayError(f"{checkout} cannot be written, and is as it was: {error}") from error


def texts_of(root: Path, files: Iterable[Path]) -> dict[Path, bytes]:
    """What files hold."""
    return {file: (root / file).read_bytes() for file in files}


def remove(made: Sequence[Path]) -> None:
    """Removes files and folders that were made, the latest first."""
    for path in reversed(made):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)


def missing_parents(place: Path) -> list[Path]:
    """What has to be made for a place, itself included, the outermost first."""
    return [path for path in [*reversed(place.parents), place] if not path.exists()]


def overlay(checkout: Path, root: Path = ROOT) -> list[Path]:
    """Copies all that travels; returns the files, relative to the checkout.

    Raises:
        OverlayError: then the checkout is as it was.
    """
    check_checkout(checkout, root)
    for folder in TRAVELS:
        check_place(checkout, folder)
    files = travelling(root)
    write(checkout, texts_of(root, files))
    return files


def overlay_changes(checkout: Path, name: str, changes: Sequence[SeriesChange], root: Path = ROOT
                    ) -> list[SeriesChange]:
    """Copies the changes of the series that a name means, with their plan documents; returns them.

    Raises:
        OverlayError: then the checkout is as it was.
        SeriesError: there is none of that name.
    """
    chosen = find_changes(changes, name)
    check_checkout(checkout, root)
    check_needs(checkout, chosen, changes)
    texts: dict[Path, bytes] = {}
    evidence = read_evidence()
    for change in chosen:
        for file in (*change.all_files, document_of(change)):
            check_place(checkout, file)
        texts |= texts_of(root, change.all_files)
        texts[document_of(change)] = plan_document(root, change, evidence).encode()
    write(checkout, texts)
    return chosen


def commit_message(checkout: Path, change: SeriesChange) -> list[str]:
    """What the commit of a change may say; its last line signs off as who commits in the checkout."""
    asked = subprocess.run(["git", "-C", str(checkout), "var", "GIT_AUTHOR_IDENT"], capture_output=True, text=True,
                           check=False)
    author = asked.stdout.rpartition(">")[0] + ">" if asked.returncode == 0 else "YOUR NAME <YOUR ADDRESS>"
    return [f"[pfc] {change.step.title}", "",
            f"{change.step.name} of the series in {document_of(change).parent}. It can be taken by itself:",
            f"{change.step.alone}.", "", f"Signed-off-by: {author}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and status 2 for a refusal, no traceback."""
    parser = argparse.ArgumentParser(prog="overlay", description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT", help="a checkout of sonic-mgmt")
    parser.add_argument("--series", metavar="STEP", help="one change, on top of those before it: core-1, core-2, ...;"
                        " core, sweep, ...: all of that name")
    given = parser.parse_args(arguments)
    checkout = given.checkout.expanduser().absolute()
    try:
        lines = some_changes(checkout, given.series) if given.series else everything(checkout)
    except (OverlayError, SeriesError) as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return REFUSED
    put("\n".join(lines) + "\n", sys.stdout)
    settle(sys.stdout)
    return COPIED


def everything(checkout: Path) -> list[str]:
    """Copies all that travels; returns what is printed."""
    files = overlay(checkout)
    return [f"{len(files)} files copied to {checkout}, in {len(TRAVELS)} new folders:",
            *(f"  {folder} ({sum(file.is_relative_to(folder) for file in files)})" for folder in TRAVELS)]


def some_changes(checkout: Path, name: str) -> list[str]:
    """Copies what a name means; returns what is printed."""
    lines = []
    for change in overlay_changes(checkout, name, series()):
        lines += [f"{change.step.name}: {len(change.files)} files with {change.lines} lines,"
                  f" {len(change.unit_tests)} of unit tests and {document_of(change)} copied to {checkout}", "",
                  *commit_message(checkout, change), ""]
    return lines[:-1]


if __name__ == "__main__":
    sys.exit(main())
