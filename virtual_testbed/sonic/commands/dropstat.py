"""`dropstat`: errors and drops by port (sonic-utilities `scripts/dropstat`, `show/dropcounters.py`).

The switch has these four counters, and no debug counters that could be configured.
"""
from __future__ import annotations

import click

from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.commands.snapshots import Snapshots
from virtual_testbed.sonic.databases import read_config, read_fields, read_hashes

_RECEIVED = "PORT_INGRESS_DROPS"
_SENT = "PORT_EGRESS_DROPS"
_COUNTERS = {"SAI_PORT_STAT_IF_IN_ERRORS": ("RX_ERR", _RECEIVED),
             "SAI_PORT_STAT_IF_IN_DISCARDS": ("RX_DROPS", _RECEIVED),
             "SAI_PORT_STAT_IF_OUT_ERRORS": ("TX_ERR", _SENT),
             "SAI_PORT_STAT_IF_OUT_DISCARDS": ("TX_DROPS", _SENT)}
"""Fields of COUNTERS_DB: the column of each, and its kind."""
_DEBUG_COUNTERS = "DEBUG_COUNTER"
_REASONS = "DEBUG_COUNTER_DROP_REASON"
_CONFIGURATION = {"Counter": "", "Alias": "alias", "Group": "group", "Type": "type", "Reasons": "",
                  "Description": "desc", "Drop Monitor": "drop_monitor_status", "Window": "window",
                  "Drop Count Threshold": "drop_count_threshold",
                  "Incident Count Threshold": "incident_count_threshold"}
"""Columns of the configuration, and the field of CONFIG_DB that each shows."""
Drops = dict[str, dict[str, int]]


def _collect(switch: SwitchContext) -> Drops:
    """Port -> field -> count; 0 where it was never polled, as SONiC has it."""
    found = read_fields(switch.counters, [f"COUNTERS:{oid}" for oid in switch.port_oids.values()], list(_COUNTERS))
    return {port: {field: int(values.get(field, 0)) for field in _COUNTERS}
            for port, values in zip(switch.ports(), found)}


def _states(switch: SwitchContext) -> dict[str, str]:
    with switch.connect("APPL_DB") as appl:
        rows = read_hashes(appl, [f"PORT_TABLE:{port}" for port in switch.ports()])
    return {port: _state(row) for port, row in zip(switch.ports(), rows.values())}


def _state(row: dict[str, str]) -> str:
    admin = row.get("admin_status")
    oper = row.get("oper_status")
    if admin is None or oper is None:
        return "N/A"
    if admin == "down":
        return "X"
    return "U" if oper == "up" else "D"


def show(switch: SwitchContext, group: str | None = None, kind: str | None = None, gap: bool = True) -> None:
    """Print the ports, less what this user cleared, and a blank line (`gap`; `show dropcounters` has none behind a
    table). Of a group there is nothing: only debug counters have one.
    """
    from tabulate import tabulate
    fields = [] if group else [field for field, (_, own) in _COUNTERS.items() if kind in (None, "", own)]
    kept = Snapshots(switch, "dropstat").load("port-stats")
    old = kept[1] if kept else {}
    if fields:
        states = _states(switch)
        rows = [[port, states[port], *(counts[field] - old.get(port, {}).get(field, 0) for field in fields)]
                for port, counts in _collect(switch).items()]
        print(tabulate(rows, ["IFACE", "STATE", *(_COUNTERS[field][0] for field in fields)], tablefmt="simple",
                       stralign="right"))
    if gap or not fields:
        print()


def clear(switch: SwitchContext) -> None:
    """Remember the counters as they are."""
    Snapshots(switch, "dropstat").save("port-stats", _collect(switch))
    print("Cleared drop counters")


def show_configuration(switch: SwitchContext, group: str | None) -> None:
    """Print the debug counters that CONFIG_DB has; none of them counts here."""
    from tabulate import tabulate
    counters = read_config(switch.config, _DEBUG_COUNTERS).get(_DEBUG_COUNTERS, {})
    reasons = read_config(switch.config, _REASONS).get(_REASONS, {})
    rows: list[list[str]] = []
    for name in sorted(counters):
        row = counters[name]
        if group and row.get("group", "N/A") != group:
            continue
        own = sorted(key.partition("|")[2] for key in reasons if key.startswith(f"{name}|")) or ["None"]
        cells = [row.get(field, "N/A") for field in _CONFIGURATION.values()]
        cells[0], cells[1], cells[4] = name, row.get("alias", name), own[0]
        rows += [cells, *([*[""] * 4, reason, *[""] * 5] for reason in own[1:])]
    print(tabulate(rows, list(_CONFIGURATION), tablefmt="simple", stralign="left"))


def show_capabilities() -> None:
    """Say that no debug counter can be configured."""
    print("Current device does not support drop counters")


@click.command(help="Display drop counters")
@click.option("-c", "--command", required=True, help="Desired action to perform",
              type=click.Choice(["clear", "show"], case_sensitive=False))
@click.option("-g", "--group", default=None, help="The group of the target drop counter")
@click.option("-t", "--type", "counter_type", default=None, help="The type of the target drop counter")
@click.option("-n", "--namespace", help="Namespace name", default=None, type=click.Choice([""]))
@click.version_option(version="1.0")
def cli(command: str, group: str | None, counter_type: str | None, namespace: str | None) -> None:
    """The command."""
    if command == "clear":
        clear(this_switch())
    else:
        show(this_switch(), group, counter_type)


def main() -> None:
    """The program."""
    cli(prog_name="dropstat")


if __name__ == "__main__":
    run(main)
