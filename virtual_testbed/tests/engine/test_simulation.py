"""Clocks and simulation: who advances, in which order, and that no failure stays silent."""
from __future__ import annotations

import logging

import pytest

from virtual_testbed.dataplane.network import Overrun
from virtual_testbed.engine.clock import RealtimeClock, VirtualClock
from virtual_testbed.engine.simulation import OperationRunner, Simulation, SimulationError, SimulationLate
from virtual_testbed.otg.errors import OtgError
from virtual_testbed.otg.simulation_clock import ClockError

SECOND = 10**12


class Network:
    """Writes down where it was advanced to; `fails_at` breaks it."""

    def __init__(self, log):
        self.now_ps = 0
        self.log = log
        self.fails_at = None
        self.is_slow = False
        self.reaches = 0

    def advance_to(self, time_ps):
        if self.is_slow:
            self.now_ps = max(self.now_ps, self.reaches)
            raise Overrun("computing that takes too long")
        if self.fails_at is not None and time_ps >= self.fails_at:
            raise ZeroDivisionError("bug")
        self.now_ps = time_ps
        self.log.append(("advance", time_ps))


class Agent:
    def __init__(self, log):
        self.log = log
        self.failure = None
        self.changed = False
        self.polls = {}
        self.late_polls = set()
        self.stages = []
        self.asked = 0

    def apply_configuration(self):
        if self.failure:
            raise self.failure
        self.log.append("apply")
        return self.changed

    def publish_states(self):
        if self.failure:
            raise self.failure
        self.log.append("publish")

    def next_stage_ps(self):
        self.asked += 1
        if self.asked > 100:
            pytest.fail("it is asked again and again")
        return min(self.stages, default=None)

    def awaited_ps(self):
        return None

    def missed_polls(self, after_ps, made):
        self.log.append(("missed", after_ps, made))
        return self.late_polls

    def due_polls(self, until_ps):
        return {instant: groups for instant, groups in self.polls.items() if instant <= until_ps}

    def poll(self, groups):
        if self.failure:
            raise self.failure
        self.log.append(("poll", *sorted(groups)))


class Parts:
    """A simulation of one switch with everything it does written down."""

    def __init__(self):
        self.log = []
        self.network = Network(self.log)
        self.agents = []
        self.simulation = Simulation(self.network, {"sw": self.make_agent}, lambda: self.log.append("sample"))
        self.wall_ns = 0

    def make_agent(self):
        self.agents.append(Agent(self.log))
        return self.agents[-1]

    def realtime(self):
        return RealtimeClock(self.simulation, lambda: self.wall_ns)


@pytest.fixture
def parts():
    return Parts()


def test_an_advance_applies_computes_samples_and_publishes(parts):
    clock = VirtualClock(parts.simulation)
    assert clock.advance({"nanoseconds": 5 * 10**9}) == 5 * 10**9
    assert clock.read() == {"mode": "virtual", "now_ns": 5 * 10**9, "lag_ns": 0}
    assert parts.log == ["apply", ("advance", 4 * SECOND), "sample", ("advance", 5 * SECOND), "sample", "publish"]


def test_a_short_advance_is_one_step(parts):
    VirtualClock(parts.simulation).advance({"nanoseconds": 10**9})
    assert parts.log == ["apply", ("advance", SECOND), "sample", "publish"]


def test_an_advance_stops_where_counters_are_polled(parts):
    parts.simulation.refresh()
    parts.agents[0].polls = {2 * SECOND: {"QUEUE"}, 5 * SECOND: {"PORT"}, 9 * SECOND: {"PORT"}}
    parts.log.clear()
    parts.simulation.advance_to(5 * SECOND)
    assert parts.log == ["apply", ("advance", 2 * SECOND), "sample", ("poll", "QUEUE"), ("advance", 4 * SECOND),
                         "sample", ("advance", 5 * SECOND), "sample", ("poll", "PORT")]


@pytest.mark.parametrize("late", [False, True])
def test_what_a_switch_does_not_do_in_time_does_not_hold_time_up(parts, late):
    """A stage that stays, though it is over."""
    if late:
        parts.simulation.advance_to(SECOND)
    parts.simulation.refresh()
    agent = parts.agents[0]
    agent.stages = [0, SECOND, 3 * SECOND]
    parts.simulation.advance_to(2 * SECOND)
    assert parts.simulation.now_ps == 2 * SECOND and agent.asked < 5


def test_an_advance_stops_where_something_happens_on_a_switch(parts):
    parts.simulation.refresh()
    agent = parts.agents[0]
    agent.stages = [SECOND]
    parts.log.clear()
    parts.simulation.advance_to(SECOND)
    assert parts.log == ["apply", ("advance", SECOND), "sample", "apply"]
    agent.stages = [SECOND // 2 * 3]
    parts.log.clear()
    parts.simulation.advance_to(2 * SECOND)
    assert parts.log == ["apply", ("advance", SECOND // 2 * 3), "sample", "apply", ("advance", 2 * SECOND), "sample"]


def test_a_poll_that_fails_is_told(parts):
    parts.simulation.refresh()
    agent = parts.agents[0]
    agent.polls = {SECOND: {"PORT"}}
    agent.poll = lambda groups: agent.log.append(1 / 0)
    with pytest.raises(SimulationError, match="switch sw: its agent failed .*division by zero"):
        parts.simulation.advance_to(2 * SECOND)
    assert parts.simulation.now_ps == SECOND
    parts.simulation.advance_to(2 * SECOND)
    assert len(parts.agents) == 2


@pytest.mark.parametrize("request_body", [None, {}, {"nanoseconds": -1}, {"nanoseconds": 3601 * 10**9},
                                          {"nanoseconds": 1.5}, {"nanoseconds": True}, {"nanoseconds": "5"}, []])
def test_an_advance_that_makes_no_sense_is_refused(parts, request_body):
    for clock in (VirtualClock(parts.simulation), parts.realtime()):
        with pytest.raises(ClockError):
            clock.advance(request_body)
    assert parts.log == []


def test_realtime_follows_the_wall_clock(parts):
    parts.wall_ns = 7
    clock = parts.realtime()
    parts.wall_ns += 100_000_000
    assert clock.read() == {"mode": "realtime", "now_ns": 0, "lag_ns": 100_000_000}
    clock.settle()
    assert clock.read() == {"mode": "realtime", "now_ns": 100_000_000, "lag_ns": 0}
    assert clock.advance({"nanoseconds": 50}) == 100_000_050
    assert parts.simulation.now_ps == SECOND // 10, "nobody but the wall clock advances it"


def test_realtime_says_when_it_falls_behind_and_when_it_has_caught_up(parts, caplog):
    clock = parts.realtime()
    parts.wall_ns = 2 * 10**9
    with caplog.at_level(logging.WARNING):
        clock.settle()
        assert clock.read()["lag_ns"] == 10**9
        clock.settle()
        clock.settle()
    assert [record.getMessage() for record in caplog.records] == [
        "simulated time falls behind the wall clock (1.000 s behind)",
        "simulated time has caught up with the wall clock (0.000 s behind)"]


def test_an_operation_sees_configuration_changes_and_publishes_its_own(parts):
    runner = OperationRunner(parts.simulation, VirtualClock(parts.simulation))
    assert runner.perform(lambda: parts.log.append("operation") or 7, changes=True) == 7
    assert parts.log == ["apply", "operation", "publish"]


def test_a_failed_agent_is_told_and_made_anew(parts):
    runner = OperationRunner(parts.simulation, VirtualClock(parts.simulation))
    runner.perform(lambda: None, changes=False)
    parts.agents[0].failure = ConnectionError("redis is away")
    with pytest.raises(OtgError) as caught:
        runner.perform(lambda: None, changes=False)
    assert caught.value.errors == ("switch sw: its agent failed (ConnectionError: redis is away)",)
    assert (caught.value.code, caught.value.kind) == (500, "internal")
    runner.perform(lambda: None, changes=False)
    assert len(parts.agents) == 2


def test_a_failure_while_nobody_asked_comes_out_in_the_next_answer_once(parts):
    runner = OperationRunner(parts.simulation, parts.realtime())
    runner.pace(publish=True)
    parts.agents[0].failure = ConnectionError("redis is away")
    runner.pace(publish=True)
    runner.pace(publish=True)
    with pytest.raises(OtgError, match="redis is away"):
        runner.perform(lambda: None, changes=False)
    runner.perform(lambda: None, changes=False)


def test_a_switch_that_is_configured_shows_it_while_time_stands_still(parts):
    runner = OperationRunner(parts.simulation, VirtualClock(parts.simulation))
    runner.pace(publish=False)
    assert parts.log == ["apply"]
    parts.agents[0].changed = True
    runner.pace(publish=False)
    assert parts.log == ["apply", "apply", "publish"]


def test_what_takes_too_long_to_compute_is_refused_and_time_goes_on_afterwards(parts):
    runner, clock = OperationRunner(parts.simulation, VirtualClock(parts.simulation)), VirtualClock(parts.simulation)
    parts.network.is_slow = True
    with pytest.raises(OtgError, match="^computing that takes too long$") as caught:
        runner.perform(lambda: clock.advance({"nanoseconds": 10**9}), changes=False)
    assert caught.value.code == 500
    parts.network.is_slow = False
    assert runner.perform(lambda: clock.advance({"nanoseconds": 10**9}), changes=False) == 10**9


def test_what_takes_too_long_is_lag_of_a_realtime_clock_and_operations_go_on(parts, caplog):
    runner = OperationRunner(parts.simulation, parts.realtime())
    parts.network.is_slow = True
    parts.wall_ns = 10**9
    with caplog.at_level(logging.WARNING):
        assert runner.perform(lambda: parts.log.append("flows stop") or 7, changes=True) == 7
        runner.pace(publish=True)
        assert runner.perform(lambda: 8, changes=False) == 8
    assert parts.log.count("flows stop") == 1 and parts.simulation.now_ps == 0
    told = [record.getMessage() for record in caplog.records]
    assert told[:2] == ["computing that takes too long", "simulated time falls behind the wall clock (1.000 s behind)"]
    parts.network.is_slow = False
    runner.perform(lambda: None, changes=False)
    assert parts.simulation.now_ps == SECOND


def test_who_waits_for_what_takes_too_long_is_told(parts):
    """A run that waits for simulated time does not wait for hours; what can be computed is waited for again."""
    clock = parts.realtime()
    runner = OperationRunner(parts.simulation, clock)
    parts.wall_ns = 10**9
    parts.network.is_slow = True
    with pytest.raises(OtgError, match="^computing that takes too long$"):
        runner.perform(clock.read_awaited, changes=False)
    parts.network.is_slow = False
    assert runner.perform(clock.read_awaited, changes=False)["now_ns"] == 10**9


def test_any_other_failure_of_the_data_plane_is_no_lag(parts):
    runner = OperationRunner(parts.simulation, parts.realtime())
    parts.network.fails_at = 0
    with pytest.raises(OtgError, match="the data plane failed"):
        runner.perform(lambda: None, changes=False)


def test_what_takes_too_long_leaves_no_switch_with_counters_of_before(parts):
    parts.simulation.refresh()
    agent = parts.agents[0]
    agent.polls = {SECOND: {"QUEUE"}, 5 * SECOND: {"PORT", "PG_DROP"}}
    agent.late_polls = {"PORT", "QUEUE_WATERMARK"}
    parts.log.clear()
    step = parts.network.advance_to

    def slow_after_the_first(time_ps):
        parts.network.is_slow, parts.network.reaches = time_ps > SECOND, 3 * SECOND
        step(time_ps)

    parts.network.advance_to = slow_after_the_first
    with pytest.raises(SimulationLate, match="^computing that takes too long$"):
        parts.simulation.advance_to(5 * SECOND)
    assert parts.log == ["apply", ("advance", SECOND), "sample", ("poll", "QUEUE"), ("missed", 0, {"QUEUE": SECOND}),
                         ("poll", "PORT"), "publish"]


def test_an_agent_that_finds_the_data_plane_late_has_not_failed(parts):
    parts.simulation.refresh()
    agent = parts.agents[0]
    agent.polls = {SECOND: {"PORT"}}

    def late(groups):
        raise Overrun("computing that takes too long")

    agent.poll = late
    with pytest.raises(SimulationLate, match="^computing that takes too long$"):
        parts.simulation.advance_to(SECOND)
    parts.simulation.refresh()
    assert parts.agents == [agent]


def test_a_failed_data_plane_is_never_trusted_again(parts):
    runner = OperationRunner(parts.simulation, VirtualClock(parts.simulation))
    parts.network.fails_at = SECOND
    for _ in range(2):
        with pytest.raises(OtgError, match="the data plane failed at 0.000000000 s .*ZeroDivisionError: bug"):
            runner.perform(lambda: VirtualClock(parts.simulation).advance({"nanoseconds": 10**9}), changes=False)


def test_time_stands_still_while_a_switch_cannot_be_asked(parts):
    parts.simulation.refresh()
    parts.agents[0].failure = ConnectionError("away")
    with pytest.raises(SimulationError):
        parts.simulation.advance_to(SECOND)
    assert parts.simulation.now_ps == 0
