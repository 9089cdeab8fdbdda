"""Generators that start no flow while others run: what a case does about it, and what it says where nothing helps."""

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.common.pfc.accounting.totals import FlowTotals
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.cases.timing_storms import STORMS
from tests.common.pfc.cases.plan import procedures
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.generator import Generator, Traffic
from tests.common.pfc.lab.lab import Lab
from tests.common.pfc.lab.otg_config import TrafficBuilder
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.tolerances import EXACT
from tests.common.pfc.model.traffic import FlowPlan, Role, pfc_frame
from tests.common.pfc.record.verdict import Status
from tests.common.pfc.storm_chain.sending import ChainBuilder
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_flows import TESTER_PORTS

LONE = replace(EXACT, starts_beside=False, reason="generator-check")
FIRST = FlowPlan("First", Role.TEST, 3, 1024, 10.0, seconds=2)
SECOND = replace(FIRST, name="Second", phase="later")
BESIDE = FlowPlan("Beside", Role.BYSTANDER, 1, 1024, 1.0, seconds=100)


class LoneApi(FakeApi):
    """Starts nothing while something runs, and says nothing of it."""

    def set_control_state(self, payload: Any) -> Any:
        """The start is forgotten."""
        is_start = payload.choice == "traffic" and payload.traffic.flow_transmit.state == "start"
        if not (is_start and any(self._world.counts(name)[2] for name in self._world.flows)):
            super().set_control_state(payload)


def lone_lab(is_said: bool = True) -> Lab:
    """A port with such a generator; whether the testbed's entry says so."""
    world = FakeWorld()
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    subject = replace(plan.subject, tolerances=LONE if is_said else EXACT)
    return open_lab(replace(plan, subject=subject), Dut(FakeHost(world)), LoneApi(world), FakeClock(world))


def both(lab: Lab, *flows: FlowPlan) -> Traffic:
    """A configuration of flows, one of them beside the case."""
    whole = TrafficBuilder(lab.generator.api, lab.subject, lab.builder.hosts, "02:00:00:00:00:01").build(
        [*flows, BESIDE])
    return Traffic(whole.config, {flow.name: flow for flow in flows}, {BESIDE.name: BESIDE})


@pytest.mark.parametrize(("is_said", "sends"), [(True, True), (False, False)])
def test_what_runs_beside_a_case_ends_before_its_next_phase(is_said: bool, sends: bool) -> None:
    """Unless the entry says so the next phase is not sent, which nobody says."""
    lab = lone_lab(is_said)
    generator = lab.generator
    totals = FlowTotals(generator)
    generator.observed_by(totals)
    generator.push(both(lab, FIRST, SECOND))
    generator.start([FIRST.name])
    generator.run_out([FIRST.name], 2.0)
    assert generator.stats([BESIDE.name])[BESIDE.name].transmitting, "it is sent all the while"
    generator.start([SECOND.name])
    generator.clock.sleep(1.0)
    stats = generator.stats([SECOND.name, BESIDE.name])
    assert (stats[SECOND.name].frames_tx > 0) is sends, stats
    assert stats[BESIDE.name].transmitting is not sends, stats
    generator.stop()
    found = {flow.plan.name: flow for flow in totals.take()}
    assert found[BESIDE.name].frames_tx == found[BESIDE.name].frames_rx > 0, "it is counted all the same"


def test_what_has_to_start_beside_a_flow_of_its_own_case_is_refused_by_name() -> None:
    """Nothing that was not sent is judged."""
    lab = lone_lab()
    lab.generator.push(both(lab, replace(FIRST, seconds=60), SECOND))
    lab.generator.start([FIRST.name])
    sentence = ("^Second has to start beside First, and by the testbed's pfc_conditions its traffic generators start"
                " nothing beside flows that run$")
    with pytest.raises(QualificationError, match=sentence):
        lab.generator.start([SECOND.name])
    lab.generator.stop([FIRST.name])
    lab.generator.start([SECOND.name])
    assert lab.generator.stats([SECOND.name])[SECOND.name].transmitting, "nothing else of the case runs any more"


def test_what_has_ended_has_ended_also_where_its_counts_are_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    """TIME-2 and CLASS-1 were ERROR: snappi_ixnetwork says of a flow whose counts a start has cleared that it runs."""
    lab = lone_lab()
    third = replace(FIRST, name="Third", phase="last")
    lab.generator.push(both(lab, FIRST, SECOND, third))
    read = Generator._metrics
    ended: set[str] = set()
    monkeypatch.setattr(Generator, "_metrics", lambda self, names: {
        name: replace(one, transmitting=True, frames_tx=0, frames_rx=0) if name in ended else one
        for name, one in read(self, names).items()
    })
    for flow in (FIRST, SECOND, third):
        lab.generator.start([flow.name])
        lab.generator.run_out([flow.name], 2.0)
        assert lab.generator.stats([flow.name])[flow.name].frames_tx, flow.name
        ended |= {FIRST.name} if flow is SECOND else set()


def test_cases_that_start_nothing_beside_pass_and_others_say_why() -> None:
    """The storm and its data begin with one call; what comes after the storm begins when all is quiet."""
    lab = lone_lab()
    qualifier = Qualifier(lab)
    passed = qualifier.qualify(SINGLE_LOSSLESS, (3,))
    assert [verdict.status for verdict in passed.verdicts] == [Status.PASS] * len(passed.verdicts), passed
    [target] = procedures()[STORMS].targets.on(lab.subject)
    refused = qualifier.qualify(STORMS, target)
    assert {verdict.status for verdict in refused.verdicts} == {Status.ERROR}, refused
    said = f"^1 Pause Storm {DEVICE} Ethernet0 has to start beside .+ and [0-9]+ others, and by the testbed's "
    assert all(re.match(said, str(verdict.error)) for verdict in refused.verdicts), refused


def test_a_storm_that_one_flow_is_too_short_for_is_no_chain() -> None:
    """Its next flow would start beside the one before."""
    lab = lone_lab()
    storm = FlowPlan("Storm", Role.STORM, None, 64, fps=1000, pause=pfc_frame((3,), 65535), needed_s=100, limit_s=60)
    chained = replace(lab.subject, tolerances=replace(LONE, starts_beside=True))
    hosts = lab.builder.hosts
    assert len(ChainBuilder(None, chained, hosts, "").storm_flows(storm)) == 2, storm
    with pytest.raises(QualificationError, match="Storm: a storm of 100 s is needed, and each ends by itself after 60"):
        ChainBuilder(None, lab.subject, hosts, "").storm_flows(storm)
    alone = ChainBuilder(None, lab.subject, hosts, "").storm_flows(replace(storm, needed_s=60))
    assert alone == ("Storm",), alone
