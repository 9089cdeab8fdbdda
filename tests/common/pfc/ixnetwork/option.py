"""What Keysight's IxNetwork adds to the core."""

from __future__ import annotations

from typing import Any

from ..lab.clock import Clock
from ..lab.option import Option
from .api import EXTENSION, IxNetworkApi


class IxNetworkOption(Option):
    """The traffic generators may be reached through snappi_ixnetwork."""

    def adapted(self, api: Any, clock: Clock) -> Any:
        """That extension's API object as OTG has it; another one as it is."""
        return IxNetworkApi(api, clock) if type(api).__module__.startswith(EXTENSION) else api


OPTION = IxNetworkOption()
