"""The end of a session: its switches are put back, and its verdicts decide pytest's exit status."""

from __future__ import annotations

import pytest

from tests.common.pfc.lab.signals import put_off
from tests.common.pfc.model.errors import QualificationError
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY, STANDALONE


@pytest.hookimpl(tryfirst=True)  # others write files, which a full disk does not let them
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Exit status 0 only when everything that was planned is PASS, and something was."""
    ours = session.config.stash[SESSION_KEY]
    if session.config.option.collectonly or not ours.began:
        return
    try:
        if STANDALONE and ours.measured_before and not session.items:
            from tests.common.standalone_session import take_over

            take_over(session.config, ours)
        ours.put_back()  # where the session was interrupted, or could not
    except QualificationError as error:
        ours.notes.append(f"clean-up: {error}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    except KeyboardInterrupt:
        session.exitstatus = pytest.ExitCode.INTERRUPTED
    with put_off():
        passed = ours.finish()
    if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):  # none are left of a whole run
        session.exitstatus = pytest.ExitCode.OK if passed else pytest.ExitCode.TESTS_FAILED
