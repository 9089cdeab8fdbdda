"""`show reboot-cause` (sonic-utilities `show/reboot_cause.py`)."""
from __future__ import annotations

from tabulate import tabulate

from virtual_testbed.sonic.commands.context import SwitchContext
from virtual_testbed.sonic.commands.restarting import reboots
from virtual_testbed.sonic.restarts import NOBODY

_COLUMNS = {"cause": "Cause", "time": "Time", "user": "User", "comment": "Comment"}
_MOST = 10


def last(switch: SwitchContext) -> None:
    """Print why the switch came up last."""
    found = list(reboots(switch).values())
    if not found:
        print("Unknown")
        return
    row = found[0]
    if row["user"] == NOBODY:
        print(row["cause"])
        return
    print(f"User issued '{row['cause']}' command [User: {row['user']}, Time: {row['time']}]")


def history(switch: SwitchContext) -> None:
    """Print the last reboots, the last one first."""
    rows = [[name, *(row.get(field, "") for field in _COLUMNS)] for name, row in reboots(switch).items()]
    if not rows:
        print("Reboot-cause history is not yet available in StateDB")
        return
    print(tabulate(rows[:_MOST], ["Name", *_COLUMNS.values()], numalign="left"))
