"""What the import closure of a module counts, and what it says of this project."""
from pathlib import Path

import pytest

from scripts.closure import CORE, LOGIC, MODULE, REFUSED, ROOT, SEAM, closure_of, core_of, lines_of, main, options_of
from scripts.closure import imported, seam_of

MOST_LINES_OF_THE_CORE = 6010
"""Of what PFC-1 to PFC-4 draw in, with the seam and without the reporting databases: it may shrink, and what makes it
grow has a reason to say."""
FILES = {
    "tests/__init__.py": "",
    "tests/common/pfc/__init__.py": "",
    "tests/common/pfc/lab/__init__.py": "",
    "tests/common/pfc/lab/dut.py": "from ..model import qos\nfrom . import watchdog as wd\n",
    "tests/common/pfc/lab/watchdog.py": "import json\n\n\ndef late():\n    from ..model import errors\n",
    "tests/common/pfc/lab/alone.py": "import tests.common.pfc.lab.dut\n",
    "tests/common/pfc/model/qos.py": "PRIORITIES = 8\n",
    "tests/common/pfc/model/errors.py": "class QualificationError(Exception):\n    pass\n",
    "tests/common/pfc/sweep/plan.py": "from ..lab.dut import wd\nfrom ..lab.alone import tests\n",
    f"{SEAM}/files/sweep.py": "import tests.common.pfc.sweep.plan\n",
    f"{SEAM}/conftest.py": "from tests.common.pfc.lab.dut import wd\n",
    MODULE: "import pytest\n",
}
"""A small checkout. `model` and `sweep` are no regular packages, which changes nothing."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_imports_of_every_form_are_followed(checkout: Path) -> None:
    found = {str(file) for file in closure_of(checkout, seam_of(checkout, Path(MODULE))).importers}
    assert found == set(FILES) - {"tests/common/pfc/lab/alone.py", "tests/common/pfc/sweep/plan.py",
                                  f"{SEAM}/files/sweep.py"}
    assert Path("tests/common/pfc/lab/dut.py") in imported(checkout, Path("tests/common/pfc/lab/alone.py"))


def test_what_is_printed(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(checkout / MODULE), "--root", str(checkout), "--by-size"]) == 0
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert rows[1:9] == ["tests (the fixture layer) 1 0", f"{LOGIC} 1 0", f"{LOGIC}/lab 3 7", f"{LOGIC}/model 2 3",
                         f"{SEAM} 2 2", "all of it 9 12", "the seam and the qualification logic 8 12",
                         "of that, the core 6 10"]
    assert rows[9] == "core and seam, where no database is 8 12"
    assert rows[10] == "the option sweep adds 3 4"  # the plan, its plugin in the seam, and lab/alone.py
    assert "2 tests/common/pfc/model/errors.py <- tests/common/pfc/lab/watchdog.py" in rows
    assert f"1 {MODULE} <- given" in rows


@pytest.mark.parametrize("module", ["tests/none.py", "/elsewhere/test_none.py"])
def test_a_module_that_is_not_there_is_refused(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([module]) == REFUSED
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1


def test_no_option_is_in_the_core_and_the_core_stays_small() -> None:
    found = closure_of(ROOT, seam_of(ROOT, Path(MODULE)))
    rooms = found.rooms()
    assert len(found.importers) > 40, "too little was found to trust the search"
    assert not [room for room in rooms if room.startswith(f"{LOGIC}/") and room not in CORE]
    assert not [file for file in found.importers if file.name == "sweep.py"]
    assert sum(lines_of(ROOT / file) for file in core_of(found)) <= MOST_LINES_OF_THE_CORE
    assert len(options_of(ROOT)) >= 6
