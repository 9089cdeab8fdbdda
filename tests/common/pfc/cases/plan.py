"""The test cases of the plan: which there are, how each is carried out, which of them the user wants."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType

from ..lab.option import PACKAGE, lacking, rooms
from ..model.deviations import DEVIATIONS, Deviation
from ..model.measurement import PortUnderTest
from ..record.case import PlanCase, Target
from .engine import Table

ORDER = ("PFC", "FRAME", "SIZE", "PAIRS", "COUNT", "LOAD", "M2O", "SPEED", "HEAD", "TIME", "CLASS", "SENT", "FLAP",
         "WD", "HOP", "LSET", "TAG", "SOAK", "AFTER", "SWEEP")
"""The families in the order in which they are carried out; any other comes last."""


def tables() -> Iterator[ModuleType]:
    """The modules that list test cases: those of this folder, and the module `cases` of each option that is there."""
    here = import_module(f"{PACKAGE}.cases")
    own = [f"{here.__name__}.{found.name}" for found in iter_modules(here.__path__)]
    of_options = [f"{PACKAGE}.{room}.cases" for room in rooms()]
    for name in (*own, *of_options):
        if name != __name__ and find_spec(name) is not None:
            yield import_module(name)


def _place(case: PlanCase) -> tuple[int, str, int]:
    """Where a case stands in the plan: by its family, and by its number there."""
    number = case.plan_id.rpartition("-")[2]
    known = case.family in ORDER
    return ORDER.index(case.family) if known else len(ORDER), case.family, int(number) if number.isdigit() else 0


@cache
def procedures() -> Table:
    """How each case of one port is carried out."""
    return {case: procedure for table in tables() for case, procedure in getattr(table, "CASES", {}).items()}


@cache
def port_cases() -> tuple[PlanCase, ...]:
    """The cases of one port."""
    return tuple(sorted(procedures(), key=_place))


@cache
def sweep_cases() -> tuple[PlanCase, ...]:
    """The cases of all ports of a switch: carried out when they are asked for."""
    return tuple(sorted((case for table in tables() for case in getattr(table, "SWEEPS", ())), key=_place))


@cache
def deviations() -> tuple[Deviation, ...]:
    """How platforms differ from what the plan assumes: what every run rests on, then what families do."""
    return DEVIATIONS + tuple(one for table in tables() for one in getattr(table, "DEVIATIONS", ()))


def targets(case: PlanCase, subject: PortUnderTest) -> list[Target]:
    """What a case is about on a port: once for each target. Empty: it cannot be carried out there (`lack_of`)."""
    return [] if lacking(case, subject) else procedures()[case].targets.on(subject)


def lack_of(case: PlanCase, subject: PortUnderTest) -> str | None:
    """What a port lacks for a case; None: it can be carried out there."""
    return lacking(case, subject) or procedures()[case].targets.lack(subject)
