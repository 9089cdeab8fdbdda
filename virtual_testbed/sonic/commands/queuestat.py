"""`queuestat`: frames and bytes by egress queue (sonic-utilities `scripts/queuestat`)."""
from __future__ import annotations

import argparse
import datetime
import json
import sys
from dataclasses import dataclass

from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.commands.snapshots import NOT_AVAILABLE, Snapshots, difference, table
from virtual_testbed.sonic.databases import natural, read_fields, read_hash

_TYPES = {"SAI_QUEUE_TYPE_UNICAST": "UC", "SAI_QUEUE_TYPE_MULTICAST": "MC", "SAI_QUEUE_TYPE_ALL": "ALL"}
Counts = dict[str, dict[str, str]]  # "UC3" -> field -> number


@dataclass(frozen=True)
class Column:
    """A number of a queue: its field of COUNTERS_DB, the head of its column, and its name in JSON."""

    field: str
    head: str
    json_name: str


STANDARD = (Column("SAI_QUEUE_STAT_PACKETS", "Counter/pkts", "totalpacket"),
            Column("SAI_QUEUE_STAT_BYTES", "Counter/bytes", "totalbytes"),
            Column("SAI_QUEUE_STAT_DROPPED_PACKETS", "Drop/pkts", "droppacket"),
            Column("SAI_QUEUE_STAT_DROPPED_BYTES", "Drop/bytes", "dropbytes"))
TRIM = (Column("SAI_QUEUE_STAT_TRIM_PACKETS", "Trim/pkts", "trimpacket"),
        Column("SAI_QUEUE_STAT_TX_TRIM_PACKETS", "TrimSent/pkts", "trimsentpacket"),
        Column("SAI_QUEUE_STAT_DROPPED_TRIM_PACKETS", "TrimDrop/pkts", "trimdroppacket"))
"""Frames that were cut short: `N/A`, nothing here trims."""
ALL = STANDARD + TRIM


@dataclass(frozen=True)
class QueueView:
    """What of the queues is shown: `port` None is all."""

    port: str | None = None
    columns: tuple[Column, ...] = STANDARD
    as_json: bool = False
    non_zero: bool = False


def columns_of(everything: bool, trim: bool) -> tuple[Column, ...]:
    """The columns that the options `-a` and `-T` ask for."""
    return ALL if everything else TRIM if trim else STANDARD


def collect(switch: SwitchContext, ports: list[str]) -> dict[str, Counts]:
    """Port -> queue label -> field -> count (text, N/A where the hardware has none)."""
    names = read_hash(switch.counters, "COUNTERS_QUEUE_NAME_MAP")
    types = read_hash(switch.counters, "COUNTERS_QUEUE_TYPE_MAP")
    wanted = sorted((name for name in names if name.split(":")[0] in ports), key=natural)
    fields = [column.field for column in ALL]
    counters = read_fields(switch.counters, [f"COUNTERS:{names[name]}" for name in wanted], fields)
    found: dict[str, Counts] = {port: {} for port in ports}
    for name, values in zip(wanted, counters):
        port, queue = name.split(":")
        found[port][_TYPES[types[names[name]]] + queue] = {field: values.get(field, NOT_AVAILABLE) for field in fields}
    return found


def show(switch: SwitchContext, view: QueueView) -> None:
    """Print one port or all, less what this user cleared; exit status 1 for an unknown port."""
    ports = switch.ports()
    if view.port is not None and view.port not in ports:
        print("Port doesn't exist!", view.port)
        sys.exit(1)
    output: dict[str, object] = {}
    now = datetime.datetime.now().isoformat()
    for name, counts in collect(switch, [view.port] if view.port else ports).items():
        kept = Snapshots(switch, "queuestat").load(f"queuestat{name}")
        rows = _cells(_since(counts, kept[1]) if kept else counts, view)
        if view.as_json:
            names = [column.json_name for column in view.columns]
            entry: dict[str, object] = {queue: dict(zip(names, values)) for queue, values in rows.items()}
            output[name] = {"time": now, **entry}
            continue
        if kept and view.port:
            print(f"Last cached time was {kept[0]}")
        if rows:
            print(f"{name} Last cached time was {kept[0]}" if kept else "For namespace :")
            header = ["Port", "TxQ", *(column.head for column in view.columns)]
            print(table([[name, queue, *values] for queue, values in rows.items()], header) + "\n")
    if view.as_json:
        print(json.dumps(output, indent=2, sort_keys=True))


def _cells(counts: Counts, view: QueueView) -> dict[str, list[str]]:
    """The lines of a port: queue label -> cells. Of `non_zero` those are left out that have 0 in all of them."""
    lines = {queue: [values[column.field] for column in view.columns] for queue, values in counts.items()}
    return {queue: cells for queue, cells in lines.items() if not view.non_zero or set(cells) != {"0"}}


def _since(counts: Counts, old: Counts) -> Counts:
    return {queue: {field: difference(new, old.get(queue, {}).get(field, "0")) for field, new in values.items()}
            for queue, values in counts.items()}


def show_virtual_outputs(switch: SwitchContext, port: str | None, as_json: bool) -> None:
    """What there is of virtual output queues: nothing, as on any switch that is no chassis of them."""
    if port is not None:
        print("Port doesn't exist!", port)
        sys.exit(1)
    if as_json:
        print("{}")


def clear(switch: SwitchContext) -> None:
    """Remember the counters as they are."""
    snapshots = Snapshots(switch, "queuestat")
    for port, counts in collect(switch, switch.ports()).items():
        snapshots.save(f"queuestat{port}", counts)
        print(f"Clear and update saved counters for {port}")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="queuestat", description="Display the queue state and counters")
    parser.add_argument("-p", "--port", default=None, help="Show the queue conters for just one port")
    parser.add_argument("-c", "--clear", action="store_true", help="Clear previous stats and save new ones")
    parser.add_argument("-d", "--delete", action="store_true", help="Delete saved stats")
    parser.add_argument("-j", "--json_opt", action="store_true", help="Print in JSON format")
    parser.add_argument("-a", "--all", action="store_true", help="Display all the stats counters")
    parser.add_argument("-T", "--trim", action="store_true", help="Display trimming related statistics")
    parser.add_argument("-V", "--voq", action="store_true", help="display voq stats")
    parser.add_argument("-nz", "--non_zero", action="store_true", help="Display only non-zero counters")
    parser.add_argument("-n", "--namespace", default=None, help="Display queue counters for specific namespace")
    parser.add_argument("-v", "--version", action="version", version="%(prog)s 1.0")
    arguments = parser.parse_args()
    switch = this_switch()
    if arguments.delete:
        Snapshots(switch, "queuestat").remove()
    if arguments.clear:
        clear(switch)
    elif arguments.voq:
        show_virtual_outputs(switch, arguments.port, arguments.json_opt)
    else:
        columns = columns_of(arguments.all, arguments.trim)
        show(switch, QueueView(arguments.port, columns, arguments.json_opt, arguments.non_zero))


if __name__ == "__main__":
    run(main)
