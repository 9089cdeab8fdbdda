"""The objects of an IxNetwork session: a tree of nodes with xpaths, imported, selected and changed as its clients do.

An xpath is `/vport[2]/l1Config`: of the second port that there is now. An address (href) is that of an object for as
long as it is there: `<root>/vport/2/l1Config`.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Node = dict[str, Any]
SESSION = "/api/v1/sessions/1"
ROOT = f"{SESSION}/ixnetwork"
MULTIVALUE = "/multivalue"
NUMBER = re.compile(r"/(\d+)$")


class UnknownNode(LookupError):
    """An xpath that no node has; `str()` is it."""


def to_xpath(href: str) -> str:
    """The xpath that an address has before anything is removed; an xpath stays one."""
    path = href.removeprefix(ROOT)
    return re.sub(r"/(\d+)(?=/|$)", r"[\1]", path) or "/"


def is_below(value: Any) -> bool:
    """Whether a value of a node is another node, or a list of them; a multivalue is an attribute."""
    one = value[0] if isinstance(value, list) and value else value
    return isinstance(one, dict) and "xpath" in one and not str(one["xpath"]).startswith(MULTIVALUE)


def children(node: Node) -> Iterator[Node]:
    """The nodes right below a node."""
    for value in node.values():
        if is_below(value):
            yield from value if isinstance(value, list) else [value]


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


class ObjectTree:
    """The nodes of one session.

    Args:
        root: the first node, whose xpath is `/`; it is kept and changed.
    """

    def __init__(self, root: Node) -> None:
        self.root = root
        self._multivalues: list[Node] = []
        self._by_xpath: dict[str, Node] = {}
        self._by_href: dict[str, Node] = {}
        self._last: dict[tuple[str, str], int] = {}  # the last number that a child of that name got
        self._index(root, ROOT)

    def node(self, xpath: str) -> Node:
        """The node of an xpath.

        Raises:
            UnknownNode: there is none.
        """
        found = self._by_xpath.get(xpath)
        if found is None:
            raise UnknownNode(xpath)
        return found

    def at(self, href: str) -> Node:
        """The node of an address, or of an xpath.

        Raises:
            UnknownNode: there is none.
        """
        found = self._by_href.get(href.rstrip("/"))
        return self.node(to_xpath(href)) if found is None else found

    def add(self, parent: Node, name: str, node: Node) -> None:
        """Puts a node, with what is below it, among the children `name` of another."""
        parent.setdefault(name, []).append(node)
        self._index(parent, parent["href"])

    def take_over(self, update: Mapping[str, Any]) -> None:
        """Sets the attributes of a node and of those below it; nodes that are not there are made."""
        xpath = str(update.get("xpath", "/"))
        node = self._by_xpath.get(xpath) or self._create(xpath)
        self._merge(node, update)
        self._index(node, node["href"])

    def remove(self, href: str) -> None:
        """Removes a node, or all children of one name (`.../traffic/trafficItem`); those behind it move up."""
        node = self._by_href.get(href.rstrip("/"))
        above, _, kind = href.rstrip("/").rpartition("/")
        if node is not None:
            above, _, kind = above.rpartition("/")
        parent = self.at(above or ROOT)
        gone = [child for child in parent.get(kind, ()) if node is None or child is node]
        parent[kind] = [child for child in parent.get(kind, ()) if all(child is not one for one in gone)]
        for one in (one for child in gone for one in walk(child)):
            self._by_href.pop(one["href"], None)
        for number, child in enumerate(parent[kind], 1):
            _rename(child, f"{parent['xpath'].rstrip('/')}/{kind}[{number}]")
        self._by_xpath = {one["xpath"]: one for one in walk(self.root)}

    def select(self, asked: Mapping[str, Any]) -> Node:
        """What a `select` of a node returns: its attributes, and those of the children that are asked for."""
        href = str(asked["from"])
        if "/multivalue/" in href:
            return {"href": href, "pattern": "singleValue", "format": "string", "count": 1, **self.multivalue(href)}
        return self.view(self.at(href), asked["children"])

    def view(self, node: Node, asked: Sequence[Mapping[str, Any]] = ()) -> Node:
        """A node's attributes with those of its children that are asked for."""
        seen = {key: self._plain(value) for key, value in node.items() if not is_below(value)}
        seen["id"] = int((NUMBER.findall(node["href"]) or [1])[0])
        for key, value in node.items():
            wanted = next((child for child in asked if re.fullmatch(child["child"], key)), None)
            if wanted is None or not is_below(value):
                continue
            found = [self.view(one, asked) for one in (value if isinstance(value, list) else [value])
                     if all(_passes(one, condition) for condition in wanted["filters"])]
            if found:
                seen[key] = found if isinstance(value, list) else found[0]
        return seen

    def multivalue(self, href: str) -> Node:
        """The multivalue of an address that `view` gave out."""
        return dict(self._multivalues[int(href.rpartition("/")[2]) - 1])

    def _plain(self, value: Any) -> Any:
        """An attribute as it is read: a multivalue by its address."""
        if not (isinstance(value, dict) and "singleValue" in value):
            return value
        if "number" not in value:
            self._multivalues.append(value)
            value["number"] = len(self._multivalues)
        return f"{ROOT}/multivalue/{value['number']}"

    def _create(self, xpath: str) -> Node:
        above, _, name = xpath.rpartition("/")
        node: Node = {"xpath": xpath}
        parent = self.node(above or "/")
        kind = name.split("[")[0]
        if "[" in name:
            self.add(parent, kind, node)
        else:
            parent[kind] = node
            self._index(parent, parent["href"])
        return node

    def _merge(self, node: Node, update: Mapping[str, Any]) -> None:
        for key, value in update.items():
            if is_below(value) and isinstance(value, list):
                known = {child["xpath"]: child for child in node.setdefault(key, [])}
                for child in value:
                    if child["xpath"] not in known:
                        known[child["xpath"]] = {"xpath": child["xpath"]}
                        node[key].append(known[child["xpath"]])
                    self._merge(known[child["xpath"]], child)
            elif is_below(value):
                self._merge(node.setdefault(key, {}), value)
            else:
                node[key] = value

    def _index(self, node: Node, href: str) -> None:
        """Gives addresses to a node and those below it that have none, and notes where they are."""
        node.setdefault("href", href)
        self._by_xpath[node["xpath"]] = node
        self._by_href[node["href"]] = node
        for name, value in node.items():
            if not is_below(value):
                continue
            for child in value if isinstance(value, list) else [value]:
                below = f"{node['href']}/{name}"
                if "href" not in child and isinstance(value, list):
                    self._last[node["href"], name] = self._last.get((node["href"], name), 0) + 1
                    below = f"{below}/{self._last[node['href'], name]}"
                self._index(child, below)


def _rename(node: Node, xpath: str) -> None:
    """Gives a node another xpath, and those below it theirs."""
    before = node["xpath"]
    for one in walk(node):
        one["xpath"] = xpath + one["xpath"].removeprefix(before)


def _passes(node: Node, condition: Mapping[str, Any]) -> bool:
    """Whether an attribute matches the expression of a filter."""
    value = node.get(str(condition["property"]), "")
    wanted = condition["regex"]
    return value == wanted if isinstance(wanted, bool) else bool(re.search(str(wanted), str(value)))
