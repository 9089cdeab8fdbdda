"""Rows of CONFIG_DB that make other priorities lossless, or make a port trust the VLAN tag, from what a switch has.

The tables and their keys are those of SONiC's templates (sonic-buildimage `qos_config.j2` and `buffers_config.j2`): a
lossless priority is listed in `PORT_QOS_MAP` `pfc_enable`, its traffic class has a priority group of its own number
with a profile that has headroom, all lossy ones share a group, and its queue has the lossless rows of `QUEUE` and
`BUFFER_QUEUE`. What stands in these rows is taken from priorities that have that role already, so it fits the platform,
the port's speed and its cable. Lossless neighbours have one `BUFFER_PG` row together, `3-4`: `buffermgrd` adds such
rows where `pfc_enable` changes, and leaves them when it changes back (sonic-swss `buffermgr.cpp`). So it finds its own,
and none stays behind when the rows are put back. A switch without such rows for its lossless priorities gets none.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from ..model.numbered_rows import numbers_by_key
from ..model.qos import PRIORITIES, ConfigDb, check_same_classes, read_port_qos
from ..record.case import Target
from .clock import Clock
from .dut import READ_CONFIG, Dut, Host, parse_config_db
from .lab import Lab
from .otg_config import TAG_ABOVE
from .priority_groups import owed_groups, wait_for_groups
from .reservation import Reservation, Rows
from .restore import put_back_or_raise, load

NAME = "PFC_QUALIFICATION"  # of the maps that are there while a changed configuration is measured
FOLLOW_S = 5.0
"""How long SONiC's daemons take to follow CONFIG_DB, each about a second, one after the other: for what orchagent takes
from there itself (PORT_QOS_MAP, QUEUE, maps, schedulers) and no row of APPL_DB shows."""
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
        named = {field: reference(found, field, table) for field, table in fields.items()}
        enabled = [field for field in ("pfc_enable", "pfcwd_sw_enable") if field in found]
        listed = dict.fromkeys(enabled, ",".join(map(str, priorities)))
        rows["PORT_QOS_MAP"][port] = {**found, **named, **listed}
        change = LosslessChange(frozenset(qos.lossless), frozenset(priorities))
        for table, needed in (("BUFFER_PG", lossy[:1]), ("BUFFER_QUEUE", []), ("QUEUE", [])):
            rows.setdefault(table, {}).update(_of_port(config_db, device, table, port, change, needed))
    return rows


def trusting_tags(config_db: ConfigDb, device: str, ports: Sequence[str]) -> Rows:
    """The rows with which these ports sort frames by the priority in their VLAN tag, each into the class whose frames
    `TrafficBuilder` tags so; no DSCP map counts then. (`qos_config.j2` of SONiC's storage back ends has each its own
    class, but for its exchange of 0 and 1.)

    Raises:
        QualificationError: a port has no QoS maps.
    """
    rows: dict[str, Row | None] = {}
    for port in ports:
        read_port_qos(config_db, device, port)
        found = config_db["PORT_QOS_MAP"][port]
        kept = {field: value for field, value in found.items() if field != "dscp_to_tc_map"}
        rows[port] = {**kept, "dot1p_to_tc_map": reference(found, "dscp_to_tc_map", "DOT1P_TO_TC_MAP")}
    classes = {str((number + TAG_ABOVE) % 8): str(number) for number in PRIORITIES}
    return {"DOT1P_TO_TC_MAP": {NAME: classes}, "PORT_QOS_MAP": rows}


def read_config(lab: Lab) -> ConfigDb:
    """CONFIG_DB of the switch under test as it is now."""
    return parse_config_db(lab.dut.host, lab.dut.ask({"config": READ_CONFIG})["config"])


def reservation_of(lab: Lab) -> Reservation:
    """The run's, of the switch under test: without one nothing is changed on it."""
    reservation = lab.dut.reservation
    assert reservation is not None, f"{lab.dut.name}: its configuration is changed without a reservation"
    return reservation


def as_found(config_db: ConfigDb, rows: Rows) -> dict[str, dict[str, Mapping[str, Any]]]:
    """CONFIG_DB with these rows instead of its own; None: without the row."""
    tables = {table: {**config_db.get(table, {}), **rows.get(table, {})} for table in {*config_db, *rows}}
    return {table: {key: row for key, row in keys.items() if row is not None} for table, keys in tables.items()}


@contextmanager
def configured(lab: Lab, config_db: ConfigDb, rows: Rows) -> Iterator[None]:
    """The switch has these rows inside the `with` block, and what it had afterwards (`RowRestorer.configured`)."""
    with RowRestorer(lab.dut.host, reservation_of(lab)).configured(config_db, rows, lab.clock):
        yield


class RowRestorer:
    """Changes rows of a switch's CONFIG_DB, and puts them back."""

    def __init__(self, host: Host, reservation: Reservation) -> None:
        """Nothing is changed yet.

        Args:
            host: the switch.
            reservation: this run's, with the rows found that have to come back.
        """
        self._dut = Dut(host, reservation=reservation)
        self._reservation = reservation

    def keep(self, found: Rows) -> None:
        """Keeps rows as they were found: with the watchdog they come back, if not before."""
        self._reservation.keep(found)
        self._reservation.restorers["rows"] = self.bring_back

    @contextmanager
    def configured(self, config_db: ConfigDb, wanted: Rows, clock: Clock) -> Iterator[None]:
        """Rows of CONFIG_DB are as wanted inside the `with` block, and as found when it ends, however it ends.

        Args:
            config_db: CONFIG_DB as it is.
            wanted: the rows, each whole; None: there is no such row.
            clock: what is waited on while the switch's daemons follow.

        Raises:
            ReservationLost: another run has the switch; it puts the rows back.
            QualificationError: the rows found cannot be written down (then nothing was changed), or the switch did not
                take the wanted ones, or did not take the others back; or its priority groups do not follow.
        """
        reservation = self._reservation
        self.keep({table: {key: config_db.get(table, {}).get(key) for key in rows} for table, rows in wanted.items()})
        try:
            self._bring_into_effect(config_db, wanted, clock, reservation.write())
            yield
        finally:
            changed = as_found(config_db, wanted)
            found = {table: {key: reservation.rows[table][key] for key in rows} for table, rows in wanted.items()}
            put_back_or_raise(
                "the configuration", lambda: self._bring_into_effect(changed, found, clock), reservation, clock
            )

    def _bring_into_effect(self, now: ConfigDb, wanted: Rows, clock: Clock, first: str = "true") -> None:
        """Brings rows (`bring`), and waits until the priority groups are as these say."""
        self.bring(now, wanted, clock, first)
        owed = owed_groups(now, as_found(now, wanted), _differing(now, wanted), NAME)
        wait_for_groups(self._dut, owed, clock)

    def bring_back(self, clock: Clock) -> None:
        """Puts all rows back, whatever the switch has now. Priority groups are not waited for: the watchdog comes back
        after this, also on a switch that does not follow."""
        if self._reservation.rows:
            text = self._dut.ask({"config": READ_CONFIG})["config"]
            self.bring(parse_config_db(self._dut.host, text), self._reservation.rows, clock)

    def bring(self, now: ConfigDb, wanted: Rows, clock: Clock, first: str = "true") -> None:
        """Brings rows from what they are now to what is wanted, unless the shell command `first` fails.

        Rows of a port's queues and groups go before others come: daemons that see both at once may take the profile of
        `0-2` away after they gave one to `0-1`. Maps go last: rows that refer to them are changed before.
        """
        if not (differing := _differing(now, wanted)):
            return
        gone = [(table, key) for table, keys in differing.items() for key, row in keys.items() if row is None]
        overlapping = [name for name in gone if "|" in name[1]]
        if overlapping:
            self._dut.ask({"remove": self._dut.guarded(f"{first} && {_delete(overlapping)}")})
            clock.sleep(FOLLOW_S)
            first = "true"
        coming = {table: {key: row for key, row in new.items() if row is not None} for table, new in differing.items()}
        steps = [first, *_drop_fields(now, coming), f"( {load(coming)} )"]
        steps += [_delete(maps)] if (maps := [name for name in gone if name not in overlapping]) else []
        after = self._dut.ask({"load": self._dut.guarded(" && ".join(steps)), "config": READ_CONFIG})["config"]
        left = _differing(parse_config_db(self._dut.host, after), wanted)
        if left:
            table, keys = next(iter(left.items()))
            raise QualificationError(
                f"{self._dut.name}: {table}|{next(iter(keys))} in CONFIG_DB is not what was written;"
                f" {self._reservation.remedy}"
            )
        clock.sleep(FOLLOW_S)


def with_tags(lab: Lab, vlan_id: int) -> Lab:
    """What to measure with while the ports sort frames by their VLAN tag: each flow's frames have that of its class,
    and all have the DSCP values of one priority, the one with most, so that nothing but the tag tells them apart."""
    qos = lab.subject.qos
    shared = max(qos.dscps.values(), key=len)
    subject = replace(lab.subject, qos=replace(qos, dscps=dict.fromkeys(PRIORITIES, shared)))
    return _with_classes(lab, subject, vlan_id)


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
    return replace(_with_classes(lab, replace(lab.subject, qos=qos)), config_db=changed)


def _with_classes(lab: Lab, subject: PortUnderTest, vlan_id: int | None = None) -> Lab:
    """The lab where the pair sorts frames in another way than other ports: nothing is sent beside."""
    return replace(lab, subject=subject, builder=replace(lab.builder, subject=subject, beside=None, vlan_id=vlan_id))


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


def reference(row: Row, field: str, table: str) -> str:
    """How this switch refers to the map that is made: older images write `[TABLE|name]`."""
    return f"[{table}|{NAME}]" if str(row.get(field, "")).startswith("[") else NAME


@dataclass(frozen=True)
class LosslessChange:
    """Which numbers are lossless now, and which shall be."""

    now: frozenset[int]
    wanted: frozenset[int]


def _of_port(
    config_db: ConfigDb, device: str, table: str, port: str, change: LosslessChange, needed: Sequence[int]
) -> dict[str, Row | None]:
    """What changes of a port's rows in BUFFER_PG, BUFFER_QUEUE or QUEUE.

    Args:
        config_db: CONFIG_DB as it is.
        device: the switch, for messages.
        table: one of the three.
        port: whose rows.
        change: what becomes lossless or lossy.
        needed: what else has to have a row.
    """
    keys = dict(sorted(keys_of_port(config_db, device, table, port).items(), key=lambda item: -len(item[1])))
    found = {number: config_db[table][key] for key, covered in keys.items() for number in covered}
    models = {
        role: next((found[number] for number in sorted(found) if number < 8 and (number in change.now) is role), None)
        for role in (True, False)
    }
    rows: dict[int, Row | None] = {}
    for number in {*found, *change.wanted, *needed}:
        is_lossless = number in change.wanted
        stays = number in found and (number in change.now) is is_lossless
        rows[number] = found[number] if stays else models[is_lossless]
    place = next((key.rpartition("|")[0] for key in keys), port)
    groups = change.wanted if table == "BUFFER_PG" and models[True] is not None else ()
    together = {f"{place}|{_key(run)}": rows[run[0]] for run in _neighbours(groups, rows)}
    split = {
        key for key, covered in keys.items() if key not in together
        and any(number in groups or rows[number] != config_db[table][key] for number in covered)
    }
    kept = {*groups, *(number for key, covered in keys.items() if key not in split for number in covered)}
    changed = {f"{place}|{number}": row for number, row in rows.items() if number not in kept and row is not None}
    return {**dict.fromkeys(split), **changed, **together}


def _neighbours(numbers: Iterable[int], rows: Mapping[int, Any]) -> list[list[int]]:
    """Runs of numbers, one above the other, that have the same row."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1 and rows[number] == rows[number - 1]:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _key(run: Sequence[int]) -> str:
    """`3` or `3-4`."""
    return str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}"


def keys_of_port(config_db: ConfigDb, device: str, table: str, port: str) -> dict[str, range]:
    """The keys of a port's rows in such a table, with the numbers that each covers.

    Raises:
        QualificationError: a row is for several ports, or its key has another form.
    """
    found = numbers_by_key(config_db, table, port)
    for key, covered in found.items():
        if "," in key or not covered:
            raise QualificationError(
                f"{device}: {table}|{key} in CONFIG_DB cannot be changed for {port} alone; such a row has a key like"
                f" {port}|3 or {port}|3-4"
            )
    return found


def _differing(config_db: ConfigDb, wanted: Rows) -> dict[str, dict[str, Mapping[str, Any] | None]]:
    """The rows that CONFIG_DB does not have as wanted."""
    found = {
        table: {key: row for key, row in keys.items() if config_db.get(table, {}).get(key) != row}
        for table, keys in wanted.items()
    }
    return {table: keys for table, keys in found.items() if keys}


def _delete(rows: Iterable[tuple[str, str]]) -> str:
    """A shell command: removes these rows (table and key)."""
    return f"sonic-db-cli CONFIG_DB DEL {' '.join(shlex.quote('|'.join(name)) for name in rows)}"


def _drop_fields(now: ConfigDb, coming: Rows) -> list[str]:
    """Shell commands: remove the fields that rows have now and shall not have. `config load` only adds."""
    extra = {
        f"{table}|{key}": sorted({*now.get(table, {}).get(key, {})} - {*(row or {})})
        for table, keys in coming.items() for key, row in keys.items()
    }
    return [
        f"sonic-db-cli CONFIG_DB HDEL {shlex.quote(name)} {' '.join(map(shlex.quote, fields))}"
        for name, fields in extra.items() if fields
    ]
