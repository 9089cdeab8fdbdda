"""Where a fault can change the data plane.

A fault is a class derived from `Fault` that overrides some of the hooks below. A hook is given the healthy answer and
returns another one. The data plane asks when it is configured, when a state changes or when a control frame of a new
kind appears, never once per data frame, so a fault costs nothing and cannot break exactness. `Hooks` asks the faults
whose scope covers the place and the present instant, in the order in which they were given.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from virtual_testbed.dataplane.model.configuration import SchedulerConfig, SwitchPortConfig
from virtual_testbed.dataplane.model.control_frames import Control
from virtual_testbed.dataplane.model.control_plane import ControlProtocol
from virtual_testbed.dataplane.model.counters import Sample

_Answer = TypeVar("_Answer")

RESTARTS = "restarts"
IGNORED = "ignored"
PROLONGS = "prolongs"
"""What a pause of a class does that is paused already: its time begins anew (healthy), nothing, or its time begins anew
unless what is left is longer. A time of 0 ends the pause in any case."""
DROPPING = "dropping"
DROPPING_RECEIVED = "dropping what is received"
NOT_OBEYED = "not obeyed"
NOT_SENT = "not sent"
"""What the watchdog's action does to a queue: its frames are dropped, and those that come in by its port with its
traffic class, and its priority's PFC is switched off, so that pauses are not obeyed and not sent."""


class PortPlace(NamedTuple):
    """A switch port."""

    switch: str
    port: str
    speed_mbps: int = 0


@dataclass(frozen=True)
class Scope:
    """Where and when a fault applies; None is everywhere. It lasts from `from_ps` up to, not including, `until_ps`."""

    switch: str | None = None
    port: str | None = None
    priority: int | None = None
    speed_mbps: int | None = None
    from_ps: int = 0
    until_ps: int | None = None


class FrameTraits(NamedTuple):
    """What of a flow's frames a fault may look at: the size with FCS, 4 or 6, and ECN (None: they differ in it)."""

    frame_bytes: int
    dscp: int
    ip_version: int
    ecn: int | None = 0


class Fault:
    """A healthy switch and generator: every hook returns what it is given. Derive, override, name it.

    Args:
        scope: where it applies; hooks are called inside that scope only.
        options: further `key=value` of its specification, as text.

    Attributes:
        port_options: those of its options that name another port of the switch.
    """

    name = "none"
    options: tuple[str, ...] = ()
    port_options: tuple[str, ...] = ()

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        self.scope = scope
        self.values = options

    # ---- control frames that are received

    def parse(self, frame: bytes, reading: Control) -> Control:
        """What the port makes of a received MAC control frame (`frame` without FCS)."""
        return reading

    def counted(self, priority: int, priorities: frozenset[int]) -> frozenset[int]:
        """Priorities under which a received PFC frame with `priority` enabled is counted; healthy: that one."""
        return priorities

    def counted_at(self, priority: int, ports: frozenset[str]) -> frozenset[str]:
        """Ports of the switch that count a received PFC frame with `priority` enabled; healthy: the port itself."""
        return ports

    def counts_as_data(self, counts: bool) -> bool:
        """Whether received PFC frames are counted as data too."""
        return counts

    def counts_as_drop(self, counts: bool) -> bool:
        """Whether received PFC frames are counted as frames dropped on the way in."""
        return counts

    def forwards_control(self, forwards: bool) -> bool:
        """Whether MAC control frames received on the port are flooded to the other generator ports."""
        return forwards

    def control_leaves_by(self, ports: frozenset[str]) -> frozenset[str]:
        """Ports of the switch by which MAC control frames received on the port leave; healthy: none, or all others when
        `forwards_control` says that they are flooded.
        """
        return ports

    # ---- the gate of the queues

    def shut_queues(self, priority: int, queues: frozenset[int]) -> frozenset[int]:
        """Queues that a received pause of `priority` shuts; healthy: its own queue when PFC is enabled for it, else
        none.
        """
        return queues

    def shut_elsewhere(self, priority: int, own: frozenset[int],
                       queues: frozenset[tuple[str, int]]) -> frozenset[tuple[str, int]]:
        """Queues of other ports of the switch that a received pause of `priority` shuts, as (port, queue); healthy:
        none. `own`: those that it shuts here on a healthy switch.
        """
        return queues

    def timers(self, pauses: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        """The classes whose timers a received PFC frame sets, and to how many quanta (0: the pause ends); healthy:
        those that it enables, and is counted under, with their times.
        """
        return pauses

    def further_pause(self, priority: int, effect: str) -> str:
        """What a pause of a class does that is paused already: `RESTARTS` (healthy), `IGNORED` or `PROLONGS`."""
        return effect

    def deaf_after_link_up_ps(self, priority: int, time_ps: int) -> int:
        """How long after its link has come up a port lets pauses of a class do nothing; healthy: 0."""
        return time_ps

    def response_ps(self, response_ps: int) -> int:
        """Time from the last bit of a pause frame to its effect."""
        return response_ps

    def leak_period_ps(self, queue: int, period_ps: int) -> int:
        """How often a shut queue lets one frame out, in picoseconds (0: never)."""
        return period_ps

    def aging_ps(self, queue: int, is_off: bool, time_ps: int) -> int:
        """How often a shut queue drops what it holds, in picoseconds (healthy: 0, never). `is_off`: the switch was told
        by its vendor's command to let frames wait.
        """
        return time_ps

    def keeps_pause(self, priority: int, keeps: bool) -> bool:
        """Whether a received pause outlives the link: from then on no timer ends it, the next frame changes it."""
        return keeps

    def scheduled(self, queue: int, scheduler: SchedulerConfig) -> SchedulerConfig:
        """How a queue is served; healthy: as configured, DWRR of weight 1 without a scheduler (queue 7: strict)."""
        return scheduler

    # ---- admission

    def classified(self, frame: FrameTraits, traffic_class: int) -> int:
        """The traffic class of frames that come in by the port, which chooses queue and priority group."""
        return traffic_class

    def headroom_bytes(self, group: int, headroom: int) -> int:
        """Headroom of a lossless priority group (it stays lossless: XOFF is sent all the same)."""
        return headroom

    def reserved_bytes(self, group: int, lossless: bool, size: int) -> int:
        """Memory that a priority group has for itself, before it takes shared one."""
        return size

    def drop_one_in(self, queue: int, lossless: bool, frames: int) -> int:
        """Of how many frames leaving through `queue` one is dropped on arrival (0: none is)."""
        return frames

    def drop_one_of_size(self, queue: int, frame_bytes: int, frames: int) -> int:
        """The same by size with FCS, asked after it: of how many such frames one is dropped (0: none is)."""
        return frames

    def copies_leave_by(self, port: str, queue: int, ports: Mapping[str, int]) -> Mapping[str, int]:
        """By which ports, itself too, copies of data frames leave that leave `port` through `queue`, and of how many
        frames one is copied there; healthy: by none. They count there, and at a generator port behind it.
        """
        return ports

    # ---- back-pressure

    def xoff_priorities(self, group: int, priorities: frozenset[int]) -> frozenset[int]:
        """Priorities for which a congested priority group makes its port send pause frames."""
        return priorities

    def xoff_ports(self, group: int, ports: frozenset[str]) -> frozenset[str]:
        """Ports of the switch that send these pause frames; healthy: the port itself."""
        return ports

    def xoff_for_drops(self, group: int, priorities: frozenset[int]) -> frozenset[int]:
        """Priorities for which the port sends XOFF when a full egress queue drops a frame of a priority group, until
        the group is not congested; healthy: none.
        """
        return priorities

    def sends_xon(self, priority: int, sends: bool) -> bool:
        """Whether the end of congestion is told (else refreshes stop, and the pause lapses)."""
        return sends

    def refreshes(self, priority: int, link_losses: int, refreshes: bool) -> bool:
        """Whether an XOFF is repeated while the congestion lasts; `link_losses`: how often the port's link has gone
        down.
        """
        return refreshes

    def unasked_period_ps(self, priority: int, period_ps: int) -> int:
        """How often XOFF is sent although nothing is congested, at multiples of simulated time (0: never)."""
        return period_ps

    def emitted(self, frame: bytes) -> bytes:
        """The pause frame as it is sent (without FCS)."""
        return frame

    # ---- watchdog

    def watchdog_sees(self, queue: int, sample: Sample) -> Sample:
        """What a poll reads of a queue."""
        return sample

    def watchdog_sees_in_storm(self, queue: int, first: Sample, others: bool, sample: Sample) -> Sample:
        """The same of a queue in storm, asked after it. `first`: what was read when the storm was detected; `others`:
        every other queue that is watched at the port is in storm too.
        """
        return sample

    def watchdog_action(self, queue: int, action: str) -> str:
        """What is done to the hardware when a storm is detected: drop, forward, alert (nothing)."""
        return action

    def watchdog_queues(self, queue: int, queues: frozenset[int]) -> frozenset[int]:
        """Queues that the action on a storm of `queue` hits; healthy: that one."""
        return queues

    def watchdog_flushes(self, queue: int, action: str, flushes: bool) -> bool:
        """Whether an action that is done to a queue discards what the queue holds; healthy: `drop` on Broadcom."""
        return flushes

    def watchdog_drops_received(self, queue: int, drops: bool) -> bool:
        """Whether the action `drop` also drops what comes in by the port with the queue's traffic class."""
        return drops

    def watchdog_detection_ms(self, queue: int, detection_ms: int) -> int:
        """How long a storm has to last before it is detected."""
        return detection_ms

    def watchdog_detects(self, queue: int, storms: int, detects: bool) -> bool:
        """Whether a storm that has lasted that long is detected; `storms`: how many were since the watchdog began to
        watch the queue.
        """
        return detects

    def watchdog_detects_beside(self, queue: int, ports: frozenset[str], detects: bool) -> bool:
        """The same, asked after it; `ports`: other ports of the switch that have a queue in storm."""
        return detects

    def watchdog_restoration_ms(self, queue: int, restoration_ms: int) -> int:
        """How long a storm has to be over before it is acted upon."""
        return restoration_ms

    def watchdog_restores(self, queue: int, restores: bool) -> bool:
        """Whether the end of a storm is acted upon."""
        return restores

    def watchdog_undoes(self, queue: int, parts: frozenset[str]) -> frozenset[str]:
        """What of its action is undone at a storm's end: `DROPPING`, `DROPPING_RECEIVED`, `NOT_OBEYED`, `NOT_SENT`
        (healthy: all). What stays ends when the watchdog is next started or stopped there.
        """
        return parts

    # ---- the traffic generator at the port's other end

    def starts_again(self, starts: bool) -> bool:
        """Whether START makes a flow that has finished by itself begin anew; healthy: it does."""
        return starts

    # ---- configuration and what can be seen (asked by the SONiC agent)

    def watchdog_removal_reaches_hardware(self, reaches: bool) -> bool:
        """Whether removing a port's watchdog configuration takes effect."""
        return reaches

    def pfc_removal_reaches_hardware(self, reaches: bool) -> bool:
        """Whether removing a priority from a port's PFC takes effect."""
        return reaches

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """What of a port's configuration takes effect in the hardware; healthy: all of it. `before`: what was in effect
        up to now (None: the switch starts). Asked whatever the scope's priority is.
        """
        return config

    def restarts(self, kind: str) -> str:
        """What restarts by itself at the instant at which the fault begins: the switch (`reboot`, `fast-reboot`,
        `warm-reboot`) or its services (`swss`, `config reload`); healthy: nothing (empty).
        """
        return kind

    def protocols(self, protocols: tuple[ControlProtocol, ...]) -> tuple[ControlProtocol, ...]:
        """What control planes run over the port's link; healthy, too, but in a quiet testbed nothing."""
        return protocols

    def aging_can_be_switched(self, can: bool) -> bool:
        """Whether the vendor's command that switches the aging of held frames off and on works."""
        return can

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """Fields of the COUNTERS_DB hash that `key` names in SONiC's words: `Ethernet0`, or `Ethernet0:3` (queue or
        priority group) when the scope has that priority or none.
        """
        return fields

    def published_among(self, key: str, fields: Mapping[str, str],
                        switch: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
        """The same, asked after it, with all hashes that this poll reads: what the hardware counted, by key."""
        return fields


class Hooks:
    """The faults of a testbed, asked by place.

    Attributes:
        now_ps: faults whose scope does not cover this instant are not asked.
    """

    def __init__(self, faults: Sequence[Fault] = ()) -> None:
        self.faults = tuple(faults)
        self.now_ps = 0
        self._at: dict[tuple[PortPlace, int | None], tuple[Fault, ...]] = {}

    @property
    def changes_ps(self) -> list[int]:
        """Instants after 0 at which a fault begins or ends."""
        ends = [fault.scope.until_ps for fault in self.faults if fault.scope.until_ps is not None]
        return sorted({*(fault.scope.from_ps for fault in self.faults), *ends} - {0})

    def ask(self, place: PortPlace, priority: int | None, healthy: _Answer,
            hook: Callable[[Fault, _Answer], _Answer]) -> _Answer:
        """The answer of all faults that cover the place, the priority (None: any) and the present instant."""
        here = self._at.get((place, priority))
        if here is None:  # where a fault applies never changes, and is asked for every port at every poll
            here = tuple(fault for fault in self.faults if covers(fault.scope, place, priority))
            self._at[place, priority] = here
        answer = healthy
        for fault in here:
            if lasts(fault.scope, self.now_ps):
                answer = hook(fault, answer)
        return answer


def covers(scope: Scope, place: PortPlace, priority: int | None) -> bool:
    """True when `place` and `priority` (None: any) lie in the scope."""
    return (scope.switch in (None, place.switch) and scope.port in (None, place.port)
            and (priority is None or scope.priority in (None, priority))
            and scope.speed_mbps in (None, place.speed_mbps))


def lasts(scope: Scope, now_ps: int) -> bool:
    """True when the instant lies in the scope."""
    return scope.from_ps <= now_ps and (scope.until_ps is None or now_ps < scope.until_ps)
