"""Whether the state of traffic in tables is one that it had before, compiled: only then a cycle can be leapt over.

Everything that influences the future is compared relative to the instant. Counts may differ, and how much is left of a
flow or train that has an end.
"""
from __future__ import annotations

from typing import Any

from virtual_testbed.dataplane.compiled.compiler import compiled
from virtual_testbed.dataplane.compiled.tables import NEVER, NONE, NOW, STARTED, Tables


@compiled
def recurs(t: Tables, before: Tables) -> bool:
    """Whether everything that influences the future is as it was in the tables `before`, relative to the instant.

    Counts may differ, and how much is left of a flow or train that has an end.
    """
    now_ps, then_ps = t.registers[NOW], before.registers[NOW]
    return (flows_recur(t, before, now_ps, then_ps) and trains_recur(t, before, now_ps, then_ps)
            and ends_recur(t, before, now_ps, then_ps) and dates_stay(t, before) and shares_recur(t, before))


@compiled
def flows_recur(t: Tables, before: Tables, now_ps: int, then_ps: int) -> bool:
    """Schedules of flows, and which of their frames is next.

    The schedules of a generator port that always had a frame due, and the same queues open, may have moved less than
    time has: only how they compare with one another counts as long as every frame is late.
    """
    for number in range(t.ends.size):
        end, old_end = t.ends[number], before.ends[number]
        if end.is_port:
            continue
        moved_ps = now_ps - then_ps
        if end.waits == old_end.waits and end.gates == old_end.gates:
            moved_ps = least_move(t, before, end.first_flow, end.flows, moved_ps)
        for flow in range(end.first_flow, end.first_flow + end.flows):
            if not flow_recurs(t, before, flow, moved_ps, now_ps, then_ps):
                return False
    return True


@compiled
def least_move(t: Tables, before: Tables, first: int, flows: int, most_ps: int) -> int:
    """How far the schedules of flows that nothing holds have moved on, if one did less than `most_ps` and all are late.
    """
    found_ps = most_ps
    for number in range(first, first + flows):
        if t.flows[number].is_frozen:
            continue
        ring, old_ring = t.rings[t.flows[number].segments], before.rings[before.flows[number].segments]
        if ring.count and old_ring.count:
            due_ps = t.segments[ring.first + ring.head].due_ps
            old_ps = before.segments[old_ring.first + old_ring.head].due_ps
            if due_ps > t.registers[NOW] or old_ps > before.registers[NOW]:
                return most_ps
            found_ps = min(found_ps, due_ps - old_ps)
    return found_ps


@compiled
def flow_recurs(t: Tables, before: Tables, number: int, moved_ps: int, now_ps: int, then_ps: int) -> bool:
    """One flow, whose schedule should have moved on so far."""
    flow, old = t.flows[number], before.flows[number]
    ring, old_ring = t.rings[flow.segments], before.rings[old.segments]
    if (flow.position != old.position or flow.state != old.state or flow.is_frozen != old.is_frozen
            or ring.count != old_ring.count):
        return False
    if flow.is_frozen and not frozen_recurs(flow, old, now_ps, then_ps):
        return False
    is_held = flow.is_frozen and flow.state == STARTED and flow.due_ps == old.due_ps and flow.due_ps <= then_ps
    for place in range(ring.count):
        is_last = place == ring.count - 1 and not flow.is_frozen
        if not segment_recurs(t.segments[ring.first + ((ring.head + place) & ring.mask)],
                              before.segments[old_ring.first + ((old_ring.head + place) & old_ring.mask)],
                              flow.burst, 0 if is_held else moved_ps, is_last):
            return False
    return True


@compiled
def frozen_recurs(flow: Any, old: Any, now_ps: int, then_ps: int) -> bool:
    """What is frozen: of a frame that came due in the hold it does not matter when."""
    if flow.due_ps > now_ps or old.due_ps > then_ps:
        return segment_recurs(flow, old, flow.burst, now_ps - then_ps, True)
    if flow.burst and flow.burst_ps - flow.due_ps != old.burst_ps - old.due_ps:
        return False
    return flow.place == old.place and (flow.left == NONE) == (old.left == NONE)


@compiled
def segment_recurs(new: Any, old: Any, burst: int, moved_ps: int, is_last: bool) -> bool:
    """A segment of a flow, or what is frozen: of the last one frames may have been used up."""
    if new.due_ps - old.due_ps != moved_ps or new.residue != old.residue or new.place != old.place:
        return False
    if burst and new.burst_ps - old.burst_ps != moved_ps:
        return False
    if is_last:
        return (new.left == NONE) == (old.left == NONE)
    return new.left == old.left


@compiled
def trains_recur(t: Tables, before: Tables, now_ps: int, then_ps: int) -> bool:
    """When frames of trains come due."""
    for number in range(t.trains.size):
        train, old = t.trains[number], before.trains[number]
        if (train.number < train.limit) != (old.number < old.limit):
            return False
        if train.number >= train.limit:
            continue
        if train.due_ps - now_ps != old.due_ps - then_ps or train.residue != old.residue:
            return False
        if train.burst and (train.burst_ps - now_ps != old.burst_ps - then_ps
                            or train.number % train.burst != old.number % old.burst):
            return False
        moved_ps = train.base_ps - old.base_ps
        if moved_ps and moved_ps != now_ps - then_ps:
            return False
    return True


@compiled
def ends_recur(t: Tables, before: Tables, now_ps: int, then_ps: int) -> bool:
    """Lines, pauses, and schedulers."""
    for number in range(t.ends.size):
        end, old = t.ends[number], before.ends[number]
        is_busy = end.busy_until_ps > now_ps
        if end.gate != old.gate or end.leak != old.leak or is_busy != (old.busy_until_ps > then_ps):
            return False
        if is_busy and (end.busy_until_ps - now_ps != old.busy_until_ps - then_ps or end.on_line != old.on_line
                        or end.current != old.current):
            return False
        if (end.backlog != old.backlog or end.turn != old.turn or end.is_fresh != old.is_fresh
                or end.sending != old.sending or end.tapped or old.tapped):
            return False
        if (not ring_recurs(t, before, end.flight, now_ps, then_ps) or not ring_recurs(t, before, end.controls, 0, 0)
                or not ring_recurs(t, before, end.responding, now_ps, then_ps)
                or not classes_recur(t, before, number, now_ps, then_ps)):
            return False
        if end.is_port and not departed_recur(t, before, end.departed, now_ps, then_ps):
            return False
    return True


@compiled
def dates_stay(t: Tables, before: Tables) -> bool:
    """When something is done to shut queues is as it was: a cycle in which a date moves is none."""
    for number in range(t.while_shut.size):
        if t.while_shut[number].due_ps != before.while_shut[number].due_ps:
            return False
    return True


@compiled
def ring_recurs(t: Tables, before: Tables, number: int, now_ps: int, then_ps: int) -> bool:
    """What is in a ring."""
    ring, old_ring = t.rings[number], before.rings[number]
    if ring.count != old_ring.count:
        return False
    for place in range(ring.count):
        entry = t.entries[ring.first + ((ring.head + place) & ring.mask)]
        old = before.entries[old_ring.first + ((old_ring.head + place) & old_ring.mask)]
        if entry.what != old.what or entry.time_ps - now_ps != old.time_ps - then_ps:
            return False
    return True


@compiled
def departed_recur(t: Tables, before: Tables, number: int, now_ps: int, then_ps: int) -> bool:
    """Frames on their way to a generator port, the last ones first."""
    ring, old_ring = t.rings[number], before.rings[number]
    place, old_place = ring.count - 1, old_ring.count - 1
    while True:
        entry = t.entries[ring.first + ((ring.head + place) & ring.mask)]
        old = before.entries[old_ring.first + ((old_ring.head + old_place) & old_ring.mask)]
        is_under_way = place >= 0 and entry.time_ps > now_ps
        if is_under_way != (old_place >= 0 and old.time_ps > then_ps):
            return False
        if not is_under_way:
            return True
        if entry.what != old.what or entry.time_ps - now_ps != old.time_ps - then_ps:
            return False
        place -= 1
        old_place -= 1


@compiled
def classes_recur(t: Tables, before: Tables, number: int, now_ps: int, then_ps: int) -> bool:
    """Pauses of an end, and the round of its scheduler."""
    for priority in range(8 * number, 8 * number + 8):
        row, old = t.classes[priority], before.classes[priority]
        if row.deficit != old.deficit or (row.since_ps == NONE) != (old.since_ps == NONE):
            return False
        if row.since_ps == NONE:
            continue
        moved_ps = row.since_ps - old.since_ps
        if moved_ps and moved_ps != now_ps - then_ps:
            return False
        if row.until_ps != old.until_ps and row.until_ps - now_ps != old.until_ps - then_ps:
            return False
        if row.until_ps == old.until_ps and row.until_ps != NEVER:
            return False
    return True


@compiled
def shares_recur(t: Tables, before: Tables) -> bool:
    """What the buffer holds, and in which order it leaves."""
    for number in range(t.shares.size):
        share, old = t.shares[number], before.shares[number]
        if (share.shared != old.shared or share.reserved != old.reserved or share.headroom != old.headroom
                or share.xoff != old.xoff or share.frames != old.frames):
            return False
    for number in range(t.paths.size):
        if t.paths[number].drop_phase != before.paths[number].drop_phase:
            return False
    for number in range(t.shares.size):
        if not t.shares[number].frames:
            continue
        node, old_node = t.shares[number].first_node, before.shares[number].first_node
        while node != NONE and old_node != NONE:
            if (t.nodes[node].path != before.nodes[old_node].path
                    or t.nodes[node].frames != before.nodes[old_node].frames):
                return False
            node, old_node = t.nodes[node].next, before.nodes[old_node].next
        if node != old_node:
            return False
    return True
