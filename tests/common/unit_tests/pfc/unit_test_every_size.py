"""SIZE-6: which frames are sent, and what is judged of them."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.every_size import (
    EVERY_SIZE, MANY_ROUNDS, ROUNDS, SizesRun, judge, lasting_s, rounds_on, size_flows, validity,
)
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.model.traffic import FlowStats
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import FakeWorld
from tests.common.unit_tests.pfc.unit_test_frames import lab_of, mtu_answers

SIZES = range(64, 9123)


def test_each_flow_has_every_size():
    """From the smallest to the largest that the port carries, in steps of one byte, each as often as any other."""
    lab, host, api = lab_of(FakeWorld())
    host.answers |= mtu_answers("9100", "9100")
    outcome = Qualifier(lab).qualify(EVERY_SIZE, ())
    config = api.configs[-1]
    assert {verdict.status for verdict in outcome.verdicts} == {Status.PASS}, outcome.verdicts
    assert {flow.name.split("Prio ")[1][0] for flow in config.flows} == {"3", "0"}, "one of each kind"
    for flow in config.flows:
        step = flow.size.increment
        assert (flow.size.choice, step.start, step.end, step.step) == ("increment", 64, 9122, 1), flow
        assert flow.duration.fixed_packets.packets == ROUNDS * len(SIZES), flow
        assert len(flow.packet[-2].priority.dscp.phb.values) == 1, "one DSCP value: not every pair of it and a size"
    assert sum(flow.rate.percentage for flow in config.flows) <= 50, "nothing is congested"


def test_it_takes_as_long_as_all_frames_on_half_a_line():
    """Those of 4593 bytes on average and what comes between them, at 50 Gb/s."""
    lab = lab_of(FakeWorld())[0]
    flows = size_flows(lab, SIZES)
    bits = sum(ROUNDS * 8 * (size + 20) for size in SIZES) * len(flows)
    assert lasting_s(lab, flows) == pytest.approx(bits / 50e9), "seconds"


@pytest.mark.parametrize("exact, rounds", [(True, ROUNDS), (False, MANY_ROUNDS)])
def test_more_are_sent_where_they_cost_nothing(exact, rounds):
    """On hardware."""
    assert rounds_on(SimpleNamespace(clock=SimpleNamespace(exact=exact))) == rounds, exact


def run_of(lost=0, unsent=0):
    """A run in which one flow lost frames, or was not sent in full."""
    lab = lab_of(FakeWorld())[0]
    due = ROUNDS * len(SIZES)
    stats = {flow.name: FlowStats(flow, False, due, due) for flow in size_flows(lab, SIZES)}
    name, first = next(iter(stats.items()))
    stats[name] = replace(first, frames_tx=due - unsent, frames_rx=due - unsent - lost)
    counters = lab.dut.counters()
    return SizesRun(lab.subject, counters, counters, counters, (), {"sent": stats}, SIZES, ROUNDS)


def test_a_frame_that_is_lost_fails_its_priority():
    """Of a size in between, say; what the sizes were is said."""
    [bad] = [check for check in judge(run_of(lost=1)) if check.status is Status.FAIL]
    assert bad.name == "nothing-lost" and "of every size from 64 to 9122 bytes" in bad.message, bad
    assert not [check for check in validity(run_of()) if check.status is not Status.PASS], "all was sent"


def test_a_size_that_was_not_sent_is_no_verdict():
    """ERROR: nothing is judged."""
    [bad] = [check for check in validity(run_of(unsent=9000)) if check.status is not Status.PASS]
    assert (bad.name, bad.status) == ("load-applied", Status.ERROR), bad
