"""The watchdog's cases on switches whose watchdog is broken: one virtual testbed for all. And FLAP-6, which is WD-2 on
a port that has been restarted."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from scripts.campaign.broken_testbed import SWITCH
from scripts.campaign.entries import ROOT
from scripts.tests.broken import (
    HEALTHY_RX, HEALTHY_TX, Bench, Case, broken_bench, compare, documented_checks, documented_faults, healthy,
    passed_as_documented, wreck,
)
from tests.common.pfc.cases.restarted import SHUTDOWN_WATCHED
from tests.common.pfc.cases.watchdog_cases import CASES as PLAN
from tests.common.pfc.cases.watchdog.actions import (
    ACTION_CHANGED, ALERTED, DROP_SEVERAL, DROP_SINGLE, FORWARD_ALL, MIXED_SPEED,
)
from tests.common.pfc.cases.watchdog.all_to_all import DROP_ALL_TO_ALL, FORWARD_ALL_TO_ALL
from tests.common.pfc.cases.watchdog.beside import LOSSY_STORM, OTHER_PORT, ROOM
from tests.common.pfc.cases.watchdog.held import HELD
from tests.common.pfc.cases.watchdog.overlapping import OVERLAPPING
from tests.common.pfc.cases.watchdog.quiet import QUIET
from tests.common.pfc.cases.watchdog.repeated import REPEATED
from tests.common.pfc.cases.watchdog.restored import RESTORED, STOPPED
from tests.common.pfc.cases.watchdog.slow_storm import SLOW
from tests.common.pfc.cases.watchdog.timers import BUFFER_CHANGED, ON_TRAFFIC
from tests.common.pfc.lab.dut import READ_CONFIG, parse_config_db
from tests.common.pfc.record.case import PlanCase

PAGE = ROOT / "docs/testplan/wd-watchdog.md"


FILES = {  # ways of being broken that nobody reported; they show that a check can fail
    "nervous.py": '''
from dataclasses import replace

from virtual_testbed.dataplane.model import hooks
from virtual_testbed.dataplane.model.hooks import NOT_OBEYED, NOT_SENT, Fault


class Nervous(Fault):
    """The watchdog sees a storm on each queue, always."""

    name = "nervous"

    def watchdog_sees(self, queue, sample):
        return replace(sample, pfc_rx=sample.time_ps, on2off=0, paused=True)


class Sulking(Fault):
    """Once a storm is over the port pauses its own sender, until there is another storm."""

    name = "sulking"

    def __init__(self, scope, **options):
        super().__init__(scope, **options)
        self.over = set()

    def watchdog_undoes(self, queue, parts):
        self.over.add(queue)
        return parts

    def watchdog_detects(self, queue, storms, detects):
        self.over.discard(queue)
        return detects

    def unasked_period_ps(self, priority, period_ps):
        return 160_000_000 if priority in self.over else period_ps


class TimesKept(Fault):
    """Other times for a watchdog that runs take no effect."""

    name = "times-kept"

    def takes_effect(self, before, config):
        if before is None or before.watchdog is None or config.watchdog is None:
            return config
        kept = replace(config.watchdog, detection_ms=before.watchdog.detection_ms)
        return replace(config, watchdog=kept)


class TenBits(Fault):
    """The upper bits of a detection time are lost."""

    name = "ten-bits"

    def watchdog_detection_ms(self, queue, detection_ms):
        return detection_ms % 1024 or 1024


class Hasty(Fault):
    """A storm is detected at once."""

    name = "hasty"

    def watchdog_detection_ms(self, queue, detection_ms):
        return 1


class Loud(Fault):
    """The action `alert` lets all pass, as `forward` does."""

    name = "loud"

    def watchdog_action(self, queue, action):
        return "forward" if action == "alert" else action


class Together(Fault):
    """What keeps a queue in storm is the pauses of all watched queues of the port."""

    name = "together"

    def __init__(self, *scope, **options):
        super().__init__(*scope, **options)
        self.received = {}

    def watchdog_sees(self, queue, sample):
        self.received[queue] = sample.pfc_rx
        return sample

    def watchdog_sees_in_storm(self, queue, first, others, sample):
        return replace(sample, pfc_rx=sum(self.received.values()))


class Restarted(Fault):
    """The watchdog of a port that is shut down is lost, until it is started anew."""

    name = "restarted"
    watchdog = None

    def takes_effect(self, before, config):
        if before is not None and before.admin_up and not config.admin_up:
            self.watchdog = config.watchdog
        if config.watchdog is None:
            self.watchdog = None
        return replace(config, watchdog=None) if config.watchdog == self.watchdog else config


class Beside(Fault):
    """When a storm is over that was detected while another port had one, pauses stay switched off."""

    name = "beside"
    is_beside = False

    def watchdog_detects_beside(self, queue, ports, detects):
        self.is_beside = bool(ports)
        return detects

    def watchdog_undoes(self, queue, parts):
        return parts - {NOT_OBEYED, NOT_SENT} if self.is_beside else parts


class Busy(Fault):
    """Pauses take effect 3 us later while the port is watched."""

    name = "busy"

    def takes_effect(self, before, config):
        late_ps = 0 if config.watchdog is None else 3_000_000
        return replace(config, response_ps=config.response_ps + late_ps)


class HalfRoom(Fault):
    """Headroom is half of what its profile says while the port is watched."""

    name = "half-room"

    def takes_effect(self, before, config):
        if config.watchdog is None:
            return config
        groups = {number: replace(group, xoff=group.xoff // 2) for number, group in config.priority_groups.items()}
        return replace(config, priority_groups=groups)


class Distracted(Fault):
    """While the watchdog acts on a queue one in four of its pauses is not counted."""

    name = "distracted"

    def __init__(self, *scope, **options):
        super().__init__(*scope, **options)
        self.storms = {}
        self.seen = {}
        self.missing = {}

    def published(self, key, fields):
        shown = dict(fields)
        if DETECTED in fields:
            self.storms[int(key.split(":")[1])] = int(fields[DETECTED]) - int(fields[RESTORED])
        for queue in range(8):
            name = f"SAI_PORT_STAT_PFC_{queue}_RX_PKTS"
            if name in fields:
                count = int(fields[name])
                came = count - self.seen.get(name, count)
                self.seen[name] = count
                self.missing[name] = self.missing.get(name, 0) + (came // 4 if self.storms.get(queue) else 0)
                shown[name] = str(count - self.missing[name])
        return shown


DETECTED, RESTORED = (f"PFC_WD_QUEUE_STATS_DEADLOCK_{what}" for what in ("DETECTED", "RESTORED"))


class WatchedAlone(Fault):
    """Received pauses of classes that are not watched are not counted while the port is watched."""

    name = "watched-alone"
    is_watched = False

    def __init__(self, *scope, **options):
        super().__init__(*scope, **options)
        self.kept = {}

    def takes_effect(self, before, config):
        self.is_watched = config.watchdog is not None
        return config

    def published(self, key, fields):
        found = {name: fields[name] for name in UNWATCHED if name in fields}
        self.kept = {**found, **self.kept} if self.is_watched else found
        return {**fields, **{name: self.kept[name] for name in found}}


UNWATCHED = [f"SAI_PORT_STAT_PFC_{priority}_RX_PKTS" for priority in (0, 1, 2, 5, 6, 7)]


class EndsUnseen(Fault):
    """That a pause ended between two polls is not counted."""

    name = "ends-unseen"

    def watchdog_sees(self, queue, sample):
        return replace(sample, on2off=0)


class Fed(Fault):
    """While the port is watched 802.3x pauses (`by` 0001), or PFC without an enable bit (0101), begin a storm."""

    name, options = "fed", ("by",)
    is_fed = False

    def parse(self, frame, reading):
        code = frame[14:16].hex()
        self.is_fed |= code == self.values["by"] and (code == "0001" or not any(frame[16:18]))
        return reading

    def takes_effect(self, before, config):
        self.is_fed &= config.watchdog is not None
        return config

    def watchdog_sees(self, queue, sample):
        return replace(sample, pfc_rx=sample.time_ps, on2off=0, paused=True) if self.is_fed else sample


class StopsAll(Fault):
    """A port is not watched any more when the watchdog of another port with this fault is stopped."""

    name = "stops-all"
    running, lost = vars(hooks).setdefault("stopping", ({}, {}))  # this file is executed for each fault anew

    def takes_effect(self, before, config):
        was = self.running.get(config.name)
        self.running[config.name] = config.watchdog
        if was is not None and config.watchdog is None:
            self.lost.clear()
            self.lost.update({port: found for port, found in self.running.items() if found is not None})
        return replace(config, watchdog=None) if config.watchdog in (self.lost.get(config.name),) else config


class MaskCleared(Fault):
    """The action on a storm switches off the sending of pauses for every class of the port."""

    name = "mask-cleared"

    def __init__(self, scope, **options):
        super().__init__(scope, **options)
        self.storms = set()

    def watchdog_action(self, queue, action):
        self.storms.add(queue)
        return action

    def watchdog_undoes(self, queue, parts):
        self.storms.discard(queue)
        return parts

    def xoff_priorities(self, group, priorities):
        return frozenset() if self.storms else priorities


class Overlooked(Fault):
    """A storm that is over at the first poll after its detection stays one."""

    name = "overlooked"

    def __init__(self, scope, **options):
        super().__init__(scope, **options)
        self.new, self.lost = set(), set()

    def watchdog_detects(self, queue, storms, detects):
        self.new.add(queue)
        return detects

    def watchdog_sees_in_storm(self, queue, first, others, sample):
        goes_on = sample.pfc_rx - first.pfc_rx > 500  # of the 596 pauses that a storm has between two polls
        self.lost |= set() if goes_on else {queue} & self.new
        self.new.discard(queue)
        return sample

    def watchdog_restores(self, queue, restores):
        return restores and queue not in self.lost

    def watchdog_undoes(self, queue, parts):
        self.lost.discard(queue)
        return parts


class Flushing(Fault):
    """The action `forward` discards what a queue holds when it begins."""

    name = "flushing"

    def watchdog_flushes(self, queue, action, flushes):
        return flushes or action == "forward"


class Stuck(Fault):
    """The action `forward` is done once nothing waits: what a queue holds when its storm is detected stays."""

    name = "stuck"
    occupancy = 0

    def watchdog_sees(self, queue, sample):
        self.occupancy = sample.occupancy
        return sample

    def watchdog_action(self, queue, action):
        return "alert" if action == "forward" and self.occupancy else action


class Awaiting(Fault):
    """A queue in storm is not restored before those of other ports with this fault whose storms began later."""

    name = "awaiting"
    storms = vars(hooks).setdefault("awaiting", [])  # this file is executed for each fault anew

    def watchdog_detects_beside(self, queue, ports, detects):
        self.storms.extend([(self.scope.port, queue)] if detects else [])
        return detects

    def watchdog_restores(self, queue, restores):
        later = self.storms[self.storms.index((self.scope.port, queue)):]
        return restores and all(port == self.scope.port for port, _ in later)

    def watchdog_undoes(self, queue, parts):
        self.storms.remove((self.scope.port, queue))
        return parts


class Shared(Fault):
    """The end of a storm of another port with this fault is taken for the end of the port's own."""

    name = "shared"
    ended = vars(hooks).setdefault("shared", {})  # this file is executed for each fault anew

    def watchdog_detects(self, queue, storms, detects):
        self.ended.pop(queue, None)
        return detects

    def watchdog_undoes(self, queue, parts):
        self.ended[queue] = self.scope.port
        return parts

    def watchdog_sees_in_storm(self, queue, first, others, sample):
        is_taken = self.ended.get(queue, self.scope.port) != self.scope.port
        return replace(sample, pfc_rx=first.pfc_rx) if is_taken else sample
''',
}
# Each pair has what can be told apart in one run.
BLIND, NERVOUS = ("Ethernet4", HEALTHY_TX), ("Ethernet8", "Ethernet80")
FALSE_ALARM, LATE, HASTY = ("Ethernet12", HEALTHY_TX), ("Ethernet16", HEALTHY_TX), ("Ethernet20", HEALTHY_TX)
LEAKS, WIDE, SHORT = ("Ethernet24", HEALTHY_TX), ("Ethernet28", HEALTHY_TX), ("Ethernet48", HEALTHY_TX)
SECOND, THIRD, SIXTEENTH = ("Ethernet32", HEALTHY_TX), ("Ethernet36", HEALTHY_TX), ("Ethernet120", HEALTHY_RX)
UNDONE, UNPAUSED = ("Ethernet40", HEALTHY_TX), ("Ethernet44", HEALTHY_TX)
LAST = ("Ethernet56", HEALTHY_TX)
ANY, FORWARDS, AGAIN = ("Ethernet60", HEALTHY_TX), ("Ethernet100", HEALTHY_RX), ("Ethernet104", HEALTHY_RX)
ANOTHER, AS_PASSED, RECEIVED = ("Ethernet108", HEALTHY_RX), ("Ethernet112", HEALTHY_RX), ("Ethernet116", HEALTHY_RX)
LOUD, UNHELD = ("Ethernet124", HEALTHY_RX), (HEALTHY_RX, "Ethernet84")
TOGETHER, RESTARTED = ("Ethernet72", HEALTHY_RX), ("Ethernet76", HEALTHY_RX)
BUSY, UNTIMELY = ("Ethernet92", HEALTHY_RX), ("Ethernet96", "Ethernet20")
ROOMLESS, ALONE, STOPPING = (HEALTHY_RX, "Ethernet68"), ("Ethernet60", HEALTHY_TX), ("Ethernet68", "Ethernet40")
UNSENT, ADDED = ("Ethernet88", HEALTHY_RX), ("Ethernet112", HEALTHY_RX)
SLOW_MISSED, CLEARED, UNTAKEN = UNSENT, ("Ethernet52", HEALTHY_TX), ("Ethernet96", HEALTHY_RX)
OTHER = "watchdog-wide@Ethernet52,priority=4,also=3"
FAULTS = (
    "watchdog-blind@Ethernet4", "pfc-not-counted@Ethernet4", "lossless-dropped@Ethernet4,one_in=4",
    "lossy-dropped@Ethernet4,one_in=4", "watchdog-never-restores@Ethernet8", "nervous.py:Nervous@Ethernet80",
    "lossless-dropped@Ethernet80,one_in=4",
    "watchdog-false-alarm@Ethernet12", "watchdog-late@Ethernet16", "nervous.py:Hasty@Ethernet20",
    "watchdog-leaks@Ethernet24", "watchdog-uncounted@Ethernet24,only=storms", "watchdog-wide@Ethernet28",
    "watchdog-uncounted@Ethernet28,only=frames", "counted-short@Ethernet48,of=watchdog-drops",
    "watchdog-one-port-only@Ethernet48",
    "watchdog-second-storm-missed@Ethernet32", "nervous.py:EndsUnseen@Ethernet32",
    "nervous.py:Fed@Ethernet32,by=0001", "nervous.py:Fed@Ethernet120,by=0101",
    "watchdog-second-storm-missed@Ethernet36,after=2", "watchdog-undo-missing@Ethernet40",
    "watchdog-undo-missing@Ethernet44,only=pfc", "watchdog-uncounted@Ethernet56,only=last", OTHER,
    "watchdog-any-pause@Ethernet60", "watchdog-action-kept@Ethernet100", "watchdog-restores-in-storm@Ethernet104",
    "watchdog-hits-another@Ethernet108,priority=3,to=4", "watchdog-drops-counted-as-sent@Ethernet112",
    "nervous.py:Loud@Ethernet124", "xoff-not-sent@Ethernet84,priority=3", "xoff-wrong-priority@Ethernet84,priority=4",
    "watchdog-leaks@Ethernet116,only=received", "watchdog-second-storm-missed@Ethernet120,after=15",
    "nervous.py:Together@Ethernet72", "nervous.py:Restarted@Ethernet76", "nervous.py:Beside@Ethernet56",
    "nervous.py:Busy@Ethernet92", "pause-short@Ethernet96,quanta=500", "xon-not-sent@Ethernet20,priority=3",
    "watchdog-undo-missing@Ethernet88,only=sending", "pfc-lost-with-watchdog@Ethernet92",
    "nervous.py:HalfRoom@Ethernet68", "nervous.py:WatchedAlone@Ethernet60", "nervous.py:StopsAll@Ethernet68",
    "nervous.py:StopsAll@Ethernet40", "watchdog-polls-add-up@Ethernet112,priority=3",
    "nervous.py:TenBits@Ethernet116", "nervous.py:TimesKept@Ethernet36",
    "nervous.py:Sulking@Ethernet112,priority=4", "nervous.py:Distracted@Ethernet72",
    "watchdog-calm-adds-up@Ethernet100", "watchdog-restores-in-storm@Ethernet88,one_in=100",
    "watchdog-undo-missing@Ethernet96,only=received", "nervous.py:Awaiting@Ethernet20",
    "nervous.py:MaskCleared@Ethernet52", "pause-ignored@Ethernet84", "nervous.py:Overlooked@Ethernet76",
    "nervous.py:Flushing@Ethernet52", "nervous.py:Stuck@Ethernet44",
    "nervous.py:Awaiting@Ethernet68", "nervous.py:Shared@Ethernet60", "nervous.py:Shared@Ethernet68",
)


BLIND_ACTION = ("storm-detected storm-counted sender-not-held no-back-pressure frames-counted restoration-counted "
                "resumed background-unaffected clean-flow every-pause-counted")
BLIND_PORTS = ("stormed-queues stormed-queues-later stormed-queues-last storms-counted sender-not-held"
               " no-back-pressure resumed other-ports-unaffected background-unaffected clean-flow")
NERVOUS_ACTION = "no-other-storm restored restoration-counted frames-counted resumed"
NERVOUS_PORTS = "stormed-queues stormed-queues-later stormed-queues-last restored storms-counted other-ports-unaffected"
UNSEEN = "storm-detected storm-counted frames-counted restoration-counted"
MISSED = f"{UNSEEN} dropped-in-storm sender-not-held no-back-pressure"
TIMES = "detection-time restoration-time storms-counted drops-counted"
CASES = [
    wreck(BLIND, DROP_SINGLE, "FAIL FAIL", f"{BLIND_ACTION} dropped-in-storm",
          "Ethernet4 priority 3: expected the queue stormed in the storm, got operational"),
    wreck(BLIND, DROP_SEVERAL, "FAIL FAIL", f"{BLIND_ACTION} dropped-in-storm",
          "Ethernet4 priority 4: expected 0 frames from Ethernet4 to Ethernet64 received in the storm, got "),
    wreck(BLIND, FORWARD_ALL, "FAIL FAIL", f"{BLIND_ACTION} forwarded-in-storm",
          "Ethernet4 priority 3: expected all ... frames from Ethernet64 to Ethernet4 received in the storm, got 0"),
    wreck(BLIND, QUIET, "FAIL FAIL", "every-pause-counted nothing-lost background-unaffected clean-flow",
          "Ethernet4 priority 3: expected all ... frames received once all pauses were over, got "),
    wreck(BLIND, ON_TRAFFIC, "FAIL FAIL", f"{TIMES} forwarded-in-storm background-unaffected clean-flow",
          "Ethernet4 priority 3: expected 4 storms counted as detected and restored, got 0 and 0"),
    wreck(BLIND, DROP_ALL_TO_ALL, "FAIL FAIL", f"{BLIND_PORTS} dropped-in-storm",
          "Ethernet4 priorities 3, 4: expected Ethernet4:3, Ethernet4:4 in storm, all others operational, got none"),
    wreck(BLIND, FORWARD_ALL_TO_ALL, "FAIL FAIL", f"{BLIND_PORTS} forwarded-in-storm",
          "Ethernet68 priority 3: expected at least ... frames from Ethernet68 to Ethernet4 sent in the storm, got "),
    wreck(BLIND, BUFFER_CHANGED, "FAIL FAIL",
          f"{TIMES} background-unaffected clean-flow",
          "Ethernet4 priority 3: expected detection 200 to 300 ms after the storm began (smaller threshold), got "),
    wreck(BLIND, ALERTED, "FAIL FAIL", "storm-detected storm-counted restoration-counted resumed held-frames-drained"
          " background-unaffected clean-flow every-pause-counted",
          "Ethernet4 priority 3: expected all ... frames from Ethernet64 to Ethernet4 received once the storm had"),
    wreck(BLIND, OVERLAPPING, "FAIL FAIL", "storm-detected storm-counted restoration-counted dropped-in-storm"
          " sender-not-held no-back-pressure resumed background-unaffected clean-flow",
          "Ethernet4 priority 4: expected the queue stormed while its own storm went on, got operational"),
    wreck(BLIND, HELD, "FAIL FAIL", "every-pause-counted nothing-lost background-unaffected clean-flow",
          "Ethernet4 priority 3: expected "),
    wreck(NERVOUS, HELD, "FAIL PASS", "no-other-storm resumed nothing-lost",
          "Ethernet80 priority 3: expected no storm on any other queue, got "),
    wreck(NERVOUS, DROP_SINGLE, "FAIL PASS", f"{NERVOUS_ACTION} background-unaffected",
          "Ethernet8 priority 3: expected the queue operational after the storm, got stormed"),
    wreck(NERVOUS, FORWARD_ALL, "FAIL PASS", f"{NERVOUS_ACTION} forwarded-in-storm",
          "Ethernet8 priority 3: expected 1 storm counted as restored, got 0"),
    wreck(NERVOUS, QUIET, "FAIL PASS", "no-other-storm nothing-lost",
          "Ethernet80 priority 3: expected no storm on any other queue, got "),
    wreck(NERVOUS, ON_TRAFFIC, "FAIL PASS", f"{TIMES} forwarded-in-storm no-other-storm",
          "Ethernet80 priority 3: expected no storm on any other queue, got "),
    wreck(NERVOUS, DROP_ALL_TO_ALL, "FAIL PASS", f"{NERVOUS_PORTS} resumed",
          "Ethernet80 priorities 3, 4: expected no queue in storm, all others operational, got Ethernet80:3, "),
    wreck(NERVOUS, FORWARD_ALL_TO_ALL, "FAIL PASS", f"{NERVOUS_PORTS} forwarded-in-storm",
          "Ethernet8 priorities 3, 4: expected no queue in storm, all others operational, got Ethernet8:3, "),
    wreck(NERVOUS, ALERTED, "FAIL PASS", "no-other-storm restored restoration-counted forwarded-in-storm resumed",
          "Ethernet8 priority 3: expected the queue operational after the storm, got stormed"),
    wreck(NERVOUS, OVERLAPPING, "FAIL PASS", "no-other-storm restored restoration-counted resumed held-frames-drained",
          "Ethernet8 priority 3: expected the queue operational once its own storm had stopped, got stormed"),
    wreck(FALSE_ALARM, QUIET, "FAIL PASS", "no-storm-detected nothing-lost",
          "Ethernet12 priority 3: expected no storm detected in pauses that are shorter than a storm, got "),
    wreck(SHORT, ON_TRAFFIC, "FAIL PASS", "drops-counted",
          "Ethernet48 priority 3: expected the ... frames that were lost in `pfcwd show stats` TX DROP, got "),
    wreck(SHORT, DROP_ALL_TO_ALL, "FAIL PASS", "stormed-queues-later dropped-in-storm sender-not-held no-back-pressure",
          "Ethernet48 priorities 3, 4: expected Ethernet48:3, Ethernet48:4 in storm, all others "
          "operational (Ethernet68 the first to have a storm), got none"),
    wreck(HASTY, DROP_ALL_TO_ALL, "FAIL PASS", "stormed-queues-last other-ports-unaffected",
          "Ethernet20 priorities 3, 4: expected no queue in storm, all others operational, got Ethernet20:3, "),
    wreck(HASTY, FORWARD_ALL_TO_ALL, "FAIL PASS", "stormed-queues-last",
          "Ethernet20 priorities 3, 4: expected no queue in storm, all others operational, got Ethernet20:3, "),
    wreck(ALONE, DROP_ALL_TO_ALL, "FAIL PASS", "storms-counted dropped-in-storm sender-not-held no-back-pressure",
          "Ethernet68 priority 3: expected 1 storms counted as detected and restored, got 2 and 2"),
    wreck(LATE, ON_TRAFFIC, "FAIL PASS", "detection-time restoration-time storms-counted",
          "Ethernet16 priority 3: expected detection 100 to 200 ms after the storm began (detection 100, restoration "
          "400, polls 100 ms), got "),
    wreck(HASTY, ON_TRAFFIC, "FAIL PASS", "detection-time",
          "Ethernet20 priority 3: expected detection 400 to 600 ms after the storm began"),
    wreck(LEAKS, DROP_SINGLE, "FAIL PASS", "dropped-in-storm frames-counted storm-counted restoration-counted",
          "Ethernet24 priority 3: expected 0 frames from Ethernet64 to Ethernet24 received in the storm, got "),
    wreck(LAST, DROP_SINGLE, "FAIL PASS", "frames-counted",
          "Ethernet56 priority 3: expected 0/... in `pfcwd show stats` TX LAST OK/DROP, got 0/0"),
    wreck(LAST, DROP_ALL_TO_ALL, "FAIL PASS", "stormed-queues stormed-queues-later storms-counted dropped-in-storm"
          " sender-not-held no-back-pressure",
          "Ethernet56 priorities 3, 4: expected Ethernet56:3, Ethernet56:4 in storm, all others operational, got none"),
    wreck(LAST, FORWARD_ALL_TO_ALL, "FAIL PASS", "stormed-queues stormed-queues-later storms-counted",
          "Ethernet56 priorities 3, 4: expected Ethernet56:3, Ethernet56:4 in storm, all others operational, got none"),
    wreck(SECOND, REPEATED, "FAIL PASS", f"{MISSED} storms-counted",
          "Ethernet32 priority 3: expected the queue stormed in the storm (storm 2 of 16), got operational"),
    wreck(SIXTEENTH, REPEATED, "FAIL PASS", MISSED,
          "Ethernet120 priority 3: expected the queue stormed in the storm (storm 16 of 16), got operational"),
    wreck(THIRD, REPEATED, "FAIL PASS", f"{MISSED} storms-counted",
          "Ethernet36 priority 3: expected the queue stormed in the storm (storm 16 of 16), got operational"),
    wreck(UNDONE, REPEATED, "FAIL PASS", f"{UNSEEN} resumed storms-counted",
          "Ethernet40 priority 3: expected all ... frames from Ethernet64 to Ethernet40 received after the storm "
          "(storm 1 of 16), got 0"),
    wreck(UNPAUSED, REPEATED, "FAIL PASS", f"{UNSEEN} dropped-in-storm storms-counted",
          "Ethernet44 priority 3: expected the queue stormed in the storm (storm 2 of 16), got operational"),
    wreck(RESTARTED, REPEATED, "FAIL PASS",
          "storms-counted storm-counted restored restoration-counted frames-counted resumed",
          "Ethernet76 priority 3: expected as many of 5 brief storms counted as restored as detected, the queue"
          " operational, got "),
    wreck(ANY, QUIET, "FAIL PASS", "no-storm-detected nothing-lost",
          "Ethernet60 priority 3: expected no storm detected in pauses that are shorter than a storm, got 1"),
    wreck(ADDED, QUIET, "FAIL PASS", "no-storm-detected nothing-lost",
          "Ethernet112 priority 3: expected no storm detected in pauses that are shorter than a storm, got 1"),
    wreck(SECOND, QUIET, "FAIL PASS", "no-storm-detected nothing-lost",
          "Ethernet32 priority 3: expected no storm detected in pauses that are shorter than a storm, got 1"),
    wreck(RECEIVED, ON_TRAFFIC, "FAIL PASS", "detection-time",
          "Ethernet116 priority 3: expected detection 1200 to 1400 ms after the storm began (detection 1200, "
          "restoration 1400, polls 200 ms), got "),
    wreck(CLEARED, ON_TRAFFIC, "FAIL PASS", "forwarded-in-storm",
          "Ethernet52 priority 3: expected all ... frames received (action forward, detection 200, restoration 200, "),
    wreck(UNPAUSED, ON_TRAFFIC, "FAIL PASS", "detection-time",
          "Ethernet44 priority 3: expected detection 200 to 300 ms after the storm began (action forward, detection"),
    wreck(THIRD, ACTION_CHANGED, "FAIL PASS", "dropped-in-storm sender-not-held no-back-pressure frames-counted",
          "Ethernet36 priority 3: expected 0 frames from Ethernet36 to Ethernet64 received in the storm, got "),
    wreck(FORWARDS, ACTION_CHANGED, "FAIL PASS", "dropped-in-storm frames-counted",
          "Ethernet100 priority 3: expected 0 frames from Ethernet0 to Ethernet100 received in the storm, got "),
    wreck(AGAIN, DROP_SINGLE, "FAIL PASS",
          "storm-counted restoration-counted dropped-in-storm sender-not-held no-back-pressure frames-counted",
          "Ethernet104 priority 3: expected no storm counted as restored in the storm, got 11"),
    wreck(ANOTHER, DROP_SINGLE, "FAIL PASS",
          "background-unaffected dropped-in-storm sender-not-held no-back-pressure frames-counted",
          "Ethernet108 priority 4: expected all ... frames from Ethernet0 to Ethernet108 received in the storm, got 0"),
    wreck(ANOTHER, FORWARD_ALL, "FAIL PASS", "forwarded-in-storm sender-not-held no-back-pressure",
          "Ethernet108 priority 3: expected all ... frames from Ethernet0 to Ethernet108 received in the storm, got 0"),
    wreck(AS_PASSED, DROP_SINGLE, "FAIL PASS", "frames-counted",
          "Ethernet112 priority 3: expected 0/... in `pfcwd show stats` TX OK/DROP, got .../0"),
    wreck(TOGETHER, DROP_SINGLE, "FAIL PASS", "every-pause-counted",
          "Ethernet72 priority 3: expected ... PFC frames in the receive counter once the storm had stopped, got "),
    wreck(RECEIVED, DROP_SINGLE, "FAIL PASS", "dropped-in-storm frames-counted",
          "Ethernet116 priority 3: expected 0 frames from Ethernet116 to Ethernet0 received in the storm, got "),
    wreck(AS_PASSED, ALERTED, "FAIL PASS", "sender-not-held",
          "Ethernet112 priority 4: expected at least ... frames from Ethernet112 to Ethernet0 sent after the storm, "),
    wreck(LOUD, ALERTED, "FAIL PASS", "held-in-storm storm-counted restoration-counted",
          "Ethernet124 priority 3: expected 0 frames from Ethernet0 to Ethernet124 received in the storm, got "),
    wreck(UNHELD, HELD, "FAIL FAIL", "no-other-back-pressure nothing-lost",
          "Ethernet84 priority 0: expected 0 PFC frames sent out of Ethernet84, got "),
    wreck(UNHELD, ALERTED, "FAIL FAIL", "back-pressure no-back-pressure held-frames-drained",
          "Ethernet84 priority 3: expected more than 0 PFC frames sent out of Ethernet84 in the storm, got 0"),
    wreck(AGAIN, STOPPED, "FAIL PASS", "storm-counted restoration-counted",
          "Ethernet104 priority 3: expected no storm counted as restored in the storm, got "),
    wreck(RESTARTED, SHUTDOWN_WATCHED, "FAIL PASS", f"{MISSED} restored",
          "Ethernet76 priority 3: expected the queue stormed in the storm (after the port was started), got N/A"),
    wreck(TOGETHER, OVERLAPPING, "FAIL PASS", "restored restoration-counted resumed",
          "Ethernet72 priority 3: expected the queue operational once its own storm had stopped, got stormed"),
    wreck(CLEARED, OVERLAPPING, "FAIL PASS", "back-pressure held-frames-drained resumed",
          "Ethernet52 priority 4: expected more than 0 PFC frames sent out of Ethernet52 to hold the sender, in a storm"
          " of another priority on its port, got 0"),
    wreck(UNHELD, OVERLAPPING, "FAIL PASS", "held-in-storm back-pressure",
          "Ethernet84 priority 4: expected 0 frames from Ethernet0 to Ethernet84 received in a storm of another"),
    wreck(BUSY, HELD, "FAIL PASS", "stopped-in-time resumed",
          "Ethernet92 priority 3: expected at most 9 frames received from the beginning of storm 1 to its end, got "),
    wreck(BUSY, STOPPED, "FAIL PASS", "blocked-while-paused held-within-buffer back-pressure held-frames-drained",
          "Ethernet92 priority 3: expected 0 frames received while paused (once the watchdog was stopped in a storm)"),
    wreck(UNTIMELY, HELD, "FAIL PASS", "held-to-the-end sender-resumed",
          "Ethernet20 priority 3: expected frames sent soon after storm 2, as XON lets the sender go before its pause "
          "lapses, got 0"),
    wreck(UNSENT, RESTORED, "FAIL PASS", "back-pressure held-within-buffer held-frames-drained",
          "Ethernet88 priority 3: expected more than 0 PFC frames sent out of Ethernet88 to hold the sender (the ports"
          " having changed places), got 0"),
    wreck(UNSENT, STOPPED, "FAIL PASS", "back-pressure held-within-buffer held-frames-drained",
          "Ethernet88 priority 3: expected more than 0 PFC frames sent out of Ethernet88 to hold the sender (once the"
          " watchdog was stopped in a storm, the ports having changed places), got 0"),
    wreck(UNTAKEN, STOPPED, "FAIL PASS", "back-pressure held-within-buffer held-frames-drained resumed",
          "Ethernet0 priority 3: expected all ... frames from Ethernet96 to Ethernet0 received in traffic without a"),
    wreck(BLIND, STOPPED, "FAIL FAIL", "storm-detected storm-counted clean-flow pause-counted every-pause-counted"
          " held-frames-drained resumed background-unaffected",
          "Ethernet4 priority 3: expected the queue stormed in the storm, got operational"),
    wreck(BLIND, RESTORED, "FAIL FAIL", "storm-detected storm-counted restoration-counted clean-flow",
          "Ethernet4 priority 3: expected the queue stormed in the storm, got operational"),
    wreck(NERVOUS, RESTORED, "FAIL PASS",
          "restored restoration-counted back-pressure held-within-buffer held-frames-drained resumed",
          "Ethernet8 priority 3: expected the queue operational after the storm, got stormed"),
    wreck(ROOMLESS, ROOM, "FAIL -", "headroom-full",
          "Ethernet68 priority 3: expected at least 165361 of the 165568 bytes used before frames are dropped, got 8"),
    wreck(NERVOUS, ROOM, "FAIL -", "no-storm-detected back-pressure headroom-full xoff-threshold",
          "Ethernet80 priority 3: expected no storm detected, got one"),
    wreck(ALONE, LOSSY_STORM, "PASS FAIL", "pause-counted every-pause-counted",
          "Ethernet60 priority 0: expected more than 0 PFC frames in the receive counter, got 0"),
    wreck(SECOND, LOSSY_STORM, "FAIL PASS", "no-storm-detected test-unaffected",
          "Ethernet32 priority 3: expected no storm detected in a storm of 802.3x pause frames, got one"),
    wreck(SIXTEENTH, LOSSY_STORM, "FAIL PASS", "no-storm-detected test-unaffected",
          "Ethernet120 priority 4: expected no storm detected in a storm of PFC without an enable bit, got one"),
    wreck(NERVOUS, LOSSY_STORM, "FAIL PASS", "no-storm-detected background-unaffected",
          "Ethernet80 priority 3: expected no storm detected, got one"),
    wreck(STOPPING, OTHER_PORT, "FAIL -", "storm-detected restoration-counted restored",
          "Ethernet68 priority 3: expected the queue stormed while the watchdog of the tx port was stopped and"),
    wreck(SLOW_MISSED, SLOW, "FAIL -", "storm-detected restoration-counted",
          "Ethernet88 priority 3: expected the queue stormed while 3 pauses came in a second, got operational"),
    wreck(FORWARDS, SLOW, "FAIL -", "storm-detected restoration-counted",
          "Ethernet100 priority 3: expected the queue stormed while 3 pauses came in a second, got operational"),
    wreck(NERVOUS, SLOW, "FAIL -", "restored restoration-counted no-other-storm",
          "Ethernet8 priority 3: expected the queue operational after the storm, got stormed"),
    wreck(BLIND, SLOW, "FAIL FAIL", "storm-detected storm-counted restoration-counted clean-flow",
          "Ethernet4 priority 3: expected the queue stormed while 3 pauses came in a second, got operational"),
    wreck(NERVOUS, OTHER_PORT, "FAIL -", "no-other-storm restored restoration-counted",
          "Ethernet80 priority 3: expected no storm on any other queue, got "),
    wreck(BLIND, OTHER_PORT, "FAIL FAIL", "storm-detected storm-counted restoration-counted clean-flow",
          "Ethernet4 priority 3: expected the queue stormed while"),
    wreck(WIDE, DROP_SINGLE, "FAIL FAIL", "background-unaffected frames-counted",
          "Ethernet28 priority 0: expected all ... frames from Ethernet64 to Ethernet28 received in the storm, got 0"),
    Case(OTHER, "FAIL", "PASS", frozenset({"background-unaffected"}),
         f"{SWITCH} Ethernet52 priority 3: expected all ... frames from Ethernet64 to Ethernet52 received in the storm,"
         " got 0", DROP_SINGLE),
]
# Cases that are judged by the same code as another one, which then shows for both that a check can fail.
AS = {DROP_SEVERAL: DROP_SINGLE, BUFFER_CHANGED: ON_TRAFFIC, MIXED_SPEED: DROP_SINGLE, REPEATED: DROP_SINGLE,
      ACTION_CHANGED: DROP_SINGLE}
HERE = [plan for plan in PLAN if plan is not MIXED_SPEED]  # vtb-t0 has ports of one speed only


LIKE = {RESTORED: ("pfc-1-single-lossless.md", "PFC-1"), STOPPED: ("pfc-1-single-lossless.md", "PFC-1"),
        ROOM: ("head-response.md", "HEAD-3"), LOSSY_STORM: ("pfc-3-lossy.md", "PFC-3")}


def also(plan: PlanCase) -> frozenset[str]:
    """The checks of another case that one has, which tests of that one show to fail."""
    page, plan_id = LIKE.get(plan, (PAGE.name, ""))
    return frozenset(documented_checks(PAGE.parent / page, plan_id)) if plan_id else frozenset()


@pytest.mark.parametrize("plan", PLAN, ids=lambda plan: plan.plan_id)
def test_every_check_of_every_test_case_is_failed_by_some_switch(plan: PlanCase) -> None:
    alike = (plan, AS.get(plan))
    failing = [one for one in CASES if one.plan in alike and "FAIL" in (one.lossless, one.lossy)]
    documented = documented_checks(PAGE, plan.plan_id)
    failed = {check for one in failing for check in one.checks if one.plan is plan or check in documented}
    assert failed | also(plan) == documented | also(plan)


def test_every_fault_that_the_documentation_calls_caught_is_here() -> None:
    assert documented_faults("WD") <= {fault.split("@")[0] for fault in FAULTS}


@pytest.fixture(name="bench", scope="module")
def fixture_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """For a testbed with all these faults."""
    with broken_bench(tmp_path_factory.mktemp("broken"), FAULTS, FILES) as bench:
        yield bench


@pytest.mark.slow("a family of the plan, each case on each switch that is broken in its way")
@pytest.mark.parametrize("broken", CASES, ids=lambda broken: f"{broken.plan.plan_id}-{broken.pair[0]}")
def test_every_fault_is_caught_and_nothing_else(bench: Bench, broken: Case) -> None:
    compare(bench.judge(broken), broken)


@pytest.mark.slow("each case of a family on a healthy port")
@pytest.mark.parametrize("plan", HERE, ids=lambda plan: plan.plan_id)
def test_a_healthy_port_passes_every_test_case(bench: Bench, plan: PlanCase) -> None:
    """With exactly the documented checks; the watchdog is stopped afterwards and polls as it was found."""
    passed_as_documented(bench.judge(healthy(plan)), documented_checks(PAGE, plan.plan_id) | also(plan))
    assert bench.dut.reservation is not None
    text = bench.dut.ask({"config": READ_CONFIG})["config"]
    assert parse_config_db(bench.dut.host, text)["PFC_WD"] == {"GLOBAL": bench.dut.reservation.watchdog["GLOBAL"]}


@pytest.mark.slow("a case on a healthy port")
def test_a_healthy_port_that_is_restarted_passes_every_check_of_wd_2(bench: Bench) -> None:
    passed_as_documented(bench.judge(healthy(SHUTDOWN_WATCHED)), documented_checks(PAGE, DROP_SEVERAL.plan_id))
