"""Faults of a port that receives pause frames: what it makes of them, does about them and counts.

The port named is the one where the pause arrives, which is also the one that data should stop leaving by. What a fault
is modelled on is named by repository and number (`buildimage` is sonic-net/sonic-buildimage); those without a name are
made up.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pfctest.frame import OPCODE_PFC, FrameError, GlobalPauseFrame, PfcFrame, decode
from virtual_testbed.dataplane.model.control_frames import DISCARD, GLOBAL_PAUSE, PFC, Control
from virtual_testbed.dataplane.model.hooks import Fault, Scope
from virtual_testbed.dataplane.model.units import MAX_QUANTA, PS_PER_SECOND
from virtual_testbed.faults.options import NumberedFault, choice, concerns

LOSSY_QUEUE = 1
CLASSES = range(8)
NO_SOURCE = bytes(6)
RESERVED_BEGIN = bytes.fromhex("0180c20000")  # IEEE 802.1Q, table 8-1: with a last byte below 16


class PauseIgnored(Fault):
    """A received pause stops nothing (it is counted). One port deaf to PFC: sonic-mgmt#17166 asks to test each."""

    name = "pause-ignored"

    def shut_queues(self, priority: int, queues: frozenset[int]) -> frozenset[int]:
        """No queue."""
        return frozenset()


class LossyQueuePaused(Fault):
    """A pause of any class also shuts lossy queue 1 (buildimage#23441)."""

    name = "lossy-queue-paused"

    def shut_queues(self, priority: int, queues: frozenset[int]) -> frozenset[int]:
        """Its queue and queue 1."""
        return queues | {LOSSY_QUEUE}


class PauseLeaks(NumberedFault):
    """A shut queue lets one frame out every `period_ms` milliseconds, 1000 unless given (compare sonic-mgmt#3253)."""

    name = "pause-leaks"
    options = ("period_ms",)
    defaults = {"period_ms": 1000}

    def leak_period_ps(self, queue: int, period_ps: int) -> int:
        """What `period_ms` says."""
        return self.number("period_ms") * (PS_PER_SECOND // 1000)


class HeldFramesAged(NumberedFault):
    """A queue that pauses keep shut for `ms` (100) milliseconds drops what it holds, and again every `ms`, until the
    switch is told by its vendor's command to let frames wait; with `always=yes` also then.

    Raises:
        ValueError: `always` is something else.
    """

    name = "held-frames-aged"
    options = ("ms", "always")
    defaults = {"ms": 100}
    words = ("always",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._always = choice(options, "always", "yes", "no") == "yes"

    def aging_ps(self, queue: int, is_off: bool, time_ps: int) -> int:
        """What `ms` says."""
        return time_ps if is_off and not self._always else self.number("ms") * (PS_PER_SECOND // 1000)


class SlowResponse(NumberedFault):
    """A pause takes effect after `factor` (4) times the healthy response time, which on the switch profiles is the
    whole allowance of `pfctest.timing.response_allowance_ps` (the untested limit of sonic-mgmt#6223).
    """

    name = "slow-response"
    options = ("factor",)
    defaults = {"factor": 4}

    def response_ps(self, response_ps: int) -> int:
        """`factor` times as long."""
        return self.number("factor") * response_ps


class PauseLate(NumberedFault):
    """A pause takes effect `ns` (500) nanoseconds later than on a healthy switch, which on the switch profiles takes
    the whole allowance.
    """

    name = "pause-late"
    options = ("ns",)
    defaults = {"ns": 500}

    def response_ps(self, response_ps: int) -> int:
        """So much later."""
        return response_ps + self.number("ns") * (PS_PER_SECOND // 10**9)


class PauseShort(NumberedFault):
    """A received pause lasts only `percent` (50) of its quanta, or so many thousandths (`permille`) of them, or all but
    so many of them (`quanta`), at least one.

    Raises:
        ValueError: several of them are given, or a share that is not less than all.
    """

    name = "pause-short"
    options = ("percent", "permille", "quanta")
    defaults = {"percent": 50, "permille": 500, "quanta": 0}

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        if len(options) > 1:
            raise ValueError(f"{' and '.join(options)} are given: expected one of them")
        self._less = self.number("quanta")
        self._permille = 1000 if self._less else self._share(options)

    def _share(self, options: Mapping[str, str]) -> int:
        """The share of a pause that it lasts, thousandths."""
        key = "permille" if "permille" in options else "percent"
        whole = 1000 if key == "permille" else 100
        if self.number(key) >= whole:
            raise ValueError(f"{self.number(key)} is no value for {key}: expected 1..{whole - 1}")
        return self.number(key) * 1000 // whole

    def parse(self, frame: bytes, reading: Control) -> Control:
        """With fewer quanta; a time of 0 resumes as ever."""
        return _lasting(self, reading, lambda quanta: max(1, quanta * self._permille // 1000 - self._less))


class PauseLong(NumberedFault):
    """A received pause lasts `percent` (150) of its quanta, as if they were those of another speed; at most 65535.

    Raises:
        ValueError: that is not more than all of them.
    """

    name = "pause-long"
    options = ("percent",)
    defaults = {"percent": 150}

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        if self.number("percent") <= 100:
            raise ValueError(f"{self.number('percent')} is no value for percent: expected 101 or more")

    def parse(self, frame: bytes, reading: Control) -> Control:
        """With more quanta; a time of 0 resumes as ever."""
        return _lasting(self, reading, lambda quanta: min(MAX_QUANTA, quanta * self.number("percent") // 100))


def _lasting(fault: Fault, reading: Control, last: Callable[[int], int]) -> Control:
    """A reading with other times where they are not 0."""
    return replace(reading, pauses=tuple(
        (number, last(quanta) if quanta and concerns(fault, number) else quanta) for number, quanta in reading.pauses))


class PauseOutlivesFlap(Fault):
    """A received pause is not forgotten when the link goes down: when it comes up again the queue is shut, and stays
    so until the next pause frame for its class has had its effect.
    """

    name = "pause-outlives-flap"

    def keeps_pause(self, priority: int, keeps: bool) -> bool:
        """Always."""
        return True


class ZeroQuantaIgnored(Fault):
    """A pause time of 0 does not resume: the class waits until its timer expires, and the frame does not count."""

    name = "zero-quanta-ignored"

    def parse(self, frame: bytes, reading: Control) -> Control:
        """Without the classes that should resume."""
        kept = tuple((number, quanta) for number, quanta in reading.pauses if quanta or not concerns(self, number))
        return replace(reading, pauses=kept)


class ZeroSourceIgnored(Fault):
    """A PFC frame with source address 00:00:00:00:00:00 is discarded (sonic-mgmt#6172)."""

    name = "zero-source-ignored"

    def parse(self, frame: bytes, reading: Control) -> Control:
        """Discarded, when it enables a priority of the scope."""
        meant = self.scope.priority is None or self.scope.priority in dict(reading.pauses)
        return Control(DISCARD) if reading.kind == PFC and frame[6:12] == NO_SOURCE and meant else reading


class EmptyVectorHonoured(Fault):
    """A PFC frame that enables no class acts on, and counts for, every class whose time is not 0 (the gap of
    sonic-mgmt#6733).
    """

    name = "empty-vector-honoured"

    def parse(self, frame: bytes, reading: Control) -> Control:
        """As if the bits of those classes were set."""
        if reading.kind != PFC or reading.pauses:
            return reading
        read = decode(frame, any_destination=True)
        assert isinstance(read, PfcFrame), "a frame understood as PFC is one"
        return Control(PFC, tuple((number, quanta) for number, quanta in enumerate(read.quanta)
                                  if quanta and concerns(self, number)))


class GlobalPauseHonoured(Fault):
    """An 802.3x pause is taken for PFC of all eight classes with its time: it pauses those that PFC is enabled for and
    counts for all (what sonic-mgmt#2198 tests). With `only=resume` that is so of a time of 0 alone, which counts for
    none.

    Raises:
        ValueError: `only` is something else.
    """

    name = "global-pause-honoured"
    options = ("only",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._is_resume_only = choice(options, "only", "resume", "any") == "resume"

    def parse(self, frame: bytes, reading: Control) -> Control:
        """PFC of all classes."""
        if reading.kind != GLOBAL_PAUSE:
            return reading
        read = decode(frame, any_destination=True)
        assert isinstance(read, GlobalPauseFrame), "a frame understood as 802.3x pause is one"
        taken = tuple((number, read.quanta) for number in CLASSES if concerns(self, number))
        if self._is_resume_only:
            return reading if read.quanta else Control(PFC, (), taken)
        return Control(PFC, taken)


class UnknownOpcodeHonoured(Fault):
    """A MAC control frame to 01:80:C2:00:00:01 whose operation code is neither that of PFC nor that of 802.3x pause is
    taken for PFC.
    """

    name = "unknown-opcode-honoured"

    def parse(self, frame: bytes, reading: Control) -> Control:
        """As if the operation code were PFC's."""
        as_pfc = frame[:14] + OPCODE_PFC.to_bytes(2, "big") + frame[16:]
        return _taken_for_pfc(self, as_pfc, False) or reading if reading.kind == DISCARD else reading


class AnyDestinationHonoured(Fault):
    """A PFC frame acts and counts whatever its destination address is; with `only=reserved` that may be any of
    01:80:C2:00:00:00 to 0F.

    Raises:
        ValueError: `only` is something else.
    """

    name = "any-destination-honoured"
    options = ("only",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._is_reserved_only = choice(options, "only", "reserved", "any") == "reserved"

    def parse(self, frame: bytes, reading: Control) -> Control:
        """As if it had come to 01:80:C2:00:00:01."""
        is_meant = not self._is_reserved_only or frame[:5] == RESERVED_BEGIN and frame[5] < 16
        return _taken_for_pfc(self, frame, True) or reading if reading.kind == DISCARD and is_meant else reading


def _taken_for_pfc(fault: Fault, frame: bytes, any_destination: bool) -> Control | None:
    """The pauses of the fault's priorities in a frame; None: it is no PFC frame, or has nothing for them."""
    try:
        read = decode(frame, any_destination=any_destination)
    except FrameError:
        return None
    if not isinstance(read, PfcFrame):
        return None
    pauses = tuple((number, quanta) for number, quanta in sorted(read.pauses.items()) if concerns(fault, number))
    return Control(PFC, pauses) if pauses else None


class PfcNotCounted(Fault):
    """Received PFC frames act but are not counted (buildimage#5540)."""

    name = "pfc-not-counted"

    def counted(self, priority: int, priorities: frozenset[int]) -> frozenset[int]:
        """Under none."""
        return frozenset()


class PfcMiscounted(Fault):
    """Received PFC frames are counted under the next priority, 0 after 7 (the motive of sonic-mgmt#4702)."""

    name = "pfc-miscounted"

    def counted(self, priority: int, priorities: frozenset[int]) -> frozenset[int]:
        """Under the next one."""
        return frozenset((number + 1) % len(CLASSES) for number in priorities)


class PfcCountedAsData(Fault):
    """Received PFC frames are counted as data too (the gap of sonic-mgmt#6638)."""

    name = "pfc-counted-as-data"

    def counts_as_data(self, counts: bool) -> bool:
        """Always."""
        return True


class PfcCountedAsDrop(Fault):
    """Received PFC frames act, and are counted as frames that the port dropped on the way in too (RX_DRP)."""

    name = "pfc-counted-as-drop"

    def counts_as_drop(self, counts: bool) -> bool:
        """Always."""
        return True


class PfcForwarded(Fault):
    """Received MAC control frames are flooded to the other ports instead of staying on the link, or, with `to`, leave
    by that port.
    """

    name = "pfc-forwarded"
    options = ("to",)
    port_options = ("to",)

    def forwards_control(self, forwards: bool) -> bool:
        """Always, unless one port is named."""
        return forwards or "to" not in self.values

    def control_leaves_by(self, ports: frozenset[str]) -> frozenset[str]:
        """The port named, if one is."""
        return ports | {self.values["to"]} if "to" in self.values else ports


FAULTS: tuple[type[Fault], ...] = (
    PauseIgnored, LossyQueuePaused, PauseLeaks, HeldFramesAged, SlowResponse, PauseLate, PauseShort, PauseLong,
    PauseOutlivesFlap, ZeroQuantaIgnored, ZeroSourceIgnored, EmptyVectorHonoured, GlobalPauseHonoured,
    UnknownOpcodeHonoured, AnyDestinationHonoured, PfcNotCounted, PfcMiscounted, PfcCountedAsData, PfcCountedAsDrop,
    PfcForwarded)
