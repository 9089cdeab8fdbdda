"""Templates as `sonic-cfggen` renders them (facts: sonic-buildimage `sonic-config-engine/sonic-cfggen`): Jinja2 with
`trim_blocks` and its filters; a key of several parts is a tuple.
"""
from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = "/usr/share/sonic/templates"
_POINT_TO_POINT_BITS = 1
_IPV4 = 4
_FAILURES = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
"""What an expression of a template may raise."""
Keyed = Mapping[str | tuple[str, ...], Any]


class TemplateFailure(Exception):
    """A template that cannot be rendered; the text is one sentence."""


def render(name: str, data: Mapping[str, Any], path: Callable[[str], Path], folder: str | None = None) -> str:
    """What a template makes of tables and variables.

    Args:
        name: its file.
        path: where a file of the switch is.
        folder: where files are too that the template names.

    Raises:
        TemplateFailure: it does not exist, or fails.
    """
    import jinja2
    file = path(name)
    folders = [file.parent.absolute(), path(f"{FOLDER}/x").parent, *([path(folder)] if folder else [])]
    here = environment([str(folder) for folder in folders], path)
    try:
        return here.get_template(file.name).render(with_tuples(data))
    except jinja2.TemplateNotFound as error:
        raise TemplateFailure(f"there is no template {name if error.name == file.name else error.name}") from error
    except (jinja2.TemplateError, OSError, *_FAILURES) as error:
        raise TemplateFailure(f"template {name} fails: {error or type(error).__name__}") from error


def evaluate(expression: str, data: Mapping[str, Any]) -> str:
    """The value of a Jinja2 expression as text; empty where it names nothing. Raises TemplateFailure."""
    import jinja2
    try:
        return jinja2.Environment().from_string(f"{{{{{expression}}}}}").render(with_tuples(data))
    except (jinja2.TemplateError, *_FAILURES) as error:
        raise TemplateFailure(f"-v {expression} fails: {error or type(error).__name__}") from error


def with_tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    """Tables with keys as templates see them: `Vlan10|10.0.0.1/24` is a tuple of two."""
    return {table: {tuple(key.split("|")) if "|" in key else key: row for key, row in rows.items()}
            if isinstance(rows, dict) else rows for table, rows in data.items()}


def environment(folders: list[str], path: Callable[[str], Path]) -> Environment:
    """Where templates of these folders are rendered; `path`: where a file of the switch is."""
    import jinja2
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(folders), trim_blocks=True)
    made.filters |= {
        "sort_by_port_index": _sort_ports, "ipv4": lambda value: _version(value) == _IPV4,
        "ipv6": lambda value: _version(value) not in (None, _IPV4), "unique_name": _unique_names,
        "pfx_filter": prefixes, "ip_network": _network_of, "get_primary_addr": _primary_addresses,
        "file_exists": lambda name: path(str(name)).is_file(), "b64encode": _encoded, "b64decode": _decoded}
    for name, attribute in _ATTRIBUTES.items():
        made.filters[name] = _filter_of(attribute)
    made.globals |= {"is_smartswitch": False, "template_exists": lambda name: any(
        (Path(folder) / str(name)).is_file() for folder in folders)}
    return made


Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def _interface(value: object) -> Interface | None:
    """An address, or None where it is none."""
    try:
        return ipaddress.ip_interface(str(value)) if value else None
    except ValueError:
        return None


def _version(value: object) -> int | None:
    found = _interface(value)
    return found.version if found else None


def _broadcast(found: Interface) -> str | None:
    """A network of one or two addresses has none in IPv4."""
    if found.version == _IPV4 and found.max_prefixlen - found.network.prefixlen <= _POINT_TO_POINT_BITS:
        return None
    return str(found.network.broadcast_address)


_ATTRIBUTES: Mapping[str, Callable[[Interface], str | None]] = {
    "ip": lambda found: str(found.ip), "network": lambda found: str(found.network.network_address),
    "prefixlen": lambda found: str(found.network.prefixlen), "netmask": lambda found: str(found.network.netmask),
    "broadcast": _broadcast}
"""Filters that say something of an address with a length."""


def _filter_of(attribute: Callable[[Interface], str | None]) -> Callable[[object], str | None]:
    def apply(value: object) -> str | None:
        found = _interface(value)
        return attribute(found) if found else None
    return apply


def _network_of(value: object) -> str:
    found = _interface(value)
    return str(found.network.network_address) if found else f"Invalid ip address {value}"


def prefixes(table: Keyed | None) -> dict[tuple[str, str], Any]:
    """The rows of a table of interfaces that are addresses, each with a length. Raises ValueError: one is none."""
    found: dict[tuple[str, str], Any] = {}
    for key, row in (table or {}).items():
        if not isinstance(key, tuple):
            continue
        name, address = key
        if "/" not in address:
            version = _version(address)
            if version is None:
                raise ValueError(f"'{address}' is invalid ip address")
            address = f"{address}/{32 if version == _IPV4 else 128}"
        found[name, address] = row
    return found


def _primary_addresses(table: Keyed | None) -> dict[tuple[str, str], Any] | str:
    """Of interfaces with a secondary address: the first address of the network of the primary one."""
    if not table:
        return ""
    found: dict[tuple[str, str], Any] = {}
    rows = prefixes(table)
    waiting = {name for (name, _), row in rows.items() if "secondary" in row}
    for (name, prefix), row in rows.items():
        if name in waiting and "secondary" not in row:
            found[name, str(ipaddress.ip_network(prefix, strict=False)[1])] = {}
            waiting.remove(name)
    return found


def _sort_ports(ports: Any) -> None:
    """Sort a list of ports in place, by their numbers."""
    if isinstance(ports, list):
        ports.sort(key=lambda name: int(name[len("Ethernet"):]))


def _unique_names(entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first entry of each name."""
    found: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        found.setdefault(entry["name"], entry)
    return list(found.values())


def _encoded(value: Any) -> Any:
    return base64.b64encode(value.encode()).decode() if isinstance(value, str) else value


def _decoded(value: Any) -> Any:
    try:
        return base64.b64decode(value.encode()).decode() if isinstance(value, str) else value
    except (binascii.Error, UnicodeDecodeError):
        return value
