"""Looks, before any storm, whether the lab can measure: links, speeds, counters, addresses, one short clean flow for
each priority.

What keeps everything from working is a broken lab: ERROR, and no storm is started. Frames of some priorities lost
where those of others arrive are a broken switch: FAIL, and the run goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..model.arithmetic import share_percent
from ..model.checking import everything_received
from ..model.counters import DutCounters, fallen
from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from ..model.traffic import FlowPlan, FlowStats, Role
from ..record.verdict import Check, Status
from .clock import wait_for
from .counter_polling import POLL_GRACE_S
from .generator import SETTLE_S, Traffic
from .lab import Lab

logger = logging.getLogger(__name__)

CLEAN_FRAMES = 1000
CLEAN_LOAD_PERCENT = 10
CLEAN_FRAME_BYTES = 1024
TIMING_LOAD_PERCENT = 1.0
TIMING_S = 300
"""The longest that a generator whose statistics do not change goes on, if nobody is left to stop it."""


def preflight(lab: Lab) -> tuple[list[Check], DutCounters]:
    """Runs the preflight on one port pair: the checks of the clean flow, and remarks on one that lost frames and was
    sent again; and the counters after it, which have everything in them that came before. Raises QualificationError
    where the lab cannot measure this port."""
    before = waited_counters(lab, [lab.port])
    check_ports(lab.subject, before)
    if not lab.generator.is_timed:
        know_timing(lab)
        before = waited_counters(lab, [lab.port])
    stats = send_clean_flows(lab, lab.builder.build(clean_flows(lab)))
    check_path(lab.subject, stats)
    first = everything_received("clean-flow-first", lab.subject, stats.values(), "when sent first")
    remarks = [replace(one, required=False) for one in first if one.status is Status.FAIL and not lab.clock.exact]
    if remarks:
        logger.warning("%s: some frames of the clean flows did not arrive: sending them once more", lab.subject.where())
        before = waited_counters(lab, [lab.port])  # a neighbour or an address may have been learned meanwhile
        stats = send_clean_flows(lab, lab.builder.build(clean_flows(lab)))
        check_path(lab.subject, stats)
    after = settled_queues(lab, before, {lab.port: stats})
    check_queues(lab, (before, after), stats)
    return [*clean_flow_checks(lab, stats), *remarks], after


def know_timing(lab: Lab) -> None:
    """Measures how late the generators are, with a flow that nothing else is looked at."""
    priority = lab.subject.qos.reachable[0]
    name = lab.builder.flow_name("Timing Flow")
    flow = FlowPlan(name, Role.CLEAN, priority, CLEAN_FRAME_BYTES, TIMING_LOAD_PERCENT, seconds=TIMING_S)
    lab.generator.push(lab.builder.build([flow]))
    try:
        lab.generator.learn_timing(name)
    finally:
        lab.generator.stop()


def waited_counters(lab: Lab, ports: Sequence[str]) -> DutCounters:
    """The counters of these ports before anything is sent: what was sent earlier, data or pauses, must not come into
    them later."""
    lab.clock.sleep(max(lab.delays.queue_s, lab.delays.port_s))
    return lab.dut.counters(ports)


def clean_flow_checks(lab: Lab, stats: Mapping[str, FlowStats]) -> list[Check]:
    """What the clean flow says of the switch: PASS, or FAIL for a priority whose frames it loses without any storm."""
    return list(everything_received("clean-flow", lab.subject, stats.values(), "without any storm"))


def send_clean_flows(lab: Lab, traffic: Traffic) -> dict[str, FlowStats]:
    """Sends these flows until they end by themselves; what came of them."""
    lab.generator.push(traffic)
    lab.generator.start(list(traffic.flows))
    lab.generator.run_out(list(traffic.flows), SETTLE_S)
    lab.clock.sleep(SETTLE_S)
    return lab.generator.stats(traffic.flows)


def clean_flows(lab: Lab) -> list[FlowPlan]:
    """One short flow for every priority that a DSCP value reaches, and no storm."""
    share = share_percent(CLEAN_LOAD_PERCENT, len(lab.subject.qos.dscps))
    return [
        FlowPlan(
            lab.builder.flow_name(f"Clean Flow Prio {priority}"), Role.CLEAN, priority, CLEAN_FRAME_BYTES, share,
            frames=CLEAN_FRAMES,
        )
        for priority in lab.subject.qos.reachable
    ]


def check_ports(subject: PortUnderTest, counters: DutCounters) -> None:
    """Both ports must be up, at the speed that the links file gives, and have PFC counters; raises QualificationError
    where one is not."""
    for port in (subject.pair.rx, subject.pair.tx):
        state = counters.interfaces.get(port.port)
        speed = 0 if state is None else state.speed_mbps
        found = {
            "the link up": "the link up" if state is not None and state.oper_up else "down",
            f"{port.speed_mbps} Mb/s": f"{speed} Mb/s",
            "PFC counters": "PFC counters" if port.port in counters.pfc_rx and port.port in counters.pfc_tx else "none",
        }
        for expected, seen in found.items():
            if seen != expected:
                raise QualificationError(f"preflight: {subject.where(port=port.port)}: expected {expected}, got {seen}")


def check_path(subject: PortUnderTest, stats: Mapping[str, FlowStats]) -> None:
    """Frames must have been sent, and some must have arrived: otherwise nothing connects the two ports."""
    rx = subject.pair.rx
    tx = subject.pair.tx
    for flow in stats.values():
        if flow.frames_tx != CLEAN_FRAMES:
            raise QualificationError(
                f"preflight: {subject.where(flow.plan.priority)}: expected {CLEAN_FRAMES} frames sent by the traffic "
                f"generator at {tx.location}, got {flow.frames_tx}"
            )
    if not any(flow.frames_rx for flow in stats.values()):
        sent = sum(flow.frames_tx for flow in stats.values())
        raise QualificationError(
            f"preflight: {subject.where()}: expected the {sent} frames sent into {tx.port} to arrive at {rx.location} "
            "without any storm, got 0: check cabling, addresses and VLAN"
        )


def settled_queues(lab: Lab, before: DutCounters, stats: Mapping[str, Mapping[str, FlowStats]]) -> DutCounters:
    """The counters of these ports (port -> flow -> statistics) when everything that arrived is in those of the queues,
    or will not be."""
    readings = [before]

    def counted() -> bool:
        readings.append(lab.dut.counters(list(stats)))
        return not any(_short_queues(port, before, readings[-1], own) for port, own in stats.items())

    lab.clock.sleep(lab.delays.queue_s)
    wait_for(counted, POLL_GRACE_S, lab.clock, POLL_GRACE_S)
    return readings[-1]


def check_queues(lab: Lab, readings: tuple[DutCounters, DutCounters], stats: Mapping[str, FlowStats]) -> None:
    """Frames of a priority must leave through its queue, by what the queue counted."""
    for priority, (arrived, seen) in _short_queues(lab.port, *readings, stats).items():
        dscps = list(lab.subject.qos.dscps[priority])[:4]
        expected = f"{arrived} frames with DSCP {dscps} to leave through queue UC{priority}"
        found = "a counter that is N/A" if seen is None else str(seen) if seen >= 0 else f"a counter, {fallen(-seen)}"
        raise QualificationError(f"preflight: {lab.subject.where(priority)}: expected {expected}, got {found}")


def _short_queues(
    port: str, before: DutCounters, now: DutCounters, stats: Mapping[str, FlowStats]
) -> dict[int, tuple[int, int | None]]:
    """Priority -> frames that arrived, and fewer that its queue counted; None: it counts nothing."""
    arrived = {flow.plan.priority: flow.frames_rx for flow in stats.values() if flow.plan.priority is not None}
    first, last = (counters.queues.get(port, {}) for counters in (before, now))
    gained = {one: last[one] - first[one] if one in first and one in last else None for one in arrived}
    return {one: (arrived[one], seen) for one, seen in gained.items() if seen is None or seen < arrived[one]}
