"""Leaping over cycles: two tables of one traffic whose states are the same relative to their instants.

What happened between them happens again and again, so that every count grows by as much each time, and every instant
that has moved moves on by the length of the cycle.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtual_testbed.dataplane.compiled.tables import COUNTED, NEVER, NONE, NOW, Tables
from virtual_testbed.dataplane.model.units import repeated_ps

COUNTS = {"flows": ("sent", "lost"), "lanes": ("launched",), "items": ("launched", "arrived"),
          "paths": COUNTED, "classes": ("on2off", "paused_ps")}
"""Columns by table: they grow with every cycle."""
INSTANTS = {"ends": ("busy_until_ps", "data_ps", "decided_ps"), "classes": ("since_ps", "until_ps"),
            "trains": ("base_ps", "due_ps", "burst_ps")}
"""Columns by table: they move with a cycle, or stay as long as it is repeated."""
SCHEDULE = ("due_ps", "burst_ps")


def cycles_before(found: Tables, before: Tables, last_ps: int) -> int:
    """How many more cycles there are up to `last_ps`, before something is done to a shut queue; each flow and train of
    fixed frames has at least one left."""
    now_ps = int(found.registers[NOW])
    last_ps = min([last_ps, *(found.while_shut["due_ps"] - 1).tolist()])
    most = (last_ps - now_ps) // (now_ps - int(before.registers[NOW]))
    for left, was in zip(_left(found), _left(before)):
        if was > left:
            most = min(most, (left - 1) // (was - left))
    return most


def _left(found: Tables) -> list[int]:
    """How many frames are left of each flow, then of each train; -1 without end."""
    lefts = []
    for flow in found.flows:
        ring = found.rings[flow["segments"]]
        if flow["is_frozen"] or not ring["count"]:
            lefts.append(int(flow["left"]) if flow["is_frozen"] else NONE)
        else:
            last = ring["first"] + ((ring["head"] + ring["count"] - 1) & ring["mask"])
            lefts.append(int(found.segments[last]["left"]))
    running = found.trains["number"] < found.trains["limit"]
    ends = np.where(running & (found.trains["limit"] < NEVER), found.trains["limit"] - found.trains["number"], NONE)
    return [*lefts, *ends.tolist()]


def sums_of_instants(found: Tables, before: Tables, cycles: int) -> tuple[list[int], list[int]]:
    """What the sums of instants of each flow and of each path grow by in so many further cycles: they need not fit into
    64 bits, and a leap leaves them alone."""
    period_ps = int(found.registers[NOW] - before.registers[NOW])

    def grown(sums_ps: NDArray[np.int64], counts: NDArray[np.int64]) -> list[int]:
        return [repeated_ps(sum_ps, number, cycles, period_ps)
                for sum_ps, number in zip(sums_ps.tolist(), counts.tolist())]
    return (grown(found.flows["sent_ps"] - before.flows["sent_ps"], found.flows["sent"] - before.flows["sent"]),
            grown(found.paths["arrived_ps"] - before.paths["arrived_ps"], found.paths["tx"] - before.paths["tx"]))


def leap(found: Tables, before: Tables, cycles: int) -> None:
    """Bring tables to where they are after so many further cycles; `before` is the begin of the last one."""
    now_ps = int(found.registers[NOW])
    period_ps = now_ps - int(before.registers[NOW])
    shift_ps = cycles * period_ps
    lefts = [cycles * (left - was) for left, was in zip(_left(found), _left(before))]
    busy = found.ends["busy_until_ps"] > now_ps
    running = found.trains["number"] < found.trains["limit"]
    found.trains["number"] += np.where(running, cycles * (found.trains["number"] - before.trains["number"]), 0)
    for name, columns in COUNTS.items():
        for column in columns:
            values = getattr(found, name)[column]
            values += cycles * (values - getattr(before, name)[column])
    idle = found.ends["busy_until_ps"][~busy]
    for name, columns in INSTANTS.items():
        for column in columns:
            values = getattr(found, name)[column]
            values += np.where(values - getattr(before, name)[column] == period_ps, shift_ps, 0)
    found.ends["busy_until_ps"][~busy] = idle
    _move_segments(found, before, cycles, shift_ps, lefts)
    _move_entries(found, now_ps, shift_ps)
    found.registers[NOW] += shift_ps


def _move_segments(found: Tables, before: Tables, cycles: int, shift_ps: int, lefts: list[int]) -> None:
    """Segments move as far with each cycle, and the last ones have fewer frames left; what is frozen moves with the
    cycle if it was frozen in it.
    """
    for flow, old, left in zip(found.flows, before.flows, lefts):
        places, were = _places(found, flow["segments"]), _places(before, old["segments"])
        for column in SCHEDULE:
            moved_ps = found.segments[column][places] - before.segments[column][were]
            found.segments[column][places] += cycles * moved_ps
            flow[column] += shift_ps if flow[column] != old[column] else 0
        if flow["is_frozen"]:
            flow["left"] += left
        elif places.size:
            found.segments["left"][places[-1]] += left


def _move_entries(found: Tables, now_ps: int, shift_ps: int) -> None:
    """Frames under way and pauses that are about to act move; frames that have arrived long ago do not matter."""
    for end in found.ends:
        for ring in (end["flight"], end["responding"], *([end["departed"]] if end["is_port"] else [])):
            places = _places(found, ring)
            times = found.entries["time_ps"][places]
            found.entries["time_ps"][places] = np.where(times > now_ps, times + shift_ps, times)


def _places(found: Tables, number: int) -> NDArray[Any]:
    """Where the entries of a ring are."""
    ring = found.rings[number]
    return ring["first"] + ((ring["head"] + np.arange(ring["count"])) & ring["mask"])
