"""The suite waits until what it reads is fresh: a switch shows its counters as of its last poll, and reading too early
would judge a healthy switch wrongly."""

import dataclasses

import pytest

from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.counter_polling import PollDelays, read_poll_delays
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.verdict import LOSSLESS, Status
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS


def qualify(world, delays=None):
    """The lossless verdict of a run that waits as long as the switch's configuration asks for, or so long."""
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    plan = plan if delays is None else dataclasses.replace(plan, delays=delays)
    lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
    outcome = Qualifier(lab).qualify(SINGLE_LOSSLESS, (3,))
    return next(verdict for verdict in outcome.verdicts if verdict.metric_name == LOSSLESS)


def slow_world():
    """A healthy switch that polls ports every 100 s and queues every 25 s, and says so."""
    world = FakeWorld(port_poll_s=100.0, queue_poll_s=25.0)
    world.config_db["FLEX_COUNTER_TABLE"] = {
        "PORT": {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "100000"},
        "QUEUE": {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "25000"},
    }
    return world


def test_a_switch_with_sonics_periods_passes():
    verdict = qualify(FakeWorld())
    assert verdict.status is Status.PASS, verdict.messages


def test_a_switch_that_polls_slowly_passes():
    verdict = qualify(slow_world())
    assert verdict.status is Status.PASS, verdict.messages


def test_port_counters_read_too_early_would_fail_a_healthy_switch():
    verdict = qualify(slow_world(), PollDelays(port_s=2.0, queue_s=26.0))
    assert verdict.status is Status.FAIL, verdict
    assert verdict.messages[0].endswith("expected more than 0 PFC frames in the receive counter, got 0"), verdict


def test_queue_counters_read_too_early_would_refuse_a_healthy_switch():
    verdict = qualify(slow_world(), PollDelays(port_s=101.0, queue_s=1.0))
    assert verdict.status is Status.ERROR, verdict
    assert "to leave through queue UC0, got 0" in verdict.cause, verdict


def test_what_was_counted_earlier_does_not_come_into_the_run():
    """Pause frames of a storm that ended just before are on another priority, and not yet in the counters."""
    for delays, status in ((None, Status.PASS), (PollDelays(0.5, 0.5), Status.FAIL)):
        world = FakeWorld(queue_poll_s=0.5)
        world.config_db["FLEX_COUNTER_TABLE"] = {"PORT": {"POLL_INTERVAL": "5000"}, "QUEUE": {"POLL_INTERVAL": "500"}}
        world.port_poll_s = 5.0
        world.pfc_rx[4] += 100
        verdict = qualify(world, delays)
        assert verdict.status is status, verdict


@pytest.mark.parametrize(
    ("table", "delays"),
    [
        ({}, PollDelays(2.0, 11.0)),
        ({"PORT": {"FLEX_COUNTER_STATUS": "enable"}, "QUEUE": {}}, PollDelays(2.0, 11.0)),
        ({"PORT": {"POLL_INTERVAL": "5000"}, "QUEUE": {"POLL_INTERVAL": "500"}}, PollDelays(6.0, 1.5)),
    ],
)
def test_ages(table, delays):
    seen = read_poll_delays({"FLEX_COUNTER_TABLE": table}, DEVICE)
    assert seen == delays, seen


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            {"FLEX_COUNTER_STATUS": "disable"},
            "vtb-t0-01: its queue counters are not polled, FLEX_COUNTER_TABLE|QUEUE has FLEX_COUNTER_STATUS 'disable':"
            " expected enable (`counterpoll queue enable`)",
        ),
        (
            {"POLL_INTERVAL": "10 s"},
            "vtb-t0-01: FLEX_COUNTER_TABLE|QUEUE has POLL_INTERVAL '10 s': expected a number of milliseconds",
        ),
    ],
)
def test_refused(row, sentence):
    world = FakeWorld()
    world.config_db["FLEX_COUNTER_TABLE"] = {"QUEUE": row}
    with pytest.raises(QualificationError) as caught:
        plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    assert str(caught.value) == sentence, caught.value
