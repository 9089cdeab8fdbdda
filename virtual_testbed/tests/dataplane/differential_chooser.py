"""Who decides what a random case looks like: a seed, or Hypothesis, which then shrinks a case that fails."""
from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

T = TypeVar("T")


class Chooser(Protocol):
    """Decides. Options are given with the simplest first."""

    def choice(self, options: Sequence[T]) -> T:
        """One of some options."""

    def number(self, low: int, high: int) -> int:
        """A whole number, both ends possible."""


class SeedChooser:
    """The same decisions for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def choice(self, options: Sequence[T]) -> T:
        """One of some options."""
        return self._random.choice(options)

    def number(self, low: int, high: int) -> int:
        """A whole number, both ends possible."""
        return self._random.randint(low, high)


class DrawChooser:
    """Hypothesis' decisions."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def choice(self, options: Sequence[T]) -> T:
        """One of some options."""
        return options[self._draw(st.integers(0, len(options) - 1))]

    def number(self, low: int, high: int) -> int:
        """A whole number, both ends possible."""
        return self._draw(st.integers(low, high))


def chance(chooser: Chooser, percent: int) -> bool:
    """True in so many of 100 cases."""
    return chooser.number(0, 99) >= 100 - percent


def some(chooser: Chooser, options: Sequence[T], least: int, most: int) -> list[T]:
    """Some of the options, each at most once."""
    left = list(options)
    count = min(len(left), chooser.number(least, max(least, most)))
    return [left.pop(chooser.number(0, len(left) - 1)) for _ in range(count)]
