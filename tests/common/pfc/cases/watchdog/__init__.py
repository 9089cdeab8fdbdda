"""WD-1 to WD-9: the PFC watchdog."""

from __future__ import annotations

from collections.abc import Mapping

from ...record.case import PlanCase
from ..engine import OldProcedure as Procedure
from . import actions, buffer, ports, quiet, timers

CASES: Mapping[PlanCase, Procedure] = {
    **actions.CASES,
    **quiet.CASES,
    **timers.CASES,
    **ports.CASES,
    **buffer.CASES,
    **actions.MIXED_CASES,
}
