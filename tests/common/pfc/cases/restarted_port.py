"""FLAP-5 and FLAP-7: the port under test and the tx port are shut down and started by the switch's configuration, idle.
What an ASIC is told of a port, it may lose when the port starts. FLAP-5: then M2O-3's load must be shared, held and
counted as ever: by the weights of the queues, with headroom where data comes in. FLAP-7: then PFC-1's storm must hold
the sender as long as it lasts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..record.case import PlanCase, Target
from .engine import Procedure, Table, settled_counters
from .flap import LEAD_S, pfc_1_at_its_load, switched_link
from .loads import MANY_TO_ONE, TOO_MUCH_OF_BOTH
from .pauses import storm_case
from .targets import all_lossless

SHARED_AFTERWARDS = PlanCase("shutdown-then-congestion", "FLAP-5")
HELD_AFTERWARDS = PlanCase("shutdown-then-storm", "FLAP-7")


def restart_pair(lab: Lab) -> None:
    """Shuts both ports down for a second. Raises QualificationError where a link does not come up again."""
    pair = lab.subject.pair
    with switched_link(lab, True, pair.rx.port) as switch_rx, switched_link(lab, True, pair.tx.port) as switch_tx:
        switch_rx(False)
        switch_tx(False)
        lab.clock.sleep(LEAD_S)


def after_a_restart(procedure: Procedure[Any]) -> Procedure[Any]:
    """The procedure, once both ports were down for a second and their links are up again. It raises QualificationError
    also where a link did not come up again."""

    def measure(lab: Lab, case: PlanCase, target: Target, before: DutCounters) -> Any:
        restart_pair(lab)
        return procedure.measure(lab, case, target, settled_counters(lab))

    return replace(procedure, measure=measure, is_audited=False)


CASES: Table = {
    SHARED_AFTERWARDS: after_a_restart(MANY_TO_ONE[TOO_MUCH_OF_BOTH]),
    HELD_AFTERWARDS: after_a_restart(storm_case(pfc_1_at_its_load, all_lossless)),
}
