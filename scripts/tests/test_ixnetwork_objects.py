"""What this suite's configurations become on a Keysight chassis: snappi_ixnetwork and ixnetwork_restpy as they are,
over the session of IxNetwork's REST API that the virtual testbed serves (docs/hardware.md says what that cannot show).

Needs the packages of the extra `ixnetwork`, which is no part of the tests' environment: `test_ixnetwork_check.py` runs
this file in one that has them.
"""
import json
import logging
from dataclasses import replace
from importlib.metadata import version
from urllib.parse import urlsplit

import pytest
import snappi

from tests.common.pfc.lab.generator import Generator
from tests.common.pfc.lab.generator_ports import capturing
from tests.common.pfc.lab.option import adapted
from tests.common.pfc.lab.otg_config import TrafficBuilder
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.model.ports import ConnectedPort, PlayedHost, PortPair
from tests.common.pfc.model.qos import PortQos, SharedBuffer
from tests.common.pfc.model.traffic import FlowPlan, PauseFrame, Role, global_pause_frame, pfc_frame
from virtual_testbed.ixnetwork.habits import CRC_ERRORS, read_habits
from virtual_testbed.ixnetwork.session import DEFAULT_CARD, IxNetworkSession
from virtual_testbed.tests.ixnetwork.kept_otg import KeptOtg, ROUTER

pytest.importorskip("snappi_ixnetwork", reason="the extra `ixnetwork` (snappi_ixnetwork) is not installed: "
                                               "test_ixnetwork_check.py runs this where it is")

CHASSIS = "10.0.0.9"
DSCPS = {0: [8], 1: [0, 1, 2], 3: [3], 4: [4], 5: [46], 6: [48, 9]}
STORM = FlowPlan("Storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3, 4), 0xFFFF))
TEST = FlowPlan("Test", Role.TEST, 3, 1024, percent=50.0, seconds=5)
LATER = FlowPlan("Later", Role.BACKGROUND, 1, 1024, percent=8.25, seconds=5, delay_ns=1500)
COUNTED = FlowPlan("Counted", Role.CLEAN, 5, 1024, percent=1.0, frames=1000)
START, STOP = "startstatelesstrafficblocking", "stopstatelesstrafficblocking"


class NoClock:
    """Time that passes at once."""

    exact = False

    def __init__(self):
        self._seconds = 0.0

    def moment(self):
        return self.now()

    def now(self):
        """Seconds."""
        return self._seconds

    def sleep(self, seconds):
        """They are over."""
        self._seconds += seconds


class Answered:
    """What `requests` returns: the parts that are read."""

    def __init__(self, answer):
        is_file = isinstance(answer.content, bytes)
        self.status_code = answer.status
        self.content = answer.content if is_file else json.dumps(answer.content).encode()
        self.text = self.content.decode()
        self.reason = ""
        self.headers = {"Content-Type": "application/octet-stream" if is_file else "application/json",
                        "server": "Jetty"}

    def json(self):
        """The content, parsed."""
        return json.loads(self.content)

    def raise_for_status(self):
        """Refusals are read, not raised."""


class RecordedChassis:
    """A session of IxNetwork's API, with what it was asked for.

    Attributes:
        otg: the traffic generator behind it.
        imports, operations: what was asked for, in order; an operation with its first argument.
    """

    def __init__(self, habits=()):
        self.otg = KeptOtg()
        locations = {f"{CHASSIS};{card};{port}": 100_000 for card in (1, 2) for port in (1, 2)}
        self.passed_ns = 0
        self._session = IxNetworkSession(self.otg, locations, read_habits(habits), self._wait)
        self.imports = []
        self.operations = []

    def _wait(self, nanoseconds):
        self.passed_ns += nanoseconds

    def request(self, method, url, data):
        """Takes the place of `requests.Session.request`."""
        address = urlsplit(url)
        body = json.loads(data) if data else None
        if "/operations/" in address.path and not address.path.endswith("select"):
            arguments = {key.lower(): value for key, value in (body or {}).items()}
            verb = address.path.rpartition("/")[2].lower()
            self.operations.append((verb, arguments.get("arg1")))
            if verb == "importconfig":
                self.imports.append(json.loads(arguments["arg2"]))
        return Answered(self._session.request(method.upper(), address.path, address.query, body))

    @property
    def tree(self):
        """All objects."""
        return self._session.tree.root

    def items(self):
        """The traffic items as they are now."""
        return self._session.chassis.items


@pytest.fixture(name="habits")
def fixture_habits():
    """None, unless a test says which."""
    return ()


@pytest.fixture(name="chassis")
def fixture_chassis(monkeypatch, habits):
    """IxNetwork without a network."""
    recorded = RecordedChassis(habits)
    monkeypatch.setattr("requests.Session.request", lambda _, method, url, **options: recorded.request(
        method, url, options.get("data")))
    yield recorded
    for name in ("snappi_ixnetwork", "ixnetwork_restpy.connection"):  # both write to the stdout of their first use
        logging.getLogger(name).handlers.clear()


@pytest.fixture(name="extension")
def fixture_extension(chassis):
    """snappi's API object for the transport `ixnetwork`, as it is."""
    return snappi.api(location="https://10.0.0.8:443", ext="ixnetwork", loglevel=logging.ERROR)


@pytest.fixture(name="api")
def fixture_api(extension):
    """The same as the suite uses it."""
    return adapted(extension, NoClock())


def make_builder(api, speed_mbps=100_000, ip_version=4, device="lab-1", card=1, **options):
    """A builder for two ports in one VLAN."""
    rx, tx = (
        ConnectedPort(device, f"Ethernet{4 * place}", f"ixia-{place}", f"{CHASSIS};{card};{place + 1}", speed_mbps)
        for place in (0, 1))
    net, bits = ("192.168.0.{}", 21) if ip_version == 4 else ("fc02:1000::{}", 64)
    hosts = {port: PlayedHost(f"host of {port.port}", f"02:00:00:00:01:0{number}", net.format(number), bits,
                              net.format(1), "Vlan1000") for number, port in enumerate((rx, tx), 2)}
    qos = PortQos(device, rx.port, (3, 4), DSCPS, "AZURE")
    return TrafficBuilder(
        api, PortUnderTest(PortPair(rx, tx), qos, SharedBuffer("egress_lossless_pool", 1)), hosts, ROUTER, **options
    )


def push(api, *flows, **options):
    """Builds, and pushes as the suite does."""
    traffic = make_builder(api, **options).build(flows)
    generator = Generator(api, NoClock())
    generator.push(traffic)
    return generator


def metrics_of(api, *names):
    """A request."""
    request = api.metrics_request()
    request.flow.flow_names = list(names)
    return request


def sent(chassis):
    """The first flow of what the traffic generator got last."""
    return chassis.otg.configs[-1]["flows"][0]


def element(item):
    """A traffic item's rate, size, duration and frame."""
    return item["configElement"][0]


def fields(item):
    """What the fields of a frame are set to: the name's last part -> value; fields without one are left out."""
    found = {}
    for field in (field for stack in element(item)["stack"] for field in stack["field"]):
        name = field["xpath"].split("'")[-2].rpartition("-")[0].removesuffix(".header").split(".")
        kind = field.get("valueType", "")
        if kind in field:
            found[f"{name[0]}.{name[-1]}"] = field[kind]
    return found


def done(chassis, *verbs):
    """The operations of these names since the last look."""
    operations = [operation for operation in chassis.operations if operation[0] in verbs]
    chassis.operations.clear()
    return operations


def test_a_pfc_frame_has_its_class_enable_vector_and_eight_times(chassis, api):
    push(api, STORM)
    storm = chassis.items()[0]
    assert [stack["xpath"].split("'")[1] for stack in element(storm)["stack"]] == ["pfcPause-1"]
    seen = fields(storm)
    assert seen["pfcPause.dstAddress"] == "01:80:C2:00:00:01" and seen["pfcPause.srcAddress"] == "00:00:fa:ce:fa:ce"
    assert (seen["pfcPause.ethertype"], seen["pfcPause.controlOpcode"]) == ("8808", "101")  # hexadecimal
    assert seen["pfcPause.priorityEnableVector"] == "18"
    assert [seen[f"pfcPause.pfcQueue{queue}"] for queue in range(8)] == ["0", "0", "0", "ffff", "ffff", "0", "0", "0"]
    assert element(storm)["frameSize"]["fixedSize"] == 64 and chassis.tree["traffic"]["enableMinFrameSize"] is True
    assert element(storm)["frameRate"]["type"] == "framesPerSecond" and element(storm)["frameRate"]["rate"] == 5960


@pytest.mark.xfail(tuple(map(int, version("snappi_ixnetwork").split("."))) < (1, 61, 3), strict=True,
                   raises=QualificationError,
                   reason="before 1.61.3 the second import of a flow has an empty custom header for the pause frame")
def test_a_global_pause_frame_is_the_same_after_both_imports(chassis, api):
    push(api, FlowPlan("Global", Role.STORM, None, 64, fps=5960, pause=global_pause_frame(0xFFFF)))
    seen = fields(chassis.imports[-1]["traffic"]["trafficItem"][0])
    assert [seen.get(f"globalPause.{name}") for name in ("ethertype", "controlOpcode", "pfcQueue0")] == [
        "8808", 1, "ffff"]


def test_data_carries_its_addresses_dscp_values_and_pfc_queue(chassis, api):
    push(api, TEST, LATER, COUNTED)
    test, later, counted = map(fields, chassis.items())
    assert test["ethernet.destinationAddress"] == "02:00:00:00:01:02" and test["ethernet.pfcQueue"] == 3
    assert (test["ipv4.srcIp"], test["ipv4.dstIp"]) == ("192.168.0.3", "192.168.0.2")
    assert (test["udp.srcPort"], test["udp.dstPort"]) == (5003, 5003)
    # the first value of a list decides which of IxNetwork's four fields for the DSCP gets all of them
    assert test["ipv4.assuredForwardingPHB"] == [3] and counted["ipv4.expeditedForwardingPHB"] == [46]
    assert later["ipv4.defaultPHB"] == [0, 1, 2]
    assert [one["ipv4.unused"] for one in (test, later, counted)] == [3, 1, 2], "the field beside each, for ECN"
    assert all(item["trafficType"] == "raw" for item in chassis.items())


def test_ipv6_data_has_the_dscp_in_the_high_bits_of_its_traffic_class(chassis, api):
    push(api, LATER, ip_version=6)
    seen = fields(chassis.items()[0])
    assert seen["ipv6.trafficClass"] == [1, 5, 9] and seen["ipv6.dstIP"] == "fc02:1000::2"
    host = chassis.tree["topology"][0]["deviceGroup"][0]["ethernet"][0]["ipv6"][0]
    assert host["gatewayIp"]["singleValue"]["value"] == "fc02:1000::1"


def test_every_flow_has_a_sending_and_a_receiving_port(chassis, api):
    push(api, STORM, TEST)
    ends = [(item["endpointSet"][0]["sources"], item["endpointSet"][0]["destinations"]) for item in chassis.items()]
    rx = ["/vport[1]/protocols"]
    tx = ["/vport[2]/protocols"]
    assert ends == [(rx, tx), (tx, rx)], "snappi_ixnetwork reads tx_rx.port.rx_name, and no rx_names"


def test_rates_durations_and_delays(chassis, api):
    push(api, STORM, TEST, LATER, COUNTED)
    controls = [element(item)["transmissionControl"] for item in chassis.items()]
    assert [one["type"] for one in controls] == ["continuous", "fixedDuration", "fixedDuration", "fixedFrameCount"]
    assert controls[1]["duration"] == 5 and controls[3]["frameCount"] == 1000
    assert (controls[2]["startDelay"], controls[2]["startDelayUnits"]) == (1500, "nanoseconds")
    rates = [element(item)["frameRate"] for item in chassis.items()]
    assert [one["type"] for one in rates[1:]] == ["percentLineRate"] * 3 and rates[2]["rate"] == 8.25
    assert [item["tracking"][0]["trackBy"] for item in chassis.items()] == [["trackingenabled0"]] * 4


def test_a_mix_of_sizes_is_kept(chassis, api):
    push(api, FlowPlan("Mix", Role.TEST, 3, 0, percent=50.0, seconds=5, mix=((64, 7), (570, 4), (1518, 1))))
    size = element(chassis.items()[0])["frameSize"]
    assert (size["type"], size["weightedPairs"]) == ("weightedPairs", [64, 7, 570, 4, 1518, 1])


def test_a_malformed_pause_frame_stays_malformed(chassis, api):
    frame = PauseFrame((0xFFFF,) * 8, (), source="00:00:00:00:00:00", operation_code=0x0102)
    push(api, FlowPlan("Malformed", Role.STORM, None, 64, fps=100, seconds=2, pause=frame))
    seen = fields(chassis.items()[0])
    assert (seen["pfcPause.srcAddress"], seen["pfcPause.controlOpcode"]) == ("00:00:00:00:00:00", "102")
    assert (seen["pfcPause.priorityEnableVector"], seen["pfcPause.pfcQueue7"]) == ("0", "ffff")


def test_a_capture_becomes_one_of_pcapng(chassis, api, caplog):
    traffic = capturing(make_builder(api).build([STORM]), ["rx Ethernet0"])
    Generator(api, NoClock()).push(traffic)
    captured = [vport["name"] for vport in chassis.tree["vport"] if vport["capture"]["hardwareEnabled"]]
    assert captured == ["rx Ethernet0"] and "setting capture format to pcapng" in caplog.text


def test_a_duration_of_part_of_a_second_is_refused(api):
    half = FlowPlan("Half", Role.TEST, 3, 1024, percent=50.0, seconds=0.5)
    with pytest.raises(QualificationError, match="only accepts integer value for fixed_seconds duration"):
        push(api, half)


@pytest.mark.parametrize("card", [1, 2])
def test_ports_are_those_of_any_card(chassis, api, card):
    push(api, TEST, card=card)
    assert [vport["location"] for vport in chassis.tree["vport"]] == [f"{CHASSIS};{card};{port}" for port in (1, 2)]


@pytest.mark.parametrize("speed_mbps", [50_000, 100_000, 200_000, 400_000, 800_000])
def test_ports_honour_pfc_at_every_speed(chassis, api, speed_mbps):
    push(api, TEST, speed_mbps=speed_mbps)
    for vport in chassis.tree["vport"]:
        layer1 = vport["l1Config"][DEFAULT_CARD]
        assert vport["type"] == f"{DEFAULT_CARD}Fcoe", "only a port type with Fcoe honours PFC"
        assert layer1["fcoe"]["flowControlType"] == "ieee802.1Qbb"
        assert layer1["fcoe"]["pfcPriorityGroups"] == list(range(8))
        assert layer1["fcoe"]["priorityGroupSize"] == "priorityGroupSize-8"
        assert layer1["speed"] == f"speed{speed_mbps // 1000}g"
        assert (layer1["enableAutoNegotiation"], layer1["enableRsFec"], layer1["linkTraining"]) == (False, True, False)
    ports = [f"/availableHardware/chassis/1/card/1/port/{number}" for number in (1, 2)]
    (_, hrefs), = done(chassis, "clearownership")
    assert [href.split("/ixnetwork")[1] for href in hrefs] == ports, "location_preemption takes the ports"


def test_flows_start_and_stop_one_by_one_and_nothing_else_is_applied_again(chassis, api):
    generator = push(api, STORM, TEST)
    verbs = ("generate", "apply", "clearstats", START, STOP)
    done(chassis)
    generator.start(["Storm"])
    assert [verb for verb, _ in done(chassis, *verbs)] == list(verbs[:4])
    generator.start(["Test"])
    (verb, hrefs), = done(chassis, *verbs)
    assert verb == START and [href[-1] for href in hrefs] == ["2"], "Storm goes on"
    chassis.otg.counted["Storm"]["transmit"] = "stopped"  # as a flow of fixed length is at its end
    generator.start(["Storm"])
    (verb, hrefs), = done(chassis, *verbs)
    assert verb == START and [href[-1] for href in hrefs] == ["1"], "Test goes on"
    generator.stop(["Storm"])
    assert [(verb, hrefs[0][-1]) for verb, hrefs in done(chassis, *verbs)] == [(STOP, "1")]
    assert [row["transmit"] for row in chassis.otg.counted.values()] == ["stopped", "started"]


@pytest.mark.parametrize("habits", [["waiting-states"]])
def test_the_extension_does_not_start_what_waits_for_statistics_and_does_not_say_so(chassis, extension, api):
    """Nor does it stop it. The suite waits, and says what it waited for in vain: statistics are never taken here."""
    generator = push(api, STORM, TEST)
    generator.start(["Storm"])
    done(chassis)
    Generator(extension, NoClock()).stop(["Storm"])
    assert not done(chassis, STOP) and chassis.otg.counted["Storm"]["transmit"] == "started", "the storm goes on"
    sentence = r"after 30 s IxNetwork has traffic items between states: Storm \(startedWaitingForStats\)$"
    with pytest.raises(QualificationError, match=sentence):
        generator.stop(["Storm"])


@pytest.mark.parametrize("habits", [["finished-stay-started"]])
def test_what_has_ended_and_stays_started_is_started_again(chassis, extension, api):
    generator = push(api, STORM, COUNTED)
    generator.start(["Counted"])
    chassis.otg.counted["Counted"]["transmit"] = "stopped"
    done(chassis)
    Generator(extension, NoClock()).start(["Counted"])
    assert not done(chassis, START), "the extension starts what is stopped, and says nothing of others"
    generator.start(["Counted"])
    assert [verb for verb, _ in done(chassis, START, STOP)] == [STOP, START]
    assert chassis.otg.counted["Counted"]["transmit"] == "started"


def test_transmitting_is_read_from_rate_and_count(chassis, api):
    generator = push(api, STORM, TEST, LATER)
    generator.start(["Storm", "Test", "Later"])
    cells = {"Storm": (5960.0, 100, 0), "Test": (0.0, 7, 7), "Later": (0.0, 0, 0)}
    for name, (rate, sent, received) in cells.items():
        chassis.otg.counted[name] |= {"frames_tx_rate": rate, "frames_tx": sent, "frames_rx": received}
    stats = generator.stats(["Storm", "Test", "Later"])
    assert [stats[name].frames_tx for name in cells] == [100, 7, 0]
    assert stats["Storm"].transmitting
    assert not stats["Test"].transmitting, "a flow that PFC holds counts as stopped"
    assert stats["Later"].transmitting, "a flow that has sent nothing counts as started, also before and after"


def read_frames(chassis, api, name):
    """What is read of a flow of that name when 700 frames were sent of it."""
    generator = push(api, replace(TEST, name=name))
    generator.start([name])
    chassis.otg.counted[name] |= {"frames_tx": 700, "frames_rx": 700}
    return generator.stats([name])[name].frames_tx


@pytest.mark.parametrize("device, name", [("lab-1", "Window 2, short"), ("lab-1.example", "Window 2")])
def test_statistics_are_found_by_the_names_of_the_suite(chassis, api, device, name):
    assert read_frames(chassis, api, make_builder(api, device=device).flow_name(name)) == 700


def test_the_statistics_of_a_name_with_a_comma_are_lost_and_nobody_says_so(chassis, api):
    """Its row has a column too many."""
    assert read_frames(chassis, api, "Window 2, short lab-1 Ethernet0") == 0


def test_a_name_with_a_dot_ends_with_an_error(chassis, api):
    """It is looked for with a backslash."""
    with pytest.raises(QualificationError, match="Flow metrics is not enabled on flows"):
        read_frames(chassis, api, "Window 2 lab-1.example Ethernet0")


def test_statistics_before_the_first_start_are_none(chassis, extension, api):
    """The extension ends with an error then, as there is no view."""
    generator = push(api, TEST)
    with pytest.raises(QualificationError, match="^the traffic generator reports no statistics for flow Test$"):
        generator.stats(["Test"])
    with pytest.raises(QualificationError, match="Failed to get the View.href property"):
        Generator(extension, NoClock()).call(extension.get_metrics, metrics_of(extension, "Test"))


def test_a_new_configuration_stops_all_traffic_first(chassis, api):
    push(api, STORM).start(["Storm"])
    done(chassis)
    push(api, TEST)
    verbs = [verb for verb, _ in done(chassis, STOP, "importconfig")]
    assert STOP in verbs and verbs[-1] == "importconfig"
    assert [item["name"] for item in chassis.items()] == ["Test"]


def test_a_tag_says_that_ip_follows(chassis, api):
    """Left to the extension it is 0xFFFF, and no switch routes the frame."""
    traffic = make_builder(api, vlan_id=10).build([TEST])
    Generator(api, NoClock()).push(traffic)
    seen = fields(chassis.items()[0])
    assert (seen["vlan.vlanID"], seen["vlan.vlanUserPriority"], seen["vlan.protocolID"]) == (10, 4, "800")
    header = next(one for one in sent(chassis)["packet"] if one["choice"] == "ipv4")
    assert header["ipv4"]["dst"]["value"] == "192.168.0.2", "it goes where it is meant to"


def test_what_is_imported_is_what_was_asked_for(chassis, api):
    """On its way back it is OTG again: a frame, its size, rate and duration."""
    push(api, TEST)
    test = sent(chassis)
    assert test["size"] == {"choice": "fixed", "fixed": 1024} and test["rate"]["percentage"] == 50.0
    assert test["duration"]["fixed_seconds"]["seconds"] == 5
    assert [one["choice"] for one in test["packet"]] == ["ethernet", "ipv4", "udp"]
    assert test["tx_rx"]["port"] == {"tx_name": "tx Ethernet4", "rx_names": ["rx Ethernet0"]}
    push(api, STORM)
    [pause] = sent(chassis)["packet"]
    assert pause["pfcpause"]["class_enable_vector"]["value"] == 0b11000
    assert pause["pfcpause"]["pause_class_4"]["value"] == 0xFFFF and pause["pfcpause"]["pause_class_5"]["value"] == 0


@pytest.mark.parametrize("habits, sentence", [
    (["card=ravenEightHundredGigLan"], "of a card of type ravenEightHundredGigLan: expected PFC, got none"),
    (["card=krakenFourHundredGigLan"], "of a card of type krakenFourHundredGigLan: expected PFC, got an error"),
])
def test_a_card_for_which_the_extension_has_no_pfc_is_refused_by_name(api, sentence):
    with pytest.raises(QualificationError, match=f"port {CHASSIS};1;1, {sentence}"):
        push(api, TEST)


@pytest.mark.parametrize("habits", [[], ["other-spelling"]])
@pytest.mark.parametrize("ip_version", [4, 6])
def test_hosts_with_the_same_gateway_are_told_apart(chassis, api, ip_version):
    """Whatever spelling its address comes back in."""
    push(api, TEST, ip_version=ip_version)
    chassis.otg.unresolved = ("Ethernet of host of Ethernet0",)
    with pytest.raises(QualificationError, match="address: not Ethernet of host of Ethernet0$"):
        push(api, TEST, ip_version=ip_version)


@pytest.mark.parametrize("habits", [["crc-errors"], ["crc-errors", "counts-accumulate"]])
def test_crc_errors_are_counted_over_the_phases_of_a_case(chassis, api):
    """With the first start of each the extension clears all statistics."""
    for phases in range(3):
        generator = push(api, STORM, TEST)
        for phase in range(1, 3):
            generator.start(["Test"])
            chassis.otg.counted["Test"]["transmit"] = "stopped"
            spoiled = (2 * phases + phase) * CRC_ERRORS
            assert api.crc_errors() == {"rx Ethernet0": spoiled, "tx Ethernet4": spoiled}


@pytest.mark.parametrize("habits", [[], ["counts-accumulate"], ["finished-stay-started"]])
def test_what_has_ended_keeps_its_counts_when_further_flows_start(chassis, api):
    """The extension clears all statistics where nothing runs, and then says that what has sent nothing runs: WD-4 was
    ERROR where a start takes long."""
    generator = push(api, TEST, LATER, COUNTED)
    for place, name in enumerate(("Test", "Later", "Counted"), 1):
        generator.start([name])
        chassis.otg.counted[name] |= {"transmit": "stopped", "frames_tx": 100 * place, "frames_rx": 90 * place}
        generator.stop([name])
        assert generator.stats([name])[name].frames_tx == 100 * place, name
    found = generator.stats(["Test", "Later", "Counted"])
    assert [(one.transmitting, one.frames_tx, one.frames_rx) for one in found.values()] == [
        (False, 100, 90), (False, 200, 180), (False, 300, 270)], found


def test_traffic_of_another_session_cannot_be_stopped(chassis, api):
    with pytest.raises(QualificationError, match="'NoneType' object has no attribute 'flows'"):
        Generator(api, NoClock()).stop()
    assert not done(chassis, "stopstatelesstrafficblocking")
