"""Cases that are carried out on a switch in another state than it was found in, which is put back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..record.case import Target
from .engine import Procedure, RunT, Targets

CHANGEABLE = "a switch whose configuration may be changed (a virtual testbed, or --pfc-change-config on hardware)"
Around = Callable[[Lab, Target], AbstractContextManager[Lab]]
"""A state of the switch for one target of a case, until the `with` block ends; it gives what to measure with in it."""


def inside(around: Around, procedure: Procedure[RunT], targets: Targets | None = None) -> Procedure[RunT]:
    """The same procedure, measured inside what `around` enters. `targets`: what it is about then; None: the same."""

    def measure(lab: Lab, target: Target, before: DutCounters) -> RunT:
        with around(lab, target) as other:
            return procedure.measure(other, target, before)

    return replace(procedure, measure=measure, targets=procedure.targets if targets is None else targets)


def changeable(targets: Targets) -> Targets:
    """The same on switches whose configuration may be changed."""
    return targets.where(lambda subject: subject.changeable, CHANGEABLE)
