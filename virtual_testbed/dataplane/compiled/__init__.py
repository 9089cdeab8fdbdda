"""Compiled stepping: the model's traffic, frame by frame as the model itself steps it, at machine speed.

It needs the package numba, and is loaded when it is first needed; without that package everything is computed without
it, later.
"""
from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from virtual_testbed.dataplane.model.events import EventLoop

if TYPE_CHECKING:
    from virtual_testbed.dataplane.compiled.stepper import Stepper


class Compiled:
    """The compiled stepping of one data plane.

    Args:
        count: told of each reason why something was not stepped in compiled code.
    """

    def __init__(self, loop: EventLoop, count: Callable[[str], None]) -> None:
        self._loop = loop
        self._count = count
        self._stepper: Stepper | None = None
        self._is_looked_for = False

    def stepper(self) -> Stepper | None:
        """What steps in compiled code; None: numba is not installed."""
        if not self._is_looked_for:
            self._is_looked_for = True
            if find_spec("numba") is not None:
                from virtual_testbed.dataplane.compiled.stepper import Stepper
                self._stepper = Stepper(self._loop, self._count)
        return self._stepper

    @property
    def leaps(self) -> int:
        """How often cycles were leapt over."""
        return self._stepper.leaps if self._stepper else 0

    @property
    def cycles(self) -> int:
        """How many cycles were leapt over."""
        return self._stepper.cycles if self._stepper else 0

    @property
    def skipped_ps(self) -> int:
        """Time that was leapt over."""
        return self._stepper.skipped_ps if self._stepper else 0


def compile_all() -> None:
    """Compile everything, or load it from where it is kept, before it is needed.

    Raises:
        ModuleNotFoundError: numba is not installed.
    """
    from virtual_testbed.dataplane.compiled.stepper import Stepper
    Stepper(EventLoop(), print).step([], [], 1, 1)
