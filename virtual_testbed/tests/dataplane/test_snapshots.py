"""What moves in the model is in its snapshots: traffic goes on from them as it went on before."""
from __future__ import annotations

from unittest.mock import patch

import pytest

from virtual_testbed.dataplane.fast_forward import skip
from virtual_testbed.dataplane.model.events import NEVER
from virtual_testbed.tests.dataplane.testbeds import (MS, SWITCH, US, background, data, line_rate, names, network,
                                                      storm, switch_config)

SPAN_PS = 800 * US


def parts(net):
    """Everything that moves, generator ports after their flows."""
    for switch in net._switches.values():
        for port in switch.ports.values():
            yield from (port, port.line, port.receiver, *port.line.items, *port.sender.all_trains, *port.paths)
    for side in net._cabling.sides.values():
        yield from (side.line, side.receiver, *side.line.items)
        yield from (pause_flow.train for pause_flow in side.storms)
        yield from (*side.flows, side)


def counted(net, flows):
    """All counters of the switch and of the flows."""
    return (net.switch_counters(SWITCH), [net.flow_counters(name) for name in names(flows)])


@pytest.mark.parametrize("begin_ps", [300 * US + 7, 700 * US + 11, MS + 1])
def test_traffic_goes_on_from_snapshots_as_it_went_on_before(begin_ps):
    """A storm that lapses, full groups, XOFF and XON, two flows for one line, turns of DSCPs: every counter again."""
    flows = [storm("storm", 1, {3: 0x1FFF}, 600), data("test", 0, 1, [3], 3), *background(0, 1),
             data("over", 2, 1, [4, 0, 3], 4, rate_fps=line_rate(1024) * 7 // 10)]
    with patch.multiple(skip, FIRST_CHECK=NEVER, LONGEST_CHECK=NEVER):
        net = network(switch_config(4), flows)
        net.start_flows(names(flows))
        net.advance_to(begin_ps)
        before = counted(net, flows)
        snapshots = [(part, part.snapshot()) for part in parts(net)]
        net.advance_to(begin_ps + SPAN_PS)
        once = counted(net, flows)
        for part, snapshot in snapshots:
            part.restore(snapshot)
        net._loop.move_to(begin_ps)
        net._target_ps = begin_ps
        net._advance.whole.schedule()
        assert counted(net, flows) == before != once
        assert [part.snapshot() for part, _ in snapshots] == [snapshot for _, snapshot in snapshots]
        net.advance_to(begin_ps + SPAN_PS)
        assert counted(net, flows) == once
    assert any(counters.pfc_tx[3] for counters in once[0].ports.values())
