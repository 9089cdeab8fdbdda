"""What leases add to the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..lab.configuration import as_found
from ..lab.dut import Dut, Host, SwitchState
from ..lab.observer import RunObserver
from ..lab.option import Option
from .lease import Lease
from .taking import LeaseTaker, look


class LeaseOption(Option):
    """A switch is leased before anything is changed on it; what a dead run left is put back first."""

    def state(self, dut: Dut, read: Callable[[], SwitchState]) -> SwitchState:
        """With the rows that the lease of a dead run says. It is looked at first: a run that ends in between gives it
        up only when the rows are back."""
        found = look(dut.host)
        state = read()
        return replace(state, config_db=as_found(state.config_db, found))

    def reserve(self, host: Host, run_id: str, observers: Sequence[RunObserver]) -> Lease:
        """The lease of the switch, unless another run which may live has it."""
        return LeaseTaker(host, run_id, observers=observers).take()


OPTION = LeaseOption()
