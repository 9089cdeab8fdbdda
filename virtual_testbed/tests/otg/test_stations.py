"""Who is taken to be behind a generator port although no device was configured there."""
from __future__ import annotations

import pytest

from virtual_testbed.otg.model import read_config
from virtual_testbed.tests.otg.test_model import MAC_2, PACKET, SWITCH_MAC, FakeFabric, config, data_flow


def to_mac(name, mac, **changes):
    packet = [{"choice": "ethernet", "ethernet": {"dst": {"choice": "value", "value": mac}}}, PACKET[1]]
    return data_flow(name=name, packet=packet, **changes)


def test_who_is_sent_to_and_is_no_device_is_behind_the_receiver():
    model = read_config(config(to_mac("a", MAC_2), to_mac("b", MAC_2.upper())), FakeFabric())
    assert [(host.port, host.mac, host.addresses) for host in model.stations] == [("p2", MAC_2, ())]
    assert model.warnings == (f"port p2: no device has the MAC address {MAC_2}; it is taken to be behind this port, "
                              "where flows to it are received",)


@pytest.mark.parametrize("mac", [SWITCH_MAC.upper(), "00:00:00:00:00:00", "01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff"])
def test_switches_groups_and_nobody_are_no_stations(mac):
    model = read_config(config(to_mac("a", mac)), FakeFabric())
    assert (model.stations, model.warnings) == ((), ())


def test_a_destination_that_is_received_at_two_places_is_behind_neither():
    back = {"choice": "port", "port": {"tx_name": "p2", "rx_names": ["p1"]}}
    model = read_config(config(to_mac("a", MAC_2), to_mac("b", MAC_2, tx_rx=back)), FakeFabric())
    assert model.stations == ()
    assert model.warnings == tuple(
        f"flow {name}: nobody has its destination MAC address {MAC_2}, so the switch drops it" for name in "ab")
