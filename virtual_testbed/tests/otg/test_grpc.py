"""The real snappi client over gRPC: the same operations, answers and errors as over HTTP."""
from __future__ import annotations

import io
import socket

import grpc
import pytest
import snappi
from scapy.utils import RawPcapReader

from virtual_testbed.engine.testbed import EngineError, serving_grpc
from virtual_testbed.otg.grpc_front import LARGEST_DETAILS
from virtual_testbed.tests.otg.conftest import SWITCH_MAC
from virtual_testbed.tests.otg.test_http import Client, add_data, add_storm, base_config, errors_of

INVALID_ARGUMENT, UNIMPLEMENTED, INTERNAL = 3, 12, 13


class GrpcClient(Client):
    """A snappi session over gRPC; the clock is asked over HTTP."""

    def __init__(self, server, grpc_port, **options):
        super().__init__(server.url)
        super().close()
        self.api = snappi.api(location=f"127.0.0.1:{grpc_port}", transport=snappi.Transport.GRPC, **options)
        self.api.request_timeout = 60

    def close(self):
        self.api.close()


@pytest.fixture
def grpc_port(server):
    with serving_grpc(server.engine, 0) as port:
        yield port


@pytest.fixture
def client(server, grpc_port):
    client = GrpcClient(server, grpc_port)
    yield client
    client.close()


def test_a_configuration_is_the_same_over_both_transports(client, server):
    config = base_config(client.api)
    add_data(config, "data", 3, 3, 7.142857142857143)
    add_storm(config)
    assert client.api.set_config(config).warnings == []
    over_http = Client(server.url)
    seen = [api.get_config().serialize("dict") for api in (client.api, over_http.api)]
    seen[1]["flows"][0]["rate"]["percentage"] = pytest.approx(7.142857142857143, rel=1e-6)  # 32 bits hold no more
    assert seen[0] == seen[1]
    expected = config.serialize("dict")
    expected["flows"][0]["rate"]["percentage"] = pytest.approx(7.142857142857143, rel=1e-6)
    assert seen[0] == expected
    assert over_http.api.set_config(config).warnings == []
    assert client.api.get_config().serialize("dict") == expected
    assert client.api.set_config(client.api.config()).warnings == []
    assert over_http.api.get_config().serialize("dict") == client.api.get_config().serialize("dict") == {}
    over_http.close()


def test_version_check_passes(server, grpc_port):
    client = GrpcClient(server, grpc_port, version_check=True)
    assert client.api.set_config(client.api.config()).warnings == []
    assert client.api.get_version().api_spec_version == "^1.40"
    client.close()


def test_traffic_metrics_and_states(client):
    config = base_config(client.api)
    add_data(config, "data", 3, 3, 50, packets=1000).metrics.latency.enable = True
    add_data(config, "late", 4, 4, 10, packets=10)
    client.api.set_config(config)
    neighbours = client.api.get_states(client.api.states_request()).ipv4_neighbors
    assert [(state.ethernet_name, state.link_layer_address) for state in neighbours] == [
        ("Ethernet rx", SWITCH_MAC), ("Ethernet tx", SWITCH_MAC)]
    assert client.transmit("start", "data").warnings == []
    client.advance(1)
    flows = client.flows()
    data, late = flows["data"], flows["late"]
    assert (data.transmit, data.frames_tx, data.frames_rx, data.bytes_rx, data.loss) == (
        "stopped", 1000, 1000, 1_024_000, 0)
    assert data.latency.average_ns > 0 and late.latency.average_ns is None
    assert (late.transmit, late.frames_tx, late.frames_rx, late.bytes_tx) == ("stopped", 0, 0, 0)
    port = client.ports()["rx"]
    assert (port.frames_rx, port.frames_tx, port.link, port.speed) == (1000, 0, "up", 12_500_000)


@pytest.mark.parametrize("streaming", [False, True])
def test_captures_are_bytes(client, streaming):
    config = base_config(client.api)
    add_data(config, "data", 3, 3, 50, packets=3000)
    config.captures.add(name="capture", port_names=["rx"], format="pcap")
    client.api.set_config(config)
    client.api.enable_grpc_streaming = streaming
    client.capture_control("start")
    client.transmit("start")
    client.advance(1)
    with RawPcapReader(io.BytesIO(client.capture("rx"))) as packets:
        assert [len(frame) for frame, _ in packets] == [1024] * 3000


def test_streamed_requests_and_answers(client):
    client.api.enable_grpc_streaming = True
    client.api._chunk_size = 500
    config = base_config(client.api)
    add_data(config, "data", 3, 3, 50, packets=100)
    assert client.api.set_config(config).warnings == []
    assert client.api.get_config().serialize("dict") == config.serialize("dict")
    client.transmit("start")
    client.advance(1)
    assert client.flows()["data"].frames_rx == 100
    assert len(client.api.get_states(client.api.states_request()).ipv4_neighbors) == 2


def test_flows_are_appended_changed_and_deleted(client):
    client.api.set_config(base_config(client.api))
    scratch = base_config(client.api)
    append = client.api.config_append()
    append.config_append_list.add().flows.append(add_data(scratch, "more", 3, 3, 1, packets=5))
    assert client.api.append_config(append).warnings == []
    update = client.api.config_update()
    update.flows.property_names = ["size"]
    scratch.flows[0].size.fixed = 128
    update.flows.flows.append(scratch.flows[0])
    assert client.api.update_config(update).warnings == []
    client.transmit("start")
    client.advance(1)
    assert client.flows()["more"].bytes_rx == 5 * 128
    delete = client.api.config_delete()
    delete.config_delete_list.add().flows = ["more"]
    assert client.api.delete_config(delete).warnings == []
    assert client.flows() == {}


def test_errors_have_their_sentences_and_grpcs_numbers(client):
    config = base_config(client.api)
    add_data(config, "data", 3, 3, 10).tx_rx.port.tx_name = "nowhere"
    config.lags.add(name="lag")
    assert errors_of(client.api, lambda: client.api.set_config(config)) == (INVALID_ARGUMENT, "validation", [
        "flows[0].tx_rx.port.tx_name: no port is named 'nowhere'; ports are rx, tx",
        "lags: not modelled; modelled are captures, devices, flows, layer1, options, ports"])
    assert errors_of(client.api, lambda: client.transmit("start", "x")) == (
        INVALID_ARGUMENT, "validation", ["traffic.flow_transmit.flow_names: no flow is named 'x'; flows are none"])
    action = client.api.control_action()
    action.protocol.ipv4.ping.requests.add(src_name="a", dst_ip="192.168.0.1")
    assert errors_of(client.api, lambda: client.api.set_control_action(action))[0] == UNIMPLEMENTED


def test_a_failed_switch_is_internal(client, server):
    server.agents[0].failure = ConnectionError("redis is away")
    code, kind, errors = errors_of(client.api, lambda: client.api.set_config(client.api.config()))
    assert (code, kind) == (INTERNAL, "internal")
    assert errors == ["switch vtb-t0-01: its agent failed (ConnectionError: redis is away)"]


def test_more_errors_than_an_answer_holds_are_counted(client):
    config = base_config(client.api)
    for number in range(200):
        add_data(config, f"flow {number}", 3, 3, 0.1).tx_rx.port.tx_name = "nowhere"
    _, _, errors = errors_of(client.api, lambda: client.api.set_config(config))
    assert errors[0] == "flows[0].tx_rx.port.tx_name: no port is named 'nowhere'; ports are rx, tx"
    assert errors[-1] == f"and {200 - len(errors) + 1} more"
    assert LARGEST_DETAILS * 0.8 < sum(map(len, errors)) < LARGEST_DETAILS


@pytest.mark.parametrize(("method", "message", "sentence"), [
    ("SetConfig", b"", "request: config missing"),
    ("streamSetConfig", b"\x12\x02\xff\xff", "request: its pieces are no Config"),
])
def test_what_is_no_request_is_refused(grpc_port, method, message, sentence):
    with grpc.insecure_channel(f"127.0.0.1:{grpc_port}") as channel:
        if method.startswith("stream"):
            call = channel.stream_unary(f"/otg.Openapi/{method}")
            ask = lambda: call(iter([message]), timeout=60)  # noqa: E731
        else:
            call = channel.unary_unary(f"/otg.Openapi/{method}")
            ask = lambda: call(message, timeout=60)  # noqa: E731
        with pytest.raises(grpc.RpcError) as caught:
            ask()
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert sentence in caught.value.details()


def test_a_port_that_is_taken_is_refused(server):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(EngineError, match=f"^127.0.0.1:{port} cannot be used"):
            with serving_grpc(server.engine, port):
                pass
