"""A switch that talks, as correct ones do: LLDP, LACP, ARP, neighbour discovery and BGP over every link, in every
counter. What passes on a silent switch passes there, and what fails at a port of the silent one fails at that port."""
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.tests.broken import Bench, broken_bench
from scripts.tests.test_broken_accounting import BY_ID, ELSEWHERE, MISCOUNTED, audited
from tests.common.pfc.accounting.auditor import BookAuditor
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.verdict import Status

pytestmark = pytest.mark.slow("test cases and a sweep with closed accounting on a switch that talks")

FROZEN = "counters-frozen@Ethernet8"
AT_ONCE = ["Ethernet32", "Ethernet40", "Ethernet96", "Ethernet104"]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A switch that talks over every link and is broken at some ports."""
    folder: Path = tmp_path_factory.mktemp("chatter")
    with broken_bench(folder, ["chatter", *ELSEWHERE, *MISCOUNTED, FROZEN]) as found:
        yield found


def reasons(*outcomes: Outcome) -> list[str]:
    """Why verdicts are not PASS."""
    return [reason for outcome in outcomes for verdict in outcome.verdicts for reason in verdict.messages]


@pytest.mark.parametrize("plan_id", ["PFC-1", "COUNT-1", "COUNT-2", "COUNT-3", "M2O-2", "HEAD-1", "LOAD-1", "WD-1",
                                     "TIME-6"])
def test_healthy_ports_pass(bench: Bench, plan_id: str) -> None:
    """Also where the suite counts frames one by one."""
    assert reasons(audited(bench, "Ethernet36", "Ethernet84", BY_ID[plan_id])) == []


def test_healthy_ports_pass_in_a_wave(bench: Bench) -> None:
    """Several at once, whose counters are looked at together."""
    outcomes = bench.sweep(len(AT_ONCE), AT_ONCE, [BookAuditor()])
    assert reasons(*outcomes.values()) == [] and len(outcomes) == len(AT_ONCE)


@pytest.mark.parametrize("fault", ELSEWHERE)
def test_what_happens_at_another_port_fails_and_names_it(bench: Bench, fault: str) -> None:
    """With the words that a silent switch has for it."""
    rx, tx, message = ELSEWHERE[fault]
    outcome = audited(bench, rx, tx)
    said = message.split(": expected")[0]
    assert Status.FAIL in {verdict.status for verdict in outcome.verdicts}, reasons(outcome)
    assert any(said in reason for reason in reasons(outcome)), reasons(outcome)


def test_counters_that_stand_still_are_no_measurement(bench: Bench) -> None:
    """Nor are they a quiet port."""
    outcome = audited(bench, "Ethernet8", "Ethernet84")
    assert {verdict.status for verdict in outcome.verdicts} == {Status.ERROR}, outcome.verdicts
    assert any("Ethernet8" in reason for reason in reasons(outcome)), reasons(outcome)
