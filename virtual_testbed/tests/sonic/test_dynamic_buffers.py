"""CONFIG_DB of the dynamic buffer model -> what is in effect, without Redis."""
from __future__ import annotations

import pytest

from virtual_testbed.sonic.databases import merge
from virtual_testbed.sonic.dynamic_buffers import in_effect, memory_bytes
from virtual_testbed.sonic.factory import factory_config, of_model, qos_tables
from virtual_testbed.sonic.profile import load_profile
from virtual_testbed.sonic.translate import translate

PROFILE = load_profile("Arista-7060CX-32S-C32")
MEMORY = 15982720
LOSSLESS = 1248 + 165568
QUEUES = 32 * 7 * 1518


def dynamic(**tables):
    """A T0 with 5 m of cable everywhere and SONiC's default QoS of this model, and `tables` on top."""
    config = of_model(factory_config(PROFILE, "sw"), "dynamic")
    config["DEVICE_METADATA"]["localhost"]["type"] = "ToRRouter"
    config["VLAN_MEMBER"] = {f"Vlan1000|{port}": {"tagging_mode": "untagged"} for port in PROFILE.ports}
    return merge(merge(config, qos_tables(config, PROFILE)), tables)


def test_a_traditional_configuration_is_as_it_is():
    config = of_model(dynamic(), "traditional")
    assert in_effect(config, PROFILE).config is config


def test_lossless_groups_have_the_headroom_of_their_speed_and_cable():
    found = in_effect(dynamic(CABLE_LENGTH={"AZURE": {"Ethernet4": "300m"}}), PROFILE)
    config = found.config
    assert found.problems == ()
    assert config["BUFFER_PG"]["Ethernet0|3-4"] == {"profile": "pg_lossless_100000_5m_profile"}
    assert config["BUFFER_PG"]["Ethernet0|0"] == {"profile": "ingress_lossy_profile"}
    assert config["BUFFER_PROFILE"]["pg_lossless_100000_300m_profile"] == {
        "xon": "2288", "xon_offset": "2288", "xoff": "268736", "size": "1248", "pool": "ingress_lossless_pool",
        "dynamic_th": "0"}
    port = translate(config, PROFILE, "sw", "02:00:00:00:00:09").config.ports["Ethernet4"]
    assert port.priority_groups[4].xoff == 268736


def test_pools_without_a_size_have_what_is_left():
    pools = in_effect(dynamic(), PROFILE).config["BUFFER_POOL"]
    assert memory_bytes(PROFILE) == MEMORY
    left = str(MEMORY - 64 * LOSSLESS - QUEUES)
    assert {name: row["size"] for name, row in pools.items()} == {
        "ingress_lossless_pool": left, "egress_lossy_pool": left, "egress_lossless_pool": str(MEMORY)}
    assert "xoff" not in pools["ingress_lossless_pool"], "each group has a headroom of its own"


def test_groups_may_share_a_headroom():
    shared = dynamic(DEFAULT_LOSSLESS_BUFFER_PARAMETER={"AZURE": {"over_subscribe_ratio": "2"}})
    pool = in_effect(shared, PROFILE).config["BUFFER_POOL"]["ingress_lossless_pool"]
    assert pool["xoff"] == str(64 * 165568 // 2)
    assert pool["size"] == str(MEMORY - 64 * 1248 - QUEUES - 64 * 165568 // 2)


@pytest.mark.parametrize("ratio", [{}, {"AZURE": {"over_subscribe_ratio": "2"}}])
def test_the_size_of_a_shared_headroom_wins(ratio):
    size = {"ingress_lossless_pool": {"xoff": "1000000"}}
    shared = dynamic(DEFAULT_LOSSLESS_BUFFER_PARAMETER=ratio, BUFFER_POOL=size)
    pool = in_effect(shared, PROFILE).config["BUFFER_POOL"]["ingress_lossless_pool"]
    assert (pool["xoff"], pool["size"]) == ("1000000", str(MEMORY - 64 * 1248 - QUEUES - 1000000))


@pytest.mark.parametrize("tables", [
    {"BUFFER_POOL": {"ingress_lossless_pool": {"xoff": "much"}}},
    {"DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"AZURE": {"over_subscribe_ratio": "x"}}},
    {"BUFFER_PROFILE": {"egress_lossy_profile": {"size": "x"}}}])
def test_sizes_that_are_no_numbers_are_named(tables):
    found = in_effect(dynamic(**tables), PROFILE)
    assert len(found.problems) == 1 and "the sizes of pools cannot be computed: " in found.problems[0]
    assert found.config["BUFFER_POOL"]["egress_lossy_pool"] == {"mode": "dynamic", "type": "egress"}


def test_a_profile_may_leave_its_headroom_to_the_switch():
    found = in_effect(dynamic(
        BUFFER_PROFILE={"own": {"headroom_type": "dynamic", "dynamic_th": "-1"}},
        BUFFER_PG={"Ethernet0|3-4": {"profile": "own"}, "Ethernet4|3-4": {"profile": "[BUFFER_PROFILE|own]"}}), PROFILE)
    name = "pg_lossless_100000_5m_th-1_profile"
    assert {found.config["BUFFER_PG"][f"{port}|3-4"]["profile"] for port in ("Ethernet0", "Ethernet4")} == {name}
    assert found.config["BUFFER_PROFILE"][name]["dynamic_th"] == "-1" and "own" not in found.config["BUFFER_PROFILE"]


def test_pfc_alone_makes_no_group_lossless():
    """As with dynamic buffers in SONiC: BUFFER_PG has to say so."""
    config = dynamic()
    del config["BUFFER_PG"]["Ethernet0|3-4"]
    found = in_effect(config, PROFILE).config
    ports = translate(found, PROFILE, "sw", "02:00:00:00:00:09").config.ports
    assert 3 not in ports["Ethernet0"].priority_groups and ports["Ethernet4"].priority_groups[3].xoff == 165568


@pytest.mark.parametrize(("tables", "sentence"), [
    ({"CABLE_LENGTH": {"AZURE": {"Ethernet0": "7m"}}},
     "BUFFER_PG|Ethernet0|3-4 ignored: pg_profile_lookup.ini has no headroom for the speed and the cable of Ethernet0"),
    ({"CABLE_LENGTH": {"AZURE": dict.fromkeys(PROFILE.ports, "300m")}},
     "BUFFER_POOL: nothing is left for pools: groups and queues reserve 1636288 bytes more than the switch has"),
])
def test_what_cannot_be_sized_is_named(tables, sentence):
    assert in_effect(dynamic(**tables), PROFILE).problems == (sentence,)
