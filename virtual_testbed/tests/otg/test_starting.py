"""What starting flows does, for a real snappi client over HTTP and over gRPC: load in time, receivers that are the
sender, names, and starting a flow again."""
from __future__ import annotations

from contextlib import ExitStack, contextmanager

import pytest

from virtual_testbed.engine.testbed import serving_grpc
from virtual_testbed.tests.otg.test_grpc import INVALID_ARGUMENT, GrpcClient
from virtual_testbed.tests.otg.test_http import Client, add_data, add_storm, base_config, errors_of

SECOND_NS = 10**9
FRAMES = 11_973_181  # of 1024 bytes that begin in a second at 100 Gb/s
REFUSED = {"http": 400, "grpc": INVALID_ARGUMENT}
ODD_NAMES = ["a.b*c", "(x|y)", "^start$", "Zürich → 北京", "with spaces", "n" * 300, "100 %", "a/b\\c", "-"]


@pytest.fixture(params=REFUSED)
def transport(request):
    return request.param


@pytest.fixture
def connect(make_server, transport):
    """Serves a testbed with faults, and a client on it, for a `with` block."""
    @contextmanager
    def connected(*faults):
        with ExitStack() as stack:
            server = stack.enter_context(make_server(faults=faults))
            client = Client(server.url) if transport == "http" else GrpcClient(
                server, stack.enter_context(serving_grpc(server.engine, 0)))
            stack.callback(client.close)
            yield client
    return connected


@pytest.fixture
def client(connect):
    with connect() as connected:
        yield connected


def add_timed(config, name, priority, percent, delay_s, seconds):
    """Data at a part of the line, for a time that begins after another."""
    flow = add_data(config, name, priority, priority, percent, seconds=seconds)
    flow.duration.fixed_seconds.delay.nanoseconds = delay_s * SECOND_NS
    return flow


# ---- load

def test_flows_that_never_overlap_are_started_together(client):
    """A warm-up at line rate, and data at line rate after it, that fills the next two seconds one after the other."""
    config = base_config(client.api)
    add_timed(config, "warm-up", 3, 100, 0, 1)
    add_timed(config, "first", 3, 100, 1, 1)
    add_timed(config, "second", 4, 100, 2, 1)
    assert client.api.set_config(config).warnings == []
    assert client.transmit("start").warnings == []
    client.advance(4)
    assert {name: (flow.frames_tx, flow.frames_rx, flow.transmit) for name, flow in client.flows().items()} == {
        name: (FRAMES, FRAMES, "stopped") for name in ("warm-up", "first", "second")}


def test_flows_that_overlap_are_refused_and_nothing_changes(client, transport):
    config = base_config(client.api)
    add_timed(config, "warm-up", 3, 100, 0, 1)
    add_timed(config, "data", 4, 50, 0.5, 1)
    add_timed(config, "alone", 4, 100, 2, 1)
    assert client.api.set_config(config).warnings == []
    client.transmit("start", "warm-up", "alone")
    client.advance(0.25)
    before = client.flows()["warm-up"].frames_tx
    assert before > FRAMES // 5
    assert errors_of(client.api, lambda: client.transmit("start")) == (REFUSED[transport], "validation", [
        "generator port tx: flows data, warm-up need 150 % of the line from 0.5 s to 1 s after now: "
        "expected at most 100 %"])
    flows = client.flows()
    assert (flows["warm-up"].frames_tx, flows["warm-up"].transmit, flows["data"].transmit) == (
        before, "started", "stopped")
    client.advance(0.25)
    assert client.transmit("start", "data").warnings == [], "half a second later it begins when the warm-up ends"


def test_resuming_is_judged_as_starting_is(client, transport):
    config = base_config(client.api)
    add_timed(config, "held", 3, 100, 0, 10)
    add_timed(config, "data", 4, 100, 0, 2)
    client.api.set_config(config)
    client.transmit("start", "held")
    client.transmit("pause", "held")
    client.transmit("start", "data")
    client.advance(1)
    assert errors_of(client.api, lambda: client.transmit("resume")) == (REFUSED[transport], "validation", [
        "generator port tx: flows data, held need 200 % of the line from 0 s to 1 s after now: expected at most 100 %"])
    client.advance(1)
    assert client.transmit("resume", "held").warnings == []


# ---- a receiver that is the sender

def test_a_receiver_that_is_the_sender_receives_nothing(client):
    config = base_config(client.api)
    add_data(config, "back", 3, 3, 10, packets=1000).tx_rx.port.rx_names = ["tx"]
    add_data(config, "both", 4, 4, 10, packets=1000).tx_rx.port.rx_names = ["tx", "rx"]
    add_storm(config).tx_rx.port.rx_names = ["rx"]
    warnings = client.api.set_config(config).warnings
    assert [warning.split(":")[0] for warning in warnings] == [
        f"flows[{index}].tx_rx.port.rx_names" for index in range(3)]
    client.transmit("start", "back", "both")
    client.advance(1)
    flows, ports = client.flows(), client.ports()
    assert (flows["back"].frames_tx, flows["back"].frames_rx, flows["back"].loss) == (1000, 0, 100)
    assert (flows["both"].frames_tx, flows["both"].frames_rx) == (1000, 1000)
    assert (ports["tx"].frames_tx, ports["tx"].frames_rx, ports["rx"].frames_rx) == (2000, 0, 2000)
    client.transmit("start", "Pause Storm")
    client.advance(1)
    storm = client.flows()["Pause Storm"]
    assert storm.frames_tx > 5900 and storm.frames_rx == 0


def test_what_is_addressed_to_the_senders_own_port_is_dropped_by_the_switch(client):
    """A host behind the port where the frames come from: a switch does not send them back."""
    config = base_config(client.api)
    flow = add_data(config, "back", 3, 3, 10, packets=1000)
    flow.tx_rx.port.rx_names = ["tx"]
    flow.packet[0].dst.value, flow.packet[1].dst.value = flow.packet[0].src.value, "192.168.0.3"
    client.api.set_config(config)
    client.transmit("start")
    client.advance(1)
    assert (client.flows()["back"].frames_tx, client.flows()["back"].frames_rx) == (1000, 0)
    assert [(port.frames_tx, port.frames_rx) for port in client.ports().values()] == [(0, 0), (1000, 0)]


# ---- names

def test_any_name_is_a_flows_name(client):
    config = base_config(client.api)
    for name in ODD_NAMES:
        add_data(config, name, 3, 3, 1, packets=10)
    assert client.api.set_config(config).warnings == []
    for count, name in enumerate(ODD_NAMES, 1):
        client.transmit("start", name)
        client.advance(0.1)
        assert [flow.frames_tx for flow in client.flows().values()] == [10] * count + [0] * (len(ODD_NAMES) - count)


# ---- starting again

def again(client, *between):
    """Frames of a flow of 1000 frames, and of one of a second, that were started, and started again after that."""
    config = base_config(client.api)
    add_data(config, "frames", 3, 3, 10, packets=1000)
    add_data(config, "seconds", 4, 4, 10, seconds=1)
    client.api.set_config(config)
    client.transmit("start")
    client.advance(2)
    first = client.flows()
    assert [(flow.frames_tx > 0, flow.transmit) for flow in first.values()] == [(True, "stopped")] * 2
    for command in (*between, "start"):
        assert client.transmit(command).warnings == []
    client.advance(2)
    second = client.flows()
    assert [flow.transmit for flow in second.values()] == ["stopped"] * 2
    sent = {(flow.frames_tx, flow.frames_rx) for flow in second.values()}
    assert sent in ({(flow.frames_tx, flow.frames_rx) for flow in first.values()}, {(0, 0)})
    return sent != {(0, 0)}


def test_a_finished_flow_begins_again(client):
    assert again(client)


def test_a_finished_flow_that_stays_started_does_not_begin_again(connect):
    """Zero frames and no error, until it was told to stop or the configuration was pushed anew."""
    with connect("finished-flows-stay-started") as client:
        assert not again(client)
        assert again(client, "stop")
        assert not again(client, "pause")
        assert not again(client, "resume")
    with connect("finished-flows-stay-started@Ethernet0") as client:
        assert again(client), "the sender is on Ethernet8"


def test_beside_finished_flows_others_start(connect):
    with connect("finished-flows-stay-started@Ethernet8") as client:
        config = base_config(client.api)
        add_data(config, "first", 3, 3, 10, packets=1000)
        add_data(config, "second", 4, 4, 10, packets=500)
        client.api.set_config(config)
        client.transmit("start", "first")
        client.advance(1)
        client.transmit("start")
        client.advance(1)
        assert [flow.frames_tx for flow in client.flows().values()] == [0, 500]
