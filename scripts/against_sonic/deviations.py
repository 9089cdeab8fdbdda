"""Where the virtual switch's commands print something else than sonic-utilities', and why."""
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
