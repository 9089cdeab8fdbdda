"""What was measured over a bad cable is ERROR, whatever else came of it."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.common.pfc.cables.auditor import OF_MALFORMED_FRAMES, CableAuditor
from tests.common.pfc.cables.soundness import Soundness, look
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.option import auditors
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, Status
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

RX, TX = "Ethernet0", "Ethernet64"
PAUSES = PlanCase("pause", "PFC-1")
FLAPS = re.compile(r"sonic-db-cli APPL_DB EVAL .*flap_count.* 0 ([\w ]+)")
SPOILED = re.compile(r"sonic-db-cli COUNTERS_DB EVAL .*SAI_PORT_STAT_IF_IN_ERRORS.* 0 ([\w ]+)")


class CabledHost(FakeHost):
    """A switch that counts what happens on its cables.

    Attributes:
        flaps, spoiled: port -> what it prints; another one has no such field.
    """

    def __init__(self, world):
        super().__init__(world)
        self.flaps = {}
        self.spoiled = {}

    def _answer(self, command):
        for pattern, printed in ((FLAPS, self.flaps), (SPOILED, self.spoiled)):
            if match := pattern.fullmatch(command):
                return "\n".join(str(printed.get(port, "-")) for port in match[1].split())
        return super()._answer(command)


class CountingApi(FakeApi):
    """Traffic generators that count frames with a wrong FCS, as IxNetwork does.

    Attributes:
        counted: generator port -> frames.
    """

    def __init__(self, world):
        super().__init__(world)
        self.counted = {}

    def crc_errors(self):
        """As of now."""
        return self.counted


class SpoilingApi(CountingApi):
    """Each start of traffic spoils a frame."""

    def set_control_state(self, payload):
        """One more."""
        super().set_control_state(payload)
        if payload.choice == "traffic" and payload.traffic.flow_transmit.state == "start":
            self.counted = {f"rx {RX}": self.counted.get(f"rx {RX}", 0) + 1}


def make_lab(kind=CountingApi):
    """The fake lab's port, and what tells of its cables."""
    world = FakeWorld()
    host = CabledHost(world)
    api = kind(world)
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, RX, TX)
    return open_lab(plan, Dut(host), api, FakeClock(world)), host, api


def audit(lab, change, plan_id="PFC-1"):
    """What is not sound while a case runs in which `change` happens; empty: nothing."""
    auditor = CableAuditor()
    auditor.begin(lab)
    change()
    [checks] = auditor.audit([lab], PlanCase("a case", plan_id))
    assert {(check.name, check.status) for check in checks} <= {("cables-sound", Status.ERROR)}, checks
    assert [check.metric_name for check in checks] in ([], [LOSSLESS, LOSSY]), checks
    return checks[0].message if checks else ""


def test_the_option_is_there():
    assert any(isinstance(auditor, CableAuditor) for auditor in auditors()), auditors()


def test_both_ends_of_a_cable_are_looked_at():
    lab, host, api = make_lab()
    host.flaps = {RX: "4"}
    host.spoiled = {RX: "17", TX: "2"}
    api.counted = {f"rx {RX}": 1, "tx Ethernet4": 9}
    found = look([lab])
    assert found[RX] == Soundness(4, 17, 1), found
    assert found[TX] == Soundness(0, 2, 0), found
    assert set(found) == set(lab.subject.ports), "and of no port that has no traffic"


@pytest.mark.parametrize("printed", ["", "N/A", "None", "-1", "Error: no such key"])
def test_what_is_no_number_counts_nothing(printed):
    """A switch that does not have the field says nothing of its links."""
    lab, host, _ = make_lab()
    host.flaps = {RX: printed}
    assert look([lab])[RX] == Soundness(), printed


def test_otg_has_no_count_of_wrong_fcs():
    lab, _, _ = make_lab(FakeApi)
    assert look([lab])[RX] == Soundness(), "and that is no error"


@pytest.mark.parametrize("before, now, gain", [
    (Soundness(1, 2, 3), Soundness(1, 2, 3), Soundness()),
    (Soundness(1, 2, 3), Soundness(3, 2, 7), Soundness(2, 0, 4)),
    (Soundness(1, 9, 9), Soundness(1, 2, 0), Soundness(0, 2, 0)),
])
def test_a_count_that_was_cleared_in_between_is_what_came_after_that(before, now, gain):
    assert now.since(before) == gain, now.since(before)


def test_a_sound_cable_says_nothing():
    """What it has counted before, in whatever order, is not of this case."""
    lab, host, api = make_lab()
    host.flaps = {RX: "4"}
    host.spoiled = {TX: "17"}
    api.counted = {f"rx {RX}": 12}
    assert audit(lab, lambda: None) == "", "nothing happened"


@pytest.mark.parametrize("change, sentence", [
    (lambda host, api: api.counted.update({f"rx {RX}": 3}),
     "the cable of Ethernet0 has CRC errors: 3 counted by the traffic generator"),
    (lambda host, api: host.spoiled.update({TX: "5"}),
     "the cable of Ethernet64 has errors: 5 frames counted by the switch as received so"),
    (lambda host, api: host.flaps.update({RX: "2"}),
     "the link of Ethernet0 went down and up: 2 changes counted by the switch"),
], ids=["to the generator", "to the switch", "flap"])
def test_a_bad_cable_is_named(change, sentence):
    lab, host, api = make_lab()
    expected = f"vtb-t0-01 Ethernet0: expected no frame spoiled on a cable, and no link down, got {sentence}"
    assert audit(lab, lambda: change(host, api)) == expected, "one sentence, with the place"


def test_all_that_is_wrong_is_said():
    lab, host, api = make_lab()

    def everything():
        host.flaps = {RX: "2"}
        host.spoiled = {TX: "5"}
        api.counted = {f"tx {TX}": 1}

    sentence = audit(lab, everything)
    for part in ("the link of Ethernet0 went", "the cable of Ethernet64 has errors: 5",
                 "the cable of Ethernet64 has CRC errors: 1"):
        assert part in sentence, sentence


@pytest.mark.parametrize("family", OF_MALFORMED_FRAMES)
def test_frames_that_are_malformed_on_purpose_are_no_fault_of_the_cable(family):
    """A switch may count them as errors; what the generator counts, and the links, are the cable's all the same."""
    lab, host, api = make_lab()
    assert audit(lab, lambda: host.spoiled.update({RX: "1000"}), f"{family}-1") == "", "they were sent so"
    assert "CRC errors" in audit(lab, lambda: api.counted.update({f"rx {RX}": 3}), f"{family}-1"), "not these"
    assert "went down" in audit(lab, lambda: host.flaps.update({RX: "2"}), f"{family}-1"), "nor a link"


@pytest.mark.parametrize("plan_id", ["FLAP-1", "FLAP-7", "TAG-2"])
def test_links_that_a_case_takes_down_are_not_the_cables_fault(plan_id):
    """Those of bystanders are."""
    lab, host, api = make_lab()
    beside = replace(lab.subject.pair.rx, port="Ethernet4")
    lab = replace(lab, subject=replace(lab.subject, bystanders=(beside,)))

    def flap():
        host.flaps = {RX: "2", TX: "2"}
        host.spoiled = {RX: "5"}
        api.counted = {f"rx {RX}": 1}

    assert audit(lab, flap, plan_id) == "", "it takes them down itself"
    said = audit(lab, lambda: host.flaps.update({"Ethernet4": "1"}), plan_id)
    assert said.endswith("got the link of Ethernet4 went down and up: 1 changes counted by the switch"), said


def test_a_switch_that_cannot_be_read_is_told():
    lab, host, _ = make_lab()
    host.shell = lambda command, **options: {"stdout": "", "rc": 255, "stderr": "gone"}
    with pytest.raises(QualificationError):
        CableAuditor().begin(lab)


def test_a_case_over_a_bad_cable_is_error_whatever_else_came_of_it():
    lab, _, _ = make_lab(SpoilingApi)
    outcome = Qualifier(lab, [CableAuditor()]).qualify(SINGLE_LOSSLESS, (3,))
    statuses = {verdict.status for verdict in outcome.verdicts}
    assert statuses == {Status.ERROR}, [verdict.messages for verdict in outcome.verdicts]
    assert "the cable of Ethernet0 has CRC errors" in str(outcome.verdicts[0].cause), outcome.verdicts[0].cause


def test_a_broken_switch_behind_a_bad_cable_is_error_too():
    """What leaked may have been let through because the pause was spoiled."""
    lab, _, api = make_lab(SpoilingApi)
    api._world.ignores_pause = True
    outcome = Qualifier(lab, [CableAuditor()]).qualify(SINGLE_LOSSLESS, (3,))
    statuses = {verdict.status for verdict in outcome.verdicts}
    assert statuses == {Status.ERROR}, [verdict.messages for verdict in outcome.verdicts]


def test_a_case_over_sound_cables_passes():
    lab, host, _ = make_lab()
    host.flaps = {RX: "1", TX: "1"}
    outcome = Qualifier(lab, [CableAuditor()]).qualify(SINGLE_LOSSLESS, (3,))
    statuses = {verdict.status for verdict in outcome.verdicts}
    assert statuses == {Status.PASS}, [verdict.messages for verdict in outcome.verdicts]


def test_what_failed_over_a_bad_cable_is_error_and_what_passed_stands():
    lab, host, _ = make_lab()
    auditor = CableAuditor()
    failed = Check("blocked-while-paused", LOSSLESS, Status.FAIL, "0 frames", 12, "vtb-t0-01 Ethernet0")
    passed = replace(failed, status=Status.PASS, seen=0)
    auditor.begin(lab)
    auditor.audit([lab], PAUSES)
    assert list(auditor.reconsidered(lab, PAUSES, [failed, passed])) == [failed, passed], "the cables were sound"
    auditor.begin(lab)
    host.flaps = {RX: "2"}
    auditor.audit([lab], PAUSES)
    seen = "12, and the link of Ethernet0 went down and up: 2 changes counted by the switch"
    assert list(auditor.reconsidered(lab, PAUSES, [failed, passed])) == [
        replace(failed, status=Status.ERROR, seen=seen), passed], "they were not"
    auditor.begin(lab)
    assert list(auditor.reconsidered(lab, PAUSES, [failed])) == [failed], "the next case begins anew"
    assert auditor.explain(lab) == "", "it has nothing to say of a preflight"


def test_of_several_ports_at_once_each_cable_is_looked_at():
    """A port with a bad one is ERROR, and no other; also a port that another one's data may enter by."""
    world = FakeWorld()
    host = CabledHost(world)
    api = CountingApi(world)
    dut = Dut(FakeHost(FakeWorld()))
    first, second = (open_lab(plan_port(dut, TESTER_PORTS, port, tx), Dut(host), api, FakeClock(world))
                     for port, tx in ((RX, TX), ("Ethernet4", TX)))
    first = replace(first, subject=replace(first.subject, further=()))
    second = replace(second, subject=replace(second.subject, further=(first.subject.pair.rx,)))
    auditor = CableAuditor()
    auditor.begin(first, [second])
    host.flaps = {"Ethernet4": "2"}
    sound, unsound = auditor.audit([first, second], PAUSES)
    assert not sound and "the link of Ethernet4 went down and up" in unsound[0].message, unsound
    auditor.begin(first, [second])
    api.counted = {f"rx {RX}": 3}
    for checks in auditor.audit([first, second], PAUSES):
        assert "the cable of Ethernet0 has CRC errors: 3" in checks[0].message, checks


@pytest.mark.parametrize("exact, ports, told", [
    (False, "ab", "2 changes"), (False, "a", "4 changes"), (True, "ab", "4 changes"),
])
def test_what_links_do_while_a_chassis_takes_other_ports_is_no_bad_cable(monkeypatch, exact, ports, told):
    """One change before it, two meanwhile, one after it. With the same ports as before, or on a virtual testbed, all
    four count."""
    lab, host, _ = make_lab()
    monkeypatch.setattr(type(lab.clock), "exact", exact)
    auditor = CableAuditor()
    auditor.begin(lab)
    push(lab, "a")
    auditor.audit([lab], PAUSES)
    auditor.begin(lab)
    host.flaps = {RX: "1"}
    push(lab, ports, lambda: host.flaps.update({RX: "3"}))
    host.flaps = {RX: "4"}
    [checks] = auditor.audit([lab], PAUSES)
    assert told in checks[0].message, checks[0].message


def push(lab, ports, meanwhile=lambda: None):
    """A configuration with these ports, and a start."""
    config = SimpleNamespace(ports=[SimpleNamespace(name=name) for name in ports])
    for observer in lab.generator.observers:
        observer.traffic_pushed([], config, 0.0)
    meanwhile()
    for observer in lab.generator.observers:
        observer.flows_started([], 0.0)
