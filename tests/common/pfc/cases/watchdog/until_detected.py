"""What WD-15, WD-16, WD-19 and FLAP-6 begin with: a storm without data, until the watchdog must have detected it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...lab.generator import Traffic
from ...lab.lab import Lab
from ...lab.watchdog import DROP, Timers, Watchdog
from ...record.case import Target
from ..engine import sending
from ..storm_sequence import pause_storm
from .checks import lead_s
from .early import early_flows

TIMERS = Timers(DROP)


@contextmanager
def until_detected(lab: Lab, target: Target, watchdog: Watchdog, further_s: float = 0.0) -> Iterator[Traffic]:
    """Starts the watchdog, then the storm, which must have been detected when the `with` block begins; no flow runs on
    when that ends. Its flows: the storm's, and early data. `further_s`: how long the storm goes on in the block."""
    watchdog.start(TIMERS)
    storm = pause_storm(lab, target, lead_s(TIMERS) + further_s)
    traffic = lab.builder.build([storm, *early_flows(lab, target)])
    with sending(lab, traffic):
        lab.generator.start(traffic.names())
        lab.clock.sleep(lead_s(TIMERS))
        yield traffic
