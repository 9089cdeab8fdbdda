"""`watermarkstat`: watermarks of queues, priority groups and pools (sonic-utilities `scripts/watermarkstat`), and drops
of priority groups (`scripts/pg-drop`).

A poll reads the highest value since the poll before; the tables that are shown have the highest of all polls. A clear
sets them to 0 (sonic-swss `watermarkorch`): what was there since the last poll comes with the next one. Of drops, which
are counted, a clear remembers how many there were.
"""
from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import click

from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.commands.snapshots import NOT_AVAILABLE, Snapshots, table
from virtual_testbed.sonic.counters import POOL_NAME_MAP
from virtual_testbed.sonic.databases import natural, read_fields, read_hash


@dataclass(frozen=True)
class Watermark:
    """What is shown of queues or priority groups: title, label of a column, COUNTERS_DB map and field; `queues` of this
    type alone. `running` counters show as differences.
    """

    name: str
    title: str
    label: str
    map: str
    field: str
    queues: str = ""
    running: bool = False


def _of_queues(name: str, which: str, label: str, kind: str) -> Watermark:
    return Watermark(name, f"Egress shared pool occupancy per {which}:", label, "COUNTERS_QUEUE_NAME_MAP",
                     "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", f"SAI_QUEUE_TYPE_{kind}")


QUEUE = _of_queues("q_shared_uni", "unicast queue", "UC", "UNICAST")
QUEUE_MULTICAST = _of_queues("q_shared_multi", "multicast queue", "MC", "MULTICAST")
QUEUE_ALL = _of_queues("q_shared_all", "all queues", "ALL", "ALL")
"""Queues for both kinds of frames; this switch has none."""
PG_SHARED = Watermark("pg_shared", "Ingress shared pool occupancy per PG:", "PG", "COUNTERS_PG_NAME_MAP",
                      "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES")
PG_HEADROOM = Watermark("pg_headroom", "Ingress headroom per PG:", "PG", "COUNTERS_PG_NAME_MAP",
                        "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES")
PG_DROPS = Watermark("pg_drops", "Ingress PG dropped packets:", "PG", "COUNTERS_PG_NAME_MAP",
                     "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", running=True)


def _objects(switch: SwitchContext, what: Watermark) -> dict[str, str]:
    """Name -> object id, in natural order."""
    names = read_hash(switch.counters, what.map)
    types = read_hash(switch.counters, "COUNTERS_QUEUE_TYPE_MAP") if what.queues else {}
    return {name: names[name] for name in sorted(names, key=natural) if types.get(names[name], "") == what.queues}


def _kept_in(what: Watermark, is_persistent: bool) -> str:
    if what.running:
        return "COUNTERS"
    return "PERSISTENT_WATERMARKS" if is_persistent else "USER_WATERMARKS"


def _collect(switch: SwitchContext, what: Watermark, is_persistent: bool = False) -> dict[str, str]:
    objects = _objects(switch, what)
    prefix = _kept_in(what, is_persistent)
    found = read_fields(switch.counters, [f"{prefix}:{oid}" for oid in objects.values()], [what.field])
    return {name: values.get(what.field, NOT_AVAILABLE) for name, values in zip(objects, found)}


def show(switch: SwitchContext, what: Watermark, is_persistent: bool = False, as_json: bool = False) -> None:
    """Print one line a port, with the queues or groups that any port has. Ends the command where there are none, as
    on a switch that restarts.
    """
    if not switch.port_oids:
        sys.exit("COUNTERS_PORT_NAME_MAP is empty!")
    kept = Snapshots(switch, "watermarkstat").load(what.name) if what.running else None
    old = kept[1] if kept else {}
    rows: dict[str, dict[int, str]] = {}
    for name, value in _collect(switch, what, is_persistent).items():
        port, number = name.split(":")
        rows.setdefault(port, {})[int(number)] = _since(value, old.get(name))
    numbers = sorted({number for row in rows.values() for number in row})
    if not numbers and what is QUEUE_MULTICAST:
        print("Object map from the COUNTERS_DB is empty because the multicast queues are not configured in the "
              "CONFIG_DB!")
        return
    if not numbers:
        sys.exit("Object map is empty!")
    header = ["Port", *(f"{what.label}{number}" for number in numbers)]
    body = [[port, *(row.get(number, NOT_AVAILABLE) for number in numbers)] for port, row in rows.items()]
    if as_json:
        print(json.dumps([dict(zip(header, line)) for line in body], indent=4))
        return
    print(what.title)
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


def show_pools(switch: SwitchContext, what: PoolWatermark, is_persistent: bool, as_json: bool = False) -> None:
    """Print one line a pool: `N/A`, as this switch counts nothing of pools."""
    oids = read_hash(switch.counters, POOL_NAME_MAP)
    names = sorted((name for name in oids if what.names in name), key=natural)
    prefix = "PERSISTENT_WATERMARKS" if is_persistent else "USER_WATERMARKS"
    found = read_fields(switch.counters, [f"{prefix}:{oids[name]}" for name in names], [what.field])
    body = [[name, values.get(what.field, NOT_AVAILABLE)] for name, values in zip(names, found)]
    if as_json:
        print(json.dumps([{name: value} for name, value in body], indent=4))
        return
    print(what.title)
    print(table(body, ["Pool", "Bytes"]))


def _since(value: str, old: str | None) -> str:
    if old is None or NOT_AVAILABLE in (value, old):
        return value
    return str(max(0, int(value) - int(old)))


def clear(switch: SwitchContext, what: Watermark, is_persistent: bool = False) -> None:
    """Let the values begin anew."""
    if what.running:
        Snapshots(switch, "watermarkstat").save(what.name, _collect(switch, what))
        return
    prefix = _kept_in(what, is_persistent)
    oids = _objects(switch, what).values()
    switch.counters.batch([("HSET", f"{prefix}:{oid}", what.field, "0") for oid in oids])


KINDS = {what.name: what for what in (PG_HEADROOM, PG_SHARED, QUEUE, QUEUE_MULTICAST, QUEUE_ALL)}
_POOLS = {"buffer_pool": BUFFER_POOL, "headroom_pool": HEADROOM_POOL}


@click.command()
@click.option("-c", "--clear", "is_clear", is_flag=True, help="Clear watermarks request")
@click.option("-p", "--persistent", is_flag=True, help="Do the operations on the persistent watermark")
@click.option("-t", "--type", "kind", type=click.Choice([*KINDS, *_POOLS]), required=True,
              help="The type of watermark")
@click.option("-n", "--namespace", type=click.Choice([""]), default=None, help="Namespace name or skip for all")
@click.option("-j", "--json", "as_json", is_flag=True, help="Display output in JSON format")
@click.version_option(version="1.0")
def cli(is_clear: bool, persistent: bool, kind: str, namespace: str | None, as_json: bool) -> None:
    """Display the watermark counters"""
    switch = this_switch()
    if kind in KINDS and is_clear:
        clear(switch, KINDS[kind], persistent)
    elif kind in KINDS:
        show(switch, KINDS[kind], persistent, as_json)
    elif not is_clear:  # of pools there is nothing to clear
        show_pools(switch, _POOLS[kind], persistent, as_json)


def main() -> None:
    """The program."""
    cli(prog_name="watermarkstat")


if __name__ == "__main__":
    run(main)
