"""How platforms' watchdogs differ."""

from __future__ import annotations

from datetime import date

from ..model.deviations import Deviation, deviation

DEVIATIONS = (
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
)


def drops_what_comes_in(asic: str) -> bool:
    """Whether the watchdog's action `drop` also discards what comes in at the port for the stormed priority."""
    return deviation("watchdog-drops-what-comes-in", asic, DEVIATIONS).value == "yes"


def judges_whole_intervals(asic: str) -> bool:
    """Whether the watchdog counts only polling intervals that are paused from end to end."""
    return deviation("watchdog-judges", asic, DEVIATIONS).value == "intervals"
