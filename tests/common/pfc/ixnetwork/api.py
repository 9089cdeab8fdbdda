"""snappi's API object for IxNetwork, with what its extension leaves to whoever uses it.

snappi_ixnetwork 1.61.3 puts OTG onto IxNetwork's REST API. In some places the two differ, and it does not say so; the
methods here do what it does, and what is missing. What IxNetwork alone knows is read through the extension's own
connection, as sonic-mgmt reads it (`api._ixnetwork`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from ..lab.clock import Clock, wait_for
from ..model.errors import QualificationError
from .cards import FCOE, QUEUES, CardPort, check_pfc, check_readable

EXTENSION = "snappi_ixnetwork"
GLOBAL_PAUSE_SINCE = "1.61.3"
ETHER_TYPES = {"ipv4": 0x0800, "ipv6": 0x86DD}
STARTED = "started"
QUIET = ("stopped", "unapplied")
SETTLED = (STARTED, *QUIET)
"""States of a traffic item from which it can be started or stopped. In any other one (`startedWaitingForStats`,
`stoppedWaitingForStats`, `locked` ...) it is on its way, and the extension leaves it alone."""
STATE_DEADLINE_S = 30.0
STOP_TRIES = 20
"""How often sonic-mgmt looks whether traffic has stopped (`traffic_generation.py`)."""
UNRESOLVED = "unresolved"
CRC_ERRORS = "CRC Errors"
CLEARED = ("waitForPortStatsRefresh", "waitForTrafficStatsRefresh")
"""With what the extension clears statistics."""


class IxNetworkApi:
    """The extension's API object as OTG describes one.

    Args:
        api: the extension's.
        clock: what to wait on.
    """

    def __init__(self, api: Any, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._config: Any = None
        self._has_statistics = False
        self._spoiled_before: Counter[str] = Counter()  # counted before statistics were cleared
        self._spoiled: Counter[str] = Counter()  # last counted, where that may be gone by now
        self._cleared: dict[str, Any] = {}  # flow -> its last metrics before statistics were cleared

    def __getattr__(self, name: str) -> Any:
        """Everything else is the extension's."""
        return getattr(self._api, name)

    def set_config(self, config: Any) -> Any:
        """Replaces the configuration, in which it sets what only the extension reads.

        Raises:
            QualificationError: frames would be others than asked for, or a port does not honour PFC.
        """
        _complete(config)
        self._note_spoiled()
        self._has_statistics = False
        self._cleared = {}
        self._config = config
        try:
            answer = self._api.set_config(config)
        except Exception:
            if self._is_connected:
                check_readable(self.ports())
            raise
        check_pfc(self.ports(), _queues(config))
        return answer

    def set_control_state(self, state: Any) -> Any:
        """Starts and stops flows, captures, links and protocols.

        Raises:
            QualificationError: a flow cannot be started, or does not stop.
        """
        if state.choice == state.TRAFFIC and state.traffic.choice == state.traffic.FLOW_TRANSMIT:
            return self._transmit(state)
        if state.choice == state.PORT and state.port.choice == state.port.LINK and not state.port.link.port_names:
            state.port.link.port_names = [port.name for port in self._config.ports]
        return self._api.set_control_state(state)

    def get_metrics(self, request: Any) -> Any:
        """Counters and rates. Before anything was started there are none, where the extension would fail; a flow that
        had ended when statistics were cleared has what it had then, where the extension says that it has sent nothing
        and runs."""
        if request.choice == request.FLOW and not self._has_statistics:
            return self._api.metrics_response()
        answer = self._api.get_metrics(request)
        for metric in answer.flow_metrics if request.choice == request.FLOW else ():
            before = self._cleared.get(metric.name)
            if before is not None and metric.frames_tx < before.frames_tx:
                metric.frames_tx = before.frames_tx
                metric.frames_rx = before.frames_rx
                metric.bytes_tx = before.bytes_tx
                metric.bytes_rx = before.bytes_rx
                metric.transmit = metric.STOPPED
        return answer

    def get_states(self, request: Any) -> Any:
        """Whether hosts know their gateways, each for itself. The extension knows it by gateway, in the spelling of the
        configuration: of hosts with the same one it has the last one's, and another spelling ends with an error."""
        kind = request.choice
        version_of = {request.IPV4_NEIGHBORS: "ipv4", request.IPV6_NEIGHBORS: "ipv6"}.get(kind)
        if version_of is None:
            return self._api.get_states(request)
        response = self._api.states_response()
        response.deserialize({"choice": kind, kind: list(self._neighbours(version_of))})
        return response

    def ports(self) -> list[CardPort]:
        """The ports as IxNetwork has them."""
        found = self._select("/", ["vport", ["name", "location"]], ["l1Config", ["currentType"]])
        kinds = {str(vport["l1Config"]["currentType"]).removesuffix(FCOE) for vport in found.get("vport", ())}
        layer1 = self._select("/", ["vport", ["name"]], ["l1Config", []],
                              [f"^({'|'.join(sorted(kinds))})$", []], ["fcoe", ["*"]]) if kinds else {}
        queues = {str(vport["name"]): _queue_group_size(vport.get("l1Config", {})) for vport in layer1.get("vport", ())}
        return [
            CardPort(
                str(vport["name"]), str(vport["location"]), str(vport["l1Config"]["currentType"]),
                queues.get(str(vport["name"])),
            )
            for vport in found.get("vport", ())
        ]

    def crc_errors(self) -> dict[str, int]:
        """Port -> frames that it received with a wrong FCS, as far as IxNetwork counts them; sonic-mgmt looks at the
        same column after each run (`check_for_crc_errors`). It goes on where statistics are cleared."""
        return dict(self._spoiled_before + (self._shown_spoiled() if self._has_statistics else self._spoiled))

    def _shown_spoiled(self) -> Counter[str]:
        """The CRC errors that the ports' statistics show."""
        rows = self._api.assistant.StatViewAssistant("Port Statistics").Rows
        if CRC_ERRORS not in rows._column_headers:  # a row asked for another column looks for a cell like it
            return Counter()
        return Counter({str(row["Port Name"]): int(row[CRC_ERRORS] or 0) for row in rows})

    def _note_spoiled(self) -> None:
        """Notes CRC errors before what may clear them."""
        if self._has_statistics:
            self._spoiled = self._shown_spoiled()

    def _keep_counts(self, names: Sequence[str]) -> None:
        """Keeps what a start of these flows would clear: where no item is started the extension clears all."""
        if STARTED in self.item_states().values():
            return
        request = self._api.metrics_request()
        request.flow.flow_names = []
        counted = {metric.name: metric for metric in self.get_metrics(request).flow_metrics}
        self._cleared = {name: metric for name, metric in counted.items() if names and name not in names}
        self._note_spoiled()
        if self._spoiled.total():
            self._api._ixnetwork.ClearStats(list(CLEARED))
            self._spoiled_before += self._spoiled - self._shown_spoiled()
            self._spoiled = Counter()

    def item_states(self, names: Iterable[str] = ()) -> dict[str, str]:
        """Traffic item -> its state; no names: of all."""
        wanted = set(names)
        items = self._api.select_traffic_items()
        return {name: str(item["state"]) for name, item in items.items() if not wanted or name in wanted}

    @property
    def _is_connected(self) -> bool:
        return getattr(self._api, "assistant", None) is not None

    def _transmit(self, state: Any) -> Any:
        """Starts or stops flows; the extension does so with those items alone that are stopped (started), and nothing
        with others."""
        control = state.traffic.flow_transmit
        names = list(control.flow_names or ())
        if not self._is_connected:  # in another process' session there may be traffic: the extension says what it can
            return self._api.set_control_state(state)
        if control.state == control.START:
            self._make_startable(names)
            self._keep_counts(names)
            answer = self._api.set_control_state(state)
            self._has_statistics = True
            return answer
        if control.state == control.STOP:
            return self._stop(state, names)
        return self._api.set_control_state(state)

    def _make_startable(self, names: Sequence[str]) -> None:
        """Waits for items that are on their way. One that has sent all may stay `started`: it is told to stop.

        Raises:
            QualificationError: an item stays on its way.
        """
        self._wait_for_items(names, lambda state: state in SETTLED)
        finished = [name for name, state in self.item_states(names).items() if state == STARTED] if names else []
        if finished:
            self._api.set_control_state(self._told_to_stop(finished))
            self._wait_for_items(finished, lambda state: state in QUIET)

    def _stop(self, state: Any, names: Sequence[str]) -> Any:
        """Stops flows, and waits until IxNetwork says that they have stopped.

        Raises:
            QualificationError: one does not.
        """
        for _ in range(STOP_TRIES):
            self._wait_for_items(names, lambda state: state in SETTLED)
            answer = self._api.set_control_state(state)
            self._wait_for_items(names, lambda state: state in SETTLED)
            running = [name for name, found in self.item_states(names).items() if found not in QUIET]
            if not running:
                return answer
            state = self._told_to_stop(running)
        raise QualificationError(f"the traffic generator did not stop {', '.join(running)}, told {STOP_TRIES} times")

    def _told_to_stop(self, names: Sequence[str]) -> Any:
        state = self._api.control_state()
        state.traffic.flow_transmit.flow_names = list(names)
        state.traffic.flow_transmit.state = state.traffic.flow_transmit.STOP
        return state

    def _wait_for_items(self, names: Sequence[str], is_met: Callable[[str], bool]) -> None:
        """Returns when the state of each of these items is as wanted; no names: of all.

        Raises:
            QualificationError: one never is.
        """
        if wait_for(lambda: all(map(is_met, self.item_states(names).values())), STATE_DEADLINE_S, self._clock):
            return
        states = {name: state for name, state in self.item_states(names).items() if not is_met(state)}
        found = ", ".join(f"{name} ({state})" for name, state in states.items())
        raise QualificationError(f"after {STATE_DEADLINE_S:.0f} s IxNetwork has traffic items between states: {found}")

    def _neighbours(self, version_of: str) -> Iterable[dict[str, str]]:
        """OTG's rows of the hosts that know their gateway."""
        gateways = {ethernet.name: address.gateway for device in self._config.devices for ethernet in device.ethernets
                    for address in getattr(ethernet, f"{version_of}_addresses")}
        found = self._select("/", ["topology", []], ["deviceGroup", []], ["ethernet", ["name"]],
                             [version_of, ["name", "resolvedGatewayMac"]])
        for topology in found.get("topology", ()):
            for group in topology.get("deviceGroup", ()):
                for ethernet in group.get("ethernet", ()):
                    macs = [mac for host in ethernet.get(version_of, ()) for mac in host.get("resolvedGatewayMac", ())]
                    if macs and not any(UNRESOLVED in str(mac).lower() for mac in macs):
                        name = str(ethernet["name"])
                        yield {"ethernet_name": name, f"{version_of}_address": gateways[name],
                               "link_layer_address": str(macs[0])}

    def _select(self, start: str, *children: Sequence[Any]) -> Any:
        """Nodes of IxNetwork's tree from `start` on. Each child is a name, or an expression for it, with properties."""
        asked = [{"child": name, "properties": properties, "filters": []} for name, properties in children]
        payload = {"selects": [{"from": start, "properties": [], "children": asked, "inlines": []}]}
        ixnetwork = self._api._ixnetwork
        return ixnetwork._connection._execute(f"{ixnetwork.href}/operations/select?xpath=true", payload)[0]


def _complete(config: Any) -> None:
    """Sets in a configuration what only the extension reads, or reads otherwise.

    - `rx_name`: it does not read `rx_names`, and a flow without a receiver has no statistics (`trafficitem.py`).
    - `tpid`: left out, it is sent as 0xFFFF; it is what IxNetwork has as the type of what follows the tag.

    Raises:
        QualificationError: the extension is too old for a frame (`customfield.py`).
    """
    for flow in config.flows:
        flow.tx_rx.port.rx_name = flow.tx_rx.port.rx_names[0]
        headers = list(flow.packet)
        kinds = [header.parent.choice for header in headers]
        if "ethernetpause" in kinds:
            check_global_pause(version(EXTENSION))
        following = next((ETHER_TYPES[kind] for kind in kinds if kind in ETHER_TYPES), None)
        for header, kind in zip(headers, kinds, strict=True):
            if kind == "vlan" and following is not None:
                header.tpid.value = following


def check_global_pause(found: str) -> None:
    """Refuses a version of the extension that makes other frames of 802.3x pauses.

    Raises:
        QualificationError: it is too old.
    """
    if _numbers(found) < _numbers(GLOBAL_PAUSE_SINCE):
        raise QualificationError(
            f"{EXTENSION} {found} makes other frames of 802.3x pauses: expected {GLOBAL_PAUSE_SINCE} or newer")


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall("[0-9]+", text)[:3]]


def _queues(config: Any) -> int:
    """How many queues of a generator port the configuration has in use: 4 or 8."""
    used = {getattr(layer1.flow_control.ieee_802_1qbb, f"pfc_class_{priority}")
            for layer1 in config.layer1 for priority in range(QUEUES)}
    return QUEUES if any(queue is not None and queue >= QUEUES // 2 for queue in used) else QUEUES // 2


def _queue_group_size(layer1: Mapping[str, Any]) -> int | None:
    """`pfcQueueGroupSize` of a port, whatever the type of its card; IxNetwork also writes it `pfcQueueGroupSize-4`."""
    for card in layer1.values():
        size = card.get("fcoe", {}).get("pfcQueueGroupSize") if isinstance(card, Mapping) else None
        if size is not None:
            return int(str(size).rpartition("-")[2])
    return None
