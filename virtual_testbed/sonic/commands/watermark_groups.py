"""The groups `watermark` and `persistent-watermark` of queues and of priority groups, in `show` and `sonic-clear`."""
from __future__ import annotations

from collections.abc import Callable, Mapping

import click

from virtual_testbed.sonic.commands.groups import AliasedGroup

QUEUES = {"unicast": "q_shared_uni", "multicast": "q_shared_multi", "all": "q_shared_all"}
PRIORITY_GROUPS = {"headroom": "pg_headroom", "shared": "pg_shared"}
"""Command -> kind of `watermarkstat.KINDS`."""


def add_watermarks(group: click.Group, verb: str, kinds: Mapping[str, str],
                   make: Callable[[str, str, str], click.Command]) -> None:
    """Add both groups to a group.

    Args:
        group: of a program.
        verb: what the program does, for the help.
        kinds: the commands of both, `QUEUES` or `PRIORITY_GROUPS`.
        make: a command from its name, its kind, and `user` or `persistent`.
    """
    for which, name in (("user", "watermark"), ("persistent", "persistent-watermark")):
        below = AliasedGroup(name, help=f"{verb} {which} WM")
        for command, kind in kinds.items():
            below.add_command(make(command, kind, which))
        group.add_command(below)
