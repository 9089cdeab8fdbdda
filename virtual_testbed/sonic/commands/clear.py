"""`sonic-clear`: forget counters for the user who asks (sonic-utilities `clear/main.py`)."""
from __future__ import annotations

import click

from virtual_testbed.sonic.commands.context import require_root, run, this_switch
from virtual_testbed.sonic.commands.groups import AliasedGroup
from virtual_testbed.sonic.commands.watermark_groups import PRIORITY_GROUPS, QUEUES, add_watermarks


@click.group(cls=AliasedGroup, context_settings={"help_option_names": ["-h", "--help", "-?"]})
def cli() -> None:
    """SONiC command line - 'Clear' command"""


@cli.command()
def counters() -> None:
    """Clear counters"""
    from virtual_testbed.sonic.commands import portstat
    portstat.clear(this_switch())


@cli.command()
def queuecounters() -> None:
    """Clear queue counters"""
    from virtual_testbed.sonic.commands import queuestat
    queuestat.clear(this_switch())


@cli.command()
def pfccounters() -> None:
    """Clear pfc counters"""
    from virtual_testbed.sonic.commands import pfcstat
    pfcstat.clear(this_switch())


@cli.command()
def dropcounters() -> None:
    """Clear drop counters"""
    from virtual_testbed.sonic.commands import dropstat
    dropstat.clear(this_switch())


@cli.command()
def macsec() -> None:
    """Clear MACsec counts. This switch has no MACsec: nothing to do."""


@cli.command()
@click.argument("ipaddress", required=False)
def arp(ipaddress: str | None) -> None:
    """Clear IP ARP table. A switch's neighbours are the data plane's, and do not age: the kernel has none."""
    print("Nothing to flush.")


@cli.command()
@click.argument("ipaddress", required=False)
def ndp(ipaddress: str | None) -> None:
    """Clear IPv6 NDP table, as `arp`."""
    print("Nothing to flush.")


@cli.group("priority-group", cls=AliasedGroup)
def priority_group() -> None:
    """Clear priority-group watermarks and drops"""


@priority_group.group("drop", cls=AliasedGroup)
def priority_group_drop() -> None:
    """Clear priority-group drops"""


@priority_group_drop.command("counters")
def priority_group_drop_counters() -> None:
    """Clear priority-group dropped packets counter"""
    from virtual_testbed.sonic.commands import watermarkstat
    watermarkstat.clear(this_switch(), watermarkstat.PG_DROPS)
    print("Cleared PG drop counter\n")


@cli.group("queue", cls=AliasedGroup)
def queue() -> None:
    """Clear queue user and persistent watermarks"""


def _watermark_command(name: str, kind: str, which: str) -> click.Command:
    @click.command(name, help=f"Clear {which} WM, {name}")
    @click.option("-n", "--namespace", default=None, help="Namespace name or all")
    def clear_watermark(namespace: str | None) -> None:
        require_root()
        from virtual_testbed.sonic.commands import watermarkstat
        watermarkstat.clear(this_switch(), watermarkstat.KINDS[kind], which == "persistent")
    return clear_watermark


add_watermarks(priority_group, "Clear", PRIORITY_GROUPS, _watermark_command)
add_watermarks(queue, "Clear", QUEUES, _watermark_command)


def main() -> None:
    """The program."""
    cli(prog_name="sonic-clear")


if __name__ == "__main__":
    run(main)
