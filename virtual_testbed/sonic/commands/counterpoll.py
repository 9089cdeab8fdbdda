"""`counterpoll`: how often counters are brought into COUNTERS_DB (sonic-utilities `counterpoll/main.py`).

Groups of counters that this switch does not have can be set too, as on SONiC; nothing comes of it.
"""
from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import click

from virtual_testbed.sonic.commands.context import run, this_switch
from virtual_testbed.sonic.commands.groups import HelpfulGroup
from virtual_testbed.sonic.databases import change_row, read_config
from virtual_testbed.sonic.polling import DEFAULT_MS, TABLE


@dataclass(frozen=True)
class Counters:
    """What one subcommand is about.

    Attributes:
        help: what it calls these counters.
        groups: rows of FLEX_COUNTER_TABLE.
        shortest_ms, longest_ms: the intervals that it takes.
        refusal: what it says instead, on a platform that does not have them; empty: it has, or SONiC does not ask.
    """

    help: str
    groups: tuple[str, ...]
    shortest_ms: int = 100
    longest_ms: int = 30_000
    refusal: str = ""


_ANY = 2**31
"""SONiC looks at no limit there."""
_SUBCOMMANDS = {
    "queue": Counters("Queue", ("QUEUE",)),
    "port": Counters("Port", ("PORT",)),
    "port-buffer-drop": Counters("Port buffer drop ", ("PORT_BUFFER_DROP",), 30_000, 300_000),
    "phy": Counters("PHY", ("PORT_PHY_ATTR",)),
    "pg-drop": Counters("Ingress PG drop", ("PG_DROP",), 1_000),
    "rif": Counters("RIF", ("RIF",), 0, _ANY),
    "watermark": Counters("Watermark", ("QUEUE_WATERMARK", "PG_WATERMARK", "BUFFER_POOL_WATERMARK"), 1_000, 60_000),
    "acl": Counters("ACL", ("ACL",), 1_000),
    "tunnel": Counters("Tunnel", ("TUNNEL",)),
    "flowcnt-trap": Counters("Trap flow", ("FLOW_CNT_TRAP",), 1_000),
    "flowcnt-route": Counters("Route flow", ("FLOW_CNT_ROUTE",), 1_000,
                              refusal="Route flow counter is not supported on this platform"),
    "wredqueue": Counters("WRED queue", ("WRED_ECN_QUEUE",)),
    "wredport": Counters("WRED port", ("WRED_ECN_PORT",)),
    "srv6": Counters("SRv6", ("SRV6",), 1_000),
    "icmp": Counters("ICMP echo session", ("ICMP_SESSION",), 1_000),
    "switch": Counters("Switch", ("SWITCH",), 1_000, 60_000),
    "llr": Counters("LLR port", ("LLR",), refusal="Error: LLR is not supported on this platform."),
}
_SHOWN = {
    "QUEUE": "QUEUE_STAT", "PORT": "PORT_STAT", "PORT_BUFFER_DROP": "PORT_BUFFER_DROP", "PORT_PHY_ATTR": "PHY",
    "RIF": "RIF_STAT", "QUEUE_WATERMARK": "QUEUE_WATERMARK_STAT", "PG_WATERMARK": "PG_WATERMARK_STAT",
    "PG_DROP": "PG_DROP_STAT", "BUFFER_POOL_WATERMARK": "BUFFER_POOL_WATERMARK_STAT", "ACL": "ACL",
    "TUNNEL": "TUNNEL_STAT", "FLOW_CNT_TRAP": "FLOW_CNT_TRAP_STAT", "FLOW_CNT_ROUTE": "FLOW_CNT_ROUTE_STAT",
    "WRED_ECN_QUEUE": "WRED_ECN_QUEUE_STAT", "WRED_ECN_PORT": "WRED_ECN_PORT_STAT", "SRV6": "SRV6_STAT",
    "ICMP_SESSION": "ICMP_SESSION_STAT", "SWITCH": "SWITCH_STAT", "LLR": "LLR_STAT"}
_SHOWN_MS = {**DEFAULT_MS, "PORT_BUFFER_DROP": 60_000, "RIF": 1_000, "BUFFER_POOL_WATERMARK": 60_000,
             "WRED_ECN_PORT": 1_000, "SWITCH": 60_000}
_ELSE_MS = 10_000
"""What SONiC shows as the default of all other groups."""


def _change(counters: Counters, fields: Mapping[str, str]) -> None:
    switch = this_switch()
    for group in counters.groups:
        change_row(switch.config, TABLE, group, fields)


@click.group(cls=HelpfulGroup)
def cli() -> None:
    """ SONiC Static Counter Poll configurations """


def _add(name: str, counters: Counters) -> None:
    """One subcommand with its verbs."""
    @cli.group(name, help=f"{counters.help} counter commands")
    def group() -> None:
        if counters.refusal:
            click.echo(counters.refusal)
            sys.exit(1)

    @group.command(help=f"Set {name} counter query interval")
    @click.argument("poll_interval", type=click.IntRange(counters.shortest_ms, counters.longest_ms))
    def interval(poll_interval: int) -> None:
        _change(counters, {"POLL_INTERVAL": str(poll_interval)})

    @group.command(help=f"Enable {name} counter query")
    def enable() -> None:
        _change(counters, {"FLEX_COUNTER_STATUS": "enable"})

    @group.command(help=f"Disable {name} counter query")
    def disable() -> None:
        _change(counters, {"FLEX_COUNTER_STATUS": "disable"})


for _name, _counters in _SUBCOMMANDS.items():
    _add(_name, _counters)


@cli.command()
def show() -> None:
    """ Show the counter configuration """
    from tabulate import tabulate
    rows = read_config(this_switch().config, TABLE).get(TABLE, {})
    table = [[label, rows[group].get("POLL_INTERVAL", f"default ({_SHOWN_MS.get(group, _ELSE_MS)})"),
              rows[group].get("FLEX_COUNTER_STATUS", "disable")] for group, label in _SHOWN.items() if rows.get(group)]
    click.echo(tabulate(table, headers=("Type", "Interval (in ms)", "Status"), tablefmt="simple", missingval=""))


def main() -> None:
    """The program."""
    cli(prog_name="counterpoll")


if __name__ == "__main__":
    run(main)
