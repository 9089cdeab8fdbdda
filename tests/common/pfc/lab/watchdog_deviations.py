"""How platforms' watchdogs differ."""

from __future__ import annotations

from datetime import date

from ..model.deviations import Deviation, deviation

DLR = "dlr:true"
HARDWARE_RECOVERY = "recovery:hardware"
DEVIATIONS = (
    Deviation(
        "watchdog-in-software", (HARDWARE_RECOVERY,), "no",
        "the ASIC detects and ends storms by itself: times have other limits, and `show pfcwd stats` counts no frames"
        " (sonic-mgmt pfcwd_helper.py, is_pfcwd_hw_recovery_enabled)",
        date(2026, 11, 27),
    ),
    Deviation("watchdog-in-software", (), "yes", "orchagent polls, and acts on a storm", date(2026, 11, 27)),
    Deviation(
        "watchdog-forwards", ("cisco-8000",), "no",
        "orchagent refuses the action `forward` (sonic-swss pfcwdorch.cpp), although CONFIG_DB keeps the row",
        date(2026, 11, 27),
    ),
    Deviation("watchdog-forwards", (), "yes", "the watchdog has the actions `drop` and `forward`", date(2026, 11, 27)),
    Deviation(
        "watchdog-action-changes", ("cisco-8000", DLR), "no",
        "another action is refused while a port is watched, or always (sonic-swss pfcwdorch.cpp)",
        date(2026, 11, 27),
    ),
    Deviation(
        "watchdog-action-changes", (), "yes",
        "the watchdog takes another action while it runs",
        date(2026, 11, 27),
    ),
    Deviation(
        "watchdog-drops-what-comes-in", ("mellanox", "cisco-8000", "marvell", "innovium", "clounix", "nephos"), "no",
        "its action `drop` is on the queue only: what comes in at the stormed port is forwarded (sonic-swss"
        " orchdaemon.cpp, PfcWdZeroBufferHandler; sonic-mgmt's tests expect that)",
        date(2026, 11, 27),
    ),
    Deviation(
        "watchdog-drops-what-comes-in", (DLR,), "no",
        "Broadcom's own recovery (SAI_QUEUE_ATTR_PFC_DLR_INIT) acts on the queue only: orchagent makes no ACL then"
        " (sonic-swss orchdaemon.cpp)",
        date(2026, 11, 27),
    ),
    Deviation(
        "watchdog-drops-what-comes-in", (), "yes",
        "the action `drop` discards what leaves by the stormed queue and what comes in for its priority",
        date(2026, 11, 21),
    ),
    Deviation(
        "watchdog-detects-at-empty-queue", ("marvell-teralynx",), "yes",
        "an empty queue is stormed while it is paused (sonic-swss pfc_detect_marvell-teralynx.lua)",
        date(2026, 11, 27),
    ),
    Deviation(
        "watchdog-detects-at-empty-queue", ("mellanox", "marvell"), "no",
        "a queue is stormed while it holds frames and sends none (sonic-swss pfc_detect_*.lua)",
        date(2026, 11, 27),
    ),
    Deviation(
        "watchdog-detects-at-empty-queue", ("cisco-8000",), "no",
        "its script asks for the pause status of the queue alone, which an empty one may not show",
        date(2026, 11, 27),
    ),
    Deviation(
        "watchdog-detects-at-empty-queue", (), "yes",
        "a queue that is paused is stormed, whether it holds frames or not",
        date(2026, 11, 27),
    ),
    Deviation(
        "watchdog-counts-pauses-to-restore", ("cisco-8000",), "no",
        "its script asks for the pause status of the queue alone (sonic-swss pfc_restore_cisco-8000.lua), which is"
        " false between slow pauses",
        date(2026, 11, 29),
    ),
    Deviation(
        "watchdog-counts-pauses-to-restore", (), "yes",
        "a queue is restored after a time in which no pause frame was counted (sonic-swss pfc_restore.lua)",
        date(2026, 11, 29),
    ),
    Deviation(
        "watchdog-judges", ("broadcom",), "intervals",
        "a queue has to be paused at both ends of a whole polling interval (sonic-swss pfc_detect_broadcom.lua)",
        date(2026, 11, 21),
    ),
    Deviation(
        "watchdog-judges", ("cisco-8000",), "instants",
        "a queue that is paused at a poll is stormed there, whatever came between (sonic-swss"
        " pfc_detect_cisco-8000.lua)",
        date(2026, 11, 30),
    ),
    Deviation(
        "watchdog-judges", (), "polls",
        "an interval that is paused in part may count as a whole one (sonic-swss pfc_detect_*.lua)",
        date(2026, 11, 21),
    ),
)


def _holds(name: str, asic: str) -> bool:
    return deviation(name, asic, DEVIATIONS).value == "yes"


def is_in_software(asic: str) -> bool:
    """Whether orchagent detects storms and acts on them."""
    return _holds("watchdog-in-software", asic)


def drops_what_comes_in(asic: str) -> bool:
    """Whether the watchdog's action `drop` also discards what comes in at the port for the stormed priority."""
    return _holds("watchdog-drops-what-comes-in", asic)


def forwards(asic: str) -> bool:
    """Whether the watchdog has the action `forward`."""
    return _holds("watchdog-forwards", asic)


def changes_action(asic: str) -> bool:
    """Whether the watchdog takes the action `drop` instead of `forward` while it runs."""
    return _holds("watchdog-action-changes", asic)


def detects_at_empty_queue(asic: str) -> bool:
    """Whether the watchdog detects a storm that holds no frame."""
    return _holds("watchdog-detects-at-empty-queue", asic)


def counts_pauses_to_restore(asic: str) -> bool:
    """Whether the watchdog restores a queue when no pause frame has come for a time, and only then."""
    return _holds("watchdog-counts-pauses-to-restore", asic)


def judges_whole_intervals(asic: str) -> bool:
    """Whether the watchdog counts only polling intervals that are paused from end to end."""
    return deviation("watchdog-judges", asic, DEVIATIONS).value == "intervals"


def judges_instants(asic: str) -> bool:
    """Whether the watchdog looks at nothing but the moments of its polls."""
    return deviation("watchdog-judges", asic, DEVIATIONS).value == "instants"
