"""One sentence for what is wrong with a port: on checks that are made up."""

import pytest

from tests.common.pfc.diagnosis.rules import diagnose
from tests.common.pfc.diagnosis.symptoms import NOT_MEASURED, BadCheck, Symptoms
from tests.common.pfc.record.verdict import LOSSLESS, Check, PortVerdict, Status

WHERE = "vtb-t0-01 Ethernet0 priority 3"


def bad(name, seen=12, where=WHERE, status=Status.FAIL):
    """A check that something is wrong with."""
    return Check(name, LOSSLESS, status, "all frames", seen, where)


def verdict(*checks, error=None):
    """Of priority 3."""
    return PortVerdict("vtb-t0-01", "Ethernet0", 3, LOSSLESS, list(checks), error)


@pytest.mark.parametrize("name, cause", [
    ("blocked-while-paused", "some frames of priority 3 leave although their queue is paused"),
    ("resumed", "some frames of priority 3 are lost"),
])
def test_a_failed_check_is_explained_with_its_place(name, cause):
    found = diagnose([("PFC-1", verdict(bad(name)))])
    assert len(found) == 1, f"one cause was expected: {found}"
    said = found[0]
    assert (said.port, said.priorities, said.metrics) == ("vtb-t0-01 Ethernet0", (3,), (LOSSLESS,)), f"{said}"
    assert said.is_certain and said.cause.startswith(cause), f"{said.cause}"


def test_what_is_not_known_is_said_as_it_was_found():
    said = diagnose([("PFC-1", verdict(bad("of-another-suite")))])[0]
    assert not said.is_certain and said.cause == f"of-another-suite: {WHERE}: expected all frames, got 12", f"{said}"


@pytest.mark.parametrize("cases, cause", [
    (["FLAP-3"], "senders of priority 3 are paused for a port whose link is down"),
    (["FLAP-3", "LOAD-1"], "pauses of priority 3 are sent although nothing is congested"),
])
def test_senders_that_are_paused_for_a_dead_port_are_told_from_those_that_always_are(cases, cause):
    names = {"FLAP-3": "no-pause-sent-after", "LOAD-1": "no-back-pressure"}
    found = diagnose([(case, verdict(bad(names[case]))) for case in cases])
    assert len(found) == 1 and found[0].cause.startswith(f"{cause} ("), f"{found}"


def test_an_error_without_a_check_is_its_own_sentence_and_a_pass_has_none():
    found = diagnose([("PFC-1", verdict(error="the generator went away"))])
    assert [one.cause for one in found] == ["the generator went away"], f"{found}"
    passed = diagnose([("PFC-1", verdict(bad("resumed", status=Status.PASS)))])
    assert not passed, f"nothing is wrong: {passed}"


def test_symptoms_are_asked_by_name_case_and_family():
    both = [BadCheck("PFC-1", bad("resumed")), BadCheck("WD-2", bad("storm-detected", 0, "vtb-t0-01 Ethernet4"))]
    found = Symptoms("vtb-t0-01 Ethernet0", both, frozenset({("TIME-2", "nothing-lost", WHERE)}))
    assert found.has("resumed", "WD") and found.any("WD-2") and not found.any("PFC-2"), "names of checks and cases"
    assert found.of("WD").only("storm-detected") and not found.only("WD"), "these alone"
    assert found.seen(none=True).cases == {"WD-2": None}.keys(), "what saw nothing"
    assert found.ports == ("vtb-t0-01 Ethernet0", "vtb-t0-01 Ethernet4"), f"{found.ports}"
    assert found.who == "priority 3" and found.of("WD").who == "the port", "by what their places name"
    assert found.passed_in("nothing-lost", but="WD") and not found.passed_in("nothing-lost", but="TIME"), "what held"


def test_an_error_without_a_place_names_priorities_in_its_sentence():
    check = Check(NOT_MEASURED, LOSSLESS, Status.ERROR, "", "", "vtb-t0-01 Ethernet0",
                  text="no frames of priorities 3, 4 arrived")
    assert BadCheck("PFC-2", check).priorities == [3, 4], "of its message"
