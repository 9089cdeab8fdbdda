"""The event loop and what every event of traffic does, on tables, compiled.

Function by function this is the model: its modules `pause_receiver`, `pause_transmitter`, `line`, `port`, `buffer`,
`scheduler`, `generator` and `flow` say why. The events of one instant come in the same order, which is the order of
their sources.
"""
from __future__ import annotations

from typing import Any

from virtual_testbed.dataplane.compiled.comparison import recurs
from virtual_testbed.dataplane.compiled.compiler import compiled, entry
from virtual_testbed.dataplane.compiled.tables import (ACTS, AWAKE, BEGAN, DUE, FREE_NODE, FREE_NODES, FURTHER,
                                                       INSTANTS, IS_FULL, IS_SAMPLE, LANDS, MARGIN, NEVER, NONE, NOTES,
                                                       NOW, PROLONGS, REPEATS, RESTARTS, SAMPLES, SENT, SLOWEST_FLOW,
                                                       SLOWEST_TRAIN, STARTED, STOPPED, WAKES, Tables)


# ---- events

@compiled
def expect(t: Tables, source: int, time_ps: int) -> None:
    """A source has its next event at `time_ps`."""
    times = t.times
    winners = t.winners
    winner = source
    place = source + (times.size >> 1)
    times[place] = time_ps
    while place > 1:
        other = place ^ 1
        other_ps = times[other]
        if other_ps < time_ps or other_ps == time_ps and other < place:
            time_ps = other_ps
            winner = winners[other]
        place >>= 1
        if times[place] == time_ps and winners[place] == winner:
            return
        times[place] = time_ps
        winners[place] = winner


@entry
def step(t: Tables, before: Tables, last_ps: int, most: int, samples: int) -> bool:
    """Step instant by instant up to `last_ps`, at most so many instants and samples.

    It ends early where a table is nearly full, and at a sample at which the state is that of the tables
    `before`.

    Returns:
        True when it has ended at such a sample.
    """
    registers = t.registers
    times = t.times
    winners = t.winners
    last_instant = registers[INSTANTS] + most
    last_sample = registers[SAMPLES] + samples
    while registers[INSTANTS] < last_instant and registers[SAMPLES] < last_sample and not registers[IS_FULL]:
        now_ps = times[1]
        if now_ps > last_ps:
            registers[NOW] = last_ps
            return False
        registers[NOW] = now_ps
        registers[INSTANTS] += 1
        registers[FURTHER] -= 1
        while times[1] == now_ps:
            registers[FURTHER] += 1
            happen(t, winners[1], now_ps)
        for place in range(registers[AWAKE]):
            end = t.ends[t.awake[place]]
            end.is_awake = 0
            if end.is_port:
                pick_at_port(t, t.awake[place], now_ps)
            else:
                pick_at_generator(t, t.awake[place], now_ps)
        registers[AWAKE] = 0
        if registers[IS_SAMPLE]:
            registers[IS_SAMPLE] = 0
            registers[SAMPLES] += 1
            if recurs(t, before):
                return True
    return False


@compiled
def happen(t: Tables, source: int, now_ps: int) -> None:
    """An event; its source expects another one then, or none."""
    kind = t.sources[source].kind
    row = t.sources[source].row
    if kind == LANDS:
        land(t, row, now_ps)
    elif kind == SENT:
        expect(t, source, NEVER)
        finish(t, row, now_ps)
    elif kind == WAKES:
        expect(t, source, NEVER)
        wake(t, row)
    elif kind == DUE:
        come_due(t, row)
    elif kind == ACTS:
        act_due(t, row, now_ps)
    elif kind == REPEATS:
        repeat(t, row, now_ps)
    else:
        expire(t, row, now_ps)


@compiled
def wake(t: Tables, number: int) -> None:
    """An idle line chooses at the end of the instant."""
    end = t.ends[number]
    if not end.is_awake:
        end.is_awake = 1
        t.awake[t.registers[AWAKE]] = number
        t.registers[AWAKE] += 1


# ---- rings

@compiled
def append(t: Tables, number: int, time_ps: int, what: int) -> None:
    """Put an entry at the end of a ring."""
    ring = t.rings[number]
    entry = t.entries[ring.first + ((ring.head + ring.count) & ring.mask)]
    entry.time_ps = time_ps
    entry.what = what
    ring.count += 1
    if ring.count + MARGIN > ring.mask:
        t.registers[IS_FULL] = 1


@compiled
def take_first(t: Tables, number: int) -> int:
    """What the first entry of a ring holds; it is taken out."""
    ring = t.rings[number]
    what = t.entries[ring.first + ring.head].what
    ring.head = (ring.head + 1) & ring.mask
    ring.count -= 1
    return what


@compiled
def first_time_ps(t: Tables, number: int) -> int:
    """The instant of the first entry of a ring; NEVER if there is none."""
    ring = t.rings[number]
    return t.entries[ring.first + ring.head].time_ps if ring.count else NEVER


# ---- lines

@compiled
def queue_control(t: Tables, number: int, item: int, now_ps: int) -> None:
    """A control frame begins to wait for the line of an end."""
    end = t.ends[number]
    append(t, end.controls, 0, item)
    if end.busy_until_ps <= now_ps:
        wake(t, number)
    elif not end.is_port and end.wake_ps > end.busy_until_ps:
        end.wake_ps = end.busy_until_ps
        expect(t, end.chooses, end.wake_ps)


@compiled
def launch_control(t: Tables, number: int, now_ps: int) -> int:
    """Put the oldest waiting control frame on the line; when it will have left."""
    end = t.ends[number]
    item = take_first(t, end.controls)
    end.on_line = item
    t.items[item].launched += 1
    end_ps = now_ps + t.items[item].tx_time_ps
    end.busy_until_ps = end_ps
    if end.is_up:
        fly(t, number, end_ps, -1 - item)
    return end_ps


@compiled
def fly(t: Tables, number: int, end_ps: int, what: int) -> None:
    """A frame that has left at `end_ps` is under way."""
    end = t.ends[number]
    arrival_ps = end_ps + end.propagation_ps
    append(t, end.flight, arrival_ps, what)
    if t.rings[end.flight].count == 1:
        expect(t, end.lands, arrival_ps)


@compiled
def land(t: Tables, number: int, now_ps: int) -> None:
    """The first frame under way from an end reaches the other end."""
    end = t.ends[number]
    what = take_first(t, end.flight)
    expect(t, end.lands, first_time_ps(t, end.flight))
    if what < 0:
        receive_control(t, number, -1 - what, now_ps)
    elif end.is_port:
        onward = t.paths[what].onward
        if onward == NONE:
            t.paths[what].lost += 1
        else:
            receive(t, onward, now_ps)
    else:
        lane = t.lanes[what]
        if lane.path == NONE:
            t.flows[lane.flow].lost += 1
        else:
            receive(t, lane.path, now_ps)


@compiled
def note(t: Tables, number: int, time_ps: int, what: int, sent: int) -> None:
    """A capture is told of a frame that reaches a generator port from the end."""
    t.ends[number].tapped -= 1
    if t.ends[number].tapped <= MARGIN:
        t.registers[IS_FULL] = 1
    found = t.notes[t.registers[NOTES]]
    found.end = number
    found.time_ps = time_ps
    found.what = what
    found.number = sent
    t.registers[NOTES] += 1
    if t.registers[NOTES] + MARGIN > t.notes.size:
        t.registers[IS_FULL] = 1


# ---- pauses received

@compiled
def receive_control(t: Tables, sender: int, item: int, now_ps: int) -> None:
    """A control frame has come out of the line of `sender`."""
    t.items[item].arrived += 1
    if t.ends[sender].tapped > 0:
        note(t, sender, now_ps, -1 - item, 0)
    if not t.items[item].is_pfc:
        return
    number = t.ends[sender].peer
    end = t.ends[number]
    if not end.response_ps:
        act(t, number, item, now_ps)
        return
    respond(t, end.responding, now_ps + end.response_ps, item)
    expect(t, end.acts, first_time_ps(t, end.responding))


@compiled
def respond(t: Tables, number: int, acts_ps: int, item: int) -> None:
    """A pause acts at that instant: in the order of time, also where the response time has become shorter."""
    append(t, number, acts_ps, item)
    ring = t.rings[number]
    place = ring.count - 1
    while place:
        entry = t.entries[ring.first + ((ring.head + place) & ring.mask)]
        before = t.entries[ring.first + ((ring.head + place - 1) & ring.mask)]
        if before.time_ps <= acts_ps:
            return
        entry.time_ps = before.time_ps
        entry.what = before.what
        before.time_ps = acts_ps
        before.what = item
        place -= 1


@compiled
def act_due(t: Tables, number: int, now_ps: int) -> None:
    """The first pause that waits for its response time acts."""
    end = t.ends[number]
    item = take_first(t, end.responding)
    expect(t, end.acts, first_time_ps(t, end.responding))
    act(t, number, item, now_ps)


@compiled
def act(t: Tables, number: int, item: int, now_ps: int) -> None:
    """A pause frame acts on an end."""
    end = t.ends[number]
    classes = t.items[item].classes
    for priority in range(8):
        row = t.classes[8 * number + priority]
        if not classes >> priority & 1 or not row.shuts:
            continue
        pause_ps = t.pauses[8 * item + priority]
        if not pause_ps:
            end_pause(t, 8 * number + priority, now_ps)
            continue
        if row.since_ps == NONE:
            row.since_ps = now_ps
            row.until_ps = now_ps + pause_ps
        elif row.further == RESTARTS or row.until_ps >= NEVER:
            row.until_ps = now_ps + pause_ps
        elif row.further == PROLONGS:
            row.until_ps = max(row.until_ps, now_ps + pause_ps)
        if row.until_ps < end.alarm_ps:
            end.alarm_ps = row.until_ps
            expect(t, end.ends, row.until_ps)
    set_gate(t, number, now_ps)


@compiled
def end_pause(t: Tables, number: int, now_ps: int) -> None:
    """The pause of a class, if there is one, is over."""
    row = t.classes[number]
    if row.since_ps != NONE:
        row.on2off += 1
        row.paused_ps += now_ps - row.since_ps
        row.since_ps = NONE


@compiled
def expire(t: Tables, number: int, now_ps: int) -> None:
    """Pauses of an end have lapsed, or were prolonged meanwhile."""
    end = t.ends[number]
    end.alarm_ps = NEVER
    for priority in range(8):
        row = t.classes[8 * number + priority]
        if row.since_ps == NONE:
            continue
        if row.until_ps <= now_ps:
            end_pause(t, 8 * number + priority, now_ps)
        elif row.until_ps < end.alarm_ps:
            end.alarm_ps = row.until_ps
    expect(t, end.ends, end.alarm_ps)
    set_gate(t, number, now_ps)


@compiled
def set_gate(t: Tables, number: int, now_ps: int) -> None:
    """Shut and open queues of an end as its paused classes say."""
    end = t.ends[number]
    gate = 0
    for priority in range(8):
        row = t.classes[8 * number + priority]
        if row.since_ps != NONE:
            gate |= row.shuts
    if gate == end.gate:
        return
    before = end.gate
    end.gate = gate
    end.gates += 1
    if end.is_port:
        end.leak &= gate
        for place in range(end.first_shut, end.first_shut + end.shut):
            bit = 1 << t.while_shut[place].queue
            if bit & gate & ~before:
                repeat_at(t, place, now_ps + t.while_shut[place].period_ps)
            elif bit & before & ~gate:
                repeat_at(t, place, NEVER)
        if end.backlog and end.busy_until_ps <= now_ps:
            wake(t, number)
        return
    for flow in range(end.first_flow, end.first_flow + end.flows):
        bit = t.flows[flow].queue_bit
        if bit & gate & ~before:
            freeze(t, flow, now_ps - 1)
            if t.flows[flow].state == STOPPED:
                t.rings[t.flows[flow].segments].count = 0
        elif bit & before & ~gate:
            thaw(t, flow, now_ps)
    if end.busy_until_ps <= now_ps:
        wake(t, number)
    elif end.wake_ps > end.busy_until_ps:
        end.wake_ps = end.busy_until_ps
        expect(t, end.chooses, end.wake_ps)


# ---- what faults do to shut queues

@compiled
def repeat_at(t: Tables, place: int, time_ps: int) -> None:
    """Something is done to a shut queue at that instant; NEVER: not any more."""
    t.while_shut[place].due_ps = time_ps
    expect(t, t.while_shut[place].source, time_ps)


@compiled
def repeat(t: Tables, place: int, now_ps: int) -> None:
    """It is done, and again after its period."""
    row = t.while_shut[place]
    end = t.ends[row.end]
    repeat_at(t, place, now_ps + row.period_ps)
    if row.discards:
        flush(t, row.end, row.queue, now_ps)
        return
    end.leak |= 1 << row.queue
    if end.busy_until_ps <= now_ps:
        wake(t, row.end)


@compiled
def flush(t: Tables, number: int, queue: int, now_ps: int) -> None:
    """Discard what waits in a queue of a switch port, not the frame on the line."""
    share = 8 * number + queue
    while t.shares[share].frames:
        path = pop(t, share)
        t.paths[path].flushed += 1
        release(t, path, now_ps)
    t.ends[number].backlog &= ~(1 << queue)


# ---- pauses sent

@compiled
def send_xoff(t: Tables, number: int, priorities: int, now_ps: int) -> None:
    """A port pauses classes that it does not pause yet."""
    end = t.ends[number]
    for priority in range(8):
        bit = 1 << priority
        if not priorities & bit or end.sending & bit or not end.is_up:
            continue
        end.sending |= bit
        end.decided_ps = now_ps
        row = t.classes[8 * number + priority]
        queue_control(t, number, row.xoff_item, now_ps)
        train = t.trains[row.train]
        train.base_ps = now_ps
        train.number = 0
        train.limit = NEVER if end.repeats & bit else 1
        train.due_ps = now_ps
        train.residue = 0
        train.burst_ps = now_ps
        go_on(t, row.train)


@compiled
def send_xon(t: Tables, number: int, priorities: int, now_ps: int) -> None:
    """A port lets classes go on."""
    end = t.ends[number]
    for priority in range(8):
        bit = 1 << priority
        if not priorities & bit or not end.sending & bit:
            continue
        end.sending &= ~bit
        end.decided_ps = now_ps
        row = t.classes[8 * number + priority]
        train = t.trains[row.train]
        train.limit = train.number
        expect(t, train.source, NEVER)
        if end.tells_xon & bit:
            queue_control(t, number, row.xon_item, now_ps)


@compiled
def come_due(t: Tables, number: int) -> None:
    """A frame of a train comes due."""
    train = t.trains[number]
    item = train.item
    end = train.end
    now_ps = train.due_ps
    if number == t.registers[SLOWEST_TRAIN]:
        t.registers[IS_SAMPLE] = 1
    go_on(t, number)
    queue_control(t, end, item, now_ps)


@compiled
def go_on(t: Tables, number: int) -> None:
    """A train expects the frame after the one that is due."""
    train = t.trains[number]
    train.number += 1
    if train.burst and train.number % train.burst == 0:
        train.burst_ps += train.burst_period_ps
        train.due_ps = train.burst_ps
        train.residue = 0
    else:
        train.due_ps += train.step
        train.residue += train.rest
        if train.residue >= train.parts:
            train.residue -= train.parts
            train.due_ps += 1
    expect(t, train.source, train.due_ps if train.number < train.limit else NEVER)


# ---- shared buffer

@compiled
def limit(t: Tables, share: int) -> int:
    """Most shared bytes that a share may hold at this instant."""
    row = t.shares[share]
    if row.static_limit != NONE:
        return row.static_limit
    pool = t.pools[row.pool]
    return ((pool.size - pool.used) << row.up) >> row.down


@compiled
def rest_over_reserved(t: Tables, share: int, size: int) -> int:
    """Bytes of a frame that reserved memory does not hold."""
    row = t.shares[share]
    free = row.size - row.reserved
    if size <= free:
        return 0
    return size - free if free > 0 else size


@compiled
def take(t: Tables, group: int, size: int) -> int:
    """Charge a frame to a priority group: 0 taken, 1 taken and over the limit, 2 no room."""
    row = t.shares[group]
    rest = rest_over_reserved(t, group, size)
    if rest:
        pool = t.pools[row.pool]
        if row.shared + rest <= limit(t, group):
            row.shared += rest
            pool.used += rest
            if row.shared > row.peak:
                row.peak = row.shared
        else:
            if row.headroom + rest > row.headroom_size or (
                    pool.headroom_size and pool.headroom_used + rest > pool.headroom_size):
                return 2
            row.headroom += rest
            pool.headroom_used += rest
            if row.headroom > row.headroom_peak:
                row.headroom_peak = row.headroom
            row.reserved += size - rest
            return 1
    row.reserved += size - rest
    return 0


@compiled
def give_back(t: Tables, share: int, size: int) -> None:
    """Give a frame's bytes back to a share: shared ones first, then reserved ones."""
    row = t.shares[share]
    part = row.shared if row.shared < size else size
    row.shared -= part
    t.pools[row.pool].used -= part
    row.reserved -= size - part


@compiled
def release(t: Tables, number: int, now_ps: int) -> None:
    """A frame leaves the buffer: give its cells back, XON if that is due."""
    path = t.paths[number]
    if path.queue != NONE:
        give_back(t, path.queue, path.size)
    row = t.shares[path.pg]
    size = path.size
    if row.headroom:
        part = row.headroom if row.headroom < size else size
        row.headroom -= part
        t.pools[row.pool].headroom_used -= part
        size -= part
    give_back(t, path.pg, size)
    if not row.xoff or row.headroom:
        return
    level = row.xon
    if row.xon_offset:
        level = max(level, limit(t, path.pg) - row.xon_offset)
    if row.shared <= level:
        row.xoff = 0
        send_xon(t, path.in_end, row.priorities | row.drop_priorities, now_ps)


# ---- egress queues

@compiled
def push(t: Tables, queue: int, path: int) -> None:
    """Append a frame to a queue."""
    row = t.shares[queue]
    row.frames += 1
    if row.last_node != NONE and t.nodes[row.last_node].path == path:
        t.nodes[row.last_node].frames += 1
        return
    registers = t.registers
    number = registers[FREE_NODE]
    node = t.nodes[number]
    registers[FREE_NODE] = node.next
    registers[FREE_NODES] -= 1
    if registers[FREE_NODES] < MARGIN + t.ends.size:
        registers[IS_FULL] = 1
    node.path = path
    node.frames = 1
    node.next = NONE
    if row.last_node == NONE:
        row.first_node = number
    else:
        t.nodes[row.last_node].next = number
    row.last_node = number


@compiled
def pop(t: Tables, queue: int) -> int:
    """The path of the first frame of a queue, which is taken out."""
    row = t.shares[queue]
    row.frames -= 1
    number = row.first_node
    node = t.nodes[number]
    node.frames -= 1
    if not node.frames:
        row.first_node = node.next
        if node.next == NONE:
            row.last_node = NONE
        node.next = t.registers[FREE_NODE]
        t.registers[FREE_NODE] = number
        t.registers[FREE_NODES] += 1
    return node.path


@entry
def unchain(t: Tables, begins: Any, paths: Any, frames: Any) -> None:
    """Write the runs of frames in all queues one after another: of each its path, and how many frames it has.

    Args:
        begins: where those of each share begin, and the end of all.
    """
    place = 0
    for share in range(t.shares.size):
        begins[share] = place
        node = t.shares[share].first_node if t.shares[share].frames else NONE
        while node != NONE:
            paths[place] = t.nodes[node].path
            frames[place] = t.nodes[node].frames
            place += 1
            node = t.nodes[node].next
    begins[t.shares.size] = place


# ---- switch ports

@compiled
def receive(t: Tables, number: int, now_ps: int) -> None:
    """A data frame's last bit has come to a switch port: admit it or drop it."""
    path = t.paths[number]
    path.rx += 1
    if path.is_blocked:
        path.blocked_drops += 1
        return
    queue = t.shares[path.queue]
    group = t.shares[path.pg]
    if queue.dropping:
        path.watchdog_tx_drops += 1
        return
    if group.dropping:
        path.watchdog_rx_drops += 1
        return
    if path.drop_one_in:
        path.drop_phase += 1
        if path.drop_phase == path.drop_one_in:
            path.drop_phase = 0
            path.fault_drops += 1
            return
    rest = rest_over_reserved(t, path.queue, path.size)
    if rest and queue.shared + rest > limit(t, path.queue):
        path.tail_drops += 1
        if group.drop_priorities and not group.xoff:
            group.xoff = 1
            send_xoff(t, path.in_end, group.drop_priorities, now_ps)
        return
    verdict = take(t, path.pg, path.size)
    if verdict:
        if not group.xoff and group.is_lossless:
            group.xoff = 1
            send_xoff(t, path.in_end, group.priorities, now_ps)
        if verdict == 2:
            path.pg_drops += 1
            return
    rest = rest_over_reserved(t, path.queue, path.size)
    queue.shared += rest
    t.pools[queue.pool].used += rest
    queue.reserved += path.size - rest
    if queue.reserved + queue.shared > queue.peak:
        queue.peak = queue.reserved + queue.shared
    push(t, path.queue, number)
    out = t.ends[path.out]
    out.backlog |= queue.bit
    if not out.is_awake and out.busy_until_ps <= now_ps:
        wake(t, path.out)


@compiled
def pick_at_port(t: Tables, number: int, now_ps: int) -> None:
    """Put the next frame on a switch port's line: a control frame, or the one that the scheduler chooses."""
    end = t.ends[number]
    if end.busy_until_ps > now_ps:
        return
    if t.rings[end.controls].count:
        expect(t, end.chooses, launch_control(t, number, now_ps))
        return
    end.on_line = NONE
    eligible = end.backlog & ~(end.gate & ~end.leak)
    if not eligible:
        forget_round(t, number, 0)
        return
    queue = 8 * number + choose(t, number, eligible)
    chosen = pop(t, queue)
    if not t.shares[queue].frames:
        end.backlog &= ~t.shares[queue].bit
    end.leak &= ~(t.shares[queue].bit & end.gate)
    end.current = chosen
    path = t.paths[chosen]
    end_ps = now_ps + path.tx_time_ps
    end.data_ps = now_ps
    end.busy_until_ps = end_ps
    if end.to_switch:
        if end.is_up:
            fly(t, number, end_ps, chosen)
        else:
            path.lost += 1
    else:
        depart(t, number, end_ps + end.propagation_ps, chosen)
        if end.tapped > 0:
            note(t, number, end_ps + end.propagation_ps, chosen, path.tx)
    expect(t, end.chooses, end_ps)


@compiled
def depart(t: Tables, number: int, arrival_ps: int, path: int) -> None:
    """Remember the last frames sent to a generator port."""
    ring = t.rings[t.ends[number].departed]
    entry = t.entries[ring.first + ((ring.head + ring.count) & ring.mask)]
    entry.time_ps = arrival_ps
    entry.what = path
    if ring.count <= ring.mask:
        ring.count += 1
    else:
        ring.head = (ring.head + 1) & ring.mask


@compiled
def finish(t: Tables, number: int, now_ps: int) -> None:
    """The last bit of the frame on a switch port's line has left."""
    end = t.ends[number]
    path = end.current
    if path != NONE:
        end.current = NONE
        t.paths[path].tx += 1
        t.paths[path].arrived_ps += now_ps + end.propagation_ps - t.registers[BEGAN]
        release(t, path, now_ps)
    wake(t, number)


@compiled
def forget_round(t: Tables, number: int, turn: int) -> None:
    """Start a round of the scheduler anew: a queue has its turn."""
    end = t.ends[number]
    if not end.is_fresh or end.turn != turn:
        end.turn = turn
        for queue in range(8):
            t.classes[8 * number + queue].deficit = 0
        t.classes[8 * number + turn].deficit = t.classes[8 * number + turn].quantum
        end.is_fresh = 1


@compiled
def choose(t: Tables, number: int, eligible: int) -> int:
    """The queue to send from."""
    end = t.ends[number]
    strict = eligible & end.strict
    if strict:
        return highest(strict)
    if not eligible & (eligible - 1):
        queue = highest(eligible)
        forget_round(t, number, queue)
        return queue
    queue = end.turn
    end.is_fresh = 0
    while True:
        row = t.classes[8 * number + queue]
        if eligible >> queue & 1:
            size = t.paths[t.nodes[t.shares[8 * number + queue].first_node].path].frame_bytes
            if row.deficit >= size:
                row.deficit -= size
                end.turn = queue
                return queue
        else:
            row.deficit = 0
        queue = (queue + 1) & 7
        t.classes[8 * number + queue].deficit += t.classes[8 * number + queue].quantum


@compiled
def highest(mask: int) -> int:
    """The highest bit of a mask of eight, as a number."""
    number = 7
    while not mask >> number & 1:
        number -= 1
    return number


# ---- generator ports and flows

@compiled
def pick_at_generator(t: Tables, number: int, now_ps: int) -> None:
    """Put the next frame on a generator port's line: a control frame, or the oldest data frame that nothing holds."""
    end = t.ends[number]
    if end.busy_until_ps > now_ps:
        return
    if t.rings[end.controls].count:
        end.current = NONE
        end_ps = launch_control(t, number, now_ps)
        flow = oldest(t, number)
        if not t.rings[end.controls].count and flow != NONE:
            wake_at(t, number, max(end_ps, due_ps(t, flow)))
        else:
            wake_at(t, number, end_ps)
        return
    end.on_line = NONE
    end.current = NONE
    flow = oldest(t, number)
    if flow == NONE:
        end.waits += 1
        end.wake_ps = NEVER
        return
    if due_ps(t, flow) > now_ps:
        end.waits += 1
        wake_at(t, number, due_ps(t, flow))
        return
    chosen = take_frame(t, flow, now_ps)
    end.current = chosen
    lane = t.lanes[chosen]
    end_ps = now_ps + lane.tx_time_ps
    end.data_ps = now_ps
    end.busy_until_ps = end_ps
    if end.is_up:
        fly(t, number, end_ps, chosen)
    else:
        t.flows[flow].lost += 1
    flow = oldest(t, number)
    if flow == NONE:
        end.wake_ps = NEVER
    else:
        wake_at(t, number, max(end_ps, due_ps(t, flow)))


@compiled
def wake_at(t: Tables, number: int, time_ps: int) -> None:
    """A generator port chooses at that instant."""
    end = t.ends[number]
    end.wake_ps = time_ps
    expect(t, end.chooses, time_ps)


@compiled
def oldest(t: Tables, number: int) -> int:
    """The flow of a generator port whose frame is due first, of those that may send; the first flow of equal ones."""
    end = t.ends[number]
    found, found_ps = NONE, NEVER
    for flow in range(end.first_flow, end.first_flow + end.flows):
        row = t.flows[flow]
        if t.rings[row.segments].count and not row.queue_bit & end.gate:
            time_ps = due_ps(t, flow)
            if time_ps < found_ps:
                found, found_ps = flow, time_ps
    return found


@compiled
def due_ps(t: Tables, flow: int) -> int:
    """When the next frame of a flow that has one is due."""
    ring = t.rings[t.flows[flow].segments]
    return t.segments[ring.first + ring.head].due_ps


@compiled
def take_frame(t: Tables, number: int, now_ps: int) -> int:
    """The lane of a flow's next frame, which goes on the line."""
    flow = t.flows[number]
    chosen = t.turns[flow.first_turn + flow.position]
    flow.position += 1
    if flow.position == flow.turns:
        flow.position = 0
    flow.sent += 1
    flow.sent_ps += now_ps - t.registers[BEGAN]
    if number == t.registers[SLOWEST_FLOW]:
        t.registers[IS_SAMPLE] = 1
    t.lanes[chosen].launched += 1
    ring = t.rings[flow.segments]
    segment = t.segments[ring.first + ring.head]
    advance_one(flow, segment)
    if not segment.left:
        ring.head = (ring.head + 1) & ring.mask
        ring.count -= 1
        if not ring.count and not flow.is_frozen and flow.state == STARTED and flow.has_begun:
            flow.state = STOPPED  # its last frame
    return chosen


@compiled
def advance_one(flow: Any, schedule: Any) -> None:
    """A frame of a schedule (a segment, or what a flow has frozen) is behind."""
    if schedule.left != NONE:
        schedule.left -= 1
    if flow.burst:
        schedule.place += 1
        if schedule.place == flow.burst:
            schedule.place = 0
            schedule.burst_ps += flow.burst_period_ps
            schedule.due_ps = schedule.burst_ps
            schedule.residue = 0
            return
    schedule.due_ps += flow.step
    schedule.residue += flow.rest
    if schedule.residue >= flow.parts:
        schedule.residue -= flow.parts
        schedule.due_ps += 1


@compiled
def copy_schedule(to: Any, schedule: Any) -> None:
    """Take a schedule: a segment that of what a flow has frozen, or the other way round."""
    to.due_ps = schedule.due_ps
    to.residue = schedule.residue
    to.place = schedule.place
    to.burst_ps = schedule.burst_ps
    to.left = schedule.left


@compiled
def freeze(t: Tables, number: int, until_ps: int) -> None:
    """A flow's schedule stands still: frames due up to `until_ps` came due, the next one does not."""
    flow = t.flows[number]
    ring = t.rings[flow.segments]
    if flow.is_frozen or flow.state == STOPPED or not ring.count:
        return
    last = t.segments[ring.first + ((ring.head + ring.count - 1) & ring.mask)]
    copy_schedule(flow, last)
    due = 0
    while flow.left and flow.due_ps <= until_ps:
        advance_one(flow, flow)
        due += 1
    flow.is_frozen = 1 if flow.left else 0
    if due:
        last.left = due
    else:
        ring.count -= 1


@compiled
def thaw(t: Tables, number: int, now_ps: int) -> None:
    """A flow's schedule goes on: a frame that came due is due now."""
    flow = t.flows[number]
    if not flow.is_frozen or flow.state != STARTED:
        return
    flow.is_frozen = 0
    slip_ps = now_ps - flow.due_ps
    if slip_ps > 0:
        flow.due_ps = now_ps
        flow.residue = 0
        flow.burst_ps += slip_ps
    ring = t.rings[flow.segments]
    segment = t.segments[ring.first + ((ring.head + ring.count) & ring.mask)]
    copy_schedule(segment, flow)
    ring.count += 1
    if ring.count + MARGIN > ring.mask:
        t.registers[IS_FULL] = 1
