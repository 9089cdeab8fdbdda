"""sonic-mgmt's own checks of a change, in a copy of its checkout that has the change and what it builds on."""
from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.series.changes import ROOT, TRAVELS, SeriesChange
from scripts.series.hooks import Hook
from scripts.series.plan_document import document_of

PASSED, FAILED, SKIPPED, NOTHING = "ok", "FAILED", "skipped", "-"
"""What comes of a check; the last one: the change has no file that it looks at."""
PIPELINES = ".azure-pipelines"
SORT_HOOK = ".hooks/pre_commit_hooks/check_conditional_mark_sort.py"
SORT_ID = "check-conditional-mark-sort"
STAND_INS = ROOT / "virtual_testbed/sonic_mgmt"
"""Has a pytest plugin that stands in for `nnpy`, which sonic-mgmt's conftest imports."""
COLLECT = ("--inventory", "../ansible/veos_vtb", "--host-pattern", "all", "--testbed_file", "vtestbed.yaml",
           "--testbed", "vms-kvm-t0", "--ignore-conditional-mark", "--color=no", "--collect-only",
           "--continue-on-collection-errors", "--assert", "plain")
"""Of `.azure-pipelines/pytest-collect-only.yml`."""
LAST_LINES = 6
FOREIGN = ("PYTEST", "PYTHON", "PFC_", "VIRTUAL_TESTBED_", "VIRTUAL_ENV", "ANSIBLE_")
"""Variables of this project's environment that other Pythons must not see."""
QUIET = ("-q", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class CheckOutcome:
    """What came of one check.

    Attributes:
        check: its name.
        result: PASSED, FAILED, SKIPPED or NOTHING.
        said: why it was skipped, or what it printed when it failed.
    """

    check: str
    result: str
    said: str = ""


@dataclass(frozen=True)
class Pythons:
    """The environments that checks run in.

    Attributes:
        tools: the `bin` folder with the hooks' programs; None: they could not be installed.
        theirs: Python with what sonic-mgmt's conftest imports; None: there is none.
        own: this project's.
        why_no_tools: why they could not be installed.
    """

    tools: Path | None
    theirs: Path | None
    own: Path
    why_no_tools: str = ""


@dataclass(frozen=True)
class ChangedTree:
    """A copy of the checkout with a change in it."""

    folder: Path
    change: SeriesChange

    @property
    def files(self) -> tuple[Path, ...]:
        """What the change brings."""
        return (*self.change.all_files, document_of(self.change))

    def run(self, command: Sequence[str], folder: str = ".", more: Mapping[str, str] | None = None
            ) -> subprocess.CompletedProcess[str]:
        """Runs a program in a folder of the copy. `more`: further variables."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(FOREIGN)}
        return subprocess.run(command, cwd=self.folder / folder, capture_output=True, text=True, check=False,
                              env={**kept, "PYTHONDONTWRITEBYTECODE": "1", **(more or {})})


def outcomes(tree: ChangedTree, hooks: Sequence[Hook], pythons: Pythons) -> Iterator[CheckOutcome]:
    """Every check of a change, one after the other."""
    for hook in hooks:
        yield run_hook(tree, hook, pythons)
    yield from (pipeline_check(tree, name, pythons) for name in ("markers_check", "dependency_check"))
    yield collect_only(tree, pythons)
    yield unit_tests(tree, pythons)


def outcome_of(check: str, ended: subprocess.CompletedProcess[str]) -> CheckOutcome:
    """What an exit status says."""
    if ended.returncode == 0:
        return CheckOutcome(check, PASSED)
    lines = (ended.stdout + ended.stderr).strip().splitlines()
    return CheckOutcome(check, FAILED, "\n".join(lines[-LAST_LINES:]) or f"exit status {ended.returncode}")


def run_hook(tree: ChangedTree, hook: Hook, pythons: Pythons) -> CheckOutcome:
    """A hook of pre-commit, on the files that the change brings."""
    if hook.hook_id == SORT_ID:
        return mark_sort(tree, pythons)
    files = [str(file) for file in hook.for_files(tree.files)]
    if not files:
        return CheckOutcome(hook.name, NOTHING)
    if hook.program is None:
        return CheckOutcome(hook.name, SKIPPED, "pre-commit fetches it with git, and no package is known that has it")
    if pythons.tools is None:
        return CheckOutcome(hook.name, SKIPPED, pythons.why_no_tools)
    command = [str(pythons.tools / hook.program.name), *hook.args, *files]
    return outcome_of(hook.name, tree.run(command))


def mark_sort(tree: ChangedTree, pythons: Pythons) -> CheckOutcome:
    """The hook that is in the checkout itself: conditional marks, where a change has some, are sorted. As pre-commit it
    gets what the change brings: the files that are in the checkout already are not all sorted."""
    if not (tree.folder / SORT_HOOK).is_file():
        return CheckOutcome(SORT_ID, SKIPPED, f"the checkout has no {SORT_HOOK}")
    return outcome_of(SORT_ID, tree.run([str(pythons.own), SORT_HOOK, *map(str, tree.files)]))


def pipeline_check(tree: ChangedTree, name: str, pythons: Pythons) -> CheckOutcome:
    """A script of sonic-mgmt's pipelines, on the folders of the series."""
    script = f"{PIPELINES}/{name}/{name}.py"
    if not (tree.folder / script).is_file():
        return CheckOutcome(name, SKIPPED, f"the checkout has no {script}")
    if pythons.tools is None:
        return CheckOutcome(name, SKIPPED, pythons.why_no_tools)
    python = str(pythons.tools / "python")
    folders = [folder for folder in TRAVELS if (tree.folder / folder).is_dir()]
    ended = [outcome_of(name, tree.run([python, script, folder])) for folder in folders]
    return next((one for one in ended if one.result == FAILED), CheckOutcome(name, PASSED))


def collect_only(tree: ChangedTree, pythons: Pythons) -> CheckOutcome:
    """pytest's collection of the suite as sonic-mgmt's pipeline does it."""
    tests = [file for file in tree.change.files if file.name.startswith("test_")]
    if not tests:
        return CheckOutcome("collect-only", NOTHING)
    if pythons.theirs is None:
        return CheckOutcome("collect-only", SKIPPED, "there is no .venv-upstream, which `make upstream` makes")
    folders = sorted({str(file.parent.relative_to("tests")) for file in tests})
    command = [str(pythons.theirs), "-m", "pytest", "-p", "outcomes", "-q", "-c", "pytest.ini", *COLLECT, *folders]
    variables = {"PYTHONPATH": f"..{os.pathsep}{STAND_INS}", "ANSIBLE_CONFIG": "../ansible",
                 "ANSIBLE_LIBRARY": "../ansible/library", "UPSTREAM_OUTCOMES": os.devnull}
    ended = tree.run(command, "tests", variables)
    lost = sorted(file.name for file in tests if f"{file.name}::" not in ended.stdout)
    left_out = re.search(r"(\d+) deselected", ended.stdout)  # those of a sweep, unless they are asked for
    if ended.returncode == 0 and len(lost) > int(left_out[1] if left_out else 0):
        return CheckOutcome("collect-only", FAILED, f"no test of {', '.join(lost)} was collected")
    return outcome_of("collect-only", ended)


def unit_tests(tree: ChangedTree, pythons: Pythons) -> CheckOutcome:
    """The change's unit tests, as sonic-mgmt's environment runs them; where there is none, this project's Python, with
    an empty `tests/common/__init__.py`."""
    files = [str(file) for file in tree.change.unit_tests if file.name.startswith("unit_test_")]
    if not files:
        return CheckOutcome("unit tests", NOTHING)
    if pythons.theirs is None:
        (tree.folder / "tests/common/__init__.py").write_text("", encoding="utf-8")
    command = [str(pythons.theirs or pythons.own), "-m", "pytest", "--noconftest", "--assert", "plain", *QUIET, "-p",
               "no:virtual_testbed.pytest_plugin", *files]
    return outcome_of("unit tests", tree.run(command))
