"""Faults of counters that move with the wrong event, or at the wrong place, or begin anew: what COUNTERS_DB shows.

The port named is the one whose counters are meant.
"""
from __future__ import annotations

import re
from collections.abc import Mapping

from virtual_testbed.dataplane.model.control_frames import DISCARD, GLOBAL_PAUSE, PFC, Control
from virtual_testbed.dataplane.model.hooks import Fault, Scope
from virtual_testbed.faults.options import NumberedFault, choice, concerns

Hashes = Mapping[str, Mapping[str, str]]
BITS = 32
QUEUES = 8
_QUEUE_BYTES = re.compile(r"SAI_QUEUE_STAT_BYTES")
_EVENTS = re.compile(r"SAI_(?!.*(OCCUPANCY|WATERMARK)).*_(PKTS|PACKETS|OCTETS|BYTES|DISCARDS|ERRORS)")
_HEADROOM_WATERMARK = "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES"
_SHARED_WATERMARK = "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES"
_OF_WATCHDOG = "PFC_WD_"
_OF_QUEUE = "SAI_QUEUE_STAT_"
_OCTETS = {"received": "SAI_PORT_STAT_IF_IN_OCTETS", "sent": "SAI_PORT_STAT_IF_OUT_OCTETS"}
_DROPS_OF_PORT = ("SAI_PORT_STAT_IF_IN_DISCARDS", "SAI_PORT_STAT_IF_OUT_DISCARDS")
_OF_CONTROL = ("SAI_PORT_STAT_PAUSE_RX_PKTS", "SAI_PORT_STAT_ETHER_IN_PKTS_64_OCTETS")
_COUNTED_OF = {
    "pfc-received": re.compile(r"SAI_PORT_STAT_PFC_(\d)_RX_PKTS"),
    "watchdog-drops": re.compile(r"PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS"),
}


class _Moved(Fault):
    """What some counters gain while the fault lasts moves others too.

    Attributes:
        moved: which one each of them moves; `stays`: it does not move itself.
    """

    moved: Mapping[str, str] = {}
    stays = False

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._begin: dict[tuple[str, str], int] = {}

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """The gains there."""
        found = dict(fields)
        for source, target in self.moved.items():
            if source in fields:
                value = int(fields[source])
                begin = self._begin.setdefault((key, source), value if self.scope.from_ps else 0)
                found[target] = str(int(found[target]) + value - begin)
                if self.stays:
                    found[source] = str(begin)
        return found


class DropsCountedAsSent(_Moved):
    """Frames that are dropped on their way out are counted as sent, by the port and by their queue; with `too=yes` they
    are counted as dropped as well (buildimage#21007).

    Raises:
        ValueError: `too` is something else.
    """

    name = "drops-counted-as-sent"
    options = ("too",)
    moved = {"SAI_PORT_STAT_IF_OUT_DISCARDS": "SAI_PORT_STAT_IF_OUT_UCAST_PKTS",
             "SAI_QUEUE_STAT_DROPPED_PACKETS": "SAI_QUEUE_STAT_PACKETS",
             "SAI_QUEUE_STAT_DROPPED_BYTES": "SAI_QUEUE_STAT_BYTES"}

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self.stays = choice(options, "too", "yes", "no") != "yes"


class SentCountedAsReceived(_Moved):
    """Data frames that the port sends are counted as received too."""

    name = "sent-counted-as-received"
    moved = {"SAI_PORT_STAT_IF_OUT_UCAST_PKTS": "SAI_PORT_STAT_IF_IN_UCAST_PKTS",
             "SAI_PORT_STAT_IF_OUT_OCTETS": "SAI_PORT_STAT_IF_IN_OCTETS"}


class WatchdogDropsCountedAsSent(_Moved):
    """Frames that the watchdog drops are frames that passed in its statistics (buildimage#17434, sonic-swss#3925)."""

    name = "watchdog-drops-counted-as-sent"
    moved = {f"PFC_WD_QUEUE_STATS_{way}_DROPPED_PACKETS{last}": f"PFC_WD_QUEUE_STATS_{way}_PACKETS{last}"
             for way in ("TX", "RX") for last in ("", "_LAST")}
    stays = True


class DropsCountedTwice(Fault):
    """Each frame that is dropped on its way in or out counts twice in the port's counters of drops
    (buildimage#19730).
    """

    name = "drops-counted-twice"

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """With twice as many."""
        return {name: str(2 * int(value)) if name in _DROPS_OF_PORT else value for name, value in fields.items()}


class CountersOfAnother(Fault):
    """All counters of the port, its queues and its priority groups show those of the port `of`; with `only=drops` the
    port's counters of drops also those of `of` (buildimage#24745).

    Raises:
        ValueError: `of` is missing, or `only` is something else.
    """

    name = "counters-of-another"
    options = ("of", "only")
    port_options = ("of",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._is_drops = choice(options, "only", "drops", "all") == "drops"
        if not options.get("of"):
            raise ValueError("it needs the option of: expected another port of the switch, such as of=Ethernet8")

    def published_among(self, key: str, fields: Mapping[str, str], switch: Hashes) -> Mapping[str, str]:
        """Those of the other one."""
        _, colon, number = key.partition(":")
        other = switch.get(f"{self.values['of']}{colon}{number}", {})
        if self._is_drops:
            return {name: str(int(value) + int(other.get(name, 0))) if name in _DROPS_OF_PORT else value
                    for name, value in fields.items()}
        return {name: value if name.startswith(_OF_WATCHDOG) else other.get(name, value)
                for name, value in fields.items()}


class QueueMiscounted(Fault):
    """Each unicast queue of the port shows the counters of the queue before it, queue 0 those of queue 7."""

    name = "queue-miscounted"

    def published_among(self, key: str, fields: Mapping[str, str], switch: Hashes) -> Mapping[str, str]:
        """Those of that queue."""
        port, colon, number = key.partition(":")
        if not colon or int(number) >= QUEUES:
            return fields
        other = switch.get(f"{port}:{(int(number) - 1) % QUEUES}", {})
        return {name: other.get(name, value) if name.startswith(_OF_QUEUE) else value
                for name, value in fields.items()}


class _Share(NumberedFault):
    """Some counters show `percent` of what they should.

    Attributes:
        shares: which ones.
    """

    options: tuple[str, ...] = ("percent",)
    shares: tuple[str, ...] = ()

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """So much of them."""
        return {name: str(int(value) * self.number("percent") // 100) if name in self.shares else value
                for name, value in fields.items()}


class BytesMiscounted(_Share):
    """Bytes that leave through a queue are counted as `percent` (50) of what they are; frames are counted rightly."""

    name = "bytes-miscounted"
    defaults = {"percent": 50}
    shares = ("SAI_QUEUE_STAT_BYTES",)


class OctetsMiscounted(_Share):
    """Bytes that the port receives and sends are counted as `percent` (50) of what they are; with `only=received` or
    `only=sent` only these. Frames are counted rightly.

    Raises:
        ValueError: `only` is something else.
    """

    name = "octets-miscounted"
    options = ("percent", "only")
    defaults = {"percent": 50}
    words = ("only",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        only = choice(options, "only", *_OCTETS)
        self.shares = (_OCTETS[only],) if only else tuple(_OCTETS.values())


class DropBytesMiscounted(_Share):
    """Bytes of the frames that a queue drops are counted as `percent` (0) of what they are; the frames are counted
    rightly.
    """

    name = "drop-bytes-miscounted"
    defaults = {"percent": 0}
    shares = ("SAI_QUEUE_STAT_DROPPED_BYTES",)
    least = 0


class QueueWatermarksMiscounted(_Share):
    """The watermarks of queues show `percent` (0) of what they held; those of priority groups are right."""

    name = "queue-watermarks-miscounted"
    defaults = {"percent": 0}
    shares = ("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES",)
    least = 0


class PauseTimeMiscounted(_Share):
    """The time that priorities are paused is counted as `percent` (50) of what it is; with `of=ends` it is counted
    rightly, and each received pause frame as the end of a pause.

    Raises:
        ValueError: `of` is something else.
    """

    name = "pause-time-miscounted"
    options = ("percent", "of")
    defaults = {"percent": 50}
    words = ("of",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._of_ends = choice(options, "of", "ends", "time") == "ends"
        self.shares = tuple(f"SAI_PORT_STAT_PFC_{priority}_RX_PAUSE_DURATION_US" for priority in range(QUEUES)
                            if concerns(self, priority))

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """So much of the time, or as many ends as frames."""
        if not self._of_ends:
            return super().published(key, fields)
        shown = dict(fields)
        for priority in range(QUEUES):
            ends, frames = (f"SAI_PORT_STAT_PFC_{priority}_{of}RX_PKTS" for of in ("ON2OFF_", ""))
            if ends in shown and frames in shown and concerns(self, priority):
                shown[ends] = shown[frames]
        return shown


class HeadroomWatermarkOfPort(Fault):
    """The headroom watermark of each priority group shows the highest of all groups of its port."""

    name = "headroom-watermark-of-port"

    def published_among(self, key: str, fields: Mapping[str, str], switch: Hashes) -> Mapping[str, str]:
        """That of the group which had most."""
        if _HEADROOM_WATERMARK not in fields:
            return fields
        port = key.partition(":")[0]
        of_port = [hash_[_HEADROOM_WATERMARK] for name, hash_ in switch.items()
                   if name.partition(":")[0] == port and _HEADROOM_WATERMARK in hash_]
        return {**fields, _HEADROOM_WATERMARK: max(of_port, key=int, default=fields[_HEADROOM_WATERMARK])}


class SharedWatermarkWithHeadroom(Fault):
    """The watermark of a priority group's shared bytes has those in it that were in headroom."""

    name = "shared-watermark-with-headroom"

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """Both in one."""
        if _SHARED_WATERMARK not in fields:
            return fields
        return {**fields, _SHARED_WATERMARK: str(int(fields[_SHARED_WATERMARK]) + int(fields[_HEADROOM_WATERMARK]))}


class CountersWrap(NumberedFault):
    """The port's counters of frames and bytes (with `only=queue-bytes` those of bytes that left through its queues)
    have `bits` (32) bits, and begin `before` (1000) below their end: after so many events they begin anew at 0.

    Raises:
        ValueError: `before` is more than the bits can count; `only` is something else.
    """

    name = "counters-wrap"
    options = ("bits", "before", "only")
    defaults = {"bits": BITS, "before": 1000}
    words = ("only",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._fields = _QUEUE_BYTES if choice(options, "only", "queue-bytes", "all") == "queue-bytes" else _EVENTS
        if self.number("before") > 1 << self.number("bits"):
            raise ValueError(f"{self.number('before')} is no value for before: expected at most what "
                             f"{self.number('bits')} bits can count")

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """Modulo what the bits can count."""
        size = 1 << self.number("bits")
        return {name: str((int(value) - self.number("before")) % size) if self._fields.fullmatch(name) else value
                for name, value in fields.items()}


class CountedShort(NumberedFault):
    """One in `one_in` (200) events is not counted: of received PFC frames (`of=pfc-received`, unless given), or of
    frames that the watchdog drops on their way out (`of=watchdog-drops`).

    Raises:
        ValueError: `of` is none of these.
    """

    name = "counted-short"
    options = ("one_in", "of")
    defaults = {"one_in": 200}
    words = ("of",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        of = options.get("of", "pfc-received")
        if of not in _COUNTED_OF:
            raise ValueError(f"'{of}' is no value for of: expected {' or '.join(_COUNTED_OF)}")
        self._fields = _COUNTED_OF[of]

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """Those counters without them."""
        one_in = self.number("one_in")
        return {name: str(int(value) - int(value) // one_in) if self._is_meant(name) else value
                for name, value in fields.items()}

    def _is_meant(self, name: str) -> bool:
        found = self._fields.fullmatch(name)
        return found is not None and (not found.groups() or concerns(self, int(found[1])))


class ControlUncounted(Fault):
    """MAC control frames are counted nowhere, but for PFC frames under the priorities that they enable; the switch has
    no counter of 802.3x pauses, nor of frames of 64 bytes.
    """

    name = "control-uncounted"

    def parse(self, frame: bytes, reading: Control) -> Control:
        """PFC of no priority, for what is counted otherwise."""
        return Control(PFC) if reading.kind in (GLOBAL_PAUSE, DISCARD) else reading

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """Without these counters."""
        return {name: value for name, value in fields.items() if name not in _OF_CONTROL}


FAULTS: tuple[type[Fault], ...] = (
    DropsCountedAsSent, DropsCountedTwice, SentCountedAsReceived, WatchdogDropsCountedAsSent,
    CountersOfAnother, QueueMiscounted, BytesMiscounted, OctetsMiscounted, DropBytesMiscounted,
    PauseTimeMiscounted, QueueWatermarksMiscounted, HeadroomWatermarkOfPort, SharedWatermarkWithHeadroom, CountersWrap,
    CountedShort, ControlUncounted)
