"""Each fault changes exactly what it says, on its port only; specifications are checked."""
from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from virtual_testbed.dataplane.model.hooks import Fault, Scope
from virtual_testbed.dataplane.model.traffic import Duration, PauseFlow
from virtual_testbed.faults import BUILT_IN, parse_fault
from virtual_testbed.tests.test_faults_specification import NEEDED
from virtual_testbed.tests.dataplane.testbeds import (SECOND, SWITCH, data, line_rate, names, network, storm,
                                                      switch_config)


def measure(spec=None, pauses=None, seconds=2):
    """Flows as in the qualification: storm on Ethernet0, test and lossy traffic from Ethernet4; everything readable."""
    faults = [parse_fault(spec)] if spec else []
    flows = [storm("storm", 0, pauses or {3: 0xFFFF}, rx_ports=("p1", "p2")), data("test", 1, 0, [3], 3),
             data("lossy", 1, 0, [0], 1, rate_fps=line_rate(1024) / 4),
             data("other", 1, 0, [4], 4, rate_fps=line_rate(1024) / 4)]
    net = network(switch_config(3), flows, faults)
    net.start_flows(["storm"])
    net.advance_to(SECOND)
    net.start_flows(["test", "lossy", "other"])
    net.advance_to(seconds * SECOND)
    switch = net.switch_counters(SWITCH)
    return {"flows": {name: net.flow_counters(name) for name in names(flows)}, "ports": switch.ports,
            "drops": switch.drops, "generator": {name: net.generator_counters(name) for name in ("p0", "p1", "p2")},
            "queues": switch.queues,
            "groups": switch.priority_groups}


@pytest.fixture(name="healthy", scope="module")
def fixture_healthy():
    return measure()


def changed(healthy, faulty):
    """Names of flows that the fault changes by more than the frame that is under way."""
    def differ(name):
        a, b = healthy["flows"][name], faulty["flows"][name]
        return abs(a.frames_tx - b.frames_tx) > 1 or abs(a.frames_rx - b.frames_rx) > 1
    return {name for name in healthy["flows"] if differ(name)}


@pytest.mark.parametrize("name", sorted({*BUILT_IN} - {"pfc-unasked"}))  # which acts without a cause
def test_a_fault_elsewhere_changes_nothing(name, healthy):
    options = f",{NEEDED[name]}" if name in NEEDED else ""
    assert measure(f"{name}@Ethernet8{options}") == healthy
    assert measure(f"{name}@other:Ethernet0{options}") == healthy


def test_pause_ignored(healthy):
    faulty = measure("pause-ignored@Ethernet0")
    assert changed(healthy, faulty) == {"test"}
    assert faulty["flows"]["test"].frames_rx >= faulty["flows"]["test"].frames_tx - 2 > 5_900_000
    assert faulty["ports"]["Ethernet0"].pfc_rx == healthy["ports"]["Ethernet0"].pfc_rx
    assert measure("pause-ignored@Ethernet0,priority=4") == healthy


def test_lossy_queue_paused(healthy):
    faulty = measure("lossy-queue-paused@dut:Ethernet0")
    assert changed(healthy, faulty) <= {"lossy", "test"} and faulty["flows"]["lossy"].frames_rx == 0
    assert faulty["flows"]["test"].frames_rx == 0 and faulty["queues"]["Ethernet0", 1].dropped_packets > 0
    assert measure("lossy-queue-paused@Ethernet0", {0: 0xFFFF})["flows"]["lossy"].frames_rx == 0


def test_watchdog_stop_ignored_is_the_agents(healthy):
    assert measure("watchdog-stop-ignored@Ethernet0") == healthy
    assert parse_fault("watchdog-stop-ignored").watchdog_removal_reaches_hardware(True) is False
    assert Fault().watchdog_removal_reaches_hardware(True) is True


def test_chatter_is_the_agents(healthy):
    assert measure("chatter") == healthy
    assert len(parse_fault("chatter").protocols(())) == 6 and Fault().protocols(()) == ()


def test_held_frames_aged(healthy):
    """What waits is dropped every 100 ms, so that more comes in; nothing of it arrives when the storm is over."""
    faulty = measure("held-frames-aged@Ethernet0")
    assert changed(healthy, faulty) == {"test"} and faulty["flows"]["test"].frames_rx == 0
    assert faulty["flows"]["test"].frames_tx > 2 * healthy["flows"]["test"].frames_tx
    dropped = faulty["queues"]["Ethernet0", 3].dropped_packets
    assert 0 < dropped <= faulty["flows"]["test"].frames_tx and faulty["ports"]["Ethernet0"].tx_drops == dropped
    assert measure("held-frames-aged@Ethernet0,priority=4") == healthy
    assert measure("held-frames-aged@Ethernet0,ms=5000") == healthy


@pytest.mark.parametrize(("spec", "is_dropped"), [("held-frames-aged@Ethernet0", False),
                                                  ("held-frames-aged@Ethernet0,always=yes", True)])
def test_held_frames_wait_when_the_switch_is_told_so(spec, is_dropped):
    """From then on; with `always` they do not."""
    net = network(switch_config(2), [storm("storm", 0, {3: 0xFFFF}, rx_ports=("p1",)), data("test", 1, 0, [3], 3)],
                  [parse_fault(spec)])
    net.start_flows(["storm", "test"])
    net.advance_to(SECOND)
    before = net.switch_counters(SWITCH).queues["Ethernet0", 3].dropped_packets
    net.configure_switch(switch_config(2, aging_off=True))
    net.advance_to(2 * SECOND)
    after = net.switch_counters(SWITCH).queues["Ethernet0", 3].dropped_packets
    assert before > 0 and (after > before) is is_dropped
    net.configure_switch(switch_config(2))
    net.advance_to(3 * SECOND)
    assert net.switch_counters(SWITCH).queues["Ethernet0", 3].dropped_packets > after


def test_aging_stays_on_is_the_agents(healthy):
    assert measure("aging-stays-on@Ethernet0") == healthy
    assert parse_fault("aging-stays-on").aging_can_be_switched(True) is False
    assert Fault().aging_can_be_switched(True) is True


def test_pause_leaks(healthy):
    faulty = measure("pause-leaks@Ethernet0", seconds=6)
    assert faulty["flows"]["test"].frames_rx == 5 and measure(seconds=6)["flows"]["test"].frames_rx == 0
    assert measure("pause-leaks@Ethernet0,period_ms=100")["flows"]["test"].frames_rx == 10
    assert measure("pause-leaks@Ethernet0,priority=4", seconds=6)["flows"]["test"].frames_rx == 0


def test_pfc_forwarded(healthy):
    faulty = measure("pfc-forwarded@Ethernet0")
    assert changed(healthy, faulty) == {"storm"}
    pfc_rx = faulty["ports"]["Ethernet0"].pfc_rx[3]
    assert faulty["flows"]["storm"].frames_rx == 2 * pfc_rx and faulty["generator"]["p2"].frames_rx == pfc_rx
    assert faulty["ports"]["Ethernet0"] == healthy["ports"]["Ethernet0"]
    for name in ("Ethernet4", "Ethernet8"):
        was, now = healthy["ports"][name], faulty["ports"][name]
        assert now == replace(was, tx_packets=was.tx_packets + pfc_rx, tx_bytes=was.tx_bytes + 64 * pfc_rx)


@pytest.mark.parametrize("name, flows", [("lossless-dropped", {"test", "other"}), ("lossy-dropped", {"lossy"})])
def test_dropped(name, flows, healthy):
    faulty = measure(f"{name}@Ethernet0")
    assert changed(healthy, faulty) <= flows
    counters = faulty["flows"]["lossy" if name == "lossy-dropped" else "other"]
    assert 0 <= counters.frames_tx - counters.frames_rx - counters.frames_tx // 100 <= 2
    assert set(faulty["drops"]) == {("Ethernet4", "fault")} and not healthy["drops"]


@pytest.mark.parametrize("spec, rx, other, flow_rx", [
    ("frames-copied@Ethernet0", 1010, 0, 1010), ("frames-copied@Ethernet0,on=Ethernet8", 1000, 10, 1000),
    ("frames-copied@Ethernet0,one_in=1", 2000, 0, 2000), ("frames-copied@Ethernet0,priority=4", 1000, 0, 1000),
    ("frames-copied@Ethernet4", 1000, 0, 1000), ("frames-copied@*,on=Ethernet8,from=5ms", 1000, 5, 1000),
    ("frames-copied@Ethernet0,until=5ms", 1005, 0, 1005)])
def test_frames_copied(spec, rx, other, flow_rx):
    """1000 frames in 10 ms to Ethernet0."""
    flow = data("flow", 1, 0, [3], 3, rate_fps=100_000, duration=Duration(frames=1000))
    net = network(switch_config(3), [flow], [parse_fault(spec)])
    net.start_flows(["flow"])
    net.advance_to(SECOND // 50)
    found = net.switch_counters(SWITCH)
    assert net.flow_counters("flow").frames_rx == flow_rx and net.generator_counters("p0").frames_rx == rx
    assert found.ports["Ethernet0"].tx_packets == found.queues["Ethernet0", 3].packets == rx
    assert found.ports["Ethernet8"].tx_packets == found.queues["Ethernet8", 3].packets == other
    assert net.generator_counters("p2").frames_rx == other and not found.drops
    assert found.ports["Ethernet0"].tx_bytes == 1024 * rx == found.queues["Ethernet0", 3].bytes


def test_no_copy_leaves_by_a_port_that_is_down():
    flow = data("flow", 1, 0, [3], 3, rate_fps=100_000)
    net = network(switch_config(3), [flow], [parse_fault("frames-copied@Ethernet0,on=Ethernet8")])
    net.start_flows(["flow"])
    net.advance_to(SECOND // 100)
    net.set_link("p2", False)
    net.advance_to(SECOND // 50)
    assert net.switch_counters(SWITCH).ports["Ethernet8"].tx_packets == 10
    net.set_link("p2", True)
    net.set_traffic([], [], [])
    assert net.switch_counters(SWITCH).ports["Ethernet8"].tx_packets == 10, "what the switch counted stays"


@pytest.mark.parametrize("looks_at_us", [None, 37, 90])
def test_what_is_dropped_does_not_depend_on_a_capture(looks_at_us):
    """A capture tells frames by DSCP: their turns to be dropped go on."""
    flow = data("lossy", 1, 0, [0, 8, 10], 0, rate_fps=10**6)
    net = network(switch_config(2), [flow], [parse_fault("lossy-dropped@Ethernet0,one_in=50")])
    net.start_flows(["lossy"])
    if looks_at_us is not None:
        net.advance_to(looks_at_us * 10**6)
        net.start_capture("p0")
    net.advance_to(400 * 10**6)
    assert net.switch_counters(SWITCH).drops["Ethernet4", "fault"] == 6


def test_pfc_not_counted(healthy):
    faulty = measure("pfc-not-counted@Ethernet0")
    assert faulty["ports"]["Ethernet0"].pfc_rx == (0,) * 8 and not changed(healthy, faulty)
    mine, theirs = asdict(faulty["ports"]["Ethernet0"]), asdict(healthy["ports"]["Ethernet0"])
    assert {**mine, "pfc_rx": 0} == {**theirs, "pfc_rx": 0}


def test_xoff_not_sent(healthy):
    faulty = measure("xoff-not-sent@Ethernet4")
    assert changed(healthy, faulty) == {"test"} and faulty["flows"]["test"].held_by == frozenset()
    assert faulty["ports"]["Ethernet4"].pfc_tx == (0,) * 8
    assert faulty["groups"]["Ethernet4", 3].dropped_packets > 5_000_000


SHORT = {"duration": Duration(frames=10)}


@pytest.mark.parametrize("flow", [
    data("flow", 1, 0, [3], 3, **SHORT), data("flow", 1, 0, [3], 3, duration=Duration(time_ps=SECOND // 1000)),
    storm("flow", 1, {3: 1}, **SHORT), storm("flow", 1, {3: 1}, duration=Duration(time_ps=SECOND // 1000))])
def test_finished_flows_stay_started(flow):
    """By the generator port on the other end of the cable. A flow that was told to stop begins again."""
    def sent(spec, *commands):
        """Frames after each command and some time."""
        net, found = network(switch_config(3), [flow], [parse_fault(spec)] if spec else []), []
        for command in commands:
            getattr(net, f"{command}_flows")(["flow"])
            net.advance_to(net.now_ps + SECOND // 100)
            found.append(net.flow_counters("flow").frames_tx)
        assert net.flow_counters("flow").transmit == "stopped"
        return found

    name = "finished-flows-stay-started"
    first, second = sent(None, "start", "start")
    assert second == 2 * first > 0
    for spec in (name, f"{name}@Ethernet4", f"{name}@*,priority=3", f"{name}@*,until=1s"):
        assert sent(spec, "start", "start", "start") == [first] * 3
        assert sent(spec, "start", "stop", "start", "start") == [first, first, second, second]
    for spec in (f"{name}@Ethernet0", f"{name}@*,until=10ms", f"{name}@*,from=1s"):
        assert sent(spec, "start", "start") == [first, second]
    of_another = sent(f"{name}@*,priority=4", "start", "start")
    assert of_another == [first, first if isinstance(flow, PauseFlow) else second], "a pause flow has no queue"


def test_a_flow_that_stays_started_does_not_load_its_line():
    flows = [data("first", 1, 0, [3], 3, rate_fps=line_rate(1024), **SHORT),
             data("second", 1, 0, [4], 4, rate_fps=line_rate(1024))]
    net = network(switch_config(2), flows, [parse_fault("finished-flows-stay-started")])
    net.start_flows(["first"])
    net.advance_to(SECOND)
    net.check_load(["first", "second"])
    net.start_flows(["first", "second"])
    net.advance_to(2 * SECOND)
    assert net.flow_counters("first").frames_tx == 10 and net.flow_counters("second").frames_tx > 11_000_000


def test_a_fault_of_ones_own():
    class CountsNoPriorityFour(Fault):
        name = "counts-no-priority-four"

        def counted(self, priority, priorities):
            return priorities - {4}

    flows = [storm("storm", 0, {3: 0xFFFF, 4: 0xFFFF}, duration=Duration(frames=10))]
    net = network(switch_config(2), flows, [CountsNoPriorityFour(Scope(port="Ethernet0"))])
    net.start_flows(["storm"])
    net.advance_to(SECOND)
    assert net.switch_counters(SWITCH).ports["Ethernet0"].pfc_rx == (0, 0, 0, 10, 0, 0, 0, 0)
