"""`redis-dump`: as `sonic-db-dump`, of a database by its number (facts: redis-dump-load of a SONiC image).

The Redis is the switch's, whatever host, port or socket is given, as with `redis-cli`.
"""
from __future__ import annotations

import sys

from virtual_testbed.sonic.commands.context import run
from virtual_testbed.sonic.commands.db_dump import dump_parser, write_dump


def main() -> None:
    """The command."""
    parser = dump_parser("redis-dump", ("-d", "--db", "number of the database (0)"))
    for short, long in (("-H", "--host"), ("-p", "--port"), ("-s", "--socket")):
        parser.add_argument(short, long, help="of no use: it is the switch's Redis")
    arguments = parser.parse_args()
    number = arguments.database or "0"
    if not number.isdecimal():
        sys.exit(f"error: the database must be a number, found {number!r}")
    write_dump(parser, arguments, int(number))


if __name__ == "__main__":
    run(main)
