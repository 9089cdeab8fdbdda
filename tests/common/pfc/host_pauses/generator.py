"""The traffic generator of a lab whose pauses come from a host: data is its own, storms are the host's."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from ..lab.clock import Clock
from ..lab.generator import Generator, Traffic
from ..model.traffic import FlowPlan, FlowStats
from .source import PauseSource

logger = logging.getLogger(__name__)


class HostedGenerator(Generator):
    """Starts, stops and asks for flows by name, as its base class does, wherever they come from.

    Attributes:
        source: where pauses come from.
    """

    def __init__(self, api: Any, clock: Clock, source: PauseSource) -> None:
        """`api` and `clock` as for the base class."""
        super().__init__(api, clock)
        self.source = source
        self._hosted: dict[str, FlowPlan] = {}

    def push(self, traffic: Traffic) -> None:
        """Replaces the configuration, which has data only (`otg.TrafficBuilder`).

        Raises:
            QualificationError: as of the base class.
        """
        self._hosted = {name: flow for name, flow in traffic.flows.items() if flow.pause is not None}
        super().push(traffic)

    def start(self, names: Sequence[str]) -> None:
        """Starts flows, storms first.

        Raises:
            QualificationError: one could not be started.
        """
        for name in self._storms_of(names):
            self.source.start(self._hosted[name])
        data = self._data_of(names)
        if data:
            super().start(data)

    def stop(self, names: Sequence[str] = ()) -> None:
        """Stops flows; no names: all of them. Storms that do not stop keep no data running.

        Raises:
            QualificationError: one could not be stopped.
        """
        data = self._data_of(names)
        try:
            self.source.stop(self._storms_of(names) if names else self._hosted)
        finally:
            if data or not names:
                super().stop(data)

    def stats(self, names: Iterable[str]) -> dict[str, FlowStats]:
        """Statistics of data; of storms what their source knows, which has no number of frames.

        Raises:
            QualificationError: the answer lacks a flow, or nobody answers.
        """
        wanted = list(names)
        data = self._data_of(wanted)
        counted = super().stats(data) if data else {}
        return {name: self.source.ask(self._hosted[name]) if name in self._hosted else counted[name] for name in wanted}

    def _storms_of(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name in self._hosted]

    def _data_of(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name not in self._hosted]
