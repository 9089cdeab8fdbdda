"""Which interfaces default routes leave through, and which are fit for a storm."""
from __future__ import annotations

import json
import struct
import sys
import time

import pytest

from pfctest import interface, routes
from pfctest.interface import Interface, InterfaceError, default_route_by
from pfctest.routes import KernelLink as Link, lies_on
from pfctest.tests.namespace import WHY_NOT, namespace, way

ZEROS = "0" * 32
ROUTES = """
addr add 10.9.0.1/24 dev first
addr add 10.7.0.1/24 dev second
route add default nexthop via 10.9.0.2 dev first nexthop via 10.7.0.2 dev second
route add default dev vrf table 1001
route add 0.0.0.0/1 dev low
route add 128.0.0.0/1 dev high table 1002
route add 10.0.0.0/8 dev near
route add unreachable default metric 4278198272 table 1003
"""
ROUTES_6 = """
addr add fd00:9::1/64 dev first6 nodad
addr add fd00:7::1/64 dev second6 nodad
route add default nexthop via fd00:9::2 dev first6 nexthop via fd00:7::2 dev second6
route add default dev vrf6 table 1001
route add 8000::/1 dev high6
route add fd00::/8 dev near6
route add unreachable default table 1003
"""
LEAVING = ["first", "first6", "high", "high6", "low", "second", "second6", "vrf", "vrf6"]
ASK = """import json, socket, sys
from pfctest.interface import default_route_by
print(json.dumps(sorted(name for _, name in socket.if_nameindex() if default_route_by(name))))"""
REFUSED = ("has a default route, and pausing its peer may cut this machine off: expected another one, or --force")


@pytest.mark.skipif(way() is None, reason=WHY_NOT)
def test_default_routes_of_every_table_and_every_next_hop():
    with namespace() as place:
        place.add_cable(*((name, f"{name}-far") for name in [*LEAVING, "near", "near6"]))
        for family, lines in (("-4", ROUTES), ("-6", ROUTES_6)):
            for line in lines.strip().splitlines():
                place.run("ip", family, *line.split())
        assert json.loads(place.run(sys.executable, "-c", ASK).stdout) == LEAVING


@pytest.mark.skipif(way() is None, reason=WHY_NOT)
def test_a_storm_is_refused_on_the_second_next_hop_of_the_default_route():
    with namespace() as place:
        place.add_cable(("first", "far"), ("second", "far2"))
        for line in ROUTES.strip().splitlines()[:3]:
            place.run("ip", *line.split())
        storm = place.python("pfctest", "-d", "second", "--priority=3", "--speed=100G")
        done = place.run(*storm, check=False)
        assert (done.returncode, done.stderr) == (2, (
            "error: interface second has a default route, and pausing its peer may cut this machine off: expected "
            "another one, or --force\n"))
        assert place.run(*storm, "--force").returncode == 0


@pytest.mark.skipif(way() is None, reason=WHY_NOT)
def test_a_next_hop_object_that_only_proc_resolves():
    with namespace() as place:
        place.add_cable(("up", "far"), ("near", "far2"))
        made = [place.run("sh", "-c", line, check=False).returncode for line in (
            "ip nexthop add id 5 dev up", "ip route add default nhid 5",
            "echo 0 >/proc/sys/net/ipv4/nexthop_compat_mode")]
        if any(made):
            pytest.skip("no route here can name a next hop object and nothing else")
        assert json.loads(place.run(sys.executable, "-c", ASK).stdout) == ["up"]


@pytest.mark.skipif(way() is None, reason=WHY_NOT)
@pytest.mark.parametrize("kind, member", [
    ("bridge", "link set dev up master over"), ("macvlan", "link add link up name over type macvlan mode bridge")])
def test_what_carries_the_interface_of_the_default_route_is_refused(kind, member):
    with namespace() as place:
        place.add_cable(("up", "far"), ("near", "far2"))
        made = [place.run("ip", *line.split(), check=False).returncode for line in (
            *(["link add name over type bridge"] if kind == "bridge" else []), member, "link set over up",
            "route add default dev over")]
        if any(made):
            pytest.skip(f"no {kind} can be made here")
        assert json.loads(place.run(sys.executable, "-c", ASK).stdout) == ["over", "up"]
        storm = ("--priority=3", "--speed=100G")
        done = place.run(*place.python("pfctest", "-d", "up", *storm), check=False)
        assert (done.returncode, done.stderr) == (2, f"error: interface up carries over, which {REFUSED}\n")
        done = place.run(*place.python("pfctest", "-d", "over", *storm), check=False)
        assert done.returncode == 2 and f"interface over is of the kind {kind}, whose frames" in done.stderr


@pytest.mark.skipif(way() is None, reason=WHY_NOT)
def test_another_name_of_an_interface_is_the_same_interface():
    with namespace() as place:
        place.add_cable(("up", "far"))
        place.run("ip", "route", "add", "default", "dev", "up")
        if place.run("ip", "link", "property", "add", "dev", "up", "altname", "enp9s0", check=False).returncode:
            pytest.skip("no interface can have another name here")
        storm = ("--priority=3", "--speed=100G")
        done = place.run(*place.python("pfctest", "-d", "enp9s0", *storm), check=False)
        assert (done.returncode, done.stderr) == (2, f"error: interface up {REFUSED}\n")
        done = place.run(*place.python("pfctest", "-d", "up,enp9s0", "--force", *storm), check=False)
        assert (done.returncode, done.stderr) == (2, "error: interface up is given twice: as up and as enp9s0\n")


@pytest.mark.skipif(way() is None, reason=WHY_NOT)
def test_the_driver_of_an_interface():
    with namespace() as place:
        place.add_cable(("near", "far"))
        ask = "from pfctest.interface import driver_of; print(driver_of('near'), driver_of('none'), sep=',')"
        assert place.run(sys.executable, "-c", ask).stdout == "veth,\n"


def of_kind(kind):
    """The attribute IFLA_INFO_KIND."""
    return struct.pack("HH", 4 + len(kind) + 1, 1) + kind.ljust((len(kind) // 4 + 1) * 4, b"\0")


BOND = {1: Link("lo", "", 0, 0), 2: Link("eth0", "", 5, 0), 3: Link("eth1", "", 5, 0), 4: Link("eth2", "", 0, 0),
        5: Link("bond0", "bond", 0, 0), 6: Link("bond0.7", "vlan", 8, 5), 7: Link("veth0", "veth", 8, 0),
        8: Link("br0", "bridge", 9, 0), 9: Link("blue", "vrf", 0, 0)}


@pytest.mark.parametrize("index, above", [
    (2, {5, 6, 8}), (3, {5, 6, 8}), (4, set()), (5, {6, 8}), (6, {8}), (7, {8}), (8, set()), (77, set())])
def test_what_lies_on_an_interface(index, above):
    """Also on what lies on it; a VRF does not lie on anything: its routes are found by themselves."""
    assert lies_on(index, BOND) == above


@pytest.mark.parametrize("attributes, expected", [
    ([(3, b"eth0\0")], Link("eth0", "", 0, 0)),
    ([(3, b"eth0\0"), (10, struct.pack("i", 5))], Link("eth0", "", 5, 0)),
    ([(3, b"v7\0"), (5, struct.pack("i", 2)), (18, of_kind(b"vlan"))], Link("v7", "vlan", 0, 2)),
    ([(3, b"v7\0"), (5, struct.pack("i", 2)), (37, struct.pack("i", 0))], Link("v7", "", 0, 0)),
    ([(3, b"a\0"), (5, struct.pack("i", 2)), (18, of_kind(b"veth"))], Link("a", "veth", 0, 0)),
], ids=["device", "member", "vlan", "of-another-namespace", "veth"])
def test_what_the_kernel_says_of_interfaces(monkeypatch, attributes, expected):
    body = struct.pack("BxHiII", 0, 1, 7, 0, 0) + b"".join(
        struct.pack("HH", 4 + len(value), kind) + value + bytes(-len(value) % 4) for kind, value in attributes)
    monkeypatch.setattr(routes.socket, "socket", Kernel((16, body), (3, bytes(4))))
    assert routes.links() == {7: expected}


@pytest.mark.parametrize("kind, driver, sentence", [
    *((kind, "", f"is of the kind {kind}, whose frames do not leave as they are by one cable: expected the interface "
                 "that the cable is in, or --force")
      for kind in ("vlan", "macvlan", "macvtap", "bond", "team", "bridge", "dummy", "ifb", "vrf")),
    *(("", driver, f"has the driver {driver}, whose NICs drop the pause frames of programs, so that none would reach "
                   "the cable: expected a NIC of another driver, or --force") for driver in ("i40e", "ice", "iavf")),
    ("", "mlx5_core", ""), ("veth", "veth", ""), ("tun", "tun", "")])
def test_interfaces_from_which_no_pause_frame_reaches_one_cable(monkeypatch, kind, driver, sentence):
    """Intel's hardware drops them after its driver has taken them."""
    monkeypatch.setattr(interface, "links", lambda: {5: Link("eth5", kind, 0, 0)})
    monkeypatch.setattr(interface, "driver_of", lambda name: driver)
    monkeypatch.setattr(interface, "default_interfaces", set)
    said = ""
    try:
        interface.refuse_unfit(Interface("eth5", 5, "02:00:00:00:00:05", 10_000))
    except InterfaceError as error:
        said = str(error)
    assert said == (f"interface eth5 {sentence}" if sentence else "")


@pytest.fixture
def in_proc(tmp_path, monkeypatch):
    """Two tables as /proc has them."""
    old, new = tmp_path / "route", tmp_path / "ipv6_route"
    old.write_text("Iface Destination Gateway Flags RefCnt Use Metric Mask\nup4 00000000 010200C0 0003 0 0 0 00000000\n"
                   "low 00000000 00000000 0001 0 0 0 00000080\nhigh 00000080 00000000 0001 0 0 0 00000080\n"
                   "near 0000000A 00000000 0001 0 0 0 000000FF\n*dead 00000000 00000000 0200 0 0 0 00000000\n")
    new.write_text(f"{ZEROS} 00 {ZEROS} 00 {'1' * 32} 00000400 00000001 00000000 00000003     up6\n"
                   f"8{ZEROS[1:]} 01 {ZEROS} 00 {ZEROS} 00000400 00000001 00000000 00000001     high6\n"
                   f"{ZEROS} 00 {ZEROS} 00 {ZEROS} ffffffff 00000001 00000000 00200200       lo\n")
    monkeypatch.setattr(interface, "ROUTES", old)
    monkeypatch.setattr(interface, "ROUTES_6", new)


def test_without_the_socket_the_tables_in_proc_are_asked(in_proc, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(routes.socket, "socket", refuse)
    assert routes.default_interfaces() == set() and routes.links() == {}
    names = ("up4", "low", "high", "near", "*dead", "up6", "high6", "lo")
    assert [name for name in names if default_route_by(name)] == ["up4", "low", "high", "up6", "high6"]


def test_proc_is_asked_for_what_lies_on_an_interface_too(in_proc, monkeypatch):
    monkeypatch.setattr(interface, "links", lambda: {2: Link("eth0", "", 3, 0), 3: Link("up4", "bridge", 0, 0)})
    monkeypatch.setattr(interface, "default_interfaces", set)
    assert (default_route_by("eth0"), default_route_by("up4"), default_route_by("near")) == ("up4", "up4", "")


class Card:
    """An Ethernet interface that gets a carrier, or is shut, at a time of a clock that only `sleep` moves."""

    UP, RUNNING = 0x1, 0x40

    def __init__(self, carrier_s=float("inf"), shut_s=float("inf")):
        self.now_s = 0.0
        self._carrier_s, self._shut_s = carrier_s, shut_s

    def patience(self, length_s):
        return interface.Patience(length_s, 0.01, lambda: self.now_s, self.sleep)

    def sleep(self, seconds):
        self.now_s += seconds

    def ask(self, _, name, request):
        """The answer of an ioctl."""
        up = self.UP if self.now_s < self._shut_s else 0
        running = self.RUNNING if up and self.now_s >= self._carrier_s else 0
        return {0x8913: struct.pack("16xH", up | running),
                0x8927: struct.pack("16xH6s", 1, bytes(6))}[request]


@pytest.fixture
def plug(monkeypatch):
    """Plugs a card in as eth5."""
    def plug(card):
        monkeypatch.setattr(interface, "_ask", card.ask)
        monkeypatch.setattr(interface.socket, "if_nametoindex", lambda _: 5)
        monkeypatch.setattr(interface.socket, "if_indextoname", lambda _: "eth5")
        return card
    return plug


@pytest.mark.parametrize("carrier_s, waited_s", [(0, 0), (0.055, 0.06), (0.99, 0.99)])
def test_a_link_that_comes_within_the_patience_is_waited_for(plug, carrier_s, waited_s):
    card = plug(Card(carrier_s))
    assert interface.find("eth5", card.patience(1)).index == 5
    assert card.now_s == pytest.approx(waited_s)


@pytest.mark.parametrize("carrier_s, length_s", [(0.055, 0), (1.5, 1), (float("inf"), 1)])
def test_a_link_that_comes_later_is_not(plug, carrier_s, length_s):
    card = plug(Card(carrier_s))
    with pytest.raises(interface.InterfaceError, match="eth5 is up but has no link"):
        interface.find("eth5", card.patience(length_s))
    assert card.now_s == pytest.approx(length_s, abs=0.011)


@pytest.mark.parametrize("shut_s", [0, 0.5])
def test_an_interface_that_is_down_is_not_waited_for(plug, shut_s):
    card = plug(Card(shut_s=shut_s))
    with pytest.raises(interface.InterfaceError, match="eth5 is down"):
        interface.find("eth5", card.patience(1))
    assert card.now_s == pytest.approx(shut_s)


@pytest.mark.parametrize("shut_s", [0, float("inf")])
def test_where_nothing_is_sent_no_link_is_needed(plug, shut_s):
    card = plug(Card(shut_s=shut_s))
    assert interface.find("eth5", card.patience(1), needs_link=False).index == 5
    assert card.now_s == 0


def test_users_wait_for_a_second():
    assert interface.Patience() == interface.Patience(1.0, 0.01, time.monotonic, time.sleep)


class Kernel:
    """A netlink socket that gives this answer."""

    def __init__(self, *messages):
        self._answer = b"".join(struct.pack("IHHII", 16 + len(body), kind, 0, 1, 0) + body for kind, body in messages)

    def __call__(self, *_):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def settimeout(self, _):
        """The answer is there at once."""

    def sendto(self, *_):
        """The question does not matter."""

    def recv(self, _):
        """All of it."""
        return self._answer


def route(bits, kind, index):
    """A route of one interface."""
    return struct.pack("8BI", 2, bits, 0, 0, 254, 4, 0, kind, 0) + struct.pack("HHi", 8, 4, index)


@pytest.mark.parametrize("bits, kind, index, leaves", [(0, 1, 5, {"eth5"}), (1, 1, 5, {"eth5"}), (2, 1, 5, set()),
                                                       (0, 7, 5, set()), (0, 1, 6, set())])
def test_what_is_a_default_route(monkeypatch, bits, kind, index, leaves):
    monkeypatch.setattr(routes.socket, "socket", Kernel((24, route(bits, kind, index)), (3, bytes(4))))
    monkeypatch.setattr(routes.socket, "if_nameindex", lambda: [(1, "lo"), (5, "eth5")])
    assert routes.default_interfaces() == leaves


def test_an_answer_that_is_an_error_leaves_it_to_proc(in_proc, monkeypatch):
    monkeypatch.setattr(routes.socket, "socket", Kernel((2, struct.pack("i", -95) + bytes(16))))
    assert default_route_by("up4") and not default_route_by("near")


def test_a_piece_without_a_length_does_not_hold_it_up(monkeypatch):
    assert routes.leaves_by(route(0, 1, 5) + bytes(16)) == {5}
