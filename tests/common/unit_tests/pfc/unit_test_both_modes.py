"""Ports of the fake switch that are measured in a wave and alone: the worse verdict counts, and says where it is of."""

import pytest

from tests.common.pfc.record.records import RunLabels, make_record
from tests.common.pfc.record.verdict import Status
from tests.common.pfc.resume.earlier import port_verdict
from tests.common.pfc.sweep.port_sweep import PORT
from tests.common.unit_tests.pfc.fakes import DEVICE, PORTS
from tests.common.unit_tests.pfc.sweep_fakes import SweptLab
from tests.common.unit_tests.pfc.unit_test_sweep import WAVES, causes, statuses

LEAKS = "Ethernet4 priority 4: expected 0 frames received while paused, got 12"


class Moody(SweptLab):
    """Ethernet4 leaks in some of the measurements."""

    def __init__(self, leaks):
        """`leaks`: asked with the ports of each configuration."""
        super().__init__()
        self.on_push = lambda ports: self._turn(leaks(ports))

    def _turn(self, leaks):
        self.worlds["Ethernet4"].leaked = {4: 12} if leaks else {}


def test_each_port_is_measured_in_a_wave_and_alone():
    """The wave once, for both of its ports; all of it is PASS."""
    lab = SweptLab()
    outcomes = lab.sweep_both()
    assert statuses(outcomes) == dict.fromkeys(PORTS, ("PASS", "PASS")), [causes(one) for one in outcomes.values()]
    alone = [[port] for port in PORTS]
    assert lab.pushes == [*WAVES, WAVES[0], *alone[:2], WAVES[1], *alone[2:]], f"configurations: {lab.pushes}"
    evidence = outcomes["Ethernet4"].evidence
    assert evidence["measured"] == "in a wave with Ethernet0" and evidence["ports_at_once"] == WAVES[0], evidence
    also = evidence["measured_also"]
    assert also["measured"] == "alone" and also["ports_at_once"] == ["Ethernet4"], also
    checks = [check for verdict in outcomes["Ethernet4"].verdicts for check in verdict.checks]
    assert len({check.message for check in checks}) == len(checks), "two checks that cannot be told apart"


@pytest.mark.parametrize(("leaks", "said"), [
    (lambda ports: len(ports) > 1, {"only in a wave with Ethernet0: "}),
    (lambda ports: ports == ["Ethernet4"], {"only alone: "}),
    (lambda ports: True, {""}),
])
def test_a_port_that_fails_in_one_mode_fails_and_says_in_which(leaks, said):
    """What is the same in both needs no word."""
    outcomes = Moody(leaks).sweep_both()
    assert statuses(outcomes) == dict.fromkeys(PORTS, ("PASS", "PASS")) | {"Ethernet4": ("FAIL", "PASS")}, outcomes
    found = [cause for cause in causes(outcomes["Ethernet4"]) if LEAKS in cause]
    assert {cause.partition(DEVICE)[0] for cause in found} == said and len(found) == len(said), found


def test_the_evidence_is_of_the_worse_measurement():
    outcome = Moody(lambda ports: ports == ["Ethernet4"]).sweep_both()["Ethernet4"]
    found = outcome.evidence["measured"], outcome.evidence["ports_at_once"]
    assert found == ("alone", ["Ethernet4"]), found
    assert outcome.evidence["measured_also"]["ports_at_once"] == WAVES[0], outcome.evidence["measured_also"]


def test_a_port_that_cannot_be_measured_alone_is_an_error():
    """The wave said PASS, which is half of what was asked."""
    lab = SweptLab()

    def refuse(ports):
        lab.refused = "Ethernet4" if ports == ["Ethernet4"] else ""

    lab.on_push = refuse
    outcomes = lab.sweep_both()
    found = statuses(outcomes)
    assert (found["Ethernet4"], found["Ethernet0"]) == (("ERROR", "ERROR"), ("PASS", "PASS")), found
    assert causes(outcomes["Ethernet4"])[0].startswith("only alone: "), causes(outcomes["Ethernet4"])


def test_a_wave_that_fails_is_not_taken_apart():
    """It is tried once more as a whole: what a port shows alone is no measurement in a wave."""
    lab = SweptLab()

    def refuse(ports):
        lab.refused = "Ethernet0" if len(ports) > 1 and len(lab.pushes) > 2 else ""

    lab.on_push = refuse
    outcomes = lab.sweep_both()
    expected = dict.fromkeys(PORTS, ("PASS", "PASS")) | dict.fromkeys(WAVES[0], ("ERROR", "ERROR"))
    assert statuses(outcomes) == expected, statuses(outcomes)
    for port in WAVES[0]:
        assert all(cause.startswith("only in a wave with ") for cause in causes(outcomes[port])), causes(outcomes[port])


def test_a_failure_outlives_an_error_of_the_other_measurement():
    """Nothing is said of "only": the other measurement is not there."""
    lab = Moody(lambda ports: len(ports) > 1)
    turn = lab.on_push

    def refuse(ports):
        turn(ports)
        lab.refused = "Ethernet4" if ports == ["Ethernet4"] else ""

    lab.on_push = refuse
    outcomes = lab.sweep_both()
    assert statuses(outcomes)["Ethernet4"] == ("FAIL", "ERROR"), causes(outcomes["Ethernet4"])
    assert causes(outcomes["Ethernet4"])[0].startswith("in a wave with Ethernet0: "), causes(outcomes["Ethernet4"])


def test_a_port_without_company_is_an_error():
    """Its pair is the only one: nothing is known of it in a wave."""
    outcomes = SweptLab().sweep_both(ports=["Ethernet4"])
    assert statuses(outcomes) == {"Ethernet4": ("ERROR", "ERROR")}, causes(outcomes["Ethernet4"])
    cause = causes(outcomes["Ethernet4"])[0]
    assert "expected another port that can be measured at once" in cause, cause


def test_a_port_that_is_left_over_gets_company():
    """Of three ports of which two can be measured at once; what the company shows there is not asked."""
    lab = SweptLab()
    plan = lab.plan()
    ports = ["Ethernet0", "Ethernet4", "Ethernet64"]
    waves = plan.both_waves(2, ports, ports)
    assert waves[0] == ["Ethernet0", "Ethernet4"] and waves[1] == ["Ethernet64", "Ethernet4"], waves
    assert waves[2:] == [[port] for port in ports], waves
    assert plan.both_waves(None, ports, ["Ethernet64"])[1:] == [["Ethernet64"]], "what goes on with a run"


def test_a_record_of_both_is_read_again_as_it_was():
    """For a run that goes on."""
    outcome = Moody(lambda ports: len(ports) > 1).sweep_both()["Ethernet4"]
    labels = RunLabels("run", "lab", "os", "hwsku")
    records = [make_record(labels, outcome.case, verdict, outcome.evidence) for verdict in outcome.verdicts]
    again = [port_verdict(record) for record in records]
    assert [verdict.status for verdict in again] == [Status.FAIL, Status.PASS], again
    said = [verdict.messages for verdict in again]
    assert said == [verdict.messages for verdict in outcome.verdicts], said
    keys = {(verdict.device, verdict.port, verdict.priority, verdict.metric_name) for verdict in again}
    assert keys == {(DEVICE, "Ethernet4", None, metric) for metric in PORT.metrics}, keys
