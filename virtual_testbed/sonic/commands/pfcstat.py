"""`pfcstat`: PFC frames by port and priority, and their history (sonic-utilities `scripts/pfcstat`)."""
from __future__ import annotations

import argparse
import datetime

from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.commands.snapshots import NOT_AVAILABLE, Snapshots, difference, table, with_commas
from virtual_testbed.sonic.databases import read_fields

_HISTORY_HEADER = ["Port", "Priority", "RX Pause Transitions", "Total RX Pause Time US", "Recent RX Pause Time US",
                   "Recent RX Pause Timestamp"]
_HISTORY = (("SAI_PORT_STAT_PFC_{}_ON2OFF_RX_PKTS", "EST_PORT_STAT_PFC_{}_ON2OFF_RX_PKTS"),
            ("SAI_PORT_STAT_PFC_{}_RX_PAUSE_DURATION_US", "EST_PORT_STAT_PFC_{}_RX_PAUSE_DURATION_US"),
            ("EST_PORT_STAT_PFC_{}_RECENT_PAUSE_TIME_US",), ("EST_PORT_STAT_PFC_{}_RECENT_PAUSE_TIMESTAMP",))
Rows = dict[str, list[str]]


def _counters(switch: SwitchContext, fields: list[str]) -> dict[str, dict[str, str]]:
    found = read_fields(switch.counters, [f"COUNTERS:{oid}" for oid in switch.port_oids.values()], fields)
    return dict(zip(switch.ports(), found))


def collect(switch: SwitchContext, direction: str) -> Rows:
    """Port -> eight counts (text) of one direction, `RX` or `TX`."""
    fields = [f"SAI_PORT_STAT_PFC_{priority}_{direction}_PKTS" for priority in range(8)]
    return {port: [values.get(field, NOT_AVAILABLE) for field in fields]
            for port, values in _counters(switch, fields).items()}


def history(switch: SwitchContext) -> Rows:
    """`port:priority` -> transitions, total time, recent time, recent timestamp."""
    fields = [name.format(priority) for names in _HISTORY for name in names for priority in range(8)]
    return {f"{port}:{priority}": [_first(values, [name.format(priority) for name in names]) for names in _HISTORY]
            for port, values in _counters(switch, fields).items() for priority in range(8)}


def _first(values: dict[str, str], names: list[str]) -> str:
    return next((values[name] for name in names if name in values), NOT_AVAILABLE)


def show(switch: SwitchContext) -> None:
    """Print both directions, less what this user cleared."""
    for direction, title in (("RX", "Port Rx"), ("TX", "Port Tx")):
        rows = collect(switch, direction)
        kept = Snapshots(switch, "pfcstat").load(f"pfcstat{direction.lower()}")
        if kept:
            print(f"Last cached time was {kept[0]}")
        old = kept[1] if kept else {}
        body = [[port, *(difference(new, before) for new, before in zip(counts, old.get(port, ["0"] * 8)))]
                for port, counts in rows.items()]
        print(table(body, [title, *(f"PFC{priority}" for priority in range(8))]))
        if direction == "RX":
            print()


def show_history(switch: SwitchContext) -> None:
    """Print the pause history."""
    kept = Snapshots(switch, "pfcstat").load("pfcstatrx_hist")
    if kept:
        print(f"Last cached time was {kept[0]}")
    old = kept[1] if kept else {}
    body: list[list[str]] = []
    for key, (transitions, total, recent, stamp) in history(switch).items():
        port, priority = key.split(":")
        before = old.get(key, ["0", "0"])
        body.append([port, f"PFC{priority}", difference(transitions, before[0]), difference(total, before[1]),
                     with_commas(recent), _date(stamp)])
        if priority == "7":
            body.append([])
    print(table(body, _HISTORY_HEADER))


def _date(microseconds: str) -> str:
    if not microseconds.isdecimal():
        return microseconds
    return datetime.datetime.fromtimestamp(int(microseconds) / 1e6).strftime("%m/%d/%Y, %H:%M:%S")


def clear(switch: SwitchContext) -> None:
    """Remember the counters as they are."""
    snapshots = Snapshots(switch, "pfcstat")
    snapshots.save("pfcstatrx", collect(switch, "RX"))
    snapshots.save("pfcstattx", collect(switch, "TX"))
    snapshots.save("pfcstatrx_hist", history(switch))
    print("Clear saved PFC counters and history")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="pfcstat", description="Display the pfc counters")
    parser.add_argument("-c", "--clear", action="store_true", help="Clear previous stats and save new ones")
    parser.add_argument("-d", "--delete", action="store_true", help="Delete saved stats")
    parser.add_argument("-s", "--show", default="frontend", help="Display all interfaces or only external interfaces")
    parser.add_argument("-n", "--namespace", default=None, help="Display interfaces for specific namespace")
    parser.add_argument("-v", "--version", action="version", version="%(prog)s 1.0")
    parser.add_argument("--history", action="store_true", help="Display historical PFC statistics")
    arguments = parser.parse_args()
    switch = this_switch()
    if arguments.delete:
        Snapshots(switch, "pfcstat").remove()
    if arguments.clear:
        clear(switch)
    elif arguments.history:
        show_history(switch)
    else:
        show(switch)


if __name__ == "__main__":
    run(main)
