"""What SONiC lets a patch change, by table, field, operation, ASIC and release."""
import re

import pytest

from virtual_testbed.sonic.patch_rules import NEVER_REMOVED, UNKNOWN, asic_of, refusal, violations

TOMAHAWK = "Arista-7060CX-32S-C32"
DELL = "DellEMC-Z9664f-O64"
NEW = "202505.virtual"


def replace(path, value="1"):
    """A step that sets a field."""
    return {"op": "replace", "path": path, "value": value}


def add(path, value):
    """A step that adds rows or fields."""
    return {"op": "add", "path": path, "value": value}


def refused_table(steps, hwsku, build):
    """The table that is named in what is said of a patch; empty: nothing is said."""
    said = refusal(steps, hwsku, build)
    named = re.match("Modification of ([A-Z_]+) table is illegal- validating function generic_config_updater[.]", said)
    assert bool(named) == bool(said)
    return named[1] if named else ""


def test_asics():
    assert (asic_of(TOMAHAWK), asic_of(DELL)) == ("th", UNKNOWN)


@pytest.mark.parametrize("step, refused", [
    (replace("/PORT/Ethernet0/mtu"), ""), (add("/VLAN", {"Vlan10": {"vlanid": "10"}}), ""),
    (add("/BUFFER_POOL", {"egress_lossy_pool": {"size": "1"}}), "BUFFER_POOL"),
    (replace("/BUFFER_POOL/ingress_lossless_pool/size"), "BUFFER_POOL"),
    (replace("/BUFFER_PROFILE/pg_lossless_100000_5m_profile/dynamic_th"), ""),
    (replace("/BUFFER_PROFILE/pg_lossless_100000_5m_profile/xoff"), ""),
    (replace("/BUFFER_PROFILE/pg_lossless_100000_5m_profile/size"), "BUFFER_PROFILE"),
    (add("/BUFFER_PROFILE/pg_lossless_100000_5m_profile/dynamic_th", "1"), "BUFFER_PROFILE"),
    (add("/BUFFER_PROFILE", {"egress_lossy_profile": {"pool": "x"}}), "BUFFER_PROFILE"),
    (replace("/WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold"), ""),
    ({"op": "move", "from": "/BUFFER_PROFILE/yours", "path": "/BUFFER_PROFILE/mine"}, "BUFFER_PROFILE"),
    (add("/BUFFER_PROFILE/mine", {"pool": "ingress_lossless_pool", "size": "0"}), ""),
    ({"op": "remove", "path": "/BUFFER_PROFILE/pg_lossless_100000_5m_profile"}, ""),
    (replace("/WRED_PROFILE/AZURE_LOSSLESS/red_min_threshold"), ""), ({"op": "remove", "path": "/WRED_PROFILE"}, ""),
    (add("/PFC_WD/Ethernet0", {"action": "drop", "detection_time": "200"}), ""),
    (replace("/PFC_WD/GLOBAL/POLL_INTERVAL"), ""), ({"op": "remove", "path": "/PFC_WD/Ethernet0"}, ""),
    (add("/PFC_WD/Ethernet0", {"action": "drop", "detection_time": "200", "pfc_stat_history": "disable"}), ""),
    (replace("/PFC_WD/Ethernet0/pfc_stat_history"), ""), (replace("/PFC_WD/GLOBAL/BIG_RED_SWITCH"), "PFC_WD"),
])
def test_steps(step, refused):
    assert refused_table([step], TOMAHAWK, NEW) == refused
    assert refused_table([replace("/PORT/Ethernet0/mtu"), step], TOMAHAWK, NEW) == refused, "one is enough"


@pytest.mark.parametrize("build, refused", [
    (NEW, ""), ("20230531.12", ""), ("SONiC.20221100.1", ""), ("20220531.30", "BUFFER_PROFILE"), ("master.7-1", "")])
def test_releases(build, refused):
    assert refused_table([replace("/BUFFER_PROFILE/pg_lossless_100000_5m_profile/xoff")], TOMAHAWK, build) == refused


def test_a_hwsku_of_no_list_may_not():
    assert refused_table([replace("/PFC_WD/GLOBAL/POLL_INTERVAL")], DELL, NEW) == "PFC_WD"
    assert refused_table([replace("/QUEUE/Ethernet0|3/scheduler")], DELL, NEW) == ""
    assert refused_table([add("/BUFFER_PROFILE/mine", {"pool": "x"})], DELL, NEW) == "", "a whole profile"


@pytest.mark.parametrize("path", NEVER_REMOVED)
def test_what_is_never_removed(path):
    said = f"Given patch operation is invalid. Operation: remove is illegal on field: {path}"
    assert refusal([{"op": "remove", "path": path}], TOMAHAWK, NEW) == said
    assert said not in refusal([replace(path)], TOMAHAWK, NEW)


def test_times_of_the_watchdog_are_not_shorter_than_its_polls():
    ports = {"Ethernet0": {"detection_time": "400", "restoration_time": "400"}, "Ethernet4": {"detection_time": "200"}}
    assert violations({"PFC_WD": ports}) == violations({}) == []
    assert violations({"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, **ports}}) == []
    assert violations({"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "400"}, **ports}}) == [
        "Data Loading Failed:detection_time must be greater than or equal to POLL_INTERVAL (Ethernet4: 200 ms, "
        "POLL_INTERVAL: 400)"]
    assert len(violations({"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "410"}, **ports}})) == 3
    assert len(violations({"PFC_WD": {"GLOBAL": {"BIG_RED_SWITCH": "enable"}, **ports}})) == 3
