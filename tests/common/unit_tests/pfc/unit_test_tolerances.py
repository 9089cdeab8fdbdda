"""What a testbed's entry says of its measurements, and what comes of it in configurations and verdicts."""

import dataclasses

from tests.common.pfc.cases.flows import RESUMED
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS, pause_lossless
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.cases.storm_sequence import scenario_traffic
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.option import tolerances_of
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.tolerances import EXACT, HARDWARE
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS


def lab_under(tolerances):
    """The fake lab under other conditions."""
    world = FakeWorld()
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    plan = dataclasses.replace(plan, subject=dataclasses.replace(plan.subject, tolerances=tolerances))
    return open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))


def test_what_a_testbed_has_unless_it_says_otherwise():
    """A virtual testbed on its own clock is exact; anything else is treated as hardware."""
    assert tolerances_of({"conf-name": "vtb-t0", "clock": "http://127.0.0.1:1/clock"}) == EXACT, "not exact"
    assert tolerances_of({"conf-name": "rack-1"}) == HARDWARE, "not hardware's"


def test_a_full_line_is_what_the_testbed_has_for_one():
    """Rates in the configuration, and what a sender owes, go with it; frames a second of the storm do not."""
    lab = lab_under(HARDWARE)
    traffic = scenario_traffic(lab, pause_lossless((3,), lab.subject.qos))
    rates = {flow.name: flow.rate.percentage for flow in traffic.config.flows if flow.rate.choice == "percentage"}
    for phase in ("", RESUMED):
        at_once = sum(rates[flow.name] for flow in traffic.flows.values() if flow.phase == phase and not flow.pause)
        assert abs(at_once - 99) < 1e-9, rates
    assert all(traffic.flows[name].percent == rate for name, rate in rates.items()), "what is owed is not what is sent"
    assert [flow.rate.pps for flow in traffic.config.flows if flow.rate.choice == "pps"] == [5960], "another storm"


def test_a_storm_on_hardware_ends_by_itself():
    """A killed run does not hold a port for ever; the generators of a virtual testbed end with it."""
    for tolerances, choice in ((HARDWARE, "fixed_seconds"), (EXACT, "continuous")):
        lab = lab_under(tolerances)
        traffic = scenario_traffic(lab, pause_lossless((3,), lab.subject.qos))
        duration = next(flow.duration for flow in traffic.config.flows if flow.rate.choice == "pps")
        assert duration.choice == choice, duration
        if choice == "fixed_seconds":
            assert duration.fixed_seconds.seconds == HARDWARE.storm_limit_s, duration


def test_a_card_with_four_pfc_queues_keeps_lossless_priorities_apart():
    """3 and 4 have queues of their own."""
    lab = lab_under(dataclasses.replace(HARDWARE, pfc_queues=4, reason="a card with four queues"))
    traffic = scenario_traffic(lab, pause_lossless((3,), lab.subject.qos))
    queues = {
        traffic.flows[flow.name].priority: flow.packet[0].pfc_queue.value
        for flow in traffic.config.flows
        if traffic.flows[flow.name].priority is not None
    }
    assert queues == {0: 0, 1: 1, 2: 0, 3: 3, 4: 2, 5: 0, 6: 1}, queues


def test_every_verdict_says_under_which_conditions():
    """In its evidence."""
    outcome = Qualifier(lab_under(HARDWARE)).qualify(SINGLE_LOSSLESS, (3,))
    assert {one.status for one in outcome.verdicts} == {Status.PASS}, [one.messages for one in outcome.verdicts]
    assert outcome.evidence["conditions"] == dataclasses.asdict(HARDWARE), outcome.evidence.get("conditions")
