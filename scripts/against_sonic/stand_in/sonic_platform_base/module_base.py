"""Names of a chassis' modules."""
from __future__ import annotations


class ModuleBase:
    """A module of a chassis; there is none."""

    MODULE_TYPE_SUPERVISOR, MODULE_TYPE_LINE, MODULE_TYPE_FABRIC = "SUPERVISOR", "LINE-CARD", "FABRIC-CARD"
    MODULE_TYPE_DPU = "DPU"
