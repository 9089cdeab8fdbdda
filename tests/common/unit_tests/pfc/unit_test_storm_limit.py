"""Storms that end by themselves, where nothing makes them go on."""

import dataclasses

import pytest

from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab import planning
from tests.common.pfc.lab.counter_polling import PollDelays
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.generator import GeneratorTiming
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.tolerances import HARDWARE
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

STORM = "Pause Storm vtb-t0-01 Ethernet0"


@pytest.fixture(autouse=True)
def the_core_alone(monkeypatch):
    """No option is there."""
    monkeypatch.setattr(planning, "options", lambda: ())


class AwayDut(Dut):
    """A switch that takes so many seconds for an answer when a storm is on."""

    def __init__(self, world, seconds):
        """`world` is where they pass."""
        super().__init__(FakeHost(world))
        self._world = world
        self._seconds = seconds

    def ask(self, commands):
        """Runs commands."""
        if self._world.storm_on():
            self._world.pass_time(self._seconds)
        return super().ask(commands)


def qualify(world, dut, delays=None, timing=None):
    """PFC-1 on hardware, where a storm ends by itself after 60 s."""
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    plan = dataclasses.replace(plan, subject=dataclasses.replace(plan.subject, tolerances=HARDWARE))
    lab = open_lab(plan, dut, FakeApi(world), FakeClock(world), timing=timing)
    return Qualifier(dataclasses.replace(lab, delays=delays or lab.delays)).qualify(SINGLE_LOSSLESS, (3,))


def test_a_storm_that_is_needed_for_longer_is_refused():
    """The sentence says what the testbed would have to allow."""
    world = FakeWorld()
    outcome = qualify(world, Dut(FakeHost(world)), PollDelays(70.0, 10.0))
    assert {one.cause for one in outcome.verdicts} == {
        f"{STORM}: a storm of 106 s is needed, and each ends by itself after 60 s: the testbed's pfc_conditions need a"
        " storm_limit_s of 106 or more"
    }, outcome.verdicts
    assert {one.status for one in outcome.verdicts} == {Status.ERROR}, outcome.verdicts


def test_how_late_the_generator_is_counts():
    """Each reading in the storm may take as long as its statistics are old."""
    world = FakeWorld()
    outcome = qualify(world, Dut(FakeHost(world)), timing=GeneratorTiming(1.0, 2.0, 5.0))
    assert {one.cause for one in outcome.verdicts} == {
        f"{STORM}: a storm of 83 s is needed, and each ends by itself after 60 s: the testbed's pfc_conditions need a"
        " storm_limit_s of 83 or more"
    }, outcome.verdicts
    prompt = qualify(world, Dut(FakeHost(world)), timing=GeneratorTiming(0.5, 0.5, 2.0))
    assert {one.status for one in prompt.verdicts} == {Status.PASS}, [one.messages for one in prompt.verdicts]


@pytest.mark.parametrize(("away_s", "status"), [(51.0, Status.PASS), (53.0, Status.ERROR)])
def test_a_storm_that_ended_before_it_was_stopped_is_no_measurement(away_s, status):
    """The switch is asked 8 s after the storm began."""
    world = FakeWorld()
    outcome = qualify(world, AwayDut(world, away_s))
    assert {one.status for one in outcome.verdicts} == {status}, [one.messages for one in outcome.verdicts]
    cause = outcome.verdicts[0].cause or ""
    assert status is Status.PASS or f"got {STORM} not transmitting when it was stopped" in cause, cause
