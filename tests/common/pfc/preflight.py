"""Looks, before any storm, whether the lab can measure: links, speeds, counters, addresses, one short clean flow for
each priority.

What keeps everything from working is a broken lab: ERROR, and no storm is started. Frames of some priorities lost
where those of others arrive are a broken switch: FAIL, and the run goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .arithmetic import share_percent
from .dut import Dut, DutCounters
from .errors import QualificationError
from .measurement import Subject
from .otg import TrafficBuilder
from .places import at_port, everything_received, needed
from .polling import Clock, wait_for
from .qos import ConfigDb
from .row import Row
from .staleness import CounterAges
from .traffic import FlowPlan, FlowStats, Generator, Role, Traffic
from .verdict import Check, Status

CLEAN_FRAMES = 1000
CLEAN_LOAD_PERCENT = 10
CLEAN_FRAME_BYTES = 1024
SETTLE_S = 1.0
QUEUE_GRACE_S = 5.0  # for a poll of the queue counters that comes later still


@dataclass(frozen=True)
class Lab:
    """Everything that one port of one switch is measured with; where there is a row of switches behind it, also that
    and all switches of it; and the switch's CONFIG_DB as it was found."""

    subject: Subject
    dut: Dut
    generator: Generator
    builder: TrafficBuilder
    clock: Clock
    ages: CounterAges
    row: Row | None = None
    duts: Mapping[str, Dut] = field(default_factory=dict)
    config_db: ConfigDb = field(default_factory=dict)


def preflight(lab: Lab) -> tuple[list[Check], DutCounters]:
    """Runs the preflight on one port pair.

    Returns:
        The checks of the clean flow: PASS, or FAIL for a priority whose frames the switch loses without any storm; and
        the counters after it, which have everything in them that came before.

    Raises:
        QualificationError: the lab cannot measure this port; the sentence says why.
    """
    # What was sent earlier, data or pauses, must not come into the counters later.
    lab.clock.sleep(max(lab.ages.queue_s, lab.ages.port_s))
    before = lab.dut.counters(lab.subject.pair.rx.port)
    _check_ports(lab.subject, before)
    clean = clean_traffic(lab)
    lab.generator.push(clean)
    lab.generator.start(list(clean.flows))
    lab.generator.run_out(list(clean.flows), SETTLE_S)
    lab.clock.sleep(SETTLE_S)
    stats = lab.generator.stats(clean.flows)
    _check_path(lab.subject, stats)
    after = _check_queues(lab, before, stats)
    return list(everything_received("clean-flow", lab.subject, stats.values(), "without any storm")), after


def clean_traffic(lab: Lab) -> Traffic:
    """One short flow for every priority that a DSCP value reaches, and no storm."""
    share = share_percent(CLEAN_LOAD_PERCENT, len(lab.subject.qos.dscps))
    return lab.builder.build(
        [
            FlowPlan(
                lab.builder.named(f"Clean Flow Prio {priority}"), Role.CLEAN, priority, CLEAN_FRAME_BYTES, share,
                frames=CLEAN_FRAMES,
            )
            for priority in lab.subject.qos.reachable
        ]
    )


def port_checks(subject: Subject, counters: DutCounters) -> Iterator[Check]:
    """Both ports are up, at the speed that the links file gives, and have PFC counters."""
    for port in (subject.pair.rx, subject.pair.tx):
        place, state = at_port(subject, port.port), counters.interfaces.get(port.port)
        link = "up" if state is not None and state.oper_up else "down"
        yield needed("link-up", place, link == "up", "the link up", link)
        speed = 0 if state is None else state.speed_mbps
        yield needed("speed", place, speed == port.speed_mbps, f"{port.speed_mbps} Mb/s", f"{speed} Mb/s")
        counted = port.port in counters.pfc_rx and port.port in counters.pfc_tx
        yield needed("pfc-counters", place, counted, "PFC counters", "counters" if counted else "none")


def _check_ports(subject: Subject, counters: DutCounters) -> None:
    bad = next((one for one in port_checks(subject, counters) if one.status is not Status.PASS), None)
    if bad is not None:
        raise QualificationError(f"preflight: {bad.message}")


def _check_path(subject: Subject, stats: Mapping[str, FlowStats]) -> None:
    """Frames must have been sent, and some must have arrived: otherwise nothing connects the two ports."""
    rx, tx = subject.pair.rx, subject.pair.tx
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


def _check_queues(lab: Lab, before: DutCounters, stats: Mapping[str, FlowStats]) -> DutCounters:
    """Frames of a priority must leave through its queue, or the DSCP map in effect is not the configured one.

    Returns the last reading."""
    arrived = {flow.plan.priority: flow.frames_rx for flow in stats.values() if flow.plan.priority is not None}
    readings = [before]

    def counted() -> bool:
        readings.append(lab.dut.counters(lab.subject.pair.rx.port))
        return not _short_queues(before, readings[-1], arrived)

    lab.clock.sleep(lab.ages.queue_s)
    if not wait_for(counted, QUEUE_GRACE_S, lab.clock, QUEUE_GRACE_S):
        priority, seen = next(iter(_short_queues(before, readings[-1], arrived).items()))
        raise QualificationError(
            f"preflight: {lab.subject.where(priority)}: expected {arrived[priority]} frames with DSCP"
            f" {list(lab.subject.qos.dscps[priority])[:4]} to leave through queue UC{priority}, got {seen}: the DSCP"
            f" map in effect is not DSCP_TO_TC_MAP|{lab.subject.qos.dscp_map}, or queue counters are not polled"
        )
    return readings[-1]


def _short_queues(before: DutCounters, now: DutCounters, arrived: Mapping[int, int]) -> dict[int, int]:
    gained = {priority: now.queues.get(priority, 0) - before.queues.get(priority, 0) for priority in arrived}
    return {priority: seen for priority, seen in gained.items() if seen < arrived[priority]}
