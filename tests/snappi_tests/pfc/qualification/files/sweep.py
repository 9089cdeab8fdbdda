"""Sweeps in a pytest session: what the user asked for, what is going to be measured, and the fixtures that measure it.

This is a pytest plugin, which `conftest.py` registers where the option `sweep` is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.common.pfc.cases.plan import sweep_cases
from tests.common.pfc.cases.switch_counters import owed_delay_s
from tests.common.pfc.lab.option import adapted, auditors, open_clock
from tests.common.pfc.lab.planning import measurable_first
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.model.tolerances import EXACT
from tests.common.pfc.record.case import Outcome, PlanCase
from tests.common.pfc.sweep.cases import OF_ALL_PORTS, make_full_load, make_sweeper
from tests.common.pfc.sweep.full_load import ALL_PORTS
from tests.common.pfc.sweep.plan import Bench, SweepPlan, plan_sweep
from tests.common.pfc.sweep.port_sweep import PORT
from tests.common.pfc.sweep.sweeper import LabGone, Sweeper
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.session import PORT_PARAMETER, Session
from tests.snappi_tests.pfc.qualification.files.steps import (
    SESSION_KEY,
    case_of,
    fail_for,
    keep,
    one_sentence,
    taken,
)

ALL_AT_ONCE = "max"
NO_WAVES = "{0}both measures each port in a wave, too: {0}concurrency takes a number from 2 on, or max"
MODULES = ("test_port_sweep.py", "test_full_load.py", "test_watchdog_all_ports.py")


class Sweeps(Extension):
    """The sweeps of a session.

    Attributes:
        plan_of_ports: the plan of the ports; None: not planned yet.
        ports: the ports that are going to be swept.
        loads: test case of all ports -> the ports that a verdict is asked for.
        at_once: so many ports are measured at once; None: as many as there can be.
        of: the ports of the whole sweep, also those that an earlier part of the run has measured.
    """

    def __init__(self, session: Session, getoption: Callable[[str], Any]) -> None:
        """Nothing is planned yet; arguments as of `Extension`."""
        super().__init__(session, getoption)
        self.plan_of_ports: SweepPlan | None = None
        self.ports: list[str] = []
        self.loads: dict[PlanCase, list[str]] = {}
        self.at_once: int | None = 1
        self.of: list[str] = []

    @property
    def plan_only(self) -> bool:
        """Whether the user wants to see the plan only."""
        return bool(self._getoption("pfc_plan_only"))

    @property
    def is_both(self) -> bool:
        """Whether each port is measured in a wave and alone."""
        return bool(self._getoption("pfc_both"))

    def meaning(self) -> dict[str, str]:
        """Whether a verdict is of both."""
        return {"--pfc-both": "given" if self.is_both else "not given"}

    def asked(self, arguments: Sequence[str]) -> Sequence[PlanCase]:
        """Every sweep, where pytest is given the modules of sweeps alone."""
        return sweep_cases() if only_sweeps(arguments) else ()

    def read_options(self) -> None:
        """Reads how many ports are measured at once."""
        text = self._getoption("pfc_concurrency")
        self.at_once = parse_concurrency(text or (ALL_AT_ONCE if self.is_both else "1"))
        if self.is_both and self.at_once == 1:
            raise QualificationError(NO_WAVES.format("--pfc-"))

    def left_out(self, items: Sequence[Any]) -> list[Any]:
        """The items about none of the ports of `--pfc-ports`."""
        left = other_ports(items, self._getoption("pfc_ports"))
        self.of = ports_of([item for item in items if item not in left], PORT)
        return left

    def plan(self, lab: Any, items: Sequence[Any]) -> None:
        """Plans the ports of the lab's first switch, if one of these items is a sweep's."""
        if not any(case_of(item) in sweep_cases() for item in items):
            return
        try:
            self.plan_of_ports = plan_sweep(lab.facts, lab.tbinfo["duts"][0], lab.asked)
        except QualificationError as error:
            pytest.exit(f"error: {error}", returncode=pytest.ExitCode.USAGE_ERROR)
        self.note_items(items)

    def subjects(self) -> Sequence[PortUnderTest]:
        """The ports of the plan that are going to be swept."""
        plan = self.plan_of_ports
        return [] if plan is None else [one.subject for port, one in plan.plans.items() if port in self.ports]

    def note_items(self, items: Sequence[Any]) -> None:
        """Notes the ports that are going to be swept, and those whose verdicts a load of all ports gives."""
        self.ports = ports_of(items, PORT)
        self.loads = {case: ports for case in OF_ALL_PORTS if (ports := ports_of(items, case))}

    def begin(self) -> None:
        """Announces the switch."""
        self.announce()

    def announce(self) -> None:
        """Announces the switch whose ports are swept, if any: what all its records carry."""
        plan = self.plan_of_ports
        if plan is None:
            return
        plans = iter(plan.plans.values())  # all on one testbed; without any nothing is measured
        tolerances = next((one.subject.tolerances for one in plans), EXACT)
        self._session.announce_switch(plan.state, plan.on_behalf_of, tolerances)
        self._session.notes += dict.fromkeys(plan.remarks)

    def sweeper(self, case: PlanCase, bench: Bench) -> Sweeper:
        """What measures the ports that the session is about; under the load of all ports, whichever of them it is
        about."""
        plan = self.plan_of_ports
        assert plan is not None, "a sweep has to be planned before it is measured"
        if case in OF_ALL_PORTS:
            return make_full_load(plan, bench, case, auditors())
        return make_sweeper(plan, bench, self.at_once, self.ports, auditors(), self.of if self.is_both else ())

    def keep_failures(self, failures: Mapping[str, Outcome], items: Sequence[Any]) -> None:
        """Keeps what came of ports of the switch that failed (`failures`), where their items have no verdict yet:
        nothing is going to be measured any more, and what failed has failed."""
        for item in items:
            owed = self._session.planned(item)
            outcome = failures.get(owed.port) if owed is not None else None
            if owed is None or outcome is None or owed.case is not outcome.case:
                continue
            if owed.device == outcome.verdicts[0].device and not self._session.verdicts_of(item.nodeid):
                self._session.keep(item.nodeid, outcome)

    def lines(self) -> list[str]:
        """What the sweeps are going to measure."""
        plan = self.plan_of_ports
        if plan is None:
            return []
        of = self.of if self.is_both else ()
        lines = sweep_lines(plan, self.at_once, self.ports, of) if self.ports else []
        return lines + [line for case, ports in self.loads.items() for line in load_lines(plan, case, ports)]


SWEEPS_KEY = pytest.StashKey[Sweeps]()


def extend(config: pytest.Config) -> Sweeps:
    """The sweeps of a pytest session, whose qualification is there already."""
    config.stash[SWEEPS_KEY] = Sweeps(config.stash[SESSION_KEY], config.getoption)
    return config.stash[SWEEPS_KEY]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of how the ports of a switch are swept."""
    group = parser.getgroup("pfc", "PFC qualification")
    group.addoption(
        "--pfc-ports", metavar="PORTS", help="ports of a sweep, e.g. Ethernet0,Ethernet8 (default: all)"
    )
    group.addoption(
        "--pfc-concurrency",
        metavar="N",
        help="ports of a sweep that are measured at once; max: as many as there can be (default: one after another)",
    )
    group.addoption(
        "--pfc-both", action="store_true",
        help="measure each port of a sweep in a wave of --pfc-concurrency ports (default: max), and alone",
    )
    group.addoption("--pfc-plan-only", action="store_true", help="print what a sweep would measure, and end")


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """What a sweep is going to measure."""
    return config.stash[SWEEPS_KEY].lines()


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """With `--pfc-plan-only` nothing is run."""
    return True if session.config.getoption("pfc_plan_only") else None


@pytest.fixture(scope="module")
def pfc_sweepers(
    request: pytest.FixtureRequest, duthosts: Any, tbinfo: Any, snappi_api: Any, pfc_lab_facts: Any
) -> Iterator[Callable[[PlanCase], Sweeper]]:
    """What measures the ports of a switch, by test case. Its watchdog is stopped, and afterwards as it was."""
    sweeps = request.config.stash[SWEEPS_KEY]
    with one_sentence():
        if sweeps.plan_of_ports is None:
            device = measurable_first(pfc_lab_facts[0], [host.hostname for host in duthosts])[0]
            sweeps.plan_of_ports = plan_sweep(pfc_lab_facts[0], device, pfc_lab_facts[1])
            sweeps.note_items(request.session.items)
            sweeps.announce()
        device = sweeps.plan_of_ports.device
        with taken(request, {device: duthosts[device]}) as duts:
            clock = open_clock(tbinfo)
            bench = Bench(duts[device], adapted(snappi_api, clock), clock)
            for observer in bench.dut.observers:
                observer.measured_by(clock)
            yield cache(lambda case: sweeps.sweeper(case, bench))


@pytest.fixture
def pfc_sweep(
    request: pytest.FixtureRequest, pfc_sweepers: Callable[[PlanCase], Sweeper], pfc_telemetry: None
) -> Callable[[str], None]:
    """`pfc_sweep("vtb-t0-01|Ethernet8")` carries out the test's case on a port of the switch, with others where the
    case or the user has it so, and fails the test unless every verdict of this port is PASS."""
    ours = request.config.stash[SESSION_KEY]
    sweeps = request.config.stash[SWEEPS_KEY]
    plan = sweeps.plan_of_ports
    case = case_of(request.node)
    assert plan is not None and case is not None, "a test without a plan, or without a case"

    def sweep(dut_and_port: str) -> None:
        device, port = dut_and_port.split("|")
        if device != plan.device or port not in plan.ports:
            reason = f"{device} {port}: not measured, no traffic generator is behind it"
            ours.impossible(request.node.nodeid, reason)
            pytest.skip(reason)
        if port in plan.refused:
            pytest.fail(plan.refused[port], pytrace=False)
        with one_sentence():
            sweeper = pfc_sweepers(case)
        try:
            outcome = sweeper.outcome(port)
        except LabGone as error:
            why = str(error)
        else:
            fail_for(keep(request, outcome))
            return
        ours.gone(why)
        request.session.shouldstop = why
        sweeps.keep_failures(sweeper.failures, request.session.items)
        fail_for(message for one in ours.verdicts_of(request.node.nodeid) for message in one.messages)
        pytest.skip(f"{device} {port}: not measured: {why}")

    return sweep


def only_sweeps(arguments: Sequence[str]) -> bool:
    """Whether pytest was given the modules of sweeps alone: then they are asked for. Among others they are left out
    unless `--pfc-scenario` names them."""
    return bool(arguments) and all(Path(one.split("::")[0]).name in MODULES for one in arguments)


def ports_of(items: Sequence[Any], case: PlanCase | None = None) -> list[str]:
    """The ports that the items of sweeps are about, each once; of one test case, or of all."""
    own = [item for item in items if case is None or case_of(item) is case]
    return list(dict.fromkeys(port for item in own if (port := _port_of(item)) is not None))


def other_ports(items: Sequence[Any], option: str | None) -> list[Any]:
    """The items of a sweep that are about none of the ports of `--pfc-ports`; None: it was not given.

    Raises:
        QualificationError: a port of the option is none that is swept.
    """
    if option is None:
        return []
    wanted = option.replace(" ", "").split(",")
    known = ports_of(items)
    for name in wanted:
        if name not in known:
            raise QualificationError(
                f"--pfc-ports: {name!r} is no port of the sweep; it has {', '.join(known) or 'none'}"
            )
    return [item for item in items if (port := _port_of(item)) is not None and port not in wanted]


def _port_of(item: Any) -> str | None:
    """The port that an item of a sweep is about; None: it is none, or is about no single port."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if case_of(item) not in sweep_cases() or PORT_PARAMETER not in parameters:
        return None
    return str(parameters[PORT_PARAMETER]).split("|")[1]


def parse_concurrency(text: str) -> int | None:
    """How many ports are measured at once; None: as many as there can be.

    Raises:
        QualificationError: the option says neither a number from 1 on nor `max`.
    """
    if text == ALL_AT_ONCE:
        return None
    if not (text.isascii() and text.isdigit() and int(text)):
        raise QualificationError(f"--pfc-concurrency is {text!r}, it takes a number from 1 on, or max")
    return int(text)


def sweep_lines(
    plan: SweepPlan, at_once: int | None, ports: Sequence[str], both_of: Sequence[str] = ()
) -> list[str]:
    """What a sweep measures, when, how long that takes, and what cannot be measured. With `both_of` each port is
    measured in a wave of these and alone."""
    pairs = {pair.rx.port: pair for pair in plan.pairing.pairs}
    found = plan.both_waves(at_once, both_of, ports) if both_of else plan.port_waves(at_once, ports)
    waves = [[pairs[port] for port in wave] for wave in found]
    seconds = plan.seconds(waves, audited=bool(auditors()))
    number = len({port for wave in found for port in wave if port in ports})
    lines = [f"sweep of {plan.device}: {number} ports in {len(waves)} waves, {seconds:.0f} s of traffic and"
             " waiting on the testbed's clock (port under test <- tx port):"]
    lines += [f"  wave {place}: {', '.join(f'{pair.rx.port} <- {pair.tx.port}' for pair in wave)}"
              for place, wave in enumerate(waves, 1)]
    return lines + [f"  not measured: {plan.refused[port]}" for port in ports if port in plan.refused]


def load_lines(plan: SweepPlan, case: PlanCase, ports: Sequence[str]) -> list[str]:
    """The same of a case of all ports, whichever of them (`ports`) a verdict is asked for."""
    pairs = [pair for wave in plan.waves(None) for pair in wave]
    what = f"{case.name} of {plan.device}"
    if not pairs:
        return [f"{what}: cannot be measured: no port can"]
    try:
        scenario = OF_ALL_PORTS[case][0](next(iter(plan.plans.values())).subject.qos)
        seconds = plan.seconds([pairs], scenario.storm_lead_s, scenario.data_s, bool(auditors()))
        seconds += owed_delay_s(plan.state.config_db, plan.device, "PG_WATERMARK") if case is ALL_PORTS else 0
    except QualificationError as error:
        return [f"{what}: cannot be measured: {error}"]
    return [f"{what}: {len(pairs)} ports at once, {seconds:.0f} s of traffic and waiting on the testbed's clock,"
            f" verdicts of {len(ports)}"]
