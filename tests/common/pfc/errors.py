"""The exceptions of this package."""

from __future__ import annotations


class QualificationError(Exception):
    """Keeps a measurement from being made; `str()` is one sentence: the object, what was found, what would be right."""


class SwitchUnreachable(QualificationError):
    """A switch did not answer; it may again."""
