"""Looks, before any storm, whether the lab can measure: links, speeds, counters, addresses, one short clean flow for
each priority.

What keeps everything from working is a broken lab: ERROR, and no storm is started. Frames of some priorities lost
where those of others arrive are a broken switch: FAIL, and the run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..model.arithmetic import share_percent
from ..model.checking import at_port, error_unless, everything_received
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from ..model.traffic import FlowPlan, FlowStats, Role
from ..record.verdict import Check, Status
from .clock import wait_for
from .lab import Lab
from .otg_config import build_together

CLEAN_FRAMES = 1000
CLEAN_LOAD_PERCENT = 10
CLEAN_FRAME_BYTES = 1024
SETTLE_S = 1.0
QUEUE_GRACE_S = 5.0  # for a poll of the queue counters that comes later still


PreflightResult = list[Check] | QualificationError
"""Checks of the clean flow: PASS, or FAIL for a priority whose frames the switch loses without any storm. Or why the
port cannot be measured."""


def preflight(lab: Lab) -> tuple[list[Check], DutCounters]:
    """Runs the preflight on one port pair.

    Returns:
        The checks of the clean flow; and the counters after it, which have everything in them that came before.

    Raises:
        QualificationError: the lab cannot measure this port; the sentence says why.
    """
    results, after = preflight_in_batches([[lab]])
    found = results[lab.port]
    if isinstance(found, QualificationError):
        raise found
    return found, after


def preflight_in_batches(batches: Sequence[Sequence[Lab]]) -> tuple[dict[str, PreflightResult], DutCounters]:
    """Runs the preflight on port pairs of one switch.

    Args:
        flights: pairs that are looked at at once, no port in two of them; one flight after the other. The counters are
            waited for once.

    Returns:
        Port under test -> what came of it; and the switch's counters after it, which have everything in them that came
        before.

    Raises:
        QualificationError: nothing can be measured at all.
    """
    labs = [lab for batch in batches for lab in batch]
    first = labs[0]
    ports = [lab.port for lab in labs]
    # What was sent earlier, data or pauses, must not come into the counters later.
    first.clock.sleep(max(first.delays.queue_s, first.delays.port_s))
    before = first.dut.counters(ports)
    errors = {lab.port: error for lab in labs if (error := _error(_check_ports, lab.subject, before))}
    stats = dict[str, dict[str, FlowStats]]()
    for batch in batches:
        results = _send_clean_flows_of_all([lab for lab in batch if lab.port not in errors])
        errors |= {port: found for port, found in results.items() if isinstance(found, QualificationError)}
        stats |= {port: found for port, found in results.items() if not isinstance(found, QualificationError)}
    measurable = [lab for lab in labs if lab.port in stats]
    errors |= {lab.port: error for lab in measurable if (error := _error(_check_path, lab.subject, stats[lab.port]))}
    after = _settled(first, before, stats, ports)
    for lab in measurable:
        error = _error(_check_queues, lab, (before, after), stats[lab.port])
        errors |= {lab.port: error} if error and lab.port not in errors else {}
    clean: dict[str, PreflightResult] = {
        lab.port: list(everything_received("clean-flow", lab.subject, stats[lab.port].values(), "without any storm"))
        for lab in measurable
    }
    return clean | errors, after


def _send_clean_flows_of_all(labs: Sequence[Lab]) -> dict[str, dict[str, FlowStats] | QualificationError]:
    """Sends the clean flows of these ports at once; where that cannot be done, each port's alone, so that one failing
    port does not block the others. Port under test -> flow -> statistics; or why it could not be done."""
    try:
        return dict(_send_clean_flows(labs)) if labs else {}
    except QualificationError as error:
        if len(labs) == 1:
            return {labs[0].port: error}
    return {lab.port: _send_clean_flows_of_all([lab])[lab.port] for lab in labs}


def _error(look: Callable[..., None], *arguments: Any) -> QualificationError | None:
    """What a look at one port raises; others are looked at too."""
    try:
        look(*arguments)
    except QualificationError as error:
        return error
    return None


def _send_clean_flows(labs: Sequence[Lab]) -> dict[str, dict[str, FlowStats]]:
    """Sends the clean flows of these ports; port under test -> flow -> statistics."""
    generator = labs[0].generator
    flows = {lab.port: clean_flows(lab) for lab in labs}
    traffic = build_together([(lab.builder, flows[lab.port]) for lab in labs])
    generator.push(traffic)
    generator.start(list(traffic.flows))
    generator.run_out(list(traffic.flows), SETTLE_S)
    labs[0].clock.sleep(SETTLE_S)
    stats = generator.stats(traffic.flows)
    return {port: {flow.name: stats[flow.name] for flow in own} for port, own in flows.items()}


def clean_flows(lab: Lab) -> list[FlowPlan]:
    """One short flow for every priority that a DSCP value reaches, and no storm."""
    share = share_percent(CLEAN_LOAD_PERCENT, len(lab.subject.qos.dscps))
    return [
        FlowPlan(
            lab.builder.named(f"Clean Flow Prio {priority}"), Role.CLEAN, priority, CLEAN_FRAME_BYTES, share,
            frames=CLEAN_FRAMES,
        )
        for priority in lab.subject.qos.reachable
    ]


def port_checks(subject: PortUnderTest, counters: DutCounters) -> Iterator[Check]:
    """Both ports are up, at the speed that the links file gives, and have PFC counters."""
    for port in (subject.pair.rx, subject.pair.tx):
        place = at_port(subject, port.port)
        state = counters.interfaces.get(port.port)
        link = "up" if state is not None and state.oper_up else "down"
        yield error_unless("link-up", place, link == "up", "the link up", link)
        speed = 0 if state is None else state.speed_mbps
        yield error_unless("speed", place, speed == port.speed_mbps, f"{port.speed_mbps} Mb/s", f"{speed} Mb/s")
        counted = port.port in counters.pfc_rx and port.port in counters.pfc_tx
        yield error_unless("pfc-counters", place, counted, "PFC counters", "counters" if counted else "none")


def _check_ports(subject: PortUnderTest, counters: DutCounters) -> None:
    bad = next((one for one in port_checks(subject, counters) if one.status is not Status.PASS), None)
    if bad is not None:
        raise QualificationError(f"preflight: {bad.message}")


def _check_path(subject: PortUnderTest, stats: Mapping[str, FlowStats]) -> None:
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


def _settled(
    lab: Lab, before: DutCounters, stats: Mapping[str, Mapping[str, FlowStats]], ports: Sequence[str]
) -> DutCounters:
    """The counters of these ports when everything that arrived is in those of the queues, or will not be."""
    readings = [before]

    def counted() -> bool:
        readings.append(lab.dut.counters(ports))
        return not any(_short_queues(port, before, readings[-1], own) for port, own in stats.items())

    lab.clock.sleep(lab.delays.queue_s)
    wait_for(counted, QUEUE_GRACE_S, lab.clock, QUEUE_GRACE_S)
    return readings[-1]


def _check_queues(lab: Lab, readings: tuple[DutCounters, DutCounters], stats: Mapping[str, FlowStats]) -> None:
    """Frames of a priority must leave through its queue, or the DSCP map in effect is not the configured one."""
    for priority, (arrived, seen) in _short_queues(lab.port, *readings, stats).items():
        raise QualificationError(
            f"preflight: {lab.subject.where(priority)}: expected {arrived} frames with DSCP"
            f" {list(lab.subject.qos.dscps[priority])[:4]} to leave through queue UC{priority}, got {seen}: the DSCP"
            f" map in effect is not DSCP_TO_TC_MAP|{lab.subject.qos.dscp_map}, or queue counters are not polled"
        )


def _short_queues(
    port: str, before: DutCounters, now: DutCounters, stats: Mapping[str, FlowStats]
) -> dict[int, tuple[int, int]]:
    """Priority -> frames that arrived, and fewer that its queue counted."""
    arrived = {flow.plan.priority: flow.frames_rx for flow in stats.values() if flow.plan.priority is not None}
    earlier = before.queues.get(port, {})
    later = now.queues.get(port, {})
    gained = {priority: later.get(priority, 0) - earlier.get(priority, 0) for priority in arrived}
    return {priority: (arrived[priority], seen) for priority, seen in gained.items() if seen < arrived[priority]}
