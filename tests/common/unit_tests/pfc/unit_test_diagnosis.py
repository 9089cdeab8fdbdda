"""One sentence for all failed checks: on what the suite really found on broken virtual switches
(`scripts/tests/diagnosed.py` writes it), and on checks that are made up where that is missing."""

import json
from pathlib import Path

import pytest

from tests.common.pfc.diagnosis.rules import RULES, diagnose
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, PortVerdict, Status

FILE = Path(__file__).with_name("diagnosis_faults.json")
FOUND = json.loads(FILE.read_text(encoding="ascii"))
SWITCH = "vtb-t0-01"
TRUTH = {  # fault -> port, priorities, what the sentence says
    "pause-ignored": ("Ethernet12", "priorities 3, 4", "stop nothing"),
    "lossy-queue-paused": ("Ethernet16", "priority 1", "a pause also stops priority 1, of which no frame came;"
                           " priorities 0, 2, 5, 6 starve behind it"),
    "pause-leaks": ("Ethernet20", "priorities 3, 4", "some frames of priorities 3, 4 leave although"),
    "slow-response": ("Ethernet24", "priorities 3, 4", "act too late"),
    "pause-short": ("Ethernet28", "priority 3", "hold for less than their time"),
    "pause-outlives-flap": ("Ethernet32", "priorities 3, 4", "outlives the link's going down"),
    "pfc-miscounted": ("Ethernet100", "priorities 3, 4, 5, 7", "pauses are counted for"),
    "pfc-counted-as-data": ("Ethernet104", "", "pauses are counted as data"),
    "pfc-counted-as-drop": ("Ethernet108", "", "pauses are counted as drops"),
    "pfc-forwarded": ("Ethernet112", "", "pause frames are forwarded to other ports"),
    "lossless-dropped": ("Ethernet116", "priorities 3, 4", "also without any storm"),
    "lossy-dropped": ("Ethernet120", "priorities 0, 1, 2, 5, 6", "also without any storm"),
    "counters-negative": ("Ethernet124", "priorities 3, 4", "is not the number of pauses sent"),
    "headroom-missing": ("Ethernet68", "priorities 3, 4", "frames that come in after them are lost"),
    "xoff-not-sent": ("Ethernet72", "priorities 3, 4", "no pause is sent for"),
    "malformed-pfc-sent": ("Ethernet76", "", "end too early"),
    "xoff-wrong-priority": ("Ethernet80", "priority 0", "paused too while others are congested"),
    "xon-not-sent": ("Ethernet84", "priorities 3, 4", "the end of congestion is not told"),
}


def verdict(*checks):
    """The failed checks (name, where, expected, seen) of a port as its verdict."""
    made = [Check(name, LOSSLESS, Status.FAIL, expected, seen, where) for name, where, expected, seen in checks]
    return PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, made)


def recorded(fault):
    """Plan id and verdict of all that a fault failed."""
    return [
        (one["plan_id"], PortVerdict(one["device_id"], one["port_id"], one["priority"], one["metric_name"], [
            Check(check["name"], one["metric_name"], Status(check["status"]), check["expected"], check["seen"],
                  check["where"]) for check in one["checks"]
        ])) for one in FOUND if one["fault"] == fault
    ]


@pytest.mark.parametrize("fault", TRUTH)
def test_the_sentence_names_port_priority_and_cause(fault):
    port, priorities, cause = TRUTH[fault]
    said = diagnose(recorded(fault))
    assert len(said) == 1, said
    assert said[0].startswith(f"{SWITCH} {port}: ") and priorities in said[0] and cause in said[0], said


def test_every_recorded_fault_has_its_truth():
    assert {one["fault"] for one in FOUND} == {*TRUTH}, "a fault is recorded and not judged, or the other way round"


@pytest.mark.parametrize(
    ("fault", "metric"), [("lossy-queue-paused", LOSSY), ("xoff-wrong-priority", LOSSY), ("pause-ignored", LOSSLESS)]
)
def test_failed_checks_are_filed_under_the_victims_metric(fault, metric):
    assert {one.metric_name for _, one in recorded(fault)} == {metric}, f"{fault} is filed under another metric"


def test_what_no_rule_explains_is_said_to_be_unexplained():
    said = diagnose([("PFC-1", verdict(("flows-after-flap", f"{SWITCH} Ethernet0 priority 1", "all 9 frames", 8)))])
    expected = f"no single cause found: 1 checks failed, first {SWITCH} Ethernet0 priority 1: expected all 9 frames"
    assert said == [f"{expected}, got 8"], said


def test_a_run_without_failed_checks_has_no_diagnosis():
    assert diagnose([("PFC-1", PortVerdict(SWITCH, "Ethernet0", 3, LOSSLESS, [], "the run broke off"))]) == [], (
        "an error is no finding about the switch"
    )


def test_each_rule_has_a_name_of_its_own():
    assert len({rule.name for rule in RULES}) == len(RULES), "two rules are called alike"
