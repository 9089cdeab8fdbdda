"""A fault that begins and ends while traffic runs."""
from __future__ import annotations

import pytest

from virtual_testbed.faults import parse_fault
from virtual_testbed.tests.dataplane.testbeds import SECOND, SWITCH, data, names, network, storm, switch_config


def timeline(spec=None):
    """What had been counted after 2, 2.5, 3 and 4 s: frames received by flow, PFC received and sent by priority."""
    flows = [storm("storm", 0, {3: 0xFFFF}), data("three", 1, 0, [3], 3), data("one", 1, 0, [0], 1)]
    net, readings = network(switch_config(2), flows, [parse_fault(spec)] if spec else []), []
    net.start_flows(names(flows))
    for now_ps in (2 * SECOND, 5 * SECOND // 2, 3 * SECOND, 4 * SECOND):
        net.advance_to(now_ps)
        ports = net.switch_counters(SWITCH).ports
        readings.append({"three": net.flow_counters("three").frames_rx, "one": net.flow_counters("one").frames_rx,
                         "pfc_rx": ports["Ethernet0"].pfc_rx, "pfc_tx": ports["Ethernet4"].pfc_tx})
    return readings


def gained(early, late, what):
    """The change of a reading; of PFC counters by priority."""
    return late[what] - early[what] if isinstance(late[what], int) else tuple(
        b - a for a, b in zip(early[what], late[what]))


@pytest.mark.parametrize("fault, what", [
    ("pause-ignored@Ethernet0", "three"), ("lossy-queue-paused@Ethernet0", "one"),
    ("lossy-dropped@Ethernet0,one_in=4", "one"), ("zero-source-ignored@Ethernet0", "three"),
    ("pfc-not-counted@Ethernet0", "pfc_rx"), ("pfc-miscounted@Ethernet0", "pfc_rx"),
    ("xoff-not-sent@Ethernet4", "pfc_tx"), ("xoff-wrong-priority@Ethernet4", "pfc_tx"),
    ("refresh-missing@Ethernet4", "pfc_tx"), ("pause-leaks@Ethernet0,period_ms=10", "three")])
def test_a_fault_takes_effect_from_its_beginning_until_its_end(fault, what):
    healthy, parts = timeline(), fault.split(",")
    spec = ",".join([parts[0], "from=2s", "until=3s", *parts[1:]])
    faulty = timeline(spec)
    assert faulty[0] == healthy[0], "nothing before it begins"
    for early, late in ((0, 1), (1, 2)):
        assert gained(faulty[early], faulty[late], what) != gained(healthy[early], healthy[late], what), (early, late)
    assert timeline(spec.replace("from=2s", "from=4s").replace("until=3s", "until=5s")) == healthy


def test_a_fault_that_has_ended_leaves_a_healthy_port():
    """Exactly one second of a line that obeys no pause, or counts none; then all is as it was."""
    healthy = timeline()
    ignored = timeline("pause-ignored@Ethernet0,from=2s,until=3s")
    assert [reading["three"] for reading in healthy] == [0] * 4
    first, half, whole, last = (reading["three"] for reading in ignored)
    assert first == 0 and last - whole <= 1, "the frame that was on the line"
    assert 5_900_000 < whole < 6_100_000 and abs(whole - 2 * half) < 10_000
    uncounted = timeline("pfc-not-counted@Ethernet0,from=2s,until=3s")
    assert gained(uncounted[0], uncounted[2], "pfc_rx") == (0,) * 8
    assert gained(uncounted[2], uncounted[3], "pfc_rx") == gained(healthy[2], healthy[3], "pfc_rx")
