"""`sonic-db-cli DATABASE COMMAND...`: one Redis command by database name (sonic-swss-common `sonic-db-cli`)."""
from __future__ import annotations

import sys

from virtual_testbed.sonic.commands.context import run, this_switch
from virtual_testbed.sonic.databases import NUMBERS, pairs
from virtual_testbed.sonic.resp import DatabaseError

_USAGE = "usage: sonic-db-cli [-h] [-s] [-n NAMESPACE] db_or_op [cmd ...]"


def _text(reply: object, command: str) -> str:
    if reply is None:
        return ""
    if isinstance(reply, list):
        return str(pairs(reply)) if command == "HGETALL" else "\n".join(_text(part, "") for part in reply)
    return str(reply)


def main() -> None:
    """The command."""
    words = sys.argv[1:]
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("-h", "--help"):
            print(_USAGE)
            return
        if option in ("-n", "--namespace") and words:
            words.pop(0)
    if not words:
        sys.exit(_USAGE)
    switch = this_switch()
    if words[0] == "PING" and len(words) == 1:
        print(switch.connect("APPL_DB").call("PING"))
        return
    if words[0] not in NUMBERS:
        sys.exit(f"Invalid database name input : '{words[0]}'")
    if len(words) < 2:
        sys.exit(_USAGE)
    try:
        print(_text(switch.connect(words[0]).call(*words[1:]), words[1].upper()))
    except DatabaseError as error:
        sys.exit(f"(error) {error}")


if __name__ == "__main__":
    run(main)
