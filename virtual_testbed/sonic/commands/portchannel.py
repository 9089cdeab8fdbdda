"""`config portchannel`: PortChannels and their members; `show interfaces portchannel` (sonic-utilities `teamshow`)."""
from __future__ import annotations

import re

import click

from virtual_testbed.sonic.commands.context import SwitchContext, this_switch
from virtual_testbed.sonic.commands.groups import AliasedGroup
from virtual_testbed.sonic.databases import Config, change_row, natural, read_fields

_FLAGS = ("Flags: A - active, I - inactive, Up - up, Dw - Down, N/A - not available,\n"
          "       S - selected, D - deselected, * - not synced")


@click.group(cls=AliasedGroup)
@click.option("-n", "--namespace", default=None, help="Namespace name")
def portchannel(namespace: str | None) -> None:
    """PortChannel-related configuration tasks"""


def _checked(context: click.Context, name: str, config: Config, present: bool) -> None:
    """Ends the command for a name that is none, or of a PortChannel that is there, or is not."""
    if not re.fullmatch(r"PortChannel\d{1,4}", name):
        context.fail(f"{name} is invalid!, name should have prefix 'PortChannel' and suffix '<0-9999>'")
    if (name in config.get("PORTCHANNEL", {})) is not present:
        context.fail(f"{name} is not present." if present else f"{name} already exists!")


@portchannel.command("add")
@click.argument("portchannel_name", metavar="<portchannel_name>")
@click.option("--min-links", default=1, type=click.IntRange(1, 1024))
@click.option("--fallback", default="false")
@click.option("--fast-rate", default="false", type=click.Choice(["true", "false"], case_sensitive=False))
@click.pass_context
def add(context: click.Context, portchannel_name: str, min_links: int, fallback: str, fast_rate: str) -> None:
    """Add port channel"""
    switch = this_switch()
    _checked(context, portchannel_name, switch.running(), present=False)
    row = {"admin_status": "up", "mtu": "9100", "lacp_key": "auto", "fast_rate": fast_rate.lower(),
           "min_links": str(min_links)}
    change_row(switch.config, "PORTCHANNEL", portchannel_name, row | ({} if fallback == "false" else {
        "fallback": "true"}))


@portchannel.command("del")
@click.argument("portchannel_name", metavar="<portchannel_name>")
@click.pass_context
def remove(context: click.Context, portchannel_name: str) -> None:
    """Remove port channel"""
    switch = this_switch()
    config = switch.running()
    _checked(context, portchannel_name, config, present=True)
    vlans = [key.split("|")[0] for key in config.get("VLAN_MEMBER", {}) if key.endswith(f"|{portchannel_name}")]
    if vlans:
        context.fail(f"{portchannel_name} has vlan {vlans[0]} configured, remove vlan membership to proceed")
    if any(key.startswith(f"{portchannel_name}|") for key in config.get("PORTCHANNEL_MEMBER", {})):
        context.fail(f"Error: Portchannel {portchannel_name} contains members. Remove members before deleting "
                     "Portchannel!")
    change_row(switch.config, "PORTCHANNEL", portchannel_name, None)


@portchannel.group("member", cls=AliasedGroup)
def member() -> None:
    """Members of a port channel"""


@member.command("add")
@click.argument("portchannel_name", metavar="<portchannel_name>")
@click.argument("port_name", metavar="<port_name>")
@click.pass_context
def member_add(context: click.Context, portchannel_name: str, port_name: str) -> None:
    """Add member to port channel"""
    switch = this_switch()
    config = switch.running()
    if port_name not in config.get("PORT", {}):
        context.fail("Interface name is invalid. Please enter a valid interface name!!")
    _checked(context, portchannel_name, config, present=True)
    addresses = [key.split("|")[1] for key in config.get("INTERFACE", {}) if key.startswith(f"{port_name}|")]
    if addresses:
        context.fail(f" {port_name} has ip address {addresses[0]} configured")
    vlans = [key.split("|")[0] for key in config.get("VLAN_MEMBER", {}) if key.endswith(f"|{port_name}")]
    if vlans:
        context.fail(f"{port_name} Interface configured as VLAN_MEMBER under vlan : {vlans[0]}")
    for key in config.get("PORTCHANNEL_MEMBER", {}):
        name, _, port = key.partition("|")
        if port == port_name:
            context.fail(f"{port_name} Interface is already member of {name} ")
    change_row(switch.config, "PORTCHANNEL_MEMBER", f"{portchannel_name}|{port_name}", {})


@member.command("del")
@click.argument("portchannel_name", metavar="<portchannel_name>")
@click.argument("port_name", metavar="<port_name>")
@click.pass_context
def member_remove(context: click.Context, portchannel_name: str, port_name: str) -> None:
    """Remove member from port channel"""
    switch = this_switch()
    config = switch.running()
    _checked(context, portchannel_name, config, present=True)
    if f"{portchannel_name}|{port_name}" not in config.get("PORTCHANNEL_MEMBER", {}):
        context.fail(f"{port_name} is not a member of portchannel {portchannel_name}")
    change_row(switch.config, "PORTCHANNEL_MEMBER", f"{portchannel_name}|{port_name}", None)


def show(switch: SwitchContext) -> None:
    """Print PortChannels with their members."""
    from tabulate import tabulate
    config = switch.running()
    names = sorted(config.get("PORTCHANNEL", {}), key=natural)
    rows = []
    with switch.connect("APPL_DB") as appl:
        for name, lag in zip(names, read_fields(appl, [f"LAG_TABLE:{name}" for name in names], ["oper_status"])):
            keys = (key.partition("|") for key in config.get("PORTCHANNEL_MEMBER", {}))
            ports = sorted((port for channel, _, port in keys if channel == name), key=natural)
            members = read_fields(appl, [f"LAG_MEMBER_TABLE:{name}:{port}" for port in ports], ["status"])
            shown = [f"{port}({'S' if one.get('status') == 'enabled' else 'D'})" for port, one in zip(ports, members)]
            up = "Up" if lag.get("oper_status") == "up" else "Dw"
            rows.append([name.removeprefix("PortChannel"), name, f"LACP(A)({up})", " ".join(shown) or "N/A"])
    print(_FLAGS)
    print(tabulate(rows, ["No.", "Team Dev", "Protocol", "Ports"]))
