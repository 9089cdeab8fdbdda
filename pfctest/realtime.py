"""How this process is scheduled while it keeps a pace.

A sender that sleeps between frames is given real-time scheduling (SCHED_FIFO), so that nothing delays its waking. One
that never sleeps is not: the kernel stops such a real-time process for 50 ms in every second (sched_rt_runtime_us),
which is worse than any neighbour, and it would starve the rest of its CPU. It gets the best ordinary priority instead.

A CPU that idles until the next deadline must not fall asleep over it: while a pace is kept, the kernel is asked to let
idle CPUs poll (the power management quality of service, `/dev/cpu_dma_latency`). That matters most in a virtual
machine, whose idle CPUs are given to others.
"""
from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress

PR_SET_PDEATHSIG = 1
PR_SET_TIMERSLACK = 29
_BEST_NICE = -20
_WAKE_LATENCY = "/dev/cpu_dma_latency"
"""Holds for as long as it is open: a 32 bit number, the microseconds within which a CPU must be awake."""


class Scheduling:
    """How this process runs just now.

    Attributes:
        name: `SCHED_FIFO`, `nice -20` or `ordinary`: what was asked for may not be permitted.
    """

    def __init__(self) -> None:
        self.name = "ordinary"

    @property
    def is_real_time(self) -> bool:
        """Whether nothing but other real-time work can delay it."""
        return self.name == "SCHED_FIFO"

    def ask(self, real_time: bool) -> None:
        """Take real-time scheduling (of the lowest priority), or the best ordinary priority; else stay as it is."""
        if real_time:
            with suppress(PermissionError):
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO)))
                self.name = "SCHED_FIFO"
                return
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, _BEST_NICE)
            self.name = f"nice {_BEST_NICE}"

    def leave_real_time(self) -> None:
        """It turned out to spin: go on with an ordinary priority."""
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        self.name = "ordinary"
        self.ask(real_time=False)


@contextmanager
def scheduled(real_time: bool, leave: bool = False) -> Iterator[Scheduling]:
    """Precise timers, no pauses of the garbage collector, and the scheduling asked for, while the context lasts.

    Args:
        real_time: it sleeps between frames, over which no CPU is to fall asleep.
        leave: scheduling and CPUs stay as they are.
    """
    policy = os.sched_getscheduler(0)
    parameters = os.sched_getparam(0)
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    collects = gc.isenabled()
    gc.disable()
    _prctl(PR_SET_TIMERSLACK, 1)
    scheduling = Scheduling()
    try:
        if leave:
            yield scheduling
        else:
            scheduling.ask(real_time)
            with _awake() if real_time else nullcontext():
                yield scheduling
    finally:
        with suppress(PermissionError):  # a higher real-time priority than this process may take
            os.sched_setscheduler(0, policy, parameters)
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, nice)
        _prctl(PR_SET_TIMERSLACK, 0)
        if collects:
            gc.enable()


@contextmanager
def _awake() -> Iterator[None]:
    """No CPU falls asleep while the context lasts, where this process may ask for that."""
    with ExitStack() as held:
        with suppress(OSError):
            descriptor = os.open(_WAKE_LATENCY, os.O_WRONLY)  # `open` would create what is not there
            held.callback(os.close, descriptor)
            os.write(descriptor, (0).to_bytes(4, sys.byteorder))
        yield


def die_with_parent(parent: int) -> None:
    """Have this process killed when its parent (process id `parent`) ends, however that ends."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before that was asked for
        os.kill(os.getpid(), signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)
