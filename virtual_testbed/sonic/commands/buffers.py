"""`config buffer`, `config interface buffer`, `config interface cable-length`: dynamic buffers (sonic-utilities
`config/main.py`).

Without `buffer_model` `dynamic` they are refused, as there. What they write is read by `dynamic_buffers`.
"""
from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

import click

from virtual_testbed.sonic.commands.context import SwitchContext, this_switch
from virtual_testbed.sonic.commands.groups import AliasedGroup
from virtual_testbed.sonic.databases import Row, change_row, natural, read_config, read_hash, read_row, replace_row
from virtual_testbed.sonic.dynamic_buffers import is_dynamic

_LOSSLESS_POOL, _LOSSY_PROFILE = "ingress_lossless_pool", "ingress_lossy_profile"
_PARAMETERS, _POOLS, _PROFILES = "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "BUFFER_POOL", "BUFFER_PROFILE"
_LIMITS = "BUFFER_MAX_PARAM_TABLE"
_RATIO = "over_subscribe_ratio"


def _fail(reason: str) -> NoReturn:
    click.get_current_context().fail(reason)


def _require_dynamic(switch: SwitchContext, verb: str) -> None:
    if not is_dynamic(read_config(switch.config, "DEVICE_METADATA")):
        _fail(f"This command can only be {verb} on a system with dynamic buffer enabled")


def _rows(switch: SwitchContext, table: str) -> dict[str, Row]:
    return read_config(switch.config, table).get(table, {})


# `config buffer`


@click.group("buffer", cls=AliasedGroup)
def buffer() -> None:
    """Configure buffer_profile"""
    _require_dynamic(this_switch(), "supported")


@buffer.group("profile", cls=AliasedGroup)
def profile_group() -> None:
    """Configure buffer profile"""


class _Sizes(NamedTuple):
    """What a command says of a profile; None or empty: nothing."""

    xon: int | None
    xoff: int | None
    size: int | None
    dynamic_th: str | None
    pool: str | None


def _with_sizes(command: click.decorators.FC) -> click.decorators.FC:
    for option in (click.option("--pool", default=None, help="Buffer pool"),
                   click.option("--dynamic_th", default=None, help="Set dynamic threshold"),
                   click.option("--size", type=int, default=None, help="Set reserved size size"),
                   click.option("--xoff", type=int, default=None, help="Set xoff threshold"),
                   click.option("--xon", type=int, default=None, help="Set xon threshold"),
                   click.argument("profile", metavar="<profile>")):
        command = option(command)
    return command


@profile_group.command("add")
@_with_sizes
def add_profile(profile: str, xon: int | None, xoff: int | None, size: int | None, dynamic_th: str | None,
                pool: str | None) -> None:
    """Add a buffer profile"""
    switch = this_switch()
    if read_row(switch.config, _PROFILES, profile):
        _fail(f"Profile {profile} already exist")
    _write_profile(switch, profile, {}, _Sizes(xon, xoff, size, dynamic_th, pool))


@profile_group.command("set")
@_with_sizes
def set_profile(profile: str, xon: int | None, xoff: int | None, size: int | None, dynamic_th: str | None,
                pool: str | None) -> None:
    """Modify a buffer profile"""
    switch = this_switch()
    row = read_row(switch.config, _PROFILES, profile)
    if not row:
        _fail(f"Profile {profile} doesn't exist")
    if "xoff" not in row and xoff:
        _fail(f"Can't change profile {profile} from dynamically calculating headroom to non-dynamically one")
    _write_profile(switch, profile, row, _Sizes(xon, xoff, size, dynamic_th, pool))


def _write_profile(switch: SwitchContext, name: str, current: Row, given: _Sizes) -> None:
    """Write a profile: with the sizes that are given or can be derived, or, without any, one whose headroom is left to
    the switch.
    """
    shares_headroom = _shares_headroom(switch)
    pool = given.pool or _LOSSLESS_POOL
    if not _rows(switch, _POOLS).get(pool):
        _fail(f"Pool {pool} doesn't exist")
    sizes = {field: str(value) for field, value in zip(("xon", "xoff", "size"), given) if value}
    row = {**current, "pool": pool, **sizes}
    if not any(row.get(field) for field in ("xon", "xoff", "size")):
        if not given.dynamic_th:
            _fail("Either size information (xon, xoff, size) or dynamic_th needs to be provided")
        row |= {"headroom_type": "dynamic", "dynamic_th": given.dynamic_th}
    else:
        row |= _derived_sizes(row, shares_headroom)
        row["dynamic_th"] = given.dynamic_th or row.get("dynamic_th") or _usual_threshold(switch)
    replace_row(switch.config, _PROFILES, name, row)


def _derived_sizes(row: Row, shares_headroom: bool) -> Row:
    """The sizes of a profile that are missing and follow from the others."""
    xon, xoff, size = (_size_of(row, field) for field in ("xon", "xoff", "size"))
    if not xon:
        _fail("Xon is mandatory for non-dynamic profile")
    if not xoff and shares_headroom:
        _fail("Shared headroom pool is enabled, xoff is mandatory for non-dynamic profile")
    if not xoff and not size:
        _fail("Neither xoff nor size is provided")
    if not xoff:
        rest = size - xon
        if rest <= 0:
            _fail(f"The xoff must be greater than 0 while we got {rest} (calculated by: size {size} - xon {xon})")
        return {"xoff": str(rest)}
    return {} if size else {"size": str(xon if shares_headroom else xon + xoff)}


def _size_of(row: Row, field: str) -> int:
    """A size of a profile in bytes; 0 where it has none."""
    text = str(row.get(field) or "0")
    if not text.isdecimal():
        _fail(f"{field} must be a number of bytes, found {text}")
    return int(text)


def _usual_threshold(switch: SwitchContext) -> str:
    rows = _rows(switch, _PARAMETERS)
    if len(rows) != 1:
        _fail("Multiple entries are found in DEFAULT_LOSSLESS_BUFFER_PARAMETER while no dynamic_th specified")
    found = next(iter(rows.values())).get("default_dynamic_th")
    if found is None:
        _fail("No dynamic_th defined in DEFAULT_LOSSLESS_BUFFER_PARAMETER")
    return str(found)


def _shares_headroom(switch: SwitchContext) -> bool:
    if "xoff" in _rows(switch, _POOLS).get(_LOSSLESS_POOL, {}):
        return True
    rows = _rows(switch, _PARAMETERS)
    if not rows:
        _fail("Dynamic buffer calculation is enabled while no entry found in DEFAULT_LOSSLESS_BUFFER_PARAMETER table")
    return next(iter(rows.values())).get(_RATIO, "0") not in ("", "0")


@profile_group.command("remove")
@click.argument("profile", metavar="<profile>")
def remove_profile(profile: str) -> None:
    """Delete a buffer profile"""
    switch = this_switch()
    for key, row in _rows(switch, "BUFFER_PG").items():
        if row.get("profile") == profile:
            _fail(f"Profile {profile} is referenced by {key} and can't be removed")
    if not read_row(switch.config, _PROFILES, profile):
        _fail(f"Profile {profile} doesn't exist")
    change_row(switch.config, _PROFILES, profile, None)


@buffer.group("shared-headroom-pool", cls=AliasedGroup)
def shared_headroom_pool() -> None:
    """Configure buffer shared headroom pool"""


@shared_headroom_pool.command("over-subscribe-ratio")
@click.argument("ratio", metavar="<ratio>", type=int)
def over_subscribe_ratio(ratio: int) -> None:
    """Configure over subscribe ratio"""
    switch = this_switch()
    ports = len(_rows(switch, "PORT"))
    if not 0 <= ratio <= ports:
        _fail(f"Invalid over-subscribe-ratio value {ratio}. It should be in range [0, {ports}]")
    for number, (name, row) in enumerate(_rows(switch, _PARAMETERS).items()):
        if number:
            _fail("More than one item in DEFAULT_LOSSLESS_BUFFER_PARAMETER table. Only the first one is updated")
        rest = {field: value for field, value in row.items() if field != _RATIO}
        replace_row(switch.config, _PARAMETERS, name, {**rest, _RATIO: str(ratio)} if ratio else rest)


@shared_headroom_pool.command("size")
@click.argument("size", metavar="<size>", type=int)
def headroom_pool_size(size: int) -> None:
    """Configure shared headroom pool size"""
    switch = this_switch()
    with switch.connect("STATE_DB") as state:
        memory = read_hash(state, f"{_LIMITS}|global").get("mmu_size")
    if memory and int(memory) < size:
        _fail(f"Shared headroom pool must be less than mmu size ({memory})")
    if size < 0:
        _fail(f"Shared headroom pool must be a number of bytes, found {size}")
    row = {field: value for field, value in read_row(switch.config, _POOLS, _LOSSLESS_POOL).items() if field != "xoff"}
    replace_row(switch.config, _POOLS, _LOSSLESS_POOL, {**row, "xoff": str(size)} if size else row)


# `config interface buffer`


class _Kind(NamedTuple):
    """Priority groups or queues: what they are called, their table, the field of STATE_DB that says how many a port
    has, and the direction of their pools.
    """

    name: str
    missing: str
    table: str
    limit: str
    direction: str


_GROUPS = _Kind("priority group", "lossless priority group", "BUFFER_PG", "max_priority_groups", "ingress")
_QUEUES = _Kind("queue", "queue", "BUFFER_QUEUE", "max_queues", "egress")


@click.group("buffer", cls=AliasedGroup)
def interface_buffer() -> None:
    """Set or clear buffer configuration"""
    _require_dynamic(this_switch(), "executed")


@interface_buffer.group("priority-group", cls=AliasedGroup)
def priority_group() -> None:
    """Set or clear buffer configuration"""


@priority_group.group(cls=AliasedGroup)
def lossless() -> None:
    """Set or clear lossless PGs"""


@interface_buffer.group(cls=AliasedGroup)
def queue() -> None:
    """Set or clear buffer configuration"""


_port = click.argument("interface_name", metavar="<interface_name>")
_group_map = click.argument("pg_map", metavar="<pg_map>")
_queue_map = click.argument("queue_map", metavar="<queue_map>")
_override = click.argument("override_profile", metavar="<override_profile>", required=False)
_queue_profile = click.argument("buffer_profile", metavar="<buffer_profile>")


@lossless.command("add")
@_port
@_group_map
@_override
def add_groups(interface_name: str, pg_map: str, override_profile: str | None) -> None:
    """Set lossless PGs for the interface"""
    _give(_GROUPS, interface_name, pg_map, override_profile, is_new=True)


@lossless.command("set")
@_port
@_group_map
@_override
def set_groups(interface_name: str, pg_map: str, override_profile: str | None) -> None:
    """Set lossless PGs for the interface"""
    _give(_GROUPS, interface_name, pg_map, override_profile, is_new=False)


@lossless.command("remove")
@_port
@click.argument("pg_map", metavar="<pg_map>", required=False)
def remove_groups(interface_name: str, pg_map: str | None) -> None:
    """Clear lossless PGs for the interface"""
    _take(_GROUPS, interface_name, pg_map)


@queue.command("add")
@_port
@_queue_map
@_queue_profile
def add_queues(interface_name: str, queue_map: str, buffer_profile: str) -> None:
    """Set lossless QUEUEs for the interface"""
    _give(_QUEUES, interface_name, queue_map, buffer_profile, is_new=True)


@queue.command("set")
@_port
@_queue_map
@_queue_profile
def set_queues(interface_name: str, queue_map: str, buffer_profile: str) -> None:
    """Set lossless QUEUEs for the interface"""
    _give(_QUEUES, interface_name, queue_map, buffer_profile, is_new=False)


@queue.command("remove")
@_port
@click.argument("queue_map", metavar="<queue_map>", required=False)
def remove_queues(interface_name: str, queue_map: str | None) -> None:
    """Clear lossless QUEUEs for the interface"""
    _take(_QUEUES, interface_name, queue_map)


def _numbers(text: str) -> range:
    """The numbers of `3` or `3-4`; none where it is neither."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    return range(int(found[1]), int(found[2] or found[1]) + 1) if found else range(0)


def _check_numbers(switch: SwitchContext, kind: _Kind, port: str, numbers: str, is_new: bool) -> None:
    """End where a port has not these, where they are lossy by definition (0, as SONiC has it), and where they are there
    already, or are not.
    """
    with switch.connect("STATE_DB") as state:
        limit = read_hash(state, f"{_LIMITS}|{port}").get(kind.limit)
    if limit is None:
        _fail(f"Unable to fetch {kind.limit} from {_LIMITS}|{port} in STATE_DB")
    wanted = _numbers(numbers)
    if not wanted or wanted[0] == 0 or wanted[-1] >= int(limit):
        _fail(f"Buffer {kind.name} {numbers} is not valid.")
    existing = {key.partition("|")[2] for key in _rows(switch, kind.table) if key.partition("|")[0] == port}
    if not is_new and numbers not in existing:
        _fail(f"Buffer {kind.name} {numbers} doesn't exist")
    for other in sorted(existing, key=natural) if is_new else ():
        if set(_numbers(other)) & set(wanted):
            _fail(f"Buffer {kind.name} {numbers} overlaps with existing {kind.name} {other}")


def _give(kind: _Kind, port: str, numbers: str, profile: str | None, is_new: bool) -> None:
    """Give groups or queues of a port a profile; None: the one that the switch derives."""
    switch = this_switch()
    if not read_row(switch.config, "PORT", port):
        _fail(f"Port {port} doesn't exist")
    _check_numbers(switch, kind, port, numbers, is_new)
    if profile:
        _check_profile(switch, kind, profile)
    replace_row(switch.config, kind.table, f"{port}|{numbers}", {"profile": profile or "NULL"})
    if kind is _GROUPS:
        _adjust_pfc(switch, port, _numbers(numbers), is_lossless=True)


def _check_profile(switch: SwitchContext, kind: _Kind, profile: str) -> None:
    row = read_row(switch.config, _PROFILES, profile)
    if not row:
        _fail(f"Profile {profile} doesn't exist")
    if not row.get("pool"):
        _fail(f"Profile {profile} is invalid")
    if read_row(switch.config, _POOLS, str(row["pool"])).get("type") != kind.direction:
        _fail(f"Type of pool {row['pool']} referenced by profile {profile} is wrong")
    if kind is _GROUPS and "xoff" not in row and "size" in row:
        _fail(f"Profile {profile} doesn't exist or isn't a lossless profile")


def _take(kind: _Kind, port: str, numbers: str | None) -> None:
    """Take groups or queues of a port away: these, or all but lossy ones."""
    switch = this_switch()
    if not read_row(switch.config, "PORT", port):
        _fail(f"Port {port} doesn't exist")
    is_removed = False
    for key, row in _rows(switch, kind.table).items():
        own, _, existing = key.partition("|")
        if own != port or numbers not in (None, existing):
            continue
        if row.get("profile") == _LOSSY_PROFILE:
            if numbers:
                _fail(f"Lossy PG {numbers} can't be removed")
            continue
        change_row(switch.config, kind.table, key, None)
        if kind is _GROUPS:
            _adjust_pfc(switch, port, _numbers(numbers) if numbers else range(8), is_lossless=False)
        is_removed = True
    if not is_removed:
        what = f"specified {kind.missing} {numbers}" if numbers else kind.missing
        _fail(f"No {what} found on port {port}")


def _adjust_pfc(switch: SwitchContext, port: str, priorities: range, is_lossless: bool) -> None:
    """Enable PFC of these priorities, or disable it."""
    row = read_row(switch.config, "PORT_QOS_MAP", port)
    enabled = {int(part) for part in str(row.get("pfc_enable", "")).split(",") if part}
    enabled = enabled | set(priorities) if is_lossless else enabled - set(priorities)
    change_row(switch.config, "PORT_QOS_MAP", port, {"pfc_enable": ",".join(map(str, sorted(enabled)))})


# `config interface cable-length`


@click.command("cable-length")
@_port
@click.argument("length", metavar="<length>")
def cable_length(interface_name: str, length: str) -> None:
    """Set interface cable length"""
    switch = this_switch()
    _require_dynamic(switch, "supported")
    row = read_row(switch.config, "PORT", interface_name)
    if not row:
        _fail(f"Port {interface_name} doesn't exist")
    if not length.endswith("m"):
        _fail("Invalid cable length. Should be in format <num>m, like 300m")
    speed = str(row.get("speed", switch.profile.ports[interface_name].speed))
    known = [cable for own, cable in switch.profile.pg_profile_lookup if own == speed]
    if length not in known:
        _fail(f"This switch has no headroom for a cable of {length} at speed {speed} (it has for {', '.join(known)})")
    tables = sorted(_rows(switch, "CABLE_LENGTH"))
    if not tables:
        _fail("CABLE_LENGTH is empty: no cable has a length before `config qos reload`")
    change_row(switch.config, "CABLE_LENGTH", tables[0], {interface_name: length})
