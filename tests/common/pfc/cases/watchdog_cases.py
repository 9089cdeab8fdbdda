"""WD-1 to WD-20: the PFC watchdog."""

from __future__ import annotations

from ..lab.watchdog_deviations import DEVIATIONS
from .engine import Table
from .watchdog import (
    actions, all_to_all, beside, held, overlapping, quiet, repeated, restored, slow_storm, timers,
)

__all__ = ["CASES", "DEVIATIONS"]
CASES: Table = {
    **actions.CASES, **quiet.CASES, **timers.CASES, **all_to_all.CASES, **repeated.CASES, **overlapping.CASES,
    **held.CASES, **restored.CASES, **beside.CASES, **slow_storm.CASES,
}
