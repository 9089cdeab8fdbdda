"""What a testbed's entry says of where pauses come from, what pfctest is told, and which test cases are left out."""

import pytest

from tests.common.pfc.cases import frames, pauses
from tests.common.pfc.cases.plan import lack_of, port_cases, targets
from tests.common.pfc.host_pauses.applicability import lacking
from tests.common.pfc.host_pauses.entry import HostPort, pause_entry_of
from tests.common.pfc.host_pauses.options import frame_options, probe_options
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import plan_device
from tests.common.pfc.lab.port_plan import LabFacts, PortRequest
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.traffic import PauseFrame, global_pause_frame, pfc_frame
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeHost, FakeWorld
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

WHERE = "testbed rack-1: pfc_pause_source"
SAID = {"host": "fanout-01", "ports": {"Ethernet4": "Ethernet52", "Ethernet0": "Ethernet48"}}


def entry(said):
    """A testbed's."""
    return {"conf-name": "rack-1", "duts": [DEVICE], "pfc_pause_source": said}


def plan(said, **asked):
    """What is measured on the fake switch."""
    facts = LabFacts(entry(said), lambda name: Dut(FakeHost(FakeWorld())).state(), TESTER_PORTS, {})
    return plan_device(facts, DEVICE, PortRequest(**asked))


def test_an_entry_names_an_interface_for_each_port():
    """Python and the folder have defaults; without an entry pauses come from the traffic generator."""
    assert pause_entry_of(entry(None)) is None, "no entry"
    found = pause_entry_of(entry(SAID)).of("Ethernet0")
    assert found == HostPort("fanout-01", "Ethernet48", "python3", "/run/pfc_generator"), found
    own = pause_entry_of(entry(SAID | {"python": "/opt/py/bin/python3", "folder": "/tmp/g"})).of("Ethernet4")
    assert own == HostPort("fanout-01", "Ethernet52", "/opt/py/bin/python3", "/tmp/g"), own


@pytest.mark.parametrize("said, sentence", [
    ("fanout-01", f"{WHERE} is 'fanout-01', it takes a dictionary with host, ports, python, folder"),
    (SAID | {"port": 1}, f"{WHERE} is {SAID | {'port': 1}!r}, it takes a dictionary with host, ports, python, folder"),
    ({"ports": SAID["ports"]}, f"{WHERE} has host None, it takes a name of the inventory"),
    (SAID | {"python": 3}, f"{WHERE} has python 3, it takes a Python 3"),
    (SAID | {"folder": ""}, f"{WHERE} has folder '', it takes a path"),
    ({"host": "h"}, f"{WHERE} has ports None, it takes a dictionary from ports under test to interfaces of h"),
    ({"host": "h", "ports": {"Ethernet0": 1}}, f"{WHERE} has ports {{'Ethernet0': 1}}, it takes a dictionary from"),
    ({"host": "h", "ports": {"Ethernet0": "a", "Ethernet4": "a"}}, f"{WHERE} has interface a for several ports: its"),
])
def test_what_an_entry_cannot_say_is_refused(said, sentence):
    """In one sentence that names the testbed, what was found and what would be right."""
    with pytest.raises(QualificationError) as error:
        pause_entry_of(entry(said))
    assert str(error.value).startswith(sentence), str(error.value)


def test_the_first_port_that_is_named_is_the_port_under_test():
    """One that is not named is refused."""
    found = plan(SAID)
    assert found.subject.pair.rx.port == "Ethernet4" and found.subject.pauses_from.endswith(" Ethernet52"), found
    assert any("pauses come from fanout-01 Ethernet52" in remark for remark in found.remarks), found.remarks
    with pytest.raises(QualificationError, match="the port under test is Ethernet64: expected the one whose cable"):
        plan(SAID, port_under_test="Ethernet64")


def test_cases_that_a_host_cannot_carry_out_are_named_with_a_reason():
    """Those with storms that are started and stopped, and those without pauses, are carried out."""
    subject = plan(SAID).subject
    there = {case.family for case in port_cases()}
    done = {case.family for case in port_cases() if not lacking(case, subject)}
    assert done == {"PFC", "FRAME", "SIZE", "LOAD", "M2O", "SPEED"} & there, done
    left_out = [case.plan_id for case in port_cases() if lacking(case, subject) and case.family in ("PFC", "FRAME")]
    assert left_out == ["PFC-4", "FRAME-4", "FRAME-5", "FRAME-6", "FRAME-7", "FRAME-8", "FRAME-9",
                        "FRAME-10"], left_out
    assert targets(frames.OTHER_TYPE, subject) == [] and targets(pauses.LOSSY, subject) != [], "targets"
    found = {lack_of(case, subject) for case in port_cases()}
    for family, lack in (("TIME", "a sender of pauses at exact times"),
                         ("COUNT", "a sender that counts its pause frames")):
        said = f"{lack} (here pauses come from fanout-01 Ethernet52)" in found
        assert said == (family in there), f"{family}: {found}"


@pytest.mark.parametrize("frame, options", [
    (pfc_frame((3, 4), 65535), "--q3=65535 --q4=65535 --p3 --p4"),
    (global_pause_frame(100), "--global --quanta=100"),
    (PauseFrame((0, 0, 0, 7, 0, 0, 0, 0)), "--q3=7 --raw-vector=0x0000"),
    (PauseFrame((0,) * 8, (8, 15)), "--raw-vector=0x8100"),
    (PauseFrame((0,) * 8, (1,), source="00:00:00:00:00:00"), "--p1 --raw-source=00:00:00:00:00:00"),
    (PauseFrame((0,) * 8, (1,), destination="02:00:00:00:00:09"), "--p1 --raw-destination=02:00:00:00:00:09"),
    (PauseFrame((0,) * 8, (1,), operation_code=0x0102), "--p1 --raw-opcode=0x0102"),
])
def test_what_pfctest_is_told(frame, options):
    """Enabled classes by name where there are such, so that pfctest releases them."""
    assert " ".join(frame_options(frame)) == options, frame_options(frame)


def test_what_pfctest_does_not_send():
    """It sends MAC control frames."""
    with pytest.raises(QualificationError, match="a frame of ether type 0x88b5 is asked for"):
        frame_options(PauseFrame((0,) * 8, ether_type=0x88B5))
    assert probe_options((3, 4)) == ["--priority=3,4", "--quanta=1", "--iteration=100", "--rate=1000"], "the probe"
