"""What the look at the cables adds to the core."""

from __future__ import annotations

from ..lab.option import Option
from .auditor import CableAuditor


class CablesOption(Option):
    """What was measured over a bad cable is no verdict."""

    def auditor(self) -> CableAuditor:
        """Looks at the cables."""
        return CableAuditor()


OPTION = CablesOption()
