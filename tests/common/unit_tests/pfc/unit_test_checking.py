"""What checks are made of: where they looked, their limits, what a flow owes, who is to blame for what is missing."""

import dataclasses

import pytest

from tests.common.pfc.model.checking import (
    all_at_rate, at_flow, at_least, at_most, at_port, at_priorities, at_priority, at_queue, at_sender, at_tested,
    error_unless, every_pause_counted, everything_received, fail_unless, least_load, never_taken, no_pause_counted,
    no_pause_sent, none_of, nothing_received, pauses_to_hold, sent_as_due, storm_sent,
)
from tests.common.pfc.model.scenario import Scenario, Storm
from tests.common.pfc.model.tolerances import EXACT
from tests.common.pfc.model.traffic import FlowStats, Role
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status
from tests.common.unit_tests.pfc.unit_test_measurement import (
    OTHER, STORM, SUBJECT, TEST, counters, gained, measured, run,
)

DUE = 29932950
"""Frames of the test flow in 5 s, at half of 100 Gb/s."""
HOLD = 14901
"""Pauses of 65535 quanta that follow each other for so long."""
BY_OTHERS = dataclasses.replace(TEST, enters="Ethernet64", leaves="Ethernet8")
FURTHER = dataclasses.replace(TEST, enters="Ethernet8")
WIDE = dataclasses.replace(SUBJECT, further=(OTHER,))
IN_STORM = "in the storm"


def flow(sent, received=0, plan=TEST, **rest):
    """What was counted of a flow."""
    return FlowStats(plan, False, sent, received, **rest)


def sent(frames=0, priority=3):
    """The PFC frames that the switch sent out of every port."""
    return lambda port: gained(priority, frames)


@pytest.mark.parametrize(("place", "where", "metric", "priority"), [
    (at_priority(SUBJECT, 3), "vtb-t0-01 Ethernet1 priority 3", LOSSLESS, 3),
    (at_priority(SUBJECT, 0), "vtb-t0-01 Ethernet1 priority 0", LOSSY, 0),
    (at_queue(SUBJECT, "Ethernet64:4"), "vtb-t0-01 Ethernet64 priority 4", LOSSLESS, 4),
    (at_queue(WIDE, "Ethernet8:1"), "vtb-t1-01 Ethernet8 priority 1", LOSSY, 1),
    (at_flow(SUBJECT, flow(1)), "vtb-t0-01 Ethernet1 priority 3", LOSSLESS, 3),
    (at_flow(WIDE, flow(1, plan=BY_OTHERS)), "vtb-t1-01 Ethernet8 priority 3", LOSSLESS, 3),
    (at_sender(SUBJECT, flow(1)), "vtb-t0-01 Ethernet64 priority 3", LOSSLESS, 3),
    (at_sender(WIDE, flow(1, plan=FURTHER)), "vtb-t1-01 Ethernet8 priority 3", LOSSLESS, 3),
    (at_port(SUBJECT), "vtb-t0-01 Ethernet1", LOSSLESS, None),
    (at_priorities(SUBJECT, (0, 1)), "vtb-t0-01 Ethernet1 priorities 0, 1", LOSSY, None),
    (at_priorities(SUBJECT, (0, 3), "Ethernet64"), "vtb-t0-01 Ethernet64 priorities 0, 3", LOSSLESS, None),
    (at_priorities(SUBJECT, (0,)), "vtb-t0-01 Ethernet1 priority 0", LOSSY, 0),
    (at_tested(measured()), "vtb-t0-01 Ethernet1 priority 3", LOSSLESS, 3),
    (at_tested(measured(Storm.GLOBAL)), "vtb-t0-01 Ethernet1", LOSSLESS, None),
    (at_tested(measured(scenario=Scenario(Storm.LOSSY, (0, 1), (3,)))), "vtb-t0-01 Ethernet1 priorities 0, 1", LOSSY,
     None),
])
def test_where_a_check_looks_and_for_which_metric_it_counts(place, where, metric, priority):
    """Data is judged where it leaves, its sender where it enters; several priorities are lossless if one of them is."""
    assert (place.where, place.metric_name, place.priority) == (where, metric, priority), place


def test_the_limits_of_a_check_are_within_them():
    """Which status it has beyond them is the difference between a broken switch and a broken measurement."""
    place = at_priority(SUBJECT, 3)
    found = [[check("name", place, 10, "frames", seen).status.name for seen in (9, 10, 11)]
             for check in (at_least, at_most)]
    assert found == [["FAIL", "PASS", "PASS"], ["PASS", "PASS", "FAIL"]], found
    zero = [none_of("name", place, "frames", seen).status for seen in (0, 1, -1)]
    assert zero == [Status.PASS, Status.FAIL, Status.FAIL], zero
    blamed = [check("name", place, False, "one", "two").status for check in (fail_unless, error_unless)]
    assert blamed == [Status.FAIL, Status.ERROR], blamed
    said = at_least("name", place, 10, "frames received", 9).message
    assert said == "vtb-t0-01 Ethernet1 priority 3: expected at least 10 frames received, got 9", said


@pytest.mark.parametrize(("percent", "frames", "least"), [
    (0, 1000, 999), (0, 1, 0), (0, 0, 0), (1, 1000, 990), (1, 10, 9), (1, 1, 0), (1, 0, 0), (100, 1000, 0),
])
def test_what_a_flow_sends_at_least(percent, frames, least):
    """One frame may be missing in any case, and never less than none is owed."""
    subject = dataclasses.replace(SUBJECT, tolerances=dataclasses.replace(EXACT, load_tolerance_percent=percent))
    found = least_load(subject, dataclasses.replace(TEST, seconds=None, frames=frames))
    assert found == least, found


def test_a_flow_owes_what_the_port_that_it_enters_by_can_carry():
    """A quarter, where that is a port of 25 Gb/s."""
    slow = dataclasses.replace(SUBJECT, further=(dataclasses.replace(OTHER, speed_mbps=25000),))
    assert (least_load(slow, TEST), least_load(slow, FURTHER)) == (DUE - 1, DUE // 4 - 1), least_load(slow, FURTHER)


@pytest.mark.parametrize(("frames", "pauses"), [(0, HOLD), (DUE // 2, HOLD // 2), (DUE - 1, 1), (DUE, 1), (2 * DUE, 1)])
def test_how_many_pauses_hold_a_sender_for_as_long_as_it_was_held(frames, pauses):
    """At least one, also of a flow that lacks nothing."""
    found = pauses_to_hold(SUBJECT, flow(frames))
    assert found == pauses, found


@pytest.mark.parametrize(("frames", "pauses", "held", "status", "said"), [
    (DUE, 0, False, Status.PASS, None),
    (DUE - 1, 0, False, Status.PASS, None),
    (DUE - 2, 0, False, Status.ERROR, f"at least {DUE - 1} frames sent in the storm, got {DUE - 2}"),
    (DUE - 2, 1, False, Status.PASS, None),
    (0, HOLD, False, Status.PASS, None),
    (0, HOLD - 1, False, Status.ERROR, f"at least {DUE - 1} frames sent in the storm (14900 PFC frames sent to their"
                                       " sender, of 14901 that hold it for so long), got 0"),
    (1, 0, True, Status.PASS, None),
    (0, 0, True, Status.ERROR, "at least 1 frames sent in the storm, got 0"),
])
def test_a_load_that_is_short_is_the_generators_unless_the_switch_held_it(frames, pauses, held, status, said):
    """With as many pauses as it takes for what is missing; of one that is meant to be held a frame is enough."""
    found = sent_as_due(SUBJECT, flow(frames), pauses, held, IN_STORM)
    assert (found.name, found.status) == ("load-applied", status), found
    assert said is None or found.message == f"vtb-t0-01 Ethernet1 priority 3: expected {said}", found.message


def test_a_load_that_enters_elsewhere_is_looked_at_there():
    found = sent_as_due(WIDE, flow(DUE, plan=FURTHER), 0, False, IN_STORM)
    assert found.where == "vtb-t1-01 Ethernet8 priority 3", found


@pytest.mark.parametrize(("frames", "pauses", "fails"), [(0, 5, 1), (0, 0, 0), (1, 5, 0)])
def test_a_switch_that_takes_no_frame_at_all_fails(frames, pauses, fails):
    """Where it paused the sender; without pauses the generator did not send, and with a frame it took some."""
    found = list(never_taken(SUBJECT, [flow(frames)], sent(pauses), IN_STORM))
    assert [(one.name, one.status) for one in found] == [("load-taken", Status.FAIL)] * fails, found
    assert list(never_taken(SUBJECT, [flow(0)], sent(5, priority=4), IN_STORM)) == [], "pauses of another priority"


@pytest.mark.parametrize(("received", "status"), [(10, Status.PASS), (9, Status.FAIL), (11, Status.FAIL)])
def test_all_frames_are_received_once(received, status):
    """One that arrives twice is wrong too."""
    [found] = everything_received("all", SUBJECT, [flow(10, received)], "")
    assert found.status is status, found
    assert found.message == f"vtb-t0-01 Ethernet1 priority 3: expected all 10 frames received, got {received}", found
    [other] = everything_received("all", WIDE, [flow(10, received, BY_OTHERS)], IN_STORM)
    assert other.expected == "all 10 frames from Ethernet64 to Ethernet8 received in the storm", other


def test_nothing_is_received_of_what_is_held():
    found = [one.status for one in nothing_received("none", SUBJECT, [flow(10, 0), flow(10, 1)], "while paused")]
    assert found == [Status.PASS, Status.FAIL], found


def test_a_flow_that_loses_nothing_may_be_too_slow():
    """It is received in full, and not at its rate."""
    held = flow(1000, 1000)
    assert next(everything_received("all", SUBJECT, [held], "")).status is Status.PASS, "nothing is lost"
    [found] = all_at_rate("rate", SUBJECT, [held], "afterwards")
    assert (found.status, found.expected) == (Status.FAIL, f"at least {DUE - 1} frames received afterwards"), found


def test_each_flow_of_a_storm_needs_its_frames():
    """Else it is no storm, which is nobody's fault but the generator's."""
    found = [one.status for one in storm_sent(at_port(SUBJECT), [flow(10, plan=STORM), flow(9, plan=STORM)], 10)]
    assert found == [Status.PASS, Status.ERROR], found


@pytest.mark.parametrize(("percent", "frames", "status", "expected"), [
    (0, 1000, Status.PASS, "1000 PFC frames in the receive counter in the end"),
    (0, 999, Status.FAIL, "1000 PFC frames in the receive counter in the end"),
    (0, 1001, Status.FAIL, "1000 PFC frames in the receive counter in the end"),
    (1, 990, Status.PASS, "1000 PFC frames in the receive counter in the end (1 % more or less)"),
    (1, 989, Status.FAIL, "1000 PFC frames in the receive counter in the end (1 % more or less)"),
])
def test_every_pause_is_counted_as_near_as_two_counts_can_be_alike(percent, frames, status, expected):
    """To the end of the run; a count that is too high is wrong as well."""
    subject = dataclasses.replace(SUBJECT, tolerances=dataclasses.replace(EXACT, count_tolerance_percent=percent))
    of = run(counters(gained(3, 7)), counters(gained(3, 8)), counters(gained(3, 7 + frames)), subject)
    found = every_pause_counted(of, 3, 1000, "in the end ")
    assert (found.status, found.expected, found.seen) == (status, expected, frames), found


def test_pauses_of_other_priorities_are_neither_counted_nor_sent():
    """Each priority has a check of its own: pauses that come are of the port under test, those that leave of the tx
    port."""
    of = run(counters(), counters(), counters(gained(4, 2), gained(0, 5)))
    received = [(one.where, one.seen, one.status.name) for one in no_pause_counted("other", of, (0, 4))]
    assert received == [("vtb-t0-01 Ethernet1 priority 0", 0, "PASS"), ("vtb-t0-01 Ethernet1 priority 4", 2, "FAIL")], (
        received
    )
    left = [(one.where, one.seen, one.status.name) for one in no_pause_sent("other", of, (0, 4))]
    where = "vtb-t0-01 Ethernet64 priority"
    assert left == [(f"{where} 0", 5, "FAIL"), (f"{where} 4", 0, "PASS")], left


def test_a_check_of_data_that_has_no_priority_is_a_mistake():
    with pytest.raises(AssertionError, match="flow Pause Storm carries no priority"):
        at_flow(SUBJECT, flow(1, plan=dataclasses.replace(STORM, role=Role.TEST)))
