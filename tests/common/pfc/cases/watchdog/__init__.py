"""WD-1 to WD-9: the PFC watchdog."""

from __future__ import annotations

from ..engine import Table
from . import actions, all_to_all, quiet, timers

CASES: Table = {**actions.CASES, **quiet.CASES, **timers.CASES, **all_to_all.CASES}
