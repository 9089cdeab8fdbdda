"""What this suite's configurations become on a Keysight chassis: snappi_ixnetwork and ixnetwork_restpy as they are, and
below them IxNetwork's REST API in memory (docs/hardware.md says what that cannot show).

Needs the packages of the extra `ixnetwork`, which is no part of the tests' environment (290 MB).
"""
import logging
from importlib.metadata import version

import pytest
import snappi

from scripts.tests.fake_ixnetwork import VPORT_TYPE, FakeIxNetwork
from tests.common.pfc.lab.generator import Generator
from tests.common.pfc.lab.otg_config import TrafficBuilder
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.model.ports import ConnectedPort, PlayedHost, PortPair
from tests.common.pfc.model.qos import PortQos, SharedBuffer
from tests.common.pfc.model.traffic import FlowPlan, PauseFrame, Role, global_pause_frame, pfc_frame

pytest.importorskip("snappi_ixnetwork", reason="the extra `ixnetwork` (snappi_ixnetwork, 290 MB) is not installed")

CHASSIS = "10.0.0.9"
ROUTER = "02:00:00:00:00:01"
DSCPS = {0: [8], 1: [0, 1, 2], 3: [3], 4: [4], 5: [46], 6: [48, 9]}
STORM = FlowPlan("Storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3, 4), 0xFFFF))
TEST = FlowPlan("Test", Role.TEST, 3, 1024, percent=50.0, seconds=5)
LATER = FlowPlan("Later", Role.BACKGROUND, 1, 1024, percent=8.25, seconds=5, delay_ns=1500)
COUNTED = FlowPlan("Counted", Role.CLEAN, 5, 1024, percent=1.0, frames=1000)


class NoClock:
    """Time that passes at once."""

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


@pytest.fixture(name="chassis")
def fixture_chassis(monkeypatch):
    """IxNetwork without a network."""
    fake = FakeIxNetwork(CHASSIS)
    monkeypatch.setattr("requests.Session.request", lambda _, method, url, **options: fake.request(
        method, url, options.get("data")))
    yield fake
    for name in ("snappi_ixnetwork", "ixnetwork_restpy.connection"):  # both write to the stdout of their first use
        logging.getLogger(name).handlers.clear()


@pytest.fixture(name="api")
def fixture_api(chassis):
    """The suite's API object for the transport `ixnetwork`."""
    return snappi.api(location="https://10.0.0.8:443", ext="ixnetwork", loglevel=logging.ERROR)


def make_builder(api, speed_mbps=100_000, ip_version=4):
    """A builder for two ports in one VLAN."""
    rx, tx = (ConnectedPort("lab-1", f"Ethernet{4 * place}", f"ixia-{place}", f"{CHASSIS};1;{place + 1}", speed_mbps)
              for place in (0, 1))
    net, bits = ("192.168.0.{}", 21) if ip_version == 4 else ("fc02:1000::{}", 64)
    hosts = {port: PlayedHost(f"host of {port.port}", f"02:00:00:00:01:0{number}", net.format(number), bits,
                              net.format(1), "Vlan1000") for number, port in enumerate((rx, tx), 2)}
    qos = PortQos("lab-1", rx.port, (3, 4), DSCPS, "AZURE")
    return TrafficBuilder(
        api, PortUnderTest(PortPair(rx, tx), qos, SharedBuffer("egress_lossless_pool", 1)), hosts, ROUTER
    )


def push(api, *flows, **options):
    """Builds, and pushes as the suite does."""
    traffic = make_builder(api, **options).build(flows)
    generator = Generator(api, NoClock())
    generator.push(traffic)
    return generator


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
    chassis.tree["traffic"]["protocolTemplate"] = [{"xpath": "/traffic/protocolTemplate[1]",
                                                    "stackTypeId": "globalPause"}]
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
    assert all(item["trafficType"] == "raw" for item in chassis.items())


def test_ipv6_data_has_the_dscp_in_the_high_bits_of_its_traffic_class(chassis, api):
    push(api, LATER, ip_version=6)
    seen = fields(chassis.items()[0])
    assert seen["ipv6.trafficClass"] == [0, 4, 8] and seen["ipv6.dstIP"] == "fc02:1000::2"
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
    traffic = make_builder(api).build([STORM], captured=["Ethernet0"])
    Generator(api, NoClock()).push(traffic)
    captured = [vport["name"] for vport in chassis.tree["vport"] if vport["capture"]["hardwareEnabled"]]
    assert captured == ["rx Ethernet0"] and "setting capture format to pcapng" in caplog.text


def test_a_duration_of_part_of_a_second_is_refused(api):
    half = FlowPlan("Half", Role.TEST, 3, 1024, percent=50.0, seconds=0.5)
    with pytest.raises(QualificationError, match="only accepts integer value for fixed_seconds duration"):
        push(api, half)


@pytest.mark.parametrize("speed_mbps", [50_000, 100_000, 200_000, 400_000, 800_000])
def test_ports_honour_pfc_at_every_speed(chassis, api, speed_mbps):
    push(api, TEST, speed_mbps=speed_mbps)
    for vport in chassis.tree["vport"]:
        layer1 = vport["l1Config"][VPORT_TYPE]
        assert vport["type"] == f"{VPORT_TYPE}Fcoe", "only a port type with Fcoe honours PFC"
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
    verbs = ("generate", "apply", "clearstats", "startstatelesstrafficblocking", "stopstatelesstrafficblocking")
    done(chassis)
    generator.start(["Storm"])
    assert [verb for verb, _ in done(chassis, *verbs)] == list(verbs[:4])
    generator.start(["Test"])
    (verb, hrefs), = done(chassis, *verbs)
    assert verb == "startstatelesstrafficblocking" and [href[-1] for href in hrefs] == ["2"], "Storm goes on"
    chassis.items()[0]["state"] = "stopped"  # as a flow of fixed length does at its end
    generator.start(["Storm"])
    (verb, hrefs), = done(chassis, *verbs)
    assert verb == "startstatelesstrafficblocking" and [href[-1] for href in hrefs] == ["1"], "Test goes on"
    generator.stop(["Storm"])
    assert [(verb, hrefs[0][-1]) for verb, hrefs in done(chassis, *verbs)] == [("stopstatelesstrafficblocking", "1")]


def test_a_flow_that_still_waits_for_statistics_is_not_started_and_nobody_says_so(chassis, api):
    generator = push(api, STORM, TEST)
    generator.start(["Storm"])
    chassis.items()[0]["state"] = "stoppedWaitingForStats"
    done(chassis)
    generator.start(["Storm"])
    assert not done(chassis, "startstatelesstrafficblocking")


def test_transmitting_is_read_from_rate_and_count(chassis, api):
    generator = push(api, STORM, TEST, LATER)
    cells = {"Storm": (5960.0, 100, 0), "Test": (0.0, 7, 7), "Later": (0.0, 0, 0)}
    chassis.columns = {name: {"Tx Frame Rate": rate, "Tx Frames": sent, "Rx Frames": received}
                       for name, (rate, sent, received) in cells.items()}
    stats = generator.stats(["Storm", "Test", "Later"])
    assert [stats[name].frames_tx for name in cells] == [100, 7, 0]
    assert stats["Storm"].transmitting
    assert not stats["Test"].transmitting, "a flow that PFC holds counts as stopped"
    assert stats["Later"].transmitting, "a flow that has sent nothing counts as started, also before and after"


def test_a_new_configuration_stops_all_traffic_first(chassis, api):
    push(api, STORM)
    chassis.tree["traffic"]["state"] = "started"
    done(chassis)
    push(api, TEST)
    verbs = [verb for verb, _ in done(chassis, "stopstatelesstrafficblocking", "importconfig")]
    assert "stopstatelesstrafficblocking" in verbs and verbs[-1] == "importconfig"
    assert [item["name"] for item in chassis.items()] == ["Test"]


def test_traffic_of_another_session_cannot_be_stopped(chassis, api):
    with pytest.raises(QualificationError, match="'NoneType' object has no attribute 'flows'"):
        Generator(api, NoClock()).stop()
    assert not done(chassis, "stopstatelesstrafficblocking")
