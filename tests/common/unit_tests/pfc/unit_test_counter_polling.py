"""The suite waits until what it reads is fresh: a switch shows its counters as of its last poll, and reading too early
would judge a healthy switch wrongly."""

import dataclasses

import pytest

from tests.common.pfc.cases.checks import judge, validity
from tests.common.pfc.cases.engine import settled_counters, unmet, with_late_counts
from tests.common.pfc.cases.pauses import (
    GLOBAL_PAUSE, LOSSY as PAUSE_LOSSY, SEVERAL_LOSSLESS, SINGLE_LOSSLESS, pause_lossless,
)
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.cases.storm_sequence import measure
from tests.common.pfc.lab.counter_polling import POLL_GRACE_S, PollDelays, read_poll_delays
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.verdict import LOSSLESS, Status
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS


def lab_of(world, delays=None):
    """What measures a switch, with the delays that its configuration says, or these."""
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    plan = plan if delays is None else dataclasses.replace(plan, delays=delays)
    return open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))


def qualify(world, delays=None):
    """The lossless verdict of a run that waits as long as the switch's configuration asks for, or so long."""
    outcome = Qualifier(lab_of(world, delays)).qualify(SINGLE_LOSSLESS, (3,))
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


def late_outcome(world, case, target):
    """What comes of a case on a switch that says it polls its ports every second; and how long that took, seconds."""
    lab = lab_of(world)
    qualifier = Qualifier(lab)
    qualifier.qualify(SINGLE_LOSSLESS, (3,))
    began_s = lab.clock.now()
    return qualifier.qualify(case, target), lab.clock.now() - began_s


EACH = [(SINGLE_LOSSLESS, (3,)), (SEVERAL_LOSSLESS, (3, 4)), (PAUSE_LOSSY, (0, 1, 2, 5, 6)), (GLOBAL_PAUSE, ())]


@pytest.mark.parametrize("case, target", EACH)
@pytest.mark.parametrize("poll_s", [4.0, 6.0, 8.0, 9.0])
def test_a_switch_that_polls_later_than_it_says_passes(poll_s, case, target):
    """Its counters are read once more before it fails; where they are right at once nobody waits."""
    _, in_time_s = late_outcome(FakeWorld(), case, target)
    outcome, took_s = late_outcome(FakeWorld(port_poll_s=poll_s), case, target)
    assert {one.status for one in outcome.verdicts} == {Status.PASS}, [one.messages for one in outcome.verdicts]
    assert took_s - in_time_s in (0, POLL_GRACE_S), f"{took_s} s instead of {in_time_s} s"


@pytest.mark.parametrize("case, target", EACH)
def test_it_passes_whenever_its_polls_come(case, target):
    """Also where none comes while the storm runs."""
    for now in range(9):
        outcome, _ = late_outcome(FakeWorld(port_poll_s=9.0, now=float(now)), case, target)
        failed = [text for one in outcome.verdicts for text in one.messages if one.status is not Status.PASS]
        assert not failed, f"polls from {now} s on: {failed}"


@pytest.mark.parametrize("again", [True, False])
def test_each_of_several_measurements_waits_for_its_own(again):
    """One that counted too few has a second reading before the next begins; else both would fail."""
    failed = []
    for now in (1.0, 3.0, 5.0):
        lab = lab_of(FakeWorld(port_poll_s=9.0, now=now))
        before = settled_counters(lab, wait_s=9.0)
        for priority in (3, 4, 3):
            run = measure(lab, pause_lossless((priority,), lab.subject.qos), before)
            run = with_late_counts(lab, run, validity, judge) if again else run
            failed += unmet(judge(run))
            before = run.after
    assert bool(failed) is not again, [one.message for one in failed]


@pytest.mark.parametrize("poll_s", [1.0, 8.0])
@pytest.mark.parametrize("faults, counted", [(dict(counts_pause=False), 0), (dict(counted_share=0.98), 46726)])
def test_a_wrong_count_fails_however_often_it_is_read(faults, counted, poll_s):
    outcome, _ = late_outcome(FakeWorld(port_poll_s=poll_s, **faults), PAUSE_LOSSY, (0, 1, 2, 5, 6))
    found = {one.seen for verdict in outcome.verdicts for one in verdict.checks
             if one.name == "every-pause-counted" and one.status is Status.FAIL}
    assert found == {counted}, [one.messages for one in outcome.verdicts]


def test_pauses_that_are_counted_late_stay_wrong_ones():
    """One that is counted for another priority shows late, but it shows."""
    outcome, _ = late_outcome(FakeWorld(port_poll_s=8.0, counts_also=(5,)), SINGLE_LOSSLESS, (3,))
    failed = [check for verdict in outcome.verdicts for check in verdict.checks if check.status is Status.FAIL]
    assert [check.name for check in failed] == ["no-other-pause-counted"], failed


def test_the_next_case_begins_with_what_was_read_last():
    """What one case counted late is not counted as the next one's."""
    qualifier = Qualifier(lab_of(FakeWorld(port_poll_s=8.0)))
    for case, target in [*EACH, *EACH]:
        outcome = qualifier.qualify(case, target)
        assert {one.status for one in outcome.verdicts} == {Status.PASS}, [one.messages for one in outcome.verdicts]


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
