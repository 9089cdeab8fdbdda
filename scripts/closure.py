"""Prints what a module of the suite draws in: its import closure, by room, and what the options beside the core add.

Every import in the text counts, also one inside a function; one by a computed name does not. So does the package
(`__init__.py`) that a module is in. `python scripts/closure.py --help` says what can be given.
"""
from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULE = "tests/snappi_tests/pfc/qualification/test_pfc_plan.py"
LOGIC = "tests/common/pfc"
SEAM = "tests/snappi_tests/pfc/qualification"
DATABASES = "test_reporting/pfc"
CORE_ROOMS = ("record", "model", "lab", "cases")
CORE = (LOGIC, *(f"{LOGIC}/{name}" for name in CORE_ROOMS))
OK, REFUSED = 0, 2


class ClosureError(Exception):
    """Nothing can be counted; the text is one sentence for the user."""


@dataclass
class Closure:
    """What some files import, directly and in turn.

    Attributes:
        root: the checkout.
        importers: file, relative to the checkout -> the files that import it; none: it was given.
    """

    root: Path
    importers: dict[Path, list[Path]] = field(default_factory=dict)

    def lines(self, files: Iterable[Path]) -> int:
        """How many lines files have together."""
        return sum(lines_of(self.root / file) for file in files)

    def rooms(self) -> dict[str, list[Path]]:
        """The files of each room."""
        found: dict[str, list[Path]] = {}
        for file in sorted(self.importers):
            found.setdefault(room_of(file), []).append(file)
        return found


def lines_of(path: Path) -> int:
    """How many lines a file has."""
    return len(path.read_text(encoding="utf-8").splitlines())


def room_of(file: Path) -> str:
    """The room that a file is in: a folder of the qualification's logic, the seam, or another part of the project."""
    if file.is_relative_to(SEAM):
        return SEAM
    if file.is_relative_to(LOGIC):
        inner = file.relative_to(LOGIC).parts
        return f"{LOGIC}/{inner[0]}" if len(inner) > 1 else LOGIC
    if file.is_relative_to("tests"):
        return "tests (the fixture layer)"
    return file.parts[0]


def is_qualification(room: str) -> bool:
    """Whether a room is one of those that go into a sonic-mgmt tree: the seam, and the qualification's logic."""
    return room in (SEAM, LOGIC) or room.startswith(f"{LOGIC}/")


def closure_of(root: Path, files: Collection[Path], without: str = "") -> Closure:
    """What files of a checkout import, directly and in turn, they themselves included.

    Args:
        root: the checkout.
        files: the files, relative to it.
        without: a folder whose files are not there; empty: all are.

    Raises:
        ClosureError: one is not there.
    """
    for file in files:
        if not (root / file).is_file():
            raise ClosureError(f"{root / file} is not there: give a module of the suite, as {MODULE}")
    found = Closure(root, {file: [] for file in files})
    waiting = list(files)
    while waiting:
        importer = waiting.pop()
        for file in imported(root, importer):
            if without and file.is_relative_to(without):
                continue
            if file not in found.importers:
                found.importers[file] = []
                waiting.append(file)
            if importer not in found.importers[file]:
                found.importers[file].append(importer)
    return found


def imported(root: Path, file: Path) -> list[Path]:
    """The files of a checkout that a file imports, with the packages that these are in."""
    found: dict[Path, None] = {}
    for names in imports(root, file):
        for name in names:
            found |= dict.fromkeys(modules_on_the_way(root, name))
    found.pop(file, None)
    return list(found)


def imports(root: Path, file: Path) -> Iterator[list[str]]:
    """The full names of what each import statement of a file imports; `from a import b` is `a` and `a.b`."""
    package = ".".join(file.parent.parts)
    for node in ast.walk(ast.parse((root / file).read_text(encoding="utf-8"), filename=str(file))):
        if isinstance(node, ast.Import):
            yield [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[:len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            yield [base, *(f"{base}.{alias.name}" for alias in node.names)]


def modules_on_the_way(root: Path, name: str) -> Iterator[Path]:
    """The files that importing a dotted name executes, its packages first; nothing where it is none of the
    checkout's."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        place = Path(*parts[:end])
        for file in (place / "__init__.py", place.with_suffix(".py")):
            if (root / file).is_file():
                yield file


def seam_of(root: Path, module: Path) -> list[Path]:
    """A test module, and the `conftest.py` beside it."""
    beside = module.parent / "conftest.py"
    return [module, beside] if (root / beside).is_file() and beside != module else [module]


def options_of(root: Path) -> list[str]:
    """The options that are beside the core."""
    rooms = (path.name for path in (root / LOGIC).iterdir() if path.is_dir() and list(path.rglob("*.py")))
    return sorted(room for room in rooms if room not in CORE_ROOMS)


def core_of(closure: Closure) -> list[Path]:
    """The files of the core and of the seam in a closure as it is in a sonic-mgmt tree, where `test_reporting/pfc` is
    not: its verdicts go through that tree's reporters and JSON lines there."""
    given = [file for file, importers in closure.importers.items() if not importers]
    there = closure_of(closure.root, given, without=DATABASES)
    return [file for file in there.importers if room_of(file) in (*CORE, SEAM)]


def added_by(closure: Closure, option: str) -> list[Path]:
    """The files that an option adds to a closure: its folder, the seam's files that import it, and what these import
    that is not in the closure. Test modules are not among them."""
    root = closure.root
    folder = Path(LOGIC) / option
    own = [path.relative_to(root) for path in (root / folder).rglob("*.py")]
    seam = [path.relative_to(root) for path in (root / SEAM / "files").glob("*.py")]
    plugins = [file for file in seam if any(one.is_relative_to(folder) for one in imported(root, file))]
    whole = closure_of(root, [*own, *plugins])
    return [file for file in whole.importers if file not in closure.importers]


def report(closure: Closure, by_size: bool) -> list[str]:
    """What is printed of a closure."""
    rooms = closure.rooms()
    lines = [f"{'room':<42}{'files':>7}{'lines':>8}"]
    lines += [_row(room, files, closure) for room, files in rooms.items()]
    lines.append(_row("all of it", list(closure.importers), closure))
    own = [file for room, files in rooms.items() if is_qualification(room) for file in files]
    lines.append(_row("the seam and the qualification logic", own, closure))
    core = [file for file in own if room_of(file) in CORE]
    lines.append(_row("of that, the core", core, closure))
    lines.append(_row("core and seam, where no database is", core_of(closure), closure))
    options = {option: added_by(closure, option) for option in options_of(closure.root)}
    lines += [_row(f"the option {option} adds", files, closure) for option, files in options.items()]
    return lines + (list(_by_size(closure)) if by_size else [])


def _row(name: str, files: Sequence[Path], closure: Closure) -> str:
    return f"{name:<42}{len(files):>7}{closure.lines(files):>8}"


def _by_size(closure: Closure) -> Iterator[str]:
    """Each file with its lines, the largest first, and what imports it."""
    sizes: Mapping[Path, int] = {file: lines_of(closure.root / file) for file in closure.importers}
    yield ""
    for file in sorted(sizes, key=lambda one: (-sizes[one], one)):
        by = ", ".join(sorted(str(one) for one in closure.importers[file])) or "given"
        yield f"{sizes[file]:>5} {file} <- {by}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the closure; returns the exit status: 2 for a refusal."""
    parser = argparse.ArgumentParser(prog="closure.py", description=__doc__)
    parser.add_argument("module", nargs="?", default=MODULE, help=f"a test module of the suite (default: {MODULE})")
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="a checkout (default: this one)")
    parser.add_argument("--by-size", action="store_true", help="name every file, the largest first, with its importers")
    given = parser.parse_args(arguments)
    root = given.root.resolve()
    module = Path(given.module)
    try:
        if module.is_absolute():
            module = module.relative_to(root)
        closure = closure_of(root, seam_of(root, module))
    except (ClosureError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    print("\n".join(report(closure, given.by_size)))
    return OK


if __name__ == "__main__":
    sys.exit(main())
