"""Where the virtual switch's commands print something else than sonic-utilities', and why; which of their
configurations SONiC's YANG models refuse; where SONiC's test data is judged otherwise than SONiC's tests expect.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from virtual_testbed.sonic.commands.ecnconfig import NOTE


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


def _help_in_order(status: int, output: str) -> tuple[int, str]:
    return status, output.replace("-?, -h, --help", "-h, -?, --help")


def _version_here(status: int, output: str) -> tuple[int, str]:
    """Without lines about the device and the moment, and without the table of container images."""
    lines = re.split(r"^Docker images:$", output, flags=re.MULTILINE)[0].splitlines()
    return status, "\n".join(
        line for line in lines if not re.match(r"(Serial Number|Model Number|Uptime|Date): ", line))


DEVIATIONS: tuple[OutputDeviation, ...] = (
    OutputDeviation("show (pfc(wd)?|interfaces autoneg)", "2026-11-24",
                    "click prints the names of one option in another order in each run", _help_in_order),
    OutputDeviation("sudo ecnconfig .*", "2026-11-25",
                    "a virtual switch says that its data plane knows no WRED and no ECN",
                    lambda status, output: (status, output.replace(f"{NOTE}\n", ""))),
    OutputDeviation("show version", "2026-11-24",
                    "serial and model come from an EEPROM, images from Docker, and the time is that of the command",
                    _version_here))


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
