"""Rows of CONFIG_DB that make other priorities lossless, or make a port trust the VLAN tag, from what a switch has.

The tables and their keys are those of SONiC's templates (sonic-buildimage `qos_config.j2` and `buffers_config.j2`): a
lossless priority is listed in `PORT_QOS_MAP` `pfc_enable`, its traffic class has a priority group of its own number
with a profile that has headroom, all lossy ones share a group, and its queue has the lossless rows of `QUEUE` and
`BUFFER_QUEUE`. What stands in these rows is taken from priorities that have that role already, so it fits the platform,
the port's speed and its cable. A switch without `BUFFER_PG` rows for its lossless priorities derives their headroom
from `pfc_enable` by itself (`buffermgrd`), and gets none.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..model.errors import QualificationError
from ..model.qos import PRIORITIES, ConfigDb, check_same_classes, read_port_qos
from ..record.case import Target
from .dut import parse_config_db
from .lab import Lab
from .lease import Rows, as_found
from .restore import READ_CONFIG, SwitchRestorer

NAME = "PFC_QUALIFICATION"  # of the maps that are there while a changed configuration is measured
CLASS_SELECTOR = 8  # RFC 2474: DSCP 8 * n is class selector n, what IP precedence n was
Row = Mapping[str, Any]


def lossless_set(config_db: ConfigDb, device: str, ports: Sequence[str], priorities: Target) -> Rows:
    """The rows with which exactly these priorities are lossless on these ports, and some DSCP value reaches each of all
    eight: a priority that none reaches gets its class selector.

    Args:
        config_db: CONFIG_DB as it is.
        device: the switch, for messages.
        ports: the port under test and the one that data enters; both have the same maps.
        priorities: the lossless ones to be.

    Raises:
        QualificationError: what the switch has leaves open how; the sentence names the row.
    """
    qos = read_port_qos(config_db, device, ports[0])
    lossy = [priority for priority in PRIORITIES if priority not in priorities]
    groups = {str(number): str(number if number in priorities else lossy[0]) for number in PRIORITIES}
    rows: dict[str, dict[str, Row | None]] = {
        "DSCP_TO_TC_MAP": {NAME: _all_reached(qos.dscps)},
        "TC_TO_PRIORITY_GROUP_MAP": {NAME: groups},
        "PORT_QOS_MAP": {},
    }
    for port in ports:
        found = config_db["PORT_QOS_MAP"][port]
        fields = {"dscp_to_tc_map": "DSCP_TO_TC_MAP", "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP"}
        if "pfc_to_pg_map" in found:  # Mellanox and Barefoot
            fields["pfc_to_pg_map"] = "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"
            rows[fields["pfc_to_pg_map"]] = {NAME: {str(number): str(number) for number in priorities}}
        named = {field: _reference(found, field, table) for field, table in fields.items()}
        rows["PORT_QOS_MAP"][port] = {**found, **named, "pfc_enable": ",".join(map(str, priorities))}
        for table, needed in (("BUFFER_PG", lossy[:1]), ("BUFFER_QUEUE", []), ("QUEUE", [])):
            changed = _of_port(config_db, device, (table, port), (set(qos.lossless), {*priorities}, {*needed}))
            rows.setdefault(table, {}).update(changed)
    return rows


def trusting_tags(config_db: ConfigDb, device: str, ports: Sequence[str]) -> Rows:
    """The rows with which these ports sort frames by the priority in their VLAN tag, each into the class of the same
    number, as `qos_config.j2` has it for storage back ends but for its exchange of 0 and 1; no DSCP map counts then.

    Raises:
        QualificationError: a port has no QoS maps.
    """
    rows: dict[str, Row | None] = {}
    for port in ports:
        read_port_qos(config_db, device, port)
        found = config_db["PORT_QOS_MAP"][port]
        kept = {field: value for field, value in found.items() if field != "dscp_to_tc_map"}
        rows[port] = {**kept, "dot1p_to_tc_map": _reference(found, "dscp_to_tc_map", "DOT1P_TO_TC_MAP")}
    identity = {str(number): str(number) for number in PRIORITIES}
    return {"DOT1P_TO_TC_MAP": {NAME: identity}, "PORT_QOS_MAP": rows}


def read_config(lab: Lab) -> ConfigDb:
    """CONFIG_DB of the switch under test as it is now."""
    return parse_config_db(lab.dut.host, lab.dut.ask({"config": READ_CONFIG})["config"])


@contextmanager
def configured(lab: Lab, config_db: ConfigDb, rows: Rows) -> Iterator[None]:
    """The switch has these rows inside the `with` block, and what it had afterwards (`SwitchRestorer.configured`)."""
    assert lab.dut.lease is not None, f"{lab.dut.name}: its configuration is changed without a lease"
    restorer = SwitchRestorer(lab.dut.host, lab.dut.lease.run_id, lab.clock)
    with restorer.configured(lab.dut.lease, config_db, rows):
        yield


def with_tags(lab: Lab, vlan_id: int) -> Lab:
    """What to measure with while the ports sort frames by their VLAN tag: each flow's frames have its priority in one,
    and all have the DSCP values of one priority, the one with most, so that nothing but the tag tells them apart."""
    qos = lab.subject.qos
    shared = max(qos.dscps.values(), key=len)
    builder = copy.copy(lab.builder)
    builder.vlan_id = vlan_id
    builder.dscps = dict.fromkeys(PRIORITIES, shared)
    return replace(lab, subject=replace(lab.subject, qos=replace(qos, dscps=builder.dscps)), builder=builder)


def with_priorities_of(lab: Lab, config_db: ConfigDb, rows: Rows) -> Lab:
    """What to measure with while the switch has these rows: others are lossless, and other DSCP values reach them.

    Raises:
        QualificationError: with these rows the pair cannot be measured.
    """
    device = lab.dut.name
    pair = lab.subject.pair
    changed = as_found(config_db, rows)
    qos = read_port_qos(changed, device, pair.rx.port)
    check_same_classes(qos, read_port_qos(changed, device, pair.tx.port))
    builder = copy.copy(lab.builder)
    builder.dscps = qos.dscps
    return replace(lab, subject=replace(lab.subject, qos=qos), builder=builder)


def _all_reached(dscps: Mapping[int, Sequence[int]]) -> dict[str, str]:
    """A DSCP map: the one found, with a DSCP value for each priority that it leaves out."""
    found = {dscp: priority for priority, values in dscps.items() for dscp in values}
    for priority in PRIORITIES:
        if priority in found.values():
            continue
        shared = [dscp for dscp, other in found.items() if list(found.values()).count(other) > 1]
        selector = CLASS_SELECTOR * priority
        found[selector if selector in shared or selector not in found else max(shared)] = priority
    return {str(dscp): str(found[dscp]) for dscp in sorted(found)}


def _reference(row: Row, field: str, table: str) -> str:
    """How this switch refers to the map that is made: older images write `[TABLE|name]`."""
    return f"[{table}|{NAME}]" if str(row.get(field, "")).startswith("[") else NAME


def _of_port(
    config_db: ConfigDb, device: str, where: tuple[str, str], numbers: tuple[set[int], set[int], set[int]]
) -> dict[str, Row | None]:
    """What changes of a port's rows in BUFFER_PG, BUFFER_QUEUE or QUEUE.

    Args:
        config_db: CONFIG_DB as it is.
        device: the switch, for messages.
        where: table and port.
        numbers: what is lossless now, what shall be, and what else has to have a row.
    """
    (table, port), (now, wanted, needed) = where, numbers
    keys = _keys(config_db, device, table, port)
    found = {number: config_db[table][key] for key, covered in keys.items() for number in covered}
    models = {
        role: next((found[number] for number in sorted(found) if number < 8 and (number in now) is role), None)
        for role in (True, False)
    }
    rows = {
        number: found[number] if number in found and (number in now) is (number in wanted) else models[number in wanted]
        for number in {*found, *wanted, *needed}
    }
    split = {key for key, covered in keys.items() if any(rows[number] != config_db[table][key] for number in covered)}
    kept = {number for key, covered in keys.items() if key not in split for number in covered}
    changed = {f"{port}|{number}": row for number, row in rows.items() if number not in kept and row is not None}
    return {**dict.fromkeys(split), **changed}


def _keys(config_db: ConfigDb, device: str, table: str, port: str) -> dict[str, range]:
    """The keys of a port's rows in such a table, with the numbers that each covers: `Ethernet0|3`, `Ethernet0|3-4`.

    Raises:
        QualificationError: a row is for several ports, or its key has another form.
    """
    found = {}
    for key in config_db.get(table, {}):
        ports, _, numbers = key.partition("|")
        if port not in ports.split(","):
            continue
        first, _, last = numbers.partition("-")
        if ports != port or not first.isdigit() or not (last or first).isdigit():
            raise QualificationError(
                f"{device}: {table}|{key} in CONFIG_DB cannot be changed for {port} alone; such a row has a key like"
                f" {port}|3 or {port}|3-4"
            )
        found[key] = range(int(first), int(last or first) + 1)
    return found
