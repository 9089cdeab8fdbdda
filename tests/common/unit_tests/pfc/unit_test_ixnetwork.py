"""What snappi_ixnetwork leaves to its user: its API object as OTG describes one, over a fake extension."""

from dataclasses import replace

import pytest

from tests.common.pfc.ixnetwork.api import STOP_TRIES, IxNetworkApi
from tests.common.pfc.ixnetwork.cards import UNREAD, WITH_PFC, CardPort, check_pfc, check_readable
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.generator import Generator
from tests.common.pfc.lab.generator_ports import set_links
from tests.common.pfc.lab.option import adapted
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import ConnectedPort
from tests.common.pfc.model.traffic import FlowPlan, Role, global_pause_frame, pfc_frame
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port

VERSION = "tests.common.pfc.ixnetwork.api.version"
CARD = "novusHundredGigLan"
RAVEN = "ravenEightHundredGigLan"
TESTER_PORTS = [
    ConnectedPort(DEVICE, "Ethernet0", "ixia-1", "10.0.0.9;1;1", 100000),
    ConnectedPort(DEVICE, "Ethernet64", "ixia-2", "10.0.0.9;2;1", 100000),
]
STORM = FlowPlan("Storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3, 4), 65535))
DATA = FlowPlan("Data", Role.TEST, 3, 1024, percent=50.0, seconds=2)
COUNTED = FlowPlan("Counted", Role.CLEAN, 3, 1024, percent=1.0, frames=1000)
GLOBAL = FlowPlan("Global", Role.STORM, None, 64, fps=5960, pause=global_pause_frame(65535))


class PortRows(list):
    """The rows of a view of statistics."""

    def __init__(self, columns, rows):
        super().__init__(rows)
        self._column_headers = columns


class Assistant:
    """ixnetwork_restpy's, once there is a session."""

    def __init__(self, extension):
        self._extension = extension

    def StatViewAssistant(self, title):
        """The view of the ports."""
        assert title == "Port Statistics", title
        return self

    @property
    def Rows(self):
        """A row each port."""
        rows = [{"Port Name": name, "CRC Errors": str(count or "")} for name, count in self._extension.spoiled.items()]
        return PortRows(self._extension.columns, rows)


class Extension(FakeApi):
    """snappi_ixnetwork's API object, as far as it matters what it does otherwise than OTG says.

    Attributes:
        items: traffic item -> the state that it has, or is on its way to.
        told: what it was told: the verb, and the traffic items that it did that with.
        links: the ports whose links it was told to take up or down.
        breaks: what `set_config` ends with, once the configuration is there.
        cards: the types of the ports' cards, in order.
        pfc_queues: `pfcQueueGroupSize` of the ports.
        unresolved: the hosts that do not know their gateway.
        finished_stay_started: an item that has sent all stays `started`.
        way_s: how long a start and a stop take.
        deaf: how many times it does not do what it is told when that is to stop.
        spoiled: port -> CRC errors that its statistics show.
        columns: the titles of the ports' statistics.
        clears: whether to clear statistics clears any.
    """

    __module__ = "snappi_ixnetwork.snappi_api"

    def __init__(self, world, finished_stay_started=False, way_s=0.0, deaf=0):
        super().__init__(world)
        self.assistant = None
        self.items = {}
        self.told = []
        self.links = []
        self.breaks = None
        self.cards = [f"{CARD}Fcoe", f"{CARD}Fcoe"]
        self.pfc_queues = 8
        self.unresolved = ()
        self.finished_stay_started = finished_stay_started
        self.way_s = way_s
        self.deaf = deaf
        self.spoiled = {"rx Ethernet0": 0, "tx Ethernet64": 0}
        self.columns = ["Port Name", "CRC Errors"]
        self.clears = True
        self.href = "/api/v1/sessions/1/ixnetwork"
        self._changed_s = {}

    @property
    def _ixnetwork(self):
        return self

    @property
    def _connection(self):
        return self

    def set_config(self, payload):
        """All items are new."""
        super().set_config(payload)
        self.assistant = Assistant(self)
        self.items = {flow.name: "unapplied" for flow in payload.flows}
        if self.breaks:
            raise self.breaks

    def set_control_state(self, payload):
        """Items that are stopped start; items that are started stop; nothing else happens, and nobody says so."""
        if payload.choice == "port":
            self.links.append(list(payload.port.link.port_names))
        if payload.choice != "traffic":
            return
        transmit = payload.traffic.flow_transmit
        verb = transmit.state
        names = list(transmit.flow_names or self.items)
        begins = ("stopped", "unapplied") if verb == "start" else ("started",)
        states = {name: item["state"] for name, item in self.select_traffic_items().items()}
        there = [name for name, state in states.items() if state in begins]
        done = [name for name in names if name in there]
        if verb == "start" and "started" not in states.values():
            self.ClearStats(["waitForPortStatsRefresh", "waitForTrafficStatsRefresh"])
        self.told.append((verb, done))
        if verb == "stop" and self.deaf:
            self.deaf -= 1
            return
        for name in done:
            self.items[name] = "started" if verb == "start" else "stopped"
            self._changed_s[name] = self._world.now
            (self._world.start if verb == "start" else self._world.stop)(name)

    def ClearStats(self, modes):
        """All counts of ports begin at 0."""
        assert modes == ["waitForPortStatsRefresh", "waitForTrafficStatsRefresh"], modes
        if self.clears:
            self.spoiled = dict.fromkeys(self.spoiled, 0)

    def select_traffic_items(self):
        """The items by name."""
        return {name: {"name": name, "state": self._state(name)} for name in self.items}

    def get_metrics(self, payload):
        """There are none before anything was started."""
        if not self.told:
            raise AttributeError("'NoneType' object has no attribute 'Rows'")
        return super().get_metrics(payload)

    def _state(self, name):
        state = self.items[name]
        if self._world.now < self._changed_s.get(name, -self.way_s) + self.way_s:
            return f"{state}WaitingForStats"
        if state == "started" and not self.finished_stay_started and not self._world.counts(name)[2]:
            return "stopped"
        return state

    def _execute(self, url, payload):
        """What a `select` returns, whatever it asks for."""
        assert url == f"{self.href}/operations/select?xpath=true", url
        asked = [child["child"] for child in payload["selects"][0]["children"]]
        return [{"topology": self._topologies()} if "topology" in asked else {"vport": self._vports()}]

    def _vports(self):
        rows = zip(self.configs[-1].ports, self.cards)
        return [{"name": port.name, "location": port.location, "connectionState": "connectedLinkUp", "l1Config": {
            "currentType": kind, kind.removesuffix("Fcoe"): {"fcoe": {"pfcQueueGroupSize": self.pfc_queues}}}}
            for port, kind in rows]

    def _topologies(self):
        return [{"deviceGroup": [{"ethernet": [{"name": one.name, **{version: [
            {"name": address.name, "resolvedGatewayMac": [self._mac(one.name)]}
            for address in getattr(one, f"{version}_addresses")] for version in ("ipv4", "ipv6")}}
            for one in device.ethernets]}]} for device in self.configs[-1].devices]

    def _mac(self, name):
        return "[Unresolved]" if name in self.unresolved else "02:00:00:00:00:01"


def make_builder(api, ip_version=4, **changes):
    """A builder for two ports of a chassis."""
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None, ip_version)
    return replace(open_lab(plan, Dut(FakeHost(FakeWorld())), api, FakeClock(FakeWorld())).builder, **changes)


def make_generator(*flows, ip_version=4, **habits):
    """A generator with these flows on its way, and the extension below it."""
    world = FakeWorld()
    extension = Extension(world, **habits)
    generator = Generator(IxNetworkApi(extension, FakeClock(world)), FakeClock(world))
    generator.push(make_builder(extension, ip_version).build(flows))
    return generator, extension


def test_the_extension_is_adapted_and_plain_otg_is_left_as_it_is():
    world = FakeWorld()
    plain = FakeApi(world)
    assert adapted(plain, FakeClock(world)) is plain, "OTG is OTG"
    extension = Extension(world)
    api = adapted(extension, FakeClock(world))
    assert isinstance(api, IxNetworkApi), type(api)
    assert api.told is extension.told, "everything else is the extension's"


@pytest.mark.parametrize("version, flow, refused", [
    ("1.61.2", GLOBAL, True), ("1.9", GLOBAL, True), ("1.58.0", STORM, False), ("1.61.3", GLOBAL, False),
    ("1.100.0", GLOBAL, False), ("2.0.0rc1", GLOBAL, False)])
def test_an_extension_that_garbles_global_pauses_is_refused_by_name(monkeypatch, version, flow, refused):
    """Before anything is pushed, and only where the configuration has such a flow."""
    monkeypatch.setattr(VERSION, lambda name: {"snappi_ixnetwork": version}[name])
    if not refused:
        _, extension = make_generator(flow)
        assert len(extension.configs) == 1, "a flow that it sends rightly"
        return
    extension = Extension(FakeWorld())
    config = make_builder(extension).build([flow]).config
    sentence = f"^snappi_ixnetwork {version} makes other frames of 802.3x pauses: expected 1.61.3 or newer$"
    with pytest.raises(QualificationError, match=sentence):
        IxNetworkApi(extension, FakeClock(FakeWorld())).set_config(config)
    assert not extension.configs, "nothing reached the extension"


def test_plain_otg_sends_global_pauses_whatever_is_installed(monkeypatch):
    monkeypatch.setattr(VERSION, lambda name: {"snappi_ixnetwork": "1.61.2"}[name])
    world = FakeWorld()
    api = adapted(FakeApi(world), FakeClock(world))
    api.set_config(make_builder(api).build([GLOBAL]).config)
    assert list(world.flows) == ["Global"], world.flows


def test_every_flow_has_the_receiver_that_the_extension_reads():
    _, extension = make_generator(STORM, DATA)
    ends = [(flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_name) for flow in extension.configs[-1].flows]
    assert ends == [("rx Ethernet0", "tx Ethernet64"), ("tx Ethernet64", "rx Ethernet0")], ends


@pytest.mark.parametrize("ip_version, tpid", [(4, 0x0800), (6, 0x86DD)])
def test_a_tag_says_what_follows_it(ip_version, tpid):
    """Left out, the extension sends 0xFFFF as the type of what follows."""
    extension = Extension(FakeWorld())
    config = make_builder(extension, ip_version, vlan_id=10).build([DATA]).config
    IxNetworkApi(extension, FakeClock(FakeWorld())).set_config(config)
    tag = next(header for header in extension.configs[-1].flows[0].packet if header.parent.choice == "vlan")
    assert tag.tpid.value == tpid, tag
    assert (tag.id.value, tag.priority.value) == (10, 4), "nothing else of the tag is changed"


@pytest.mark.parametrize("card", UNREAD)
def test_a_card_whose_layer_1_is_not_read_is_refused_by_name(card):
    """The extension ends with an error of its own then, which says nothing to anybody."""
    extension = Extension(FakeWorld())
    extension.cards = [f"{CARD}Fcoe", f"{card}Fcoe"]
    extension.breaks = KeyError(card)
    api = IxNetworkApi(extension, FakeClock(FakeWorld()))
    sentence = (f"^the traffic generator's port 10.0.0.9;2;1, of a card of type {card}: expected PFC, got an error,"
                " because it does not read their layer 1, from snappi_ixnetwork")
    with pytest.raises(QualificationError, match=sentence):
        api.set_config(make_builder(extension).build([STORM]).config)


def test_an_error_of_the_extension_is_its_own_where_no_card_explains_it():
    extension = Extension(FakeWorld())
    extension.breaks = RuntimeError("the chassis is away")
    with pytest.raises(RuntimeError, match="the chassis is away"):
        IxNetworkApi(extension, FakeClock(FakeWorld())).set_config(make_builder(extension).build([STORM]).config)


def test_an_error_before_there_is_a_session_is_the_extensions():
    """Nothing can be asked then."""
    extension = Extension(FakeWorld(refuses="no license"))
    with pytest.raises(RuntimeError, match="no license"):
        IxNetworkApi(extension, FakeClock(FakeWorld())).set_config(make_builder(extension).build([STORM]).config)


def test_a_card_without_pfc_is_refused_by_name():
    """The extension says nothing, and its ports never stop."""
    extension = Extension(FakeWorld())
    extension.cards = [f"{CARD}Fcoe", RAVEN]
    sentence = (f"^the traffic generator's port 10.0.0.9;2;1, of a card of type {RAVEN}: expected PFC, got none from"
                " snappi_ixnetwork")
    with pytest.raises(QualificationError, match=sentence):
        IxNetworkApi(extension, FakeClock(FakeWorld())).set_config(make_builder(extension).build([STORM]).config)


@pytest.mark.parametrize("size", [4, "pfcQueueGroupSize-4"])
def test_four_queues_are_refused_where_eight_are_in_use(size):
    extension = Extension(FakeWorld())
    extension.pfc_queues = size
    sentence = ("^the traffic generator's port 10.0.0.9;1;1, of a card of type novusHundredGigLan: expected 8 queues"
                r" that PFC can hold, got 4 \(pfcQueueGroupSize\): pfc_conditions in the testbed's entry need"
                " pfc_queues: 4$")
    with pytest.raises(QualificationError, match=sentence):
        IxNetworkApi(extension, FakeClock(FakeWorld())).set_config(make_builder(extension).build([STORM]).config)


def test_four_queues_do_where_four_are_in_use():
    extension = Extension(FakeWorld())
    extension.pfc_queues = 4
    subject = make_builder(extension).subject
    tolerances = replace(subject.tolerances, pfc_queues=4)
    builder = make_builder(extension, subject=replace(subject, tolerances=tolerances))
    IxNetworkApi(extension, FakeClock(FakeWorld())).set_config(builder.build([STORM]).config)
    assert extension.items == {"Storm": "unapplied"}, extension.items


def test_the_ports_are_told_as_the_session_has_them():
    generator, extension = make_generator(STORM)
    first = CardPort("rx Ethernet0", "10.0.0.9;1;1", f"{CARD}Fcoe", 8)
    assert generator.api.ports() == [first, replace(first, name="tx Ethernet64", location="10.0.0.9;2;1")], extension


@pytest.mark.parametrize("card", WITH_PFC)
def test_a_card_with_pfc_is_refused_by_nobody(card):
    ports = [CardPort("p1", "10.0.0.9;1;1", f"{card}Fcoe"), CardPort("p2", "10.0.0.9;1;2", f"{card}Fcoe", 8)]
    check_pfc(ports, 8)
    check_readable(ports)


@pytest.mark.parametrize("way_s", [0.0, 3.0])
def test_a_finished_item_that_stays_started_is_told_to_stop_before_it_is_started(way_s):
    """Else it would silently not start, and nothing be sent; nor while it is on its way."""
    generator, extension = make_generator(COUNTED, STORM, finished_stay_started=True, way_s=way_s)
    for _ in range(2):
        generator.start(["Counted"])
        generator.clock.sleep(3)
    once = ("start", ["Counted"])
    assert extension.told == [once, ("stop", ["Counted"]), once], extension.told


def test_an_item_that_has_stopped_is_just_started():
    generator, extension = make_generator(COUNTED)
    for _ in range(2):
        generator.start(["Counted"])
        generator.clock.sleep(3)
    assert extension.told == [("start", ["Counted"])] * 2, extension.told


def test_stop_waits_for_items_on_their_way():
    """The extension stops those alone that are `started`; a storm on its way there would go on."""
    generator, extension = make_generator(STORM, way_s=3.0)
    generator.start(["Storm"])
    generator.stop(["Storm"])
    assert extension.told == [("start", ["Storm"]), ("stop", ["Storm"])], extension.told
    assert extension.select_traffic_items()["Storm"]["state"] == "stopped", "and it is waited for"
    assert generator.clock.now() >= 6.0, "as long as both take"


def test_start_waits_for_items_on_their_way():
    generator, extension = make_generator(STORM, way_s=3.0)
    generator.start(["Storm"])
    extension._world.stop("Storm")
    extension.items["Storm"] = "stopped"
    generator.start(["Storm"])
    assert extension.told == [("start", ["Storm"])] * 2, extension.told


@pytest.mark.parametrize("names", [["Storm"], []])
def test_stop_insists(names):
    generator, extension = make_generator(STORM, DATA, deaf=2)
    generator.start(["Storm"])
    generator.stop(names)
    assert extension.told == [("start", ["Storm"])] + [("stop", ["Storm"])] * 3, extension.told
    assert not extension._world.storm_on(), "the storm is over"


def test_a_flow_that_does_not_stop_is_told_in_one_sentence():
    generator, extension = make_generator(STORM, deaf=1000)
    generator.start(["Storm"])
    sentence = f"^the traffic generator.* did not stop Storm, told {STOP_TRIES} times$"
    with pytest.raises(QualificationError, match=sentence):
        generator.stop(["Storm"])


@pytest.mark.parametrize("verb", ["start", "stop"])
def test_an_item_that_never_settles_is_told_in_one_sentence(verb):
    generator, extension = make_generator(STORM, DATA, way_s=float("inf"))
    generator.start(["Storm"])
    sentence = r"after 30 s IxNetwork has traffic items between states: Storm \(startedWaitingForStats\)$"
    with pytest.raises(QualificationError, match=sentence):
        (generator.start if verb == "start" else generator.stop)(["Storm"])


def test_before_the_first_start_there_are_no_metrics_and_no_error():
    """A push reads them, to know what counts begin at."""
    world = FakeWorld()
    extension = Extension(world)
    api = IxNetworkApi(extension, FakeClock(world))
    api.set_config(make_builder(extension).build([COUNTED]).config)
    request = api.metrics_request()
    request.flow.flow_names = ["Counted"]
    assert not list(api.get_metrics(request).flow_metrics), "nothing was counted"
    state = api.control_state()
    state.traffic.flow_transmit.flow_names = ["Counted"]
    state.traffic.flow_transmit.state = "start"
    api.set_control_state(state)
    assert api.get_metrics(request).flow_metrics[0].name == "Counted", "from then on they are the extension's"
    api.set_config(make_builder(extension).build([COUNTED]).config)
    assert not list(api.get_metrics(request).flow_metrics), "a new configuration has none"


@pytest.mark.parametrize("ip_version, gateway", [(4, "192.168.0.1"), (6, "fc02:1000::1")])
def test_neighbours_are_told_host_by_host_although_they_share_a_gateway(ip_version, gateway):
    """The extension has them by gateway: the last host's for all."""
    generator, extension = make_generator(STORM, ip_version=ip_version)
    names = [ethernet.name for device in extension.configs[-1].devices for ethernet in device.ethernets]
    assert len(names) == 2, names
    extension.unresolved = names[1:]
    request = generator.api.states_request()
    request.choice = f"ipv{ip_version}_neighbors"
    answer = getattr(generator.api.get_states(request), request.choice)
    found = [(one.ethernet_name, getattr(one, f"ipv{ip_version}_address"), one.link_layer_address) for one in answer]
    assert found == [(names[0], gateway, "02:00:00:00:00:01")], found


def test_a_host_that_does_not_know_its_gateway_keeps_a_push_from_going_on():
    world = FakeWorld()
    extension = Extension(world)
    traffic = make_builder(extension).build([STORM])
    names = [ethernet.name for device in traffic.config.devices for ethernet in device.ethernets]
    extension.unresolved = names[1:]
    with pytest.raises(QualificationError, match=f"not every tester host has resolved .*: not {', '.join(names[1:])}$"):
        Generator(IxNetworkApi(extension, FakeClock(world)), FakeClock(world)).push(traffic)


@pytest.mark.parametrize("named, told", [([], ["rx Ethernet0", "tx Ethernet64"]), (["tx Ethernet64"],) * 2])
def test_links_of_all_ports_are_taken_where_no_name_is_given(named, told):
    generator, extension = make_generator(STORM)
    set_links(generator, named, up=False)
    assert extension.links == [told], extension.links


def test_crc_errors_are_those_of_the_port_statistics():
    generator, extension = make_generator(COUNTED)
    assert generator.api.crc_errors() == {}, "before the first start there are no statistics"
    generator.start(["Counted"])
    assert generator.api.crc_errors() == {}, "an empty cell is none"
    extension.spoiled["rx Ethernet0"] = 3
    assert generator.api.crc_errors() == {"rx Ethernet0": 3}, extension.spoiled


def test_where_the_column_is_missing_nothing_is_known_of_crc_errors():
    generator, extension = make_generator(COUNTED)
    generator.start(["Counted"])
    extension.spoiled["rx Ethernet0"] = 3
    extension.columns = ["Port Name", "Frames Tx."]
    assert generator.api.crc_errors() == {}, "and no error"


@pytest.mark.parametrize("clears", [True, False])
def test_crc_errors_go_on_where_the_extension_clears_them(clears):
    """It does so with the first start of each phase of a case: what a cable spoiled before must not be forgotten. On a
    chassis whose counts go on they are not counted twice."""
    generator, extension = make_generator(COUNTED, STORM)
    extension.clears = clears
    for phase in range(1, 4):
        generator.start(["Counted"])
        extension.spoiled["rx Ethernet0"] += 3
        generator.clock.sleep(3)
        assert generator.api.crc_errors() == {"rx Ethernet0": 3 * phase}, extension.spoiled
    generator.start(["Counted"])
    assert generator.api.crc_errors() == {"rx Ethernet0": 9}, "the last phase spoiled none"


@pytest.mark.parametrize("kept", [True, False])
def test_crc_errors_go_on_where_the_configuration_is_replaced(kept):
    """Whether or not the chassis keeps its counts then."""
    generator, extension = make_generator(COUNTED)
    generator.start(["Counted"])
    extension.spoiled["rx Ethernet0"] = 3
    generator.push(make_builder(extension).build([COUNTED]))
    assert generator.api.crc_errors() == {"rx Ethernet0": 3}, "before it is started"
    extension.spoiled["rx Ethernet0"] = 3 if kept else 0
    generator.start(["Counted"])
    assert generator.api.crc_errors() == {"rx Ethernet0": 3}, "and behind that"
    extension.spoiled["rx Ethernet0"] += 2
    assert generator.api.crc_errors() == {"rx Ethernet0": 5}, extension.spoiled


def test_a_start_beside_others_leaves_statistics_alone():
    generator, extension = make_generator(STORM, COUNTED)
    generator.start(["Storm"])
    extension.spoiled["rx Ethernet0"] = 3
    generator.start(["Counted"])
    assert extension.spoiled["rx Ethernet0"] == 3, "nobody cleared them"
    assert generator.api.crc_errors() == {"rx Ethernet0": 3}, "nor counted them twice"


def test_in_another_process_session_the_extension_is_asked_directly():
    """Traffic of a run that died is stopped without anything being known of it."""
    world = FakeWorld()
    extension = Extension(world)
    Generator(IxNetworkApi(extension, FakeClock(world)), FakeClock(world)).stop()
    assert extension.told == [("stop", [])], extension.told
