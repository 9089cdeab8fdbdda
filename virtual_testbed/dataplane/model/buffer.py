"""Shared packet memory: pools, priority groups on the way in, queues on the way out.

Bytes here are whole cells. A frame takes reserved bytes first, then shared ones up to the limit, then (lossless
groups) headroom; it gives back headroom first, then shared, then reserved. Thresholds are tested when a frame is
admitted (XOFF, drop) and when a frame *of that group* has left (XON), at no other time: traffic of other ports moves
a limit but wakes nobody.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from virtual_testbed.dataplane.model.configuration import BufferProfile, PoolConfig
from virtual_testbed.dataplane.model.runs import PackedRuns

UNLIMITED_BYTES = 1 << 62
UNPACKED_AT_ONCE = 256
"""So many runs of a long queue are unpacked when its next frame is asked for."""


class FrameKind(Protocol):
    """What tells the frames of a queue apart; each is `frame_bytes` long with its FCS."""

    frame_bytes: int


Kind = TypeVar("Kind", bound=FrameKind)


class BufferPool:
    """A `BUFFER_POOL`: `used` of `size` shared bytes, `headroom_used` of `headroom_size` (0: groups have headroom of
    their own).
    """

    __slots__ = ("size", "used", "headroom_size", "headroom_used")

    def __init__(self, config: PoolConfig) -> None:
        self.used = 0
        self.headroom_used = 0
        self.configure(config)

    def configure(self, config: PoolConfig) -> None:
        """Take new sizes; what is in use stays."""
        self.size = config.size
        self.headroom_size = config.xoff


class Share:
    """What one priority group or queue holds of its pool.

    Attributes:
        reserved, shared: bytes held; `size` the most it may hold reserved.
        peak: most bytes held (queues: all of them, groups: shared ones) while every frame was stepped.
    """

    __slots__ = ("pool", "size", "static_limit", "up", "down", "reserved", "shared", "peak")

    def __init__(self) -> None:
        self.reserved = 0
        self.shared = 0
        self.peak = 0
        self.pool = BufferPool(PoolConfig(UNLIMITED_BYTES))
        self.set_profile(None, self.pool)

    def set_profile(self, profile: BufferProfile | None, pool: BufferPool) -> None:
        """Take limits from a profile; None: no limit, and nothing taken from a pool that others use."""
        if self.pool is not pool:
            self.pool.used -= self.shared
            pool.used += self.shared
            self.pool = pool
        self.size = profile.size if profile else 0
        threshold = profile.dynamic_th if profile else None
        self.static_limit: int | None = None
        if threshold is None:
            self.static_limit = profile.static_th if profile and profile.static_th is not None else UNLIMITED_BYTES
        self.up = max(0, threshold or 0)
        self.down = max(0, -(threshold or 0))

    def limit(self) -> int:
        """Most shared bytes it may hold at this instant."""
        if self.static_limit is not None:
            return self.static_limit
        return (self.pool.size - self.pool.used) << self.up >> self.down

    def limit_at(self, used: int) -> int:
        """Most shared bytes it may hold when so many bytes of its pool are used."""
        if self.static_limit is not None:
            return self.static_limit
        return max(0, self.pool.size - used) << self.up >> self.down

    def hold(self, reserved: int, shared: int) -> None:
        """Hold other bytes than before; no peak is noted."""
        self.pool.used += shared - self.shared
        self.reserved = reserved
        self.shared = shared

    def grow(self, size: int) -> None:
        """Hold so many shared bytes more; the peak is as much higher."""
        self.hold(self.reserved, self.shared + size)
        self.peak += size

    def set_peak(self, peak: int) -> None:
        """Take what was most."""
        self.peak = peak

    @property
    def is_below_peak(self) -> bool:
        """Whether more was held than now."""
        return self.peak > self.reserved + self.shared

    def clear_peaks(self) -> None:
        """Note what is most from now on."""
        self.peak = self.reserved + self.shared

    def rest_over_reserved(self, size: int) -> int:
        """Bytes of a frame of `size` that reserved memory does not hold."""
        free = self.size - self.reserved
        return size - free if size > free > 0 else (0 if size <= free else size)


class GroupSnapshot(NamedTuple):
    """What a priority group holds. See `PriorityGroup`."""

    reserved: int
    shared: int
    peak: int
    headroom: int
    headroom_peak: int
    xoff: bool


class PriorityGroup(Share):
    """Ingress accounting of one (port, priority group).

    Attributes:
        xoff: True from the XOFF decision to the XON decision.
        dropping: the watchdog discards what arrives.
        is_lossless: its profile has headroom.
    """

    __slots__ = ("headroom", "headroom_size", "headroom_peak", "xon", "xon_offset", "xoff", "dropping", "number",
                 "is_lossless")

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.headroom = 0
        self.headroom_size = 0
        self.headroom_peak = 0
        self.xon = 0
        self.xon_offset = 0
        self.xoff = False
        self.dropping = False
        self.is_lossless = False

    @property
    def is_below_peak(self) -> bool:
        """Whether more was held than now."""
        return self.peak > self.shared or self.headroom_peak > self.headroom

    def clear_peaks(self) -> None:
        """Note what is most from now on."""
        self.peak = self.shared
        self.headroom_peak = self.headroom

    def configure(self, profile: BufferProfile | None, pool: BufferPool) -> None:
        """Take a profile; what is held stays."""
        if self.pool is not pool:
            self.pool.headroom_used -= self.headroom
            pool.headroom_used += self.headroom
        self.set_profile(profile, pool)
        self.headroom_size = profile.xoff if profile else 0
        self.is_lossless = self.headroom_size > 0
        self.xon, self.xon_offset = (profile.xon, profile.xon_offset) if profile else (0, 0)

    def resize(self, reserved: int, headroom: int) -> None:
        """Take other sizes than the profile's, as faults have it; a lossless group stays lossless."""
        self.size = reserved
        self.headroom_size = headroom

    def snapshot(self) -> GroupSnapshot:
        """Its state now."""
        return GroupSnapshot(self.reserved, self.shared, self.peak, self.headroom, self.headroom_peak, self.xoff)

    def restore(self, snapshot: GroupSnapshot) -> None:
        """Take a state; the pool changes by what is held more or less."""
        self.hold(snapshot.reserved, snapshot.shared)
        self.pool.headroom_used += snapshot.headroom - self.headroom
        _, _, self.peak, self.headroom, self.headroom_peak, self.xoff = snapshot

    @property
    def held(self) -> int:
        """Bytes held: reserved, shared and headroom."""
        return self.reserved + self.shared + self.headroom

    def take(self, size: int) -> int:
        """Charge a frame of `size` bytes: 0 taken, 1 taken and over the limit (XOFF), 2 no room and over the limit
        (XOFF, drop).
        """
        rest = self.rest_over_reserved(size)
        if rest:
            pool = self.pool
            if self.shared + rest <= self.limit():
                self.shared += rest
                pool.used += rest
                if self.shared > self.peak:
                    self.peak = self.shared
            else:
                if self.headroom + rest > self.headroom_size or (
                        pool.headroom_size and pool.headroom_used + rest > pool.headroom_size):
                    return 2
                self.headroom += rest
                pool.headroom_used += rest
                if self.headroom > self.headroom_peak:
                    self.headroom_peak = self.headroom
                self.reserved += size - rest
                return 1
        self.reserved += size - rest
        return 0

    def release(self, size: int) -> bool:
        """Give back a frame of `size` bytes; True when XON is due."""
        pool = self.pool
        if self.headroom:
            part = min(self.headroom, size)
            self.headroom -= part
            pool.headroom_used -= part
            size -= part
        part = self.shared if self.shared < size else size
        self.shared -= part
        pool.used -= part
        self.reserved -= size - part
        return self.xoff and not self.headroom and self.shared <= self.xon_level()

    def xon_level(self) -> int:
        """Shared bytes at or below which XON is sent: `max(xon, limit - xon_offset)`, without an offset `xon`."""
        return max(self.xon, self.limit() - self.xon_offset) if self.xon_offset else self.xon


class QueueSnapshot(NamedTuple, Generic[Kind]):
    """What a queue holds, and what waits in it as (kind, frames). See `EgressQueue`."""

    reserved: int
    shared: int
    peak: int
    content: tuple[tuple[Kind, int], ...] | PackedRuns[Kind]


class EgressQueue(Share, Generic[Kind]):
    """Frames waiting for the line, run-length coded as [kind, frames], the first is next.

    Runs that came packed, and are many, stay so until their turn comes: `_first` is next then, after it come those of
    `_packed` from the place `_unpacked` on, and `_last` has the last one of them and all that came since. Otherwise
    `_first` has all, and is `_last` too.

    Attributes:
        frames: how many wait (the frame on the line is not among them, its bytes are still held).
        dropping: the watchdog discards what arrives.
    """

    __slots__ = ("frames", "dropping", "number", "bit", "_first", "_packed", "_unpacked", "_last")

    def __init__(self, number: int) -> None:
        super().__init__()
        self.empty()
        self.dropping = False
        self.number = number
        self.bit = 1 << number

    def fits(self, size: int) -> bool:
        """True when a frame of `size` bytes is within the limit."""
        rest = self.rest_over_reserved(size)
        return not rest or self.shared + rest <= self.limit()

    def charge(self, size: int) -> None:
        """Count a frame of `size` bytes that fits."""
        rest = self.rest_over_reserved(size)
        self.shared += rest
        self.pool.used += rest
        self.reserved += size - rest
        if self.reserved + self.shared > self.peak:
            self.peak = self.reserved + self.shared

    def release(self, size: int) -> None:
        """Give back a frame of `size` bytes."""
        part = self.shared if self.shared < size else size
        self.shared -= part
        self.pool.used -= part
        self.reserved -= size - part

    def push(self, kind: Kind, frames: int = 1) -> None:
        """Append frames."""
        self.frames += frames
        runs = self._last
        if runs and runs[-1][0] is kind:
            runs[-1][1] += frames  # type: ignore[operator]
        else:
            runs.append([kind, frames])

    def snapshot(self) -> QueueSnapshot[Kind]:
        """Its state now."""
        return QueueSnapshot(self.reserved, self.shared, self.peak, tuple(self.content()))

    def restore(self, snapshot: QueueSnapshot[Kind]) -> None:
        """Take a state; the pool changes by what is held more or less."""
        self.hold(snapshot.reserved, snapshot.shared)
        self.peak = snapshot.peak
        self.fill(snapshot.content)

    def empty(self) -> None:
        """Nothing waits in it any more; the bytes held stay."""
        self.frames = 0
        self._first: deque[list[object]] = deque()
        self._packed: PackedRuns[Kind] | None = None
        self._unpacked = 0
        self._last = self._first

    def fill(self, content: Iterable[tuple[Kind, int]]) -> None:
        """Take what waits, as `content`; the bytes held stay."""
        self.empty()
        if isinstance(content, PackedRuns) and len(content) > UNPACKED_AT_ONCE:
            self.frames = sum(content.frames)
            self._packed = content.between(0, len(content) - 1)
            self._last = deque(map(list, content.between(len(content) - 1, len(content))))
            self._unpack()
        else:
            self._first.extend(map(list, content))
            self.frames = sum(run[1] for run in self._first)  # type: ignore[misc]

    def _unpack(self) -> None:
        """Make the next packed runs, if there are any, the next of the queue."""
        if self._packed is None:
            return
        end = self._unpacked + UNPACKED_AT_ONCE
        self._first.extend(map(list, self._packed.between(self._unpacked, end)))
        self._unpacked = end
        if end >= len(self._packed):
            self._packed = None
            self._first.extend(self._last)
            self._last = self._first

    def parts(self) -> Iterator[Collection[Sequence[object]] | PackedRuns[Kind]]:
        """What waits as (kind, frames), in parts one after another: packed ones, or others."""
        yield self._first
        if self._packed is not None:
            yield self._packed.between(self._unpacked, len(self._packed))
            yield self._last

    def content(self) -> list[tuple[Kind, int]]:
        """What waits, as (kind, frames), the first is next."""
        return [(kind, frames) for part in self.parts() for kind, frames in part]  # type: ignore[misc]

    def runs(self) -> int:
        """How many runs of frames wait."""
        return sum(map(len, self.parts()))

    def pop(self) -> Kind:
        """Take the first frame."""
        self.frames -= 1
        run = self._first[0]
        if run[1] == 1:
            self._first.popleft()
            if not self._first:
                self._unpack()
        else:
            run[1] -= 1  # type: ignore[operator]
        return run[0]  # type: ignore[return-value]

    def head(self) -> Kind:
        """The first frame."""
        return self._first[0][0]  # type: ignore[return-value]
