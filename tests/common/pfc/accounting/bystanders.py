"""Ports that no case of a port needs, and light traffic between them: what a case does must not reach it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from zlib import crc32

from ..lab.port_plan import PortPlan
from ..lab.serving import serves
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort, is_usable, natural
from ..model.traffic import PAUSE_ADDRESS, FlowPlan, PauseFrame, Role
from .explained import data_ends

Pair = tuple[str, str]
PERCENT = 1
"""Of the line, for each priority: a queue that is held fills its buffer within a storm's second (1 % of 100 Gb/s is
125 MB a second), so that its sender is paused or its frames are lost; nothing else is disturbed by it."""
FRAME_BYTES = 1024
PAIRS_OF_ALL_PRIORITIES = 3
"""How many pairs send data of every priority beside one case: the nearest one, and others in turn."""


def with_bystanders(plan: PortPlan, ports: Sequence[ConnectedPort]) -> PortPlan:
    """A plan with bystanders: all ports that no case needs, up at their speed, in pairs of one speed: the next one
    after the port under test and the last one, and so on inwards."""
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
    while idle:
        first = idle.pop(0)
        alike = [port for port in idle if port.speed_mbps == first.speed_mbps]
        if alike:
            idle.remove(alike[-1])
            chosen += [first, alike[-1]]
    return replace(plan, subject=replace(subject, bystanders=tuple(chosen)))


def bystander_flows(subject: PortUnderTest) -> list[FlowPlan]:
    """Data of every priority both ways between the two ports of each pair."""
    return [flow for pair in _pairs(subject) for flow in _between(pair, subject)]


def flows_beside(subject: PortUnderTest, flows: Sequence[FlowPlan]) -> list[FlowPlan]:
    """Those of `bystander_flows` that are sent beside other flows: where there is a storm, and all data has frames of
    their size (beside others a virtual testbed would compute for minutes), by ports that these flows do not need. All
    pairs send data of the lossless priorities: a pause may act at any port. Data of the others is sent by the pair
    nearest to the port under test, and by some in turn. Which follows from the flows' names: each test case always has
    the same ones, and the plan in all has every pair. Beside pauses that must hold nothing, which few cases have, all
    pairs send everything."""
    sizes = {0 if flow.mix else flow.frame_bytes for flow in flows if flow.pause is None}
    if sizes != {FRAME_BYTES} or all(flow.pause is None for flow in flows):
        return []
    used = {port for flow in flows for port in data_ends(subject, flow)}
    free = [pair for pair in _pairs(subject) if used.isdisjoint(pair)]
    paused = {priority for flow in flows if flow.pause and is_valid(flow.pause) for priority in flow.pause.enabled}
    of_all = free if paused.isdisjoint(subject.qos.lossless) else _nearest_and_some(free, flows)
    return [flow for pair in free for flow in _between(pair, subject)
            if pair in of_all or flow.priority in subject.qos.lossless]


def is_valid(frame: PauseFrame) -> bool:
    """Whether a frame is taken for a pause: any other holds nothing, whatever it enables."""
    fields = frame.destination, frame.operation_code, frame.ether_type
    return fields == (PAUSE_ADDRESS, None, None)


def _nearest_and_some(pairs: Sequence[Pair], flows: Sequence[FlowPlan]) -> list[Pair]:
    """The pair nearest to the port under test, and those whose turn it is beside these flows."""
    others = pairs[1:]
    begin = crc32(" ".join(flow.name for flow in flows).encode()) % max(1, len(others))
    return [*pairs[:1], *(*others[begin:], *others[:begin])[:PAIRS_OF_ALL_PRIORITIES - 1]]


def _pairs(subject: PortUnderTest) -> list[Pair]:
    names = [port.port for port in subject.bystanders]
    return list(zip(names[::2], names[1::2]))


def _between(pair: Pair, subject: PortUnderTest) -> list[FlowPlan]:
    return [
        FlowPlan(
            f"Bystander Prio {priority} {enters} to {leaves}", Role.BYSTANDER, priority, FRAME_BYTES, PERCENT,
            enters=enters, leaves=leaves,
        )
        for enters, leaves in (pair, pair[::-1])
        for priority in subject.qos.reachable
    ]
