"""What a testbed's measurements have to allow for: named data with a reason, written into every verdict.

The generators of a virtual testbed share the switches' clock and start flows at the instant at which they are told to,
so the plan's 50 % and 50 % fill the line exactly. Real generators have clocks of their own (IEEE 802.3 allows each 100
parts per million) and the line also carries control frames, so a full line of data would overload it a little.
A testbed's entry may say otherwise:

    pfc_conditions: {line_percent: 98, reason: LLDP and LACP every second on this line}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from .errors import QualificationError

KEY = "pfc_conditions"
LEAST_STORM_S = 30  # where flows relieve one another, which takes 10 s, most of a storm is sent at its own rate


@dataclass(frozen=True)
class Tolerances:
    """What holds on a testbed.

    Attributes:
        line_percent: what a full line is loaded with, percent of its rate; the plan's loads are parts of it.
        load_tolerance_percent: what a sender may miss of its due, for its start and its clock; one that was held for so
            long a part of its time is not told from it. 0: all but a frame is sent.
        count_tolerance_percent: what may lie between the counts of a generator and a switch for the same pause frames:
            so many pauses may go uncounted. 0: each is counted.
        storm_limit_s: after so many seconds each flow of a pause storm ends by itself, so that a killed run does not
            hold a port for longer; one that is needed for longer has several flows, or is refused. 0: it goes on until
            it is stopped, because the generators end with the run.
        whole_seconds: flows last whole seconds: the longer ones of fractions (IxNetwork refuses fractions).
        pfc_queues: queues of a generator port that PFC can hold: 8, or 4 on some cards.
        trust_generator: pauses that no counter of the switch shows have arrived, because that was seen otherwise.
        reason: why.
    """

    line_percent: float
    load_tolerance_percent: float
    count_tolerance_percent: float
    storm_limit_s: int
    whole_seconds: bool
    pfc_queues: int
    trust_generator: bool
    reason: str

    def alike(self, counted: int, due: int) -> bool:
        """Whether a switch counted as many pause frames as are due, as near as two counts of the same can be asked to
        be."""
        return abs(counted - due) * 100 <= due * self.count_tolerance_percent

    @property
    def more_or_less(self) -> str:
        """How near that is, behind a number in messages: ` (1 % more or less)`; empty: it is that number."""
        return f" ({self.count_tolerance_percent:g} % more or less)" if self.count_tolerance_percent else ""

    def evidence(self) -> dict[str, Any]:
        """The tolerances as every record carries them."""
        return asdict(self)


EXACT = Tolerances(
    100, 0, 0, 0, False, 8, False, "simulated generators share the switches' clock and end with the testbed",
)
HARDWARE = Tolerances(
    99, 1, 1, 60, True, 8, False,
    "clocks of generator and switch may differ by 200 ppm, flows start late, and the line has control frames too",
)
BOUNDS: Mapping[str, tuple[float, float]] = {
    "line_percent": (10, 100),
    "load_tolerance_percent": (0, 10),
    "count_tolerance_percent": (0, 10),
    "storm_limit_s": (LEAST_STORM_S, 3600),
}


def tolerances_of(testbed: Mapping[str, Any]) -> Tolerances:
    """What a testbed's entry says, and for the rest the general values: exact ones for a virtual testbed with a clock
    of its own, else those of hardware.

    Raises:
        QualificationError: a key that does not exist, a value out of bounds, or values without a reason.
    """
    general = EXACT if testbed.get("clock") else HARDWARE
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
    for name in ("whole_seconds", "trust_generator"):
        if not isinstance(said.get(name, True), bool):
            raise QualificationError(f"{where} has {name} {said[name]!r}, it takes true or false")
    return replace(general, **{str(key): value for key, value in said.items()})
