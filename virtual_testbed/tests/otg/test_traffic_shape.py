"""Frame sizes, rates, bursts and VLAN tags as the real snappi client sends them: what the data plane is told."""
from __future__ import annotations

import json
import struct
from collections import Counter
from fractions import Fraction

import pytest
import snappi

from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.otg.errors import OtgError
from virtual_testbed.otg.fields import parse_number
from virtual_testbed.otg.model import read_config
from virtual_testbed.tests.otg.test_model import LEFT, RIGHT, FakeFabric

LINE_BPS = 10**11
IMIX = {64: 7, 570: 4, 1518: 1}


def single(value):
    """A number after its way through 32 bits."""
    return struct.unpack("f", struct.pack("f", value))[0]


class Shaped:
    """A configuration with one flow that the test shapes: `flow` is snappi's object, `read` what the server makes."""

    def __init__(self):
        self.config = snappi.Config()
        self.config.ports.port(name="p1", location=LEFT).port(name="p2", location=RIGHT)
        self.flow = self.config.flows.add(name="data")
        self.flow.tx_rx.port.tx_name, self.flow.tx_rx.port.rx_names = "p1", ["p2"]

    def headers(self, *names):
        for name in names:
            getattr(self.flow.packet, name)()
        return self.flow.packet

    def model(self):
        if not len(self.flow.packet):
            self.headers("ethernet", "ipv4")
        return read_config(json.loads(self.config.serialize("json")), FakeFabric())

    def read(self):
        return self.model().flows[0].flow

    def errors(self):
        with pytest.raises(OtgError) as caught:
            self.model()
        return list(caught.value.errors)


@pytest.fixture
def shaped():
    return Shaped()


@pytest.mark.parametrize(("series", "expected"), [
    ({}, tuple(range(64, 1519))),
    ({"start": 64, "end": 128, "step": 32}, (64, 96, 128)),
    ({"start": 64, "end": 130, "step": 32}, (64, 96, 128)),
    ({"start": 512, "end": 512}, (512,)),
])
def test_sizes_run_from_start_to_end_and_begin_again(shaped, series, expected):
    increment = shaped.flow.size.increment
    for name, value in series.items():
        setattr(increment, name, value)
    assert shaped.read().sizes == expected


@pytest.mark.parametrize(("pairs", "expected"), [
    ([(64, 1.0)], (64,)),
    ([(64, 3.0), (570, 1.0)], (64, 64, 570, 64)),
    ([(64, 0.5), (1518, 0.25)], (64, 1518, 64)),
    ([(64, 30.0), (128, 30.0)], (64, 128)),
    ([(64, 1.0), (128, 0.0)], (64,)),
    ([(64, 1.0), (128, 2.0), (64, 1.0)], (64, 128)),
    ([(100, single(1 / 3)), (200, single(2 / 3))], (200, 100, 200)),
])
def test_weights_become_the_smallest_cycle_spread_evenly(shaped, pairs, expected):
    for size, weight in pairs:
        shaped.flow.size.weight_pairs.custom.add(size=size, weight=weight)
    assert shaped.read().sizes == expected


def test_a_mix_is_even_at_every_place_of_its_cycle(shaped):
    shaped.flow.size.weight_pairs.predefined = "imix"
    sizes = shaped.read().sizes * 2
    assert Counter(sizes) == {size: 2 * weight for size, weight in IMIX.items()}
    for frames in range(1, len(sizes) + 1):
        for size, weight in IMIX.items():
            assert abs(sizes[:frames].count(size) - Fraction(weight, 12) * frames) <= 1


@pytest.mark.parametrize(("name", "expected"), [
    ("imix", IMIX),
    ("ipsec_imix", {90: 5867, 92: 200, 594: 2366, 1418: 1567}),
    ("tcp_imix", {90: 5867, 92: 200, 594: 2366, 1518: 1567}),
])
def test_predefined_mixes_are_those_of_the_otg_model(shaped, name, expected):
    shaped.flow.size.weight_pairs.predefined = name
    assert Counter(shaped.read().sizes) == expected


@pytest.mark.parametrize(("name", "short"), [("ipv6_imix", "60"), ("standard_imix", "58, 62")])
def test_predefined_mixes_with_frames_that_ethernet_does_not_have_are_refused(shaped, name, short):
    shaped.flow.size.weight_pairs.predefined = name
    assert shaped.errors() == [
        f"flows[0].size.weight_pairs: {short}: frames with these headers have 64 to 14000 bytes with FCS"]


def test_weighted_sizes_without_choice_are_otgs_imix(shaped):
    shaped.flow.size.choice = "weight_pairs"
    assert Counter(shaped.read().sizes) == IMIX


@pytest.mark.parametrize(("unit", "value", "expected"), [
    ("percentage", 100.0, Fraction(LINE_BPS, 8) / (Fraction(sum((64, 1518)), 2) + 20)),
    ("percentage", 50 / 7, Fraction(50, 700) * LINE_BPS / 8 / 811),
    ("percentage", single(50 / 7), Fraction(50, 700) * LINE_BPS / 8 / 811),
    ("gbps", 1, Fraction(10**9, 8 * 791)),
    ("kbps", 6328, Fraction(1000)),
    ("pps", 77, Fraction(77)),
])
def test_rates_are_of_the_mean_size(shaped, unit, value, expected):
    for size in (64, 1518):
        shaped.flow.size.weight_pairs.custom.add(size=size, weight=1)
    setattr(shaped.flow.rate, unit, value)
    model = shaped.model()
    assert model.flows[0].flow.rate_fps == expected
    assert model.warnings == ()


@pytest.mark.parametrize("meant", ["50/7", "100/3", "100/7", "333/10", "5867/100", "9998/100", "1/10", "25/2", "100/9"])
def test_numbers_that_went_through_32_bits_are_those_that_were_meant(meant):
    ratio = Fraction(meant)
    shortest = next(text for digits in range(1, 10) if single(float(text := f"{float(ratio):.{digits}g}"))
                    == single(float(ratio)))
    assert {parse_number(value) for value in (single(float(ratio)), float(shortest), float(ratio))} == {ratio}


@pytest.mark.parametrize("text", ["12345.678", "1234567.1", "1234567.125", "99.98", "0.000123", "33.33333", "5e9",
                                  "1e-45", "123456789.5"])
def test_decimals_are_meant_as_they_are(text):
    assert parse_number(float(text)) == Fraction(text)


BYTE_PS = 80


@pytest.mark.parametrize(("burst", "rate", "expected"), [
    ({"bursts": 3, "packets": 10}, ("percentage", 100), Duration(frames=30)),
    ({"bursts": 0, "packets": 10}, ("percentage", 100), Duration()),
    ({}, ("pps", 1000), Duration()),
    ({"bursts": 3, "packets": 10, "bytes": 0}, ("percentage", 100), Duration(frames=30)),
    ({"bursts": 3, "packets": 10, "bytes": 13}, ("percentage", 100),
     Duration(frames=30, burst_frames=10, burst_period_ps=(10 * 84 + 1) * BYTE_PS)),
    ({"packets": 10, "nanoseconds": 1000.5}, ("percentage", 100),
     Duration(burst_frames=10, burst_period_ps=(10 * 84 - 12) * BYTE_PS + 1_000_500)),
    ({"bursts": 2, "packets": 1, "microseconds": 500}, ("pps", 1),
     Duration(frames=2)),
    ({"bursts": 2, "packets": 1, "microseconds": 500}, ("pps", 10_000),
     Duration(frames=2, burst_frames=1, burst_period_ps=72 * BYTE_PS + 500_000_000)),
    ({"bursts": 2, "packets": 4, "microseconds": 500}, ("pps", 3_000_000),
     Duration(frames=8, burst_frames=4, burst_period_ps=1_000_000 + 72 * BYTE_PS + 500_000_000)),
])
def test_bursts_follow_each_other_after_their_gap(shaped, burst, rate, expected):
    setattr(shaped.flow.rate, *rate)
    fields = shaped.flow.duration.burst
    for name, value in burst.items():
        setattr(fields if name in ("bursts", "packets") else fields.inter_burst_gap, name, value)
    assert shaped.read().duration == expected


def test_the_gap_begins_after_the_largest_frame_that_a_burst_can_end_with(shaped):
    for packets, last in ((1, 256), (2, 256), (3, 192), (4, 256), (6, 192), (12, 128)):
        shaped.flow.size.weight_pairs.custom.clear()
        increment = shaped.flow.size.increment
        increment.start, increment.end, increment.step = 64, 256, 64
        shaped.flow.rate.pps = 10**6
        shaped.flow.duration.burst.packets = packets
        shaped.flow.duration.burst.inter_burst_gap.microseconds = 5
        sizes = (64, 128, 192, 256)
        ends = {sizes[(burst * packets - 1) % 4] for burst in range(1, 5)}
        assert shaped.read().duration.burst_period_ps == (
            (packets - 1) * 10**6 + (max(ends) + 8) * BYTE_PS + 5 * 10**6)


def test_a_pause_flow_can_come_in_bursts(shaped):
    shaped.headers("pfcpause")
    shaped.flow.rate.pps = 10**6
    shaped.flow.duration.burst.bursts, shaped.flow.duration.burst.packets = 5, 2
    shaped.flow.duration.burst.inter_burst_gap.microseconds = 1000
    assert shaped.read().duration == Duration(0, None, 10, 2, 10**6 + 72 * BYTE_PS + 10**9)


@pytest.mark.parametrize("version", ["ipv4", "ipv6"])
def test_a_vlan_tag(shaped, version):
    tag = shaped.headers("ethernet", "vlan", version, "udp")[1]
    tag.id.value, tag.priority.value = 1000, 3
    shaped.flow.size.fixed = 128
    flow = shaped.read()
    assert (flow.vlan_id, flow.vlan_priority, flow.queue) == (1000, 3, 0)


def test_a_vlan_tag_by_default_is_otgs(shaped):
    tag = shaped.headers("ethernet", "vlan", "ipv4")[1]
    assert (shaped.read().vlan_id, shaped.read().vlan_priority) == (0, 0)
    tag.tpid.value = tag.tpid.X8100
    assert shaped.read().vlan_id == 0


def test_without_a_vlan_header_the_frames_are_untagged(shaped):
    assert shaped.read().vlan_id is None


def _no_size(shaped):
    shaped.flow.size.random.min = 64


def _backwards(shaped):
    shaped.flow.size.increment.start, shaped.flow.size.increment.end = 512, 128


def _no_step(shaped):
    shaped.flow.size.increment.step = 0


def _too_small(shaped):
    shaped.headers("ethernet", "vlan", "ipv6", "udp")
    shaped.flow.size.increment.start, shaped.flow.size.increment.end = 64, 128


def _too_long_a_mix(shaped):
    shaped.flow.size.weight_pairs.custom.add(size=64, weight=10_000.0)
    shaped.flow.size.weight_pairs.custom.add(size=65, weight=10_001.0)


def _no_weight(shaped):
    shaped.flow.size.weight_pairs.custom.add(size=64, weight=0.0)


def _negative_weight(shaped):
    shaped.flow.size.weight_pairs.custom.add(size=64, weight=-1.0)
    shaped.flow.size.weight_pairs.custom.add(size=65, weight=1.0)


def _too_many_pairs(shaped):
    for size in range(257):
        shaped.flow.size.weight_pairs.custom.add(size=64 + size)


def _pause_of_many_sizes(shaped):
    shaped.headers("pfcpause")
    shaped.flow.size.weight_pairs.predefined = "imix"


def _burst_gap(shaped):
    shaped.flow.duration.burst.gap = 100


def _long_burst_gap(shaped):
    shaped.flow.duration.burst.inter_burst_gap.microseconds = 1e13


def _two_tags(shaped):
    shaped.headers("ethernet", "vlan", "vlan", "ipv4")


def _many_vlans(shaped):
    shaped.headers("ethernet", "vlan", "ipv4")[1].id.values = [1, 2]


def _reserved_vlan(shaped):
    shaped.headers("ethernet", "vlan", "ipv4")[1].id.value = 4095


def _service_tag(shaped):
    tag = shaped.headers("ethernet", "vlan", "ipv4")[1]
    tag.tpid.value = tag.tpid.X88A8


def _other_type_before_the_tag(shaped):
    shaped.headers("ethernet", "vlan", "ipv4")[0].ether_type.value = 0x0800


@pytest.mark.parametrize(("shape", "expected"), [
    (_no_size, "flows[0].size.random: not modelled; modelled are fixed, increment, weight_pairs"),
    (_backwards, "flows[0].size.increment.end: 128: smaller than start 512"),
    (_no_step, "flows[0].size.increment.step: 0 found, an integer from 1 to 18446744073709551615 expected"),
    (_too_small, "flows[0].size.increment: 64, 65, 66, 67, 68, 69: frames with these headers have 70 to 14000 bytes "
     "with FCS"),
    (_too_long_a_mix, "flows[0].size.weight_pairs.custom: these weights are kept exactly by 20001 frames or multiples "
     "of that only; modelled are mixes of up to 16384 frames (weights with fewer digits)"),
    (_no_weight, "flows[0].size.weight_pairs.custom: no pair has a weight above 0, so there is no frame to send"),
    (_negative_weight, "flows[0].size.weight_pairs.custom[0].weight: -1.0 found, a number from 0 to"),
    (_too_many_pairs, "flows[0].size.weight_pairs.custom: 257 pairs: not modelled; modelled are up to 256"),
    (_pause_of_many_sizes, "flows[0].size.weight_pairs: not modelled; modelled are fixed"),
    (_burst_gap, "flows[0].duration.burst.gap: 100: not modelled; modelled is 12, the rate spaces the frames"),
    (_long_burst_gap, "flows[0].duration.burst.inter_burst_gap.microseconds: 1e+13: more than 1000000 s"),
    (_two_tags, "flows[0].packet: ethernet / vlan / vlan / ipv4: not modelled; modelled are ethernet, at most one"),
    (_many_vlans, "flows[0].packet[1].vlan.id: 2 different values: not modelled; modelled is one value for all frames"),
    (_reserved_vlan, "flows[0].packet[1].vlan.id: 4095: not modelled; modelled are 0 to 4094"),
    (_service_tag, "flows[0].packet[1].vlan.tpid: 34984: not modelled; modelled is 33024 (or OTG's default)"),
    (_other_type_before_the_tag, "flows[0].packet[0].ethernet.ether_type: 2048: not modelled; modelled is 33024"),
])
def test_what_is_not_modelled_is_refused_by_path(shaped, shape, expected):
    shape(shaped)
    errors = shaped.errors()
    assert len(errors) == 1, errors
    assert errors[0].startswith(expected)


def test_dscp_and_size_together_repeat_soon_enough(shaped):
    shaped.headers("ethernet", "ipv4")[1].priority.dscp.phb.values = [*range(63), 0, 1, 2, 3]
    shaped.flow.size.weight_pairs.predefined = "tcp_imix"
    assert shaped.errors() == ["flows[0].size: DSCP and size together repeat after 670000 frames only; modelled are up "
                               "to 65536: use fewer DSCP values or sizes"]
    shaped.flow.packet[1].priority.dscp.phb.values = [3, 4]
    assert shaped.read().dscp == (3, 4)
