"""As much of SONiC's Python module of this name as is needed to write APPL_DB's SWITCH_TABLE: what is written there
orchagent takes (sonic-swss `switchorch.cpp`, for a VOQ switch since #4658).
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[5]))

from virtual_testbed.sonic.commands.context import this_switch  # noqa: E402  (the path has to be there first)
from virtual_testbed.sonic.databases import read_hash, read_row  # noqa: E402
from virtual_testbed.sonic.vendor_sdk import CREDIT_WATCHDOG, REFUSES, SDK, SWITCH  # noqa: E402

_FIELD = "credit_watchdog"


class DBConnector:
    """A connection to a database."""

    def __init__(self, database: str, timeout_ms: int, is_tcp: bool = False) -> None:
        self.connection = this_switch().connect(database)


class ProducerStateTable:
    """A table whose rows orchagent consumes."""

    def __init__(self, database: DBConnector, table: str) -> None:
        self._connection = database.connection
        self._table = table

    def set(self, key: str, fields: Sequence[tuple[str, str]]) -> None:
        """Write a row."""
        switch = this_switch()
        for name, value in fields:
            self._connection.call("HSET", f"{self._table}:{key}", name, value)
        wanted = dict(fields).get(_FIELD)
        asic = switch.connect("ASIC_DB")
        is_voq = read_row(switch.config, "DEVICE_METADATA", "localhost").get("switch_type") == "voq"
        if self._table == "SWITCH_TABLE" and wanted and is_voq and REFUSES not in read_hash(asic, SDK):
            asic.call("HSET", SWITCH, CREDIT_WATCHDOG, "false" if wanted == "0" else "true")
