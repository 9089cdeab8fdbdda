"""A session that goes on with a run that was left."""

import pytest

from tests.common.pfc.conditions.option import KEY
from tests.common.pfc.record.errors import RecordError, RecordsUnwritable
from tests.common.pfc.record.verdict import Status
from tests.snappi_tests.pfc.qualification.files.resume import Resuming
from tests.snappi_tests.pfc.qualification.files.session import Session
from tests.snappi_tests.unit_tests.qualification.unit_test_session import (  # noqa: F401 (fixtures)
    Item, keep, reporting, session,
)


def begun(folder, resume=False, run_id=None):
    """A session with the option, that goes on with the run in a folder or begins one there."""
    ours = Session(run_id, None if resume else str(folder))
    given = {"pfc_resume": str(folder) if resume else None, "testbed": "vtb-t0"}
    ours.ask([Resuming(ours, given.get)], [])
    return ours


def test_an_earlier_verdict_is_what_the_item_has_too(session, tmp_path):  # noqa: F811
    """A port that failed in the first part of a run has failed, whatever is measured later; a new run asks for a folder
    of its own."""
    keep(session, 3, Status.FAIL)
    with pytest.raises(RecordsUnwritable, match="has the records of a run: go on with it by --pfc-resume="):
        begun(tmp_path, run_id="run-2").begin([Item(3)], "vtb-t0")
    ours = begun(tmp_path, resume=True)
    ours.begin([Item(3)], "vtb-t0")
    kept = keep(ours, 3)
    assert {verdict.status for verdict in kept} == {Status.FAIL}, kept


def test_a_run_goes_on_with_the_conditions_that_it_was_begun_with(tmp_path):
    """They are in the testbed's entry."""
    entry = {"conf-name": "vtb-t0", KEY: {"line_percent": 98, "reason": "LLDP"}}
    first = begun(tmp_path, run_id="run-1")
    first.on_testbed(entry)
    first.begin([Item(3)], "vtb-t0")
    ours = begun(tmp_path, resume=True)
    ours.on_testbed(entry)
    with pytest.raises(RecordError, match="is of a run with pfc_conditions of the testbed's entry .*98"):
        ours.on_testbed({"conf-name": "vtb-t0"})
