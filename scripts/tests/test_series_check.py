"""The checks of a change: what is run of sonic-mgmt's configuration, what is skipped by name, how a failure looks."""
import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.series import check
from scripts.series.changes import SeriesChange, find_change, series
from scripts.series.checks import FAILED, NOTHING, PASSED, SKIPPED, ChangedTree, CheckOutcome, Pythons
from scripts.series.checks import run_hook, unit_tests
from scripts.series.hooks import packages_of, read_hooks

CONFIGURATION = """
exclude: \\.patch$
repos:
-   repo: https://github.com/pre-commit/pre-commit-hooks
    rev: v4.2.0
    hooks:
    -   id: trailing-whitespace
    -   id: check-yaml
-   repo: https://github.com/PyCQA/flake8
    rev: 7.1.1
    hooks:
    -   id: flake8
        args: ["--max-line-length=120"]
        exclude: ^spytest/
    -   id: flake8
        files: ^spytest/.*
-   repo: https://github.com/sonic-net/sonic-mgmt
    rev: 1.0.2
    hooks:
    -   id: check-conditional-mark-sort
    -   id: check-something-new
"""
LANDMARKS = ("ansible/README.md", "tests/__init__.py", "tests/conftest.py", "tests/common/__init__.py",
             "tests/common/testbed.py", "tests/common/snappi_tests/__init__.py", "tests/snappi_tests/__init__.py",
             "tests/snappi_tests/pfc/__init__.py")
NONE = Pythons(None, None, Path(sys.executable), "the programs cannot be installed: no network")


@pytest.fixture(name="checkout")
def _checkout(tmp_path: Path) -> Path:
    """A small checkout with a configuration of hooks."""
    for name in LANDMARKS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / ".pre-commit-config.yaml").write_text(CONFIGURATION, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module", name="core")
def _core() -> SeriesChange:
    return find_change(series(), "core-1")


def test_hooks_are_those_of_the_configuration_in_its_versions(checkout: Path) -> None:
    hooks = read_hooks(checkout)
    assert [hook.hook_id for hook in hooks] == ["trailing-whitespace", "check-yaml", "flake8", "flake8",
                                                "check-conditional-mark-sort", "check-something-new"]
    assert packages_of(hooks) == ["pre-commit-hooks==4.2.0", "flake8==7.1.1", "natsort"]
    files = [Path("tests/a.py"), Path("spytest/b.py"), Path("tests/c.json"), Path("tests/d.py.patch")]
    assert hooks[0].for_files(files) == files[:3], "the configuration's own exclude is not heeded"
    assert hooks[2].for_files(files) == [Path("tests/a.py")] and hooks[3].for_files(files) == [Path("spytest/b.py")]
    assert hooks[2].args == ("--max-line-length=120",)


def test_what_cannot_be_run_is_skipped_by_name(checkout: Path, core: SeriesChange) -> None:
    tree = ChangedTree(checkout, core)
    hooks = {(hook.hook_id, hook.files): hook for hook in read_hooks(checkout)}
    skipped = run_hook(tree, hooks["trailing-whitespace", ""], NONE)
    assert (skipped.result, skipped.said) == (SKIPPED, NONE.why_no_tools)
    assert run_hook(tree, hooks["check-yaml", ""], NONE).result == NOTHING, "the change has no YAML"
    assert run_hook(tree, hooks["flake8", "^spytest/.*"], NONE).result == NOTHING
    unknown = run_hook(tree, hooks["check-something-new", ""], NONE)
    assert unknown.result == SKIPPED and "no package is known" in unknown.said
    missing = run_hook(tree, hooks["check-conditional-mark-sort", ""], NONE)
    assert missing.result == SKIPPED and "the checkout has no .hooks/" in missing.said


def test_a_hook_that_fails_says_what_it_printed(checkout: Path, core: SeriesChange) -> None:
    program = checkout / "bin/trailing-whitespace-fixer"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho fixing $1\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    pythons = dataclasses.replace(NONE, tools=program.parent)
    found = run_hook(ChangedTree(checkout, core), read_hooks(checkout)[0], pythons)
    assert found.result == FAILED and found.said.startswith("fixing tests/common/pfc/__init__.py"), found


def test_the_unit_tests_of_a_change_run_on_what_it_builds_on_alone(checkout: Path, core: SeriesChange) -> None:
    check.put_in(_repository(checkout), check.ROOT, [core])
    few = dataclasses.replace(core, unit_tests=tuple(
        file for file in core.unit_tests if file.name == "unit_test_verdict.py"))
    assert unit_tests(ChangedTree(checkout, few), NONE).result == PASSED
    assert not (checkout / "tests/common/pfc/model").exists(), "another change is there"
    broken = checkout / "tests/common/pfc/record/verdict.py"
    broken.write_text("raise ValueError('broken')\n", encoding="utf-8")
    found = unit_tests(ChangedTree(checkout, few), NONE)
    assert found.result == FAILED and "error" in found.said, found


def _repository(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def test_the_table_has_what_failed_and_what_was_skipped(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def outcomes(tree: ChangedTree, *_: object) -> list[CheckOutcome]:
        assert (tree.folder / "tests/common/pfc/record/verdict.py").is_file() and tree.folder != checkout
        return [CheckOutcome("flake8", PASSED), CheckOutcome("black", NOTHING),
                CheckOutcome("collect-only", SKIPPED, "there is none"), CheckOutcome("unit tests", FAILED, "1 failed")]

    monkeypatch.setattr(check, "find_pythons", lambda hooks: NONE)
    monkeypatch.setattr(check, "outcomes", outcomes)
    before = sorted(checkout.rglob("*"))
    assert check.main([str(checkout), "--series", "core-1"]) == check.SOME_FAILED
    said = capsys.readouterr().out
    assert "core-1: unit tests failed\n  1 failed" in said and "skipped: collect-only: there is none" in said, said
    assert "for files that no change here has: black" in said and "1 checks passed, 1 failed, 1 kinds not run" in said
    assert sorted(checkout.rglob("*")) == before, "the checkout has changed"


def test_a_name_without_a_step_and_what_is_no_checkout_are_refused(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check.main([str(checkout), "--series", "cor"]) == check.REFUSED
    assert capsys.readouterr().err.startswith("error: the series has no step 'cor'; it has core-1")
    assert check.main([str(checkout / "none")]) == check.REFUSED
    assert "is no folder" in capsys.readouterr().err


def test_a_name_without_its_number_is_all_of_that_name(checkout: Path, monkeypatch: pytest.MonkeyPatch,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(check, "find_pythons", lambda hooks: None)
    monkeypatch.setattr(check, "outcomes", lambda changed, hooks, pythons: [CheckOutcome("one", PASSED)])
    assert list(check.check_series(checkout, "sessions")) == ["sessions-1", "sessions-2"]
    assert capsys.readouterr().out.splitlines() == ["sessions-1: no check failed", "sessions-2: no check failed"]
