"""Back-pressure through `vtb-chain`, hop by hop, against instants computed by hand from the numbers below.

Frames of 1024 bytes go from the first switch to the receiver on the last, through the middle one. Nothing here is read
from the data plane but counters; every expected instant is a sum of frame times, propagation and response times.
"""
from __future__ import annotations

from virtual_testbed.dataplane.model.hooks import Scope
from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.faults import BUILT_IN
from virtual_testbed.tests.dataplane.chain import (DOWN, SECOND_SENDER, SENDER, SWITCHES, UP, changes, data, network,
                                                   storm)
from virtual_testbed.tests.dataplane.testbeds import MS, US

BYTE = 80  # ps at 100 Gb/s
FRAME = (1024 + 20) * BYTE  # 83 520: preamble and gap are 20 bytes
CONTROL = (64 + 20) * BYTE  # 6 720
NEAR, FAR = 5 * 5000, 40 * 5000  # 25 000 to a generator, 200 000 between switches: 5 ns a metre
RESPONSE = 394 * 512 * BYTE // 8  # 2 017 280: 394 quanta of 512 bit times
PERIOD = 92_800  # of frames at 90 % of the line rate: 83 520 / 0.9
SLOW_PERIOD = 139_200  # at 60 %
STORM = 100 * US

# A frame takes 5 cells of 208 bytes. Of the group's first 1248 bytes none is shared; n frames hold n * 1040 - 1248 of
# the pool's 10 875 072, and one more fits while that and its 1040 are no more than what is left:
#     2 * (n * 1040 - 1248) + 1040 <= 10 875 072, that is n <= 5229.1.
# So 5230 frames fit, and the one that finds 5230 is the XOFF.
CELLS, RESERVED, POOL = 1040, 1248, 10_875_072
FITTING = (POOL + 2 * RESERVED - CELLS) // (2 * CELLS) + 1  # 5230
HEADROOM_FRAMES = 177_632 // CELLS  # 170, of a 40 m cable
FIRST, MIDDLE, LAST = 0, 1, 2


def arrives(switch, frame):
    """Last bit of a frame of the first sender (counted from 0) at a switch (from 0), while nothing pauses it: it has
    been on as many lines and cables as there are switches before, and on the generator's.
    """
    return FRAME + NEAR + switch * (FRAME + FAR) + frame * PERIOD


def sent_before(switch, pause):
    """How many frames a switch begins to send before its pause begins: those that have come, as none waits."""
    return -(-(pause - arrives(switch, 0)) // PERIOD)  # rounded up


def sent_by(time, period):
    """Frames of a flow that have left a sender that nothing pauses."""
    return (time - FRAME) // period + 1


def hops():
    """(switch, frames it has passed on, instant of its XOFF decision), last switch first, for the storm.

    The storm's first frame pauses the last switch's queue: 100 000 000 + 6 720 + 25 000 + 2 017 280 = 102 049 000 ps.
    """
    pause, found = STORM + CONTROL + NEAR + RESPONSE, []
    for switch in (LAST, MIDDLE, FIRST):
        passed = sent_before(switch, pause)
        xoff = arrives(switch, passed + FITTING)
        found.append((switch, passed, xoff))
        pause = xoff + CONTROL + FAR + RESPONSE
    return found


def pfc_tx(switch, port=None):
    """Reads how many pauses of class 3 a switch has sent to where the first sender's frames come from."""
    port = port or (UP if switch else "Ethernet0")
    return lambda net: net.switch_counters(SWITCHES[switch]).ports[port].pfc_tx[3]


def pfc_rx(switch):
    """Reads how many a switch has received from the next one; the first sender, when there is no such switch."""
    if switch < FIRST:
        return lambda net: net.generator_counters(SENDER).pfc_rx[3]
    return lambda net: net.switch_counters(SWITCHES[switch]).ports[DOWN].pfc_rx[3]


def drops(net):
    return [net.switch_counters(name).drops for name in SWITCHES]


def held_bytes(net):
    return [sum(queue.occupancy_bytes for queue in net.switch_counters(name).queues.values()) for name in SWITCHES]


def assert_all_arrived(net, names):
    """Nothing is left on the way, and what was sent is what came."""
    assert held_bytes(net) == [0, 0, 0]
    for name in names:
        flow = net.flow_counters(name)
        assert flow.frames_tx == flow.frames_rx and flow.bytes_tx == flow.bytes_rx


def storm_chain(faults=(), others=(), percent=90):
    return network([data("test", SENDER, percent, 3), storm(Duration(delay_ps=STORM)), *others], faults)


def test_the_instants_in_the_documentation():
    """For the reader: the sums, done once more with the numbers themselves."""
    assert (FRAME, CONTROL, RESPONSE, FITTING) == (83_520, 6_720, 2_017_280, 5230)
    # 1093 = (102 049 000 - 675 560) / 92 800, rounded up; 675 560 = 3 * 83 520 + 25 000 + 2 * 200 000
    assert hops() == [(LAST, 1093, 675_560 + (1093 + 5230) * 92_800),
                      (MIDDLE, 6351, 392_040 + (6351 + 5230) * 92_800),
                      (FIRST, 11_609, 108_520 + (11_609 + 5230) * 92_800)]
    assert [xoff for _, _, xoff in hops()] == [587_449_960, 1_075_108_840, 1_562_767_720]


def test_a_storm_at_the_last_switch_stops_the_first_sender_in_the_computed_time():
    net = storm_chain()
    for switch, _, xoff in hops():
        assert changes(net, pfc_tx(switch), xoff + CONTROL) == (0, 1)
        cable = FAR if switch else NEAR
        assert changes(net, pfc_rx(switch - 1), xoff + CONTROL + cable) == (0, 1)
    stopped = 1_562_767_720 + CONTROL + NEAR
    assert net.now_ps == stopped == 1_562_799_440 and net.flow_counters("test").held_by == {3}
    net.advance_to(stopped + 2 * MS)
    # It sends the frames due before that: 1 562 799 440 / 92 800, rounded up, as the first is due at 0.
    assert net.flow_counters("test").frames_tx == -(-stopped // PERIOD) == 16_841


def test_each_switch_holds_what_came_until_its_pause_worked():
    """What a switch has received is what the one before has passed on, and what came after its XOFF is in the headroom.
    """
    net = storm_chain()
    net.advance_to(3 * MS)
    passed = {switch: frames for switch, frames, _ in hops()} | {-1: 16_841}
    for switch, port, out in ((FIRST, "Ethernet0", DOWN), (MIDDLE, UP, DOWN), (LAST, UP, "Ethernet0")):
        counters = net.switch_counters(SWITCHES[switch])
        assert counters.ports[port].rx_packets == passed[switch - 1]
        assert counters.ports[out].tx_packets == passed[switch]
        held, over = passed[switch - 1] - passed[switch], passed[switch - 1] - passed[switch] - FITTING
        group = counters.priority_groups[port, 3]
        assert group.occupancy_bytes == counters.queues[out, 3].occupancy_bytes == held * CELLS
        assert group.headroom_watermark_bytes == over * CELLS
        assert group.shared_watermark_bytes == FITTING * CELLS - RESERVED == 5_437_952
    assert drops(net) == [{}, {}, {}]


def test_after_the_storm_all_drains_and_nothing_was_lost():
    net = storm_chain()
    net.advance_to(2 * MS)
    net.stop_flows(["test", "storm"])
    lapse = 65535 * 64 * BYTE  # of the storm's last pause
    net.advance_to(2 * MS + lapse + 3 * FITTING * FRAME + MS)
    assert net.flow_counters("test").frames_tx == 16_841
    assert_all_arrived(net, ["test"])
    assert drops(net) == [{}, {}, {}]


def test_a_storm_leaves_other_classes_alone():
    """The paused class has half of the line; a lossless and a lossy one go through the same ports and do not wait."""
    others = [data("lossless", "1.4", 20, 4), data("lossy", "1.8", 20, 46)]
    net = storm_chain(others=others, percent=50)
    net.advance_to(4 * MS)
    assert net.generator_counters(SENDER).pfc_rx[3] > 0
    for name, queue in (("lossless", 4), ("lossy", 5)):
        flow = net.flow_counters(name)
        assert flow.frames_tx == sent_by(4 * MS, 5 * FRAME) and flow.frames_tx - flow.frames_rx <= 2
        assert net.switch_counters(SWITCHES[LAST]).queues["Ethernet0", queue].watermark_bytes <= 2 * CELLS
    for name in SWITCHES:
        assert all(not port.pfc_tx[4] for port in net.switch_counters(name).ports.values())
    net.stop_flows(["test", "storm", "lossless", "lossy"])
    net.advance_to(9 * MS)
    assert_all_arrived(net, ["test", "lossless", "lossy"])
    assert drops(net) == [{}, {}, {}]


def incast_xoff():
    """(instant, port) of the last switch's first XOFF when the second sender sends 60 %: the queue is served in the
    order of arrival, the two groups share the pool.
    """
    arrivals = sorted([(arrives(LAST, n), UP) for n in range(20_000)]
                      + [(FRAME + NEAR + n * SLOW_PERIOD, "Ethernet8") for n in range(15_000)])
    frames, leaving, free_at, next_out = {UP: 0, "Ethernet8": 0}, [], 0, 0
    for time, port in arrivals:
        while next_out < len(leaving) and leaving[next_out][0] <= time:
            frames[leaving[next_out][1]] -= 1
            next_out += 1
        shared = {group: max(0, count * CELLS - RESERVED) for group, count in frames.items()}
        if frames[port] > 1 and shared[port] + CELLS > POOL - sum(shared.values()):
            return time, port
        frames[port] += 1
        free_at = max(time, free_at) + FRAME
        leaving.append((free_at, port))
    raise AssertionError("no XOFF")


def test_incast_at_the_last_switch_stops_the_first_sender_hop_by_hop():
    """90 % from the first switch and 60 % from a port of the last. Its XOFF comes and goes, as its queue is always
    served, so how much the others have passed on when they are full is counted; the rest is arithmetic.
    """
    net = network([data("test", SENDER, 90, 3), data("second", SECOND_SENDER, 60, 3)])
    xoff, port = incast_xoff()
    assert port == UP
    assert changes(net, pfc_tx(LAST), xoff + CONTROL) == (0, 1)
    assert changes(net, pfc_rx(MIDDLE), xoff + CONTROL + FAR) == (0, 1)
    for switch, cable in ((MIDDLE, FAR), (FIRST, NEAR)):
        xoff = _wait_until_full(net, switch)
        assert changes(net, pfc_tx(switch), xoff + CONTROL) == (0, 1)
        assert changes(net, pfc_rx(switch - 1), xoff + CONTROL + cable) == (0, 1)
    assert net.flow_counters("test").held_by == {3}
    net.stop_flows(["test", "second"])
    net.advance_to(net.now_ps + 2 * MS)
    assert_all_arrived(net, ["test", "second"])
    assert drops(net) == [{}, {}, {}]


def _wait_until_full(net, switch):
    """Advance to shortly before the arrival of the frame that finds 5230; until then each can only come later, as
    frames leave.
    """
    for _ in range(100):
        xoff = arrives(switch, net.switch_counters(SWITCHES[switch]).ports[DOWN].tx_packets + FITTING)
        if net.now_ps == xoff - 1:
            return xoff
        net.advance_to(xoff - 1)
    raise AssertionError("not full")


def test_incast_loses_lossy_frames_of_the_same_load_and_nothing_else():
    """Both congested classes have the same senders, the same rates and the same ports."""
    loads = [(SENDER, 45), (SECOND_SENDER, 30)]
    flows = [data(f"{kind} {tx}", tx, percent, dscp) for kind, dscp in (("lossless", 3), ("lossy", 0))
             for tx, percent in loads]
    others = [data("lossless other", "1.4", 5, 4), data("lossy other", "1.8", 5, 46)]
    net = network([*flows, *others])
    net.advance_to(5 * MS)
    assert net.generator_counters(SENDER).pfc_rx[3] > 0
    net.stop_flows([flow.name for flow in [*flows, *others]])
    net.advance_to(8 * MS)
    lost = {flow.name: net.flow_counters(flow.name).frames_tx - net.flow_counters(flow.name).frames_rx
            for flow in [*flows, *others]}
    assert lost.pop(f"lossy {SENDER}") > 1000 and lost.pop(f"lossy {SECOND_SENDER}") > 1000
    assert set(lost.values()) == {0} and len(lost) == 4
    assert drops(net)[:2] == [{}, {}] and {reason for _, reason in drops(net)[LAST]} == {"queue full"}
    assert net.switch_counters(SWITCHES[LAST]).queues["Ethernet0", 1].dropped_packets == sum(drops(net)[LAST].values())
    assert held_bytes(net) == [0, 0, 0]


def broken_in_the_middle(name):
    """The storm when the middle switch has a fault where the first sender's frames come in; at 3 ms."""
    net = storm_chain([BUILT_IN[name](Scope(SWITCHES[MIDDLE], UP))])
    net.advance_to(3 * MS)
    return net


def assert_lost_for_good(net, lost):
    """Once all is drained, at least so many of the lossless frames are missing."""
    net.stop_flows(["test", "storm"])
    net.advance_to(7 * MS)
    flow = net.flow_counters("test")
    assert flow.frames_tx - flow.frames_rx >= lost > 0 and held_bytes(net) == [0, 0, 0]


def test_a_middle_switch_without_headroom_loses_what_comes_until_its_pause_works():
    """The first switch passes on 11 609 frames, the middle one has passed on 6351 and holds 5230: 28 are lost."""
    net = broken_in_the_middle("headroom-missing")
    assert drops(net) == [{}, {(UP, "priority group full"): 28}, {}]
    assert pfc_rx(FIRST - 1)(net) > 0
    assert_lost_for_good(net, 28)


def test_a_middle_switch_that_sends_no_xoff_loses_all_once_its_headroom_is_full():
    net = broken_in_the_middle("xoff-not-sent")
    lost = (3 * MS - arrives(MIDDLE, 0)) // PERIOD + 1 - (6351 + FITTING + HEADROOM_FRAMES)
    assert drops(net) == [{}, {(UP, "priority group full"): lost}, {}]
    assert pfc_rx(FIRST - 1)(net) == 0 and net.flow_counters("test").frames_tx == sent_by(3 * MS, PERIOD)
    assert_lost_for_good(net, lost)
