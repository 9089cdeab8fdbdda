"""A pytest plugin for sonic-mgmt's environment: its snappi helpers log rates and look for CRC errors in IxNetwork's own
statistics, which a generator that speaks plain OTG does not have. The rates are answered from OTG's flow metrics; OTG
has no counter of CRC errors, so that check finds no rows (and no errors). No verdict is reckoned from either.

Used as `-p plain_otg` with this folder in PYTHONPATH: it needs nothing but pytest and snappi.
"""
from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

FLOWS = "Traffic Item Statistics"


class FlowView:
    """In the place of IxNetwork's view of statistics."""

    def __init__(self, api: Any, name: str) -> None:
        self._api = api
        self._name = name

    @property
    def Rows(self) -> list[dict[str, str]]:  # noqa: N802
        """One row for each flow, its numbers as text; none for any other view."""
        if self._name != FLOWS:
            return []
        return [row(metric) for metric in self._api.get_metrics(_flow_request(self._api)).flow_metrics]


def _flow_request(api: Any) -> Any:
    request = api.metrics_request()
    request.flow.flow_names = []  # all flows
    return request


def row(metric: Any) -> dict[str, str]:
    """A flow's rates; those in Mbit/s are of its frames, whole numbers."""
    sent = rate_mbps(metric.frames_tx_rate, metric.bytes_tx, metric.frames_tx)
    received = rate_mbps(metric.frames_rx_rate, metric.bytes_rx, metric.frames_rx)
    line = metric.frames_rx_rate * 160 + received * 1e6  # each frame's preamble and gap are 20 bytes
    return {"Traffic Item": metric.name, "Tx Frame Rate": str(metric.frames_tx_rate),
            "Rx Frame Rate": str(metric.frames_rx_rate), "Tx Rate (Mbps)": str(sent),
            "Rx Rate (Mbps)": str(received), "Rx L1 Rate (bps)": str(line)}


def rate_mbps(frames_per_second: float, octets: int, frames: int) -> int:
    """Mbit/s of frames whose mean size is that of all counted so far."""
    return int(frames_per_second * 8 * octets / frames / 1e6) if frames else 0


@pytest.fixture(scope="session", autouse=True)
def plain_otg() -> Iterator[None]:
    """The stand-in is there while tests run."""
    import snappi
    generation = importlib.import_module("tests.common.snappi_tests.traffic_generation")  # sonic-mgmt's
    with pytest.MonkeyPatch.context() as patch:
        for kind in (snappi.snappi.GrpcApi, snappi.snappi.HttpApi):
            patch.setattr(kind, "_ixnetwork", property(lambda api: api), raising=False)
        patch.setattr(generation, "StatViewAssistant", FlowView)
        yield
