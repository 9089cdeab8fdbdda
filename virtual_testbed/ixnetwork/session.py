"""One session of an IxNetwork API server: requests in, answers out, without transport.

What is imported is kept as it came; selects answer from it; operations act on the chassis below. Ports come up when
they are connected. One session is enough: a client that asks for another gets this one.
"""
from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

from virtual_testbed.ixnetwork.chassis import UNAPPLIED, Chassis, Otg
from virtual_testbed.ixnetwork.habits import Habits
from virtual_testbed.ixnetwork.statistics import VIEWS, view_file
from virtual_testbed.ixnetwork.translation import Untranslatable
from virtual_testbed.ixnetwork.tree import ROOT, SESSION, Node, ObjectTree, UnknownNode, walk

DEFAULT_CARD = "novusHundredGigLan"
FCOE = "Fcoe"
FCOE_DEFAULTS = {"flowControlType": "ieee802.1Qbb", "pfcPriorityGroups": [0] * 8, "pfcQueueGroupSize": 8}
LAYER1_DEFAULTS = {"speed": "speed100g", "enableAutoNegotiation": True, "ieeeL1Defaults": True, "enableRsFec": False,
                   "linkTraining": True, "media": "fiber", "flowControlDirectedAddress": ""}
BUILD = "11.00.2511.1"
FOLDER = "/root"
UNRESOLVED = "Unresolved"
WITHOUT_EFFECT = frozenset({
    "applyonthefly", "clearownership", "connectports", "generate", "mergecapture", "releasecaptureports",
    "savecapturefiles", "takecsvsnapshot",
})
"""Operations that have nothing to do on a virtual chassis: ports are connected as soon as they have a location, files
are made when they are read."""
CAPTURE_SUFFIX = re.compile(r"(?:_HW|_SW)?\.cap$")
LOCATION = re.compile(r"^(?P<chassis>.+);(?P<card>\d+);(?P<port>\d+)$")


@dataclass
class Answer:
    """An answer: JSON data, or bytes of a file."""

    status: int
    content: Any = None


class IxNetworkSession:
    """An API server with one session.

    Args:
        otg: the traffic generator behind it.
        locations: of its ports, `chassis;card;port`, with the speed of their links in Mb/s.
        habits: what its chassis does.
        wait: lets simulated time pass, nanoseconds.
    """

    def __init__(self, otg: Otg, locations: Mapping[str, int], habits: Habits, wait: Callable[[int], None]) -> None:
        self._habits = habits
        self._locations = locations
        self.tree = ObjectTree(empty_session(_cards(locations)))
        self.chassis = Chassis(self.tree, otg, habits, wait, locations)
        self._neighbours: dict[str, str] = {}
        self._operations: dict[str, Callable[[str, Mapping[str, Any]], Any]] = {
            "importconfig": self._import,
            "newconfig": lambda path, arguments: self._new(),
            "getchassiswithdetailedresoucegroupsinfo": lambda path, arguments: self._resource_groups(),
            "getvalues": lambda path, arguments: [self._values(arguments)],
            "gettopologystatus": lambda path, arguments: [],
            "startallprotocols": lambda path, arguments: self._protocols(True),
            "stopallprotocols": lambda path, arguments: self._protocols(False),
            "apply": lambda path, arguments: self._apply(),
            "clearstats": lambda path, arguments: self.chassis.clear_statistics(),
            "startstatelesstrafficblocking": lambda path, arguments: self._transmit(self.chassis.start, arguments),
            "stopstatelesstrafficblocking": lambda path, arguments: self._transmit(self.chassis.stop, arguments),
            "startcapture": lambda path, arguments: self.chassis.start_captures(),
            "stopcapture": lambda path, arguments: self.chassis.stop_captures(),
            "stop": self._stop_capture,
            "linkupdn": lambda path, arguments: self.chassis.set_links(
                self._names(arguments["arg1"]), str(arguments["arg2"])),
            "clearcaptureinfos": lambda path, arguments: self.chassis.clear_captures(self._names(arguments["arg1"])),
        }

    def request(self, method: str, path: str, query: str, body: Any) -> Answer:
        """Answers a request.

        Args:
            method: of HTTP, in capitals.
            path: without the query.
            query: what follows `?`.
            body: JSON data; None: there is none.
        """
        path = path.replace("//", "/")
        if "/ixnetworkweb/" in path or method == "OPTIONS":
            return Answer(200, {})
        if path.endswith("/auth/session"):
            return Answer(200, {"apiKey": "key"})
        if path.startswith("/api/v1/sessions") and not path.startswith(ROOT):
            return self._of_session(method)
        try:
            if path.endswith("/files"):
                return self._file(method, query)
            if "/operations/" in path:
                return self._operate(path, body)
            if method == "GET":
                return Answer(200, self.tree.view(self.tree.at(path)))
            return self._write(method, path, body)
        except UnknownNode as error:
            return _refusal(404, f"{method} {path}: no object {error}")
        except Untranslatable as error:
            return _refusal(400, str(error))

    def _of_session(self, method: str) -> Answer:
        """A session is there from the beginning; one that ends leaves no traffic behind."""
        if method == "DELETE":
            self._new()
        return Answer(200, {"id": 1, "state": "ACTIVE", "applicationType": "ixnrest", "links": [{"href": SESSION}],
                            "sessionName": "virtual"})

    def _write(self, method: str, href: str, body: Any) -> Answer:
        if method == "DELETE":
            self.tree.remove(href)
            self.chassis.change()
        elif method == "PATCH":
            self.tree.at(href).update(body)
        else:
            raise UnknownNode(href)
        return Answer(204)

    def _operate(self, path: str, body: Any) -> Answer:
        verb = path.rpartition("/")[2].lower()
        if verb == "select":
            return Answer(200, [self._select(one) for one in body["selects"]])
        arguments = {key.lower(): value for key, value in (body or {}).items()}
        action = self._operations.get(verb)
        if action is None and verb not in WITHOUT_EFFECT:
            raise Untranslatable(f"{path}: the operation {verb} is not modelled")
        result = action(path, arguments) if action else None
        return Answer(202, {"url": path, "state": "SUCCESS", "result": result})

    def _select(self, asked: Mapping[str, Any]) -> Node:
        wanted = [str(child["child"]) for child in asked["children"]]
        if _is_any(wanted, "traffic", "trafficItem") or str(asked["from"]).endswith("traffic"):
            self.chassis.look()
        if _is_any(wanted, "vport"):
            self._look_at_links()
        return self.tree.select(asked)

    def _look_at_links(self) -> None:
        """Brings the states of connected ports up to date."""
        down = self.chassis.links_down()
        for vport in self.tree.root["vport"]:
            if str(vport.get("connectionState", "")).startswith("connectedLink"):
                vport["connectionState"] = "connectedLinkDown" if vport["name"] in down else "connectedLinkUp"

    def _new(self) -> None:
        """Everything is gone."""
        self.chassis.load()
        self.chassis.stop_all()
        for name in ("traffic/trafficItem", "topology", "vport"):
            self.tree.remove(f"{ROOT}/{name}")
        self.chassis.change()

    def _import(self, path: str, arguments: Mapping[str, Any]) -> Any:
        content = json.loads(arguments["arg2"])
        for update in content if isinstance(content, list) else [content]:
            self.tree.take_over({"xpath": "/", **update})
        self._connect()
        self.chassis.change()
        return {"errata": []} if "arg5" in arguments else []

    def _connect(self) -> None:
        """A port that is connected has link and a card's layer 1; a traffic item has one stream."""
        for vport in self.tree.root["vport"]:
            self._connect_port(vport)
        for host in walk({"xpath": "", "topology": self.tree.root["topology"]}):
            if "gatewayIp" in host:
                host.setdefault("resolvedGatewayMac", [UNRESOLVED])
            if "mtu" in host:
                host.setdefault("sessionStatus", ["notStarted"])
        for item in self.chassis.items:
            self._complete(item)

    def _connect_port(self, vport: Node) -> None:
        for key in ("location", "connectedTo", "assignedTo"):
            vport.setdefault(key, "")
        base = vport["xpath"]
        kind = self._habits.card or DEFAULT_CARD
        is_up = vport["location"] in self._locations
        vport["connectionState"] = "connectedLinkUp" if is_up else "assignedInUseByOther"
        vport["connectionStatus"] = vport["location"]
        if "capture" not in vport or "hardwareEnabled" not in vport["capture"]:
            self.tree.take_over({"xpath": base, "capture": {
                "xpath": f"{base}/capture", "hardwareEnabled": False, "softwareEnabled": False,
                "dataCaptureState": "ready", "controlCaptureState": "ready", **vport.get("capture", {})}})
        if "l1Config" not in vport:
            layer1 = f"{base}/l1Config"
            self.tree.take_over({"xpath": base, "l1Config": {"xpath": layer1, "currentType": kind, kind: {
                "xpath": f"{layer1}/{kind}", **LAYER1_DEFAULTS,
                "fcoe": {"xpath": f"{layer1}/{kind}/fcoe", **FCOE_DEFAULTS}}}})
        vport["type"] = vport["l1Config"]["currentType"]

    def _complete(self, item: Node) -> None:
        item.setdefault("state", UNAPPLIED)
        item.setdefault("suspend", False)
        names = {f"{vport['xpath']}/protocols": str(vport["name"]) for vport in self.tree.root["vport"]}
        ends = item["endpointSet"][0]
        sources, destinations = ([names[end] for end in ends[side] if end in names]
                                 for side in ("sources", "destinations"))
        base = item["xpath"]
        if "highLevelStream" not in item:
            self.tree.add(item, "highLevelStream", {"xpath": f"{base}/highLevelStream[1]",
                                                    "txPortName": "".join(sources[:1]), "rxPortNames": destinations})
        if "tracking" not in item:
            self.tree.add(item, "tracking", {"xpath": f"{base}/tracking", "trackBy": []})

    def _resource_groups(self) -> list[Node]:
        hosts = self.tree.root["availableHardware"]["chassis"]
        return [{"dns": host["hostname"], "cards": [
            {"cardId": card["cardId"], "appId": "virtual", "cardAggregationMode": "notSupported", "supportedGroups": []}
            for card in host["card"]]} for host in hosts]

    def _values(self, arguments: Mapping[str, Any]) -> Any:
        value = self.tree.multivalue(arguments["arg1"])["singleValue"]["value"]
        return _written_out(value) if self._habits.other_spelling else value

    def _apply(self) -> None:
        """Traffic items can be started; from the first time on there are statistics."""
        self.chassis.apply()
        if not self.tree.root["statistics"]["view"]:
            for number, title in enumerate(VIEWS, 1):
                self.tree.add(self.tree.root["statistics"], "view", _view(number, title))

    def _protocols(self, start: bool) -> None:
        """Hosts resolve their gateways, or forget them."""
        self.tree.root["globals"]["topology"]["status"] = "started" if start else "notStarted"
        if start:
            self.chassis.load()
        known = self.chassis.neighbours() if start else {}
        for topology in self.tree.root["topology"]:
            for ethernet in (one for group in topology.get("deviceGroup", ()) for one in group.get("ethernet", ())):
                for version in ("ipv4", "ipv6"):
                    mac = known.get(f"{ethernet['name']} {version}", UNRESOLVED)
                    for address in ethernet.get(version, ()):
                        address["resolvedGatewayMac"] = [mac]

    def _transmit(self, action: Callable[[Sequence[str]], None], arguments: Mapping[str, Any]) -> None:
        """Starts or stops traffic items; where none is named, but all of `/traffic`, all of them stop."""
        named = arguments.get("arg1")
        hrefs = [named] if isinstance(named, str) else list(named or ())
        items = [href for href in hrefs if "/trafficItem" in href]
        if items:
            action(self._names(items))
        else:
            self.chassis.stop_all()

    def _names(self, hrefs: Sequence[str]) -> list[str]:
        return [str(self.tree.at(href)["name"]) for href in hrefs]

    def _stop_capture(self, path: str, arguments: Mapping[str, Any]) -> None:
        if "/capture/" in path:
            vport = self.tree.at(path.partition("/capture/")[0])
            self.chassis.stop_captures([str(vport["name"])])

    def _file(self, method: str, query: str) -> Answer:
        """A file on the server: a view's snapshot, or a port's capture."""
        if method == "DELETE":
            return Answer(204)
        name = unquote(parse_qs(query).get("filename", [""])[0])
        if not name:
            return Answer(200, {"absolute": FOLDER})
        if name.endswith(".csv"):
            title = next((title for title in VIEWS if re.sub("[^A-Za-z0-9]+", "-", title) in name), "")
            if not title or not self.chassis.items:
                return Answer(200, b"")
            return Answer(200, view_file(title, self.chassis.statistics(), self.tree.root))
        content = self.chassis.capture(CAPTURE_SUFFIX.sub("", name.rpartition("/")[2]))
        return _refusal(404, f"{name}: no such file") if content is None else Answer(200, content)


def _is_any(wanted: Sequence[str], *names: str) -> bool:
    """Whether children of one of these names are asked for; `wanted` are expressions."""
    return any(re.fullmatch(expression, name) for expression in wanted for name in names)


def _refusal(status: int, sentence: str) -> Answer:
    return Answer(status, {"errors": [{"code": str(status), "detail": sentence}]})


def _card(location: str) -> tuple[str, int, int]:
    """Chassis, card and port of a location; a location of another form is one chassis' first card."""
    found = LOCATION.match(location)
    if found is None:
        return location.partition("/")[0], 1, 1
    return found["chassis"], int(found["card"]), int(found["port"])


def _written_out(value: Any) -> Any:
    """An IPv6 address with all its digits; other values stay."""
    try:
        address = ipaddress.ip_address(str(value))
    except ValueError:
        return value
    return address.exploded if address.version == 6 else value


def _view(number: int, title: str) -> Node:
    base = f"/statistics/view[{number}]"
    return {"xpath": base, "caption": title, "page": {"xpath": f"{base}/page", "pageSize": 50},
            "data": {"xpath": f"{base}/data", "isReady": True}}


def _cards(locations: Iterable[str]) -> dict[str, list[int]]:
    """Chassis -> its cards that have ports of these locations."""
    found: dict[str, set[int]] = {}
    for host, card, _ in map(_card, locations):
        found.setdefault(host, set()).add(card)
    return {host: sorted(found[host]) for host in sorted(found)}


def _chassis(number: int, host: str, cards: Sequence[int]) -> Node:
    """A chassis with these cards."""
    base = f"/availableHardware/chassis[{number}]"
    made = [{"xpath": f"{base}/card[{place}]", "cardId": card, "description": "a card", "availableModes": [],
             "aggregationMode": "notSupported"} for place, card in enumerate(cards, 1)]
    return {"xpath": base, "hostname": host, "state": "ready", "card": made}


def empty_session(cards: Mapping[str, Sequence[int]]) -> Node:
    """The tree of a new session of an API server that knows these chassis, each with its cards."""
    chassis = [_chassis(number, host, cards[host]) for number, host in enumerate(cards, 1)]
    statistics = {kind: {"xpath": f"/traffic/statistics/{kind}", "enabled": False}
                  for kind in ("latency", "cpdpConvergence", "dataIntegrity")}
    return {
        "xpath": "/", "vport": [], "lag": [], "topology": [], "locations": [],
        "globals": {"xpath": "/globals", "buildNumber": BUILD, "username": "u", "productVersion": "11.00",
                    "persistencePath": FOLDER, "appErrors": [],
                    "topology": {"xpath": "/globals/topology", "status": "notStarted",
                                 "applyOnTheFlyState": "notAllowed"}},
        "resourceManager": {"xpath": "/resourceManager"},
        "availableHardware": {"xpath": "/availableHardware", "chassis": chassis},
        "traffic": {"xpath": "/traffic", "state": "stopped", "useRfc5952": False, "enableMinFrameSize": False,
                    "enableStreamOrdering": False, "frameOrderingMode": "none", "trafficItem": [],
                    "egressOnlyTracking": [],
                    "protocolTemplate": [{"xpath": "/traffic/protocolTemplate[1]", "stackTypeId": "globalPause"}],
                    "statistics": {"xpath": "/traffic/statistics", **statistics}},
        "statistics": {"xpath": "/statistics", "view": [], "csvSnapshot": {"xpath": "/statistics/csvSnapshot"}},
    }
