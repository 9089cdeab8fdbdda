"""What a session of the qualification does first where no sonic-mgmt is around: it looks at the lab, and plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pytest

from tests.common.errors import LabError
from tests.common.pfc.lab.clock import WallClock
from tests.common.pfc.lab.port_plan import PortPlan
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.errors import RecordError
from tests.common.snappi_tests.snappi_fixtures import check_api
from tests.common.standalone import lab_of


class PlannedSession(Protocol):
    """The session, which is told what was found."""

    def on_testbed(self, entry: Mapping[str, Any]) -> None:
        """What the testbed's entry says that changes what verdicts mean."""

    def use(self, plan: PortPlan) -> None:
        """The port under test is known. Raises QualificationError where an option asks for what it has not."""

    def take(self, hosts: Mapping[str, Any]) -> object:
        """Makes switches this run's."""


def plan(config: pytest.Config, session: PlannedSession, of_one_port: bool) -> None:
    """Looks at the lab, and plans the port under test.

    Args:
        config: pytest's.
        session: the session of the qualification.
        of_one_port: whether one port is under test; a sweep measures the others where one cannot be.

    Raises:
        pytest.UsageError: the lab cannot be measured.
    """
    lab = lab_of(config)
    try:
        if not config.option.collectonly:
            check_api(lab.tbinfo, lab.duthosts[0])
        lab.look()
        session.on_testbed(lab.tbinfo)
        if not of_one_port:
            return
        port = lab.port_plan
        session.use(port)
        if port.pauses is not None and not config.option.collectonly:
            port.pauses(lab.host, WallClock())
    except (LabError, QualificationError, RecordError) as error:
        raise pytest.UsageError(str(error)) from None


def take_over(config: pytest.Config, session: PlannedSession) -> None:
    """Takes the switch where nothing is left to measure: what a killed run changed has to be put back."""
    lab = lab_of(config)
    session.take({lab.device: lab.duthosts[lab.device]})
