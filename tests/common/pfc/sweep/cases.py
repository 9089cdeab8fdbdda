"""What measures the ports of a sweep's plan: one after another, several at once, or all under the load of all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..cases.engine import Finding
from ..lab.lab import Lab
from ..lab.option import Auditor
from ..lab.otg_config import TrafficBuilder
from ..lab.planning import open_lab
from ..lab.port_plan import PortPlan
from ..model.counters import DutCounters
from ..model.qos import PortQos
from ..model.scenario import Scenario
from ..record.case import PlanCase
from . import full_load, port_sweep, watchdog_all_ports
from .plan import Bench, SweepPlan
from .sweeper import PORT_BY_PORT, SweepCase, Sweeper

MeasureAll = Callable[[Sequence[Lab], TrafficBuilder, DutCounters], list[Finding]]
SWEEPS: tuple[PlanCase, ...] = (port_sweep.PORT, full_load.ALL_PORTS, watchdog_all_ports.WATCHDOG_ALL_PORTS)
OF_ALL_PORTS: Mapping[PlanCase, tuple[Callable[[PortQos], Scenario], MeasureAll]] = {
    full_load.ALL_PORTS: (port_sweep.scenario, full_load.measure),
    watchdog_all_ports.WATCHDOG_ALL_PORTS: (watchdog_all_ports.scenario, watchdog_all_ports.measure),
}


def make_sweeper(
    plan: SweepPlan, bench: Bench, at_once: int | None, ports: Sequence[str] | None = None,
    auditors: Sequence[Auditor] = (), both_of: Sequence[str] = (), other_way: bool | None = None,
) -> Sweeper:
    """What measures ports one after another or in waves.

    Args:
        plan: the plan.
        bench: the switch and the traffic generators.
        at_once: so many ports at most; None: as many as there can be.
        ports: ports under test; None: all that can be measured. Others are left out, and so is what cannot be.
        auditors: what looks on.
        both_of: each port is measured in a wave of these, `ports` among them, and alone; none: once, as `at_once` says.
        other_way: whether what options send beside a case goes the other way in a wave; None: where somebody looks on
            and time is not simulated. A virtual testbed computes it frame by frame, for minutes.

    Raises:
        QualificationError: the switch's configuration leaves no addresses for hosts behind the ports.
    """
    of = both_of or ports
    beside = bool(auditors) and not bench.clock.exact if other_way is None else other_way
    waves = plan.both_waves(at_once, both_of, ports or both_of) if both_of else plan.port_waves(at_once, ports)
    how = replace(PORT_BY_PORT, measure=partial(port_sweep.measure, beside=beside))
    return Sweeper(plan.labs(bench, of), plan.port_waves(None, of), waves, how, auditors=auditors)


def make_full_load(
    plan: SweepPlan, bench: Bench, case: PlanCase = full_load.ALL_PORTS, auditors: Sequence[Auditor] = ()
) -> Sweeper:
    """What measures all ports at once, after a preflight of each: the outcomes of all are there when the first is asked
    for. Where some could not be measured, all are loaded once more, for their sake.

    Args:
        plan: the plan.
        bench: the switch and the traffic generators.
        case: one of `OF_ALL_PORTS`.
        auditors: what looks on.

    Raises:
        QualificationError: the switch's configuration leaves no addresses for hosts behind the ports.
    """
    labs = plan.labs(bench)
    whole = _between_any_two(plan.plans.values(), bench)
    scenario, measure_all = OF_ALL_PORTS[case]

    def measure(labs: Sequence[Lab], before: DutCounters) -> list[Finding]:
        return measure_all(labs, whole, before)

    how = SweepCase(case, scenario, measure, all_or_none=True)
    return Sweeper(labs, plan.port_waves(None), [list(labs)], how, auditors=auditors)


def _between_any_two(plans: Iterable[PortPlan], bench: Bench) -> TrafficBuilder:
    """Builds flows between any two of the ports."""
    own = {port.port: port for plan in plans for port in (plan.subject.pair.rx, plan.subject.pair.tx)}
    first = next(iter(plans))
    further = tuple(port for name, port in own.items() if name not in first.subject.ports)
    # other MAC addresses than the preflight's hosts: a switch may still know those at other ports
    everything = replace(first, subject=replace(first.subject, further=further), first_host=2 * len(own))
    return open_lab(everything, bench.dut, bench.api, bench.clock).builder
