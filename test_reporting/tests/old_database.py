"""A database as the first version of the schema had it, with a run in it."""
from __future__ import annotations

import json
from typing import Any

from test_reporting.pfc.engine import Database
from test_reporting.pfc.upgrade import upgrade

STARTED = "2026-01-31T13:00:00.000000Z"
LABELS = json.dumps({"device.on_behalf_of": "t1-01", "x": "a:b %s 'quoted'"})
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "runs": [("r", "vtb-t0", STARTED, STARTED, "FAIL", "c", "qualification", "job-7", "0.1.0", "[]", "{}")],
    "records": [("id-1", "r", "verdict", STARTED, "vtb-t0", "d", "p", 3, "s", "PFC-1", "pfc.lossless", 1, "", "FAIL",
                 "c", "os", "sku", "{}", LABELS, "{}"),
                ("id-2", "r", "final", STARTED, "vtb-t0", "d", "p", None, "", "", "rate", 2.5, "s", None, None, "os",
                 "sku", "{}", "{}", "{}")],
    "checks": [("id-1", 0, "r", "check", "pfc.lossless", 1, "FAIL", "0", "1", "d p", "expected 0, got 1")],
    "metrics": [("m-1", "r", "vtb-t0", "d", "p", "pfc.lossless", 1, "", "FAIL", "c", STARTED, "os", "sku", LABELS),
                ("id-2", "r", "vtb-t0", "d", "p", "rate", 2.5, "s", None, None, STARTED, "os", "sku", "{}")],
}


def make(url: str, evidence: str = "{}") -> None:
    """Make it; `evidence` is that of its verdict."""
    with Database(url).changing() as connection:
        upgrade(connection, url, "nothing", "0001")
        mark = "%s" if connection.dialect.name == "postgresql" else "?"
        for table, rows in ROWS.items():
            for row in rows:
                row = (*row[:-3], evidence, *row[-2:]) if row[0] == "id-1" and table == "records" else row
                connection.exec_driver_sql(f"insert into {table} values ({', '.join([mark] * len(row))})", row)
