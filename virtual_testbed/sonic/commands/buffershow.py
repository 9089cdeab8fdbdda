"""`buffershow`: the buffer pools and profiles in effect (sonic-utilities `scripts/buffershow`)."""
from __future__ import annotations

import sys

import click

from virtual_testbed.sonic.commands.context import run, this_switch
from virtual_testbed.sonic.commands.mmuconfig import show_information


@click.command(help="Show buffer pools and profiles in effect")
@click.option("-l", "--list", "show_config", is_flag=True, help="show mmu configuration")
@click.option("-n", "--namespace", type=click.Choice([""]), default=None, help="Namespace name or skip for all")
@click.option("-vv", "--verbose", is_flag=True, help="verbose output")
@click.version_option(version="1.0")
@click.pass_context
def cli(context: click.Context, /, show_config: bool, namespace: str | None, verbose: bool) -> None:
    """The command."""
    if not show_config:
        click.echo(context.get_help())
        sys.exit(1)
    show_information(this_switch(), verbose)


def main() -> None:
    """The program."""
    cli(prog_name="buffershow")


if __name__ == "__main__":
    run(main)
