"""The SimPy model, with which the benchmarks compare, counts what the data plane counts."""
from dataclasses import replace

import pytest

from virtual_testbed.tests.dataplane import testbeds
from virtual_testbed.tests.dataplane.simpy_queue import SimpyQueue

MS = testbeds.MS
TRAFFIC = [testbeds.storm("storm", 1, {3: 0xFFFF}), testbeds.data("test", 0, 1, [3], 3), *testbeds.background(0, 1)]


def counts(flows, instants, config=None):
    """What both counted at each instant, as (data plane, SimPy)."""
    config = config or testbeds.switch_config(2)
    net, model = testbeds.network(config, flows), SimpyQueue(config, flows)
    net.start_flows(testbeds.names(flows))
    found = []
    for instant in instants:
        net.advance_to(instant)
        model.advance_to(instant)
        here = {flow.name: net.flow_counters(flow.name) for flow in flows}
        ports = net.switch_counters(testbeds.SWITCH).ports
        found.append((
            {name: (flow.frames_tx, flow.frames_rx) for name, flow in here.items()}
            | {"pfc tx": ports["Ethernet0"].pfc_tx[3], "pfc rx": ports["Ethernet4"].pfc_rx[3],
               "dropped": ports["Ethernet0"].rx_drops},
            {name: (model.frames_tx[name], model.frames_rx[name]) for name in here}
            | {"pfc tx": model.pfc_tx[3], "pfc rx": model.pfc_rx[3], "dropped": sum(model.dropped.values())}))
    return found


def test_the_benchmark_s_traffic():
    instants = [1, 83_520, 10**6, 10**6 + 7, MS // 3, MS, MS * 11 // 10, 2 * MS + 1]
    for expected, found in counts(TRAFFIC, instants):
        assert found == expected
    assert found["pfc tx"] > 1 and found["test"][0] > found["test"][1] == 0


def test_a_storm_with_gaps_lets_frames_pass_and_sends_xon():
    """Quanta of a third of the storm's period; no other data, so that the scheduler has nothing to choose."""
    flows = [testbeds.storm("storm", 1, {3: 0x4000}, 4000), testbeds.data("test", 0, 1, [3], 3)]
    config = testbeds.switch_config(2)
    small = replace(config, pools={**config.pools, "ingress": replace(config.pools["ingress"], size=300_000)})
    for expected, found in counts(flows, range(MS // 7, 2 * MS, MS // 7), small):
        assert found == expected
    assert found["pfc tx"] > 8 and found["test"][1] > 1000


def test_without_pfc_the_buffer_drops():
    config = testbeds.switch_config(2)
    lossy = replace(testbeds.LOSSLESS, xoff=0, dynamic_th=-3)
    config = testbeds.change_port(config, "Ethernet0", priority_groups={3: lossy})
    for expected, found in counts(TRAFFIC[:2], [MS // 5, MS], config):
        assert found == expected
    assert found["dropped"] > 1000 and not found["pfc tx"]


@pytest.mark.parametrize("flow", [
    testbeds.data("mixed", 0, 1, [3, 4], 3), testbeds.data("sizes", 0, 1, [3], 3, sizes=(64, 1500)),
    testbeds.data("queue", 0, 1, [3], 4), testbeds.storm("storm", 1, {3: 1}, fcs_error=True)])
def test_what_is_left_out_is_refused(flow):
    with pytest.raises(ValueError, match=f"flow {flow.name}: expected "):
        SimpyQueue(testbeds.switch_config(2), [flow])
