"""The OTG operations on a data plane that only writes down what it is told."""
from __future__ import annotations

from dataclasses import replace

import pytest

from virtual_testbed.dataplane.model.counters import CapturedFrame, FlowCounters, GeneratorCounters
from virtual_testbed.dataplane.network import NetworkError
from virtual_testbed.otg.errors import OtgError
from virtual_testbed.otg.service import OtgService

LEFT, RIGHT = "127.1.0.1;1;1", "127.1.0.2;1;1"
SWITCH_MAC = "02:00:5e:00:00:01"


class Plane:
    """Remembers calls; counters are what a test sets them to."""

    def __init__(self):
        self.now_ps = 0
        self.calls = []
        self.flows = {}
        self.ports = {}
        self.frames = []
        self.checked = []
        self.refuses = False

    def set_traffic(self, ports, hosts, flows):
        self.flows = {flow.name: FlowCounters(0, 0, 0, 0, "stopped") for flow in flows}
        self.ports = {port.name: GeneratorCounters(0, 0, 0, 0, True, 100_000) for port in ports}

    def flow_counters(self, name):
        return self.flows[name]

    def generator_counters(self, port):
        return self.ports[port]

    def capture(self, port):
        return self.frames

    def clear_flow_counters(self, names):
        self._do("clear", names)
        for name in names:
            self.flows[name] = FlowCounters(0, 0, 0, 0, self.flows[name].transmit)

    def check_load(self, starting, resuming):
        if self.refuses:
            raise NetworkError("too much")
        self.checked.append((list(starting), list(resuming)))

    def start_flows(self, names):
        self._do("start", names, "started")

    def stop_flows(self, names):
        self._do("stop", names, "stopped")

    def pause_flows(self, names):
        self._do("pause", names, "paused")

    def resume_flows(self, names):
        self._do("resume", names, "started")

    def add_flows(self, flows):
        self._do("add", flows)
        self.flows.update({flow.name: FlowCounters(0, 0, 0, 0, "stopped") for flow in flows})

    def remove_flows(self, names):
        self._do("remove", names)

    def set_link(self, port, up):
        self._do("link", [port, up])
        self.ports[port] = replace(self.ports[port], link_up=up)

    def start_capture(self, port, limit_frames):
        self._do("capture", [port, limit_frames])

    def stop_capture(self, port):
        self._do("end capture", [port])

    def _do(self, what, names, transmit=None):
        if names:
            self.calls.append((what, list(names)))
        for name in names if transmit else ():
            self.flows[name] = replace(self.flows[name], transmit=transmit)

    def count(self, name, tx, rx, size=1000):
        self.flows[name] = replace(self.flows[name], frames_tx=tx, frames_rx=rx, bytes_tx=tx * size, bytes_rx=rx * size)


class FakeFabric:
    speeds = {LEFT: 100_000, RIGHT: 100_000}
    switch_macs = (SWITCH_MAC,)
    answers = True

    def gateway_mac(self, location, gateway):
        return SWITCH_MAC if self.answers and gateway == "192.168.0.1" else None


def flow(name, **changes):
    return {"name": name, "tx_rx": {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p2"]}},
            "packet": [{"choice": "ethernet", "ethernet": {}}, {"choice": "ipv4", "ipv4": {}}],
            "rate": {"choice": "pps", "pps": "100"}, "metrics": {"enable": True, "loss": True}, **changes}


CONFIG = {
    "ports": [{"name": "p1", "location": LEFT}, {"name": "p2", "location": RIGHT}],
    "captures": [{"name": "c", "port_names": ["p2"], "format": "pcapng", "overwrite": False}],
    "devices": [{"name": "d", "ethernets": [{
        "name": "e", "connection": {"choice": "port_name", "port_name": "p1"}, "mac": "00:00:00:00:00:01",
        "ipv4_addresses": [{"name": "i4", "address": "192.168.0.2", "gateway": "192.168.0.1"}],
        "ipv6_addresses": [{"name": "i6", "address": "fc02::2", "gateway": "fc02::1"}]}]}],
    "flows": [flow("a"), flow("b"), flow("quiet", metrics={})],
}


def transmit(state, *names):
    return {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {
        "state": state, "flow_names": list(names)}}}


def port_state(kind, state, *names):
    return {"choice": "port", "port": {"choice": kind, kind: {"state": state, "port_names": list(names)}}}


def flow_metrics(service, **request):
    return service.get_metrics({"choice": "flow", "flow": request})["flow_metrics"]


@pytest.fixture
def plane():
    return Plane()


@pytest.fixture
def service(plane):
    service = OtgService(plane, FakeFabric())
    assert service.set_config(CONFIG)["warnings"] == []
    plane.calls.clear()
    return service


def test_the_configuration_is_echoed_and_an_empty_one_clears(service, plane):
    assert service.get_config() == CONFIG
    service.set_config({})
    assert service.get_config() == {}
    assert plane.flows == {}


def test_a_refused_configuration_changes_nothing(service):
    with pytest.raises(OtgError):
        service.set_config({"flows": [{}]})
    assert service.get_config() == CONFIG


def test_start_clears_the_counters_of_the_named_flows_only(service, plane):
    plane.count("a", 5, 5)
    plane.count("b", 7, 7)
    assert service.set_control_state(transmit("start", "a")) == {"warnings": []}
    assert plane.calls == [("clear", ["a"]), ("start", ["a"])]
    assert plane.flows["b"].frames_tx == 7


def test_starting_a_started_flow_begins_anew(service, plane):
    service.set_control_state(transmit("start", "a"))
    plane.calls.clear()
    service.set_control_state(transmit("start"))
    assert plane.calls == [("stop", ["a"]), ("clear", ["a", "b", "quiet"]), ("start", ["a", "b", "quiet"])]


@pytest.mark.parametrize("state", ["stop", "pause"])
def test_stop_and_pause_clear_nothing(service, plane, state):
    service.set_control_state(transmit(state, "b"))
    assert plane.calls == [(state, ["b"])]


def test_resume_continues_paused_flows_and_begins_stopped_ones(service, plane):
    service.set_control_state(transmit("start", "a", "b"))
    service.set_control_state(transmit("pause", "a"))
    plane.calls.clear()
    service.set_control_state(transmit("resume"))
    assert plane.calls == [("resume", ["a"]), ("start", ["quiet"])]


@pytest.mark.parametrize("state, checked", [("start", (["a", "b"], [])), ("resume", (["b"], ["a"]))])
def test_what_the_line_cannot_carry_changes_nothing(service, plane, state, checked):
    service.set_control_state(transmit("start", "a"))
    service.set_control_state(transmit("pause", "a"))
    plane.count("a", 5, 5)
    plane.calls.clear()
    plane.refuses = True
    with pytest.raises(NetworkError):
        service.set_control_state(transmit(state, "a", "b"))
    assert plane.calls == []
    assert (plane.flows["a"].frames_tx, plane.flows["a"].transmit) == (5, "paused")
    plane.refuses = False
    service.set_control_state(transmit(state, "a", "b"))
    assert plane.checked[-1] == checked


def test_flow_metrics_of_flows_that_have_them(service, plane):
    plane.count("a", 200, 150)
    metrics = flow_metrics(service)
    assert [metric["name"] for metric in metrics] == ["a", "b"]
    assert metrics[0]["frames_tx"] == 200
    assert metrics[0]["bytes_rx"] == 150_000
    assert metrics[0]["loss"] == 25
    assert (metrics[0]["port_tx"], metrics[0]["port_rx"], metrics[0]["transmit"]) == ("p1", "p2", "stopped")
    assert (metrics[1]["frames_tx"], metrics[1]["loss"]) == (0, 0)


def test_metrics_can_be_filtered(service):
    assert flow_metrics(service, flow_names=["b"], metric_names=["frames_tx"]) == [
        {"name": "b", "port_tx": "p1", "port_rx": "p2", "frames_tx": 0, "loss": 0}]
    ports = service.get_metrics({"choice": "port", "port": {"port_names": ["p2"], "column_names": ["link", "speed"]}})
    assert ports == {"choice": "port_metrics", "port_metrics": [{"name": "p2", "link": "up", "speed": 12_500_000}]}


def test_rates_are_those_of_the_last_second(service, plane):
    service.set_control_state(transmit("start", "a"))
    for second, frames in ((1, 100), (2, 400)):
        plane.now_ps = second * 10**12
        plane.count("a", frames, frames // 2)
        service.sample()
    metric = flow_metrics(service, flow_names=["a"])[0]
    assert (metric["frames_tx_rate"], metric["frames_rx_rate"]) == (300, 150)
    assert metric["tx_rate_bytes"] == 300_000
    assert metric["tx_rate_bps"] == 2_400_000
    assert metric["tx_l1_rate_bps"] == 300 * 1020 * 8


def test_rates_begin_anew_with_the_counters(service, plane):
    service.set_control_state(transmit("start"))
    plane.now_ps = 10**12
    plane.count("a", 1000, 1000)
    service.sample()
    service.set_control_state(transmit("start", "a"))
    assert flow_metrics(service)[0]["frames_tx_rate"] == 0
    plane.now_ps += 10**11
    plane.count("a", 10, 10)
    service.sample()
    assert flow_metrics(service)[0]["frames_tx_rate"] == 100


def test_neighbours_are_resolved_right_after_the_configuration(service):
    assert service.get_states({"choice": "ipv4_neighbors"}) == {"choice": "ipv4_neighbors", "ipv4_neighbors": [
        {"ethernet_name": "e", "ipv4_address": "192.168.0.1", "link_layer_address": SWITCH_MAC}]}
    assert service.get_states({"choice": "ipv6_neighbors", "ipv6_neighbors": {"ethernet_names": ["e"]}}) == {
        "choice": "ipv6_neighbors", "ipv6_neighbors": [{"ethernet_name": "e", "ipv6_address": "fc02::1"}]}


def test_protocol_stop_forgets_the_neighbours(service):
    service.set_control_state({"choice": "protocol", "protocol": {"choice": "all", "all": {"state": "stop"}}})
    assert "link_layer_address" not in service.get_states({})["ipv4_neighbors"][0]
    service.set_control_state({"choice": "protocol", "protocol": {"choice": "all", "all": {"state": "start"}}})
    assert "link_layer_address" in service.get_states({})["ipv4_neighbors"][0]


def test_a_flow_without_resolved_gateway_is_not_started(plane):
    fabric = FakeFabric()
    fabric.answers = False
    service = OtgService(plane, fabric)
    far = {"name": "far", "ethernets": [{
        "name": "f", "connection": {"choice": "port_name", "port_name": "p2"},
        "ipv4_addresses": [{"name": "j4", "address": "10.0.0.2", "gateway": "10.0.0.1"}]}]}
    ends = {"choice": "device", "device": {"tx_names": ["i4"], "rx_names": ["j4"]}}
    answer = service.set_config({**CONFIG, "devices": [*CONFIG["devices"], far], "flows": [flow("a", tx_rx=ends)]})
    assert [warning.split(":")[0] for warning in answer["warnings"]] == ["flows[0].tx_rx.device"]
    with pytest.raises(OtgError) as caught:
        service.set_control_state(transmit("start"))
    assert caught.value.errors == ("flow a: gateway 192.168.0.1 of 'i4' is not resolved: no frame can be sent; "
                                   "set the configuration again once it is",)
    assert plane.calls == []


def test_links_and_when_they_changed(service, plane):
    plane.now_ps = 5_000_000
    service.set_control_state(port_state("link", "down", "p2"))
    metrics = service.get_metrics({"choice": "port"})["port_metrics"]
    assert [(metric["link"], metric["last_change"]) for metric in metrics] == [("up", 0), ("down", 5000)]
    assert plane.calls == [("link", ["p2", False])]


def test_capture_is_started_stopped_and_read(service, plane):
    service.set_control_state(port_state("capture", "start"))
    assert service.get_metrics({"choice": "port"})["port_metrics"][1]["capture"] == "started"
    data = service.get_capture({"port_name": "p2"})
    assert data[:4] == b"\x0a\x0d\x0d\x0a"
    assert plane.calls == [("capture", ["p2", 16384]), ("end capture", ["p2"])]
    service.set_control_state(port_state("capture", "stop"))
    assert len(plane.calls) == 2


def test_a_slice_of_a_capture(service, plane):
    plane.frames = [CapturedFrame(n, bytes([n]) * 60) for n in range(10)]
    service.set_control_state(port_state("capture", "start"))
    request = {"port_name": "p2", "packets": {"choice": "slice", "slice": {
        "choice": "initial", "initial": {"start": "3", "count": 2}}}}
    data = service.get_capture(request)
    assert [bytes([n]) * 60 in data for n in range(10)] == [n in (2, 3) for n in range(10)]


def test_a_capture_that_was_never_started_is_empty(service, plane):
    plane.frames = [CapturedFrame(0, bytes(60))]
    assert bytes(60) not in service.get_capture({"port_name": "p2"})
    service.set_control_state(port_state("capture", "start"))
    assert bytes(60) in service.get_capture({"port_name": "p2"})
    service.set_config(CONFIG)
    assert bytes(60) not in service.get_capture({"port_name": "p2"})


@pytest.mark.parametrize(("frames", "is_full"), [(16383, False), (16384, True)])
def test_a_full_capture_says_so(service, plane, caplog, frames, is_full):
    plane.frames = [CapturedFrame(0, bytes(60))] * frames
    service.set_control_state(port_state("capture", "start"))
    assert (b"full: these are the first 16384 frames" in service.get_capture({"port_name": "p2"})) == is_full
    assert [record.getMessage() for record in caplog.records] == is_full * [
        "the capture of port p2 is full: it holds the first 16384 frames"]


def test_only_what_has_metrics_is_read_for_the_rates_and_once(service, plane, monkeypatch):
    read = []
    monkeypatch.setattr(plane, "flow_counters", lambda name: read.append(name) or plane.flows[name])
    monkeypatch.setattr(plane, "generator_counters", lambda name: read.append(name) or plane.ports[name])
    service.sample()
    assert sorted(read) == ["a", "b", "p1", "p2"]
    read.clear()
    service.get_metrics({"choice": "port", "port": {"port_names": ["p2"]}})
    assert read == ["p2"]


def test_flows_are_appended_updated_and_deleted(service, plane):
    service.append_config({"config_append_list": [{"choice": "flows", "flows": [flow("new")]}]})
    service.update_config({"choice": "flows", "flows": {"property_names": ["rate"], "flows": [
        flow("new", rate={"choice": "pps", "pps": 7}, size={"choice": "fixed", "fixed": 999})]}})
    service.delete_config({"config_delete_list": [{"choice": "flows", "flows": ["a"]}]})
    assert [call[0] for call in plane.calls] == ["add", "remove", "add", "remove"]
    changed = plane.calls[2][1][0]
    assert (changed.name, changed.rate_fps, changed.sizes) == ("new", 7, (64,))
    assert [flow["name"] for flow in service.get_config()["flows"]] == ["b", "quiet", "new"]
    assert service.get_config()["flows"][2]["rate"] == {"choice": "pps", "pps": 7}


def test_an_appended_flow_to_nobody_is_said(service):
    header = {"choice": "ethernet", "ethernet": {"dst": {"choice": "value", "value": "00:00:00:00:00:99"}}}
    lost = flow("lost", packet=[header, {"choice": "ipv4", "ipv4": {}}])
    answer = service.append_config({"config_append_list": [{"choice": "flows", "flows": [lost, flow("new")]}]})
    assert answer["warnings"] == [
        "flow lost: nobody has its destination MAC address 00:00:00:00:00:99, so the switch drops it"]


def test_a_running_flow_is_not_updated(service, plane):
    service.set_control_state(transmit("start", "a"))
    with pytest.raises(OtgError, match="flow a: changing its rate or size while it runs is not modelled"):
        service.update_config({"choice": "flows", "flows": {"property_names": ["rate"], "flows": [flow("a")]}})
    assert [call[0] for call in plane.calls] == ["clear", "start"]


def test_version_is_a_range(service):
    assert service.get_version()["api_spec_version"].startswith("^")


UNKNOWN_FLOW = "no flow is named 'x'; flows are a, b, quiet"
UNKNOWN_PORT = "no port is named 'x'; ports are p1, p2"


@pytest.mark.parametrize(("operation", "body", "code", "expected"), [
    ("set_control_state", transmit("start", "a", "x"), 400, f"traffic.flow_transmit.flow_names: {UNKNOWN_FLOW}"),
    ("set_control_state", transmit("go"), 400,
     "traffic.flow_transmit.state: 'go' found, one of start, stop, pause, resume expected"),
    ("set_control_state", port_state("link", "up", "x"), 400, f"port.link.port_names: {UNKNOWN_PORT}"),
    ("set_control_state", port_state("capture", "start", "x"), 400, f"port.capture.port_names: {UNKNOWN_PORT}"),
    ("set_control_state", port_state("capture", "start", "p1"), 400,
     "port.capture.port_names: no capture is configured for port 'p1'"),
    ("set_control_state", {"choice": "protocol", "protocol": {"choice": "bgp"}}, 400,
     "protocol.bgp: not modelled; modelled are all"),
    ("set_control_state", {}, 400, "choice: missing; modelled are port, protocol, traffic"),
    ("set_control_action", {"choice": "protocol"}, 501, "protocol: not modelled; no control action is"),
    ("get_metrics", {"choice": "flow", "flow": {"flow_names": ["x"]}}, 400, f"flow.flow_names: {UNKNOWN_FLOW}"),
    ("get_metrics", {"choice": "flow", "flow": {"metric_names": ["x"]}}, 400, "flow.metric_names: no metric is named"),
    ("get_metrics", {"choice": "port", "port": {"port_names": ["x"]}}, 400, f"port.port_names: {UNKNOWN_PORT}"),
    ("get_metrics", {"choice": "bgpv4"}, 501, "bgpv4: metrics not modelled; modelled are port, flow"),
    ("get_states", {"choice": "bgp_prefixes"}, 501, "bgp_prefixes: states not modelled; modelled are ipv4_neighbors"),
    ("get_states", {"choice": "ipv4_neighbors", "ipv4_neighbors": {"ethernet_names": ["x"]}}, 400,
     "ethernet_names: no ethernet is named 'x'; ethernets are e"),
    ("get_capture", {"port_name": "x"}, 400, f"port_name: {UNKNOWN_PORT}"),
    ("get_capture", {"port_name": "p1"}, 400, "port_name: no capture is configured for port 'p1'"),
    ("get_capture", {}, 400, "port_name: missing"),
    ("append_config", {"config_append_list": [{"choice": "flows", "flows": [flow("a")]}]}, 400,
     "flows[0].name: 'a' is already the name of another object"),
    ("append_config", {"config_append_list": [{"choice": "ports", "ports": []}]}, 400,
     "config_append_list[0].ports: not modelled; modelled are flows"),
    ("delete_config", {"config_delete_list": [{"choice": "flows", "flows": ["x"]}]}, 400,
     f"config_delete_list: {UNKNOWN_FLOW}"),
    ("update_config", {"choice": "flows", "flows": {"property_names": ["rate"], "flows": [flow("x")]}}, 400,
     f"flows.flows: {UNKNOWN_FLOW}"),
    ("update_config", {"choice": "flows", "flows": {"property_names": ["name"], "flows": [flow("a")]}}, 400,
     "flows.property_names: name: not modelled; modelled are rate, size"),
])
def test_what_cannot_be_done_is_refused_by_name(service, plane, operation, body, code, expected):
    with pytest.raises(OtgError) as caught:
        getattr(service, operation)(body)
    assert len(caught.value.errors) == 1, caught.value.errors
    assert caught.value.errors[0].startswith(expected)
    assert caught.value.code == code
    assert plane.calls == []
    assert service.get_config() == CONFIG
