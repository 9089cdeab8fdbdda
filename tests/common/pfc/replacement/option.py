"""What the replacement of a T1 adds to the core."""

from __future__ import annotations

from ..lab.option import Option
from ..lab.port_plan import LabFacts, MeasuredDevice
from .choose import choose_device


class ReplacementOption(Option):
    """A testbed's entry may name the switches that replace a T1."""

    def measured(self, facts: LabFacts, device: str) -> MeasuredDevice:
        """A T1's replacement, any other device itself."""
        return choose_device(facts.testbed, device, facts.state_of, facts.ports, facts.links)


OPTION = ReplacementOption()
