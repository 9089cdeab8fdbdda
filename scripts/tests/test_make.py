"""What `make test`, `make test-ci`, `make test-long`, `make test-all` and continuous integration run."""
import ast
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
QUICK = "-m 'not slow'"
NOT_LONG = "-m 'not long'"
LONG = "-m long"


def recipe(target: str) -> list[str]:
    """The commands that make would run, those of pytest and the differential only."""
    shown = subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    lines = shown.replace("\\\n", " ").splitlines()
    return [" ".join(line.split()) for line in lines if "-m pytest" in line or "differential" in line]


def marks_with_reasons() -> Iterator[tuple[str, ast.AST]]:
    """Every use of the markers `slow` and `long`, with its place and the node around it."""
    marks = ("pytest.mark.slow", "pytest.mark.long")
    for folder in (path for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."):
        for path in folder.rglob("*test_*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and ast.unparse(node) in marks:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node
                elif isinstance(node, ast.Call) and ast.unparse(node.func) in marks:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def test_everything_is_what_is_quick_and_what_is_slow() -> None:
    quick, = recipe("test")
    everything, sample, compiled = recipe("test-all")
    assert quick == f"{everything} {QUICK}"
    assert sample.endswith("scripts/differential.py --cases 100")
    assert compiled == f"{sample} --compiled"
    assert recipe("test-ci") == [f"{everything} {NOT_LONG}", compiled]
    assert recipe("test-long") == [f"{everything} {LONG}", sample]


def test_continuous_integration_runs_all_tests_and_the_whole_plan() -> None:
    """Long ones last, so that they can be left out where there is no time for them; the plan without the compiled code
    that the tests install."""
    commands = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    made = [line.strip() for line in commands if line.strip().startswith("make ")]
    assert made == ["make test-ci", "make qualify VENV=.venv-qualify", "make test-long"]


def test_the_packages_that_a_qualification_needs_do_not_compile() -> None:
    """What continuous integration qualifies with, and a user who has run nothing before."""
    shown = subprocess.run(["make", "-n", "-B", "qualify", "VENV=.venv-qualify"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout
    installed, = [line for line in shown.splitlines() if "pip install" in line]
    assert installed.startswith(".venv-qualify/bin/pip ") and installed.endswith("'.[virtual,postgresql]'"), installed


@pytest.mark.parametrize("target", ["upstream", "upstream-score"])
def test_python_3_12_can_be_named(target: str) -> None:
    line = ["make", "-n", "--no-print-directory", target, "SONIC_MGMT=checkout", "PYTHON_3_12=/opt/python"]
    shown = subprocess.run(line, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    words = shlex.split(shown.replace("\\\n", " ").splitlines()[-1])
    assert words[words.index("--python") + 1] == "/opt/python", words
    without = subprocess.run(["make", "-n", target, "SONIC_MGMT=checkout"], cwd=ROOT, check=True, capture_output=True,
                             text=True).stdout
    assert "--python" not in without, "it is looked for"


def test_what_is_slow_or_long_says_why() -> None:
    found = list(marks_with_reasons())
    reasoned = {place for place, node in found if isinstance(node, ast.Call) and node.args}
    assert reasoned and {place for place, _ in found} == reasoned
