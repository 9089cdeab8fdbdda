"""A pytest plugin: writes to a file what is planned and what becomes of it, for whoever started pytest and shows it.

Each line is a JSON object: first `{"planned": {"PFC": 5, ...}}`, the items of each family in the order in which they
run; then one for each item that has ended, `{"family": "PFC", "status": "PASS"}`; at last
`{"status": "PASS", "cause": "", "summary": [...]}`, where the session came to its end.
"""
from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scripts.qualifying.progress import SKIPPED
from tests.common.pfc.record.verdict import combine
from tests.common.pfc.summary.reasons import reasons
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY, case_of
from tests.snappi_tests.pfc.qualification.files.summary import summary_lines


class ItemLog:
    """Follows one pytest session."""

    def __init__(self, file: Path) -> None:
        """Nothing is written yet.

        Args:
            file: to write to.
        """
        self._file = file
        self._families: dict[str, str] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Writes what is planned."""
        self._families = {item.nodeid: case.family for item in session.items if (case := case_of(item))}
        self._write({"planned": Counter(self._families.values())})

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Writes what became of an item."""
        done = yield
        if item.nodeid in self._families:
            verdicts = item.config.stash[SESSION_KEY].verdicts_of(item.nodeid)
            status = combine(verdict.status for verdict in verdicts).value if verdicts else SKIPPED
            self._write({"family": self._families[item.nodeid], "status": status})
        return done

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes the verdict, which the suite has given by now."""
        ours = session.config.stash[SESSION_KEY]
        if not ours.began:
            return
        status = combine(verdict.status for verdict in ours.collector.metric_verdicts())
        found = [reason for reason in reasons(ours.collector) if reason.status is status]
        cause = next(iter(found[0].messages)) if found else ""
        self._write({"status": status.value, "cause": cause, "summary": [line for line, _ in summary_lines(ours)]})

    def _write(self, event: dict[str, Any]) -> None:
        """Writes a line; what the disk does not take is not worth a measurement."""
        with suppress(OSError), self._file.open("a", encoding="ascii") as file:
            file.write(json.dumps(event) + "\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to."""
    parser.addoption("--pfc-item-log", type=Path, metavar="FILE", help="write what becomes of each item to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Follows the session."""
    config.pluginmanager.register(ItemLog(config.getoption("pfc_item_log")), ItemLog.__name__)
