"""Ports that are members of PortChannels: one that is the only member of a PortChannel that is up is measured by the
addresses, or the VLAN, of that one.

The traffic generators send no LACP, so that is one with `fallback`. Data for a PortChannel of several members may leave
by any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..lab.dut import SwitchState
from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort, natural, summary
from ..model.qos import ConfigDb
from ..record.case import PlanCase

MEMBERS = "PORTCHANNEL_MEMBER"


@dataclass(frozen=True)
class RouterInterface:
    """What an address for the host behind a port is written for: the table of CONFIG_DB, and the name."""

    table: str
    name: str


def channel_of(config_db: ConfigDb, port: str) -> str:
    """The PortChannel that a port is a member of; empty: none."""
    names = (key.partition("|") for key in sorted(config_db.get(MEMBERS, {}), key=natural))
    return next((name for name, _, member in names if member == port), "")


def single_member_channels(config_db: ConfigDb) -> list[str]:
    """The PortChannels with one member, which may be measured."""
    names = [key.partition("|")[0] for key in config_db.get(MEMBERS, {})]
    return [name for name in names if names.count(name) == 1]


def router_interface(state: SwitchState, port: str) -> RouterInterface | None:
    """The port itself, or the PortChannel that it alone is; None: it cannot be measured in its PortChannel."""
    name = channel_of(state.config_db, port)
    if not name:
        return RouterInterface("INTERFACE", port)
    return None if _obstacle(state, name) else RouterInterface("PORTCHANNEL_INTERFACE", name)


def check_port_channel(state: SwitchState, port: ConnectedPort) -> None:
    """Whether a port that is a member of a PortChannel can be measured.

    Raises:
        QualificationError: it cannot.
    """
    name = channel_of(state.config_db, port.port)
    obstacle = _obstacle(state, name) if name else ""
    if obstacle:
        raise QualificationError(
            f"{port.device} {port.port}: it is a member of {name}, {obstacle}; expected a PortChannel with one member"
            f" that is up without LACP from the traffic generator (`fallback`), or a port in none (`config portchannel"
            f" member del {name} {port.port}`)"
        )


@dataclass(frozen=True)
class SubjectInPortChannels(PortUnderTest):
    """A port under test where ports of its pair are in PortChannels.

    Attributes:
        port_channels: their names.
    """

    port_channels: tuple[str, ...] = ()


def in_port_channels(subject: PortUnderTest, config_db: ConfigDb) -> PortUnderTest:
    """A port under test, with the PortChannels that ports of its pair are in."""
    found = (channel_of(config_db, port.port) for port in (subject.pair.rx, subject.pair.tx))
    names = tuple(name for name in found if name)
    return SubjectInPortChannels(**{**vars(subject), "port_channels": names}) if names else subject


def lacking(case: PlanCase, subject: PortUnderTest) -> str:
    """What a port in a PortChannel lacks for a case: its link may be up for seconds before its PortChannel is."""
    if case.family != "FLAP" or not isinstance(subject, SubjectInPortChannels):
        return ""
    return f"ports in no PortChannel, which comes up later than its link (here {', '.join(subject.port_channels)})"


def seen_from_ports(config_db: ConfigDb, interfaces: Mapping[str, RouterInterface]) -> ConfigDb:
    """CONFIG_DB with what PortChannels of one member have, addresses and VLANs, as the member's own."""
    ports = {interface.name: port for port, interface in interfaces.items() if interface.name != port}
    if not ports:
        return config_db
    found = config_db.get("PORTCHANNEL_INTERFACE", {})
    routed = {f"{ports[name]}{bar}{rest}": row for name, bar, rest, row in _split(found) if name in ports}
    members = config_db.get("VLAN_MEMBER", {})
    bridged = {f"{vlan}{bar}{ports[name]}": row for vlan, bar, name, row in _split(members) if name in ports}
    kept = {key: row for key, row in members.items() if key.partition("|")[2] not in ports}
    return {
        **config_db, "INTERFACE": {**config_db.get("INTERFACE", {}), **routed}, "VLAN_MEMBER": {**kept, **bridged}
    }


def _obstacle(state: SwitchState, name: str) -> str:
    """Why a member of a PortChannel cannot be measured; empty: it can."""
    keys = (key.partition("|") for key in state.config_db.get(MEMBERS, {}))
    members = [member for channel, _, member in keys if channel == name]
    if len(members) > 1:
        return f"which has {len(members)} members ({summary(members)}), and data for it may leave by any of them"
    found = state.interfaces.get(name)
    if found is None:
        return f"of which it is the only one ({members[0]}), and `show interfaces status` does not have {name}"
    if not found.oper_up:
        admin = "up" if found.admin_up else "down"
        return f"of which it is the only one ({members[0]}) and which is down (admin {admin}, oper down)"
    return ""


def _split(rows: Mapping[str, Mapping[str, object]]) -> Iterable[tuple[str, str, str, Mapping[str, object]]]:
    for key, row in rows.items():
        name, bar, rest = key.partition("|")
        yield name, bar, rest, row
