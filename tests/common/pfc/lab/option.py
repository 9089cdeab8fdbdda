"""What an option may add to the core, and which options are there.

An option is a folder beside the core's with a module `option`, whose `OPTION` is found here. No module of the core
names one: an option is taken away by deleting its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Protocol, TypeVar

from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort, PortPair
from ..model.tolerances import EXACT, HARDWARE, Tolerances
from ..model.traffic import FlowPlan
from ..record.case import PlanCase
from ..record.verdict import Check
from .clock import Clock, WallClock
from .dut import Dut, Host, SwitchState
from .generator import Generator
from .lab import Lab
from .observer import RunObserver
from .otg_config import TrafficBuilder
from .port_plan import LabFacts, PortPlan, PortRequest
from .reservation import Reservation

Answer = TypeVar("Answer")
PACKAGE = __name__.rpartition(".lab.")[0]
CLOCK_KEYS = ("clock", "realtime_clock")
"""Keys of a testbed's entry that name a clock other than the wall clock."""
EXACT_KEY = "clock_exact"  # false: others move it too, or generators start and stop flows in their own time
OWN_KEYS = "pfc_"
"""What the names of all keys of a testbed's entry begin with that are about the qualification."""


class Auditor(Protocol):
    """Looks on each case of a port from outside, one after the other, and changes nothing."""

    def begin(self, lab: Lab, beside: Sequence[Lab] = ()) -> None:
        """A case begins, on other ports of the switch (`beside`) at once; raises QualificationError where the switch
        cannot be read."""

    def audit(self, labs: Sequence[Lab], case: PlanCase) -> Sequence[list[Check]]:
        """A measurement has ended: further checks of each port that it measured, ERROR for what cannot be looked at.
        Raises NoMeasurement where it turns out to be none."""

    def reconsidered(self, lab: Lab, case: PlanCase, checks: Sequence[Check]) -> Sequence[Check]:
        """Checks of a port: ERROR instead of FAIL where that is not known to be the switch's fault."""

    def explain(self, lab: Lab) -> str:
        """What the preflight of the port failed for, if more can be said of it than it says; else nothing."""


class Option:
    """An option; each method here adds nothing.

    Attributes:
        testbed_keys: keys of a testbed's entry that it reads, and that change what a verdict means.
        builder: what builds traffic; None: as the core does.
    """

    testbed_keys: tuple[str, ...] = ()
    builder: type[TrafficBuilder] | None = None

    def observer(self, run_folder: Path) -> RunObserver | None:
        """An observer of a run whose records are in this folder; None: there is none."""
        return None

    def state(self, dut: Dut, read: Callable[[], SwitchState]) -> SwitchState:
        """How a switch is configured. `read` tells what it says now; this adds what the switch derives from that by
        itself, and takes away what a run that died had changed.

        Raises:
            ReservationLost: a run that may still live has the switch.
        """
        return read()

    def reserve(self, host: Host, run_id: str, observers: Sequence[RunObserver]) -> Reservation | None:
        """Reserves a switch for run `run_id` where other runs see it; None: this option does not. `observers` look on
        at the configuration before the run.

        Raises:
            ReservationLost: another run has the switch.
            QualificationError: it cannot be reserved; nothing was changed.
        """
        return None

    def measured(self, facts: LabFacts, device: str) -> SwitchState | None:
        """The switch that is measured for a device under test; None: as the core chooses, the device itself. Raises
        QualificationError where there is none that can be."""
        return None

    def replaced(self, testbed: Mapping[str, Any]) -> Collection[str]:
        """The switches of a testbed that others are measured for."""
        return ()

    def first_port(self, testbed: Mapping[str, Any]) -> str | None:
        """The port under test where the user names none; None: as the core chooses."""
        return None

    def clock(self, testbed: Mapping[str, Any]) -> Clock | None:
        """What is waited on where a testbed's entry names a clock; None: the wall clock. Raises QualificationError
        where it does not answer."""
        return None

    def adapted(self, api: Any, clock: Clock) -> Any:
        """snappi's API object of the traffic generators as OTG describes one: `api` itself, or what mends it."""
        return api

    def generator_class(self, tolerances: Tolerances) -> type[Generator] | None:
        """What drives traffic where measurements have to allow for these; None: as the core does."""
        return None

    def pauses_named(self, testbed: Mapping[str, Any]) -> str:
        """What a testbed's entry says of where pauses come from, `pfc_pause_source names fanout-01`; empty: nothing."""
        return ""

    def tolerances(self, testbed: Mapping[str, Any], general: Tolerances) -> Tolerances:
        """What measurements on a testbed have to allow for, where in general that is `general`; raises
        QualificationError where the testbed's entry says it wrongly."""
        return general

    def lacking(self, case: PlanCase, subject: PortUnderTest) -> str:
        """What a port lacks for a case, so far as this option knows; empty: nothing."""
        return ""

    def auditor(self) -> Auditor | None:
        """What looks on the cases of a port from outside, one after the other, and adds checks; None: nothing does."""
        return None

    def flows_beside(self, subject: PortUnderTest, flows: Sequence[FlowPlan] | None = None) -> Sequence[FlowPlan]:
        """Flows between other ports that are sent beside those of a case on a port; None: whatever these are."""
        return ()

    def planned(self, plan: PortPlan, ports: Sequence[ConnectedPort], asked: PortRequest) -> PortPlan:
        """A plan with what the option adds to that of any port, given the switch's ports."""
        return plan

    def extend(self, plan: PortPlan, facts: LabFacts) -> PortPlan:
        """A plan with what the option adds where one port is under test."""
        return plan

    def prepared(
        self, state: SwitchState, pair: PortPair, ports: Sequence[ConnectedPort], asked: PortRequest
    ) -> SwitchState:
        """A switch as it is once it is prepared for a pair; raises QualificationError where that cannot be."""
        return state

    def prepare(self, plans: Sequence[PortPlan], dut: Dut, clock: Clock) -> None:
        """Prepares a switch that is this run's for what is planned on it; raises QualificationError if that fails."""


def first(answers: Iterable[Answer | None]) -> Answer | None:
    """The first option's answer, if one has one."""
    return next((answer for answer in answers if answer is not None), None)


def rooms() -> list[str]:
    """The names of the folders that are there, the core's own among them."""
    return sorted(room.name for room in iter_modules(import_module(PACKAGE).__path__) if room.ispkg)


@cache
def options() -> tuple[Option, ...]:
    """The options that are there, by name."""
    named = [f"{PACKAGE}.{room}.option" for room in rooms()]
    return tuple(import_module(name).OPTION for name in named if name != __name__ and find_spec(name) is not None)


def flows_beside(subject: PortUnderTest, flows: Sequence[FlowPlan] | None = None) -> list[FlowPlan]:
    """Flows that options send beside those of a case."""
    return [flow for option in options() for flow in option.flows_beside(subject, flows)]


def auditors() -> list[Auditor]:
    """What looks on the cases of a port."""
    return [auditor for option in options() if (auditor := option.auditor()) is not None]


def testbed_keys() -> tuple[str, ...]:
    """The keys of a testbed's entry that change what a verdict means."""
    return tuple(key for option in options() for key in option.testbed_keys)


def check_keys(testbed: Mapping[str, Any]) -> None:
    """Raises QualificationError where a key of a testbed's entry that is about the qualification is not understood
    here: a verdict would mean something else than its user thinks."""
    for key in map(str, testbed):
        if key.startswith(OWN_KEYS) and key not in testbed_keys():
            raise QualificationError(
                f"testbed {testbed.get('conf-name')} has {key}, which nothing here understands: expected"
                f" {', '.join(testbed_keys()) or 'none, as no option that reads such a key is there'}"
            )


def open_clock(testbed: Mapping[str, Any]) -> Clock:
    """The clock of a testbed's entry; hardware's is the wall clock. Raises QualificationError where it does not answer,
    or nothing here reads it."""
    found = first(option.clock(testbed) for option in options())
    if found is None and any(testbed.get(key) for key in CLOCK_KEYS):
        raise QualificationError(
            f"testbed {testbed.get('conf-name')} has a clock of its own, which nothing here reads: it cannot be"
            " measured by the wall clock"
        )
    return found or WallClock()


def adapted(api: Any, clock: Clock) -> Any:
    """snappi's API object of the traffic generators as OTG describes one, whatever is behind it."""
    for option in options():
        api = option.adapted(api, clock)
    return api


def tolerances_of(testbed: Mapping[str, Any]) -> Tolerances:
    """What measurements on a testbed have to allow for: nothing on a virtual testbed with a clock of its own, elsewhere
    what hardware needs, unless an option knows better. Raises QualificationError where the entry says it wrongly."""
    found = EXACT if testbed.get("clock") and testbed.get(EXACT_KEY, True) else HARDWARE
    for option in options():
        found = option.tolerances(testbed, found)
    return found


def lacking(case: PlanCase, subject: PortUnderTest) -> str:
    """What a port lacks for a case, so far as the options know; empty: nothing."""
    return next((lack for option in options() if (lack := option.lacking(case, subject))), "")
