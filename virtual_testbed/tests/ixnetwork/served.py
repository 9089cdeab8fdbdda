"""A session of IxNetwork's API over a traffic generator that keeps what it is given, as a client uses it."""
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from virtual_testbed.ixnetwork.habits import read_habits
from virtual_testbed.ixnetwork.session import Answer, IxNetworkSession
from virtual_testbed.ixnetwork.tree import ROOT, Node
from virtual_testbed.tests.ixnetwork.imported import LOCATIONS, configuration, honouring
from virtual_testbed.tests.ixnetwork.kept_otg import KeptOtg

ITEMS = f"{ROOT}/traffic/trafficItem"


class ServedSession:
    """A session and what is behind it.

    Attributes:
        otg: what is behind it; time that passes is among its control states: `{"choice": "wait", "ns": 5}`.
        session: answers requests.
    """

    def __init__(self, *habits: str) -> None:
        self.otg = KeptOtg()
        self.session = IxNetworkSession(self.otg, LOCATIONS, read_habits(habits), self._wait)

    def _wait(self, nanoseconds: int) -> None:
        self.otg.controls.append({"choice": "wait", "ns": nanoseconds})

    def configure(self, items: Sequence[Node], hosts: Sequence[Node] = ()) -> ServedSession:
        """Imports ports that honour PFC, hosts and traffic items, and applies them."""
        ports, topologies, traffic = configuration(items, hosts)
        for update in ([ports], [*honouring(1), *honouring(2)], [topologies, traffic]):
            self.do("importconfig", ROOT, json.dumps(update))
        self.do("apply", f"{ROOT}/traffic")
        return self

    def ask(self, operation: str, *arguments: Any, at: str = ROOT) -> Answer:
        """Posts an operation."""
        body = {f"arg{number}": argument for number, argument in enumerate(arguments, 1)}
        return self.session.request("POST", f"{at}/operations/{operation}", "", body)

    def do(self, operation: str, *arguments: Any, at: str = ROOT) -> Any:
        """Posts an operation that succeeds; returns its result."""
        answer = self.ask(operation, *arguments, at=at)
        assert answer.status == 202, answer.content
        return answer.content["result"]

    def refusal(self, answer: Answer) -> tuple[int, str]:
        """Status and sentence of an answer that is one."""
        return answer.status, answer.content["errors"][0]["detail"]

    def start(self, *numbers: int) -> None:
        """Starts traffic items."""
        self.do("startStatelessTrafficBlocking", [f"{ITEMS}/{number}" for number in numbers], at=ITEMS)

    def stop(self, *numbers: int) -> None:
        """Stops traffic items."""
        self.do("stopStatelessTrafficBlocking", [f"{ITEMS}/{number}" for number in numbers], at=ITEMS)

    def clear(self) -> None:
        """Clears statistics."""
        self.do("clearStats", ["waitForPortStatsRefresh"])

    def states(self) -> list[str]:
        """The states of the traffic items."""
        asked = {"child": "trafficItem", "properties": ["*"], "filters": []}
        answer = self.session.request("POST", f"{ROOT}/operations/select", "xpath=true", {
            "selects": [{"from": "/traffic", "properties": [], "children": [asked], "inlines": []}]})
        return [str(item["state"]) for item in answer.content[0]["trafficItem"]]

    def file(self, name: str) -> Answer:
        """Downloads a file."""
        return self.session.request("GET", f"{ROOT}/files", f"filename={name}", None)

    def rows(self, title: str) -> list[dict[str, str]]:
        """A view of statistics: the cells of each row by column."""
        lines = self.file(f"/root/{title.replace(' ', '-')}.csv").content.decode().splitlines()
        return [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]

    def sent(self) -> list[int]:
        """The frames that the traffic items sent, as statistics show them."""
        return [int(row["Tx Frames"]) for row in self.rows("Traffic Item Statistics")]
