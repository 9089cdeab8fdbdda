"""`config vlan`: VLANs and their members."""
from __future__ import annotations

import click

from virtual_testbed.sonic.commands.context import this_switch
from virtual_testbed.sonic.commands.groups import AliasedGroup
from virtual_testbed.sonic.databases import change_row


@click.group(cls=AliasedGroup)
def vlan() -> None:
    """VLAN-related configuration tasks"""


def _name(context: click.Context, vid: str) -> str:
    if not vid.isdigit():
        context.fail(f"{vid} is not integer")
    if vid == "1":
        context.fail("Vlan1 is default VLAN")
    if not 2 <= int(vid) <= 4094:
        context.fail(f"Invalid VLAN ID {vid} (2-4094)")
    return f"Vlan{int(vid)}"


@vlan.command("add")
@click.argument("vid", metavar="<vid>")
@click.pass_context
def vlan_add(context: click.Context, vid: str) -> None:
    """Add VLAN"""
    name = _name(context, vid)
    switch = this_switch()
    if name in switch.running().get("VLAN", {}):
        context.fail(f"{name} already exists.")
    change_row(switch.config, "VLAN", name, {"vlanid": str(int(vid))})


@vlan.command("del")
@click.argument("vid", metavar="<vid>")
@click.pass_context
def vlan_del(context: click.Context, vid: str) -> None:
    """Delete VLAN"""
    name = _name(context, vid)
    switch = this_switch()
    config = switch.running()
    if name not in config.get("VLAN", {}):
        context.fail(f"{name} does not exist")
    if any(key.startswith(f"{name}|") for key in config.get("VLAN_INTERFACE", {})):
        context.fail(f"{name} can not be removed. First remove IP addresses assigned to this VLAN")
    if any(key.startswith(f"{name}|") for key in config.get("VLAN_MEMBER", {})):
        context.fail("VLAN ID {} can not be removed. First remove all members assigned to this VLAN.".format(int(vid)))
    change_row(switch.config, "VLAN_INTERFACE", name, None)
    change_row(switch.config, "VLAN", name, None)


@vlan.group("member", cls=AliasedGroup)
def member() -> None:
    """VLAN member related configuration tasks"""


@member.command("add")
@click.argument("vid", metavar="<vid>")
@click.argument("port", metavar="port")
@click.option("-u", "--untagged", is_flag=True, help="Untagged status")
@click.pass_context
def member_add(context: click.Context, vid: str, port: str, untagged: bool) -> None:
    """Add VLAN member"""
    name = _name(context, vid)
    switch = this_switch()
    config = switch.running()
    members = config.get("VLAN_MEMBER", {})
    if name not in config.get("VLAN", {}):
        context.fail(f"{name} does not exist")
    if port not in {**config.get("PORT", {}), **config.get("PORTCHANNEL", {})}:
        context.fail(f"{port} does not exist")
    if f"{name}|{port}" in members:
        context.fail(f"{port} is already a member of {name}")
    routed = {**config.get("INTERFACE", {}), **config.get("PORTCHANNEL_INTERFACE", {})}
    if any(key.split("|")[0] == port for key in routed):
        context.fail(f"{port} is a router interface!")
    if any(key.endswith(f"|{port}") for key in config.get("PORTCHANNEL_MEMBER", {})):
        context.fail(f"{port} is part of portchannel!")
    modes = [row.get("tagging_mode") for key, row in members.items() if key.endswith(f"|{port}")]
    if untagged and "untagged" in modes:
        context.fail(f"{port} is already untagged member!")
    change_row(switch.config, "VLAN_MEMBER", f"{name}|{port}", {"tagging_mode": "untagged" if untagged else "tagged"})


@member.command("del")
@click.argument("vid", metavar="<vid>")
@click.argument("port", metavar="<port>")
@click.pass_context
def member_del(context: click.Context, vid: str, port: str) -> None:
    """Delete VLAN member"""
    name = _name(context, vid)
    switch = this_switch()
    if f"{name}|{port}" not in switch.running().get("VLAN_MEMBER", {}):
        context.fail(f"{port} is not a member of {name}")
    change_row(switch.config, "VLAN_MEMBER", f"{name}|{port}", None)
