"""Habits of traffic generators that a suite has to live with, and what becomes of their frames on the cable.

The port named is the switch port that the generator port is plugged into; with `priority` only data flows of that
transmit queue, and pause flows, are meant.
"""
from __future__ import annotations

from virtual_testbed.dataplane.model.control_frames import GLOBAL_PAUSE, LOST, PFC, Control
from virtual_testbed.dataplane.model.hooks import Fault, Scope
from virtual_testbed.faults.options import choice, concerns

GLOBAL = "global"
ENABLING = "pfc"
OTHER = "other"


class FinishedFlowsStayStarted(Fault):
    """A flow that has finished by itself does not begin again when it is started, without a word, until it was stopped
    or the traffic was configured anew (IxNetwork may keep a finished traffic item `started`, and snappi-ixnetwork
    starts only those that are `stopped`).
    """

    name = "finished-flows-stay-started"

    def starts_again(self, starts: bool) -> bool:
        """Never."""
        return False


class StormNeverArrives(Fault):
    """Frames of pause flows that the generator counts as sent never reach the switch: all of them, or with
    `only=global` those of 802.3x, with `only=pfc` PFC frames that enable a priority (of the scope, if it has one), with
    `only=other` the rest.

    Raises:
        ValueError: `only` is something else.
    """

    name = "storm-never-arrives"
    options = ("only",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._only = choice(options, "only", GLOBAL, ENABLING, OTHER)

    def parse(self, frame: bytes, reading: Control) -> Control:
        """Nothing: the port never sees it."""
        kind = GLOBAL if reading.kind == GLOBAL_PAUSE else OTHER
        if reading.kind == PFC and reading.pauses:
            kind = ENABLING
        is_meant = kind != ENABLING or any(concerns(self, priority) for priority, _ in reading.pauses)
        return Control(LOST) if is_meant and self._only in ("", kind) else reading


FAULTS: tuple[type[Fault], ...] = (FinishedFlowsStayStarted, StormNeverArrives)
