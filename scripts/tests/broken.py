"""A virtual testbed that is broken in another way on each port, judged port by port by the suite's own steps over SSH
and OTG: what the tests of broken switches share."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import snappi

from scripts.campaign.broken_testbed import SWITCH, Testbed, broken_testbed, connected_ports, reserved_switch
from scripts.campaign.entries import ROOT
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases.plan import targets
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.clock import Clock
from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.option import Auditor
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.lab.port_plan import LabFacts, PortPlan, PortRequest
from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.record.case import Outcome, PlanCase, Target
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status, combine
from tests.common.pfc.sweep.cases import make_full_load, make_sweeper
from tests.common.pfc.sweep.full_load import ALL_PORTS
from tests.common.pfc.sweep.plan import Bench as SweepBench, SweepPlan, plan_sweep
from tests.common.unit_tests.pfc.fakes import plan_port
from virtual_testbed.faults import BUILT_IN

HEALTHY_RX, HEALTHY_TX = "Ethernet0", "Ethernet64"


@dataclass(frozen=True)
class Case:
    """A port pair with one broken port, and what the suite has to make of it.

    Attributes:
        fault: how it is broken.
        lossless, lossy: the verdicts; `-`: none is owed.
        checks: names of all checks that are not PASS; none: the preflight ends the run.
        message: one of the reasons given, or its beginning; ` ... ` stands for anything.
        plan: the test case of the plan that notices it.
        ports: port under test and tx port; None: the fault says.
    """

    fault: str
    lossless: str
    lossy: str
    checks: frozenset[str]
    message: str
    plan: PlanCase = SINGLE_LOSSLESS
    ports: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        """The fault's name."""
        return re.split("[@:]", self.fault)[0]

    def target(self, subject: PortUnderTest) -> Target:
        """The priorities under test: the fault's own by itself, else the case's first."""
        found = targets(self.plan, subject)
        return (4,) if "priority=4" in self.fault and (4,) in found else found[0]

    @property
    def pair(self) -> tuple[str, str]:
        """Port under test and tx port: a port of the upper half is broken as the one that data comes in on."""
        if self.ports is not None:
            return self.ports
        port = re.search(r"Ethernet\d+", self.fault)
        assert port is not None, self.fault
        return (HEALTHY_RX, port[0]) if int(port[0][8:]) > 64 else (port[0], HEALTHY_TX)

    def is_said_by(self, text: str) -> bool:
        """Whether a reason, or what the suite printed, has the message."""
        return re.search(".*".join(map(re.escape, self.message.split("..."))), text) is not None


def case(fault: str, verdicts: str, checks: str, message: str, plan: PlanCase = SINGLE_LOSSLESS) -> Case:
    """`verdicts`: lossless and lossy."""
    lossless, lossy = verdicts.split()
    return Case(fault, lossless, lossy, frozenset(checks.split()), f"{SWITCH} {message}", plan)


def wreck(ports: tuple[str, str], plan: PlanCase, verdicts: str, checks: str, message: str) -> Case:
    """A pair of ports that are broken in several ways. `verdicts`: lossless and lossy."""
    lossless, lossy = verdicts.split()
    return Case("", lossless, lossy, frozenset(checks.split()), f"{SWITCH} {message}", plan, ports)


class Bench:
    """Judges ports of the testbed with the suite's own steps."""

    def __init__(self, dut: Dut, testbed: Testbed, auditors: Sequence[Auditor] = ()) -> None:
        self._auditors = auditors
        self.clock: Clock = EndpointClock(testbed["clock"]["url"])
        self.dut = dut
        self.api = snappi.api(location=testbed["otg"]["url"])
        self._plans: dict[tuple[str, str], PortPlan] = {}
        self._qualifiers: dict[tuple[str, str], Qualifier] = {}
        self._outcomes: dict[tuple[tuple[str, str], PlanCase, Target], Outcome] = {}
        self._latest: Qualifier | None = None

    def judge(self, broken: Case) -> Outcome:
        """A test case of the plan on a port pair, after the pair's preflight. Faults that one run shows share it."""
        pair = broken.pair
        if pair not in self._qualifiers:
            plan = plan_port(self.dut, connected_ports(), *pair)
            self._plans[pair] = replace(plan, subject=replace(plan.subject, changeable=True))
            lab = open_lab(self._plans[pair], self.dut, self.api, self.clock)
            self._qualifiers[pair] = Qualifier(lab, self._auditors)
        key = (pair, broken.plan, broken.target(self._plans[pair].subject))
        if key not in self._outcomes:
            qualifier = self._qualifiers[pair]
            if qualifier is not self._latest:
                qualifier.settled = None  # it was read before other pairs sent
            self._latest = qualifier
            self._outcomes[key] = qualifier.qualify(*key[1:])
            watched = () if qualifier.settled is None else qualifier.settled.watchdog_ports
            assert not watched, f"after {broken.plan.plan_id} a case would begin with a watchdog on {watched}"
        return self._outcomes[key]

    def plan_sweep(self) -> SweepPlan:
        """What there is to sweep."""
        testbed = {"conf-name": "vtb-t0", "duts": [SWITCH], "clock": "virtual"}
        return plan_sweep(LabFacts(testbed, lambda _: self.dut.state(), connected_ports(), {}), SWITCH, PortRequest())

    def sweep(
        self, at_once: int | None, only: Collection[str] | None = None, auditors: Sequence[Auditor] = (),
        both: bool = False, other_way: bool = False,
    ) -> dict[str, Outcome]:
        """Port under test -> what came of it in a sweep.

        Args:
            at_once: so many ports at most; None: as many as there can be.
            only: ports under test; None: all.
            auditors: what looks on.
            both: whether each is measured in a wave and alone.
            other_way: whether light traffic goes the other way meanwhile.
        """
        plan = self.plan_sweep()
        ports = [port for port in plan.plans if only is None or port in only]
        sweeper = make_sweeper(plan, SweepBench(self.dut, self.api, self.clock), at_once, ports, auditors,
                               ports if both else (), other_way)
        return {port: sweeper.outcome(port) for port in ports}

    def full_load(self, case: PlanCase = ALL_PORTS, auditors: Sequence[Auditor] = ()) -> dict[str, Outcome]:
        """Port -> what came of it when all ports were loaded at once, as a test case has it."""
        plan = self.plan_sweep()
        load = make_full_load(plan, SweepBench(self.dut, self.api, self.clock), case, auditors)
        return {port: load.outcome(port) for port in plan.plans}


@contextmanager
def watchdog_stopped(testbed: Testbed, auditors: Sequence[Auditor] = ()) -> Iterator[Bench]:
    """A bench, with what looks on; the switch's watchdog is stopped meanwhile."""
    with reserved_switch(testbed) as dut:
        yield Bench(dut, testbed, auditors)


@contextmanager
def broken_bench(folder: Path, faults: Sequence[str], files: Mapping[str, str] = {}) -> Iterator[Bench]:
    """A bench for vtb-t0 with faults; see `broken_testbed`."""
    with broken_testbed(folder, faults, files) as testbed, watchdog_stopped(testbed) as bench:
        yield bench


def compare(outcome: Outcome, expected: Case) -> None:
    """The verdicts, the checks that are not PASS, and one of the reasons."""
    verdicts = {metric: _together(outcome, metric) for metric in (LOSSLESS, LOSSY)}
    reasons = [message for verdict in outcome.verdicts for message in verdict.messages]
    assert verdicts == {LOSSLESS: expected.lossless, LOSSY: expected.lossy}, reasons
    checks = {check.name for verdict in outcome.verdicts for check in verdict.checks if check.status is not Status.PASS}
    assert checks == expected.checks, reasons
    assert any(expected.is_said_by(reason) for reason in reasons), reasons


def passed_as_documented(outcome: Outcome, documented: set[str]) -> None:
    """Every verdict is PASS, by exactly the checks that the test plan's page has for the case."""
    assert [message for verdict in outcome.verdicts for message in verdict.messages] == []
    assert {verdict.status for verdict in outcome.verdicts} == {Status.PASS}
    made = {check.name for verdict in outcome.verdicts for check in verdict.checks}
    assert made == documented, outcome.case


def healthy(plan: PlanCase) -> Case:
    """A test case on a pair of ports without a fault."""
    return Case(f"none@{HEALTHY_RX}", "PASS", "PASS", frozenset(), "", plan)


def _together(outcome: Outcome, metric: str) -> str:
    """The verdict of a metric over all priorities; `-` where the test case owes none."""
    statuses = [verdict.status for verdict in outcome.verdicts if verdict.metric_name == metric]
    return combine(statuses).value if statuses else "-"


def documented_faults(family: str) -> set[str]:
    """The built-in faults that docs/faults.md says a family of test cases catches; what names no plan id is PFC-1's."""
    begins = r"(^|; )(FAIL|ERROR|PFC-\d)" if family == "PFC" else rf"(^|; ){family}-\d"
    text = (ROOT / "docs/faults.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|.*\| ([^|]+) \|$", text, re.MULTILINE)
    return {name for name, caught in rows if name in BUILT_IN and re.search(begins, caught)}


def documented_checks(page: Path, plan_id: str) -> set[str]:
    """The checks that a page of the test plan has for a test case: the rows of its table whose last cell does not speak
    of other test cases only."""
    text = page.read_text(encoding="utf-8").split("\n## Checks\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \|.*\| ([^|]+) \|$", text, re.MULTILINE)
    named = [(name, re.findall(r"[A-Z0-9]+-\d+", last)) for name, last in rows]
    return {name for name, plan_ids in named if plan_id in plan_ids or not plan_ids}
