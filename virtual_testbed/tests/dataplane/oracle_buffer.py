"""The oracle's buffers: queues and priority groups that hold whole cells of a switch's pools."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from virtual_testbed.dataplane.model.configuration import BufferProfile, PoolConfig
from virtual_testbed.tests.dataplane.oracle_generator import Frame

CHECK_EVERY = 500
"""Admissions after which the pools' levels are summed anew."""


@dataclass(eq=False)
class Group:
    """A priority group: bytes in its three parts, and its counters (`passed`: frames not dropped on the way in)."""

    profile: BufferProfile | None = None
    reserved: int = 0
    shared: int = 0
    headroom: int = 0
    xoff: bool = False
    dropping: bool = False
    shared_peak: int = 0
    headroom_peak: int = 0
    packets: int = 0
    bytes: int = 0
    dropped: int = 0
    passed: int = 0

    @property
    def is_lossless(self) -> bool:
        """Whether it pushes back instead of dropping."""
        return self.profile is not None and self.profile.xoff > 0


@dataclass(eq=False)
class Queue:
    """An egress queue: frames in it, the bytes they hold, and its counters."""

    profile: BufferProfile | None = None
    frames: deque[Frame] = field(default_factory=deque)
    reserved: int = 0
    shared: int = 0
    dropping: bool = False
    peak: int = 0
    packets: int = 0
    bytes: int = 0
    dropped: int = 0
    dropped_bytes: int = 0


class Pools:
    """Levels of a switch's pools: shared bytes and headroom in use, by name."""

    def __init__(self, groups: Callable[[], Iterable[Group]], queues: Callable[[], Iterable[Queue]]) -> None:
        self._groups, self._queues = groups, queues
        self.config: Mapping[str, PoolConfig] = {}
        self.shared: dict[str, int] = {}
        self.headroom: dict[str, int] = {}
        self._admissions = 0

    def configure(self, config: Mapping[str, PoolConfig]) -> None:
        """Take the pools; profiles have been set before."""
        self.config = config
        self.shared, self.headroom = self._sums()

    def _sums(self) -> tuple[dict[str, int], dict[str, int]]:
        shared, headroom = dict.fromkeys(self.config, 0), dict.fromkeys(self.config, 0)
        users: list[Group | Queue] = [*self._groups(), *self._queues()]
        for user in users:
            if user.profile is not None:
                shared[user.profile.pool] += user.shared
        for group in self._groups():
            if group.profile is not None:
                headroom[group.profile.pool] += group.headroom
        return shared, headroom

    def check(self) -> None:
        """Sum up now and then: the levels must be those."""
        self._admissions += 1
        if self._admissions % CHECK_EVERY == 0:
            assert (self.shared, self.headroom) == self._sums()

    def fits(self, shared: int, profile: BufferProfile | None) -> bool:
        """Whether a user of the pool may hold so many shared bytes."""
        if profile is None or (profile.dynamic_th is None and profile.static_th is None):
            return True
        if profile.dynamic_th is None:
            return shared <= int(profile.static_th or 0)
        free = self.config[profile.pool].size - self.shared[profile.pool]
        if profile.dynamic_th < 0:
            return shared << -profile.dynamic_th <= free
        return shared <= free << profile.dynamic_th

    def fits_queue(self, queue: Queue, cells: int) -> bool:
        """Whether a frame fits in a queue."""
        rest = cells - _own(queue, cells)
        return rest == 0 or self.fits(queue.shared + rest, queue.profile)

    def charge_queue(self, queue: Queue, cells: int) -> None:
        """Put a frame in a queue."""
        own = _own(queue, cells)
        queue.reserved += own
        self._add_shared(queue, cells - own)
        queue.peak = max(queue.peak, queue.reserved + queue.shared)

    def release_queue(self, queue: Queue, cells: int) -> None:
        """Take a frame out of a queue."""
        shared = min(queue.shared, cells)
        self._add_shared(queue, -shared)
        queue.reserved -= cells - shared

    def charge_group(self, group: Group, cells: int, headroom_size: int) -> tuple[bool, bool]:
        """Put a frame in a group if it fits; whether it did, and whether it fitted in the shared part."""
        own = _own(group, cells)
        rest = cells - own
        fits_shared = rest == 0 or self.fits(group.shared + rest, group.profile)
        if fits_shared:
            self._add_shared(group, rest)
            group.shared_peak = max(group.shared_peak, group.shared)
        elif self._fits_headroom(group, rest, headroom_size):
            self._add_headroom(group, rest)
            group.headroom_peak = max(group.headroom_peak, group.headroom)
        else:
            return False, False
        group.reserved += own
        return True, fits_shared

    def release_group(self, group: Group, cells: int) -> None:
        """Take a frame out of a group: headroom first, then shared bytes, then reserved ones."""
        headroom = min(group.headroom, cells)
        self._add_headroom(group, -headroom)
        shared = min(group.shared, cells - headroom)
        self._add_shared(group, -shared)
        group.reserved -= cells - headroom - shared

    def may_resume(self, group: Group) -> bool:
        """Whether a congested group from which a frame has just left is below its XON level."""
        profile = group.profile
        if not group.xoff or group.headroom:
            return False
        if profile is None or group.shared <= profile.xon:
            return True
        return bool(profile.xon_offset) and self.fits(group.shared + profile.xon_offset, profile)

    def _fits_headroom(self, group: Group, rest: int, size: int) -> bool:
        if group.profile is None or group.headroom + rest > size:
            return False
        room = self.config[group.profile.pool].xoff
        return not room or self.headroom[group.profile.pool] + rest <= room

    def _add_shared(self, user: Group | Queue, change: int) -> None:
        user.shared += change
        if user.profile is not None:
            self.shared[user.profile.pool] += change

    def _add_headroom(self, group: Group, change: int) -> None:
        group.headroom += change
        if group.profile is not None:
            self.headroom[group.profile.pool] += change


def _own(user: Group | Queue, cells: int) -> int:
    """Bytes of a frame that the reserved part still takes."""
    size = user.profile.size if user.profile is not None else 0
    return max(0, min(cells, size - user.reserved))
