"""What a session found wrong, in a sentence for each port: a plugin of the option `diagnosis`."""

from __future__ import annotations

from typing import Any

from tests.common.pfc.diagnosis.rules import diagnose
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY


class Diagnosing(Extension):
    """Rules over all checks that are not PASS."""

    def conclusions(self) -> list[str]:
        """A sentence for each port with such checks."""
        collector = self._session.collector
        cases = [(item.case.plan_id, one) for item in collector.planned for one in collector.verdicts_of(item)]
        return [str(found) for found in diagnose(cases)]


def extend(config: Any) -> Diagnosing:
    """The session's."""
    return Diagnosing(config.stash[SESSION_KEY], config.getoption)
