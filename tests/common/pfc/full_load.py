"""Measures all ports of a switch under the load of all of them. A port's verdict is its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .dut import Dut
from .errors import QualificationError
from .families import full_load as family
from .otg import TrafficBuilder
from .plan import PortPlan
from .polling import Clock
from .preflight import Lab
from .run import Outcome, broken_off, judged
from .sweep import Sweeper, with_one_generator

MOST_LOADS = 2


class FullLoad(Sweeper):
    """All ports at once, after a preflight of each: the outcomes of all are there when the first is asked for. Where
    some could not be measured, all are loaded once more, for their sake."""

    def __init__(
        self, labs: Mapping[str, Lab], flights: Sequence[Sequence[str]], whole: TrafficBuilder,
        patience: Clock | None = None,
    ) -> None:
        """Nothing is measured yet.

        Args:
            labs: port under test -> what it is measured with; all have one traffic generator and one switch.
            flights: the same ports, in groups that a preflight takes at once.
            whole: builds flows between any two of the ports.
            patience: the clock on which a lab is waited for that does not answer; None: real time.
        """
        super().__init__(labs, flights, [list(labs)], patience)
        self._whole = whole
        self._loads: list[dict[str, Outcome]] = []

    def _try(self, ports: Sequence[str]) -> dict[str, Outcome]:
        """What comes of some ports when all that the preflight found fit are loaded: a first and a second time."""
        if len(self._loads) < MOST_LOADS:
            self._loads.append(self._load())
        return {port: self._loads[-1][port] for port in ports}

    def _load(self) -> dict[str, Outcome]:
        outcomes, labs, before = dict[str, Outcome](), [], self._settled
        for port, lab in self._labs.items():
            try:
                flown = self._flown[port]
                if isinstance(flown, QualificationError):
                    raise flown
                family.scenario(lab.subject.qos)
                labs.append(lab)
            except QualificationError as error:
                outcomes[port] = broken_off(lab.subject, family.ALL_PORTS, (), error)
        self._settled = None
        try:
            findings = family.measure(labs, self._whole, before) if labs else []
        except Exception as error:
            return outcomes | {lab.port: broken_off(lab.subject, family.ALL_PORTS, (), error) for lab in labs}
        for lab, finding in zip(labs, findings, strict=True):
            clean = self._flown[lab.port]
            assert not isinstance(clean, QualificationError), f"{lab.port} was measured without a preflight"
            outcomes[lab.port] = judged(lab.subject, family.ALL_PORTS, (), finding, clean)
        return outcomes


def make_full_load(
    plans: Mapping[str, PortPlan], flights: Sequence[Sequence[str]], dut: Dut, api: Any, clock: Clock
) -> FullLoad:
    """What measures these ports under the load of all.

    Args:
        plans: port under test -> its plan; two or more.
        flights: the same ports, in groups that a preflight takes at once.
        dut: the switch.
        api: snappi API object of the traffic generators.
        clock: what to wait on.

    Raises:
        QualificationError: the switch's configuration leaves no addresses for hosts behind the ports.
    """
    labs = with_one_generator((port, plan.lab(dut, api, clock)) for port, plan in plans.items())
    first = next(iter(plans.values()))
    own = {port.port: port for plan in plans.values() for port in (plan.subject.pair.rx, plan.subject.pair.tx)}
    further = tuple(port for name, port in own.items() if name not in first.subject.ports)
    # other MAC addresses than the preflight's hosts: a switch may still know those at other ports
    everything = replace(first, subject=replace(first.subject, further=further), first_host=2 * len(own))
    return FullLoad(labs, flights, everything.lab(dut, api, clock).builder)
