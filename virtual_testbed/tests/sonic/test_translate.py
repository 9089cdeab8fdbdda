"""CONFIG_DB -> data plane, without Redis."""
from __future__ import annotations

import re
from dataclasses import replace

import pytest

from virtual_testbed.dataplane.model.configuration import BufferProfile, PoolConfig, SchedulerConfig, WatchdogConfig
from virtual_testbed.sonic.databases import merge
from virtual_testbed.sonic.factory import factory_config, qos_tables
from virtual_testbed.sonic.profile import ProfileError, load_profile
from virtual_testbed.sonic.translate import translate

PROFILE = load_profile("Arista-7060CX-32S-C32")


def deployed(**tables):
    """A T0 with SONiC's default QoS, all ports in one VLAN, and `tables` on top."""
    config = factory_config(PROFILE, "sw")
    config["DEVICE_METADATA"]["localhost"]["type"] = "ToRRouter"
    config["VLAN"] = {"Vlan1000": {"vlanid": "1000"}}
    config["VLAN_MEMBER"] = {f"Vlan1000|{port}": {"tagging_mode": "untagged"} for port in PROFILE.ports}
    config["VLAN_INTERFACE"] = {"Vlan1000": {}, "Vlan1000|192.168.0.1/21": {}, "Vlan1000|fc02:1000::1/64": {}}
    return merge(merge(config, qos_tables(config, PROFILE)), tables)


def result(config):
    return translate(config, PROFILE, "sw", "02:00:00:00:00:09")


def test_profile_of_the_hardware():
    assert len(PROFILE.ports) == 32 and PROFILE.ports["Ethernet124"].lanes == "29,30,31,32"
    assert {port.speed for port in PROFILE.ports.values()} == {100000}
    assert PROFILE.pg_profile_lookup["100000", "300m"]["xoff"] == "268736"
    with pytest.raises(ProfileError, match=r"HwSku Nothing is not one .* \(known: Arista-7060CX-32S-C32, Dell-"):
        load_profile("Nothing")


def test_a_factory_switch_has_ports_and_nothing_lossless():
    found = result(factory_config(PROFILE, "sw", "02:00:00:00:00:01"))
    port = found.config.ports["Ethernet0"]
    assert found.problems == () and len(found.config.ports) == 32 and found.config.mac == "02:00:00:00:00:01"
    assert port.admin_up and port.pfc_priorities == frozenset() and port.priority_groups == {} and port.watchdog is None
    assert set(port.dscp_to_tc.values()) == {0} and set(port.tc_to_queue.values()) == {0}
    assert found.config.asic_type == "broadcom" and found.config.cell_bytes == 208


def test_default_qos():
    found = result(deployed())
    port = found.config.ports["Ethernet8"]
    assert found.problems == ()
    assert port.pfc_priorities == port.watchdog_priorities == frozenset({3, 4})
    assert {dscp: tc for dscp, tc in port.dscp_to_tc.items() if tc != 1} == {3: 3, 4: 4, 5: 2, 8: 0, 46: 5, 48: 6}
    assert len(port.dscp_to_tc) == 64 and port.tc_to_pg[7] == 7 and port.tc_to_pg[6] == 0
    assert port.schedulers[3] == SchedulerConfig("DWRR", 15) and port.schedulers[0] == SchedulerConfig("DWRR", 14)
    assert 7 not in port.schedulers
    assert found.config.pools["ingress_lossless_pool"] == PoolConfig(10875072, 4194112)
    assert port.queues[3] == BufferProfile("egress_lossless_pool", 1518, static_th=15982720)
    assert port.queues[6] == BufferProfile("egress_lossy_pool", 1518, dynamic_th=3) and 7 not in port.queues


def test_headroom_by_speed_and_cable_as_buffermgrd_gives_it():
    found = result(deployed())
    lossless = BufferProfile("ingress_lossless_pool", 1248, dynamic_th=0, xoff=165568, xon=2288, xon_offset=2288)
    assert found.config.ports["Ethernet0"].priority_groups[3] == lossless
    assert found.config.ports["Ethernet0"].priority_groups[0].xoff == 0
    assert found.buffer_pg["Ethernet0:3-4"] == "pg_lossless_100000_5m_profile"
    assert found.buffer_pg["Ethernet0:0"] == "ingress_lossy_profile"
    assert found.derived["BUFFER_PROFILE"]["pg_lossless_100000_5m_profile"]["xoff"] == "165568"
    assert found.derived["BUFFER_PG"]["Ethernet0|3-4"] == {"profile": "pg_lossless_100000_5m_profile"}
    longer = result(deployed(CABLE_LENGTH={"AZURE": {"Ethernet0": "300m", "Ethernet4": "7m"}}))
    assert longer.config.ports["Ethernet0"].priority_groups[4].xoff == 268736
    assert 3 not in longer.config.ports["Ethernet4"].priority_groups
    assert longer.problems == ("Ethernet4: pg_profile_lookup.ini has no headroom for speed 100000 and cable 7m",)


def test_a_profile_of_a_derived_ones_name_is_taken_as_it_is():
    """As buffermgrd does ("Reusing existing profile"); one that is malformed is named, and its groups have none."""
    name = "pg_lossless_100000_5m_profile"
    own = {"pool": "ingress_lossless_pool", "xon": "2288", "xoff": "99840", "size": "1248", "dynamic_th": "-4"}
    found = result(deployed(BUFFER_PROFILE={name: own}))
    group = found.config.ports["Ethernet8"].priority_groups[3]
    assert (group.xoff, group.dynamic_th, found.problems) == (99840, -4, ()) and "BUFFER_PROFILE" not in found.derived
    wrong = result(deployed(BUFFER_PROFILE={name: {"dynamic_th": "-4"}}))
    assert wrong.problems == (f"BUFFER_PROFILE|{name} ignored: pool (none) does not exist",)
    assert 3 not in wrong.config.ports["Ethernet8"].priority_groups


def test_only_rows_of_the_ports_that_buffermgrd_looks_at_are_derived():
    """For the others those that are there count, be they gone or too many."""
    config = merge(deployed(), result(deployed()).derived)
    config["BUFFER_PG"].pop("Ethernet0|3-4")
    config["BUFFER_PG"] |= {"Ethernet4|3-4": {"profile": "NULL"}, "Ethernet8|5": config["BUFFER_PG"]["Ethernet8|3-4"]}
    found = translate(config, PROFILE, "sw", "02:00:00:00:00:09", ("Ethernet4",))
    assert found.derived == {"BUFFER_PG": {"Ethernet4|3-4": {"profile": "pg_lossless_100000_5m_profile"}}}
    assert 3 not in found.config.ports["Ethernet0"].priority_groups and "Ethernet0:3-4" not in found.buffer_pg
    assert [found.config.ports[port].priority_groups[3].xoff for port in ("Ethernet4", "Ethernet8")] == [165568] * 2
    assert found.config.ports["Ethernet8"].priority_groups[5].xoff == 165568, "no row is removed"


def test_of_rows_for_one_group_that_for_the_fewest_holds():
    found = result(deployed(
        BUFFER_PROFILE={"mine": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "-2", "xoff": "1000"}},
        BUFFER_PG={"Ethernet0|3": {"profile": "mine"}, "Ethernet0|4": {"profile": "NULL"}}))
    assert found.config.ports["Ethernet0"].priority_groups[3].xoff == 1000
    assert found.config.ports["Ethernet0"].priority_groups[4].xoff == 165568


def test_vlan_and_addresses():
    found = result(deployed(INTERFACE={"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}, "Ethernet0|fc00::1/126": {}}))
    (vlan,) = found.config.vlans
    assert vlan.vlan_id == 1000 and len(vlan.members) == 32
    assert vlan.addresses == ("192.168.0.1/21", "fc02:1000::1/64")
    assert found.config.port_addresses == {"Ethernet0": ("10.0.0.0/31", "fc00::1/126")}


def test_addresses_of_a_port_that_is_not_there():
    found = result(deployed(INTERFACE={"Ethernet1": {}, "Ethernet1|10.0.0.0/31": {}}))
    assert found.config.port_addresses == {}
    assert found.problems == ("INTERFACE|Ethernet1 ignored: this switch has no port Ethernet1",)


def test_tagged_members_are_members():
    found = result(deployed(VLAN={"Vlan20": {"vlanid": "20"}}, VLAN_MEMBER={
        "Vlan1000|Ethernet0": {"tagging_mode": "tagged"}, "Vlan20|Ethernet0": {"tagging_mode": "tagged"}}))
    twenty, thousand = found.config.vlans
    assert found.problems == () and twenty.members == {"Ethernet0"} and len(thousand.members) == 32


STORAGE = {"0": "1", "1": "0", "2": "2", "3": "3", "4": "4", "5": "5", "6": "6"}


def test_a_port_with_a_dot1p_map_trusts_the_tag():
    config = deployed(DOT1P_TO_TC_MAP={"AZURE": STORAGE})
    config["PORT_QOS_MAP"]["Ethernet0"]["dot1p_to_tc_map"] = "AZURE"
    del config["PORT_QOS_MAP"]["Ethernet0"]["dscp_to_tc_map"]
    found = result(config)
    assert found.problems == () and "dscp_to_tc_map" in config["PORT_QOS_MAP"]["global"]
    assert found.config.ports["Ethernet0"].dot1p_to_tc == {0: 1, 1: 0, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 0}
    assert found.config.ports["Ethernet4"].dot1p_to_tc == {}


def test_with_both_maps_the_dscp_counts():
    config = deployed(DOT1P_TO_TC_MAP={"AZURE": STORAGE}, PORT_QOS_MAP={"Ethernet0": {"dot1p_to_tc_map": "AZURE"}})
    port = result(config).config.ports["Ethernet0"]
    assert port.dot1p_to_tc == {} and port.dscp_to_tc[3] == 3


def test_response_time_by_the_speed_of_the_port():
    found = result(deployed(PORT={"Ethernet4": {"speed": "40000"}}))
    assert found.config.ports["Ethernet0"].response_ps == 2_017_280
    assert found.config.ports["Ethernet4"].response_ps == 118 * 64 * 200
    half = translate(deployed(), replace(PROFILE, pause_response_percent=50), "sw", "02:00:00:00:00:09")
    assert half.config.ports["Ethernet0"].response_ps == 1_008_640


@pytest.mark.parametrize("hwsku, size, headroom, egress", [
    ("DellEMC-Z9664f-O64", 113620296 - 50653696, 50653696, 113620296),
    ("Dell-Z9864f-O64", 162539680 - 33374584, 33374584, 162539680)])
def test_a_pool_that_has_all_memory_has_its_shared_headroom_in_it(hwsku, size, headroom, egress):
    """Ingress and egress account for the same memory, and the egress pool says how much that is."""
    profile = load_profile(hwsku)
    config = factory_config(profile, "sw")
    config["DEVICE_METADATA"]["localhost"]["type"] = "ToRRouter"
    found = translate(merge(config, qos_tables(config, profile)), profile, "sw", "02:00:00:00:00:09")
    assert found.problems == ()
    assert found.config.pools == {"ingress_lossless_pool": PoolConfig(size, headroom),
                                  "egress_lossless_pool": PoolConfig(egress)}


@pytest.mark.parametrize("egress, size", [("500", 800), ("1199", 800), ("1200", 1000), (None, 1000)])
def test_only_headroom_that_the_memory_has_no_room_for_is_a_part_of_the_pool(egress, size):
    pools = {"in": {"type": "ingress", "size": "1000", "xoff": "200"}}
    pools |= {"out": {"type": "egress", "size": egress}} if egress else {}
    found = result({**deployed(), "BUFFER_POOL": pools}).config.pools
    assert found["in"] == PoolConfig(size, 200)


def test_watchdog():
    found = result(deployed(PFC_WD={
        "GLOBAL": {"POLL_INTERVAL": "200", "BIG_RED_SWITCH": "enable"},
        "Ethernet0": {"action": "forward", "detection_time": "400", "restoration_time": "600",
                      "pfc_stat_history": "disable"},
        "Ethernet4": {"detection_time": "200"}}))
    assert found.config.watchdog_poll_ms == 200 and found.config.big_red_switch is True
    assert found.config.ports["Ethernet0"].watchdog == WatchdogConfig("forward", 400, 600)
    assert found.config.ports["Ethernet4"].watchdog == WatchdogConfig("drop", 200, None)
    assert found.config.ports["Ethernet8"].watchdog is None
    assert result(deployed()).config.watchdog_poll_ms == 100


@pytest.mark.parametrize("table, key, row", [
    ("PORT", "Ethernet0", {"speed": "1", "admin_status": "up"}), ("DSCP_TO_TC_MAP", "AZURE", None),
    ("PORT_QOS_MAP", "Ethernet0", {"pfc_enable": "3,8"}), ("BUFFER_PG", "Ethernet0|3-4", {"profile": "none"}),
    ("SCHEDULER", "scheduler.1", {"type": "UNKNOWN"})])
def test_what_cannot_be_applied_leaves_what_was(table, key, row):
    """As in orchagent, which refuses it, or keeps a map that is referred to; a switch that starts has nothing."""
    before = result(deployed())
    config = merge(deployed(), before.derived)
    if row is None:
        del config[table][key]
    else:
        config[table][key] = row
    found = translate(config, PROFILE, "sw", "02:00:00:00:00:09", (), before.parsed)
    assert found.problems and found.config == before.config
    anew = translate(config, PROFILE, "sw", "02:00:00:00:00:09", ())
    assert set(found.problems) <= set(anew.problems) and anew.config != before.config


def test_without_its_own_field_the_watchdog_watches_nothing():
    """Whatever `pfc_enable` has (sonic-swss `qosorch.cpp`)."""
    config = deployed(PFC_WD={"Ethernet0": {"detection_time": "200"}})
    del config["PORT_QOS_MAP"]["Ethernet0"]["pfcwd_sw_enable"]
    port = result(config).config.ports["Ethernet0"]
    assert port.pfc_priorities == {3, 4} and port.watchdog_priorities == frozenset()


@pytest.mark.parametrize("table, key, row, problem", [
    ("PORT", "Ethernet5", {}, "this switch has no port Ethernet5"),
    ("PORT", "Ethernet0", {"speed": "fast"}, "speed must be a whole number, found 'fast'"),
    ("PFC_WD", "Ethernet0", {"detection_time": "50"}, "detection_time must be 100..5000, found 50"),
    ("PFC_WD", "Ethernet0", {"action": "explode", "detection_time": "200"}, "action must be drop, forward, alert"),
    ("PFC_WD", "Ethernet0", {"detection_time": "200", "colour": "red"}, "unknown field colour"),
    ("PFC_WD", "Ethernet0", {"action": "drop"}, "detection_time is missing"),
    ("BUFFER_POOL", "ingress_lossless_pool", {"size": "big"}, "size must be a whole number"),
    ("BUFFER_PROFILE", "bad", {"pool": "none", "size": "0"}, "pool none does not exist"),
    ("PORT", "Ethernet0", {"speed": "200000"}, "speed must be one of 100000, 50000, 40000, 25000, 10000, found 200000"),
    ("BUFFER_PG", "Ethernet0|5-3", {"profile": "ingress_lossy_profile"}, "expected numbers 0..7"),
    ("BUFFER_PG", "Ethernet0|8", {"profile": "ingress_lossy_profile"}, "expected numbers 0..7"),
    ("BUFFER_QUEUE", "Ethernet0|20", {"profile": "egress_lossy_profile"}, "expected numbers 0..19"),
    ("DOT1P_TO_TC_MAP", "AZURE", {"8": "0"}, "expected 0..7 -> 0..7, found '8' -> '0'"),
    ("PORT_QOS_MAP", "Ethernet0", {"dot1p_to_tc_map": "none"}, "DOT1P_TO_TC_MAP.none does not exist"),
    ("BUFFER_QUEUE", "Ethernet0|0", {"profile": "nobody"}, "profile nobody does not exist"),
    ("DSCP_TO_TC_MAP", "AZURE", {"64": "0"}, "expected 0..63 -> 0..7, found '64' -> '0'"),
    ("PORT_QOS_MAP", "Ethernet0", {"pfc_enable": "3,8"}, "priorities must be numbers 0..7"),
    ("PORT_QOS_MAP", "global", {"dscp_to_tc_map": "none"}, "DSCP_TO_TC_MAP.none does not exist"),
    ("PORT_QOS_MAP", "Ethernet0", {"tc_to_pg_map": ["AZURE"]}, "a field has the wrong form"),
    ("QUEUE", "Ethernet0|3", {"scheduler": "none"}, "SCHEDULER.none does not exist"),
    ("VLAN", "Vlan9999", {}, "the name must be Vlan1 to Vlan4094"),
    ("VLAN_MEMBER", "Vlan1000|Ethernet0", {"tagging_mode": "both"}, "tagging_mode must be untagged or tagged, found"),
    ("VLAN_MEMBER", "Vlan1000|Ethernet0", {"tagging_mode": "priority_tagged"}, "must be untagged or tagged"),
    ("INTERFACE", "Ethernet0|10.0.0.300/31", {}, "does not appear to be an IPv4 or IPv6"),
])
def test_a_malformed_row_is_left_out_by_name_and_the_rest_applies(table, key, row, problem):
    found = result(deployed(**{table: {key: row}}))
    pattern = f"{table}.{re.escape(key)} ignored: .*{problem}"
    assert any(re.search(pattern, line) for line in found.problems), found.problems
    assert found.config.ports["Ethernet64"].admin_up


def test_without_cable_lengths_nothing_is_lossless():
    config = deployed()
    del config["CABLE_LENGTH"]
    assert set(result(config).config.ports["Ethernet0"].priority_groups) == {0}


def test_qos_tables_by_type_and_neighbour():
    config = factory_config(PROFILE, "sw")
    config["DEVICE_METADATA"]["localhost"]["type"] = "LeafRouter"
    config["DEVICE_NEIGHBOR"] = {"Ethernet0": {"name": "T2"}, "Ethernet4": {"name": "T0"}}
    config["DEVICE_NEIGHBOR_METADATA"] = {"T2": {"type": "SpineRouter"}, "T0": {"type": "ToRRouter"}}
    tables = qos_tables(config, PROFILE)
    assert tables["CABLE_LENGTH"]["AZURE"]["Ethernet0"] == "300m"
    assert tables["CABLE_LENGTH"]["AZURE"]["Ethernet4"] == "40m"
    assert tables["CABLE_LENGTH"]["AZURE"]["Ethernet8"] == "40m"
    assert sorted(tables["PORT_QOS_MAP"]) == ["Ethernet0", "Ethernet4", "global"]
    assert "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP" not in tables
