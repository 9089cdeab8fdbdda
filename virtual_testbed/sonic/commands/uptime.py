"""`uptime`: since the switch has come up, as procps says it. Load and users are not the switch's, and are 0."""
from __future__ import annotations

import datetime
import sys
import time

from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.restarts import BOOT_TIME

_UNITS = (("week", 604800), ("day", 86400), ("hour", 3600), ("minute", 60))
_USAGE = "usage: uptime [-s | -p]"


def boot_time(switch: SwitchContext) -> float:
    """When it came up, seconds since 1970; now, where nothing says so."""
    try:
        return float(switch.path(BOOT_TIME).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return time.time()


def pretty(seconds: float) -> str:
    """`up 2 hours, 5 minutes`."""
    parts = []
    left = int(seconds)
    for unit, size in _UNITS:
        number, left = divmod(left, size)
        if number:
            parts.append(f"{number} {unit}{'s' if number > 1 else ''}")
    return f"up {', '.join(parts) or '0 minutes'}"


def plain(seconds: float) -> str:
    """` 16:05:01 up 1 day, 2:05,  0 users,  load average: 0.00, 0.00, 0.00`."""
    minutes = int(seconds) // 60
    days, hours = divmod(minutes // 60, 24)
    clock = f"{hours}:{minutes % 60:02d}" if hours else f"{minutes % 60} min"
    day = f"{days} day{'s' if days > 1 else ''}, " if days else ""
    now = datetime.datetime.now().strftime("%H:%M:%S")
    return f" {now} up {day}{clock},  0 users,  load average: 0.00, 0.00, 0.00"


def main() -> None:
    """The command."""
    since = boot_time(this_switch())
    words = sys.argv[1:]
    if words in (["-s"], ["--since"]):
        print(datetime.datetime.fromtimestamp(since).strftime("%Y-%m-%d %H:%M:%S"))
    elif words in (["-p"], ["--pretty"]):
        print(pretty(time.time() - since))
    elif not words:
        print(plain(time.time() - since))
    else:
        sys.exit(_USAGE)


if __name__ == "__main__":
    run(main)
