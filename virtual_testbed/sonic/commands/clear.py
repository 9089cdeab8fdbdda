"""`sonic-clear`: forget counters for the user who asks (sonic-utilities `clear/main.py`)."""
from __future__ import annotations

import click

from virtual_testbed.sonic.commands.context import require_root, run, this_switch
from virtual_testbed.sonic.commands.groups import AliasedGroup


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


@priority_group.group("watermark", cls=AliasedGroup)
def priority_group_watermark() -> None:
    """Clear priority-group user watermark"""
    require_root()


@priority_group_watermark.command("headroom")
def priority_group_headroom() -> None:
    """Clear user headroom watermark for pg"""
    from virtual_testbed.sonic.commands import watermarkstat
    watermarkstat.clear(this_switch(), watermarkstat.PG_HEADROOM)


@priority_group_watermark.command("shared")
def priority_group_shared() -> None:
    """Clear user shared watermark for pg"""
    from virtual_testbed.sonic.commands import watermarkstat
    watermarkstat.clear(this_switch(), watermarkstat.PG_SHARED)


@cli.group("queue", cls=AliasedGroup)
def queue() -> None:
    """Clear queue user and persistent watermarks"""


@queue.group("watermark", cls=AliasedGroup)
def queue_watermark() -> None:
    """Clear queue user watermark"""
    require_root()


def _clear_queue_watermarks() -> None:
    from virtual_testbed.sonic.commands import watermarkstat
    watermarkstat.clear(this_switch(), watermarkstat.QUEUE)


for _name in ("unicast", "all"):
    queue_watermark.command(_name, help=f"Clear user watermark of {_name} queues")(_clear_queue_watermarks)


@queue_watermark.command("multicast")
def queue_watermark_multicast() -> None:
    """Clear user watermark of multicast queues. This switch holds nothing there: nothing to do."""


def main() -> None:
    """The program."""
    cli(prog_name="sonic-clear")


if __name__ == "__main__":
    run(main)
