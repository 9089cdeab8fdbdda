"""Which test cases are carried out, and which priorities are paused together: a plugin of the option `selection`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.record.case import PlanCase, Target
from tests.common.pfc.selection.cases_named import select
from tests.common.pfc.selection.sets import check_sets, parse_set, sets_of
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY


class Selecting(Extension):
    """What the user wants of a session.

    Attributes:
        sets: sets of priorities.
    """

    sets: tuple[Target, ...] = ()

    def asked(self, arguments: Sequence[str]) -> Sequence[PlanCase]:
        """The test cases that `--pfc-scenario` names.

        Raises:
            QualificationError: a name that no case has.
        """
        names = ",".join(self._getoption("pfc_scenario") or ()).replace(" ", "")
        return select(names.split(",")) if names else ()

    def read_options(self) -> None:
        """Reads the sets.

        Raises:
            QualificationError: one is no list of priorities.
        """
        self.sets = tuple(parse_set(text) for text in self._getoption("pfc_set") or ())

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


def extend(config: Any) -> Selecting:
    """The session's."""
    return Selecting(config.stash[SESSION_KEY], config.getoption)


def pytest_addoption(parser: Any) -> None:
    """Which test cases, and which sets."""
    group = parser.getgroup("pfc", "PFC qualification")
    group.addoption(
        "--pfc-scenario", action="append", default=[], metavar="CASE",
        help="plan ids, names or families of the test cases to run, e.g. PFC-1,global-pause,WD; may be repeated "
        "(default: all)",
    )
    group.addoption(
        "--pfc-set", action="append", default=[], metavar="PRIORITIES",
        help="priorities to pause together, e.g. 3,4: lossless ones in PFC-2, lossy ones in PFC-3; may be repeated "
        "(default: all lossless ones, all lossy ones)",
    )
