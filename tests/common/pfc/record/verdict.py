"""Verdicts: PASS, FAIL, or ERROR (it could not be measured). Check -> PortVerdict -> DeviceVerdict; one bad port
hides nothing."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

LOSSLESS = "pfc.lossless"
LOSSY = "pfc.lossy"


class Status(str, enum.Enum):
    """Outcome of a check or of anything above it."""

    PASS = "PASS"
    FAIL = "FAIL"
    ERROR = "ERROR"


def combine(statuses: Iterable[Status]) -> Status:
    """FAIL if any is FAIL, else ERROR if any is ERROR or there is none at all, else PASS."""
    seen = set(statuses)
    if Status.FAIL in seen:
        return Status.FAIL
    return Status.PASS if seen == {Status.PASS} else Status.ERROR


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: e.g. `blocked-while-paused`.
        metric_name: `pfc.lossless` or `pfc.lossy`.
        status: its outcome.
        expected: what should have been seen, in words.
        seen: what was seen.
        where: `vtb-t0-01 Ethernet8 priority 3`.
        priority: the one that it is about; None: more than one, or a port.
    """

    name: str
    metric_name: str
    status: Status
    expected: str
    seen: int | str
    where: str
    priority: int | None = None

    @property
    def message(self) -> str:
        """`vtb-t0-01 Ethernet8 priority 3: expected 0 frames received while paused, got 12`."""
        return f"{self.where}: expected {self.expected}, got {self.seen}"

    def as_record(self) -> dict[str, Any]:
        """The check as it stands in a verdict record."""
        return {
            "name": self.name,
            "metric_name": self.metric_name,
            "status": self.status.value,
            "expected": self.expected,
            "seen": self.seen,
            "where": self.where,
            "message": self.message,
        }


@dataclass(frozen=True)
class PortVerdict:
    """What one scenario found about one metric of one port and priority (None: of the whole port).

    `error` says in one sentence why nothing could be measured; then the verdict is ERROR whatever the checks say.
    """

    device: str
    port: str
    priority: int | None
    metric_name: str
    checks: Sequence[Check]
    error: str | None = None

    @property
    def status(self) -> Status:
        """ERROR when it could not be measured, else what the checks say together; no check at all is ERROR."""
        return Status.ERROR if self.error else combine(check.status for check in self.checks)

    @property
    def messages(self) -> list[str]:
        """Every reason for not being PASS, failures first."""
        if self.status is Status.PASS:
            return []
        bad = [
            check.message for status in (Status.FAIL, Status.ERROR) for check in self.checks if check.status is status
        ]
        if self.error:
            return [self.error] + [message for message in bad if message != self.error]
        where = f"{self.device} {self.port}" + ("" if self.priority is None else f" priority {self.priority}")
        return bad or [f"{where}: nothing was measured for {self.metric_name}"]

    @property
    def cause(self) -> str | None:
        """The first reason for not being PASS."""
        return self.messages[0] if self.messages else None


@dataclass(frozen=True)
class DeviceVerdict:
    """All port verdicts of one device."""

    device: str
    ports: Sequence[PortVerdict]

    @property
    def status(self) -> Status:
        """FAIL if any port failed, else ERROR if any could not be measured or there is none, else PASS."""
        return combine(verdict.status for verdict in self.ports)
