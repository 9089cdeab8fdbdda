"""What is broken on purpose in the testbed of a session: a plugin of the option `deliberate_faults`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.common.pfc.deliberate_faults.entry import faults_of
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY


class FaultNoting(Extension):
    """Reads the testbed's entry."""

    def on_testbed(self, entry: Mapping[str, Any]) -> None:
        """The run and its records say its faults from now on.

        Raises:
            QualificationError: the entry says them wrongly.
        """
        self._session.note_faults(faults_of(entry))


def extend(config: Any) -> FaultNoting:
    """The session's."""
    return FaultNoting(config.stash[SESSION_KEY], config.getoption)
