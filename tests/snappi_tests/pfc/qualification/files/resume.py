"""A pytest session that goes on with a run that was left: what that measured is not measured again.

This is a pytest plugin, which `conftest.py` registers where the option `resume` is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.case import PlannedItem
from tests.common.pfc.record.verdict import PortVerdict
from tests.common.pfc.resume.earlier import Earlier, check_options, read_earlier
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.session import Session
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY


class Resuming(Extension):
    """What an earlier part of the run left.

    Attributes:
        earlier: its verdicts.
    """

    def __init__(self, session: Session, option: Callable[[str], Any]) -> None:
        """Nothing is read yet; arguments as of `Extension`."""
        super().__init__(session, option)
        self._folder: Path | None = None  # of the run; None: a new one begins
        self._finished: dict[PlannedItem, list[PortVerdict]] = {}
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
        if self._option("pfc_resume"):
            self._folder = Path(self._option("pfc_resume")).absolute()
            check_options(self._folder, self._session.options)
            self.earlier = read_earlier(self._folder)
            self._session.go_on(self._folder, self.earlier.run_id, self.earlier.job_id)

    def on_testbed(self) -> None:
        """A run goes on as it was begun.

        Raises:
            RecordError: with other options.
        """
        if self._folder is not None:
            check_options(self._folder, self._session.options)

    def measured_before(self, items: Sequence[Any]) -> list[Any]:
        """The items that an earlier part of the run has measured.

        Raises:
            QualificationError: it was a run on another testbed.
        """
        testbed = self._option("testbed")
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
        """Counts the verdicts that are there."""
        self._session.collector.go_on(self.earlier.unmeasured(), self.earlier.measured())
        for measured, verdicts in self._finished.items():
            self._session.collector.recall(measured, verdicts)


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
