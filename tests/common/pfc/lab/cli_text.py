"""Reads what SONiC's commands print. Text in, immutable values out; nothing here talks to a switch."""

from __future__ import annotations

import re
from itertools import takewhile

from ..model.counters import WatchdogRow
from ..model.errors import QualificationError
from ..model.ports import PortState

Row = dict[str, str]

NOT_COUNTED = "N/A"
STATE_COLUMNS = {"Interface", "Oper", "Admin", "Speed"}
WATCHDOG_COUNTS = ("STORM DETECTED/RESTORED", "TX OK/DROP", "RX OK/DROP", "TX LAST OK/DROP", "RX LAST OK/DROP")


def table_rows(text: str) -> list[Row]:
    """The rows, as column -> cell, of every table in `text` that is drawn with a line of dashes under its header."""
    found: list[Row] = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if number and re.fullmatch(r"\s*-+(\s+-+)*\s*", line):
            starts, ends = zip(*(match.span() for match in re.finditer(r"-+", line)), strict=True)
            spans = list(zip(starts, (*ends[:-1], None), strict=True))  # the last column's cells may be wider
            header = [lines[number - 1][start:end].strip() for start, end in spans]
            for row in takewhile(str.strip, lines[number + 1:]):
                found.append({name: row[start:end].strip() for name, (start, end) in zip(header, spans, strict=True)})
    return found


def pfc_counters(text: str, direction: str) -> dict[str, tuple[int, ...]]:
    """`show pfc counters`: port -> PFC frames counted for priorities 0 to 7 in a direction, `Rx` or `Tx`. Ports without
    a count of each (`N/A`, as management and backplane ports have it) are absent; raises QualificationError where there
    is no such table."""
    label = f"Port {direction}"
    if not (rows := [row for row in table_rows(text) if label in row]):
        what = "port, as on a switch that restarts," if label in text else "table"
        raise QualificationError(f"`show pfc counters` printed no {what} with a column `{label}`: {first_line(text)!r}")
    counts = {row[label]: [row.get(f"PFC{priority}", NOT_COUNTED) for priority in range(8)] for row in rows}
    return {port: tuple(map(number, cells)) for port, cells in counts.items() if NOT_COUNTED not in cells}


def queue_packets(text: str, port: str, column: str = "Counter/pkts") -> dict[int, int]:
    """`show queue counters`: unicast queue of a port -> packets that left through it, or those of another column;
    queues that are not counted (`N/A`) are absent. Raises QualificationError where none is counted."""
    found = {
        queue: number(row[column])
        for row in table_rows(text)
        if row.get("Port") == port and row.get(column, NOT_COUNTED) != NOT_COUNTED
        and (queue := unicast_queue(row.get("TxQ", ""))) is not None
    }
    if not found:
        raise QualificationError(
            f"`show queue counters` printed no counted unicast queue of {port} ({column}): {first_line(text)!r}"
        )
    return found


def unicast_queue(name: str) -> int | None:
    """The number of a queue that unicast frames take: `UC3`, `ALL3` (of switches whose queues take all frames), `VOQ3`
    (virtual output queue); None: another one, `MC3`."""
    match = re.fullmatch(r"(?:UC|ALL|VOQ)(\d+)", name)
    return int(match[1]) if match else None


def interface_states(text: str) -> dict[str, PortState]:
    """`show interfaces status`: port -> state."""
    rows = [row for row in table_rows(text) if STATE_COLUMNS <= row.keys()]
    if not rows:
        raise QualificationError(f"`show interfaces status` printed no port: {first_line(text)!r}")
    return {
        row["Interface"]: PortState(row["Oper"] == "up", row["Admin"] == "up", speed_mbps(row["Speed"]))
        for row in rows
    }


def watchdog_rows(text: str) -> dict[str, WatchdogRow]:
    """`pfcwd show stats`: `Ethernet0:3` -> its row. The command prints no row for a queue that never stormed."""
    rows: dict[str, WatchdogRow] = {}
    for row in (row for row in table_rows(text) if "QUEUE" in row):
        if missing := [name for name in ("STATUS", *WATCHDOG_COUNTS) if name not in row]:
            raise QualificationError(f"`pfcwd show stats` has no column {', '.join(missing)}: {first_line(text)!r}")
        counts = [number(text) for name in WATCHDOG_COUNTS for text in re.findall(f"{NOT_COUNTED}|[^/]+", row[name])]
        rows[row["QUEUE"]] = WatchdogRow(row["STATUS"], *counts[:-4], last=tuple(counts[-4:]))
    return rows


def version_fields(text: str) -> dict[str, str]:
    """`show version`: the lines `Name: value`."""
    pairs = (line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return {name.strip(): value.strip() for name, value in pairs}


def speed_mbps(text: str) -> int:
    """`100G` or `10M` as Mb/s; 0 when the switch does not say."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([GM])", text)
    return round(float(match[1]) * {"G": 1000, "M": 1}[match[2]]) if match else 0


def number(text: str) -> int:
    """A counter as SONiC prints it (`1,234`); raises QualificationError for `N/A` or anything else that is no
    number."""
    digits = text.replace(",", "").strip()
    if not re.fullmatch(r"-?\d+", digits):
        why = ": its counters are not being polled" if digits == NOT_COUNTED else ""
        raise QualificationError(f"the switch printed {text!r} where a counter belongs{why}")
    return int(digits)


def first_line(text: str) -> str:
    """The first line that says something, for messages."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
