"""What leases add to the core."""

from __future__ import annotations

from collections.abc import Sequence

from ..lab.dut import Host
from ..lab.observer import RunObserver
from ..lab.option import Option
from ..lab.reservation import Rows
from .lease import Lease
from .taking import LeaseTaker, look


class LeaseOption(Option):
    """A switch is leased before anything is changed on it; what a dead run left is put back first."""

    def left_changed(self, host: Host) -> Rows:
        """What the lease of a dead run says."""
        return look(host)

    def reserve(self, host: Host, run_id: str, observers: Sequence[RunObserver]) -> Lease:
        """The lease of the switch, unless another run which may live has it."""
        return LeaseTaker(host, run_id, observers=observers).take()


OPTION = LeaseOption()
