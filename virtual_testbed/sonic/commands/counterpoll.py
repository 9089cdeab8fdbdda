"""`counterpoll`: how often counters are brought into COUNTERS_DB (sonic-utilities `counterpoll/main.py`)."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import click

from virtual_testbed.sonic.commands.context import run, this_switch
from virtual_testbed.sonic.commands.groups import HelpfulGroup
from virtual_testbed.sonic.databases import change_row, read_config
from virtual_testbed.sonic.polling import DEFAULT_MS, TABLE


@dataclass(frozen=True)
class Counters:
    """What one subcommand is about: its help, rows of FLEX_COUNTER_TABLE, and the intervals that it takes."""

    help: str
    groups: tuple[str, ...]
    shortest_ms: int
    longest_ms: int


_SUBCOMMANDS = {
    "queue": Counters("Queue", ("QUEUE",), 100, 30000), "port": Counters("Port", ("PORT",), 100, 30000),
    "pg-drop": Counters("Ingress PG drop", ("PG_DROP",), 1000, 30000),
    "watermark": Counters("Watermark", ("QUEUE_WATERMARK", "PG_WATERMARK", "BUFFER_POOL_WATERMARK"), 1000, 60000)}
_SHOWN = {"QUEUE": "QUEUE_STAT", "PORT": "PORT_STAT", "QUEUE_WATERMARK": "QUEUE_WATERMARK_STAT",
          "PG_WATERMARK": "PG_WATERMARK_STAT", "PG_DROP": "PG_DROP_STAT",
          "BUFFER_POOL_WATERMARK": "BUFFER_POOL_WATERMARK_STAT"}
_BUFFER_POOL_MS = 60_000


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
        pass

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
    table = [[label, rows[group].get("POLL_INTERVAL", f"default ({DEFAULT_MS.get(group, _BUFFER_POOL_MS)})"),
              rows[group].get("FLEX_COUNTER_STATUS", "disable")] for group, label in _SHOWN.items() if rows.get(group)]
    click.echo(tabulate(table, headers=("Type", "Interval (in ms)", "Status"), tablefmt="simple", missingval=""))


def main() -> None:
    """The program."""
    cli(prog_name="counterpoll")


if __name__ == "__main__":
    run(main)
