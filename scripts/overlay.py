"""Copies what travels of this project into a sonic-mgmt checkout. docs/upstream.md says what that is, and why.

Only new folders are made: where one of them exists already nothing is copied, so no file of the checkout can change.
Exit status: 0 when everything is copied, 2 for a refusal (then the checkout is as it was).
"""
from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRAVELS = (
    "tests/common/pfc",
    "tests/common/unit_tests/pfc",
    "tests/snappi_tests/pfc/qualification",
    "tests/snappi_tests/unit_tests/qualification",
    "test_reporting/pfc",
)
"""The folders that are copied, relative to both roots."""
LANDMARKS = (
    "ansible",
    "tests/conftest.py",
    "tests/common/testbed.py",
    "tests/common/snappi_tests",
    "tests/snappi_tests/pfc",
)
"""What a sonic-mgmt checkout has."""
SUFFIXES = (".py", ".json", ".md", ".kql", ".j2", ".css", ".js")
COPIED, REFUSED = 0, 2


class OverlayError(Exception):
    """The overlay cannot be made; the text is one sentence for the user."""


def travelling(root: Path) -> list[Path]:
    """The files that travel, relative to `root`: sources and data, nothing that Python or pytest wrote beside them."""
    found = [path for folder in TRAVELS for path in sorted((root / folder).rglob("*"))]
    return [path.relative_to(root) for path in found if path.is_file() and path.suffix in SUFFIXES]


def check_checkout(checkout: Path, root: Path) -> None:
    """Refuses what is no sonic-mgmt checkout, and one that has something where a folder would go.

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
    for folder in TRAVELS:
        check_place(checkout, folder)


def check_place(checkout: Path, folder: str) -> None:
    """Refuses a folder that is there already (a broken link counts), and one that would be outside the checkout."""
    place = checkout / folder
    if os.path.lexists(place):
        raise OverlayError(
            f"{place} exists already: nothing is copied over what is there; remove it, or take a fresh checkout"
        )
    if not place.resolve().is_relative_to(checkout.resolve()):
        raise OverlayError(f"{place} is outside the checkout, at {place.resolve()}: nothing is copied through a link")


def copy(root: Path, checkout: Path) -> list[Path]:
    """Copies what travels; returns the files, relative to the checkout.

    Raises:
        OverlayError: a file could not be written; what had been copied before it is removed again.
    """
    files = travelling(root)
    made = [parent for folder in TRAVELS for parent in missing_parents(checkout / folder)]
    try:
        for file in files:
            (checkout / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / file, checkout / file)
    except OSError as error:
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)
        raise OverlayError(f"{checkout} cannot be written, and is as it was: {error}") from error
    return files


def missing_parents(place: Path) -> list[Path]:
    """The folders that have to be made for a place, itself included, the outermost first."""
    return [path for path in [*reversed(place.parents), place] if not path.exists()]


def overlay(checkout: Path, root: Path = ROOT) -> list[Path]:
    """Makes the overlay; returns the files that were copied, relative to the checkout.

    Raises:
        OverlayError: then the checkout is as it was.
    """
    check_checkout(checkout, root)
    return copy(root, checkout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and status 2 for a refusal, no traceback."""
    parser = argparse.ArgumentParser(prog="overlay", description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT", help="a checkout of sonic-mgmt")
    checkout = parser.parse_args(arguments).checkout.expanduser().absolute()
    try:
        files = overlay(checkout)
    except OverlayError as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return REFUSED
    print(f"{len(files)} files copied to {checkout}, in {len(TRAVELS)} new folders:")
    for folder in TRAVELS:
        print(f"  {folder} ({sum(file.is_relative_to(folder) for file in files)})")
    return COPIED


if __name__ == "__main__":
    sys.exit(main())
