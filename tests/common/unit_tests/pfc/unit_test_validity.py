"""Whether a run was a measurement: a watchdog that acted, links, counters, storms and loads, told as ERROR by name."""

import dataclasses

import pytest

from tests.common.pfc.cases.validity import (
    counters_kept, links_kept, load_applied, lossy_in_background, storm_running, storm_stopped, undisturbed,
    watchdog_stopped,
)
from tests.common.pfc.model.checking import at_port
from tests.common.pfc.model.counters import WatchdogRow
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import PortState
from tests.common.pfc.model.traffic import FlowStats, Role
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status
from tests.common.unit_tests.pfc.unit_test_measurement import STORM, SUBJECT, TEST, counters, gained, run

UP = dict.fromkeys(("Ethernet1", "Ethernet64"), PortState(True, True, 100000))
DOWN = {**UP, "Ethernet64": PortState(False, True, 100000)}
MOMENTS = ("before", "during", "after")
SENT = 29932950


def reading(received=0, sent=0, **rest):
    """A reading with links up and so many PFC frames of priority 3."""
    interfaces = rest.pop("interfaces", UP)
    ports = rest.pop("watchdog_ports", ())
    found = counters(gained(3, received), gained(3, sent), **rest)
    return dataclasses.replace(found, interfaces=interfaces, watchdog_ports=ports)


def measured(**readings):
    """A run whose readings are without fault where they are not given."""
    return run(**{moment: readings.get(moment) or reading() for moment in MOMENTS})


def unmet(checks):
    """What is not PASS: all of it has to be ERROR."""
    found = [check for check in checks if check.status is not Status.PASS]
    assert {check.status for check in found} <= {Status.ERROR}, found
    return [check.message for check in found]


def test_a_run_that_nothing_disturbed_is_a_measurement():
    """Each thing that was looked at has its check."""
    found = list(undisturbed(measured(before=reading(1, 1), during=reading(5, 5), after=reading(5, 9))))
    assert unmet(found) == [], found
    names = [check.name for check in found]
    assert {name: names.count(name) for name in names} == {"watchdog-stopped": 2, "link-up": 6, "counters-kept": 4}, (
        names
    )


@pytest.mark.parametrize(("before", "during", "said"), [
    ({}, {"Ethernet1:3": WatchdogRow("operational", 2, 2)}, ["Ethernet1 priority 3: ...(2 detected)"]),
    ({}, {"Ethernet64:0": WatchdogRow("stormed", 1, 0)}, ["Ethernet64 priority 0: ...(1 detected)"]),
    ({"Ethernet1:3": WatchdogRow("stormed", 1, 0)}, {"Ethernet1:3": WatchdogRow("stormed", 1, 0)},
     ["Ethernet1 priority 3: ...(the queue still in storm)"]),
    ({"Ethernet1:3": WatchdogRow("operational", 1, 1)}, {"Ethernet1:3": WatchdogRow("operational", 1, 1)}, []),
    ({}, {"Ethernet10:3": WatchdogRow("stormed", 1, 0)}, []),
    ({}, {"Ethernet64:4": WatchdogRow("stormed", 1, 0), "Ethernet1:3": WatchdogRow("stormed", 3, 2)},
     ["Ethernet1 priority 3: ...(3 detected)", "Ethernet64 priority 4: ...(1 detected)"]),
])
def test_a_watchdog_that_acted_spoils_a_run(before, during, said):
    """It drops what the pause should hold. Storms before the run, and those of other ports, do not."""
    found = unmet(watchdog_stopped(measured(before=reading(watchdog=before), during=reading(watchdog=during))))
    acted = "expected a stopped watchdog, got a watchdog that detected a storm although it was stopped "
    assert found == [f"vtb-t0-01 {one.replace('...', acted)}" for one in said], found


@pytest.mark.parametrize("moment", ["before", "during"])
def test_a_watchdog_that_is_configured_again_spoils_a_run(moment):
    """On the run's own ports; the row of another one does no harm."""
    found = unmet(watchdog_stopped(measured(**{moment: reading(watchdog_ports=("Ethernet10", "Ethernet64"))})))
    assert found == [
        "vtb-t0-01 Ethernet64: expected no row PFC_WD|Ethernet64 in CONFIG_DB after `pfcwd stop`, got one"
    ], found


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("interfaces", [DOWN, {"Ethernet1": UP["Ethernet1"]}])
def test_a_link_that_was_down_spoils_a_run(moment, interfaces):
    """At whatever moment; a port that is not shown is down."""
    found = unmet(links_kept(measured(**{moment: reading(interfaces=interfaces)})))
    assert found == [f"vtb-t0-01 Ethernet64: expected the link up {moment} the traffic, got down"], found


@pytest.mark.parametrize(("counts", "said"), [
    (((0, 0), (0, 0), (0, 0)), []),
    (((7, 0), (6, 0), (9, 0)), ["Ethernet1: expected PFC receive counters that only grow in the run, got one that fell"
                                " by 1"]),
    (((0, 5), (0, 9), (0, 0)), ["Ethernet64: expected PFC send counters that only grow in the run, got one that fell by"
                                " 9"]),
    (((2**32 - 1, 0), (3, 0), (4, 0)), ["Ethernet1: expected PFC receive counters that only grow in the run, got one"
                                        " that wrapped at 2^32: it fell by 4294967292"]),
    (((-2, 0), (-1, 0), (0, 0)), ["Ethernet1: expected PFC receive counters from 0 on, got -2"]),
])
def test_a_counter_that_fell_spoils_a_run(counts, said):
    """What it gained is unknown, wherever in the run that was, and even where it ended higher. Received pauses are of
    the port under test, sent ones of the tx port."""
    found = unmet(counters_kept(measured(**{name: reading(*one) for name, one in zip(MOMENTS, counts, strict=True)})))
    assert found == [f"vtb-t0-01 {one}" for one in said], found


def test_a_port_whose_counters_go_away_in_the_run_is_named():
    """It is no counter that stood still."""
    with pytest.raises(QualificationError, match="printed no row for Ethernet1, or N/A in it"):
        list(counters_kept(measured(after=reading(ports=("Ethernet64",)))))


@pytest.mark.parametrize(("transmitting", "gap", "seen"), [
    (True, "", None), (False, "", "stopped"), (True, "a gap of 2 s", "a gap of 2 s"),
    (False, "a gap of 2 s", "a gap of 2 s"),
])
def test_a_storm_runs_while_frames_are_counted(transmitting, gap, seen):
    """And without a gap until it is stopped, which is known only then."""
    counted, stopped = FlowStats(STORM, transmitting, 9, 0), FlowStats(STORM, False, 9, 0, gap=gap)
    found = storm_running(at_port(SUBJECT), counted, stopped)
    expected = [f"vtb-t0-01 Ethernet1: expected the storm running when frames were counted, got {seen}"] if seen else []
    assert unmet([found]) == expected, found


def test_a_storm_that_goes_on_spoils_what_comes_after_it():
    """Each of its flows has to be over."""
    flows = [FlowStats(STORM, transmitting, 9, 0) for transmitting in (False, True)]
    found = unmet(storm_stopped(at_port(SUBJECT), flows))
    assert found == ["vtb-t0-01 Ethernet1: expected the storm stopped in the end, got running"], found


@pytest.mark.parametrize(("frames", "pauses", "held", "met"), [
    (SENT, 0, (), True), (1000, 0, (), False), (1000, 0, (Role.TEST,), True), (0, 0, (Role.TEST,), False),
    (1000, 0, (Role.BACKGROUND,), False), (1000, 20000, (), True),
])
def test_a_load_is_applied_unless_it_may_be_held(frames, pauses, held, met):
    """By its role, or because the switch paused the sender, which is judged elsewhere; a storm is no load."""
    flows = [FlowStats(STORM, True, 0, 0), FlowStats(TEST, False, frames, 0)]
    found = list(load_applied(SUBJECT, flows, lambda port: gained(3, pauses), "in the storm", held))
    assert [(check.name, check.status is Status.PASS) for check in found] == [("load-applied", met)], found


@pytest.mark.parametrize(("priorities", "met"), [((0,), True), ((3, 4, 1), True), ((3, 4), False), ((), False)])
def test_without_lossy_traffic_nothing_says_that_it_is_spared(priorities, met):
    """Only the lossy metric is without a measurement then."""
    flows = [FlowStats(dataclasses.replace(TEST, priority=priority), False, 1, 1) for priority in priorities]
    [found] = lossy_in_background(SUBJECT, flows, "none: all are lossless")
    assert (found.metric_name, found.status) == (LOSSY, Status.PASS if met else Status.ERROR), found
    assert met or found.seen == "none: all are lossless", found


def test_what_is_wrong_with_a_port_concerns_its_lossless_metric():
    found = {check.metric_name for check in links_kept(measured(during=reading(interfaces=DOWN)))}
    assert found == {LOSSLESS}, found
