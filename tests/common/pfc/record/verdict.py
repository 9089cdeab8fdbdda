"""Verdicts: PASS, FAIL, or ERROR (it could not be measured). Check -> PortVerdict -> MetricVerdict; one bad
port hides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

LOSSLESS = "pfc.lossless"
LOSSY = "pfc.lossy"
DESCRIPTIONS = {
    LOSSLESS: "Traffic of lossless priorities waits while it is paused, and none of it is lost",
    LOSSY: "Traffic of lossy priorities is not paused",
}


class Status(StrEnum):
    """Outcome of a check or of anything above it."""

    PASS = "PASS"
    FAIL = "FAIL"
    ERROR = "ERROR"

    @property
    def number(self) -> int | None:
        """sonic-mgmt's number for it (`FINAL_STATUS`), as databases keep it; ERROR has none."""
        return {Status.PASS: 0, Status.FAIL: 1, Status.ERROR: None}[self]


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
        expected: what should have been seen, in words; in a record of someone else anything that JSON can express.
        seen: what was seen.
        where: `vtb-t0-01 Ethernet8 priority 3`.
        priority: the one that it is about; None: more than one, a port, or a check that was read from a record.
        required: whether it decides the verdict; otherwise it informs.
        text: the message as a record has it; None: it is made of the other fields.
    """

    name: str
    metric_name: str
    status: Status
    expected: Any
    seen: Any
    where: str
    priority: int | None = None
    required: bool = True
    text: str | None = None

    @property
    def message(self) -> str:
        """`vtb-t0-01 Ethernet8 priority 3: expected 0 frames received while paused, got 12`."""
        return f"{self.where}: expected {self.expected}, got {self.seen}" if self.text is None else self.text

    def as_record(self) -> dict[str, Any]:
        """The check as it stands in a verdict record."""
        document = {
            "name": self.name,
            "metric_name": self.metric_name,
            "status": self.status.value,
            "expected": self.expected,
            "seen": self.seen,
            "where": self.where,
            "message": self.message,
        }
        return document if self.required else document | {"required": False}


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
        """ERROR when it could not be measured, else what the required checks say together; none at all is ERROR."""
        return Status.ERROR if self.error else combine(check.status for check in self._required)

    @property
    def messages(self) -> list[str]:
        """Every reason for not being PASS, failures first."""
        if self.status is Status.PASS:
            return []
        bad = [
            check.message
            for status in (Status.FAIL, Status.ERROR)
            for check in self._required
            if check.status is status
        ]
        if self.error:
            return [self.error] + [message for message in bad if message != self.error]
        where = f"{self.device} {self.port}" + ("" if self.priority is None else f" priority {self.priority}")
        return bad or [f"{where}: nothing was measured for {self.metric_name}"]

    @property
    def cause(self) -> str | None:
        """The first reason for not being PASS."""
        return self.messages[0] if self.messages else None

    @property
    def _required(self) -> list[Check]:
        """The checks that decide."""
        return [check for check in self.checks if check.required]


@dataclass(frozen=True)
class MetricVerdict:
    """The verdict of one metric of one device and port, over all scenarios and priorities.

    Attributes:
        device, port, metric_name: what it is about.
        status: its status.
        messages: every reason for not being PASS.
    """

    device: str
    port: str
    metric_name: str
    status: Status
    messages: Sequence[str] = ()
