"""The seam between the qualification and the fixtures around it, and the verdicts of a session.

The fixtures `duthosts`, `tbinfo`, `snappi_api` and `get_snappi_ports` come from sonic-mgmt where this folder is in such
a tree, and from this project's `tests/conftest.py` otherwise.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases.plan import lack_of, port_cases, sweep_cases
from tests.common.pfc.lab.option import adapted, open_clock
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.lab import no_host
from tests.common.pfc.lab.planning import connected_port, measurable_first, open_lab, plan_device
from tests.common.pfc.lab.port_plan import LabFacts, PortRequest
from tests.common.pfc.lab.restore import read_state
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.errors import RecordError, RecordsUnwritable
from tests.snappi_tests.pfc.qualification.files.ending import pytest_sessionfinish  # noqa: F401 (a hook)
from tests.snappi_tests.pfc.qualification.files.extension import deselected, plugins
from tests.snappi_tests.pfc.qualification.files.session import Session, read_target, write_target
from tests.snappi_tests.pfc.qualification.files.steps import (
    SESSION_KEY, STANDALONE, case_of, fail_for, is_sweep, keep_each, one_sentence, taken,
)
from tests.snappi_tests.pfc.qualification.files.telemetry import record_verdicts

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
    from tests.conftest import generate_priority_lists


def pytest_addoption(parser, pluginmanager):
    """The command line of the qualification, and the plugins of the options beside its core."""
    group = parser.getgroup("pfc", "PFC qualification")

    def add(name, said, **settings):
        group.addoption(f"--pfc-{name}", help=said, **settings)

    add("port", "port under test (default: the first with a generator behind it)", metavar="PORT")
    add("tx-port", "port that data enters (default: chosen)", metavar="PORT")
    add("ip-version", "IP version of the data (default: 4)", default="4", choices=["4", "6"])
    add("same-generator", "data may also enter by a port on the port under test's own traffic generator (default: on"
        " another only)", action="store_true")
    add("change-config", "also test cases that change the switch's configuration and put it back, and addresses for"
        " ports without one (always on a virtual testbed)", action="store_true")
    add("results", "folder for records (default: <run id> in results, or in sonic-mgmt's logs)", metavar="DIR")
    add("run-id", "joins the parts of one run (default: from time and process)", metavar="ID")
    add("job-id", "joins runs that belong together, on several testbeds (default: none)", metavar="ID")
    for plugin in plugins():
        pluginmanager.register(plugin, plugin.__name__)


def pytest_configure(config):
    """One session object for a pytest session. It is there before anything is refused: where pytest was given a folder
    above this one, a refusal is one error among other suites' tests, and the hooks below go on."""
    options = (config.getoption(name) for name in ("pfc_run_id", "pfc_results", "pfc_job_id"))
    session = Session(*options, results=_results())
    config.stash[SESSION_KEY] = session
    extensions = [plugin.extend(config) for plugin in plugins()]
    config.addinivalue_line("markers", "pfc_case(case): the test case of the PFC test plan that a test carries out")
    config.addinivalue_line("markers", "pfc_cases(case, ...): the test cases that a test carries out, each an item")
    if config.getoption("dist", "no") != "no" or config.getoption("numprocesses", None):
        raise pytest.UsageError("a testbed is measured by one process at a time: start pytest without -n")
    try:
        session.ask(extensions, config.args)
    except (QualificationError, RecordError) as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Refuses in one sentence, before anything is collected, what could only end in errors."""
    if STANDALONE:
        _plan(session)


def _plan(session):
    """Plans the port under test, unless a sweep measures the others."""
    from tests.common.standalone_session import plan

    ours = session.config.stash[SESSION_KEY]
    plan(session.config, ours, not is_sweep(ours.cases))


def pytest_generate_tests(metafunc):
    """One item for each set of priorities that a test case is about."""
    if "pfc_target" not in metafunc.fixturenames:
        return
    family = metafunc.definition.get_closest_marker("pfc_cases")
    metafunc.parametrize(("plan_case", "pfc_target"), [
        pytest.param(case, text, id=f"{case.plan_id}-{text or ''}", marks=pytest.mark.pfc_case(case))
        for case in family.args
        for text in _written_targets(metafunc, case)
    ])


def _written_targets(metafunc, case):
    """What a test case is about on the port under test; None where the port is known when the tests run."""
    ours = metafunc.config.stash[SESSION_KEY]
    if ours.plan is not None:
        return [write_target(ours.plan.subject.qos.device, target) for target in ours.targets(case)]
    if STANDALONE or case is not SINGLE_LOSSLESS:
        return [None]
    return generate_priority_lists(metafunc, "lossless", one_dut_only=True) or [None]  # as test_pretest.py found them


def pytest_collection_modifyitems(config, items):
    """Leaves out the test cases that were not asked for or are measured already, and carries out the others in the
    plan's order."""
    ours = config.stash[SESSION_KEY]
    left = [item for item in items if (case := case_of(item)) and case not in ours.cases]
    left += [item for item in items if item.get_closest_marker("pfc_cases") and not case_of(item)]
    try:
        left += deselected(ours.extensions, [item for item in items if item not in left])
    except (QualificationError, RecordError) as error:
        raise pytest.UsageError(str(error)) from None
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    order = {case: place for place, case in enumerate((*port_cases(), *sweep_cases()))}
    mine = iter(sorted(filter(case_of, items), key=lambda item: order[case_of(item)]))
    items[:] = [next(mine) if case_of(item) else item for item in items]  # those of others stay where they are


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session):
    """Every item of ours that is going to run must end in a verdict. A session of other suites' tests is let alone."""
    items = [item for item in session.items if case_of(item)]
    ours = session.config.stash[SESSION_KEY]
    if session.config.option.collectonly or not (items or ours.measured_before):
        return
    if STANDALONE and ours.plan is None and not is_sweep(ours.cases):
        _plan(session)  # pytest was given a folder above this one and found this file too late
    if STANDALONE:
        from tests.common.standalone import lab_of

        for extension in ours.extensions:
            extension.plan(lab_of(session.config), session.items)
    if any(extension.plan_only for extension in ours.extensions):
        return
    try:
        ours.begin(items, session.config.getoption("testbed"))
    except RecordsUnwritable as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Makes the item's own failure its verdict, unless it has one."""
    report = yield
    if report.failed and call.excinfo is not None:
        cause = call.excinfo.exconly().removeprefix("Failed: ")
        item.config.stash[SESSION_KEY].broken(item.nodeid, cause, after=report.when == "teardown")
    return report


@pytest.fixture(scope="module")
def pfc_lab_facts(request, duthosts, tbinfo, get_snappi_ports, conn_graph_facts):  # noqa: F811
    """The testbed, and what the user wishes to be measured on it."""
    with one_sentence():
        request.config.stash[SESSION_KEY].on_testbed(tbinfo)
    ports = [connected_port(port) for port in get_snappi_ports]
    rx, tx, ip = (request.config.getoption(name) for name in ("pfc_port", "pfc_tx_port", "pfc_ip_version"))
    change, same = (request.config.getoption(name) for name in ("pfc_change_config", "pfc_same_generator"))
    facts = LabFacts(tbinfo, lambda name: read_state(Dut(duthosts[name])), ports, conn_graph_facts["device_conn"])
    return facts, PortRequest(rx, tx, int(ip), change, same)


@pytest.fixture(scope="module")
def pfc_qualifier(request, duthosts, tbinfo, snappi_api, pfc_lab_facts):  # noqa: F811
    """A qualifier for the port under test. Its watchdog is stopped, and afterwards as it was before the first run:
    after the last of our modules, in a sonic-mgmt tree after each, because other fixtures change it in between."""
    ours = request.config.stash[SESSION_KEY]
    with one_sentence():
        if ours.plan is None:
            devices = measurable_first(pfc_lab_facts[0], [host.hostname for host in duthosts])
            device = ours.device(request.session.items, devices)
            ours.use(plan_device(pfc_lab_facts[0], device, pfc_lab_facts[1]))
        with taken(request, {name: duthosts[name] for name in ours.plan.devices}) as duts:
            clock = open_clock(tbinfo)
            dut = duts[ours.plan.state.device]
            host_of = request.getfixturevalue("pfc_host") if ours.plan.pauses is not None else no_host
            api = adapted(snappi_api, clock)
            yield ours.qualifier(open_lab(ours.plan, dut, api, clock, duts, host_of, ours.timing))


@pytest.fixture
def pfc_telemetry(request):
    """A test's verdicts, once it has ended, in the telemetry of a sonic-mgmt tree that has one."""
    ours = request.config.stash[SESSION_KEY]
    try:
        from tests.common.telemetry.metrics import GaugeMetric
        reporter = request.getfixturevalue("db_reporter")
    except (ModuleNotFoundError, pytest.FixtureLookupError):  # the tree has none, or its conftest does not bring it
        reporter = None
    yield
    if reporter is not None:
        record_verdicts(ours.verdicts_of(request.node.nodeid), reporter, GaugeMetric, ours.faults)


@pytest.fixture
def pfc_qualify(request, pfc_qualifier, pfc_telemetry):
    """`pfc_qualify(case, "vtb-t0-01|3,4")` carries out a test case of the plan and fails the test unless every verdict
    is PASS."""
    ours = request.config.stash[SESSION_KEY]

    def qualify(case, dut_and_target):
        chosen = [read_target(dut_and_target)] if dut_and_target else ours.targets(case)
        if not chosen:
            subject = ours.plan.subject
            lack = lack_of(case, subject)
            reason = f"{subject.where()}: not carried out, for lack of {lack}: {case.plan_id} ({case.name})"
            ours.impossible(request.node.nodeid, reason)
            pytest.skip(reason)
        fail_for(keep_each(request, pfc_qualifier, case, chosen))

    return qualify


def _results():
    """The folder of the runs that were given none."""
    if not STANDALONE:
        return Path("logs/pfc_qualification")  # git ignores logs there, and jobs collect them
    from tests.common.clone import RESULTS

    return RESULTS
