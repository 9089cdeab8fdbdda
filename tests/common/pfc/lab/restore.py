"""What a run changes on a switch, and how it comes back, whoever has to see to that.

Before the first change the run takes the switch's lease (`lease`), in which the watchdog's table is written down as it
was found; rows of other tables are written there before they are changed. It goes away when the state is back. A run
that finds the lease of another one is refused while that one lives. The lease of a dead run is taken over: what it
says, not what the switch has now, is the state to put back, however many runs have died since.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..model.errors import QualificationError, SwitchUnreachable
from ..model.qos import ConfigDb
from . import lease as leases
from .cli_text import first_line
from .clock import Clock, WallClock, wait_for
from .dut import Host, checked, parse_config_db, run_batch
from .lease import FOLDER, LEASE_FILE, WATCHDOG, Lease, LeaseLost, LeaseOwner, Rows, Seen, Table, as_found
from .observer import RunObserver

logger = logging.getLogger(__name__)

READ_CONFIG = "sonic-cfggen -d --print-data"
RETURN_DEADLINE_S = 20.0  # an SSH server that is started again is back sooner; a switch that boots is not waited for
FOLLOW_S = 5.0  # SONiC's daemons follow CONFIG_DB within about a second, one after the other
ATTEMPTS = 3  # each one lost means that another run took or gave up the lease within one call


class SwitchRestorer:
    """Stops the watchdog of one switch, changes its configuration, and puts both back as before the first run."""

    def __init__(
        self, host: Host, run_id: str, clock: Clock | None = None, observers: Sequence[RunObserver] = ()
    ) -> None:
        """Nothing is changed yet.

        Args:
            host: the switch.
            run_id: names this run in the lease.
            clock: what is waited on for a switch that went away; None: real time.
            observers: who looks on at the configuration before the run and after it.
        """
        self._host = host
        self._run_id = run_id
        self._clock = clock or WallClock()
        self._observers = observers
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
            self._bring_back(lease)  # what a dead run changed must not be measured
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

    @contextmanager
    def configured(self, lease: Lease, config_db: ConfigDb, wanted: Rows) -> Iterator[None]:
        """Rows of CONFIG_DB are as wanted inside the `with` block, and as found when it ends, however it ends.

        Args:
            lease: this run's, with the watchdog stopped.
            config_db: CONFIG_DB as it is.
            wanted: the rows, each whole; None: there is no such row.

        Raises:
            LeaseLost: another run has the switch; it puts the rows back.
            QualificationError: the rows found cannot be written down (then nothing was changed), or the switch did not
                take the wanted ones, or did not take the others back.
        """
        found = {table: {key: config_db.get(table, {}).get(key) for key in rows} for table, rows in wanted.items()}
        lease.rows = {table: {**found.get(table, {}), **lease.rows.get(table, {})} for table in {*found, *lease.rows}}
        try:
            self._bring(lease, config_db, wanted, lease.rewrite())
            yield
        finally:
            changed = as_found(config_db, wanted)
            self._insist("the configuration", lambda: self._bring(lease, changed, lease.rows))

    def _bring_back(self, lease: Lease) -> None:
        """Puts rows back, whatever the switch has now."""
        if lease.rows:
            now = parse_config_db(self._host, self._held(lease, {"config": READ_CONFIG})["config"])
            self._bring(lease, now, lease.rows)

    def _bring(self, lease: Lease, now: ConfigDb, wanted: Rows, first: str = "true") -> None:
        """Brings rows from what they are now to what is wanted, unless the shell command `first` fails.

        Rows of a port's queues and groups go before others come: daemons that see both at once may take the profile of
        `0-2` away after they gave one to `0-1`. Maps go last: rows that refer to them are changed before.
        """
        if not (differing := _differing(now, wanted)):
            return
        gone = [(table, key) for table, keys in differing.items() for key, row in keys.items() if row is None]
        overlapping = [name for name in gone if "|" in name[1]]
        if overlapping:
            self._held(lease, {"remove": f"{{ {lease.held()}; }} && {first} && {_delete(overlapping)}"})
            self._clock.sleep(FOLLOW_S)
            first = "true"
        coming = {table: {key: row for key, row in new.items() if row is not None} for table, new in differing.items()}
        steps = [f"{{ {lease.held()}; }}", first, *_drop_fields(now, coming), f"( {_load(coming)} )"]
        steps += [_delete(maps)] if (maps := [name for name in gone if name not in overlapping]) else []
        after = self._held(lease, {"load": " && ".join(steps), "config": READ_CONFIG})["config"]
        left = _differing(parse_config_db(self._host, after), wanted)
        if left:
            table, keys = next(iter(left.items()))
            raise QualificationError(
                f"{self._host.hostname}: {table}|{next(iter(keys))} in CONFIG_DB is not what was written; {LEASE_FILE}"
                " on the switch has the rows found"
            )
        self._clock.sleep(FOLLOW_S)

    def _held(self, lease: Lease, commands: dict[str, str]) -> dict[str, str]:
        """Runs commands under the lease.

        Raises:
            LeaseLost: it is not this run's any more.
        """
        outputs = run_batch(self._host, {"lease": lease.check(), **commands})
        if outputs["lease"].status:
            raise LeaseLost(leases.loss(self._host.hostname, outputs["lease"].text))
        return {name: checked(self._host, name, outputs) for name in commands}

    def restore(self, lease: Lease) -> None:
        """Puts rows and watchdog back, looks whether they are, and only then gives the lease up.

        Raises:
            LeaseLost: the lease is not this run's any more; nothing was changed.
            QualificationError: the switch did not take the configuration; the lease stays for the next run.
        """
        self._bring_back(lease)
        found = lease.watchdog
        held = f"{{ {lease.held()}; }}"
        load = f"{held} || exit 1; {_load({WATCHDOG: found}) if found else 'true'}"
        stop = f"{held} && pfcwd stop"
        if "POLL_INTERVAL" not in found.get("GLOBAL", {}):  # a run that was killed may have left its own
            stop += " && sonic-db-cli CONFIG_DB HDEL 'PFC_WD|GLOBAL' POLL_INTERVAL"
        outputs = self._held(lease, {"stop": stop, "load": load, "config": READ_CONFIG})
        now = self._read_config("after", outputs["config"]).get(WATCHDOG, {})
        if dict(now) != dict(found):
            differing = sorted(key for key in {*now, *found} if now.get(key) != found.get(key))
            raise QualificationError(
                f"{self._host.hostname}: the watchdog's configuration is not as it was found (PFC_WD|"
                f"{differing[0]} differs); {LEASE_FILE} on the switch has the state found"
            )
        self._is_back = True
        checked(self._host, "give_up", run_batch(self._host, {"give_up": lease.give_up()}))

    def _put_back(self, lease: Lease) -> None:
        self._insist("the watchdog", lambda: self.restore(lease))

    def _insist(self, what: str, put_back: Callable[[], None]) -> None:
        """Puts something back; a switch that does not answer gets some time to come back."""
        lost: list[SwitchUnreachable] = []

        def restored() -> bool:
            try:
                put_back()
            except SwitchUnreachable as error:
                lost.append(error)
                return False
            except LeaseLost:
                if not (lost and self._is_back):  # else it was given up, and only the answer got lost
                    raise
            return True

        if not wait_for(restored, RETURN_DEADLINE_S, self._clock, 2.0):
            raise QualificationError(
                f"{lost[-1]}; {what} is not put back yet, the next run or `make restore TESTBED=NAME` does that from"
                f" {LEASE_FILE} on the switch"
            )

    def _take(self, may_take: Callable[[Seen], bool]) -> Lease:
        """Makes the switch this run's, unless it is that of another run which `may_take` spares."""
        for _ in range(ATTEMPTS):
            seen, now = self._look()
            if seen is not None and not may_take(seen):
                raise LeaseLost(leases.refusal(self._host.hostname, seen))
            lease = Lease(LeaseOwner.of(os.getpid()), self._run_id, now)
            if seen is not None:
                lease.watchdog = seen.lease.watchdog
                lease.rows = seen.lease.rows
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
        config_db = self._read_config("before", checked(self._host, "config", outputs))
        return seen, config_db.get(WATCHDOG, {})

    def _read_config(self, moment: str, text: str) -> ConfigDb:
        """CONFIG_DB before or after the run, which is evidence."""
        config_db = parse_config_db(self._host, text)
        for observer in self._observers:
            observer.configuration_read(self._host.hostname, moment, config_db)
        return config_db


def _differing(config_db: ConfigDb, wanted: Rows) -> dict[str, dict[str, Mapping[str, Any] | None]]:
    """Those of the rows that CONFIG_DB does not have so."""
    found = {
        table: {key: row for key, row in keys.items() if config_db.get(table, {}).get(key) != row}
        for table, keys in wanted.items()
    }
    return {table: keys for table, keys in found.items() if keys}


def _delete(rows: Iterable[tuple[str, str]]) -> str:
    """A shell command: removes these rows (table and key)."""
    return f"sonic-db-cli CONFIG_DB DEL {' '.join(shlex.quote('|'.join(name)) for name in rows)}"


def _drop_fields(now: ConfigDb, coming: Rows) -> list[str]:
    """Shell commands: remove the fields that rows have now and shall not have. `config load` only adds."""
    extra = {
        f"{table}|{key}": sorted({*now.get(table, {}).get(key, {})} - {*(row or {})})
        for table, keys in coming.items() for key, row in keys.items()
    }
    return [
        f"sonic-db-cli CONFIG_DB HDEL {shlex.quote(name)} {' '.join(map(shlex.quote, fields))}"
        for name, fields in extra.items() if fields
    ]


def _load(tables: Rows) -> str:
    """A shell command, of several: merges these tables into CONFIG_DB. Its exit status is that of `config load`."""
    text = shlex.quote(json.dumps(tables))
    return (
        f"file={FOLDER}/restore.$$.json; printf '%s\\n' {text} > $file && "
        "config load $file -y; status=$?; rm -f $file; exit $status"
    )
