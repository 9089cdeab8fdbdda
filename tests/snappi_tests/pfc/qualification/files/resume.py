"""A pytest session that goes on with a run that was left: what that measured is not measured again.

This is a pytest plugin, which `conftest.py` registers where the option `resume` is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.common.pfc.lab.option import testbed_keys
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.case import PlannedItem
from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.records import RunLabels
from tests.common.pfc.record.run_reading import read_run
from tests.common.pfc.record.verdict import PortVerdict
from tests.common.pfc.resume.collector import ResumedCollector
from tests.common.pfc.resume.earlier import Earlier, check_options, keep_options, read_earlier
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.session import Session
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY


class Resuming(Extension):
    """What an earlier part of the run left.

    Attributes:
        earlier: its verdicts.
    """

    def __init__(self, session: Session, getoption: Callable[[str], Any]) -> None:
        """Nothing is read yet; arguments as of `Extension`."""
        super().__init__(session, getoption)
        self._folder: Path | None = None  # of the run; None: a new one begins
        self._finished: dict[PlannedItem, list[PortVerdict]] = {}
        self._options: dict[str, str] = {}
        self.earlier = Earlier()

    @property
    def way_on(self) -> str:
        """The session's own folder."""
        return f"--pfc-resume={self._session.folder}"

    @property
    def has_verdicts(self) -> bool:
        """Where there are records."""
        return bool(self.earlier.records)

    def read_options(self) -> None:
        """Reads what the run left.

        Raises:
            RecordError: it is no folder of a run, or of one with other options.
        """
        self._options = self._meaning()
        if self._getoption("pfc_resume"):
            self._folder = Path(self._getoption("pfc_resume")).absolute()
            check_options(self._folder, self._options)
            self.earlier = read_earlier(self._folder)
            self._session.go_on(self._folder, self.earlier.run_id, self.earlier.job_id, self._faults(self._folder))

    def _faults(self, folder: Path) -> tuple[str, ...]:
        """What was broken on purpose, as `run.json` says it; one that cannot be read is written anew."""
        try:
            run = read_run(folder, [])
        except RecordError as error:
            self._session.notes.append(f"{error}; it is written anew")
            return ()
        return run.faults if run is not None else ()

    def _meaning(self) -> dict[str, str]:
        """The options that change what the verdicts of a run mean, as text."""
        option = self._getoption
        cases = self._session.cases if self._session.is_asked else ()
        return {
            "--pfc-ip-version": str(option("pfc_ip_version")),
            "--pfc-tx-port": option("pfc_tx_port") or "as chosen",
            "--pfc-change-config": "given" if option("pfc_change_config") else "not given",
            "--pfc-same-generator": "given" if option("pfc_same_generator") else "not given",
            "--pfc-scenario": ",".join(case.plan_id for case in cases) or "not given",
            **{name: value for extension in self._session.extensions for name, value in extension.meaning().items()},
        }

    def on_testbed(self, entry: Mapping[str, Any]) -> None:
        """A run goes on as it was begun.

        Raises:
            RecordError: with other options, or another entry.
        """
        self._options |= {f"{key} of the testbed's entry": repr(entry.get(key)) for key in testbed_keys()}
        if self._folder is not None:
            check_options(self._folder, self._options)

    def measured_before(self, items: Sequence[Any]) -> list[Any]:
        """The items that an earlier part of the run has measured.

        Raises:
            QualificationError: it was a run on another testbed.
        """
        testbed = self._getoption("testbed")
        if self.earlier.testbed not in ("", testbed):
            raise QualificationError(
                f"--pfc-resume: {self._folder} is of a run on testbed {self.earlier.testbed}, not on {testbed}"
            )
        left = [item for item in items if self._is_finished(item)]
        if left:
            places = ", ".join(dict.fromkeys(planned.port for planned in self._finished))
            self._session.notes.append(f"{len(left)} items were measured before, not again: {places}")
        return left

    def _is_finished(self, item: Any) -> bool:
        planned = self._session.planned(item)
        verdicts = self.earlier.verdicts(planned) if planned is not None else None
        if planned is None or verdicts is None:
            return False
        self._finished[planned] = verdicts
        return True

    def begin(self) -> None:
        """Keeps the options."""
        keep_options(self._session.folder, self._options, self._folder is not None)

    def collector(self, labels: RunLabels) -> ResumedCollector:
        """A collector that counts the verdicts that are there."""
        made = ResumedCollector(labels, self.earlier)
        for measured, verdicts in self._finished.items():
            made.recall(measured, verdicts)
        return made


def extend(config: pytest.Config) -> Resuming:
    """The earlier part of a pytest session, whose qualification is there already."""
    return Resuming(config.stash[SESSION_KEY], config.getoption)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that names a run."""
    parser.getgroup("pfc", "PFC qualification").addoption(
        "--pfc-resume",
        metavar="DIR",
        help="go on with the run that left this folder: what it measured is not measured again",
    )
