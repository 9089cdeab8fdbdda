"""Runs of several parts, measured one after the other, and what messages say of which."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..model.counters import DutCounters
from ..record.verdict import Check
from .engine import Measured

OWN = ""
"""The key of a part whose numbers are the run's own."""


class RunInParts(ABC):
    """A run of several parts, which has the numbers of each in its record."""

    @property
    @abstractmethod
    def parts(self) -> Mapping[str, Measured]:
        """The parts by their keys in the record; the last of them was measured last."""

    @property
    def settled(self) -> DutCounters | None:
        """The counters after the last part."""
        return list(self.parts.values())[-1].settled

    def evidence(self) -> dict[str, Any]:
        """The numbers of all parts, for the record."""
        found: dict[str, Any] = {}
        for key, part in self.parts.items():
            found |= part.evidence() if key == OWN else {key: part.evidence()}
        return found


def saying(made: Iterable[Check], words: str) -> Iterator[Check]:
    """Checks whose messages say so too: of which of several parts they are."""
    return (replace(check, expected=f"{check.expected} ({words})") for check in made)
