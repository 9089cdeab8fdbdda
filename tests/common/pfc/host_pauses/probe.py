"""A few PFC frames from the host that pauses come from, counted by the switch: the cable leads to the port under test,
and what the host sends arrives there.

They are sent before the first storm, and after each storm that the switch should have counted and neither its counters
nor the traffic show: then either the switch is wrong about storms, or the way to it is gone.
"""

from __future__ import annotations

from ..cases.checking import at_port, error_unless
from ..lab.lab import Lab
from ..model.counters import DutCounters, changed
from ..model.errors import QualificationError
from ..record.verdict import Check
from .generator import HostedGenerator
from .options import PROBE_FRAMES

LEAST_COUNTED = PROBE_FRAMES * 9 // 10  # a driver may refuse some


class NotArrived(QualificationError):
    """The frames were not counted on the port under test."""

    def __init__(self, check: Check) -> None:
        """`check` has what was expected and what was seen."""
        super().__init__(check.message)
        self.check = check


def arrived(lab: Lab, before: DutCounters) -> DutCounters:
    """Sends them, and waits until the switch's counters have them: for one lossless priority is enough, whether each is
    counted is judged of storms.

    Args:
        lab: one whose pauses come from a host.
        before: the switch's counters, read when all earlier traffic was in them.

    Returns:
        The counters with everything in them.

    Raises:
        NotArrived: they were counted on another port, or on none, or a counter fell meanwhile.
        QualificationError: they were not sent.
    """
    subject, generator = lab.subject, lab.generator
    assert isinstance(generator, HostedGenerator) and subject.pauses_from is not None, "pauses do not come from a host"
    generator.source.probe(subject.qos.lossless)
    lab.clock.sleep(lab.delays.port_s)
    after = lab.dut.counters()
    own = changed(before.pfc_rx, after.pfc_rx, lab.port)
    if min(own) < 0:
        expected = f"PFC receive counters that only grow while {subject.pauses_from.where} sends {PROBE_FRAMES} frames"
        raise NotArrived(_not_met(lab, expected, f"one that fell by {-min(own)}: leave the switch's counters alone"))
    if max(own[priority] for priority in subject.qos.lossless) < LEAST_COUNTED:
        expected = f"PFC frames from {subject.pauses_from.where} in its receive counters"
        seen = f"them {_counted(lab, before, after)}: check the cable, and pfc_pause_source"
        raise NotArrived(_not_met(lab, expected, seen))
    return after


def _counted(lab: Lab, before: DutCounters, after: DutCounters) -> str:
    """Where they were counted instead, or how few of them."""
    gained = {port: max(changed(before.pfc_rx, after.pfc_rx, port)) for port in after.pfc_rx if port in before.pfc_rx}
    others = [port for port, frames in gained.items() if port != lab.port and frames > 0]
    if gained[lab.port] > 0:
        lossless = changed(before.pfc_rx, after.pfc_rx, lab.port)
        return f"{max(lossless[one] for one in lab.subject.qos.lossless)} times of {PROBE_FRAMES}"
    return f"in those of {', '.join(others)}" if others else "nowhere"


def _not_met(lab: Lab, expected: str, seen: str) -> Check:
    return error_unless("pauses-arrive", at_port(lab.subject, lab.port), False, expected, seen)
