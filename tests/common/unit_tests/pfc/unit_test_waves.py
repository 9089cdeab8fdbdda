"""Pairs and waves: every port once, each tester port once a wave, as few waves as can be."""

from itertools import product
from math import ceil

import pytest

from tests.common.pfc.model.ports import ConnectedPort, PortState
from tests.common.pfc.sweep.waves import pair_ports, plan_waves
from tests.common.unit_tests.pfc.fakes import DEVICE

SIZES = [sizes for count in (2, 3, 4) for sizes in product(range(1, 6), repeat=count)]


def ports_of(sizes, speed_mbps=100_000, first=0):
    """Ports of a switch, as many on each traffic generator as `sizes` says."""
    places = [(generator, port) for generator, size in enumerate(sizes, 1) for port in range(1, size + 1)]
    return [
        ConnectedPort(DEVICE, f"Ethernet{first + 4 * n}", f"snappi-{generator}", f"{speed_mbps};{generator};{port}",
                      speed_mbps)
        for n, (generator, port) in enumerate(places)
    ]


def states_of(ports):
    """All of them up."""
    return {port.port: PortState(True, True, port.speed_mbps) for port in ports}


def room(sizes):
    """Pairs that there can be at once."""
    return min(sum(sizes) // 2, sum(sizes) - max(sizes))


def check(waves, ports, at_once=None):
    """Every port under test once; each tester port at most once a wave, pairs over two generators of one speed."""
    tested = [pair.rx.port for wave in waves for pair in wave]
    assert sorted(tested) == sorted(port.port for port in ports), f"ports under test: {tested}"
    for wave in waves:
        used = [port.location for pair in wave for port in (pair.rx, pair.tx)]
        assert len(used) == len(set(used)), f"a tester port twice in one wave: {used}"
        assert len(wave) <= (at_once or len(wave)), f"{len(wave)} pairs at once, {at_once} allowed"
        for pair in wave:
            assert pair.rx.generator != pair.tx.generator, f"one generator: {pair}"
            assert pair.rx.speed_mbps == pair.tx.speed_mbps, f"two speeds: {pair}"


def test_waves_are_as_few_as_can_be():
    """For any ports on generators and any limit."""
    for sizes in SIZES:
        ports = ports_of(sizes)
        pairing = pair_ports(ports, states_of(ports))
        for at_once in (None, *range(1, room(sizes) + 1)):
            waves = plan_waves(pairing, at_once)
            check(waves, ports, at_once)
            least = ceil(len(ports) / min(room(sizes), at_once or len(ports)))
            assert len(waves) == least, f"{sizes}, {at_once} at once: expected {least} waves, got {len(waves)}"


@pytest.mark.parametrize("at_once", [None, 1, 2, 3])
def test_ports_of_two_speeds_share_waves(at_once):
    """A speed that needs more waves does not wait for the other."""
    for sizes in (sizes for sizes in SIZES if len(sizes) < 4 and max(sizes) < 4):
        slow, fast = ports_of(sizes), ports_of((2, 3), 400_000, 400)
        pairing = pair_ports(slow + fast, states_of(slow + fast))
        waves = plan_waves(pairing, at_once)
        check(waves, slow + fast, at_once)
        bounds = [ceil(len(slow) / room(sizes)), ceil(5 / 2)]
        bounds += [ceil((len(slow) + 5) / at_once)] if at_once else []
        assert len(waves) == max(bounds), f"{sizes}, {at_once} at once: expected {max(bounds)}, got {len(waves)}"


def test_only_some_ports():
    """Of some ports each has the tx port that it has among all."""
    ports = ports_of((4, 4))
    pairing = pair_ports(ports, states_of(ports))
    waves = plan_waves(pairing, None, {"Ethernet0", "Ethernet4"})
    assert [[(pair.rx.port, pair.tx.port) for pair in wave] for wave in waves] == [
        [("Ethernet0", "Ethernet16"), ("Ethernet4", "Ethernet20")]
    ], f"waves: {waves}"


def test_pairs_do_not_depend_on_the_order_of_the_links_file():
    """The same pairs in both modes and in every run."""
    ports = ports_of((3, 2, 2))
    once, again = (pair_ports(order, states_of(ports)).pairs for order in (ports, ports[::-1]))
    assert once == again, f"{once} and {again}"


def test_a_port_that_is_down_is_neither_measured_nor_used():
    """It has a reason, the others have each other."""
    ports = ports_of((2, 2))
    states = states_of(ports) | {"Ethernet4": PortState(False, True, 100_000)}
    pairing = pair_ports(ports, states)
    assert list(pairing.unpaired) == ["Ethernet4"], f"unpaired: {pairing.unpaired}"
    assert "Ethernet4 is down (admin up, oper down)" in pairing.unpaired["Ethernet4"], f"{pairing.unpaired}"
    assert all(pair.tx.port != "Ethernet4" for pair in pairing.pairs), f"pairs: {pairing.pairs}"
    check(plan_waves(pairing, None), [port for port in ports if port.port != "Ethernet4"])


def test_one_generator_alone_measures_nothing():
    """Its ports are refused with the reason; those of another speed are not touched by it."""
    ports = ports_of((2,)) + ports_of((1, 1), 400_000, 400)
    pairing = pair_ports(ports, states_of(ports))
    assert sorted(pairing.unpaired) == ["Ethernet0", "Ethernet4"], f"unpaired: {pairing.unpaired}"
    assert "is on traffic generator snappi-1 like it" in pairing.unpaired["Ethernet0"], f"{pairing.unpaired}"
    assert sorted(pair.rx.port for pair in pairing.pairs) == ["Ethernet400", "Ethernet404"], f"{pairing.pairs}"
