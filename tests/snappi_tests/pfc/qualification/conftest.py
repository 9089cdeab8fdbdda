"""The seam between the qualification and the fixtures around it, and the verdicts of a session.

The fixtures `duthosts`, `tbinfo`, `snappi_api`, `get_snappi_ports` and `enum_one_dut_lossless_prio` come from
sonic-mgmt where this folder is in such a tree, and from this project's `tests/conftest.py` otherwise.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

import pytest

from tests.common.pfc.cases.plan import PLAN, SWEEPS, check_sets, impossible, parse_set, select, targets
from tests.common.pfc.host_pauses.entry import pause_entry_of
from tests.common.pfc.lab.clock import WallClock, open_clock
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.port_plan import LabFacts, PortRequest, connected_port, plan_device
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.errors import RecordError, RecordsUnwritable
from tests.common.pfc.sweep.plan import Bench, plan_sweep
from tests.common.pfc.sweep.sweeper import LabGone
from tests.snappi_tests.pfc.qualification.files.options import add_options, meaning
from tests.snappi_tests.pfc.qualification.files.session import Session, read_target, write_target
from tests.snappi_tests.pfc.qualification.files.summary import write_summary
from tests.snappi_tests.pfc.qualification.files.sweeping import (
    case_of,
    is_sweep,
    note_items,
    only_sweeps,
    other_ports,
    parse_concurrency,
    plan_lines,
    sweeper_of,
)
from tests.snappi_tests.pfc.qualification.files.telemetry import record_verdicts

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
    add_options(parser)


def pytest_configure(config):
    """One session object for a pytest session. It is there before anything is refused: where pytest was given a folder
    above this one, a refusal is one error among other suites' tests, and the hooks below go on."""
    session = Session(*(config.getoption(name) for name in ("pfc_run_id", "pfc_results", "pfc_job_id")))
    config.stash[SESSION_KEY] = session
    config.addinivalue_line("markers", "pfc_case(case): the test case of the PFC test plan that a test carries out")
    config.addinivalue_line("markers", "pfc_cases(case, ...): the test cases that a test carries out, each an item")
    if config.getoption("dist", "no") != "no" or config.getoption("numprocesses", None):
        raise pytest.UsageError("a testbed is measured by one process at a time: start pytest without -n")
    try:
        asked = config.getoption("pfc_scenario") or (["SWEEP"] if only_sweeps(config.args) else [])
        session.cases = select(",".join(asked).replace(" ", "").split(","))
        session.sets = [parse_set(text) for text in config.getoption("pfc_set")]
        session.at_once = parse_concurrency(config.getoption("pfc_concurrency"))
        session.options = meaning(config.getoption, session.cases if asked else (), session.sets)
        if config.getoption("pfc_resume"):
            session.resume(config.getoption("pfc_resume"))
    except (QualificationError, RecordError) as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Refuses in one sentence, before anything is collected, what could only end in errors."""
    if STANDALONE:
        _plan(session)


def _plan(session):
    """Looks at the lab, and plans the port under test. Where it cannot be measured, that is refused once it is known
    that it has to be: a sweep measures the others."""
    from tests.common.errors import LabError
    from tests.common.snappi_tests.snappi_fixtures import check_api
    from tests.common.standalone import lab_of

    lab, ours = lab_of(session.config), session.config.stash[SESSION_KEY]
    try:
        if not session.config.option.collectonly:
            check_api(lab.tbinfo, lab.duthosts[0])
        lab.look()
        ours.on_testbed(lab.tbinfo)
    except (LabError, QualificationError, RecordError) as error:
        raise pytest.UsageError(str(error)) from None
    if is_sweep(ours.cases):
        return
    try:
        ours.plan = lab.port_plan
        check_sets(ours.sets, ours.cases, ours.plan.subject.qos)
        if not session.config.option.collectonly:
            ours.plan.pause_source(WallClock(), lab.pause_host)
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
    """Leaves out the test cases that were not asked for or are measured already, and carries out the others in the
    plan's order."""
    ours = config.stash[SESSION_KEY]
    left = [item for item in items if (case := case_of(item)) and case not in ours.cases]
    left += [item for item in items if item.get_closest_marker("pfc_cases") and not case_of(item)]
    try:
        left += other_ports([item for item in items if item not in left], config.getoption("pfc_ports"))
        left += ours.leave_out_finished([item for item in items if item not in left], config.getoption("testbed"))
    except QualificationError as error:
        raise pytest.UsageError(str(error)) from None
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    order = {case: place for place, case in enumerate((*PLAN, *SWEEPS))}
    places = [place for place, item in enumerate(items) if case_of(item)]
    mine = [items[place] for place in places]
    mine.sort(key=lambda item: order[case_of(item)])
    for place, item in zip(places, mine, strict=True):
        items[place] = item


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session):
    """Every item of ours that is going to run must end in a verdict. A session of other suites' tests is let alone."""
    items = [item for item in session.items if case_of(item)]
    ours = session.config.stash[SESSION_KEY]
    if session.config.option.collectonly or not (items or ours.earlier.records):
        return
    if STANDALONE and ours.plan is None and not is_sweep(ours.cases):
        _plan(session)  # pytest was given a folder above this one and found this file too late
    if STANDALONE and any(case_of(item) in SWEEPS for item in items):
        from tests.common.standalone import lab_of

        ours.sweep = lab_of(session.config).sweep_plan
        note_items(ours, session.items)
    if session.config.getoption("pfc_plan_only"):
        return
    try:
        ours.begin(items, session.config.getoption("testbed"))
        if ours.plan is not None:
            ours.announce()
        if ours.sweep is not None:
            ours.announce_sweep()
        ours.open_report(*_reporting())
    except RecordsUnwritable as error:
        ours.began = False
        raise pytest.UsageError(str(error)) from None


def pytest_report_collectionfinish(config):
    """What a sweep is going to measure."""
    return plan_lines(config.stash[SESSION_KEY])


def pytest_runtestloop(session):
    """With `--pfc-plan-only` nothing is run."""
    return True if session.config.getoption("pfc_plan_only") else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Makes the item's own failure its verdict, unless it has one."""
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
        if STANDALONE and ours.earlier.records and not session.items:
            _take_over(ours, session.config)
        ours.put_back()  # a session that was interrupted
    except QualificationError as error:
        ours.notes.append(f"clean-up: {error}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    nothing = pytest.ExitCode.NO_TESTS_COLLECTED  # when resuming a complete run that is no failure
    if session.exitstatus in (pytest.ExitCode.OK, nothing):
        session.exitstatus = pytest.ExitCode.OK if ours.finish() else pytest.ExitCode.TESTS_FAILED
    else:
        ours.finish()


def _take_over(ours, config):
    """Nothing is left to measure, but what the killed run changed has to be put back."""
    from tests.common.standalone import lab_of

    lab = lab_of(config)
    ours.take({lab.sweep_plan.device: lab.duthosts[lab.sweep_plan.device]})


def pytest_terminal_summary(terminalreporter, config):
    """The verdict table."""
    if config.stash[SESSION_KEY].began:
        write_summary(terminalreporter, config.stash[SESSION_KEY])


@pytest.fixture(scope="module")
def pfc_lab_facts(request, duthosts, tbinfo, get_snappi_ports, conn_graph_facts):  # noqa: F811
    """The testbed, and what the user wishes to be measured on it."""
    ports = [connected_port(port) for port in get_snappi_ports]
    rx, tx, ip = (request.config.getoption(name) for name in ("pfc_port", "pfc_tx_port", "pfc_ip_version"))
    change, same = (request.config.getoption(name) for name in ("pfc_change_config", "pfc_same_generator"))
    facts = LabFacts(tbinfo, lambda name: Dut(duthosts[name]).state(), ports, conn_graph_facts["device_conn"])
    return facts, PortRequest(rx, tx, int(ip), change, same)


@pytest.fixture(scope="module")
def pfc_pause_host(request, tbinfo):
    """The host that pauses come from, if the testbed names one."""
    if STANDALONE:
        from tests.common.standalone import lab_of

        return lab_of(request.config).pause_host
    from tests.common.devices.base import AnsibleHostBase

    entry = pause_entry_of(tbinfo)
    return None if entry is None else AnsibleHostBase(request.getfixturevalue("ansible_adhoc"), entry.host)


@pytest.fixture(scope="module")
def pfc_bench(request, duthosts, tbinfo, snappi_api, pfc_lab_facts, pfc_pause_host):  # noqa: F811
    """A qualifier for the port under test. Its watchdog is stopped, and afterwards as it was before the first run:
    after the last of our modules, in a sonic-mgmt tree after each, because other fixtures change it in between."""
    ours = request.config.stash[SESSION_KEY]
    with _one_sentence():
        if ours.plan is None:
            ours.plan = plan_device(pfc_lab_facts[0], duthosts[0].hostname, pfc_lab_facts[1])
            ours.announce()
        duts = ours.take({name: duthosts[name] for name in ours.plan.devices})
        clock, dut = open_clock(tbinfo.get("clock")), duts[ours.plan.state.device]
        yield ours.qualifier(ours.plan.lab(dut, snappi_api, clock, duts, pfc_pause_host))
        _end_of_module(request)


@pytest.fixture(scope="module")
def pfc_sweepers(request, duthosts, tbinfo, snappi_api, pfc_lab_facts):  # noqa: F811
    """What measures the ports of a switch, by test case. Its watchdog is stopped, and afterwards as it was."""
    ours = request.config.stash[SESSION_KEY]
    with _one_sentence():
        if ours.sweep is None:
            ours.sweep = plan_sweep(pfc_lab_facts[0], duthosts[0].hostname, pfc_lab_facts[1])
            note_items(ours, request.session.items)
            ours.announce_sweep()
        device = ours.sweep.device
        dut = ours.take({device: duthosts[device]})[device]
        bench = Bench(dut, snappi_api, open_clock(tbinfo.get("clock")))
        yield cache(lambda case: sweeper_of(ours, case, bench))
        _end_of_module(request)


@contextmanager
def _one_sentence():
    """A refusal fails the test with its sentence."""
    cause = ""
    try:
        yield
    except QualificationError as error:
        cause = str(error)
    if cause:  # outside the handler, or pytest prints every exception behind this one
        pytest.fail(cause, pytrace=False)


def _end_of_module(request):
    if not STANDALONE or _is_last(request):
        request.config.stash[SESSION_KEY].put_back()


def _is_last(request):
    """Whether no other module's items of ours are to come."""
    ours = [item for item in request.session.items if case_of(item)]
    return ours[-1].module is request.node.obj


@pytest.fixture
def pfc_telemetry(request):
    """A test's verdicts, once it has ended, in the telemetry of a sonic-mgmt tree that has one."""
    ours = request.config.stash[SESSION_KEY]
    gauge_class = _gauge_class()
    reporter = _db_reporter(request) if gauge_class is not None else None
    yield
    if reporter is not None:
        record_verdicts(ours.verdicts_of(request.node.nodeid), reporter, gauge_class)


def _gauge_class():
    """sonic-mgmt's metric that has one value at a time; None: the tree has no telemetry."""
    try:
        from tests.common.telemetry.metrics import GaugeMetric
    except ModuleNotFoundError:
        return None
    return GaugeMetric


def _db_reporter(request):
    """What sonic-mgmt's fixture makes for a test; None: the tree's conftest does not bring it."""
    try:
        return request.getfixturevalue("db_reporter")
    except pytest.FixtureLookupError:
        return None


@pytest.fixture
def pfc_qualify(request, pfc_bench, pfc_telemetry):
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
            messages |= _keep(request, pfc_bench.qualify(case, target))
        _fail_for(messages)

    return qualify


@pytest.fixture
def pfc_sweep(request, pfc_sweepers, pfc_telemetry):
    """`pfc_sweep("vtb-t0-01|Ethernet8")` carries out the test's case on a port of the switch, with others where the
    case or the user has it so, and fails the test unless every verdict of this port is PASS."""
    ours = request.config.stash[SESSION_KEY]

    def sweep(dut_and_port):
        device, port = dut_and_port.split("|")
        if device != ours.sweep.device or port not in ours.sweep.ports:
            reason = f"{device} {port}: not measured, no traffic generator is behind it"
            ours.impossible(request.node.nodeid, reason)
            pytest.skip(reason)
        if port in ours.sweep.refused:
            pytest.fail(ours.sweep.refused[port], pytrace=False)
        with _one_sentence():
            sweeper = pfc_sweepers(case_of(request.node))
        try:
            outcome = sweeper.outcome(port)
        except LabGone as error:
            ours.gone(str(error))
            request.session.shouldstop = str(error)
            pytest.skip(f"{device} {port}: not measured: {error}")
        _fail_for(_keep(request, outcome))

    return sweep


def _keep(request, outcome):
    """Keeps what came of a test case; returns what speaks against PASS, each message once."""
    kept = request.config.stash[SESSION_KEY].keep(request.node.nodeid, outcome)
    return dict.fromkeys(message for verdict in kept.verdicts for message in verdict.messages)


def _fail_for(messages):
    """A test with a reason against PASS fails."""
    if messages:
        pytest.fail("\n".join(messages), pytrace=False)


def _targets_now(ours, case):
    """What a test case is about where the port was not known when tests were collected."""
    subject = ours.plan.subject
    try:
        check_sets(ours.sets, ours.cases, subject.qos)
    except QualificationError as error:
        pytest.fail(str(error), pytrace=False)
    return targets(case, subject, ours.sets)


def _reporting():
    """The reporting part of the project, or None and the package that it lacks."""
    try:
        import test_reporting.pfc as reporting
    except ModuleNotFoundError as error:
        return None, error.name
    return reporting, ""
