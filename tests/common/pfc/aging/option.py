"""What the aging of held frames adds to the core."""

from __future__ import annotations

from ..lab.option import Option
from .auditor import AgingAuditor


class AgingOption(Option):
    """What drops held frames on a switch, beside SONiC's PFC watchdog, is switched off while the run has the switch."""

    def auditor(self) -> AgingAuditor:
        """Switches it off."""
        return AgingAuditor()


OPTION = AgingOption()
