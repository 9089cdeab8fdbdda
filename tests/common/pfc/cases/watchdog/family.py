"""WD-1 to WD-9: the PFC watchdog."""

from __future__ import annotations

from collections.abc import Mapping

from ...record.case import PlanCase
from ..engine import Procedure
from . import (
    actions as watchdog_actions, buffer as watchdog_buffer, ports as watchdog_ports, quiet as watchdog_quiet, timers as
    watchdog_timers,
)

CASES: Mapping[PlanCase, Procedure] = {
    **watchdog_actions.CASES,
    **watchdog_quiet.CASES,
    **watchdog_timers.CASES,
    **watchdog_ports.CASES,
    **watchdog_buffer.CASES,
    **watchdog_actions.MIXED_CASES,
}
