"""The real snappi client against the engine: requests, answers, errors, and simulated traffic behind them."""
from __future__ import annotations

import io
import zlib
from unittest.mock import patch

import pytest
import requests
import snappi
from scapy.utils import PcapNgReader, PcapReader

from virtual_testbed.dataplane.fast_forward import advance
from virtual_testbed.dataplane.model.counters import CapturedFrame
from virtual_testbed.dataplane.network import Network
from virtual_testbed.tests.otg.conftest import PORTS, SWITCH_MAC

LOCATIONS = list(PORTS)
MACS = [f"00:0{n}:22:33:44:01" for n in range(1, 5)]
FRAME_BYTES = 1024
LINE_FPS = 100 * 10**9 / 8 / (FRAME_BYTES + 20)


class Client:
    """A snappi session on a server, with the clock beside it."""

    def __init__(self, url, **options):
        self.url = url
        self.api = snappi.api(location=url, **options)

    def advance(self, seconds):
        answer = requests.post(f"{self.url}/clock/advance", json={"nanoseconds": round(seconds * 10**9)}, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def transmit(self, state, *names):
        control = self.api.control_state()
        control.traffic.flow_transmit.state = state
        control.traffic.flow_transmit.flow_names = list(names)
        return self.api.set_control_state(control)

    def flows(self):
        request = self.api.metrics_request()
        request.flow.flow_names = []
        return {metric.name: metric for metric in self.api.get_metrics(request).flow_metrics}

    def ports(self):
        request = self.api.metrics_request()
        request.port.port_names = []
        return {metric.name: metric for metric in self.api.get_metrics(request).port_metrics}

    def capture_control(self, state):
        control = self.api.control_state()
        control.port.capture.state = state
        self.api.set_control_state(control)

    def capture(self, port):
        request = self.api.capture_request()
        request.port_name = port
        return self.api.get_capture(request).getvalue()

    def close(self):
        self.api._transport._session.close()


@pytest.fixture
def client(server):
    client = Client(server.url)
    yield client
    client.close()


def errors_of(api, action):
    with pytest.raises(Exception) as caught:
        action()
    error = api.from_exception(caught.value)
    return error.code, error.kind, list(error.errors)


def base_config(api):
    """Ports "rx" (Ethernet0) and "tx" (Ethernet8) with a host each; both honour PFC."""
    config = api.config()
    config.ports.port(name="rx", location=LOCATIONS[0])
    config.ports.port(name="tx", location=LOCATIONS[2])
    config.options.port_options.location_preemption = True
    layer1 = config.layer1.layer1()[-1]
    layer1.name, layer1.port_names, layer1.speed = "L1 config", ["rx", "tx"], "speed_100_gbps"
    layer1.ieee_media_defaults = layer1.auto_negotiate = False
    layer1.flow_control.ieee_802_1qbb.pfc_delay = 0
    for priority in range(8):
        setattr(layer1.flow_control.ieee_802_1qbb, f"pfc_class_{priority}", priority)
    for index, port in enumerate(("rx", "tx")):
        ethernet = config.devices.device(name=f"Device {port}")[-1].ethernets.add()
        ethernet.name, ethernet.mac, ethernet.connection.port_name = f"Ethernet {port}", MACS[index], port
        ip = ethernet.ipv4_addresses.add()
        ip.name, ip.address, ip.prefix, ip.gateway = f"Ipv4 {port}", f"192.168.0.{2 + index}", 21, "192.168.0.1"
    return config


def add_data(config, name, priority, dscp, percentage, seconds=None, packets=None):
    flow = config.flows.add(name=name)
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "tx", ["rx"]
    ethernet, ip, udp = flow.packet.ethernet().ipv4().udp()
    ethernet.src.value, ethernet.dst.value, ethernet.pfc_queue.value = MACS[1], MACS[0], priority
    ip.src.value, ip.dst.value = "192.168.0.3", "192.168.0.2"
    ip.priority.choice = ip.priority.DSCP
    ip.priority.dscp.phb.values = [dscp]
    ip.priority.dscp.ecn.value = ip.priority.dscp.ecn.CAPABLE_TRANSPORT_1
    udp.src_port.increment.start, udp.src_port.increment.step, udp.src_port.increment.count = 5000, 1, 4
    flow.size.fixed = FRAME_BYTES
    flow.rate.percentage = percentage
    if seconds is not None:
        flow.duration.fixed_seconds.seconds = seconds
    if packets is not None:
        flow.duration.fixed_packets.packets = packets
    flow.metrics.enable = flow.metrics.loss = True
    return flow


def add_storm(config, vector=8, quanta=0xffff):
    flow = config.flows.add(name="Pause Storm")
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "rx", ["tx"]
    pause = flow.packet.pfcpause()[-1]
    pause.src.value, pause.dst.value = "00:00:fa:ce:fa:ce", "01:80:C2:00:00:01"
    pause.class_enable_vector.value = vector
    for priority in range(8):
        getattr(pause, f"pause_class_{priority}").value = quanta if vector >> priority & 1 else 0
    flow.rate.pps = 5960
    flow.size.fixed = 64
    flow.metrics.enable = True
    return flow


def test_configuration_is_taken_and_echoed(client):
    config = base_config(client.api)
    add_data(config, "data", 3, 3, 10)
    assert client.api.set_config(config).warnings == []
    assert client.api.get_config().serialize("dict") == config.serialize("dict")
    assert client.api.set_config(client.api.config()).warnings == []
    assert client.api.get_config().serialize("dict") == {}


def test_version_check_passes(server, caplog):
    client = Client(server.url, version_check=True)
    assert client.api.set_config(client.api.config()).warnings == []
    assert client.api.get_version().api_spec_version == "^1.40"
    client.close()


def test_arp_is_resolved_right_after_the_configuration(client):
    client.api.set_config(base_config(client.api))
    request = client.api.states_request()
    request.choice = request.IPV4_NEIGHBORS
    states = client.api.get_states(request).ipv4_neighbors
    assert [(state.ethernet_name, state.link_layer_address) for state in states] == [
        ("Ethernet rx", SWITCH_MAC), ("Ethernet tx", SWITCH_MAC)]
    request.choice = request.IPV6_NEIGHBORS
    assert len(client.api.get_states(request).ipv6_neighbors) == 0


def test_arp_is_not_resolved_behind_a_port_that_is_down(make_server):
    with make_server(down=("Ethernet8",)) as server:
        client = Client(server.url)
        client.api.set_config(base_config(client.api))
        states = client.api.get_states(client.api.states_request()).ipv4_neighbors
        assert [state.link_layer_address for state in states] == [SWITCH_MAC, None]
        assert client.ports()["tx"].link == "down"
        client.close()


def test_a_flow_runs_its_time_and_stops_by_itself(client):
    config = base_config(client.api)
    add_data(config, "data", 3, 3, 50, seconds=2)
    client.api.set_config(config)
    client.transmit("start")
    assert client.flows()["data"].transmit == "started"
    client.advance(1.5)
    metric = client.flows()["data"]
    assert metric.transmit == "started"
    assert metric.frames_tx_rate == pytest.approx(LINE_FPS / 2, abs=1)
    assert metric.frames_rx_rate == pytest.approx(LINE_FPS / 2, abs=1)
    client.advance(1)
    metric = client.flows()["data"]
    assert metric.transmit == "stopped"
    assert metric.frames_tx == metric.frames_rx
    assert abs(metric.frames_tx - LINE_FPS) <= 1
    assert metric.bytes_rx == metric.frames_rx * FRAME_BYTES
    assert metric.loss == 0
    assert client.ports()["rx"].frames_rx == metric.frames_rx


def test_latency_of_flows_that_ask_for_it(client):
    """From the first bit sent a frame takes its own time longer than from the last one."""
    config = base_config(client.api)
    for priority, mode in ((3, "store_forward"), (4, "cut_through")):
        flow = add_data(config, mode, priority, priority, 30, seconds=2)
        flow.metrics.latency.enable, flow.metrics.latency.mode = True, mode
    add_data(config, "none", 1, 1, 10, seconds=2)
    client.api.set_config(config)
    client.transmit("start")
    client.advance(1)
    assert client.flows()["cut_through"].latency.average_ns is None, "frames are under way"
    client.advance(2)
    metrics = client.flows()
    least_ns = metrics["store_forward"].latency.average_ns
    assert 0 < least_ns < 1000
    assert metrics["cut_through"].latency.average_ns == pytest.approx(least_ns + (FRAME_BYTES + 20) * 0.08)
    assert metrics["cut_through"].latency.maximum_ns is None
    assert metrics["none"].latency.average_ns is None


def test_latency_of_pause_frames_is_refused(client):
    config = base_config(client.api)
    add_storm(config).metrics.latency.enable = True
    with pytest.raises(Exception, match="latency.enable: true: not modelled for pause frames"):
        client.api.set_config(config)


def test_a_storm_holds_its_priority_and_releases_it(client):
    config = base_config(client.api)
    add_data(config, "lossless", 3, 3, 40, packets=1_000_000)
    add_data(config, "lossy", 1, 1, 40, seconds=1)
    add_storm(config)
    assert client.api.set_config(config).warnings == []
    client.transmit("start", "Pause Storm")
    client.advance(0.5)
    client.transmit("start", "lossless", "lossy")
    client.advance(2)
    held = client.flows()
    assert held["lossless"].frames_rx == 0
    assert held["lossless"].transmit == "started"
    assert 0 < held["lossless"].frames_tx < 1_000_000
    assert held["lossy"].transmit == "stopped"
    assert held["lossy"].frames_rx == held["lossy"].frames_tx > 0
    assert held["Pause Storm"].frames_tx > 2.4 * 5960
    assert held["Pause Storm"].frames_rx == 0
    client.transmit("stop", "Pause Storm")
    client.advance(2)
    released = client.flows()
    assert released["lossless"].transmit == "stopped"
    assert released["lossless"].frames_tx == released["lossless"].frames_rx == 1_000_000
    assert released["lossy"].frames_rx == held["lossy"].frames_rx


@pytest.mark.parametrize("kind", ["no class enabled", "global pause with time", "global pause of otg's default time 0"])
def test_what_is_no_pause_of_the_priority_holds_nothing(client, kind):
    config = base_config(client.api)
    add_data(config, "lossless", 3, 3, 40, seconds=1)
    storm = add_storm(config, vector=0)
    if kind != "no class enabled":
        storm.packet.clear()
        pause = storm.packet.ethernetpause()[-1]
        if "with time" in kind:
            pause.time.value = 0xffff
    client.api.set_config(config)
    client.transmit("start")
    client.advance(2)
    metrics = client.flows()
    assert metrics["lossless"].frames_rx == metrics["lossless"].frames_tx > 0
    assert metrics["Pause Storm"].frames_tx > 0
    assert metrics["Pause Storm"].frames_rx == 0


def test_start_clears_and_pause_resume_keep_the_counters(client):
    config = base_config(client.api)
    add_data(config, "a", 3, 3, 10, packets=1000)
    add_data(config, "b", 4, 4, 10)
    client.api.set_config(config)
    client.transmit("start")
    client.advance(0.001)
    client.transmit("pause", "b")
    paused = client.flows()["b"]
    assert paused.transmit == "paused"
    assert paused.frames_tx > 0
    client.advance(1)
    assert client.flows()["b"].frames_tx == paused.frames_tx
    client.transmit("resume", "b")
    client.advance(0.001)
    assert client.flows()["b"].frames_tx > paused.frames_tx
    client.transmit("start", "a")
    assert client.flows()["a"].frames_tx == 0
    assert client.flows()["b"].frames_tx > 0
    client.advance(1)
    assert client.flows()["a"].frames_tx == client.flows()["a"].frames_rx == 1000


@pytest.mark.parametrize(("file_format", "reader"), [("pcap", PcapReader), ("pcapng", PcapNgReader)])
def test_captured_frames_are_read_with_their_fcs(client, monkeypatch, file_format, reader):
    frames = [CapturedFrame(1000 * n, bytes([n]) * 60) for n in range(3)]
    monkeypatch.setattr(Network, "start_capture", lambda self, port, limit_frames: None)
    monkeypatch.setattr(Network, "capture", lambda self, port: frames)
    config = base_config(client.api)
    capture = config.captures.capture(name="Packet Capture")[-1]
    capture.port_names, capture.format, capture.overwrite = ["rx"], file_format, True
    assert client.api.set_config(config).warnings == [
        "captures[0].overwrite: true, but a capture keeps the first 16384 frames of a port, not the last ones"]
    client.capture_control("start")
    with reader(io.BytesIO(client.capture("rx"))) as packets:
        read = [packet.original for packet in packets]
    assert read == [frame.data + zlib.crc32(frame.data).to_bytes(4, "little") for frame in frames]


def test_a_flow_is_appended_updated_and_deleted_beside_one_that_runs(client):
    config = base_config(client.api)
    for name in "abc":
        add_data(config, name, 3, 3, 10)
    client.api.set_config(config)
    client.transmit("start")
    client.advance(0.001)
    delete = client.api.config_delete()
    delete.config_delete_list.add().flows = ["a"]
    client.api.delete_config(delete)
    other = client.api.config()
    flow = add_data(other, "d", 4, 4, 10)
    append = client.api.config_append()
    append.config_append_list.add().flows.append(flow)
    client.api.append_config(append)
    flow.rate.percentage = 20
    update = client.api.config_update()
    update.flows.property_names = ["rate"]
    update.flows.flows.append(flow)
    client.api.update_config(update)
    before = client.flows()
    assert sorted(before) == ["b", "c", "d"]
    assert before["d"].transmit == "stopped"
    client.transmit("start", "d")
    client.advance(0.001)
    after = client.flows()
    assert after["b"].frames_tx > before["b"].frames_tx > 0
    assert after["d"].frames_tx == pytest.approx(2 * (after["b"].frames_tx - before["b"].frames_tx), abs=2)


def test_a_link_goes_down_and_up(client):
    client.api.set_config(base_config(client.api))
    control = client.api.control_state()
    control.port.link.port_names, control.port.link.state = ["tx"], "down"
    client.api.set_control_state(control)
    assert client.ports()["tx"].link == "down"
    control.port.link.state = "up"
    client.api.set_control_state(control)
    assert client.ports()["tx"].link == "up"
    assert client.ports()["tx"].speed == 12_500_000


def test_errors_name_the_object_by_path(client):
    config = base_config(client.api)
    flow = add_data(config, "data", 3, 3, 10)
    flow.packet.mpls()
    flow.tx_rx.port.tx_name = "nowhere"
    config.lags.lag(name="lag")
    code, kind, errors = errors_of(client.api, lambda: client.api.set_config(config))
    assert (code, kind) == (400, "validation")
    assert errors == [
        "flows[0].tx_rx.port.tx_name: no port is named 'nowhere'; ports are rx, tx",
        "flows[0].packet[3].mpls: not modelled; modelled are ethernet, vlan, ipv4, ipv6, udp, tcp, vxlan, "
        "pfcpause, ethernetpause",
        "lags: not modelled; modelled are captures, devices, flows, layer1, options, ports"]


def test_unknown_names_are_refused(client):
    client.api.set_config(base_config(client.api))
    assert errors_of(client.api, lambda: client.transmit("start", "x")) == (
        400, "validation", ["traffic.flow_transmit.flow_names: no flow is named 'x'; flows are none"])


def test_too_much_for_a_port_is_refused_when_it_is_started(client):
    config = base_config(client.api)
    add_data(config, "a", 3, 3, 60)
    add_data(config, "b", 4, 4, 60)
    assert client.api.set_config(config).warnings == []
    code, _, sentences = errors_of(client.api, lambda: client.transmit("start", "a", "b"))
    assert code == 400 and "flows a, b need 120 % of the line from now on" in sentences[0], sentences


@pytest.mark.parametrize(("method", "path", "body", "status", "text"), [
    ("POST", "/config", b"{", 400, "the body is not JSON"),
    ("POST", "/config", b"[" * 100_000, 400, "the body is not JSON"),
    ("POST", "/config", b"\xff", 400, "the body is not JSON"),
    ("GET", "/nowhere", b"", 404, "GET /nowhere: Not Found"),
    ("DELETE", "/config", b"", 405, "DELETE /config: Method Not Allowed"),
    ("POST", "/clock/advance", b'{"nanoseconds": -1}', 400, "one request advances by 0 to"),
])
def test_every_failure_is_an_error_body(server, method, path, body, status, text):
    answer = requests.request(method, server.url + path, data=body, timeout=60)
    assert answer.status_code == status
    assert answer.json()["code"] == status
    assert len(answer.json()["errors"]) == 1
    assert text in answer.json()["errors"][0]


def test_the_virtual_clock_stands_still_until_it_is_advanced(server):
    assert requests.get(f"{server.url}/clock", timeout=60).json() == {"mode": "virtual", "now_ns": 0, "lag_ns": 0}
    answer = requests.post(f"{server.url}/clock/advance", json={"nanoseconds": 3_000_000_001}, timeout=60)
    assert answer.json() == {"mode": "virtual", "now_ns": 3_000_000_001, "lag_ns": 0}


def test_a_realtime_clock_runs_and_an_advance_waits_for_it(make_server):
    with make_server("realtime") as server:
        first = requests.get(f"{server.url}/clock", timeout=60).json()
        assert first["mode"] == "realtime"
        published = server.agents[0].published
        while server.agents[0].published < published + 3:
            assert requests.get(f"{server.url}/clock", timeout=60).status_code == 200
        now = requests.get(f"{server.url}/clock", timeout=60).json()
        assert now["now_ns"] > first["now_ns"]
        later = requests.post(f"{server.url}/clock/advance", json={"nanoseconds": 150_000_000}, timeout=60).json()
        assert later["mode"] == "realtime" and later["now_ns"] >= now["now_ns"] + 150_000_000
        answer = requests.post(f"{server.url}/clock/advance", json={"nanoseconds": -1}, timeout=60)
        assert answer.status_code == 400
        assert "nanoseconds is -1" in answer.json()["errors"][0]


def test_an_advance_does_not_wait_for_what_can_only_be_stepped(make_server):
    """Two ports into one, by the wall clock: the computation never catches up, and whoever waits is told why."""
    with patch.object(advance, "MOST_EVENTS", 5000), make_server("realtime") as server:
        client = Client(server.url)
        config = base_config(client.api)
        config.ports.port(name="other", location=LOCATIONS[3])
        add_data(config, "data", 3, 3, 100)
        add_data(config, "more", 3, 3, 100).tx_rx.port.tx_name = "other"
        client.api.set_config(config)
        client.transmit("start")
        answer = requests.post(f"{server.url}/clock/advance", json={"nanoseconds": 60 * 10**9}, timeout=60)
        client.close()
    assert answer.status_code == 500
    assert "of simulated time takes too long: frames can only be looked at one by one" in answer.json()["errors"][0]


def test_a_failed_switch_surfaces_in_the_next_answer(server):
    server.agents[0].failure = ConnectionError("redis is away")
    answer = requests.get(f"{server.url}/clock", timeout=60)
    assert answer.status_code == 500
    assert answer.json()["errors"] == ["switch vtb-t0-01: its agent failed (ConnectionError: redis is away)"]
    assert requests.get(f"{server.url}/clock", timeout=60).status_code == 200
