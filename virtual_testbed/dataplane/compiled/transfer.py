"""The model's objects as tables, and back."""
from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtual_testbed.dataplane.compiled import tables
from virtual_testbed.dataplane.compiled.stepping import unchain
from virtual_testbed.dataplane.compiled.tables import (ACTS, BEGAN, DUE, ENDS, FREE_NODE, FREE_NODES, FURTHER, IGNORED,
                                                       INSTANTS, LANDS, MARGIN, NEVER, NONE, NOTES, NOW, PAUSED,
                                                       PROLONGS, REPEATS, RESTARTS, SENT, SLOWEST_FLOW, SLOWEST_TRAIN,
                                                       STARTED, STOPPED, WAKES, Tables)
from virtual_testbed.dataplane.model import counters, events, hooks
from virtual_testbed.dataplane.model.buffer import (BufferPool, EgressQueue, GroupSnapshot, PriorityGroup,
                                                    QueueSnapshot)
from virtual_testbed.dataplane.model.control_frames import PFC, Control
from virtual_testbed.dataplane.model.events import EventLoop
from virtual_testbed.dataplane.model.flow import FlowState, Lane, Segment
from virtual_testbed.dataplane.model.generator import GeneratorSide, SideSnapshot
from virtual_testbed.dataplane.model.line import ControlItem, ItemSnapshot, LineSnapshot, Train, TrainSnapshot
from virtual_testbed.dataplane.model.pause_receiver import PauseReceiver
from virtual_testbed.dataplane.model.port import Path, PortSnapshot, SwitchPort
from virtual_testbed.dataplane.model.runs import PackedRuns
from virtual_testbed.dataplane.model.scheduler import SchedulerSnapshot
from virtual_testbed.dataplane.model.units import pause_time_ps
from virtual_testbed.dataplane.model.while_shut import Repetition, WhileShut

LARGEST = 1 << 61
"""No number that is stepped with may be larger, so that the sum of two fits into 64 bits."""
FIXED_OF_PATH = ("frame_bytes", "size", "tx_time_ps", "drop_one_in")
LEAST_NODES = 1 << 12
EFFECTS = {hooks.RESTARTS: RESTARTS, hooks.IGNORED: IGNORED, hooks.PROLONGS: PROLONGS}
STATES = {counters.STOPPED: STOPPED, counters.STARTED: STARTED, counters.PAUSED: PAUSED}

End = GeneratorSide | SwitchPort
Row = dict[str, int]


class NotCompiled(Exception):
    """The traffic has something that compiled stepping does not know; `str()` says what."""


class Rings:
    """Rings in one table of entries, in the making."""

    def __init__(self, columns: np.dtype[Any]) -> None:
        self._columns = columns
        self._entries: list[tuple[int, int, Sequence[tuple[int, ...]]]] = []
        self._end = 0

    def add(self, entries: Sequence[tuple[int, ...]], least: int = 0) -> Row:
        """A ring that holds entries, with room for four times as many, and for `least`."""
        capacity = 1 << (max(4 * (len(entries) + MARGIN), least) - 1).bit_length()
        first = self._end
        self._entries.append((first, capacity, entries))
        self._end += capacity
        return {"first": first, "mask": capacity - 1, "head": 0, "count": len(entries)}

    def table(self) -> NDArray[Any]:
        """All entries."""
        found = np.zeros(max(1, self._end), self._columns)
        for first, _, entries in self._entries:
            if entries:
                found[first:first + len(entries)] = entries
        return found


class Transfer:
    """The traffic of some ports in tables; nothing else may change it before `back` has been called.

    Args:
        sides, ports: all that influence each other.
        loop: whose traffic it is.

    Raises:
        NotCompiled: see there.
    """

    def __init__(self, sides: Sequence[GeneratorSide], ports: Sequence[SwitchPort], loop: EventLoop) -> None:
        self._sides = sides
        self._ports = ports
        self._loop = loop
        self._ends: list[End] = [*sides, *ports]
        self._rows: dict[object, int] = {end: row for row, end in enumerate(self._ends)}
        self._rows.update({end.line: row for row, end in enumerate(self._ends)})
        self._receivers: list[PauseReceiver] = [end.receiver for end in self._ends]
        self._items: list[ControlItem] = [item for end in self._ends for item in end.line.items]
        self._flows: list[FlowState] = list(dict.fromkeys([
            *(flow for side in sides for flow in side.flows), *(lane.flow for lane in self._lanes_under_way())]))
        self._lanes: list[Lane] = [lane for flow in self._flows for lane in flow.kinds]
        self._trains: list[Train] = [*(storm.train for side in sides for storm in side.storms),
                                     *(train for port in ports for train in port.sender.all_trains)]
        self._paths: list[Path] = list(dict.fromkeys([
            *(path for port in ports for path in port.paths), *(path for port in ports for _, path in port.flight)]))
        for objects in (self._items, self._flows, self._lanes, self._trains, self._paths):
            self._rows.update({found: row for row, found in enumerate(objects)})
        self._queues = [queue for port in ports for queue in port.queues]
        self._groups = [(group, port) for port in ports for group in port.pgs]
        self._pools: list[BufferPool] = list(dict.fromkeys(
            share.pool for share in (*self._queues, *(group for group, _ in self._groups))))
        self._rows.update({pool: row for row, pool in enumerate(self._pools)})
        self._controls: list[Control] = []
        self._entries = Rings(tables.ENTRY)
        self._segments = Rings(tables.SEGMENT)
        self._rings: list[Row] = []
        self._sources: list[tuple[int, int, int, int, int]] = []
        self._while_shut: list[Row] = []
        self._check()
        self.tables = self._filled()
        self._flow_sums_ps = [0] * len(self._flows)
        self._path_sums_ps = [0] * len(self._paths)

    def _lanes_under_way(self) -> Iterator[Lane]:
        """Of frames on the lines of generator ports; their flows may be gone."""
        for side in self._sides:
            yield from (frame for _, frame in side.line.flight if isinstance(frame, Lane))
            if side.current is not None:
                yield side.current

    def _check(self) -> None:
        for end in self._ends:
            if self._peer(end) == NONE:
                raise NotCompiled("a cable leads to a port that takes no part")
        if not all(port.ties.are_none for port in self._ports):
            raise NotCompiled("pauses of one port act at another")
        for path in (lane.path for lane in self._lanes if lane.path is not None):
            if path not in self._rows:
                raise NotCompiled("a flow leads to a port that takes no part")

    def _peer(self, end: End) -> int:
        return self._rows.get(end.switch_port if isinstance(end, GeneratorSide) else end.peer, NONE)

    # ---- to tables

    def _filled(self) -> Tables:
        items, pauses = self._item_rows()
        ends = [self._end_row(end) for end in self._ends]
        flows = [self._flow_row(flow) for flow in self._flows]
        trains = [self._train_row(train) for train in self._trains]
        none: list[Row] = [{} for _ in range(8 * len(self._sides))]
        shares = [*none, *(self._queue_row(queue) for queue in self._queues),
                  *none, *(self._group_row(group, port) for group, port in self._groups)]
        nodes, registers = self._nodes(shares)
        sources = self._order(ends, trains, self._while_shut)
        times, winners = _tournament([source[2] for source in sources])
        registers[NOW] = registers[BEGAN] = self._loop.now_ps
        registers[SLOWEST_FLOW] = registers[SLOWEST_TRAIN] = NONE
        return Tables(
            _table(tables.END, ends),
            _table(tables.CLASS, [row for end in self._ends for row in self._class_rows(end)]),
            _table(tables.SHARE, shares), _table(tables.POOL, [_pool_row(pool) for pool in self._pools]),
            _table(tables.PATH, [self._path_row(path) for path in self._paths]),
            _table(tables.ITEM, items), np.array(pauses, np.int64).reshape(-1), _table(tables.LANE, [
                {"flow": self._rows[lane.flow], "tx_time_ps": lane.tx_time_ps, "launched": lane.launched,
                 "path": self._row(lane.path)} for lane in self._lanes]),
            np.array([self._rows[lane] for flow in self._flows for lane in flow.lanes], np.int64),
            _table(tables.FLOW, flows), self._segments.table(), _table(tables.TRAIN, trains),
            _table(tables.WHILE_SHUT, self._while_shut),
            _table(tables.RING, self._rings), self._entries.table(), nodes,
            _table(tables.SOURCE, [{"kind": what, "row": row} for _, _, _, what, row in sources]),
            times, winners, np.zeros(len(self._ends), np.int64),
            np.zeros(sum(row["tapped"] for row in ends if row["is_port"]) + 2 * MARGIN, tables.NOTE), registers)

    def slowest_first(self) -> list[tuple[int, int]]:
        """The flows and trains that send, each as what `SLOWEST_FLOW` and `SLOWEST_TRAIN` are for it: no cycle is
        shorter than the time between two frames of one that takes part."""
        found = [(flow.step, self._rows[flow], NONE) for flow in self._flows
                 if flow.segment is not None or flow.frozen is not None]
        found += [(storm.train.schedule.step, NONE, self._rows[storm.train])
                  for side in self._sides for storm in side.storms if storm.train.is_running]
        return [(flow, train) for _, flow, train in sorted(found, reverse=True)]

    def _row(self, found: object) -> int:
        return NONE if found is None else self._rows.get(found, NONE)

    def _end_row(self, end: End) -> Row:
        line = end.line
        receiver = end.receiver
        row = self._rows[end]
        flight = [(bounded(time_ps), self._what(frame)) for time_ps, frame in line.flight]
        responding = [(bounded(time_ps), self._control_row(control)) for time_ps, control in receiver.responding]
        alarm_ps = min([NEVER, *(bounded(until_ps) for since_ps, until_ps in zip(receiver.since_ps, receiver.until_ps)
                                 if since_ps is not None)])
        found = {
            "is_up": line.is_up, "busy_until_ps": bounded(line.busy_until_ps), "on_line": self._row(line.on_line),
            "propagation_ps": line.propagation_ps, "data_ps": bounded(line.data_ps), "decided_ps": NONE,
            "peer": self._peer(end), "gate": end.gate, "response_ps": bounded(receiver.response_ps),
            "alarm_ps": alarm_ps, "current": self._row(end.current),
            "flight": self._ring(flight), "responding": self._ring(responding),
            "controls": self._ring([(0, self._rows[item]) for item in line.controls]),
            "lands": self._source(line.kind, line.index, flight[0][0] if flight else NEVER, LANDS, row),
            "acts": self._source(events.PAUSE_ACTS, receiver.index, responding[0][0] if responding else NEVER, ACTS,
                                 row),
            "ends": self._source(events.PAUSE_ENDS, receiver.index, alarm_ps, ENDS, row)}
        return found | (self._side_row(end, row) if isinstance(end, GeneratorSide) else self._port_row(end, row))

    def _side_row(self, side: GeneratorSide, row: int) -> Row:
        if side.line.controls:
            wake_ps = bounded(side.line.busy_until_ps)
        else:
            wake_ps = max(bounded(side.line.busy_until_ps), bounded(side.due[0][0])) if side.due else NEVER
        return {"is_port": 0, "wake_ps": wake_ps, "flows": len(side.flows), "departed": NONE,
                "first_flow": self._rows[side.flows[0]] if side.flows else 0,
                "chooses": self._source(events.FRAME_DUE, side.index, wake_ps, WAKES, row)}

    def _port_row(self, port: SwitchPort, row: int) -> Row:
        scheduler = port.scheduler
        sender = port.sender
        busy_until_ps = bounded(port.line.busy_until_ps)
        departed = [(bounded(time_ps), self._rows[path]) for time_ps, path in port.flight]
        sent_ps = busy_until_ps if busy_until_ps > self._loop.now_ps else NEVER
        first_shut = len(self._while_shut)
        self._add_while_shut(port.leaks, row, False)
        self._add_while_shut(port.aging, row, True)
        return {"is_port": 1, "to_switch": port.to_switch, "backlog": port.backlog, "turn": scheduler.turn,
                "strict": scheduler.strict, "is_fresh": scheduler.fresh, "sending": sender.sending,
                "tells_xon": sender.tells_xon, "repeats": sender.repeats, "leak": port.leak,
                "first_shut": first_shut, "shut": len(self._while_shut) - first_shut,
                "tapped": port.capture_room + MARGIN if port.capture_room else 0,
                "departed": self._ring(departed, port.flight.maxlen or 0),
                "chooses": self._source(events.FRAME_SENT, port.index, sent_ps, SENT, row)}

    def _add_while_shut(self, repeated: WhileShut, row: int, discards: bool) -> None:
        """A row for each queue of a port that a fault does something to while it is shut."""
        for queue in range(8):
            period_ps = repeated.period_ps(queue)
            running = repeated.running.get(queue, Repetition(period_ps, events.NEVER))
            if running.period_ps != period_ps:
                raise NotCompiled("a fault does to a shut queue what it will not do to it when it is shut again")
            if period_ps:
                due_ps = bounded(running.due_ps)
                place = len(self._while_shut)
                source = self._source(events.LEAK, repeated.first + queue, due_ps, REPEATS, place)
                self._while_shut.append({"end": row, "queue": queue, "discards": discards, "source": source,
                                         "period_ps": bounded(period_ps), "due_ps": due_ps})

    def _ring(self, entries: Sequence[tuple[int, ...]], least: int = 0) -> int:
        self._rings.append(self._entries.add(entries, least))
        return len(self._rings) - 1

    def _source(self, kind: int, index: int, time_ps: int, what: int, row: int) -> int:
        """A source of events; its number for the time being."""
        self._sources.append((kind, index, time_ps, what, row))
        return len(self._sources) - 1

    def _order(self, ends: list[Row], *with_one: list[Row]) -> list[tuple[int, int, int, int, int]]:
        """Sources in the order of the events of one instant, and their numbers where they are used; `with_one`: rows
        that have one source."""
        order = sorted(range(len(self._sources)), key=lambda number: self._sources[number][:2])
        place = {number: rank for rank, number in enumerate(order)}
        for row in ends:
            row.update({use: place[row[use]] for use in ("lands", "chooses", "acts", "ends")})
        for row in (row for rows in with_one for row in rows):
            row.update({"source": place[row["source"]]})
        return [self._sources[number] for number in order]

    def _what(self, frame: object) -> int:
        return -1 - self._rows[frame] if isinstance(frame, ControlItem) else self._rows[frame]

    def _class_rows(self, end: End) -> Iterable[Row]:
        receiver = end.receiver
        for priority in range(8):
            since_ps = receiver.since_ps[priority]
            habits = receiver.habits[priority]
            found = {"shuts": habits.shuts, "further": EFFECTS[habits.further],
                     "since_ps": NONE if since_ps is None else since_ps,
                     "until_ps": bounded(receiver.until_ps[priority]), "on2off": receiver.on2off[priority],
                     "paused_ps": receiver.paused_ps[priority]}
            if isinstance(end, SwitchPort):
                sender = end.sender
                scheduler = end.scheduler
                found |= {"deficit": scheduler.deficits[priority], "quantum": scheduler.quanta[priority],
                          "xoff_item": self._rows[sender.xoff_items[priority]],
                          "xon_item": self._rows[sender.xon_items[priority]],
                          "train": self._rows[sender.trains[priority]]}
            yield found

    def _item_rows(self) -> tuple[list[Row], list[list[int]]]:
        """Control frames, and how long they pause; the readings of those that are about to act are at hand then."""
        rows: list[Row] = []
        pauses: list[list[int]] = []
        for end in self._ends:
            receiver = self._receivers[self._peer(end)]
            for item in end.line.items:
                control = receiver.reading(item.frame) if item.frame.data else Control("")
                rows.append(_item_row(control, item.tx_time_ps, item.launched, item.arrived))
                pauses.append(_pauses(control, receiver))
                self._controls.append(control)
        for receiver in self._receivers:
            for _, control in receiver.responding:
                rows.append(_item_row(control, 0, 0, 0))
                pauses.append(_pauses(control, receiver))
                self._controls.append(control)
        return rows, pauses

    def _control_row(self, control: Control) -> int:
        """The row of a frame that is about to act."""
        return next(row for row in range(len(self._items), len(self._controls)) if self._controls[row] is control)

    def _queue_row(self, queue: EgressQueue[Path]) -> Row:
        return self._share_row(queue) | {"frames": queue.frames, "bit": queue.bit, "first_node": NONE,
                                         "last_node": NONE}

    def _group_row(self, group: PriorityGroup, port: SwitchPort) -> Row:
        return self._share_row(group) | {
            "headroom": group.headroom, "headroom_size": group.headroom_size, "headroom_peak": group.headroom_peak,
            "xon": group.xon, "xon_offset": group.xon_offset, "xoff": group.xoff, "is_lossless": group.is_lossless,
            "priorities": sum(1 << priority for priority in port.pg_priorities[group.number]),
            "drop_priorities": sum(1 << priority for priority in port.drop_priorities[group.number])}

    def _share_row(self, share: EgressQueue[Path] | PriorityGroup) -> dict[str, int]:
        if share.static_limit is None and share.pool.size << share.up > LARGEST:
            raise NotCompiled("a dynamic threshold beyond 64 bits")
        return {"size": share.size, "up": share.up, "down": share.down, "pool": self._rows[share.pool],
                "static_limit": NONE if share.static_limit is None else min(share.static_limit, LARGEST),
                "reserved": share.reserved, "shared": share.shared, "peak": share.peak, "dropping": share.dropping}

    def _path_row(self, path: Path) -> Row:
        in_end = self._row(path.in_port)
        takes_part = path.out in self._rows and path.queue is not None and path.blocked is None and in_end != NONE
        queue = self._rows[path.out] * 8 + path.queue.number if takes_part and path.queue else NONE
        found = {name: getattr(path, name) for name in (*FIXED_OF_PATH, *tables.COUNTED)}
        return found | {"in_end": in_end, "out": self._row(path.out), "queue": queue,
                        "pg": 8 * (len(self._ends) + max(0, in_end)) + path.pg.number,
                        "onward": self._row(path.onward), "is_blocked": not takes_part}

    def _flow_row(self, flow: FlowState) -> Row:
        waiting = [] if flow.segment is None else [flow.segment, *flow.later]
        self._rings.append(self._segments.add([_segment_entry(segment) for segment in waiting]))
        frozen = Segment(0, 0, 0, 0, None) if flow.frozen is None else flow.frozen
        due_ps, residue, place, burst_ps, left = _segment_entry(frozen)
        return {"queue_bit": flow.queue_bit, "state": STATES[flow.state], "has_begun": flow.has_begun,
                "step": bounded(flow.step), "rest": bounded(flow.rest), "parts": bounded(flow.parts),
                "burst": flow.burst, "burst_period_ps": bounded(flow.burst_period_ps), "position": flow.position,
                "first_turn": sum(len(other.lanes) for other in self._flows[:self._rows[flow]]),
                "turns": len(flow.lanes), "sent": flow.sent, "lost": flow.lost, "segments": len(self._rings) - 1,
                "is_frozen": flow.frozen is not None, "due_ps": due_ps, "residue": residue, "place": place,
                "burst_ps": burst_ps, "left": left}

    def _train_row(self, train: Train) -> Row:
        schedule = train.schedule
        due_ps = bounded(train.due_ps)
        begun = train.number // schedule.burst if schedule.burst else 0
        return {"end": self._rows[train.item.line],
                "item": self._rows[train.item],
                "source": self._source(events.CONTROL_DUE, train.order, due_ps, DUE, self._rows[train]),
                "step": bounded(schedule.step), "rest": bounded(schedule.rest), "parts": bounded(schedule.parts),
                "burst": schedule.burst, "burst_period_ps": bounded(schedule.burst_period_ps),
                "base_ps": bounded(schedule.base_ps), "number": train.number, "limit": bounded(train.limit),
                "due_ps": due_ps, "residue": train.residue,
                "burst_ps": bounded(schedule.base_ps + begun * schedule.burst_period_ps)}

    def _nodes(self, shares: list[Row]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Runs of frames in all queues, chained up, then those that are free."""
        used = sum(queue.runs() for queue in self._queues)
        size = 4 * used + LEAST_NODES + 4 * len(self._ends)
        nodes = np.zeros(size, tables.NODE)
        nodes["next"] = np.arange(1, size + 1)
        end = 0
        for share, queue in zip(shares[8 * len(self._sides):], self._queues):
            if queue.frames:
                share["first_node"] = end
                for part in queue.parts():
                    begin = end
                    end += len(part)
                    nodes["path"][begin:end], nodes["frames"][begin:end] = self._columns(part)
                share["last_node"] = end - 1
                nodes["next"][end - 1] = NONE
        registers = np.zeros(tables.REGISTERS, np.int64)
        registers[FREE_NODE] = used
        registers[FREE_NODES] = size - used
        return nodes, registers

    def _columns(self, runs: Iterable[Sequence[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of each run of frames the row of its path, and how many they are."""
        if isinstance(runs, PackedRuns):
            rows = np.array([self._row(path) for path in runs.kinds], np.int64)
            return rows[np.array(runs.which)], np.array(runs.frames)
        rows = np.array([self._rows[path] for path, _ in runs], np.int64)
        return rows, np.array([frames for _, frames in runs], np.int64)

    # ---- back

    def take_sums(self, flow_sums_ps: Sequence[int], path_sums_ps: Sequence[int]) -> None:
        """Take by how much the sums of instants of each flow and of each path are larger than the tables say: of the
        one leap that ends the stepping."""
        self._flow_sums_ps = list(flow_sums_ps)
        self._path_sums_ps = list(path_sums_ps)

    def back(self) -> None:
        """Bring the objects to where the tables are; the loop's events have to be set anew."""
        found = self.tables
        registers = found.registers.tolist()
        self._loop.move_to(registers[NOW])
        self._loop.count_compiled(registers[INSTANTS], registers[FURTHER])
        for flow, row in zip(self._flows, _rows(found.flows)):
            self._flow_back(flow, row)
        for train, row in zip(self._trains, _rows(found.trains)):
            train.restore(TrainSnapshot(row["base_ps"], row["number"], unbounded(row["limit"])))
        for path, row in zip(self._paths, _rows(found.paths)):
            arrived_ps = self._path_sums_ps[self._rows[path]] + row["arrived_ps"] + self._began(row["tx"] - path.tx)
            path.restore(path.snapshot()._replace(
                arrived_ps=path.arrived_ps + arrived_ps, **{name: row[name] for name in tables.COUNTED}))
        classes = _rows(found.classes)
        for number, (end, row) in enumerate(zip(self._ends, _rows(found.ends))):
            self._line_back(end, row)
            self._receiver_back(end, row, classes[8 * number:8 * number + 8])
            if isinstance(end, GeneratorSide):
                lane = None if row["current"] == NONE else self._lanes[row["current"]]
                end.restore(SideSnapshot(row["gate"], lane))
            else:
                self._port_back(end, row, classes[8 * number:8 * number + 8])
        self._items_back()
        for number, time_ps, what, sent in found.notes[:registers[NOTES]].tolist():
            self._note(self._ends[number], time_ps, what, sent)

    def _flow_back(self, flow: FlowState, row: Row) -> None:
        waiting = [_segment(entry) for entry in self._ring_of(self.tables.segments, row["segments"])]
        frozen = _segment([row[column] for column in Segment._fields]) if row["is_frozen"] else None
        launched = tuple(self.tables.lanes["launched"][self._rows[lane]].item() for lane in flow.kinds)
        sent_ps = self._flow_sums_ps[self._rows[flow]] + row["sent_ps"] + self._began(row["sent"] - flow.sent)
        flow.restore(flow.snapshot()._replace(
            segment=waiting[0] if waiting else None, later=tuple(waiting[1:]), frozen=frozen, position=row["position"],
            sent=row["sent"], sent_ps=flow.sent_ps + sent_ps, lost=row["lost"], launched=launched))
        if row["state"] != STATES[flow.state]:
            flow.finish()

    def _began(self, number: int) -> int:
        """What is missing in the sum of so many instants that are counted from when the tables were made."""
        return number * int(self.tables.registers[BEGAN])

    def _line_back(self, end: End, row: Row) -> None:
        flight = tuple((time_ps, self._frame(end, what))
                       for time_ps, what in self._ring_of(self.tables.entries, row["flight"]))
        end.line.restore(LineSnapshot(
            row["busy_until_ps"], None if row["on_line"] == NONE else self._items[row["on_line"]],
            tuple(self._items[what] for _, what in self._ring_of(self.tables.entries, row["controls"])), flight,
            unbounded(row["data_ps"])))
        if row["decided_ps"] != NONE:
            self._loop.watcher.pause_decided(end.line, row["decided_ps"])

    def _receiver_back(self, end: End, row: Row, classes: list[Row]) -> None:
        receiver = end.receiver
        receiver.restore(receiver.snapshot()._replace(
            since_ps=tuple(None if each["since_ps"] == NONE else each["since_ps"] for each in classes),
            until_ps=tuple(unbounded(each["until_ps"]) for each in classes),
            responding=tuple((time_ps, self._controls[what])
                             for time_ps, what in self._ring_of(self.tables.entries, row["responding"])),
            on2off=tuple(each["on2off"] for each in classes),
            paused_ps=tuple(each["paused_ps"] for each in classes)))

    def _port_back(self, port: SwitchPort, row: Row, classes: list[Row]) -> None:
        first = 8 * self._rows[port]
        queues = list(enumerate(_rows(self.tables.shares[first:first + 8]), first))
        first += 8 * len(self._ends)
        groups = _rows(self.tables.shares[first:first + 8])
        port.restore(PortSnapshot(
            None if row["current"] == NONE else self._paths[row["current"]],
            tuple((time_ps, self._paths[what])
                  for time_ps, what in self._ring_of(self.tables.entries, row["departed"])),
            row["backlog"], row["gate"], row["leak"], row["sending"],
            SchedulerSnapshot(row["turn"], tuple(each["deficit"] for each in classes), bool(row["is_fresh"])),
            tuple(GroupSnapshot(group["reserved"], group["shared"], group["peak"], group["headroom"],
                                group["headroom_peak"], bool(group["xoff"])) for group in groups),
            tuple(QueueSnapshot(queue["reserved"], queue["shared"], queue["peak"],
                                self._content(number) if queue["frames"] else ()) for number, queue in queues)))
        shut = self.tables.while_shut[row["first_shut"]:row["first_shut"] + row["shut"]]
        port.leaks.restore(_running(shut[shut["discards"] == 0]))
        port.aging.restore(_running(shut[shut["discards"] == 1]))

    def _content(self, share: int) -> PackedRuns[Path]:
        """Runs of frames in a queue, by its row among the shares."""
        begins, which, frames = self._runs
        part = slice(begins[share], begins[share + 1])
        return PackedRuns(self._paths, array("q", which[part].tobytes()), array("q", frames[part].tobytes()))

    @cached_property
    def _runs(self) -> tuple[list[int], NDArray[np.int64], NDArray[np.int64]]:
        """Where the runs of each share begin, and the end of all; of each run the row of its path, and its frames."""
        begins = np.zeros(self.tables.shares.size + 1, np.int64)
        which = np.zeros(self.tables.nodes.size - int(self.tables.registers[FREE_NODES]), np.int64)
        frames = np.zeros(which.size, np.int64)
        unchain(self.tables, begins, which, frames)
        return begins.tolist(), which, frames

    def _ring_of(self, table: NDArray[Any], number: int) -> list[Any]:
        """The entries of a ring."""
        first, mask, head, count = self.tables.rings[number].tolist()
        return [table[first + ((head + place) & mask)].tolist() for place in range(count)]

    def _frame(self, end: End, what: int) -> Lane | Path | ControlItem:
        if what < 0:
            return self._items[-1 - what]
        return self._lanes[what] if isinstance(end, GeneratorSide) else self._paths[what]

    def _items_back(self) -> None:
        rows = _rows(self.tables.items)
        for end in self._ends:
            receiver = self._receivers[self._peer(end)]
            for item in end.line.items:
                row = rows[self._rows[item]]
                if row["arrived"] > item.arrived:
                    receiver.count(item.frame, row["arrived"] - item.arrived)
                item.restore(ItemSnapshot(row["launched"], row["arrived"]))

    def _note(self, port: End, time_ps: int, what: int, sent: int) -> None:
        """A capture is told of a frame, unless it is full."""
        if what < 0:
            observer = self._receivers[self._peer(port)].observer
            if observer is not None:
                observer.control_arrived(self._items[-1 - what].frame, time_ps)
        elif isinstance(port, SwitchPort):
            port.tell(self._paths[what], sent, time_ps)


def _running(rows: NDArray[Any]) -> dict[int, Repetition]:
    """What of WHILE_SHUT is expected, by queue."""
    return {row["queue"]: Repetition(row["period_ps"], row["due_ps"]) for row in _rows(rows) if row["due_ps"] < NEVER}


def _pool_row(pool: BufferPool) -> Row:
    return {"size": min(pool.size, LARGEST), "used": pool.used, "headroom_size": pool.headroom_size,
            "headroom_used": pool.headroom_used}


def _item_row(control: Control, tx_time_ps: int, launched: int, arrived: int) -> Row:
    return {"tx_time_ps": tx_time_ps, "launched": launched, "arrived": arrived, "is_pfc": control.kind == PFC,
            "classes": sum(1 << priority for priority, _ in control.timers)}


def _pauses(control: Control, receiver: PauseReceiver) -> list[int]:
    quanta = dict(control.timers)
    return [pause_time_ps(quanta.get(priority, 0), receiver.speed_mbps) for priority in range(8)]


def _segment_entry(segment: Segment) -> tuple[int, int, int, int, int]:
    return (bounded(segment.due_ps), bounded(segment.residue), segment.place, bounded(segment.burst_ps),
            NONE if segment.left is None else segment.left)


def _segment(entry: Sequence[int]) -> Segment:
    due_ps, residue, place, burst_ps, left = entry
    return Segment(due_ps, residue, place, burst_ps, None if left == NONE else left)


def _table(columns: np.dtype[Any], rows: Sequence[Row]) -> NDArray[Any]:
    """Rows as a table; a column that a row does not have is 0."""
    names = columns.names or ()
    found = np.zeros(len(rows), columns)
    if rows:
        found[:] = [tuple(row.get(name, 0) for name in names) for row in rows]
    return found


def _rows(table: NDArray[Any]) -> list[dict[str, int]]:
    names = table.dtype.names or ()
    return [dict(zip(names, row)) for row in table.tolist()]


def _tournament(times_ps: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tournament among sources by their next instants, see `Tables.times`: a place is won by the earlier one of the
    two at twice its number, of equal ones by the first."""
    places = 1 << (max(2, len(times_ps)) - 1).bit_length()
    times = np.full(2 * places, NEVER, np.int64)
    times[places:places + len(times_ps)] = times_ps
    winners = np.zeros(2 * places, np.int64)
    winners[places:] = np.arange(places)
    while places > 1:
        first = slice(places, 2 * places, 2)
        second = slice(places + 1, 2 * places, 2)
        is_first = times[first] <= times[second]
        places //= 2
        times[places:2 * places] = np.where(is_first, times[first], times[second])
        winners[places:2 * places] = np.where(is_first, winners[first], winners[second])
    return times, winners


def bounded(number: int) -> int:
    """A number as a table holds it; one that stands for no end is NEVER there.

    Raises:
        NotCompiled: it is too large.
    """
    if abs(number) >= events.NEVER:
        return NEVER if number > 0 else -NEVER
    if abs(number) > LARGEST:
        raise NotCompiled("a number beyond 64 bits")
    return number


def unbounded(number: int) -> int:
    """A number of a table as the model has it."""
    return number if abs(number) < NEVER else (events.NEVER if number > 0 else -events.NEVER)
