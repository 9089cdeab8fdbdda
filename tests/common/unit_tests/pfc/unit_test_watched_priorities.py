"""The priorities that the watchdog watches."""

import pytest

from tests.common.pfc.cases.watchdog.watched import follows_set, watched, watched_alike
from tests.common.pfc.model.qos import read_port_qos
from tests.common.unit_tests.pfc.fakes import DEVICE, make_config_db


@pytest.mark.parametrize(("row", "expected"), [
    ({"pfcwd_sw_enable": "3,4"}, (3, 4)),
    ({"pfcwd_sw_enable": "4,6"}, (4,)),
    ({"pfcwd_sw_enable": " 3, 4"}, (3, 4)),
    ({"pfcwd_sw_enable": ""}, ()),
    ({"pfcwd_sw_enable": "none"}, ()),
])
def test_the_watchdog_watches_what_its_own_field_lists(row, expected):
    """Of the lossless priorities."""
    config_db = make_config_db()
    config_db["PORT_QOS_MAP"]["Ethernet0"] |= row
    qos = read_port_qos(config_db, DEVICE, "Ethernet0")
    assert (qos.lossless, watched(qos)) == ((3, 4), expected), qos


@pytest.mark.parametrize(("version", "elsewhere", "expected"), [
    (None, False, ()),
    ("version_1_0_6", False, (3, 4)),
    ("version_2_0_4", False, (3, 4)),
    ("version_2_0_2", True, ()),
    ("version_3_0_4", False, (3, 4)),
    ("version_3_0_5", False, ()),
    ("version_4_0_3", False, ()),
    ("version_202505_01", False, ()),
])
def test_a_port_without_the_field_has_nothing_watched_but_on_images_that_do_not_know_it(version, elsewhere, expected):
    """Those to 202111; of 202012 later builds know it, and have it in each row. Then LSET-11 cannot be carried out."""
    config_db = make_config_db()
    for port, row in config_db["PORT_QOS_MAP"].items():
        if port == "Ethernet0" or not elsewhere:
            row.pop("pfcwd_sw_enable", None)
    config_db["VERSIONS"] = {"DATABASE": {"VERSION": version} if version else {}}
    qos = read_port_qos(config_db, DEVICE, "Ethernet0")
    assert watched(qos) == expected, (version, watched(qos))
    assert follows_set(qos) is bool(expected), (version, qos)


@pytest.mark.parametrize(("listed", "expected"), [("3,4", True), ("4,3,6", True), ("3", False), (None, False)])
def test_another_port_may_have_other_priorities_watched(listed, expected):
    """A storm there would not be detected: a test case that sends one cannot be carried out."""
    config_db = make_config_db()
    config_db["PORT_QOS_MAP"]["Ethernet0"]["pfcwd_sw_enable"] = "3,4"
    other = dict(config_db["PORT_QOS_MAP"]["Ethernet64"])
    config_db["PORT_QOS_MAP"]["Ethernet64"] = other if listed is None else {**other, "pfcwd_sw_enable": listed}
    if listed is None:
        other.pop("pfcwd_sw_enable", None)
    qos = read_port_qos(config_db, DEVICE, "Ethernet0")
    assert watched_alike(qos, ["Ethernet64"]) is expected, config_db["PORT_QOS_MAP"]
