"""What pauses from a host add to the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..lab.option import Option
from ..lab.pause_source import NamedPauseSource
from ..model.measurement import PortUnderTest
from ..record.case import PlanCase
from .applicability import lacking
from .entry import KEY, pause_entry_of
from .pauses import HostInterface


class HostPausesOption(Option):
    """A testbed's entry may name a host that pauses come from."""

    testbed_keys = (KEY,)

    def first_port(self, testbed: Mapping[str, Any]) -> str | None:
        """The first port that the entry has an interface for."""
        entry = pause_entry_of(testbed)
        return None if entry is None else next(iter(entry.ports))

    def pauses_named(self, testbed: Mapping[str, Any]) -> str:
        """The entry's host."""
        entry = pause_entry_of(testbed)
        return "" if entry is None else f"{KEY} names {entry.host}"

    def pause_source(self, testbed: Mapping[str, Any], port: str) -> NamedPauseSource | None:
        """The interface for a port under test."""
        entry = pause_entry_of(testbed)
        return None if entry is None else HostInterface(entry.of(port))

    def lacking(self, case: PlanCase, subject: PortUnderTest) -> str:
        """What a host lacks for a case."""
        return lacking(case, subject)


OPTION = HostPausesOption()
