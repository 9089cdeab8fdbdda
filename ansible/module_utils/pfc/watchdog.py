"""What `pfcwd` makes of CONFIG_DB's table PFC_WD: predicted without a switch.

Source: sonic-utilities `pfcwd/main.py`. `stop` removes the rows of ports and leaves GLOBAL; `start` replaces a row but
keeps its pfc_stat_history; `start_default` replaces the rows of the ports in DEVICE_NEIGHBOR and of internal ports,
where they have pfc_enable, and sets GLOBAL's POLL_INTERVAL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from ansible.module_utils.pfc.config_db import ConfigDbError, Row, natural

TABLE = "PFC_WD"
GLOBAL = "GLOBAL"
DEFAULT_MS = 200
PORTS_PER_DEFAULT = 32
LONGEST_POLL_MS = 1000
NO_HISTORY = "disable"

Rows = dict[str, Row]


@dataclass(frozen=True)
class StartArguments:
    """Arguments of `pfcwd start`; times in ms, `restoration_ms` None for the command's own (twice the detection)."""

    action: str = "drop"
    detection_ms: int = DEFAULT_MS
    restoration_ms: int | None = None
    poll_ms: int | None = None

    @property
    def restored_after_ms(self) -> int:
        """The restoration time that results."""
        return 2 * self.detection_ms if self.restoration_ms is None else self.restoration_ms

    def check(self) -> None:
        """Refuse what SONiC's YANG model refuses.

        Raises:
            ConfigDbError: a value is out of its range.
        """
        for name, value, low, high in (("detection_time", self.detection_ms, 100, 5000),
                                       ("restoration_time", self.restored_after_ms, 100, 60000),
                                       ("poll_interval", self.poll_ms, 100, LONGEST_POLL_MS)):
            if value is not None and not low <= value <= high:
                raise ConfigDbError(f"{name} is {value} ms, and must be {low} to {high} ms")
        shortest = min(self.detection_ms, self.restored_after_ms)
        if self.poll_ms is not None and self.poll_ms > shortest:
            raise ConfigDbError(f"poll_interval is {self.poll_ms} ms, and must not be above the shortest of the times "
                                f"({shortest} ms)")


def with_rows(tables: Mapping[str, Any]) -> Rows:
    """The table PFC_WD of a configuration."""
    return {key: dict(row) for key, row in tables.get(TABLE, {}).items()}


def normal(rows: Mapping[str, Row]) -> Rows:
    """Rows for a comparison: a missing pfc_stat_history means `disable`, as older images have no such field."""
    return {key: row if key == GLOBAL else {"pfc_stat_history": NO_HISTORY, **row} for key, row in rows.items()}


def same(one: Mapping[str, Row], other: Mapping[str, Row]) -> bool:
    """Whether two PFC_WD tables mean the same."""
    return normal(one) == normal(other)


def chosen_ports(tables: Mapping[str, Any], ports: Iterable[str]) -> list[str]:
    """The ports named, or every port for `all`.

    Raises:
        ConfigDbError: a name is not a port of the switch.
    """
    existing = sorted(tables.get("PORT", {}), key=natural)
    names = list(dict.fromkeys(ports))
    if "all" in names:
        return existing
    for name in names:
        if name not in existing:
            raise ConfigDbError(f"port {name} does not exist; the switch has {', '.join(existing) or 'none'}")
    return names


def after_stop(tables: Mapping[str, Any], ports: Iterable[str]) -> Rows:
    """PFC_WD after `pfcwd stop PORTS`."""
    gone = set(ports)
    return {key: row for key, row in with_rows(tables).items() if key not in gone}


def after_start(tables: Mapping[str, Any], ports: list[str], arguments: StartArguments, every_port: bool) -> Rows:
    """PFC_WD after `pfcwd start` on these ports.

    Args:
        tables: the configuration.
        ports: names of existing ports.
        arguments: the command's arguments.
        every_port: the ports were asked for as `all`: those without pfc_enable are passed over, not refused.

    Raises:
        ConfigDbError: a port that was named has no pfc_enable, so that the command would pass over it.
    """
    enabled = [port for port in ports if pfc_enabled(tables, port)]
    if not every_port and enabled != ports:
        refused = next(port for port in ports if port not in enabled)
        raise ConfigDbError(f"PFC is not enabled on port {refused} (PORT_QOS_MAP|{refused} has no pfc_enable)")
    rows = with_rows(tables)
    for port in enabled:
        rows[port] = {"action": arguments.action, "detection_time": str(arguments.detection_ms),
                      "restoration_time": str(arguments.restored_after_ms),
                      "pfc_stat_history": rows.get(port, {}).get("pfc_stat_history", NO_HISTORY)}
    _check_poll(rows, arguments.poll_ms)
    return _with_poll(rows, arguments.poll_ms)


def _check_poll(rows: Rows, poll_ms: int | None) -> None:
    """`pfcwd interval` refuses what is above any port's times; it must not do so after `pfcwd start` has run."""
    for port in sorted(rows, key=natural):
        for name in ("detection_time", "restoration_time"):
            time = str(rows[port].get(name, ""))
            if poll_ms is not None and time.isdigit() and int(time) < poll_ms:
                raise ConfigDbError(f"poll_interval is {poll_ms} ms for all ports, and must not be above {port}'s "
                                    f"{name} ({time} ms)")


def after_default(tables: Mapping[str, Any]) -> list[Rows]:
    """PFC_WD after `pfcwd start_default`: what any release would leave, the most common first.

    The times grow with a number of ports: all of PORT, or in newer releases those that get a watchdog.
    """
    if not defaults_on(tables):
        return [with_rows(tables)]
    ports = default_ports(tables)
    return [_default_rows(tables, ports, count) for count in (len(tables.get("PORT", {})), len(ports))]


def _default_rows(tables: Mapping[str, Any], ports: list[str], count: int) -> Rows:
    """PFC_WD after `start_default` that counted this many ports."""
    time_ms = DEFAULT_MS * max(1, (count - 1) // PORTS_PER_DEFAULT + 1)
    rows = with_rows(tables)
    for port in ports:
        rows[port] = {"action": "drop", "detection_time": str(time_ms), "restoration_time": str(time_ms),
                      "pfc_stat_history": NO_HISTORY}
    return _with_poll(rows, min(time_ms, LONGEST_POLL_MS))


def defaults_on(tables: Mapping[str, Any]) -> bool:
    """Whether `start_default` does anything on this switch."""
    return str(_metadata(tables).get("default_pfcwd_status", "")).lower() == "enable"


def default_ports(tables: Mapping[str, Any]) -> list[str]:
    """Ports that `start_default` gives a watchdog."""
    rows = tables.get("PORT", {})
    internal = [name for name, row in rows.items() if row.get("admin_status") == "up" and row.get("role") == "Int"]
    return sorted((name for name in {*tables.get("DEVICE_NEIGHBOR", {}), *internal} if pfc_enabled(tables, name)),
                  key=natural)


def pfc_enabled(tables: Mapping[str, Any], port: str) -> bool:
    """Whether the port has lossless priorities."""
    return tables.get("PORT_QOS_MAP", {}).get(port, {}).get("pfc_enable") is not None


def start_commands(ports: list[str], arguments: StartArguments, poll_now: str | None) -> list[list[str]]:
    """The commands for `started`; `ports` may be ["all"].

    The poll interval must never be above a port's times: it goes down first and up last.
    """
    start = ["pfcwd", "start", "--action", arguments.action, "--restoration-time", str(arguments.restored_after_ms),
             *ports, str(arguments.detection_ms)]
    if arguments.poll_ms is None or str(arguments.poll_ms) == poll_now:
        return [start]
    interval = ["pfcwd", "interval", str(arguments.poll_ms)]
    lower = poll_now is not None and poll_now.isdigit() and arguments.poll_ms < int(poll_now)
    return [interval, start] if lower else [start, interval]


def restore_steps(now: Mapping[str, Row], wanted: Mapping[str, Row]) -> tuple[list[str], bool, Rows]:
    """How to get from one PFC_WD table to exactly another.

    Returns:
        (ports to `pfcwd stop`, whether row GLOBAL must go first, rows to load).
    """
    different = [key for key in now if now[key] != wanted.get(key)]
    load = {key: dict(row) for key, row in wanted.items() if now.get(key) != row}
    stale = set(now.get(GLOBAL, {})) - set(wanted.get(GLOBAL, {}))
    drop_global = GLOBAL in now and (GLOBAL not in wanted or bool(stale))
    return sorted((key for key in different if key != GLOBAL), key=natural), drop_global, load


def _with_poll(rows: Rows, poll_ms: int | None) -> Rows:
    """Rows with GLOBAL's POLL_INTERVAL set."""
    if poll_ms is None:
        return rows
    return {**rows, GLOBAL: {**rows.get(GLOBAL, {}), "POLL_INTERVAL": str(poll_ms)}}


def _metadata(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """DEVICE_METADATA|localhost."""
    row: Mapping[str, Any] = tables.get("DEVICE_METADATA", {}).get("localhost", {})
    return row
