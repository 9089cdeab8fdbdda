"""Ports that no case of a port needs, and light traffic between them: what a case does must not reach it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..lab.port_plan import PortPlan, serves
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort, is_usable, natural
from ..model.traffic import FlowPlan, Role

PERCENT = 1
"""Of the line, for each priority: a queue that is held fills its buffer within a storm's second (1 % of 100 Gb/s is
125 MB a second), so that its sender is paused or its frames are lost; nothing else is disturbed by it."""
FRAME_BYTES = 1024
MOST_PAIRS = 1


def with_bystanders(plan: PortPlan, ports: Sequence[ConnectedPort]) -> PortPlan:
    """A plan with bystanders: of the ports that no case needs, up at their speed, the next one after the port under
    test, the last one, and so on inwards; a pair of them has one speed."""
    subject = plan.subject
    own = sorted((port for port in ports if port.device == subject.pair.rx.device), key=lambda one: natural(one.port))
    names = [port.port for port in own]
    begin = names.index(subject.pair.rx.port)
    idle = [
        port for port in (*own[begin:], *own[:begin])
        if port.port not in subject.ports and is_usable(port, plan.state.interfaces)
        and serves(plan.state, subject.pair, port, subject.ip_version)
    ]
    chosen: list[ConnectedPort] = []
    while idle and len(chosen) < 2 * MOST_PAIRS:
        first = idle.pop(0)
        alike = [port for port in idle if port.speed_mbps == first.speed_mbps]
        if alike:
            idle.remove(alike[-1])
            chosen += [first, alike[-1]]
    return replace(plan, subject=replace(subject, bystanders=tuple(chosen)))


def bystander_flows(subject: PortUnderTest) -> list[FlowPlan]:
    """Data of every priority both ways between the two ports of each pair."""
    ways = [
        way for first, second in zip(subject.bystanders[::2], subject.bystanders[1::2])
        for way in ((first.port, second.port), (second.port, first.port))
    ]
    return [
        FlowPlan(
            f"Bystander Prio {priority} {enters} to {leaves}", Role.BYSTANDER, priority, FRAME_BYTES, PERCENT,
            enters=enters, leaves=leaves,
        )
        for enters, leaves in ways
        for priority in subject.qos.reachable
    ]
