"""Data at a storm's beginning, for watchdogs that detect none at an empty queue."""

from __future__ import annotations

from ...lab.lab import Lab
from ...lab.watchdog_deviations import detects_at_empty_queue
from ...model.measurement import PortUnderTest
from ...model.traffic import FlowPlan, Role
from ...record.case import Target
from .checks import FRAME_BYTES

FRAMES = 10
"""Of each priority: too few for XOFF, and all sent before the storm may have been detected."""
LIGHT_FPS = 100
"""Frames a second of each priority, of data that lets a watchdog detect a storm."""
DELAY_S = 0.5


def early_frames(subject: PortUnderTest) -> int:
    """How many frames of each priority a storm begins with."""
    return 0 if detects_at_empty_queue(subject.asic) else FRAMES


def early_flows(lab: Lab, target: Target, leaves: str = "", enters: str = "") -> list[FlowPlan]:
    """Flows of these frames, from half a second after the storm's beginning on; none where none are needed.

    Args:
        lab: what to measure with.
        target: the priorities of the storm.
        leaves, enters: the ports where the storm holds them and where they come in; empty: those of the pair.
    """
    frames = early_frames(lab.subject)
    into = f" {leaves}" if leaves else ""
    return [
        FlowPlan(lab.builder.named(f"Early Flow{into} Prio {priority}"), Role.CLEAN, priority, FRAME_BYTES,
                 fps=LIGHT_FPS, frames=frames, delay_ns=round(DELAY_S * 1e9), enters=enters, leaves=leaves)
        for priority in target if frames
    ]
