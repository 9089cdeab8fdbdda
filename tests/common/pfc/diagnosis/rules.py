"""What failed checks have in common, in one sentence: a table of causes, each with what has to be seen for it.

A rule says what the numbers show and no more; where none holds for certain, that is what is said. Of the rules that
hold the first one speaks, so the more specific come first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import gt, lt

from ..record.verdict import Check, PortVerdict, Status
from .symptoms import NOT_MEASURED, BadCheck, Diagnosis, FurtherCase, Rule, Symptoms

Case = tuple[str, PortVerdict]  # plan id, verdict
Shows = Callable[[Symptoms], bool]
Picks = Callable[[Symptoms], Symptoms]
BITS = (16, 24, 31, 32, 40, 48)  # of counters that begin anew
ANEW = 256
"""A counter that has begun anew fell by all that it can count but a part so small; one that was cleared, by what it had
counted, which is no such number but by chance."""
HELD = ("blocked-while-paused", "held-queue-stands-still")
TIMED = ("paused-long-enough", *HELD)
LOST = ("resumed", "background-unaffected", "test-unaffected", "held-frames-drained", "nothing-lost")
OTHERS = ("background-unaffected", "test-unaffected")
XOFF = ("xoff-sent", "back-pressure", "hop-back-pressure")
OTHER_PFC = (
    "no-other-back-pressure", "no-other-enabled", "hop-no-other-back-pressure", "no-back-pressure",
    "no-pause-sent-after")
EXPLAINED = "counter-explained"
CONGESTED = ("M2O-2", "M2O-3", "M2O-7", "SPEED-2")
"""Test cases in which lossy frames have to be dropped."""
UNWANTED = ("FRAME-7", "FRAME-8", "FRAME-9", "FRAME-10")
"""Those whose control frames a switch may drop where they come in."""
REPEATED = {
    "AFTER-1": "PFC-2", "AFTER-2": "PFC-3", "AFTER-3": "PFC-4", "AFTER-4": "SIZE-4", "AFTER-5": "TIME-2",
    "AFTER-6": "TIME-5", "AFTER-7": "SENT-2", "AFTER-8": "HEAD-3", "AFTER-9": "M2O-3", "AFTER-10": "WD-2",
}
"""What is carried out once more after all other test cases."""
LATER = "; it was not so before all other test cases were carried out"
ASKED_NOWHERE = "PFC. Tx, as nothing that"
HOLDS_BESIDE = "PFC. Tx, as nothing may hold"
ONE_KIND = r"in all failing rows, and no other: ([^)]*)"
ALL_FRAMES = r"expected all (\d+) frames .*, got (\d+)"
FORMAT = {
    "destination": "a wrong destination", "ether-type": "a wrong Ethernet type",
    "operation-code": "a wrong operation code", "enable-vector": "a wrong enable vector",
    "padding": "something else than zero behind their times",
}
"""What of a pause frame a check looks at -> what it has where the check fails."""
SENT_1 = FurtherCase("SENT-1", "looks at these pauses")
MOVED = re.compile(r"from (\d+) to (\d+) more in (.*), as .*, got (\d+)")


def _all(*names: str) -> Shows:
    return lambda found: found.has(*names)


def _together(one: str, other: str) -> Shows:
    return lambda found: not found.of(one).cases.isdisjoint(found.of(other).cases)


def _only(*names: str) -> Shows:
    return lambda found: found.only(*names)


def _both(*conditions: Shows) -> Shows:
    return lambda found: all(holds(found) for holds in conditions)


def _none(*names: str) -> Shows:
    return lambda found: not found.any(*names)


def _in(*plan_ids: str) -> Picks:
    return lambda found: found.of(*plan_ids)


def _text(pattern: str) -> Picks:
    return lambda found: found.saying(pattern)


def _by_size(found: Symptoms) -> bool:
    """Whether frames are lost in test cases that send all of one size, and none in others."""
    return found.only("SIZE", "PAIRS") and found.passed_in("resumed", but="SIZE")


def _stopped(found: Symptoms) -> Symptoms:
    return found.seen(none=True)


def _behind(found: Symptoms) -> str:
    """Who starves behind a queue that stands still."""
    starved = found.of(*OTHERS).seen(none=False)
    return f"; {starved.who} starve behind it" if starved.bad else ""


def _began_anew(found: Symptoms) -> int:
    """The bits of a counter that fell by almost all that so many bits can count; 0: it fell by something else."""
    fell = found.words(r"got -(\d+)") or found.words(r"fell by (\d+)")
    return next((bits for bits in BITS if fell and 0 < (1 << bits) - int(fell) <= (1 << bits) // ANEW), 0)


def _first_port(found: Symptoms) -> str:
    return found.ports[0].split()[-1]


def _at_own(found: Symptoms) -> Symptoms:
    """Those of the port under test itself."""
    return found.where(lambda one: one.port == found.tested)


def _counted_beside(found: Symptoms) -> Symptoms:
    """Received pauses that another port than the one under test counts."""
    return found.where(lambda one: one.port != found.tested).saying("PFC. Rx, as")


def _numbers(found: Symptoms, pattern: str, holds: Callable[[int, int], bool]) -> Symptoms:
    """Those in whose message a pattern finds two numbers, what was expected and what was seen, of which that holds."""
    return found.where(lambda one: (numbers := re.search(pattern, one.check.message)) is not None
                       and holds(int(numbers[1]), int(numbers[2])))


def _too_many(found: Symptoms) -> Symptoms:
    """Those that saw more frames than were sent."""
    return _numbers(found, ALL_FRAMES, lt)


def _some_lost(found: Symptoms) -> Symptoms:
    """Those that saw some frames, but not all, where nothing had to be held: PFC-1's after its storm, and the like."""
    return _numbers(found.of("PFC", "FRAME", "TAG", "PAIRS"), ALL_FRAMES, gt).seen(none=False)


def _too_long(found: Symptoms) -> Symptoms:
    """Frames that have more bytes than are due."""
    return _numbers(found, r"expected (\d+) bytes and their FCS .* with (\d+) bytes", lt)


def _counted_too_often(found: Symptoms) -> Symptoms:
    """Those that count more frames dropped than were."""
    return _numbers(found, r"expected (\d+) frames counted as dropped .*, got (\d+)", lt)


def _leave_elsewhere(found: Symptoms) -> bool:
    """Whether all that moves is what other ports have sent, in their own counter and in those of queues."""
    sent = found.saying("TX_OK|Counter/")
    return (found.only(EXPLAINED) and found.tested not in found.ports and len(sent.bad) == len(found.bad)
            and sent.saying("TX_OK").any() and sent.saying("Counter/").any())


def _at_tested(found: Symptoms) -> str:
    return found.tested


def _congested(found: Symptoms) -> str:
    """The port that holds senders as it should; none is known: the one where the checks looked."""
    held = [where for _, name, where in found.passed if name in XOFF]
    return " ".join(min(held, default=found.bad[0].check.where).split()[:2])


def _not_paused(found: Symptoms) -> str:
    """The port that sends no pause to those who send to it."""
    return found.of(*XOFF).ports[0]


def _counted_for(found: Symptoms) -> str:
    """The priorities that pauses are counted for which they are not for."""
    return f" are counted for {found.of('no-other-pause-counted').who}, which they are not for"


def _late(found: Symptoms) -> Symptoms:
    """Those of a time that is beyond the latest expected."""
    times = re.compile(r" to (\d+) ms after .*, got ([\d.]+)")
    return found.where(lambda one: (time := times.search(one.check.message)) is not None
                       and float(time[2]) > float(time[1]))


def _hit_beside(found: Symptoms) -> Symptoms:
    """Where the watchdog counted some of what was lost, but not all, and all of another priority in the same storms."""
    right = [plan_id for plan_id, name, _ in found.passed if name == "drops-counted"]
    counted = _numbers(found, r"the (\d+) frames that were lost .*, got (\d+)", gt).seen(none=False)
    return counted.where(lambda one: one.plan_id in right)


def _found_at_first(found: Symptoms) -> bool:
    """Whether a watchdog that is not started anew found the first storm, but not a later one."""
    return not found.of("WD-8").of("detection-time").saying("as found").bad


def _second_missed(found: Symptoms) -> bool:
    """Whether of several storms in a row the first one was detected."""
    missed = found.of("storm-detected")
    return missed.only("WD-10") and not missed.saying("storm 1 of").bad


def _last_missed(found: Symptoms) -> bool:
    """Whether the second one was, too."""
    return _second_missed(found) and not found.of("storm-detected").saying("storm 2 of").bad


def _exchanged(found: Symptoms) -> bool:
    """Whether each of several priorities waited too short where another's time was shorter, and too long where it was
    longer."""
    own = found.of("CLASS-1")
    early = {one.check.where for one in own.of("paused-long-enough").bad}
    late = {one.check.where for one in own.of("resumed-in-time").bad}
    return early == late and len(early) > 1


def _still_acts(found: Symptoms) -> bool:
    """Whether frames are missing after a storm that was detected, and whose end was."""
    return not found.any("restored") and bool(found.of("resumed").cases - found.of("storm-detected").cases)


def _only_at_first(found: Symptoms) -> bool:
    """Whether each priority's counter was off in one test case alone, and right in another."""
    off = {(one.plan_id, one.check.where) for one in found.of("every-pause-counted").bad}
    places = {where for _, where in off}
    right = {where for _, name, where in found.passed if name == "every-pause-counted"}
    return len(off) == len(places) and bool(places & right)


def _at_rest(found: Symptoms) -> bool:
    """Whether in test cases whose pauses were not counted no counter of data that left moved either, and none moved
    that should not."""
    own = found.of(*found.of("pause-counted").cases).of(EXPLAINED)
    unmoved = own.saying("(which arrived|what was sent explains), got 0($| )")
    return found.any("pause-counted") and unmoved.any() and len(unmoved.bad) == len(own.bad)


def _too_many_by(one: BadCheck) -> int:
    """How many more frames a counter gained than it may; less than 0: it lacks some."""
    moved = MOVED.search(one.check.message)
    if moved is None:
        return 0
    gained = int(moved[4])
    return gained - int(moved[1 if gained < int(moved[1]) else 2])


def _off(found: Symptoms) -> dict[tuple[str, str], list[int]]:
    """Place and counter -> that, test case by test case."""
    off: dict[tuple[str, str], list[int]] = {}
    for one in found.of(EXPLAINED).bad:
        if moved := MOVED.search(one.check.message):
            off.setdefault((one.check.where, moved[3]), []).append(_too_many_by(one))
    return off


def _in_other_queues(found: Symptoms) -> Symptoms:
    """Counters of queues at the port under test that lack what others have too much in the same test case, while the
    port as a whole has sent what it should."""
    own = _at_own(found)
    queues = own.saying("Counter/")
    elsewhere = queues.where(lambda one: _too_many_by(one) > 0).cases - own.saying("TX_OK").cases
    return queues.where(lambda one: one.plan_id in elsewhere and _too_many_by(one) < 0)


def _late_counters(found: Symptoms) -> bool:
    """Whether what counters lacked in some test cases they had too much in others: to the frame, or, where the last one
    ended before all had come, never before they lacked it."""
    off = _off(found)
    return any(max(each) > 0 for each in off.values()) and all(
        sum(each) == 0 or max(accumulate(each)) <= 0 for each in off.values())


def _each_others(found: Symptoms) -> bool:
    """Whether what one queue's counter lacked another one had too much, each time, and nothing else was off."""
    off = list(_off(found).values())
    return len(off) == 2 and off[0] == [-frames for frames in off[1]] and found.saying("Counter/").only(EXPLAINED)


def _held_senders(found: Symptoms) -> Symptoms:
    """Losses where pauses were sent, by what the switch counts."""
    told = {(plan_id, where) for plan_id, name, where in found.passed if name in XOFF}
    return found.where(lambda one: (one.plan_id, one.check.where) in told)


def _room_was_there(found: Symptoms) -> bool:
    """Whether more frames were taken than the threshold and headroom that watermarks show, and none was lost after a
    pause."""
    taken = re.compile(r"expected (\d+) frames taken, .*, got (\d+)")
    counts = [taken.search(one.check.message) for one in found.of("xoff-threshold").bad]
    return not found.any("held-frames-drained", "no-group-drops") and bool(counts) and all(
        count is not None and int(count[2]) > int(count[1]) for count in counts)


def _unasked(found: Symptoms) -> bool:
    """Whether PFC leaves another port also in test cases in which no congestion asked for any."""
    asked = {plan_id for plan_id, name, _ in found.passed if name in XOFF}
    return not found.of(EXPLAINED).saying(ASKED_NOWHERE).cases <= asked


def _since_a_shutdown(found: Symptoms) -> bool:
    """Whether something is wrong in FLAP alone, and there from the first case on that shuts the port down: FLAP-3,
    where pauses held in FLAP-2, in which the link alone goes down."""
    held = any((plan_id, name) == ("FLAP-2", "blocked-while-paused") for plan_id, name, _ in found.passed)
    since = ("FLAP-3", "FLAP-4", "FLAP-8") if held else ()
    return found.only(*since, "FLAP-5", "FLAP-6", "FLAP-7")


def _only_where_data_is(found: Symptoms) -> bool:
    """Whether no port that sends PFC to hold data beside one test case also sends it beside another, without data."""
    explained = found.of(EXPLAINED)
    return set(explained.saying(HOLDS_BESIDE).ports).isdisjoint(explained.saying(ASKED_NOWHERE).ports)


OURS = (
    Rule("not the switch, the virtual testbed took too long to compute", (NOT_MEASURED,),
         picks=_text("takes? too long|was too slow|made no progress|timed out|TimeoutError")),
    Rule("not the switch, what measures it is at fault", (NOT_MEASURED,),
         picks=_text("not the switch|the run broke off|clock .* cannot be reached")),
    Rule("not the switch, this machine or the traffic generator stopped a storm late", ("storm-ended",)),
)
"""ERROR for which the switch is not to blame."""
MISCOUNTED = (
    Rule("the watchdog goes on although it was stopped", ("watchdog-stopped",)),
    Rule(lambda found: f"counters begin anew when they have reached what {_began_anew(found)} bits can count",
         (NOT_MEASURED, "counters-kept"), lambda found: _began_anew(found) > 0),
    Rule("the pauses that {port} has counted are counted anew where the watchdog acts", ("counters-kept",),
         _both(_only("WD"), lambda found: len(found.of("counters-kept").cases) > 1), _text("got one that fell by"),
         is_port=True),
    Rule(lambda found: found.words("show that (.*)"), (NOT_MEASURED,),
         picks=_text("show that .*(stand still$|are those of|begin anew|shows the counters|leave .* by queue)")),
    Rule(lambda found: found.words("show that (.*)"), (NOT_MEASURED,), picks=_text("show that "), is_certain=False),
    Rule("the counters of {port} stand still", (EXPLAINED,), _at_rest, is_port=True),
    Rule("queues of {who} count each other's frames, or send them", (EXPLAINED,),
         _both(_only(EXPLAINED), _each_others)),
    Rule("the counters of {port} are late: what they lack in one test case they have too much in another", (EXPLAINED,),
         holds=_late_counters, is_port=True),
    Rule("pauses of {who} are counted, but late", (EXPLAINED,),
         _both(_only(EXPLAINED, "pause-counted", "every-pause-counted"), _all("every-pause-counted")),
         lambda found: _at_own(found).saying("PFC. Rx, as nothing")),
    Rule("nothing shows that pauses arrive there which the generator says it sent: they are lost on the cable, or the"
         " switch counts them nowhere", (NOT_MEASURED,), picks=_text("in one of its receive counters")),
)
"""What ERROR, or counters that do not move, say of a switch."""
ELSEWHERE = (
    Rule("pauses of {who} are sent out of {port}, or counted so, where nothing is congested", (EXPLAINED,),
         _both(_only(EXPLAINED, "bystander-unaffected"), _unasked), _text(ASKED_NOWHERE)),
    Rule(lambda found: f"a pause that arrives at {found.tested_port} also holds {found.who} at "
         f"{found.words('frames from .* to (.*) beside')}", (EXPLAINED,),
         _both(_only(EXPLAINED, "bystander-unaffected"), _only_where_data_is), _text(HOLDS_BESIDE), at=_at_tested),
    Rule(lambda found: f"a pause that arrives at {found.tested_port} also stops {found.who} at {_first_port(found)}",
         ("bystander-unaffected",), _only(EXPLAINED, "bystander-unaffected"), at=_at_tested),
    Rule("pauses that arrive there are counted at {port} too", (EXPLAINED,), _only(EXPLAINED), _counted_beside,
         at=_at_tested),
    Rule("pauses that arrive there are counted at {port}, not there", (EXPLAINED,),
         _only(EXPLAINED, "pause-counted", "every-pause-counted"), _counted_beside, at=_at_tested),
    Rule("pauses of {who} that hold its senders are sent out of {port} too", (EXPLAINED,), _only(EXPLAINED),
         _text(ASKED_NOWHERE), at=_congested),
    Rule("frames that leave are counted as received", (EXPLAINED,), _only(EXPLAINED, "pauses-are-no-data"),
         _text("RX_OK")),
    Rule("frames leave by {port} that are not for it", (EXPLAINED,), _leave_elsewhere),
    Rule("drops of another port are counted at {port}", (EXPLAINED,),
         _both(_only(EXPLAINED), _only(*CONGESTED, *UNWANTED)), _text("[TR]X_DRP, as nothing")),
    Rule("dropped frames are counted as sent, too", (EXPLAINED,), _both(_only(EXPLAINED), _only(*CONGESTED)),
         lambda found: _at_own(found).saying("more in (Counter|TX_OK)")),
    Rule("control frames that are dropped are counted more than once", (EXPLAINED,),
         _both(_only(EXPLAINED), _only(*UNWANTED)), lambda found: _at_own(found).saying("more in RX_DRP, as what")),
    Rule("{who}: counters move that nothing sent explains", (EXPLAINED,), _only(EXPLAINED), is_certain=False),
)
"""What shows in closed accounting alone."""
KINDS_OF_FRAMES = (
    Rule("pauses are counted as data", ("pauses-are-no-data",)),
    Rule("pauses are counted as drops", ("pauses-are-no-drops",)),
    Rule("802.3x pause frames are taken for PFC", (), _only("PFC-4")),
    Rule("PFC frames that enable no priority are obeyed or counted", (),
         _only("FRAME-4", "FRAME-5", "FRAME-6", "COUNT-2")),
    Rule("MAC control frames of another operation code are obeyed", (), _only("FRAME-7")),
    Rule("PFC frames from 00:00:00:00:00:00 are neither counted nor obeyed", HELD,
         _both(_only("FRAME-1", "FRAME-2"), _all("pause-counted", "blocked-while-paused"))),
    Rule("pause frames are forwarded to other ports", ("pause-not-forwarded",)),
    Rule("PFC frames to another destination are obeyed", (), _only("FRAME-8", "FRAME-10")),
    Rule("frames of {who} leave by other queues than their own where the switch is configured otherwise", (EXPLAINED,),
         _only("LSET", "TAG"), _in_other_queues),
    Rule("in {cases} frames of {who} leave by other queues than their own", (EXPLAINED,), picks=_in_other_queues),
    Rule("frames of the sizes of {cases} are lost where they come in, others are not", ("no-port-drops",), _by_size,
         _in("SIZE")),
    Rule("frames of the sizes of {cases} are lost, others are not", LOST, _by_size,
         lambda found: found.of("SIZE").of("resumed", "nothing-lost")),
)
"""Pauses and data of a kind."""
WATCHDOG = (
    Rule("the watchdog drops frames of {who} where its action is `alert`", ("forwarded-in-storm",), _only("WD-12")),
    Rule("the watchdog restores {who} while the storm goes on", ("restoration-counted",),
         picks=_text("as restored (in the storm|while its own|while .* pauses).*, got [1-9]")),
    Rule("storms of another queue are counted for {who} too", ("no-other-storm",), _none("no-storm-detected"),
         _text(r"got [1-9]\d* \(operational\)")),
    Rule("the watchdog detects a storm on {who} where there is none", ("no-storm-detected", "no-other-storm")),
    Rule("the watchdog's action hits {who} instead of ", OTHERS, _all("sender-not-held", "dropped-in-storm"),
         further=lambda found: found.of("sender-not-held").who),
    Rule("the watchdog's action also hits {who}", OTHERS),
    Rule("the watchdog's action on a storm of another queue also hits {who}, of which it counts no drop then",
         ("drops-counted",), _none("frames-counted"), _hit_beside),
    Rule("frames of {who} are dropped once the watchdog was stopped in a storm", ("resumed",), _only("WD-16")),
    Rule("the watchdog restores {who} later than it is told to, by what is lost after a storm", ("resumed",),
         _still_acts, _text("after the storm .*, got [1-9]")),
    Rule("the watchdog counts {who} as restored, but goes on acting on it", ("resumed",), _still_acts),
    Rule("the watchdog detects no further storm on {who} after the first ones", ("storm-detected",), _last_missed),
    Rule("the watchdog detects no further storm on {who} after the first", ("storm-detected",), _second_missed),
    Rule("pauses of {who} stop nothing in a storm, which the watchdog does not detect therefore", ("storm-detected",),
         _both(_all("dropped-in-storm"), _none("sender-not-held", "no-back-pressure"))),
    Rule("the watchdog detects no further storm on {who} after one beside another port's", ("stormed-queues",),
         lambda found: found.only("WD-6", "WD-7") and not found.saying("the first to have a storm").bad),
    Rule("the watchdog detects no storm on {who} any more once the port's link has gone down in one",
         ("storm-detected",), _only("FLAP-8"), _text("under the link that had come up")),
    Rule("the watchdog detects a storm on {who}, but does not show the queue as stormed", ("storm-detected",),
         _none("storm-counted", "dropped-in-storm", "stormed-queues")),
    Rule("the watchdog goes on acting on {who} after a storm in which the port was shut down", ("resumed",),
         _both(_only("FLAP"), _all("storm-detected"), _none("restored")),
         _text(r"after the port was started\), got 0$")),
    Rule("the watchdog does not detect the pause storm on {who}", ("storm-detected", "stormed-queues")),
    Rule("the watchdog does not detect a storm on {who} while another port has one", ("stormed-queues-later",),
         picks=_text(", got none$")),
    Rule("the watchdog restores {who} later than it is told to, by the state of its queues", ("restored",),
         _both(_only("WD-7"), _none("storms-counted"))),
    Rule("the watchdog does not restore {who} after the storm", ("restored",)),
    Rule("the watchdog's action on {who} is gone once the port's link has gone down in the storm and come up",
         ("dropped-in-storm", "no-back-pressure"), _only("FLAP-8")),
    Rule("the watchdog does not restore {who} while another port has a storm", ("stormed-queues-last",),
         picks=_text("no queue in storm")),
    Rule("the watchdog restores {who} when another port's storm is over", ("stormed-queues-last", "storms-counted"),
         _only("WD-6", "WD-7"), _text(r"(all others operational.*, got none|, got ([2-9]) and \2)$")),
    Rule("the watchdog detects storms on {who} later than it is told to, beside those of another port",
         ("dropped-in-storm",), _both(_only("WD-6"), _none("stormed-queues", "stormed-queues-later")),
         is_certain=False),
    Rule("the watchdog detects a storm on {who}, but does not forward what waits, as it is told to",
         ("detection-time",),
         lambda found: (late := found.of("detection-time")).bad == late.saying("action forward").bad),
    Rule("the watchdog detects no further storm on {who} after the first", ("detection-time",), _found_at_first,
         _in("WD-8")),
    Rule("the watchdog detects storms on {who} later than it is told to", ("detection-time",), picks=_late),
    Rule("the watchdog detects storms on {who} at another time than it is told to", ("detection-time",)),
    Rule("the watchdog detects the storm, but does nothing about {who}", ("dropped-in-storm", "forwarded-in-storm"),
         _all("sender-not-held")),
    Rule("the watchdog detects the storm, but does not drop {who}", ("dropped-in-storm",)),
    Rule("the watchdog drops what waits of {who} when it detects a storm, although it is told to forward it",
         ("forwarded-in-storm",), _only("WD-5")),
    Rule("the watchdog drops {who}, which it is told to forward", ("forwarded-in-storm",)),
    Rule("the watchdog restores {who} later than it is told to", ("restoration-time",), picks=_late),
    Rule("the watchdog restores {who} at another time than it is told to", ("restoration-time",)),
    Rule("the watchdog counts frames of {who} that it drops as passed", ("frames-counted",), _none("dropped-in-storm"),
         _text(r"expected 0/(\d+) .*, got \1/0$")),
    Rule("the watchdog acts, but does not count it for {who}",
         ("storm-counted", "restoration-counted", "frames-counted", "storms-counted", "drops-counted")),
)
"""What shows in test cases of the watchdog alone."""
PAUSES_OBEYED = (
    Rule("pauses of {who} stop nothing any more once the port was shut down and started", HELD,
         _both(_together("blocked-while-paused", "back-pressure"), _since_a_shutdown)),
    Rule("for some time after the link has come up pauses of {who} stop nothing", ("held-from-link-up", *HELD),
         _both(_only("FLAP"), lambda found: found.passed_in("blocked-while-paused", but="FLAP"))),
    Rule("a pause of {who} outlives the link's going down", ("pause-ended-with-link",)),
    Rule(lambda found: f"pauses of {found.who} stop nothing where they have one thing in common, and no others: "
         f"{found.words(ONE_KIND)}", HELD, _only("PAIRS"), _text(ONE_KIND)),
    Rule("frames that enable lossy priorities too pause nothing, {who} neither", HELD,
         _both(_together("blocked-while-paused", "back-pressure"), _only("FRAME-3"))),
    Rule("pauses of {who} stop nothing any more once the watchdog was stopped in a storm", HELD,
         _both(_together("blocked-while-paused", "back-pressure"), _only("WD-16"))),
    Rule("pauses of {who} stop nothing", HELD, _together("blocked-while-paused", "back-pressure")),
    Rule("a further pause of {who} is ignored while the first lasts", ("paused-long-enough",),
         lambda found: found.of("TIME-6").has("paused-long-enough", "resumed-in-time")),
    Rule("pauses of {who} last for each other's time", ("paused-long-enough", "resumed-in-time"), _exchanged,
         _in("CLASS-1")),
    Rule("an 802.3x pause frame ends the pauses of {who}", ("paused-long-enough",),
         lambda found: (early := found.of("paused-long-enough")).bad == early.saying("quanta by 802.3x").bad),
    Rule("pauses of {who} hold for less than their time", TIMED,
         lambda found: found.of("TIME-2", "TIME-3", "CLASS-1", "TIME-6").any("paused-long-enough")
         or found.has("blocked-while-paused", "held-within-buffer")),
    Rule("a PFC frame ends the pauses of {who} that it does not enable", ("paused-long-enough",), picks=_in("CLASS-3")),
    Rule("a pause time of 0 for one priority ends the pauses of all, {who}", ("paused-long-enough",),
         picks=_text("after .* us 0 quanta")),
    Rule("pauses of {who} hold for less than their time", ("paused-long-enough",)),
    Rule("pauses still stop {who}, which the configuration took out of pfc_enable", ("test-unaffected",),
         picks=_in("LSET")),
    Rule("a pause also stops {who}, of which no frame came", OTHERS, picks=_stopped, further=_behind),
    Rule("pauses of {who} hold for longer than their time", ("length-to-scale", "resumed-in-time"),
         picks=_text("got .*% longer|pauses of [0-9]+ quanta for [0-9]+, [0-9]+ a second")),
    Rule("pauses of {who} hold for less than their time", ("length-to-scale", "held-to-the-end")),
    Rule("some frames of {who} leave although their queue is paused", HELD,
         told_by=FurtherCase("TIME-6", "tells whether a further pause lets them go")),
    Rule("pauses of {who} act too late", ("stopped-in-time",)),
    Rule("all priorities that a PFC frame enables are paused for one time, not each for its own: {who}",
         ("resumed-in-time",), picks=_in("CLASS-1")),
    Rule("a shorter pause of {who} does not shorten the one before", ("resumed-in-time",), _none("TIME-1"),
         _in("TIME-6")),
    Rule("a pause time of 0 does not let {who} go on", ("resumed-in-time",)),
    Rule("pauses of {who}", ("every-pause-counted",), _all("no-other-pause-counted"), further=_counted_for),
    Rule("pauses of {who} act, but are not counted", ("pause-counted",)),
    Rule("frames of {who} are dropped where they leave, instead of being held", ("no-queue-drops",),
         _both(_all("held-within-buffer"), lambda found: found.any(*XOFF) or found.of("M2O").any("nothing-lost"))),
    Rule("frames of {who} that are held for long are dropped", ("no-queue-drops",), _all("held-within-buffer")),
    Rule("frames of {who} from several ports together are dropped where they leave, instead of being held",
         ("no-queue-drops",), _only("M2O-6")),
)
"""Pauses that arrive."""
SHARES = Rule("the line is not shared by the queues' weights: {who}", ("share-by-weight",))
"""Before what it brings about where nothing else is wrong; else after all that may have brought it about."""
PAUSES_SENT = (
    Rule("pause frames for others end the pauses of {who}", ("no-xon-in-storm",)),
    Rule("{who} is paused when lossy frames are dropped", OTHER_PFC, _only("M2O-2", "M2O-7", "SPEED-2")),
    Rule("senders of {who} are paused for a port whose link is down", OTHER_PFC,
         _both(_only("FLAP"), _all("no-pause-sent-after"))),
    SHARES.where(_only("M2O", "SPEED", "FLAP-5")),
    Rule("pauses of {who} are sent although nothing is congested", OTHER_PFC, _all("no-back-pressure")),
    Rule("pauses of {who} that hold its senders are sent out of {port}, not there", (EXPLAINED,),
         lambda found: found.any(*XOFF), _text(ASKED_NOWHERE), at=_not_paused),
    Rule("pauses sent for {who} are not counted as many as it takes to hold its senders", ("back-pressure",),
         picks=_text("at least .* PFC frames sent")),
    Rule("no pause is sent for {who} while another priority of the port is in storm", XOFF, _only("WD-13")),
    Rule("no pause is sent for {who} any more once the watchdog was stopped in a storm", XOFF, _only("WD-16")),
    Rule("no pause is sent for {who} any more once the watchdog has restored the port", XOFF, _only("WD-15", "WD-16")),
    Rule("no pause is sent for {who} any more once the port was shut down and started", XOFF,
         _only("FLAP-5", "FLAP-7", "FLAP-8")),
    Rule("{who} is paused by a lasting surplus, but not by one that would have filled the buffer", XOFF,
         _both(_only("M2O-4"), lambda found: found.passed_in("back-pressure", but="M2O")),
         told_by=FurtherCase("HEAD-3", "measures the threshold")),
    Rule("no pause is sent for {who}, and its sender is not held", XOFF),
    Rule("the pause sent for {who} is not repeated in time", ("refreshed",)),
    Rule("pause frames that are sent are longer than the 64 bytes of MAC control", ("length",), picks=_too_long),
    Rule("pause frames that are sent end too early, so that receivers discard them", ("length", "eight-times")),
    Rule(lambda found: "pause frames that are sent have " + ", ".join(
        words for name, words in FORMAT.items() if found.any(name)), tuple(FORMAT)),
    Rule("the end of congestion is not told to senders of {who} while others are congested",
         ("xon-sent-alone", "drained-alone"), _none("xon-sent", *XOFF)),
    Rule("the end of congestion is not told to senders of {who}", ("xon-sent", "xon-sent-alone", "sender-resumed")),
    Rule("a sender of {who} starves while others go on", ("share-of-sender",)),
    Rule("the end of congestion is told to senders of {who} later than the buffer profile says", ("xon-level",)),
    Rule("the end of congestion is told to senders of {who} sooner than the buffer profile says", ("xon-not-early",)),
    Rule("pause frames have a wrong source", ("source", "source-own")),
    Rule("pause frames have times for priorities that they do not enable", ("unused-times",)),
    Rule("pauses sent for {who} are not counted as many as leave", ("sent-as-counted",)),
    Rule("pauses are sent for {who} too while others are congested", OTHER_PFC),
    Rule("pauses sent for {who} do not hold its sender any more once the port was shut down and started",
         ("held-within-buffer",), _only("FLAP-5", "FLAP-7", "FLAP-8")),
    Rule("pauses are sent for {who}, but its sender sends more than the buffer takes", ("held-within-buffer",),
         told_by=SENT_1),
    Rule("the watermarks of {who} stand still, though headroom takes frames", ("headroom-full",),
         lambda found: found.passed_in("held-frames-drained", but=""), lambda found: found.seen(none=True)),
    Rule("the watermarks of {who} do not show what headroom takes", ("headroom-full",), _room_was_there),
    Rule("pauses are sent for {who}, but frames that come in after them are lost",
         ("held-frames-drained", "headroom-full", "no-group-drops")),
    Rule("the first pause for {who} is sent at another fill than the buffer profile says", ("xoff-threshold",)),
)
"""Pauses that the switch sends."""
REST = (
    Rule("frames of {who} that its senders still send when they are paused are lost: headroom is too small",
         ("nothing-lost",), _only("HEAD", "LSET")),
    Rule("pauses are sent for {who}, but its senders send more than headroom takes", ("nothing-lost",),
         _none("no-queue-drops"), _held_senders, told_by=SENT_1),
    Rule("frames of {who} are dropped although there is room for them",
         ("no-port-drops", "no-queue-drops", "no-group-drops", "nothing-lost")),
    Rule("dropped frames are counted as sent", (EXPLAINED,), _all("port-drops-counted"),
         _text("more in (Counter|TX_OK)")),
    Rule("frames that are dropped are counted more than once", ("port-drops-counted",), picks=_counted_too_often),
    Rule("{port} does not count what its full priority groups drop", ("port-drops-counted",),
         _none("group-drops-counted"), _text(r"dropped by \S+ \(RX_DRP\)"), is_port=True),
    Rule("dropped frames are not counted", ("port-drops-counted", "queue-drops-counted", "group-drops-counted")),
    Rule("the bytes of {who} are not counted as many as its frames have", ("bytes-agree",)),
    Rule("the bytes of {who} that are dropped are not those of its frames", ("drop-bytes-agree",)),
    Rule("the watermarks of the queues of {who} do not show what they held", ("queue-watermark",)),
    Rule("the history of pauses of {who} is not what was received",
         ("pause-time-counted", "pause-ends-counted", "no-other-pause-history")),
    Rule("the shared watermarks of {who} do not show what the buffer held", ("shared-watermark",)),
    Rule("the headroom watermarks of {who} show what another priority takes", ("other-headroom-unused",)),
    Rule("the bytes that {port} counts are not those of its frames", ("octets-agree",), is_port=True),
    SHARES,
    Rule("the receive counter of {who} lacks pauses of the first storm only, as if it began below 0",
         ("every-pause-counted",), _both(_only("every-pause-counted"), _only_at_first)),
    Rule("the receive counter of {who} is not the number of pauses sent", ("every-pause-counted",)),
    Rule("some frames of {who} are lost", LOST),
)
RULES = (
    *OURS, *MISCOUNTED, *ELSEWHERE,
    Rule("more frames of {who} arrive than are sent", ("clean-flow", *LOST), picks=_too_many),
    Rule("frames of {who} are lost on their way out, also without any storm", ("clean-flow",)),
    *KINDS_OF_FRAMES,
    *(rule.where(_only("WD", "FLAP-1", "FLAP-6", "FLAP-8", "LSET-11")) for rule in WATCHDOG),
    *PAUSES_OBEYED,
    Rule(lambda found: f"frames of {found.who} are lost on their way out, also without a storm, where they have one"
         f" thing in common, and no others: {found.words(ONE_KIND)}", ("resumed",), _only("PAIRS"),
         lambda found: _some_lost(found).saying(ONE_KIND)),
    Rule("frames of {who} are lost on their way out, also without a storm", ("resumed",), picks=_some_lost),
    *PAUSES_SENT, *REST,
)
"""The most specific first."""


def diagnose(cases: Sequence[Case]) -> list[Diagnosis]:
    """One for each port under test that has verdicts which are not PASS, in their order."""
    ports: dict[str, list[Case]] = {}
    for plan_id, verdict in cases:
        ports.setdefault(f"{verdict.device} {verdict.port}", []).append((plan_id, verdict))
    found = [_symptoms(port, own) for port, own in ports.items()]
    return [_diagnosis(one) for one in found if one.bad]


def _symptoms(port: str, cases: Sequence[Case]) -> Symptoms:
    failed = []
    errors = []
    passed = set()
    for plan_id, verdict in cases:
        for check in verdict.checks:
            if check.status is Status.PASS:
                passed.add((plan_id, check.name, check.where))
            elif check.required and check.status is Status.ERROR:
                errors.append(BadCheck(plan_id, check))
            elif check.required and verdict.error is None:
                failed.append(BadCheck(plan_id, check))
        if verdict.error is not None and not verdict.checks:
            said = Check(NOT_MEASURED, verdict.metric_name, Status.ERROR, "", verdict.error, port, text=verdict.error)
            errors.append(BadCheck(plan_id, said))
    blamed = [one for one in errors if one.check.name == "watchdog-stopped"]  # whatever else it brings about
    return Symptoms(port, blamed or failed or errors, frozenset(passed))


def _diagnosis(found: Symptoms) -> Diagnosis:
    """What the first rule that holds makes of them."""
    if found.only("AFTER"):
        later = _diagnosis(found.called(REPEATED))
        return replace(later, cause=later.cause + LATER)
    found = found.where(lambda one: not one.plan_id.startswith("AFTER-"))
    said = next((one for rule in RULES if (one := rule.diagnosis(found)) is not None), None)
    if said is not None:
        return said
    first = found.bad[0]
    several = f"{len(found.bad)} checks are not as they should be, first " if len(found.bad) > 1 else ""
    name = "" if first.check.name == NOT_MEASURED else f"{first.check.name}: "
    sentence = f"{several}{name}{first.check.message}"
    return Diagnosis(first.port, found.priorities, found.metrics, sentence, is_certain=False)
