"""A pytest plugin for sonic-mgmt's environment: runs those of the collected tests that are asked for, and writes to a
file what becomes of them, while they run.

Used as `-p outcomes` with this folder in PYTHONPATH. The file, named by UPSTREAM_OUTCOMES, has one JSON object a line:
first `{"planned": [...], "left_out": [...]}`, the tests in the order in which they run and those that restart the
switch; then one for each that has ended, `{"test": ..., "result": "passed", "reason": "", "seconds": 61.2}`; at last
`{"ended": 0}`, pytest's exit status. UPSTREAM_TESTS has names, with commas; a test runs whose path, function or
parameters contain one of them. No name means all.

Also stands in for `nnpy`, which sonic-mgmt's conftest imports for tests with a PTF container, and which does not build
without libnanomsg's headers.
"""
from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest

FILE = "UPSTREAM_OUTCOMES"
NAMES = "UPSTREAM_TESTS"
RESTARTS = ("reboot", "restart")
"""In the name of a test that restarts the switch or its services."""
WARM_REBOOT = "warm_reboot"
"""Folder of tests that reboot a switch in the midst of a storm, where SONiC refuses to; sonic-mgmt skips them all."""
BADNESS = ("passed", "skipped", "failed", "error")

sys.modules.setdefault("nnpy", types.ModuleType("nnpy"))


def is_named(test: str, names: list[str]) -> bool:
    """Whether a test has one of the names in its own. `names`: none means all."""
    return not names or any(name in test for name in names)


def is_chosen(test: str, names: list[str]) -> bool:
    """Whether a test is run: one that restarts the switch or its services only by a name that says so, one of the
    folder `warm_reboot` only by its name.
    """
    if f"/{WARM_REBOOT}/" in test:
        names = [name for name in names if WARM_REBOOT in name]
        return bool(names) and is_named(test, names)
    if any(word in test for word in RESTARTS):
        names = [name for name in names if any(word in name for word in RESTARTS)]
        return bool(names) and is_named(test, names)
    return is_named(test, names)


def is_for(item: pytest.Item, topologies: list[str]) -> bool:
    """Whether a test is for one of these topologies, or for any: sonic-mgmt would skip it otherwise."""
    mark = next(item.iter_markers("topology"), None)
    return mark is None or topologies == [""] or not {"any", *topologies}.isdisjoint(mark.args)


class Outcomes:
    """Follows one pytest session."""

    def __init__(self, file: Path, names: list[str]) -> None:
        """Nothing is written yet."""
        self._file = file
        self._names = names
        self._came: dict[str, Any] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leaves out what is not asked for."""
        topologies = (config.getoption("--topology", default=None) or "").split(",")
        possible = [item for item in items if is_for(item, topologies)]
        chosen = [item for item in possible if is_chosen(item.nodeid, self._names)]
        others = [item for item in possible if item not in chosen]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen
        asked_for = [item.nodeid for item in others if is_named(item.nodeid, self._names)]
        self._write({"planned": [item.nodeid for item in items], "left_out": asked_for})

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self._came = {"test": nodeid, "result": "passed", "reason": "", "seconds": 0.0}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A part of it has ended: its fixtures, itself, or its fixtures' end. The worst one counts, and the first."""
        came = self._came
        came["seconds"] += report.duration
        result = "error" if report.failed and report.when != "call" else report.outcome
        if BADNESS.index(result) > BADNESS.index(came["result"]):
            came.update(result=result, reason=reason_of(report))

    def pytest_runtest_logfinish(self) -> None:
        """Writes what became of it."""
        self._write({**self._came, "seconds": round(self._came["seconds"], 1)})

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """The end."""
        self._write({"ended": int(exitstatus)})

    def _write(self, event: dict[str, Any]) -> None:
        with self._file.open("a", encoding="ascii") as file:
            file.write(json.dumps(event) + "\n")


def reason_of(report: pytest.TestReport) -> str:
    """Why a test did not pass, as pytest's own summary says it."""
    longrepr: Any = report.longrepr
    if isinstance(longrepr, tuple):  # skipped: file, line, reason
        return str(longrepr[2]).removeprefix("Skipped: ")
    crash = getattr(longrepr, "reprcrash", None)
    return str(crash.message if crash else longrepr)


def pytest_configure(config: pytest.Config) -> None:
    """Follows the session."""
    names = [name.strip() for name in os.environ.get(NAMES, "").split(",")]
    config.pluginmanager.register(Outcomes(Path(os.environ[FILE]), [name for name in names if name]), Outcomes.__name__)
