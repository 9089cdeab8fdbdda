"""Every HwSKU profile, against what its tables need of each other; and the facts of each that matter."""
from __future__ import annotations

import json
import re

import pytest

from pfctest.timing import RESPONSE_QUANTA, response_allowance_ps
from virtual_testbed.lab_files.connection_graph import LINK_SPEEDS_MBPS
from virtual_testbed.sonic.factory import factory_config, qos_tables
from virtual_testbed.sonic.profile import FOLDER, ProfileError, known_hwskus, load_profile
from virtual_testbed.sonic.translate import translate

CABLES = ("5m", "40m", "300m")
FIELDS = {"source", "platform", "asic_type", "platform_asic", "cell_bytes", "default_topology", "unicast_queues",
          "multicast_queues", "pause_response_percent", "breakouts", "ports", "topologies", "wred_profile",
          "pg_profile_lookup"}
WRED = {"ecn", *(f"wred_{colour}_enable" for colour in ("green", "yellow", "red")),
        *(f"{colour}_{field}" for colour in ("green", "yellow", "red")
          for field in ("min_threshold", "max_threshold", "drop_probability"))}
# HwSKU: ports by speed in Mb/s, cell, xoff of the fastest port at 5 m, size and shared headroom of the ingress pool
FACTS = {
    "Arista-7060CX-32S-C32": ({100000: 32}, 208, 165568, (10875072, 4194112)),
    "DellEMC-Z9664f-O64": ({400000: 64, 10000: 2}, 254, 371348, (113620296, 50653696)),
    "Dell-Z9864f-O64": ({800000: 64, 25000: 2}, 254, 729488, (162539680, 33374584)),
}


@pytest.fixture(params=known_hwskus())
def hwsku(request):
    """Each profile by name."""
    return request.param


@pytest.fixture
def profile(hwsku):
    """Each profile."""
    return load_profile(hwsku)


def test_a_file_has_all_fields_and_no_others(hwsku):
    data = json.loads((FOLDER / f"{hwsku}.json").read_text())
    assert set(data) == FIELDS and data["source"].startswith("sonic-net/sonic-buildimage: device/")
    for number in ("cell_bytes", "unicast_queues", "multicast_queues"):
        assert isinstance(data[number], int) and data[number] > 0
    assert 0 <= data["pause_response_percent"] <= 100  # more than the standard allows would need more headroom
    assert data["unicast_queues"] >= 8  # the data plane uses 0..7


def test_names_aliases_indices_and_lanes_are_unique(hwsku, profile):
    rows = json.loads((FOLDER / f"{hwsku}.json").read_text())["ports"]
    lanes = [lane for port in profile.ports.values() for lane in port.lanes.split(",")]
    assert len(set(lanes)) == len(lanes) and all(lane.isdigit() for lane in lanes)
    for field in ("name", "alias", "index"):
        assert len({row[field] for row in rows}) == len(rows) == len(profile.ports)
    assert all(re.fullmatch(r"Ethernet\d+", row["name"]) for row in rows)


def test_speeds_and_breakouts_fit_the_lanes(profile):
    assert set(profile.breakouts) == {port.speed for port in profile.ports.values()}
    for port in profile.ports.values():
        lanes = len(port.lanes.split(","))
        assert port.speed in port.speeds and max(port.speeds) == port.speed
        assert set(port.speeds) <= set(LINK_SPEEDS_MBPS)
        for mode in profile.breakouts[port.speed]:
            parts, fastest = map(int, re.match(r"(\d+)x(\d+)G", mode).groups())
            assert lanes % parts == 0 and parts * fastest * 1000 <= port.speed, (port.name, mode)


def test_every_speed_and_cable_has_a_row_of_whole_cells(profile):
    speeds = {speed for port in profile.ports.values() for speed in port.speeds}
    for cable in CABLES:
        rows = [profile.pg_profile_lookup[str(speed), cable] for speed in sorted(speeds)]
        assert [int(row["xoff"]) for row in rows] == sorted(int(row["xoff"]) for row in rows)
    for row in profile.pg_profile_lookup.values():
        assert set(row) == {"speed", "cable", "size", "xon", "xoff", "threshold", "xon_offset"}
        for field in ("size", "xon", "xoff", "xon_offset"):
            assert int(row[field]) % profile.cell_bytes == 0, (row, field)
    for speed in speeds:
        xoff = [int(profile.pg_profile_lookup[str(speed), cable]["xoff"]) for cable in CABLES]
        assert xoff == sorted(xoff) and xoff[0] > 0


def test_pools_exist_and_hold_what_the_profiles_ask_for(profile):
    assert profile.default_topology in profile.topologies and set(profile.topologies) == {"t0", "t1"}
    for topology in profile.topologies.values():
        pools, profiles = topology["BUFFER_POOL"], topology["BUFFER_PROFILE"]
        assert topology["default_cable"] in CABLES
        assert pools["ingress_lossless_pool"]["type"] == "ingress" and int(pools["ingress_lossless_pool"]["xoff"]) > 0
        assert {"ingress_lossy_profile", "egress_lossless_profile", "egress_lossy_profile"} <= set(profiles)
        for name, row in profiles.items():
            assert pools[row["pool"]]["type"] == name.partition("_")[0]
            assert ("dynamic_th" in row) != ("static_th" in row)
            assert int(row["size"]) < int(pools[row["pool"]]["size"])
    assert set(profile.wred_profile) == WRED


def test_a_port_alone_has_headroom_for_the_time_that_it_takes(profile):
    """XOFF on its line behind a frame, the other end's response, and the longest cable: all of that still arrives."""
    for port in profile.ports.values():
        for speed in port.speeds:
            ps_per_byte = 8_000_000 // speed
            waiting = 2 * 9216 + 84 + (response_allowance_ps(speed) + 2 * 300 * 5000) // ps_per_byte
            assert int(profile.pg_profile_lookup[str(speed), "300m"]["xoff"]) > waiting, (port.name, speed)


@pytest.mark.parametrize("role", ["ToRRouter", "LeafRouter"])
def test_sonics_defaults_apply_without_a_problem(profile, role):
    config = factory_config(profile, "sw")
    config["DEVICE_METADATA"]["localhost"]["type"] = role
    config.update(qos_tables(config, profile))
    found = translate(config, profile, "sw", "02:00:00:00:00:09")
    assert found.problems == ()
    for name, port in found.config.ports.items():
        assert port.speed_mbps == profile.ports[name].speed and port.speed_mbps in RESPONSE_QUANTA
        assert port.response_ps == response_allowance_ps(port.speed_mbps) * profile.pause_response_percent // 100
        for priority in (3, 4):
            assert port.priority_groups[priority].xoff > 0 and port.queues[priority].xoff == 0
        assert port.priority_groups[0].xoff == 0


def test_the_facts(hwsku, profile):
    ports, cell, xoff, pool = FACTS[hwsku]
    speeds = [port.speed for port in profile.ports.values()]
    assert {speed: speeds.count(speed) for speed in speeds} == ports and profile.cell_bytes == cell
    assert int(profile.pg_profile_lookup[str(max(ports)), "5m"]["xoff"]) == xoff
    row = profile.topologies["t0"]["BUFFER_POOL"]["ingress_lossless_pool"]
    assert (int(row["size"]), int(row["xoff"])) == pool


def test_a_profile_that_says_nothing_takes_all_of_the_allowance(tmp_path):
    data = json.loads((FOLDER / "Dell-Z9864f-O64.json").read_text())
    del data["pause_response_percent"]
    (tmp_path / "Other.json").write_text(json.dumps(data))
    assert load_profile("Other", tmp_path).pause_response_ps(800000) == response_allowance_ps(800000) == 579_200


def test_speeds_of_a_port_are_those_that_it_can_have_whole_or_split():
    assert load_profile("Arista-7060CX-32S-C32").ports["Ethernet0"].speeds == (100000, 50000, 40000, 25000, 10000)
    assert load_profile("DellEMC-Z9664f-O64").ports["Ethernet0"].speeds == (
        400000, 200000, 100000, 50000, 40000, 25000, 10000), "100G of `2x200G[100G,40G]`"
    assert load_profile("Dell-Z9864f-O64").ports["Ethernet0"].speeds == (
        800000, 400000, 200000, 100000, 50000)


@pytest.mark.parametrize("content, words", [("[", "JSONDecodeError"), ("{}", "KeyError: 'breakouts'"),
                                            ("[]", "TypeError"), (None, r"Tiny is not one .*\(known: none\)")])
def test_a_profile_that_cannot_be_used_is_one_sentence(tmp_path, content, words):
    if content is not None:
        (tmp_path / "Tiny.json").write_text(content)
    with pytest.raises(ProfileError, match=words):
        load_profile("Tiny", tmp_path)
