"""What travels runs on sonic-mgmt's Python, 3.12, as sonic-mgmt starts it: its unit tests pass in a tree that has
nothing else of this project, in an environment that has nothing but the libraries that they import.

The environment is made once, in `.venv/python3.12`, and again when the versions or the interpreter change.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.overlay import LANDMARKS, overlay
from scripts.series.changes import ROOT

WANTED = "3.12"
LIBRARIES = ("pytest", "scapy", "snappi", "tabulate")
"""What the unit tests that travel import, and what these need with them; the versions are those of constraints.txt."""
PLACE = ROOT / ".venv" / f"python{WANTED}"
UNIT_TESTS = ("tests/common/unit_tests/pfc", "tests/snappi_tests/unit_tests/qualification")
NEEDS_SONIC_MGMT = "test_sonic_mgmt_is_as_the_contract_says"
"""The tests that read sonic-mgmt's own modules, of which an empty checkout has none, begin so."""
UNREACHABLE = re.compile(r"connection broken by '.*|Could not fetch URL .*")
PACKAGES = ("tests", "tests/common", "tests/common/unit_tests", "tests/snappi_tests", "tests/snappi_tests/pfc",
            "tests/snappi_tests/unit_tests")
"""What is a package in a sonic-mgmt checkout."""


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command with nothing of this process's Python in its environment; both streams together."""
    foreign = ("PYTHON", "PYTEST", "VIRTUAL_ENV", "COV_")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(foreign)} | variables
    return subprocess.run(command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)


def find_python() -> tuple[str | None, str]:
    """The interpreter's own path, which is not that of a pyenv shim, or None; and why there is none."""
    found = shutil.which(f"python{WANTED}")
    if found is None:
        return None, f"no python{WANTED} in PATH"
    question = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
    said = run(found, "-c", question, PYENV_VERSION=WANTED)  # a shim asks for a version, other interpreters ignore it
    version, _, path = said.stdout.strip().partition(" ")
    if said.returncode or version != WANTED:
        return None, f"{found} does not run as Python {WANTED}: {said.stdout.strip()[:200]}"
    return path, ""


def fingerprint(python: str) -> str:
    """Changes when another environment would be made."""
    files = b"".join((ROOT / name).read_bytes() for name in ("constraints.txt", "setup.cfg"))
    return hashlib.sha256(files + repr((python, LIBRARIES)).encode()).hexdigest()


def make_environment(python: str) -> Path:
    """The interpreter of the environment, which is made where there is none or an old one."""
    stamp = PLACE / "made-of"
    interpreter = PLACE / "bin" / "python"
    if stamp.is_file() and stamp.read_text(encoding="ascii") == fingerprint(python):
        return interpreter
    shutil.rmtree(PLACE, ignore_errors=True)
    made = run(python, "-m", "venv", PLACE)
    assert made.returncode == 0, made.stdout
    installed = run(interpreter, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1",
                    "-c", ROOT / "constraints.txt", *LIBRARIES)
    if installed.returncode:
        refuse(installed.stdout)
    stamp.write_text(fingerprint(python), encoding="ascii")
    return interpreter


def refuse(said: str) -> None:
    """Skips where pip reached no index; anything else that pip cannot do is a failure."""
    reason = UNREACHABLE.search(said)
    if reason and "(from versions: none)" in said:
        pytest.skip(f"pip can reach no package index: {reason[0][:200]}")
    pytest.fail(f"pip cannot install {', '.join(LIBRARIES)} of constraints.txt for Python {WANTED}:\n{said}")


@pytest.fixture(name="python", scope="module")
def fixture_python() -> Path:
    """Python 3.12 with the libraries of what travels."""
    found, reason = find_python()
    if found is None:
        pytest.skip(reason)
    return make_environment(found)


@pytest.fixture(name="checkout")
def fixture_checkout(tmp_path: Path) -> Path:
    """A checkout that has what a checkout is known by, empty."""
    for name in LANDMARKS:
        file = tmp_path / name
        (file if file.suffix else file / "empty").parent.mkdir(parents=True, exist_ok=True)
        (file if file.suffix else file / "empty").touch()
    for name in PACKAGES:
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "tests/pytest.ini").write_text("[pytest]\npython_files = test_*.py unit_test_*.py\n", encoding="utf-8")
    return tmp_path


@pytest.mark.long("`make series-check` runs them on sonic-mgmt's Python too")
@pytest.mark.slow("an environment of another Python, and all unit tests of what travels once more")
def test_the_unit_tests_of_what_travels_pass_on_python_3_12(python: Path, checkout: Path) -> None:
    overlay(checkout)
    ended = run(python, "-m", "pytest", "--noconftest", "--assert=plain", "-p", "no:cacheprovider", "-q", *UNIT_TESTS,
                "-k", f"not {NEEDS_SONIC_MGMT}", cwd=checkout, PYTHONDONTWRITEBYTECODE="1")
    outcome = ended.stdout.strip().splitlines()[-1] if ended.stdout.strip() else ""
    assert ended.returncode == 0, ended.stdout[-20000:]
    passed = re.fullmatch(r"(\d+) passed, \d+ deselected in .*", outcome)
    assert passed, f"not every unit test passed, or there were warnings: {outcome}\n{ended.stdout[-4000:]}"
    assert int(passed[1]) >= functions_in(checkout), outcome


def functions_in(checkout: Path) -> int:
    """How many test functions the files have that need no sonic-mgmt: with parameters each is at least one test."""
    function = re.compile(rf"^def (?!{NEEDS_SONIC_MGMT})test_", re.MULTILINE)
    files = [file for folder in UNIT_TESTS for file in (checkout / folder).glob("unit_test_*.py")]
    return sum(len(function.findall(file.read_text(encoding="utf-8"))) for file in files)


@pytest.mark.parametrize("said, outcome, sentence", [
    ("WARNING: Retrying after connection broken by 'NewConnectionError(refused)': /pytest/\n"
     "ERROR: Could not find a version that satisfies the requirement pytest (from versions: none)",
     pytest.skip.Exception, "can reach no package index: connection broken by 'NewConnectionError"),
    ("ERROR: Could not find a version that satisfies the requirement scapy==99 (from versions: 2.7.0, 2.8.0)",
     pytest.fail.Exception, "cannot install pytest, scapy"),
    ("ERROR: Could not find a version that satisfies the requirement snapi (from versions: none)",
     pytest.fail.Exception, "cannot install pytest, scapy"),
])
def test_only_an_index_out_of_reach_is_a_skip(said: str, outcome: type[BaseException], sentence: str) -> None:
    with pytest.raises(outcome, match=sentence):
        refuse(said)


def test_what_does_not_run_as_the_wanted_python_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_python() == (None, "no python3.12 in PATH")
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\necho 'python3.12: command not found'; exit 127\n", encoding="ascii")
    shim.chmod(0o755)
    found, reason = find_python()
    assert found is None and reason.endswith("does not run as Python 3.12: python3.12: command not found")
    shim.write_text(f"#!/bin/sh\necho 3.1 {sys.executable}\n", encoding="ascii")
    assert find_python()[0] is None
