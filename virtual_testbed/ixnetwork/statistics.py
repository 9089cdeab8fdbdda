"""IxNetwork's views of statistics, as the files that clients download."""
from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from virtual_testbed.ixnetwork.chassis import TakenStatistics
from virtual_testbed.ixnetwork.tree import Node

TRAFFIC_ITEMS = "Traffic Item Statistics"
FLOWS = "Flow Statistics"
PORTS = "Port Statistics"
VIEWS = (FLOWS, TRAFFIC_ITEMS, PORTS)
FLOW_COLUMNS = {
    "Tx Frames": "frames_tx", "Rx Frames": "frames_rx", "Tx Frame Rate": "frames_tx_rate",
    "Rx Frame Rate": "frames_rx_rate", "Tx Bytes": "bytes_tx", "Rx Bytes": "bytes_rx",
    "Tx L1 Rate (bps)": "tx_l1_rate_bps", "Rx L1 Rate (bps)": "rx_l1_rate_bps", "Tx Rate (Bps)": "tx_rate_bytes",
    "Rx Rate (Bps)": "rx_rate_bytes", "Tx Rate (bps)": "tx_rate_bps", "Rx Rate (bps)": "rx_rate_bps",
    "Tx Rate (Kbps)": "tx_rate_kbps", "Rx Rate (Kbps)": "rx_rate_kbps", "Tx Rate (Mbps)": "tx_rate_mbps",
    "Rx Rate (Mbps)": "rx_rate_mbps"}
PORT_COLUMNS = {
    "Frames Tx.": "frames_tx", "Valid Frames Rx.": "frames_rx", "Frames Tx. Rate": "frames_tx_rate",
    "Valid Frames Rx. Rate": "frames_rx_rate", "Bytes Tx.": "bytes_tx", "Bytes Rx.": "bytes_rx",
    "Bytes Tx. Rate": "bytes_tx_rate", "Bytes Rx. Rate": "bytes_rx_rate", "CRC Errors": "crc_errors"}


def view_file(title: str, statistics: TakenStatistics, root: Node) -> bytes:
    """A view as the file of a snapshot: a line of titles, then one line a traffic item or port, without quotes (a comma
    in a name breaks it, as IxNetwork's own clients have found).

    Args:
        title: of the view.
        statistics: what was last taken.
        root: the session's objects.
    """
    rows = _port_rows(statistics) if title == PORTS else _flow_rows(statistics, root)
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONE, quotechar=None, escapechar="\0", lineterminator="\n")
    writer.writerow(rows[0] if rows else [])
    writer.writerows(list(row.values()) for row in rows)
    return text.getvalue().replace("\0", "").encode()


def _flow_rows(statistics: TakenStatistics, root: Node) -> list[dict[str, Any]]:
    """One row a traffic item whose statistics are there."""
    return [{"Traffic Item": item["name"], "Tx Port": item["highLevelStream"][0]["txPortName"],
             "Rx Port": "".join(item["highLevelStream"][0]["rxPortNames"][:1]),
             "Loss %": _loss(statistics.flows[item["name"]]),
             **{title: statistics.flows[item["name"]][name] for title, name in FLOW_COLUMNS.items()}}
            for item in root["traffic"]["trafficItem"] if item["name"] in statistics.flows]


def _port_rows(statistics: TakenStatistics) -> list[dict[str, Any]]:
    return [{"Stat Name": _stat_name(row["location"]), "Port Name": name,
             "Link State": "Link Up" if row["link"] == "up" else "Link Down",
             **{title: row[column] for title, column in PORT_COLUMNS.items()}}
            for name, row in statistics.ports.items()]


def _stat_name(location: str) -> str:
    """A port's name in the view: `10.0.0.9/Card01/Port02` of `10.0.0.9;1;2` (OpenIxia's scripts for IxNetwork say so);
    a location of another form is it."""
    host, *numbers = location.split(";")
    if len(numbers) != 2 or not all(number.isdigit() for number in numbers):
        return location
    card, port = map(int, numbers)
    return f"{host}/Card{card:02}/Port{port:02}"


def _loss(row: Mapping[str, Any]) -> float:
    sent = int(row["frames_tx"])
    return round(100 * (1 - int(row["frames_rx"]) / sent), 3) if sent else 0.0
