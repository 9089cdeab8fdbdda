"""Counter "clears": each user keeps what the counters were, and is shown the difference (sonic-utilities `UserCache`).

Unlike there a snapshot ends with the start of the switch that it was taken in: counters begin at 0 then.
"""
from __future__ import annotations

import datetime
import json
import os
from typing import Any

from virtual_testbed.sonic.agent_keys import BOOT_KEY
from virtual_testbed.sonic.commands.context import SwitchContext, user_id

NOT_AVAILABLE = "N/A"


class Snapshots:
    """The snapshots of one command, such as `pfcstat`, for the user who runs it (and a tag)."""

    def __init__(self, switch: SwitchContext, command: str, tag: str | None = None) -> None:
        self._switch = switch
        name = f"{user_id()}-{tag}" if tag else str(user_id())
        self._application = switch.path("/tmp/cache") / command
        self.folder = self._application / name

    def _boot(self) -> str:
        with self._switch.connect("STATE_DB") as connection:
            return str(connection.call("HGET", BOOT_KEY, "id"))

    def save(self, name: str, values: dict[str, Any]) -> None:
        """Keep `values` under `name`."""
        mask = os.umask(0)
        try:
            self._application.mkdir(parents=True, exist_ok=True)
        finally:
            os.umask(mask)
        self.folder.mkdir(exist_ok=True)
        data = {"time": datetime.datetime.now().isoformat(), "boot": self._boot(), "values": values}
        (self.folder / name).write_text(json.dumps(data), encoding="utf-8")

    def load(self, name: str) -> tuple[str, dict[str, Any]] | None:
        """When `name` was kept, and the values; None when it was not (since the switch started, by this command: what
        sonic-utilities' own keeps there looks otherwise)."""
        path = self.folder / name
        if not path.is_file():
            return None
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            return None
        is_ours = isinstance(data, dict) and data.get("boot") == self._boot()
        return (data["time"], data["values"]) if is_ours else None

    def remove(self, everyone: bool = False) -> None:
        """Forget this user's snapshots, or everyone's."""
        import shutil
        shutil.rmtree(self._application if everyone else self.folder, ignore_errors=True)


def difference(new: str, old: str) -> str:
    """`new - old` with thousands separators, not below 0; N/A stays."""
    if new == NOT_AVAILABLE:
        return NOT_AVAILABLE
    return f"{max(0, int(new) - (0 if old == NOT_AVAILABLE else int(old))):,}"


def with_commas(text: str) -> str:
    """A number with thousands separators; other text stays."""
    return f"{int(text):,}" if text.isdecimal() else text


def table(rows: list[list[str]], header: list[str]) -> str:
    """As SONiC prints tables."""
    from tabulate import tabulate
    return tabulate(rows, header, tablefmt="simple", stralign="right", numalign="right", disable_numparse=True)
