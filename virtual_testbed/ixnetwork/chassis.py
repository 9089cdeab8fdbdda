"""What a chassis does with the traffic items of a session: it loads them into the traffic generator behind it, starts
and stops them, and keeps their states and counts, with the habits that it has.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from virtual_testbed.ixnetwork.habits import CRC_ERRORS, FLAP_NS, Habits
from virtual_testbed.ixnetwork.translation import Untranslatable, otg_config
from virtual_testbed.ixnetwork.tree import Node, ObjectTree

UNAPPLIED = "unapplied"
STOPPED = "stopped"
STARTED = "started"
WAITING_AFTER_START = "startedWaitingForStats"
WAITING_AFTER_STOP = "stoppedWaitingForStats"
RUNNING = (STARTED, WAITING_AFTER_START)
HEADER_BYTES = {"ethernet": 14, "vlan": 4, "ipv4": 20, "ipv6": 40, "udp": 8}
FCS_BYTES = 4
Counts = Mapping[str, Any]


class Otg(Protocol):
    """The traffic generator: OTG's operations, JSON data in and out."""

    def set_config(self, body: Any) -> dict[str, Any]:
        """Replaces the configuration."""

    def set_control_state(self, body: Any) -> dict[str, Any]:
        """Starts and stops flows and captures."""

    def get_metrics(self, body: Any) -> dict[str, Any]:
        """Counters and rates."""

    def get_states(self, body: Any) -> dict[str, Any]:
        """Gateways' MAC addresses."""

    def get_capture(self, body: Any) -> bytes:
        """What a port has captured."""


@dataclass(frozen=True)
class TakenStatistics:
    """Statistics as they were last taken: rows of flows and ports by name, as OTG has them."""

    flows: Mapping[str, Counts]
    ports: Mapping[str, Counts]


class Chassis:
    """The traffic of a session.

    Args:
        tree: the session's objects.
        otg: the traffic generator behind it.
        habits: what it does.
        wait: lets simulated time pass, nanoseconds.
        speeds: of the ports' links by location, Mb/s.
    """

    def __init__(self, tree: ObjectTree, otg: Otg, habits: Habits, wait: Callable[[int], None],
                 speeds: Mapping[str, int]) -> None:
        self._speeds = speeds if habits.sends_what_was_held else None
        self._tree = tree
        self._otg = otg
        self._habits = habits
        self._wait = wait
        self._changed = True  # since the configuration was loaded
        self._running: set[str] = set()  # items that were started and not stopped since
        self._before: dict[str, Counts] = {}  # an item's counts up to its last start
        self._cleared = TakenStatistics({}, {})
        self._errors: dict[str, int] = {}
        self._captured: set[str] = set()
        self._ports: set[str] = set()
        self._taken = TakenStatistics({}, {})

    @property
    def items(self) -> list[Node]:
        """The traffic items."""
        return list(self._tree.root["traffic"]["trafficItem"])

    def change(self) -> None:
        """The session's objects have changed: they are loaded before they are used."""
        self._changed = True

    def load(self) -> None:
        """Loads the objects into the traffic generator, if they have changed; nothing runs then.

        Raises:
            Untranslatable: something in them has no counterpart.
        """
        if not self._changed:
            return
        if not all(vport.get("location") for vport in self._tree.root["vport"]):
            return
        config = otg_config(self._tree.root, self._speeds)
        self._otg.set_config(config)
        self._changed = False
        self._running = set()
        self._before = {}
        self._cleared = TakenStatistics({}, {})
        self._captured = set()
        self._take_ports({str(port["name"]) for port in config["ports"]})

    def _take_ports(self, ports: set[str]) -> None:
        """The session has these ports now. Those that it had not may be programmed anew, without light meanwhile."""
        new = sorted(ports - self._ports)
        self._ports = ports
        if self._habits.relinks and new:
            self.set_links(new, "down")
            self._wait(FLAP_NS)
            self.set_links(new, "up")
            self._wait(FLAP_NS)

    def apply(self) -> None:
        """Loads the traffic items; each is stopped and may be started.

        Raises:
            Untranslatable: one has no room for what IxNetwork writes into it.
        """
        for item in self.items:
            self._check_room(item)
        self.load()
        for item in self.items:
            item["state"] = STOPPED
        self.take_statistics()

    def start(self, names: Sequence[str]) -> None:
        """Starts traffic items, all at once; those that run go on."""
        self._wait(self._habits.start_ns // 2)
        flows = self._flow_metrics()
        if self._habits.no_start_beside and any(row["transmit"] != "stopped" for row in flows.values()):
            return
        for name in names:
            self._before[name] = _sum(self._before.get(name, {}), flows.get(name, {}))
        self._transmit("start", names)
        self._running |= set(names)
        for name in names:
            self._item(name)["state"] = WAITING_AFTER_START if self._habits.waits_for_statistics else STARTED
        self._disturb()
        self._wait(self._habits.start_ns - self._habits.start_ns // 2)

    def stop(self, names: Sequence[str]) -> None:
        """Stops traffic items."""
        self._wait(self._habits.stop_ns // 2)
        self._transmit("stop", names)
        self._running -= set(names)
        for name in names:
            self._item(name)["state"] = WAITING_AFTER_STOP if self._habits.waits_for_statistics else STOPPED
        self._wait(self._habits.stop_ns - self._habits.stop_ns // 2)

    def stop_all(self) -> None:
        """Stops whatever runs."""
        if self._running:
            self.stop(sorted(self._running))

    def look(self) -> None:
        """Brings the states of items up to date: one that has sent all is stopped, but for the habit."""
        if self._changed:
            return
        sending = {name for name, row in self._flow_metrics().items() if row["transmit"] != "stopped"}
        for name in sorted(self._running - sending):
            if not self._habits.finished_stay_started:
                self._running.discard(name)
                self._item(name)["state"] = STOPPED
        self._tree.root["traffic"]["state"] = STARTED if self._running else STOPPED

    def clear_statistics(self) -> None:
        """Counts begin at 0, but for the habit."""
        if not self._habits.counts_accumulate:
            self._cleared = self._now()
        self.take_statistics()

    def take_statistics(self) -> None:
        """Takes the statistics that are shown from now on; items that waited for them wait no more."""
        if self._changed:
            return
        now = self._now()
        cleared = self._cleared
        self._taken = TakenStatistics(
            {name: _since(row, cleared.flows.get(name)) for name, row in now.flows.items()},
            {name: _since(row, cleared.ports.get(name)) for name, row in now.ports.items()},
        )
        for item in self.items:
            state = item.get("state")
            item["state"] = {WAITING_AFTER_START: STARTED, WAITING_AFTER_STOP: STOPPED}.get(str(state), state)

    def statistics(self) -> TakenStatistics:
        """The statistics that are shown."""
        if not self._habits.refresh_ns:
            self.take_statistics()
        return self._taken

    def neighbours(self) -> dict[str, str]:
        """The MAC addresses of the gateways that are resolved, by `ETHERNET ipv4` or `ETHERNET ipv6`."""
        found = {}
        for version in ("ipv4", "ipv6"):
            choice = f"{version}_neighbors"
            for row in self._otg.get_states({"choice": choice})[choice]:
                if row.get("link_layer_address"):
                    found[f"{row['ethernet_name']} {version}"] = row["link_layer_address"]
        return found

    def set_links(self, names: Sequence[str], state: str) -> None:
        """Takes the links of ports `up` or `down`."""
        self.load()
        self._otg.set_control_state({"choice": "port", "port": {
            "choice": "link", "link": {"state": state, "port_names": list(names)}}})

    def links_down(self) -> set[str]:
        """The ports whose link is down, as far as they are loaded."""
        if self._changed:
            return set()
        rows = self._otg.get_metrics({"choice": "port", "port": {}})["port_metrics"]
        return {str(row["name"]) for row in rows if row["link"] == "down"}

    def start_captures(self) -> None:
        """Starts the captures of all ports that have one, anew."""
        self.load()
        names = [vport["name"] for vport in self._tree.root["vport"] if vport["capture"]["hardwareEnabled"]]
        self._captured |= set(names)
        self._capture("start", names)

    def stop_captures(self, names: Iterable[str] = ()) -> None:
        """Stops captures; no names: all."""
        self._capture("stop", sorted(self._captured & set(names) if names else self._captured))

    def clear_captures(self, names: Iterable[str]) -> None:
        """Removes what captures hold, but for the habit."""
        if self._habits.wipes_captures:
            self._captured -= set(names)

    def capture(self, name: str) -> bytes | None:
        """What a port has captured, as a file; None: nothing."""
        if name not in self._captured:
            return None
        return self._otg.get_capture({"port_name": name})

    def _capture(self, state: str, names: Sequence[str]) -> None:
        if names:
            self._otg.set_control_state({"choice": "port", "port": {
                "choice": "capture", "capture": {"state": state, "port_names": list(names)}}})

    def _transmit(self, state: str, names: Sequence[str]) -> None:
        self._otg.set_control_state({"choice": "traffic", "traffic": {
            "choice": "flow_transmit", "flow_transmit": {"state": state, "flow_names": list(names)}}})

    def _disturb(self) -> None:
        """What goes wrong on the cables while traffic runs."""
        ports = [str(vport["name"]) for vport in self._tree.root["vport"]]
        for name in ports if self._habits.crc_errors else ():
            self._errors[name] = self._errors.get(name, 0) + CRC_ERRORS
        if self._habits.link_flaps:
            self._wait(FLAP_NS)
            self.set_links(ports[:1], "down")
            self._wait(FLAP_NS)
            self.set_links(ports[:1], "up")

    def _check_room(self, item: Node) -> None:
        """IxNetwork writes a tag of its own into frames whose statistics it keeps."""
        names = [str(one["xpath"]).split("'")[1].rpartition("-")[0] for one in item["configElement"][0]["stack"]]
        size = item["configElement"][0]["frameSize"]
        if not self._habits.needs_room or not set(names) <= HEADER_BYTES.keys() or size["type"] != "fixed":
            return
        least = sum(HEADER_BYTES[name] for name in names) + FCS_BYTES + self._habits.needs_room
        if int(size["fixedSize"]) < least:
            raise Untranslatable(f"traffic item {item['name']}: frames of {size['fixedSize']} bytes have no room for "
                                 f"the instrumentation tag: {least} bytes or more")

    def _item(self, name: str) -> Node:
        return next(item for item in self.items if item["name"] == name)

    def _flow_metrics(self) -> dict[str, Counts]:
        rows = self._otg.get_metrics({"choice": "flow", "flow": {}})["flow_metrics"]
        return {row["name"]: row for row in rows}

    def _now(self) -> TakenStatistics:
        ports = self._otg.get_metrics({"choice": "port", "port": {}})["port_metrics"]
        flows = {name: _sum(self._before.get(name, {}), row) for name, row in self._flow_metrics().items()}
        errors = self._errors
        return TakenStatistics(flows, {row["name"]: {**row, "crc_errors": errors.get(row["name"], 0)} for row in ports})


COUNTED = ("frames_tx", "frames_rx", "bytes_tx", "bytes_rx", "crc_errors")


def _sum(before: Counts, row: Counts) -> Counts:
    """A row with the counts of another added."""
    return {**row, **{name: int(row[name]) + int(before.get(name, 0)) for name in COUNTED if name in row}}


def _since(row: Counts, cleared: Counts | None) -> Counts:
    """A row without what was counted when statistics were cleared."""
    if cleared is None:
        return row
    return {**row, **{name: int(row[name]) - int(cleared.get(name, 0)) for name in COUNTED if name in row}}
