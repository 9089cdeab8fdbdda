"""Taking the lease of a switch, and healing it.

A run that finds the lease of another one is refused while that one lives. The lease of a dead run is taken over: what
it says, not what the switch has now, is the state to put back, however many runs have died since.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ..lab.cli_text import first_line
from ..lab.clock import Clock, WallClock
from ..lab.configuration import RowRestorer
from ..lab.dut import READ_CONFIG, Host, checked, run_batch
from ..lab.observer import RunObserver
from ..lab.reservation import ReservationLost, Rows, Table
from ..lab.restore import WATCHDOG, SwitchRestorer, read_config_db
from ..model.errors import QualificationError
from . import lease as leases
from .lease import LEASE_FILE, Lease, LeaseOwner, Seen

logger = logging.getLogger(__name__)

ATTEMPTS = 3  # each one lost means that another run took or gave up the lease within one call


def look(host: Host) -> Rows:
    """Rows that a dead run changed on a switch, as it found them; none where nobody has the switch, or this process.

    Raises:
        ReservationLost: another run has the switch.
        QualificationError: its lease cannot be read.
    """
    left = run_batch(host, {"lease": leases.LOOK})["lease"]
    seen = leases.find(host.hostname, left.text, left.status)
    leases.refuse_if_taken(host.hostname, seen)
    return {} if seen is None else seen.lease.rows


class LeaseTaker:
    """Takes the lease of one switch for one run."""

    def __init__(
        self, host: Host, run_id: str, clock: Clock | None = None, observers: Sequence[RunObserver] = ()
    ) -> None:
        """Nothing is changed yet; arguments as of `SwitchRestorer`."""
        self._host = host
        self._run_id = run_id
        self._clock = clock or WallClock()
        self._observers = observers

    def take(self, may_take: Callable[[Seen], bool] = Seen.is_over) -> Lease:
        """Makes the switch this run's, unless it is that of another run which `may_take` spares.

        Raises:
            ReservationLost: it is, or other runs take it all the time.
            QualificationError: the lease cannot be read or written; nothing was changed.
        """
        owner = LeaseOwner.of(os.getpid())
        for _ in range(ATTEMPTS):
            seen, now = self._look()
            if seen is not None and (seen.lease.owner, seen.lease.run_id) == (owner, self._run_id):
                return seen.lease  # it was written, and the answer got lost
            if seen is not None and not may_take(seen):
                raise ReservationLost(leases.refusal(self._host.hostname, seen))
            found = now if seen is None else seen.lease.watchdog
            lease = Lease(owner, self._run_id, watchdog=found)
            if seen is not None:
                RowRestorer(self._host, lease).keep(seen.lease.rows)
                lease.scripts = dict(seen.lease.scripts)
            if self._write(lease, seen):
                return lease
        raise ReservationLost(
            f"{self._host.hostname}: other runs take {LEASE_FILE} on the switch all the time; try again"
        )

    @contextmanager
    def healed(self, force: bool = False) -> Iterator[Seen | None]:
        """What another run changed, dead or not, is put back when the `with` block ends; inside it the switch is this
        run's, and that run cannot measure any more.

        Args:
            force: also if the run is a process of this machine and lives; the user can stop that one.

        Yields:
            The lease that was found; None: there was none, and there is nothing to put back.

        Raises:
            ReservationLost: the run is a process of this machine and lives.
            QualificationError: the state could not be put back; the lease stays.
        """
        seen, _ = self._look()
        if seen is None:
            yield None
            return
        lease = self.take(lambda found: force or found.is_over() or not found.lease.owner.is_here())
        try:
            yield seen
        finally:
            SwitchRestorer(self._host, self._run_id, self._clock, self._observers, lease).put_back()

    def _write(self, lease: Lease, instead_of: Seen | None) -> bool:
        """Writes the lease; False: another run was faster."""
        output = run_batch(self._host, {"take": lease.take(instead_of)})["take"]
        if output.status not in (0, leases.TAKEN):
            said = first_line(output.text) or "no reason given"
            raise QualificationError(
                f"{self._host.hostname}: {LEASE_FILE} on the switch cannot be written ({said}); nothing was changed"
            )
        if output.status == 0 and instead_of is not None:
            logger.warning(
                "%s: %s ended without putting back what it changed; the state that it found is what this run puts back",
                self._host.hostname,
                instead_of,
            )
        return output.status == 0

    def _look(self) -> tuple[Seen | None, Table]:
        """The lease on the switch, and its watchdog now. The lease is read first: a run that ends in between gives it
        up only when the watchdog is back."""
        outputs = run_batch(self._host, {"left": leases.LOOK, "config": READ_CONFIG})
        left = outputs["left"]
        seen = leases.find(self._host.hostname, left.text, left.status)
        text = checked(self._host, "config", outputs)
        return seen, read_config_db(self._host, text, "before", self._observers).get(WATCHDOG, {})
