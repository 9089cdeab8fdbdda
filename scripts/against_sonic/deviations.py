"""Where the virtual switch's commands print something else than sonic-utilities', and why; which of their
configurations SONiC's YANG models refuse; where SONiC's test data is judged otherwise than SONiC's tests expect.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class OutputDeviation:
    """A difference that is allowed.

    Attributes:
        commands: a pattern of command lines.
        seen: the day on which it was looked at.
        why: a sentence.
        without: exit status and output without what differs.
    """

    commands: str
    seen: str
    why: str
    without: Callable[[int, str], tuple[int, str]]

    def concerns(self, line: str) -> bool:
        """Whether it is about a command."""
        return re.fullmatch(self.commands, line) is not None


DEVIATIONS: tuple[OutputDeviation, ...] = ()


@dataclass(frozen=True)
class KnownViolation:
    """What SONiC's YANG models refuse although SONiC writes it itself.

    Attributes:
        violation: a pattern of what is found.
        seen: the day on which it was looked at.
        why: a sentence.
    """

    violation: str
    seen: str
    why: str

    def concerns(self, violation: str) -> bool:
        """Whether it is this."""
        return re.search(self.violation, violation) is not None


VIOLATIONS = (
    KnownViolation(r"PFC_WD\|GLOBAL: .*'BIG_RED_SWITCH'", "2026-11-24",
                   "`pfcwd big_red_switch` writes a field that sonic-pfcwd.yang does not have (sonic-buildimage 28495 "
                   "is to add it)"),)
SAMPLES: dict[str, str] = {
    "LDAP_SERVER_TEST": "since 2026-11-24: a host name with `_`; the libyang of the wheel (4.5) has the host names of "
                        "RFC 9911, SONiC's (3.12) those of RFC 6991"}
"""Names of test cases, and why."""
