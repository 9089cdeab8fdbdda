"""`config interface`: addresses, admin status, speed, MTU and PFC of ports."""
from __future__ import annotations

import ipaddress
import re
import sys

import click

from virtual_testbed.sonic.commands import buffers, pfc
from virtual_testbed.sonic.commands.context import this_switch
from virtual_testbed.sonic.commands.groups import AliasedGroup
from virtual_testbed.sonic.databases import Config, change_row

_TABLES = {"Ethernet": "INTERFACE", "PortChannel": "PORTCHANNEL_INTERFACE", "Vlan": "VLAN_INTERFACE",
           "Loopback": "LOOPBACK_INTERFACE"}


@click.group(cls=AliasedGroup)
@click.option("-n", "--namespace", default=None, help="Namespace name")
def interface(namespace: str | None) -> None:
    """Interface-related configuration tasks"""


interface.add_command(buffers.interface_buffer)
interface.add_command(buffers.cable_length)


def _ports(context: click.Context, config: Config, text: str) -> list[str]:
    """Ports of an argument such as Ethernet0, Ethernet0,Ethernet4 or Ethernet0-8."""
    names: list[str] = []
    for part in text.split(","):
        found = re.fullmatch(r"Ethernet(\d+)-(\d+)", part)
        names += [f"Ethernet{number}" for number in range(int(found[1]), int(found[2]) + 1)] if found else [part]
    known = [name for name in names if name in config.get("PORT", {})]
    if not known:
        context.fail("Interface name is invalid. Please enter a valid interface name!!")
    return known


def _set_admin(context: click.Context, interface_name: str, status: str) -> None:
    switch = this_switch()
    for port in _ports(context, switch.running(), interface_name):
        change_row(switch.config, "PORT", port, {"admin_status": status})


@interface.command()
@click.argument("interface_name", metavar="<interface_name>")
@click.pass_context
def startup(context: click.Context, interface_name: str) -> None:
    """Start up interface"""
    _set_admin(context, interface_name, "up")


@interface.command()
@click.argument("interface_name", metavar="<interface_name>")
@click.pass_context
def shutdown(context: click.Context, interface_name: str) -> None:
    """Shut down interface"""
    _set_admin(context, interface_name, "down")


@interface.command()
@click.argument("interface_name", metavar="<interface_name>")
@click.argument("interface_speed", metavar="<interface_speed>")
@click.option("-v", "--verbose", is_flag=True, help="Enable verbose output")
@click.pass_context
def speed(context: click.Context, interface_name: str, interface_speed: str, verbose: bool) -> None:
    """Set interface speed"""
    switch = this_switch()
    if interface_name not in switch.running().get("PORT", {}):
        sys.exit(f"Invalid port {interface_name}")
    supported = [str(one) for one in switch.profile.ports[interface_name].speeds]
    if interface_speed not in supported:
        click.echo(f"Invalid speed specified: {interface_speed}\nValid speeds:{','.join(supported)}")
        context.exit(1)
    change_row(switch.config, "PORT", interface_name, {"speed": interface_speed})


@interface.command()
@click.argument("interface_name", metavar="<interface_name>")
@click.argument("interface_mtu", metavar="<interface_mtu>", type=click.IntRange(68, 9216))
@click.option("-v", "--verbose", is_flag=True, help="Enable verbose output")
@click.pass_context
def mtu(context: click.Context, interface_name: str, interface_mtu: int, verbose: bool) -> None:
    """Set interface mtu"""
    switch = this_switch()
    config = switch.running()
    if any(key.partition("|")[2] == interface_name for key in config.get("PORTCHANNEL_MEMBER", {})):
        context.fail("'interface_name' is in portchannel!")
    if interface_name not in config.get("PORT", {}):
        sys.exit(f"Invalid port {interface_name}")
    if verbose:
        click.echo(f"Running command: portconfig -p {interface_name} -m {interface_mtu} -vv\n"
                   f"Setting mtu {interface_mtu} on port {interface_name}")
    change_row(switch.config, "PORT", interface_name, {"mtu": str(interface_mtu)})


@interface.group("pfc", cls=AliasedGroup)
def pfc_group() -> None:
    """Set PFC configuration."""


@pfc_group.command("asymmetric")
@click.argument("interface_name", metavar="<interface_name>")
@click.argument("status", type=click.Choice(["on", "off"]))
def pfc_asymmetric(interface_name: str, status: str) -> None:
    """Set asymmetric PFC configuration."""
    pfc.set_asymmetric(this_switch(), interface_name, status)


@pfc_group.command("priority")
@click.argument("interface_name", metavar="<interface_name>")
@click.argument("priority", type=click.Choice([str(number) for number in range(8)]))
@click.argument("status", type=click.Choice(["on", "off"]))
def pfc_priority(interface_name: str, priority: str, status: str) -> None:
    """Set PFC priority configuration."""
    pfc.set_priority(this_switch(), interface_name, priority, status)


@interface.group(cls=AliasedGroup)
def ip() -> None:
    """Set IP interface attributes"""


def _checked(context: click.Context, name: str, address: str) -> tuple[str, str]:
    """Table of an interface and its address in canonical form."""
    try:
        canonical = str(ipaddress.ip_interface(address))
    except ValueError as error:
        context.fail(f"IP address is not valid: {error}")
    table = _TABLES.get(re.sub(r"\d.*", "", name), "")
    if not table:
        context.fail(f"{name} is not valid. Valid names [Ethernet/PortChannel/Vlan/Loopback]")
    return table, canonical


@ip.command("add")
@click.argument("interface_name", metavar="<interface_name>")
@click.argument("ip_addr", metavar="<ip_addr>")
@click.argument("gw", metavar="<default gateway IP address>", required=False)
@click.option("--secondary", "-s", is_flag=True)
@click.pass_context
def ip_add(context: click.Context, interface_name: str, ip_addr: str, gw: str | None, secondary: bool) -> None:
    """Add an IP address towards the interface"""
    table, address = _checked(context, interface_name, ip_addr)
    switch = this_switch()
    config = switch.running()
    if table == "INTERFACE" and interface_name not in config.get("PORT", {}):
        context.fail("Interface name is invalid. Please enter a valid interface name!!")
    if any(key.endswith(f"|{interface_name}") for key in config.get("VLAN_MEMBER", {})):
        context.fail(f"Interface {interface_name} is a member of vlan\nAborting!")
    if any(key.endswith(f"|{interface_name}") for key in config.get("PORTCHANNEL_MEMBER", {})):
        context.fail(f"{interface_name} is configured as a member of portchannel.")
    fields = {"secondary": "true"} if secondary else {}
    if interface_name not in config.get(table, {}):
        change_row(switch.config, table, interface_name, {})
    change_row(switch.config, table, f"{interface_name}|{address}", fields)


@ip.command("remove")
@click.argument("interface_name", metavar="<interface_name>")
@click.argument("ip_addr", metavar="<ip_addr>")
@click.pass_context
def ip_remove(context: click.Context, interface_name: str, ip_addr: str) -> None:
    """Remove an IP address from the interface"""
    table, address = _checked(context, interface_name, ip_addr)
    switch = this_switch()
    change_row(switch.config, table, f"{interface_name}|{address}", None)
    rows = switch.running().get(table, {})
    if not any(key.startswith(f"{interface_name}|") for key in rows) and not rows.get(interface_name):
        change_row(switch.config, table, interface_name, None)
