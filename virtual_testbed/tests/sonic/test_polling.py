"""COUNTERS_DB is as old as a lab's: polled at fixed instants of simulated time, never as of the reading."""
from __future__ import annotations

import contextlib
import logging
import random
from types import SimpleNamespace

import pytest

from virtual_testbed.dataplane.model.counters import (ALL_PARTS, PgCounters, QueueCounters, SwitchCounters,
                                                      SwitchStates, WatchdogState)
from virtual_testbed.dataplane.network import Overrun
from virtual_testbed.engine.clock import RealtimeClock, VirtualClock
from virtual_testbed.engine.simulation import Simulation, SimulationLate
from virtual_testbed.sonic import databases
from virtual_testbed.sonic.agent import SonicAgent
from virtual_testbed.sonic.counters import ObjectIds, watchdog_group_readings
from virtual_testbed.sonic.factory import factory_config
from virtual_testbed.sonic.polling import DEFAULT_MS, read_intervals
from virtual_testbed.sonic.profile import load_profile
from virtual_testbed.tests.sonic.conftest import HWSKU, NAME, port_counters
from virtual_testbed.tests.sonic.test_restarts import ask

SECOND = 10**12
TABLE = "FLEX_COUNTER_TABLE"


class CountingNetwork:
    """A data plane whose every counter is the simulated time in milliseconds; knows where it stopped."""

    def __init__(self):
        self.now_ps = 0
        self.stops = []
        self.readings = 0
        self.oper_up = True
        self.watchdog = {}
        self.configs = []

    def configure_switch(self, config):
        self.configs.append(config)

    def clear_peaks(self, switch, parts=ALL_PARTS):
        pass

    def advance_to(self, time_ps):
        self.now_ps = time_ps
        self.stops.append(time_ps / SECOND)

    def switch_states(self, switch):
        return SwitchStates({"Ethernet0": self.oper_up}, self.watchdog)

    def switch_counters(self, switch, parts):
        self.readings += 1
        now = self.now_ps // 10**9
        return SwitchCounters(
            ports={"Ethernet0": port_counters(rx_packets=now, tx_bytes=now, pfc_rx=(now,) * 8)},
            queues={("Ethernet0", 3): QueueCounters(packets=now, watermark_bytes=now)},
            priority_groups={("Ethernet0", 3): PgCounters(dropped_packets=now, headroom_watermark_bytes=now)})


@contextlib.contextmanager
def simulated(redis, config_db, network):
    """A simulation of one switch on its real databases."""
    agents = []

    def make_agent():
        agents.append(SonicAgent(NAME, redis.socket, HWSKU, network, []))
        return agents[-1]

    simulation = Simulation(network, {NAME: make_agent}, lambda: None)
    simulation.publish()
    yield SimpleNamespace(simulation=simulation, network=network, config=config_db, redis=redis)
    for agent in agents:
        agent.close()


@pytest.fixture
def lab(redis, config_db):
    """A simulation of one switch on its real databases."""
    with simulated(redis, config_db, CountingNetwork()) as made:
        yield made


def ages(lab):
    """What is read now of each group: the millisecond in which it was polled."""
    with databases.connect(lab.redis.socket, "COUNTERS_DB") as connection:
        def read(kind, name, field, table="COUNTERS"):
            oid = databases.read_hash(connection, f"COUNTERS_{kind}_NAME_MAP")[name]
            return int(databases.read_hash(connection, f"{table}:{oid}").get(field, -1))
        return {
            "PORT": read("PORT", "Ethernet0", "SAI_PORT_STAT_PFC_3_RX_PKTS"),
            "QUEUE": read("QUEUE", "Ethernet0:3", "SAI_QUEUE_STAT_PACKETS"),
            "PG_DROP": read("PG", "Ethernet0:3", "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"),
            "QUEUE_WATERMARK": read("QUEUE", "Ethernet0:3", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "USER_WATERMARKS"),
            "PG_WATERMARK": read("PG", "Ethernet0:3", "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES",
                                 "PERSISTENT_WATERMARKS")}


def expected(port, queue, watermark):
    return {"PORT": port, "QUEUE": queue, "PG_DROP": queue, "QUEUE_WATERMARK": watermark, "PG_WATERMARK": watermark}


def advance(lab, seconds):
    return VirtualClock(lab.simulation).advance({"nanoseconds": round(seconds * 10**9)})


def test_a_reading_is_as_old_as_the_last_poll(lab):
    assert ages(lab) == expected(0, 0, 0)
    advance(lab, 0.999)
    assert ages(lab) == expected(0, 0, 0)
    advance(lab, 0.001)
    assert ages(lab) == expected(1000, 0, 0)
    advance(lab, 8.9)
    assert ages(lab) == expected(9000, 0, 0)
    advance(lab, 0.2)
    assert ages(lab) == expected(10000, 10000, 0)
    advance(lab, 55)
    assert ages(lab) == expected(65000, 60000, 60000)


def test_how_an_advance_is_split_changes_nothing(lab):
    for milliseconds in (1, 998, 2, 10, 3000, 7, 8000, 21000, 30000):
        advance(lab, milliseconds / 1000)
    assert lab.network.now_ps == 63018 * 10**9
    assert ages(lab) == expected(63000, 60000, 60000)


def test_a_long_advance_polls_each_group_once(lab):
    """And watermarks before the last tick of the telemetry timer, which is at 3480 s."""
    lab.network.stops.clear()
    before = lab.network.readings
    advance(lab, 3599.5)
    assert lab.network.stops == [3420.0, 3480.0, 3540.0, 3590.0, 3598.5, 3599.0, 3599.5]
    assert lab.network.readings - before == 4
    assert ages(lab) == expected(3599000, 3590000, 3540000)


def test_realtime_polls_at_the_same_instants(lab):
    wall = SimpleNamespace(ns=0)
    clock = RealtimeClock(lab.simulation, lambda: wall.ns)
    for _ in range(105):
        wall.ns += 99_700_000
        clock.settle()
    assert lab.network.now_ps == 10_468_500 * 10**6
    assert ages(lab) == expected(10000, 10000, 0)


def test_states_and_the_watchdog_show_at_once(lab):
    lab.network.oper_up = False
    lab.network.watchdog = {("Ethernet0", 3): WatchdogState("stormed", detected=1, tx_dropped=7)}
    advance(lab, 0.1)
    with databases.connect(lab.redis.socket, "APPL_DB") as connection:
        assert databases.read_hash(connection, "PORT_TABLE:Ethernet0")["oper_status"] == "down"
        assert databases.read_hash(connection, "PFC_WD_TABLE_INSTORM:Ethernet0") == {"3": "storm"}
    with databases.connect(lab.redis.socket, "COUNTERS_DB") as connection:
        oid = databases.read_hash(connection, "COUNTERS_QUEUE_NAME_MAP")["Ethernet0:3"]
        queue = databases.read_hash(connection, f"COUNTERS:{oid}")
    assert queue["PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS"] == "7" and queue["SAI_QUEUE_STAT_PACKETS"] == "0"
    assert ages(lab)["PORT"] == 0


def test_intervals_of_config_db_are_used_from_then_on(lab):
    databases.change_row(lab.config, TABLE, "PORT", {"POLL_INTERVAL": "5000"})
    databases.change_row(lab.config, TABLE, "QUEUE", {"POLL_INTERVAL": "200"})
    databases.change_row(lab.config, TABLE, "PG_DROP", {"FLEX_COUNTER_STATUS": "disable"})
    advance(lab, 4.9)
    assert (ages(lab)["PORT"], ages(lab)["QUEUE"]) == (0, 4800)
    advance(lab, 15.1)
    assert (ages(lab)["PORT"], ages(lab)["QUEUE"], ages(lab)["PG_DROP"]) == (20000, 20000, 0)
    databases.change_row(lab.config, TABLE, "PG_DROP", {"FLEX_COUNTER_STATUS": "enable"})
    advance(lab, 9.9)
    assert ages(lab)["PG_DROP"] == 0
    advance(lab, 0.1)
    assert ages(lab)["PG_DROP"] == 30000


def watched(lab, poll_ms=200):
    """Ethernet0, for priorities 3 and 4."""
    databases.change_row(lab.config, "PORT_QOS_MAP", "Ethernet0", {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"})
    databases.change_row(lab.config, "PFC_WD", "GLOBAL", {"POLL_INTERVAL": str(poll_ms)})
    databases.change_row(lab.config, "PFC_WD", "Ethernet0", {
        "action": "drop", "detection_time": "400", "restoration_time": "400"})


def of_port(lab, name, field):
    """What is read now of a field of a port, or of a queue (`Ethernet0:4`)."""
    kind = "QUEUE" if ":" in name else "PORT"
    with databases.connect(lab.redis.socket, "COUNTERS_DB") as connection:
        oid = databases.read_hash(connection, f"COUNTERS_{kind}_NAME_MAP")[name]
        return int(databases.read_hash(connection, f"COUNTERS:{oid}")[field])


def test_what_the_watchdog_decides_on_is_as_fresh_as_its_polls(lab):
    advance(lab, 0.35)
    watched(lab)
    advance(lab, 0.19)
    assert (ages(lab)["PORT"], ages(lab)["QUEUE"]) == (0, 0), "its polls begin when it is started"
    advance(lab, 0.02)
    assert (ages(lab)["PORT"], ages(lab)["QUEUE"]) == (550, 550)
    assert of_port(lab, "Ethernet0", "SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US") == 0
    for name, field in (("Ethernet0", "SAI_PORT_STAT_PFC_2_RX_PKTS"), ("Ethernet0", "SAI_PORT_STAT_IF_IN_UCAST_PKTS"),
                        ("Ethernet0", "SAI_PORT_STAT_PFC_3_TX_PKTS")):
        assert of_port(lab, name, field) == 0, "another priority, another field, the other way: with the port's own"
    advance(lab, 0.5)
    assert of_port(lab, "Ethernet0", "SAI_PORT_STAT_PFC_2_RX_PKTS") == 1000
    assert (ages(lab)["PORT"], ages(lab)["QUEUE"]) == (1000, 950), "the port's own poll was the later one"
    databases.change_row(lab.config, "PFC_WD", "Ethernet0", None)
    advance(lab, 5.04)
    assert (ages(lab)["PORT"], ages(lab)["QUEUE"]) == (6000, 950), "the watchdog has gone"


def test_a_watchdog_that_is_not_polled_does_nothing(lab):
    """`pfcwd counter_poll disable`: neither counters nor what is decided by them, in syncd. Its interval is kept."""
    watched(lab)
    advance(lab, 0.5)
    databases.change_row(lab.config, TABLE, "PFCWD", {"FLEX_COUNTER_STATUS": "disable"})
    advance(lab, 0.7)
    assert ages(lab)["QUEUE"] == 400 and lab.network.configs[-1].watchdog_poll_ms == 0
    with databases.connect(lab.redis.socket, "FLEX_COUNTER_DB") as connection:
        group = databases.read_hash(connection, "FLEX_COUNTER_GROUP_TABLE:PFC_WD")
    assert (group["FLEX_COUNTER_STATUS"], group["POLL_INTERVAL"]) == ("disable", "200")
    databases.change_row(lab.config, TABLE, "PFCWD", None)
    advance(lab, 0.21)
    assert ages(lab)["QUEUE"] == 1400 and lab.network.configs[-1].watchdog_poll_ms == 200


def statistics(lab):
    """Dropped frames of Ethernet0:3, of all storms and of the last one, as they show."""
    return [of_port(lab, "Ethernet0:3", f"PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS{last}") for last in ("", "_LAST")]


def test_frames_of_a_storm_show_once_a_second_and_when_it_is_over(lab):
    """As orchagent's timer writes them; not before it, nor while the big red switch is on."""
    def storm(status="stormed", frames=0, detected=1, restored=0):
        lab.network.watchdog = {("Ethernet0", 3): WatchdogState(
            status, detected, restored, tx_dropped=30 + frames, tx_dropped_last=frames)}

    watched(lab)
    advance(lab, 0.3)
    storm(frames=5)
    advance(lab, 0.1)
    assert statistics(lab) == [30, 0]
    advance(lab, 0.7)
    storm(frames=8)
    advance(lab, 0.1)
    assert statistics(lab) == [35, 5]
    storm("operational", 9, restored=1)
    advance(lab, 0.1)
    assert statistics(lab) == [39, 9]
    storm(frames=2, detected=2, restored=1)
    advance(lab, 0.1)
    assert statistics(lab) == [30, 0], "another storm"
    advance(lab, 1)
    assert statistics(lab) == [32, 2]
    databases.change_row(lab.config, "PFC_WD", "GLOBAL", {"BIG_RED_SWITCH": "enable"})
    storm(frames=4, detected=3, restored=2)
    advance(lab, 3)
    assert statistics(lab) == [30, 0]


def test_another_poll_interval_begins_anew(lab):
    watched(lab)
    advance(lab, 0.5)
    assert ages(lab)["QUEUE"] == 400
    watched(lab, 300)
    advance(lab, 0.31)
    assert ages(lab)["QUEUE"] == 800


@pytest.mark.parametrize("asic, fresh", [
    ("vs", {"PFC_3_RX_PKTS", "PFC_3_RX_PAUSE_DURATION_US"}),
    ("mellanox", {"PFC_3_RX_PKTS", "PFC_3_RX_PAUSE_DURATION_US"}),
    ("broadcom", {"PFC_3_RX_PKTS", "PFC_3_ON2OFF_RX_PKTS"}), ("cisco-8000", {"PFC_3_RX_PKTS", "PFC_3_TX_PKTS"})])
def test_its_fields_are_those_of_the_asic(asic, fresh):
    ids = ObjectIds(load_profile(HWSKU))
    port = SimpleNamespace(watchdog=object(), watchdog_priorities=frozenset({3}))
    idle = SimpleNamespace(watchdog=None, watchdog_priorities=frozenset({3}))
    config = SimpleNamespace(asic_type=asic, ports={"Ethernet0": port, "Ethernet4": idle})
    counters = SwitchCounters({"Ethernet0": port_counters(), "Ethernet4": port_counters()},
                              {("Ethernet0", 3): QueueCounters(), ("Ethernet0", 4): QueueCounters()}, {})
    shown = {reading.name: reading.shown for reading in watchdog_group_readings(ids, counters, config)}
    assert {name.removeprefix("SAI_PORT_STAT_") for name in shown["Ethernet0"]} == fresh
    assert shown["Ethernet4"] == shown["Ethernet0:4"] == frozenset() and "SAI_QUEUE_STAT_PACKETS" in shown[
        "Ethernet0:3"]


def test_what_is_not_polled_when_the_switch_starts_has_no_counters(redis, config_db):
    config = factory_config(load_profile(HWSKU), NAME)
    del config[TABLE]["QUEUE"]
    config[TABLE]["PORT"] = {"FLEX_COUNTER_STATUS": "disable"}
    databases.write_config(config_db, config, {})
    SonicAgent(NAME, redis.socket, HWSKU, CountingNetwork(), []).close()
    found = ages(SimpleNamespace(redis=redis))
    assert (found["PORT"], found["QUEUE"], found["PG_DROP"]) == (-1, -1, 0)


def test_rates_are_those_between_two_polls(lab):
    advance(lab, 1.7)
    advance(lab, 0.2)
    with databases.connect(lab.redis.socket, "COUNTERS_DB") as connection:
        oid = databases.read_hash(connection, "COUNTERS_PORT_NAME_MAP")["Ethernet0"]
        assert databases.read_hash(connection, f"RATES:{oid}")["TX_BPS"] == "1000.000000"


def test_intervals_are_sonics():
    config = factory_config(load_profile(HWSKU), NAME)
    assert read_intervals(config).by_group == {group: ms * 10**9 for group, ms in DEFAULT_MS.items()}
    assert read_intervals({}).by_group == {} and read_intervals(config).problems == ()


@pytest.mark.parametrize("row, problem", [
    ({"POLL_INTERVAL": "99"}, "POLL_INTERVAL must be 100..3600000 milliseconds, found '99'"),
    ({"POLL_INTERVAL": "soon"}, "POLL_INTERVAL must be 100..3600000 milliseconds, found 'soon'"),
    ({"FLEX_COUNTER_STATUS": "on"}, "FLEX_COUNTER_STATUS must be enable or disable, found 'on'")])
def test_a_malformed_row_is_named_once_and_not_polled(lab, caplog, row, problem):
    databases.change_row(lab.config, TABLE, "PORT", row)
    with caplog.at_level(logging.WARNING):
        advance(lab, 2)
        databases.change_row(lab.config, "PORT", "Ethernet0", {"mtu": "1500"})
        advance(lab, 2)
    assert [record.getMessage() for record in caplog.records] == [f"{NAME}: {TABLE}|PORT ignored: {problem}"]
    assert ages(lab)["PORT"] == 0


class LevelNetwork(CountingNetwork):
    """A data plane with one queue that is filled for a moment now and then; `peaks`: second -> level."""

    def __init__(self):
        super().__init__()
        self.peaks = {}
        self.cleared_ps = -1

    def clear_peaks(self, switch, parts=ALL_PARTS):
        self.cleared_ps = self.now_ps

    def switch_counters(self, switch, parts):
        levels = [level for second, level in self.peaks.items()
                  if self.cleared_ps < second * SECOND <= self.now_ps]
        return SwitchCounters({}, {("Ethernet0", 3): QueueCounters(watermark_bytes=max(levels, default=0))}, {})


@pytest.fixture
def levels(redis, config_db):
    """A simulation of one switch whose network is a `LevelNetwork`; watermarks of groups are not polled."""
    config = factory_config(load_profile(HWSKU), NAME)
    config[TABLE]["PG_WATERMARK"] = {"FLEX_COUNTER_STATUS": "disable"}
    databases.write_config(config_db, config, {})
    with simulated(redis, config_db, LevelNetwork()) as made:
        yield made


def watermark(lab, table="PERIODIC_WATERMARKS", name="Ethernet0:3"):
    with databases.connect(lab.redis.socket, "COUNTERS_DB") as connection:
        oid = databases.read_hash(connection, "COUNTERS_QUEUE_NAME_MAP")[name]
        return int(databases.read_hash(connection, f"{table}:{oid}")["SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"])


def telemetry(lab, interval):
    databases.change_row(lab.config, "WATERMARK_TABLE", "TELEMETRY_INTERVAL", {"interval": str(interval)})


def status(lab, group, value):
    databases.change_row(lab.config, TABLE, group, {"FLEX_COUNTER_STATUS": value})


def test_periodic_watermarks_are_those_of_the_polls_since_the_last_tick(levels):
    levels.network.peaks = {10: 5000, 100: 700, 130: 900, 200: 80}
    seen = {}
    for until in (59, 61, 119, 121, 179, 181, 239, 241, 299, 301):
        advance(levels, until - levels.network.now_ps / SECOND)
        seen[until] = watermark(levels)
    assert seen == {59: 0, 61: 5000, 119: 5000, 121: 700, 179: 700, 181: 900, 239: 900, 241: 80, 299: 80, 301: 80}
    advance(levels, 60)
    assert watermark(levels) == 0 and watermark(levels, "USER_WATERMARKS") == 5000


def test_a_tick_sets_all_queues_and_groups_to_nothing(levels):
    """Also those that are not polled."""
    with databases.connect(levels.redis.socket, "COUNTERS_DB") as connection:
        group = databases.read_hash(connection, "COUNTERS_PG_NAME_MAP")["Ethernet4:7"]
        assert databases.read_hash(connection, f"PERIODIC_WATERMARKS:{group}") == {}
        advance(levels, 120)
        assert databases.read_hash(connection, f"PERIODIC_WATERMARKS:{group}") == {
            "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES": "0",
            "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": "0"}
    assert watermark(levels, name="Ethernet8:13") == 0


def test_a_level_that_stays_shows_in_the_next_period_too(levels):
    """Nothing has changed since the last poll, but what was kept was cleared."""
    levels.network.peaks = {second: 416 for second in range(5, 1000, 5)}
    advance(levels, 119)
    with databases.connect(levels.redis.socket, "COUNTERS_DB") as connection:
        oid = databases.read_hash(connection, "COUNTERS_QUEUE_NAME_MAP")["Ethernet0:3"]
        connection.call("HSET", f"USER_WATERMARKS:{oid}", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "0")
    advance(levels, 2)
    assert (watermark(levels), watermark(levels, "USER_WATERMARKS")) == (416, 416)


def expected_periodic(peaks, poll_s, tick_s, now_s):
    """By making every poll and every tick; a tick comes before a poll of its instant. The first tick is at 120 s."""
    instants = [(poll, 1) for poll in range(poll_s, now_s + 1, poll_s)]
    instants += [(tick, 0) for tick in range(120, now_s + 1, tick_s)]
    highest = 0
    for second, is_poll in sorted(instants):
        found = [level for peak, level in peaks.items() if second - poll_s < peak <= second]
        highest = max(highest, *found, 0) if is_poll else 0
    return highest


@pytest.mark.parametrize("poll_s, tick_s", [(60, 120), (7, 45), (45, 7), (20, 20), (3600, 120), (1, 3600)])
def test_how_time_is_advanced_makes_no_difference_to_periodic_watermarks(levels, poll_s, tick_s):
    draw = random.Random(poll_s)
    levels.network.peaks = {second: draw.randrange(1, 9999) for second in draw.sample(range(2000), 60)}
    telemetry(levels, tick_s)
    databases.change_row(levels.config, TABLE, "QUEUE_WATERMARK", {"POLL_INTERVAL": str(poll_s * 1000)})
    now_s = 0
    while now_s < 2000:
        step_s = draw.choice((1, 7, 45, 60, 120, draw.randrange(1, 700)))
        advance(levels, step_s)
        now_s += step_s
        assert watermark(levels) == expected_periodic(levels.network.peaks, poll_s, tick_s, now_s), now_s


def late_at(lab, until_s, late_s, monkeypatch):
    """Advances, which takes too long: time stands still at an earlier instant."""
    step = lab.network.advance_to

    def advance_to(time_ps):
        step(min(time_ps, late_s * SECOND))
        if time_ps > late_s * SECOND:
            raise Overrun("that takes too long")

    with monkeypatch.context() as patch:
        patch.setattr(lab.network, "advance_to", advance_to)
        with pytest.raises(SimulationLate):
            lab.simulation.advance_to(until_s * SECOND)
    assert lab.network.now_ps == late_s * SECOND


def test_a_tick_that_was_missed_clears_nothing_that_was_polled_after_it(levels, monkeypatch):
    """The tick of 360 s was to come, and that of 240 s was left out for it; the poll of 300 s was made."""
    levels.network.peaks = {290: 5000}
    late_at(levels, 400, 310, monkeypatch)
    assert watermark(levels) == 5000
    advance(levels, 60)
    assert watermark(levels) == 0


def test_a_tick_that_was_missed_is_made_up_for_before_the_next_poll(levels, monkeypatch):
    """Nothing was polled since the tick of 120 s."""
    levels.network.peaks = {10: 5000}
    advance(levels, 70)
    assert watermark(levels) == 5000
    late_at(levels, 400, 125, monkeypatch)
    assert watermark(levels) == 0


def test_what_was_polled_is_not_polled_again_when_later_polls_are_late(levels, monkeypatch):
    """The same counters may be polled several times on the way: those of 300 s were, those of 360 s not."""
    late_at(levels, 400, 305, monkeypatch)
    assert levels.network.cleared_ps == 300 * SECOND


def ticks(lab, until_s):
    """Seconds at which periodic watermarks begin anew, from now on: between two polls of which nothing is seen."""
    found = []
    with databases.connect(lab.redis.socket, "COUNTERS_DB") as connection:
        oid = databases.read_hash(connection, "COUNTERS_QUEUE_NAME_MAP")["Ethernet0:3"]
        while (now_s := lab.network.now_ps // SECOND) < until_s:
            connection.call("HSET", f"PERIODIC_WATERMARKS:{oid}", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "1")
            advance(lab, 1)
            if watermark(lab) == 0:
                found.append(now_s + 1)
    return found


def test_another_interval_counts_from_the_next_tick_on(levels):
    advance(levels, 50)
    telemetry(levels, 30)
    assert ticks(levels, 200) == [120, 150, 180]
    telemetry(levels, 100)
    advance(levels, 1)
    databases.change_row(levels.config, "WATERMARK_TABLE", "TELEMETRY_INTERVAL", None)
    advance(levels, 1)
    assert ticks(levels, 350) == [210, 310], "that the row is removed says nothing"


def test_a_restart_of_orchagent_starts_the_timer_anew(levels):
    """Ports, and what is polled, are there after 20 s; the first tick comes 120 s later, then the interval counts."""
    telemetry(levels, 0)
    advance(levels, 130)
    telemetry(levels, 50)
    ask(levels.redis, "swss")
    advance(levels, 25)
    assert levels.network.now_ps == 155 * SECOND
    assert ticks(levels, 400) == [270, 320, 370]


def test_an_interval_of_nothing_stops_the_timer_with_its_next_tick_for_good(levels):
    telemetry(levels, 0)
    assert ticks(levels, 130) == [120]
    telemetry(levels, 5)
    status(levels, "QUEUE_WATERMARK", "disable")
    advance(levels, 1)
    status(levels, "QUEUE_WATERMARK", "enable")
    assert ticks(levels, 300) == []


def test_the_timer_runs_while_a_group_of_watermarks_is_enabled(levels):
    telemetry(levels, 20)
    advance(levels, 130)
    status(levels, "QUEUE_WATERMARK", "disable")
    assert ticks(levels, 200) == [140], "it stops with its next tick"
    status(levels, "PG_WATERMARK", "enable")
    assert ticks(levels, 245) == [220, 240], "it is started anew"
    status(levels, "PG_WATERMARK", "disable")
    advance(levels, 5)
    status(levels, "QUEUE_WATERMARK", "enable")
    assert ticks(levels, 290) == [260, 280], "it was not stopped yet"
    databases.change_row(levels.config, TABLE, "QUEUE_WATERMARK", None)
    assert ticks(levels, 310) == [300], "orchagent does not see that a row is removed"


@pytest.mark.parametrize("is_first", [True, False])
def test_the_order_of_what_is_told_at_one_instant_does_not_matter(levels, is_first):
    """The agent may look between two commands, or not."""
    status(levels, "QUEUE_WATERMARK", "disable")
    advance(levels, 200)
    if is_first:
        telemetry(levels, 30)
        levels.simulation.refresh()
    status(levels, "QUEUE_WATERMARK", "enable")
    if not is_first:
        levels.simulation.refresh()
        telemetry(levels, 30)
    assert ticks(levels, 300) == [230, 260, 290]


@pytest.mark.parametrize("text", ["-5", "soon", "4294967296"])
def test_a_malformed_interval_is_named_and_changes_nothing(levels, caplog, text):
    with caplog.at_level(logging.WARNING):
        telemetry(levels, text)
        assert ticks(levels, 250) == [120, 240]
    assert [record.getMessage() for record in caplog.records] == [
        f"{NAME}: WATERMARK_TABLE|TELEMETRY_INTERVAL ignored: interval must be 0..4294967295 seconds, found '{text}'"]


def test_counterpoll(run, config_db):
    assert run("counterpoll show").splitlines()[2:4] == [
        "QUEUE_STAT                  default (10000)     enable",
        "PORT_STAT                   default (1000)      enable"]
    run("counterpoll port interval 500; counterpoll watermark interval 2000; counterpoll pg-drop disable")
    rows = databases.read_config(config_db, TABLE)[TABLE]
    assert rows["PORT"] == {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "500"}
    assert {rows[group]["POLL_INTERVAL"] for group in ("QUEUE_WATERMARK", "PG_WATERMARK", "BUFFER_POOL_WATERMARK")} == {
        "2000"}
    lines = run("counterpoll show").splitlines()
    assert lines[0].split("  ")[0] == "Type" and "Interval (in ms)" in lines[0]
    assert [line.split() for line in lines if line.startswith(("PORT", "PG_DROP"))] == [
        ["PORT_STAT", "500", "enable"], ["PG_DROP_STAT", "default", "(10000)", "disable"]]
    assert "is not in the range 100<=x<=30000" in run("counterpoll queue interval 99", status=2)


def test_counterpoll_of_counters_that_the_switch_does_not_have(run, config_db):
    """They can be set, as on SONiC, which sonic-mgmt's test does with all of them."""
    run("counterpoll phy disable; counterpoll wredport interval 2000; counterpoll port-buffer-drop enable")
    rows = databases.read_config(config_db, TABLE)[TABLE]
    assert rows["PORT_PHY_ATTR"] == {"FLEX_COUNTER_STATUS": "disable"}
    assert rows["WRED_ECN_PORT"] == {"POLL_INTERVAL": "2000"}
    shown = [line.split() for line in run("counterpoll show").splitlines()]
    assert ["PORT_BUFFER_DROP", "default", "(60000)", "enable"] in shown
    assert ["PHY", "default", "(10000)", "disable"] in shown
    assert ["WRED_ECN_PORT_STAT", "2000", "disable"] in shown
    for group in ("llr", "flowcnt-route"):
        assert "not supported on this platform" in run(f"counterpoll {group} disable", status=1)
