"""What a run changes on a switch, and how it comes back, whoever has to see to that.

Before the first change the run takes the switch's lease (`lease`), in which the tables found are written down. It goes
away when the state is back. A run that finds the lease of another one is refused while that one lives. The lease of
a dead run is taken over: what it says, not what the switch has now, is the state to put back, however many runs have
died since.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from . import lease as leases
from .dut import Host, checked, parse_config_db, run_batch
from .errors import QualificationError, SwitchUnreachable
from .lease import FOLDER, LEASE_FILE, Lease, LeaseLost, Owner, Seen, Table
from .polling import Clock, WallClock, wait_for
from .sonic_text import first_line

logger = logging.getLogger(__name__)

READ_CONFIG = "sonic-cfggen -d --print-data"
RETURN_DEADLINE_S = 20.0  # an SSH server that is started again is back sooner; a switch that boots is not waited for
ATTEMPTS = 3  # each one lost means that another run took or gave up the lease within one call


class Journal:
    """Stops the watchdog of one switch and puts it back as it was before the first run."""

    def __init__(self, host: Host, run_id: str, clock: Clock | None = None) -> None:
        """`run_id` names this run in the lease; `clock` is waited on for a switch that went away (None: real time)."""
        self._host = host
        self._run_id = run_id
        self._clock = clock or WallClock()
        self._is_back = False

    @contextmanager
    def watchdog_stopped(self) -> Iterator[Lease]:
        """The switch is this run's inside the `with` block and its watchdog stopped; it is put back however the block
        ends.

        Yields:
            The lease, with the state that is going to be put back: that of the switch, or what a dead run wrote down.

        Raises:
            LeaseLost: another run has the switch; or it took it over inside the block, and puts the state back.
            QualificationError: the lease cannot be read or written (then nothing was changed), or a step failed.
        """
        lease = self._take(Seen.is_over)
        try:
            stop = f"{{ {lease.held()}; }} && pfcwd stop"
            checked(self._host, "stop", run_batch(self._host, {"stop": stop}))
            yield lease
        finally:
            self._put_back(lease)

    @contextmanager
    def healed(self, force: bool = False) -> Iterator[Seen | None]:
        """What another run changed, dead or not, is put back when the `with` block ends; inside it the switch is this
        run's, and that run cannot measure any more.

        Args:
            force: also if the run is a process of this machine and lives; the user can stop that one.

        Yields:
            The lease that was found; None: there was none, and there is nothing to put back.

        Raises:
            LeaseLost: the run is a process of this machine and lives.
            QualificationError: the state could not be put back; the lease stays.
        """
        seen, _ = self._look()
        if seen is None:
            yield None
            return
        lease = self._take(lambda found: force or found.is_over() or not found.lease.owner.is_here())
        try:
            yield seen
        finally:
            self._put_back(lease)

    def restore(self, lease: Lease) -> None:
        """Puts the watchdog back, looks whether it is, and only then gives the lease up.

        Raises:
            LeaseLost: the lease is not this run's any more; nothing was changed.
            QualificationError: the switch did not take the configuration; the lease stays for the next run.
        """
        found = lease.watchdog
        rows = shlex.quote(json.dumps({"PFC_WD": found}))
        held = f"{{ {lease.held()}; }}"
        load = (
            f"file={FOLDER}/restore.$$.json; printf '%s\\n' {rows} > $file && "
            "config load $file -y; status=$?; rm -f $file; exit $status"
        )
        outputs = run_batch(
            self._host,
            {
                "lease": lease.check(),
                "stop": f"{held} && pfcwd stop",
                "load": f"{held} || exit 1; {load if found else 'true'}",
                "config": READ_CONFIG,
            },
        )
        if outputs["lease"].status:
            raise LeaseLost(leases.loss(self._host.hostname, outputs["lease"].text))
        checked(self._host, "stop", outputs)
        checked(self._host, "load", outputs)
        now = parse_config_db(self._host, checked(self._host, "config", outputs)).get("PFC_WD", {})
        if dict(now) != dict(found):
            differing = sorted(key for key in {*now, *found} if now.get(key) != found.get(key))
            raise QualificationError(
                f"{self._host.hostname}: the watchdog's configuration is not as it was found (PFC_WD|"
                f"{differing[0]} differs); {LEASE_FILE} on the switch has the state found"
            )
        self._is_back = True
        checked(self._host, "give_up", run_batch(self._host, {"give_up": lease.give_up()}))

    def _put_back(self, lease: Lease) -> None:
        """Restores; a switch that does not answer gets some time to come back."""
        lost: list[SwitchUnreachable] = []

        def restored() -> bool:
            try:
                self.restore(lease)
            except SwitchUnreachable as error:
                lost.append(error)
                return False
            except LeaseLost:
                if not (lost and self._is_back):  # else it was given up, and only the answer got lost
                    raise
            return True

        if not wait_for(restored, RETURN_DEADLINE_S, self._clock, 2.0):
            raise QualificationError(
                f"{lost[-1]}; the watchdog is not put back yet, the next run or pfc-restore does that from"
                f" {LEASE_FILE} on the switch"
            )

    def _take(self, may_take: Callable[[Seen], bool]) -> Lease:
        """Makes the switch this run's, unless it is that of another run which `may_take` spares."""
        for _ in range(ATTEMPTS):
            seen, now = self._look()
            if seen is not None and not may_take(seen):
                raise LeaseLost(leases.refusal(self._host.hostname, seen))
            lease = Lease(Owner.of(os.getpid()), self._run_id, now if seen is None else seen.lease.watchdog)
            if self._write(lease, seen):
                return lease
        raise LeaseLost(f"{self._host.hostname}: other runs take {LEASE_FILE} on the switch all the time; try again")

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
                "%s: %s ended without putting the watchdog back; the state that it found is what this run puts back",
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
        config_db = parse_config_db(self._host, checked(self._host, "config", outputs))
        return seen, config_db.get("PFC_WD", {})
