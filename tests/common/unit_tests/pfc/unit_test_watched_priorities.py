"""The priorities that the watchdog watches."""

import pytest

from tests.common.pfc.cases.watchdog.watched import watched
from tests.common.pfc.model.qos import read_port_qos
from tests.common.unit_tests.pfc.fakes import DEVICE, make_config_db


@pytest.mark.parametrize(("row", "expected"), [
    ({}, (3, 4)),
    ({"pfcwd_sw_enable": "3,4"}, (3, 4)),
    ({"pfcwd_sw_enable": "4,6"}, (4,)),
    ({"pfcwd_sw_enable": " 3, 4"}, (3, 4)),
    ({"pfcwd_sw_enable": ""}, ()),
    ({"pfcwd_sw_enable": "none"}, ()),
])
def test_the_watchdog_watches_what_its_own_field_lists(row, expected):
    """Older images, which have no such field, watch all lossless priorities."""
    config_db = make_config_db()
    config_db["PORT_QOS_MAP"]["Ethernet0"] |= row
    qos = read_port_qos(config_db, DEVICE, "Ethernet0")
    assert (qos.lossless, watched(qos)) == ((3, 4), expected), qos
