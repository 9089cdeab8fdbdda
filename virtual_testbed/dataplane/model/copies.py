"""Copies of data frames that a faulty switch makes: counted where they leave, and at a generator port behind it.

A copy takes no time of a line and no room in a buffer, so that nothing else is computed differently: how many there are
follows from how many frames have left.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(eq=False)
class Copies:
    """Copies of the frames of one path that leave by one port.

    Attributes:
        one_in: of how many frames one is copied; 0: none is.
        since: frames of the path that had left when `one_in` last changed; `made` copies until then.
    """

    one_in: int = 0
    since: int = 0
    made: int = 0

    def count(self, sent: int) -> int:
        """Copies made when so many frames of the path have left."""
        return self.made + ((sent - self.since) // self.one_in if self.one_in else 0)

    def change(self, one_in: int, sent: int) -> None:
        """From now on one in `one_in` is copied."""
        if one_in != self.one_in:
            self.made = self.count(sent)
            self.since = sent
            self.one_in = one_in


class CopiesByPort(dict[str, Copies]):
    """By name of the port that they leave by."""

    def change(self, wanted: Mapping[str, int], sent: int) -> None:
        """From now on copies leave by these ports (name -> one in how many), and by no others."""
        for port in {*self, *wanted}:
            self.setdefault(port, Copies()).change(wanted.get(port, 0), sent)

    def add(self, other: CopiesByPort, sent: int) -> None:
        """Count the copies of another path, of which so many frames have left, here."""
        for port, copies in other.items():
            self.setdefault(port, Copies()).made += copies.count(sent)
