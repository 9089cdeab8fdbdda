"""What orchagent writes into the system log about the PFC watchdog (sonic-swss `pfcwdorch.cpp`, `pfcwdsworch.cpp`).

One message for each row of PFC_WD that was written or removed, and for each storm that begins or ends. A storm that
ends because its watchdog is stopped is no message of its own.
"""
from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from virtual_testbed.dataplane.model.counters import WatchdogState
from virtual_testbed.dataplane.model.watchdog_decider import STORMED
from virtual_testbed.sonic.counters import ObjectIds
from virtual_testbed.sonic.databases import Row, natural
from virtual_testbed.sonic.system_log import ERROR, NOTICE, SystemLog
from virtual_testbed.sonic.translate import ACTIONS, DETECTION_MS, RESTORATION_MS
from virtual_testbed.sonic.watchdog_registration import TABLE, Registrations

_TIMES = {"detection_time": DETECTION_MS, "restoration_time": RESTORATION_MS}
_HISTORY = "pfc_stat_history"
_GLOBAL = "GLOBAL"
_BIG_RED_SWITCH = "BIG_RED_SWITCH"


@dataclass(frozen=True)
class Message:
    """What a function of orchagent says."""

    severity: str
    function: str
    text: str

    def write(self, log: SystemLog) -> None:
        """Add it to a log, as SONiC's logger writes it (sonic-swss-common `logger.h`)."""
        log.write(self.severity, f"swss#orchagent: :- {self.function}: {self.text}")


def about_rows(rows: Mapping[str, Row], written: Collection[str], removed: Collection[str], before: Registrations,
               now: Registrations, ports: Collection[str]) -> Iterator[Message]:
    """Messages about PFC_WD.

    Args:
        rows: the table now.
        written, removed: keys of rows of CONFIG_DB (`PFC_WD|Ethernet0`).
        before, now: what was registered, and is.
        ports: of the switch.
    """
    for port in _keys_of(removed):
        if port in ports:
            yield Message(NOTICE, "deleteEntry", f"Stopped PFC Watchdog on port {port}")
        elif port != _GLOBAL:
            yield Message(ERROR, "deleteEntry", f"Invalid port interface {port}")
    keys = _keys_of(written)
    for key in keys:
        if key in rows:
            yield from _about_row(key, rows[key], ports, key in now)
    for port in now:
        if port not in before and port not in keys:  # it has waited for a priority to watch
            yield Message(NOTICE, "createEntry", f"Started PFC Watchdog on port {port}")


def about_storms(then: Mapping[tuple[str, int], WatchdogState], now: Mapping[tuple[str, int], WatchdogState],
                 ids: ObjectIds) -> Iterator[Message]:
    """Messages about the storms between two states of the queues."""
    if now == then:
        return
    for (port, queue), state in now.items():
        was = then.get((port, queue), WatchdogState())
        is_on = was.status == STORMED
        place = (f"on port {port}, queue index {queue}, queue id {ids.queue(port, queue).removeprefix('oid:')} and port"
                 f" id {ids.port(port).removeprefix('oid:')}")
        for _ in range(state.detected - was.detected + state.restored - was.restored):
            if is_on:
                yield Message(NOTICE, "report_pfc_restored", f"PFC Watchdog storm restored {place}.")
            else:
                yield Message(NOTICE, "report_pfc_storm", f"PFC Watchdog detected PFC storm {place}")
            is_on = not is_on


def refusal(port: str, row: Row, ports: Collection[str]) -> str:
    """What orchagent says of a row that it does not take: of the first field that is wrong; empty: it takes it."""
    if port not in ports:
        return f"Invalid port interface {port}"
    for name, value in row.items():
        if said := _refusal_of_field(port, name, str(value)):
            return said
    if "detection_time" not in row:
        return "detection_time missing"
    history = str(row.get(_HISTORY, "disable"))
    return "" if history in ("enable", "disable") else f"{history} is invalid value for {_HISTORY}"


def _refusal_of_field(port: str, name: str, value: str) -> str:
    if name in _TIMES:
        error = _error_of_time(value, *_TIMES[name])
        return f"Failed to parse PFC Watchdog {port} attribute {name} error: {error}." if error else ""
    if name == "action":
        return "" if value in ACTIONS else f"Invalid PFC Watchdog action {value}"
    if name == _HISTORY:
        return ""
    return f"Failed to parse PFC Watchdog {port} configuration. Unknown attribute {name}."


def _error_of_time(text: str, low: int, high: int) -> str:
    """What sonic-swss-common's `to_uint` says of a number (`converter.h`)."""
    if re.fullmatch(r"-?[0-9]{1,19}", text):
        return "" if low <= int(text) <= high else f"failed to convert {text} value is not in range {low} - {high}"
    return f"failed to convert {text} value to uint64_t type" if re.match(r"[+-]?[0-9]", text) else "stoul"


def _about_row(key: str, row: Row, ports: Collection[str], is_registered: bool) -> Iterator[Message]:
    if key == _GLOBAL:
        if _BIG_RED_SWITCH in row:
            yield Message(NOTICE, "createEntry", f"Receive brs mode set, {row[_BIG_RED_SWITCH]}")
    elif said := refusal(key, row, ports):
        yield Message(ERROR, "createEntry", said)
        yield Message(ERROR, "doTask", "Failed to process PFC watchdog SET task, invalid entry")
    elif is_registered:
        yield Message(NOTICE, "createEntry", f"Started PFC Watchdog on port {key}")
    else:
        yield Message(NOTICE, "getLosslessTcsForPort", f"No lossless TC found on port {key}")
        yield Message(ERROR, "createEntry", f"Failed to start PFC Watchdog on port {key}")


def _keys_of(names: Collection[str]) -> list[str]:
    return sorted((name.removeprefix(f"{TABLE}|") for name in names if name.startswith(f"{TABLE}|")), key=natural)
