"""Faults a virtual testbed can be given, each a small class at named hooks of the data plane, and how they are written.

A specification is `NAME[@[SWITCH:]PORT[,key=value...]]`, for example `pause-ignored@Ethernet0,priority=3`. Without a
port the fault is on every port. `priority` limits any fault to one priority (or queue). Every fault says which port
it is about: the port that receives the pause for pauses, the port that data leaves by for drops, the congested data's
ingress port for XOFF.
"""
from __future__ import annotations

from virtual_testbed.dataplane.hooks import Fault, Hooks, Scope, covers
from virtual_testbed.dataplane.units import PS_PER_SECOND

__all__ = ["BUILT_IN", "Fault", "FaultError", "Hooks", "Scope", "covers", "parse_fault"]

LOSSY_QUEUE = 1
DEFAULT_DROP_ONE_IN = 100


class FaultError(ValueError):
    """A fault specification that means nothing; `str()` is one sentence."""


class PauseIgnored(Fault):
    """A received pause stops nothing (it is counted)."""

    name = "pause-ignored"

    def shut_queues(self, priority: int, queues: frozenset[int]) -> frozenset[int]:
        """No queue."""
        return frozenset()


class LossyQueuePaused(Fault):
    """A pause of any class also shuts lossy queue 1."""

    name = "lossy-queue-paused"

    def shut_queues(self, priority: int, queues: frozenset[int]) -> frozenset[int]:
        """Its queue and queue 1."""
        return queues | {LOSSY_QUEUE}


class PauseLeaks(Fault):
    """A shut queue lets one frame a second out (option `period_ms`)."""

    name = "pause-leaks"
    options = ("period_ms",)

    def leak_period_ps(self, queue: int, period_ps: int) -> int:
        """One second, or what `period_ms` says."""
        return _number(self, "period_ms", 1000) * (PS_PER_SECOND // 1000)


class PfcForwarded(Fault):
    """Received PFC frames are flooded to the other ports instead of staying on the link."""

    name = "pfc-forwarded"

    def forwards_control(self, forwards: bool) -> bool:
        """Always."""
        return True


class LosslessDropped(Fault):
    """One in 100 lossless frames that would leave by the port is dropped (option `one_in`)."""

    name = "lossless-dropped"
    options = ("one_in",)

    def drop_one_in(self, queue: int, lossless: bool, frames: int) -> int:
        """`one_in` for lossless queues."""
        return _number(self, "one_in", DEFAULT_DROP_ONE_IN) if lossless else frames


class LossyDropped(Fault):
    """One in 100 lossy frames that would leave by the port is dropped (option `one_in`)."""

    name = "lossy-dropped"
    options = ("one_in",)

    def drop_one_in(self, queue: int, lossless: bool, frames: int) -> int:
        """`one_in` for lossy queues."""
        return frames if lossless else _number(self, "one_in", DEFAULT_DROP_ONE_IN)


class PfcNotCounted(Fault):
    """Received PFC frames act but are not counted."""

    name = "pfc-not-counted"

    def counts_pfc(self, priority: int, counts: bool) -> bool:
        """Never."""
        return False


class XoffNotSent(Fault):
    """A congested priority group sends no pause: lossless frames fill the headroom, then are lost."""

    name = "xoff-not-sent"

    def sends_xoff(self, priority: int, sends: bool) -> bool:
        """Never."""
        return False


class WatchdogStopIgnored(Fault):
    """Removing the watchdog's configuration never reaches the data plane: it keeps running."""

    name = "watchdog-stop-ignored"

    def watchdog_removal_reaches_hardware(self, reaches: bool) -> bool:
        """Never."""
        return False


BUILT_IN: dict[str, type[Fault]] = {fault.name: fault for fault in (
    PauseIgnored, LossyQueuePaused, WatchdogStopIgnored, PauseLeaks, PfcForwarded, LosslessDropped, LossyDropped,
    PfcNotCounted, XoffNotSent)}


def parse_fault(spec: str) -> Fault:
    """The fault that `spec` (`NAME[@[SWITCH:]PORT[,key=value...]]`) describes.

    Raises:
        FaultError: unknown name, malformed place, unknown or repeated key, or a value that is no number.
    """
    name, at, rest = spec.strip().partition("@")
    if name not in BUILT_IN:
        raise FaultError(f"fault '{name}' is unknown: expected one of {', '.join(sorted(BUILT_IN))}")
    place, *pairs = rest.split(",")
    switch, colon, port = place.rpartition(":")
    if (at and not port) or (colon and not switch):
        raise FaultError(f"fault '{spec}' names no port after '@': expected NAME@PORT or NAME@SWITCH:PORT")
    options = _options(spec, pairs, ("priority", *BUILT_IN[name].options))
    priority = options.pop("priority", None)
    if priority is not None and int(priority) not in range(8):
        raise FaultError(f"fault '{spec}': priority {priority} does not exist: expected 0..7")
    scope = Scope(switch or None, port or None, None if priority is None else int(priority))
    return BUILT_IN[name](scope, **options)


def _options(spec: str, pairs: list[str], known: tuple[str, ...]) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in pairs:
        key, _, value = pair.partition("=")
        if key not in known:
            raise FaultError(f"fault '{spec}' has no option '{key}': expected {', '.join(known)}")
        if key in options:
            raise FaultError(f"fault '{spec}' gives '{key}' twice")
        if not (value.isascii() and value.isdigit()) or (key != "priority" and int(value) == 0):
            raise FaultError(f"fault '{spec}': '{value}' is no value for {key}: expected a whole number")
        options[key] = value
    return options


def _number(fault: Fault, key: str, default: int) -> int:
    return int(fault.values.get(key, default))
