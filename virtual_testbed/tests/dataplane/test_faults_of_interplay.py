"""Faults of pauses that meet: several classes, one after another, several ports, a link that comes up; and
back-pressure out of a port, or for a reason, that has nothing to do with it.
"""
from __future__ import annotations

from unittest.mock import patch

import pytest

from pfctest.timing import pause_time_ps
from virtual_testbed.dataplane.compiled import Compiled
from virtual_testbed.dataplane.fast_forward import skip
from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.faults import parse_fault
from virtual_testbed.tests.dataplane.testbeds import (MS, SECOND, SWITCH, US, data, line_rate, names, network, storm,
                                                      switch_config)

QUANTUM_PS = pause_time_ps(1, 100_000)
ONE = Duration(frames=1)
RATE = line_rate(1024)


def frame(name, pauses, after_ps=0, tx=0):
    """One PFC frame that comes so much later."""
    return storm(name, tx, pauses, 1, duration=Duration(frames=1, delay_ps=after_ps))


def run(spec, flows, until_ps=2 * MS, ports=3):
    """A network in which all flows have run for a while."""
    net = network(switch_config(ports), flows, [parse_fault(spec)] if spec else [])
    net.start_flows(names(flows))
    net.advance_to(until_ps)
    return net


def paused_us(net, port="Ethernet0"):
    """How long each class was paused in all, microseconds."""
    return net.switch_counters(SWITCH).ports[port].pause_duration_us


def counted(net, port="Ethernet0"):
    """PFC frames received by class."""
    return net.switch_counters(SWITCH).ports[port].pfc_rx


# ---- what a pause does given what is paused already

LONG, SHORT = 50_000, 10_000  # 256 us, 51.2 us


@pytest.mark.parametrize("spec, second, three_us, four_us", [
    (None, {4: 0}, 256, 100), ("resume-all@Ethernet0", {4: 0}, 100, 100), ("resume-all@Ethernet4", {4: 0}, 256, 100),
    ("resume-all@Ethernet0,priority=4", {4: 0}, 256, 100), ("resume-all@Ethernet0", {4: 0, 3: LONG}, 356, 100),
    ("resume-all@Ethernet0", {4: SHORT}, 256, 151), ("resume-all@Ethernet0", {}, 256, 256),
    (None, {3: 0, 4: 0}, 100, 100), ("resume-lowest@Ethernet0", {3: 0, 4: 0}, 100, 256),
    ("resume-lowest@Ethernet0", {4: 0}, 256, 100), ("resume-lowest@Ethernet0", {3: LONG, 4: 0}, 356, 100),
    ("resume-lowest@Ethernet0,priority=3", {3: 0, 4: 0}, 100, 100),
    (None, {4: SHORT}, 256, 151), ("pause-replaces@Ethernet0", {4: SHORT}, 100, 151),
    ("pause-replaces@Ethernet0", {4: 0}, 100, 100), ("pause-replaces@Ethernet0", {1: 7}, 100, 100),
    ("pause-replaces@Ethernet0,priority=3", {1: 7}, 100, 256), ("pause-replaces@Ethernet0", {}, 256, 256),
    ("refresh-ignored@Ethernet0", {3: LONG, 4: SHORT}, 256, 256), ("refresh-ignored@Ethernet0", {3: 0}, 100, 256),
    ("refresh-ignored@Ethernet0,priority=4", {3: LONG, 4: LONG}, 356, 256), (None, {3: LONG}, 356, 256),
    ("shorter-ignored@Ethernet0", {3: LONG, 4: SHORT}, 356, 256), ("shorter-ignored@Ethernet0", {4: 0}, 256, 100),
    (None, {3: LONG, 4: SHORT}, 356, 151), ("one-time-for-all@Ethernet0", {3: LONG, 4: SHORT}, 356, 356),
    ("one-time-for-all@Ethernet0,which=first", {3: SHORT, 4: LONG}, 151, 151),
    ("one-time-for-all@Ethernet0,priority=3", {3: SHORT, 4: LONG}, 356, 356),
    ("one-time-for-all@Ethernet0", {3: 0, 4: SHORT}, 151, 151),
    ("times-swapped@Ethernet0", {3: LONG, 4: SHORT}, 151, 356), ("times-swapped@Ethernet0", {3: LONG}, 356, 256),
    ("times-swapped@Ethernet0,priority=4", {3: LONG, 4: SHORT}, 356, 356),
    ("times-rounded@Ethernet0,bits=3", {3: LONG, 4: SHORT}, 356, 141),
    ("times-rounded@Ethernet0", {4: SHORT}, 256, 151),
    ("times-rounded@Ethernet0,priority=3,bits=3", {3: LONG, 4: SHORT}, 356, 151)])
def test_a_second_frame(spec, second, three_us, four_us):
    """Classes 3 and 4 are paused for 256 us; another frame comes 100 us later."""
    net = run(spec, [frame("first", {3: LONG, 4: LONG}), frame("second", second, 100 * US)])
    assert (paused_us(net)[3], paused_us(net)[4]) == (three_us, four_us)
    enabled = {3, 4}
    assert counted(net) == tuple((number in enabled) + (number in second) for number in range(8)), "as ever"


@pytest.mark.parametrize("spec, paused_ps", [
    (None, 0xFFFF * QUANTUM_PS), ("refresh-ignored@Ethernet0", 2 * 20_000 * QUANTUM_PS)])
def test_a_pause_that_is_not_extended_lapses(spec, paused_ps):
    """Pauses of 102.4 us, one after 80 us: the second one does nothing, the third one, after 160 us, counts."""
    flows = [frame(f"{n}", {3: 20_000}, n * 80 * US) for n in range(3)]
    if spec is None:
        paused_ps = 160 * US + 20_000 * QUANTUM_PS
    assert paused_us(run(spec, flows))[3] == paused_ps // US
    assert run(spec, flows).switch_counters(SWITCH).ports["Ethernet0"].pfc_on2off[3] == (2 if spec else 1)


def exactly(spec, flows, until_ps, ports=3):
    """Everything that can be read, with what is skipped, without it, and by compiled code: all the same."""
    def read(net):
        return ([net.flow_counters(name) for name in names(flows)], net.switch_counters(SWITCH).ports,
                net.switch_counters(SWITCH).drops, net.switch_states(SWITCH))
    with patch.object(Compiled, "stepper", lambda self: None):
        skipped = run(spec, flows, until_ps, ports)
        found = read(skipped)
        with patch.multiple(skip, FIRST_CHECK=1 << 40, LONGEST_CHECK=1 << 40), patch.object(
                skip.Recurrence, "at_sample", lambda *_: None):
            assert read(run(spec, flows, until_ps, ports)) == found
    with patch.multiple(skip, COMPILED_FROM=100):
        compiled = run(spec, flows, until_ps, ports)
        assert read(compiled) == found
    return skipped, compiled


MIXED = [storm("s", 0, {3: 0xFFFF, 4: 2000}, 7000), storm("t", 0, {3: 20_000}, 11_000),
         storm("z", 0, {4: 0}, 3000), data("three", 1, 0, [3], 3, rate_fps=RATE / 16),
         data("four", 1, 0, [4], 4, rate_fps=RATE / 16), data("one", 1, 0, [0], 1, rate_fps=RATE / 16)]


@pytest.mark.parametrize("spec", [
    "resume-all@Ethernet0", "resume-lowest@Ethernet0", "pause-replaces@Ethernet0",
    "refresh-ignored@Ethernet0", "shorter-ignored@Ethernet0",
    "one-time-for-all@Ethernet0", "times-swapped@Ethernet0", "times-rounded@Ethernet0",
    "pause-long@Ethernet0,percent=250",
    "pause-acts-elsewhere@Ethernet4,on=Ethernet0",
    "pause-acts-elsewhere@Ethernet0,on=Ethernet8,only=yes", "pfc-counted-elsewhere@Ethernet0,on=Ethernet4",
    "refresh-ignored@Ethernet0,from=1ms,until=2ms", "shorter-ignored@Ethernet0,from=1ms,until=2ms"])
def test_what_is_skipped_is_what_would_have_been_stepped(spec):
    exactly(spec, [*MIXED, storm("u", 1, {3: 9000}, 13_000), data("eight", 0, 2, [3], 3, rate_fps=RATE / 16)], 4 * MS)


def test_a_storm_of_one_time_is_skipped_whatever_a_shorter_one_would_do():
    flows = [storm("s", 0, {3: 0xFFFF}), data("three", 1, 0, [3], 3, rate_fps=RATE / 4)]
    net = run("shorter-ignored@Ethernet0", flows, SECOND)
    assert net.statistics().picoseconds_skipped > SECOND // 2
    healthy = run(None, flows, SECOND)
    assert net.switch_counters(SWITCH).ports == healthy.switch_counters(SWITCH).ports


# ---- at another port

@pytest.mark.parametrize("spec, here, there", [
    (None, False, True), ("pause-acts-elsewhere@Ethernet0,on=Ethernet4", False, False),
    ("pause-acts-elsewhere@Ethernet0,on=Ethernet4,only=yes", True, False),
    ("pause-acts-elsewhere@Ethernet0,on=Ethernet4,priority=4", False, True),
    ("pause-acts-elsewhere@Ethernet0,on=Ethernet8", False, True)])
def test_pause_acts_elsewhere(spec, here, there):
    flows = [storm("storm", 0, {3: 0xFFFF}), storm("lossy", 0, {1: 0xFFFF}), data("here", 2, 0, [3], 3),
             data("there", 2, 1, [3], 3, rate_fps=RATE / 4), data("one", 2, 1, [0], 1, rate_fps=RATE / 8)]
    net = run(spec, flows, 2 * SECOND)
    assert (net.flow_counters("here").frames_rx > 0, net.flow_counters("there").frames_rx > 100) == (here, there)
    assert net.flow_counters("one").frames_rx > RATE / 4 - 3, "a lossy class pauses nothing anywhere"
    assert counted(net)[3] > 0 and paused_us(net, "Ethernet4") == (0,) * 8
    net.stop_flows(["storm"])
    net.advance_to(3 * SECOND)
    for name in ("here", "there"):
        counts = net.flow_counters(name)
        assert counts.frames_rx >= counts.frames_tx - 2 > 0, "nothing was lost, and all go on"


def test_pfc_counted_elsewhere():
    flows = [storm("storm", 0, {3: 100, 4: 0}, 1000, duration=Duration(frames=10)), frame("own", {3: 7}, tx=1)]
    for spec, here, there in ((None, 10, 0), ("pfc-counted-elsewhere@Ethernet0,on=Ethernet4", 10, 10),
                              ("pfc-counted-elsewhere@Ethernet0,on=Ethernet4,only=yes", 0, 10)):
        net = run(spec, flows, 20 * MS)
        assert counted(net) == (0, 0, 0, here, here, 0, 0, 0)
        assert counted(net, "Ethernet4") == (0, 0, 0, there + 1, there, 0, 0, 0)
        assert paused_us(net) == (0, 0, 0, 5, 0, 0, 0, 0)


def test_pfc_forwarded_to_one_port():
    flows = [storm("storm", 0, {3: 0xFFFF}, rx_ports=("p1", "p2"), duration=Duration(frames=10))]
    for spec, at_one, at_two in ((None, 0, 0), ("pfc-forwarded@Ethernet0", 10, 10),
                                 ("pfc-forwarded@Ethernet0,to=Ethernet8", 0, 10)):
        net = run(spec, flows, 20 * MS)
        assert (net.generator_counters("p1").frames_rx, net.generator_counters("p2").frames_rx) == (at_one, at_two)
        assert net.flow_counters("storm").frames_rx == at_one + at_two
        switch = net.switch_counters(SWITCH)
        for port, frames in (("Ethernet0", 0), ("Ethernet4", at_one), ("Ethernet8", at_two)):
            queue = switch.queues[port, 0]
            assert (switch.ports[port].tx_packets, switch.ports[port].tx_bytes) == (frames, 64 * frames)
            assert (queue.packets, queue.bytes) == (frames, 64 * frames)


@pytest.mark.parametrize("spec, out_of, held", [
    (None, (True, False), {"held"}), ("xoff-elsewhere@Ethernet4,on=Ethernet8", (True, True), {"held", "other"}),
    ("xoff-elsewhere@Ethernet4,on=Ethernet8,only=yes", (False, True), {"other"}),
    ("xoff-elsewhere@Ethernet4,on=Ethernet8,priority=4", (True, False), {"held"}),
    ("xoff-elsewhere@Ethernet0,on=Ethernet8", (True, False), {"held"})])
def test_xoff_elsewhere(spec, out_of, held):
    """Data from Ethernet4 waits at Ethernet0, that from Ethernet8 goes to a port of its own."""
    flows = [storm("storm", 0, {3: 0xFFFF}), data("held", 1, 0, [3], 3), data("other", 2, 3, [3], 3)]
    net = run(spec, flows, SECOND, ports=4)
    ports = net.switch_counters(SWITCH).ports
    assert (ports["Ethernet4"].pfc_tx[3] > 1000, ports["Ethernet8"].pfc_tx[3] > 1000) == out_of
    assert {name for name in ("held", "other") if net.flow_counters(name).held_by} == held
    assert bool(net.switch_counters(SWITCH).drops) == ("held" not in held)
    net.stop_flows(["storm"])
    net.advance_to(2 * SECOND)
    ports = net.switch_counters(SWITCH).ports
    assert not any(net.flow_counters(name).held_by for name in ("held", "other")), "XON goes the same way"
    assert net.generator_counters("p2").pfc_rx == ports["Ethernet8"].pfc_tx


def test_xoff_elsewhere_ends_with_the_fault():
    flows = [storm("storm", 0, {3: 0xFFFF}), data("held", 1, 0, [3], 3), data("other", 2, 3, [3], 3)]
    net = run("xoff-elsewhere@Ethernet4,on=Ethernet8,until=500ms", flows, 400 * MS, ports=4)
    assert net.flow_counters("other").held_by == {3}
    net.advance_to(600 * MS)
    before = net.switch_counters(SWITCH).ports
    assert net.flow_counters("other").held_by == frozenset() and net.flow_counters("held").held_by == {3}
    net.advance_to(SECOND)
    assert net.switch_counters(SWITCH).ports["Ethernet8"].pfc_tx == before["Ethernet8"].pfc_tx


def test_exactly_where_congestion_comes_and_goes():
    flows = [storm("storm", 0, {3: 0x8000}, 900), data("held", 1, 0, [3], 3, rate_fps=RATE),
             data("other", 2, 3, [3], 3, rate_fps=RATE / 4)]
    _, compiled = exactly("xoff-elsewhere@Ethernet4,on=Ethernet8", flows, 3 * MS, ports=4)
    assert compiled.statistics().not_skipped["not stepped by compiled code: pauses of one port act at another"]


@pytest.mark.parametrize("spec, paused", [
    (None, ()), ("xoff-from-lossy@Ethernet4", (0,)), ("xoff-from-lossy@Ethernet4,pauses=3", (3,)),
    ("xoff-from-lossy@Ethernet4,priority=3", ()), ("xoff-from-lossy@Ethernet0", ())])
def test_xoff_from_lossy(spec, paused):
    """Two ports overload queue 1 of a third one."""
    flows = [data(f"d{n}", n, 0, [0], 1, rate_fps=RATE * 4 / 5) for n in (1, 2)] + [
        data("zero", 1, 0, [8], 0, rate_fps=RATE / 16), data("three", 1, 0, [3], 3, rate_fps=RATE / 16)]
    net, compiled = exactly(spec, flows, 4 * MS)
    ports = net.switch_counters(SWITCH).ports
    assert {number for number, frames in enumerate(ports["Ethernet4"].pfc_tx) if frames} == {*paused}
    assert ports["Ethernet8"].pfc_tx == (0,) * 8 and net.switch_counters(SWITCH).drops["Ethernet4", "queue full"] > 0
    assert compiled.statistics().compiled_events
    net.stop_flows(names(flows))
    net.advance_to(SECOND)
    assert net.generator_counters("p1").pfc_rx == net.switch_counters(SWITCH).ports["Ethernet4"].pfc_tx
    assert not net.flow_counters("zero").held_by, "the group is empty: XON"


# ---- a link that comes up

@pytest.mark.parametrize("spec, deaf_ms", [
    (None, 0), ("pause-ignored-after-link-up@Ethernet0,ms=10", 10), ("pause-ignored-after-link-up@Ethernet4,ms=10", 0),
    ("pause-ignored-after-link-up@Ethernet0,ms=10,priority=4", 0)])
def test_pause_ignored_after_link_up(spec, deaf_ms):
    flows = [storm("storm", 0, {3: 0xFFFF}), data("three", 1, 0, [3], 3)]
    net = run(spec, flows, 50 * MS)
    net.set_link("p0", False)
    net.advance_to(60 * MS)
    net.set_link("p0", True)
    before = net.flow_counters("three").frames_rx, paused_us(net)[3], counted(net)[3]
    net.advance_to(100 * MS)
    gained = net.flow_counters("three").frames_rx - before[0]
    assert abs(gained - deaf_ms * RATE / 2000) < RATE / 2000, "up to a frame after the time"
    assert abs(paused_us(net)[3] - before[1] - (40 - deaf_ms) * 1000) < 400
    assert abs(counted(net)[3] - before[2] - 5960 * 40 // 1000) < 2, "counted all the time"
