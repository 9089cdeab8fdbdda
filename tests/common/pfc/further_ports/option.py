"""Further ports that data may enter on its way to the port under test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice

from ..lab.option import Option
from ..lab.port_plan import PortPlan, PortRequest
from ..lab.serving import serves
from ..model.ports import ConnectedPort, PortPair, PortState, is_usable, natural


class FurtherPortsOption(Option):
    """The ports are known with the plan of a port; it needs none of them to be measured."""

    def planned(self, plan: PortPlan, ports: Sequence[ConnectedPort], asked: PortRequest) -> PortPlan:
        """The plan with those that have the classes of the pair, and room for a host behind them."""
        pair = plan.subject.pair
        found = find_further(pair, ports, plan.state.interfaces)
        further = tuple(port for port in found if serves(plan.state, pair, port, asked.ip_version))
        return replace(plan, subject=replace(plan.subject, further=further))


def find_further(
    pair: PortPair, ports: Sequence[ConnectedPort], states: Mapping[str, PortState]
) -> tuple[ConnectedPort, ...]:
    """Other ports that data may enter on its way to the port under test: up at the speed that the links file gives, and
    on another traffic generator than that port's. Of each speed the first two, lower speeds first."""
    usable = [
        port
        for port in sorted(ports, key=lambda port: (port.speed_mbps, natural(port.port)))
        if port.generator != pair.rx.generator and port != pair.tx and is_usable(port, states)
    ]
    by_speed = groupby(usable, key=lambda port: port.speed_mbps)
    return tuple(port for _, ports_of_it in by_speed for port in islice(ports_of_it, 2))


OPTION = FurtherPortsOption()
