"""Three switches in a row, really: deployed by Ansible, congested at the last, XOFF counted hop by hop to the
sender.
"""
from __future__ import annotations

import json
import re
import sys
import urllib.request

import pytest
import snappi

from virtual_testbed.tests.supervision.deployed import ROOT, deployed, run

pytestmark = pytest.mark.slow("three switches, deployed by Ansible: half a minute")
SENDER, RECEIVER = "127.1.0.3;1;1", "127.1.0.3;3;1"
SENDER_MAC, RECEIVER_MAC = "00:00:22:33:44:01", "00:01:22:33:44:01"
GATEWAYS = {number: f"192.168.7.{number}" for number in (1, 2, 3)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """vtb-chain's folder: up with a virtual clock, and deployed. Afterwards nothing of it is left."""
    with deployed("vtb-chain", tmp_path_factory.mktemp("chain")) as found:
        yield found.folder


def ssh(folder, number, command):
    """Output of a command on a switch."""
    return run("ssh", "-F", folder / "ssh" / "config", f"vtb-chain-0{number}", command)


def clear_pfc_counters(folder):
    for number in (1, 2, 3):
        ssh(folder, number, "pfcstat -c")


def pfc_class_3(folder, number):
    """{(Rx or Tx, port): frames of class 3} of a switch."""
    found, side = {}, ""
    for words in map(str.split, ssh(folder, number, "show pfc counters").splitlines()):
        if words[:1] == ["Port"]:
            side = words[1]
        elif words and words[0].startswith("Ethernet"):
            found[side, words[0]] = int(words[4].replace(",", ""))
    return found


def assert_counted_hop_by_hop(folder):
    """What each switch has sent up the row the one before has received, and nothing else was sent or received."""
    first, middle, last = (pfc_class_3(folder, number) for number in (1, 2, 3))
    assert last["Tx", "Ethernet120"] == middle["Rx", "Ethernet124"] > 0
    assert middle["Tx", "Ethernet120"] == first["Rx", "Ethernet124"] > 0
    assert first["Tx", "Ethernet0"] > 0 and sum(first.values()) == first["Tx", "Ethernet0"] + first["Rx", "Ethernet124"]
    assert last["Rx", "Ethernet0"] > 0 and sum(last.values()) == last["Rx", "Ethernet0"] + last["Tx", "Ethernet120"]


def configuration(api):
    """A storm of class 3 from the receiver, and traffic of priority 3 from the far end of the row."""
    config = api.config()
    config.ports.port(name="tx", location=SENDER).port(name="rx", location=RECEIVER)
    layer1 = config.layer1.layer1(name="layer 1", port_names=["tx", "rx"])[-1]
    layer1.flow_control.ieee_802_1qbb.pfc_class_3 = 3
    for port, mac, address in (("tx", SENDER_MAC, "192.168.0.1"), ("rx", RECEIVER_MAC, "192.168.0.2")):
        device = config.devices.device(name=port + " host")[-1]
        ethernet = device.ethernets.ethernet(name=port + " ethernet", mac=mac)[-1]
        ethernet.connection.port_name = port
        ethernet.ipv4_addresses.ipv4(name=port + " ip", address=address, gateway=GATEWAYS[1], prefix=21)
    add_data(config, "data", RECEIVER_MAC, 90)
    storm = config.flows.flow(name="storm")[-1]
    storm.tx_rx.port.tx_name, storm.tx_rx.port.rx_names = "rx", ["tx"]
    pause = storm.packet.pfcpause()[-1]
    pause.class_enable_vector.value, pause.pause_class_3.value, storm.rate.pps = 0b1000, 0xFFFF, 5960
    return config


def add_data(config, name, mac, percent):
    """Frames of priority 3 from the sender to the receiver's address."""
    flow = config.flows.flow(name=name)[-1]
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "tx", ["rx"]
    ethernet, ip = flow.packet.ethernet().ipv4()
    ethernet.src.value, ethernet.dst.value, ethernet.pfc_queue.value = SENDER_MAC, mac, 3
    ip.src.value, ip.dst.value, ip.priority.dscp.phb.value = "192.168.0.1", "192.168.0.2", 3
    flow.size.fixed, flow.rate.percentage, flow.metrics.enable = 1024, percent, True


class Generators:
    """The traffic generators and the clock."""

    def __init__(self, folder):
        self._runtime = json.loads((folder / "runtime.json").read_text())
        self.api = snappi.api(location=self._runtime["otg"]["url"])

    def advance(self, milliseconds):
        body = json.dumps({"nanoseconds": milliseconds * 10**6}).encode()
        url = self._runtime["clock"]["url"] + "/advance"
        urllib.request.urlopen(urllib.request.Request(url, body)).close()

    def transmit(self, state):
        control = self.api.control_state()
        control.traffic.flow_transmit.state = state
        self.api.set_control_state(control)

    def counts(self, name="data"):
        """(sent, received) of a flow."""
        request = self.api.metrics_request()
        request.flow.flow_names = [name]
        metric = self.api.get_metrics(request).flow_metrics[0]
        return metric.frames_tx, metric.frames_rx


def test_a_pause_travels_hop_by_hop_and_nothing_is_lost(folder):
    clear_pfc_counters(folder)
    generators = Generators(folder)
    generators.api.set_config(configuration(generators.api))
    generators.transmit("start")
    generators.advance(20)
    held, received = generators.counts()
    assert received < 100 < held
    generators.advance(10)
    assert generators.counts()[0] == held  # the sender is stopped by the first switch
    generators.transmit("stop")
    generators.advance(2500)  # until all has drained, and the switches have published their counters
    assert generators.counts() == (held, held)
    assert_counted_hop_by_hop(folder)


def test_the_documented_program_counts_what_is_computed(folder):
    text = (ROOT / "docs" / "data-plane.md").read_text(encoding="utf-8")
    section = text.split("\n## Back-pressure hop by hop\n")[1].split("\n## ")[0]
    program = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    printed = run(sys.executable, "-c", program[1], folder).splitlines()
    assert printed == ["sent 16840, received 1093", "sent 16841, received 1093", "sent 16841, received 16841"]
    assert all(f"`{line}`" in section for line in printed)


@pytest.mark.parametrize("number", [2, 3])
def test_a_switch_further_on_can_be_the_gateway(folder, number):
    """Address resolution gives its MAC; frames to that one are bridged there and routed from there."""
    generators = Generators(folder)
    config = configuration(generators.api)
    config.flows.clear()
    config.devices[0].ethernets[0].ipv4_addresses[0].gateway = GATEWAYS[number]
    generators.api.set_config(config)
    request = generators.api.states_request()
    request.ipv4_neighbors.ethernet_names = ["tx ethernet"]
    mac = generators.api.get_states(request).ipv4_neighbors[0].link_layer_address
    assert mac == ssh(folder, number, "sonic-db-cli CONFIG_DB HGET 'DEVICE_METADATA|localhost' mac").strip()
    add_data(config, "routed", mac, 20)
    generators.api.set_config(config)
    generators.transmit("start")
    generators.advance(2)
    generators.transmit("stop")
    generators.advance(1)
    sent, received = generators.counts("routed")
    assert sent == received > 4000
