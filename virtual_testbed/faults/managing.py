"""Faults of the watchdog, and of what SONiC's agent carries down to the hardware and up into COUNTERS_DB.

The port named is the one whose watchdog, PFC or counters are meant.
"""
from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace

from virtual_testbed.dataplane.model.counters import Sample
from virtual_testbed.dataplane.model.hooks import DROPPING, DROPPING_RECEIVED, NOT_OBEYED, NOT_SENT, Fault, Scope
from virtual_testbed.dataplane.model.units import PS_PER_MS, PS_PER_SECOND
from virtual_testbed.faults.options import NumberedFault, choice, concerns

BELOW = 1000
_PFC_FIELD = re.compile(r"SAI_PORT_STAT_PFC_(\d)_")
_DROP_FIELDS = frozenset({
    "SAI_PORT_STAT_IF_IN_DISCARDS", "SAI_PORT_STAT_IF_OUT_DISCARDS", "SAI_QUEUE_STAT_DROPPED_PACKETS",
    "SAI_QUEUE_STAT_DROPPED_BYTES", "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"})
_LAST_STORM = "_LAST"
_WATERMARK = "_WATERMARK_"
_STORM_FIELDS = "PFC_WD_QUEUE_STATS_DEADLOCK_"
_STORM_STATISTICS = "PFC_WD_QUEUE_STATS_"
_RECEIVED_DROPS = "PFC_WD_QUEUE_STATS_RX_DROPPED_"
_LONGEST_INTERVAL_MS = 3000  # between two polls of a running watchdog: three times the longest `pfcwd interval`
_PFC_RECEIVED = re.compile(r"SAI_PORT_STAT_PFC_(\d)_RX_PKTS")


class WatchdogBlind(Fault):
    """The watchdog's polls see no pause: no storm is detected, one detected before is restored (buildimage#6530)."""

    name = "watchdog-blind"

    def watchdog_sees(self, queue: int, sample: Sample) -> Sample:
        """A queue that no pause frame ever reached."""
        return replace(sample, pfc_rx=0, on2off=0, paused=False, paused_ps=0)


class WatchdogLeaks(Fault):
    """The watchdog's action drop only switches PFC off, as forward does: frames pass (buildimage#8181); with
    `only=received` it drops what leaves by the queue, not what comes in by the port with its traffic class (#21552).

    Raises:
        ValueError: `only` is something else.
    """

    name = "watchdog-leaks"
    options = ("only",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._is_received = choice(options, "only", "received", "both") == "received"

    def watchdog_action(self, queue: int, action: str) -> str:
        """`forward` for `drop`."""
        return "forward" if action == "drop" and not self._is_received else action

    def watchdog_drops_received(self, queue: int, drops: bool) -> bool:
        """Not."""
        return False


class WatchdogFalseAlarm(Fault):
    """The watchdog takes each data frame that leaves a queue for a pause of it: it detects a storm on a queue that has
    traffic (Mellanox switches: on an idle one too), and restores the queue once the action has stopped the traffic.
    """

    name = "watchdog-false-alarm"

    def watchdog_sees(self, queue: int, sample: Sample) -> Sample:
        """A queue that is paused all the time by as many more frames as it has sent, and holds some."""
        return replace(sample, pfc_rx=sample.pfc_rx + sample.packets, on2off=0, paused=True, packets=0,
                       occupancy=max(1, sample.occupancy), paused_ps=sample.time_ps)


class WatchdogAnyPause(Fault):
    """A poll takes a queue for paused all the time, with frames that wait, when a single pause came since the poll
    before: short pauses are a storm (sonic-swss#3036).
    """

    name = "watchdog-any-pause"

    def watchdog_sees(self, queue: int, sample: Sample) -> Sample:
        """A queue that is always paused and sends nothing; each pause counts for a second."""
        return replace(sample, on2off=0, paused=True, packets=0, occupancy=max(1, sample.occupancy),
                       paused_ps=sample.pfc_rx * PS_PER_SECOND)


class WatchdogLate(NumberedFault):
    """A storm is detected only after `factor` (4) times the detection time (buildimage#3964)."""

    name = "watchdog-late"
    options = ("factor",)
    defaults = {"factor": 4}

    def watchdog_detection_ms(self, queue: int, detection_ms: int) -> int:
        """`factor` times as long."""
        return self.number("factor") * detection_ms


class WatchdogPollsAddUp(Fault):
    """Polls that look like a storm add up until they last for one, though calm ones lie between them. A storm without a
    break is detected in time.
    """

    name = "watchdog-polls-add-up"

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._last: dict[int, Sample] = {}
        self._added_ms: dict[int, int] = {}

    def watchdog_sees(self, queue: int, sample: Sample) -> Sample:
        """Unchanged; the time since the poll before is added up where both look like a storm."""
        last = self._last.get(queue, sample)
        self._last[queue] = sample
        passed_ms = (sample.time_ps - last.time_ps) // PS_PER_MS
        looks_stormy = last.paused and sample.paused and sample.on2off == last.on2off and sample.pfc_rx > last.pfc_rx
        if looks_stormy and passed_ms <= _LONGEST_INTERVAL_MS:
            self._added_ms[queue] = self._added_ms.get(queue, 0) + passed_ms
        return sample

    def watchdog_detection_ms(self, queue: int, detection_ms: int) -> int:
        """What is missing."""
        return max(1, detection_ms - self._added_ms.get(queue, 0))

    def watchdog_detects(self, queue: int, storms: int, detects: bool) -> bool:
        """Unchanged; nothing is added up any more."""
        self._added_ms[queue] = 0
        return detects


class WatchdogNeverRestores(Fault):
    """A queue stays stormed when its storm is over (compare swss#4581); stopping the watchdog helps."""

    name = "watchdog-never-restores"

    def watchdog_restores(self, queue: int, restores: bool) -> bool:
        """Never."""
        return False


class WatchdogRestoresLate(NumberedFault):
    """A storm has to be over for `factor` (4) times the restoration time before its queue works again."""

    name = "watchdog-restores-late"
    options = ("factor",)
    defaults = {"factor": 4}

    def watchdog_restoration_ms(self, queue: int, restoration_ms: int) -> int:
        """`factor` times as long."""
        return self.number("factor") * restoration_ms


class WatchdogUndoMissing(Fault):
    """A queue counts as restored when its storm is over, but what the action did to it stays, until the watchdog is
    stopped, or, in a storm, until it is started again: frames are dropped and PFC is off; `only=dropping` or
    `only=pfc`: that stays, the other is undone; `only=received`: of dropping only that of frames that come in by the
    port; `only=sending`: of PFC only that no pause is sent.

    Raises:
        ValueError: `only` is something else.
    """

    name = "watchdog-undo-missing"
    options = ("only",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        pfc = {NOT_OBEYED, NOT_SENT}
        dropping = {DROPPING, DROPPING_RECEIVED}
        kept = {"": dropping | pfc, "dropping": dropping, "received": {DROPPING_RECEIVED}, "pfc": pfc,
                "sending": {NOT_SENT}}
        self._kept = kept[choice(options, "only", "dropping", "received", "pfc", "sending")]

    def watchdog_undoes(self, queue: int, parts: frozenset[str]) -> frozenset[str]:
        """The rest."""
        return parts - self._kept


class PfcLostWithWatchdog(Fault):
    """Where the watchdog is stopped while a queue is in storm, PFC of that priority stays switched off, until the
    watchdog is started there again.
    """

    name = "pfc-lost-with-watchdog"

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._over: set[int] = set()

    def watchdog_restores(self, queue: int, restores: bool) -> bool:
        """It does: what is undone next is undone because the storm is over."""
        self._over.add(queue)
        return restores

    def watchdog_undoes(self, queue: int, parts: frozenset[str]) -> frozenset[str]:
        """All at a storm's end; else all but that PFC is off."""
        is_over = queue in self._over
        self._over.discard(queue)
        return parts if is_over else parts - {NOT_OBEYED, NOT_SENT}


class WatchdogRestoresInStorm(NumberedFault):
    """Pauses of a queue in storm are not seen, because the action has switched its PFC off: it is restored while they
    go on, stormed again, and so on. With `all=yes` only where every watched queue of the port is in storm
    (buildimage#29203); with `one_in=N` one in N of them is seen, so that slow ones are missed.

    Raises:
        ValueError: `all` is something else; or both are given.
    """

    name = "watchdog-restores-in-storm"
    options = ("all", "one_in")
    defaults = {"one_in": 0}
    words = ("all",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._is_all = choice(options, "all", "yes", "no") == "yes"
        if self._is_all and "one_in" in options:
            raise ValueError("it takes one of the options all=yes and one_in, not both")

    def watchdog_sees_in_storm(self, queue: int, first: Sample, others: bool, sample: Sample) -> Sample:
        """No pause more, and none that lasts."""
        if one_in := self.number("one_in"):
            return replace(sample, pfc_rx=first.pfc_rx + (sample.pfc_rx - first.pfc_rx) // one_in * one_in)
        return sample if self._is_all and not others else replace(sample, pfc_rx=first.pfc_rx, paused=False)


class WatchdogCalmAddsUp(Fault):
    """Polls of a queue in storm in which no pause came add up to the restoration time, though pauses come between them:
    a queue is restored in a slow storm. One that is over is restored in time.
    """

    name = "watchdog-calm-adds-up"

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._last: dict[int, Sample] = {}
        self._calm_ms: dict[int, int] = {}

    def watchdog_detects(self, queue: int, storms: int, detects: bool) -> bool:
        """Unchanged; nothing is added up yet."""
        self._last.pop(queue, None)
        self._calm_ms[queue] = 0
        return detects

    def watchdog_sees_in_storm(self, queue: int, first: Sample, others: bool, sample: Sample) -> Sample:
        """Unchanged; the time since the poll before is added up where no pause came."""
        last = self._last.get(queue, first)
        self._last[queue] = sample
        if sample.pfc_rx == last.pfc_rx:
            self._calm_ms[queue] = self._calm_ms.get(queue, 0) + (sample.time_ps - last.time_ps) // PS_PER_MS
        return sample

    def watchdog_restoration_ms(self, queue: int, restoration_ms: int) -> int:
        """What is missing."""
        return max(1, restoration_ms - self._calm_ms.get(queue, 0))


class WatchdogOnePortOnly(Fault):
    """While another port of the switch has a queue in storm no storm is detected here (buildimage#9432,
    sonic-mgmt#5239).
    """

    name = "watchdog-one-port-only"

    def watchdog_detects_beside(self, queue: int, ports: frozenset[str], detects: bool) -> bool:
        """Not beside others."""
        return detects and not ports


class WatchdogHitsAnother(Fault):
    """The action hits the port's queue `to` instead of the one in storm, and switches PFC off there (sonic-swss#702).

    Raises:
        ValueError: `to` is missing, or no queue.
    """

    name = "watchdog-hits-another"
    options = ("to",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        if options.get("to", "") not in map(str, range(8)):
            raise ValueError("it needs the option to: expected a queue, such as to=4")

    def watchdog_queues(self, queue: int, queues: frozenset[int]) -> frozenset[int]:
        """That one."""
        return frozenset({int(self.values["to"])})


class WatchdogSecondStormMissed(NumberedFault):
    """After `after` (1) storms of a queue no further one is detected, until the watchdog is started anew there."""

    name = "watchdog-second-storm-missed"
    options = ("after",)
    defaults = {"after": 1}

    def watchdog_detects(self, queue: int, storms: int, detects: bool) -> bool:
        """The first ones."""
        return detects and storms < self.number("after")


class WatchdogActionMissing(Fault):
    """A storm is detected and counted, the queue counts as stormed, and nothing is done about it."""

    name = "watchdog-action-missing"

    def watchdog_action(self, queue: int, action: str) -> str:
        """Nothing, as `alert` does."""
        return "alert"


class WatchdogWide(NumberedFault):
    """The action hits all queues of the port, not only the one in storm; with `also=3` that one and queue 3."""

    name = "watchdog-wide"
    options = ("also",)

    def watchdog_queues(self, queue: int, queues: frozenset[int]) -> frozenset[int]:
        """All eight, or these two."""
        return queues | {int(self.values["also"])} if "also" in self.values else frozenset(range(8))


class WatchdogStopIgnored(Fault):
    """Removing the watchdog's configuration never reaches the data plane: it keeps running."""

    name = "watchdog-stop-ignored"

    def watchdog_removal_reaches_hardware(self, reaches: bool) -> bool:
        """Never."""
        return False


class AgingStaysOn(Fault):
    """The vendor's command that switches the aging of held frames off fails, or has no effect (that of a Broadcom DNX,
    whose orchagent may not know it: sonic-mgmt#27467). It is one of the whole switch.
    """

    name = "aging-stays-on"

    def aging_can_be_switched(self, can: bool) -> bool:
        """It cannot."""
        return False


class SwitchReboots(Fault):
    """The switch reboots by itself, once, at the instant at which the fault begins (`from`), as after a panic of its
    kernel; with `only=services` its services restart, as after a crash of orchagent. It is one of the whole switch.

    Raises:
        ValueError: `only` is something else.
    """

    name = "switch-reboots"
    options = ("only",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._kind = "swss" if choice(options, "only", "services", "switch") == "services" else "reboot"

    def restarts(self, kind: str) -> str:
        """The switch, or its services."""
        return self._kind


class PfcRemovalIgnored(Fault):
    """Removing a priority from `pfc_enable` never reaches the data plane: it stays lossless (sonic-swss#1055)."""

    name = "pfc-removal-ignored"

    def pfc_removal_reaches_hardware(self, reaches: bool) -> bool:
        """Never."""
        return False


class _Withheld(Fault):
    """Fields of COUNTERS_DB keep the values that they had when the fault began: from the start, those of the start."""

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._written: set[tuple[str, str]] = set()

    def _without(self, key: str, fields: Mapping[str, str], withheld: Callable[[str], bool]) -> Mapping[str, str]:
        """Without the fields that are withheld, but for values that are not there yet when the switch starts."""
        return {name: value for name, value in fields.items() if not (withheld(name) and self._is_there(key, name))}

    def _is_there(self, key: str, name: str) -> bool:
        first = self.scope.from_ps == 0 and (key, name) not in self._written
        self._written.add((key, name))
        return not first


class CountersFrozen(_Withheld):
    """COUNTERS_DB keeps the values that it had when the fault began: from the start, those of the start. With
    `priority` only its queue, its priority group and the port's PFC counters of it.
    """

    name = "counters-frozen"

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """Nothing, but for values that are not there yet when the switch starts."""
        if self.scope.priority is None or ":" in key:
            return self._without(key, fields, lambda name: True)
        return self._without(key, fields, self._is_of_the_priority)

    def _is_of_the_priority(self, name: str) -> bool:
        pfc = _PFC_FIELD.match(name)
        return pfc is not None and concerns(self, int(pfc[1]))


class CountersLate(NumberedFault):
    """COUNTERS_DB gets at each poll what was counted `polls` (1) polls before."""

    name = "counters-late"
    options = ("polls",)
    defaults = {"polls": 1}

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._kept: dict[tuple[str, frozenset[str]], deque[Mapping[str, str]]] = {}

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """The oldest of those that are kept."""
        kept = self._kept.setdefault((key, frozenset(fields)), deque(maxlen=self.number("polls") + 1))
        kept.append(dict(fields))
        return kept[0]


class DropsUncounted(_Withheld):
    """Frames are dropped, the counters of drops stay: RX_DRP and TX_DRP of the port, those of its queues and priority
    groups (buildimage#9193). With `priority` only those of its queue and its group.
    """

    name = "drops-uncounted"

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """All but the drops."""
        of_another = self.scope.priority is not None and ":" not in key
        return fields if of_another else self._without(key, fields, _DROP_FIELDS.__contains__)


class WatermarksFrozen(_Withheld):
    """Watermarks of queues and priority groups stay as they were when the fault began (sonic-swss#2494)."""

    name = "watermarks-frozen"

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """All but these."""
        return self._without(key, fields, lambda name: _WATERMARK in name)


class WatchdogUncounted(_Withheld):
    """The watchdog acts, its statistics stay (buildimage#19067, #5821): all of them, or with `only=storms` those of
    storms detected and restored, with `only=frames` those of frames sent and dropped, with `only=last` those of frames
    in the last storm, with `only=received` those of received frames that were dropped (buildimage#29663).

    Raises:
        ValueError: `only` is something else.
    """

    name = "watchdog-uncounted"
    options = ("only",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._only = choice(options, "only", "storms", "frames", "last", "received")

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """All but these statistics."""
        return self._without(key, fields, self._is_meant)

    def _is_meant(self, name: str) -> bool:
        if self._only == "received":
            return name.startswith(_RECEIVED_DROPS)
        kinds = {"", "storms"} if name.startswith(_STORM_FIELDS) else {"", "frames"}
        if name.endswith(_LAST_STORM):
            kinds.add("last")
        return name.startswith(_STORM_STATISTICS) and self._only in kinds


class CountersNegative(Fault):
    """PFC receive counters are published 1000 below what the hardware counted, so they begin negative, as after a
    clear that was taken off twice (buildimage#5206).
    """

    name = "counters-negative"

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """The PFC receive counters less 1000."""
        return {name: str(int(value) - BELOW) if self._meant(name) else value for name, value in fields.items()}

    def _meant(self, name: str) -> bool:
        received = _PFC_RECEIVED.fullmatch(name)
        return received is not None and concerns(self, int(received[1]))


FAULTS: tuple[type[Fault], ...] = (
    WatchdogBlind, WatchdogFalseAlarm, WatchdogAnyPause, WatchdogPollsAddUp, WatchdogLate, WatchdogLeaks,
    WatchdogActionMissing, WatchdogWide, WatchdogHitsAnother, WatchdogOnePortOnly, WatchdogRestoresInStorm,
    WatchdogCalmAddsUp, WatchdogNeverRestores, WatchdogRestoresLate, WatchdogUndoMissing, WatchdogSecondStormMissed,
    WatchdogUncounted, WatchdogStopIgnored, AgingStaysOn, SwitchReboots, PfcRemovalIgnored, CountersFrozen,
    CountersLate, DropsUncounted, WatermarksFrozen, CountersNegative, PfcLostWithWatchdog)
