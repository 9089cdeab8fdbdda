"""Ports in their order, and addresses of the hosts behind them."""

import re

import pytest

from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import host_mac, natural


def test_mac_addresses_of_hosts():
    """Six bytes in hexadecimal, unicast and none twice, for every number that there is an address for."""
    macs = {host_mac(number) for number in range(256 * 255)}
    assert len(macs) == 256 * 255, "a MAC address is there twice"
    assert all(re.fullmatch("00(:[0-9a-f]{2}){5}", mac) for mac in macs), "expected six bytes, the first of them 00"
    for number in (-1, 256 * 255):
        with pytest.raises(QualificationError, match=f"played host {number} has no MAC address"):
            host_mac(number)


def test_ports_sort_by_number():
    """Ethernet4 before Ethernet40."""
    seen = sorted(["Ethernet40", "Ethernet4", "Ethernet100"], key=natural)
    assert seen == ["Ethernet4", "Ethernet40", "Ethernet100"], seen
