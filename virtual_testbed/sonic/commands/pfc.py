"""`pfc`: which priorities of a port are lossless (sonic-utilities `pfc/main.py`)."""
from __future__ import annotations

import click

from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.commands.groups import HelpfulGroup
from virtual_testbed.sonic.databases import change_row, natural, read_config


def _print(rows: list[list[str]], header: tuple[str, str]) -> None:
    from tabulate import tabulate
    print()
    print(tabulate(rows, headers=header, tablefmt="simple", missingval="", disable_numparse=True))
    print()


def show_asymmetric(switch: SwitchContext, interface: str | None) -> None:
    """Print asymmetric PFC of a port or all."""
    ports = read_config(switch.config, "PORT").get("PORT", {})
    _print([[port, row.get("pfc_asym", "N/A")] for port, row in ports.items() if interface in (None, port)],
           ("Interface", "Asymmetric"))


def show_priority(switch: SwitchContext, interface: str | None) -> None:
    """Print lossless priorities of a port or all."""
    maps = read_config(switch.config, "PORT_QOS_MAP").get("PORT_QOS_MAP", {})
    if interface and interface not in maps:
        print(f"Cannot find interface {interface}")
        return
    ports = [interface] if interface else sorted(maps, key=natural)
    _print([[port, maps[port].get("pfc_enable", "N/A")] for port in ports], ("Interface", "Lossless priorities"))


def set_asymmetric(switch: SwitchContext, interface: str, status: str) -> None:
    """Set asymmetric PFC of a port."""
    change_row(switch.config, "PORT", interface, {"pfc_asym": status})


def set_priority(switch: SwitchContext, interface: str, priority: str, status: str) -> None:
    """Make a priority of a port lossless or lossy."""
    maps = read_config(switch.config, "PORT_QOS_MAP").get("PORT_QOS_MAP", {})
    if interface not in maps:
        print(f"Cannot find interface {interface}")
        return
    enabled = {part.strip() for part in maps[interface].get("pfc_enable", "").split(",") if part.strip()}
    if status == "on" and priority in enabled:
        print(f"Priority {priority} has already been enabled on {interface}")
    elif status == "off" and priority not in enabled:
        print(f"Priority {priority} is not enabled on {interface}")
    else:
        enabled = enabled | {priority} if status == "on" else enabled - {priority}
        change_row(switch.config, "PORT_QOS_MAP", interface, {"pfc_enable": ",".join(sorted(enabled))})


@click.group(cls=HelpfulGroup)
def cli() -> None:
    """PFC Command Line"""


@cli.group()
def config() -> None:
    """Config PFC"""


@cli.group()
def show() -> None:
    """Show PFC information"""


_status = click.argument("status", type=click.Choice(["on", "off"]))
_interface = click.argument("interface")
_priority = click.argument("priority", type=click.Choice([str(number) for number in range(8)]))
_namespace = click.option("-n", "--namespace", default=None)


@config.command("asymmetric")
@_status
@_interface
@_namespace
def config_asymmetric(status: str, interface: str, namespace: str | None) -> None:
    """Configure asymmetric PFC on a given port."""
    set_asymmetric(this_switch(), interface, status)


@config.command("priority")
@_status
@_interface
@_priority
@_namespace
def config_priority(status: str, interface: str, priority: str, namespace: str | None) -> None:
    """Configure PFC on a given priority."""
    set_priority(this_switch(), interface, priority, status)


@show.command("asymmetric")
@click.argument("interface", required=False)
@_namespace
def show_asymmetric_command(interface: str | None, namespace: str | None) -> None:
    """Show asymmetric PFC information"""
    show_asymmetric(this_switch(), interface)


@show.command("priority")
@click.argument("interface", required=False)
@_namespace
def show_priority_command(interface: str | None, namespace: str | None) -> None:
    """Show PFC priority information"""
    show_priority(this_switch(), interface)


def main() -> None:
    """The program."""
    cli(prog_name="pfc")


if __name__ == "__main__":
    run(main)
