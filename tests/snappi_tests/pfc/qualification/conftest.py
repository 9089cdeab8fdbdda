"""The seam between the qualification and the fixtures around it, and the listener of a session.

The fixtures `duthosts`, `tbinfo`, `snappi_api`, `get_snappi_ports` and `enum_one_dut_lossless_prio` come from
sonic-mgmt where this folder is in such a tree, and from this project's `tests/conftest.py` otherwise.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.common.pfc.dut import Dut
from tests.common.pfc.errors import QualificationError
from tests.common.pfc.journal import Journal
from tests.common.pfc.plan import plan_port, connected_port
from tests.common.pfc.polling import open_clock
from tests.common.pfc.records import RecordsUnwritable
from tests.common.pfc.run import Qualifier
from tests.snappi_tests.pfc.qualification.files.session import Session
from tests.snappi_tests.pfc.qualification.files.summary import write_summary

SESSION_KEY = pytest.StashKey[Session]()
STANDALONE = find_spec("tests.common.standalone") is not None


def pytest_addoption(parser):
    """Options of the qualification."""
    group = parser.getgroup("pfc", "PFC qualification")
    group.addoption(
        "--pfc-port",
        default=None,
        metavar="PORT",
        help="port under test (default: the first with a generator behind it)",
    )
    group.addoption("--pfc-tx-port", default=None, metavar="PORT", help="port that data enters (default: chosen)")
    group.addoption(
        "--pfc-results", default=None, metavar="DIR", help="folder for records (default: results/<run id>)"
    )
    group.addoption(
        "--pfc-run-id", default=None, metavar="ID", help="joins the parts of one run (default: from time and process)"
    )


def pytest_configure(config):
    """One session object for a pytest session."""
    if config.getoption("dist", "no") != "no" or config.getoption("numprocesses", None):
        raise pytest.UsageError("a testbed is measured by one process at a time: start pytest without -n")
    config.addinivalue_line("markers", "pfc_case(case): the test case of the PFC test plan that a test carries out")
    config.stash[SESSION_KEY] = Session(config.getoption("pfc_run_id"), config.getoption("pfc_results"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Refuses in one sentence, before anything is collected, what could only end in errors."""
    if STANDALONE:
        _plan(session)


def _plan(session):
    """Looks at the lab, and plans the port."""
    from tests.common.errors import LabError
    from tests.common.snappi_tests.snappi_fixtures import check_api
    from tests.common.standalone import lab_of

    lab = lab_of(session.config)
    try:
        if not session.config.option.collectonly:
            check_api(lab.tbinfo, lab.duthosts[0])
        session.config.stash[SESSION_KEY].plan = lab.port_plan
    except LabError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_collection_finish(session):
    """Every item that is going to run must end in a verdict."""
    if session.config.option.collectonly or not session.items:
        return
    ours = session.config.stash[SESSION_KEY]
    if STANDALONE and ours.plan is None:  # pytest was given a folder above this one and found this file too late
        _plan(session)
    try:
        ours.begin(session.items, session.config.getoption("testbed"))
        if ours.plan is not None:
            ours.announce()
        ours.open_report(_reporting())
    except RecordsUnwritable as error:
        ours.began = False
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Hands the item's own failure to the listener."""
    report = yield
    if report.failed and call.excinfo is not None:
        cause = call.excinfo.exconly().removeprefix("Failed: ")
        item.config.stash[SESSION_KEY].broken(item.nodeid, cause, after=report.when == "teardown")
    return report


def pytest_sessionfinish(session, exitstatus):
    """Exit status 0 only when everything that was planned is PASS, and something was."""
    ours = session.config.stash[SESSION_KEY]
    if session.config.option.collectonly or not ours.began:
        return
    if not ours.finish() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    """The verdict table."""
    if config.stash[SESSION_KEY].began:
        write_summary(terminalreporter, config.stash[SESSION_KEY])


@pytest.fixture(scope="module")
def pfc_bench(request, duthosts, tbinfo, snappi_api, get_snappi_ports):
    """A qualifier for the port under test. Its watchdog is stopped, and afterwards as it was before the first run."""
    ours = request.config.stash[SESSION_KEY]
    dut = Dut(duthosts[0])
    cause = ""
    try:
        if ours.plan is None:
            ports = [connected_port(port) for port in get_snappi_ports]
            ours.plan = plan_port(
                dut, ports, request.config.getoption("pfc_port"), request.config.getoption("pfc_tx_port")
            )
            ours.announce()
        lab = ours.plan.lab(dut, snappi_api, open_clock(tbinfo.get("clock")))
        with Journal(dut.host, ours.run_id).watchdog_stopped():
            yield Qualifier(lab)
    except QualificationError as error:
        cause = str(error)
    if cause:  # outside the handler, or pytest prints every exception behind this one
        pytest.fail(cause, pytrace=False)


@pytest.fixture
def pfc_qualify(request, pfc_bench):
    """`pfc_qualify(case, "vtb-t0-01|3")` carries out a test case of the plan and fails the test unless every verdict
    is PASS."""

    def qualify(case, dut_and_priority):
        outcome = pfc_bench.qualify(case, int(dut_and_priority.split("|")[1]))
        request.config.stash[SESSION_KEY].listener.hear(outcome)
        messages = list(dict.fromkeys(message for verdict in outcome.verdicts for message in verdict.messages))
        if messages:
            pytest.fail("\n".join(messages), pytrace=False)

    return qualify


def _reporting():
    """The reporting part of the project, or None where it is not."""
    try:
        from test_reporting.pfc.listener import Listener
    except ImportError:
        return None
    return Listener
