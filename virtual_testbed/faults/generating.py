"""Habits of traffic generators that a suite has to live with.

The port named is the switch port that the generator port is plugged into; with `priority` only data flows of that
transmit queue, and pause flows, are meant.
"""
from __future__ import annotations

from virtual_testbed.dataplane.model.hooks import Fault


class FinishedFlowsStayStarted(Fault):
    """A flow that has finished by itself does not begin again when it is started, without a word, until it was stopped
    or the traffic was configured anew (IxNetwork may keep a finished traffic item `started`, and snappi-ixnetwork
    starts only those that are `stopped`).
    """

    name = "finished-flows-stay-started"

    def starts_again(self, starts: bool) -> bool:
        """Never."""
        return False


FAULTS: tuple[type[Fault], ...] = (FinishedFlowsStayStarted,)
