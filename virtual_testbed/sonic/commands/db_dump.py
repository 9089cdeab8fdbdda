"""`sonic-db-dump`: keys of a database as JSON, each with its type and value (facts: sonic-buildimage
`sonic_py_common/sonic_db_dump_load.py`, and redis-dump-load, which it is made of).
"""
from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from virtual_testbed.sonic.commands.context import run, this_switch
from virtual_testbed.sonic.databases import NUMBERS, pairs
from virtual_testbed.sonic.resp import Connection

_READ = {"string": ("GET",), "list": ("LRANGE", "0", "-1"), "set": ("SMEMBERS",),
         "zset": ("ZRANGE", "0", "-1", "WITHSCORES"), "hash": ("HGETALL",)}
_TOO_MANY_WORDS = 4
"""Exit status where there are arguments beside the options."""


def entries(connection: Connection, pattern: str, is_sorted: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Keys that match a glob pattern, each with `type`, `value`, and, where it has an end, `ttl` (seconds) and
    `expireat` (seconds since 1970). One that goes meanwhile is left out. Raises DatabaseError.
    """
    keys: list[str] = connection.call("KEYS", pattern)
    kinds = connection.batch([("TYPE", key) for key in keys])
    for key, kind in zip(keys, kinds):
        if kind == "none":
            continue
        verb, *rest = _READ[kind]
        value, left_ms = connection.transaction([(verb, key, *rest), ("PTTL", key)])
        if value is None or left_ms == -2:
            continue
        entry: dict[str, Any] = {"type": kind, "value": _value(kind, value, is_sorted)}
        if left_ms != -1:
            entry |= {"ttl": left_ms / 1000, "expireat": time.time() + left_ms / 1000}
        yield key, entry


def _value(kind: str, value: Any, is_sorted: bool) -> Any:
    if kind == "hash":
        return pairs(value)
    if kind == "zset":
        return [(member, float(score)) for member, score in pairs(value).items()]
    return sorted(value) if kind == "set" and is_sorted else value


def dump(database: int, pattern: str, is_pretty: bool) -> str:
    """The keys of a database that match a pattern. Raises DatabaseError."""
    with Connection(this_switch().redis_socket, database) as connection:
        found = dict(entries(connection, pattern, is_sorted=is_pretty))
    if is_pretty:
        return json.dumps(found, indent=2, sort_keys=True)
    return json.dumps(found, separators=(",", ":"))


def dump_parser(program: str, database: tuple[str, str, str]) -> argparse.ArgumentParser:
    """What `sonic-db-dump` and `redis-dump` both take; `database`: its two options and what they name."""
    parser = argparse.ArgumentParser(prog=program, description="Dump data of the switch's Redis as JSON.")
    short, long, about = database
    parser.add_argument(short, long, dest="database", help=about)
    parser.add_argument("-w", "--password", help="of no use: this Redis has none")
    parser.add_argument("-k", "--keys", default="*", help="only keys that match this glob pattern")
    parser.add_argument("-o", "--output", help="write to this file")
    parser.add_argument("-y", "--pretty", action="store_true", help="several lines, sorted by key")
    parser.add_argument("-E", "--encoding", choices=["utf-8"], default="utf-8")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    return parser


def write_dump(parser: argparse.ArgumentParser, arguments: argparse.Namespace, database: int) -> None:
    """Write the dump that the arguments ask for, and end. Raises DatabaseError; SystemExit, with one sentence or help.
    """
    if arguments.words:
        parser.print_help()
        sys.exit(_TOO_MANY_WORDS)
    text = dump(database, arguments.keys, arguments.pretty)
    if not arguments.output:
        sys.stdout.write(text)
        return
    try:
        this_switch().file(arguments.output).write_text(text, encoding="utf-8")
    except OSError as error:
        sys.exit(f"error: {arguments.output} cannot be written: {error.strerror}")


def main() -> None:
    """The command."""
    parser = dump_parser("sonic-db-dump", ("-n", "--dbname", "name of the database (APPL_DB, ASIC_DB, ...)"))
    parser.add_argument("-t", "--conntype", choices=["tcp", "unix_socket"], default="tcp")
    parser.add_argument("--netns", default="", choices=[""], help="this switch has one ASIC")
    arguments = parser.parse_args()
    if arguments.database and arguments.database not in NUMBERS:
        sys.exit(f"error: there is no database {arguments.database} (there are: {', '.join(NUMBERS)})")
    write_dump(parser, arguments, NUMBERS.get(arguments.database, 0))


if __name__ == "__main__":
    run(main)
