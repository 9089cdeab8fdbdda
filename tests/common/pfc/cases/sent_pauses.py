"""SENT: the pause frames that the switch sends while a lossless priority is congested, as a traffic generator captured
them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ..lab.capture import read_capture
from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..model.traffic import Role
from ..record.case import PlanCase, Target
from .engine import Finding, OldProcedure as Procedure
from .targets import first_lossless, several_lossless
from .flows import DataLoad, data_flows
from .sent_checks import STORM_LEAD_S, SentRun, judge, validity
from .storm_sequence import pause_storm

logger = logging.getLogger(__name__)

SINGLE = PlanCase("sent-pauses-single", "SENT-1")
SEVERAL = PlanCase("sent-pauses-several", "SENT-2")
LOAD_PERCENT = 50
FRAME_BYTES = 1024
# A capture holds so many frames and no more, and a switch sends thousands of pauses a second: data and capture last no
# longer than it takes to see XOFF, some refreshes and XON. By an exact clock 5 ms fill the buffer (100 Gb/s: 3 MB a
# millisecond) and leave ten refreshes; other generators start late by up to a second.
REFRESHES_EXACT_S = 0.005
HOLD_S = 1.0


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """Congests the priorities of `target`, captures what the switch sends, and judges it."""
    run = measure(lab, target, before)
    invalid = validity(run)
    return Finding([] if invalid else judge(run), invalid, run.evidence(), run.after)


CASES: Mapping[PlanCase, Procedure] = {
    SINGLE: Procedure(carry_out, first_lossless),
    SEVERAL: Procedure(carry_out, several_lossless, "several lossless priorities"),
}


def measure(lab: Lab, target: Target, before: DutCounters | None) -> SentRun:
    """Capture, storm, later the data; then the storm ends, held frames drain, and the capture ends.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    traffic, tx_port = congesting_traffic(lab, target), lab.builder.port_name(lab.subject.pair.tx.port)
    if before is None:
        lab.clock.sleep(lab.delays.port_s)
        before = lab.dut.counters()
    lab.generator.push(traffic)
    try:
        lab.generator.capture([tx_port])
        lab.generator.start(traffic.names())
        lab.clock.sleep(STORM_LEAD_S)
        lab.generator.run_out(traffic.names(Role.TEST), hold_s(lab))
        held = lab.generator.stats(traffic.flows)
        logger.info("%s: storm stopped, held frames drain", lab.subject.where())
        lab.generator.stop(traffic.names(Role.STORM))
        lab.clock.sleep(hold_s(lab))
        capture = read_capture(lab.generator.captured(tx_port))
        drained = lab.generator.stats(traffic.flows)
    finally:
        lab.generator.stop()
    lab.clock.sleep(lab.delays.port_s)
    after = lab.dut.counters()
    return SentRun(lab.subject, before, after, after, target, lab.builder.router_mac, capture, held, drained)


def hold_s(lab: Lab) -> float:
    """How long data runs, and how long it then takes to drain, in seconds of the lab's clock: on an exact one until it
    could have filled the shared buffer, when a switch must have sent XOFF, and some refreshes longer."""
    if not lab.clock.exact:
        return HOLD_S
    bytes_a_second = lab.subject.pair.speed_mbps * 10**6 * LOAD_PERCENT / 800
    return lab.subject.buffer.size_bytes / bytes_a_second + REFRESHES_EXACT_S


def congesting_traffic(lab: Lab, target: Target) -> Traffic:
    """A storm that holds the priorities of `target`, some time later data of these; the tx port's generator
    captures."""
    load = DataLoad("Test Flow", Role.TEST, target, LOAD_PERCENT, hold_s(lab), FRAME_BYTES, delay_s=STORM_LEAD_S)
    flows = [pause_storm(lab, target), *data_flows(lab, [load])]
    return lab.builder.build(flows, captured=[lab.subject.pair.tx.port])
