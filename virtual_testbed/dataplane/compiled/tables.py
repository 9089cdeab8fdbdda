"""The state of the traffic as tables of 64-bit integers: one row a port, class, share of buffer, path, flow ...

Rows refer to one another by their numbers; -1 is none. Times are picoseconds. What a column means is said by the
attribute of the model's object of that name; what has no such attribute is described here.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NEVER = 1 << 62
"""An instant that is not reached; also a number of frames without end."""
NONE = -1
STOPPED, STARTED, PAUSED = range(3)
"""Of `FLOW.state`."""
RESTARTS, IGNORED, PROLONGS = range(3)
"""Of `CLASS.further`."""
(LANDS, SENT, ACTS, ENDS, DUE, WAKES, REPEATS) = range(7)
"""What an event source does: a frame reaches the end of the line, the frame on the line has left, a received pause
acts, one ends, a train's frame comes due, a generator port chooses, a fault does something to a shut queue."""
(NOW, FREE_NODE, FREE_NODES, INSTANTS, FURTHER, NOTES, AWAKE, IS_FULL, SLOWEST_FLOW, SLOWEST_TRAIN, SAMPLES,
 IS_SAMPLE, BEGAN) = range(13)
"""Of `Tables.registers`: the instant reached; the first free node, and how many there are; instants and further events
stepped; frames noted of captures, and ends that are to choose; a table is nearly full; the flow or train whose frames
are samples (NONE: none), how many there were, and whether the last instant was one; when the tables were made."""
REGISTERS = 13
MARGIN = 64
"""So many entries of a ring or table stay free at the end of every instant."""


def _table(*columns: str) -> np.dtype[Any]:
    return np.dtype([(column, np.int64) for column in columns])


END = _table(
    "is_port", "is_up", "to_switch", "busy_until_ps", "propagation_ps", "on_line", "data_ps", "decided_ps", "peer",
    "gate", "leak", "is_awake", "current", "response_ps", "alarm_ps",
    "lands", "chooses", "acts", "ends",
    "flight", "controls", "responding", "departed",
    "wake_ps", "first_flow", "flows", "waits", "gates", "first_shut", "shut",
    "backlog", "turn", "strict", "is_fresh", "sending", "tells_xon", "repeats", "tapped")
"""One end of a cable: a generator port or a switch port, with the line that leads away from it and the receiver of
what comes.

`lands` to `ends` are its event sources (`chooses`: WAKES of a generator port, SENT of a switch port), `flight` to
`departed` its rings (`departed`: the last data frames sent to a generator port). `waits` and `gates` count how often a
generator port found that no frame was due yet, and how often its gate has changed. `decided_ps`: when the port last
decided on XOFF or XON (NONE: not since the tables were made). `first_shut` and `shut`: its first row of WHILE_SHUT,
and how many it has. `tapped`: how many more frames a capture takes of what reaches the generator port at the other end,
and MARGIN.
"""
CLASS = _table("shuts", "further", "since_ps", "until_ps", "on2off", "paused_ps", "deficit", "quantum", "xoff_item",
               "xon_item", "train")
"""One of the eight classes of an end, eight an end. `since_ps`: NONE when it is not paused."""
SHARE = _table("size", "static_limit", "up", "down", "pool", "reserved", "shared", "peak", "dropping", "headroom",
               "headroom_size", "headroom_peak", "xon", "xon_offset", "xoff", "is_lossless", "priorities",
               "drop_priorities", "frames", "bit", "first_node", "last_node")
"""A priority group (to `drop_priorities`, a mask as `priorities` is) or an egress queue (from `frames` on).
`static_limit`: NONE where the limit is dynamic."""
WHILE_SHUT = _table("end", "queue", "discards", "period_ps", "due_ps", "source")
"""What a fault does to a queue now and then while it is shut: it lets a frame out, or discards what it holds. `due_ps`:
NEVER while the queue is open."""
POOL = _table("size", "used", "headroom_size", "headroom_used")
COUNTED = ("rx", "tx", "blocked_drops", "tail_drops", "pg_drops", "watchdog_tx_drops", "watchdog_rx_drops",
           "fault_drops", "lost", "flushed", "drop_phase")
"""What moves in a path."""
PATH = _table("in_end", "out", "pg", "queue", "onward", "is_blocked", "frame_bytes", "size", "tx_time_ps",
              "drop_one_in", "arrived_ps", *COUNTED)
"""`arrived_ps` is summed up from `BEGAN`, as `sent_ps` of a flow is."""
ITEM = _table("tx_time_ps", "launched", "arrived", "is_pfc", "classes")
"""A kind of control frame; `classes` is the mask of those that it enables."""
LANE = _table("flow", "tx_time_ps", "path", "launched")
FLOW = _table("queue_bit", "state", "has_begun", "step", "rest", "parts", "burst", "burst_period_ps", "position",
              "first_turn", "turns", "sent", "sent_ps", "lost", "segments", "is_frozen", "due_ps", "residue", "place",
              "burst_ps", "left")
"""A data flow; `segments` is its ring, `due_ps` to `left` what is frozen. Turn `first_turn + position` sends next."""
SEGMENT = _table("due_ps", "residue", "place", "burst_ps", "left")
"""`left`: NONE without end."""
TRAIN = _table("end", "item", "source", "step", "rest", "parts", "burst", "burst_period_ps", "base_ps", "number",
               "limit", "due_ps", "residue", "burst_ps")
RING = _table("first", "mask", "head", "count")
"""A queue in a table of entries: the n-th entry is `first + ((head + n) & mask)`."""
ENTRY = _table("time_ps", "what")
"""`what` of a frame under way: a lane of a generator port, a path of a switch port; control frames are `-1 - item`."""
NODE = _table("path", "frames", "next")
"""A run of frames in an egress queue."""
SOURCE = _table("kind", "row")
NOTE = _table("end", "time_ps", "what", "number")
"""A frame of which a capture is told: `what` as in ENTRY, `number` frames of the path that were sent before it."""


class Tables(NamedTuple):
    """All of them.

    Attributes:
        entries: of flights, controls, responses and departed frames; `segments` of flows.
        pauses: how long a frame of an item pauses its receiver, 8 an item; 0 ends a pause.
        turns: the lanes of flows in the order of their turns.
        times: a tournament among sources by their next events: that of each source in the upper half, the first of all
            at 1; `winners` has whose they are.
        awake: ends that choose at the end of the instant.
        registers: see `NOW`.
    """

    ends: NDArray[Any]
    classes: NDArray[Any]
    shares: NDArray[Any]
    pools: NDArray[Any]
    paths: NDArray[Any]
    items: NDArray[Any]
    pauses: NDArray[np.int64]
    lanes: NDArray[Any]
    turns: NDArray[np.int64]
    flows: NDArray[Any]
    segments: NDArray[Any]
    trains: NDArray[Any]
    while_shut: NDArray[Any]
    rings: NDArray[Any]
    entries: NDArray[Any]
    nodes: NDArray[Any]
    sources: NDArray[Any]
    times: NDArray[np.int64]
    winners: NDArray[np.int64]
    awake: NDArray[np.int64]
    notes: NDArray[Any]
    registers: NDArray[np.int64]
