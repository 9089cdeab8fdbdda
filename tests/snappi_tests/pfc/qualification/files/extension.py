"""What an option beside the core may add to a pytest session of the qualification, and which of them do.

The module here that is called as an option's folder is a pytest plugin, with hooks and fixtures of its own.
`conftest.py` registers it, and calls what its function `extend` returns where the order of things matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tests.common.pfc.lab.option import rooms
from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.record.case import PlanCase, Target
from tests.common.pfc.record.collector import VerdictCollector
from tests.common.pfc.record.record_file import RecordWriter, RunEnd
from tests.common.pfc.record.records import RunLabels

if TYPE_CHECKING:
    from tests.snappi_tests.pfc.qualification.files.session import Session

FILES = __name__.rpartition(".")[0]


class Extension:
    """What an option adds to a session; each method here adds nothing."""

    def __init__(self, session: Session, getoption: Callable[[str], Any]) -> None:
        """For a session; `getoption` is pytest's `config.getoption`."""
        self._session = session
        self._getoption = getoption

    @property
    def plan_only(self) -> bool:
        """Whether the session ends before anything is measured."""
        return False

    @property
    def way_on(self) -> str:
        """What goes on with a run that is left, `--pfc-resume=results/x`; empty: nothing does."""
        return ""

    @property
    def has_verdicts(self) -> bool:
        """Whether an earlier part of the run has verdicts: nothing may be left to measure."""
        return False

    def asked(self, arguments: Sequence[str]) -> Sequence[PlanCase]:
        """The test cases that the user asks for, by an option or by giving pytest these arguments alone; none: nothing
        is said. Raises QualificationError where there is none of a name."""
        return ()

    def read_options(self) -> None:
        """Reads the user's options; the session has its test cases. Raises QualificationError for one that says nothing
        that is understood."""

    def meaning(self) -> dict[str, str]:
        """The user's options that change what a verdict of the run means, as text."""
        return {}

    def on_testbed(self, entry: Mapping[str, Any]) -> None:
        """Takes note of what the testbed's entry says, before anything is measured; it may be called again.

        Raises:
            QualificationError: the entry says it wrongly.
            RecordError: an earlier part of the run had others.
        """

    def left_out(self, items: Sequence[Any]) -> list[Any]:
        """The items that the user's options leave out; raises QualificationError for one that names nothing that there
        is."""
        return []

    def plan(self, lab: Any, items: Sequence[Any]) -> None:
        """Plans what the items that are going to run need, with the stand-alone lab of the session
        (`tests.common.standalone`)."""

    def measured_before(self, items: Sequence[Any]) -> list[Any]:
        """Of the items that all options leave those that need no measurement any more; raises QualificationError where
        they are not to be measured on this testbed."""
        return []

    def on_port(self, subject: PortUnderTest) -> None:
        """Takes note of the port under test; raises QualificationError where an option asks for something that it has
        not."""

    def subjects(self) -> Sequence[PortUnderTest]:
        """The ports under test that the option measures, as far as they are planned."""
        return ()

    def targets(self, case: PlanCase) -> list[Target]:
        """What the user wants a test case to be about on the port under test; none: whatever the case says."""
        return []

    def collector(self, labels: RunLabels) -> VerdictCollector | None:
        """What collects the verdicts of the run that begins; None: nothing special. `labels`: as of the collector."""
        return None

    def writer(self, left_out: Mapping[str, str]) -> RecordWriter | None:
        """What keeps the records of the run that begins; None: their file alone. `left_out`: what the verdicts do not
        speak for, and of what they do."""
        return None

    def not_spoken_for(self) -> Mapping[str, str]:
        """What the verdicts of the run that begins do not speak for, and of what they do, for its report."""
        return {}

    def begin(self) -> None:
        """Takes part in the run that begins: its folder is there, nothing is planned yet. Raises RecordsUnwritable
        where a file of the run cannot be written."""

    def conclusions(self) -> list[str]:
        """What follows from all verdicts of the session, which ends: sentences for the user and for `run.json`."""
        return []

    def ended(self, end: RunEnd) -> bool:
        """The run has ended, with its verdicts in the session; returns whether they are where they have to be."""
        return True


def deselected(extensions: Iterable[Extension], items: Iterable[Any]) -> list[Any]:
    """The items that are not going to run: those that the user's options leave out, and of the others those that an
    earlier part of the run has measured. Raises QualificationError as of `left_out` and `measured_before`."""
    there = list(items)
    left: list[Any] = []
    for extension in extensions:
        left += extension.left_out([item for item in there if item not in left])
    for extension in extensions:
        left += extension.measured_before([item for item in there if item not in left])
    return left


def plugins() -> list[ModuleType]:
    """The plugins of the options that are there, by name."""
    named = [f"{FILES}.{room}" for room in rooms()]
    return [import_module(name) for name in named if find_spec(name) is not None]
