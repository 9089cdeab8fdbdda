"""Gives addresses to ports that have none, and says so in the state of the switch that ports are planned with.

sonic-mgmt does the same on testbeds with several switches (`setup_dut_ports`, from 20.1.1.0/31 on). Here the rows are
in the switch's lease before they are written, so that they go with the watchdog's stop whatever becomes of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..lab.clock import Clock, wait_for
from ..lab.configuration import FOLLOW_S, RowRestorer, as_found
from ..lab.dut import READ_CONFIG, Dut, SwitchState, parse_config_db
from ..lab.port_plan import PortPlan, PortRequest
from ..lab.reservation import Rows
from ..model.errors import QualificationError
from ..model.ports import ConnectedPort, PortPair, natural
from ..model.qos import ConfigDb
from .networks import free_addresses, version_of
from .port_channels import RouterInterface, check_port_channel, router_interface, seen_from_ports

TABLE = "INTERFACE"
OTHER_VERSION = {4: 6, 6: 4}
REMEDY = (
    "give it one, or let the run do so and take it away again (`make qualify CHANGE_CONFIG=1`, --pfc-change-config)"
)


@dataclass(frozen=True)
class StateWithAddresses(SwitchState):
    """A switch as it is once its ports have addresses.

    Attributes:
        given: the rows of CONFIG_DB that a port has to be given for that; no port: it has what it needs.
    """

    given: Mapping[str, Rows] = field(default_factory=dict)


def with_addresses(
    state: SwitchState, pair: PortPair, ports: Sequence[ConnectedPort], asked: PortRequest
) -> SwitchState:
    """A switch whose ports have addresses of the run's IP version, but for those in a VLAN, which has to have its own.

    Args:
        state: the switch as it was found.
        pair: the pair that is to be measured.
        ports: all ports of the switch with a traffic generator behind them.
        asked: the IP version, and whether the switch's configuration may be changed.

    Raises:
        QualificationError: a port of the pair is in a PortChannel that cannot be measured, has no address and must not
            be given one, or there is none to give.
    """
    names = sorted((port.port for port in ports), key=natural)
    for port in (pair.rx, pair.tx):
        check_port_channel(state, port)
    found = ((name, router_interface(state, name)) for name in names)
    interfaces = {name: interface for name, interface in found if interface is not None}
    state = replace(state, config_db=seen_from_ports(state.config_db, interfaces))
    bare = [name for name in interfaces if _is_bare(state.config_db, name, asked.ip_version)]
    without = [port for port in (pair.rx, pair.tx) if port.port in bare]
    if without and not asked.change_config:
        port = without[0]
        interface = interfaces[without[0].port]
        raise QualificationError(
            f"{port.device} {port.port}: CONFIG_DB gives {interface.name} no IPv{asked.ip_version} address"
            f" ({interface.table}|{interface.name}|...) and has it in no VLAN, so no host can sit behind the port:"
            f" {REMEDY}"
        )
    if not bare or not asked.change_config:
        return state
    addresses = free_addresses(state.config_db, asked.ip_version, len(names))
    chosen = {name: str(address) for name, address in zip(names, addresses, strict=True) if name in bare}
    given = {name: _rows(state.config_db, interfaces[name], chosen[name]) for name in bare}
    own = {name: _rows(state.config_db, RouterInterface(TABLE, name), chosen[name]) for name in bare}
    config_db = as_found(state.config_db, _together([*given.values(), *own.values()]))
    return StateWithAddresses(**{**vars(state), "config_db": config_db, "given": given})


def give(plans: Sequence[PortPlan], dut: Dut, clock: Clock) -> None:
    """Gives the ports that are planned with what they lack; what was found is in the lease before.

    Raises:
        ReservationLost: the switch is not this run's any more.
        QualificationError: it cannot be written down, or the switch did not take it.
    """
    wanted = _together(
        plan.state.given[port]
        for plan in plans if isinstance(plan.state, StateWithAddresses)
        for port in plan.subject.ports if port in plan.state.given
    )
    if not wanted:
        return
    reservation = dut.reservation
    assert reservation is not None, f"{dut.name}: addresses are given without a reservation"
    now = parse_config_db(dut.host, dut.ask({"config": READ_CONFIG})["config"])
    restorer = RowRestorer(dut.host, reservation)
    restorer.keep({table: {key: now.get(table, {}).get(key) for key in rows} for table, rows in wanted.items()})
    restorer.bring(now, wanted, clock, reservation.write())
    _wait_for_interfaces(dut, wanted, clock)


def _wait_for_interfaces(dut: Dut, wanted: Rows, clock: Clock) -> None:
    """Waits until intfmgrd has handed the addresses on to the ASIC's side.

    Raises:
        QualificationError: it has not.
    """
    keys = {f"INTF_TABLE:{key.replace('|', ':', 1)}" for rows in wanted.values() for key in rows if "|" in key}
    missing = set[str]()

    def followed() -> bool:
        there = dut.ask({"interfaces": "sonic-db-cli APPL_DB KEYS 'INTF_TABLE:*'"})["interfaces"].split()
        missing.clear()
        missing.update(keys.difference(there))
        return not missing

    if not wait_for(followed, FOLLOW_S, clock, FOLLOW_S / 5):
        raise QualificationError(
            f"{dut.name}: expected {min(missing)} in APPL_DB within {2 * FOLLOW_S:.0f} s of its row in CONFIG_DB, got"
            " none: intfmgrd has not taken the address that the port was given"
        )


def _is_bare(config_db: ConfigDb, port: str, ip_version: int) -> bool:
    """Whether a port is in no VLAN and has no address of this version."""
    if any(key.endswith(f"|{port}") for key in config_db.get("VLAN_MEMBER", {})):
        return False
    own = [key.partition("|")[2] for key in config_db.get(TABLE, {}) if key.startswith(f"{port}|")]
    return all(version_of(address) == OTHER_VERSION[ip_version] for address in own)


def _rows(config_db: ConfigDb, interface: RouterInterface, address: str) -> Rows:
    """The rows that give an interface an address, as `config interface ip add` writes them: its own too, if it has
    none."""
    found = config_db.get(interface.table, {})
    return {interface.table: {key: {} for key in (interface.name, f"{interface.name}|{address}") if key not in found}}


def _together(all_rows: Iterable[Rows]) -> Rows:
    """The rows of several ports."""
    tables: dict[str, dict[str, Mapping[str, Any] | None]] = {}
    for rows in all_rows:
        for table, keys in rows.items():
            tables.setdefault(table, {}).update(keys)
    return tables
