"""What is done with ports of the generators beside sending: captures, late reactions to pauses, links."""

import io

import pytest
import snappi

from tests.common.pfc.lab import generator_ports
from tests.common.pfc.lab.generator import Generator, Traffic
from tests.common.pfc.lab.observer import RunObserver
from tests.common.pfc.model.errors import QualificationError
from tests.common.unit_tests.pfc.shell_switch import Clock

PORTS = ["rx Ethernet0", "tx Ethernet64", "tx Ethernet68"]


class PortsApi(snappi.Api):
    """snappi's own objects; keeps what ports are told. `captured`: what a capture is answered with; `gone`: nobody
    answers."""

    def __init__(self):
        super().__init__()
        self.told = []
        self.captured = b""
        self.gone = False

    def set_control_state(self, payload):
        if self.gone:
            raise ConnectionError("[Errno 111] Connection refused")
        part = payload.port.capture if payload.port.choice == "capture" else payload.port.link
        self.told.append((payload.port.choice, part.state, list(part.port_names or ())))

    def get_capture(self, payload):
        self.told.append(("read", payload.port_name))
        return self.captured

    def get_metrics(self, payload):
        if self.gone:
            raise ConnectionError("[Errno 111] Connection refused")
        self.told.append(("metrics", list(payload.flow.flow_names)))
        return snappi.MetricsResponse()


class Keeper(RunObserver):
    """Keeps captures."""

    def __init__(self):
        self.captures = []

    def capture_read(self, data):
        self.captures.append(data)


def traffic_of_ports():
    """A configuration with ports that react to pauses at once."""
    config = snappi.Api().config()
    for name in PORTS:
        config.ports.port(name=name)
        config.layer1.layer1(name=f"L1 of {name}", port_names=[name])[-1].flow_control.ieee_802_1qbb.pfc_delay = 0
    return Traffic(config, {})


def test_what_arrives_can_be_captured_only_where_that_is_asked_for():
    """Old frames are kept where there is no room for new ones: the first are those that are looked for."""
    traffic = generator_ports.capturing(traffic_of_ports(), PORTS[:2])
    [capture] = traffic.config.captures
    assert (list(capture.port_names), capture.format, capture.overwrite) == (PORTS[:2], "pcap", False), capture


def test_all_ports_but_one_react_late():
    """By so many quanta."""
    traffic = generator_ports.reacting_late(traffic_of_ports(), 700, PORTS[1])
    delays = [one.flow_control.ieee_802_1qbb.pfc_delay for one in traffic.config.layer1]
    assert delays == [700, 0, 700], delays


@pytest.mark.parametrize("wrapped", [bytes, bytearray, io.BytesIO])
def test_a_capture_is_ended_everywhere_before_it_is_read(wrapped):
    """Whatever its bytes come in; who looks on has them too."""
    api, keeper = PortsApi(), Keeper()
    generator = Generator(api, Clock(), [RunObserver(), keeper])
    api.captured = wrapped(b"\xd4\xc3\xb2\xa1")
    generator_ports.start_capture(generator, PORTS[:2])
    data = generator_ports.end_capture(generator, PORTS[1])
    assert api.told == [("capture", "start", PORTS[:2]), ("capture", "stop", []), ("read", PORTS[1])], api.told
    assert data == b"\xd4\xc3\xb2\xa1" and keeper.captures == [data], (data, keeper.captures)


@pytest.mark.parametrize(("names", "up", "state"), [(PORTS[:1], False, "down"), (PORTS[:1], True, "up"),
                                                    ([], True, "up")])
def test_links_are_taken_down_and_up(names, up, state):
    """Without names those of all ports."""
    api = PortsApi()
    generator_ports.set_links(Generator(api, Clock()), names, up)
    assert api.told == [("link", state, names)], api.told


def test_a_look_asks_for_all_statistics():
    api = PortsApi()
    generator_ports.look(Generator(api, Clock()))
    assert api.told == [("metrics", [])], api.told


@pytest.mark.parametrize("asked", [
    generator_ports.look,
    lambda generator: generator_ports.set_links(generator, PORTS, False),
    lambda generator: generator_ports.start_capture(generator, PORTS),
])
def test_generators_that_do_not_answer_are_told_in_one_sentence(asked):
    api = PortsApi()
    api.gone = True
    with pytest.raises(QualificationError, match="^the traffic generator's API server: Connection refused$"):
        asked(Generator(api, Clock()))
