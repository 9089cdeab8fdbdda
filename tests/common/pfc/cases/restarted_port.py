"""FLAP-5: the port under test and the tx port are shut down and started by the switch's configuration, idle; then
M2O-3's load must be shared, held and counted as ever. What an ASIC is told of a port, it may lose when the port starts:
the weights of its queues, and where data comes in its headroom and what makes it send pauses."""

from __future__ import annotations

from dataclasses import replace

from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..record.case import PlanCase, Target
from .congestion import LoadRun
from .engine import Table, settled_counters
from .flap import LEAD_S, switched_link
from .loads import MANY_TO_ONE, TOO_MUCH_OF_BOTH

SHARED_AFTERWARDS = PlanCase("shutdown-then-congestion", "FLAP-5")
CONGESTION = MANY_TO_ONE[TOO_MUCH_OF_BOTH]


def restart_then_congest(lab: Lab, case: PlanCase, target: Target, before: DutCounters) -> LoadRun:
    """The ports are down for a second; once their links are up, M2O-3's load.

    Raises:
        QualificationError: a step could not be done, or a link did not come up again.
    """
    pair = lab.subject.pair
    with switched_link(lab, True, pair.rx.port) as switch_rx, switched_link(lab, True, pair.tx.port) as switch_tx:
        switch_rx(False)
        switch_tx(False)
        lab.clock.sleep(LEAD_S)
    run: LoadRun = CONGESTION.measure(lab, case, target, settled_counters(lab))
    return run


CASES: Table = {SHARED_AFTERWARDS: replace(CONGESTION, measure=restart_then_congest, is_audited=False)}
