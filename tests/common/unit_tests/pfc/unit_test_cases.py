"""The plan's cases 2 to 4 on the fake switch: a good one passes, a broken one is told by what is wrong with it."""

import dataclasses

import pytest

from tests.common.pfc.cases import pauses
from tests.common.pfc.cases.checks import judge
from tests.common.pfc.cases.pauses import GLOBAL_PAUSE, LOSSY as PAUSE_LOSSY, SEVERAL_LOSSLESS
from tests.common.pfc.cases.plan import procedures
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

CASES = {
    "PFC-2": (SEVERAL_LOSSLESS, (3, 4)),
    "PFC-3": (PAUSE_LOSSY, (0, 1, 2, 5, 6)),
    "PFC-4": (GLOBAL_PAUSE, ()),
}


@pytest.mark.parametrize("plan_id", CASES)
def test_good_switch_passes_every_case(plan_id):
    """A verdict for each priority of the target and each metric; for the whole port one without a priority."""
    case, target = CASES[plan_id]
    outcome = carry_out(FakeWorld(), case, target)
    assert [(one.priority, one.metric_name, one.status) for one in outcome.verdicts] == [
        (priority, metric, Status.PASS) for priority in target or (None,) for metric in (LOSSLESS, LOSSY)
    ], [one.messages for one in outcome.verdicts]


OTHER_FAILING = [
    ("PFC-2", dict(leaked={4: 12}), "Ethernet0 priority 4: expected 0 frames received while paused, got 12"),
    (
        "PFC-2",
        dict(held_frames=7000),
        "Ethernet64 priorities 3, 4: expected fewer than the 12766208 bytes of egress_lossless_pool sent while paused,"
        " got 14336000",
    ),
    (
        "PFC-2",
        dict(pushed=10_000),
        "Ethernet64 priority 4: expected at least 14897 PFC frames sent out of Ethernet64 to hold the sender, got "
        "10000",
    ),
    ("PFC-2", dict(slow_to_resume=(4,)), "Ethernet0 priority 4: expected at least 14966474 frames taken by the switch"),
    (
        "PFC-2",
        dict(lost_in_storm={1: 1}),
        "Ethernet0 priority 1: expected all 5986590 frames received while priorities 3, 4 were paused, got 5986589",
    ),
    (
        "PFC-3",
        dict(shut_by_lossy_pause=(2,)),
        "Ethernet0 priority 2: expected all 5986590 frames received in a pause storm on priorities 0, 1, 2, 5, 6, got",
    ),
    (
        "PFC-3",
        dict(lost_in_storm={3: 1}),
        "Ethernet0 priority 3: expected all 14966475 frames received in a pause storm on priorities 0, 1, 2, 5, 6, got"
        " 14966474",
    ),
    (
        "PFC-3",
        dict(counts_pause=False),
        "Ethernet0 priority 0: expected more than 0 PFC frames in the receive counter, got 0",
    ),
    ("PFC-3", dict(counts_also=(3,)), "Ethernet0 priority 3: expected 0 PFC frames in the receive counter, got 1"),
    ("PFC-3", dict(pushes_back_also=(1,)),
     "Ethernet64 priority 1: expected 0 PFC frames sent out of Ethernet64, got 1"),
    (
        "PFC-3",
        dict(forwards_pause=True),
        "Ethernet0 priorities 0, 1, 2, 5, 6: expected 0 pause frames forwarded to Ethernet64, got 47680",
    ),
    (
        "PFC-4",
        dict(global_pause_classes=(3,)),
        "Ethernet0 priority 3: expected 0 PFC frames in the receive counter, got 47680",
    ),
    (
        "PFC-4",
        dict(global_pause_classes=(3,)),
        "Ethernet0 priority 3: expected all 4000 frames received in a storm of 802.3x pause frames, got 0",
    ),
    (
        "PFC-4",
        dict(lost_in_storm={1: 1000000}),
        "Ethernet0 priority 1: expected at least 54253471 frames received in a storm of 802.3x pause frames, got",
    ),
    ("PFC-4", dict(forwards_pause=True), "Ethernet0: expected 0 pause frames forwarded to Ethernet64, got 47680"),
    ("PFC-4", dict(pushes_back_also=(4,)),
     "Ethernet64 priority 4: expected 0 PFC frames sent out of Ethernet64, got 1"),
]


@pytest.mark.parametrize("plan_id, faults, message", OTHER_FAILING)
def test_broken_switch_fails_the_other_cases(plan_id, faults, message):
    """The message names what was under test and when."""
    outcome = carry_out(FakeWorld(**faults), *CASES[plan_id])
    failed = [text for one in outcome.verdicts if one.status is Status.FAIL for text in one.messages]
    assert any(text.startswith(f"{DEVICE} {message}") for text in failed), [one.messages for one in outcome.verdicts]


def test_the_sender_must_fill_the_line():
    """A generator that sends less proves nothing about throughput."""
    outcome = carry_out(FakeWorld(slow_to_send=(1,)), GLOBAL_PAUSE, ())
    expected = "vtb-t0-01 Ethernet0 priority 1: expected at least 54253471 frames sent in the storm, got "
    for verdict in outcome.verdicts:
        assert verdict.status is Status.ERROR and verdict.cause.startswith(expected), verdict


@pytest.mark.parametrize("faults, status, message", [
    (dict(slow_to_send=(4,)), Status.ERROR, "14966474 frames sent after the storm, got 7483237"),
    (dict(slow_to_resume=(4,)), Status.FAIL, "14966474 frames taken by the switch after the storm, got 7483237"),
    (dict(slow_to_resume=(4,), pushed=7000), Status.ERROR, "14966474 frames sent after the storm (7000 PFC frames"),
])
def test_a_switch_is_blamed_for_what_its_own_pauses_held_after_the_storm(faults, status, message):
    """What is missing then may be the generator's: unless the switch paused it for so long, it was no measurement."""
    outcome = carry_out(FakeWorld(**faults), *CASES["PFC-2"])
    verdict = next(one for one in outcome.verdicts if (one.priority, one.metric_name) == (4, LOSSLESS))
    assert verdict.status is status, verdict.messages
    assert any(message in text for text in verdict.messages), verdict.messages


def test_a_verdict_is_about_its_own_priority_and_the_rest_of_the_port():
    """Not about the other priorities that are paused with it."""
    outcome = carry_out(FakeWorld(leaked={4: 12}), SEVERAL_LOSSLESS, (3, 4))
    statuses = {(one.priority, one.metric_name): one.status for one in outcome.verdicts}
    assert [key for key, status in statuses.items() if status is not Status.PASS] == [(4, LOSSLESS)], statuses


@pytest.mark.parametrize(("asic", "paused", "counted"), [
    ("cisco-8000", (0, 1), False),
    ("cisco-8000", (0,), True),
    ("cisco-8000 x86_64-8122_64eh_o-r0", (0, 1), False),
    ("cisco-8000 x86_64-8122_64eh_o-r0", (0,), False),
    ("cisco-8000 x86_64-8111_32eh_o-r0", (0,), True),
])
def test_lossy_pauses_on_a_platform_that_does_not_count_them(asic, paused, counted):
    """Named as a deviation: then none need be counted; or all, where an image is mended."""
    for counts in (False, True):
        expected = Status.PASS if counts or not counted else Status.FAIL
        world = FakeWorld(counts_pause=counts)
        plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
        subject = dataclasses.replace(plan.subject, asic=asic)
        changed = dataclasses.replace(plan, subject=subject)
        lab = open_lab(changed, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
        for verdict in Qualifier(lab).qualify(PAUSE_LOSSY, paused).verdicts:
            assert verdict.metric_name != LOSSY or verdict.status is expected, verdict.messages


def test_a_case_that_this_port_does_not_allow_is_error():
    """One sentence for each verdict that is owed."""
    world = FakeWorld()
    del world.config_db["DSCP_TO_TC_MAP"]["AZURE"]["63"]
    outcome = carry_out(world, GLOBAL_PAUSE, (), world)
    assert [one.cause for one in outcome.verdicts] == [
        "vtb-t0-01 Ethernet0: DSCP_TO_TC_MAP|AZURE has no entry for DSCP [63] (1 of 64): 802.3x pauses are"
        " judged with all of them"
    ] * 2, outcome.verdicts


def test_the_same_over_ipv6():
    """Addresses and gateways of the switch's own IPv6 network; the DSCP is the traffic class without its two ECN
    bits, which let a switch mark frames in congestion instead of dropping them."""
    world = FakeWorld()
    api = FakeApi(world)
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None, 6)
    outcome = Qualifier(open_lab(plan, Dut(FakeHost(world)), api, FakeClock(world))).qualify(GLOBAL_PAUSE, ())
    assert [one.status for one in outcome.verdicts] == [Status.PASS] * 2, [one.messages for one in outcome.verdicts]
    assert outcome.evidence["ip_version"] == 6, outcome.evidence
    config = api.configs[-1]
    address = config.devices[0].ethernets[0].ipv6_addresses[0]
    assert (address.address, address.gateway, address.prefix) == ("fc02:1000::2", "fc02:1000::1", 64), address
    marks = [dscp for flow in config.flows if len(flow.packet) == 3 for dscp in flow.packet[1].traffic_class.values]
    assert sorted(marks) == [4 * dscp + 3 for dscp in range(64)], marks


def test_a_host_that_does_not_find_its_ipv6_gateway_is_error():
    """The IPv6 neighbours are the ones that are waited for."""
    world = FakeWorld(resolved=False)
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None, 6)
    lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
    outcome = Qualifier(lab).qualify(GLOBAL_PAUSE, ())
    left = "Ethernet of Host Ethernet0, Ethernet of Host Ethernet64"
    assert outcome.verdicts[0].cause.endswith(f"gateway's address: not {left}"), outcome.verdicts[0]


def test_a_metric_that_a_case_does_not_judge_is_error(monkeypatch):
    """A clean flow alone says nothing of what the case is about; what the case found of the other metric stands."""
    world = FakeWorld(leaked={3: 12})
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
    procedure = pauses.CASES[pauses.SINGLE_LOSSLESS]
    half = dataclasses.replace(procedure, judge=lambda run: [one for one in judge(run) if one.metric_name == LOSSLESS])
    monkeypatch.setitem(procedures(), pauses.SINGLE_LOSSLESS, half)
    lossless, lossy = Qualifier(lab).qualify(pauses.SINGLE_LOSSLESS, (3,)).verdicts
    assert lossless.status is Status.FAIL, lossless.messages
    expected = "vtb-t0-01 Ethernet0 priority 3: nothing was measured for pfc.lossy"
    assert (lossy.status, lossy.cause) == (Status.ERROR, expected), lossy


def carry_out(world, case, target, configured=None):
    """The outcome of a case on a fake switch."""
    plan = plan_port(Dut(FakeHost(configured or FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    return Qualifier(open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))).qualify(case, target)
