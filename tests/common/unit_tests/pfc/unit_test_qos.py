"""What CONFIG_DB says of a port's priorities and of the buffer, in all forms that images write, and what is refused."""

import copy

import pytest

from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.qos import PortQos, check_same_classes, read_port_qos, read_shared_buffer

DEVICE = "vtb-t0-01"
IDENTITY = {str(number): str(number) for number in range(8)}
ROW = {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_to_queue_map": "AZURE", "pfc_enable": "3,4"}
CONFIG_DB = {
    "PORT_QOS_MAP": {"Ethernet0": ROW, "Ethernet10": ROW},
    "DSCP_TO_TC_MAP": {"AZURE": {"48": "6", "3": "3", "4": "4", "10": "1", "9": "1", "8": "0"}},
    "TC_TO_QUEUE_MAP": {"AZURE": dict(IDENTITY)},
    "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": dict(IDENTITY)},
    "BUFFER_POOL": {"egress_lossless_pool": {"size": "12766208"}, "ingress_lossless_pool": {"size": "7"}},
}


def changed(*path, value=None):
    """The configuration with something else at a place; None: without it."""
    config_db = copy.deepcopy(CONFIG_DB)
    *places, last = path
    row = config_db
    for place in places:
        row = row[place]
    row.pop(last, None)
    if value is not None:
        row[last] = value
    return config_db


def refusal(function, *arguments):
    """The sentence with which something is refused."""
    with pytest.raises(QualificationError) as error:
        function(*arguments)
    return str(error.value)


def of_port(config_db=CONFIG_DB, port="Ethernet0"):
    """What the configuration says of a port."""
    return read_port_qos(config_db, DEVICE, port)


def test_priorities_and_the_dscp_values_that_reach_them():
    """By number, not as text: 9 comes before 10."""
    qos = of_port()
    assert dict(qos.dscps) == {0: (8,), 1: (9, 10), 3: (3,), 4: (4,), 6: (48,)}, qos.dscps
    assert (qos.reachable, qos.lossless, qos.dscp_map) == ((0, 1, 3, 4, 6), (3, 4), "AZURE"), qos
    assert (qos.reached_lossless, qos.reached_lossy, qos.others((1, 3))) == ((3, 4), (0, 1, 6), (0, 4, 6)), qos


@pytest.mark.parametrize(("text", "lossless"), [
    ("3,4", (3, 4)), ("4,3", (3, 4)), (" 3 , 4 ", (3, 4)), ("3,3", (3,)), ("0,7", (0, 7)), ("3,", (3,)), ("", ()),
    (None, ()),
])
def test_the_priorities_that_pfc_is_enabled_for(text, lossless):
    """In whatever order and with whatever spaces; a port without PFC has none, which is no error yet."""
    found = of_port(changed("PORT_QOS_MAP", "Ethernet0", "pfc_enable", value=text)).lossless
    assert found == lossless, found


@pytest.mark.parametrize("text", ["8", "-1", "3;4", "3-4", "three", "3.0", "03"])
def test_what_is_no_list_of_priorities_is_refused(text):
    """Never taken for a port without PFC."""
    said = refusal(of_port, changed("PORT_QOS_MAP", "Ethernet0", "pfc_enable", value=text))
    assert said == (f"vtb-t0-01 Ethernet0: PORT_QOS_MAP|Ethernet0 pfc_enable is {text!r}; it lists priorities from 0 to"
                    " 7, as in 3,4"), said


@pytest.mark.parametrize("name", ["AZURE", "[DSCP_TO_TC_MAP|AZURE]"])
def test_older_images_name_the_table_too(name):
    assert of_port(changed("PORT_QOS_MAP", "Ethernet0", "dscp_to_tc_map", value=name)) == PortQos(
        DEVICE, "Ethernet0", (3, 4), of_port().dscps, "AZURE"
    ), f"{name} is the map AZURE"


@pytest.mark.parametrize(("path", "value", "said"), [
    (("PORT_QOS_MAP", "Ethernet0"), None, "vtb-t0-01 Ethernet0: CONFIG_DB has no PORT_QOS_MAP|Ethernet0"),
    (("PORT_QOS_MAP",), None, "vtb-t0-01 Ethernet0: CONFIG_DB has no PORT_QOS_MAP|Ethernet0"),
    (("PORT_QOS_MAP", "Ethernet0", "dscp_to_tc_map"), None,
     "vtb-t0-01 Ethernet0: PORT_QOS_MAP|Ethernet0 dscp_to_tc_map names nothing, and CONFIG_DB has no DSCP_TO_TC_MAP|"),
    (("PORT_QOS_MAP", "Ethernet0", "tc_to_queue_map"), "OTHER",
     "PORT_QOS_MAP|Ethernet0 tc_to_queue_map names OTHER, and CONFIG_DB has no TC_TO_QUEUE_MAP|OTHER"),
    (("DSCP_TO_TC_MAP", "AZURE"), {}, "names AZURE, and CONFIG_DB has no DSCP_TO_TC_MAP|AZURE"),
    (("DSCP_TO_TC_MAP", "AZURE", "46"), "N/A", "vtb-t0-01 Ethernet0: DSCP_TO_TC_MAP|AZURE holds something that is no"
     " number: invalid literal for int() with base 10: 'N/A'"),
    (("TC_TO_QUEUE_MAP", "AZURE", "6"), "0",
     "vtb-t0-01 Ethernet0 priority 6: TC_TO_QUEUE_MAP|AZURE leads to queue 0; expected queue 6"),
    (("TC_TO_QUEUE_MAP", "AZURE", "1"), None,
     "vtb-t0-01 Ethernet0 priority 1: TC_TO_QUEUE_MAP|AZURE has no entry for it; expected queue 1"),
    (("MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", "4"), "3",
     "vtb-t0-01 Ethernet0 priority 4: MAP_PFC_PRIORITY_TO_QUEUE|AZURE leads to queue 3; expected queue 4"),
])
def test_what_is_missing_or_wrong_is_named(path, value, said):
    """With the switch, the port, the row of CONFIG_DB, and what was expected of it."""
    seen = refusal(of_port, changed(*path, value=value))
    assert said in seen, seen


def test_a_port_is_not_another_one_whose_name_begins_alike():
    """Ports of a breakout are Ethernet0, Ethernet1, ...: the row of Ethernet10 is not that of Ethernet1."""
    assert "has no PORT_QOS_MAP|Ethernet1," in refusal(of_port, CONFIG_DB, "Ethernet1"), "no row of its own"
    assert of_port(port="Ethernet10").port == "Ethernet10", "it has a row"


def test_a_lossless_priority_needs_its_queue_even_if_no_data_reaches_it():
    """Its pauses stop that queue. A lossy one that no data reaches needs none, and a lossy one's pause stops none."""
    config_db = changed("DSCP_TO_TC_MAP", "AZURE", "4")
    config_db["TC_TO_QUEUE_MAP"]["AZURE"]["4"] = "0"
    assert "priority 4: TC_TO_QUEUE_MAP|AZURE leads to queue 0" in refusal(of_port, config_db), "it is lossless"
    config_db["TC_TO_QUEUE_MAP"]["AZURE"] = {number: number for number in IDENTITY if number not in ("2", "5")}
    config_db["MAP_PFC_PRIORITY_TO_QUEUE"]["AZURE"] = {"3": "3", "4": "4", "0": "1"}
    assert of_port(config_db).reachable == (0, 1, 3, 6), "it can be measured"


def test_without_a_map_of_its_own_a_pause_stops_the_queue_of_its_number():
    """Some images have none; the map of the data is needed all the same."""
    config_db = changed("PORT_QOS_MAP", "Ethernet0", "pfc_to_queue_map")
    config_db.pop("MAP_PFC_PRIORITY_TO_QUEUE")
    assert of_port(config_db).lossless == (3, 4), "it can be measured"
    config_db.pop("TC_TO_QUEUE_MAP")
    assert "CONFIG_DB has no TC_TO_QUEUE_MAP|AZURE" in refusal(of_port, config_db), "nobody knows where data leaves"


def test_a_priority_that_no_dscp_value_reaches_is_refused_once_it_is_needed():
    """With those that can be reached."""
    qos = of_port()
    qos.check_reached((0, 3))
    said = refusal(qos.check_reached, (3, 7))
    assert said == ("vtb-t0-01 Ethernet0 priority 7: no DSCP value reaches it, DSCP_TO_TC_MAP|AZURE leads to"
                    " [0, 1, 3, 4, 6] only"), said


def test_both_ports_of_a_pair_sort_frames_alike():
    """The names of the maps may differ; what is in them, and the lossless priorities, may not."""
    rx = of_port()
    check_same_classes(rx, PortQos(DEVICE, "Ethernet10", (3, 4), dict(rx.dscps), "COPY"))
    elsewhere = PortQos(DEVICE, "Ethernet10", (3, 4), {**rx.dscps, 1: (9,), 5: (10,)}, "OTHER")
    said = refusal(check_same_classes, rx, elsewhere)
    assert said == ("vtb-t0-01: DSCP_TO_TC_MAP|AZURE of Ethernet0 and DSCP_TO_TC_MAP|OTHER of Ethernet10 lead to"
                    " different priorities ([1, 5]); both ports need the same map"), said
    said = refusal(check_same_classes, rx, PortQos(DEVICE, "Ethernet10", (), rx.dscps, "AZURE"))
    assert said == ("vtb-t0-01: Ethernet0 has PFC enabled for [3, 4] and Ethernet10 for []; both ports need the same"
                    " priorities"), said


@pytest.mark.parametrize(("asic", "pool", "size"), [
    ("broadcom", "egress_lossless_pool", 12766208), ("broadcom voq", "ingress_lossless_pool", 7),
])
def test_the_buffer_is_the_pool_of_the_platform_in_bytes(asic, pool, size):
    found = read_shared_buffer(CONFIG_DB, DEVICE, asic)
    assert (found.pool, found.size_bytes) == (pool, size), found


@pytest.mark.parametrize("row", [
    None, {}, {"size": ""}, {"size": "N/A"}, {"size": "-1"}, {"size": "12.5"}, {"size": "0"},
])
def test_a_buffer_without_a_size_is_refused(row):
    """Never taken for one of 0 bytes; the pools that are there are named."""
    said = refusal(read_shared_buffer, changed("BUFFER_POOL", "egress_lossless_pool", value=row), DEVICE, "broadcom")
    pools = "ingress_lossless_pool" if row is None else "egress_lossless_pool, ingress_lossless_pool"
    expected = f"vtb-t0-01: CONFIG_DB has no size in BUFFER_POOL|egress_lossless_pool (pools found: {pools})"
    assert said == expected, said
