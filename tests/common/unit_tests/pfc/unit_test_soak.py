"""A storm of many minutes: how long it lasts, and when something did not hold."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.common.pfc.lab.counter_polling import PollDelays
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.lab import PauseSource
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.scenario import Scenario, Storm
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role
from tests.common.pfc.record.verdict import Status
from tests.common.pfc.soak.cases import Look, SoakRun, look_on, throughout
from tests.common.pfc.soak.duration import parse_duration
from tests.common.unit_tests.pfc.fakes import FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

FLOW = FlowPlan("test", Role.TEST, 3, 1024, 25.0)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("2h", 7200), ("1m", 60), ("24h", 86400)])
def test_how_long(text, seconds):
    assert parse_duration(text) == seconds, text


@pytest.mark.parametrize("text", ["10", "m", "10 m", "59s", "0m", "25h", "1.5h", "-10m", "10M"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(QualificationError, match="expected a time from 60s to 24h"):
        parse_duration(text)


def soak(received, pauses, sent):
    """A run with a look every 30 s, at each of which so much had been counted."""
    dut = Dut(FakeHost(FakeWorld()))
    subject, counters = plan_port(dut, TESTER_PORTS, "Ethernet0", None).subject, dut.counters()

    def counted(now):
        return tuple(now if priority == 3 else 0 for priority in range(8))

    looks = [
        Look(2.0 + 30 * place, {"test": FlowStats(FLOW, True, 10**6, frames)},
             replace(counters, pfc_rx={"Ethernet0": counted(rx)}, pfc_tx={"Ethernet64": counted(tx)}))
        for place, (frames, rx, tx) in enumerate(zip(received, pauses, sent, strict=True))
    ]
    scenario = Scenario(Storm.LOSSLESS, (3,), (0,))
    return SoakRun(subject, counters, counters, counters, (3,), {}, scenario, PauseSource(), looks=looks)


GROWS = (10**6, 2 * 10**6, 3 * 10**6, 4 * 10**6)


@pytest.mark.parametrize(("received", "pauses", "sent", "said"), [
    ((0, 0, 0, 0), GROWS, GROWS, ""),
    ((0, 0, 1, 2), GROWS, GROWS, "0 frames received at any time in the storm, got 2 in 2 of 3 intervals, the first from"
                                 " 32 to 62 s"),
    ((1, 1, 1, 1), GROWS, GROWS, "got 1 in 1 of 3 intervals, the first from 2 to 32 s"),
    ((0, 0, 0, 0), (0, 10**6, 10**6, 10**6), GROWS, "got 0 in 2 of 3 intervals, the first from 32 to 62 s"),
    ((0, 0, 0, 0), GROWS, (0, 5, 9, 9), "to hold the sender, got 0 in 1 of 3 intervals, the first from 62 to 92 s"),
])
def test_the_moment_is_told(received, pauses, sent, said):
    bad = [check.message for check in throughout(soak(received, pauses, sent), 3) if check.status is not Status.PASS]
    assert len(bad) == bool(said) and all(said in message for message in bad), bad


class LateSwitch:
    """A storm on priority 3, and a switch that shows what it had counted so many seconds ago at every other reading."""

    exact, delays = False, PollDelays(port_s=2.0, queue_s=11.0)

    def __init__(self, late_s):
        """All at the storm's begin."""
        self.clock = self.dut = self.generator = self
        self.subject, self._counters = soak((), (), ()).subject, soak((), (), ()).before
        self._now, self._late_s, self._readings = 0.0, late_s, 0

    def now(self):
        """As a clock."""
        return self._now

    def sleep(self, seconds):
        """As a clock."""
        self._now += seconds

    def run_out(self, names, seconds):
        """As a generator."""
        self.sleep(seconds)

    def stats(self, names):
        """As a generator: nothing comes through."""
        return {"test": FlowStats(FLOW, True, 10**6, 0)}

    def counters(self):
        """As a switch."""
        age_s = (1.0, self._late_s)[self._readings % 2]
        self._readings += 1
        frames = int(5961 * max(0.0, self._now - age_s))  # what 100 Gb/s need, twice
        return replace(self._counters, pfc_rx={"Ethernet0": (0, 0, 0, frames, 0, 0, 0, 0)},
                       pfc_tx={"Ethernet64": (0, 0, 0, frames, 0, 0, 0, 0)})


@pytest.mark.parametrize("data_s", [60, 90, 120, 600])
@pytest.mark.parametrize(("late_s", "passes"), [(1.0, True), (9.0, True), (200.0, False)])
def test_a_poll_that_comes_late_is_no_gap(data_s, late_s, passes):
    """Looks are so far apart that one of hardware has its part of the pauses all the same."""
    lab, looks = LateSwitch(late_s), []
    scenario = replace(Scenario(Storm.LOSSLESS, (3,), (0,)), data_s=data_s)
    look_on(looks, lab, scenario, SimpleNamespace(names=lambda *roles: []))
    assert len(looks) >= 3 and looks[-1].at_s == data_s, looks
    run = replace(soak((), (), ()), looks=looks)
    bad = [check.message for check in throughout(run, 3) if check.status is not Status.PASS]
    assert bool(bad) is not passes, bad
