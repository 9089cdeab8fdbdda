"""Sets of priorities that the user wants paused together: a plugin of the option `sets`."""

from __future__ import annotations

from typing import Any

from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.record.case import PlanCase, Target
from tests.common.pfc.sets.asked import check_sets, parse_set, sets_of
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY


class AskedSets(Extension):
    """The sets of a session.

    Attributes:
        sets: the sets.
    """

    sets: tuple[Target, ...] = ()

    def read_options(self) -> None:
        """Reads them.

        Raises:
            QualificationError: one is no list of priorities.
        """
        self.sets = tuple(parse_set(text) for text in self._option("pfc_set") or ())

    def meaning(self) -> dict[str, str]:
        """A run goes on with the sets that it was begun with."""
        return {"--pfc-set": " ".join(",".join(map(str, one)) for one in self.sets) or "not given"}

    def on_port(self, subject: PortUnderTest) -> None:
        """Whether the sets can be paused together on the port under test.

        Raises:
            QualificationError: one cannot.
        """
        check_sets(self.sets, self._session.cases, subject.qos)

    def targets(self, case: PlanCase) -> list[Target]:
        """The sets for a test case."""
        plan = self._session.plan
        return sets_of(case, self.sets, plan.subject.qos) if plan is not None else []


def extend(config: Any) -> AskedSets:
    """The session's."""
    return AskedSets(config.stash[SESSION_KEY], config.getoption)


def pytest_addoption(parser: Any) -> None:
    """Which sets."""
    parser.getgroup("pfc", "PFC qualification").addoption(
        "--pfc-set", action="append", default=[], metavar="PRIORITIES",
        help="priorities to pause together, e.g. 3,4: lossless ones in PFC-2, lossy ones in PFC-3; may be repeated "
        "(default: all lossless ones, all lossy ones)",
    )
