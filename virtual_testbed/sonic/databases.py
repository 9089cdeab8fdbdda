"""SONiC's databases: their numbers and separators, and CONFIG_DB as nested tables.

Numbers and separators: sonic-swss-common `database_config.json`. Typed fields (`name@` holds a list, the field `NULL`
alone stands for an empty row): `ConfigDBConnector` there.
"""
from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from virtual_testbed.sonic.resp import Connection

NUMBERS = {"APPL_DB": 0, "ASIC_DB": 1, "COUNTERS_DB": 2, "LOGLEVEL_DB": 3, "CONFIG_DB": 4, "PFC_WD_DB": 5,
           "FLEX_COUNTER_DB": 5, "STATE_DB": 6}
SEPARATORS = {name: "|" if name in ("CONFIG_DB", "STATE_DB") else ":" for name in NUMBERS}
Row = dict[str, Any]  # str, or list of str
Config = dict[str, dict[str, Row]]  # table -> key -> field -> value


def connect(path: str, database: str) -> Connection:
    """A connection to a database by its SONiC name.

    Raises:
        KeyError: no such database.
        DatabaseError: Redis does not answer.
    """
    return Connection(path, NUMBERS[database])


@lru_cache(maxsize=4096)  # the rows of a table have the same fields
def natural(text: str) -> tuple[tuple[int, Any], ...]:
    """Sort key of natural order: Ethernet4 before Ethernet40 before Ethernet100."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", text) if part)


def row_from_hash(values: Mapping[str, str]) -> Row:
    """A CONFIG_DB row from its Redis hash."""
    row: Row = {}
    for name, value in values.items():
        if name.endswith("@"):
            row[name[:-1]] = value.split(",") if value else []
        elif name != "NULL":
            row[name] = value
    return row


def hash_from_row(row: Mapping[str, Any]) -> dict[str, str]:
    """The Redis hash of a CONFIG_DB row."""
    if not row:
        return {"NULL": "NULL"}
    return {f"{name}@" if isinstance(value, list) else name:
            ",".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in row.items()}


def read_hash(connection: Connection, key: str) -> dict[str, str]:
    """A hash; empty when there is none."""
    return pairs(connection.call("HGETALL", key))


def pairs(flat: list[str]) -> dict[str, str]:
    """A HGETALL reply as a dictionary."""
    return dict(zip(flat[::2], flat[1::2]))


def read_hashes(connection: Connection, keys: list[str]) -> dict[str, dict[str, str]]:
    """Several hashes in one round trip."""
    return dict(zip(keys, map(pairs, connection.batch([("HGETALL", key) for key in keys]))))


def read_fields(connection: Connection, keys: Sequence[str], fields: Sequence[str]) -> list[dict[str, str]]:
    """Some fields of several hashes in one round trip, a dictionary a key; those that a hash does not have are missing.

    A port's hash of counters has a hundred fields, which takes long to read for a command that shows eight.
    """
    replies = connection.batch([("HMGET", key, *fields) for key in keys])
    return [{field: value for field, value in zip(fields, values) if value is not None} for values in replies]


def read_config(connection: Connection, table: str | None = None) -> Config:
    """CONFIG_DB, or one table of it: tables by name, keys and fields in natural order."""
    names: list[str] = connection.call("KEYS", f"{table}|*" if table else "*|*")
    keys = sorted(names, key=lambda name: (name.split("|", 1)[0], natural(name.split("|", 1)[1])))
    config: Config = {}
    for name, values in read_hashes(connection, keys).items():
        table_name, key = name.split("|", 1)
        fields = {field: values[field] for field in sorted(values, key=natural)}
        config.setdefault(table_name, {})[key] = row_from_hash(fields)
    return config


def read_row(connection: Connection, table: str, key: str) -> Row:
    """One row; empty when absent (or empty)."""
    return row_from_hash(read_hash(connection, f"{table}|{key}"))


def change_row(connection: Connection, table: str, key: str, fields: Mapping[str, Any] | None) -> None:
    """Set some fields of a row, the others stay; None deletes the row."""
    if fields is None:
        connection.call("DEL", f"{table}|{key}")
    else:
        connection.call("HSET", f"{table}|{key}", *_flat(hash_from_row(fields)))


def replace_row(connection: Connection, table: str, key: str, row: Mapping[str, Any]) -> None:
    """Make a row have these fields and no others, in one transaction."""
    name = f"{table}|{key}"
    connection.transaction([("DEL", name), ("HSET", name, *_flat(hash_from_row(row)))])


def add_rows(connection: Connection, rows: Config) -> None:
    """Set the fields of some rows, in one transaction."""
    hashes = _hashes(rows)
    if hashes:
        connection.transaction([("HSET", name, *_flat(values)) for name, values in hashes.items()])


def _flat(values: Mapping[str, str]) -> list[str]:
    return [text for pair in values.items() for text in pair]


def commands_to_reach(current: Config, wanted: Config) -> list[tuple[object, ...]]:
    """Redis commands that turn one configuration into another: only what differs is written."""
    old = _hashes(current)
    new = _hashes(wanted)
    commands: list[tuple[object, ...]] = [("DEL", name) for name in old if name not in new]
    for name, values in new.items():
        before = old.get(name, {})
        gone = [field for field in before if field not in values]
        changed = {field: value for field, value in values.items() if before.get(field) != value}
        if gone:
            commands.append(("HDEL", name, *gone))
        if changed:
            commands.append(("HSET", name, *_flat(changed)))
    return commands


def _hashes(config: Config) -> dict[str, dict[str, str]]:
    return {f"{table}|{key}": hash_from_row(row) for table, rows in config.items() for key, row in rows.items()}


def write_config(connection: Connection, wanted: Config, current: Config | None = None) -> bool:
    """Make CONFIG_DB equal `wanted` in one transaction; False when it was so already."""
    commands = commands_to_reach(read_config(connection) if current is None else current, wanted)
    if not commands:
        return False
    connection.transaction(commands)
    return True


def merge(current: Config, addition: Mapping[str, Any]) -> Config:
    """`current` with the rows of `addition` put in, field by field (`config load`)."""
    merged: Config = {table: {key: dict(row) for key, row in rows.items()} for table, rows in current.items()}
    for table, rows in addition.items():
        for key, row in rows.items():
            merged.setdefault(table, {}).setdefault(key, {}).update(row)
    return merged


def checked_config(data: object, what: str) -> Config:
    """`data` if it has the form of a configuration: table -> key -> field -> value or list of values.

    Raises:
        ValueError: it has not; the text is one sentence.
    """
    if not isinstance(data, dict):
        raise ValueError(f"{what}: expected an object of tables, found {type(data).__name__}")
    config: Config = {}
    for table, rows in data.items():
        if rows is None:
            continue
        if not isinstance(rows, dict):
            raise ValueError(f"{what}: table {table} must be an object of rows, found {type(rows).__name__}")
        config[table] = {key: _checked_row(f"{what}: {table}|{key}", row) for key, row in rows.items()}
    return config


def _checked_row(what: str, row: object) -> Row:
    if not isinstance(row, dict):
        raise ValueError(f"{what} must be an object of fields, found {type(row).__name__}")
    for name, value in row.items():
        values = value if isinstance(value, list) else [value]
        if any(isinstance(part, (dict, list)) or part is None for part in values):
            raise ValueError(f"{what}: field {name} must be text or a list of texts")
    return {name: [str(part) for part in value] if isinstance(value, list) else _text(value)
            for name, value in row.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_json(data: object) -> str:
    """As `sonic-cfggen` prints it: four blanks of indent."""
    return json.dumps(data, indent=4)
