"""A traffic generator for the tests of an IxNetwork session: it keeps what it is given, and counts what it is told."""
from __future__ import annotations

from typing import Any

from virtual_testbed.ixnetwork.statistics import FLOW_COLUMNS, PORT_COLUMNS

ROUTER = "02:00:00:00:00:01"


class KeptOtg:
    """OTG's operations, JSON data in and out.

    Attributes:
        configs: what was set, in order.
        controls: the control states, in order.
        counted: flow -> columns of OTG's flow metrics that are not 0; `transmit` follows what is started and stopped.
        unresolved: hosts that do not know their gateway.
        down: ports whose link is down.
        captured: what a port has captured.
    """

    def __init__(self) -> None:
        self.configs: list[Any] = []
        self.controls: list[Any] = []
        self.counted: dict[str, dict[str, Any]] = {}
        self.unresolved: tuple[str, ...] = ()
        self.down: set[str] = set()
        self.captured = b""

    def set_config(self, body: Any) -> dict[str, Any]:
        """All flows are stopped, and count nothing."""
        self.configs.append(body)
        self.counted = {flow["name"]: {"transmit": "stopped"} for flow in body["flows"]}
        return {}

    def set_control_state(self, body: Any) -> dict[str, Any]:
        """Flows start and stop, links go down and come up."""
        self.controls.append(body)
        if body["choice"] == "traffic":
            told = body["traffic"]["flow_transmit"]
            for name in told["flow_names"]:
                self.counted[name]["transmit"] = {"start": "started", "stop": "stopped"}[told["state"]]
        elif body["port"]["choice"] == "link":
            told = body["port"]["link"]
            names = set(told["port_names"])
            self.down = self.down | names if told["state"] == "down" else self.down - names
        return {}

    def get_metrics(self, body: Any) -> dict[str, Any]:
        """A row each flow or port, with every column that IxNetwork's views have."""
        if body["choice"] == "flow":
            columns = dict.fromkeys(FLOW_COLUMNS.values(), 0)
            return {"flow_metrics": [{"name": name, **columns, **row} for name, row in self.counted.items()]}
        zero = dict.fromkeys(PORT_COLUMNS.values(), 0)
        ports = self.configs[-1]["ports"]
        return {"port_metrics": [{**zero, **port, "link": "down" if port["name"] in self.down else "up"}
                                 for port in ports]}

    def get_states(self, body: Any) -> dict[str, Any]:
        """Every host knows its gateway but for some."""
        kind = body["choice"]
        ethernets = [one for device in self.configs[-1]["devices"] for one in device["ethernets"]]
        return {kind: [{"ethernet_name": one["name"], "link_layer_address": ROUTER} for one in ethernets
                       if f"{kind[:4]}_addresses" in one and one["name"] not in self.unresolved]}

    def get_capture(self, body: Any) -> bytes:
        """The same for every port."""
        return self.captured

    def told(self) -> list[tuple[str, list[str]]]:
        """What flows were told: the state, and their names."""
        return [(one["traffic"]["flow_transmit"]["state"], one["traffic"]["flow_transmit"]["flow_names"])
                for one in self.controls if one["choice"] == "traffic"]
