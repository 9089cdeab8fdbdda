"""Pauses that are no storm for the watchdog, and storms that are short."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.watchdog.quiet import WALL_TIMERS, ShortPause, longest_s, short_pauses, start_pauses
from tests.common.pfc.cases.watchdog.repeated import SHORT_S, SHORT_STORMS, storms_in_a_row
from tests.common.pfc.cases.watchdog.steps import TIMERS
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.traffic import FlowPlan, Role
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS


class Starts:
    """A clock, and a generator that notes when it was told to start which flows, each of which takes so long."""

    def __init__(self, exact, takes_s=0.5):
        self.exact, self.time, self.started = exact, 0.0, []
        self.takes_s = takes_s

    def now(self):
        """Seconds."""
        return self.time

    def sleep(self, seconds):
        """Passes them."""
        self.time += seconds

    def start(self, names):
        """Takes half a second, as an API server does, or longer on a busy machine; they start at the end of it."""
        self.started.append((self.time, names))
        self.time += self.takes_s


@pytest.mark.parametrize(("exact", "takes_s", "expected"), [
    (True, 0.5, [(0.0, ["a", "b", "c"])]), (False, 0.5, [(0.0, ["a"]), (2.2, ["b"]), (4.4, ["c"])]),
    (False, 4.0, [(0.0, ["a"]), (5.2, ["b"]), (10.4, ["c"])]),
])
def test_pauses_that_must_not_meet_are_started_one_by_one_where_starts_are_late(exact, takes_s, expected):
    """On hardware flows that are started by one call start within a second of each other. Where a call takes longer
    than that, the next one waits: without that, pauses would meet, and a watchdog that sees a storm would fail."""
    lab = Starts(exact, takes_s)
    bench = SimpleNamespace(clock=lab, generator=lab)
    start_pauses(bench, [ShortPause(2.2 * n, FlowPlan(name, Role.STORM, None, 64)) for n, name in enumerate("abc")])
    assert [(pytest.approx(time), names) for time, names in lab.started] == expected, lab.started


@pytest.mark.parametrize(("timers", "asic", "exact", "expected"), [
    (TIMERS, "broadcom", True, 0.19),
    (TIMERS, "mellanox", True, 0.095),
    (TIMERS, "cisco-8000", True, 0.095),
    (WALL_TIMERS, "broadcom", False, 0.4),
    (WALL_TIMERS, "cisco-8000", False, 0.3),
])
def test_how_long_no_storm_may_be_detected(timers, asic, exact, expected):
    """On hardware a poll may be late and the next one on time: as much less, and a poll."""
    found = longest_s(timers, asic, exact)
    assert found == pytest.approx(expected), found


def test_short_storms_meet_data():
    """Some switches detect no storm at an empty queue. Whoever starts nothing beside what runs can send them."""
    world = FakeWorld()
    dut = Dut(FakeHost(world))
    lab = open_lab(plan_port(dut, TESTER_PORTS, "Ethernet0", None), dut, FakeApi(world), FakeClock(world))
    watchdog = SimpleNamespace(counters=dut.counters, queues=())
    run = storms_in_a_row(lab, (3, 4), watchdog, dut.counters(), "Short", SHORT_STORMS * [SHORT_S])
    data = run.flows("over", Role.TEST)
    assert len(run.flows("over", Role.STORM)) == SHORT_STORMS, run.phases
    assert [flow.plan.priority for flow in data] == [3, 4] * SHORT_STORMS, data
    assert not any(flow.transmitting for flow in data) and all(flow.frames_tx for flow in data), data


@pytest.mark.parametrize(("asic", "exact", "singles", "busy"), [
    ("broadcom", True, 29, 2682), ("broadcom", False, 291, 3 * 2682), ("mellanox", True, 29, 1788),
    ("marvell-teralynx", False, 291, 3 * 1788), ("cisco-8000", True, 29, 0), ("cisco-8000", False, 29, 0),
])
def test_pauses_that_leave_time_between_them_are_no_storm_by_the_rule_of_the_platform(asic, exact, singles, busy):
    """Where a moment is judged, pauses are too few for the time of a detection; else some time is left in each
    interval, a fifth of it where only that counts."""
    world = FakeWorld()
    dut = Dut(FakeHost(world))
    plan = plan_port(dut, TESTER_PORTS, "Ethernet0", None)
    clock = SimpleNamespace(exact=exact)
    lab = open_lab(replace(plan, subject=replace(plan.subject, asic=asic)), dut, FakeApi(world), FakeClock(world))
    pauses = short_pauses(replace(lab, clock=clock), (3, 4), TIMERS if exact else WALL_TIMERS)
    found = {" ".join(pause.flow.name.split()[:2]): pause for pause in pauses}
    assert found["Single Pauses"].flow.frames == singles, found
    assert [pause.flow.frames for name, pause in found.items() if name == "Busy Pauses"] == [busy] * bool(busy), found
    holding = [pause for pause in pauses if "Resumes" not in pause.flow.name]
    assert all(one.end_s(100_000) < other.start_s for one, other in zip(holding, holding[1:])), holding
    resumes = [pause for pause in pauses if "Resumes" in pause.flow.name]
    assert all(pause.start_s < found["Busy Pauses"].start_s for pause in resumes), resumes
    assert all(pause.end_s(100_000) > found["Busy Pauses"].end_s(100_000) + 0.1 for pause in resumes), resumes
    assert all(pause.flow.delay_ns == round(pause.start_s * 1e9) * exact for pause in pauses), pauses
