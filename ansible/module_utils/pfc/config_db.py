"""CONFIG_DB as `sonic-cfggen -d --print-data` prints it, and how to get from one state of it to another.

Tables are dictionaries {table: {key: {field: value}}}; keys are whole (`Vlan1000|Ethernet0`), a row without fields
is {}.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import tempfile
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping

Row = dict[str, Any]
Tables = dict[str, dict[str, Row]]
# AnsibleModule.run_command: (exit status, stdout, stderr)
Run = Callable[[list[str]], "tuple[int, str, str]"]

RUNNING_CONFIG = ["sonic-cfggen", "-d", "--print-data"]
PERSISTENT_CONFIG = "/etc/sonic/config_db.json"
NEVER_REMOVED = {"LOOPBACK_INTERFACE": "Loopback0", "PFC_WD": "GLOBAL"}
"""Rows that SONiC lets no patch remove, unless it removes the whole table (sonic-utilities `gu_common.py`)."""


class ConfigDbError(Exception):
    """The configuration cannot be read, changed or understood; the text is one sentence."""


@dataclass(frozen=True)
class Wanted:
    """What CONFIG_DB shall contain; anything not named stays as it is.

    Attributes:
        tables: rows that shall be there, with exactly these fields.
        merge: tables of which only the fields named in `tables` are managed.
        absent: {table: patterns of keys}: such rows go unless `tables` has them.
        exact: {table: rows or None}: the whole table, None for no such table.
    """

    tables: Tables = field(default_factory=dict)
    merge: frozenset[str] = frozenset()
    absent: Mapping[str, Iterable[str]] = field(default_factory=dict)
    exact: Mapping[str, "dict[str, Row] | None"] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Every table that may change."""
        return sorted({*self.tables, *self.absent, *self.exact})


def natural(text: str) -> list[tuple[int, int, str]]:
    """Sort key that puts Ethernet4 before Ethernet40 and numbers before letters."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", text) if part]


def read_running(run: Run) -> Tables:
    """The running configuration.

    Raises:
        ConfigDbError: the command failed or printed something else than CONFIG_DB.
    """
    status, out, err = run(RUNNING_CONFIG)
    if status != 0:
        raise ConfigDbError(f"`{' '.join(RUNNING_CONFIG)}` ended with status {status}: {last_line(err or out)}")
    return parse_tables(out, f"the output of `{' '.join(RUNNING_CONFIG)}`")


def parse_tables(text: str, what: str, only: Iterable[str] = ()) -> Tables:
    """JSON of CONFIG_DB, `only` of these tables if some are named; `what` names it in errors."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ConfigDbError(f"{what} is not JSON ({error})") from error
    if isinstance(data, dict) and only:
        data = {table: data[table] for table in only if table in data}
    if not isinstance(data, dict) or not all(isinstance(rows, dict) for rows in data.values()):
        raise ConfigDbError(f"{what} is not a set of tables")
    return data


def last_line(text: str) -> str:
    """The line of a command's output that says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def as_strings(tables: Mapping[str, Any]) -> Tables:
    """Tables as written in YAML, with numbers as CONFIG_DB has them: strings (lists stay lists of strings)."""
    return {str(table): {str(key): {str(name): _value(value) for name, value in (row or {}).items()}
                         for key, row in (rows or {}).items()} for table, rows in tables.items()}


def _value(value: Any) -> Any:
    """One value as CONFIG_DB has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return [str(item) for item in value] if isinstance(value, list) else str(value)


def apply_wanted(running: Mapping[str, Any], wanted: Wanted) -> Tables:
    """The tables of `wanted.names` as they shall be; a table that shall not exist is missing."""
    result: Tables = {}
    for table in wanted.names:
        rows = _wanted_rows(running.get(table, {}), table, wanted)
        if rows:
            result[table] = rows
    return result


def _wanted_rows(found: Mapping[str, Row], table: str, wanted: Wanted) -> dict[str, Row]:
    """One table as it shall be."""
    if table in wanted.exact:
        rows = dict(wanted.exact[table] or {})
        never = NEVER_REMOVED.get(table, "")
        return {never: found[never], **rows} if rows and never in found else rows
    named = wanted.tables.get(table, {})
    patterns = list(wanted.absent.get(table, ()))
    kept = {key: row for key, row in found.items()
            if not any(fnmatch.fnmatchcase(key, pattern) for pattern in patterns)}
    if table in wanted.merge:
        named = {key: {**found.get(key, {}), **row} for key, row in named.items()}
    return {**kept, **named}


def changed_rows(before: Mapping[str, Any], after: Mapping[str, Any], names: Iterable[str]) -> tuple[Tables, Tables]:
    """Only the rows that differ, as they are and as they shall be."""
    old: Tables = {}
    new: Tables = {}
    for table in sorted(names):
        was = before.get(table, {})
        becomes = after.get(table, {})
        for key in sorted({*was, *becomes}, key=natural):
            if was.get(key) == becomes.get(key):
                continue
            for rows, side in ((was, old), (becomes, new)):
                if key in rows:
                    side.setdefault(table, {})[key] = rows[key]
    return old, new


def make_patch(before: Mapping[str, Any], after: Mapping[str, Any], names: Iterable[str]) -> list[dict[str, Any]]:
    """The RFC 6902 patch that turns the tables `names` of `before` into those of `after`.

    SONiC refuses a patch that leaves an empty table, so a table goes with its last row.
    """
    patch: list[dict[str, Any]] = []
    for table in sorted(names):
        was = before.get(table)
        becomes = after.get(table)
        if not becomes:
            patch += [{"op": "remove", "path": pointer(table)}] if was is not None else []
        elif was is None:
            patch.append({"op": "add", "path": pointer(table), "value": becomes})
        else:
            patch += _row_steps(table, was, becomes)
    return patch


def _row_steps(table: str, was: Mapping[str, Row], becomes: Mapping[str, Row]) -> list[dict[str, Any]]:
    """Steps inside one table: rows that go, rows that come, fields that change."""
    steps: list[dict[str, Any]] = []
    for key in sorted({*was, *becomes}, key=natural):
        if key not in becomes:
            steps.append({"op": "remove", "path": pointer(table, key)})
        elif key not in was:
            steps.append({"op": "add", "path": pointer(table, key), "value": becomes[key]})
        else:
            steps += _field_steps([table, key], was[key], becomes[key])
    return steps


def _field_steps(path: list[str], was: Row, becomes: Row) -> list[dict[str, Any]]:
    """Steps inside one row."""
    steps: list[dict[str, Any]] = []
    for name in sorted({*was, *becomes}):
        if name not in becomes:
            steps.append({"op": "remove", "path": pointer(*path, name)})
        elif was.get(name) != becomes[name]:
            step = "replace" if name in was else "add"
            steps.append({"op": step, "path": pointer(*path, name), "value": becomes[name]})
    return steps


def set_speeds(run: Run, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Give ports another speed by `config interface speed`, one by one: `config apply-patch` takes tens of minutes for
    them (sonic-buildimage 23945).

    Raises:
        ConfigDbError: SONiC refused one.
    """
    found = before.get("PORT", {})
    speeds = {port: row["speed"] for port, row in after.get("PORT", {}).items()
              if port in found and "speed" in row and row["speed"] != found[port].get("speed")}
    for port in sorted(speeds, key=natural):
        command = ["config", "interface", "speed", port, speeds[port]]
        status, out, err = run(command)
        if status != 0:
            raise ConfigDbError(f"`{' '.join(command)}` ended with status {status}: {last_line(err or out)}")


def pointer(*parts: str) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def apply_patch(run: Run, patch: list[dict[str, Any]]) -> None:
    """Hand a patch (RFC 6902) to `config apply-patch`.

    Raises:
        ConfigDbError: SONiC refused it; nothing is changed then.
    """
    run_with_file(run, ["config", "apply-patch"], patch)


def run_with_file(run: Run, command: list[str], data: Any, options: Iterable[str] = ()) -> str:
    """What `command FILE options...` prints, with FILE holding `data` as JSON.

    Raises:
        ConfigDbError: the command failed.
    """
    handle, path = tempfile.mkstemp(suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=2)
        status, out, err = run([*command, path, *options])
    finally:
        os.unlink(path)
    if status != 0:
        raise ConfigDbError(f"`{' '.join(command)}` ended with status {status}: {last_line(err or out)}")
    return out


def unlike(running: Mapping[str, Any], wanted: Mapping[str, Any], names: Iterable[str]) -> str:
    """The first row that is not as wanted, as text for a message; empty when all are."""
    found, expected = changed_rows(running, wanted, names)
    for table in sorted({*found, *expected}):
        for key in sorted({*found.get(table, {}), *expected.get(table, {})}, key=natural):
            seen = found.get(table, {}).get(key)
            right = expected.get(table, {}).get(key)
            return f"{table}|{key} is {_shown(seen)} and should be {_shown(right)}"
    return ""


def _shown(row: Row | None) -> str:
    """A row in a message."""
    return "absent" if row is None else json.dumps(row, sort_keys=True)


def read_backup(path: str) -> dict[str, Any] | None:
    """Tables that were saved ({table: rows, or None where there was no such table}); None without a file.

    Raises:
        ConfigDbError: the file is not one that `write_backup` wrote.
    """
    if not os.path.exists(path):
        return None
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        tables = data["tables"]
        if not all(rows is None or isinstance(rows, dict) for rows in tables.values()):
            raise TypeError("a table is not a set of rows")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigDbError(f"{path} is not a saved configuration ({type(error).__name__}: {error}); "
                            "delete it to give up what it holds") from error
    return dict(tables)


def write_backup(path: str, tables: Mapping[str, Any]) -> None:
    """Save tables for `read_backup`; a kill leaves the old file or the new one."""
    handle, draft = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path))
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"schema": 1, "tables": tables}, file, indent=2, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        os.unlink(draft)
        raise ConfigDbError(f"{path} cannot be written ({error.strerror})") from error


def to_back_up(running: Mapping[str, Any], saved: Mapping[str, Any] | None, names: Iterable[str]) -> dict[str, Any]:
    """What a backup shall hold: what it holds already, and the running rows of tables that are new to it."""
    found = {table: running.get(table) for table in sorted(names)}
    return {**found, **(saved or {})}
