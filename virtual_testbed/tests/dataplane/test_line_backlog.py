"""What may wait for a line at once: never more than the bound, and hardly less, whatever queues it is in."""
from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from random import Random
from unittest.mock import patch

import pytest

from virtual_testbed.dataplane.fast_forward import skip
from virtual_testbed.dataplane.fast_forward.busy_periods import FrameTimes, Stream
from virtual_testbed.dataplane.fast_forward.delivery import leaving
from virtual_testbed.dataplane.fast_forward.ledger import Ledger
from virtual_testbed.dataplane.fast_forward.line_backlog import CableFeed, LineBacklog
from virtual_testbed.dataplane.fast_forward.steady_proof import SteadyProof
from virtual_testbed.dataplane.model.configuration import BufferProfile, PoolConfig
from virtual_testbed.dataplane.model.events import NEVER
from virtual_testbed.dataplane.model.port import SwitchPort
from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.tests.dataplane.testbeds import (
    MS, SECOND, SWITCH, US, data, line_rate, names, network, storm, switch_config)

POOLS = {"ingress": PoolConfig(12_766_208), "egress_lossless": PoolConfig(1 << 40),
         "egress_lossy": PoolConfig(10_000_000)}
CLASSES = {0: 8, 1: 0, 2: 5, 5: 46, 6: 48}
MIX = (64, 570, 64, 570, 64, 1518, 64, 570, 64, 570, 64, 64)
SPAN_PS = 12 * US


def all_to_the_next(ports, sizes, load, seed=0):
    """A flow of each lossy class from every port to the next one, each with a phase of its own, and a storm."""
    chance, flows = Random(seed), []
    for tx in range(ports):
        for number, dscp in CLASSES.items():
            size = sizes[number % len(sizes)]
            flows.append(data(f"d{tx} {number}", tx, (tx + 1) % ports, [dscp], number, sizes=(size,),
                              rate_fps=line_rate(size) * load / len(CLASSES),
                              duration=Duration(chance.randrange(2 * US))))
        flows.append(storm(f"s{tx}", tx, {3: 0xFFFF, 4: 0xFFFF}, 5960, duration=Duration(chance.randrange(US))))
    return flows


def two_to_one(sizes, load, seed=0):
    """Every lossy class from two ports to a third."""
    chance = Random(seed)
    return [data(f"d{tx} {number}", tx, 2, [dscp], number, sizes=(sizes[number % len(sizes)],),
                 rate_fps=line_rate(sizes[number % len(sizes)]) * load / 2 / len(CLASSES),
                 duration=Duration(chance.randrange(2 * US)))
            for tx in (0, 1) for number, dscp in CLASSES.items()]


def in_turns(load, seed=0):
    """A flow of each lossy class from two ports to a third, whose sizes take turns as those of an internet mix do."""
    chance, rate = Random(seed), Fraction(100 * 10**9 * len(MIX), 8 * sum(size + 20 for size in MIX))
    return [data(f"d{tx} {number}", tx, 2, [dscp], number, sizes=MIX, rate_fps=rate * load / 2 / len(CLASSES),
                 duration=Duration(chance.randrange(2 * US)))
            for tx in (0, 1) for number, dscp in CLASSES.items()]


def held(port, ports):
    """Bytes in the switch that leave by a port."""
    return sum(leaving(path) * path.size for other in ports for path in other.paths if path.out is port)


def advanced(net, flows, time_ps):
    """All events up to then processed, each of them stepped."""
    net.advance_to(time_ps)
    net.flow_counters(flows[0].name)


def bounds_and_peaks(flows, ports, begin_ps):
    """By port the bound that holds from an instant on, and the most that waited for its line in the time after it."""
    with patch.multiple(skip, FIRST_CHECK=NEVER, LONGEST_CHECK=NEVER):
        net = network(switch_config(ports, pools=POOLS), flows)
        net.start_flows(names(flows))
        advanced(net, flows, begin_ps)
        found = list(net._switches[SWITCH].ports.values())
        proof = SteadyProof(list(net._cabling.sides.values()), found, Ledger(), net._loop.now_ps,
                            begin_ps + SPAN_PS)
        bounds = {line: most for use in proof.uses for line, most in use.lines.items()}
        peaks = {port: held(port, found) for port in found}
        receive = SwitchPort.receive

        def seen(self, path, now_ps):
            receive(self, path, now_ps)
            peaks[path.out] = max(peaks[path.out], held(path.out, found))
        with patch.object(SwitchPort, "receive", seen):
            advanced(net, flows, begin_ps + SPAN_PS)
    return [(bounds[id(port.line)], peak) for port, peak in peaks.items() if id(port.line) in bounds]


@pytest.mark.parametrize("sizes", [(1024,), (64, 1518), (9000, 300)])
@pytest.mark.parametrize("load", [Fraction(19, 20), Fraction(1, 2)])
def test_what_one_port_sends_to_another_hardly_waits(sizes, load):
    """Serial on the way in, so at most a few frames wait, of all classes together."""
    for seed in range(2):
        for bound, peak in bounds_and_peaks(all_to_the_next(3, sizes, load, seed), 3, (30 + seed) * US):
            assert 0 < peak <= bound and (len(sizes) > 1 or bound <= 3 * 1040)


@pytest.mark.parametrize("sizes", [(1024,), (64, 1518)])
def test_what_comes_from_two_ports_waits_no_longer_than_their_flows_allow(sizes):
    tightest = 0
    for seed in range(2):
        for bound, peak in bounds_and_peaks(two_to_one(sizes, Fraction(9, 10), seed), 3, (30 + seed) * US):
            assert peak <= bound
            tightest = max(tightest, peak / bound)
    assert tightest > 0.2


def test_sizes_that_take_turns_leave_the_line_idle():
    """At 90 % of the line on the average: nearly four times as much, if all were as long as their longest."""
    for seed in range(3):
        for bound, peak in bounds_and_peaks(in_turns(Fraction(9, 10), seed), 3, (30 + seed) * US):
            assert peak <= bound
    flows = in_turns(Fraction(9, 10))
    counted = []
    for first_check in (NEVER, skip.FIRST_CHECK):
        with patch.multiple(skip, FIRST_CHECK=first_check):
            net = network(switch_config(3, pools=POOLS), flows)
            net.start_flows(names(flows))
            net.advance_to(2 * MS)
            counted.append([net.flow_counters(flow.name) for flow in flows])
    assert counted[0] == counted[1] and net.statistics().picoseconds_skipped > MS
    net.advance_to(100 * SECOND)
    assert net.flow_counters(flows[0].name).frames_rx and net.statistics().picoseconds_skipped > 99 * SECOND


def test_flows_in_step_come_near_the_bound():
    """Ten flows of two ports begin at one instant: as many frames wait as they can."""
    flows = [replace(flow, duration=Duration()) for flow in two_to_one((1024,), Fraction(9, 10))]
    [(bound, peak)] = bounds_and_peaks(flows, 3, 30 * US)
    assert peak <= bound <= 4 * peak


def test_32_ports_under_full_load_are_skipped():
    """Storms hold both lossless classes of all ports of a small switch, whose pool they leave 170 kB of; each port
    sends 99 % of its line to another one. No lossy frame is lost, and hardly any is stepped."""
    lossless = BufferProfile("ingress", 1248, 0, None, 165_568, 2288, 2288)
    groups = {0: BufferProfile("ingress", 0, 3), 3: lossless, 4: lossless}
    queues = {n: BufferProfile("lossless", 1518, None, 15_982_720) if n in (3, 4) else BufferProfile("lossy", 1518, 3)
              for n in range(8)}
    pools = {"ingress": PoolConfig(10_875_072, 4_194_112), "lossless": PoolConfig(15_982_720),
             "lossy": PoolConfig(9_243_812)}
    config = switch_config(32, pools=pools, priority_groups=groups, queues=queues)
    rate = line_rate(1024) * Fraction(99, 700)
    flows = [data(f"d{tx} {number}", tx, (tx + 16) % 32, [dscp], number, rate_fps=rate)
             for tx in range(32) for number, dscp in {**CLASSES, 3: 3, 4: 4}.items()]
    storms = [storm(f"s{tx}", tx, {3: 0xFFFF, 4: 0xFFFF}) for tx in range(32)]
    net = network(config, [*storms, *flows])
    net.start_flows(names(storms))
    net.advance_to(MS)
    net.start_flows(names(flows))
    net.advance_to(SECOND)
    for flow in flows:
        counted = net.flow_counters(flow.name)
        assert (counted.frames_rx == 0) == (flow.queue in (3, 4)), flow.name
        assert flow.queue in (3, 4) or 0 <= counted.frames_tx - counted.frames_rx <= 2, flow.name
    free = [pool.size - pool.used for pool in net._switches[SWITCH].pools.values()]
    assert min(free) < 200_000 and net.statistics().picoseconds_skipped > SECOND * 99 // 100


# ---- the arithmetic, by hand: times in any unit

def stream(period_ps, *times_ps):
    """Frames of which each of a turn takes so long."""
    return Stream(period_ps, FrameTimes.of(times_ps), 0)


def test_the_cable_is_the_bound_of_many_flows_and_the_flows_that_of_a_cable():
    flows = {number: stream(1000, 100) for number in range(9)}
    feed = CableFeed(100, Fraction(1), 0, flows)
    assert feed.comes_ps(0) == 100 and feed.comes_ps(10_000) == 9 * (1000 + 100)
    assert feed.crossing_ps() == (900 - 100) / Fraction(1, 10)


def test_what_waits_is_greatest_where_the_bounds_cross():
    """Two cables of equal speed, each with one flow that takes 40 % of the line: 100 + 100 at once, and no more."""
    waiting = LineBacklog(0, {(10, 100)}, {number: CableFeed(100, Fraction(1), 0, {0: stream(250, 100)})
                                           for number in range(2)})
    assert waiting.most_bytes([]) == 2 * 10
    # a frame of each that was under way, too: both cables are busy for 500 / 3 until the second one has come
    for feed in waiting.feeds.values():
        feed.under_way_ps = 100
    assert waiting.most_bytes([]) == (200 + 2 * 166 - 166 + 2 + 99) // 100 * 10
    assert waiting.most_bytes([stream(10_000, 50)]) > waiting.most_bytes([])


@pytest.mark.parametrize("times_ps", [(5,), (7, 7, 7), (1, 9), MIX, (0, 3, 0, 0), (9, 1, 8, 2, 7)])
def test_frames_in_a_row_need_no_more_than_is_said(times_ps):
    """Wherever in the turn they begin; and the first is no longer than it must be for one of the rows."""
    times, mean = FrameTimes.of(times_ps), Fraction(sum(times_ps), len(times_ps))
    turn = len(times_ps)
    most = [max(sum(times_ps[(begin + place) % turn] for place in range(number)) for begin in range(turn))
            for number in range(1, 3 * turn)]
    assert all(row_ps <= times.most_ps(number) for number, row_ps in enumerate(most, 1))
    assert times.first_ps == max(ceil(row_ps - (number - 1) * mean) for number, row_ps in enumerate(most, 1))


def test_a_frame_sent_in_part_is_held_whole():
    waiting = LineBacklog(1, {(10, 100), (20, 150)})
    assert waiting.most_bytes([]) == (1 + 150 - 1) * 20 // 150
    assert LineBacklog(5).most_bytes([]) == 0
