"""Each condition under which components are advanced apart: traffic whose counters would be wrong, or which would cost
far more, without it."""
from __future__ import annotations

from dataclasses import dataclass
from unittest.mock import patch

import pytest

from virtual_testbed.dataplane.fast_forward import partition, skip
from virtual_testbed.dataplane.fast_forward.partition import Partition
from virtual_testbed.dataplane.model.configuration import BufferProfile, PoolConfig
from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.faults import BUILT_IN, Scope
from virtual_testbed.tests.dataplane.test_partition import SLOW_MBPS, UNLIMITED, apart_and_together, shared, slow
from virtual_testbed.tests.dataplane.testbeds import (MS, SWITCH, US, change_port, names, network, port_name, storm,
                                                      switch_config)

HEADROOM_BYTES, XON_BYTES = 60_000, 2288
BOUNDLESS_BYTES = 1 << 40

pytestmark = pytest.mark.usefixtures("plain")


def group(dynamic_th=None, static_th=None, headroom_bytes=HEADROOM_BYTES, xon_offset=0):
    """The profile of a priority group."""
    return BufferProfile("ingress", 0, dynamic_th, static_th, headroom_bytes, XON_BYTES, xon_offset)


def two_pairs(first, second, pool):
    """The switch: profiles of the lossless groups of the first and of the second pair, and the pool that they share."""
    config = switch_config(4, SLOW_MBPS, pools={"ingress": pool, "egress_lossless": PoolConfig(BOUNDLESS_BYTES)})
    for number, profile in enumerate((first, first, second, second)):
        config = change_port(config, port_name(number), priority_groups={3: profile},
                             queues={queue: UNLIMITED for queue in range(8)})
    return config


def keeps(end_ps):
    """A storm that keeps the second pair's queue shut until it ends."""
    return storm("keeps", 3, {3: 0xFFFF}, 596, duration=Duration(time_ps=end_ps))


# ---- `Session.run`: the ends of all pauses are known when it is over (`Skip.settle`)

@pytest.mark.parametrize("keeping_ms", [6, 9])
def test_a_queue_opens_when_its_storm_ends_after_the_pair_was_left_behind(keeping_ms):
    flows = [slow("a", 0, 1, 397), storm("lapses", 1, {3: 0x3FFF}, 400), slow("b", 2, 3, 311), keeps(keeping_ms * MS)]
    one, other = apart_and_together(shared(None, None, 1 << 30), flows, [20 * MS])
    assert one == other
    assert one[2].frames_rx > 0, "the queue stayed shut"


# ---- `Session._begin`: a component is told of its own flows (`Skip.listen`)

MOST_INSTANTS = 40_000
"""Three times what is stepped; a tenth of the frames on the lines."""


def test_a_component_that_pfc_holds_and_frees_again_recurs_while_another_lapses():
    """Two flows into one port, in a loop of XOFF and XON, and a pair that is not regular. The cycles of the first are
    looked for at frames of its own, chosen anew whenever PFC holds or frees one of its flows."""
    config = switch_config(5, SLOW_MBPS, pools={"ingress": PoolConfig(1 << 36),
                                                "egress_lossless": PoolConfig(BOUNDLESS_BYTES)})
    for number in range(5):
        config = change_port(config, port_name(number), priority_groups={3: group(static_th=20_000)},
                             queues={queue: UNLIMITED for queue in range(8)})
    flows = [slow("a", 0, 2, 600), slow("a2", 1, 2, 600), slow("b", 3, 4, 311), storm("lapses", 4, {3: 0x3FFF}, 400)]
    net = network(config, flows)
    net.start_flows(names(flows))
    net.advance_to(50 * MS)
    assert net.flow_counters("a").frames_tx > 25_000
    found = net.statistics()
    assert found.picoseconds_apart > 45 * MS
    assert found.instants_stepped < MOST_INSTANTS


# ---- `Component.marks`: what was found regular is not, when a threshold was reached while all were stepped together

@dataclass(frozen=True)
class Pressure:
    """A first pair whose level rises and sinks again, and with it the limit of the second pair.

    Attributes:
        pool_bytes: size of the pool; `group` of the first pair.
        load, lapses_fps: parts in a thousand of the line, and pause frames a second; a pause is 0x3FFF quanta.
    """

    pool_bytes: int
    group: BufferProfile
    load: int
    lapses_fps: int

    def beside(self, profile, *flows):
        """The switch, where groups of the second pair have a profile, and all flows, with some of the second pair."""
        config = two_pairs(self.group, profile, PoolConfig(self.pool_bytes))
        return config, [slow("a", 0, 1, self.load), storm("lapses", 1, {3: 0x3FFF}, self.lapses_fps), *flows]


def test_a_pair_that_dropped_frames_is_not_taken_for_regular():
    pressure = Pressure(200_000, group(static_th=194_000), 790, 300)
    config, flows = pressure.beside(group(-1, headroom_bytes=0), slow("b", 2, 3, 311, 4096),
                                    slow("b2", 2, 3, 191, 4096))
    one, other = apart_and_together(config, flows, [8 * MS])
    assert one == other
    assert one[-1][port_name(2)].rx_drops > 0


@pytest.mark.parametrize("load, frame_bytes", [(293, 300), (383, 1024)])
def test_a_pair_that_has_sent_xoff_and_xon_is_not_taken_for_regular(load, frame_bytes):
    pressure = Pressure(400_000, group(static_th=388_000), 500, 300)
    config, flows = pressure.beside(group(-1), slow("b", 2, 3, 311, 9000), slow("b2", 2, 3, load, frame_bytes))
    one, other = apart_and_together(config, flows, [8 * MS])
    assert one == other
    assert one[-1][port_name(2)].pfc_tx[3] > 0


@pytest.mark.parametrize("pool_bytes, threshold, load, slow_load", [(600_000, 0, 701, 35), (700_000, 0, 601, 20)])
def test_a_pair_that_uses_headroom_and_tells_nobody_is_not_taken_for_regular(pool_bytes, threshold, load, slow_load):
    """PFC is off where the second pair's data comes in: its group is congested, and no XOFF says so."""
    pressure = Pressure(pool_bytes, group(static_th=BOUNDLESS_BYTES), load, 400)
    config, flows = pressure.beside(group(threshold, headroom_bytes=165_568), slow("b", 2, 3, slow_load), keeps(6 * MS))
    config = change_port(config, port_name(2), pfc_priorities=frozenset())
    one, other = apart_and_together(config, flows, [12 * MS])
    assert one == other
    assert one[-1][port_name(2)].pfc_tx[3] == 0 < one[-1][port_name(2)].rx_packets


# ---- `components._is_group_free`: a congested group that others may wake

def lapsing(load, second_load, fps, second_quanta):
    """A flow in each pair, parts in a thousand of its line, and a storm that lapses in each."""
    return [slow("a", 0, 1, load), slow("b", 2, 3, second_load), storm("lapses", 1, {3: 0x3FFF}, fps),
            storm("lapses too", 3, {3: second_quanta}, 390)]


def untold(*numbers):
    """Makes the faults by which these ports send no XOFF; their senders go on."""
    return lambda: [BUILT_IN["xoff-not-sent"](Scope(SWITCH, port_name(number))) for number in numbers]


@pytest.mark.parametrize("pool_bytes, offset, threshold, load, quanta", [
    (600_000, 2288, 0, 937, 0x3FFF),
    (1_000_000, 20_000, 0, 937, 0x3FFF),
    (600_000, 60_000, -2, 600, 0x2FFF),
])
def test_xon_at_an_offset_below_a_limit_that_others_move(pool_bytes, offset, threshold, load, quanta):
    config = two_pairs(group(threshold, xon_offset=offset), group(static_th=BOUNDLESS_BYTES), PoolConfig(pool_bytes))
    one, other = apart_and_together(config, lapsing(load, 311, 400, quanta), [8 * MS])
    assert one == other
    assert one[-1][port_name(0)].pfc_tx[3] > 0


def test_a_congested_group_whose_sender_is_not_paused():
    """Nothing says that components are advanced apart at all here: no session could be long."""
    config = two_pairs(group(-2, headroom_bytes=20_000), group(static_th=BOUNDLESS_BYTES), PoolConfig(1_000_000))
    flows = [slow("a", 0, 1, 937), slow("b", 2, 3, 311), storm("lapses", 1, {3: 0x1FFF}, 700),
             storm("lapses too", 3, {3: 0x3FFF}, 390)]

    def counters():
        net = network(config, flows, untold(0)())
        net.start_flows(names(flows))
        net.advance_to(6 * MS)
        return [*map(net.flow_counters, names(flows)), net.switch_counters(SWITCH).ports]
    with patch.multiple(skip, FIRST_CHECK=10, LONGEST_CHECK=40), patch.object(partition, "SHORTEST_PS", US):
        one = counters()
        with patch.object(Partition, "advance", lambda self, whole, last_ps: False):
            other = counters()
    assert one == other
    assert one[-1][port_name(0)].rx_drops > 0


@pytest.mark.parametrize("headroom_bytes", [60_000, 100_000])
def test_static_groups_that_share_their_headroom(headroom_bytes):
    """Their senders are not told, so that they fill it."""
    profile = group(static_th=20_000)
    config = two_pairs(profile, profile, PoolConfig(10_000_000, headroom_bytes))
    one, other = apart_and_together(config, lapsing(937, 411, 400, 0x3F0F), [8 * MS], untold(0, 2))
    assert one == other
    assert all(one[-1][port_name(number)].rx_drops > 0 for number in (0, 2))


# ---- `Component.is_free`: a queue whose limit others move

@pytest.mark.parametrize("threshold, second, loads, fps", [(-1, group(0), (499, 937), 700),
                                                           (-2, group(static_th=BOUNDLESS_BYTES), (700, 311), 300)])
def test_a_queue_whose_limit_sinks_while_another_pair_fills(threshold, second, loads, fps):
    config = two_pairs(group(static_th=BOUNDLESS_BYTES), second, PoolConfig(400_000))
    for number in (1, 3):
        queue = BufferProfile("ingress", 0, threshold)
        config = change_port(config, port_name(number), queues=dict.fromkeys(range(8), queue))
    one, other = apart_and_together(config, lapsing(*loads, fps, 0x3FFF), [6 * MS])
    assert one == other
    assert any(port.tx_drops for port in one[-1].values())
