"""The headers of an OTG flow: data (Ethernet, IPv4 or IPv6, UDP or TCP, VXLAN) or one MAC control frame (PFC, 802.3x).
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from pfctest.frame import CLASSES, CONTROL_ETHERTYPE, OPCODE_PAUSE, OPCODE_PFC, GlobalPauseFrame, PfcFrame, encode
from virtual_testbed.otg.content import (ETHER_TYPES, FCS_BYTES, PROTOCOLS, TCP_WORDS, VERSIONS, FrameContent,
                                         Layer)
from virtual_testbed.otg.fields import Fields
from virtual_testbed.otg.patterns import IPV4, IPV6, MAC, Pattern, constant, integer_kind, mac_text, read_pattern

HEADERS = ("ethernet", "vlan", "ipv4", "ipv6", "udp", "tcp", "vxlan", "pfcpause", "ethernetpause")
SHAPES = [("ethernet", *tag, ip, *transport)
          for tag in ((), ("vlan",)) for ip in ("ipv4", "ipv6") for transport in ((), ("udp",), ("tcp",))]
AUTOMATIC_TPID = 0xFFFF  # OTG's default of vlan.tpid
LARGEST_VLAN = 4094  # IEEE 802.1Q reserves 4095; 0 is a tag that only says a priority
NO_NEXT_PROTOCOL = {"ipv4": 61, "ipv6": 59}  # OTG's defaults: any host internal protocol, no next header
VNI_FOLLOWS = 0x08  # OTG's default of vxlan.flags
PAUSE_ADDRESS = 0x0180C2000001
Patterns = dict[str, Pattern]


@dataclass(frozen=True)
class DataHeaders:
    """The headers of a data flow. A None address: the request leaves it to the server (a device flow fills it in).

    Attributes:
        names: the headers in order, as OTG names them.
        dscp: DSCP of frame k is `dscp[k % len(dscp)]`.
        queue: transmit queue, OTG `ethernet.pfc_queue`.
        content: what the frames look like.
        vlan_id, vlan_priority: of the 802.1Q tag; None: untagged.
        ecn: of all frames; None: they differ.
    """

    names: tuple[str, ...]
    source_mac: str | None
    destination_mac: str | None
    source: str | None
    destination: str | None
    dscp: tuple[int, ...]
    queue: int
    content: FrameContent
    vlan_id: int | None = None
    vlan_priority: int = 0
    ecn: int | None = 0

    @property
    def shortest_frame(self) -> int:
        """Bytes of headers and FCS."""
        return self.content.shortest_frame

    @property
    def ip_version(self) -> int:
        """4 or 6, of the outer IP header."""
        return next(VERSIONS[name] for name in self.names if name in VERSIONS)


@dataclass(frozen=True)
class PauseHeaders:
    """A MAC control frame before its FCS, padded to the smallest frame."""

    frame: bytes

    @property
    def shortest_frame(self) -> int:
        """Bytes of the frame and its FCS."""
        return len(self.frame) + FCS_BYTES


def read_headers(flow: Fields) -> DataHeaders | PauseHeaders | None:
    """Reads `flow.packet`; None when its kind of frame is not modelled, which is then noted."""
    found = [(header.choice(HEADERS, "ethernet"), header) for header in flow.items("packet")]
    names = tuple(name for name, _ in found)
    if "" in names:
        return None
    if names in (("pfcpause",), ("ethernetpause",)):
        name, header = found[0]
        return PauseHeaders((_read_pfc if name == "pfcpause" else _read_global_pause)(_body(name, header)))
    inner = _inner(names)
    if inner is None:
        flow.error("packet", f"{' / '.join(names) or 'no header'}: not modelled; modelled are ethernet, at most one "
                   "vlan, ipv4 or ipv6, then nothing, udp or tcp; the same behind udp / vxlan; or pfcpause or "
                   "ethernetpause alone")
        return None
    return _read_data(names, [_body(name, header) for name, header in found], inner)


def _inner(names: tuple[str, ...]) -> int | None:
    """Where the headers in a tunnel begin, after the last one when there is none; None: a shape that is not modelled.
    """
    if "vxlan" not in names:
        return len(names) if names in SHAPES else None
    inner = names.index("vxlan") + 1
    modelled = names[inner - 2] == "udp" and names[:inner - 1] in SHAPES and names[inner:] in SHAPES
    return inner if modelled else None


def _body(name: str, header: Fields) -> Fields:
    body = header.child(name)
    header.done()
    return body


def _read_data(names: tuple[str, ...], bodies: list[Fields], inner: int) -> DataHeaders:
    """The headers of a shape that is modelled; those from `inner` on are in a tunnel, where nothing decides."""
    ethernet = bodies[0]
    source_mac = _optional_mac(ethernet, "src")
    destination_mac = _optional_mac(ethernet, "dst")
    _must_be(ethernet, "ether_type", 16, ETHER_TYPES[names[1]])
    queue = constant(ethernet, "pfc_queue", integer_kind(3), 0)
    ethernet.done()
    layers = [Layer("ethernet", {})]
    vlan_id = None
    vlan_priority = 0
    if names[1] == "vlan":
        layers.append(Layer("vlan", _read_vlan(bodies[1])))
        vlan_id, vlan_priority = (layers[1].patterns[name].value(0) for name in ("id", "priority"))
    at = len(layers)
    source, destination = (_optional_ip(bodies[at], name, VERSIONS[names[at]]) for name in ("src", "dst"))
    layers += _read_from_ip(names[at:inner], bodies[at:inner])
    if inner < len(names):
        layers += _read_inner(names[inner:], bodies[inner:])
    dscp = layers[at].patterns["dscp"].every()
    return DataHeaders(names, source_mac, destination_mac, source, destination, dscp, queue,
                       FrameContent(tuple(layers)), vlan_id, vlan_priority, _ecn(layers[at].patterns))


def _read_inner(names: tuple[str, ...], bodies: list[Fields]) -> list[Layer]:
    """The headers in a tunnel: addresses are content like everything else."""
    ethernet = bodies[0]
    _must_be(ethernet, "ether_type", 16, ETHER_TYPES[names[1]])
    layers = [Layer("ethernet", {name: read_pattern(ethernet, name, MAC, 0, auto=0) for name in ("src", "dst")})]
    ethernet.done()
    if names[1] == "vlan":
        layers.append(Layer("vlan", _read_vlan(bodies[1])))
    at = len(layers)
    kind = IPV4 if names[at] == "ipv4" else IPV6
    addresses = {name: read_pattern(bodies[at], name, kind, 0) for name in ("src", "dst")}
    ip, *transport = _read_from_ip(names[at:], bodies[at:])
    return [*layers, Layer(ip.name, {**ip.patterns, **addresses}), *transport]


def _read_from_ip(names: tuple[str, ...], bodies: list[Fields]) -> list[Layer]:
    """An IP header, whose addresses were read already, and those behind it, up to VXLAN."""
    protocol = PROTOCOLS.get(names[1]) if len(names) > 1 else None
    patterns = (_read_ipv4 if names[0] == "ipv4" else _read_ipv6)(bodies[0], protocol)
    bodies[0].done("options")
    readers = {"udp": _read_udp, "tcp": _read_tcp, "vxlan": _read_vxlan}
    return [Layer(names[0], patterns), *(Layer(name, readers[name](body)) for name, body in zip(names[1:], bodies[1:]))]


def _read_vlan(vlan: Fields) -> Patterns:
    """VLAN id and priority, the same in all frames, of a tag. Its TPID is 0x8100: it is no service tag."""
    vlan_id = constant(vlan, "id", integer_kind(12), 0)
    if vlan_id > LARGEST_VLAN:
        vlan.error("id", f"{vlan_id}: not modelled; modelled are 0 to {LARGEST_VLAN}")
    priority = constant(vlan, "priority", integer_kind(3), 0)
    drop_eligible = _content(vlan, 1, "cfi")
    tpid = constant(vlan, "tpid", integer_kind(16), AUTOMATIC_TPID)
    if tpid not in (ETHER_TYPES["vlan"], AUTOMATIC_TPID):
        vlan.error("tpid", f"{tpid}: not modelled; modelled is {ETHER_TYPES['vlan']} (or OTG's default)")
    vlan.done()
    return {"id": Pattern((vlan_id,)), "priority": Pattern((priority,)), **drop_eligible}


def _optional_mac(ethernet: Fields, name: str) -> str | None:
    fields = ethernet.child(name) if ethernet.has(name) else None
    if fields is None or (fields.take("choice") or ("value" if fields.has("value") else "auto")) == "auto":
        ethernet.take(name)
        return None
    return mac_text(constant(ethernet, name, MAC, 0))


def _optional_ip(ip: Fields, name: str, version: int) -> str | None:
    if not ip.has(name):
        ip.take(name)
        return None
    kind = IPV4 if version == 4 else IPV6
    return kind.text(constant(ip, name, kind, 0))


def _must_be(header: Fields, name: str, bits: int, right: int) -> None:
    """A field that says what the rest of the frame is: only the right value is modelled."""
    value = constant(header, name, integer_kind(bits), right, auto=right)
    if value != right:
        header.error(name, f"{value}: not modelled; modelled is {right} (or auto)")


def _content(header: Fields, bits: int, *names: str) -> Patterns:
    """Fields that no part of the model looks at: any value is right, and captures show it."""
    return {name: read_pattern(header, name, integer_kind(bits), 0, auto=0) for name in names}


def _automatic(header: Fields, name: str) -> None:
    """A length: only `auto`, the right one."""
    if header.has(name):
        length = header.child(name)
        length.choice(("auto",), "auto")
        length.done()
    header.take(name)


def _checksum(header: Fields, name: str) -> None:
    """A checksum: only `generated: good`."""
    if header.has(name):
        checksum = header.child(name)
        if checksum.choice(("generated",), "generated"):
            if checksum.one_of("generated", ("good", "bad"), "good") == "bad":
                checksum.error("generated", "bad: not modelled; modelled is good")
        checksum.done()
    header.take(name)


def _read_ipv4(ip: Fields, protocol: int | None) -> Patterns:
    _must_be(ip, "version", 4, 4)
    _must_be(ip, "header_length", 4, 5)
    _automatic(ip, "total_length")
    content = _content(ip, 16, "identification") | _content(ip, 1, "reserved", "dont_fragment")
    _must_be(ip, "more_fragments", 1, 0)
    _must_be(ip, "fragment_offset", 13, 0)
    content |= _hop_limit(ip, "time_to_live") | _next_header(ip, "protocol", protocol, NO_NEXT_PROTOCOL["ipv4"])
    _checksum(ip, "header_checksum")
    return content | _read_priority(ip.child("priority"))


def _read_ipv6(ip: Fields, protocol: int | None) -> Patterns:
    _must_be(ip, "version", 4, 6)
    content = _octet(read_pattern(ip, "traffic_class", integer_kind(8), 0)) | _content(ip, 20, "flow_label")
    _automatic(ip, "payload_length")
    content |= _next_header(ip, "next_header", protocol, NO_NEXT_PROTOCOL["ipv6"])
    return content | _hop_limit(ip, "hop_limit")


def _octet(traffic_class: Pattern) -> Patterns:
    """DSCP and ECN of an octet that has both."""
    every = traffic_class.every()
    return {"dscp": Pattern(tuple(value >> 2 for value in every)), "ecn": Pattern(tuple(value & 3 for value in every))}


def _hop_limit(ip: Fields, name: str) -> Patterns:
    """TTL or hop limit: 64 by default; 0 and 1 would be dropped where a switch routes, which is not modelled."""
    value = constant(ip, name, integer_kind(8), 64)
    if value < 2:
        ip.error(name, "below 2: not modelled; modelled are 2 to 255")
    return {name: Pattern((value,))}


def _next_header(ip: Fields, name: str, protocol: int | None, none: int) -> Patterns:
    """The protocol field: that of the next header; free when there is none, `none` by default."""
    if protocol is None:
        return {name: Pattern((constant(ip, name, integer_kind(8), none, auto=none),))}
    _must_be(ip, name, 8, protocol)
    return {name: Pattern((protocol,))}


def _read_priority(priority: Fields) -> Patterns:
    """DSCP and ECN values of `ipv4.priority` in any of its three forms."""
    choice = priority.choice(("dscp", "tos", "raw"), "dscp")
    content = {"dscp": Pattern((0,))}
    if choice == "raw":
        content = _octet(read_pattern(priority, "raw", integer_kind(8), 0))
    elif choice == "tos":
        content = _read_tos(priority.child("tos"))
    elif choice == "dscp":
        code_point = priority.child("dscp")
        content = {"dscp": read_pattern(code_point, "phb", integer_kind(6), 0), **_content(code_point, 2, "ecn")}
        code_point.done()
    priority.done()
    return content


def _ecn(ip: Mapping[str, Pattern]) -> int | None:
    """The ECN field where all frames have the same, else None; RFC 791's octet says it bit by bit."""
    bits = ["ecn"] if "ecn" in ip else [name for name in ("monetary", "unused") if name in ip]
    every = set(zip(*(ip[name].every() for name in bits))) or {(0,)}
    return reduce(lambda value, bit: value << 1 | bit, every.pop()) if len(every) == 1 else None


def _read_tos(tos: Fields) -> Patterns:
    """RFC 791's octet: precedence 3 bits, then delay, throughput and reliability, which are the DSCP's six bits."""
    value = constant(tos, "precedence", integer_kind(3), 0)
    for name in ("delay", "throughput", "reliability"):
        value = value << 1 | constant(tos, name, integer_kind(1), 0)
    rest = _content(tos, 1, "monetary", "unused")
    tos.done()
    return {"dscp": Pattern((value,)), **rest}


def _read_udp(udp: Fields) -> Patterns:
    content = _content(udp, 16, "src_port", "dst_port")
    _automatic(udp, "length")
    _checksum(udp, "checksum")
    udp.done()
    return content


def _read_tcp(tcp: Fields) -> Patterns:
    content = _content(tcp, 16, "src_port", "dst_port", "window") | _content(tcp, 32, "seq_num", "ack_num")
    _must_be(tcp, "data_offset", 4, TCP_WORDS)
    content |= _content(tcp, 1, "ecn_ns", "ecn_cwr", "ecn_echo", "ctl_urg", "ctl_ack", "ctl_psh", "ctl_rst", "ctl_syn",
                        "ctl_fin")
    _checksum(tcp, "checksum")
    tcp.done()
    return content


def _read_vxlan(vxlan: Fields) -> Patterns:
    flags = read_pattern(vxlan, "flags", integer_kind(8), VNI_FOLLOWS)
    content = _content(vxlan, 24, "reserved0", "vni") | _content(vxlan, 8, "reserved1")
    vxlan.done()
    return {"flags": flags, **content}


def _read_pfc(pause: Fields) -> bytes:
    """IEEE 802.1Qbb: class-enable vector and eight times in quanta, class 0 first; any values, also malformed ones."""
    destination, source = (mac_text(constant(pause, name, MAC, default))
                           for name, default in (("dst", PAUSE_ADDRESS), ("src", 0)))
    kind = _kind_of_frame(pause, OPCODE_PFC)
    vector = constant(pause, "class_enable_vector", integer_kind(16), 0)
    times = tuple(constant(pause, f"pause_class_{number}", integer_kind(16), 0) for number in range(CLASSES))
    pause.done()
    return _with_kind(encode(PfcFrame(source, vector, times, destination)), kind)


def _read_global_pause(pause: Fields) -> bytes:
    """IEEE 802.3 annex 31B: one time in quanta. OTG's default is 0, which resumes."""
    destination, source = (mac_text(constant(pause, name, MAC, default))
                           for name, default in (("dst", PAUSE_ADDRESS), ("src", 0)))
    kind = _kind_of_frame(pause, OPCODE_PAUSE)
    time = constant(pause, "time", integer_kind(16), 0)
    pause.done()
    return _with_kind(encode(GlobalPauseFrame(source, time, destination)), kind)


def _kind_of_frame(pause: Fields, operation: int) -> bytes:
    """Type and operation code, which a tester may set wrong on purpose."""
    ether_type = constant(pause, "ether_type", integer_kind(16), CONTROL_ETHERTYPE)
    code = constant(pause, "control_op_code", integer_kind(16), operation)
    return ether_type.to_bytes(2, "big") + code.to_bytes(2, "big")


def _with_kind(frame: bytes, kind: bytes) -> bytes:
    return frame[:12] + kind + frame[16:]
