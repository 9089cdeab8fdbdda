"""How the watchdog decides, platform by platform: histories of polls and what follows of them.

That SONiC's own scripts decide the same is shown where they are (`scripts/against_sonic`).
"""
from __future__ import annotations

from dataclasses import replace

import pytest

from virtual_testbed.dataplane.model.configuration import WatchdogConfig
from virtual_testbed.dataplane.model.counters import Sample
from virtual_testbed.dataplane.model.watchdog_decider import PERSONALITIES, PersonalityDecider, PolledQueue
from virtual_testbed.tests.dataplane.testbeds import MS

POLL_MS = 200
CONFIG = WatchdogConfig("drop", 400, 400)
"""What the words below do to a queue between two polls: (pause frames, paused share, frames that left, frames wait)."""
WORDS = {"storm": (10, 100, 0, 1), "idle-storm": (10, 100, 0, 0), "quiet": (0, 0, 5, 0), "xon": (1, 0, 5, 0),
         "half": (10, 50, 0, 1), "99": (10, 99, 0, 1), "draining-storm": (10, 100, 5, 0)}


def samples(words):
    """The first poll, then one after each word."""
    sample = Sample(POLL_MS * MS, 0, 0, False, 0, 0, 0)
    yield sample
    for word in words:
        frames, share, left, waiting = WORDS[word]
        ended = sample.paused and share < 100
        sample = Sample(sample.time_ps + POLL_MS * MS, sample.pfc_rx + frames, sample.on2off + ended, share == 100,
                        sample.packets + left, 208 * waiting, sample.paused_ps + POLL_MS * MS * share // 100)
        yield sample


def decisions(asic_type, words, config=CONFIG):
    """`storm` and `restore` by the number of their poll, the first one is 0."""
    decider = PersonalityDecider(asic_type)
    status = "operational"
    found = {}
    for number, sample in enumerate(samples(words)):
        polled = PolledQueue("Ethernet0", 3, sample, status, config)
        for decision in decider.decide([polled], POLL_MS, sample.time_ps):
            assert (decision.port, decision.queue) == ("Ethernet0", 3), decision
            if decision.event == "storm" and status == "operational":
                status, found[number] = "stormed", "storm"
            elif decision.event == "restore":
                status, found[number] = "operational", "restore"
    return found


LONG, AFTER = ["storm"] * 5, ["quiet"] * 5


@pytest.mark.parametrize(("asic_type", "stormed", "restored"), [
    ("broadcom", 3, 7), ("mellanox", 2, 7), ("vs", 2, 7), ("barefoot", 2, 7), ("nephos", 2, 7), ("clounix", 2, 7),
    ("marvell-teralynx", 2, 7), ("marvell-prestera", 2, 7), ("cisco-8000", 2, 7)])
def test_a_storm_with_traffic(asic_type, stormed, restored):
    assert decisions(asic_type, LONG + AFTER) == {stormed: "storm", restored: "restore"}, asic_type


@pytest.mark.parametrize(("asic_type", "stormed"), [
    ("broadcom", 3), ("mellanox", None), ("vs", 2), ("barefoot", 2), ("nephos", 2), ("clounix", 2),
    ("marvell-teralynx", 2), ("marvell-prestera", None), ("cisco-8000", 2), ("unheard-of", 2)])
def test_a_storm_on_an_empty_queue(asic_type, stormed):
    found = decisions(asic_type, ["idle-storm"] * 5)
    assert found == ({} if stormed is None else {stormed: "storm"}), asic_type


@pytest.mark.parametrize(("asic_type", "restored"), [
    ("broadcom", 5), ("vs", 5), ("mellanox", 5), ("marvell-teralynx", 5), ("nephos", 4)])
def test_platforms_that_do_not_renew_what_they_remember_restore_a_poll_later(asic_type, restored):
    """The storm ends when it is found; what the first poll after it compares with is deleted, or older."""
    words = ["storm"] * (3 if asic_type == "broadcom" else 2) + AFTER
    assert decisions(asic_type, words) == {len(words) - 5: "storm", restored: "restore"}, asic_type


@pytest.mark.parametrize("asic_type", sorted(PERSONALITIES))
def test_frames_that_resume_keep_a_storm_but_where_the_state_decides(asic_type):
    """sonic-swss#4581: any PFC frame counts as one of the storm."""
    found = decisions(asic_type, LONG + ["xon"] * 5)
    assert ("restore" in found.values()) == (asic_type == "cisco-8000"), found


@pytest.mark.parametrize(("asic_type", "stormed"), [("broadcom", {}), ("vs", {2: "storm"}), ("mellanox", {})])
def test_pauses_of_half_the_time(asic_type, stormed):
    assert decisions(asic_type, ["half"] * 5) == stormed, asic_type


@pytest.mark.parametrize(("words", "stormed"), [(["99"] * 4, {}), (["storm"] * 4, {2: "storm"})])
def test_mellanox_wants_more_than_99_percent(words, stormed):
    assert decisions("mellanox", words) == stormed, words


def test_mellanox_takes_a_detection_time_one_percent_longer_than_its_polls():
    for detection_ms, stormed in ((404, 2), (405, 3)):
        config = replace(CONFIG, detection_ms=detection_ms)
        assert min(decisions("mellanox", LONG, config)) == stormed, detection_ms


@pytest.mark.parametrize(("asic_type", "stormed"), [("marvell-teralynx", {2: "storm"}), ("vs", {})])
def test_frames_that_leave_an_empty_queue(asic_type, stormed):
    assert decisions(asic_type, ["draining-storm"] * 4) == stormed, asic_type


def test_alert_ends_with_the_first_poll_that_speaks_against_a_storm():
    found = decisions("nephos", LONG + ["quiet"], replace(CONFIG, action="alert"))
    assert found == {2: "storm", 6: "restore"}, found


def test_without_a_restoration_time_a_storm_stays():
    assert "restore" not in decisions("vs", LONG + AFTER, replace(CONFIG, restoration_ms=None)).values()


def test_what_is_remembered_outlives_a_stop_of_the_watchdog():
    decider = PersonalityDecider("vs")
    polls = list(samples(["storm"] * 5))
    queues = [PolledQueue("Ethernet0", 3, sample, "operational", CONFIG) for sample in polls]
    first = [decider.decide([queue], POLL_MS, queue.sample.time_ps) for queue in queues[:2]]
    assert not any(first), "one interval is too short"
    stopped = decider.decide([], POLL_MS, polls[2].time_ps)
    started = decider.decide([queues[3]], POLL_MS, polls[3].time_ps)
    assert not stopped and [decision.event for decision in started] == ["storm"], "the second one ends the time"


def test_the_big_red_switch_decides_nothing():
    decider = PersonalityDecider("cisco-8000")
    for sample in samples(LONG):
        queue = PolledQueue("Ethernet0", 3, sample, "stormed", CONFIG, is_big_red=True)
        assert not decider.decide([queue], POLL_MS, sample.time_ps), "a queue is judged"
