"""QoS maps of CONFIG_DB, and which of them a port uses."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from virtual_testbed.sonic.databases import Row
from virtual_testbed.sonic.rows import Reader, RowError, priorities_of, reference

_ALL_TO_ZERO = {number: 0 for number in range(8)}


@dataclass(frozen=True)
class PortQosMaps:
    """The maps of one PORT_QOS_MAP row. Maps are total; `dot1p_to_tc` is empty where the tag is not trusted."""

    pfc: frozenset[int]
    watchdog: frozenset[int]
    dscp_to_tc: Mapping[int, int]
    tc_to_queue: Mapping[int, int]
    tc_to_pg: Mapping[int, int]
    pfc_to_queue: Mapping[int, int]
    dot1p_to_tc: Mapping[int, int]


@dataclass(frozen=True)
class QosMaps:
    """QoS maps by name. Without one the hardware has: DSCP to TC 0, TC to queue 0 and PG 0, PFC to queue one to one.

    A `dot1p_to_tc_map` makes a port trust the tag, unless the port has a `dscp_to_tc_map` of its own: SAI leaves open
    which one counts then, and of an IP frame (there are no others here) switches that trust both take the DSCP. The
    global DSCP map does not count as the port's own.
    """

    tables: Mapping[str, Mapping[str, Mapping[int, int]]]
    global_dscp: str | None

    @classmethod
    def read(cls, reader: Reader) -> QosMaps:
        """All maps of a configuration."""
        tables = {name: reader.rows(name, _eight_to_eight) for name in (
            "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "DOT1P_TO_TC_MAP")}
        tables["DSCP_TO_TC_MAP"] = reader.rows("DSCP_TO_TC_MAP", lambda key, row: _map(row, 64))
        name = reader.config.get("PORT_QOS_MAP", {}).get("global", {}).get("dscp_to_tc_map")
        if name is not None and reference(str(name)) not in tables["DSCP_TO_TC_MAP"]:
            reader.complain(f"PORT_QOS_MAP|global ignored: DSCP_TO_TC_MAP|{reference(str(name))} does not exist")
            name = None
        return cls(tables, name)

    def of_port(self, key: str, row: Row) -> PortQosMaps:
        """The maps of one PORT_QOS_MAP row."""
        pfc = priorities_of(row.get("pfc_enable", ""))
        watchdog = priorities_of(row.get("pfcwd_sw_enable", ""))
        zero = {number: 0 for number in range(64)}
        identity = {number: number for number in range(8)}
        trusts_tag = "dot1p_to_tc_map" in row and "dscp_to_tc_map" not in row
        dot1p = self._named("DOT1P_TO_TC_MAP", row.get("dot1p_to_tc_map"), _ALL_TO_ZERO)
        return PortQosMaps(
            pfc, watchdog, self._named("DSCP_TO_TC_MAP", row.get("dscp_to_tc_map", self.global_dscp), zero),
            self._named("TC_TO_QUEUE_MAP", row.get("tc_to_queue_map"), _ALL_TO_ZERO),
            self._named("TC_TO_PRIORITY_GROUP_MAP", row.get("tc_to_pg_map"), _ALL_TO_ZERO),
            self._named("MAP_PFC_PRIORITY_TO_QUEUE", row.get("pfc_to_queue_map"), identity),
            dot1p if trusts_tag else {})

    def _named(self, table: str, name: str | None, default: Mapping[int, int]) -> Mapping[int, int]:
        if name is None:
            return default
        found = self.tables[table].get(reference(name))
        if found is None:
            raise RowError(f"{table}|{reference(name)} does not exist")
        return {**default, **found}


def _eight_to_eight(key: str, row: Row) -> dict[int, int]:
    return _map(row, 8)


def _map(row: Row, size: int) -> dict[int, int]:
    found = {}
    for key, value in row.items():
        if not (key.isdigit() and int(key) < size and str(value).isdigit() and int(value) < 8):
            raise RowError(f"expected 0..{size - 1} -> 0..7, found {key!r} -> {value!r}")
        found[int(key)] = int(value)
    return found
