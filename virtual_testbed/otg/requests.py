"""The OTG requests other than the configuration, read from plain JSON data."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from virtual_testbed.otg.errors import NOT_IMPLEMENTED, OtgError
from virtual_testbed.otg.fields import Fields, Report, listed

T = TypeVar("T")

FLOW_COLUMNS = (
    "transmit", "frames_tx", "frames_rx", "bytes_tx", "bytes_rx", "frames_tx_rate", "frames_rx_rate", "tx_l1_rate_bps",
    "rx_l1_rate_bps", "tx_rate_bytes", "rx_rate_bytes", "tx_rate_bps", "rx_rate_bps", "tx_rate_kbps", "rx_rate_kbps",
    "tx_rate_mbps", "rx_rate_mbps")
PORT_COLUMNS = (
    "transmit", "location", "link", "capture", "frames_tx", "frames_rx", "bytes_tx", "bytes_rx", "frames_tx_rate",
    "frames_rx_rate", "bytes_tx_rate", "bytes_rx_rate", "last_change", "speed")


@dataclass(frozen=True)
class ControlState:
    """A control state (`set_control_state`): `kind` is protocol, link, capture or transmit; no `names` means all."""

    kind: str
    state: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class MetricsQuery:
    """Which metrics: of `port` or `flow`, of which names (none: all), which columns."""

    kind: str
    names: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class CaptureQuery:
    """Whose capture, and which part: from frame `start` (0-based) `count` frames; None: to the end."""

    port: str
    start: int = 0
    count: int | None = None


def _read(body: Any, reader: Callable[[Fields], T]) -> T:
    """Runs a reader over the body of a request; raises OtgError with all that it noted."""
    report = Report()
    result = reader(Fields(body, "", report))
    if report.errors:
        raise OtgError(report.errors)
    return result


def refuse_unknown(names: Iterable[str], known: Iterable[str], kind: str, path: str) -> None:
    """Raises OtgError naming every name that does not exist."""
    every = list(known)
    unknown = [name for name in names if name not in every]
    if unknown:
        raise OtgError([f"{path}: no {kind} is named {name!r}; {kind}s are {listed(every)}" for name in unknown])


def read_control(body: Any) -> ControlState:
    """Reads the body of `set_control_state`.

    Raises:
        OtgError: with every error found.
    """
    return _read(body, _control)


def _control(request: Fields) -> ControlState:
    branches = {"port": ("link", "capture"), "protocol": ("all",), "traffic": ("flow_transmit",)}
    states = {"link": ("up", "down"), "capture": ("start", "stop"), "all": ("start", "stop"),
              "flow_transmit": ("start", "stop", "pause", "resume")}
    choice = request.choice(tuple(branches), "")
    outer = request.child(choice) if choice else None
    request.done()
    kind = outer.choice(branches[choice], "") if outer else ""
    if outer is None or not kind:
        return ControlState("", "")
    inner = outer.child(kind)
    outer.done()
    state = inner.one_of("state", states[kind], "")
    names = () if kind == "all" else inner.names("flow_names" if kind == "flow_transmit" else "port_names")
    inner.done()
    return ControlState({"all": "protocol", "flow_transmit": "transmit"}.get(kind, kind), state, tuple(names))


def read_metrics(body: Any) -> MetricsQuery:
    """Reads the body of `get_metrics`.

    Raises:
        OtgError: with every error found; status 501 for a kind of metrics that is not modelled.
    """
    _refuse_choice(body, ("port", "flow"), "metrics")
    return _read(body, _metrics)


def _metrics(request: Fields) -> MetricsQuery:
    kind = request.choice(("port", "flow"), "port")
    query = request.child(kind)
    request.done()
    known = FLOW_COLUMNS if kind == "flow" else PORT_COLUMNS
    field = "metric_names" if kind == "flow" else "column_names"
    columns = query.names(field)
    for column in columns:
        if column not in known:
            query.error(field, f"no metric is named {column!r}; metrics are {listed(known)}")
    names = query.names(f"{kind}_names")
    if kind == "flow":
        tags = query.child("tagged_metrics")
        tags.boolean("include", True)  # no flow has tags, so there is nothing to include
        tags.boolean("include_empty_metrics", False)
        tags.names("metric_names")
        tags.done("filters")
    query.done()
    return MetricsQuery(kind, tuple(names), tuple(columns) or known)


def read_states(body: Any) -> tuple[int, tuple[str, ...]]:
    """Reads the body of `get_states`: the IP version of the neighbours, and names of Ethernets (none: all).

    Raises:
        OtgError: with every error found; status 501 for states that are not modelled.
    """
    _refuse_choice(body, ("ipv4_neighbors", "ipv6_neighbors"), "states")
    return _read(body, _states)


def _states(request: Fields) -> tuple[int, tuple[str, ...]]:
    choice = request.choice(("ipv4_neighbors", "ipv6_neighbors"), "ipv4_neighbors")
    query = request.child(choice)
    request.done()
    names = query.names("ethernet_names")
    query.done()
    return 4 if choice == "ipv4_neighbors" else 6, tuple(names)


def _refuse_choice(body: Any, modelled: tuple[str, ...], kind: str) -> None:
    choice = body.get("choice") if isinstance(body, dict) else None
    if choice is not None and choice not in modelled:
        raise OtgError([f"{choice}: {kind} not modelled; modelled are {listed(modelled)}"], NOT_IMPLEMENTED)


def read_capture(body: Any) -> CaptureQuery:
    """Reads the body of `get_capture`.

    Raises:
        OtgError: with every error found.
    """
    return _read(body, _capture)


def _capture(request: Fields) -> CaptureQuery:
    port = request.text("port_name")
    packets = request.child("packets")
    choice = packets.choice(("all", "slice"), "all")
    packets.take("all")
    query = CaptureQuery(port)
    if choice == "slice":
        part = packets.child("slice")
        part.choice(("initial",), "initial")
        initial = part.child("initial")
        query = CaptureQuery(port, initial.integer("start", 1, 1) - 1, initial.integer("count", 100, 1))
        initial.done()
        part.done()
    packets.done()
    request.done()
    return query


def read_update(body: Any) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Reads the body of `update_config`: raw flows, and which of their properties (rate, size) to take over.

    Raises:
        OtgError: with every error found.
    """
    return _read(body, _update)


def _update(request: Fields) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    if not request.choice(("flows",), ""):
        return [], ()
    update = request.child("flows")
    request.done()
    properties = update.names("property_names", required=True)
    for name in properties:
        if name not in ("rate", "size"):
            update.error("property_names", f"{name}: not modelled; modelled are rate, size")
    flows = update.require("flows")
    if not isinstance(flows, list) or not all(isinstance(flow, dict) for flow in flows):
        update.error("flows", "a list of flows expected")
        flows = []
    update.done()
    return flows, tuple(properties)


def read_append(body: Any) -> list[dict[str, Any]]:
    """Reads the body of `append_config`: the raw flows to add.

    Raises:
        OtgError: with every error found.
    """
    return _read(body, lambda request: _resources(request, "config_append_list", dict))


def read_delete(body: Any) -> list[str]:
    """Reads the body of `delete_config`: the names of the flows to take away.

    Raises:
        OtgError: with every error found.
    """
    return _read(body, lambda request: _resources(request, "config_delete_list", str))


def _resources(request: Fields, field: str, kind: type[T]) -> list[T]:
    """The flows in a list of resources of which only flows are modelled."""
    found: list[T] = []
    for resource in request.items(field):
        if not resource.choice(("flows",), ""):
            continue
        flows = resource.require("flows")
        resource.done()
        if not isinstance(flows, list) or not all(isinstance(flow, kind) for flow in flows):
            resource.error("flows", f"a list of {'names of ' if kind is str else ''}flows expected")
            continue
        found += flows
    request.done()
    return found
