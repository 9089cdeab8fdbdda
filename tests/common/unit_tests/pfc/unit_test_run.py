"""A whole run on the fake switch: a good one passes, each way of being broken is told by its own check or cause."""

import dataclasses

import pytest

from tests.common.pfc.cases import checks
from tests.common.pfc.cases.checks import validity
from tests.common.pfc.cases.engine import settled_counters, unmet
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS, pause_lossless
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.cases.storm_sequence import measure, scenario_traffic
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.lab.preflight import clean_flows
from tests.common.pfc.model.ports import ConnectedPort
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status
from tests.common.unit_tests.pfc.fakes import (
    DEVICE, PUSHED, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port,
)

TESTER_PORTS = [
    ConnectedPort(DEVICE, "Ethernet0", "snappi-1", "127.1.0.1;1;1", 100000),
    ConnectedPort(DEVICE, "Ethernet4", "snappi-1", "127.1.0.1;1;2", 100000),
    ConnectedPort(DEVICE, "Ethernet64", "snappi-2", "127.1.0.2;1;1", 100000),
]


def qualify(world, priority=3):
    """Runs the first case of the plan; returns the outcome and the two verdicts by metric."""
    clean, faulty = FakeWorld(), world
    dut = Dut(FakeHost(faulty))
    plan = plan_port(Dut(FakeHost(clean)), TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(plan, dut, FakeApi(faulty), FakeClock(faulty))
    outcome = Qualifier(lab).qualify(SINGLE_LOSSLESS, (priority,))
    return outcome, {verdict.metric_name: verdict for verdict in outcome.verdicts}


def test_good_switch_passes():
    """Both metrics pass, with checks in both and the numbers as evidence."""
    outcome, verdicts = qualify(FakeWorld())
    assert {metric: verdict.status for metric, verdict in verdicts.items()} == {
        LOSSLESS: Status.PASS,
        LOSSY: Status.PASS,
    }, [verdict.messages for verdict in outcome.verdicts]
    names = {check.name for verdict in outcome.verdicts for check in verdict.checks}
    assert names == {
        "clean-flow",
        "blocked-while-paused",
        "held-within-buffer",
        "pause-counted",
        "no-other-pause-counted",
        "every-pause-counted",
        "pause-not-forwarded",
        "back-pressure",
        "no-other-back-pressure",
        "background-unaffected",
        "held-frames-drained",
        "resumed",
        "resumed-rate",
    }, f"unexpected checks: {sorted(names)}"
    assert outcome.evidence["held_bytes"] == 4000 * 1024, f"held bytes: {outcome.evidence['held_bytes']}"
    received = outcome.evidence["dut_pfc_rx"]
    assert received == [0, 0, 0, 1000, 0, 0, 0, 0], f"PFC received: {received}"


FAILING = [
    (
        dict(leaked={3: 12}),
        LOSSLESS,
        "blocked-while-paused",
        "vtb-t0-01 Ethernet0 priority 3: expected 0 frames received while paused, got 12",
    ),
    (
        dict(ignores_pause=True),
        LOSSLESS,
        "blocked-while-paused",
        "vtb-t0-01 Ethernet0 priority 3: expected 0 frames received while paused, got 29932950",
    ),
    (
        dict(held_frames=20000),
        LOSSLESS,
        "held-within-buffer",
        (
            "vtb-t0-01 Ethernet64 priority 3: expected fewer than the 12766208 bytes of egress_lossless_pool sent while"
            " paused, got 20480000"
        ),
    ),
    (
        dict(counts_pause=False),
        LOSSLESS,
        "pause-counted",
        "vtb-t0-01 Ethernet0 priority 3: expected more than 0 PFC frames in the receive counter, got 0",
    ),
    (
        dict(counted_share=0.98),
        LOSSLESS,
        "every-pause-counted",
        (
            "vtb-t0-01 Ethernet0 priority 3: expected 47680 PFC frames in the receive counter once the storm had"
            " stopped, got 46726"
        ),
    ),
    (
        dict(counted_share=2.0),
        LOSSLESS,
        "every-pause-counted",
        (
            "vtb-t0-01 Ethernet0 priority 3: expected 47680 PFC frames in the receive counter once the storm had"
            " stopped, got 95360"
        ),
    ),
    (
        dict(counts_also=(4,)),
        LOSSLESS,
        "no-other-pause-counted",
        "vtb-t0-01 Ethernet0 priority 4: expected 0 PFC frames in the receive counter, got 1",
    ),
    (
        dict(counts_also=(1,)),
        LOSSY,
        "no-other-pause-counted",
        "vtb-t0-01 Ethernet0 priority 1: expected 0 PFC frames in the receive counter, got 1",
    ),
    (
        dict(forwards_pause=True),
        LOSSLESS,
        "pause-not-forwarded",
        "vtb-t0-01 Ethernet0 priority 3: expected 0 pause frames forwarded to Ethernet64, got 47680",
    ),
    (
        dict(pushed=0),
        LOSSLESS,
        "back-pressure",
        (
            "vtb-t0-01 Ethernet64 priority 3: expected at least 14899 PFC frames sent out of Ethernet64 to hold the"
            " sender, got 0"
        ),
    ),
    (
        dict(pushes_back_also=(0,)),
        LOSSY,
        "no-other-back-pressure",
        "vtb-t0-01 Ethernet64 priority 0: expected 0 PFC frames sent out of Ethernet64, got 1",
    ),
    (
        dict(lost_in_storm={1: 5}),
        LOSSY,
        "background-unaffected",
        (
            "vtb-t0-01 Ethernet0 priority 1: expected all 4988825 frames received while priority 3 was paused, got"
            " 4988820"
        ),
    ),
    (
        dict(lost_in_storm={4: 1}),
        LOSSLESS,
        "background-unaffected",
        (
            "vtb-t0-01 Ethernet0 priority 4: expected all 4988825 frames received while priority 3 was paused, got"
            " 4988824"
        ),
    ),
    (
        dict(lost_held=1),
        LOSSLESS,
        "held-frames-drained",
        "vtb-t0-01 Ethernet64 priority 3: expected all 4000 frames received once the storm had stopped, got 3999",
    ),
    (
        dict(lost={6: 1}),
        LOSSY,
        "clean-flow",
        "vtb-t0-01 Ethernet0 priority 6: expected all 1000 frames received without any storm, got 999",
    ),
    (
        dict(lost={6: 1}),
        LOSSY,
        "resumed",
        "vtb-t0-01 Ethernet0 priority 6: expected all 4988825 frames received in traffic without a storm, got 4988824",
    ),
]


@pytest.mark.parametrize(
    "faults, metric, check_name, message", FAILING, ids=[f"{row[2]}-{row[1]}-{i}" for i, row in enumerate(FAILING)]
)
def test_broken_switch_fails(faults, metric, check_name, message):
    """A broken switch is FAIL in the metric concerned, and the message names device, port, priority, expected and
    seen."""
    _, verdicts = qualify(FakeWorld(**faults))
    verdict = verdicts[metric]
    assert verdict.status is Status.FAIL, f"expected FAIL, got {verdict.status}: {verdict.messages}"
    failed = {
        check.name: check.message
        for check in verdict.checks
        if check.status is Status.FAIL and check.message == message
    }
    assert failed.get(check_name) == message, f"expected {message!r} from {check_name}, got {verdict.messages}"


BROKEN_LABS = [
    (
        dict(watchdog_storms=1),
        (
            "vtb-t0-01 Ethernet0 priority 3: expected a stopped watchdog, got a watchdog that detected a storm "
            "although it was stopped (1 detected)"
        ),
    ),
    (dict(watchdog_rows=("Ethernet0",)), "expected no row PFC_WD|Ethernet0 in CONFIG_DB after `pfcwd stop`, got one"),
    (dict(storm_fps_factor=0.3), "expected a storm of at least 17881 pause frames, got 14304"),
    (dict(storm_fps_factor=0.0), "expected a storm of at least 17881 pause frames, got 0"),
    (dict(idle=(3,)), "preflight: vtb-t0-01 Ethernet0 priority 3: expected 1000 frames sent by the traffic generator"),
    (
        dict(dead_path=True),
        "expected the 7000 frames sent into Ethernet64 to arrive at 127.1.0.1;1;1 without any storm, got 0",
    ),
    (dict(counted_from=-7), "vtb-t0-01 Ethernet0: expected PFC receive counters from 0 on, got -7"),
    (dict(down=("Ethernet64",)), "preflight: vtb-t0-01 Ethernet64: expected the link up, got down"),
    (dict(resolved=False), "not every tester host has resolved its gateway's address"),
    (dict(queue_of={3: 1}), "priority 3: expected 1000 frames with DSCP [3] to leave through queue UC3, got 0"),
    (dict(refuses="flows[0].rate: no"), "the traffic generator's API server: flows[0].rate: no"),
]


@pytest.mark.parametrize("faults, cause", BROKEN_LABS, ids=[row[1][:40] for row in BROKEN_LABS])
def test_what_could_not_be_measured_is_error(faults, cause):
    """Never PASS and never FAIL: both metrics are ERROR with the cause."""
    _, verdicts = qualify(FakeWorld(**faults))
    for verdict in verdicts.values():
        assert verdict.status is Status.ERROR, f"expected ERROR, got {verdict.status}: {verdict.messages}"
        assert cause in verdict.cause, f"expected {cause!r}, got {verdict.cause!r}"


def test_a_link_that_goes_down_after_the_storm_is_error():
    """What is sent then and lost is not the switch's fault."""
    world = FakeWorld()
    start = world.start

    def start_and_cut(name):
        start(name)
        if "Test Flow" in name and not world.storm_on():
            world.down, world.dead_path = ("Ethernet0",), True

    world.start = start_and_cut
    _, verdicts = qualify(world)
    for verdict in verdicts.values():
        assert verdict.status is Status.ERROR, f"expected ERROR, got {verdict.status}: {verdict.messages}"
        assert verdict.cause == "vtb-t0-01 Ethernet0: expected the link up after the traffic, got down", verdict.cause


def test_no_traffic_runs_on_after_a_broken_run():
    """The storm is stopped when the switch stops answering in the middle."""
    world = FakeWorld()
    host = FakeHost(world)
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    qualifier = Qualifier(open_lab(plan, Dut(host), FakeApi(world), FakeClock(world)))
    qualifier.qualify(SINGLE_LOSSLESS, (3,))
    answer = host._answer

    def gone_in_the_storm(command):
        if world.storm_on():
            raise ConnectionError("the switch is gone")
        return answer(command)

    host._answer = gone_in_the_storm
    outcome = qualifier.qualify(SINGLE_LOSSLESS, (4,))
    assert outcome.verdicts[0].status is Status.ERROR, f"expected ERROR, got {outcome.verdicts[0].status}"
    assert "vtb-t0-01: the switch is gone" == outcome.verdicts[0].cause, outcome.verdicts[0].cause
    assert not world.storm_on(), "the storm runs on"


def test_unreachable_priority_is_error():
    """A lossless priority that no DSCP reaches cannot be measured, and the message names the map."""
    world = FakeWorld()
    world.config_db["DSCP_TO_TC_MAP"]["AZURE"]["3"] = "1"
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
    outcome = Qualifier(lab).qualify(SINGLE_LOSSLESS, (3,))
    cause = (
        "vtb-t0-01 Ethernet0 priority 3: no DSCP value reaches it, DSCP_TO_TC_MAP|AZURE leads to [0, 1, 2, 4, 5, 6]"
        " only"
    )
    causes = [verdict.cause for verdict in outcome.verdicts]
    assert causes == [cause, cause], causes


def test_load_short_of_its_due_is_error_unless_the_switch_held_it():
    """A background flow that was not sent in full is the lab's fault, unless the switch pushed back (then it is
    judged)."""
    world = FakeWorld()
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
    measurement = measure(lab, pause_lossless((3,), plan.subject.qos), settled_counters(lab))
    name = "Background Flow Prio 4 vtb-t0-01 Ethernet0"
    short = dataclasses.replace(measurement.phases["paused"][name], frames_tx=1000, frames_rx=1000)
    phases = {**measurement.phases, "paused": {**measurement.phases["paused"], name: short}}
    starved = dataclasses.replace(measurement, phases=phases)
    assert [check.name for check in unmet(validity(starved))] == ["load-applied"], unmet(validity(starved))
    pfc_tx = {**starved.during.pfc_tx, "Ethernet64": (9, 9, 9, 9 + PUSHED, 9 + PUSHED, 9, 9, 9)}
    pushed = dataclasses.replace(
        starved,
        during=dataclasses.replace(starved.during, pfc_tx=pfc_tx),
        after=dataclasses.replace(starved.after, pfc_tx=pfc_tx),
    )
    assert unmet(validity(pushed)) == [], unmet(validity(pushed))
    failed = [check.name for check in checks.judge(pushed) if check.status is Status.FAIL]
    assert failed == ["no-other-back-pressure"], failed


def test_a_class_that_the_switch_pauses_once_the_storm_is_over_is_fail():
    """Whatever was paused is over by then, and the same traffic again congests nothing."""
    world = FakeWorld()
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
    measured = measure(lab, pause_lossless((3,), plan.subject.qos), settled_counters(lab))
    one_more = tuple(frames + (priority == 4) for priority, frames in enumerate(measured.after.pfc_tx["Ethernet64"]))
    after = dataclasses.replace(measured.after, pfc_tx={**measured.after.pfc_tx, "Ethernet64": one_more})
    pushed = dataclasses.replace(measured, after=after)
    assert unmet(validity(pushed)) == [], unmet(validity(pushed))
    failed = [(one.name, one.priority) for one in checks.judge(pushed) if one.status is Status.FAIL]
    assert failed == [("no-other-back-pressure", 4)], failed


def test_without_a_lossy_flow_the_lossy_metric_is_error():
    """Every DSCP value leads to a lossless priority: nothing was sent that pauses must spare."""
    world = FakeWorld()
    lossless = {dscp: "3" for dscp in world.config_db["DSCP_TO_TC_MAP"]["AZURE"]} | {"4": "4"}
    world.config_db["DSCP_TO_TC_MAP"]["AZURE"] = lossless
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
    outcome = Qualifier(lab).qualify(SINGLE_LOSSLESS, (3,))
    verdicts = {verdict.metric_name: verdict for verdict in outcome.verdicts}
    assert verdicts[LOSSLESS].status is Status.PASS, verdicts[LOSSLESS].messages
    assert verdicts[LOSSY].messages == [
        "vtb-t0-01 Ethernet0: expected background traffic on a lossy priority, got none: DSCP_TO_TC_MAP|AZURE leads to"
        " lossless priorities only"
    ], verdicts[LOSSY].messages


def test_counters_cleared_in_the_run_are_error():
    """What they gained is unknown, also where the difference looks like 0."""
    world = FakeWorld()
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
    good = measure(lab, pause_lossless((3,), plan.subject.qos), settled_counters(lab))
    cleared = {**good.during.pfc_rx, "Ethernet0": (0, 0, 0, 1000, 0, 0, 0, 0)}
    run = dataclasses.replace(good, during=dataclasses.replace(good.during, pfc_rx=cleared))
    assert [check.message for check in unmet(validity(run))] == [
        "vtb-t0-01 Ethernet0: expected PFC receive counters that only grow in the run, got one that fell by 7"
    ], unmet(validity(run))


def test_a_port_that_loses_its_counters_is_error():
    """Whatever a reading lacks, the outcome is one sentence."""
    world = FakeWorld()
    host = FakeHost(world)
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    qualifier = Qualifier(open_lab(plan, Dut(host), FakeApi(world), FakeClock(world)))
    answer = host._answer

    def without_the_port(command):
        lines = answer(command).splitlines()
        lost = command == "show pfc counters" and world.storm_on()
        return "\n".join(line for line in lines if not (lost and line.split()[:1] == ["Ethernet0"]))

    host._answer = without_the_port
    outcome = qualifier.qualify(SINGLE_LOSSLESS, (3,))
    assert outcome.verdicts[0].status is Status.ERROR, outcome.verdicts[0]
    cause = outcome.verdicts[0].cause
    assert cause == "`show pfc counters` printed no row for Ethernet0, or N/A in it", cause


def test_flows_are_named_after_their_port():
    """What a run on another port left at the traffic generator is not read as this port's."""
    names = set()
    for port in ("Ethernet0", "Ethernet4"):
        world = FakeWorld()
        plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, port, None)
        lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
        flows = {flow.name for flow in clean_flows(lab)}
        flows |= {*scenario_traffic(lab, pause_lossless((3,), plan.subject.qos)).flows}
        assert not names & flows, names & flows
        names |= flows


def readings(host, qualifier, priority):
    """How often the counters were read for one scenario."""
    before = len(host.calls)
    qualifier.qualify(SINGLE_LOSSLESS, (priority,))
    return sum("show pfc counters" in call for call in host.calls[before:])


def test_a_reading_serves_as_the_next_scenarios_first():
    """Two in the preflight and two for each scenario; one that broke off leaves none that could be used."""
    world = FakeWorld()
    host = FakeHost(world)
    plan = plan_port(Dut(host), TESTER_PORTS, "Ethernet0", None)
    qualifier = Qualifier(open_lab(plan, Dut(host), FakeApi(world), FakeClock(world)))
    seen = [readings(host, qualifier, priority) for priority in (3, 4)]
    world.refuses = "no"
    seen.append(readings(host, qualifier, 3))
    world.refuses = None
    seen += [readings(host, qualifier, priority) for priority in (3, 4)]
    assert seen == [4, 2, 0, 3, 2], seen
    assert qualifier.qualify(SINGLE_LOSSLESS, (3,)).verdicts[0].status is Status.PASS, "a later run is not affected"


def lab_of(world):
    """What one of several modules measures the port with."""
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    return open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))


def test_what_others_sent_between_two_modules_is_not_counted():
    """In a sonic-mgmt tree other suites may use the port."""
    world = FakeWorld()
    qualifier = Qualifier(lab_of(world))
    assert qualifier.qualify(SINGLE_LOSSLESS, (3,)).verdicts[0].status is Status.PASS, "the first module"
    world.pfc_rx = [frames + 500 for frames in world.pfc_rx]
    qualifier.go_on_with(lab_of(world))
    for verdict in qualifier.qualify(SINGLE_LOSSLESS, (4,)).verdicts:
        assert verdict.status is Status.PASS, verdict.messages


def test_what_the_preflight_refuses_is_asked_again_by_the_next_module():
    """One slow address is not the verdict of a whole session; within a module it is asked once."""
    world = FakeWorld(resolved=False)
    qualifier = Qualifier(lab_of(world))
    found = [qualifier.qualify(SINGLE_LOSSLESS, (3,)).verdicts[0].cause]
    world.resolved = True
    found.append(qualifier.qualify(SINGLE_LOSSLESS, (3,)).verdicts[0].cause)
    assert all("not every tester host has resolved" in str(cause) for cause in found), found
    qualifier.go_on_with(lab_of(world))
    for verdict in qualifier.qualify(SINGLE_LOSSLESS, (3,)).verdicts:
        assert verdict.status is Status.PASS, verdict.messages


def test_what_a_preflight_found_holds_for_the_next_module():
    """A switch that loses frames without any storm does not become a good one by a new module."""
    world = FakeWorld(lost={3: 1})
    qualifier = Qualifier(lab_of(world))
    first = qualifier.qualify(SINGLE_LOSSLESS, (3,)).verdicts[0]
    world.lost = {}
    qualifier.go_on_with(lab_of(world))
    later = qualifier.qualify(SINGLE_LOSSLESS, (3,)).verdicts[0]
    for verdict in (first, later):
        assert "clean-flow" in [check.name for check in verdict.checks if check.status is Status.FAIL], verdict.messages


def test_the_first_reading_has_no_pauses_of_the_scenario_before():
    """Each storm's frames are counted from where the one before ended, all of them polled."""
    for seconds in (0.5, 1.0, 7.0, 30.0):
        world = FakeWorld(port_poll_s=seconds)
        world.config_db["FLEX_COUNTER_TABLE"] = {"PORT": {"POLL_INTERVAL": str(round(seconds * 1000))}}
        plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
        qualifier = Qualifier(open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world)))
        for priority in (3, 4, 3):
            outcome = qualifier.qualify(SINGLE_LOSSLESS, (priority,))
            assert outcome.verdicts[0].status is Status.PASS, (seconds, outcome.verdicts[0].messages)


def test_a_storm_that_does_not_stop_is_error():
    """What a pause still holds then is no fault of the switch."""
    world = FakeWorld()
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
    good = measure(lab, pause_lossless((3,), lab.subject.qos), settled_counters(lab))
    running = dataclasses.replace(good.storms[0][1], transmitting=True)
    drained = {**good.phases["drained"], good.storms[0][1].plan.name: running}
    run = dataclasses.replace(good, phases={**good.phases, "drained": drained})
    assert [check.message for check in unmet(validity(run))] == [
        "vtb-t0-01 Ethernet0 priority 3: expected the storm stopped before held frames were counted, got running"
    ], unmet(validity(run))
