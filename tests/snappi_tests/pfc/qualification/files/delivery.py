"""What is kept of a session beside its records: `run.json`, databases, the page, SONiC's final metrics.

This is a pytest plugin, which `conftest.py` registers where the option `delivery` is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from tests.common.pfc.cases.watchdog.watched import watched
from tests.common.pfc.delivery.run_writer import RunWriter
from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.record_file import RunEnd
from tests.common.pfc.record.run import Run
from tests.common.pfc.record.run_reading import read_run
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.session import UNKNOWN, Session
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY


class Delivering(Extension):
    """Brings a run to the databases and reporters that there are."""

    def __init__(self, session: Session, getoption: Callable[[str], Any], reporting: Any, missing: str = "") -> None:
        """Nothing is opened yet.

        Args:
            session, option: as of `Extension`.
            reporting: `test_reporting.pfc`; None: a package is `missing`.
            missing: its name.
        """
        super().__init__(session, getoption)
        self._reporting = reporting
        self._missing = missing
        self._writer: RunWriter | None = None

    def writer(self, left_out: Mapping[str, str]) -> RunWriter:
        """The writer of the session's run; each verdict that the run expects is an ERROR until there is a record."""
        session = self._session
        if self._reporting is None:
            session.notes.append(f"verdicts are in the records only: {self._missing} is not installed here")
        expected = tuple(key for key in session.collector.expected if UNKNOWN not in key)
        found = {}
        if self._reporting is not None:
            found = self._reporting.provenance(self._subjects(), session.serial, watched)
        run = Run(session.run_id, session.testbed, job_id=session.job_id or "", expected=expected,
                  faults=session.faults, info={**found, **left_out})
        earlier: Run | None = None
        with suppress(RecordError):  # then it is written anew
            earlier = read_run(session.folder, []) if session.goes_on else None
        delivery = self._reporting.RunDelivery(session.folder, session.notes.append) if self._reporting else None
        self._writer = RunWriter(session.folder, run, session.notes.append, delivery, earlier)
        return self._writer

    def _subjects(self) -> list[PortUnderTest]:
        """The ports that the run measures, as far as they are planned."""
        if self._session.plan is not None:
            return [self._session.plan.subject]
        return [subject for extension in self._session.extensions for subject in extension.subjects()]

    def ended(self, end: RunEnd) -> bool:
        """Reports the verdicts, and writes the page of the run; no verdict depends on the page."""
        if self._reporting is None or self._writer is None:
            return True
        is_reported = self._report_final_metrics(self._writer.run)
        try:
            self._reporting.write_page(self._session.folder, self._session.run_id, end.stored)
        except (RecordError, OSError) as error:
            self._session.notes.append(f"the page of the run: {error}")
        return is_reported

    def _report_final_metrics(self, run: Run) -> bool:
        """Reports the verdicts through SONiC's final metrics reporter; returns whether they are not lost there."""
        collector = self._session.collector
        notes = self._session.notes
        verdicts = collector.metric_verdicts()
        if not verdicts:
            return True
        builds = {one.device: collector.labels_of(one.device).os_version for one in verdicts}
        try:
            self._reporting.report_final_metrics(run, verdicts, builds)
        except ModuleNotFoundError as error:
            notes.append(f"verdicts are not reported as final metrics: {error.name} is not installed here")
        except RecordError as error:
            notes.append(f"final metrics: {error}")
            return False
        return True


def extend(config: Any) -> Delivering:
    """The session's, with the reporting part of the project, or the name of the package that it lacks."""
    session = config.stash[SESSION_KEY]
    try:
        import test_reporting.pfc as reporting
    except ModuleNotFoundError as error:
        return Delivering(session, config.getoption, None, error.name or "")
    return Delivering(session, config.getoption, reporting)
