"""What a testbed's entry says that measurements there have to allow for:

    pfc_conditions: {line_percent: 98, reason: LLDP and LACP every second on this line}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from ..lab.generator import Generator
from ..lab.option import Option
from ..model.errors import QualificationError
from ..model.tolerances import KEY, Tolerances
from .lone_starts import LoneGenerator

LEAST_STORM_S = 30  # where flows relieve one another, which takes 10 s, most of a storm is sent at its own rate
BOUNDS: Mapping[str, tuple[float, float]] = {
    "line_percent": (10, 100),
    "load_tolerance_percent": (0, 10),
    "count_tolerance_percent": (0, 10),
    "storm_limit_s": (LEAST_STORM_S, 3600),
}


class ConditionsOption(Option):
    """The entry decides, where it says something."""

    testbed_keys = (KEY,)

    def generator_class(self, tolerances: Tolerances) -> type[Generator] | None:
        """What ends flows before others start, where generators start none beside them."""
        return None if tolerances.starts_beside else LoneGenerator

    def tolerances(self, testbed: Mapping[str, Any], general: Tolerances) -> Tolerances:
        """The general ones, with what the entry says."""
        return with_conditions(testbed, general)


def with_conditions(testbed: Mapping[str, Any], general: Tolerances) -> Tolerances:
    """What a testbed's entry says, and for the rest the general values.

    Raises:
        QualificationError: a key that does not exist, a value out of bounds, or values without a reason.
    """
    said = testbed.get(KEY)
    if said is None:
        return general
    where = f"testbed {testbed.get('conf-name')}: {KEY}"
    if not isinstance(said, Mapping) or not {str(key) for key in said} <= set(asdict(general)):
        raise QualificationError(f"{where} is {said!r}, it takes a dictionary with {', '.join(asdict(general))}")
    if not str(said.get("reason") or "").strip():
        raise QualificationError(f"{where} has no reason: every record carries it, so that a verdict can be defended")
    for name, (low, high) in BOUNDS.items():
        value = said.get(name, low)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise QualificationError(f"{where} has {name} {value!r}, it takes a number from {low:g} to {high:g}")
    if said.get("pfc_queues", 8) not in (4, 8):
        raise QualificationError(f"{where} has pfc_queues {said['pfc_queues']!r}, it takes 8 or 4")
    for name in ("whole_seconds", "starts_beside", "trust_generator"):
        if not isinstance(said.get(name, True), bool):
            raise QualificationError(f"{where} has {name} {said[name]!r}, it takes true or false")
    return replace(general, **{str(key): value for key, value in said.items()})


OPTION = ConditionsOption()
