"""WD-1 to WD-9: the PFC watchdog."""

from __future__ import annotations

from collections.abc import Mapping

from ..case import PlanCase
from ..procedure import Procedure
from . import watchdog_actions, watchdog_buffer, watchdog_ports, watchdog_quiet, watchdog_timers

CASES: Mapping[PlanCase, Procedure] = {
    **watchdog_actions.CASES,
    **watchdog_quiet.CASES,
    **watchdog_timers.CASES,
    **watchdog_ports.CASES,
    **watchdog_buffer.CASES,
    **watchdog_actions.MIXED_CASES,
}
