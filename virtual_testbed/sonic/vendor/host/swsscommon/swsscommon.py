"""As much of SONiC's Python module of this name as is needed to write APPL_DB's SWITCH_TABLE and to read CONFIG_DB.

What is written into SWITCH_TABLE orchagent takes (sonic-swss `switchorch.cpp`, for a VOQ switch since #4658). CONFIG_DB
is as sonic-swss-common's `ConfigDBConnector` shows it. What else SONiC's module has is not here.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

sys.path.append(str(Path(__file__).resolve().parents[5]))

from virtual_testbed.sonic.commands.context import this_switch  # noqa: E402  (the path has to be there first)
from virtual_testbed.sonic.databases import Row, read_config, read_hash, read_row  # noqa: E402
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


class SonicDBConfig:
    """Which databases there are; nothing has to be read for that."""

    _is_loaded: ClassVar[bool] = False

    @classmethod
    def load_sonic_db_config(cls, *_: object) -> None:
        """The switch's own."""
        cls._is_loaded = True

    @classmethod
    def isInit(cls) -> bool:  # noqa: N802
        """Whether that was done."""
        return cls._is_loaded


class ConfigDBConnector:
    """CONFIG_DB as tables of rows; a key of several parts is a tuple. Options make no difference on such a switch."""

    def __init__(self, *_: object, **__: object) -> None:
        """Nothing is read before `connect`."""
        self._switch = this_switch()

    def connect(self, *_: object, **__: object) -> None:
        """Raises DatabaseError: Redis does not answer."""
        self._switch.config.call("PING")

    def get_table(self, table: str) -> dict[str | tuple[str, ...], Row]:
        """All rows; none: there is no such table."""
        rows = read_config(self._switch.config, table.upper()).get(table.upper(), {})
        return {_key(name): row for name, row in rows.items()}

    def get_entry(self, table: str, key: str | Sequence[str]) -> Row:
        """A row; an empty one: there is none."""
        return read_row(self._switch.config, table.upper(), key if isinstance(key, str) else "|".join(key))


def _key(name: str) -> str | tuple[str, ...]:
    parts = tuple(name.split("|"))
    return parts if len(parts) > 1 else name
