"""What a testbed says of itself that is broken on purpose: `virtual-testbed up --fault` writes it into its entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.errors import QualificationError

KEY = "faults"


def faults_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The faults that a testbed's entry names, as `virtual-testbed` writes them; none: nothing is broken on purpose.

    Raises:
        QualificationError: the entry says them wrongly.
    """
    faults = entry.get(KEY) or []
    if not isinstance(faults, list) or not all(isinstance(fault, str) for fault in faults):
        raise QualificationError(
            f"testbed {entry.get('conf-name')}: {KEY} is {faults!r}; it must be a list of what is broken on purpose,"
            " such as pause-ignored@Ethernet0"
        )
    return tuple(faults)
