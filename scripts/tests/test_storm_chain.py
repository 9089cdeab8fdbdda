"""A pause storm that ends by itself and is needed longer: on a virtual testbed whose entry asks for it, and whose
switch polls its counters so seldom that PFC-1's storm lasts 51.5 s. The generator's own statistics say how much each
flow of the storm sent; and a run that is killed leaves a port that is quiet soon."""
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import snappi
import yaml

from scripts.campaign.broken_testbed import SWITCH, KnownDut, OpenSsh, Testbed, broken_testbed, connected_ports
from scripts.campaign.entries import ROOT
from scripts.tests.broken import HEALTHY_RX, HEALTHY_TX
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS, pause_lossless
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.cases.storm_sequence import scenario_traffic
from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock
from tests.common.pfc.lab.lab import Lab
from tests.common.pfc.lab.planning import open_lab, plan_device
from tests.common.pfc.lab.port_plan import LabFacts, PortRequest
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.model.traffic import Role
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.verdict import Status

FLOW_S, POLL_S = 30, 44
STORM_S = 1 + 5 + 0.5 + POLL_S + 1  # before the data; the data, and to see that it has ended; until counters have it
ASKED = {"storm_limit_s": FLOW_S, "reason": "storms that end by themselves, as on hardware"}
STORM = f"Pause Storm {SWITCH} {HEALTHY_RX}"
SUCCESSORS = [f"{STORM} successor {number}" for number in (1, 2, 3)]
FPS = 5960
HANG_S = 120
KILLED_S = 25  # the first successor was started 5 s ago
KILLED = f"""
import json, os, signal, sys
from scripts.tests.test_storm_chain import lab_of, storm_on
lab = lab_of(json.loads(sys.argv[1]))
storm_on(lab)
lab.clock.sleep({KILLED_S})
os.kill(os.getpid(), signal.SIGKILL)
"""


def lab_of(testbed: Testbed) -> Lab:
    """The first pair of ports, planned as the suite plans it from the testbed's entry."""
    entries = yaml.safe_load(Path(testbed["testbed_file"]).read_text(encoding="utf-8"))
    entry = next(one for one in entries if one["conf-name"] == "vtb-t0")
    entry |= {"clock": testbed["clock"]["url"], "pfc_conditions": ASKED}
    dut = KnownDut(OpenSsh(testbed["switches"][SWITCH]))
    facts = LabFacts(entry, lambda name: dut.state(), connected_ports(), {})
    plan = plan_device(facts, SWITCH, PortRequest(HEALTHY_RX, HEALTHY_TX))
    return open_lab(plan, dut, snappi.api(location=testbed["otg"]["url"]), EndpointClock(testbed["clock"]["url"]))


def storm_on(lab: Lab) -> None:
    """PFC-1's storm, and nothing else."""
    traffic = scenario_traffic(lab, pause_lossless((3,), lab.subject.qos))
    lab.generator.push(traffic)
    lab.generator.start(traffic.names(Role.STORM))


def seen(testbed: Testbed) -> dict[str, tuple[int, str]]:
    """Name of each flow of the storm -> frames sent and transmit state, as the generator has them."""
    api = snappi.api(location=testbed["otg"]["url"])
    request = api.metrics_request()
    request.flow.flow_names = [STORM, *SUCCESSORS]
    return {one.name: (one.frames_tx, one.transmit) for one in api.get_metrics(request).flow_metrics}


@pytest.fixture(name="testbed", scope="module")
def fixture_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A healthy testbed whose switch polls its ports' counters every 44 s."""
    with broken_testbed(tmp_path_factory.mktemp("chain"), []) as testbed:
        host = OpenSsh(testbed["switches"][SWITCH])
        row = "sonic-db-cli CONFIG_DB HSET 'FLEX_COUNTER_TABLE|PORT' POLL_INTERVAL"
        assert host.shell(f"{row} {1000 * POLL_S}")["rc"] == 0
        host.close()
        yield testbed


def judge(testbed: Testbed, monkeypatch: pytest.MonkeyPatch, forgets: str = "") -> Outcome:
    """PFC-1 on priority 3; the generator forgets to start the flow of that name, and says that it did."""
    lab = lab_of(testbed)
    transmit = lab.generator._transmit

    def forgetful(names: list[str], verb: str) -> None:
        if verb != "START" or names != [forgets]:
            transmit(names, verb)

    monkeypatch.setattr(lab.generator, "_transmit", forgetful)
    with SwitchRestorer(lab.dut.host, "chain").watchdog_stopped() as reservation:
        reserved = replace(lab, dut=KnownDut(lab.dut.host, reservation=reservation))
        return Qualifier(reserved).qualify(SINGLE_LOSSLESS, (3,))


def test_a_storm_goes_on_for_as_long_as_it_is_needed(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two flows to their end and a third until it is stopped, 20 s apart; the fourth is not needed. The switch counts
    what all of them sent."""
    outcome = judge(testbed, monkeypatch)
    assert [message for verdict in outcome.verdicts for message in verdict.messages] == []
    assert {verdict.status for verdict in outcome.verdicts} == {Status.PASS}
    sent = [FPS * FLOW_S, FPS * FLOW_S, FPS * (STORM_S - 40), 0]
    found = seen(testbed)
    assert {state for _, state in found.values()} == {"stopped"}
    assert [found[name][0] for name in (STORM, *SUCCESSORS)] == pytest.approx(sent, abs=2)
    storm = outcome.evidence["flows"]["drained"][STORM]
    assert storm["frames_tx_of_each"] == [found[name][0] for name in (STORM, *SUCCESSORS[:2])]
    assert outcome.evidence["dut_pfc_rx_in_all"][3] == storm["frames_tx"] == sum(storm["frames_tx_of_each"])


def test_a_storm_that_did_not_go_on_is_no_measurement(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 30 s on nothing paused the switch until the next flow began."""
    outcome = judge(testbed, monkeypatch, forgets=SUCCESSORS[0])
    assert {verdict.status for verdict in outcome.verdicts} == {Status.ERROR}
    assert {check.name for verdict in outcome.verdicts for check in verdict.checks} == {"storm-running"}
    expected = f"got {SUCCESSORS[0]} not transmitting 20.0 s after its start"
    assert all(expected in (verdict.cause or "") for verdict in outcome.verdicts), outcome.verdicts


def test_a_killed_run_leaves_a_port_that_is_quiet_soon(testbed: Testbed) -> None:
    """Both flows run when the run dies; the one that was started last ends by itself, and no other one begins."""
    facts = json.dumps({key: testbed[key] for key in ("testbed_file", "clock", "switches", "otg")})
    ended = subprocess.run([sys.executable, "-c", KILLED, facts], cwd=ROOT, check=False, timeout=HANG_S,
                           env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert ended.returncode == -signal.SIGKILL
    transmitting = {name for name, (_, state) in seen(testbed).items() if state == "started"}
    assert transmitting == {STORM, SUCCESSORS[0]}
    EndpointClock(testbed["clock"]["url"]).sleep(FLOW_S)
    found = seen(testbed)
    assert {state for _, state in found.values()} == {"stopped"}
    assert [found[name][0] for name in (STORM, *SUCCESSORS)] == pytest.approx([FPS * FLOW_S, FPS * FLOW_S, 0, 0], abs=2)
