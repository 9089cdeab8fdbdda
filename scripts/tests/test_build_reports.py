"""The wheel of databases and pages, installed into an empty environment that has no checkout."""
import json
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from scripts.build_reports import NEEDS, PACKAGE, BuildError, build, rewritten
from test_reporting.tests.samples import RUN_ID, verdict

THEIRS = ("tests", "test_reporting", "ansible", "spytest", "sdn_tests")
"""Packages of sonic-mgmt."""


@pytest.fixture(scope="module", name="wheel")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module", name="installed")
def _installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a new environment with the wheel, and of the package index only what it names."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    subprocess.run([sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", "-q", "--no-index",
                    "--no-deps", "--no-compile", str(wheel)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    for name in needed(NEEDS):
        link(name, site)
    return folder / "bin"


def needed(names: tuple[str, ...]) -> list[str]:
    """What packages require, in turn, themselves included, as far as it is installed here."""
    found: dict[str, None] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = None
        for text in distribution(name).requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return list(found)


def link(name: str, site: Path) -> None:
    """Makes an installed package be in another environment too."""
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return
    for top in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
        if not (site / top).exists():
            (site / top).symlink_to(distribution(name).locate_file(top))


NOT_IMPORTED = ("migrations", "kusto_cluster", "otlp", "answered", "__main__")
"""Modules that run when they are imported, or need what an extra brings."""


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`pfc-report` of the environment, with an empty environment of variables, in a folder of its own."""
    command = [str(installed / "pfc-report"), "--db", f"sqlite:///{folder}/pfc.db", *arguments]
    return subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, timeout=120, check=False)


def write_records(folder: Path, *documents: dict[str, object]) -> None:
    """The records of a run, as a suite in a sonic-mgmt tree leaves them."""
    (folder / "results" / RUN_ID).mkdir(parents=True)
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    (folder / "results" / RUN_ID / "records.jsonl").write_text(lines, encoding="utf-8")


def test_it_reads_the_records_of_a_run_and_makes_its_page(installed: Path, tmp_path: Path) -> None:
    write_records(tmp_path, verdict(0), verdict(1, "FAIL", port_id="Ethernet4"))
    synced = run(installed, tmp_path, "sync", "--results", "results")
    assert synced.returncode == 0, synced.stderr
    shown = run(installed, tmp_path, "show", RUN_ID)
    assert "Ethernet4" in shown.stdout and "FAIL" in shown.stdout, shown.stdout + shown.stderr
    page = run(installed, tmp_path, "html", RUN_ID, "--output", "page.html")
    assert page.returncode == 0, page.stderr
    assert "blocked-while-paused" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_record_of_a_newer_schema_is_refused_by_name(installed: Path, tmp_path: Path) -> None:
    write_records(tmp_path, verdict(0, schema=99))
    synced = run(installed, tmp_path, "sync", "--results", "results")
    assert synced.returncode != 0, synced.stdout
    assert "records.jsonl line 1: field 'schema' is 99; it must be one of 1, 2" in synced.stderr, synced.stderr


def test_nothing_of_the_checkout_is_imported(installed: Path, tmp_path: Path) -> None:
    probe = (f"import sys, pkgutil, importlib, {PACKAGE}\n"
             f"for found in pkgutil.walk_packages({PACKAGE}.__path__, '{PACKAGE}.'):\n"
             f"    if not any(name in found.name for name in {NOT_IMPORTED}):\n"
             "        importlib.import_module(found.name)\n"
             "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n")
    ended = subprocess.run([str(installed / "python"), "-c", probe], cwd=tmp_path, env={}, capture_output=True,
                           text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert PACKAGE in ended.stdout.split() and not set(ended.stdout.split()) & set(THEIRS), ended.stdout


def test_the_wheel_has_one_package_under_a_name_of_its_own(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0].partition("-")[0] for name in archive.namelist()}
        assert tops == {PACKAGE} and PACKAGE not in THEIRS, tops
        assert f"{PACKAGE}/html_report/report.html.j2" in archive.namelist()
    again = build(tmp_path)
    assert again.read_bytes() == wheel.read_bytes(), "the same sources give other bytes"


def test_an_import_that_would_not_be_there_is_refused() -> None:
    assert rewritten("a.py", b"import tests.common.pfc.record\n") == f"import {PACKAGE}.record\n".encode()
    with pytest.raises(BuildError, match="a.py imports tests.common.pfc.model, which is not in the wheel"):
        rewritten("a.py", b"from tests.common.pfc.model import qos\n")
