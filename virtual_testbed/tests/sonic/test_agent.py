"""Agent against a real Redis and a data plane that remembers."""
from __future__ import annotations

import logging

import pytest

from virtual_testbed.dataplane.model.configuration import WatchdogConfig
from virtual_testbed.dataplane.model.counters import WatchdogState
from virtual_testbed.faults import parse_fault
from virtual_testbed.sonic import databases
from virtual_testbed.sonic.agent import ChangeWatch, SonicAgent
from virtual_testbed.sonic.factory import qos_tables
from virtual_testbed.sonic.profile import load_profile
from virtual_testbed.tests.sonic.conftest import HWSKU, NAME

WATCHDOG = {"action": "drop", "detection_time": "200", "restoration_time": "400"}


def row(redis, database, key):
    with databases.connect(redis.socket, database) as connection:
        return databases.read_hash(connection, key)


def counters(redis, kind, name):
    oid = row(redis, "COUNTERS_DB", f"COUNTERS_{kind}_NAME_MAP")[name]
    return row(redis, "COUNTERS_DB", f"COUNTERS:{oid}")


def start_watchdog(config_db, port):
    """Let the watchdog watch priority 3 of a port."""
    databases.change_row(config_db, "PORT_QOS_MAP", port, {"pfcwd_sw_enable": "3"})
    databases.change_row(config_db, "PFC_WD", port, WATCHDOG)


def test_a_new_switch_gets_its_factory_configuration(agent, network, config_db):
    config = databases.read_config(config_db)
    assert config["DEVICE_METADATA"]["localhost"]["hostname"] == NAME
    assert {"bgp", "database", "lldp", "swss", "syncd", "teamd"} <= set(config["FEATURE"])
    assert len(network.configs) == 1 and network.configs[0].ports["Ethernet0"].admin_up


def test_an_existing_configuration_is_adopted(redis, network, config_db):
    databases.write_config(config_db, {"PORT": {"Ethernet0": {"admin_status": "down"}}})
    SonicAgent(NAME, redis.socket, HWSKU, network, []).close()
    assert databases.read_config(config_db) == {"PORT": {"Ethernet0": {"admin_status": "down"}}}
    assert not network.configs[0].ports["Ethernet0"].admin_up


def test_changes_are_seen_once_and_without_a_race(redis, config_db):
    watch = ChangeWatch(redis.socket)
    assert watch.seen() is False
    for number in range(50):
        config_db.call("HSET", "PORT|Ethernet0", "mtu", number)
        assert watch.seen() is True
    assert watch.seen() is False
    watch.close()


def test_configuration_reaches_the_data_plane(agent, network, config_db):
    assert agent.apply_configuration() is False
    start_watchdog(config_db, "Ethernet0")
    assert agent.apply_configuration() is True
    assert network.configs[-1].ports["Ethernet0"].watchdog.detection_ms == 200
    config_db.call("SET", "something", "else")
    assert agent.apply_configuration() is False and len(network.configs) == 2


def test_a_malformed_row_is_logged_once_by_name(agent, network, config_db, caplog):
    with caplog.at_level(logging.WARNING):
        databases.change_row(config_db, "PFC_WD", "Ethernet0", {"detection_time": "1"})
        agent.apply_configuration()
        databases.change_row(config_db, "PORT", "Ethernet0", {"mtu": "1500"})
        assert agent.apply_configuration() is True
    assert [record.getMessage() for record in caplog.records] == [
        f"{NAME}: PFC_WD|Ethernet0 ignored: detection_time must be 100..5000, found 1"]
    assert network.configs[-1].ports["Ethernet0"].mtu == 1500


def test_watchdog_stop_ignored_keeps_it_running_in_its_scope(redis, network, config_db):
    agent = SonicAgent(NAME, redis.socket, HWSKU, network, [parse_fault("watchdog-stop-ignored@Ethernet0")])
    for port in ("Ethernet0", "Ethernet4"):
        start_watchdog(config_db, port)
    agent.apply_configuration()
    for port in ("Ethernet0", "Ethernet4"):
        databases.change_row(config_db, "PFC_WD", port, None)
    agent.apply_configuration()
    agent.close()
    assert network.configs[-1].ports["Ethernet0"].watchdog is not None
    assert network.configs[-1].ports["Ethernet4"].watchdog is None


@pytest.fixture(name="watched")
def fixture_watched(agent, network, config_db):
    """An agent whose watchdog runs on Ethernet0 for priorities 3 and 4; gives what it makes of the last changes."""
    databases.change_row(config_db, "PORT_QOS_MAP", "Ethernet0", {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"})
    databases.change_row(config_db, "PFC_WD", "Ethernet0", WATCHDOG)
    agent.apply_configuration()
    before = len(network.configs)

    def port():
        agent.apply_configuration()
        found = network.configs[-1].ports["Ethernet0"]
        return len(network.configs) - before, sorted(found.watchdog_priorities), found.watchdog
    assert port() == (0, [3, 4], WatchdogConfig("drop", 200, 400))
    return port


def test_queues_are_watched_as_they_were_when_the_row_was_written(watched, config_db):
    """Other ones in `pfcwd_sw_enable` wait for it."""
    databases.change_row(config_db, "PORT_QOS_MAP", "Ethernet0", {"pfcwd_sw_enable": "4,5"})
    assert watched()[1] == [3, 4]
    databases.change_row(config_db, "PFC_WD", "Ethernet0", {"detection_time": "300"})
    assert watched()[1:] == ([3, 4, 5], WatchdogConfig("drop", 300, 400)), "it adds them"
    databases.change_row(config_db, "PFC_WD", "Ethernet0", None)
    databases.change_row(config_db, "PFC_WD", "Ethernet0", WATCHDOG)
    assert watched()[1] == [4, 5]


def test_a_watchdog_without_queues_waits_for_some(watched, config_db):
    databases.change_row(config_db, "PFC_WD", "Ethernet0", None)
    databases.change_row(config_db, "PORT_QOS_MAP", "Ethernet0", {"pfcwd_sw_enable": ""})
    assert watched()[2] is None
    databases.change_row(config_db, "PFC_WD", "Ethernet0", WATCHDOG)
    assert watched()[2] is None
    databases.change_row(config_db, "PORT_QOS_MAP", "Ethernet0", {"pfcwd_sw_enable": "3"})
    assert watched()[1:] == ([3], WatchdogConfig("drop", 200, 400))


def test_a_row_that_is_written_anew_stops_and_starts(watched, network, config_db):
    """`pfcwd start` removes it first: the hardware sees both, though the row is what it was."""
    databases.change_row(config_db, "PFC_WD", "Ethernet0", None)
    databases.change_row(config_db, "PFC_WD", "Ethernet0", WATCHDOG)
    assert watched() == (2, [3, 4], WatchdogConfig("drop", 200, 400))
    assert network.configs[-2].ports["Ethernet0"].watchdog is None


def test_a_row_that_is_changed_keeps_its_action(watched, config_db):
    """Its times are new; an invalid one changes nothing."""
    databases.change_row(config_db, "PFC_WD", "Ethernet0", {"action": "forward", "detection_time": "300"})
    assert watched() == (1, [3, 4], WatchdogConfig("drop", 300, 400))
    databases.change_row(config_db, "PFC_WD", "Ethernet0", {"detection_time": "50"})
    assert watched() == (1, [3, 4], WatchdogConfig("drop", 300, 400))
    databases.change_row(config_db, "PFC_WD", "Ethernet0", None)
    databases.change_row(config_db, "PFC_WD", "Ethernet0", {**WATCHDOG, "action": "forward"})
    assert watched()[1:] == ([3, 4], WatchdogConfig("forward", 200, 400))


def test_the_big_red_switch_is_on_until_it_is_switched_off(watched, network, config_db):
    """Neither the removal of its field nor that of the row does that."""
    for fields, is_on in (({"BIG_RED_SWITCH": "enable"}, True), (None, True), ({"POLL_INTERVAL": "200"}, True),
                          ({"BIG_RED_SWITCH": "disable"}, False), (None, False)):
        databases.change_row(config_db, "PFC_WD", "GLOBAL", fields)
        watched()
        assert network.configs[-1].big_red_switch is is_on, fields


def faulty(redis, network, *specs):
    return SonicAgent(NAME, redis.socket, HWSKU, network, [parse_fault(spec) for spec in specs])


def lossless(config_db, network, agent, port, priorities):
    """Priorities of a port in the data plane when these are configured."""
    databases.change_row(config_db, "PORT_QOS_MAP", port, {"pfc_enable": priorities})
    agent.apply_configuration()
    return network.configs[-1].ports[port].pfc_priorities


def test_pfc_removal_ignored_keeps_the_priority_in_its_scope(redis, network, config_db):
    agent = faulty(redis, network, "pfc-removal-ignored@Ethernet0,priority=3", "pfc-removal-ignored@*,speed=40G")
    config = databases.read_config(config_db)
    databases.write_config(config_db, {**config, **qos_tables(config, load_profile(HWSKU))})
    agent.apply_configuration()
    headroom = network.configs[-1].ports["Ethernet0"].priority_groups[3]
    assert headroom.xoff > 0
    assert lossless(config_db, network, agent, "Ethernet0", "") == {3}
    assert network.configs[-1].ports["Ethernet0"].priority_groups[3] == headroom
    assert lossless(config_db, network, agent, "Ethernet0", "5") == {3, 5}
    assert lossless(config_db, network, agent, "Ethernet4", "4") == {4}
    agent.close()


def test_what_takes_effect_is_asked_when_the_switch_starts_and_at_each_change(redis, network, config_db):
    agent = faulty(redis, network, "maps-unbound@Ethernet0", "maps-kept@Ethernet4", "egress-limited@Ethernet4,until=1s")
    assert not any(network.configs[-1].ports["Ethernet4"].dscp_to_tc.values()), "the factory's has no maps"
    config = databases.read_config(config_db)
    databases.write_config(config_db, {**config, **qos_tables(config, load_profile(HWSKU))})
    agent.apply_configuration()
    assert set(network.configs[-1].ports["Ethernet0"].dscp_to_tc.values()) == {0}
    assert network.configs[-1].ports["Ethernet4"].dscp_to_tc[3] == 3
    assert network.configs[-1].ports["Ethernet4"].queues[3].static_th == 20_800
    network.now_ps = 10**12
    config_db.call("HSET", "DSCP_TO_TC_MAP|AZURE", "3", "0")
    assert agent.apply_configuration()
    assert network.configs[-1].ports["Ethernet4"].dscp_to_tc[3] == 3, "kept"
    assert network.configs[-1].ports["Ethernet8"].dscp_to_tc[3] == 0, "another port"
    assert network.configs[-1].ports["Ethernet4"].queues[3].static_th != 20_800, "that is over"
    agent.close()


def test_a_removal_is_swallowed_only_while_the_fault_lasts(redis, network, config_db):
    agent = faulty(redis, network, "pfc-removal-ignored@Ethernet0,from=1s,until=2s")
    assert lossless(config_db, network, agent, "Ethernet0", "3,4") == {3, 4}
    assert lossless(config_db, network, agent, "Ethernet0", "3") == {3}
    network.now_ps = 10**12
    assert lossless(config_db, network, agent, "Ethernet0", "4") == {3, 4}
    network.now_ps = 2 * 10**12
    assert lossless(config_db, network, agent, "Ethernet0", "4,5") == {4, 5}
    agent.close()


def seen(redis, agent, network, count, kind="PORT", name="Ethernet0", field="SAI_PORT_STAT_PFC_3_RX_PKTS"):
    """What COUNTERS_DB says when the hardware counted so much."""
    network.set_port("Ethernet0", pfc_rx=(0, 0, 0, count, 0, 0, 0, 0))
    network.set_queue("Ethernet0", 3, packets=count)
    agent.publish_counters()
    return counters(redis, kind, name)[field]


def test_counters_frozen(redis, network):
    agent = faulty(redis, network, "counters-frozen@Ethernet0,from=2s,until=4s")
    for now, count, expected in ((1, 10, "10"), (2, 20, "10"), (3, 30, "10"), (4, 40, "40")):
        network.now_ps = now * 10**12
        assert seen(redis, agent, network, count) == expected
        assert seen(redis, agent, network, count, "QUEUE", "Ethernet0:3", "SAI_QUEUE_STAT_PACKETS") == expected
    agent.close()


def test_counters_frozen_from_the_start_keeps_the_first_values_of_each_switch(redis, network):
    faults = [parse_fault("counters-frozen@*,speed=100G")]
    for _ in range(2):  # a fault is shared by all switches, what it remembers is not
        network.set_port("Ethernet0", pfc_rx=(0,) * 8)
        agent = SonicAgent(NAME, redis.socket, HWSKU, network, faults)
        assert seen(redis, agent, network, 10) == "0"
        assert counters(redis, "QUEUE", "Ethernet0:3")["SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"] == "0"
        oid = row(redis, "COUNTERS_DB", "COUNTERS_PG_NAME_MAP")["Ethernet0:3"]
        assert "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES" in row(
            redis, "COUNTERS_DB", f"USER_WATERMARKS:{oid}")
        agent.close()


def test_counters_negative(redis, network):
    agent = faulty(redis, network, "counters-negative@Ethernet0,priority=3")
    assert seen(redis, agent, network, 10) == "-990"
    assert counters(redis, "PORT", "Ethernet0")["SAI_PORT_STAT_PFC_4_RX_PKTS"] == "0"
    assert counters(redis, "PORT", "Ethernet4")["SAI_PORT_STAT_PFC_3_RX_PKTS"] == "0"
    agent.close()


PORT_OUT, PORT_IN = "SAI_PORT_STAT_IF_OUT_UCAST_PKTS", "SAI_PORT_STAT_IF_IN_UCAST_PKTS"


def test_drops_counted_as_sent(redis, network):
    agent = faulty(redis, network, "drops-counted-as-sent@Ethernet0", "drops-counted-as-sent@Ethernet4,from=2s")
    for now, drops, sent in ((1, 5, (105, 100)), (2, 7, (107, 100)), (3, 10, (110, 103))):
        network.now_ps = now * 10**12
        for port in ("Ethernet0", "Ethernet4"):
            network.set_port(port, tx_packets=100, tx_drops=drops)
            network.set_queue(port, 3, packets=100, dropped_packets=drops, bytes=6400, dropped_bytes=64 * drops)
        agent.publish_counters()
        for port, frames in zip(("Ethernet0", "Ethernet4"), sent):
            shown, queue = counters(redis, "PORT", port), counters(redis, "QUEUE", f"{port}:3")
            assert (shown[PORT_OUT], queue["SAI_QUEUE_STAT_PACKETS"]) == (str(frames), str(frames))
            assert int(shown["SAI_PORT_STAT_IF_OUT_DISCARDS"]) == 100 + drops - frames
            assert queue["SAI_QUEUE_STAT_BYTES"] == str(64 * frames)
    agent.close()


def test_sent_counted_as_received(redis, network):
    agent = faulty(redis, network, "sent-counted-as-received@Ethernet0")
    network.set_port("Ethernet0", tx_packets=100, rx_packets=7, tx_bytes=6400, rx_bytes=448)
    agent.publish_counters()
    shown = counters(redis, "PORT", "Ethernet0")
    assert (shown[PORT_IN], shown[PORT_OUT]) == ("107", "100") and shown["SAI_PORT_STAT_IF_IN_OCTETS"] == "6848"
    agent.close()


def test_counters_of_another_port(redis, network):
    agent = faulty(redis, network, "counters-of-another@Ethernet0,of=Ethernet4")
    network.set_port("Ethernet0", tx_packets=1)
    network.set_port("Ethernet4", tx_packets=2)
    network.set_queue("Ethernet0", 3, packets=3)
    network.set_queue("Ethernet4", 3, packets=4)
    agent.publish_counters()
    for port in ("Ethernet0", "Ethernet4"):
        assert counters(redis, "PORT", port)[PORT_OUT] == "2"
        assert counters(redis, "QUEUE", f"{port}:3")["SAI_QUEUE_STAT_PACKETS"] == "4"
    agent.close()


def test_queue_miscounted(redis, network):
    agent = faulty(redis, network, "queue-miscounted@Ethernet0", "queue-miscounted@Ethernet4,priority=4")
    for port in ("Ethernet0", "Ethernet4"):
        for queue in range(8):
            network.set_queue(port, queue, packets=10 + queue)
    agent.publish_counters()
    for port, expected in (("Ethernet0", [17, 10, 11, 12, 13, 14, 15, 16]),
                           ("Ethernet4", [10, 11, 12, 13, 13, 15, 16, 17])):
        assert [counters(redis, "QUEUE", f"{port}:{queue}")["SAI_QUEUE_STAT_PACKETS"] for queue in range(8)] == [
            *map(str, expected)]
    agent.close()


@pytest.mark.parametrize(("options", "size", "before"), [("", 1 << 32, 1000), (",bits=8,before=3", 256, 3)])
def test_counters_wrap(redis, network, options, size, before):
    agent = faulty(redis, network, f"counters-wrap@Ethernet0{options}")
    for count in (0, before - 1, before, before + 5):
        assert seen(redis, agent, network, count) == str((count - before) % size)
        assert seen(redis, agent, network, count, "QUEUE", "Ethernet0:3", "SAI_QUEUE_STAT_PACKETS") == str(
            (count - before) % size)
        shown = counters(redis, "QUEUE", "Ethernet0:3")
        assert shown["SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES"] == shown["SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"] == "0"
    agent.close()


def test_counters_under_sonics_names(agent, network, redis):
    network.set_port("Ethernet4", rx_packets=7, tx_bytes=1024, rx_drops=2, pfc_rx=(0, 0, 0, 5, 0, 0, 0, 0),
                     pfc_tx=(0, 0, 0, 0, 9, 0, 0, 0))
    network.set_queue("Ethernet4", 3, packets=11, bytes=1100, dropped_packets=1, dropped_bytes=100, occupancy_bytes=208,
                      watermark_bytes=416)
    agent.publish_counters()
    port = counters(redis, "PORT", "Ethernet4")
    assert port["SAI_PORT_STAT_IF_IN_UCAST_PKTS"] == "7" and port["SAI_PORT_STAT_IF_OUT_OCTETS"] == "1024"
    assert port["SAI_PORT_STAT_PFC_3_RX_PKTS"] == "5" and port["SAI_PORT_STAT_PFC_4_TX_PKTS"] == "9"
    assert port["SAI_PORT_STAT_IF_IN_DISCARDS"] == "2"
    queue = counters(redis, "QUEUE", "Ethernet4:3")
    assert queue["SAI_QUEUE_STAT_PACKETS"] == "11" and queue["SAI_QUEUE_STAT_DROPPED_PACKETS"] == "1"
    assert queue["SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"] == "416"
    assert counters(redis, "QUEUE", "Ethernet4:19")["SAI_QUEUE_STAT_PACKETS"] == "0"
    oid = row(redis, "COUNTERS_DB", "COUNTERS_QUEUE_NAME_MAP")["Ethernet4:3"]
    assert row(redis, "COUNTERS_DB", "COUNTERS_QUEUE_TYPE_MAP")[oid] == "SAI_QUEUE_TYPE_UNICAST"
    assert row(redis, "COUNTERS_DB", "COUNTERS_QUEUE_PORT_MAP")[oid] == row(
        redis, "COUNTERS_DB", "COUNTERS_PORT_NAME_MAP")["Ethernet4"]


def test_port_states(agent, network, redis):
    network.set_link("Ethernet8", False)
    agent.publish_counters()
    assert row(redis, "APPL_DB", "PORT_TABLE:Ethernet8")["oper_status"] == "down"
    assert row(redis, "STATE_DB", "PORT_TABLE|Ethernet4")["netdev_oper_status"] == "up"
    network.set_link("Ethernet8", True)
    agent.publish_counters()
    assert row(redis, "APPL_DB", "PORT_TABLE:Ethernet8")["oper_status"] == "up"


def test_watchdog_states_come_and_go(agent, network, redis, config_db):
    start_watchdog(config_db, "Ethernet0")
    agent.apply_configuration()
    network.set_watchdog({("Ethernet0", 3): WatchdogState("stormed", detected=1, tx_dropped=300)})
    agent.publish_counters()
    queue = counters(redis, "QUEUE", "Ethernet0:3")
    assert queue["PFC_WD_STATUS"] == "stormed" and queue["PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS"] == "300"
    assert queue["PFC_WD_RESTORATION_TIME"] == "400000" and queue["PFC_WD_ACTION"] == "drop"
    assert row(redis, "APPL_DB", "PFC_WD_TABLE_INSTORM:Ethernet0") == {"3": "storm"}
    databases.change_row(config_db, "PFC_WD", "Ethernet0", None)
    agent.apply_configuration()
    network.set_watchdog({("Ethernet0", 3): WatchdogState("operational", detected=1, restored=1, tx_dropped=300)})
    agent.publish_counters()
    queue = counters(redis, "QUEUE", "Ethernet0:3")
    assert "PFC_WD_STATUS" not in queue and queue["PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED"] == "1", "stopped: N/A"
    network.set_watchdog({})
    agent.publish_counters()
    queue = counters(redis, "QUEUE", "Ethernet0:3")
    assert "PFC_WD_STATUS" not in queue and queue["PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED"] == "1"
    assert row(redis, "APPL_DB", "PFC_WD_TABLE_INSTORM:Ethernet0") == {}


def test_rates_over_simulated_time(agent, network, redis):
    oids = row(redis, "COUNTERS_DB", "COUNTERS_PORT_NAME_MAP")

    def rates(port):
        return {name: float(rate) for name, rate in row(redis, "COUNTERS_DB", f"RATES:{oids[port]}").items()}

    network.set_port("Ethernet0", tx_bytes=5_000_000, tx_packets=5000)
    network.now_ps = 2 * 10 ** 12
    agent.publish_counters()
    still = dict.fromkeys(("TX_BPS", "TX_PPS", "RX_BPS", "RX_PPS"), 0)
    assert rates("Ethernet0") == {**still, "TX_BPS": 2_500_000, "TX_PPS": 2500} and rates("Ethernet4") == still
    for seconds in (3, 4):
        network.now_ps = seconds * 10 ** 12
        agent.publish_counters()
        assert rates("Ethernet0") == still, "nothing was sent since"
    network.set_port("Ethernet4", rx_bytes=100, rx_packets=1)
    network.now_ps = 5 * 10 ** 12
    agent.publish_counters()
    assert rates("Ethernet4") == {**still, "RX_BPS": 100, "RX_PPS": 1} and rates("Ethernet0") == still


DERIVED = {"profile": "pg_lossless_100000_40m_profile"}


def groups_of(config_db, port):
    rows = databases.read_config(config_db, "BUFFER_PG")["BUFFER_PG"]
    return {key.split("|")[1]: found for key, found in rows.items() if key.split("|")[0] == port}


def test_derived_buffers_are_in_config_db_and_stay_there(agent, network, config_db):
    """As with buffermgrd: a row for each run of neighbours, made when what it goes by changes, and never removed."""
    config = databases.read_config(config_db)
    databases.write_config(config_db, {**config, **qos_tables(config, load_profile(HWSKU))})
    agent.apply_configuration()
    lossy = {"profile": "ingress_lossy_profile"}
    assert groups_of(config_db, "Ethernet0") == {"0": lossy, "3-4": DERIVED}
    assert databases.read_row(config_db, "BUFFER_PROFILE", DERIVED["profile"])["xoff"] == "177632"
    assert lossless(config_db, network, agent, "Ethernet0", "2,3,4,6") == {2, 3, 4, 6}
    assert lossless(config_db, network, agent, "Ethernet0", "3,4") == {3, 4}
    assert groups_of(config_db, "Ethernet0") == {"0": lossy, "2-4": DERIVED, "3-4": DERIVED, "6": DERIVED}
    assert network.configs[-1].ports["Ethernet0"].priority_groups[6].xoff == 177632
    databases.change_row(config_db, "BUFFER_PG", "Ethernet0|3-4", None)
    databases.change_row(config_db, "BUFFER_PG", "Ethernet4|3-4", {"profile": "ingress_lossy_profile"})
    agent.apply_configuration()
    assert "3-4" not in groups_of(config_db, "Ethernet0") and groups_of(config_db, "Ethernet4")["3-4"] == lossy
    databases.change_row(config_db, "PORT", "Ethernet4", {"speed": "50000"})
    agent.apply_configuration()
    assert groups_of(config_db, "Ethernet4")["3-4"] == {"profile": "pg_lossless_50000_40m_profile"}
    qos_map = databases.read_row(config_db, "PORT_QOS_MAP", "Ethernet0")
    databases.replace_row(config_db, "PORT_QOS_MAP", "Ethernet0", qos_map)
    agent.apply_configuration()
    assert groups_of(config_db, "Ethernet0")["3-4"] == DERIVED, "the row was removed in between"


def test_derived_buffers_are_in_appl_db(agent, redis, config_db):
    config = databases.read_config(config_db)
    databases.write_config(config_db, {**config, **qos_tables(config, load_profile(HWSKU))})
    agent.apply_configuration()
    assert row(redis, "APPL_DB", "BUFFER_PG_TABLE:Ethernet0:3-4") == DERIVED
    databases.write_config(config_db, config)
    agent.apply_configuration()
    assert row(redis, "APPL_DB", "BUFFER_PG_TABLE:Ethernet0:3-4") == {}


def objects(redis, kind):
    """ASIC_DB's hashes of objects of a kind, by key."""
    with databases.connect(redis.socket, "ASIC_DB") as connection:
        keys = sorted(connection.call("KEYS", f"ASIC_STATE:SAI_OBJECT_TYPE_{kind}:*"))
        return {key: databases.read_hash(connection, key) for key in keys}


def of_queues(redis):
    """The buffer profile of each queue that has one, by their object ids."""
    return {key.rpartition("QUEUE:")[2]: fields["SAI_QUEUE_ATTR_BUFFER_PROFILE_ID"]
            for key, fields in objects(redis, "QUEUE").items()}


def test_profiles_are_in_asic_db(agent, redis, config_db):
    config = databases.read_config(config_db)
    databases.write_config(config_db, {**config, **qos_tables(config, load_profile(HWSKU))})
    agent.apply_configuration()
    [(wred, fields)] = objects(redis, "WRED").items()
    configured = databases.read_row(config_db, "WRED_PROFILE", "AZURE_LOSSLESS")
    assert fields["SAI_WRED_ATTR_ECN_MARK_MODE"] == "SAI_ECN_MARK_MODE_ALL"
    assert fields["SAI_WRED_ATTR_GREEN_MIN_THRESHOLD"] == configured["green_min_threshold"]
    databases.change_row(config_db, "WRED_PROFILE", "AZURE_LOSSLESS", {"green_drop_probability": "7"})
    agent.apply_configuration()
    assert objects(redis, "WRED")[wred]["SAI_WRED_ATTR_GREEN_DROP_PROBABILITY"] == "7", "the same object"

    profiles = objects(redis, "BUFFER_PROFILE")
    assert len(profiles) == len(databases.read_config(config_db, "BUFFER_PROFILE")["BUFFER_PROFILE"])
    [oid] = [key.rpartition("PROFILE:")[2] for key, fields in profiles.items()
             if "SAI_BUFFER_PROFILE_ATTR_XOFF_TH" in fields]
    lossless = profiles[f"ASIC_STATE:SAI_OBJECT_TYPE_BUFFER_PROFILE:{oid}"]
    assert lossless["SAI_BUFFER_PROFILE_ATTR_XOFF_TH"] == "177632"
    assert lossless["SAI_BUFFER_PROFILE_ATTR_THRESHOLD_MODE"] == "SAI_BUFFER_PROFILE_THRESHOLD_MODE_DYNAMIC"
    with databases.connect(redis.socket, "COUNTERS_DB") as connection:
        pools = databases.read_hash(connection, "COUNTERS_BUFFER_POOL_NAME_MAP")
        groups = databases.read_hash(connection, "COUNTERS_PG_NAME_MAP")
        queues = databases.read_hash(connection, "COUNTERS_QUEUE_NAME_MAP")
    assert lossless["SAI_BUFFER_PROFILE_ATTR_POOL_ID"] == pools["ingress_lossless_pool"]
    of_groups = {key.rpartition("GROUP:")[2]: fields["SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE"]
                 for key, fields in objects(redis, "INGRESS_PRIORITY_GROUP").items()}
    assert {of_groups[groups[f"Ethernet0:{group}"]] for group in (3, 4)} == {oid}
    assert of_groups[groups["Ethernet0:0"]] != oid and groups["Ethernet0:5"] not in of_groups
    lossy = of_queues(redis)[queues["Ethernet0:5"]]
    for key in ("Ethernet0|three", "Ethernet0|4-999999999", "Ethernet5|3", "Ethernet0", "Ethernet0|3-7"):
        databases.change_row(config_db, "BUFFER_QUEUE", key, {"profile": "egress_lossy_profile"})
    databases.change_row(config_db, "BUFFER_QUEUE", "Ethernet0|4", {"profile": "nothing"})
    for name, pool in (("\udcff", "egress_lossy_pool"), ("lost", "nowhere")):
        databases.change_row(config_db, "BUFFER_PROFILE", name, {"pool": pool, "size": "0", "dynamic_th": "1"})
    databases.change_row(config_db, "WRED_PROFILE", "odd", {"ecn": "ecn_nothing"})
    agent.apply_configuration()
    assert len(objects(redis, "BUFFER_PROFILE")) == len(profiles) + 1, "not of one whose pool does not exist"
    assert len(objects(redis, "WRED")) == 1
    assert row(redis, "APPL_DB", "BUFFER_QUEUE_TABLE:Ethernet0:3-4") == {"profile": "egress_lossless_profile"}
    found = of_queues(redis)
    assert found[queues["Ethernet0:3"]] == found[queues["Ethernet0:4"]] == found[queues["Ethernet4:4"]], "the narrowest"
    assert found[queues["Ethernet0:5"]] == found[queues["Ethernet0:7"]] == lossy != found[queues["Ethernet0:3"]]
    databases.change_row(config_db, "WRED_PROFILE", "AZURE_LOSSLESS", None)
    databases.change_row(config_db, "BUFFER_PG", "Ethernet0|0", None)
    agent.apply_configuration()
    assert objects(redis, "WRED") == {}
    assert not any(groups["Ethernet0:0"] in key for key in objects(redis, "INGRESS_PRIORITY_GROUP"))


def test_pools_that_the_switch_sizes_are_in_its_databases(agent, redis, config_db):
    """With dynamic buffers in STATE_DB too; not a word of it in CONFIG_DB."""
    databases.change_row(config_db, "DEVICE_METADATA", "localhost", {"buffer_model": "dynamic"})
    config = databases.read_config(config_db)
    databases.write_config(config_db, {**config, **qos_tables(config, load_profile(HWSKU))})
    agent.apply_configuration()
    assert row(redis, "APPL_DB", "BUFFER_PG_TABLE:Ethernet0:3-4") == {"profile": "pg_lossless_100000_40m_profile"}
    pool = row(redis, "APPL_DB", "BUFFER_POOL_TABLE:ingress_lossless_pool")
    assert pool == row(redis, "STATE_DB", "BUFFER_POOL_TABLE|ingress_lossless_pool") and int(pool["size"]) > 0
    assert row(redis, "STATE_DB", "BUFFER_PROFILE_TABLE|pg_lossless_100000_40m_profile")["xoff"] == "177632"
    assert row(redis, "STATE_DB", "BUFFER_MAX_PARAM_TABLE|global") == {"mmu_size": "15982720"}
    assert "size" not in databases.read_row(config_db, "BUFFER_POOL", "ingress_lossless_pool")
    databases.change_row(config_db, "DEVICE_METADATA", "localhost", {"buffer_model": "traditional"})
    agent.apply_configuration()
    assert row(redis, "STATE_DB", "BUFFER_POOL_TABLE|ingress_lossless_pool") == {}


def test_polls_that_were_due_since_an_earlier_instant_can_be_asked_for(agent, network):
    network.now_ps = 3 * 10**12
    assert agent.due_polls(3 * 10**12) == {}
    assert "PORT" in agent.missed_polls(2 * 10**12, {})
    assert "PORT" not in agent.missed_polls(2 * 10**12, {"PORT": 3 * 10**12})


def test_a_redis_that_was_away_is_taken_up_again(redis_server, network, caplog):
    redis_server.flush()
    agent = SonicAgent(NAME, redis_server.socket, HWSKU, network, [])
    with databases.connect(redis_server.socket, "CONFIG_DB") as connection:
        databases.change_row(connection, "PORT", "Ethernet0", {"mtu": "1500"})
    redis_server.restart()
    with caplog.at_level(logging.WARNING):
        assert agent.apply_configuration() is False
        agent.publish_counters()
        assert agent.due_polls(10**15) == {}
        assert list(agent.missed_polls(-1, {})) == []
        assert agent.apply_configuration() is True
    assert network.configs[-1].ports["Ethernet0"].mtu == 1500
    assert "is lost" in caplog.text
    assert counters(redis_server, "PORT", "Ethernet0")["SAI_PORT_STAT_PFC_3_RX_PKTS"] == "0"
    agent.close()


def test_what_the_watchdogs_scripts_read(redis, network, config_db, agent):
    """All of it is there without a checkout too."""
    databases.change_row(config_db, "PORT_QOS_MAP", "Ethernet0", {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"})
    databases.change_row(config_db, "PFC_WD", "Ethernet0", {
        "action": "drop", "detection_time": "400", "pfc_stat_history": "enable"})
    databases.change_row(config_db, "PFC_WD", "GLOBAL", {"BIG_RED_SWITCH": "enable"})
    agent.apply_configuration()
    network.now_ps = 3 * 10**12
    network.set_watchdog({("Ethernet0", 3): WatchdogState()})
    network.set_queue("Ethernet0", 3, is_paused=True)
    network.set_port("Ethernet0", pause_duration_us=(0, 0, 0, 7, 0, 0, 0, 0))
    agent.publish_counters()
    queue, port = counters(redis, "QUEUE", "Ethernet0:3"), counters(redis, "PORT", "Ethernet0")
    assert (queue["SAI_QUEUE_ATTR_PAUSE_STATUS"], queue["BIG_RED_SWITCH_MODE"]) == ("true", "enable")
    assert queue["PFC_STAT_HISTORY"] == "enable", queue
    assert {port[f"SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION{unit}"] for unit in ("", "_US")} == {"7"}, port
    with databases.connect(redis.socket, "COUNTERS_DB") as connection:
        stamps = databases.read_hash(connection, "COUNTERS:TIME_STAMP")
    assert stamps["PFC_WD_Port_Counter_time_stamp"] == str(3 * 10**9), stamps
    databases.change_row(config_db, "PFC_WD", "GLOBAL", {"BIG_RED_SWITCH": "disable"})
    agent.apply_configuration()
    agent.publish_states()
    assert "BIG_RED_SWITCH_MODE" not in counters(redis, "QUEUE", "Ethernet0:3")


def test_the_watchdog_s_interval_outlives_its_field(redis, config_db, agent):
    """orchagent acts on a field that is there, and not on its removal (sonic-swss pfcwdsworch.cpp)."""
    databases.write_config(config_db, {"PFC_WD": {"Ethernet0": WATCHDOG, "GLOBAL": {"POLL_INTERVAL": "200"}}})
    agent.apply_configuration()
    databases.write_config(config_db, {"PFC_WD": {"Ethernet0": WATCHDOG}})
    agent.apply_configuration()
    found = row(redis, "FLEX_COUNTER_DB", "FLEX_COUNTER_GROUP_TABLE:PFC_WD")
    assert found["POLL_INTERVAL"] == "200", found


def test_what_is_polled_is_in_flex_counter_db(redis, config_db, agent):
    databases.write_config(config_db, {
        "FLEX_COUNTER_TABLE": {"PORT": {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "500"}},
        "PFC_WD": {"Ethernet0": WATCHDOG, "GLOBAL": {"POLL_INTERVAL": "200"}}})
    agent.apply_configuration()
    groups = {name: row(redis, "FLEX_COUNTER_DB", f"FLEX_COUNTER_GROUP_TABLE:{name}")
              for name in ("PORT_STAT_COUNTER", "QUEUE_STAT_COUNTER", "PG_WATERMARK_STAT_COUNTER")}
    assert groups == {
        "PORT_STAT_COUNTER": {
            "POLL_INTERVAL": "500", "STATS_MODE": "STATS_MODE_READ", "FLEX_COUNTER_STATUS": "enable"},
        "QUEUE_STAT_COUNTER": {
            "POLL_INTERVAL": "10000", "STATS_MODE": "STATS_MODE_READ", "FLEX_COUNTER_STATUS": "disable"},
        "PG_WATERMARK_STAT_COUNTER": {"POLL_INTERVAL": "60000", "STATS_MODE": "STATS_MODE_READ_AND_CLEAR",
                                      "FLEX_COUNTER_STATUS": "disable"}}
    oid = row(redis, "COUNTERS_DB", "COUNTERS_PORT_NAME_MAP")["Ethernet4"]
    listed = row(redis, "FLEX_COUNTER_DB", f"FLEX_COUNTER_TABLE:PORT_STAT_COUNTER:{oid}")["PORT_COUNTER_ID_LIST"]
    agent.publish_counters()
    polled = {name for name in counters(redis, "PORT", "Ethernet4") if name.startswith("SAI_")}
    assert set(listed.split(",")) == polled and "SAI_PORT_STAT_PFC_3_RX_PKTS" in polled
    queue = row(redis, "COUNTERS_DB", "COUNTERS_QUEUE_NAME_MAP")["Ethernet4:3"]
    assert not row(redis, "FLEX_COUNTER_DB", f"FLEX_COUNTER_TABLE:QUEUE_STAT_COUNTER:{queue}"), "it is disabled"


def test_what_the_watchdog_polls_is_in_flex_counter_db(redis, config_db, agent):
    def of(kind, name):
        oid = row(redis, "COUNTERS_DB", f"COUNTERS_{kind}_NAME_MAP")[name]
        return row(redis, "FLEX_COUNTER_DB", f"FLEX_COUNTER_TABLE:PFC_WD:{oid}")

    databases.change_row(config_db, "PFC_WD", "Ethernet0", WATCHDOG)
    databases.change_row(config_db, "PORT_QOS_MAP", "Ethernet0", {"pfc_enable": "3", "pfcwd_sw_enable": "3"})
    agent.apply_configuration()
    assert of("PORT", "Ethernet0")["PORT_COUNTER_ID_LIST"].split(",") == [
        "SAI_PORT_STAT_PFC_3_RX_PKTS", "SAI_PORT_STAT_PFC_3_ON2OFF_RX_PKTS"]
    assert of("QUEUE", "Ethernet0:3")["QUEUE_ATTR_ID_LIST"] == "SAI_QUEUE_ATTR_PAUSE_STATUS"
    assert not of("QUEUE", "Ethernet0:4") and not of("PORT", "Ethernet4")
    config_db.call("DEL", "PFC_WD|Ethernet0")
    agent.apply_configuration()
    assert not of("PORT", "Ethernet0") and not of("QUEUE", "Ethernet0:3")


def test_objects_that_sonics_tools_look_for(redis, config_db, agent):
    databases.change_row(config_db, "BUFFER_POOL", "ingress_pool", {"type": "ingress", "mode": "dynamic", "size": "9"})
    agent.apply_configuration()
    assert "ingress_pool" in row(redis, "COUNTERS_DB", "COUNTERS_BUFFER_POOL_NAME_MAP")
    assert row(redis, "STATE_DB", "BUFFER_MAX_PARAM_TABLE|Ethernet0") == {
        "max_priority_groups": "8", "max_queues": "20"}


def test_asymmetric_pfc_is_in_appl_db_while_it_is_configured(redis, config_db, agent):
    for status in ("on", None):
        if status is None:
            config_db.call("HDEL", "PORT|Ethernet0", "pfc_asym")
        else:
            databases.change_row(config_db, "PORT", "Ethernet0", {"pfc_asym": status})
        agent.apply_configuration()
        with databases.connect(redis.socket, "APPL_DB") as connection:
            assert databases.read_hash(connection, "PORT_TABLE:Ethernet0").get("pfc_asym") == status, status
