"""Three switches in a row, of which one after the other is broken for a while of simulated time: what HOP-1 says of
it."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import snappi

from scripts.campaign.broken_testbed import broken_testbed, reserved_switch
from scripts.campaign.entries import ROOT
from scripts.tests.broken import Case, compare, documented_checks, documented_faults, passed_as_documented
from tests.common.pfc.cases.plan import targets
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.planning import open_lab, plan_device
from tests.common.pfc.lab.port_plan import LabFacts, PortRequest
from tests.common.pfc.model.ports import ConnectedPort
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock
from tests.common.pfc.switch_chain.cases import HOP_BY_HOP

SLOW = pytest.mark.slow("three switches in a row, broken one after another")

ROW = ("vtb-chain-01", "vtb-chain-02", "vtb-chain-03")
EVERY_S = 100  # each is broken for so long; a run with its waiting takes less
CABLES = {  # device_conn
    ROW[0]: {"Ethernet124": {"peerdevice": ROW[1], "peerport": "Ethernet120"}},
    ROW[1]: {"Ethernet120": {"peerdevice": ROW[0], "peerport": "Ethernet124"},
             "Ethernet124": {"peerdevice": ROW[2], "peerport": "Ethernet120"}},
    ROW[2]: {"Ethernet120": {"peerdevice": ROW[1], "peerport": "Ethernet124"}},
}


def broken(number: int, fault: str, verdicts: str, checks: str, message: str) -> Case:
    """The switch that is broken as the `number`th: it is healthy before and afterwards."""
    begin = EVERY_S * number
    lossless, lossy = verdicts.split()
    return Case(f"{fault},from={begin}s,until={begin + EVERY_S}s", lossless, lossy, frozenset(checks.split()), message,
                HOP_BY_HOP)


CASES = [
    broken(1, f"xoff-not-sent@{ROW[1]}:Ethernet124", "FAIL PASS",
           "hop-back-pressure back-pressure held-within-buffer held-frames-drained",
           f"{ROW[1]} Ethernet124 priority 3: expected more than 0 PFC frames sent out of Ethernet124 to hold "),
    broken(2, f"headroom-missing@{ROW[1]}:Ethernet124", "FAIL PASS", "held-frames-drained",
           f"{ROW[0]} Ethernet0 priority 3: expected all ... frames received once the storm had stopped, got "),
    broken(3, f"xoff-wrong-priority@{ROW[0]}:Ethernet124", "PASS FAIL", "hop-no-other-back-pressure",
           f"{ROW[0]} Ethernet124 priority 0: expected 0 PFC frames sent out of Ethernet124 to {ROW[1]}, got "),
    broken(4, f"pfc-not-counted@{ROW[2]}:Ethernet120", "FAIL PASS", "hop-pause-counted",
           f"{ROW[2]} Ethernet120 priority 3: expected ... PFC frames of {ROW[1]} counted by {ROW[2]} Ethernet120, "),
]
WATCHED = Case(f"watchdog-stop-ignored@{ROW[1]}:Ethernet120", "ERROR", "ERROR", frozenset({"watchdog-stopped"}),
               f"{ROW[1]} Ethernet120 priority 3: expected a stopped watchdog, got ", HOP_BY_HOP)


class ChainBench:
    """Carries out HOP-1 with the suite's own steps."""

    def __init__(self, testbed: dict[str, object], changed: ExitStack) -> None:
        self.clock = EndpointClock(testbed["clock"]["url"])
        self._duts = {name: changed.enter_context(reserved_switch(testbed, name)) for name in ROW}
        ports = [ConnectedPort(name, f"Ethernet{4 * port}", f"snappi-vtb-{3 + port // 2}",
                               f"127.1.0.{3 + port // 2};{1 + number};{1 + port % 2}", 100_000)
                 for number, name in enumerate(ROW) for port in range(4)]
        entry = {"conf-name": "vtb-chain", "duts": list(ROW)}
        facts = LabFacts(entry, lambda name: self._duts[name].state(), ports, CABLES)
        self.plan = plan_device(facts, ROW[0], PortRequest())
        self._api = snappi.api(location=testbed["otg"]["url"])

    def judge(self) -> Outcome:
        """The row as it is now, after a preflight of its first switch."""
        others = {name: dut for name, dut in self._duts.items() if name != ROW[0]}
        lab = open_lab(self.plan, self._duts[ROW[0]], self._api, self.clock, others)
        return Qualifier(lab).qualify(HOP_BY_HOP, targets(HOP_BY_HOP, self.plan.subject)[0])


@pytest.fixture(name="bench", scope="module")
def fixture_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChainBench]:
    """For vtb-chain with all these faults."""
    folder = tmp_path_factory.mktemp("row")
    with broken_testbed(folder, [one.fault for one in CASES], name="vtb-chain") as testbed, ExitStack() as changed:
        yield ChainBench(testbed, changed)


@pytest.fixture(name="watched_bench")
def fixture_watched_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChainBench]:
    """For vtb-chain whose middle switch goes on watching a port after its watchdog was stopped."""
    with broken_testbed(tmp_path_factory.mktemp("watched"), [WATCHED.fault], name="vtb-chain") as testbed, \
            ExitStack() as changed:
        yield ChainBench(testbed, changed)


@SLOW
def test_a_watchdog_of_a_further_switch_makes_it_no_measurement(watched_bench: ChainBench) -> None:
    compare(watched_bench.judge(), WATCHED)


@SLOW
def test_a_healthy_row_passes_with_the_documented_checks(bench: ChainBench) -> None:
    assert bench.clock.now() < EVERY_S
    outcome = bench.judge()
    passed_as_documented(outcome, documented_checks(ROOT / "docs/testplan/hop-back-pressure.md", "HOP-1"))
    assert outcome.evidence["hops"] == list(ROW)


@SLOW
@pytest.mark.parametrize("expected", CASES, ids=lambda one: one.name)
def test_a_broken_switch_of_the_chain_is_named(bench: ChainBench, expected: Case) -> None:
    begin = EVERY_S * (1 + CASES.index(expected))
    bench.clock.sleep(begin - bench.clock.now())
    compare(bench.judge(), expected)
    assert bench.clock.now() < begin + EVERY_S, "the run outlasted the fault"


def test_the_faults_are_those_that_the_documentation_names() -> None:
    assert {one.name for one in CASES} == documented_faults("HOP")
