"""Sets of priorities that the user wants paused together: those of lossless ones are for PFC-2, of lossy ones for
PFC-3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..cases.pauses import LOSSY, SEVERAL_LOSSLESS, pause_lossless, pause_lossy
from ..model.errors import QualificationError
from ..model.qos import PRIORITIES, PortQos
from ..record.case import PlanCase, Target, priorities_text


def parse_set(text: str) -> Target:
    """A set of priorities as the user writes it, `3,4`.

    Raises:
        QualificationError: it is no list of priorities.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part in map(str, PRIORITIES) for part in parts):
        raise QualificationError(f"'{text}' is no set of priorities: expected numbers from 0 to 7, as in 3,4")
    return tuple(sorted({int(part) for part in parts}))


def sets_of(case: PlanCase, sets: Iterable[Target], qos: PortQos) -> list[Target]:
    """Those of these sets that are for a case.

    Raises:
        QualificationError: one is for none.
    """
    return [one for one in sets if _meant(one, qos) is case]


def check_sets(sets: Iterable[Target], chosen: Sequence[PlanCase], qos: PortQos) -> None:
    """Whether each set that the user wants paused together can be, by a case that was selected.

    Raises:
        QualificationError: it cannot; the sentence says why.
    """
    for one in sets:
        case = _meant(one, qos)
        if case not in chosen:
            raise QualificationError(
                f"{qos.device} {qos.port}: pausing {priorities_text(one)} together is {case.plan_id} ({case.name}),"
                f" which is not among the selected test cases ({', '.join(other.plan_id for other in chosen)})"
            )
        (pause_lossy if case is LOSSY else pause_lossless)(one, qos)


def _meant(priorities: Target, qos: PortQos) -> PlanCase:
    """The case that pauses such a set at once."""
    lossless = [priority for priority in priorities if priority in qos.lossless]
    if not lossless:
        return LOSSY
    if len(lossless) == len(priorities) > 1:
        return SEVERAL_LOSSLESS
    found = "one lossless priority alone" if len(priorities) == 1 else "lossless and lossy priorities together"
    raise QualificationError(
        f"{qos.device} {qos.port}: {priorities_text(priorities)}: {found}; a set to be paused at once has several"
        f" lossless priorities (of {list(qos.lossless)}) or lossy ones only"
    )
