"""What a switch's CONFIG_DB says about priorities: which are lossless, which DSCP values reach them, how large the
buffer is.

Input is CONFIG_DB as `sonic-cfggen -d --print-data` prints it: table -> key (`Ethernet0`, `Ethernet0|3`) -> field ->
value. A *priority* here is the PFC priority; its traffic is that of the traffic class of the same number, and both lead
to the queue of that number: other maps are refused (SONiC's own are all identities).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from .deviations import deviation
from .errors import QualificationError

ConfigDb = Mapping[str, Mapping[str, Mapping[str, Any]]]
PRIORITIES = range(8)
DSCP_VALUES = range(64)


@dataclass(frozen=True)
class PortQos:
    """Priorities of one port of one switch.

    Attributes:
        device, port: names.
        lossless: priorities with PFC enabled, ascending.
        dscps: priority -> DSCP values that reach it; a priority that none reaches is absent.
        dscp_map: name of the `DSCP_TO_TC_MAP` profile.
        config_db: the switch's, for what else it says of the port.
    """

    device: str
    port: str
    lossless: tuple[int, ...]
    dscps: Mapping[int, tuple[int, ...]]
    dscp_map: str
    config_db: ConfigDb = field(default_factory=dict, repr=False, compare=False)

    @property
    def reachable(self) -> tuple[int, ...]:
        """Priorities that some DSCP value reaches, ascending."""
        return tuple(sorted(self.dscps))

    @property
    def reached_lossless(self) -> tuple[int, ...]:
        """The lossless ones of these."""
        return tuple(priority for priority in self.reachable if priority in self.lossless)

    @property
    def reached_lossy(self) -> tuple[int, ...]:
        """The lossy ones of these."""
        return self.others(self.lossless)

    def others(self, than: Collection[int]) -> tuple[int, ...]:
        """Priorities beside these that some DSCP value reaches, ascending."""
        return tuple(priority for priority in self.reachable if priority not in than)

    def check_reached(self, priorities: Collection[int]) -> None:
        """Raises QualificationError where no DSCP value reaches one of these."""
        for priority in priorities:
            if priority not in self.dscps:
                raise QualificationError(
                    f"{self.where(priority)}: no DSCP value reaches it, DSCP_TO_TC_MAP|{self.dscp_map} leads to"
                    f" {list(self.reachable)} only"
                )

    def where(self, priority: int) -> str:
        """`vtb-t0-01 Ethernet8 priority 3`."""
        return f"{self.device} {self.port} priority {priority}"


@dataclass(frozen=True)
class SharedBuffer:
    """The pool that holds lossless frames which cannot leave: its CONFIG_DB key and its bytes."""

    pool: str
    size_bytes: int


def read_port_qos(config_db: ConfigDb, device: str, port: str) -> PortQos:
    """Reads the priorities of `port` from CONFIG_DB; raises QualificationError where a row or map is missing, or one
    leads a priority's data or pauses to a queue of another number."""
    row = config_db.get("PORT_QOS_MAP", {}).get(port)
    if row is None:
        raise QualificationError(
            f"{device} {port}: CONFIG_DB has no PORT_QOS_MAP|{port}, so it has no priorities: deploy QoS first"
        )
    dscp_map, dscp_to_tc = map_of(config_db, device, port, "dscp_to_tc_map", "DSCP_TO_TC_MAP")
    lossless = _lossless(device, port, str(row.get("pfc_enable", "")))
    dscps: dict[int, tuple[int, ...]] = {}
    for dscp, traffic_class in sorted(dscp_to_tc.items()):
        dscps[traffic_class] = dscps.get(traffic_class, ()) + (dscp,)
    qos = PortQos(device, port, lossless, dscps, dscp_map, config_db)
    _check_queues(config_db, qos, "tc_to_queue_map", "TC_TO_QUEUE_MAP", {*qos.reachable, *lossless})
    if "pfc_to_queue_map" in row:
        _check_queues(config_db, qos, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", lossless)
    return qos


def _check_queues(config_db: ConfigDb, qos: PortQos, field: str, table: str, priorities: Collection[int]) -> None:
    """Raises QualificationError where a map of a port does not lead a priority to the queue of the same number."""
    name, queues = map_of(config_db, qos.device, qos.port, field, table)
    for priority in sorted(priorities):
        if queues.get(priority) != priority:
            led = f"leads to queue {queues[priority]}" if priority in queues else "has no entry for it"
            raise QualificationError(f"{qos.where(priority)}: {table}|{name} {led}; expected queue {priority}")


def check_same_classes(rx: PortQos, tx: PortQos) -> None:
    """Both ports of a pair must sort frames alike: the tx port classifies them and is the one that must push back.
    Raises QualificationError where their DSCP maps or their lossless priorities differ."""
    if dict(rx.dscps) != dict(tx.dscps):
        differing = sorted(p for p in PRIORITIES if rx.dscps.get(p) != tx.dscps.get(p))
        raise QualificationError(
            f"{rx.device}: DSCP_TO_TC_MAP|{rx.dscp_map} of {rx.port} and DSCP_TO_TC_MAP|{tx.dscp_map} of {tx.port} "
            f"lead to different priorities ({differing}); both ports need the same map"
        )
    if rx.lossless != tx.lossless:
        raise QualificationError(
            f"{rx.device}: {rx.port} has PFC enabled for {list(rx.lossless)} and {tx.port} for "
            f"{list(tx.lossless)}; both ports need the same priorities"
        )


def read_shared_buffer(config_db: ConfigDb, device: str, asic: str) -> SharedBuffer:
    """The shared buffer against which held traffic is compared; raises QualificationError where the pool or its size is
    missing. `asic`: what is known of the ASIC (`asic_type switch_type platform`), for platforms whose pool has another
    name."""
    pool = deviation("shared-buffer-pool", asic).value
    row = config_db.get("BUFFER_POOL", {}).get(pool)
    if row is None or not str(row.get("size", "")).isdecimal() or not int(row["size"]):
        found = sorted(config_db.get("BUFFER_POOL", {}))
        raise QualificationError(
            f"{device}: CONFIG_DB has no size in BUFFER_POOL|{pool} (pools found: {', '.join(found) or 'none'})"
        )
    return SharedBuffer(pool, int(row["size"]))


def _lossless(device: str, port: str, text: str) -> tuple[int, ...]:
    """The priorities that `pfc_enable` lists, ascending."""
    listed = sorted({part.strip() for part in text.split(",") if part.strip()})
    if any(part not in map(str, PRIORITIES) for part in listed):
        raise QualificationError(
            f"{device} {port}: PORT_QOS_MAP|{port} pfc_enable is {text!r}; it lists priorities from 0 to 7, as in 3,4"
        )
    return tuple(map(int, listed))


def map_of(config_db: ConfigDb, device: str, port: str, field: str, table: str) -> tuple[str, dict[int, int]]:
    """The map that a field of a port's row in PORT_QOS_MAP names, by its name; older images write `[TABLE|name]`, newer
    ones `name`. `table`: that of such maps.

    Raises:
        QualificationError: there is no such map, or something in it is no number.
    """
    reference = str(config_db["PORT_QOS_MAP"][port].get(field, "")).strip("[]").split("|")[-1]
    rows = config_db.get(table, {}).get(reference)
    if not rows:
        raise QualificationError(
            f"{device} {port}: PORT_QOS_MAP|{port} {field} names {reference or 'nothing'}, "
            f"and CONFIG_DB has no {table}|{reference}"
        )
    try:
        return reference, {int(key): int(value) for key, value in rows.items()}
    except ValueError as error:
        raise QualificationError(
            f"{device} {port}: {table}|{reference} holds something that is no number: {error}"
        ) from error
