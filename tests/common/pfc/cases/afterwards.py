"""AFTER: one test case of each kind once more, when all others have been carried out on the port. What these left in
the switch (storms, congestion, links that went down, watchdogs that acted, configurations that were changed and put
back) shows in a test case that passed before."""

from __future__ import annotations

from ..record.case import PlanCase
from . import frames, headroom, loads, pauses, sent_pauses, timing, timing_storms
from .engine import Table
from .watchdog import actions

REPEATED = (
    pauses.SEVERAL_LOSSLESS, pauses.LOSSY, pauses.GLOBAL_PAUSE, frames.LARGEST, timing.PAUSE_LENGTH,
    timing_storms.STORMS, sent_pauses.SEVERAL, headroom.OVERFLOW, loads.TOO_MUCH_OF_BOTH, actions.DROP_SEVERAL,
)
BEFORE: Table = {
    **pauses.CASES, **frames.CASES, **timing.CASES, **timing_storms.CASES, **sent_pauses.CASES, **headroom.CASES,
    **loads.CASES, **actions.CASES,
}


CASES: Table = {
    PlanCase(f"afterwards-{case.name}", f"AFTER-{number}", case.metrics): BEFORE[case]
    for number, case in enumerate(REPEATED, 1)
}
