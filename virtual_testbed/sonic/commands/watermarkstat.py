"""Watermarks and drops of queues and priority groups (sonic-utilities `scripts/watermarkstat`, `scripts/pg-drop`).

A poll reads the highest value since the poll before; the tables that are shown have the highest of all polls. A clear
sets them to 0 (sonic-swss `watermarkorch`): what was there since the last poll comes with the next one. Of drops, which
are counted, a clear remembers how many there were.
"""
from __future__ import annotations

from dataclasses import dataclass

from virtual_testbed.sonic.commands.context import SwitchContext
from virtual_testbed.sonic.commands.snapshots import NOT_AVAILABLE, Snapshots, table
from virtual_testbed.sonic.counters import POOL_NAME_MAP
from virtual_testbed.sonic.databases import natural, read_fields, read_hash


@dataclass(frozen=True)
class Watermark:
    """What is shown: title, label of a column, COUNTERS_DB map, table and field; `running` counters show as
    differences.
    """

    name: str
    title: str
    label: str
    map: str
    field: str
    table: str = "USER_WATERMARKS"
    running: bool = False


QUEUE = Watermark("queue", "Egress shared pool occupancy per unicast queue:", "UC", "COUNTERS_QUEUE_NAME_MAP",
                  "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES")
PG_SHARED = Watermark("pg_shared", "Ingress shared pool occupancy per PG:", "PG", "COUNTERS_PG_NAME_MAP",
                      "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES")
PG_HEADROOM = Watermark("pg_headroom", "Ingress headroom per PG:", "PG", "COUNTERS_PG_NAME_MAP",
                        "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES")
PG_DROPS = Watermark("pg_drops", "Ingress PG dropped packets:", "PG", "COUNTERS_PG_NAME_MAP",
                     "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", table="COUNTERS", running=True)


def _collect(switch: SwitchContext, what: Watermark) -> dict[str, str]:
    names = read_hash(switch.counters, what.map)
    count = switch.profile.unicast_queues
    wanted = sorted((name for name in names if int(name.split(":")[1]) < count), key=natural)
    found = read_fields(switch.counters, [f"{what.table}:{names[name]}" for name in wanted], [what.field])
    return {name: values.get(what.field, NOT_AVAILABLE) for name, values in zip(wanted, found)}


def show(switch: SwitchContext, what: Watermark) -> None:
    """Print one line a port, with the queues or groups that any port has."""
    kept = Snapshots(switch, "watermarkstat").load(what.name) if what.running else None
    old = kept[1] if kept else {}
    rows: dict[str, dict[int, str]] = {}
    for name, value in _collect(switch, what).items():
        port, number = name.split(":")
        rows.setdefault(port, {})[int(number)] = _since(value, old.get(name))
    numbers = sorted({number for row in rows.values() for number in row})
    print(what.title)
    header = ["Port", *(f"{what.label}{number}" for number in numbers)]
    body = [[port, *(row.get(number, NOT_AVAILABLE) for number in numbers)] for port, row in rows.items()]
    print(table(body, header))


@dataclass(frozen=True)
class PoolWatermark:
    """What is shown of buffer pools: title, field of COUNTERS_DB, and what the names of the pools have in them."""

    title: str
    field: str
    names: str = ""


BUFFER_POOL = PoolWatermark("Shared pool maximum occupancy:", "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES")
HEADROOM_POOL = PoolWatermark("Headroom pool maximum occupancy:", "SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES",
                              "ingress_lossless")


def show_pools(switch: SwitchContext, what: PoolWatermark, is_persistent: bool) -> None:
    """Print one line a pool: `N/A`, as this switch counts nothing of pools."""
    oids = read_hash(switch.counters, POOL_NAME_MAP)
    names = sorted((name for name in oids if what.names in name), key=natural)
    prefix = "PERSISTENT_WATERMARKS" if is_persistent else "USER_WATERMARKS"
    found = read_fields(switch.counters, [f"{prefix}:{oids[name]}" for name in names], [what.field])
    print(what.title)
    print(table([[name, values.get(what.field, NOT_AVAILABLE)] for name, values in zip(names, found)],
                ["Pool", "Bytes"]))


def _since(value: str, old: str | None) -> str:
    if old is None or NOT_AVAILABLE in (value, old):
        return value
    return str(max(0, int(value) - int(old)))


def clear(switch: SwitchContext, what: Watermark) -> None:
    """Let the values begin anew."""
    if what.running:
        Snapshots(switch, "watermarkstat").save(what.name, _collect(switch, what))
        return
    oids = read_hash(switch.counters, what.map).values()
    switch.counters.batch([("HSET", f"{what.table}:{oid}", what.field, "0") for oid in oids])
