"""How long a soak lasts: a plugin of the option `soak`."""

from __future__ import annotations

from typing import Any

from tests.common.pfc.soak.duration import SOAK
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY


class Soaking(Extension):
    """The soak of a session, if it was asked for."""

    def read_options(self) -> None:
        """Reads how long it lasts."""
        SOAK.ask(self._getoption("pfc_soak"))

    def meaning(self) -> dict[str, str]:
        """A run goes on with the soak that it was begun with."""
        return {"--pfc-soak": self._getoption("pfc_soak") or "not given"}


def extend(config: Any) -> Soaking:
    """The session's."""
    return Soaking(config.stash[SESSION_KEY], config.getoption)


def pytest_addoption(parser: Any) -> None:
    """How long."""
    parser.getgroup("pfc", "PFC qualification").addoption(
        "--pfc-soak", default="", metavar="TIME",
        help="also a pause storm of this time, 90s, 10m or 2h (SOAK-1; default: none)",
    )
