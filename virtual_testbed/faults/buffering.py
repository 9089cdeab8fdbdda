"""Faults of dropping, of scheduling and of back-pressure.

For drops and scheduling the port named is the one that data leaves by; for headroom, XOFF and XON the one that
congested data comes in on, because the pause frames go out there.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from pfctest.frame import FrameError, PfcFrame, decode
from virtual_testbed.dataplane.model.configuration import SchedulerConfig
from virtual_testbed.dataplane.model.hooks import Fault, FrameTraits, Scope
from virtual_testbed.dataplane.model.units import PS_PER_MS
from virtual_testbed.faults.options import FaultAtAnother, NumberedFault, choice

WRONG_PRIORITY = 0
UNASKED_PRIORITY = 3
"""The priority that is paused without congestion unless the scope names one."""
DROP_ONE_IN = 100
COPY_ONE_IN = 100
LONGEST = 1 << 14
"""Longer than any frame."""
SEVEN_TIMES_BYTES = 32  # addresses, type, opcode, vector and seven pause times, not padded


class LosslessDropped(NumberedFault):
    """One in `one_in` (100) lossless frames that would leave by the port is dropped (compare buildimage#23727)."""

    name = "lossless-dropped"
    options = ("one_in",)
    defaults = {"one_in": DROP_ONE_IN}

    def drop_one_in(self, queue: int, lossless: bool, frames: int) -> int:
        """`one_in` for lossless queues."""
        return self.number("one_in") if lossless else frames


class LossyDropped(NumberedFault):
    """One in `one_in` (100) lossy frames that would leave by the port is dropped."""

    name = "lossy-dropped"
    options = ("one_in",)
    defaults = {"one_in": DROP_ONE_IN}

    def drop_one_in(self, queue: int, lossless: bool, frames: int) -> int:
        """`one_in` for lossy queues."""
        return frames if lossless else self.number("one_in")


class SizeDropped(NumberedFault):
    """Frames that would leave by the port and have `min` (1) to `max` (no limit) bytes with FCS are dropped: all, or
    one in `one_in`.

    Raises:
        ValueError: `min` is larger than `max`.
    """

    name = "size-dropped"
    options = ("min", "max", "one_in")
    defaults = {"min": 1, "max": LONGEST, "one_in": 1}

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        if self.number("min") > self.number("max"):
            raise ValueError("no size lies from min to max: expected min at most as large as max")

    def drop_one_of_size(self, queue: int, frame_bytes: int, frames: int) -> int:
        """What `one_in` says, of those sizes."""
        return self.number("one_in") if self.number("min") <= frame_bytes <= self.number("max") else frames


class FramesCopied(NumberedFault):
    """One in `one_in` (100) data frames that leave by the port leaves twice; with `on` the copy leaves by that port of
    the switch, as flooded frames do.

    Raises:
        ValueError: `one_in` is no whole number from 1 on.
    """

    name = "frames-copied"
    options = ("one_in", "on")
    port_options = ("on",)
    defaults = {"one_in": COPY_ONE_IN}
    words = ("on",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._on = options.get("on")

    def copies_leave_by(self, port: str, queue: int, ports: Mapping[str, int]) -> Mapping[str, int]:
        """The port itself, or `on`."""
        return {**ports, self._on or port: self.number("one_in")}


class Misclassified(Fault):
    """Frames that come in by the port, of one IP version (`ip=6`) or DSCP (`dscp=3`), or both, take queue and priority
    group of another priority (`to=0`).

    Raises:
        ValueError: `to` is missing, neither of the others is given, or a value makes no sense.
    """

    name = "misclassified"
    options = ("ip", "dscp", "to")

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        for key, values in (("ip", (4, 6)), ("dscp", range(64)), ("to", range(8))):
            if key in options and options[key] not in map(str, values):
                raise ValueError(f"'{options[key]}' is no value for {key}: expected {_range(values)}")
        if "to" not in options or not {"ip", "dscp"} & options.keys():
            raise ValueError("it needs the options to, and ip or dscp: expected such as ip=6,to=0")

    def classified(self, frame: FrameTraits, traffic_class: int) -> int:
        """`to` of the frames that are meant."""
        wanted = (self.values.get("ip", str(frame.ip_version)), self.values.get("dscp", str(frame.dscp)))
        return int(self.values["to"]) if wanted == (str(frame.ip_version), str(frame.dscp)) else traffic_class


def _range(values: Sequence[int]) -> str:
    return f"{values[0]}..{values[-1]}" if len(values) > 2 else " or ".join(map(str, values))


class WeightsIgnored(Fault):
    """Queues that share a congested port by weight are served evenly, or, with `order=strict`, highest number first.

    Raises:
        ValueError: `order` is neither `even` nor `strict`.
    """

    name = "weights-ignored"
    options = ("order",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._strict = options.get("order") == "strict"
        if options.get("order", "even") not in ("even", "strict"):
            raise ValueError(f"'{options['order']}' is no value for order: expected even or strict")

    def scheduled(self, queue: int, scheduler: SchedulerConfig) -> SchedulerConfig:
        """All of one weight, or strict."""
        if scheduler.type.upper() == "STRICT":
            return scheduler
        return SchedulerConfig("STRICT" if self._strict else "DWRR")


class HeadroomMissing(Fault):
    """Lossless priority groups have no headroom: what comes in after XOFF is lost (SONiC#480)."""

    name = "headroom-missing"

    def headroom_bytes(self, group: int, headroom: int) -> int:
        """None."""
        return 0


class HeadroomShort(NumberedFault):
    """Lossless priority groups have `bytes` (416, two cells of 208) less headroom than their profiles say."""

    name = "headroom-short"
    options = ("bytes",)
    defaults = {"bytes": 416}

    def headroom_bytes(self, group: int, headroom: int) -> int:
        """So much less."""
        return max(0, headroom - self.number("bytes"))


class XoffEarly(NumberedFault):
    """Lossless priority groups have `bytes` (832, four cells of 208) less memory before XOFF than their profiles
    reserve: it is sent so much too early.
    """

    name = "xoff-early"
    options = ("bytes",)
    defaults = {"bytes": 832}

    def reserved_bytes(self, group: int, lossless: bool, size: int) -> int:
        """So much less."""
        return max(0, size - self.number("bytes")) if lossless else size


class XoffNotSent(Fault):
    """A congested priority group sends no pause: lossless frames fill the headroom, then are lost
    (buildimage#25675).
    """

    name = "xoff-not-sent"

    def xoff_priorities(self, group: int, priorities: frozenset[int]) -> frozenset[int]:
        """None."""
        return frozenset()


class XoffOnePriorityOnly(Fault):
    """Of several priorities that share a congested group only the lowest is paused (compare sonic-mgmt#20075). With
    SONiC's own maps no group has two: nothing changes then.
    """

    name = "xoff-one-priority-only"

    def xoff_priorities(self, group: int, priorities: frozenset[int]) -> frozenset[int]:
        """The lowest."""
        return frozenset(sorted(priorities)[:1])


class XoffWrongPriority(Fault):
    """A congested group pauses priority `also` (0) as well (buildimage#20590; 4 beside 3: #17886).

    Raises:
        ValueError: `also` is no priority.
    """

    name = "xoff-wrong-priority"
    options = ("also",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        also = options.get("also", str(WRONG_PRIORITY))
        if also not in map(str, range(8)):
            raise ValueError(f"'{also}' is no value for also: expected 0..7")
        self._also = int(also)

    def xoff_priorities(self, group: int, priorities: frozenset[int]) -> frozenset[int]:
        """Those and that one; a group that pauses nothing goes on doing so."""
        return priorities | {self._also} if priorities else priorities


class XoffElsewhere(FaultAtAnother):
    """The pauses of a congested group are sent out of the port `on` too; with `only=yes` not out of its own."""

    name = "xoff-elsewhere"

    def xoff_ports(self, group: int, ports: frozenset[str]) -> frozenset[str]:
        """That one too."""
        return frozenset({self.on}) if self.is_only else ports | {self.on}


class XoffFromLossy(Fault):
    """A frame of a lossy priority group that a full queue drops makes the port send XOFF for priority `pauses` (0),
    until the group is empty.

    Raises:
        ValueError: `pauses` is no priority.
    """

    name = "xoff-from-lossy"
    options = ("pauses",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        if options.get("pauses", "0") not in map(str, range(8)):
            raise ValueError(f"'{options['pauses']}' is no value for pauses: expected 0..7")

    def xoff_for_drops(self, group: int, priorities: frozenset[int]) -> frozenset[int]:
        """That priority too."""
        return priorities | {int(self.values.get("pauses", "0"))}


class XonNotSent(Fault):
    """No XON at the end of congestion: the sender goes on when its pause has lapsed (compare sonic-mgmt#7058)."""

    name = "xon-not-sent"

    def sends_xon(self, priority: int, sends: bool) -> bool:
        """Never."""
        return False


class RefreshMissing(Fault):
    """XOFF is sent once and not repeated while the congestion lasts: the sender goes on when its pause has lapsed; with
    `after_link_loss=yes` only once the port's link has gone down.

    Raises:
        ValueError: `after_link_loss` is something else.
    """

    name = "refresh-missing"
    options = ("after_link_loss",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._after_link_loss = choice(options, "after_link_loss", "yes", "no") == "yes"

    def refreshes(self, priority: int, link_losses: int, refreshes: bool) -> bool:
        """Never, or until the link goes down."""
        return refreshes and self._after_link_loss and not link_losses


class PfcUnasked(NumberedFault):
    """The port pauses a priority (that of the scope, else 3) every `period_ms` (1) milliseconds although nothing is
    congested: with the longest pause time, and without XON.
    """

    name = "pfc-unasked"
    options = ("period_ms",)
    defaults = {"period_ms": 1}

    def unasked_period_ps(self, priority: int, period_ps: int) -> int:
        """What `period_ms` says, for that priority."""
        wanted = UNASKED_PRIORITY if self.scope.priority is None else self.scope.priority
        return self.number("period_ms") * PS_PER_MS if priority == wanted else period_ps


class ZeroSourceSent(Fault):
    """The port's PFC frames have the source address 00:00:00:00:00:00 (SONiC#418)."""

    name = "zero-source-sent"

    def emitted(self, frame: bytes) -> bytes:
        """With that source."""
        return frame[:6] + bytes(6) + frame[12:] if _meant(self, frame) else frame


class MalformedPfcSent(Fault):
    """The port's PFC frames end after seven of their eight pause times, too short for any receiver, which discards
    them (sonic-mgmt#7420, there of a traffic generator).
    """

    name = "malformed-pfc-sent"

    def emitted(self, frame: bytes) -> bytes:
        """Without the eighth time and the padding."""
        return frame[:SEVEN_TIMES_BYTES] if _meant(self, frame) else frame


def _meant(fault: Fault, frame: bytes) -> bool:
    """True when a frame that is about to be sent enables the fault's priority, or the fault is about all."""
    if fault.scope.priority is None:
        return True
    try:
        read = decode(frame, any_destination=True)
    except FrameError:  # another fault has been at it
        return False
    return isinstance(read, PfcFrame) and fault.scope.priority in read.pauses


FAULTS: tuple[type[Fault], ...] = (
    LosslessDropped, LossyDropped, SizeDropped, FramesCopied, Misclassified, WeightsIgnored, HeadroomMissing,
    HeadroomShort, XoffEarly, XoffNotSent, XoffOnePriorityOnly, XoffWrongPriority, XoffElsewhere, XoffFromLossy,
    XonNotSent, RefreshMissing, PfcUnasked, ZeroSourceSent, MalformedPfcSent)
