"""How platforms and testbeds differ from what the plan assumes: named, dated data with a reason. A deviation never
skips a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from .tolerances import EXACT, Tolerances


@dataclass(frozen=True)
class Deviation:
    """One difference.

    Attributes:
        name: what it changes.
        asics: parts of the ASIC's name (`SwitchState.asic`) to which it applies; empty: to all others.
        value: what holds there.
        reason: why.
        since: when it was written down.
    """

    name: str
    asics: tuple[str, ...]
    value: str
    reason: str
    since: date


DEVIATIONS = (
    Deviation(
        "shared-buffer-pool", ("cisco-8000", "voq", "broadcom-dnx"), "ingress_lossless_pool",
        "virtual output queues hold lossless frames at the ingress; there is no egress lossless pool",
        date(2026, 11, 20),
    ),
    Deviation(
        "shared-buffer-pool", (), "egress_lossless_pool",
        "the pool that the test plan compares with on shared-memory switches",
        date(2026, 11, 20),
    ),
    Deviation(
        "lossy-pauses-counted", ("-8122", "-8223"), "0",
        "its receive counters count pauses of lossless priorities only (sonic-mgmt, `pfc_counters.py`)",
        date(2026, 11, 23),
    ),
    Deviation(
        "lossy-pauses-counted", ("cisco-8000",), "1",
        "its receive counters stay at 0 when a PFC frame pauses several lossy priorities (sonic-mgmt#13800)",
        date(2026, 11, 21),
    ),
    Deviation(
        "lossy-pauses-counted", (), "8",
        "SONiC counts a received PFC frame for each priority that it enables, lossy ones too",
        date(2026, 11, 21),
    ),
)
"""Those that every run rests on. A family has its own, in a `DEVIATIONS` beside its cases."""


def deviation(name: str, asic: str, among: Sequence[Deviation] = DEVIATIONS) -> Deviation:
    """The entry `name` that applies to `asic` (as `Deviation.asics`): the first whose ASICs match, else the
    general one."""
    matching = (entry for entry in among if entry.name == name and any(part in asic for part in entry.asics or ("",)))
    return next(matching)


def allowed_for(asic: str, tolerances: Tolerances, among: Sequence[Deviation]) -> list[dict[str, Any]]:
    """The differences that verdicts of a switch rest on, for its records: what among all deviations is special to its
    ASIC (`SwitchState.asic`), and the loads, tolerances and limits of its testbed that are others than where everything
    is exact."""
    names = dict.fromkeys(one.name for one in among)
    special = [entry for entry in (deviation(name, asic, among) for name in names) if entry.asics]
    exact = asdict(EXACT)
    return [{**asdict(entry), "asics": list(entry.asics), "since": entry.since.isoformat()} for entry in special] + [
        {"name": name, "value": value, "instead_of": exact[name], "reason": tolerances.reason}
        for name, value in asdict(tolerances).items() if name != "reason" and value != exact[name]
    ]
