"""IxNetwork's REST API in memory, as far as snappi_ixnetwork and ixnetwork_restpy use it for this suite.

It is a transport and a store: what is imported is kept as it came, selects answer from it, operations are written down.
Of what a chassis does by itself there is the least: ports come up, gateways are resolved, traffic items have a state.
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

Node = dict[str, Any]
SESSION = "/api/v1/sessions/1"
ROOT = f"{SESSION}/ixnetwork"
VPORT_TYPE = "novusHundredGigLan"
FCOE_DEFAULTS = {"flowControlType": "ieee802.1Qbb", "pfcPriorityGroups": [0] * 8}
L1_DEFAULTS = {"speed": "speed100g", "enableAutoNegotiation": True, "ieeeL1Defaults": True, "enableRsFec": False,
               "linkTraining": True, "media": "fiber", "flowControlDirectedAddress": ""}


@dataclass
class Answer:
    """What `requests` returns: the parts that are read."""

    status_code: int
    content: Any = None
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json", "server": "Jetty"})

    def json(self) -> Any:
        """The content, parsed."""
        return json.loads(json.dumps(self.content))

    @property
    def text(self) -> str:
        """The content as text."""
        return json.dumps(self.content)

    def raise_for_status(self) -> None:
        """Never an error: an unknown request is an exception of this module."""


def to_href(xpath: str) -> str:
    """`/vport[1]/l1Config` as an address."""
    return ROOT + re.sub(r"\[(\d+)\]", r"/\1", xpath).rstrip("/")


def to_xpath(href: str) -> str:
    """The other way round; an xpath stays one."""
    path = href.removeprefix(ROOT)
    return re.sub(r"/(\d+)(?=/|$)", r"[\1]", path) or "/"


def is_node(value: Any) -> bool:
    """Whether a value of a node is a child, or a list of children."""
    one = value[0] if isinstance(value, list) and value else value
    return isinstance(one, dict) and "xpath" in one and not str(one["xpath"]).startswith("/multivalue")


def empty_session(chassis: str) -> Node:
    """The tree of a new session of an API server that knows one chassis."""
    hardware = "/availableHardware/chassis[1]"
    card = {"xpath": f"{hardware}/card[1]", "cardId": 1, "description": "a card", "availableModes": [],
            "aggregationMode": "notSupported"}
    statistics = {kind: {"xpath": f"/traffic/statistics/{kind}", "enabled": False}
                  for kind in ("latency", "cpdpConvergence", "dataIntegrity")}
    views = [{"xpath": f"/statistics/view[{number}]", "caption": caption,
              "page": {"xpath": f"/statistics/view[{number}]/page", "pageSize": 50},
              "data": {"xpath": f"/statistics/view[{number}]/data", "isReady": True}}
             for number, caption in enumerate(("Flow Statistics", "Traffic Item Statistics"), 1)]
    return {
        "xpath": "/", "vport": [], "lag": [], "topology": [], "locations": [],
        "globals": {"xpath": "/globals", "buildNumber": "11.00.2511.1", "username": "u", "productVersion": "11.00",
                    "appErrors": [], "topology": {"xpath": "/globals/topology", "status": "notStarted",
                                                  "applyOnTheFlyState": "notAllowed"}},
        "resourceManager": {"xpath": "/resourceManager"},
        "availableHardware": {"xpath": "/availableHardware", "chassis": [
            {"xpath": hardware, "hostname": chassis, "state": "ready", "card": [card]}]},
        "traffic": {"xpath": "/traffic", "state": "stopped", "useRfc5952": False, "enableMinFrameSize": False,
                    "enableStreamOrdering": False, "frameOrderingMode": "none", "trafficItem": [],
                    "egressOnlyTracking": [], "protocolTemplate": [],
                    "statistics": {"xpath": "/traffic/statistics", **statistics}},
        "statistics": {"xpath": "/statistics", "view": views, "csvSnapshot": {"xpath": "/statistics/csvSnapshot"}},
    }


class FakeIxNetwork:
    """One session of an API server with the chassis `chassis`, whose ports come up when they are connected.

    Attributes:
        columns: traffic item -> cells of its row in the view `Traffic Item Statistics`.
        imports, operations: what was asked for, in order; an operation with its first argument.
        tree: all objects; each has its `xpath`.
    """

    def __init__(self, chassis: str) -> None:
        """A session with nothing in it."""
        self.columns: dict[str, Mapping[str, Any]] = {}
        self.imports: list[Any] = []
        self.operations: list[tuple[str, Any]] = []
        self.tree = empty_session(chassis)
        self._multivalues: list[Node] = []

    def request(self, method: str, url: str, data: Any = None, **options: Any) -> Answer:
        """Takes the place of `requests.Session.request`.

        Raises:
            LookupError: a request that nothing is known of.
        """
        path = urlsplit(url).path.replace("//", "/")
        query = urlsplit(url).query
        payload = json.loads(data) if data else {}
        if "/ixnetworkweb/" in path or method == "OPTIONS":
            return Answer(200, {})
        if path.endswith("/auth/session"):
            return Answer(200, {"apiKey": "key"})
        if path.startswith("/api/v1/sessions") and not path.startswith(ROOT):
            return Answer(200, {"id": 1, "state": "ACTIVE", "applicationType": "ixnrest", "links": [{"href": SESSION}],
                                "sessionName": "s"})
        if path.endswith("/files"):
            return self._file(method, query)
        if "/operations/" in path:
            return self._operate(path, payload)
        if method == "GET":
            return Answer(200, self._view(self._node(to_xpath(path)), ()))
        return self._write(method, to_xpath(path), payload)

    def items(self) -> list[Node]:
        """The traffic items as they are now."""
        return list(self.tree["traffic"]["trafficItem"])

    def _write(self, method: str, xpath: str, payload: Any) -> Answer:
        if method == "DELETE":
            above, _, name = xpath.rpartition("/")
            kept = [] if not name.endswith("]") else [
                child for child in self._node(above or "/")[name.split("[")[0]] if child["xpath"] != xpath]
            self._node(above or "/")[name.split("[")[0]] = kept
        elif method == "PATCH":
            self._node(xpath).update(payload)
        else:
            raise LookupError(f"{method} {xpath}")
        return Answer(204)

    def _file(self, method: str, query: str) -> Answer:
        """The statistics view as the CSV file that a snapshot leaves."""
        if method == "DELETE":
            return Answer(204)
        if "filename=" not in query:
            return Answer(200, {"absolute": "/root"})
        rows = [{"Traffic Item": name, **cells} for name, cells in self.columns.items()]
        lines = [",".join(rows[0])] + [",".join(str(cell) for cell in row.values()) for row in rows] if rows else [""]
        return Answer(200, "\n".join(lines).encode())

    def _operate(self, path: str, payload: Any) -> Answer:
        verb = path.rpartition("/")[2].lower()
        if verb == "select":
            return Answer(200, [self._select(one) for one in payload["selects"]])
        arguments = {key.lower(): value for key, value in payload.items()}
        self.operations.append((verb, arguments.get("arg1")))
        result: Any = None
        if verb == "importconfig":
            self._import(json.loads(arguments["arg2"]))
            result = {"errata": []} if "arg5" in arguments else []
        elif verb == "getchassiswithdetailedresoucegroupsinfo":
            card = {"cardId": 1, "appId": "a", "cardAggregationMode": "notSupported", "supportedGroups": []}
            result = [{"dns": self.tree["availableHardware"]["chassis"][0]["hostname"], "cards": [card]}]
        elif verb == "getvalues":
            result = [self._multivalue(arguments["arg1"])["singleValue"]["value"]]
        elif verb == "gettopologystatus":
            result = []
        else:
            self._change_states(verb, arguments.get("arg1") or [])
        return Answer(202, {"url": path, "state": "SUCCESS", "result": result})

    def _change_states(self, verb: str, hrefs: Sequence[str]) -> None:
        """What a chassis does with its traffic items and topologies."""
        if verb in ("startallprotocols", "stopallprotocols"):
            self.tree["globals"]["topology"]["status"] = "started" if verb.startswith("start") else "notStarted"
        after = {"apply": "stopped", "startstatelesstrafficblocking": "started",
                 "stopstatelesstrafficblocking": "stopped"}.get(verb)
        for item in self.items():
            if after and (verb == "apply" or to_href(item["xpath"]) in hrefs):
                item["state"] = after

    def _import(self, content: Any) -> None:
        self.imports.append(content)
        for update in content if isinstance(content, list) else [content]:
            try:
                node = self._node(update["xpath"])
            except LookupError:
                node = self._create(update["xpath"])
            self._merge(node, update)
        self._after_import()

    def _after_import(self) -> None:
        """A port that is connected has link and a card's layer 1; a traffic item has one stream."""
        for number, vport in enumerate(self.tree["vport"], 1):
            for key, value in (("location", ""), ("connectedTo", ""), ("type", VPORT_TYPE), ("assignedTo", "")):
                vport.setdefault(key, value)
            up = bool(vport["location"])
            vport["connectionState"] = "connectedLinkUp" if up else "assignedInUseByOther"
            vport["connectionStatus"] = vport["location"]
            base = f"/vport[{number}]"
            vport.setdefault("capture", {"xpath": f"{base}/capture", "hardwareEnabled": False,
                                         "softwareEnabled": False})
            vport.setdefault("l1Config", {"xpath": f"{base}/l1Config", "currentType": VPORT_TYPE, VPORT_TYPE: {
                "xpath": f"{base}/l1Config/{VPORT_TYPE}", **L1_DEFAULTS,
                "fcoe": {"xpath": f"{base}/l1Config/{VPORT_TYPE}/fcoe", **FCOE_DEFAULTS}}})
            vport["type"] = vport["l1Config"]["currentType"]
        for host in walk({"xpath": "", "topology": self.tree["topology"]}):
            host |= {"resolvedGatewayMac": ["02:00:00:00:00:01"]} if "gatewayIp" in host else {}
            host |= {"sessionStatus": ["notStarted"]} if "mtu" in host else {}
        for item in self.items():
            item.setdefault("state", "unapplied")
            names = [[str(vport["name"]) for vport in self.tree["vport"] if f"{vport['xpath']}/protocols" in ends]
                     for ends in (item["endpointSet"][0][side] for side in ("sources", "destinations"))]
            item.setdefault("highLevelStream", [{"xpath": f"{item['xpath']}/highLevelStream[1]",
                                                 "txPortName": "".join(names[0]), "rxPortNames": names[1]}])
            item.setdefault("tracking", [{"xpath": f"{item['xpath']}/tracking", "trackBy": []}])

    def _create(self, xpath: str) -> Node:
        """A new child, `/vport[2]`."""
        above, name = xpath.rsplit("/", 1)
        node = {"xpath": xpath}
        parent = self._node(above or "/")
        kind = name.split("[")[0]
        if "[" in name:
            parent.setdefault(kind, []).append(node)
        else:
            parent[kind] = node
        return node

    def _merge(self, node: Node, update: Mapping[str, Any]) -> None:
        for key, value in update.items():
            if is_node(value) and isinstance(value, list):
                known = {child["xpath"]: child for child in node.setdefault(key, [])}
                for child in value:
                    if child["xpath"] not in known:
                        node[key].append({"xpath": child["xpath"]})
                    self._merge(known.get(child["xpath"], node[key][-1]), child)
            elif is_node(value):
                self._merge(node.setdefault(key, {}), value)
            else:
                node[key] = value

    def _select(self, select: Mapping[str, Any]) -> Node:
        if "/multivalue/" in str(select["from"]):
            href = str(select["from"])
            return {"href": href, "pattern": "singleValue", "format": "string", "count": 1, **self._multivalue(href)}
        return self._view(self._node(to_xpath(str(select["from"]))), select["children"])

    def _view(self, node: Node, children: Sequence[Mapping[str, Any]]) -> Node:
        """A node's attributes with those of its children that are selected."""
        seen = {key: self._plain(value) for key, value in node.items() if not is_node(value)}
        seen["href"] = to_href(node["xpath"])
        seen["id"] = (re.findall(r"\[(\d+)\]$", node["xpath"]) or [1])[0]
        for key, value in node.items():
            asked = next((child for child in children if re.fullmatch(child["child"], key)), None)
            if asked is None or not is_node(value):
                continue
            found = [self._view(one, children) for one in (value if isinstance(value, list) else [value])
                     if all(re.search(str(f["regex"]), str(one.get(f["property"], ""))) for f in asked["filters"])]
            if found:
                seen[key] = found if isinstance(value, list) else found[0]
        return seen

    def _plain(self, value: Any) -> Any:
        """An attribute as it is read: a multivalue by its address."""
        if not (isinstance(value, dict) and "singleValue" in value):
            return value
        self._multivalues.append(value)
        return f"{ROOT}/multivalue/{len(self._multivalues)}"

    def _multivalue(self, href: str) -> Node:
        return dict(self._multivalues[int(href.rpartition("/")[2]) - 1])

    def _node(self, xpath: str) -> Node:
        for node in walk(self.tree):
            if node["xpath"] == xpath:
                return node
        raise LookupError(xpath)


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it."""
    yield node
    for value in node.values():
        if is_node(value):
            for child in value if isinstance(value, list) else [value]:
                yield from walk(child)
