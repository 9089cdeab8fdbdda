"""`queuestat`: frames and bytes by egress queue (sonic-utilities `scripts/queuestat`)."""
from __future__ import annotations

import argparse
import datetime
import json
import sys

from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.commands.snapshots import NOT_AVAILABLE, Snapshots, difference, table
from virtual_testbed.sonic.databases import natural, read_fields, read_hash

_HEADER = ["Port", "TxQ", "Counter/pkts", "Counter/bytes", "Drop/pkts", "Drop/bytes"]
_FIELDS = ("SAI_QUEUE_STAT_PACKETS", "SAI_QUEUE_STAT_BYTES", "SAI_QUEUE_STAT_DROPPED_PACKETS",
           "SAI_QUEUE_STAT_DROPPED_BYTES")
_JSON_NAMES = ("totalpacket", "totalbytes", "droppacket", "dropbytes")
_TYPES = {"SAI_QUEUE_TYPE_UNICAST": "UC", "SAI_QUEUE_TYPE_MULTICAST": "MC", "SAI_QUEUE_TYPE_ALL": "ALL"}
Counts = dict[str, list[str]]  # "UC3" -> four numbers


def collect(switch: SwitchContext, ports: list[str]) -> dict[str, Counts]:
    """Port -> queue label -> packets, bytes, dropped packets, dropped bytes (text)."""
    names = read_hash(switch.counters, "COUNTERS_QUEUE_NAME_MAP")
    types = read_hash(switch.counters, "COUNTERS_QUEUE_TYPE_MAP")
    wanted = sorted((name for name in names if name.split(":")[0] in ports), key=natural)
    counters = read_fields(switch.counters, [f"COUNTERS:{names[name]}" for name in wanted], _FIELDS)
    found: dict[str, Counts] = {port: {} for port in ports}
    for name, values in zip(wanted, counters):
        port, queue = name.split(":")
        found[port][_TYPES[types[names[name]]] + queue] = [values.get(field, NOT_AVAILABLE) for field in _FIELDS]
    return found


def show(switch: SwitchContext, port: str | None = None, as_json: bool = False, non_zero: bool = False) -> None:
    """Print one port or all, less what this user cleared; exit status 1 for an unknown port."""
    ports = switch.ports()
    if port is not None and port not in ports:
        print("Port doesn't exist!", port)
        sys.exit(1)
    output: dict[str, object] = {}
    now = datetime.datetime.now().isoformat()
    for name, counts in collect(switch, [port] if port else ports).items():
        kept = Snapshots(switch, "queuestat").load(f"queuestat{name}")
        rows = _since(counts, kept[1]) if kept else counts
        if non_zero:
            rows = {queue: values for queue, values in rows.items() if set(values) - {"0", NOT_AVAILABLE}}
        if as_json:
            entry: dict[str, object] = {queue: dict(zip(_JSON_NAMES, values)) for queue, values in rows.items()}
            output[name] = {"time": now, **entry}
            continue
        if kept and port:
            print(f"Last cached time was {kept[0]}")
        if rows:
            print(f"{name} Last cached time was {kept[0]}" if kept else "For namespace :")
            print(table([[name, queue, *values] for queue, values in rows.items()], _HEADER) + "\n")
    if as_json:
        print(json.dumps(output, indent=2, sort_keys=True))


def _since(counts: Counts, old: Counts) -> Counts:
    return {queue: [difference(new, before) for new, before in zip(values, old.get(queue, ["0"] * 4))]
            for queue, values in counts.items()}


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
    parser.add_argument("-nz", "--non_zero", action="store_true", help="Display only non-zero counters")
    parser.add_argument("-n", "--namespace", default=None, help="Display queue counters for specific namespace")
    parser.add_argument("-v", "--version", action="version", version="%(prog)s 1.0")
    arguments = parser.parse_args()
    switch = this_switch()
    if arguments.delete:
        Snapshots(switch, "queuestat").remove()
    if arguments.clear:
        clear(switch)
    else:
        show(switch, arguments.port, arguments.json_opt, arguments.non_zero)


if __name__ == "__main__":
    run(main)
