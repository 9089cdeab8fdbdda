"""Faults that show on ports that no case looks at: every counter of the switch, and light traffic beside the case."""
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.campaign.broken_testbed import connected_ports
from scripts.tests.broken import Bench, broken_bench
from tests.common.pfc.accounting.auditor import BookAuditor
from tests.common.pfc.accounting.bystanders import with_bystanders
from tests.common.pfc.cables.auditor import CableAuditor
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases.plan import port_cases, targets
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.option import Auditor
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.tolerances import EXACT, Tolerances
from tests.common.pfc.record.case import Outcome, PlanCase
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import plan_port

NOTHING = "priority 3: expected 0 more in {}, as nothing that was sent counts there, got "
ELSEWHERE = {
    "pause-acts-elsewhere@Ethernet0,on=Ethernet4,priority=3": (
        "Ethernet0", "Ethernet64",
        "Ethernet124 priority 3: expected 0 more in PFC3 Tx, as nothing may hold frames from "),
    "pfc-counted-elsewhere@Ethernet12,on=Ethernet44": (
        "Ethernet12", "Ethernet68", f"Ethernet44 {NOTHING.format('PFC3 Rx')}"),
    "xoff-elsewhere@Ethernet72,on=Ethernet48": (
        "Ethernet20", "Ethernet72", "Ethernet48 priority 3: expected 0 more in PFC3 Tx, as nothing "),
    "pfc-forwarded@Ethernet28,to=Ethernet56": (
        "Ethernet28", "Ethernet80",
        "Ethernet56: expected .* more in TX_OK, as "),
    "frames-copied@Ethernet116,on=Ethernet120,one_in=2000": (
        "Ethernet116", "Ethernet60", "Ethernet120: expected .* more in TX_OK, as "),
}
"""Fault -> the pair of ports, and what is said of the port that gives it away, as a pattern."""
MISCOUNTED = {
    "sent-counted-as-received@Ethernet16": ("PFC-1", r"Ethernet16: expected from 0 to \d+ more in RX_OK, as "),
    "frames-copied@Ethernet52,one_in=2000": ("COUNT-3", r"Ethernet52: expected from \d+ to \d+ more in TX_OK, as "),
    "drops-counted-as-sent@Ethernet24": (
        "M2O-2", r"Ethernet24 priority 0: expected from \d+ to \d+ more in Counter/pkts of UC0"
    ),
}
"""Fault -> the case, and what is said of its port, whose own counters move with the wrong event."""
UNSEEN = {
    "storm-never-arrives@Ethernet8": (
        "PFC-1", "PFC-4", "FRAME-1", "FRAME-4", "FRAME-5", "FRAME-6", "FRAME-7", "FRAME-8", "FRAME-9",
        "FRAME-10", "COUNT-2",
    ),
    "storm-never-arrives@Ethernet32,only=global": ("PFC-4",),
    "control-uncounted@Ethernet40": ("PFC-4", "FRAME-4", "FRAME-7", "FRAME-8", "FRAME-9", "FRAME-10", "COUNT-2"),
}
"""Fault -> cases that cannot know whether their pauses arrived."""
SEEN = {
    "storm-never-arrives@Ethernet32,only=global": ("PFC-1", "FRAME-4"),
    "control-uncounted@Ethernet40": ("PFC-1", "PFC-3", "FRAME-3"),
    "-@Ethernet36": ("PFC-1", "PFC-3", "PFC-4", *(f"FRAME-{number}" for number in range(1, 11)), "COUNT-2"),
}
"""The same, and cases that know; `-`: nothing is broken there."""
FILE = "sibling.py"
FILES = {FILE: '''
from dataclasses import replace

from virtual_testbed.dataplane.model.hooks import Fault


class SiblingDown(Fault):
    """While the port `of` is shut down the link of another one of its module is down too."""

    name, options, port_options = "sibling-down", ("of", "sibling"), ("of", "sibling")
    is_shut = False

    def takes_effect(self, before, config):
        if config.name == self.values["of"]:
            self.is_shut = not config.admin_up
        return replace(config, admin_up=False) if self.is_shut and config.name == self.values["sibling"] else config


class ByOctet(Fault):
    """DSCP_TO_TC_MAP is applied to the whole octet: frames that come in with this ECN field are class 0."""

    name, options = "by-octet", ("ecn",)

    def classified(self, frame, traffic_class):
        return 0 if str(frame.ecn) == self.values["ecn"] else traffic_class
'''}
SORTED = f"{FILE}:ByOctet@"
BY_OCTET = {
    f"{SORTED}Ethernet76,ecn=1": (Status.FAIL, r"Ethernet36 priority 4: expected from \d+ .* Counter/pkts of UC4"),
    f"{SORTED}Ethernet96,ecn=2": (Status.ERROR, r"Ethernet36 priority 1: .* to leave through queue UC1, got 0"),
    f"{SORTED}Ethernet108,ecn=3": (Status.FAIL, "Ethernet36 priority 3: expected 0 frames received while paused, got "),
}
"""Fault of the tx port -> what comes of PFC-1, and what is said."""
SIBLING = f"{FILE}:SiblingDown@*,of=Ethernet100,sibling=Ethernet104"
ALL = [*ELSEWHERE, *MISCOUNTED, *UNSEEN, *BY_OCTET, SIBLING]
BROKEN = {found for fault in ALL for found in re.findall(r"@(Ethernet\d+)", fault)}
BY_ID = {case.plan_id: case for case in port_cases()}

pytestmark = pytest.mark.slow("a case with closed accounting on each switch that is broken in its way")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A switch with all of these."""
    folder: Path = tmp_path_factory.mktemp("accounting")
    with broken_bench(folder, ALL, FILES) as found:
        yield found


def audited(
    bench: Bench, rx: str, tx: str, case: PlanCase = SINGLE_LOSSLESS, tolerances: Tolerances = EXACT,
    auditors: Sequence[Auditor] | None = None,
) -> Outcome:
    """A case on a pair of ports, with bystanders that have no fault; `auditors`: None: closed accounting."""
    sound = [port for port in connected_ports() if port.port in (rx, tx) or port.port not in BROKEN]
    plan = with_bystanders(plan_port(bench.dut, connected_ports(), rx, tx), sound)
    lab = open_lab(plan, bench.dut, bench.api, bench.clock)
    lab = replace(lab, subject=replace(lab.subject, tolerances=tolerances, changeable=True))
    qualifier = Qualifier(lab, [BookAuditor()] if auditors is None else auditors)
    return qualifier.qualify(case, targets(case, lab.subject)[0])


@pytest.mark.parametrize("fault", ELSEWHERE)
def test_what_happens_at_another_port_fails_and_names_it(bench: Bench, fault: str) -> None:
    """The case's own checks look at its two ports only."""
    rx, tx, message = ELSEWHERE[fault]
    outcome = audited(bench, rx, tx)
    reasons = [reason for verdict in outcome.verdicts for reason in verdict.messages]
    assert Status.FAIL in {verdict.status for verdict in outcome.verdicts}, reasons
    assert any(re.search(message, reason) for reason in reasons), reasons


@pytest.mark.parametrize("fault", MISCOUNTED)
def test_counters_that_move_with_the_wrong_event_fail(bench: Bench, fault: str) -> None:
    """Of the port under test itself."""
    plan_id, message = MISCOUNTED[fault]
    outcome = audited(bench, re.findall(r"Ethernet\d+", fault)[0], "Ethernet88", BY_ID[plan_id])
    failed = [one.message for verdict in outcome.verdicts for one in verdict.checks if one.name == "counter-explained"]
    assert any(re.search(message, one) for one in failed), failed


@pytest.mark.parametrize("fault", BY_OCTET)
def test_frames_that_are_sorted_by_their_ecn_field_too_fail(bench: Bench, fault: str) -> None:
    """Each codepoint but 0 reaches each lossless priority."""
    status, message = BY_OCTET[fault]
    outcome = audited(bench, "Ethernet36", re.findall(r"Ethernet\d+", fault)[0])
    reasons = [reason for verdict in outcome.verdicts for reason in verdict.messages]
    assert status in {verdict.status for verdict in outcome.verdicts}, reasons
    assert any(re.search(message, reason) for reason in reasons), reasons


@pytest.mark.parametrize("fault, plan_id", [(fault, one) for fault, cases in UNSEEN.items() for one in cases])
def test_pauses_of_which_nothing_shows_that_they_arrived_are_no_measurement(
    bench: Bench, fault: str, plan_id: str
) -> None:
    """The generator says that it sent them."""
    outcome = audited(bench, re.findall(r"Ethernet\d+", fault)[0], "Ethernet92", BY_ID[plan_id])
    reasons = {reason for verdict in outcome.verdicts for reason in verdict.messages}
    assert {verdict.status for verdict in outcome.verdicts} == {Status.ERROR}, reasons
    assert all(re.search(r"in one of its receive counters .* got (0|at most \d+)", one) for one in reasons), reasons


@pytest.mark.parametrize("fault, plan_id", [(fault, one) for fault, cases in SEEN.items() for one in cases])
def test_pauses_of_which_a_counter_shows_that_they_arrived(bench: Bench, fault: str, plan_id: str) -> None:
    """The record says which."""
    outcome = audited(bench, re.findall(r"Ethernet\d+", fault)[0], "Ethernet92", BY_ID[plan_id])
    reasons = [reason for verdict in outcome.verdicts for reason in verdict.messages]
    assert {verdict.status for verdict in outcome.verdicts} == {Status.PASS}, reasons
    shown = [one.seen for verdict in outcome.verdicts for one in verdict.checks if one.name == "storm-arrived"]
    assert shown and all(re.search("[1-9][0-9]+ in (SAI_|PFC)", seen) for seen in shown), shown


@pytest.mark.parametrize("plan_id", ["PFC-4", "FRAME-5", "COUNT-2"])
def test_without_that_proof_they_passed(bench: Bench, plan_id: str) -> None:
    """A case that must show nothing does, where nothing comes."""
    outcome = audited(bench, "Ethernet8", "Ethernet92", BY_ID[plan_id], auditors=())
    assert {verdict.status for verdict in outcome.verdicts} == {Status.PASS}


@pytest.mark.parametrize(("auditors", "status"), [([], Status.FAIL), ([BookAuditor()], Status.ERROR)])
def test_of_ports_measured_at_once_too(bench: Bench, auditors: list[BookAuditor], status: Status) -> None:
    """One whose storm never arrives is no measurement, and its neighbour is one all the same; without that proof the
    switch would have failed for the generator's sake."""
    outcomes = bench.sweep(None, ("Ethernet8", "Ethernet36"), auditors)
    found = {port: {verdict.status for verdict in outcome.verdicts} for port, outcome in outcomes.items()}
    assert outcomes["Ethernet36"].evidence["ports_at_once"] == ["Ethernet8", "Ethernet36"], outcomes["Ethernet36"]
    assert status in found["Ethernet8"] and found["Ethernet36"] == {Status.PASS}, outcomes
    if auditors:
        assert found["Ethernet8"] == {Status.ERROR}, "no metric was measured"
        [shown] = {one.seen for verdict in outcomes["Ethernet36"].verdicts for one in verdict.checks
                   if one.name == "storm-arrived"}
        assert re.fullmatch("[1-9][0-9]+ in (SAI_|PFC).*", shown), shown


def test_a_testbed_may_vouch_for_them(bench: Bench) -> None:
    """Then the check informs, and decides nothing."""
    vouched = replace(EXACT, trust_generator=True, reason="captured at the end of the cable")
    outcome = audited(bench, "Ethernet40", "Ethernet92", BY_ID["PFC-4"], vouched)
    assert {verdict.status for verdict in outcome.verdicts} == {Status.PASS}
    [check] = {one for verdict in outcome.verdicts for one in verdict.checks if one.name == "storm-arrived"}
    assert (check.status, check.required) == (Status.ERROR, False), check


@pytest.mark.parametrize(("auditors", "plan_id", "status", "said"), [
    ([BookAuditor()], "FLAP-3", Status.FAIL, r"Ethernet\d+ priority 0: expected all \d+ frames sent .*beside the case"),
    ([CableAuditor()], "FLAP-7", Status.ERROR, "no link down, got the link of Ethernet104 went down and up"),
])
def test_a_port_that_goes_down_with_the_one_under_test_is_seen(
    bench: Bench, auditors: list[Auditor], plan_id: str, status: Status, said: str
) -> None:
    """What it lost, and where nothing is sent meanwhile its link."""
    outcome = audited(bench, "Ethernet100", "Ethernet36", BY_ID[plan_id], auditors=auditors)
    reasons = [reason for verdict in outcome.verdicts for reason in verdict.messages]
    assert status in {verdict.status for verdict in outcome.verdicts}, reasons
    assert any(re.search(said, reason) for reason in reasons), reasons


@pytest.mark.parametrize("plan_id", ["FLAP-1", "FLAP-2", "FLAP-3", "FLAP-4", "FLAP-6", "FLAP-7", "TAG-2", "LSET-11"])
def test_beside_a_port_whose_link_goes_down_nothing_happens(bench: Bench, plan_id: str) -> None:
    """Of a switch without a fault."""
    outcome = audited(bench, "Ethernet36", "Ethernet84", BY_ID[plan_id], auditors=[BookAuditor(), CableAuditor()])
    assert [reason for verdict in outcome.verdicts for reason in verdict.messages] == []
    checks = {check.name for verdict in outcome.verdicts for check in verdict.checks}
    assert "counter-explained" not in checks, checks
    assert ("bystander-unaffected" in checks) == plan_id.startswith("FLAP"), checks


def test_ports_without_a_fault_pass(bench: Bench) -> None:
    """Every counter is explained, and bystanders lose nothing."""
    outcome = audited(bench, "Ethernet36", "Ethernet84")
    assert [reason for verdict in outcome.verdicts for reason in verdict.messages] == []
    checks = {check.name for verdict in outcome.verdicts for check in verdict.checks}
    assert {"counter-explained", "bystander-sent", "bystander-unaffected"} <= checks
