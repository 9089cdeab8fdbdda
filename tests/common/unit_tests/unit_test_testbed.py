"""Testbed files, tester ports and API servers of the stand-alone fixture layer."""

import socket

import pytest

from tests.common.errors import LabError
from tests.common.snappi_tests import snappi_fixtures
from tests.common.snappi_tests.port import generator_ports, port_location
from tests.common.snappi_tests.snappi_fixtures import api_server, api_transport, check_api
from tests.common.testbed import TestbedInfo, topology_type

FILE = """\
- conf-name: lab-t0
  topo: tgen-t0-3
  ptf_image_name: docker-ptf-snappi
  ptf_ip: 192.0.2.10/24
  dut: [lab-01, lab-02]
  inv_name: lab
  comment: classic
- name: lab-t1
  topo: vtb-t1-32
  duts: lab-03
  tgs: [snappi-1]
  tg_api_server: 192.0.2.11:443
  inv_name: lab
"""


class Dut:
    """A switch of which only the inventory is asked."""

    def __init__(self, variables):
        self._variables = variables

    def inventory_variables(self):
        """The inventory's variables."""
        return self._variables


@pytest.fixture
def lab_file(tmp_path):
    """A testbed file in both forms."""
    path = tmp_path / "testbed.yaml"
    path.write_text(FILE)
    return path


def test_both_forms_are_read(lab_file):
    """As sonic-mgmt's `tbinfo`; keys of its own an entry keeps."""
    classic, newer = (TestbedInfo(lab_file).entry(name) for name in ("lab-t0", "lab-t1"))
    assert (classic["duts"], classic["ptf_ip"], classic["topo"]["type"]) == (
        ["lab-01", "lab-02"],
        "192.0.2.10",
        "tgen",
    ), classic
    assert classic["duts_map"] == {"lab-01": 0, "lab-02": 1}, classic
    assert (newer["conf-name"], newer["duts"], newer["topo"]["type"], newer["tgs"]) == (
        "lab-t1",
        ["lab-03"],
        "t1",
        ["snappi-1"],
    ), newer


@pytest.mark.parametrize(
    "content, name, sentence",
    [
        (FILE, "lab-t9", "testbed 'lab-t9' is not in .*testbed.yaml, which has lab-t0, lab-t1"),
        (FILE, None, "no testbed was named: --testbed takes one of lab-t0, lab-t1"),
        ("{}", "lab-t0", "holds no list of testbed entries"),
        ("- {topo: t0}", "lab-t0", "an entry lacks its name"),
        ("- {conf-name: x}", "x", "an entry lacks its switches .*: x"),
        ("- [", "x", "is no YAML"),
    ],
)
def test_refused_testbed_files(lab_file, content, name, sentence):
    """One sentence that lists what would be right."""
    lab_file.write_text(content)
    with pytest.raises(LabError, match=sentence):
        TestbedInfo(lab_file).entry(name)


def test_a_missing_file_is_refused(tmp_path):
    """By its path."""
    with pytest.raises(LabError, match="testbed file .*none.yaml cannot be read: No such file"):
        TestbedInfo(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    "topology, kind", [("vms-t0-32", "t0"), ("tgen-t0-32", "tgen"), ("ptf64", "ptf"), ("odd", "odd")]
)
def test_topology_types(topology, kind):
    """sonic-mgmt's types."""
    assert topology_type(topology) == kind, topology_type(topology)


def test_port_locations():
    """With cards and without."""
    seen = port_location("127.1.0.1", "Card1/Port2")
    assert seen == {"card_id": "1", "port_id": "2", "location": "127.1.0.1;1;2"}, seen
    seen = port_location("127.1.0.1", "Port2.1")
    assert seen == {"port_id": "2.1", "location": "127.1.0.1/2.1"}, seen
    with pytest.raises(LabError, match="names 'Ethernet0' on 127.1.0.1"):
        port_location("127.1.0.1", "Ethernet0")


def test_generator_ports():
    """Only ports with a traffic generator behind them, in the order of the links file."""
    link = {"peerdevice": "snappi-1", "peerport": "Card1/Port1", "speed": "100000"}
    graph = {"device_conn": {"lab-01": {"Ethernet4": link, "Ethernet0": {**link, "peerdevice": "fanout-1"}}}}
    fanouts = {"snappi-1": {"device_info": {"mgmtip": "127.1.0.1/8"}}}
    ports = generator_ports(["lab-01"], graph, fanouts)
    assert [(port["peer_port"], port["location"], port["chassis"]) for port in ports] == [
        ("Ethernet4", "127.1.0.1;1;1", "snappi-1")
    ], ports
    with pytest.raises(LabError, match="gives traffic generator snappi-1 no ManagementIp"):
        generator_ports(["lab-01"], graph, {})


def test_api_servers():
    """The entry's own, or the classic address with the inventory's port."""
    newer, classic = {"conf-name": "a", "tg_api_server": "192.0.2.11:443"}, {"conf-name": "b", "ptf_ip": "192.0.2.10"}
    account = {"snappi_api_server": {"rest_port": 8443}}
    assert api_server(newer, Dut({})) == ("192.0.2.11", "443"), api_server(newer, Dut({}))
    assert api_server(classic, Dut(account)) == ("192.0.2.10", "8443"), api_server(classic, Dut(account))
    with pytest.raises(LabError, match="testbed b names no API server of the traffic generators"):
        api_server(classic, Dut({}))


@pytest.mark.parametrize(
    "keys, transport",
    [({"tg_api_transport": "http"}, "http"), ({"ptf_image_name": "docker-stc-api-server"}, "grpc"), ({}, "ixnetwork")],
)
def test_api_transports(keys, transport):
    """Named, or as sonic-mgmt derives it from the image's name."""
    assert api_transport({"conf-name": "a", **keys}) == transport, api_transport({"conf-name": "a", **keys})


def test_an_unknown_transport_is_refused():
    """With the valid ones."""
    with pytest.raises(LabError, match="tg_api_transport is 'telnet', it takes http, grpc, ixnetwork"):
        api_transport({"conf-name": "a", "tg_api_transport": "telnet"})


def test_an_api_server_that_never_answers_is_given_up(monkeypatch):
    """It takes the connection and the request, and that is all."""
    monkeypatch.setattr(snappi_fixtures, "API_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        testbed = {"conf-name": "lab", "tg_api_server": server, "tg_api_transport": "http"}
        with pytest.raises(LabError, match=f"testbed lab: .*API server {server} does not answer: .*timed out"):
            check_api(testbed, Dut({}))
