"""SWEEP-2 on a broken switch: one virtual testbed with faults on a few scattered ports, all of its ports loaded at
once; and what a port says whose numbers are changed, where no fault of the switch does that."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from unittest.mock import patch

import pytest

from scripts.campaign.entries import ROOT
from scripts.tests.broken import Case, broken_bench, case, compare, documented_checks, passed_as_documented
from tests.common.pfc.cases.checks import validity
from tests.common.pfc.cases.engine import unmet
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.verdict import Check, Status
from tests.common.pfc.sweep import full_load
from tests.common.pfc.sweep.full_load import ALL_PORTS, FullRun, judge_full

SLOW = pytest.mark.slow("all ports of a switch loaded at once")

PAGE = ROOT / "docs/testplan/sweep-all-ports.md"
HEALTHY = "Ethernet48"

# 99 % of the line in seven flows: each has 1/7 of it for 5 s; one frame a second comes out of a leaking queue.
BROKEN = [
    case(fault, verdicts, checks, message, ALL_PORTS)
    for fault, verdicts, checks, message in (
        ("pause-ignored@Ethernet8", "FAIL PASS", "blocked-while-paused held-within-buffer back-pressure",
         "Ethernet8 priority 3: expected 0 frames from Ethernet72 to Ethernet8 received while paused, got 8466749"),
        ("pause-leaks@Ethernet100", "FAIL PASS", "blocked-while-paused",
         "Ethernet100 priority 4: expected 0 frames from Ethernet36 to Ethernet100 received while paused, got 8"),
        ("lossless-dropped@Ethernet16,one_in=4", "FAIL PASS", "clean-flow held-frames-drained resumed full-rate",
         "Ethernet16 priority 3: expected all 1000 frames received without any storm, got 750"),
        ("lossy-dropped@Ethernet20,one_in=4", "PASS FAIL", "clean-flow background-unaffected resumed full-rate",
         "Ethernet20 priority 0: expected at least ... frames received while priorities 3, 4 were paused, got 635"),
        ("pfc-miscounted@Ethernet24", "FAIL FAIL", "pause-counted every-pause-counted no-other-pause-counted",
         "Ethernet24 priority 5: expected 0 PFC frames in the receive counter, got "),
        ("xoff-wrong-priority@Ethernet104", "PASS FAIL", "no-other-back-pressure full-rate",
         "Ethernet104 priority 0: expected 0 PFC frames sent out of Ethernet104, got "),
    )
]
OF_TX_PORTS = {"Ethernet104": "Ethernet40"}


@dataclass
class Loaded:
    """What came of the ports of a testbed, and the numbers behind it."""

    outcomes: Mapping[str, Outcome]
    runs: dict[str, FullRun] = field(default_factory=dict)


def under_test(broken: Case) -> str:
    """The port whose verdict a fault is about."""
    port = broken.fault.split("@")[1].split(",")[0]
    return OF_TX_PORTS.get(port, port)


@pytest.fixture(name="loaded", scope="module")
def fixture_loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """All ports of a testbed with these faults."""
    runs = dict[str, FullRun]()

    def seen(full: FullRun) -> list[Check]:
        runs[full.subject.pair.rx.port] = full
        return judge_full(full)

    faults = [one.fault for one in BROKEN]
    with broken_bench(tmp_path_factory.mktemp("load"), faults) as bench, patch.object(full_load, "judge_full", seen):
        return Loaded(bench.full_load(), runs)


@SLOW
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_port_fails(broken: Case, loaded: Loaded) -> None:
    compare(loaded.outcomes[under_test(broken)], broken)


@SLOW
def test_all_other_ports_pass(loaded: Loaded) -> None:
    failed = {port for port, outcome in loaded.outcomes.items()
              if any(verdict.status is not Status.PASS for verdict in outcome.verdicts)}
    assert len(loaded.outcomes) == 32 and failed == set(map(under_test, BROKEN))
    for port in {*loaded.outcomes} - failed:
        passed_as_documented(loaded.outcomes[port], documented_checks(PAGE, ALL_PORTS.plan_id))


@SLOW
def test_a_record_has_the_buffers_and_stays_small(loaded: Loaded) -> None:
    evidence = loaded.outcomes[HEALTHY].evidence
    marks = evidence["watermark_bytes"]
    pool = evidence["ingress_pool"]
    assert set(marks) == {HEALTHY, "Ethernet112"} and set(marks[HEALTHY]["group_shared"]) == {0, 3, 4}
    assert 0 < marks[HEALTHY]["group_headroom"][3] <= 165568 and marks[HEALTHY]["queue"][3] > 100_000
    of_all = evidence["watermarks_of_all_ports"]
    assert pool["size_bytes"] // 2 < of_all["shared_bytes"] <= pool["size_bytes"] == 10875072
    assert 0 < of_all["headroom_bytes"] <= pool["headroom_bytes"] == 4194112
    assert len(str(evidence)) < 6500


# ---- what no fault of the virtual switch does: the numbers of a healthy port, changed

def more_than_the_pool(full: FullRun) -> FullRun:
    """Groups that had more of the pool than there is."""
    return replace(full, pool=replace(full.pool, size_bytes=1000, headroom_bytes=208))


def more_than_the_port(full: FullRun) -> FullRun:
    """Where the pool shares none, headroom that is more than the port's groups have together."""
    headroom = {**full.marks.headroom, "Ethernet112": dict.fromkeys(range(8), 2 * 165568 + 3361)}
    return replace(full, marks=replace(full.marks, headroom=headroom), pool=replace(full.pool, headroom_bytes=0))


def less_than_was_held(full: FullRun) -> FullRun:
    """Watermarks that stay at one cell."""
    cells = dict.fromkeys(range(8), 208)
    return replace(full, marks=replace(full.marks, shared=dict.fromkeys(full.marks.shared, cells)))


def not_counted(full: FullRun) -> FullRun:
    """Watermarks that are `N/A`."""
    return replace(full, marks=replace(full.marks, shared={}))


def forwarded(full: FullRun) -> FullRun:
    """A pause frame arrives at the tx port, the storm's last."""
    _, storm = full.storms[0]
    changed = {**full.phases["drained"], storm.plan.name: replace(storm, frames_rx=1)}
    return replace(full, phases={**full.phases, "drained": changed})


def sent_less_afterwards(full: FullRun) -> FullRun:
    """Half is missing once the storms are over, lost nowhere, and the switch did not hold the sender."""
    flows = {name: replace(flow, frames_tx=flow.frames_tx // 2, frames_rx=flow.frames_tx // 2)
             if flow.plan.priority == 3 else flow for name, flow in full.phases["resumed"].items()}
    return replace(full, phases={**full.phases, "resumed": flows})


def slow_afterwards(full: FullRun) -> FullRun:
    """The same, because the switch paused the sender."""
    tx = full.subject.pair.tx.port
    sent = list(full.after.pfc_tx[tx])
    sent[3] += 10_000
    after = replace(full.after, pfc_tx={**full.after.pfc_tx, tx: tuple(sent)})
    return replace(sent_less_afterwards(full), after=after)


CHANGED: list[tuple[Callable[[FullRun], FullRun], set[str], Status, str]] = [
    (more_than_the_pool, {"watermark-within-pool"}, Status.FAIL,
     "vtb-t0-01 Ethernet112 priority 4 PG4: expected a watermark of headroom within the 208 bytes of"
     " ingress_lossless_pool, got "),
    (more_than_the_port, {"watermark-within-pool"}, Status.FAIL,
     "vtb-t0-01 Ethernet112 priority 3 PG3: expected a watermark of headroom within the 334496 bytes of Ethernet112, "
     "got 334497"),
    (less_than_was_held, {"watermark-shown"}, Status.FAIL,
     "vtb-t0-01 Ethernet112 priority 3 PG3: expected a watermark of at least "),
    (not_counted, {"watermark-counted"}, Status.ERROR,
     "vtb-t0-01 Ethernet112 priority 3 PG3: expected watermarks of shared bytes and headroom, got none"),
    (forwarded, {"pause-not-forwarded"}, Status.FAIL, "vtb-t0-01 Ethernet48 priorit"),
    (sent_less_afterwards, {"load-applied"}, Status.ERROR,
     "vtb-t0-01 Ethernet48 priority 3: expected at least "),
    (slow_afterwards, {"resumed-rate", "full-rate"}, Status.FAIL,
     "vtb-t0-01 Ethernet48 priority 3: expected at least "),
]


@SLOW
@pytest.mark.parametrize("change, names, status, message", CHANGED, ids=lambda value: getattr(value, "__name__", ""))
def test_changed_numbers_are_noticed(
    change: Callable[[FullRun], FullRun], names: set[str], status: Status, message: str, loaded: Loaded
) -> None:
    run = change(loaded.runs[HEALTHY])
    bad = unmet(validity(run)) or unmet(judge_full(run))
    assert names == {check.name for check in bad} and {check.status for check in bad} == {status}, bad
    assert any(check.message.startswith(message) for check in bad), bad


def test_every_check_is_failed_by_some_switch_or_by_changed_numbers() -> None:
    failed = {check for broken in BROKEN for check in broken.checks}
    failed |= {name for _, names, status, _ in CHANGED if status is Status.FAIL for name in names}
    assert failed == documented_checks(PAGE, ALL_PORTS.plan_id)
