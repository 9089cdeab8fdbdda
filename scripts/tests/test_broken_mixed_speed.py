"""The family SPEED on broken switches: one virtual testbed with ports of 100, 400 and 800 Gb/s, every check of every
case failed by some port, and a healthy port that passes all of them."""
from __future__ import annotations

from collections.abc import Iterator

import pytest
import snappi

from scripts.campaign.broken_testbed import KnownDut, broken_testbed, reserved_switch
from scripts.campaign.entries import ROOT
from scripts.tests.broken import Case, compare, documented_checks, documented_faults, passed_as_documented
from tests.common.pfc.cases.loads import MIXED_SPEED
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.ports import ConnectedPort
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock
from tests.common.unit_tests.pfc.fakes import plan_port
from virtual_testbed.faults import BUILT_IN

SLOW = pytest.mark.slow("a family of the plan, each case on each switch that is broken in its way")

SWITCH = "vtb-mixed-01"
PAGE = ROOT / "docs/testplan/speed-mixed.md"
HEALTHY = "Ethernet0"
PLANS = {plan.plan_id: plan for plan in MIXED_SPEED}
SPEEDS = ([100_000] * 4 + [400_000] * 4) * 2 + [800_000]
PLACES = [(n, 7 + n // 8, 1 + n % 8) for n in range(16)] + [(16, 7, 9)]

# Port under test -> how it is broken, or (Ethernet64) the port of 800 Gb/s that is the faster one then; of those on the
# first generator that is Ethernet96, of 400 Gb/s.
FAULTS = {
    "Ethernet8": ["lossless-dropped@Ethernet8,one_in=1"],
    "Ethernet16": ["lossy-dropped@Ethernet16,one_in=1", "lossless-dropped@Ethernet16,one_in=2",
                   "drop-bytes-miscounted@Ethernet16"],
    "Ethernet24": ["pause-ignored@Ethernet24", "lossy-queue-paused@Ethernet24", "weights-ignored@Ethernet24",
                   "drops-uncounted@Ethernet24", "pfc-unasked@Ethernet24,priority=0,period_ms=700"],
    "Ethernet64": ["xoff-not-sent@Ethernet128,priority=3", "xoff-wrong-priority@Ethernet128,priority=4"],
}
CASES = {
    (port, plan_id): Case(port, verdicts[:4], verdicts[5:], frozenset(checks.split()), f"{SWITCH} {message}",
                          PLANS[plan_id])
    for port, plan_id, verdicts, checks, message in (
        ("Ethernet8", "SPEED-1", "FAIL PASS", "clean-flow nothing-lost back-pressure share-by-weight line-full",
         "Ethernet8: expected at least ... frames received, a full line, got 5760"),
        ("Ethernet8", "SPEED-3", "FAIL PASS", "clean-flow nothing-lost throughput",
         "Ethernet8 priority 3: expected all ... frames received, got 0"),
        ("Ethernet16", "SPEED-1", "FAIL FAIL", "clean-flow nothing-lost throughput back-pressure",
         "Ethernet16 priority 0: expected all ... frames received, got 0"),
        ("Ethernet16", "SPEED-2", "FAIL FAIL",
         "clean-flow nothing-lost back-pressure share-by-weight line-full drop-bytes-agree",
         "Ethernet16: expected at least ... frames received, a full line, got "),
        ("Ethernet24", "SPEED-2", "FAIL FAIL",
         "share-by-weight port-drops-counted queue-drops-counted no-other-back-pressure",
         "Ethernet24 priority 3: expected 1800 or more of 12000 frames received by weight (26 more or less), got 17"),
        ("Ethernet24", "SPEED-3", "PASS FAIL", "no-back-pressure",
         "Ethernet24 priority 0: expected 0 PFC frames sent out of Ethernet24, got "),
        ("Ethernet24", "SPEED-4", "FAIL FAIL", "blocked-while-paused background-unaffected back-pressure",
         "Ethernet24 priority 3: expected 0 frames received while paused, got "),
        ("Ethernet64", "SPEED-1", "FAIL FAIL", "nothing-lost back-pressure no-other-back-pressure share-by-weight",
         "Ethernet128 priority 3: expected more than 0 PFC frames sent out of Ethernet128 to hold the sender, got 0"),
        ("Ethernet64", "SPEED-2", "FAIL FAIL", "nothing-lost back-pressure no-other-back-pressure",
         "Ethernet128 priority 0: expected 0 PFC frames sent out of Ethernet128, got "),
        ("Ethernet64", "SPEED-4", "FAIL FAIL", "nothing-lost back-pressure no-other-back-pressure",
         "Ethernet128 priority 3: expected more than 0 PFC frames sent out of Ethernet128, got 0"),
    )
}


def test_every_fault_that_the_documentation_calls_caught_is_here() -> None:
    here = {fault.split("@")[0] for faults in FAULTS.values() for fault in faults}
    assert here <= set(BUILT_IN) and here == documented_faults("SPEED")


@pytest.mark.parametrize("plan_id", PLANS)
def test_every_check_of_every_case_is_failed_by_some_switch(plan_id: str) -> None:
    failed = {check for (_, of), broken in CASES.items() if of == plan_id for check in broken.checks}
    assert failed | {"clean-flow"} == documented_checks(PAGE, plan_id)


class MixedBench:
    """Judges ports of the testbed with the suite's own steps."""

    def __init__(self, dut: KnownDut, otg: str, clock: str) -> None:
        self._dut = dut
        self._api = snappi.api(location=otg)
        self._clock = EndpointClock(clock)
        self._qualifiers: dict[str, Qualifier] = {}

    def judge(self, port: str, plan_id: str) -> Outcome:
        """A case with a port under test, after its preflight."""
        if port not in self._qualifiers:
            ports = [ConnectedPort(SWITCH, f"Ethernet{8 * n}", f"snappi-vtb-{chassis}", f"127.1.0.{chassis};1;{at}",
                                   SPEEDS[n]) for n, chassis, at in PLACES]
            plan = plan_port(self._dut, ports, port, None)
            self._qualifiers[port] = Qualifier(open_lab(plan, self._dut, self._api, self._clock))
        return self._qualifiers[port].qualify(PLANS[plan_id], ())


@pytest.fixture(name="bench", scope="module")
def fixture_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedBench]:
    """vtb-mixed with all these faults, its watchdog stopped."""
    faults = [fault for some in FAULTS.values() for fault in some]
    with broken_testbed(tmp_path_factory.mktemp("mixed"), faults, name="vtb-mixed") as testbed:
        with reserved_switch(testbed, SWITCH) as dut:
            yield MixedBench(dut, testbed["otg"]["url"], testbed["clock"]["url"])


@SLOW
@pytest.mark.parametrize("plan_id", PLANS)
def test_a_healthy_port_passes_with_exactly_the_documented_checks(bench: MixedBench, plan_id: str) -> None:
    passed_as_documented(bench.judge(HEALTHY, plan_id), documented_checks(PAGE, plan_id))


@SLOW
@pytest.mark.parametrize(("port", "plan_id"), CASES, ids=lambda value: str(value))
def test_every_fault_is_caught_and_nothing_else(bench: MixedBench, port: str, plan_id: str) -> None:
    compare(bench.judge(port, plan_id), CASES[port, plan_id])
