"""Faults that show on ports that no case looks at: every counter of the switch, and light traffic beside the case."""
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.tests.broken import Bench, broken_bench, connected_ports
from tests.common.pfc.accounting.auditor import BookAuditor
from tests.common.pfc.accounting.bystanders import with_bystanders
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.record.outcome import Outcome
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import plan_port

ELSEWHERE = {
    "pause-acts-elsewhere@Ethernet0,on=Ethernet4,priority=3": ("Ethernet0", "Ethernet64", "Ethernet124", "PFC3 Tx"),
    "pfc-counted-elsewhere@Ethernet12,on=Ethernet44": ("Ethernet12", "Ethernet68", "Ethernet44", "PFC3 Rx"),
    "xoff-elsewhere@Ethernet72,on=Ethernet48": ("Ethernet20", "Ethernet72", "Ethernet48", "PFC3 Tx"),
}
"""Fault -> the pair of ports, and the port and counter that give it away."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A switch with all of these."""
    folder: Path = tmp_path_factory.mktemp("accounting")
    with broken_bench(folder, list(ELSEWHERE)) as found:
        yield found


def audited(bench: Bench, rx: str, tx: str) -> Outcome:
    """PFC-1 on a pair of ports, with bystanders."""
    plan = with_bystanders(plan_port(bench.dut, connected_ports(), rx, tx), connected_ports())
    return Qualifier(plan.lab(bench.dut, bench.api, bench.clock), [BookAuditor()]).qualify(SINGLE_LOSSLESS, (3,))


@pytest.mark.parametrize("fault", ELSEWHERE)
def test_what_happens_at_another_port_fails_and_names_it(bench: Bench, fault: str) -> None:
    """The case's own checks look at its two ports only."""
    rx, tx, elsewhere, counter = ELSEWHERE[fault]
    message = f"{elsewhere} priority 3: expected 0 more in {counter}, as nothing "
    outcome = audited(bench, rx, tx)
    reasons = [reason for verdict in outcome.verdicts for reason in verdict.messages]
    assert outcome.verdicts[0].status is Status.FAIL, reasons
    assert any(message in reason for reason in reasons), reasons


def test_ports_without_a_fault_pass(bench: Bench) -> None:
    """Every counter is explained, and bystanders lose nothing."""
    outcome = audited(bench, "Ethernet36", "Ethernet84")
    assert [reason for verdict in outcome.verdicts for reason in verdict.messages] == []
    checks = {check.name for verdict in outcome.verdicts for check in verdict.checks}
    assert {"counter-explained", "bystander-sent", "bystander-unaffected"} <= checks
