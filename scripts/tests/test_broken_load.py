"""The families LOAD, M2O and HEAD on broken switches: one virtual testbed, every check of every case failed by some
port, and a healthy port that passes all of them. And FLAP-5 and FLAP-7, on ports that have been
restarted, M2O-7, where a queue has another weight, and AFTER."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from scripts.campaign.entries import ROOT
from scripts.tests.broken import (
    Bench, Case, broken_bench, case, compare, documented_checks, documented_faults, healthy,
    passed_as_documented,
)
from tests.common.pfc.cases import afterwards, headroom, loads, restarted, reweighted
from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.record.verdict import Status

SLOW = pytest.mark.slow("three families of the plan, each case on each switch that is broken in its way")

FILES = {
    "roomier.py": '''
from dataclasses import replace

from virtual_testbed.dataplane.model.hooks import Fault


class Roomier(Fault):
    """Headroom is twice what its profile says."""

    name = "roomier"

    def headroom_bytes(self, group, headroom):
        return 2 * headroom


class HeadroomKept(Fault):
    """A priority group that has headroom keeps that when its profile changes."""

    name = "headroom-kept"

    def takes_effect(self, before, config):
        old = before.priority_groups if before else {}
        groups = {number: replace(group, xoff=old[number].xoff) if group.xoff and number in old and old[number].xoff
                  else group for number, group in config.priority_groups.items()}
        return replace(config, priority_groups=groups)


class Narrow(Fault):
    """Lossless priority groups have a 128th of the threshold that their profile says: their senders starve beside
    others."""

    name = "narrow"

    def takes_effect(self, before, config):
        groups = {number: replace(group, dynamic_th=group.dynamic_th - 7) if group.xoff else group
                  for number, group in config.priority_groups.items()}
        return replace(config, priority_groups=groups)


class Exchanged(Fault):
    """The watermarks of priority groups 3 and 4 show each other's."""

    name = "exchanged"

    def published_among(self, key, fields, switch):
        port, _, group = key.partition(":")
        other = switch.get(f"{port}:{ {'3': '4', '4': '3'}.get(group) }", {})
        return {name: other.get(name, value) if "WATERMARK" in name else value for name, value in fields.items()}


class LosslessDropsOfGroupsAlone(Fault):
    """What priority groups 3 and 4 drop is not in RX_DRP of their port."""

    name = "lossless-drops-of-groups-alone"

    def __init__(self, scope, **options):
        super().__init__(scope, **options)
        self.dropped = {}

    def published(self, key, fields):
        drops, of_group = "SAI_PORT_STAT_IF_IN_DISCARDS", "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"
        if of_group in fields and key.endswith((":3", ":4")):
            self.dropped[key] = int(fields[of_group])
        if drops not in fields:
            return fields
        return {**fields, drops: str(int(fields[drops]) - sum(self.dropped.values()))}
''',
}
PAGES = {"LOAD": "load-full-line.md", "M2O": "m2o-many-to-one.md", "HEAD": "head-response.md"}
PLANS = [*loads.LOADS, *loads.MANY_TO_ONE, *headroom.CASES]
(REWEIGHTED,) = reweighted.CASES
BY_ID = {plan.plan_id: plan for plan in (*PLANS, *restarted.CASES, *afterwards.CASES, REWEIGHTED)}

# What is sent unasked is rare, and not at the full second at which flows start: a full line on which there are control
# frames too has to be computed frame by frame.
UNASKED = "pfc-unasked@Ethernet76,priority=0,period_ms=700"
SOME_LOST, NO_LOSSLESS = "lossless-dropped@Ethernet4,one_in=4", "lossless-dropped@Ethernet12,one_in=1"
NO_LOSSY = "lossy-dropped@Ethernet8,one_in=1"
NO_XOFF, WRONG_XOFF = "xoff-not-sent@Ethernet108,priority=3", "xoff-wrong-priority@Ethernet88"
UNCOUNTED_OUT, UNCOUNTED_IN = "drops-uncounted@Ethernet16", "drops-uncounted@Ethernet88"
DROPS_AS_SENT = "drops-counted-as-sent@Ethernet24"
EVEN, NO_HEADROOM = "weights-ignored@Ethernet20", "headroom-missing@Ethernet80"
ROOMIER = "roomier.py:Roomier@Ethernet84"
HEADROOM_KEPT = "roomier.py:HeadroomKept@Ethernet124"
LOST_CHANGE = "buffer-change-lost@Ethernet96"
NO_DROP_BYTES = "drop-bytes-miscounted@Ethernet32"
NO_MARKS = "queue-watermarks-miscounted@Ethernet36"
NARROW = "roomier.py:Narrow@Ethernet56"
EXCHANGED = "roomier.py:Exchanged@Ethernet120"
OF_GROUPS_ALONE = "roomier.py:LosslessDropsOfGroupsAlone@Ethernet120"
ALIKE, SUMMED = "headroom-watermark-of-port@Ethernet68", "shared-watermark-with-headroom@Ethernet72"
TWICE, FROZEN = "drops-counted-twice@Ethernet28", "watermarks-frozen@Ethernet100"
IGNORED, LOSSY_TOO = "pause-ignored@Ethernet40", "lossy-queue-paused@Ethernet44"
LIMITED = "egress-limited@Ethernet48,bytes=6000000"
FORGETFUL, RECLAIMED = "weights-forgotten@Ethernet52", "headroom-reclaimed@Ethernet104"
RESET, KEPT = "weights-reset@Ethernet56", "weights-kept@Ethernet60"
UNREPEATED = "refresh-missing@Ethernet124,after_link_loss=yes"
MAPLESS = "maps-forgotten@Ethernet112"
LEAKING = "headroom-reclaimed@Ethernet116,bytes=416"
SHORT, EARLY = "headroom-short@Ethernet92,priority=3", "xoff-early@Ethernet92,priority=4"

# On ports that have one of the faults above.
ALSO = ["pfc-unasked@Ethernet4,priority=0,period_ms=700", "xoff-wrong-priority@Ethernet108,priority=4",
        "drop-bytes-miscounted@Ethernet8"]
LOST = "Ethernet4 priority 3: expected all ... frames received, got "
PAUSED = "Ethernet76 priority 0: expected 0 PFC frames sent out of Ethernet76, got "
NOT_PAUSED = "priority 3: expected more than 0 PFC frames sent out of Ethernet108"
CASES = [
    case(fault, verdicts, checks, message, BY_ID[plan_id])
    for fault, plan_ids, verdicts, checks, message in (
        (SOME_LOST, "LOAD-1 LOAD-2 LOAD-3 LOAD-4 M2O-5", "FAIL FAIL",
         "clean-flow nothing-lost throughput no-back-pressure", LOST),
        (SOME_LOST, "M2O-2", "FAIL FAIL", "clean-flow nothing-lost throughput no-back-pressure", LOST),
        (UNASKED, "LOAD-1", "PASS FAIL", "no-back-pressure", PAUSED),
        (UNASKED, "M2O-4", "PASS FAIL", "no-other-back-pressure back-pressure-ends throughput", PAUSED),
        (NO_LOSSY, "M2O-1", "PASS FAIL", "clean-flow nothing-lost throughput",
         "Ethernet8 priority 0: expected all ... frames received, got 0"),
        (NO_LOSSY, "M2O-2", "PASS FAIL", "clean-flow share-by-weight line-full drop-bytes-agree",
         "Ethernet8: expected at least ... frames received, a full line, got 3600"),
        (NO_LOSSY, "M2O-3", "ERROR FAIL", "clean-flow share-by-weight line-full back-pressure drop-bytes-agree",
         "Ethernet8 priorities 0, 1, 2, 5, 6: expected ... or more of ... frames received by weight (5 % less), got 0"),
        (NO_LOSSY, "M2O-4", "PASS FAIL", "clean-flow nothing-lost throughput",
         "Ethernet8 priority 0: expected at least ... frames received, got 0"),
        (NO_LOSSLESS, "M2O-1", "FAIL PASS", "clean-flow nothing-lost back-pressure share-by-weight line-full",
         "Ethernet12: expected at least ... frames received, a full line, got 2880"),
        (NO_XOFF, "M2O-1", "FAIL FAIL", "nothing-lost throughput back-pressure no-other-back-pressure",
         f"Ethernet108 {NOT_PAUSED} to hold the sender, got 0"),
        (NO_XOFF, "M2O-3", "FAIL FAIL", "nothing-lost back-pressure no-other-back-pressure",
         f"Ethernet108 {NOT_PAUSED} to hold the sender, got 0"),
        (NO_XOFF, "M2O-4", "FAIL FAIL", "nothing-lost throughput back-pressure no-other-back-pressure",
         f"Ethernet108 {NOT_PAUSED} to hold the sender, got 0"),
        (NO_XOFF, "M2O-6", "FAIL PASS", "nothing-lost back-pressure",
         f"Ethernet108 {NOT_PAUSED}, got 0"),
        (WRONG_XOFF, "M2O-6", "PASS FAIL", "no-other-back-pressure",
         "Ethernet88 priority 0: expected 0 PFC frames sent out of Ethernet88, got "),
        (IGNORED, "M2O-6", "FAIL PASS", "blocked-while-paused",
         "Ethernet40 priority 3: expected 0 frames received while paused, got "),
        (LOSSY_TOO, "M2O-6", "PASS FAIL", "background-unaffected nothing-lost",
         "Ethernet44 priority 1: expected all ... frames received in the storm, got 0"),
        (LIMITED, "M2O-6", "FAIL PASS", "nothing-lost back-pressure",
         "Ethernet48 priority 3: expected all ... frames received once the storm had stopped, got "),
        (NO_XOFF, "HEAD-1", "FAIL -", "nothing-lost back-pressure", f"Ethernet108 {NOT_PAUSED}, got 0"),
        (NO_XOFF, "HEAD-2", "FAIL FAIL", "nothing-lost back-pressure no-other-back-pressure",
         "Ethernet108 priority 0: expected 0 PFC frames sent out of Ethernet108, got "),
        (NO_XOFF, "HEAD-3", "FAIL FAIL", "back-pressure no-other-back-pressure", f"Ethernet108 {NOT_PAUSED}, got 0"),
        (UNCOUNTED_OUT, "M2O-2", "PASS FAIL", "port-drops-counted queue-drops-counted",
         "Ethernet16: expected ... frames counted as dropped by ports (TX_DRP, RX_DRP), got 0"),
        (DROPS_AS_SENT, "M2O-2", "PASS FAIL", "port-drops-counted queue-drops-counted",
         "Ethernet24: expected ... frames counted as dropped by ports (TX_DRP, RX_DRP), got 0"),
        (UNCOUNTED_IN, "M2O-3", "PASS FAIL", "port-drops-counted queue-drops-counted no-other-back-pressure",
         "Ethernet0: expected ... frames counted as dropped by queues and priority groups, got "),
        (WRONG_XOFF, "HEAD-1", "PASS FAIL", "no-other-back-pressure",
         "Ethernet88 priority 0: expected 0 PFC frames sent out of Ethernet88, got "),
        (UNCOUNTED_IN, "HEAD-3", "FAIL FAIL", "group-drops-counted port-drops-counted no-other-back-pressure",
         "Ethernet88 priority 3: expected ... frames counted as dropped by priority group PG3, got 0"),
        (EVEN, "M2O-3", "FAIL PASS", "share-by-weight",
         "Ethernet20 priority 3: expected 1800 or more of 12000 frames received by weight (26 more or less), got 17"),
        (FORGETFUL, "FLAP-5", "FAIL FAIL", "share-by-weight back-pressure",
         "Ethernet64 priority 4: expected more than 0 PFC frames sent out of Ethernet64 to hold the sender, got 0"),
        (RESET, "M2O-7", "- FAIL", "share-by-weight",
         "Ethernet56 priority 1: expected 2270 of 12000 frames received by weight (26 more or less), got 21"),
        (KEPT, "M2O-7", "- FAIL", "share-by-weight",
         "Ethernet60 priority 0: expected 2919 of 12000 frames received by weight (26 more or less), got 24"),
        (RECLAIMED, "FLAP-5", "FAIL PASS", "nothing-lost back-pressure",
         "Ethernet104 priority 3: expected more than 0 PFC frames sent out of Ethernet104 to hold the sender, got 0"),
        (UNREPEATED, "FLAP-7", "FAIL PASS", "held-within-buffer held-frames-drained",
         "Ethernet124 priorities 3, 4: expected fewer than the 15982720 bytes of egress_lossless_pool sent while "),
        (MAPLESS, "FLAP-7", "FAIL PASS", "blocked-while-paused held-within-buffer back-pressure",
         "Ethernet0 priority 3: expected 0 frames received while paused, got "),
        (NO_HEADROOM, "M2O-1", "FAIL PASS", "nothing-lost",
         "Ethernet80 priority 3: expected all ... frames received, "),
        (NO_HEADROOM, "HEAD-1", "FAIL -", "nothing-lost",
         "Ethernet80 priority 3: expected all ... frames received, senders going on for 1757 quanta, got "),
        (NO_HEADROOM, "HEAD-3", "FAIL -", "headroom-full",
         "Ethernet80 priority 3: expected at least 165361 of the 165568 bytes used before frames are dropped, got 0"),
        (IGNORED, "HEAD-1 HEAD-2 HEAD-3 HEAD-4", "FAIL -", "blocked-while-paused back-pressure",
         "Ethernet40 priority 3: expected 0 frames received while paused, got "),
        (ALIKE, "HEAD-1", "FAIL -", "other-headroom-unused",
         "Ethernet68 priority 4: expected 0 bytes in headroom that nothing came in for, got "),
        (EXCHANGED, "HEAD-1", "FAIL -", "other-headroom-unused",
         "Ethernet120 priority 4: expected 0 bytes in headroom that nothing came in for, got "),
        (OF_GROUPS_ALONE, "HEAD-3", "FAIL -", "port-drops-counted",
         "Ethernet120: expected ... frames counted as dropped by Ethernet120 (RX_DRP), got 0"),
        (SUMMED, "HEAD-3 HEAD-4", "FAIL -", "shared-watermark",
         "Ethernet72 priority 3: expected from ... to ... shared bytes in the watermark of PG3, which took ... "),
        (SHORT, "HEAD-3", "FAIL -", "headroom-full xoff-threshold",
         "Ethernet92 priority 3: expected at least 165361 of the 165568 bytes used before frames are dropped, got"),
        (EARLY, "HEAD-3", "FAIL -", "headroom-full xoff-threshold",
         "Ethernet92 priority 4: expected 1"),
        (ROOMIER, "HEAD-3", "FAIL -", "headroom-limit",
         "Ethernet84 priority 3: expected no more than the 165568 bytes of pg_lossless_100000_5m_profile used, got "),
        (ROOMIER, "HEAD-4", "FAIL -", "headroom-limit",
         "Ethernet84 priority 3: expected no more than the 82784 bytes of PFC_QUALIFICATION used, got "),
        (HEADROOM_KEPT, "HEAD-4", "FAIL -", "headroom-limit",
         "Ethernet124 priority 3: expected no more than the 82784 bytes of PFC_QUALIFICATION used, got 165568"),
        (LOST_CHANGE, "HEAD-4", "FAIL -", "headroom-limit xoff-threshold",
         "Ethernet96 priority 3: expected no more than the 82784 bytes of PFC_QUALIFICATION used, got 165568"),
        (NO_HEADROOM, "HEAD-4", "FAIL -", "headroom-full",
         "Ethernet80 priority 3: expected at least ... of the 82784 bytes used before frames are dropped, got 0"),
        (NO_XOFF, "HEAD-4", "FAIL FAIL", "back-pressure no-other-back-pressure", f"Ethernet108 {NOT_PAUSED}, got 0"),
        (UNCOUNTED_IN, "HEAD-4", "FAIL FAIL", "group-drops-counted port-drops-counted no-other-back-pressure",
         "Ethernet88 priority 3: expected ... frames counted as dropped by priority group PG3, got 0"),
        (TWICE, "M2O-2", "PASS FAIL", "port-drops-counted",
         "Ethernet28: expected ... frames counted as dropped by ports (TX_DRP, RX_DRP), got "),
        (NO_DROP_BYTES, "M2O-2", "PASS FAIL", "drop-bytes-agree",
         "Ethernet32 priority 0: expected from ... to ... bytes more in Drop/bytes of queue UC0, as ... got 0"),
        (NO_MARKS, "HEAD-3 HEAD-4", "FAIL -", "queue-watermark",
         "Ethernet36 priority 3: expected from ... to 15982720 bytes (egress_lossless_pool) in the watermark of queue "
         "UC3, which held ... got 0"),
        (FROZEN, "HEAD-3", "FAIL -", "headroom-full shared-watermark",
         "Ethernet100 priority 3: expected at least ... of the 165568 bytes used before frames are dropped, got 0"),
    )
    for plan_id in plan_ids.split()
]
CASES += [
    replace(case(NARROW, "FAIL PASS", checks, "Ethernet56 priority 3: expected at least ... frames received in the "
                 "window that enter by Ethernet56, got ", BY_ID[plan_id]), ports=("Ethernet64", "Ethernet56"))
    for plan_id, checks in (("M2O-1", "share-of-sender back-pressure"), ("M2O-3", "share-of-sender"))
]
CASES.sort(key=lambda broken: broken.pair)  # a case begins with the counters that its pair's last one left


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.plan_id)
def test_every_check_of_every_case_is_failed_by_some_switch(plan: PlanCase) -> None:
    failed = {check for broken in CASES if broken.plan is plan for check in broken.checks}
    assert failed | {"clean-flow"} == documented_checks(ROOT / "docs/testplan" / PAGES[plan.family], plan.plan_id)


@pytest.mark.parametrize("family", ["LOAD", "M2O", "HEAD"])
def test_every_fault_that_the_documentation_calls_caught_is_here(family: str) -> None:
    ours = (ROOMIER, HEADROOM_KEPT, EXCHANGED, OF_GROUPS_ALONE, NARROW)
    here = {broken.name for broken in CASES if broken.plan.family == family and broken.fault not in ours}
    also = {"xoff-wrong-priority"} if family == "M2O" else set()  # on a port with another fault
    assert here | also == documented_faults(family)


@pytest.fixture(name="bench", scope="module")
def fixture_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """For a testbed with all these faults."""
    faults = [*ALSO, LEAKING, *(one.fault for one in CASES)]
    with broken_bench(tmp_path_factory.mktemp("broken"), faults, FILES) as bench:
        yield bench


@SLOW
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.plan_id)
def test_a_healthy_port_passes_with_exactly_the_documented_checks(bench: Bench, plan: PlanCase) -> None:
    documented = documented_checks(ROOT / "docs/testplan" / PAGES[plan.family], plan.plan_id)
    passed_as_documented(bench.judge(healthy(plan)), documented)


@SLOW
@pytest.mark.parametrize(("plan", "page", "like"), [
    (restarted.SHARED_AFTERWARDS, PAGES["M2O"], "M2O-3"), (REWEIGHTED, PAGES["M2O"], "M2O-7"),
    (restarted.HELD_AFTERWARDS, "pfc-1-single-lossless.md", "PFC-1")])
def test_healthy_ports_pass_three_cases_more(bench: Bench, plan: PlanCase, page: str, like: str) -> None:
    passed_as_documented(bench.judge(healthy(plan)), documented_checks(ROOT / "docs/testplan" / page, like))


@SLOW
@pytest.mark.parametrize(("plan", "before"), [*zip(afterwards.CASES, afterwards.REPEATED)],
                         ids=lambda plan: plan.plan_id)
def test_a_healthy_port_passes_once_more(bench: Bench, plan: PlanCase, before: PlanCase) -> None:
    made = {check.name for verdict in bench.judge(healthy(before)).verdicts for check in verdict.checks}
    passed_as_documented(bench.judge(healthy(plan)), made)


@SLOW
def test_what_a_switch_loses_a_little_at_a_time_shows_afterwards(bench: Bench) -> None:
    """Each shutdown costs it two cells of headroom. HEAD-3 comes before the first one; FLAP-7, which shuts the port
    down, does not look at headroom."""
    for plan in headroom.OVERFLOW, restarted.HELD_AFTERWARDS:
        outcome = bench.judge(replace(healthy(plan), fault=LEAKING))
        assert {verdict.status for verdict in outcome.verdicts} == {Status.PASS}, plan
    leaked = case(LEAKING, "FAIL -", "headroom-full",
                  "Ethernet116 priority 3: expected at least 165361 of the 165568 bytes used before frames are dropped",
                  BY_ID["AFTER-8"])
    compare(bench.judge(leaked), leaked)


@SLOW
@pytest.mark.parametrize("broken", CASES, ids=lambda broken: f"{broken.plan.plan_id}-{broken.name}")
def test_every_fault_is_caught_and_nothing_else(bench: Bench, broken: Case) -> None:
    compare(bench.judge(broken), broken)
