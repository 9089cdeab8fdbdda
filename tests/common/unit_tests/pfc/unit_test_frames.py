"""What the storms of FRAME say, frame by frame, and the sizes of SIZE."""

import dataclasses

import pytest

from tests.common.pfc.cases import frames
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

PAUSE_ADDRESS = "01:80:C2:00:00:01"
FULL, ONLY_3, ONLY_LOSSLESS = [65535] * 8, [0, 0, 0, 65535, 0, 0, 0, 0], [0, 0, 0, 65535, 65535, 0, 0, 0]
SAID = {  # source, vector, times
    frames.ZERO_SOURCE_SINGLE: ("00:00:00:00:00:00", 0x08, ONLY_3),
    frames.ZERO_SOURCE_SEVERAL: ("00:00:00:00:00:00", 0x18, ONLY_LOSSLESS),
    frames.ALL_ENABLED: ("00:00:fa:ce:fa:ce", 0xFF, FULL),
    frames.NONE_ENABLED_SINGLE: ("00:00:fa:ce:fa:ce", 0x00, ONLY_3),
    frames.NONE_ENABLED_SEVERAL: ("00:00:fa:ce:fa:ce", 0x00, FULL),
    frames.RESERVED_ENABLED: ("00:00:fa:ce:fa:ce", 0xFF00, FULL),
    frames.UNKNOWN_OPERATION: ("00:00:fa:ce:fa:ce", 0x18, ONLY_LOSSLESS),
    frames.OTHER_DESTINATION: ("00:00:fa:ce:fa:ce", 0x18, ONLY_LOSSLESS),
    frames.OTHER_TYPE: ("00:00:fa:ce:fa:ce", 0x18, ONLY_LOSSLESS),
    frames.NEIGHBOUR: ("00:00:fa:ce:fa:ce", 0x18, ONLY_LOSSLESS),
}


def lab_of(world, asic="broadcom", ip_version=4):
    """What Ethernet0 is measured with, and its host and API."""
    host, api = FakeHost(world), FakeApi(world)
    plan = plan_port(Dut(host), TESTER_PORTS, "Ethernet0", None, ip_version)
    plan = dataclasses.replace(plan, subject=dataclasses.replace(plan.subject, asic=asic))
    return open_lab(plan, Dut(host), api, FakeClock(world)), host, api


def carry_out(case, world, asic="broadcom"):
    """The outcome of a case for its first target, and the last configuration."""
    lab, _, api = lab_of(world, asic)
    target = frames.FRAMES[case].targets.on(lab.subject)[0]
    return Qualifier(lab).qualify(case, target), api.configs[-1]


@pytest.mark.parametrize("case", SAID, ids=lambda case: case.plan_id)
def test_what_the_frames_say(case):
    """Each field, as the generator is told."""
    _, config = carry_out(case, FakeWorld())
    pause = config.flows[0].packet[0]
    times = [getattr(pause, f"pause_class_{priority}").value for priority in range(8)]
    assert (pause.src.value, pause.class_enable_vector.value, times) == SAID[case], pause
    host = next(device for device in config.devices if device.name == "Host Ethernet64").ethernets[0].mac
    destinations = {frames.OTHER_DESTINATION: host, frames.NEIGHBOUR: "01:80:C2:00:00:0F"}
    assert pause.dst.value == destinations.get(case, PAUSE_ADDRESS), pause
    assert (pause.control_op_code.value == 0x0102) == (case is frames.UNKNOWN_OPERATION), pause
    assert (pause.ether_type.value == 0x88B5) == (case is frames.OTHER_TYPE), pause


@pytest.mark.parametrize("case", list(SAID)[:6], ids=lambda case: case.plan_id)
def test_a_switch_that_reads_the_enable_bits_passes(case):
    """It looks at nothing else, which for these frames is right."""
    outcome, _ = carry_out(case, FakeWorld())
    assert {one.status for one in outcome.verdicts} == {Status.PASS}, [one.messages for one in outcome.verdicts]


@pytest.mark.parametrize("case", list(SAID)[6:], ids=lambda case: case.plan_id)
def test_a_switch_that_reads_nothing_but_the_enable_bits_fails(case):
    """Operation code, destination and ether type decide whether the frame is PFC at all."""
    outcome, _ = carry_out(case, FakeWorld())
    failed = {check.name for one in outcome.verdicts for check in one.checks if check.status is Status.FAIL}
    assert failed == {"test-unaffected", "throughput", "pause-not-counted", "no-back-pressure"}, failed


def test_all_enable_bits_on_a_platform_that_does_not_count_several_lossy_ones():
    """There the lossy counters may stay; these of the fake switch rise, as all others do."""
    outcome, _ = carry_out(frames.ALL_ENABLED, FakeWorld(), "cisco-8000")
    assert {one.status for one in outcome.verdicts} == {Status.PASS}, [one.messages for one in outcome.verdicts]


def test_sizes_that_are_the_same_everywhere():
    """IPv6 needs two bytes more."""
    four, six = lab_of(FakeWorld())[0], lab_of(FakeWorld(), ip_version=6)[0]
    assert frames.imix(four) == ((64, 7), (570, 4), (1518, 1)), "the usual mix"
    assert (frames.smallest(four), frames.smallest(six)) == (((64, 1),), ((66, 1),)), "UDP's smallest"
    assert frames.imix(six)[0] == (66, 7), "IPv6"


@pytest.mark.parametrize("rx, tx, routed, expected", [
    ("9100", "9100", False, 9122), ("9100", "1500", False, 1522), ("9216", "9100", True, 9118),
])
def test_the_largest_frame(rx, tx, routed, expected):
    """The smaller of both ports; a routed packet may not exceed the MTU itself."""
    world = FakeWorld()
    if routed:
        del world.config_db["VLAN_MEMBER"]["Vlan1000|Ethernet0"]
        world.config_db["INTERFACE"] = {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}}
    lab, host, _ = lab_of(world)
    assert frames.is_routed(lab) is routed, "the fake switch's configuration"
    host.answers |= mtu_answers(rx, tx)
    assert frames.largest(lab) == ((expected, 1),), (rx, tx)


@pytest.mark.parametrize("rx, found", [("", "no mtu"), ("0", "mtu '0'"), ("9.1k", "mtu '9.1k'")])
def test_a_port_without_an_mtu_is_refused(rx, found):
    """One sentence."""
    lab, host, _ = lab_of(FakeWorld())
    host.answers |= mtu_answers(rx, "9100")
    with pytest.raises(QualificationError) as refusal:
        frames.largest(lab)
    assert str(refusal.value).startswith(f"{DEVICE} Ethernet0: CONFIG_DB has {found} in PORT|Ethernet0: "), refusal


def mtu_answers(rx, tx):
    """What the switch says of its ports' MTU."""
    return {f"sonic-db-cli CONFIG_DB HGET 'PORT|{port}' mtu": (text, 0)
            for port, text in (("Ethernet0", rx), ("Ethernet64", tx))}
