"""PortChannels, as teamd has them where nobody answers LACP: the traffic generators do not.

A PortChannel is up then only with `fallback`, which is for those of one member (sonic-buildimage, libteam's patch "Add
fallback support for single-member-port LAG"); any other has no member selected, and carries nothing.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from virtual_testbed.sonic.counters import Hash
from virtual_testbed.sonic.databases import Config, Row, natural
from virtual_testbed.sonic.profile import Profile
from virtual_testbed.sonic.rows import Reader, RowError, known_ports, number_of

LAG, LAG_MEMBER = "LAG_TABLE:", "LAG_MEMBER_TABLE:"


@dataclass(frozen=True)
class PortChannel:
    """A row of PORTCHANNEL with its members, in natural order."""

    name: str
    admin_up: bool
    fallback: bool
    min_links: int
    mtu: int
    members: tuple[str, ...] = ()

    @property
    def selected(self) -> str | None:
        """The member that carries frames for as long as its link is up; None: there is none."""
        alone = self.fallback and self.admin_up and len(self.members) == 1 and self.min_links <= 1
        return self.members[0] if alone else None


def port_channels(reader: Reader, profile: Profile) -> dict[str, PortChannel]:
    """All PortChannels by name. A port in two of them is in the first."""
    found = reader.rows("PORTCHANNEL", _port_channel)
    members: dict[str, list[str]] = {name: [] for name in found}
    taken = set[str]()
    rows = reader.rows("PORTCHANNEL_MEMBER", lambda key, row: _member(key, profile))
    for name, port in sorted(rows.values(), key=lambda one: (natural(one[0]), natural(one[1]))):
        if name not in members:
            reader.complain(f"PORTCHANNEL_MEMBER|{name}|{port} ignored: PORTCHANNEL|{name} does not exist")
        elif port not in taken:
            taken.add(port)
            members[name].append(port)
    return {name: PortChannel(name, one.admin_up, one.fallback, one.min_links, one.mtu, tuple(members[name]))
            for name, one in found.items()}


def on_ports(config: Config, channels: Mapping[str, PortChannel]) -> Config:
    """The configuration with what its PortChannels have, addresses and VLANs, on the members that they have selected;
    other members have neither, also of their own."""
    members = {port for channel in channels.values() for port in channel.members}
    selected = {name: channel.selected for name, channel in channels.items() if channel.selected}
    interfaces = {key: row for key, row in config.get("INTERFACE", {}).items() if key.split("|")[0] not in members}
    for key, row in config.get("PORTCHANNEL_INTERFACE", {}).items():
        name, bar, address = key.partition("|")
        if name in selected:
            interfaces[f"{selected[name]}{bar}{address}"] = row
    vlans: dict[str, Row] = {}
    for key, row in config.get("VLAN_MEMBER", {}).items():
        vlan, _, name = key.partition("|")
        port = selected.get(name, name)
        if port not in channels and (name in selected or port not in members):
            vlans[f"{vlan}|{port}"] = row
    return {**config, "INTERFACE": interfaces, "VLAN_MEMBER": vlans}


def lag_rows(channels: Mapping[str, PortChannel], oper_up: Mapping[str, bool]) -> dict[str, Hash]:
    """`LAG_TABLE` of APPL_DB, as teamsyncd writes it, by which links are up."""
    return {f"{LAG}{name}": {
        "admin_status": "up" if channel.admin_up else "down", "mtu": str(channel.mtu),
        "oper_status": "up" if channel.selected and oper_up.get(channel.selected) else "down",
    } for name, channel in channels.items()}


def lag_member_rows(channels: Mapping[str, PortChannel], oper_up: Mapping[str, bool]) -> dict[str, Hash]:
    """`LAG_MEMBER_TABLE` of APPL_DB, likewise."""
    return {
        f"{LAG_MEMBER}{name}:{port}": {
            "status": "enabled" if port == channel.selected and oper_up.get(port) else "disabled"}
        for name, channel in channels.items() for port in channel.members
    }


def _port_channel(name: str, row: Row) -> PortChannel:
    if not name.startswith("PortChannel") or not name[len("PortChannel"):].isdigit():
        raise RowError("the name must be PortChannel0 to PortChannel9999")
    return PortChannel(name, row.get("admin_status") == "up", row.get("fallback") == "true",
                       number_of(row, "min_links", 0), number_of(row, "mtu", 9100))


def _member(key: str, profile: Profile) -> tuple[str, str]:
    name, _, port = key.partition("|")
    known_ports(port, profile)
    return name, port
