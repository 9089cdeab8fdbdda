"""The reservation of a switch by a run: what was found there, and has to be put back.

By itself a run tells nobody: the lab sees to it that no other one has the switch. An option may keep the reservation
where other runs see it (`option.Option.reserve`); then each command that changes something first looks whether the
switch is still this run's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..model.errors import QualificationError
from .clock import Clock

Table = Mapping[str, Mapping[str, Any]]
Rows = Mapping[str, Mapping[str, Mapping[str, Any] | None]]  # table -> key -> row; None: there is none


class ReservationLost(QualificationError):
    """The switch is not (any more) this run's: another one has it, or its state was put back."""


@dataclass(kw_only=True)
class Reservation:
    """What a run found on a switch, and the shell commands that look whether the switch is still the run's.

    Attributes:
        watchdog: the watchdog's configuration, before the first run.
        scripts: shell commands that bring back what is not in CONFIG_DB, by a word for it.
        rows: rows of other tables that were changed since, as they were found. They stay when they are back: putting
            them back once more does no harm.
        restorers: what puts anything but the watchdog back, by what that is; to be called with what is waited on, and
            as often as may be.
    """

    watchdog: Table
    scripts: dict[str, str] = field(default_factory=dict)
    rows: Rows = field(default_factory=dict)
    restorers: dict[str, Callable[[Clock], None]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def remedy(self) -> str:
        """What helps where the state found could not be put back, for messages."""
        return f"PFC_WD has to be {dict(self.watchdog)} again, by hand"

    def keep(self, rows: Rows) -> None:
        """Adds rows as they were found; one that was kept before stays as it was kept."""
        tables = {*rows, *self.rows}
        self.rows = {table: {**rows.get(table, {}), **self.rows.get(table, {})} for table in tables}

    def still_ours(self) -> str:
        """A shell command: fails if the switch is not this run's (any more)."""
        return "true"

    def check(self) -> str:
        """A shell command: as `still_ours`; where it fails, it prints what `loss` reads."""
        return self.still_ours()

    def loss(self, hostname: str, text: str) -> ReservationLost:
        """The exception of the run that lost the switch, from what `check` printed."""
        return ReservationLost(f"{hostname}: this run has not the switch any more: {text}")

    def write(self) -> str:
        """A shell command: writes down what was found, before any of it is changed."""
        return "true"

    def give_up(self) -> str:
        """A shell command: the switch is anybody's."""
        return "true"
