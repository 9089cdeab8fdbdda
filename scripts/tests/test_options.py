"""Each option beside the core can be deleted as one folder: the core's tests stay green, PFC-1 can be collected."""
import shutil
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from scripts.closure import CORE_ROOMS, LOGIC, ROOT, SEAM, imported, options_of
from scripts.overlay import overlay
from scripts.tests.test_overlay import checkout, run_pytest  # noqa: F401  (a fixture)

OPTIONS = options_of(ROOT)
UNIT_TESTS = ("tests/common/unit_tests/pfc", "tests/snappi_tests/unit_tests/qualification")
ABOUT_OTHERS = "test_sonic_mgmt_is_as_the_contract_says"
WITH_PLUGINS = ("deliberate_faults", "delivery", "diagnosis", "latency", "resume", "selection", "soak", "summary",
                "sweep")
PLUGINS = {option: f"files/{option}.py" for option in WITH_PLUGINS}
KEPT = ("unit_test_planning.py", "unit_test_run.py", "unit_test_verdict.py", "unit_test_restore.py")
PFC_1 = "test_pfc_plan[PFC-1-dut-1|4]"


def halves(options: Sequence[str]) -> dict[str, list[str]]:
    """Sets of options, by a name: of any two there is a set that has the first and not the second."""
    bits = range((len(options) - 1).bit_length())
    return {f"bit {bit} is {value}": [option for n, option in enumerate(options) if n >> bit & 1 == value]
            for bit in bits for value in (0, 1)}


HALVES = halves(OPTIONS)
SLOW = pytest.mark.slow("half of the options, ten times: four seconds each")


@cache
def imported_here(file: Path) -> list[Path]:
    """What a file imports in this project."""
    return imported(ROOT, file)


def delete(checkout: Path, options: Iterable[str]) -> list[Path]:  # noqa: F811
    """Deletes options of a checkout, and what imports them, directly or in turn; returns the latter."""
    for option in options:
        shutil.rmtree(checkout / LOGIC / option)
    gone: list[Path] = []
    tests = checkout / "tests"
    while found := [path for path in sorted(tests.rglob("*.py")) if imports_what_is_gone(checkout, path)]:
        for path in found:
            path.unlink()
        gone += [path.relative_to(checkout) for path in found]
    return gone


def imports_what_is_gone(checkout: Path, path: Path) -> bool:  # noqa: F811
    """Whether a file imports one that this project has and the checkout has no more."""
    file = path.relative_to(checkout)
    if not (ROOT / file).is_file() or path.read_bytes() != (ROOT / file).read_bytes():
        return False  # the checkout's own
    return any(not (checkout / one).is_file() and one.is_relative_to(folder) for one in imported_here(file)
               for folder in (LOGIC, SEAM, *UNIT_TESTS))


def test_there_are_options() -> None:
    assert {"sweep", "evidence", "host_pauses", "lease", "replacement", "resume", "simulated_time",
            "storm_chain", "switch_chain"} <= set(OPTIONS)


@pytest.mark.parametrize("options", [*([one] for one in OPTIONS), OPTIONS], ids=[*OPTIONS, "all"])
def test_what_imports_an_option_is_its_own(checkout: Path, options: list[str]) -> None:  # noqa: F811
    overlay(checkout)
    gone = delete(checkout, options)
    core = [path for path in gone if path.is_relative_to(LOGIC) and path.relative_to(LOGIC).parts[0] in CORE_ROOMS]
    seam = [path for path in gone if path.is_relative_to(SEAM) and not path.name.startswith("test_")]
    assert not core and seam == [Path(SEAM, file) for option, file in PLUGINS.items() if option in options]
    assert not [path for path in gone if path.name in KEPT]


@pytest.mark.parametrize("options", [*(pytest.param(half, id=name, marks=SLOW) for name, half in HALVES.items()),
                                     pytest.param(OPTIONS, id="all")])
def test_without_options_pfc_1_is_collected(checkout: Path, options: list[str]) -> None:  # noqa: F811
    overlay(checkout)
    delete(checkout, options)
    ended = run_pytest(checkout / "tests", "-c", "pytest.ini", "--setup-plan", "snappi_tests/pfc/qualification")
    assert f"{PFC_1} (fixtures used: " in ended.stdout, ended.stdout + ended.stderr
    assert "rror" not in ended.stdout + ended.stderr, ended.stdout + ended.stderr
    told = run_pytest(checkout / "tests", "-c", "pytest.ini", "snappi_tests/pfc/qualification", "--help").stdout
    assert "--pfc-port=" in told
    assert ("--pfc-ports=" in told) is ("sweep" not in options)
    assert ("--pfc-resume=" in told) is ("resume" not in options)


def test_any_option_is_deleted_where_any_other_is_kept() -> None:
    pairs = {(gone, kept) for gone, kept in permutations(OPTIONS, 2)
             if any(gone in half and kept not in half for half in HALVES.values())}
    assert pairs == set(permutations(OPTIONS, 2))


@pytest.mark.long("the unit tests of the core once more")
@pytest.mark.slow("the unit tests of the core: half a minute")
def test_without_options_the_tests_of_the_core_are_green(checkout: Path) -> None:  # noqa: F811
    """With sets of options it is tried what takes seconds, collecting."""
    overlay(checkout)
    delete(checkout, OPTIONS)
    ended = run_pytest(checkout, "-c", "tests/pytest.ini", "--rootdir", ".", *UNIT_TESTS, "-k", f"not {ABOUT_OTHERS}")
    assert ended.returncode == 0 and " passed" in ended.stdout, ended.stdout[-6000:] + ended.stderr
