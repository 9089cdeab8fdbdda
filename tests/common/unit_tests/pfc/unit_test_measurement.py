"""What a run's numbers say: gained counts by port and moment, storms of the watchdog, and the record's evidence."""

import dataclasses
import json

import pytest

from tests.common.pfc.model.counters import DutCounters, WatchdogRow
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.measurement import CaseRun, Measurement, PortUnderTest, flow_numbers
from tests.common.pfc.model.ports import ConnectedPort, PortPair
from tests.common.pfc.model.qos import PortQos, SharedBuffer
from tests.common.pfc.model.scenario import Scenario, Storm
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role, pfc_frame

DEVICE = "vtb-t0-01"
RX = ConnectedPort(DEVICE, "Ethernet1", "snappi-1", "127.1.0.1;1;1", 100000)
TX = ConnectedPort(DEVICE, "Ethernet64", "snappi-2", "127.1.0.2;1;1", 100000)
OTHER = ConnectedPort("vtb-t1-01", "Ethernet8", "snappi-3", "127.1.0.3;1;1", 100000)
DSCPS = {0: (8,), 1: (9,), 2: (5,), 3: (3,), 4: (4,)}
SUBJECT = PortUnderTest(
    PortPair(RX, TX), PortQos(DEVICE, "Ethernet1", (3, 4), DSCPS, "AZURE"), SharedBuffer("egress_lossless_pool", 5000)
)
NONE = (0,) * 8
STORM = FlowPlan("Pause Storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3,), 65535))
TEST = FlowPlan("Test Flow Prio 3", Role.TEST, 3, 1024, percent=50.0, seconds=5)


def counters(received=NONE, sent=NONE, watchdog=None, ports=("Ethernet1", "Ethernet64", "Ethernet8")):
    """A reading in which each port has the same counts."""
    return DutCounters(dict.fromkeys(ports, received), dict.fromkeys(ports, sent), {}, watchdog or {}, (), {})


def gained(priority, frames):
    """Counts of eight priorities."""
    return tuple(frames if one == priority else 0 for one in range(8))


def run(before=None, during=None, after=None, subject=SUBJECT, **phases):
    """A run; readings that are not given have counted nothing."""
    readings = [reading or counters() for reading in (before, during, after)]
    return CaseRun(subject, *readings, (3,), phases)


def measured(storm=Storm.LOSSLESS, **rest):
    """A measurement of priority 3 in which 4 frames were held, and then drained."""
    paused = {STORM.name: FlowStats(STORM, True, 900, 0), TEST.name: FlowStats(TEST, False, 4, 0)}
    drained = {STORM.name: FlowStats(STORM, False, 1000, 0), TEST.name: FlowStats(TEST, False, 4, 4)}
    of = run(paused=paused, drained=drained)
    settings = {field.name: getattr(of, field.name) for field in dataclasses.fields(of)}
    return Measurement(**{**settings, "scenario": Scenario(storm, (3,), (0,)), "pauses": None, **rest})


@pytest.mark.parametrize(("asic", "paused", "uncounted"), [
    ("broadcom", (0, 1, 2, 3), []),
    ("cisco-8000", (0,), []),
    ("cisco-8000", (0, 3, 4), []),
    ("cisco-8000", (0, 1, 3), [0, 1]),
    ("cisco-8000 x86_64-8122_64eh_o-r0", (0, 3), [0]),
    ("cisco-8000 x86_64-8122_64eh_o-r0", (3, 4), []),
])
def test_priorities_whose_pauses_a_platform_does_not_count(asic, paused, uncounted):
    """Lossy ones alone, and only where a frame pauses more of them than the platform counts."""
    found = dataclasses.replace(SUBJECT, asic=asic).uncounted(iter(paused))
    assert found == uncounted, f"{asic}, {paused}: {found}"


@pytest.mark.parametrize(("priority", "port", "said"), [
    (None, None, "vtb-t0-01 Ethernet1"),
    (0, None, "vtb-t0-01 Ethernet1 priority 0"),
    (3, "Ethernet64", "vtb-t0-01 Ethernet64 priority 3"),
    (None, "Ethernet8", "vtb-t1-01 Ethernet8"),
    (None, "Ethernet128", "vtb-t0-01 Ethernet128"),
])
def test_where_something_is(priority, port, said):
    """A further port is named with its own switch; priority 0 is one too."""
    subject = dataclasses.replace(SUBJECT, further=(OTHER,))
    assert subject.where(priority, port) == said, subject.where(priority, port)


def test_what_was_counted_in_the_traffic_and_in_all():
    """Pauses that the port under test received, and those that left by the tx port or by the one that is asked for."""
    of = run(counters(gained(3, 7), gained(3, 9)), counters(gained(3, 10), gained(3, 30)),
             counters(gained(3, 19), gained(3, 31)))
    assert (of.pfc_received()[3], of.pfc_received_in_all()[3]) == (3, 12), of.pfc_received_in_all()
    assert (of.pfc_sent()[3], of.pfc_sent_in_all("Ethernet8")[3]) == (21, 22), of.pfc_sent_in_all()
    assert of.pfc_received()[4] == 0, "of another priority"


@pytest.mark.parametrize("lost", ["before", "during"])
def test_a_port_that_a_reading_lacks_is_named(lost):
    """As one whose counters are N/A: it never counts as 0."""
    of = run(**{lost: counters(ports=("Ethernet64",))})
    with pytest.raises(QualificationError, match="printed no row for Ethernet1, or N/A in it$"):
        of.pfc_received()
    assert of.pfc_sent() == NONE, "the other port is there"


@pytest.mark.parametrize(("before", "during", "detected", "stormed"), [
    ({}, {}, {}, []),
    ({}, {"Ethernet1:3": WatchdogRow("stormed", 1, 0)}, {"Ethernet1:3": 1}, ["Ethernet1:3"]),
    ({"Ethernet1:3": WatchdogRow("operational", 2, 2)}, {"Ethernet1:3": WatchdogRow("operational", 5, 5)},
     {"Ethernet1:3": 3}, []),
    ({"Ethernet64:4": WatchdogRow("stormed", 2, 1)}, {"Ethernet64:4": WatchdogRow("stormed", 2, 1)}, {},
     ["Ethernet64:4"]),
    ({"Ethernet1:3": WatchdogRow("operational", 2, 2)}, {"Ethernet1:3": WatchdogRow("operational", 0, 0)}, {}, []),
    ({}, {"Ethernet10:3": WatchdogRow("stormed", 1, 0), "Ethernet8:3": WatchdogRow("stormed", 1, 0)}, {}, []),
])
def test_storms_of_the_watchdog_on_the_ports_of_the_run(before, during, detected, stormed):
    """Those detected since the run began; a queue that is still held is told even if that is older; Ethernet10 and
    other ports are none of this run."""
    of = run(counters(watchdog=before), counters(watchdog=during))
    assert (of.storms_detected(), of.stormed()) == (detected, stormed), (of.storms_detected(), of.stormed())


def test_ports_beside_the_pair_are_looked_at_too():
    """Where data enters by more of them, or where nothing may be disturbed."""
    watchdog = {"Ethernet8:3": WatchdogRow("stormed", 1, 0)}
    for more in ({"further": (OTHER,)}, {"bystanders": (OTHER,)}):
        of = run(during=counters(watchdog=watchdog), subject=dataclasses.replace(SUBJECT, **more))
        assert of.stormed() == ["Ethernet8:3"], f"with {more}: {of.stormed()}"


def test_pauses_after_the_storm_are_counted_from_when_held_frames_had_left():
    """From the reading in the traffic where no time has passed since."""
    of = measured(during=counters(sent=gained(3, 5)), after=counters(sent=gained(3, 9)))
    assert of.pfc_sent_again()[3] == 4, of.pfc_sent_again()
    drained = dataclasses.replace(of, drained=counters(sent=gained(3, 8)))
    assert drained.pfc_sent_again()[3] == 1, drained.pfc_sent_again()


def test_pauses_sent_are_those_of_the_flows_that_enable_a_priority():
    """To their end; a storm may have a flow for each priority."""
    four = dataclasses.replace(STORM, name="Pause Storm 4", pause=pfc_frame((4,), 65535))
    both = dataclasses.replace(STORM, name="Pause Storm 3, 4", pause=pfc_frame((3, 4), 65535))
    sent = {STORM: (900, 1000), four: (90, 100), both: (9, 10)}
    phases = {phase: {one.name: FlowStats(one, False, counts[number], 0) for one, counts in sent.items()}
              for number, phase in enumerate(("paused", "drained"))}
    of = measured(phases=phases)
    found = {priority: of.pauses_sent(priority) for priority in (0, 3, 4)}
    assert found == {0: 0, 3: 1010, 4: 110}, found


def test_flows_are_found_by_their_role_at_a_moment():
    """All of them without a role; none at a moment that did not come."""
    of = measured()
    names = [[flow.plan.name for flow in found] for found in (
        of.flows("paused"), of.flows("paused", Role.TEST), of.flows("paused", Role.CLEAN, Role.STORM),
        of.flows("resumed"),
    )]
    assert names == [[STORM.name, TEST.name], [TEST.name], [STORM.name], []], names


def test_the_evidence_of_a_run_is_kept_as_json_has_it():
    """With what was held and where it may be only if the storm had to hold something."""
    held = measured(held_elsewhere=77).evidence()
    assert json.loads(json.dumps(held)) == held, "JSON keeps it as it is"
    shown = {name: held[name] for name in ("held_bytes", "held_bytes_on_other_ports", "shared_buffer_bytes")}
    assert shown == {"held_bytes": 4096, "held_bytes_on_other_ports": 77, "shared_buffer_bytes": 5000}, shown
    assert (held["storm"], held["storm_priorities"], held["storm_fps"]) == ("lossless", [3], 5960), held
    lossy = measured(Storm.LOSSY).evidence()
    assert not [name for name in lossy if "held" in name or "buffer" in name], lossy


def test_phases_in_which_nothing_was_looked_at_are_left_out_of_the_evidence():
    found = flow_numbers({"paused": {TEST.name: FlowStats(TEST, False, 4, 0)}, "resumed": {}})
    assert list(found) == ["paused"] and found["paused"][TEST.name]["frames_tx"] == 4, found
