"""Which ports and priorities are measured, and what is refused in one sentence."""

import dataclasses

import pytest

from tests.common.pfc.lab import option
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.option import Option
from tests.common.pfc.lab.planning import connected_port, measurable_first, plan_device
from tests.common.pfc.lab.port_plan import LabFacts, PortRequest
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import ConnectedPort, PortPair, hosts_behind
from tests.common.pfc.model.qos import read_port_qos, read_shared_buffer
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeHost, FakeWorld, make_config_db, plan_port

PORTS = [
    ConnectedPort(DEVICE, "Ethernet64", "snappi-2", "127.1.0.2;1;1", 100000),
    ConnectedPort(DEVICE, "Ethernet0", "snappi-1", "127.1.0.1;1;1", 100000),
    ConnectedPort(DEVICE, "Ethernet4", "snappi-1", "127.1.0.1;1;2", 100000),
    ConnectedPort(DEVICE, "Ethernet68", "snappi-2", "127.1.0.2;1;2", 100000),
]


def plan(world=None, port=None, tx_port=None, ports=PORTS):
    """Plans a port of the fake switch."""
    return plan_port(Dut(FakeHost(world or FakeWorld())), ports, port, tx_port)


def refusal(*arguments, **options):
    """The sentence with which a plan is refused."""
    with pytest.raises(QualificationError) as error:
        plan(*arguments, **options)
    sentence = str(error.value)
    assert "\n" not in sentence, f"more than one sentence: {sentence}"
    return sentence


def test_the_default_pair():
    """The first connected port, and the first port on another generator."""
    subject = plan().subject
    assert (subject.pair.rx.port, subject.pair.tx.port) == ("Ethernet0", "Ethernet64"), subject.pair
    assert subject.qos.lossless == (3, 4), subject.qos
    assert (subject.buffer.pool, subject.buffer.size_bytes) == ("egress_lossless_pool", 12766208), subject.buffer


def test_the_tx_port_is_on_another_generator_and_up():
    """A port under test on the second generator gets a tx port on the first; ports that are down are passed over."""
    assert plan(port="Ethernet64").subject.pair.tx.port == "Ethernet0", "expected Ethernet0"
    assert plan(FakeWorld(down=("Ethernet64",))).subject.pair.tx.port == "Ethernet68", "expected Ethernet68"


def test_refused_ports():
    """Each sentence names the object, what was found, and what would be right."""
    slow = [dataclasses.replace(port, speed_mbps=40000) if port.generator == "snappi-2" else port for port in PORTS]
    ghost = [*PORTS, ConnectedPort(DEVICE, "Ethernet999", "snappi-2", "127.1.0.2;1;9", 100000)]
    sentences = {
        "vtb-t0-01 has no port Ethernet12 behind a traffic generator": refusal(port="Ethernet12"),
        "vtb-t0-01 Ethernet0 is down (admin up, oper down)": refusal(FakeWorld(down=("Ethernet0",))),
        "none is up at that speed (Ethernet64, Ethernet68)": refusal(FakeWorld(down=("Ethernet64", "Ethernet68"))),
        "Ethernet0 has 100000 Mb/s, and Ethernet64, Ethernet68 40000 Mb/s; both ports of a pair": refusal(ports=slow),
        "of Ethernet4 none is on another traffic generator than Ethernet0's, snappi-1": refusal(tx_port="Ethernet4"),
        "none is on another traffic generator than Ethernet0's, snappi-1; the tx port has to be, or be allowed on the"
        " same (--pfc-same-generator)": refusal(ports=PORTS[1:3]),
        "connects snappi-2 to Ethernet999, a port that the switch does not have": refusal(ports=ghost),
        "connects no port of the switch to a traffic generator": refusal(ports=[]),
    }
    for part, sentence in sentences.items():
        assert part in sentence, f"expected {part!r} in {sentence!r}"


def test_a_switch_without_a_generator_is_not_the_one_measured():
    """A supervisor card for one, or a switch of several that none of the generator's ports is connected to."""
    facts = LabFacts({"conf-name": "lab"}, {}.get, PORTS, {})
    expected = [DEVICE, "supervisor", "leaf-02"]
    assert measurable_first(facts, ["supervisor", "leaf-02", DEVICE]) == expected, "the others are not left out"
    two = dataclasses.replace(facts, ports=[*PORTS, dataclasses.replace(PORTS[0], device="leaf-02")])
    assert measurable_first(two, ["leaf-02", DEVICE])[0] == "leaf-02", "of several the testbed's first"
    with pytest.raises(QualificationError) as error:
        measurable_first(facts, ["supervisor", "leaf-02"])
    expected = "the links file connects no port of supervisor, leaf-02 to a traffic generator"
    assert str(error.value) == expected, str(error.value)


@pytest.mark.parametrize(("known", "expected"), [
    ((), "none, as no option that reads such a key is there"), (("pfc_one", "pfc_two"), "pfc_one, pfc_two"),
])
def test_a_key_that_nothing_reads_is_refused(known, expected, monkeypatch):
    """With those that something does read, or that there are none: the suite may be there without its options."""
    reading = Option()
    reading.testbed_keys = known
    monkeypatch.setattr(option, "options", lambda: (reading,))
    with pytest.raises(QualificationError) as error:
        plan_device(LabFacts({"conf-name": "lab", "pfc_conditions": {}}, {}.get, PORTS, {}), DEVICE, PortRequest())
    said = f"testbed lab has pfc_conditions, which nothing here understands: expected {expected}"
    assert str(error.value) == said, str(error.value)


def test_unequal_speeds_of_a_chosen_pair_are_refused():
    """Both by the links file, and by what the switch runs at."""
    world = FakeWorld()
    world.config_db["PORT"]["Ethernet64"]["speed"] = "40000"
    expected = "vtb-t0-01 Ethernet64 runs at 40000 Mb/s but the links file says 100000 Mb/s"
    assert refusal(world, tx_port="Ethernet64") == expected, refusal(world, tx_port="Ethernet64")
    slow = [dataclasses.replace(port, speed_mbps=40000) if port.port == "Ethernet64" else port for port in PORTS]
    expected = (
        "vtb-t0-01: Ethernet0 has 100000 Mb/s, and Ethernet64 40000 Mb/s; both ports of a pair need the same speed"
    )
    assert refusal(world, tx_port="Ethernet64", ports=slow) == expected, refusal(
        world, tx_port="Ethernet64", ports=slow
    )


def test_refused_configurations():
    """What the switch's own configuration lacks."""
    changes = {
        "CONFIG_DB has no PORT_QOS_MAP|Ethernet0": lambda db: db["PORT_QOS_MAP"].pop("Ethernet0"),
        "names AZURE, and CONFIG_DB has no DSCP_TO_TC_MAP|AZURE": lambda db: db.pop("DSCP_TO_TC_MAP"),
        "has no lossless priority": lambda db: [row.pop("pfc_enable", None) for row in db["PORT_QOS_MAP"].values()],
        "Ethernet0 has PFC enabled for [3] and Ethernet64 for [3, 4]": (
            lambda db: db["PORT_QOS_MAP"]["Ethernet0"].update(pfc_enable="3")
        ),
        "Ethernet0 priority 3: MAP_PFC_PRIORITY_TO_QUEUE|AZURE leads to queue 5; expected queue 3": (
            lambda db: db["MAP_PFC_PRIORITY_TO_QUEUE"]["AZURE"].update({"3": "5"})
        ),
        "Ethernet0 priority 4: MAP_PFC_PRIORITY_TO_QUEUE|AZURE has no entry for it; expected queue 4": (
            lambda db: db["MAP_PFC_PRIORITY_TO_QUEUE"]["AZURE"].pop("4")
        ),
        "Ethernet0 priority 6: TC_TO_QUEUE_MAP|AZURE leads to queue 5; expected queue 6": (
            lambda db: db["TC_TO_QUEUE_MAP"]["AZURE"].update({"6": "5"})
        ),
        "Ethernet0 priority 0: TC_TO_QUEUE_MAP|AZURE has no entry for it; expected queue 0": (
            lambda db: db["TC_TO_QUEUE_MAP"]["AZURE"].pop("0")
        ),
        "Ethernet0 priority 3: TC_TO_QUEUE_MAP|AZURE has no entry for it": (
            lambda db: [db[table]["AZURE"].pop("3") for table in ("TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE")]
        ),
        "Ethernet0 priority 4: TC_TO_QUEUE_MAP|AZURE leads to queue 5": (
            lambda db: [db[table]["AZURE"].update({"4": "5"})
                        for table in ("TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE")]
        ),
        "no size in BUFFER_POOL|egress_lossless_pool (pools found: none)": lambda db: db.pop("BUFFER_POOL"),
        "PORT_QOS_MAP|Ethernet0 pfc_enable is '3-4'": (
            lambda db: db["PORT_QOS_MAP"]["Ethernet0"].update(pfc_enable="3-4")
        ),
        "PORT_QOS_MAP|Ethernet0 pfc_enable is '3,9'": (
            lambda db: db["PORT_QOS_MAP"]["Ethernet0"].update(pfc_enable="3,9")
        ),
        "DSCP_TO_TC_MAP|AZURE holds something that is no number": (
            lambda db: db["DSCP_TO_TC_MAP"]["AZURE"].update({"3": "three"})
        ),
        "gives Ethernet0 no IPv4 address (INTERFACE|Ethernet0|...), and no VLAN has it untagged": (
            lambda db: db["VLAN_MEMBER"]["Vlan1000|Ethernet0"].update(tagging_mode="tagged")
        ),
        "no mac in DEVICE_METADATA|localhost": lambda db: db["DEVICE_METADATA"]["localhost"].pop("mac"),
        "Ethernet64: 192.168.0.0/30 has no address left": (
            lambda db: db.update(VLAN_INTERFACE={"Vlan1000|192.168.0.1/30": {}})
        ),
        "Ethernet0: CONFIG_DB has VLAN_INTERFACE|Vlan1000|192.168.0.1/77": (
            lambda db: db.update(VLAN_INTERFACE={"Vlan1000|192.168.0.1/77": {}})
        ),
        "CONFIG_DB gives Vlan1000 no IPv4 address": lambda db: db["VLAN_INTERFACE"].pop("Vlan1000|192.168.0.1/21"),
    }
    for part, change in changes.items():
        world = FakeWorld()
        change(world.config_db)
        assert part in refusal(world), f"expected {part!r} in {refusal(world)!r}"


def test_different_dscp_maps_are_refused():
    """The tx port sorts the frames, so its map counts too."""
    world = FakeWorld()
    world.config_db["DSCP_TO_TC_MAP"]["OTHER"] = {**world.config_db["DSCP_TO_TC_MAP"]["AZURE"], "3": "1"}
    world.config_db["PORT_QOS_MAP"]["Ethernet64"]["dscp_to_tc_map"] = "[DSCP_TO_TC_MAP|OTHER]"
    assert "lead to different priorities ([1, 3])" in refusal(world), refusal(world)


def test_maps_of_what_nothing_uses_are_not_looked_at():
    """No DSCP value reaches priority 7, and no pause of priority 6 stops anything. Without a map of its own a pause
    stops the queue of its number."""
    config_db = make_config_db()
    config_db["TC_TO_QUEUE_MAP"]["AZURE"].pop("7")
    config_db["MAP_PFC_PRIORITY_TO_QUEUE"]["AZURE"] = {"3": "3", "4": "4"}
    assert read_port_qos(config_db, DEVICE, "Ethernet0").lossless == (3, 4), "it can be measured"
    config_db["PORT_QOS_MAP"]["Ethernet0"].pop("pfc_to_queue_map")
    assert read_port_qos(config_db, DEVICE, "Ethernet0").lossless == (3, 4), "it can be measured"


def test_priorities_of_a_port():
    """SONiC's default map: no DSCP value reaches priority 7."""
    qos = read_port_qos(make_config_db(), DEVICE, "Ethernet0")
    assert qos.reachable == (0, 1, 2, 3, 4, 5, 6), qos.reachable
    assert (qos.dscps[3], qos.dscps[0], len(qos.dscps[1])) == ((3,), (8,), 58), qos.dscps


def test_the_buffer_of_other_platforms_is_another_pool():
    """Virtual output queues hold frames at the ingress."""
    config_db = {"BUFFER_POOL": {"ingress_lossless_pool": {"size": "5"}, "egress_lossless_pool": {"size": "7"}}}
    pools = [
        read_shared_buffer(config_db, DEVICE, asic).size_bytes for asic in ("broadcom", "cisco-8000", "broadcom voq")
    ]
    assert pools == [7, 5, 5], pools


def test_hosts_of_a_vlan_and_of_routed_ports():
    """The i-th member's host has the i-th free address; behind a routed port is the other address of its network."""
    pair = PortPair(PORTS[1], PORTS[0])
    rx, tx = hosts_behind((pair.rx, pair.tx), make_config_db())
    assert (rx.address, tx.address, rx.gateway) == ("192.168.0.2", "192.168.0.4", "192.168.0.1"), (rx, tx)
    assert rx.segment == tx.segment == "Vlan1000", (rx, tx)
    rows = {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}, "Ethernet64|10.0.0.4/31": {}, "Ethernet64|fc00::8/126": {}}
    rx, tx = hosts_behind((pair.rx, pair.tx), {"INTERFACE": rows})
    assert (rx.address, rx.gateway, tx.address, tx.prefix_bits) == ("10.0.0.1", "10.0.0.0", "10.0.0.5", 31), (rx, tx)
    assert rx.segment != tx.segment, "routed ports are different segments"
    rx, tx = hosts_behind((pair.rx, pair.tx), make_config_db(), 6)
    assert (rx.address, tx.address, rx.gateway) == ("fc02:1000::2", "fc02:1000::4", "fc02:1000::1"), (rx, tx)
    assert rx.ip_version == tx.ip_version == 6, (rx, tx)
    with pytest.raises(QualificationError, match="gives Ethernet0 no IPv6 address"):
        hosts_behind((pair.rx, pair.tx), {"INTERFACE": rows}, 6)


def test_the_hosts_of_a_large_switch():
    """128 hosts: the first two have the MAC addresses that sonic-mgmt gives them, all are unicast and none is twice."""
    names = [f"Ethernet{4 * number}" for number in range(128)]
    config_db = {"VLAN": {"Vlan9": {}, "Vlan1000": {}}, "VLAN_INTERFACE": {"Vlan1000|192.168.0.1/21": {}},
                 "VLAN_MEMBER": {f"Vlan1000|{name}": {} for name in reversed(names)}}
    hosts = hosts_behind([ConnectedPort(DEVICE, name, "g", name, 400_000) for name in names], config_db)
    macs = [host.mac for host in hosts]
    assert macs[:2] == ["00:00:22:33:44:01", "00:01:22:33:44:01"], macs
    assert (macs[99], macs[100], macs[127]) == ("00:63:22:33:44:01", "00:64:22:33:44:01", "00:7f:22:33:44:01"), macs
    assert (hosts[127].address, len({host.address for host in hosts})) == ("192.168.0.129", 128), hosts


def test_ports_in_sonic_mgmts_shape():
    """With the chassis' name where the fixture gives one, else by its address."""
    facts = {
        "peer_device": DEVICE,
        "peer_port": "Ethernet0",
        "ip": "127.1.0.1",
        "location": "127.1.0.1;1;1",
        "speed": "100000",
    }
    assert connected_port(facts) == ConnectedPort(
        DEVICE, "Ethernet0", "127.1.0.1", "127.1.0.1;1;1", 100000
    ), connected_port(facts)
    assert connected_port({**facts, "chassis": "snappi-1"}).generator == "snappi-1", "expected the chassis' name"


def sentence_of(function, *arguments):
    """The sentence with which something is refused."""
    with pytest.raises(QualificationError) as error:
        function(*arguments)
    return str(error.value)


@pytest.mark.parametrize(("printed", "is_refused"), [
    ("ASIC Count: 3", True), ("ASIC Count: N/A", False), ("ASIC Count: 1", False), ("ASICs: 3", False),
])
def test_a_switch_with_several_asics_is_refused_by_name(monkeypatch, printed, is_refused):
    """It has a namespace for each. An image that does not say how many ASICs there are has one."""
    spoken = FakeHost.shell

    def shell(self, command, **options):
        """As the fake switch, with what `show version` says of its ASICs replaced."""
        answer = spoken(self, command, **options)
        return {**answer, "stdout": answer["stdout"].replace("ASIC Count: 1", printed)}

    monkeypatch.setattr(FakeHost, "shell", shell)
    if not is_refused:
        assert plan().subject.pair.rx.port == "Ethernet0", "it is measured"
        return
    sentence = "vtb-t0-01: it has 3 ASICs, each with databases of its own; expected one"
    assert refusal() == sentence, refusal()


def test_data_from_the_same_traffic_generator_if_it_is_allowed():
    """A lab with one chassis: refused, unless the user says that it may be."""
    one_chassis = [dataclasses.replace(port, generator="snappi-1", location=f"127.1.0.1;1;{number}")
                   for number, port in enumerate(PORTS)]
    state = Dut(FakeHost(FakeWorld())).state()
    facts = LabFacts({"conf-name": "lab", "duts": [DEVICE]}, lambda name: state, one_chassis, {})
    sentence = sentence_of(plan_device, facts, DEVICE, PortRequest())
    assert "none is on another traffic generator than Ethernet0's, snappi-1; the tx port" in sentence, sentence
    pair = plan_device(facts, DEVICE, PortRequest(same_generator=True)).subject.pair
    assert pair.rx.port != pair.tx.port and pair.rx.location != pair.tx.location, pair


def test_cards_of_one_chassis_are_traffic_generators_of_their_own():
    """As the rows of upstream's labs have them: one address, several cards."""
    cards = [dataclasses.replace(port, generator="10.0.0.5", location=location) for port, location in zip(
        PORTS, ("10.0.0.5;2;1", "10.0.0.5;1;1", "10.0.0.5;1;2", "10.0.0.5;2;2"), strict=True)]
    found = plan(ports=cards).subject.pair
    assert (found.rx.generator, found.tx.generator) == ("10.0.0.5;1", "10.0.0.5;2"), found
    without = [dataclasses.replace(port, location=f"10.0.0.5/{number}") for number, port in enumerate(cards)]
    sentence = refusal(ports=without)
    assert "none is on another traffic generator than Ethernet0's, 10.0.0.5; the tx port" in sentence, sentence
