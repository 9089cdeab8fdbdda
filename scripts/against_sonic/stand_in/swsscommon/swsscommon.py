"""As much of sonic-swss-common's Python module as sonic-utilities' commands use on one switch with one ASIC.

Written from what these commands call. The switch's Redis is the one that `$SONIC_CONTEXT` names. A name that does not
exist here is a table's: `CFG_FLEX_COUNTER_TABLE_NAME` is `FLEX_COUNTER_TABLE`; what is no such name fails when it is
used.
"""
from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import redis

_NUMBERS = {"APPL_DB": 0, "ASIC_DB": 1, "COUNTERS_DB": 2, "LOGLEVEL_DB": 3, "CONFIG_DB": 4, "PFC_WD_DB": 5,
            "FLEX_COUNTER_DB": 5, "STATE_DB": 6}
_WITH_BARS = ("CONFIG_DB", "STATE_DB")
_PREFIXES = ("CFG_", "APP_", "STATE_")
_SUFFIX = "_TABLE_NAME"
_TABLES = {"CFG_FLEX_COUNTER_TABLE_NAME": "FLEX_COUNTER_TABLE"}
COUNTERS_TABLE = "COUNTERS"
COUNTERS_SWITCH_NAME_MAP = "COUNTERS_SWITCH_NAME_MAP"


def _client(database: str) -> Any:
    socket = json.loads(Path(os.environ["SONIC_CONTEXT"]).read_text(encoding="utf-8"))["redis_socket"]
    return redis.Redis(unix_socket_path=socket, db=_NUMBERS[database], decode_responses=True)


class SonicDBConfig:
    """Which databases there are."""

    _is_loaded: ClassVar[bool] = False

    @classmethod
    def load_sonic_db_config(cls, *arguments: object) -> None:
        """Nothing is read: the numbers are known."""
        cls._is_loaded = True

    @classmethod
    def isInit(cls) -> bool:
        """Whether that was done."""
        return cls._is_loaded

    isGlobalInit = isInit
    initialize = initializeGlobalConfig = load_sonic_global_db_config = load_sonic_db_config

    @staticmethod
    def get_ns_list() -> list[str]:
        """The switch has one namespace."""
        return [""]

    @staticmethod
    def getSeparator(database: str, *_: object) -> str:
        """Between the parts of a key."""
        return "|" if database in _WITH_BARS else ":"

    @staticmethod
    def getDbId(database: str, *_: object) -> int:
        """Its number."""
        return _NUMBERS[database]


class SonicV2Connector:
    """Connections to all databases of the switch."""

    APPL_DB = "APPL_DB"
    ASIC_DB = "ASIC_DB"
    COUNTERS_DB = "COUNTERS_DB"
    CONFIG_DB = "CONFIG_DB"
    STATE_DB = "STATE_DB"
    FLEX_COUNTER_DB = "FLEX_COUNTER_DB"
    PFC_WD_DB = "PFC_WD_DB"
    LOGLEVEL_DB = "LOGLEVEL_DB"

    def __init__(self, *_: object, **__: object) -> None:
        self._clients: dict[str, Any] = {}

    def connect(self, db_name: str, retry_on: bool = True) -> None:
        """Connect to a database. Raises RuntimeError: there is none of this name."""
        if db_name not in _NUMBERS:
            raise RuntimeError(f"Failed to find {db_name} database")
        self._clients[db_name] = _client(db_name)

    def close(self, *_: object) -> None:
        """End all connections."""
        for client in self._clients.values():
            client.close()

    def get_db_list(self) -> list[str]:
        """The names of all databases."""
        return list(_NUMBERS)

    def get_redis_client(self, db_name: str) -> Any:
        """The client of a database."""
        return self._clients[db_name]

    def get_db_separator(self, db_name: str) -> str:
        """Between the parts of a key."""
        return SonicDBConfig.getSeparator(db_name)

    def get_dbid(self, db_name: str) -> int:
        """Its number."""
        return _NUMBERS[db_name]

    def get_all(self, db_name: str, key: str, *_: object, **__: object) -> dict[str, str]:
        """A hash, by its fields in order, as a C++ map has them; empty: there is none."""
        return dict(sorted(self._clients[db_name].hgetall(key).items()))

    def get(self, db_name: str, key: str, field: str, *_: object, **__: object) -> str | None:
        """A field of a hash."""
        value: str | None = self._clients[db_name].hget(key, field)
        return value

    def keys(self, db_name: str, pattern: str = "*", *_: object, **__: object) -> list[str] | None:
        """Keys that match; None: there are none."""
        return list(self._clients[db_name].keys(pattern)) or None

    def exists(self, db_name: str, key: str) -> bool:
        """Whether there is such a key."""
        return bool(self._clients[db_name].exists(key))

    def set(self, db_name: str, key: str, field: str, value: object, *_: object, **__: object) -> int:
        """Set a field of a hash."""
        return int(self._clients[db_name].hset(key, field, str(value)))

    def hmset(self, db_name: str, key: str, values: Mapping[str, object]) -> None:
        """Set fields of a hash."""
        self._clients[db_name].hset(key, mapping={name: str(value) for name, value in values.items()})

    def hset(self, db_name: str, key: str, field: str, value: object) -> int:
        """Set a field of a hash."""
        return self.set(db_name, key, field, value)

    def delete(self, db_name: str, key: str, *_: object, **__: object) -> int:
        """Delete a key."""
        return int(self._clients[db_name].delete(key))

    def hdel(self, db_name: str, key: str, field: str) -> int:
        """Delete a field of a hash."""
        return int(self._clients[db_name].hdel(key, field))

    def publish(self, db_name: str, channel: str, message: str) -> int:
        """Publish in a channel."""
        return int(self._clients[db_name].publish(channel, message))


class ConfigDBConnector(SonicV2Connector):
    """CONFIG_DB as tables of rows; a field `name@` is a list there."""

    TABLE_NAME_SEPARATOR = KEY_SEPARATOR = "|"

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self.db_name = "CONFIG_DB"

    def connect(self, *_: object, **__: object) -> None:
        """Connect to CONFIG_DB and all others."""
        for name in _NUMBERS:
            super().connect(name)

    db_connect = connect

    @staticmethod
    def serialize_key(key: object) -> str:
        """`("Ethernet0", "3")` as `Ethernet0|3`."""
        return "|".join(map(str, key)) if isinstance(key, (tuple, list)) else str(key)

    @staticmethod
    def deserialize_key(key: str) -> str | tuple[str, ...]:
        """The other way round."""
        parts = tuple(key.split("|"))
        return parts if len(parts) > 1 else key

    @staticmethod
    def raw_to_typed(raw: Mapping[str, str]) -> dict[str, Any]:
        """A row of a hash."""
        return {name.removesuffix("@"): value.split(",") if name.endswith("@") else value
                for name, value in raw.items() if name != "NULL"}

    @staticmethod
    def typed_to_raw(row: Mapping[str, Any] | None) -> dict[str, str]:
        """A hash of a row."""
        raw = {f"{name}@" if isinstance(value, list) else name:
               ",".join(map(str, value)) if isinstance(value, list) else str(value)
               for name, value in (row or {}).items()}
        return raw or {"NULL": "NULL"}

    def get_entry(self, table: str, key: object) -> dict[str, Any]:
        """A row; empty: there is none."""
        return self.raw_to_typed(self.get_all("CONFIG_DB", f"{table.upper()}|{self.serialize_key(key)}"))

    def get_table(self, table: str) -> dict[str | tuple[str, ...], dict[str, Any]]:
        """All rows of a table, by their keys in order, as a C++ map has them."""
        keys = sorted(self.keys("CONFIG_DB", f"{table.upper()}|*") or [])
        return {self.deserialize_key(key.split("|", 1)[1]): self.raw_to_typed(self.get_all("CONFIG_DB", key))
                for key in keys}

    def get_keys(self, table: str, split: bool = True) -> list[str | tuple[str, ...]]:
        """The keys of a table."""
        return list(self.get_table(table))

    def get_config(self) -> dict[str, dict[str | tuple[str, ...], dict[str, Any]]]:
        """All tables."""
        names = {key.split("|", 1)[0] for key in self.keys("CONFIG_DB", "*|*") or []}
        return {name: self.get_table(name) for name in names}

    def set_entry(self, table: str, key: object, data: Mapping[str, Any] | None) -> None:
        """Make a row so; None: delete it."""
        name = f"{table.upper()}|{self.serialize_key(key)}"
        self.delete("CONFIG_DB", name)
        if data is not None:
            self.hmset("CONFIG_DB", name, self.typed_to_raw(data))

    def mod_entry(self, table: str, key: object, data: Mapping[str, Any] | None) -> None:
        """Change fields of a row; None: delete it."""
        if data is None:
            self.set_entry(table, key, None)
        else:
            self.hmset("CONFIG_DB", f"{table.upper()}|{self.serialize_key(key)}", self.typed_to_raw(data))

    def mod_config(self, data: Mapping[str, Mapping[Any, Mapping[str, Any] | None]]) -> None:
        """Change rows."""
        for table, rows in data.items():
            for key, row in rows.items():
                self.mod_entry(table, key, row)


ConfigDBPipeConnector = ConfigDBConnector


class PortCounter:
    """Ports, for `CounterTable`."""

    name_map = "COUNTERS_PORT_NAME_MAP"


class CounterTable:
    """Counters by the names of objects, in a database."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def get(self, kind: PortCounter, name: str) -> tuple[bool, list[tuple[str, str]]]:
        """Whether there is such an object, and its counters."""
        oid = self._client.hget(kind.name_map, name)
        counters = self._client.hgetall(f"COUNTERS:{oid}") if oid else {}
        return bool(oid), list(counters.items())


def __getattr__(name: str) -> str:
    """A table's name; AttributeError for any other."""
    if name in _TABLES:
        return _TABLES[name]
    for prefix in _PREFIXES:
        if name.startswith(prefix) and name.endswith(_SUFFIX):
            return name.removeprefix(prefix).removesuffix(_SUFFIX)
    raise AttributeError(f"{name} is not in this stand-in of sonic-swss-common")
