"""Frames over one and several switches: bridged, routed, the shortest way that is up, and every reason to drop."""
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from virtual_testbed.dataplane import forwarding
from virtual_testbed.dataplane.forwarding import SwitchHop, Topology
from virtual_testbed.dataplane.model.configuration import SwitchConfig, SwitchPortConfig, VlanConfig
from virtual_testbed.dataplane.model.traffic import DataFlow, EmulatedHost
from virtual_testbed.tests.dataplane.differential import run_case
from virtual_testbed.tests.dataplane.differential_cases import make_case

PORTS = tuple(f"Ethernet{4 * number}" for number in range(8))
HOST_A = EmulatedHost("ha", "pa", "00:00:00:00:0a:01", ("192.168.0.2/24", "fc02:1000::2"))
HOST_B = EmulatedHost("hb", "pb", "00:00:00:00:0B:02", ("192.168.1.2", "fc02:1001::2/64"))
FLOW = DataFlow("flow", "pa", ("pb",), HOST_A.mac, HOST_B.mac, "192.168.0.2", "192.168.1.2", (3,), 3, (1024,),
                Fraction(1000))


def mac_of(name):
    return f"00:aa:00:00:00:{ord(name[-1]):02x}"


def switches(names):
    """Switches whose eight ports share a VLAN, each with a MAC of its own."""
    ports = {port: SwitchPortConfig(port, 100_000, True, frozenset(), frozenset(), {}, {}, {}, {}) for port in PORTS}
    return {name: SwitchConfig(name, mac_of(name), "broadcom", 208, ports, {}, (VlanConfig(1000, frozenset(PORTS)),))
            for name in names}


def with_mtu(config, port, mtu):
    return replace(config, ports={**config.ports, port: replace(config.ports[port], mtu=mtu)})


def cable(text):
    """`a1-b0` is a cable from port 1 of switch a to port 0 of switch b."""
    return tuple((end[0], PORTS[int(end[1])]) for end in text.split("-"))


def route(cables, flow=FLOW, frame_bytes=1024, down=(), configs=None, at=("a", PORTS[0]), attached=None):
    """Hops from pa on port 0 of a to pb on port 7 of the last switch."""
    ends = [cable(text) for text in cables]
    names = sorted({"a"} | {switch for pair in ends for switch, _ in pair})
    attached = attached or {"pa": ("a", PORTS[0]), "pb": (names[-1], PORTS[7])}
    shut = {(text[0], PORTS[int(text[1])]) for text in down}
    return Topology(ends, attached, [HOST_A, HOST_B]).route(
        configs or switches(names), flow, frame_bytes, at, lambda switch, port: (switch, port) not in shut)


def ways(hops):
    """`a0>1` for each hop, with the reason when it is blocked."""
    return [f"{hop.switch}{PORTS.index(hop.in_port)}>{'-' if hop.out_port is None else PORTS.index(hop.out_port)}"
            + (f" {hop.blocked}" if hop.blocked else "") for hop in hops]


def test_one_switch_bridges():
    assert route([]) == (SwitchHop("a", PORTS[0], PORTS[7], None, False, HOST_A.mac, HOST_B.mac),)


def test_one_switch_routes_by_ipv4_and_ipv6():
    for address in ("192.168.1.2", "fc02:1001:0::2", "192.168.1.2/24"):
        flow = replace(FLOW, destination_mac=mac_of("a").upper(), destination_address=address)
        assert route([], flow) == (SwitchHop("a", PORTS[0], PORTS[7], None, True, mac_of("a"), HOST_B.mac),)


def test_mac_addresses_are_compared_whatever_their_case():
    assert ways(route([], replace(FLOW, destination_mac=HOST_B.mac.lower()))) == ["a0>7"]


def test_bridged_over_three_switches_the_frame_stays_as_it_is():
    hops = route(["a1-b0", "b1-c0"])
    assert ways(hops) == ["a0>1", "b0>1", "c0>7"]
    assert {(hop.routed, hop.source_mac, hop.destination_mac) for hop in hops} == {(False, HOST_A.mac, HOST_B.mac)}


def test_routed_over_three_switches_each_gives_its_own_and_the_next_mac():
    hops = route(["a1-b0", "b1-c0"], replace(FLOW, destination_mac=mac_of("a")))
    assert ways(hops) == ["a0>1", "b0>1", "c0>7"]
    assert [(hop.source_mac, hop.destination_mac) for hop in hops] == [
        (mac_of("a"), mac_of("b")), (mac_of("b"), mac_of("c")), (mac_of("c"), HOST_B.mac)]
    assert all(hop.routed for hop in hops)


def test_a_routed_frame_needs_no_vlan():
    configs = {name: replace(config, vlans=()) for name, config in switches("ab").items()}
    assert ways(route(["a1-b0"], replace(FLOW, destination_mac=mac_of("a")), configs=configs)) == ["a0>1", "b0>7"]


@pytest.mark.parametrize(("cables", "down", "expected"), [
    (["a1-b0", "b1-c0", "a2-c1"], [], ["a0>2", "c1>7"]),
    (["a1-b0", "a2-c0", "b1-d0", "c1-d1"], [], ["a0>1", "b0>1", "d0>7"]),
    (["a2-c0", "a1-b0", "b1-d0", "c1-d1"], [], ["a0>2", "c0>1", "d1>7"]),
    (["d1-c1", "d0-b1", "b0-a1", "c0-a2"], [], ["a0>1", "b0>1", "d0>7"]),
    (["a3-b3", "a1-b0"], [], ["a0>3", "b3>7"]),
    (["a3-b3", "a1-b0"], ["a3"], ["a0>1", "b0>7"]),
    (["a3-b3", "a1-b0"], ["b3"], ["a0>1", "b0>7"]),
    (["a1-b0", "b1-c0", "a2-c1"], ["c1"], ["a0>1", "b0>1", "c0>7"]),
    (["a1-b0", "b1-b2", "b3-c0"], [], ["a0>1", "b0>3", "c0>7"]),
    (["a1-b0", "b1-c0"], ["a1", "b0"], ["a0>1 egress port is down"]),
    (["a3-b3", "a1-b0"], ["a3", "a1"], ["a0>3 egress port is down"]),
    (["a1-b0"], ["b7"], ["a0>1", "b0>7 egress port is down"]),
])
def test_the_shortest_way_that_is_up(cables, down, expected):
    assert ways(route(cables, down=down)) == expected


def test_without_a_way_that_is_up_the_frame_gets_as_far_as_the_link_that_is_down():
    assert ways(route(["a1-b0", "b1-c0"], down=["b1"])) == ["a0>1", "b0>1 egress port is down"]


def test_oversize_is_measured_at_every_ingress_port():
    assert ways(route(["a1-b0"], frame_bytes=9122)) == ["a0>1", "b0>7"]
    assert ways(route(["a1-b0"], frame_bytes=9123)) == ["a0>- longer than the MTU"]
    configs = switches("ab")
    configs["b"] = with_mtu(configs["b"], PORTS[0], 1500)
    assert ways(route(["a1-b0"], frame_bytes=1523, configs=configs)) == ["a0>1", "b0>- longer than the MTU"]


@pytest.mark.parametrize(("changes", "reason"), [
    ({"destination_mac": "00:00:00:00:00:99"}, "a0>- " + forwarding.DROP_UNKNOWN_MAC),
    ({"destination_mac": mac_of("c")}, "a0>- " + forwarding.DROP_UNKNOWN_MAC),
    ({"destination_mac": mac_of("a"), "destination_address": "10.0.0.1"}, "a0>- " + forwarding.DROP_NO_ROUTE),
    ({"destination_mac": HOST_A.mac}, "a0>0 " + forwarding.DROP_SAME_PORT),
    ({"destination_mac": mac_of("a"), "destination_address": "192.168.0.2"}, "a0>0 " + forwarding.DROP_SAME_PORT),
])
def test_reasons_to_drop_at_the_first_switch(changes, reason):
    hops = route(["a1-b0"], replace(FLOW, **changes))
    assert ways(hops) == [reason]
    assert (hops[0].source_mac, hops[0].destination_mac) == (HOST_A.mac, changes["destination_mac"])


def test_a_frame_to_a_switch_further_on_is_bridged_there_and_routed_from_there():
    hops = route(["a1-b0", "b1-c0", "c1-d0"], replace(FLOW, destination_mac=mac_of("c").upper()))
    assert ways(hops) == ["a0>1", "b0>1", "c0>1", "d0>7"]
    assert [hop.routed for hop in hops] == [False, False, True, True]
    assert [(hop.source_mac, hop.destination_mac) for hop in hops] == [
        (HOST_A.mac, mac_of("c").upper()), (HOST_A.mac, mac_of("c").upper()),
        (mac_of("c"), mac_of("d")), (mac_of("d"), HOST_B.mac)]


@pytest.mark.parametrize(("behind", "expected"), [
    ("a", ["a0>1", "b0>1", "c0>0", "b1>0", "a1>7"]), ("b", ["a0>1", "b0>1", "c0>0", "b1>7"]),
    ("c", ["a0>1", "b0>1", "c0>7"])])
def test_a_switch_further_on_may_route_back_the_way_the_frame_came(behind, expected):
    attached = {"pa": ("a", PORTS[0]), "pb": (behind, PORTS[7])}
    hops = route(["a1-b0", "b1-c0"], replace(FLOW, destination_mac=mac_of("c")), attached=attached)
    assert ways(hops) == expected and hops[-1].destination_mac == HOST_B.mac
    back = replace(FLOW, destination_mac=mac_of("c"), destination_address="192.168.0.2")
    assert ways(route(["a1-b0", "b1-c0"], back, attached=attached)) == ["a0>1", "b0>1", "c0>0", "b1>0", "a1>0"]


def test_the_way_to_a_switch_further_on_is_that_to_a_host_there():
    to_c, cables = replace(FLOW, destination_mac=mac_of("c")), ["a1-b0", "b1-c0", "a2-c1"]
    assert ways(route(cables, to_c)) == ["a0>2", "c1>7"]
    assert ways(route(cables, to_c, down=["c1"])) == ["a0>1", "b0>1", "c0>7"]
    assert ways(route(["a1-b0", "b1-c0"], to_c, down=["b1"])) == ["a0>1", "b0>1 egress port is down"]
    configs = switches("abc")
    configs["b"] = replace(configs["b"], vlans=())
    assert ways(route(["a1-b0", "b1-c0"], to_c, configs=configs)) == ["a0>1", f"b0>1 {forwarding.DROP_OTHER_VLAN}"]


def test_a_switch_without_cables_that_lead_there_is_unknown():
    to_b, attached = replace(FLOW, destination_mac=mac_of("b")), {"pa": ("a", PORTS[0]), "pb": ("a", PORTS[7])}
    assert ways(route([], to_b, configs=switches("ab"), attached=attached)) == ["a0>- " + forwarding.DROP_UNKNOWN_MAC]


def test_a_switch_keeps_its_mac_from_a_host():
    to_b = replace(FLOW, source_mac=HOST_A.mac, destination_mac=HOST_B.mac)
    configs = switches("ab")
    configs["b"] = replace(configs["b"], mac=HOST_B.mac)
    attached = {"pa": ("a", PORTS[0]), "pb": ("a", PORTS[7])}
    assert ways(route(["a1-b0"], to_b, configs=configs, attached=attached)) == ["a0>1", "b0>0", "a1>7"]


@pytest.mark.parametrize("switch", "ab")
def test_bridging_needs_a_vlan_of_both_ports_at_every_switch(switch):
    configs = switches("ab")
    apart = (VlanConfig(10, frozenset(PORTS[:1])), VlanConfig(20, frozenset(PORTS[1:])))
    configs[switch] = replace(configs[switch], vlans=apart)
    blocked = f" {forwarding.DROP_OTHER_VLAN}"
    expected = ["a0>1" + blocked] if switch == "a" else ["a0>1", "b0>7" + blocked]
    assert ways(route(["a1-b0"], configs=configs)) == expected


def test_another_vlan_of_both_ports_will_do():
    vlans = (VlanConfig(10, frozenset(PORTS[:1])), VlanConfig(20, frozenset(PORTS)))
    configs = {name: replace(config, vlans=vlans) for name, config in switches("ab").items()}
    assert ways(route(["a1-b0"], configs=configs)) == ["a0>1", "b0>7"]


@pytest.mark.parametrize(("cables", "configured"), [(["a1-b0"], "a"), (["a1-c0", "c1-b0"], "ab"), ([], "ab")])
def test_a_host_without_cables_that_lead_there_is_unknown(cables, configured):
    configs, attached = switches(configured), {"pa": ("a", PORTS[0]), "pb": ("b", PORTS[7])}
    assert ways(route(cables, configs=configs, attached=attached)) == ["a0>- " + forwarding.DROP_UNKNOWN_MAC]
    assert ways(route(cables, replace(FLOW, destination_mac=mac_of("a")), configs=configs, attached=attached)) == [
        "a0>- " + forwarding.DROP_NO_ROUTE]


def test_a_port_that_a_switch_does_not_have_leads_nowhere():
    configs = switches("ab")
    configs["b"] = replace(configs["b"], ports={PORTS[7]: configs["b"].ports[PORTS[7]]})
    assert ways(route(["a1-b0"], configs=configs)) == ["a0>- " + forwarding.DROP_UNKNOWN_MAC]
    assert ways(route([], configs=configs, attached={"pa": ("a", PORTS[0]), "pb": ("b", PORTS[6])})) == [
        "a0>- " + forwarding.DROP_UNKNOWN_MAC]


def test_hosts_behind_ports_without_a_cable_are_unknown():
    assert ways(route([], attached={"pa": ("a", PORTS[0])})) == ["a0>- " + forwarding.DROP_UNKNOWN_MAC]


def test_from_the_middle_of_the_way_a_frame_does_not_turn_back():
    cables = ["a1-b0", "b1-c0", "a2-c1"]
    assert ways(route(cables, down=["b1"], at=("b", PORTS[0]))) == ["b0>0 " + forwarding.DROP_SAME_PORT]


@pytest.mark.parametrize("length", range(1, 6))
def test_a_chain_is_as_long_as_there_are_switches(length):
    names = "abcdef"[:length + 1]
    hops = route([f"{left}1-{right}0" for left, right in zip(names, names[1:])],
                 replace(FLOW, destination_mac=mac_of("a")))
    assert "".join(hop.switch for hop in hops) == names
    assert hops[-1].destination_mac == HOST_B.mac


def all_ways(cables, here, there, seen=()):
    """Every way between two switches without a circle, as the numbers of its cables."""
    if here == there:
        return [()]
    return [(number, *rest) for number, ends in cables.items() for near, far in (ends, ends[::-1])
            if near[0] == here and far[0] not in (here, *seen)
            for rest in all_ways(cables, far[0], there, (here, *seen))]


@pytest.mark.parametrize("seed", range(100))
def test_random_cables_against_trying_all_ways(seed):
    chance = random.Random(seed)
    free = [f"{switch}{port}" for switch in "abcde" for port in range(1, 6)]
    chance.shuffle(free)
    cables = [f"{free.pop()}-{free.pop()}" for _ in range(chance.randint(3, 10))] + ["a6-a7", "e5-e6"]
    down = {end for text in cables for end in text.split("-") if chance.random() < 0.15}
    up = {number: cable(text) for number, text in enumerate(cables) if not down & set(text.split("-"))}
    found = all_ways(up, "a", "e")
    hops = route(cables, down=down, configs=switches("abcde"))
    if found:
        taken = [next(number for number, ends in up.items() if (hop.switch, hop.out_port) in ends) for hop in hops[:-1]]
        assert tuple(taken) == min(found, key=lambda way: (len(way), way))
        assert [hop.blocked for hop in hops] == [None] * len(hops)
    else:
        assert hops[-1].blocked in (forwarding.DROP_PORT_DOWN, forwarding.DROP_UNKNOWN_MAC)


@pytest.mark.parametrize("seed", range(12))
def test_gateways_further_on_against_the_oracle(seed):
    """Every flow of a random chain is addressed to the MAC of any of its switches."""
    chance, case = random.Random(seed), make_case(seed, "chain")
    macs = [config.mac for config in case.configs]
    case.flows = [replace(flow, destination_mac=chance.choice(macs)) if isinstance(flow, DataFlow) else flow
                  for flow in case.flows]
    assert run_case(case)[0] == []
