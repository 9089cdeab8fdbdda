"""How platforms and testbeds differ from what the plan assumes: named, dated data with a reason. A deviation never
skips a check."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from .tolerances import EXACT, Tolerances


@dataclass(frozen=True)
class Deviation:
    """One difference.

    Attributes:
        name: what it changes.
        asics: parts of the ASIC's name (`asic_type switch_type`) to which it applies; empty: to all others.
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
        "shared-buffer-pool",
        ("cisco-8000", "voq"),
        "ingress_lossless_pool",
        "virtual output queues hold lossless frames at the ingress; there is no egress lossless pool",
        date(2026, 11, 20),
    ),
    Deviation(
        "several-lossy-pauses-counted",
        ("cisco-8000",),
        "no",
        "its receive counters stay at 0 when a PFC frame pauses several lossy priorities (sonic-mgmt#13800)",
        date(2026, 11, 21),
    ),
    Deviation(
        "several-lossy-pauses-counted",
        (),
        "yes",
        "SONiC counts a received PFC frame for each priority that it enables, lossy ones too",
        date(2026, 11, 21),
    ),
    Deviation(
        "sent-pause-source",
        ("mellanox",),
        "unicast",
        "each port of a Spectrum has a MAC address of its own (register PPAD), which CONFIG_DB does not name",
        date(2026, 11, 21),
    ),
    Deviation(
        "sent-pause-source",
        (),
        "own",
        "a MAC control frame has the sender's own address (IEEE 802.3 31.3), which SONiC makes that of the switch on"
        " all ports; sonic-mgmt's test_valid_src_mac_pfc_frame.py, for cisco-8000 only, expects it",
        date(2026, 11, 21),
    ),
    Deviation(
        "sent-pause-unused-times",
        ("cisco-8000",),
        "any",
        "sonic-mgmt's CiscoPFCPacket allows times of priorities whose enable bit is not set",
        date(2026, 11, 21),
    ),
    Deviation(
        "sent-pause-unused-times",
        (),
        "zero",
        "nobody reads the time of a priority whose enable bit is not set; sonic-mgmt's PFCPacket expects 0",
        date(2026, 11, 21),
    ),
    Deviation(
        "watchdog-drops-what-comes-in",
        ("mellanox", "cisco-8000", "marvell-teralynx"),
        "no",
        "its action `drop` is on the queue only: what comes in at the stormed port is forwarded (sonic-mgmt's tests"
        " expect that)",
        date(2026, 11, 21),
    ),
    Deviation(
        "watchdog-drops-what-comes-in",
        (),
        "yes",
        "the action `drop` discards what leaves by the stormed queue and what comes in for its priority",
        date(2026, 11, 21),
    ),
    Deviation(
        "watchdog-judges",
        ("broadcom",),
        "intervals",
        "a queue has to be paused at both ends of a whole polling interval (sonic-swss pfc_detect_broadcom.lua)",
        date(2026, 11, 21),
    ),
    Deviation(
        "watchdog-judges",
        (),
        "polls",
        "an interval that is paused in part may count as a whole one (sonic-swss pfc_detect_*.lua)",
        date(2026, 11, 21),
    ),
    Deviation(
        "shared-buffer-pool",
        (),
        "egress_lossless_pool",
        "the pool that the test plan compares with on shared-memory switches",
        date(2026, 11, 20),
    ),
)


def deviation(name: str, asic: str) -> Deviation:
    """The entry `name` that applies to `asic` (`asic_type switch_type`): the first whose ASICs match, else the
    general one."""
    matching = (
        entry for entry in DEVIATIONS if entry.name == name and any(part in asic for part in entry.asics or ("",))
    )
    return next(matching)


def allowed_for(asic: str, tolerances: Tolerances) -> list[dict[str, Any]]:
    """The differences that verdicts of a switch rest on, for its records: what is special to its ASIC, and the
    loads, tolerances and limits of its testbed that are others than where everything is exact.

    Args:
        asic: `asic_type switch_type`.
        tolerances: the testbed's.
    """
    special = [entry for entry in (deviation(name, asic) for name in {one.name: None for one in DEVIATIONS})
               if entry.asics]
    exact = EXACT.evidence()
    return [{**asdict(entry), "asics": list(entry.asics), "since": entry.since.isoformat()} for entry in special] + [
        {"name": name, "value": value, "instead_of": exact[name], "reason": tolerances.reason}
        for name, value in tolerances.evidence().items() if name != "reason" and value != exact[name]
    ]


def shared_buffer_pool(asic: str) -> str:
    """Name of the `BUFFER_POOL` row that holds lossless frames which cannot leave."""
    return deviation("shared-buffer-pool", asic).value


def counts_several_lossy_pauses(asic: str) -> bool:
    """Whether the receive counters count a PFC frame that enables several lossy priorities."""
    return deviation("several-lossy-pauses-counted", asic).value == "yes"


def sends_own_source(asic: str) -> bool:
    """Whether pause frames come from the switch's MAC address; else from any unicast one."""
    return deviation("sent-pause-source", asic).value == "own"


def sends_unused_times_as_zero(asic: str) -> bool:
    """Whether pause frames have 0 as the time of each priority that they do not enable."""
    return deviation("sent-pause-unused-times", asic).value == "zero"


def drops_what_comes_in(asic: str) -> bool:
    """Whether the watchdog's action `drop` also discards what comes in at the port for the stormed priority."""
    return deviation("watchdog-drops-what-comes-in", asic).value == "yes"


def judges_whole_intervals(asic: str) -> bool:
    """Whether the watchdog counts only polling intervals that are paused from end to end."""
    return deviation("watchdog-judges", asic).value == "intervals"
