"""A watchdog that sees storms where none is, sees them late, acts on too much, or never lets go."""
from __future__ import annotations

import pytest

from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.faults import parse_fault
from virtual_testbed.tests.dataplane.testbeds import (MS, SECOND, SWITCH, data, line_rate, names, network, storm,
                                                      switch_config, with_watchdog)

KEY = ("Ethernet0", 3)
RATE = line_rate(1024) / 4


def run(spec, stormy=True, action="drop", asic_type="broadcom"):
    """Ethernet0 watched, with traffic of classes 3, 4 and 1; a storm on class 3 from 0 to 1 s if `stormy`."""
    flows = [data("three", 1, 0, [3], 3, rate_fps=RATE), data("four", 1, 0, [4], 4, rate_fps=RATE),
             data("one", 1, 0, [0], 1, rate_fps=RATE)]
    flows += [storm("storm", 0, {3: 0xFFFF}, duration=Duration(time_ps=SECOND))] if stormy else []
    config = with_watchdog(switch_config(2, asic_type=asic_type), "Ethernet0", action)
    net = network(config, flows, [parse_fault(spec)] if spec else [])
    net.start_flows(names(flows))
    return net


def state(net, now_ps, queue=3):
    """Status, storms detected and restored."""
    net.advance_to(now_ps)
    watch = net.switch_states(SWITCH).watchdog["Ethernet0", queue]
    return watch.status, watch.detected, watch.restored


def gained(net, name, now_ps):
    """Frames of a flow received up to then."""
    before = net.flow_counters(name).frames_rx
    net.advance_to(now_ps)
    return net.flow_counters(name).frames_rx - before


def test_healthy():
    net = run(None)
    assert state(net, 400 * MS) == ("stormed", 1, 0) and state(net, 2 * SECOND) == ("operational", 1, 1)
    assert state(run(None, stormy=False), SECOND) == state(net, SECOND * 2, 4) == ("operational", 0, 0)


@pytest.mark.parametrize("asic_type", ["broadcom", "vs"])
def test_watchdog_false_alarm(asic_type):
    net = run("watchdog-false-alarm@Ethernet0,priority=3", stormy=False, asic_type=asic_type)
    assert state(net, 400 * MS) == ("stormed", 1, 0) and gained(net, "three", 500 * MS) == 0
    status, detected, restored = state(net, 3 * SECOND)
    assert detected > 2 and restored in (detected - 1, detected), "again and again, because the action stops the frames"
    assert state(net, 3 * SECOND, 4) == ("operational", 0, 0), status
    assert net.switch_counters(SWITCH).ports["Ethernet0"].pfc_rx == (0,) * 8
    forwards = run("watchdog-false-alarm@Ethernet0", stormy=False, action="forward", asic_type=asic_type)
    assert state(forwards, 3 * SECOND) == state(forwards, 3 * SECOND, 4) == ("stormed", 1, 0)
    assert gained(forwards, "three", 4 * SECOND) > RATE - 3
    assert state(run("watchdog-false-alarm@Ethernet4", stormy=False), SECOND) == ("operational", 0, 0)


@pytest.mark.parametrize("spec, detected_ms", [
    (None, 300), ("watchdog-late@Ethernet0", 900), ("watchdog-late@Ethernet0,factor=2", 500),
    ("watchdog-late@Ethernet0,priority=4", 300), ("watchdog-late@Ethernet4", 300)])
def test_watchdog_late(spec, detected_ms):
    net = run(spec)
    assert state(net, detected_ms * MS - 1) == ("operational", 0, 0)
    assert state(net, detected_ms * MS) == ("stormed", 1, 0)
    assert state(net, 2 * SECOND) == ("operational", 1, 1)


@pytest.mark.parametrize("spec, detected_ms", [
    (None, None), ("watchdog-polls-add-up@Ethernet0", 600), ("watchdog-polls-add-up@Ethernet0,priority=4", None)])
def test_watchdog_polls_add_up(spec, detected_ms):
    """Two polls see each storm of 190 ms: at 100 and 200, 500 and 600, 1000 and 1100 ms."""
    bursts = Duration(delay_ps=30 * MS, frames=3 * 1132, burst_frames=1132, burst_period_ps=450 * MS)
    config = with_watchdog(switch_config(2, asic_type="broadcom"), "Ethernet0")
    net = network(config, [storm("storms", 0, {3: 0xFFFF}, duration=bursts)], [parse_fault(spec)] if spec else [])
    net.start_flows(["storms"])
    if detected_ms is None:
        assert state(net, 2 * SECOND) == ("operational", 0, 0)
    else:
        assert state(net, detected_ms * MS - 1) == ("operational", 0, 0) and state(net, detected_ms * MS)[1] == 1
    unbroken = run(spec)
    assert state(unbroken, 300 * MS - 1) == ("operational", 0, 0) and state(unbroken, 300 * MS) == ("stormed", 1, 0)


@pytest.mark.parametrize("action", ["drop", "forward", "alert"])
def test_watchdog_never_restores(action):
    net = run("watchdog-never-restores@Ethernet0", action=action)
    assert state(net, 10 * SECOND) == ("stormed", 1, 0)
    assert (gained(net, "three", 11 * SECOND) == 0) is (action == "drop")
    net.configure_switch(switch_config(2))
    assert state(net, 11 * SECOND) == ("operational", 1, 1) and gained(net, "three", 12 * SECOND) > RATE - 3
    until = run("watchdog-never-restores@Ethernet0,until=5s", action=action)
    assert state(until, 5 * SECOND - 1) == ("stormed", 1, 0) and state(until, 6 * SECOND) == ("operational", 1, 1)
    assert state(run("watchdog-never-restores@Ethernet4"), 2 * SECOND) == ("operational", 1, 1)


def test_watchdog_wide():
    healthy, net = run(None), run("watchdog-wide@Ethernet0")
    for one in (healthy, net):
        assert state(one, 500 * MS) == ("stormed", 1, 0)
    for name in ("four", "one"):
        assert gained(healthy, name, healthy.now_ps + SECOND // 5) > RATE / 5 - 3
        assert gained(net, name, net.now_ps + SECOND // 5) == 0
    assert state(net, SECOND, 4) == ("operational", 0, 0), "that queue has no storm"
    assert state(net, 2 * SECOND) == ("operational", 1, 1)
    for name in ("three", "four", "one"):
        assert gained(net, name, net.now_ps + SECOND) > RATE - 3, "all is well again"


def test_wide_storms_of_two_queues():
    """The first one switches PFC off for both, so the second one is seen when that is over."""
    flows = [storm(f"storm {n}", 0, {n: 0xFFFF}, duration=Duration(time_ps=n * SECOND)) for n in (3, 4)]
    flows.append(data("one", 1, 0, [0], 1, rate_fps=RATE))
    net = network(with_watchdog(switch_config(2), "Ethernet0"), flows, [parse_fault("watchdog-wide@Ethernet0")])
    net.start_flows(names(flows))
    assert state(net, 3 * SECOND + 3 * SECOND // 4) == ("operational", 1, 1)
    assert state(net, 3 * SECOND + 3 * SECOND // 4, 4) == ("stormed", 1, 0)
    assert gained(net, "one", 4 * SECOND) == 0
    assert state(net, 5 * SECOND, 4) == ("operational", 1, 1) and gained(net, "one", 6 * SECOND) > RATE - 3


@pytest.mark.parametrize("spec, restored_ms", [
    (None, 1300), ("watchdog-restores-late@Ethernet0", 1900), ("watchdog-restores-late@Ethernet0,factor=2", 1500),
    ("watchdog-restores-late@Ethernet0,priority=4", 1300)])
def test_watchdog_restores_late(spec, restored_ms):
    """The storm ends after 1 s; the poll at that instant has still seen its frames."""
    net = run(spec)
    assert state(net, restored_ms * MS - 200 * MS) == ("stormed", 1, 0)
    assert state(net, restored_ms * MS) == ("operational", 1, 1)


@pytest.mark.parametrize("options, is_dropped, is_off", [
    ("", True, True), (",only=dropping", True, False), (",only=pfc", False, True), (",only=sending", False, False),
    (",only=received", False, False), (",priority=4", False, False)])
def test_watchdog_undo_missing(options, is_dropped, is_off):
    """After its storm the queue is operational; a short pause then shows whether PFC is on."""
    net = run(f"watchdog-undo-missing@Ethernet0{options}")
    assert state(net, 2 * SECOND) == ("operational", 1, 1)
    assert (gained(net, "three", 3 * SECOND) == 0) is is_dropped and gained(net, "four", 4 * SECOND) > RATE - 3
    before = net.switch_counters(SWITCH).ports["Ethernet0"].pause_duration_us[3]
    net.add_flows([storm("again", 0, {3: 0xFFFF}, duration=Duration(frames=1))])
    net.start_flows(["again"])
    net.advance_to(5 * SECOND)
    gained_us = net.switch_counters(SWITCH).ports["Ethernet0"].pause_duration_us[3] - before
    assert (gained_us == 0) is is_off
    net.configure_switch(switch_config(2))
    assert gained(net, "three", 6 * SECOND) > RATE - 3, "the watchdog is stopped: all is well again"


@pytest.mark.parametrize("spec, holds", [
    (None, True), ("pfc-lost-with-watchdog@Ethernet0", False), ("pfc-lost-with-watchdog@Ethernet0,priority=4", True)])
def test_pfc_lost_with_watchdog(spec, holds):
    """The watchdog is stopped in a storm, which goes on; and in another run when it was over."""
    net = run(spec)
    assert state(net, 500 * MS) == ("stormed", 1, 0)
    net.configure_switch(switch_config(2))
    assert (gained(net, "three", 900 * MS) == 0) is holds
    over = run(spec)
    assert state(over, 2 * SECOND) == ("operational", 1, 1)
    over.configure_switch(switch_config(2))
    over.add_flows([storm("again", 0, {3: 0xFFFF})])
    over.start_flows(["again"])
    over.advance_to(3 * SECOND)
    assert gained(over, "three", 4 * SECOND) == 0


@pytest.mark.parametrize("options, sends", [
    (",only=pfc", False), (",only=sending", False), (",only=sending,priority=4", True),
    (",only=received", False)])
def test_whether_a_restored_port_sends_pauses(options, sends):
    """After its storm data from there is held at another port."""
    net = run(f"watchdog-undo-missing@Ethernet0{options}")
    assert state(net, 2 * SECOND) == ("operational", 1, 1)
    held = [data("back", 0, 1, [3], 3, rate_fps=RATE), storm("other", 1, {3: 0xFFFF})]
    net.add_flows(held)
    net.start_flows(names(held))
    net.advance_to(3 * SECOND)
    sent = net.switch_counters(SWITCH).ports["Ethernet0"].pfc_tx
    assert (sent[3] > 0) is sends and not any(sent[:3] + sent[4:])
    net.configure_switch(switch_config(2))
    net.advance_to(4 * SECOND)
    assert net.switch_counters(SWITCH).ports["Ethernet0"].pfc_tx[3] > sent[3], "the watchdog is stopped: it sends again"


@pytest.mark.parametrize("spec, storms", [
    (None, 3), ("watchdog-second-storm-missed@Ethernet0", 1), ("watchdog-second-storm-missed@Ethernet0,after=2", 2),
    ("watchdog-second-storm-missed@Ethernet0,priority=4", 3), ("watchdog-second-storm-missed@Ethernet4", 3)])
def test_watchdog_second_storm_missed(spec, storms):
    """Three storms of 1 s, 2 s apart; then the watchdog is started anew, and there is another one."""
    net = run(spec, stormy=False)
    net.add_flows([storm(f"storm {n}", 0, {3: 0xFFFF}, duration=Duration(delay_ps=3 * n * SECOND, time_ps=SECOND))
                   for n in range(4)])
    net.start_flows([f"storm {n}" for n in range(4)])
    assert state(net, 8 * SECOND) == ("operational", storms, storms)
    net.configure_switch(switch_config(2))
    net.configure_switch(with_watchdog(switch_config(2), "Ethernet0"))
    assert state(net, 12 * SECOND) == ("operational", storms + 1, storms + 1)


@pytest.mark.parametrize("action", ["drop", "forward"])
def test_watchdog_action_missing(action):
    net = run("watchdog-action-missing@Ethernet0", action=action)
    assert state(net, 500 * MS) == ("stormed", 1, 0) and net.flow_counters("three").held_by == {3}
    assert net.switch_counters(SWITCH).drops == {}
    assert state(net, 2 * SECOND) == ("operational", 1, 1)
    counts = net.flow_counters("three")
    assert counts.frames_rx >= counts.frames_tx - 2, "nothing was dropped"


def test_watchdog_any_pause():
    """Single pauses, one every 50 ms: no storm on a healthy switch."""
    for spec, status in ((None, ("operational", 0, 0)), ("watchdog-any-pause@Ethernet0", ("stormed", 1, 0)),
                         ("watchdog-any-pause@Ethernet0,priority=4", ("operational", 0, 0))):
        net = run(spec, stormy=False)
        net.add_flows([storm("rare", 0, {3: 0xFFFF}, rate_fps=20, duration=Duration(time_ps=2 * SECOND))])
        net.start_flows(["rare"])
        assert state(net, SECOND) == status
        assert state(net, 4 * SECOND)[0] == "operational"
    assert state(run("watchdog-any-pause@Ethernet0", stormy=False), SECOND) == ("operational", 0, 0), "not without any"


@pytest.mark.parametrize("spec, paused, is_flapping", [
    (None, (3,), False), ("watchdog-restores-in-storm@Ethernet0", (3,), True),
    ("watchdog-restores-in-storm@Ethernet0,all=yes", (3,), False),
    ("watchdog-restores-in-storm@Ethernet0,all=yes", (3, 4), True),
    ("watchdog-restores-in-storm@Ethernet0,priority=4", (3,), False)])
@pytest.mark.parametrize("asic_type", ["broadcom", "vs"])
def test_watchdog_restores_in_storm(spec, paused, is_flapping, asic_type):
    net = run(spec, stormy=False, asic_type=asic_type)
    net.add_flows([storm("long", 0, dict.fromkeys(paused, 0xFFFF), duration=Duration(time_ps=5 * SECOND))])
    net.start_flows(["long"])
    status, detected, restored = state(net, 4 * SECOND)
    assert (detected > 3 and restored >= detected - 1) is is_flapping
    assert is_flapping or (status, detected, restored) == ("stormed", 1, 0)
    assert state(net, 7 * SECOND)[0] == "operational", "when the storm is over"


@pytest.mark.parametrize("spec, second", [
    (None, ("stormed", 1, 0)), ("watchdog-one-port-only@Ethernet4", ("operational", 0, 0)),
    ("watchdog-one-port-only@Ethernet0", ("stormed", 1, 0))])
def test_watchdog_one_port_only(spec, second):
    """A storm on Ethernet0, later one on Ethernet4 too; when the first one is over the second one is seen."""
    config = with_watchdog(with_watchdog(switch_config(2), "Ethernet0"), "Ethernet4")
    flows = [storm("first", 0, {3: 0xFFFF}, duration=Duration(time_ps=2 * SECOND)),
             storm("second", 1, {3: 0xFFFF}, duration=Duration(delay_ps=SECOND, time_ps=3 * SECOND))]
    net = network(config, flows, [parse_fault(spec)] if spec else [])
    net.start_flows(names(flows))
    net.advance_to(3 * SECOND // 2)
    watch = net.switch_states(SWITCH).watchdog["Ethernet4", 3]
    assert (watch.status, watch.detected, watch.restored) == second
    net.advance_to(7 * SECOND // 2)
    assert net.switch_states(SWITCH).watchdog["Ethernet4", 3].status == "stormed"
    assert net.switch_states(SWITCH).watchdog["Ethernet0", 3].restored == 1


def test_watchdog_hits_another():
    net = run("watchdog-hits-another@Ethernet0,priority=3,to=4")
    assert state(net, 500 * MS) == ("stormed", 1, 0) and net.flow_counters("three").held_by == {3}
    assert gained(net, "four", 700 * MS) == 0 and gained(net, "one", 900 * MS) > RATE / 5 - 3
    assert state(net, 2 * SECOND) == ("operational", 1, 1)
    assert gained(net, "three", 3 * SECOND) > RATE - 3 and gained(net, "four", 4 * SECOND) > RATE - 3


@pytest.mark.parametrize("spec, is_passing", [
    (None, False), ("watchdog-leaks@Ethernet0,only=received", True), ("watchdog-leaks@Ethernet0", True),
    ("watchdog-leaks@Ethernet0,only=received,priority=4", False)])
def test_watchdog_leaks_what_is_received(spec, is_passing):
    """Data of class 3 that comes in by the port in storm."""
    net = run(spec)
    net.add_flows([data("back", 0, 1, [3], 3, rate_fps=RATE)])
    net.start_flows(["back"])
    assert state(net, 500 * MS) == ("stormed", 1, 0)
    assert (gained(net, "back", 700 * MS) > 0) is is_passing
    assert gained(net, "three", 900 * MS) == 0 or spec == "watchdog-leaks@Ethernet0"
    assert state(net, 2 * SECOND) == ("operational", 1, 1) and gained(net, "back", 3 * SECOND) > RATE - 3
