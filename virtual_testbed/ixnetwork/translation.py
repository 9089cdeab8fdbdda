"""What an IxNetwork session's objects mean as an OTG configuration: ports, hosts, traffic items, captures."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from pfctest.timing import WIRE_OVERHEAD_BYTES
from virtual_testbed.ixnetwork.tree import Node

Otg = dict[str, Any]
OTHER_PROTOCOL_ADDRESS = "240.0.0.1"
"""RFC 1112's class E: no switch routes it. Frames whose tag names another protocol than IP's go there."""
ETHER_TYPE = {"ipv4": "800", "ipv6": "86dd"}
RATES = {"framesPerSecond": "pps", "percentLineRate": "percentage"}
UNITS = {"bytes", "nanoseconds"}
COUNTERS = ("increment", "decrement")
COUNTED = {"srcPort", "dstPort", "srcIp", "dstIp", "srcIP", "dstIP", "sourceAddress", "destinationAddress"}
"""Fields whose value may count from frame to frame."""
FIELD = re.compile(r"\[@alias = '([^']+)-\d+'\]$")
PORT = re.compile(r"^(/vport\[\d+\])")


class Untranslatable(Exception):
    """An object that the virtual traffic generator has nothing for; `str()` is one sentence."""


def otg_config(root: Node, speeds: Mapping[str, int] | None = None) -> Otg:
    """The configuration of a session; traffic items have the names of its flows.

    Args:
        root: the session's objects.
        speeds: Mb/s of ports by location: an item of a fixed time is as many frames as fit into it, sent also later;
            None: it ends by time.

    Raises:
        Untranslatable: something in it has no counterpart.
    """
    names = {vport["xpath"]: str(vport["name"]) for vport in root["vport"]}
    flows = [_flow(item, names) for item in root["traffic"]["trafficItem"]]
    if speeds is not None:
        links = {str(vport["name"]): speeds.get(vport["location"], 0) for vport in root["vport"]}
        flows = [_counted(flow, links[flow["tx_rx"]["port"]["tx_name"]]) for flow in flows]
    return {
        "ports": [{"name": vport["name"], "location": vport["location"]} for vport in root["vport"]],
        "layer1": [layer1 for vport in root["vport"] if (layer1 := _layer1(vport)) is not None],
        "devices": [_device(group, names[topology["ports"][0]])
                    for topology in root["topology"] for group in topology.get("deviceGroup", ())],
        "captures": _captures(root["vport"]),
        "flows": flows,
    }


def _layer1(vport: Node) -> Otg | None:
    """How a port honours PFC; None: it does not, because its type has no FCoE."""
    config = vport["l1Config"]
    kind = str(config["currentType"])
    if not kind.endswith("Fcoe"):
        return None
    fcoe = config[kind.removesuffix("Fcoe")]["fcoe"]
    groups = {f"pfc_class_{number}": group for number, group in enumerate(fcoe["pfcPriorityGroups"]) if group >= 0}
    delay = fcoe.get("pfcPauseDelay", 0) if fcoe.get("enablePFCPauseDelay") else 0
    return {"name": f"layer 1 of {vport['name']}", "port_names": [vport["name"]], "flow_control": {
        "choice": "ieee_802_1qbb", "ieee_802_1qbb": {"pfc_delay": delay, **groups}}}


def _captures(vports: Sequence[Node]) -> list[Otg]:
    names = [vport["name"] for vport in vports if vport["capture"]["hardwareEnabled"]]
    return [{"name": "capture", "port_names": names, "format": "pcapng"}] if names else []


def _device(group: Node, port: str) -> Otg:
    """The hosts of a device group."""
    ethernets = [{"name": one["name"], "mac": _value(one["mac"]),
                  "connection": {"choice": "port_name", "port_name": port},
                  **{f"{kind}_addresses": [_address(address) for address in one[kind]]
                     for kind in ("ipv4", "ipv6") if one.get(kind)}} for one in group.get("ethernet", ())]
    return {"name": group["name"], "ethernets": ethernets}


def _address(node: Node) -> Otg:
    return {"name": node["name"], "address": _value(node["address"]), "gateway": _value(node["gatewayIp"]),
            "prefix": int(_value(node["prefix"]))}


def _value(multivalue: Mapping[str, Any]) -> Any:
    return multivalue["singleValue"]["value"]


def _flow(item: Node, names: Mapping[str, str]) -> Otg:
    ends = item["endpointSet"][0]
    tx, rx = ([names[_port(end)] for end in ends[side]] for side in ("sources", "destinations"))
    element = item["configElement"][0]
    return {
        "name": item["name"],
        "tx_rx": {"choice": "port", "port": {"tx_name": tx[0], "rx_names": rx}},
        "packet": _packet(element["stack"], str(item["name"])),
        "size": _size(element["frameSize"]),
        "rate": _rate(element["frameRate"]),
        "duration": _duration(element["transmissionControl"]),
        "metrics": {"enable": True},
    }


def _port(endpoint: str) -> str:
    """The xpath of the port of `/vport[1]/protocols`."""
    found = PORT.match(endpoint)
    if found is None:
        raise Untranslatable(f"{endpoint}: traffic between ports only is modelled")
    return found[1]


def _size(size: Node) -> Otg:
    if size["type"] == "fixed":
        return {"choice": "fixed", "fixed": size["fixedSize"]}
    if size["type"] == "increment":
        return {"choice": "increment", "increment": {
            "start": size["incrementFrom"], "end": size["incrementTo"], "step": size["incrementStep"]}}
    if size["type"] == "weightedPairs":
        pairs = size["weightedPairs"]
        return {"choice": "weight_pairs", "weight_pairs": {"choice": "custom", "custom": [
            {"size": int(pairs[at]), "weight": pairs[at + 1]} for at in range(0, len(pairs), 2)]}}
    raise Untranslatable(f"{size['xpath']}: frame sizes of type {size['type']} are not modelled")


def _rate(rate: Node) -> Otg:
    unit = RATES.get(rate["type"])
    if unit is None:
        raise Untranslatable(f"{rate['xpath']}: rates of type {rate['type']} are not modelled")
    return {"choice": unit, unit: rate["rate"] if unit == "percentage" else int(rate["rate"])}


def _duration(control: Node) -> Otg:
    unit = str(control.get("startDelayUnits", "bytes"))
    if unit not in UNITS:
        raise Untranslatable(f"{control['xpath']}: delays in {unit} are not modelled")
    delay = {"delay": {"choice": unit, unit: control.get("startDelay", 0)}}
    if control["type"] == "continuous":
        return {"choice": "continuous", "continuous": delay}
    if control["type"] == "fixedDuration":
        return {"choice": "fixed_seconds", "fixed_seconds": {"seconds": control["duration"], **delay}}
    if control["type"] == "fixedFrameCount":
        return {"choice": "fixed_packets", "fixed_packets": {"packets": int(control["frameCount"]), **delay}}
    raise Untranslatable(f"{control['xpath']}: transmission of type {control['type']} is not modelled")


def _counted(flow: Otg, mbps: int) -> Otg:
    """A flow of a fixed time as one of the frames that fit into it, on a link of that speed; any other as it is."""
    if flow["duration"]["choice"] != "fixed_seconds":
        return flow
    lasting = flow["duration"]["fixed_seconds"]
    frames = int(_frames_per_second(flow, mbps) * lasting["seconds"])
    return {**flow, "duration": {"choice": "fixed_packets", "fixed_packets": {
        "packets": max(1, frames), "delay": lasting["delay"]}}}


def _frames_per_second(flow: Otg, mbps: int) -> Fraction:
    rate = flow["rate"]
    if rate["choice"] == "pps":
        return Fraction(rate["pps"])
    return Fraction(rate["percentage"]) / 100 * mbps * 10**6 / (8 * (_mean_bytes(flow["size"]) + WIRE_OVERHEAD_BYTES))


def _mean_bytes(size: Otg) -> Fraction:
    if size["choice"] == "fixed":
        return Fraction(size["fixed"])
    pairs = size["weight_pairs"]["custom"]
    weights = sum(Fraction(pair["weight"]) for pair in pairs)
    return sum((Fraction(pair["size"]) * Fraction(pair["weight"]) for pair in pairs), Fraction(0)) / weights


def _packet(stack: Sequence[Node], flow: str) -> list[Otg]:
    """OTG's headers of the protocols in a stack."""
    headers = [(_alias(one["xpath"]), _fields(one)) for one in stack]
    names = tuple(name for name, _ in headers)
    if names == ("pfcPause",):
        return [_pfc(headers[0][1])]
    if names == ("globalPause",):
        return [_global_pause(headers[0][1])]
    packet: list[Otg] = []
    for name, fields in headers:
        if name not in HEADERS:
            raise Untranslatable(f"traffic item {flow}: the protocol {name} is not modelled")
        packet.append({"choice": name, name: HEADERS[name](fields)})
    tag = next((fields for name, fields in headers if name == "vlan"), None)
    return packet if tag is None else _behind_tag(packet, tag)


def _behind_tag(packet: list[Otg], tag: Mapping[str, Any]) -> list[Otg]:
    """A tagged frame as a switch takes it: where the tag does not say that IP follows, nobody routes it."""
    ip = next(header for header in packet if header["choice"] in ETHER_TYPE)
    kind = ip["choice"]
    following = str(tag.get("protocolID", ETHER_TYPE[kind])).lower().lstrip("0")
    if following != ETHER_TYPE[kind]:
        unrouted = OTHER_PROTOCOL_ADDRESS if kind == "ipv4" else f"::ffff:{OTHER_PROTOCOL_ADDRESS}"
        ip[kind]["dst"] = _pattern(unrouted)
    return packet


def _alias(xpath: str) -> str:
    found = FIELD.search(xpath)
    if found is None:
        raise Untranslatable(f"{xpath}: not modelled")
    return found[1]


def _fields(stack: Node) -> dict[str, Any]:
    """Last part of a field's name -> its value, a list where it has several, OTG's pattern where it counts; automatic
    ones are left out."""
    found = {}
    for field in stack["field"]:
        kind = field.get("valueType")
        name = _alias(field["xpath"]).rpartition(".")[2]
        if kind in ("singleValue", "valueList") and kind in field:
            found[name] = field[kind]
        elif kind in COUNTERS and name in COUNTED:
            found[name] = {"choice": kind, kind: {
                "start": field["startValue"], "step": field["stepValue"], "count": int(field["countValue"])}}
        elif kind not in (None, "auto"):
            raise Untranslatable(f"{field['xpath']}: values of type {kind} are not modelled")
    return found


def _pattern(value: Any) -> Otg:
    if isinstance(value, dict):  # it counts
        return value
    return {"choice": "values", "values": value} if isinstance(value, list) else {"choice": "value", "value": value}


def _hexadecimal(value: Any) -> Otg:
    return _pattern(int(str(value), 16))


def _pfc(fields: Mapping[str, Any]) -> Otg:
    times = {f"pause_class_{number}": _hexadecimal(fields[f"pfcQueue{number}"]) for number in range(8)}
    return {"choice": "pfcpause", "pfcpause": {
        "dst": _pattern(fields["dstAddress"]), "src": _pattern(fields["srcAddress"]),
        "ether_type": _hexadecimal(fields["ethertype"]), "control_op_code": _hexadecimal(fields["controlOpcode"]),
        "class_enable_vector": _hexadecimal(fields["priorityEnableVector"]), **times}}


def _global_pause(fields: Mapping[str, Any]) -> Otg:
    return {"choice": "ethernetpause", "ethernetpause": {
        "dst": _pattern(fields["dstAddress"]), "src": _pattern(fields["srcAddress"]),
        "ether_type": _hexadecimal(fields["ethertype"]), "control_op_code": _hexadecimal(fields["controlOpcode"]),
        "time": _hexadecimal(fields["pfcQueue0"])}}


def _ethernet(fields: Mapping[str, Any]) -> Otg:
    return {"dst": _pattern(fields["destinationAddress"]), "src": _pattern(fields["sourceAddress"]),
            "pfc_queue": _pattern(int(fields.get("pfcQueue", 0)))}


def _vlan(fields: Mapping[str, Any]) -> Otg:
    return {"id": _pattern(int(fields["vlanID"])), "priority": _pattern(int(fields["vlanUserPriority"]))}


def _ipv4(fields: Mapping[str, Any]) -> Otg:
    named = [value for name, value in fields.items() if name.endswith("PHB")]
    return {"src": _pattern(fields["srcIp"]), "dst": _pattern(fields["dstIp"]),
            "priority": {"choice": "dscp", "dscp": {"phb": _pattern(_numbers(named[0] if named else 0)),
                                                    "ecn": _pattern(int(fields.get("unused", 0)))}}}


def _ipv6(fields: Mapping[str, Any]) -> Otg:
    return {"src": _pattern(fields["srcIP"]), "dst": _pattern(fields["dstIP"]),
            "traffic_class": _pattern(_numbers(fields.get("trafficClass", 0)))}


def _udp(fields: Mapping[str, Any]) -> Otg:
    return {"src_port": _pattern(_numbers(fields["srcPort"])), "dst_port": _pattern(_numbers(fields["dstPort"]))}


def _numbers(value: Any) -> Any:
    """Numbers of a value, of each of a list, and of the parts of a pattern."""
    if isinstance(value, list):
        return [int(one) for one in value]
    if isinstance(value, dict):
        kind = value["choice"]
        return {**value, kind: {part: int(one) for part, one in value[kind].items()}}
    return int(value)


HEADERS = {"ethernet": _ethernet, "vlan": _vlan, "ipv4": _ipv4, "ipv6": _ipv6, "udp": _udp}
