"""snappi's API object with the latency of data flows measured."""

from __future__ import annotations

from typing import Any

from .readings import LatencyReadings


class LatencyApi:
    """snappi's API object; all that is not here is its own.

    Args:
        api: that object.
        readings: keeps what is read.
    """

    def __init__(self, api: Any, readings: LatencyReadings) -> None:
        self._api = api
        self._readings = readings

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    def set_config(self, config: Any) -> Any:
        """Asks for the latency of the data flows that are measured, from the last bit sent to the first received."""
        for flow in config.flows:
            if flow.name in self._readings.names:
                flow.metrics.latency.enable = True
                flow.metrics.latency.mode = flow.metrics.latency.STORE_FORWARD
        return self._api.set_config(config)

    def get_metrics(self, request: Any) -> Any:
        """Counters and rates; the latency of flows is kept."""
        answer = self._api.get_metrics(request)
        self._readings.read(answer.flow_metrics if request.choice == request.FLOW else ())
        return answer
