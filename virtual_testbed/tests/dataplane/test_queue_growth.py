"""A queue that is shut fills up from cycle to cycle, and a jump over cycles ends before a threshold is reached."""
from __future__ import annotations

from unittest.mock import patch

import pytest

from virtual_testbed.dataplane.fast_forward.partition import Partition
from virtual_testbed.dataplane.fast_forward.queue_growth import QueueGrowth
from virtual_testbed.dataplane.fast_forward.recurrence import Recurrence
from virtual_testbed.tests.dataplane.testbeds import MS, SWITCH, data, line_rate, names, network, storm, switch_config

pytestmark = pytest.mark.usefixtures("plain")

FLOWS = [data("held", 0, 1, [3], 3, rate_fps=line_rate(1024) / 2), data("goes on", 0, 2, [8], 0),
         storm("s", 1, {3: 0xFFFF})]
"""Together they leave the line of their port no idle time: what recurs is found by its cycle."""


def counters():
    """Everything that can be read after XOFF, and how many cycles were skipped."""
    net = network(switch_config(3), FLOWS)
    net.start_flows(names(FLOWS))
    net.advance_to(3 * MS)
    switch = net.switch_counters(SWITCH)
    return ([net.flow_counters(name) for name in names(FLOWS)], switch.ports,
            [(group.packets, group.occupancy_bytes) for group in switch.priority_groups.values()]
            ), net.statistics().cycles_skipped


def stepped():
    """The same, frame by frame."""
    with patch.object(Recurrence, "at_sample", lambda *_: None), patch.object(
            Partition, "advance", lambda *_: False):
        found, cycles = counters()
    assert not cycles
    return found


def test_a_jump_ends_before_xoff():
    found, cycles = counters()
    assert cycles > 1000 and found[1]["Ethernet0"].pfc_tx[3] > 0
    assert found == stepped()


def test_a_bound_that_is_forgotten_is_noticed(monkeypatch):
    """The comparison itself."""
    monkeypatch.setattr(QueueGrowth, "_fits", lambda *_: True)
    found, cycles = counters()
    assert cycles and found != stepped()
