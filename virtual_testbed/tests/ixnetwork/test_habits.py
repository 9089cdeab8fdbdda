"""Habits of chassis: each one's effect, and that nothing happens without it."""
from __future__ import annotations

from dataclasses import replace

import pytest

from virtual_testbed.ixnetwork.habits import (CRC_ERRORS, FLAP_NS, HABITS, LATENCY_NS, REFRESH_NS, HabitError, Habits,
                                              read_habits)
from virtual_testbed.ixnetwork.tree import ROOT
from virtual_testbed.tests.ixnetwork.imported import STORM, host, item
from virtual_testbed.tests.ixnetwork.served import ServedSession

SMALL = {"frameSize": {"type": "fixed", "fixedSize": 64}}
V6 = {"ethernet": {"destinationAddress": "02:00:00:00:01:02", "sourceAddress": "02:00:00:00:01:03"},
      "ipv6": {"srcIP": "fc02::3", "dstIP": "fc02::2"}, "udp": {"srcPort": 5003, "dstPort": 5003}}


def served(*habits, items=None, hosts=()):
    """A session with data as item 1 and a storm as item 2."""
    return ServedSession(*habits).configure(items or [item(1, "Data"), item(2, "Storm", STORM, 1)], hosts)


def finish(session, name="Data"):
    """A flow has sent all that it has."""
    session.otg.counted[name]["transmit"] = "stopped"


def times(session):
    """What the traffic generator was told, and how many nanoseconds passed."""
    return [one["ns"] if one["choice"] == "wait" else one["choice"] for one in session.otg.controls]


@pytest.mark.parametrize("name", ["finished", "card=", "", "CRC-errors", "card"])
def test_a_habit_that_does_not_exist_is_refused_by_name(name):
    sentence = f"^habit {name!r}: there is none of that name; habits are finished-stay-started, .*, card=TYPE$"
    with pytest.raises(HabitError, match=sentence):
        read_habits(["crc-errors", name])


def test_habits_are_together():
    found = read_habits(["late-statistics", "crc-errors", "card=aresOneM"])
    assert found == Habits(refresh_ns=REFRESH_NS, crc_errors=True, card="aresOneM")
    assert read_habits(["slow-start", "slow-stop"]) == Habits(
        start_ns=LATENCY_NS, stop_ns=LATENCY_NS, refresh_ns=REFRESH_NS)
    assert read_habits([]) == Habits()


@pytest.mark.parametrize("name", HABITS)
def test_each_habit_is_one(name):
    assert read_habits([name]) != Habits() == replace(read_habits([name]), **{
        key: getattr(Habits(), key) for key in HABITS[name]})


@pytest.mark.parametrize("habits, state", [((), "stopped"), (("finished-stay-started",), "started")])
def test_an_item_that_has_sent_all(habits, state):
    session = served(*habits)
    assert session.states() == ["stopped", "stopped"]
    session.start(1, 2)
    assert session.states() == ["started", "started"]
    finish(session)
    assert session.states() == [state, "started"]
    session.stop(1)
    assert session.states() == ["stopped", "started"]
    assert session.otg.told() == [("start", ["Data", "Storm"]), ("stop", ["Data"])]


@pytest.mark.parametrize("habits, behind_clear", [((), 0), (("counts-accumulate",), 100)])
def test_what_clearing_statistics_does(habits, behind_clear):
    session = served(*habits)
    session.start(1)
    session.otg.counted["Data"]["frames_tx"] = 100
    assert session.sent() == [100, 0]
    session.clear()
    assert session.sent() == [behind_clear, 0]
    session.otg.counted["Data"]["frames_tx"] = 130
    assert session.sent() == [behind_clear + 30, 0]


@pytest.mark.parametrize("cleared", [True, False])
def test_counts_of_a_second_start_are_added_until_they_are_cleared(cleared):
    """OTG's begin at 0."""
    session = served()
    session.start(1)
    session.otg.counted["Data"]["frames_tx"] = 100
    finish(session)
    if cleared:
        session.clear()
    session.start(1)
    session.otg.counted["Data"]["frames_tx"] = 40
    assert session.sent() == [40 if cleared else 140, 0]


def test_statistics_are_those_of_the_moment():
    session = served()
    session.start(1)
    for sent in (10, 20):
        session.otg.counted["Data"]["frames_tx"] = sent
        assert session.sent() == [sent, 0]


def test_late_statistics_are_as_they_were_taken():
    session = served("late-statistics")
    session.start(1)
    session.otg.counted["Data"]["frames_tx"] = 10
    assert session.sent() == [0, 0]
    session.session.chassis.take_statistics()
    session.otg.counted["Data"]["frames_tx"] = 20
    assert session.sent() == [10, 0]


def test_starts_and_stops_take_no_time():
    session = served()
    session.start(1)
    session.stop(1)
    assert [one for one in times(session) if one] == ["traffic", "traffic"]


@pytest.mark.parametrize("habit", ["slow-start", "slow-stop"])
def test_frames_begin_and_end_in_the_middle_of_a_slow_call(habit):
    session = served(habit)
    session.start(1)
    before = len(session.otg.controls)
    session.stop(1)
    half = LATENCY_NS // 2
    slow, fast = (slice(before), slice(before, None)) if habit == "slow-start" else (slice(before, None), slice(before))
    assert times(session)[slow] == [half, "traffic", half]
    assert [one for one in times(session)[fast] if one] == ["traffic"]


def test_states_between_states_last_until_statistics_are_taken():
    session = served("waiting-states")
    session.start(1)
    assert session.states() == ["startedWaitingForStats", "stopped"]
    session.session.chassis.take_statistics()
    assert session.states() == ["started", "stopped"]
    session.stop(1)
    assert session.states() == ["stoppedWaitingForStats", "stopped"]
    session.session.chassis.take_statistics()
    assert session.states() == ["stopped", "stopped"]


@pytest.mark.parametrize("habits, kept", [((), False), (("captures-kept",), True)])
def test_what_clearing_a_capture_does(habits, kept):
    session = served(*habits)
    session.session.request("PATCH", f"{ROOT}/vport/1/capture", "", {"hardwareEnabled": True})
    session.otg.captured = b"frames"
    session.do("startCapture")
    session.do("stopCapture")
    assert session.file("/root/rx_HW.cap").content == b"frames"
    session.do("clearCaptureInfos", [f"{ROOT}/vport/1"])
    answer = session.file("/root/rx_HW.cap")
    assert (answer.status, answer.content == b"frames") == ((200, True) if kept else (404, False))


@pytest.mark.parametrize("habits, spelled", [((), "fc02::1"), (("other-spelling",), "fc02:" + "0000:" * 6 + "0001")])
def test_how_an_address_comes_back(habits, spelled):
    session = served(*habits, hosts=[host(1, "ipv6", "fc02::2", "fc02::1"), host(2)])
    tree = session.session.tree
    six = tree.view(tree.node("/topology[1]/deviceGroup[1]/ethernet[1]/ipv6[1]"))["gatewayIp"]
    four = tree.view(tree.node("/topology[2]/deviceGroup[1]/ethernet[1]/ipv4[1]"))["gatewayIp"]
    assert session.do("getValues", six, at=six) == [spelled]
    assert session.do("getValues", four, at=four) == ["192.168.0.1"]


@pytest.mark.parametrize("habits, errors", [((), "0"), (("crc-errors",), str(CRC_ERRORS))])
def test_ports_may_count_frames_with_errors_while_traffic_runs(habits, errors):
    session = served(*habits)
    session.clear()
    session.start(1)
    assert [row["CRC Errors"] for row in session.rows("Port Statistics")] == [errors, errors]
    session.clear()
    assert [row["CRC Errors"] for row in session.rows("Port Statistics")] == ["0", "0"]


def test_a_link_may_flap_while_traffic_runs():
    session = served("link-flaps")
    session.start(1)
    links = [one["port"]["link"] for one in session.otg.controls if one["choice"] == "port"]
    assert links == [{"state": "down", "port_names": ["rx"]}, {"state": "up", "port_names": ["rx"]}]
    assert [one for one in times(session) if one] == ["traffic", FLAP_NS, "port", FLAP_NS, "port"]


def test_a_port_that_comes_into_the_session_may_lose_its_link_for_a_moment():
    session = served("relinks")
    taken = ["port", FLAP_NS, "port", FLAP_NS]
    assert times(session) == taken and session.otg.controls[0]["port"]["link"]["port_names"] == ["rx", "tx"]
    session.configure([item(1, "Data")])
    assert times(session) == taken, "both were there"


@pytest.mark.parametrize("habits, beside", [((), True), (("no-start-beside",), False)])
def test_a_start_beside_what_runs(habits, beside):
    """What is told so and does not begin says nothing."""
    session = served(*habits)
    session.start(2)
    session.start(1)
    assert session.states() == ["started" if beside else "stopped", "started"]
    assert session.otg.counted["Data"]["transmit"] == ("started" if beside else "stopped")
    session.stop(2)
    session.start(1)
    assert session.states() == ["started", "stopped"]


def test_a_frame_without_room_for_the_instrumentation_tag_is_refused():
    session = ServedSession("instrumentation-tag")
    with pytest.raises(AssertionError, match="traffic item Small: frames of 64 bytes have no room for the"
                                             " instrumentation tag: 78 bytes or more"):
        session.configure([item(1, "Small", V6, **SMALL)])


@pytest.mark.parametrize("habits, packet", [((), V6), (("instrumentation-tag",), STORM)])
def test_frames_that_need_no_tag(habits, packet):
    """Pauses have none; nor has anything where nobody writes one."""
    assert served(*habits, items=[item(1, "Small", packet, **SMALL)]).states() == ["stopped"]


def test_the_type_of_the_cards():
    session = ServedSession("card=aresOneM")
    session.do("importconfig", ROOT, '[{"xpath": "/vport[1]", "name": "rx", "location": "10.0.0.9;1;1"}]')
    assert session.session.tree.node("/vport[1]/l1Config")["currentType"] == "aresOneM"
    assert session.session.tree.node("/vport[1]")["type"] == "aresOneM"
