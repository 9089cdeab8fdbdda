"""Cisco 8122, whose receive counters leave out pauses of lossy priorities: the same counts pass there by its platform's
name and fail by any other."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from scripts.campaign.broken_testbed import Testbed, broken_testbed, connected_ports
from scripts.tests.broken import HEALTHY_TX, watchdog_stopped
from scripts.tests.test_broken_addresses import shell
from tests.common.pfc.cases.pauses import LOSSY, SINGLE_LOSSLESS
from tests.common.pfc.cases.plan import targets
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import plan_port

pytestmark = pytest.mark.slow("a testbed for three test cases: half a minute")
RX = "Ethernet8"
PLATFORM = "x86_64-8122_64eh_o-r0"
FILES = {"counters_8122.py": '''
from virtual_testbed.dataplane.model.hooks import Fault


class LossyUncounted(Fault):
    """Pauses of lossy priorities are not in the receive counters."""

    name = "lossy-uncounted"

    def counted(self, priority, priorities):
        return priorities & {3, 4}
'''}
BECOME = """
sed -i "s/^asic_type:.*/asic_type: 'cisco-8000'/" /etc/sonic/sonic_version.yml
sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' platform {}
"""


@pytest.fixture(name="testbed", scope="module")
def fixture_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A testbed whose switch counts so."""
    with broken_testbed(tmp_path_factory.mktemp("8122"), [f"counters_8122.py:LossyUncounted@{RX}"], FILES) as testbed:
        yield testbed


@pytest.mark.parametrize(("platform", "case", "status"), [
    ("", LOSSY, Status.FAIL),
    (PLATFORM, LOSSY, Status.PASS),
    (PLATFORM, SINGLE_LOSSLESS, Status.PASS),
])
def test_a_switch_that_counts_no_lossy_pauses(
    testbed: Testbed, platform: str, case: PlanCase, status: Status
) -> None:
    """PFC-3 of a switch that is not known to count so fails; of the 8122 it passes."""
    if platform:
        shell(testbed, BECOME.format(platform))
    with watchdog_stopped(testbed) as bench:
        plan = plan_port(bench.dut, connected_ports(), RX, HEALTHY_TX)
        lab = open_lab(plan, bench.dut, bench.api, bench.clock)
        outcome = Qualifier(lab).qualify(case, targets(case, plan.subject)[0])
    checks = {check.name for verdict in outcome.verdicts for check in verdict.checks if check.status is Status.FAIL}
    assert status in {verdict.status for verdict in outcome.verdicts}, outcome.verdicts
    assert bool(checks) is (status is Status.FAIL) and checks <= {"pause-counted", "every-pause-counted"}, checks
