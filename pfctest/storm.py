"""One run of the generator: from what is asked for to what was achieved, on all interfaces together."""
from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pfctest.gaps import Gaps
from pfctest.interface import Interface, InterfaceError, find, refuse_unfit
from pfctest.options import StormRequest
from pfctest.pacing import SECOND_NS, Pace, Pacer, SendCounts, StopRequest
from pfctest.realtime import Scheduling, scheduled
from pfctest.sender import BATCH, Batch, Outgoing, SendError, open_socket, sender_of

RELEASES = 3
"""Quanta-0 frames that end a storm: one may be lost."""
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end what is being sent."""


@dataclass(frozen=True)
class StormPlan:
    """What a storm will send.

    Attributes:
        interfaces: where; `frames` and `releases` what leaves there, and what ends it.
        pause_ns: how long a frame pauses a queue, on the fastest of the interfaces; None: it pauses none, or no speed
            is known.
        period_ns: between two frames on an interface; 0: as fast as it goes.
    """

    interfaces: tuple[Interface, ...]
    frames: tuple[bytes, ...]
    releases: tuple[bytes, ...]
    pause_ns: int | None
    period_ns: int

    @property
    def outgoing(self) -> list[Outgoing]:
        """The frames by interface."""
        return list(zip(self.interfaces, self.frames))


@dataclass(frozen=True)
class StormReport:
    """What a storm has sent.

    Attributes:
        counts, gaps: of the pacer; `ended_by` why the storm ended.
        released: whether quanta-0 frames followed on every interface; `failure` why not, if they should have.
        scheduling: how the process ran.
    """

    counts: SendCounts
    gaps: Gaps
    ended_by: str
    released: bool
    scheduling: str
    failure: str = ""


class Asked(NamedTuple):
    """What may change while frames are sent: that they are to end, and how this process runs."""

    stop: StopRequest
    scheduling: Scheduling


def plan(request: StormRequest) -> StormPlan:
    """What a request comes to on this machine's interfaces.

    Raises:
        InterfaceError: an interface cannot be used or is given twice, or its speed is needed and not known.
        FrameError: a frame cannot be built.
    """
    interfaces = tuple(_interface(name, request) for name in request.devices)
    _refuse_twice(interfaces, request)
    sources = [request.source or interface.mac for interface in interfaces]
    pause_ns = _pause_ns(interfaces, request)
    if request.rate_fps is not None:
        period_ns = int(SECOND_NS / request.rate_fps) if request.rate_fps else 0
    else:
        period_ns = int(pause_ns / request.oversample) if request.is_timed and pause_ns is not None else 0
    return StormPlan(interfaces, tuple(request.frame_spec.build(source) for source in sources),
                     tuple(request.frame_spec.released.build(source) for source in sources), pause_ns, period_ns)


def _interface(name: str, request: StormRequest) -> Interface:
    """The interface of this name, as far as the request needs it."""
    if request.dry_run and request.source is not None and request.speed_mbps is not None:
        return Interface(name, 0, request.source, request.speed_mbps)
    found = find(name, needs_link=not request.dry_run)
    if not (request.force or request.dry_run):
        refuse_unfit(found)
    return replace(found, speed_mbps=request.speed_mbps or found.speed_mbps)


def _refuse_twice(interfaces: Sequence[Interface], request: StormRequest) -> None:
    """Refuse one that is given by two of its names."""
    given: dict[str, str] = {}
    for interface, name in zip(interfaces, request.devices):
        if interface.name in given:
            raise InterfaceError(f"interface {interface.name} is given twice: as {given[interface.name]} and as {name}")
        given[interface.name] = name


def _pause_ns(interfaces: Sequence[Interface], request: StormRequest) -> int | None:
    """How long a frame pauses a queue on the fastest interface, rounded down; a quantum is 512 bit times.

    The speed may be any: that of several lines together, or one that Ethernet does not have.
    """
    quanta = request.frame_spec.shortest_quanta
    unknown = [interface.name for interface in interfaces if interface.speed_mbps is None]
    if quanta and unknown and request.is_timed:
        raise InterfaceError(f"the speed of interface {unknown[0]} is not known, so neither is how long a pause lasts: "
                             "give it with --speed, for example --speed 100G")
    if unknown or not quanta:
        return None
    fastest = max(interface.speed_mbps or 0 for interface in interfaces)
    return quanta * 512 * 1000 // fastest


def run(request: StormRequest, planned: StormPlan) -> StormReport:
    """Send what is planned; a storm, and whatever is interrupted, ends with quanta-0 frames.

    Raises:
        SendError: this process may not send, or an interface has failed. What was begun on the others has been ended.
    """
    stop = StopRequest()
    failures = []
    with open_socket() as opened, heeding(stop), scheduled(planned.period_ns > 0, not request.real_time) as scheduling:
        try:
            counts, gaps, ended_by = _send(opened, request, planned, Asked(stop, scheduling))
        except SendError:
            _release(opened, planned)
            raise
        ends = request.is_timed or bool(stop.why)
        if ends:
            gaps.finish(time.monotonic_ns())
        if ends and planned.releases != planned.frames:
            failures = _release(opened, planned)
            released = not failures
        else:
            released = False
    return StormReport(counts, gaps, ended_by, released, scheduling.name, "; ".join(map(str, failures)))


def _send(opened: socket.socket, request: StormRequest, planned: StormPlan,
          asked: Asked) -> tuple[SendCounts, Gaps, str]:
    """Send until it is over; what was done, when, and why it ended."""
    gaps = Gaps(planned.pause_ns)
    duration_ns = int(request.duration_s * SECOND_NS) if request.duration_s is not None else None
    pace = Pace(planned.period_ns, request.count, duration_ns)
    if not planned.period_ns:
        counts, ended_by = _flat_out(opened, planned, gaps, asked.stop, pace)
        return counts, gaps, ended_by
    pacer = Pacer(sender_of(opened, planned.outgoing), gaps, asked.stop, asked.scheduling)
    ended_by = pacer.run(pace)
    return pacer.counts, gaps, ended_by


def _flat_out(opened: socket.socket, planned: StormPlan, gaps: Gaps, stop: StopRequest,
              pace: Pace) -> tuple[SendCounts, str]:
    """As fast as it goes, many frames in a call; a number of frames is sent to the last one."""
    rounds = max(1, BATCH // len(planned.interfaces))
    if pace.ticks is not None:
        rounds = min(rounds, pace.ticks)
    calls, rest = (None, 0) if pace.ticks is None else divmod(pace.ticks, rounds)
    gaps.expect(rounds)
    pacer = Pacer(Batch(opened, planned.outgoing * rounds), gaps, stop)
    ended_by = pacer.run(Pace(0, calls, pace.duration_ns))
    counts = pacer.counts
    if rest and ended_by == "count":
        gaps.expect(rest)
        last = Pacer(Batch(opened, planned.outgoing * rest), gaps, stop)
        ended_by = last.run(Pace(0, 1, pace.duration_ns))
        counts.by_interface.update(last.counts.by_interface)
        counts = replace(last.counts, frames=counts.frames + last.counts.frames,
                         refused=counts.refused + last.counts.refused,
                         by_interface=counts.by_interface)
    return counts, ended_by


def _release(opened: socket.socket, planned: StormPlan) -> list[SendError]:
    """Open on every interface what was shut; what went wrong, interface by interface.

    They take turns, so that one which takes no frames does not keep the others shut.
    """
    owed: dict[Outgoing, int] = dict.fromkeys(zip(planned.interfaces, planned.releases), RELEASES)
    failures = []
    patience_ns = time.monotonic_ns() + SECOND_NS
    while owed:
        for outgoing, count in list(owed.items()):
            try:
                owed[outgoing] -= Batch(opened, [outgoing] * count).send()
            except SendError as error:
                failures.append(error)
                owed[outgoing] = 0
        owed = {outgoing: count for outgoing, count in owed.items() if count}
        if time.monotonic_ns() >= patience_ns:
            break
    return failures + [
        SendError(f"interface {interface.name} took no quanta-0 frame for a second: what was paused opens when its "
                  "pause runs out") for (interface, _), count in owed.items() if count == RELEASES]


@contextmanager
def heeding(stop: StopRequest, also: Callable[[int], None] = lambda number: None) -> Iterator[None]:
    """Let signals that would end this process end what it sends, and do something else as well.

    Signals that were held back until now (in a new worker) are heeded first, and held back again afterwards.
    """
    def ask(number: int, _: Any) -> None:
        stop.ask(signal.Signals(number).name)
        also(number)

    heeded = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]  # as under nohup
    before = {number: signal.signal(number, ask) for number in heeded}
    held = signal.pthread_sigmask(signal.SIG_UNBLOCK, heeded)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        for number, handler in before.items():
            signal.signal(number, handler)
