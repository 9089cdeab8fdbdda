"""Whether the latency of data flows is measured: a plugin of the option `latency`."""

from __future__ import annotations

from typing import Any

from tests.common.pfc.latency.option import OPTION
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY

CHOICES = {"auto": None, "on": True, "off": False}


class MeasuringLatency(Extension):
    """What the user says of it."""

    def read_options(self) -> None:
        """Reads `--pfc-latency`."""
        OPTION.is_wanted = CHOICES[self._getoption("pfc_latency")]


def extend(config: Any) -> MeasuringLatency:
    """The session's."""
    return MeasuringLatency(config.stash[SESSION_KEY], config.getoption)


def pytest_addoption(parser: Any) -> None:
    """Whether it is measured."""
    parser.getgroup("pfc", "PFC qualification").addoption(
        "--pfc-latency", choices=list(CHOICES), default="auto",
        help="keep the average latency of data flows with the evidence (auto: on virtual testbeds "
        "with a virtual clock); no verdict depends on it",
    )
