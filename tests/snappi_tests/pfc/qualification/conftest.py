"""The seam between the qualification and the fixtures around it, and the listener of a session.

The fixtures `duthosts`, `tbinfo`, `snappi_api`, `get_snappi_ports` and `enum_one_dut_lossless_prio` come from
sonic-mgmt where this folder is in such a tree, and from this project's `tests/conftest.py` otherwise.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.common.pfc.cases import PLAN, check_sets, impossible, parse_set, select, targets
from tests.common.pfc.dut import Dut
from tests.common.pfc.errors import QualificationError
from tests.common.pfc.plan import LabFacts, Wish, connected_port, plan_device
from tests.common.pfc.polling import open_clock
from tests.common.pfc.records import RecordsUnwritable
from tests.snappi_tests.pfc.qualification.files.session import Session, read_target, write_target
from tests.snappi_tests.pfc.qualification.files.summary import write_summary

SESSION_KEY = pytest.StashKey[Session]()
STANDALONE = find_spec("tests.common.standalone") is not None

if not STANDALONE:  # sonic-mgmt's conftest leaves these to each test module, with what they ask for in turn
    from tests.common.fixtures.conn_graph_facts import fanout_graph_facts, fanout_graph_facts_multidut  # noqa: F401
    from tests.common.snappi_tests.snappi_fixtures import (  # noqa: F401
        get_snappi_ports,
        get_snappi_ports_multi_dut,
        get_snappi_ports_single_dut,
        snappi_api,
        snappi_api_serv_ip,
        snappi_api_serv_port,
    )


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
        "--pfc-ip-version", default="4", choices=["4", "6"], help="IP version of the data (default: 4)"
    )
    group.addoption(
        "--pfc-same-generator",
        action="store_true",
        help="data may also enter by a port on the port under test's own traffic generator (default: on another only)",
    )
    group.addoption(
        "--pfc-change-config",
        action="store_true",
        help="also the test cases that change the switch's configuration and put it back (always on a virtual testbed)",
    )
    group.addoption(
        "--pfc-results", default=None, metavar="DIR", help="folder for records (default: results/<run id>)"
    )
    group.addoption(
        "--pfc-run-id", default=None, metavar="ID", help="joins the parts of one run (default: from time and process)"
    )
    group.addoption(
        "--pfc-scenario",
        action="append",
        default=[],
        metavar="CASE",
        help="plan ids or names of the test cases to run, e.g. PFC-1,global-pause; may be repeated (default: all)",
    )
    group.addoption(
        "--pfc-set",
        action="append",
        default=[],
        metavar="PRIORITIES",
        help="priorities to pause together, e.g. 3,4: lossless ones in PFC-2, lossy ones in PFC-3; may be repeated "
        "(default: all lossless ones, all lossy ones)",
    )


def pytest_configure(config):
    """One session object for a pytest session. It is there before anything is refused: where pytest was given a folder
    above this one, a refusal is one error among other suites' tests, and the hooks below go on."""
    session = Session(config.getoption("pfc_run_id"), config.getoption("pfc_results"))
    config.stash[SESSION_KEY] = session
    config.addinivalue_line("markers", "pfc_case(case): the test case of the PFC test plan that a test carries out")
    config.addinivalue_line("markers", "pfc_cases(case, ...): the test cases that a test carries out, each an item")
    if config.getoption("dist", "no") != "no" or config.getoption("numprocesses", None):
        raise pytest.UsageError("a testbed is measured by one process at a time: start pytest without -n")
    try:
        session.cases = select(",".join(config.getoption("pfc_scenario")).replace(" ", "").split(","))
        session.sets = [parse_set(text) for text in config.getoption("pfc_set")]
    except QualificationError as error:
        raise pytest.UsageError(str(error)) from None


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
        ours = session.config.stash[SESSION_KEY]
        ours.plan = lab.port_plan
        check_sets(ours.sets, ours.cases, ours.plan.subject.qos)
    except (LabError, QualificationError) as error:
        raise pytest.UsageError(str(error)) from None


def pytest_generate_tests(metafunc):
    """One item for each set of priorities that a test case is about."""
    if "pfc_target" not in metafunc.fixturenames:
        return
    ours = metafunc.config.stash[SESSION_KEY]
    one, family = (metafunc.definition.get_closest_marker(name) for name in ("pfc_case", "pfc_cases"))
    if one is not None:
        found = _written_targets(ours, one.args[0])
        metafunc.parametrize("pfc_target", found, ids=[text or "-" for text in found])
        return
    metafunc.parametrize(
        ("plan_case", "pfc_target"),
        [
            pytest.param(case, text, id=f"{case.plan_id}-{text or ''}", marks=pytest.mark.pfc_case(case))
            for case in family.args
            for text in _written_targets(ours, case)
        ],
    )


def _written_targets(ours, case):
    """What a test case is about on the port under test; None where the port is known when the tests run."""
    if ours.plan is None:
        return [None]
    subject = ours.plan.subject
    return [write_target(subject.qos.device, target) for target in targets(case, subject, ours.sets)]


def pytest_collection_modifyitems(config, items):
    """Leaves out the test cases that were not asked for, and carries out the others in the plan's order."""
    chosen = config.stash[SESSION_KEY].cases
    left = [item for item in items if (case := item.get_closest_marker("pfc_case")) and case.args[0] not in chosen]
    left += [item for item in items if item.get_closest_marker("pfc_cases") and not item.get_closest_marker("pfc_case")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    order = {case: place for place, case in enumerate(PLAN)}
    places = [place for place, item in enumerate(items) if item.get_closest_marker("pfc_case")]
    ours = [items[place] for place in places]
    ours.sort(key=lambda item: order[item.get_closest_marker("pfc_case").args[0]])
    for place, item in zip(places, ours, strict=True):
        items[place] = item


def pytest_collection_finish(session):
    """Every item of ours that is going to run must end in a verdict. A session of other suites' tests is let alone."""
    items = [item for item in session.items if item.get_closest_marker("pfc_case")]
    if session.config.option.collectonly or not items:
        return
    ours = session.config.stash[SESSION_KEY]
    if STANDALONE and ours.plan is None:  # pytest was given a folder above this one and found this file too late
        _plan(session)
    try:
        ours.begin(items, session.config.getoption("testbed"))
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
    try:
        ours.put_back()  # a session that was interrupted
    except QualificationError as error:
        ours.notes.append(f"clean-up: {error}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if not ours.finish() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    """The verdict table."""
    if config.stash[SESSION_KEY].began:
        write_summary(terminalreporter, config.stash[SESSION_KEY])


@pytest.fixture(scope="module")
def pfc_bench(request, duthosts, tbinfo, snappi_api, get_snappi_ports, conn_graph_facts):  # noqa: F811
    """A qualifier for the port under test. Its watchdog is stopped, and afterwards as it was before the first run:
    after the last of our modules, in a sonic-mgmt tree after each, because other fixtures change it in between."""
    ours = request.config.stash[SESSION_KEY]
    cause = ""
    try:
        if ours.plan is None:
            ports = [connected_port(port) for port in get_snappi_ports]
            rx, tx, ip = (request.config.getoption(name) for name in ("pfc_port", "pfc_tx_port", "pfc_ip_version"))
            change, same = (request.config.getoption(name) for name in ("pfc_change_config", "pfc_same_generator"))
            facts = LabFacts(tbinfo, lambda name: Dut(duthosts[name]), ports, conn_graph_facts["device_conn"])
            ours.plan = plan_device(facts, duthosts[0].hostname, Wish(rx, tx, int(ip), change, same))
            ours.announce()
        duts = ours.take({name: duthosts[name] for name in ours.plan.devices})
        lab = ours.plan.lab(duts[ours.plan.state.device], snappi_api, open_clock(tbinfo.get("clock")), duts)
        yield ours.qualifier(lab)
        if not STANDALONE or _is_last(request):
            ours.put_back()
    except QualificationError as error:
        cause = str(error)
    if cause:  # outside the handler, or pytest prints every exception behind this one
        pytest.fail(cause, pytrace=False)


def _is_last(request):
    """Whether no other module's items of ours are to come."""
    ours = [item for item in request.session.items if item.get_closest_marker("pfc_case")]
    return ours[-1].module is request.node.obj


@pytest.fixture
def pfc_qualify(request, pfc_bench):
    """`pfc_qualify(case, "vtb-t0-01|3,4")` carries out a test case of the plan and fails the test unless every verdict
    is PASS."""
    ours = request.config.stash[SESSION_KEY]

    def qualify(case, dut_and_target):
        chosen = [read_target(dut_and_target)] if dut_and_target else _targets_now(ours, case)
        if not chosen:
            reason = impossible([case], ours.plan.subject)[0]
            ours.impossible(request.node.nodeid, reason)
            pytest.skip(reason)
        messages = {}
        for target in chosen:
            outcome = pfc_bench.qualify(case, target)
            ours.heard(request.node.nodeid, outcome)
            messages |= dict.fromkeys(message for verdict in outcome.verdicts for message in verdict.messages)
        if messages:
            pytest.fail("\n".join(messages), pytrace=False)

    return qualify


def _targets_now(ours, case):
    """What a test case is about where the port was not known when tests were collected."""
    subject = ours.plan.subject
    try:
        check_sets(ours.sets, ours.cases, subject.qos)
    except QualificationError as error:
        pytest.fail(str(error), pytrace=False)
    return targets(case, subject, ours.sets)


def _reporting():
    """The reporting part of the project, or None where it is not."""
    try:
        from test_reporting.pfc.listener import Listener
    except ImportError:
        return None
    return Listener
