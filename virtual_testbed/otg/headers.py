"""The headers of an OTG flow: data (Ethernet, IPv4 or IPv6, UDP or TCP) or one MAC control frame (PFC, 802.3x)."""
from __future__ import annotations

from dataclasses import dataclass

from pfctest.frame import CLASSES, CONTROL_ETHERTYPE, OPCODE_PAUSE, OPCODE_PFC, PauseFrame, PfcFrame, encode
from virtual_testbed.otg.fields import Fields
from virtual_testbed.otg.patterns import IPV4, IPV6, MAC, constant, integer_kind, mac_text, read_pattern

HEADERS = ("ethernet", "vlan", "ipv4", "ipv6", "udp", "tcp", "pfcpause", "ethernetpause")
SHAPES = [("ethernet", *tag, ip, *transport)
          for tag in ((), ("vlan",)) for ip in ("ipv4", "ipv6") for transport in ((), ("udp",), ("tcp",))]
HEADER_BYTES = {"ethernet": 14, "vlan": 4, "ipv4": 20, "ipv6": 40, "udp": 8, "tcp": 20}
ETHER_TYPES = {"vlan": 0x8100, "ipv4": 0x0800, "ipv6": 0x86DD}
AUTOMATIC_TPID = 0xFFFF  # OTG's default of vlan.tpid
LARGEST_VLAN = 4094  # IEEE 802.1Q reserves 4095; 0 is a tag that only says a priority
PROTOCOLS = {"udp": 17, "tcp": 6}
NO_NEXT_PROTOCOL = 61  # OTG's default of ipv4.protocol, "any host internal protocol"
PAUSE_ADDRESS = 0x0180C2000001
FCS_BYTES = 4


@dataclass(frozen=True)
class DataHeaders:
    """The headers of a data flow. A None address: the request leaves it to the server (a device flow fills it in).

    Attributes:
        names: the headers in order, as OTG names them.
        dscp: DSCP of frame k is `dscp[k % len(dscp)]`.
        queue: transmit queue, OTG `ethernet.pfc_queue`.
        vlan_id, vlan_priority: of the 802.1Q tag; None: untagged.
    """

    names: tuple[str, ...]
    source_mac: str | None
    destination_mac: str | None
    source: str | None
    destination: str | None
    dscp: tuple[int, ...]
    queue: int
    vlan_id: int | None = None
    vlan_priority: int = 0

    @property
    def shortest_frame(self) -> int:
        """Bytes of headers and FCS."""
        return sum(HEADER_BYTES[name] for name in self.names) + FCS_BYTES

    @property
    def ip_version(self) -> int:
        """4 or 6."""
        return 4 if "ipv4" in self.names else 6


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
    if names not in SHAPES:
        flow.error("packet", f"{' / '.join(names) or 'no header'}: not modelled; modelled are ethernet, at most one "
                   "vlan, ipv4 or ipv6, then nothing, udp or tcp; or pfcpause or ethernetpause alone")
        return None
    bodies = {name: _body(name, header) for name, header in found}
    return _read_data(names, bodies)


def _body(name: str, header: Fields) -> Fields:
    body = header.child(name)
    header.done()
    return body


def _read_data(names: tuple[str, ...], bodies: dict[str, Fields]) -> DataHeaders:
    ethernet = bodies["ethernet"]
    source_mac = _optional_mac(ethernet, "src")
    destination_mac = _optional_mac(ethernet, "dst")
    _must_be(ethernet, "ether_type", 16, ETHER_TYPES[names[1]])
    queue = constant(ethernet, "pfc_queue", integer_kind(3), 0)
    ethernet.done()
    vlan_id, vlan_priority = _read_vlan(bodies["vlan"]) if "vlan" in bodies else (None, 0)
    ip_name = "ipv4" if "ipv4" in bodies else "ipv6"
    protocol = PROTOCOLS.get(names[-1])
    ip = bodies[ip_name]
    dscp = _read_ipv4(ip, protocol) if ip_name == "ipv4" else _read_ipv6(ip, protocol)
    source, destination = (_optional_ip(ip, name, 4 if ip_name == "ipv4" else 6) for name in ("src", "dst"))
    ip.done("options")
    if "udp" in bodies:
        _read_udp(bodies["udp"])
    if "tcp" in bodies:
        _read_tcp(bodies["tcp"])
    return DataHeaders(names, source_mac, destination_mac, source, destination, dscp, queue, vlan_id, vlan_priority)


def _read_vlan(vlan: Fields) -> tuple[int, int]:
    """VLAN id and priority of the one tag. Its TPID is 0x8100: it is no service tag."""
    vlan_id = constant(vlan, "id", integer_kind(12), 0)
    if vlan_id > LARGEST_VLAN:
        vlan.error("id", f"{vlan_id}: not modelled; modelled are 0 to {LARGEST_VLAN}")
    priority = constant(vlan, "priority", integer_kind(3), 0)
    _content(vlan, 1, "cfi")
    tpid = constant(vlan, "tpid", integer_kind(16), AUTOMATIC_TPID)
    if tpid not in (ETHER_TYPES["vlan"], AUTOMATIC_TPID):
        vlan.error("tpid", f"{tpid}: not modelled; modelled is {ETHER_TYPES['vlan']} (or OTG's default)")
    vlan.done()
    return vlan_id, priority


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


def _content(header: Fields, bits: int, *names: str) -> None:
    """Fields that no part of the model looks at: any value is right."""
    for name in names:
        read_pattern(header, name, integer_kind(bits), 0, auto=0)


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


def _read_ipv4(ip: Fields, protocol: int | None) -> tuple[int, ...]:
    _must_be(ip, "version", 4, 4)
    _must_be(ip, "header_length", 4, 5)
    _automatic(ip, "total_length")
    _content(ip, 16, "identification")
    _content(ip, 1, "reserved", "dont_fragment")
    _must_be(ip, "more_fragments", 1, 0)
    _must_be(ip, "fragment_offset", 13, 0)
    _hop_limit(ip, "time_to_live")
    _next_header(ip, "protocol", protocol)
    _checksum(ip, "header_checksum")
    return _read_priority(ip.child("priority"))


def _read_ipv6(ip: Fields, protocol: int | None) -> tuple[int, ...]:
    _must_be(ip, "version", 4, 6)
    traffic_class = read_pattern(ip, "traffic_class", integer_kind(8), 0)
    _content(ip, 20, "flow_label")
    _automatic(ip, "payload_length")
    _next_header(ip, "next_header", protocol)
    _hop_limit(ip, "hop_limit")
    return tuple(value >> 2 for value in traffic_class.every())


def _hop_limit(ip: Fields, name: str) -> None:
    """TTL or hop limit: 64 by default; 0 and 1 would be dropped where a switch routes, which is not modelled."""
    if constant(ip, name, integer_kind(8), 64) < 2:
        ip.error(name, "below 2: not modelled; modelled are 2 to 255")


def _next_header(ip: Fields, name: str, protocol: int | None) -> None:
    """The protocol field: that of the next header; free when there is none."""
    if protocol is None:
        constant(ip, name, integer_kind(8), NO_NEXT_PROTOCOL, auto=NO_NEXT_PROTOCOL)
    else:
        _must_be(ip, name, 8, protocol)


def _read_priority(priority: Fields) -> tuple[int, ...]:
    """The DSCP values of `ipv4.priority` in any of its three forms."""
    choice = priority.choice(("dscp", "tos", "raw"), "dscp")
    dscp: tuple[int, ...] = (0,)
    if choice == "raw":
        dscp = tuple(value >> 2 for value in read_pattern(priority, "raw", integer_kind(8), 0).every())
    elif choice == "tos":
        dscp = (_read_tos(priority.child("tos")),)
    elif choice == "dscp":
        code_point = priority.child("dscp")
        dscp = read_pattern(code_point, "phb", integer_kind(6), 0).every()
        _content(code_point, 2, "ecn")
        code_point.done()
    priority.done()
    return dscp


def _read_tos(tos: Fields) -> int:
    """RFC 791's octet: precedence 3 bits, then delay, throughput and reliability, which are the DSCP's six bits."""
    value = constant(tos, "precedence", integer_kind(3), 0)
    for name in ("delay", "throughput", "reliability"):
        value = value << 1 | constant(tos, name, integer_kind(1), 0)
    _content(tos, 1, "monetary", "unused")
    tos.done()
    return value


def _read_udp(udp: Fields) -> None:
    _content(udp, 16, "src_port", "dst_port")
    _automatic(udp, "length")
    _checksum(udp, "checksum")
    udp.done()


def _read_tcp(tcp: Fields) -> None:
    _content(tcp, 16, "src_port", "dst_port", "window")
    _content(tcp, 32, "seq_num", "ack_num")
    _must_be(tcp, "data_offset", 4, 5)
    _content(tcp, 1, "ecn_ns", "ecn_cwr", "ecn_echo", "ctl_urg", "ctl_ack", "ctl_psh", "ctl_rst", "ctl_syn", "ctl_fin")
    _checksum(tcp, "checksum")
    tcp.done()


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
    return _with_kind(encode(PauseFrame(source, time, destination)), kind)


def _kind_of_frame(pause: Fields, operation: int) -> bytes:
    """Type and operation code, which a tester may set wrong on purpose."""
    ether_type = constant(pause, "ether_type", integer_kind(16), CONTROL_ETHERTYPE)
    code = constant(pause, "control_op_code", integer_kind(16), operation)
    return ether_type.to_bytes(2, "big") + code.to_bytes(2, "big")


def _with_kind(frame: bytes, kind: bytes) -> bytes:
    return frame[:12] + kind + frame[16:]
