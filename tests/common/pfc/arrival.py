"""A few PFC frames from the host that pauses come from, counted by the switch: the cable leads to the port under test,
and what the host sends arrives there.

They are sent before the first storm, and after each storm that neither the switch's counters nor the traffic shows
(802.3x and invalid frames, on a switch that is right about them). Without them such a run would pass whether or not a
frame had arrived.
"""

from __future__ import annotations

from .dut import DutCounters
from .errors import QualificationError
from .hosted import HostedGenerator
from .preflight import Lab
from .sonic_text import changed


def arrived(lab: Lab, before: DutCounters) -> DutCounters:
    """Sends them, and waits until the switch's counters have them.

    Args:
        lab: one whose pauses come from a host.
        before: the switch's counters, read when all earlier traffic was in them.

    Returns:
        The counters with everything in them.

    Raises:
        QualificationError: they were not sent, or counted on another port, or on none.
    """
    subject, generator = lab.subject, lab.generator
    assert isinstance(generator, HostedGenerator) and subject.pauses_from is not None, "pauses do not come from a host"
    generator.source.probe(subject.qos.lossless)
    lab.clock.sleep(lab.ages.port_s)
    after = lab.dut.counters()
    known = [port for port in after.pfc_rx if port in before.pfc_rx]
    counted = [port for port in known if any(changed(before.pfc_rx, after.pfc_rx, port))]
    if lab.port not in counted:
        raise QualificationError(
            f"{subject.where()}: expected PFC frames from {subject.pauses_from.where} in its receive counters, got them"
            f" {'in those of ' + ', '.join(counted) if counted else 'nowhere'}: check the cable, and pfc_pause_source"
        )
    return after
