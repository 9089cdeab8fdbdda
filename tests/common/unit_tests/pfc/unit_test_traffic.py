"""What a flow owes, what pause frames say, and the numbers of a flow in a record."""

from fractions import Fraction

import pytest

from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role, global_pause_frame, pfc_frame

IMIX = ((64, 7), (570, 4), (1518, 1))


def data(role=Role.TEST, size=1024, **rest):
    """A data flow of priority 3."""
    return FlowPlan("Test Flow", role, 3, size, **rest)


@pytest.mark.parametrize(("priorities", "quanta", "times", "enabled"), [
    ((3,), 65535, (0, 0, 0, 65535, 0, 0, 0, 0), (3,)),
    (iter((4, 3)), 7, (0, 0, 0, 7, 7, 0, 0, 0), (3, 4)),
    ((0, 7), 1, (1, 0, 0, 0, 0, 0, 0, 1), (0, 7)),
    ((3,), 0, (0,) * 8, (3,)),
    ((), 65535, (0,) * 8, ()),
])
def test_a_pfc_frame(priorities, quanta, times, enabled):
    """A time for what it enables, 0 for the rest; also one that ends a pause, and one that enables nothing."""
    frame = pfc_frame(priorities, quanta)
    assert (frame.quanta, frame.enabled, frame.is_global) == (times, enabled, False), frame


def test_an_802_3x_pause_frame_has_one_time_and_no_priorities():
    frame = global_pause_frame(9)
    assert (frame.quanta, frame.enabled, frame.is_global) == ((9,), (), True), frame
    assert frame.destination == pfc_frame((3,), 9).destination == "01:80:C2:00:00:01", "both go to the same address"


@pytest.mark.parametrize(("speed_mbps", "plan", "due"), [
    (100000, data(percent=50.0, seconds=5), 29932950),
    (10000, data(percent=50.0, seconds=5), 2993295),
    (100000, data(percent=100.0, seconds=0.001), 11973),
    (100000, data(size=64, percent=100.0, seconds=1), 148809523),
    (100000, data(fps=1000, seconds=2.5), 2500),
    (100000, data(fps=3, seconds=0.5), 1),
    (100000, data(percent=50.0, frames=1000), 1000),
    (100000, data(percent=50.0, frames=1000, seconds=5), 1000),
    (100000, data(percent=50.0, frames=0, seconds=5), 0),
    (100000, data(percent=50.0), 0),
    (100000, data(percent=0.0, seconds=5), 0),
    (100000, data(seconds=5), 0),
])
def test_what_a_flow_owes(speed_mbps, plan, due):
    """Whole frames, of which the last one is complete; a number of frames goes before a time; what goes on until it is
    stopped owes none."""
    assert plan.due(speed_mbps) == due, plan.due(speed_mbps)


def test_a_mix_of_sizes_has_the_rate_and_the_bytes_of_their_mean():
    """Preamble and gap are of each frame, as those of one size."""
    mixed = data(size=9000, percent=100.0, mix=IMIX)
    mean = Fraction(7 * 64 + 4 * 570 + 1518, 12)
    assert mixed.mean_bytes == mean, "the size beside the mix does not count"
    assert mixed.rate(100000) == Fraction(10**11) / (8 * (mean + 20)), float(mixed.rate(100000))
    sent = [FlowStats(mixed, False, frames, 0).bytes_tx for frames in (0, 1, 12)]
    assert sent == [0, 354, 4246], sent
    assert FlowStats(data(), False, 4000, 0).bytes_tx == 4000 * 1024, "of one size exactly"


@pytest.mark.parametrize(("sent", "received", "numbers"), [
    (1000, 1000, {"rx_fps": 200.0, "loss_percent": 0.0}),
    (1000, 750, {"rx_fps": 150.0, "loss_percent": 25.0}),
    (1000, 0, {"rx_fps": 0.0, "loss_percent": 100.0}),
    (0, 0, {"rx_fps": 0.0, "loss_percent": None}),
    (1000, 1500, {"rx_fps": 300.0, "loss_percent": -50.0}),
])
def test_the_numbers_of_data(sent, received, numbers):
    """Of a flow that sent nothing no loss is known; one that is received twice has a negative one."""
    found = FlowStats(data(percent=1.0, seconds=5), False, sent, received).numbers()
    assert found == {"frames_tx": sent, "frames_rx": received, **numbers}, found


@pytest.mark.parametrize(("plan", "parts", "more"), [
    (data(percent=1.0, frames=10), (), {"loss_percent": 50.0}),
    (data(Role.STORM, seconds=5), (), {}),
    (data(Role.STORM), (10,), {}),
    (data(Role.STORM), (6, 4), {"frames_tx_of_each": [6, 4]}),
])
def test_numbers_that_mean_nothing_are_left_out(plan, parts, more):
    """A rate without a time, a loss of pauses that nobody is meant to receive, the parts of a storm that has one."""
    found = FlowStats(plan, False, 10, 5, parts).numbers()
    assert found == {"frames_tx": 10, "frames_rx": 5, **more}, found
