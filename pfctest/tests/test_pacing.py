"""The pacer on a clock that only it moves."""
from __future__ import annotations

from itertools import cycle

import pytest

from pfctest.gaps import Gaps
from pfctest.pacing import NEVER_NS, Pace, Pacer, StopRequest, rhythm_of
from pfctest.sender import SendError

LOOK_NS = 200
"""What one look at the clock takes."""


class World:
    """A clock, a sleep that takes as long as `oversleep` says, and a sender whose calls take `call_ns`."""

    frames = 1
    names = ("eth1",)

    def __init__(self, call_ns=1000, oversleep=lambda asked_ns: asked_ns, takes=lambda sent: True):
        self.now, self.slept, self.sent = 0, 0, []
        self._call_ns, self._oversleep, self._takes = call_ns, oversleep, takes

    def clock(self):
        """Now."""
        self.now += LOOK_NS
        return self.now

    def sleep(self, seconds):
        """Sleeps."""
        length = self._oversleep(round(seconds * 1e9))
        self.slept += length
        self.now += length

    def send(self, first=0):
        """Sends one frame, unless the driver does not take it."""
        self.now += self._call_ns
        if not self._takes(len(self.sent)):
            return 0
        self.sent.append(self.now - self._call_ns)
        return 1


class Scheduling:
    """Real time, until it is given back."""

    def __init__(self, is_real_time=True):
        self.is_real_time = is_real_time

    def leave_real_time(self):
        """Gives it back."""
        self.is_real_time = False


def pacer(world, stop=None, scheduling=None, pause_ns=100_000):
    made = Pacer(world, Gaps(pause_ns), stop or StopRequest(), scheduling)
    made.clock, made.sleep = world.clock, world.sleep
    return made


@pytest.mark.parametrize("real_time", [False, True])
@pytest.mark.parametrize("period_ns", [20_000, 168_000, 300_000_000])
def test_frames_leave_at_absolute_deadlines(period_ns, real_time):
    world = World()
    end = pacer(world, scheduling=Scheduling(real_time)).run(Pace(period_ns, 50))
    assert end == "count" and len(world.sent) == 50
    late = [at - number * period_ns - world.sent[0] for number, at in enumerate(world.sent)]
    assert max(late) <= 3 * LOOK_NS and min(late) >= -3 * LOOK_NS, "no error adds up"
    if period_ns > 100_000:
        assert world.slept > 0.4 * world.now


def test_a_storm_ends_on_time_also_when_its_frames_are_rare():
    world = World()
    assert pacer(world).run(Pace(700_000_000, None, 10**9)) == "duration"
    assert len(world.sent) == 2 and abs(world.now - 10**9) < 10_000 and world.slept > 0.99 * 10**9


def test_missed_deadlines_are_not_made_up_for_and_the_grid_stays():
    delays = iter([0, 0, 950_000])
    world = World(oversleep=lambda asked: asked + next(delays, 0))
    made = pacer(world, scheduling=Scheduling())
    made.run(Pace(200_000, 8))
    gaps = [later - earlier for earlier, later in zip(world.sent, world.sent[1:])]
    assert made.counts.missed == 3, "of the deadlines that passed meanwhile the last is kept"
    assert [round(gap, -4) for gap in gaps] == [200_000, 200_000, 1_140_000, 0, 60_000, 200_000, 200_000]


def test_what_the_driver_refuses_is_no_frame():
    answers = cycle([True, True, False, False, True])
    world = World(takes=lambda sent: next(answers))
    made = pacer(world)
    made.run(Pace(50_000, None, 5_000_000))
    assert made.counts.refused > 0 and made.counts.frames == len(world.sent) < 100
    assert made.counts.by_interface == {"eth1": len(world.sent)}


def test_a_fixed_number_of_frames_insists():
    answers = cycle([False, False, False, True])
    world = World(takes=lambda sent: next(answers))
    made = pacer(world)
    assert made.run(Pace(50_000, 40)) == "count" and len(world.sent) == 40


@pytest.mark.parametrize("period_ns", [0, 50_000])
def test_a_fixed_number_of_frames_ends_when_none_is_taken(period_ns):
    """An interface that has lost its link kept a storm of 100 frames running for ever."""
    world = World(takes=lambda sent: sent < 7)
    with pytest.raises(SendError, match="interface eth1 took no frame for a second: expected one that has a link"):
        pacer(world).run(Pace(period_ns, 40))
    assert len(world.sent) == 7


class Silent:
    """Of the three frames of a tick some are never taken; a call ends at the first of them, as the kernel's."""

    frames = 3
    names = ("eth1", "eth2", "eth3")

    def __init__(self, world, silent):
        self.sent, self._world, self._silent = [], world, silent

    def send(self, first=0):
        """Sends."""
        self._world.now += 1000
        taken = 0
        for frame in range(first, self.frames):
            if frame in self._silent:
                break
            self.sent.append(frame)
            taken += 1
        return taken


@pytest.mark.parametrize("silent", [{0}, {1}, {2}, {0, 1}, {0, 2}])
@pytest.mark.parametrize("period_ns", [0, 50_000])
def test_an_interface_that_takes_nothing_does_not_silence_the_others(silent, period_ns):
    world = World()
    sender = Silent(world, silent)
    made = Pacer(sender, Gaps(100_000), StopRequest())
    made.clock, made.sleep = world.clock, world.sleep
    assert made.run(Pace(period_ns, None, 1_000_000)) == "duration"
    ticks = made.counts.refused
    assert ticks >= 20 and sorted(sender.sent) == sorted(list({0, 1, 2} - silent) * ticks)
    assert made.counts.frames == len(sender.sent) and made.counts.last_frames == 3 - len(silent)
    assert made.counts.by_interface == {
        name: 0 if frame in silent else ticks for frame, name in enumerate(sender.names)}


@pytest.mark.parametrize("ticks", [None, 9])
def test_a_tick_that_a_stop_cuts_short_counts_what_was_taken(ticks):
    """`Silent` takes the first frame only, and is asked to stop then."""
    world, stop = World(), StopRequest()
    sender = Silent(world, {1})
    take = sender.send
    sender.send = lambda first=0: take(first) or stop.ask("SIGTERM") or 0
    made = Pacer(sender, Gaps(100_000), stop)
    made.clock, made.sleep = world.clock, world.sleep
    assert made.run(Pace(50_000, ticks, None if ticks else 10**9)) == "SIGTERM"
    assert sender.sent == [0] and made.counts.by_interface == {"eth1": 1, "eth2": 0, "eth3": 0}


def test_the_last_tick_is_known():
    world = World()
    made = pacer(world)
    made.run(Pace(50_000, 3))
    assert (made.counts.frames, made.counts.last_frames) == (3, 1)
    assert made.counts.last_ns - made._gaps.first_ns == pytest.approx(100_000, abs=3 * LOOK_NS)


def test_it_heeds_a_request_to_stop():
    stop = StopRequest()
    world = World(takes=lambda sent: sent < 4 or bool(setattr(stop, "why", "SIGTERM")) or True)
    assert pacer(world, stop).run(Pace(50_000, None, 10**9)) == "SIGTERM"
    assert len(world.sent) <= 6


def test_a_real_time_pacer_that_would_starve_its_cpu_rests_more_often_then_yields(monkeypatch):
    world, scheduling = World(), Scheduling()
    monkeypatch.setattr("pfctest.pacing.time.process_time_ns", lambda: world.now)
    made = pacer(world, scheduling=scheduling)
    made.run(Pace(20_000, None, 10**8))
    assert scheduling.is_real_time, "it tries to rest more often first"
    made.run(Pace(20_000, None, 10**8))
    assert not scheduling.is_real_time


def test_when_it_sleeps():
    assert rhythm_of(168_000, True).every == 1 and rhythm_of(168_000, True).spin_ns < 20_000
    short = rhythm_of(20_000, True)
    assert 0.1 < short.most_ns / 20_000 / short.every < 0.25, "more than what the kernel leaves to others"
    assert rhythm_of(168_000, False).spin_ns > rhythm_of(168_000, True).spin_ns
    assert NEVER_NS > 10**18
