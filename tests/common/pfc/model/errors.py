"""The exceptions of this package."""

from __future__ import annotations

from ..record.verdict import Check


class QualificationError(Exception):
    """Keeps a measurement from being made; `str()` is one sentence: the object, what was found, what would be right."""


class BatchBroken(QualificationError):
    """A shell did not get through several commands."""

    def __init__(self, host: str, name: str, command: str, said: str) -> None:
        """`name` and `command`: the first one that did not end; `said`: what the shell said."""
        super().__init__(f"{host}: the command `{command}` did not end: {said}")
        self.name = name
        self.said = said


class SwitchUnreachable(QualificationError):
    """A switch did not answer; it may again."""


class NoMeasurement(QualificationError):
    """What was done was no measurement; the check says what was expected of it."""

    def __init__(self, check: Check) -> None:
        """`check` has status ERROR."""
        super().__init__(check.message)
        self.check = check
