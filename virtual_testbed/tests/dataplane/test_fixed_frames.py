"""A flow of fixed frames sends as many as it was told to, also when PFC holds it and cycles are jumped over."""
from __future__ import annotations

from unittest.mock import patch

from virtual_testbed.dataplane.fast_forward import skip
from virtual_testbed.dataplane.model.events import NEVER
from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.tests.dataplane.testbeds import MS, SWITCH, data, line_rate, names, network, switch_config

FRAMES = 50_001


def run():
    """Two flows of fixed frames fill a line towards a port that a third one sends to as well: XOFF and XON for ever.

    Counters on the way and at the end, and the statistics.
    """
    flows = [data("a", 0, 2, [3], 3, duration=Duration(frames=FRAMES)),
             data("b", 0, 2, [3], 3, duration=Duration(frames=FRAMES)),
             data("o", 1, 2, [3], 3, rate_fps=line_rate(1024) / 5)]
    net = network(switch_config(3), flows)
    net.start_flows(names(flows))
    found = []
    for time_ps in (6 * MS, 9 * MS, 14 * MS):
        net.advance_to(time_ps)
        found.append([net.flow_counters(name) for name in names(flows)])
        found.append(net.switch_counters(SWITCH).ports)
    return found, net.statistics()


def test_a_flow_of_fixed_frames_that_pfc_holds_sends_as_many():
    found, statistics = run()
    assert [counters.frames_tx for counters in found[-2][:2]] == [FRAMES, FRAMES]
    assert [counters.transmit for counters in found[-2][:2]] == ["stopped", "stopped"]
    with patch.multiple(skip, FIRST_CHECK=NEVER, LONGEST_CHECK=NEVER):
        stepped, _ = run()
    assert found == stepped and statistics.jumps
