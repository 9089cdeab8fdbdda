"""The option `latency`: what it asks the generators for, and what a record has of it."""

from types import SimpleNamespace

import pytest
import snappi

from tests.common.pfc.lab.clock import WallClock
from tests.common.pfc.latency.api import LatencyApi
from tests.common.pfc.latency.option import OPTION, LatencyOption
from tests.common.pfc.latency.readings import LatencyReadings
from tests.common.pfc.model.arithmetic import MAX_QUANTA
from tests.common.pfc.model.traffic import FlowPlan, Role, pfc_frame
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeWorld

HELD = FlowPlan("held a", Role.TEST, 3, 1024, 50, seconds=5)
SECOND = FlowPlan("second a", Role.TEST, 3, 1024, 50, seconds=5)
FREE = FlowPlan("free a", Role.BACKGROUND, 0, 1024, 50, seconds=5)
ELSEWHERE = FlowPlan("held b", Role.TEST, 4, 1024, 50, seconds=5)
STORM = FlowPlan("storm a", Role.STORM, None, 64, fps=10, pause=pfc_frame((3,), MAX_QUANTA))


def metric(plan, sent, received, average_ns):
    """What OTG says of a flow."""
    return SimpleNamespace(name=plan.name, frames_tx=sent, frames_rx=received,
                           latency=SimpleNamespace(average_ns=average_ns))


@pytest.fixture
def readings():
    """Readings of a measurement that sends all of these flows."""
    found = LatencyReadings()
    found.measurement_started("PFC-1")
    found.traffic_pushed([HELD, SECOND, FREE, ELSEWHERE, STORM], None, 0)
    return found


def test_flows_of_a_class_are_taken_together(readings):
    readings.read([metric(HELD, 10, 10, 100.0), metric(SECOND, 30, 30, 200.0), metric(FREE, 1, 1, 7.0),
                   metric(STORM, 9, 0, None)])
    assert readings.evidence() == {"latency_ns": {"priority 3 (test)": 175.0, "priority 0 (background)": 7.0}}, (
        "a class has the mean of all its frames, those under test first")


def test_a_flow_whose_latency_is_not_known_leaves_its_class_out(readings):
    readings.read([metric(HELD, 10, 10, 100.0), metric(SECOND, 30, 29, None), metric(FREE, 1, 1, 7.0)])
    assert readings.evidence() == {"latency_ns": {"priority 0 (background)": 7.0}}, "half of a class says nothing"
    readings.read([metric(SECOND, 30, 30, 200.0)])
    assert readings.evidence()["latency_ns"]["priority 3 (test)"] == 175.0, "the last reading counts"


def test_a_flow_that_sent_nothing_says_nothing(readings):
    readings.read([metric(HELD, 10, 10, 100.0), metric(SECOND, 0, 0, None)])
    assert readings.evidence() == {"latency_ns": {"priority 3 (test)": 100.0}}, "no frame was late"


def test_earlier_configurations_count(readings):
    readings.read([metric(HELD, 10, 10, 100.0)])
    readings.traffic_pushed([HELD], None, 2)
    readings.read([metric(HELD, 10, 10, 200.0)])
    readings.read([metric(HELD, 30, 30, 300.0)])
    assert readings.evidence() == {"latency_ns": {"priority 3 (test)": 250.0}}, "10 frames, then 30, read twice"


def test_a_record_has_the_flows_of_its_port(readings):
    readings.read([metric(HELD, 10, 10, 100.0), metric(ELSEWHERE, 10, 10, 50.0)])
    assert readings.evidence(" b") == {"latency_ns": {"priority 4 (test)": 50.0}}, "others are another record's"


def test_another_measurement_begins_with_nothing(readings):
    readings.read([metric(HELD, 10, 10, 100.0)])
    readings.measurement_started("PFC-2")
    assert readings.evidence() == {}, "it was of another one"


def test_data_flows_of_a_case_are_asked_for_it_others_are_not():
    sent = []
    api = snappi.api(location="http://127.0.0.1:1")
    config = api.config()
    data, storm, bystander = config.flows.flow(name=HELD.name).flow(name=STORM.name).flow(name="bystander")
    answer = SimpleNamespace(flow_metrics=[metric(HELD, 10, 10, 100.0)])
    inner = SimpleNamespace(set_config=sent.append, get_metrics=lambda request: answer, config=api.config)
    readings = LatencyReadings()
    readings.traffic_pushed([HELD, STORM], None, 0)
    wrapped = LatencyApi(inner, readings)
    wrapped.set_config(config)
    assert sent == [config] and data.metrics.latency.enable and data.metrics.latency.mode == "store_forward", (
        "what is sent asks for the latency of data")
    assert not storm.metrics.latency.enable, "pause frames have none"
    assert not bystander.metrics.latency.enable, "nobody asks for that of others"
    request = api.metrics_request()
    request.flow.flow_names = ["held a"]
    assert wrapped.get_metrics(request) is answer and readings.evidence(), "what is read is passed on, and kept"
    assert wrapped.config == api.config, "all else is the API object's own"


@pytest.mark.parametrize(("is_wanted", "is_simulated", "is_measured"), [
    (None, True, True), (None, False, False), (True, False, True), (False, True, False)])
def test_where_it_is_measured(is_wanted, is_simulated, is_measured):
    option = LatencyOption()
    option.is_wanted = is_wanted
    api = snappi.api(location="http://127.0.0.1:1")
    clock = FakeClock(FakeWorld()) if is_simulated else WallClock()
    assert isinstance(option.adapted(api, clock), LatencyApi) == is_measured, (
        "by default where time is simulated and the generators speak OTG")


def test_an_extension_of_snappi_is_left_alone():
    api = FakeApi(FakeWorld())
    assert LatencyOption().adapted(api, FakeClock(FakeWorld())) is api, "nobody has seen it there"


def test_it_is_an_option():
    assert OPTION.is_wanted is None and OPTION.observer(None) is OPTION.observer(None), (
        "what the API object reads is what the records have")
