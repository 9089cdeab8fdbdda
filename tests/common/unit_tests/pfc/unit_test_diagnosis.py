"""One sentence for all failed checks: on what the suite really found on broken virtual switches
(`scripts/tests/diagnosed.py` writes it), and on checks that are made up where that is missing."""

import json
import re
from pathlib import Path

import pytest

from tests.common.pfc.cases import afterwards
from tests.common.pfc.diagnosis.rules import REPEATED, RULES, diagnose
from tests.common.pfc.diagnosis.symptoms import UNKNOWN
from tests.common.pfc.record.verdict import LOSSLESS, Check, PortVerdict, Status

HERE = Path(__file__).parent
FOUND = json.loads((HERE / "diagnosis_faults.json").read_text(encoding="ascii"))
DECLARED = {one["fault"]: one for one in json.loads((HERE / "diagnosis_declared.json").read_text(encoding="ascii"))}
"""Fault -> port, priorities that it may hit (none: the port), metrics, what the sentence says, and why nobody can see
it; as the catalogue declares the fault, whatever the rules say."""
SWITCH = "vtb-t0-01"
WHERE = f"{SWITCH} Ethernet0 priority 3"


def verdict(*checks):
    """The failed checks (name, where, expected, seen) of a port as its verdict."""
    made = [Check(name, LOSSLESS, Status.FAIL, expected, seen, where) for name, where, expected, seen in checks]
    return PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, made)


def recorded(fault):
    """Plan id and verdict of all that was measured of a fault."""
    return [(one["plan_id"], as_verdict(one)) for one in FOUND if one["fault"] == fault]


def as_verdict(one):
    """A recorded verdict."""
    metric = one["metric_name"]
    checks = [
        *(Check(bad["name"], metric, Status(bad["status"]), bad["expected"], bad["seen"], bad["where"])
          for bad in one["checks"]),
        *(Check(name, metric, Status.PASS, "", "", where)
          for where, names in one["passed"].items() for name in names.split()),
    ]
    failed = any(check.status is Status.FAIL for check in checks)
    error = None if failed else one["cause"]
    return PortVerdict(one["device_id"], one["port_id"], one["priority"], metric, checks, error)


def mistake(fault):
    """What is wrong with the diagnosis of a fault; empty: nothing."""
    declared = DECLARED[fault]
    port = declared["port"]
    priorities = {*declared["priorities"]}
    metrics = declared["metrics"]
    words = declared["says"]
    said = diagnose(recorded(fault))
    if len(said) != 1:
        return f"{len(said)} sentences: {'; '.join(map(str, said))}"
    found = said[0]
    wrong = {
        "it is not certain": not found.is_certain,
        f"the port is not {port}": found.port != f"{SWITCH} {port}",
        f"the priorities are not of {sorted(priorities)}":
            not {*found.priorities} <= priorities or bool(priorities) != bool(found.priorities),
        f"the metrics are not {metrics}": [*found.metrics] != metrics,
        f"it does not say '{words}'": not re.search(words, str(found)),
    }
    reasons = [reason for reason, holds in wrong.items() if holds]
    return f"{', '.join(reasons)}: {found}" if reasons else ""


def test_the_share_of_faults_that_are_diagnosed():
    """Printed with `-s`: how many, and which are not, and why."""
    mistakes = {fault: why for fault in DECLARED if (why := mistake(fault))}
    right = len(DECLARED) - len(mistakes)
    reasons = {fault: DECLARED[fault]["unseen"] or "not known" for fault in mistakes}
    wrong = [f"{fault} ({reasons[fault]}): {why}" for fault, why in mistakes.items()]
    said = "\n  ".join([f"{right} of {len(DECLARED)} faults ({right / len(DECLARED):.1%}) are diagnosed; not:", *wrong])
    print(said)
    unseen = {fault for fault, one in DECLARED.items() if one["unseen"]}
    assert {*mistakes} == unseen, said


def test_what_no_rule_explains_is_said_to_be_unexplained():
    said = diagnose([("PFC-1", verdict(("flows-after-flap", f"{SWITCH} Ethernet0 priority 1", "all 9 frames", 8)))])
    why = f"flows-after-flap: {SWITCH} Ethernet0 priority 1: expected all 9 frames, got 8; {UNKNOWN}"
    expected = f"{SWITCH} Ethernet0: {why}"
    assert [str(one) for one in said] == [expected], said
    assert not said[0].is_certain, "nobody knows"


@pytest.mark.parametrize(("error", "words"), [
    ("the run broke off: TimeoutError: timed out", "not the switch, the virtual testbed took too long to compute"),
    ("the virtual testbed was too slow, or hangs: not a verdict on the switch: its simulation made no progress in 60 s",
     "not the switch, the virtual testbed took too long to compute"),
    ("not the switch, the virtual testbed refused (http://127.1.0.1/clock/advance): 2 s of simulated time takes too"
     " long: frames can only be looked at one by one", "not the switch, the virtual testbed took too long to compute"),
    ("the run broke off: KeyError: 'UC3'", "not the switch, what measures it is at fault"),
    ("preflight: x: expected 1000 frames with DSCP [8] to leave through queue UC0, got -4294966296",
     "counters begin anew when they have reached what 32 bits can count"),
])
def test_what_kept_a_run_from_measuring_is_named(error, words):
    said = diagnose([("PFC-1", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [], error))])
    assert [one.is_certain for one in said] == [True] and words in str(said[0]), said


@pytest.mark.parametrize(("checks", "words"), [
    ([("counter-explained", "Ethernet0", "from 0 to 50 more in RX_OK, as what was sent explains", "29932951")],
     "frames that leave are counted as received"),
    ([("pause-counted", "Ethernet0 priority 3", "more than 0 PFC frames in the receive counter", 0),
      ("counter-explained", "Ethernet0", "from 90 to 140 more in TX_OK, as what was sent explains", "0")],
     "the counters of Ethernet0 stand still"),
    ([("counter-explained", "Ethernet8 priority 3", "0 more in PFC3 Rx, as nothing that was sent counts there", "51"),
      ("pause-counted", "Ethernet0 priority 3", "more than 0 PFC frames in the receive counter", 0)],
     "Ethernet0: pauses that arrive there are counted at Ethernet8, not there"),
    ([("bystander-unaffected", "Ethernet8 priority 1", "all 9 frames sent from Ethernet12 to Ethernet8 beside the case"
       " received", 4)], "Ethernet0: a pause that arrives at Ethernet0 also stops priority 1 at Ethernet8"),
    ([("every-pause-counted", "Ethernet0 priority 3", "51 PFC frames in the receive counter", 0),
      ("counter-explained", "Ethernet0 priority 3", "0 more in PFC3 Rx, as nothing that was sent counts there", "51")],
     "Ethernet0: pauses of priority 3 are counted, but late"),
    ([("every-pause-counted", "Ethernet0 priority 3", "50661 PFC frames in the receive counter", 50688),
      ("counter-explained", "Ethernet0 priority 3", "from 0 to 50661 more in PFC3 Rx, as what was sent explains",
       "50688")], "Ethernet0: the receive counter of priority 3 is not the number of pauses sent"),
    ([("no-port-drops", "Ethernet0 priority 4", "0 frames more in TX_DRP", 7)],
     "frames of priority 4 are dropped although there is room for them"),
    ([("counter-explained", "Ethernet8", "0 more in TX_OK, as nothing that was sent counts there", "51"),
      ("counter-explained", "Ethernet8 priority 3", "0 more in Counter/pkts of UC3, as nothing that was sent", "51")],
     "frames leave by Ethernet8 that are not for it"),
    ([("port-drops-counted", "Ethernet64", "71 frames counted as dropped by Ethernet64 (RX_DRP)", 0)],
     "Ethernet64 does not count what its full priority groups drop"),
    ([("length", "Ethernet64", "60 bytes and their FCS in all 43 pause frames captured",
       "43 others, the first with 124 bytes")],
     "pause frames that are sent are longer than the 64 bytes of MAC control"),
    ([("unused-times", "Ethernet64", "0 as the time of each priority that it does not enable", "42 others")],
     "pause frames have times for priorities that they do not enable"),
    ([("enable-vector", "Ethernet64", "an enable vector of some priorities in all 43 pause frames", "1 others"),
      ("padding", "Ethernet64", "nothing but zero behind the times in all 43 pause frames captured", "43 others"),
      ("xon-sent", "Ethernet64 priority 3", "XON, a time of 0, as the last pause frame", "a time of 65535")],
     "pause frames that are sent have a wrong enable vector, something else than zero behind their times"),
    ([("back-pressure", "Ethernet64 priority 3", "at least 14899 PFC frames sent out of Ethernet64 to hold the sender",
       3725)], "pauses sent for priority 3 are not counted as many as it takes to hold its senders"),
    ([("sent-as-counted", "Ethernet64 priority 3", "42 to 43 PFC frames counted as sent out of Ethernet64", 86)],
     "pauses sent for priority 3 are not counted as many as leave"),
    ([("clean-flow", "Ethernet0 priority 3", "all 1000 frames received without any storm", 1001)],
     "more frames of priority 3 arrive than are sent"),
    ([("clean-flow", "Ethernet0 priority 3", "all 1000 frames received without any storm", 999)],
     "frames of priority 3 are lost on their way out, also without any storm"),
])
def test_counters_that_nothing_explains(checks, words):
    failed = verdict(*((name, f"{SWITCH} {at}", expected, seen) for name, at, expected, seen in checks))
    said = diagnose([("PFC-1", failed)])
    assert len(said) == 1 and words in str(said[0]), said


@pytest.mark.parametrize(("plan_id", "words"), [("PFC-1", UNKNOWN), ("M2O-2", "drops of another port are counted at"),
                                                ("FRAME-7", "drops of another port are counted at")])
def test_drops_of_another_port_are_told_by_cases_in_which_something_is_dropped(plan_id, words):
    expected = "0 more in RX_DRP, as nothing that was sent counts there"
    moved = ("counter-explained", f"{SWITCH} Ethernet8", expected, "51")
    said = diagnose([(plan_id, verdict(moved))])
    assert len(said) == 1 and words in str(said[0]), said


def test_a_port_that_sends_pauses_unasked_is_told_from_one_that_sends_those_of_another():
    """The second one sends them only while the other is congested."""
    moved = ("counter-explained", f"{SWITCH} Ethernet8 priority 3", "0 more in PFC3 Tx, as nothing that was sent counts"
             " there", "51")
    xoff = Check("back-pressure", LOSSLESS, Status.PASS, "more than 0 PFC frames", 9, f"{SWITCH} Ethernet64 priority 3")
    congested = PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [*verdict(moved).checks, xoff])
    [said] = diagnose([("PFC-1", congested)])
    assert "that hold its senders are sent out of Ethernet8 too" in said.cause, said
    [said] = diagnose([("PFC-1", congested), ("PFC-3", verdict(moved))])
    assert said.port == f"{SWITCH} Ethernet8" and "where nothing is congested" in said.cause, said


def test_queues_that_use_each_other_s_place_are_not_late():
    """Beside PFC-1's storm on each; a late counter lacks first what it has too much later, and another one likewise."""
    def moved(priority, due, got):
        return ("counter-explained", f"{SWITCH} Ethernet0 priority {priority}",
                f"from {due} to {due} more in Counter/pkts of UC{priority}, as what was sent explains", got)

    swapped = [("PFC-1", verdict(moved(3, 900, 300), moved(4, 300, 900))),
               ("PFC-1", verdict(moved(3, 300, 900), moved(4, 900, 300)))]
    [said] = diagnose(swapped)
    assert "queues of priorities 3, 4 count each other's frames, or send them" in said.cause, said
    late = [("PFC-1", verdict(moved(3, 900, 300), moved(4, 900, 300))),
            ("PFC-2", verdict(moved(3, 300, 900), moved(4, 300, 900)))]
    [said] = diagnose(late)
    assert "are late" in said.cause, said


def test_frames_that_are_lost_from_some_moment_on():
    """The preflight found all of them; in a storm those that were held are lost too."""
    lost = [("held-frames-drained", WHERE, "all 5243 frames received once the storm had stopped", 5100),
            ("resumed", WHERE, "all 299300 frames received in traffic without a storm", 280000)]
    [said] = diagnose([("PFC-1", verdict(*lost))])
    assert "frames of priority 3 are lost on their way out, also without a storm" in said.cause, said
    [said] = diagnose([("PFC-1", verdict(*lost[:1]))])
    assert "frames that come in after them are lost" in said.cause, "those that were held alone"


NOT_HELD = [("held-within-buffer", f"{SWITCH} Ethernet64 priority 3", "fewer than the 15982720 bytes", 30651341824),
            ("held-frames-drained", f"{SWITCH} Ethernet64 priority 3", "all 29932951 frames received", 20)]
NO_PAUSE = ("back-pressure", f"{SWITCH} Ethernet64 priority 3", "more than 0 PFC frames sent out of Ethernet64", 0)
ELSEWHERE = ("counter-explained", f"{SWITCH} Ethernet40 priority 3",
             "0 more in PFC3 Tx, as nothing that was sent counts there", 44703)
DROPPED = ("no-queue-drops", f"{SWITCH} Ethernet0 priority 3", "0 frames more in Drop/pkts of UC3", 29932931)


@pytest.mark.parametrize("checks, port, words", [
    ([*NOT_HELD, NO_PAUSE], "Ethernet64", "no pause is sent for priority 3"),
    ([*NOT_HELD, NO_PAUSE, ELSEWHERE], "Ethernet64", "that hold its senders are sent out of Ethernet40, not there"),
    ([*NOT_HELD, NO_PAUSE, DROPPED], "Ethernet0", "priority 3 are dropped where they leave, instead of being held"),
    ([*NOT_HELD, DROPPED], "Ethernet0", "frames of priority 3 that are held for long are dropped"),
    (NOT_HELD, "Ethernet64", "its sender sends more than the buffer takes; SENT-1 looks at these pauses, and was not"),
])
def test_a_sender_that_is_not_held_is_not_always_the_fault_of_its_own_port(checks, port, words):
    """PFC-1 alone: the drops of the queue say that the port under test did not hold the frames."""
    [said] = diagnose([("PFC-1", verdict(*checks))])
    assert said.port == f"{SWITCH} {port}" and words in said.cause and said.is_certain, said
    assert said.left_out == ("SENT-1" if "SENT-1" in words else ""), said


def test_what_looks_at_pauses_is_not_recommended_where_it_has():
    """SENT-1 found nothing."""
    sent = Check("source", LOSSLESS, Status.PASS, "the port's", "it", f"{SWITCH} Ethernet64")
    looked = PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [sent])
    [said] = diagnose([("PFC-1", verdict(*NOT_HELD)), ("SENT-1", looked)])
    assert "SENT-1" not in said.cause and not said.left_out, said


def test_a_watchdog_that_goes_on_is_blamed_for_what_follows():
    stormed = Check("watchdog-stopped", LOSSLESS, Status.ERROR, "a stopped watchdog", "one", f"{SWITCH} Ethernet0")
    failed = verdict(("resumed", f"{SWITCH} Ethernet0 priority 3", "all 9 frames", 0))
    error = PortVerdict(SWITCH, "Ethernet0", 4, LOSSLESS, [stormed], stormed.message)
    said = diagnose([("PFC-1", failed), ("PFC-1", error)])
    assert "goes on although it was stopped" in str(said[0]), said


@pytest.mark.parametrize("checks, words", [
    # from its second storm on the watchdog forwards where it is to drop: no frame is missing for any time
    ({"WD-2": [("dropped-in-storm", "0 frames", 5387932)],
      "WD-5": [("restoration-time", "frames again 400 to 500 ms after the storm ended", "-601.6 ms")]},
     "detects the storm, but does not drop priority 3"),
    # after its second storm it goes on dropping, so that no further storm can be told from the one before
    ({"WD-2": [("resumed", "all 100 frames", 0)],
      "WD-10": [("resumed", "all 100 frames", 0), ("storm-detected", "stormed (storm 2 of 16)", "operational")]},
     "counts priority 3 as restored, but goes on acting on it"),
    ({"WD-10": [("storm-detected", "stormed (storm 2 of 16)", "operational"),
                ("storm-detected", "stormed (storm 16 of 16)", "operational")]},
     "detects no further storm on priority 3 after the first ("),
    ({"WD-10": [("storm-detected", "stormed (storm 16 of 16)", "operational")]},
     "detects no further storm on priority 3 after the first ones ("),
    ({"WD-3": [("forwarded-in-storm", "all 100 frames", 0), ("frames-counted", "100/0 in TX OK/DROP", "0/100")]},
     "drops priority 3, which it is told to forward"),
    # frames are gone for the watchdog, so that it takes the storm for over, and finds it again
    ({"WD-12": [("restoration-counted", "no storm counted as restored in the storm", 14),
                ("forwarded-in-storm", "all 2993296 frames received in the storm", 2244971)]},
     "drops frames of priority 3 where its action is `alert`"),
    ({"WD-1": [("no-other-storm", "no storm on any other queue", "1 (operational)")]},
     "storms of another queue are counted for priority 3 too"),
    ({"AFTER-8": [("xoff-threshold", "18230 frames taken, of 208 bytes each", 18228)]},
     "than the buffer profile says (pfc.lossless xoff-threshold: expected 18230 frames taken, of 208 bytes each, got"
     " 18228); it was not so before all other test cases were carried out"),
    ({"WD-7": [("stormed-queues", "Ethernet0:3 in storm, all others operational", "none")]},
     "the watchdog detects no further storm on priority 3 after one beside another port's"),
    ({"WD-7": [("restored", "no queue in storm, all others operational", "Ethernet0:3")]},
     "the watchdog restores priority 3 later than it is told to"),
    ({"WD-6": [("stormed-queues-last", "no queue in storm, all others operational", "Ethernet0:3")]},
     "the watchdog does not restore priority 3 while another port has a storm"),
    ({"WD-6": [("storms-counted", "1 storms counted as detected and restored", "2 and 2"),
               ("dropped-in-storm", "0 frames received in the second storm, once the first was over", 778257)]},
     "the watchdog restores priority 3 when another port's storm is over"),
    ({"WD-5": [("forwarded-in-storm", "all 100 frames received (action forward, detection 200)", 98)]},
     "the watchdog drops what waits of priority 3 when it detects a storm, although it is told to forward it"),
    ({"WD-5": [("detection-time", "detection 200 to 300 ms after the storm began (action forward, detection 200)",
                "898.4 to 904.9 ms")]},
     "the watchdog detects a storm on priority 3, but does not forward what waits, as it is told to"),
    ({"WD-16": [("back-pressure", "more than 0 PFC frames sent out of Ethernet0 to hold the sender", 0),
                ("resumed", "all 100 frames received in traffic without a storm", 0)]},
     "frames of priority 3 are dropped once the watchdog was stopped in a storm"),
    ({"WD-13": [("back-pressure", "more than 0 PFC frames sent out of Ethernet0 to hold the sender", 0),
                ("held-frames-drained", "all 5986591 frames received once it could leave", 5389)]},
     "no pause is sent for priority 3 while another priority of the port is in storm"),
    ({"WD-16": [("back-pressure", "more than 0 PFC frames sent out of Ethernet0 to hold the sender", 0)]},
     "no pause is sent for priority 3 any more once the watchdog was stopped in a storm"),
    ({"WD-6": [("dropped-in-storm", "0 frames from Ethernet0 to Ethernet64 received in both storms", 538793),
               ("sender-not-held", "at least 7183907 frames sent in both storms", 3972074)]},
     "the watchdog detects storms on priority 3 later than it is told to, beside those of another port"),
    ({"SIZE-3": [("resumed", "all 100 frames", 99)]}, "some frames of priority 3 are lost"),
    ({"TIME-2": [("length-to-scale", "pauses in proportion", "0.21% longer")]}, "hold for longer than their time"),
    ({"TIME-2": [("length-to-scale", "pauses in proportion", "0.21% shorter")]}, "hold for less than their time"),
    # a storm on another priority before it has left its pauses without effect
    ({"WD-1": [("storm-detected", "the queue stormed in the storm", "operational"),
               ("dropped-in-storm", "0 frames received in the storm", 5387932)]},
     "pauses of priority 3 stop nothing in a storm, which the watchdog does not detect therefore"),
    ({"PAIRS-1": [("blocked-while-paused", "0 frames received while paused (row 8: source 02:00:00:00:00:00; IP v4; in"
                   " all failing rows, and no other: source 02:00:00:00:00:00)", 13113)]},
     "priority 3 stop nothing where they have one thing in common, and no others: source 02:00:00:00:00:00"),
    ({"TIME-5": [("held-to-the-end", "at most 0 frames", 6)]}, "hold for less than their time"),
    # watermarks in cells
    ({"HEAD-3": [("headroom-full", "at least 165370 of the 165568 bytes used before frames are dropped", 796),
                 ("xoff-threshold", "18226 frames taken, of 199 bytes each, up to the XOFF threshold", 18230)]},
     "the watermarks of priority 3 do not show what headroom takes"),
    # a switch that refuses frames with classes that are not lossless there
    ({"FRAME-3": [("blocked-while-paused", "0 frames received while paused", 14966476),
                  ("back-pressure", "more than 0 PFC frames sent out of Ethernet64 to hold the sender", 0)]},
     "frames that enable lossy priorities too pause nothing, priority 3 neither"),
    ({"PFC-1": [("blocked-while-paused", "0 frames received while paused", 13607)]},
     "some frames of priority 3 leave although their queue is paused; TIME-6 tells whether a further pause lets them"
     " go, and was not carried out"),
    ({"SENT-2": [("no-xon-in-storm", "0 frames with a time of 0 for it before held frames left", 1)],
      "M2O-1": [("nothing-lost", "all 20887 frames received", 15762)]},
     "pause frames for others end the pauses of priority 3"),
    ({"M2O-3": [("share-of-sender", "at least 225 of the 1800 frames received in the window", 12)]},
     "a sender of priority 3 starves while others go on"),
    ({"SENT-2": [("xon-sent-alone", "a time of 0 in the last frame for it", "a time of 65535"),
                 ("drained-alone", "at least 7229 frames received in the other's storm", 3954)]},
     "the end of congestion is not told to senders of priority 3 while others are congested"),
    ({"SENT-1": [("no-other-enabled", "0 pause frames captured that enable it", 44)]},
     "pauses are sent for priority 3 too while others are congested"),
    # one in 40 frames of some sizes
    ({"PAIRS-1": [
        ("held-frames-drained", "all 12129 frames received once the storm had stopped (row 11: data frames cells + 1;"
         " IP v4; in all failing rows, and no other: data frames cells + 1)", 12079),
        ("resumed", "all 336243 frames received in traffic without a storm (row 11: data frames cells + 1; IP v4; in"
         " all failing rows, and no other: data frames cells + 1)", 334843),
        ("no-queue-drops", "0 frames more in Drop/pkts of UC3", 1450)]},
     "lost on their way out, also without a storm, where they have one thing in common, and no others: data frames"
     " cells + 1"),
    ({"LSET-7": [("nothing-lost", "all 361 frames received, senders going on for 14869 quanta", 338)]},
     "frames of priority 3 that its senders still send when they are paused are lost: headroom is too small"),
    ({"FLAP-7": [("held-within-buffer", "fewer than the 15982720 bytes of egress_lossless_pool sent while paused",
                  3064108032)]},
     "pauses sent for priority 3 do not hold its sender any more once the port was shut down and started"),
    ({"FLAP-6": [("storm-detected", "the queue stormed in the storm", "operational")]},
     "the watchdog detects a storm on priority 3, but does not show the queue as stormed"),
    ({"FLAP-6": [("restored", "the queue operational after the storm (after the port was started)", "stormed"),
                 ("resumed", "all 100 frames received after the storm (after the port was started)", 0)]},
     "the watchdog does not restore priority 3 after the storm"),
    ({"FLAP-8": [("storm-detected", "the queue stormed when the storm must have been detected under the link that had"
                  " come up (the storm went on)", "operational"),
                 ("no-back-pressure", "0 PFC frames sent out of Ethernet64 while the storm went on", 900)]},
     "the watchdog detects no storm on priority 3 any more once the port's link has gone down in one"),
    ({"FLAP-8": [("no-back-pressure", "0 PFC frames sent out of Ethernet64 while the storm went on", 900)]},
     "the watchdog's action on priority 3 is gone once the port's link has gone down in the storm and come up"),
    ({"HEAD-1": [("nothing-lost", "all 361 frames received, senders going on for 1757 quanta", 338)],
      "M2O-1": [("nothing-lost", "all 361 frames received", 338)]},
     "frames of priority 3 are dropped although there is room for them"),
    # a queue that holds what one sender sends until it is paused
    ({"M2O-6": [("nothing-lost", "all 15310 frames received once the storm had stopped", 2885),
                ("no-queue-drops", "0 frames more in Drop/pkts of UC3", 24851)]},
     "frames of priority 3 from several ports together are dropped where they leave, instead of being held"),
    # a scheduler that is not bound: lossless queues get so little that their senders are paused
    ({"M2O-2": [("throughput", "at least 7030 frames received", 2764),
                ("no-back-pressure", "0 PFC frames sent out of Ethernet72", 16)],
      "M2O-3": [("share-by-weight", "1800 or more of 12000 frames received by weight", 168)]},
     "the line is not shared by the queues' weights: priority 3"),
])
def test_what_shows_in_later_storms_and_in_the_length_of_pauses(checks, words):
    cases = [(plan_id, verdict(*((name, WHERE, expected, seen) for name, expected, seen in bad)))
             for plan_id, bad in checks.items()]
    said = diagnose(cases)
    assert len(said) == 1 and words in said[0].cause, said


def test_pauses_that_stop_nothing_since_a_shutdown():
    """They still did when the port's link alone had gone down."""
    held = Check("blocked-while-paused", LOSSLESS, Status.PASS, "0 frames received while paused", 0, WHERE)
    gone = verdict(("blocked-while-paused", WHERE, "0 frames received while paused", 1496648),
                   ("back-pressure", f"{SWITCH} Ethernet64 priority 3", "more than 0 PFC frames sent out of it", 0))
    never = verdict(("held-from-link-up", WHERE, "at most 257 frames received after the link came up", 5238266))
    before = ("FLAP-2", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [held]))
    [said] = diagnose([before, ("FLAP-3", gone), ("FLAP-4", never)])
    assert "stop nothing any more once the port was shut down and started" in said.cause, said
    [said] = diagnose([("PFC-1", before[1]), ("FLAP-2", gone), ("FLAP-4", never)])
    assert "for some time after the link has come up pauses of priority 3 stop nothing" in said.cause, said


def test_a_threshold_that_only_a_varying_load_does_not_reach():
    """PFC-1's senders were held."""
    held = Check("back-pressure", LOSSLESS, Status.PASS, "at least 14901 PFC frames", 29803, f"{SWITCH} Ethernet64")
    short = verdict(("back-pressure", WHERE, "more than 0 PFC frames sent out of Ethernet76 to hold the sender", 0))
    [said] = diagnose([("PFC-1", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [held])), ("M2O-4", short)])
    assert "priority 3 is paused by a lasting surplus, but not by one that would have" in said.cause, said
    assert "HEAD-3 measures the threshold, and was not carried out" in said.cause, said


def test_frames_of_sizes_that_one_case_alone_has():
    """With closed accounting, which sees lossless ones dropped in their queue."""
    held = Check("resumed", LOSSLESS, Status.PASS, "all 9 frames", 9, WHERE)
    lost = verdict(("nothing-lost", WHERE, "all 36236 frames received of every size", 35708),
                   ("no-queue-drops", WHERE, "0 frames more in Drop/pkts of UC3", 528))
    [said] = diagnose([("PFC-1", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [held])), ("SIZE-6", lost)])
    assert "frames of the sizes of SIZE-6 are lost, others are not" in said.cause, said


def test_frames_of_sizes_that_are_lost_where_they_come_in():
    """Closed accounting sees that port drop them. The longest frames of PAIRS are lost as well."""
    held = Check("resumed", LOSSLESS, Status.PASS, "all 9 frames", 9, WHERE)
    lost = [("resumed", WHERE, "all 1709145 frames received in traffic without a storm", 0),
            ("no-port-drops", f"{SWITCH} Ethernet64", "at most 6836580 frames more in RX_DRP", 13673160)]
    [said] = diagnose([("PFC-1", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [held])),
                       ("SIZE-4", verdict(*lost)), ("PAIRS-2", verdict(*lost))])
    assert said.port == f"{SWITCH} Ethernet64", said
    assert "frames of the sizes of SIZE-4 are lost where they come in, others are not" in said.cause, said


def counted(priority, due, seen):
    """A queue's counter that did not move as it should."""
    return ("counter-explained", f"{SWITCH} Ethernet0 priority {priority}",
            f"from {due} to {due} more in Counter/pkts of UC{priority}, as what was sent explains", seen)


@pytest.mark.parametrize("plan_id, moved, words", [
    # tags that lead to the class of the next one
    ("TAG-1", [counted(3, 34251087, 12833797), counted(4, 38521834, 34251087), counted(2, 12833797, 17104544)],
     "frames of priorities 3, 4 leave by other queues than their own where the switch is configured otherwise"),
    # long frames, of one IP version
    ("SIZE-4", [counted(3, 3418290, 0), counted(0, 1367316, 4785606)],
     "in SIZE-4 frames of priority 3 leave by other queues than their own"),
    # no queue has what the others lack
    ("SIZE-4", [counted(3, 3418290, 0)], "pauses of priority 3 stop nothing"),
    # another port's counters
    ("SIZE-4", [counted(3, 3418290, 0), counted(0, 1367316, 4785606), (
        "counter-explained", f"{SWITCH} Ethernet0", "from 9 to 9 more in TX_OK, as what was sent explains", 8)],
     "pauses of priority 3 stop nothing"),
])
def test_frames_that_leave_by_other_queues_are_no_pauses_without_effect(plan_id, moved, words):
    """They are not in the queue that pauses stop, nor in the group that senders are paused for."""
    unheld = [("blocked-while-paused", WHERE, "0 frames received while paused", 1709145), NO_PAUSE]
    [said] = diagnose([(plan_id, verdict(*unheld, *moved))])
    assert said.port == f"{SWITCH} Ethernet0" and words in said.cause and said.is_certain, said


def test_senders_that_are_paused_and_still_send_too_much():
    """Several ports at once; what of the pauses is wrong, if not headroom, a capture shows."""
    place = f"{SWITCH} Ethernet64 priority 3"
    lost = ("nothing-lost", place, "all 20887 frames received", 15762)
    told = Check("back-pressure", LOSSLESS, Status.PASS, "more than 0 PFC frames", 9, place)
    paused = PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [*verdict(lost).checks, told])
    [said] = diagnose([("M2O-1", paused)])
    assert said.port == f"{SWITCH} Ethernet64" and "senders send more than headroom takes; SENT-1" in said.cause, said
    [said] = diagnose([("M2O-1", verdict(lost))])
    assert "although there is room" in said.cause, said


@pytest.mark.parametrize("seen, is_beside, words", [
    (9339081, True, "the watchdog's action on a storm of another queue also hits priority 3"),
    (9339081, False, "the watchdog acts, but does not count it for priorities 3, 4"),
    (9349546, True, "the watchdog acts, but does not count it for priority 3"),
    (0, True, "the watchdog acts, but does not count it for priority 3"),
])
def test_a_queue_that_the_watchdog_hits_before_it_has_a_storm(seen, is_beside, words):
    """What it held is lost then, and nobody counts it. All that another queue lost in these storms is counted."""
    status = Status.PASS if is_beside else Status.FAIL
    expected = "the 9349545 frames that were lost in `pfcwd show stats` TX DROP"
    checks = [Check("drops-counted", LOSSLESS, Status.FAIL, expected, seen, WHERE),
              Check("drops-counted", LOSSLESS, status, expected, seen, f"{SWITCH} Ethernet0 priority 4")]
    [said] = diagnose([("WD-5", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, checks))])
    assert said.cause.startswith(words), said


def test_what_is_repeated_is_what_the_plan_repeats():
    ids = {again.plan_id: before.plan_id for again, before in zip(afterwards.CASES, afterwards.REPEATED, strict=True)}
    assert REPEATED == ids, ids


def test_what_was_right_before_all_others_is_said_in_the_words_of_its_own_test_case():
    """A port that has another MTU since it was shut down."""
    held = Check("resumed", LOSSLESS, Status.PASS, "all 9 frames", 9, WHERE)
    lost = verdict(("resumed", WHERE, "all 1709145 frames received in traffic without a storm", 0))
    [said] = diagnose([("PFC-1", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [held])), ("AFTER-4", lost)])
    assert "of the sizes of SIZE-4" in said.cause and said.cause.endswith("were carried out"), said


def test_what_failed_before_all_others_is_judged_without_what_repeats_it():
    """A watchdog that detects nothing, in WD-2 and once more."""
    unseen = verdict(("storm-detected", WHERE, "the queue stormed in the storm", "operational"),
                     ("no-back-pressure", f"{SWITCH} Ethernet64 priority 3", "0 PFC frames sent", 9),
                     ("dropped-in-storm", WHERE, "0 frames received in the storm", 5))
    for plan_ids in ("WD-2",), ("WD-2", "AFTER-10"), ("WD-2", "LSET-11", "AFTER-10"):
        [said] = diagnose([(plan_id, unseen) for plan_id in plan_ids])
        assert said.cause.startswith("the watchdog does not detect the pause storm on priority 3"), said


def test_an_error_without_a_known_cause_is_said_to_be_unexplained():
    said = diagnose([("PFC-1", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [], "the link is down"))])
    assert str(said[0]) == f"{SWITCH} Ethernet0: the link is down; {UNKNOWN}", said


def test_a_counter_that_was_cleared_is_not_said_to_begin_anew():
    seen = Check("counters-kept", LOSSLESS, Status.ERROR, "PFC receive counters that only grow in the run",
                 "one that fell by 51000", f"{SWITCH} Ethernet0")
    said = diagnose([("PFC-1", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [seen], seen.message))])
    assert "anew" not in str(said[0]), said


def test_counters_that_begin_anew_with_each_storm_of_the_watchdog():
    """In one test case somebody may have cleared them."""
    seen = Check("counters-kept", LOSSLESS, Status.ERROR, "PFC receive counters that only grow in the run",
                 "one that fell by 894665", f"{SWITCH} Ethernet0")
    error = PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [seen], seen.message)
    [said] = diagnose([("WD-1", error), ("WD-2", error)])
    assert "the pauses that Ethernet0 has counted are counted anew" in said.cause and said.is_certain, said
    [said] = diagnose([("WD-1", error)])
    assert not said.is_certain, said


@pytest.mark.parametrize(("got", "said"), [
    (0, "goes on acting on priority 3 after a storm in which the port was shut down"),
    (8, "does not detect the pause storm on priority 3"),
])
def test_frames_that_are_lost_once_a_port_was_started_tell_a_storm_that_is_acted_upon(got, said):
    """From one that the watchdog does not look for any more."""
    where = f"{SWITCH} Ethernet0 priority 3"
    later = "(after the port was started)"
    sent = f"all 9 frames from Ethernet64 to Ethernet0 received after the storm {later}"
    checks = [Check(name, LOSSLESS, Status.FAIL, expected, seen, where) for name, expected, seen in (
        ("storm-detected", f"the queue stormed in the storm {later}", "operational"),
        ("storm-counted", f"1 storm counted as detected {later}", 0), ("resumed", sent, got))]
    [found] = diagnose([("FLAP-6", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, checks))])
    assert said in found.cause, found


def test_control_frames_that_are_dropped_and_counted_twice():
    """A switch may count what it drops; not more."""
    check = Check("counter-explained", LOSSLESS, Status.FAIL, "from 0 to 894 more in RX_DRP, as what was sent explains",
                  1788, f"{SWITCH} Ethernet0")
    [said] = diagnose([("FRAME-7", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [check]))])
    assert "control frames that are dropped are counted more than once" in said.cause and said.is_certain, said


def test_a_run_that_is_pass_has_no_diagnosis():
    held = Check("resumed", LOSSLESS, Status.PASS, "all 9 frames", 9, f"{SWITCH} Ethernet0 priority 3")
    assert diagnose([("PFC-1", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [held]))]) == [], "there is nothing to say"


def test_each_rule_says_something_else():
    said = [rule.says for rule in RULES if isinstance(rule.says, str)
            and not re.search("hold for less|no further storm|by the queues' weights", rule.says)]
    assert len({*said}) == len(said), "two rules say the same"
