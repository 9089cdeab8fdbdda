"""`reboot`, `fast-reboot`, `warm-reboot`: the first argument is which of them.

A switch that reboots reads /etc/sonic/config_db.json anew; a warm one keeps CONFIG_DB, as the image does.
"""
from __future__ import annotations

import sys

from virtual_testbed.sonic.commands import config_files
from virtual_testbed.sonic.commands.context import is_root, run, this_switch
from virtual_testbed.sonic.commands.restarting import ask_for, await_begin
from virtual_testbed.sonic.restarts import RESTARTS

_OPTIONS = ("-f", "-r", "-v", "-y")
"""That are taken, and change nothing: force, running processes, a word more, yes."""


def main() -> None:
    """The command; its connection is cut while it waits."""
    kind, *options = sys.argv[1:]
    if not is_root():
        sys.exit("This command must be run as root")
    if "-h" in options:
        print(f"Usage {kind} [options]\n    Request rebooting the device.\n\n    -h : print this help")
        return
    unknown = [word for word in options if word not in _OPTIONS]
    if unknown:
        sys.exit(f"error: {kind} has no option {unknown[0]}: expected one of {' '.join(_OPTIONS)} or none")
    switch = this_switch()
    ask_for(switch, kind, config_files.saved(switch) if RESTARTS[kind].is_dark else None)
    await_begin(switch, kind)


if __name__ == "__main__":
    run(main)
