"""The families TIME, CLASS, SENT and FLAP on broken switches: one virtual testbed, every check of every case failed by
some port, and a healthy port that passes all of them."""
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from scripts.campaign.broken_testbed import SWITCH
from scripts.campaign.entries import ROOT
from scripts.tests.broken import (
    Bench, Case, broken_bench, compare, documented_checks, documented_faults, healthy, passed_as_documented,
    wreck,
)
from tests.common.pfc.cases import class_pauses, flap, sent_pauses as sent, timing, timing_storms
from tests.common.pfc.lab.capture import Capture
from tests.common.pfc.lab.capture_file import read_capture
from tests.common.pfc.record.case import PlanCase

SLOW = pytest.mark.slow("three families of the plan, each case on each switch that is broken in its way")

FILE = "wrongly.py"
FILES = {FILE: '''
from dataclasses import replace

from virtual_testbed.dataplane.model.hooks import Fault


class _Sent(Fault):
    """Pause frames that enable the priority of the scope are sent with other bytes."""

    changes = {}

    def emitted(self, frame):
        wrong = bytearray(frame)
        for at, byte in self.changes.items():
            wrong[at] = byte
        return bytes(wrong) if frame[17] >> self.scope.priority & 1 else frame


class Odd(_Sent):
    """From a group address; with a reserved bit, a time for a priority that is not enabled, and a padding of ones."""

    name = "odd"
    changes = {6: 0x03, 16: 1, 19: 5, 59: 1}


class Longer(_Sent):
    """64 bytes longer than MAC control is, all of them zero."""

    name = "longer"

    def emitted(self, frame):
        return frame + bytes(64) if frame[17] >> self.scope.priority & 1 else frame


class Stale(_Sent):
    """They pause class 3 too, which may have been told to go on."""

    name = "stale"
    changes = {17: 0x18, 24: 0xFF, 25: 0xFF}


class Together(Fault):
    """Class 3 is paused, and told to go on, when class 4 is."""

    name = "together"

    def emitted(self, frame):
        return frame[:17] + bytes([0x18]) + frame[18:24] + 2 * frame[26:28] + frame[28:] if frame[17] == 0x10 else frame

    def sends_xon(self, priority, sends):
        return priority != 3


class NoTime(_Sent):
    """They have no time for class 3."""

    name = "no-time"
    changes = {24: 0, 25: 0}


class ZeroBeside(_Sent):
    """They enable the other lossless class too, with a time of 0."""

    name = "zero-beside"
    changes = {17: 0x18}


class OtherDestination(_Sent):
    """To 01:80:C2:00:00:02."""

    name = "other-destination"
    changes = {5: 2}


class OtherType(_Sent):
    """With ether type 0x8809."""

    name = "other-type"
    changes = {13: 9}


class OtherCode(_Sent):
    """With operation code 0x0102."""

    name = "other-code"
    changes = {15: 2}


class Sluggish(Fault):
    """Pauses last eight times too long, every other frame is dropped, pauses received are counted by half."""

    name = "sluggish"

    def parse(self, frame, reading):
        return replace(reading, pauses=tuple((number, min(8 * quanta, 0xFFFF)) for number, quanta in reading.pauses))

    def drop_one_in(self, queue, lossless, frames):
        return 2

    def published(self, key, fields):
        return {name: str(int(value) // 2) if "PFC" in name and name.endswith("_RX_PKTS") else value
                for name, value in fields.items()}


class Ticks(Fault):
    """Pauses last a whole number of ticks of 1024 quanta, rounded up."""

    name = "ticks"

    def timers(self, pauses):
        return tuple((number, min(0xFFFF, -(-quanta // 1024) * 1024)) for number, quanta in pauses)


class Punctual(Fault):
    """Nothing is wrong: a pause acts after a quarter of the time that the standard allows, and ends when its quanta
    are over from the frame on, not later by as much."""

    name = "punctual"

    def response_ps(self, response_ps):
        return response_ps // 4

    def timers(self, pauses):
        return tuple((number, quanta - 98 if quanta > 1200 else quanta) for number, quanta in pauses)


class BriefIgnored(Fault):
    """A pause of less than 32 quanta is none; it is counted."""

    name = "brief-ignored"

    def timers(self, pauses):
        return tuple((number, quanta) for number, quanta in pauses if not 0 < quanta < 32)


class OneTime(Fault):
    """All classes of a frame that pauses several are paused for the longest of its times."""

    name = "one-time"

    def parse(self, frame, reading):
        longest = max([0, *(quanta for number, quanta in reading.pauses)])
        return replace(reading, pauses=tuple((number, longest) for number, quanta in reading.pauses))


class OthersEnd(Fault):
    """Class 3 resumes when a frame does not name it; and that counts for it."""

    name = "others-end"

    def parse(self, frame, reading):
        named = 3 in dict(reading.pauses) or not reading.pauses
        return reading if named else replace(reading, pauses=((3, 0), *reading.pauses))


class LossyResumes(Fault):
    """A frame with a time of 0 for a lossy class resumes all that it enables."""

    name = "lossy-resumes"

    def timers(self, pauses):
        is_one = any(not time for number, time in pauses if number not in (3, 4))
        return tuple((number, 0) for number, _ in pauses) if is_one else pauses


class Rising(Fault):
    """With each poll a drop and a pause are counted that never were; one in four frames is dropped."""

    name = "rising"

    def published(self, key, fields):
        self.polls = getattr(self, "polls", 0) + 1
        wrong = ("SAI_PORT_STAT_IF_OUT_DISCARDS", "SAI_PORT_STAT_PFC_0_RX_PKTS")
        return {name: str(int(value) + self.polls) if name in wrong else value for name, value in fields.items()}

    def drop_one_in(self, queue, lossless, frames):
        return 4


class PausesForDeadPort(Fault):
    """While the port `of` is shut down the port `at` pauses its sender for it; it counts so, that is."""

    name, options, port_options = "pauses-for-dead-port", ("of", "at"), ("of", "at")
    is_shut, pauses = False, 0

    def takes_effect(self, before, config):
        if config.name == self.values["of"]:
            self.is_shut = not config.admin_up
        return config

    def published(self, key, fields):
        counter = "SAI_PORT_STAT_PFC_3_TX_PKTS"
        if key != self.values["at"] or counter not in fields:
            return fields
        self.pauses += 100 * self.is_shut
        return {**fields, counter: str(int(fields[counter]) + self.pauses)}


class _AfterLinkLoss(Fault):
    """Something of the watchdog is lost when the port's link goes down, until it is started anew."""

    is_lost = False

    def keeps_pause(self, priority, keeps):
        self.is_lost = True
        return keeps

    def takes_effect(self, before, config):
        self.is_lost = self.is_lost and config.watchdog is not None
        return config


class NotWatched(_AfterLinkLoss):
    """No storm is detected, and none is over."""

    name = "not-watched"

    def watchdog_detects(self, queue, storms, detects):
        return detects and not self.is_lost

    def watchdog_restores(self, queue, restores):
        return restores and not self.is_lost


class ActsOtherwise(_AfterLinkLoss):
    """Of queue 3 a storm is detected, and its frames pass; of queue 4 none is detected."""

    name = "acts-otherwise"

    def watchdog_action(self, queue, action):
        return "forward" if self.is_lost else action

    def watchdog_detects(self, queue, storms, detects):
        return detects and not (self.is_lost and queue == 4)


class ObeysAgain(_AfterLinkLoss):
    """A queue in storm obeys pauses, and its priority sends them."""

    name = "obeys-again"

    def watchdog_action(self, queue, action):
        return "alert" if self.is_lost else action
'''}
PAGES = {"TIME": "time-pauses.md", "CLASS": "class-interplay.md", "SENT": "sent-pause-frames.md",
         "FLAP": "flap-link.md"}
FLAP_ELSEWHERE = {  # in test_broken_load.py
    "weights-forgotten", "headroom-reclaimed", "refresh-missing", "maps-forgotten"}
PLANS = (*timing.CASES, *timing_storms.CASES, *class_pauses.CASES, *sent.CASES, *flap.CASES)


@dataclass(frozen=True)
class OneCase(Case):
    """A case is carried out on `ports` (port under test, tx port) where others than usual are given: both broken, or
    both kept from other cases."""

    ports: tuple[str, str] | None = None

    @property
    def pair(self) -> tuple[str, str]:
        """Port under test and tx port."""
        return self.ports or super().pair


def case(plan: PlanCase, fault: str, verdicts: str, checks: str, message: str) -> OneCase:
    """`verdicts`: lossless and lossy."""
    lossless, lossy = verdicts.split()
    return OneCase(fault, lossless, lossy, frozenset(checks.split()), f"{SWITCH} {message}", plan)


def on(ports: tuple[str, str], *cases: OneCase) -> list[OneCase]:
    """These cases on other ports than usual."""
    return [replace(one, ports=ports) for one in cases]


LENGTH = timing.PAUSE_LENGTH
RATE = timing.PAUSE_RATE
ZERO = timing.ZERO_RESUMES
THROTTLED = timing.THROTTLED
REFRESHED = timing.REFRESHED
STORMS = timing_storms.STORMS
ONE = sent.SINGLE
ALL = sent.SEVERAL
RISING = f"{FILE}:Rising@Ethernet28"
SLUGGISH = f"{FILE}:Sluggish@Ethernet24"
UNASKED = "pfc-unasked@Ethernet96,priority=0,period_ms=1000"
BOTH = "Ethernet24", "Ethernet96"
LOST = "clean-flow nothing-lost background-unaffected every-pause-counted no-other-back-pressure"
OUTLIVES = "pause-outlives-flap@Ethernet20"
APART = ("Ethernet20", "Ethernet92")  # its tx port is held for ever
ODD = f"{FILE}:Odd@Ethernet72,priority=3"
DESTINATION = f"{FILE}:OtherDestination@Ethernet72,priority=4"
TYPE = f"{FILE}:OtherType@Ethernet76,priority=3"
LONGER = f"{FILE}:Longer@Ethernet92,priority=4"
CODE = f"{FILE}:OtherCode@Ethernet76,priority=4"
ZERO_BESIDE = f"{FILE}:ZeroBeside@Ethernet116,priority=3"
PUNCTUAL = f"{FILE}:Punctual@Ethernet80"
ODD_CHECKS = "source source-own enable-vector unused-times padding"
UNTAKEN = "held-frames-drained"
TIME_CASES = [
    case(ZERO, "zero-quanta-ignored@Ethernet8", "FAIL PASS", "resumed-in-time every-pause-counted",
         "Ethernet8 priority 3: expected at least ... frames received in pauses of 65535 quanta for 3, after 100.0 "
         "us 0 quanta for 3, 1500 a second, got "),
    case(STORMS, "slow-response@Ethernet8", "FAIL PASS", "stopped-in-time resumed",
         "Ethernet8 priority 3: expected at most 9 frames received from the beginning of storm 1 to its end, got "),
    case(STORMS, "pause-late@Ethernet60,ns=1200", "FAIL PASS", "stopped-in-time",
         "Ethernet60 priorities 3, 4: expected at most 16 frames received from the beginning of storm "),
    case(LENGTH, "pause-short@Ethernet16,permille=995", "FAIL PASS", "length-to-scale",
         "Ethernet16 priority 3: expected pauses in proportion to their quanta (0.08% more or less), got 0."),
    *on(
        ("Ethernet100", "Ethernet0"),
        case(STORMS, "pause-short@Ethernet100,quanta=500", "FAIL PASS", "held-to-the-end",
             "Ethernet100 priority 3: expected at most 0 frames received from the end of storm 1 to that of its last "
             "pause's time, got "),
    ),
    *on(
        ("Ethernet104", "Ethernet0"),
        case(LENGTH, "pause-long@Ethernet104", "FAIL PASS", "resumed-in-time length-to-scale",
             "Ethernet104 priority 3: expected at least "),
    ),
    *on(
        ("Ethernet108", "Ethernet0"),
        case(LENGTH, f"{FILE}:Ticks@Ethernet108", "FAIL PASS", "resumed-in-time length-to-scale",
             "Ethernet108 priority 3: expected at least "),
    ),
    case(ZERO, "pause-ignored@Ethernet4,priority=3", "FAIL PASS", "paused-long-enough",
         "Ethernet4 priority 3: expected at most ... frames received in pauses of 65535 quanta for 3, after "),
    case(timing.SHORT, "pause-ignored@Ethernet4,priority=3", "FAIL PASS", "paused-long-enough",
         "Ethernet4 priority 3: expected at most ... frames received in pauses of 255 quanta for 3, 1531750 a second"),
    case(LENGTH, "pause-short@Ethernet4,priority=4", "FAIL PASS", "paused-long-enough length-to-scale",
         "Ethernet4 priority 4: expected at most ... frames received in pauses of 3585 quanta for 4, "
         "24000 a second, got "),
    case(RATE, "pause-short@Ethernet4,priority=4", "FAIL PASS", "paused-long-enough",
         "Ethernet4 priority 4: expected at most ... frames received in pauses of 16384 quanta for 4, "
         "2000 a second, got "),
    case(timing.REFRESHED, "pause-short@Ethernet4,priority=4", "FAIL PASS", "paused-long-enough",
         "Ethernet4 priority 4: expected at most ... frames received in pauses of 65535 quanta for 4, after 100.0 us "
         "4096 quanta for 4, 1500 a second, got "),
    case(STORMS, "xon-not-sent@Ethernet80,priority=3", "FAIL PASS", "sender-resumed nothing-lost",
         "Ethernet80 priority 3: expected frames sent soon after storm 2, as XON lets the sender go before its pause "
         "lapses, got 0"),
    *on(
        BOTH,
        *(case(plan, SLUGGISH, "FAIL FAIL", f"{LOST} resumed-in-time", "Ethernet24 priority 3: expected at least ")
          for plan in (ZERO, RATE, timing.REFRESHED)),
        case(LENGTH, SLUGGISH, "FAIL FAIL", f"{LOST} resumed-in-time length-to-scale",
             "Ethernet24 priority 3: expected at least "),
        case(timing.SHORT, SLUGGISH, "FAIL FAIL", LOST, "Ethernet24 priority 3: expected all "),
        case(THROTTLED, SLUGGISH, "FAIL FAIL", f"{LOST} throughput", "Ethernet24 priority 0: expected at least "),
        case(THROTTLED, UNASKED, "FAIL FAIL", f"{LOST} throughput",
             "Ethernet96 priority 0: expected 0 PFC frames sent out of Ethernet96, got "),
        case(STORMS, SLUGGISH, "FAIL FAIL", f"{LOST} resumed",
             "Ethernet24 priority 3: expected at least ... frames received within 0.0020 s after storm 1, got "),
    ),
    *on(
        ("Ethernet52", "Ethernet64"),
        case(REFRESHED, "shorter-ignored@Ethernet52", "FAIL PASS", "resumed-in-time",
             "Ethernet52 priority 3: expected at least "),
        case(REFRESHED, "shorter-ignored@Ethernet52,priority=4", "FAIL PASS", "resumed-in-time",
             "Ethernet52 priority 4: expected at least "),
    ),
    *on(
        ("Ethernet116", "Ethernet0"),
        case(timing.SHORT, f"{FILE}:BriefIgnored@Ethernet116", "FAIL PASS", "paused-long-enough",
             "Ethernet116 priority 3: expected at most ... frames received in pauses of 31 quanta for 3, "),
    ),
    *on(
        ("Ethernet124", "Ethernet0"),
        case(REFRESHED, "global-pause-honoured@Ethernet124,only=resume", "FAIL PASS", "paused-long-enough",
             "Ethernet124 priority 3: expected at most ... frames received in pauses of 32768 quanta for 3, after "),
    ),
    *on(
        ("Ethernet56", "Ethernet64"),
        case(REFRESHED, "refresh-ignored@Ethernet56", "FAIL PASS", "paused-long-enough resumed-in-time",
             "Ethernet56 priority 3: expected at most "),
    ),
]
CLASS_CASES = [
    *(case(plan, "pause-short@Ethernet4,priority=4", "FAIL PASS", "paused-long-enough",
           "Ethernet4 priority 4: expected at most ")
      for plan in class_pauses.CASES),
    *on(
        BOTH,
        *(case(plan, SLUGGISH, "FAIL FAIL", f"{LOST} resumed-in-time", "Ethernet24 priority 3: expected at least ")
          for plan in class_pauses.CASES),
    ),
    *on(
        ("Ethernet32", "Ethernet64"),
        case(class_pauses.OWN_TIMES, f"{FILE}:OneTime@Ethernet32", "FAIL PASS", "resumed-in-time",
             "Ethernet32 priority 4: expected at least ... frames received in pauses of 65535 quanta for 3 and 16384 "
             "quanta for 4, 1500 a second, got "),
        case(class_pauses.ONE_RESUMES, f"{FILE}:OneTime@Ethernet32", "FAIL PASS", "resumed-in-time",
             "Ethernet32 priority 3: expected at least "),
    ),
    *on(
        ("Ethernet36", "Ethernet64"),
        *(case(plan, f"{FILE}:OthersEnd@Ethernet36", "FAIL PASS", "paused-long-enough every-pause-counted",
               "Ethernet36 priority 3: expected at most ")
          for plan in (class_pauses.ONE_RESUMES, class_pauses.INTERLEAVED)),
    ),
    *on(
        ("Ethernet40", "Ethernet64"),
        case(class_pauses.ONE_RESUMES, "resume-all@Ethernet40", "FAIL PASS", "paused-long-enough",
             "Ethernet40 priority 3: expected at most "),
    ),
    *on(
        ("Ethernet12", "Ethernet64"),
        case(class_pauses.ONE_RESUMES, f"{FILE}:LossyResumes@Ethernet12", "FAIL PASS", "paused-long-enough",
             "Ethernet12 priority 3: expected at most "),
    ),
    *on(
        ("Ethernet120", "Ethernet0"),
        case(class_pauses.ONE_RESUMES, "resume-lowest@Ethernet120", "FAIL PASS", "resumed-in-time",
             "Ethernet120 priority 4: expected at least "),
    ),
    *on(
        ("Ethernet44", "Ethernet64"),
        *(case(plan, "pause-replaces@Ethernet44", "FAIL PASS", "paused-long-enough",
               "Ethernet44 priority 3: expected at most ")
          for plan in (class_pauses.ONE_RESUMES, class_pauses.INTERLEAVED)),
    ),
    *on(
        ("Ethernet48", "Ethernet64"),
        case(class_pauses.OWN_TIMES, "one-time-for-all@Ethernet48", "FAIL PASS", "resumed-in-time",
             "Ethernet48 priority 3: expected at least "),
    ),
    *on(
        ("Ethernet108", "Ethernet0"),
        case(class_pauses.OWN_TIMES, "times-swapped@Ethernet108", "FAIL PASS", "paused-long-enough resumed-in-time",
             "Ethernet108 priority 3: expected at most "),
    ),
    *on(
        ("Ethernet112", "Ethernet0"),
        case(class_pauses.OWN_TIMES, "times-rounded@Ethernet112", "FAIL PASS", "paused-long-enough",
             "Ethernet112 priority 3: expected at most ... frames received in pauses of 255 quanta for 3 and 65535 "
             "quanta for 4, "),
    ),
]
SENT_ONE = [
    case(ONE, "zero-source-sent@Ethernet68,priority=3", "FAIL PASS", "source source-own",
         "Ethernet68: expected a unicast source that is not zero in all ... pause frames captured, got ... others, the "
         "first with 00:00:00:00:00:00"),
    case(ONE, "malformed-pfc-sent@Ethernet68,priority=4", "FAIL PASS", f"eight-times length {UNTAKEN}",
         "Ethernet68: expected 60 bytes and their FCS in all ... got ... others, the first with 32 bytes"),
    case(ONE, ODD, "FAIL PASS", ODD_CHECKS, "Ethernet72: expected an enable vector of some priorities, its upper "),
    case(ONE, DESTINATION, "FAIL PASS", f"destination {UNTAKEN}",
         "Ethernet72: expected 01:80:C2:00:00:01 as destination in all "),
    case(ONE, TYPE, "FAIL PASS", f"ether-type {UNTAKEN}", "Ethernet76: expected ether type 0x8808 in all "),
    case(ONE, CODE, "FAIL PASS", f"operation-code xoff-sent sent-as-counted {UNTAKEN}",
         "Ethernet76: expected operation code 0x0101 in all "),
    case(ONE, "xon-not-sent@Ethernet80,priority=3", "FAIL PASS", "xon-sent",
         "Ethernet80 priority 3: expected XON, a time of 0, as the last pause frame once the storm had stopped, got a "
         "time of 65535"),
    case(ONE, "refresh-missing@Ethernet80,priority=4", "FAIL PASS", f"refreshed {UNTAKEN}",
         "Ethernet80 priority 4: expected each XOFF followed by a pause frame within its time (65535 quanta: 335.54 "),
    case(ONE, "xoff-wrong-priority@Ethernet84,priority=3", "PASS FAIL", "no-other-enabled",
         "Ethernet84 priority 0: expected 0 pause frames captured at Ethernet84 that enable it with a "),
    case(ONE, f"{FILE}:NoTime@Ethernet120,priority=3", "FAIL PASS", f"no-xon-in-storm xoff-sent {UNTAKEN}",
         "Ethernet120 priority 3: expected 0 frames with a time of 0 for it before held frames left, got "),
    case(ONE, "xoff-not-sent@Ethernet84,priority=4", "FAIL PASS", f"xoff-sent {UNTAKEN}",
         "Ethernet84 priority 4: expected XOFF captured at Ethernet84, got 0"),
]
SENT_CASES = [
    *SENT_ONE,
    case(ONE, LONGER, "FAIL PASS", "length",
         "Ethernet92: expected 60 bytes and their FCS in all ... got ... others, the first with 124 bytes"),
    case(ONE, "xon-late@Ethernet88,priority=3", "FAIL PASS", "xon-level",
         "Ethernet88 priority 3: expected at least 5065 of the 5231 frames that were held left at XON, by xon=2288, "
         "xon_offset=2288 of pg_lossless_100000_5m_profile, got "),
    *(replace(one, plan=sent.OTHERWISE) for one in SENT_ONE),
    case(sent.OTHERWISE, "xon-late@Ethernet88,priority=4,once_changed=yes", "FAIL PASS", "xon-level",
         "Ethernet88 priority 4: expected at least 1282 of the 2093 frames that were held left at XON, by xon=2288, "
         "xon_offset=662272 of PFC_QUALIFICATION, got "),
    case(sent.OTHERWISE, "xon-early@Ethernet92,priority=3", "FAIL PASS", "xon-not-early",
         "Ethernet92 priority 3: expected at most 1728 of the 2093 frames that were held left at XON, by xon=2288, "
         "xon_offset=662272 of PFC_QUALIFICATION, got 2092"),
    case(sent.OTHERWISE, "xon-early@Ethernet112,priority=4", "FAIL PASS", "xon-not-early",
         "Ethernet112 priority 4: expected at most 1728 of the 2093 frames that were held left at XON, by xon=2288, "),
    case(ALL, "xon-late@Ethernet88,priority=3", "FAIL PASS", "xon-level",
         "Ethernet88 priority 3: expected at least ... frames that were held left at XON, by xon=2288, xon_offset=2288 "
         "of pg_lossless_100000_5m_profile, got "),
    case(ALL, "zero-source-sent@Ethernet68,priority=3", "FAIL PASS", f"source source-own eight-times length {UNTAKEN}",
         "Ethernet68: expected eight pause times in all "),
    case(ALL, ODD, "FAIL PASS", f"{ODD_CHECKS} destination {UNTAKEN}", "Ethernet72: expected nothing but zero behind "),
    case(ALL, TYPE, "FAIL PASS", "ether-type operation-code xoff-sent sent-as-counted xon-level drained-alone "
         f"{UNTAKEN}",
         "Ethernet76: expected operation code 0x0101 in all "),
    case(ALL, "xon-not-sent@Ethernet80,priority=3", "FAIL PASS", f"xon-sent xon-sent-alone refreshed {UNTAKEN}",
         "Ethernet80 priority 3: expected XON, a time of 0, as the last pause frame once the storm had stopped"),
    case(ALL, f"{FILE}:Together@Ethernet104", "FAIL PASS", "xon-sent-alone drained-alone xon-level sent-as-counted",
         "Ethernet104 priority 3: expected a time of 0 in the last frame for it that came while others were still "
         "paused, got a time of 65535"),
    case(ALL, f"{FILE}:Stale@Ethernet108,priority=4", "FAIL PASS",
         "xon-sent xon-sent-alone drained-alone sent-as-counted",
         "Ethernet0 priority 3: expected at least "),
    case(ALL, ZERO_BESIDE, "FAIL PASS", "no-xon-in-storm",
         "Ethernet116 priority 4: expected 0 frames with a time of 0 for it before held frames left, got "),
    case(ALL, "xoff-wrong-priority@Ethernet84,priority=3", "FAIL FAIL", f"no-other-enabled xoff-sent {UNTAKEN}",
         "Ethernet84 priority 0: expected 0 pause frames captured at Ethernet84 that enable it with a "),
]
DEAD = f"{FILE}:PausesForDeadPort@*,of=Ethernet8,at=Ethernet64"
UNASKED_LOSSY, UNASKED_LOSSLESS = (f"pfc-unasked@Ethernet44,priority={priority},period_ms=1000" for priority in (0, 3))
PAUSED = "no-other-back-pressure no-pause-sent-after"
RISEN = "clean-flow pause-ended-with-link flows-after-flap tx-drop-while-down no-pause-counted-after"
FLAP_CASES = [  # the last ones leave a port shut for ever, whose frames fill the switch
    case(flap.QUIET, "watchdog-false-alarm@Ethernet28", "FAIL FAIL", f"{RISEN} no-storm-detected",
         "Ethernet28 priority 3: expected 0 storms detected around a flap without a storm, got "),
    case(flap.QUIET, RISING, "FAIL FAIL", f"{RISEN} no-storm-detected", "Ethernet28: expected TX_DRP of "),
    *(case(plan, RISING, "FAIL FAIL", RISEN, "Ethernet28: expected TX_DRP of ")
      for plan in (flap.IN_STORM, flap.SHUTDOWN)),
    case(flap.UP_IN_STORM, RISING, "FAIL FAIL",
         "clean-flow flows-after-flap tx-drop-while-down no-pause-counted-after", "Ethernet28: expected TX_DRP of "),
    case(flap.WATCHED, RISING, "FAIL FAIL", RISEN, "Ethernet28: expected TX_DRP of "),
    *on(
        ("Ethernet116", "Ethernet0"),
        case(flap.WATCHED, f"{FILE}:ActsOtherwise@Ethernet116", "FAIL PASS",
             "storm-detected dropped-in-storm no-back-pressure",
             "Ethernet116 priority 4: expected the queue stormed when the storm must have been detected under the link "
             "that had come up (the storm went on), got operational"),
    ),
    *on(
        ("Ethernet120", "Ethernet0"),
        case(flap.WATCHED, f"{FILE}:ObeysAgain@Ethernet120", "FAIL PASS", "no-back-pressure",
             "Ethernet0 priority 3: expected 0 PFC frames sent out of Ethernet0 while the storm went on under the link "
             "that had come up (the storm went on), got "),
    ),
    *on(
        ("Ethernet124", "Ethernet0"),
        case(flap.WATCHED, f"{FILE}:NotWatched@Ethernet124", "FAIL PASS", "restored pause-ended-with-link",
             "Ethernet124 priority 3: expected the queue operational after storm and flap (the storm ended with the "
             "link), got stormed"),
    ),
    case(flap.SHUTDOWN, DEAD, "FAIL PASS", "no-pause-sent-after",
         "Ethernet64 priority 3: expected 0 PFC frames sent out of Ethernet64 for a port whose link is down, or "
         "was, got "),
    *on(
        ("Ethernet68", "Ethernet44"),
        *(case(plan, UNASKED_LOSSY, "FAIL FAIL", PAUSED,
               "Ethernet44 priority 0: expected 0 PFC frames sent out of Ethernet44...got ")
          for plan in (flap.QUIET, flap.WATCHED)),
        *(case(plan, UNASKED_LOSSLESS, "FAIL FAIL", PAUSED,
               "Ethernet44 priority 3: expected 0 PFC frames sent out of Ethernet44 for a port whose link is down, or "
               "was, got ")
          for plan in (flap.QUIET, flap.IN_STORM, flap.SHUTDOWN, flap.UP_IN_STORM)),
    ),
    *on(
        ("Ethernet92", "Ethernet0"),
        case(flap.UP_IN_STORM, "pause-ignored-after-link-up@Ethernet92", "FAIL PASS", "held-from-link-up",
             "Ethernet92 priority 3: expected at most 257 frames received in the ... after the link came up in a "
             "storm, got "),
    ),
    *on(
        ("Ethernet88", "Ethernet0"),
        case(flap.UP_IN_STORM, "pfc-not-counted@Ethernet88", "FAIL PASS", "pause-counted-after",
             "Ethernet88 priority 3: expected more than 0 PFC frames in the receive counter after the link came up in "
             "a storm, got 0"),
    ),
    *on(
        APART,
        *(case(plan, OUTLIVES, "FAIL PASS", "pause-ended-with-link no-pause-sent-after",
               "Ethernet20 priority 3: expected all ... frames received once the link was up again, without a storm, "
               "got 0")
          for plan in (flap.IN_STORM, flap.SHUTDOWN)),
    ),
]
CASES = [*TIME_CASES, *CLASS_CASES, *SENT_CASES, *FLAP_CASES]
PAIRS = list(dict.fromkeys(one.pair for one in CASES))
CASES.sort(key=lambda broken: PAIRS.index(broken.pair))  # a case begins with the counters that its pair's last one left


@pytest.mark.parametrize(("family", "cases"), [("TIME", TIME_CASES), ("SENT", SENT_CASES), ("FLAP", FLAP_CASES)])
def test_every_fault_that_the_documentation_calls_caught_is_here(family: str, cases: list[OneCase]) -> None:
    elsewhere = FLAP_ELSEWHERE if family == "FLAP" else set()
    assert {one.name for one in cases} - {FILE} == documented_faults(family) - elsewhere


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.plan_id)
def test_every_check_of_every_case_is_failed_by_some_switch(plan: PlanCase) -> None:
    documented = documented_checks(ROOT / "docs/testplan" / PAGES[plan.family], plan.plan_id)
    failed = {check for one in CASES if one.plan is plan for check in one.checks}
    if plan.family != "TIME":  # its own faults drop no frame without a storm; PFC-1's do, and `clean-flow` is the same
        failed |= {"clean-flow"}
    assert failed == documented


@pytest.fixture(name="bench", scope="module")
def fixture_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """For a testbed with all these faults."""
    with broken_bench(tmp_path_factory.mktemp("broken"), [PUNCTUAL, *(one.fault for one in CASES)], FILES) as bench:
        yield bench


@SLOW
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.plan_id)
def test_a_healthy_port_passes(bench: Bench, plan: PlanCase) -> None:
    documented = documented_checks(ROOT / "docs/testplan" / PAGES[plan.family], plan.plan_id)
    if plan.family == "FLAP":
        documented |= documented_checks(next((ROOT / "docs/testplan").glob("pfc-1-*.md")), "PFC-1")
    passed_as_documented(bench.judge(healthy(plan)), documented)


@SLOW
@pytest.mark.parametrize("plan", [LENGTH, RATE, STORMS], ids=lambda plan: plan.plan_id)
def test_a_port_whose_pauses_end_with_their_time_passes(bench: Bench, plan: PlanCase) -> None:
    documented = documented_checks(ROOT / "docs/testplan" / PAGES[plan.family], plan.plan_id)
    passed_as_documented(bench.judge(wreck(("Ethernet80", "Ethernet0"), plan, "PASS PASS", "", "")), documented)


@SLOW
def test_a_time_of_0_for_a_class_that_is_not_paused_passes(bench: Bench) -> None:
    documented = documented_checks(ROOT / "docs/testplan" / PAGES["SENT"], ONE.plan_id)
    passed_as_documented(bench.judge(OneCase(ZERO_BESIDE, "PASS", "PASS", frozenset(), "", ONE)), documented)


@SLOW
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed: only scapy has read the capture")
def test_tshark_reads_the_same_in_a_capture(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Wireshark's dissector, on the bytes that scapy read."""
    kept: list[bytes] = []

    def keep(data: bytes) -> Capture:
        kept.append(data)
        return read_capture(data)

    monkeypatch.setattr("tests.common.pfc.lab.capture_file.read_capture", keep)
    bench.judge(OneCase("none@Ethernet12", "PASS", "PASS", frozenset(), "", ALL))
    file = tmp_path / "sent.pcap"
    capture = read_capture(kept[0])
    file.write_bytes(kept[0])
    times = [f"macc.cbfc.pause_time.c{priority}" for priority in range(8)]
    fields = ["eth.dst", "eth.src", "eth.type", "macc.opcode", "macc.cbfc.enbv", *times]
    command = ["tshark", "-r", str(file), "-T", "fields", *(word for field in fields for word in ("-e", field))]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    read = [re.split("\t", line) for line in printed.splitlines()]
    ours = [(frame.destination, frame.source, frame.ether_type, frame.operation_code, frame.enable_vector, *frame.times)
            for frame in capture.control]
    assert [(row[0], row[1], *(int(text, 0) for text in row[2:])) for row in read] == ours


@SLOW
@pytest.mark.parametrize("broken", CASES, ids=lambda broken: f"{broken.plan.plan_id}-{broken.name}")
def test_every_fault_is_caught_and_nothing_else(bench: Bench, broken: OneCase) -> None:
    compare(bench.judge(broken), broken)
