"""A T1 is measured on the T0 that replaces it, and every record says so."""

import json

import pytest

from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import measurable_first, plan_device
from tests.common.pfc.lab.port_plan import LabFacts, PortRequest
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import ConnectedPort
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.verdict import LOSSLESS, Check, PortVerdict, Status
from tests.common.pfc.replacement.choose import KEY
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeHost, FakeWorld
from tests.snappi_tests.unit_tests.qualification.unit_test_session import Item
from tests.snappi_tests.pfc.qualification.files.session import Session

T1 = "t1-01"


def host(name, role):
    """A switch with a name and a role."""
    world = FakeWorld()
    world.config_db["DEVICE_METADATA"]["localhost"] |= {"type": role}
    fake = FakeHost(world)
    fake.hostname = name
    return fake


def lab(**entry):
    """A testbed of a T1 and a T0, all of whose ports have generators behind them."""
    hosts = {T1: host(T1, "LeafRouter"), DEVICE: host(DEVICE, "ToRRouter")}
    names = Dut(hosts[DEVICE]).state().config_db["PORT"]
    ports = [
        ConnectedPort(DEVICE, port, f"snappi-{1 + place % 2}", f"127.1.0.{1 + place % 2};1;{place}", 100000)
        for place, port in enumerate(names)
    ]
    testbed = {"conf-name": "lab", "duts": [T1, DEVICE], **entry}
    return LabFacts(testbed, lambda name: Dut(hosts[name]).state(), ports, {})


def test_a_t1_is_measured_on_its_replacement(tmp_path):
    """The plan is about the T0's ports; notes and records name the T1."""
    plan = plan_device(lab(**{KEY: {T1: [DEVICE]}}), T1, PortRequest("Ethernet0"))
    assert (plan.state.device, plan.on_behalf_of) == (DEVICE, T1), plan
    assert plan.subject.pair.rx.device == DEVICE, plan.subject.pair
    session = Session("run-1", str(tmp_path), "job-1")
    session.use(plan)
    session.begin([Item(3)], "lab")
    check = Check("resumed", LOSSLESS, Status.PASS, "all frames", 7, f"{DEVICE} Ethernet0")
    verdict = PortVerdict(DEVICE, "Ethernet0", 3, LOSSLESS, [check])
    session.keep(Item(3).nodeid, Outcome(SINGLE_LOSSLESS, [verdict], {}))
    record = json.loads((tmp_path / "records.jsonl").read_text().splitlines()[0])
    assert record["device_id"] == DEVICE and record["labels"] == {"device.on_behalf_of": T1}, record
    assert (record["on_behalf_of"], record["job_id"]) == (T1, "job-1"), record
    watchdogs = "watchdog-judges"  # known where the watchdog's families are
    assert [one["name"] for one in record["deviations"] if one["name"] != watchdogs] == [
        "line_percent", "load_tolerance_percent", "count_tolerance_percent", "storm_limit_s", "whole_seconds",
    ], record["deviations"]
    assert any(f"{T1} is a T1: {DEVICE} is measured on its behalf" in note for note in session.notes), session.notes


def test_a_t0_is_measured_itself():
    """Nothing stands for it, and nothing is said."""
    plan = plan_device(lab(), DEVICE, PortRequest())
    assert (plan.state.device, plan.on_behalf_of) == (DEVICE, None), plan
    assert not any("behalf" in remark for remark in plan.remarks), plan.remarks


def test_a_t1_without_a_replacement_is_refused():
    """In a sentence that says what the entry takes."""
    with pytest.raises(QualificationError, match=f"{T1} is a T1 .* names no replacement for it"):
        plan_device(lab(), T1, PortRequest())


@pytest.mark.parametrize(("entry", "first"), [({KEY: {T1: [DEVICE]}}, T1), ({}, DEVICE), ({KEY: [T1]}, DEVICE)])
def test_a_t1_that_has_a_replacement_needs_no_generator(entry, first):
    """It is measured all the same; without one the first switch is that has a generator."""
    assert measurable_first(lab(**entry), [T1, DEVICE])[0] == first, entry
