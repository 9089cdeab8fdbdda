"""Counters of a switch since it restarted last. The data plane counts on; the difference is what a chip would have."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from virtual_testbed.dataplane.model.counters import SwitchCounters, SwitchStates, WatchdogState
from virtual_testbed.dataplane.model.watchdog_decider import STORMED

LEVELS = ("occupancy_bytes", "watermark_bytes", "watermark_bound_bytes", "shared_watermark_bytes",
          "headroom_watermark_bytes", "shared_watermark_bound_bytes", "is_paused")
"""What is a level or a state, not a count."""
LAST = "_last"
"""End of the names of what a watchdog counts of the last storm."""
Queue = tuple[str, int]
Key = TypeVar("Key")
Row = TypeVar("Row")


def since(now: SwitchCounters, then: SwitchCounters) -> SwitchCounters:
    """What was counted between two readings. `then`: with all parts that `now` has."""
    drops = {key: count - then.drops.get(key, 0) for key, count in now.drops.items()}
    return SwitchCounters(_rows(now.ports, then.ports), _rows(now.queues, then.queues),
                          _rows(now.priority_groups, then.priority_groups),
                          {key: count for key, count in drops.items() if count})


def states_since(now: SwitchStates, then: SwitchStates, watched: Collection[tuple[str, int]]) -> SwitchStates:
    """States with what watchdogs have counted since; queues of which nothing is to be said since then are left out.

    Args:
        watched: the queues that are watched now, of which there is always something to be said.
    """
    said = {}
    for key, state in now.watchdog.items():
        found = _storms_since(state, then.watchdog.get(key, WatchdogState()))
        if key in watched or found != WatchdogState() or state != then.watchdog.get(key):
            said[key] = found
    return replace(now, watchdog=said)


def _storms_since(now: WatchdogState, then: WatchdogState) -> WatchdogState:
    """Counts of one queue's storms since; without a new one there is no last one."""
    changes: dict[str, Any] = {}
    for field in fields(now):
        value = getattr(now, field.name)
        if field.name.endswith(LAST):
            changes[field.name] = value if now.detected > then.detected else 0
        elif isinstance(value, int):
            changes[field.name] = value - getattr(then, field.name)
    return replace(now, **changes)


def written(
    now: Mapping[Queue, WatchdogState], then: Mapping[Queue, WatchdogState]
) -> dict[Queue, WatchdogState]:
    """Watchdogs as orchagent has written them last: frames of a storm that goes on are those of its timer, at which the
    states were `then`, or none, if it began since.
    """
    return {queue: _written(state, then.get(queue, WatchdogState())) if state.status == STORMED else state
            for queue, state in now.items()}


def _written(now: WatchdogState, then: WatchdogState) -> WatchdogState:
    if (then.status, then.detected) == (STORMED, now.detected):
        return then
    changes: dict[str, Any] = {}
    for name in (field.name for field in fields(now) if field.name.endswith(LAST)):
        total = name.removesuffix(LAST)
        changes |= {total: getattr(now, total) - getattr(now, name), name: 0}
    return replace(now, **changes)


def _rows(now: Mapping[Key, Row], then: Mapping[Key, Row]) -> dict[Key, Row]:
    return {key: _row(row, then[key]) if key in then else row for key, row in now.items()}


def _row(now: Row, then: Row) -> Row:
    values: Any = now
    changes = {field.name: _less(getattr(now, field.name), getattr(then, field.name))
               for field in fields(values) if field.name not in LEVELS}
    found: Row = replace(values, **changes)
    return found


def _less(now: Any, then: Any) -> Any:
    """A number, or a tuple of them, less an earlier one."""
    if isinstance(now, tuple):
        return tuple(one - other for one, other in zip(now, then, strict=True))
    return now - then
