"""What a run changes on a switch comes back, however the run ends: first whatever test cases changed, then the
watchdog, which is stopped for as long as the run has the switch."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from ..model.errors import QualificationError, SwitchUnreachable
from ..model.qos import ConfigDb
from .clock import Clock, WallClock, wait_for
from .dut import READ_CONFIG, Dut, Host, SwitchState, checked, parse_config_db, run_batch
from .observer import RunObserver
from .option import first, options
from .reservation import Reservation, ReservationLost, Rows

WATCHDOG = "PFC_WD"
RETURN_DEADLINE_S = 20.0  # an SSH server that is started again is back sooner; a switch that boots is not waited for


def read_state(dut: Dut) -> SwitchState:
    """What a switch is and how it is configured, as options know it (`Option.state`).

    Raises:
        ReservationLost: another run has the switch.
        QualificationError: a command failed or printed something unexpected.
    """
    read = dut.state
    for option in options():
        read = partial(option.state, dut, read)
    return read()


class SwitchRestorer:
    """Stops the watchdog of one switch, and puts back what a run changed there. What could not be put back stays what
    is put back, by the next try or after the next stop: the switch does not know it any more."""

    def __init__(
        self, host: Host, run_id: str, clock: Clock | None = None, observers: Sequence[RunObserver] = (),
        found: Reservation | None = None,
    ) -> None:
        """Nothing is changed yet. `run_id` names this run for others; `clock`: what is waited on for a switch that went
        away (None: real time); `observers` look on at the configuration before and after; `found` is to be put back."""
        self._host = host
        self._run_id = run_id
        self._clock = clock or WallClock()
        self._observers = observers
        self._found = found  # None: nothing is left to be put back

    @contextmanager
    def watchdog_stopped(self) -> Iterator[Reservation]:
        """The switch is this run's inside the `with` block, as of `stop_watchdog`; it is put back however the block
        ends."""
        try:
            yield self.stop_watchdog()
        finally:
            self.put_back()

    def stop_watchdog(self) -> Reservation:
        """Makes the switch this run's and stops its watchdog; returns what is going to be put back. Raises
        ReservationLost where another run has the switch, or took it over and puts the state back; QualificationError
        where it cannot be reserved (then nothing was changed), or a step failed."""
        self._found = reservation = self._found or self._reserve()
        for bring_back in reservation.restorers.values():  # what a dead run changed must not be measured
            bring_back(self._clock)
        dut = Dut(self._host, reservation=reservation)
        dut.ask({"stop": dut.guarded("pfcwd stop")})
        return reservation

    def put_back(self) -> None:
        """Puts back what was found, unless that is done; the switch is anybody's then. Raises ReservationLost where
        another run has taken the switch over, and puts the state back; QualificationError where it does not answer, or
        did not take the configuration."""
        if (found := self._found) is not None:
            put_back_or_raise("the watchdog", lambda: self._restore_once(found), found, self._clock)

    def _reserve(self) -> Reservation:
        """Reserves the switch as an option does it, else by reading what it has now."""
        reservation = first(option.reserve(self._host, self._run_id, self._observers) for option in options())
        if reservation is not None:
            return reservation
        text = checked(self._host, "config", run_batch(self._host, {"config": READ_CONFIG}))
        config_db = read_config_db(self._host, text, "before", self._observers)
        return Reservation(watchdog=config_db.get(WATCHDOG, {}))

    def _restore_once(self, reservation: Reservation) -> None:
        """Puts everything back, unless that was done and only the answer of the last step got lost."""
        try:
            self._restore(reservation)
        except ReservationLost:
            if self._found is not None:
                self._found = None
                raise

    def _restore(self, reservation: Reservation) -> None:
        """Puts everything back, looks whether it is, and only then gives the switch up. Raises ReservationLost where it
        is not this run's any more (nothing was changed), QualificationError where it did not take the configuration."""
        steps = [partial(bring_back, self._clock) for bring_back in reservation.restorers.values()]
        left: list[str] = []
        for step in (*steps, partial(self._bring_watchdog_back, reservation)):
            try:
                step()
            except (ReservationLost, SwitchUnreachable):
                raise
            except QualificationError as error:  # what does not come back keeps nothing else from coming back
                left.append(str(error))
        if left:
            raise QualificationError("; ".join(left))
        self._found = None
        checked(self._host, "give_up", run_batch(self._host, {"give_up": reservation.give_up()}))

    def _bring_watchdog_back(self, reservation: Reservation) -> None:
        found = reservation.watchdog
        dut = Dut(self._host, reservation=reservation)
        start = load({WATCHDOG: found}) if found else "true"
        stop = "pfcwd stop"
        if "POLL_INTERVAL" not in found.get("GLOBAL", {}):  # a run that was killed may have left its own
            stop += " && sonic-db-cli CONFIG_DB HDEL 'PFC_WD|GLOBAL' POLL_INTERVAL"
        changing = {**reservation.scripts, "stop": stop, "load": start}
        commands = {name: dut.guarded(command) for name, command in changing.items()}
        outputs = dut.ask({**commands, "config": READ_CONFIG})
        now = read_config_db(self._host, outputs["config"], "after", self._observers).get(WATCHDOG, {})
        if dict(now) != dict(found):
            differing = sorted(key for key in {*now, *found} if now.get(key) != found.get(key))
            raise QualificationError(
                f"{self._host.hostname}: the watchdog's configuration is not as it was found (PFC_WD|"
                f"{differing[0]} differs); {reservation.remedy}"
            )


def put_back_or_raise(what: str, put_back: Callable[[], None], reservation: Reservation, clock: Clock) -> None:
    """Puts something back; a switch that does not answer gets some time to come back, or raises QualificationError."""
    lost: list[SwitchUnreachable] = []

    def is_back() -> bool:
        try:
            put_back()
        except SwitchUnreachable as error:
            lost.append(error)
            return False
        return True

    if not wait_for(is_back, RETURN_DEADLINE_S, clock, 2.0):
        raise QualificationError(f"{lost[-1]}; {what} is not put back yet, {reservation.remedy}")


def read_config_db(host: Host, text: str, moment: str, observers: Sequence[RunObserver]) -> ConfigDb:
    """CONFIG_DB before or after the run, which is evidence, from what `READ_CONFIG` printed."""
    config_db = parse_config_db(host, text)
    for observer in observers:
        observer.configuration_read(host.hostname, moment, config_db)
    return config_db


def load(tables: Rows) -> str:
    """A shell command, of several: merges these tables into CONFIG_DB. Its exit status is that of `config load`."""
    text = shlex.quote(json.dumps(tables))
    return (
        f"file=.pfc_restore.$$.json; printf '%s\\n' {text} > $file && "
        "config load $file -y; status=$?; rm -f $file; exit $status"
    )
