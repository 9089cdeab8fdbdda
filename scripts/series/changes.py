"""Which files each change of the series has, as the imports between them say.

A file that travels is in exactly one change. A module is in that of the first step that names it, or imports it in
turn; a unit test, or a file that only unit tests have, in the last of those whose files it imports.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scripts.closure import imported, lines_of, seam_of
from scripts.series.steps import STEPS, Step

ROOT = Path(__file__).resolve().parents[2]
TRAVELS = (
    "tests/common/pfc",
    "tests/common/unit_tests/pfc",
    "tests/snappi_tests/pfc/qualification",
    "tests/snappi_tests/unit_tests/qualification",
)
"""The folders that are copied, relative to both roots."""
SUFFIXES = (".py", ".json")
STAYS = ("unit_test_diagnosis.py", "diagnosis_faults.json", "diagnosis_declared.json")
"""Recorded failures of every fault, and the test that reads them: sonic-mgmt takes no file of more than 500 KB."""
UNIT_TESTS = "unit_tests"
PACKAGE = "__init__.py"
MOST_LINES = 1500
"""Of one change, without unit tests."""


class SeriesError(Exception):
    """What travels cannot be divided into the series, or there is no step of a name; one sentence for the user."""


@dataclass(frozen=True)
class SeriesChange:
    """The files of one step, relative to the checkout.

    Attributes:
        step: what it is about.
        files: modules and data.
        unit_tests: unit tests, and what only these use.
        lines: of `files`.
        needs: the names of the earlier steps whose files it imports, itself or in turn.
    """

    step: Step
    files: tuple[Path, ...]
    unit_tests: tuple[Path, ...]
    lines: int
    needs: tuple[str, ...]

    @property
    def all_files(self) -> tuple[Path, ...]:
        """What is copied."""
        return (*self.files, *self.unit_tests)


def travelling(root: Path) -> list[Path]:
    """The files that travel, relative to `root`: sources and data, nothing that Python or pytest wrote beside them."""
    found = [path for folder in TRAVELS for path in sorted((root / folder).rglob("*"))]
    return [path.relative_to(root) for path in found
            if path.is_file() and path.suffix in SUFFIXES and path.name not in STAYS]


def series(root: Path = ROOT, steps: Sequence[Step] = STEPS) -> list[SeriesChange]:
    """The changes, in their order.

    Raises:
        SeriesError: a file is in none, or a step names what is not there.
    """
    imports = Imports(root, travelling(root))
    place = place_modules(imports, steps)
    place |= place_unit_tests(imports, place)
    lost = [str(file) for file in imports.files if file not in place]
    if lost:
        raise SeriesError(f"no step of the series holds {', '.join(lost)}: name it in scripts/series/steps.py")
    return _with_their_needs([_change(imports, place, steps, number) for number in range(len(steps))])


class Imports:
    """What the files that travel import of each other, in turn."""

    def __init__(self, root: Path, files: Iterable[Path]) -> None:
        """Reads nothing yet.

        Args:
            root: the checkout.
            files: those that travel.
        """
        self.root = root
        self.files = tuple(files)
        self._travels = frozenset(self.files)
        self._direct: dict[Path, list[Path]] = {}

    def of(self, file: Path) -> list[Path]:
        """What a file draws in, itself included."""
        found = {file: None}
        waiting = [file]
        while waiting:
            more = [one for one in self._imported(waiting.pop()) if one not in found]
            found |= dict.fromkeys(more)
            waiting += more
        return list(found)

    def _imported(self, file: Path) -> list[Path]:
        """What a file imports itself; pytest imports the `conftest.py` beside a module of tests, whose fixtures these
        ask for."""
        if file not in self._direct:
            every = imported(self.root, file) if file.suffix == ".py" else []
            if file.name.startswith("test_"):
                every += seam_of(self.root, file)
            self._direct[file] = [one for one in every if one in self._travels]
        return self._direct[file]

    def below(self, head: str) -> list[Path]:
        """The modules that a head names: itself, or all of its folder."""
        return [file for file in self.files if file.is_relative_to(head)]


def is_test(file: Path) -> bool:
    """Whether a file is a unit test, or is there for unit tests only."""
    return UNIT_TESTS in file.parts


def place_modules(imports: Imports, steps: Sequence[Step]) -> dict[Path, int]:
    """The number of the step that each module is in, and each unit test that a step names.

    Raises:
        SeriesError: a step names what is not there.
    """
    place: dict[Path, int] = {}
    for number, step in enumerate(steps):
        for head in step.heads:
            named = imports.below(head)
            if not named:
                raise SeriesError(f"{step.name} is about {head}, which is not there")
            for file in (found for one in named for found in imports.of(one)):
                if file in named or not is_test(file):  # what unit tests share comes with the first of them
                    place.setdefault(file, number)
    return place


def place_unit_tests(imports: Imports, place: Mapping[Path, int]) -> dict[Path, int]:
    """The number of the step that each file of the unit tests is in: the last that it needs; a package's own file and
    data are in that of their first user. `place`: the numbers of the modules, and of unit tests that a step names."""
    left = [file for file in imports.files if is_test(file) and file not in place]
    modules = [file for file in left if file.suffix == ".py" and file.name != PACKAGE]
    found = {file: max((place[one] for one in imports.of(file) if one in place), default=0) for file in modules}
    packages = {file: min(found[one] for one in modules if one.is_relative_to(file.parent))
                for file in left if file.name == PACKAGE}
    placed = {file: number for file, number in place.items() if is_test(file) and file.suffix == ".py"}
    data = {file: _first_reader(imports, {**placed, **found}, file) for file in left if file.suffix != ".py"}
    return found | packages | data


def _first_reader(imports: Imports, tests: Mapping[Path, int], data: Path) -> int:
    """The step of the first unit test that names a file of data.

    Raises:
        SeriesError: none does.
    """
    readers = [number for test, number in tests.items()
               if data.name in (imports.root / test).read_text(encoding="utf-8")]
    if not readers:
        raise SeriesError(f"no unit test reads {data}: it has no place in the series")
    return min(readers)


def _with_their_needs(changes: Sequence[SeriesChange]) -> list[SeriesChange]:
    """The changes, each with what its needs need in turn."""
    found: dict[str, SeriesChange] = {}
    for change in changes:
        needed = {name for direct in change.needs for name in (direct, *found[direct].needs)}
        in_order = tuple(name for name in found if name in needed)
        found[change.step.name] = replace(change, needs=in_order)
    return list(found.values())


def _change(imports: Imports, place: Mapping[Path, int], steps: Sequence[Step], number: int) -> SeriesChange:
    """The change of a step; `needs` has the direct ones."""
    own = sorted(file for file in imports.files if place[file] == number)
    files = tuple(file for file in own if not is_test(file))
    drawn_in = {place[file] for one in own for file in imports.of(one)}
    return SeriesChange(
        steps[number],
        files,
        unit_tests=tuple(file for file in own if is_test(file)),
        lines=sum(lines_of(imports.root / file) for file in files),
        needs=tuple(steps[earlier].name for earlier in sorted(drawn_in - {number})),
    )


def find_change(changes: Sequence[SeriesChange], name: str) -> SeriesChange:
    """The change of a name.

    Raises:
        SeriesError: there is none.
    """
    for change in changes:
        if change.step.name == name:
            return change
    names = ", ".join(change.step.name for change in changes)
    raise SeriesError(f"the series has no step {name!r}; it has {names}")


def find_changes(changes: Sequence[SeriesChange], name: str) -> list[SeriesChange]:
    """The changes that a name means, in their order: the one of that name, or all that have it with a number.

    A change between them comes along, which one of them needs and which itself needs the first of them (`watchdog`:
    `cases-7` needs it, and it needs `cases-1`).

    Raises:
        SeriesError: there is none.
    """
    numbered = [change.step.name for change in changes
                if change.step.name.startswith(f"{name}-") and change.step.name.removeprefix(f"{name}-").isdigit()]
    if not numbered:
        return [find_change(changes, name)]
    needed = {need for one in numbered for need in find_change(changes, one).needs}
    between = {change.step.name for change in changes
               if change.step.name in needed and numbered[0] in change.needs}
    return [change for change in changes if change.step.name in between.union(numbered)]
