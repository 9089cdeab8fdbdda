"""What a storm comes to in all that is a chain of flows."""

from dataclasses import replace

import tests.common.pfc.storm_chain  # noqa: F401  (the option by which a long storm is a chain)
from tests.common.pfc.accounting.totals import FlowTotals
from tests.common.pfc.cases.flows import RESUMED
from tests.common.pfc.cases.storm_sequence import pause_storm
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.tolerances import HARDWARE
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_flows import DATA, TESTER_PORTS


class ClearingApi(FakeApi):
    """Statistics begin anew with a start for which nothing runs, as snappi_ixnetwork has it."""

    cleared: dict[str, tuple[int, int]] = {}

    def set_control_state(self, payload):
        """Everything counted so far is gone."""
        counts = {name: self._world.counts(name) for name in self._world.flows}
        starts = payload.choice == "traffic" and payload.traffic.flow_transmit.state == "start"
        if starts and not any(running for _, _, running in counts.values()):
            self.cleared = {name: (sent, received) for name, (sent, received, _) in counts.items()}
        super().set_control_state(payload)

    def get_metrics(self, payload):
        """Since then."""
        answer = super().get_metrics(payload)
        for metric in answer.flow_metrics:
            sent, received = self.cleared.get(metric.name, (0, 0))
            metric.frames_tx = max(0, metric.frames_tx - sent)
            metric.frames_rx = max(0, metric.frames_rx - received)
        return answer


def test_totals_have_all_flows_of_a_storm_that_is_a_chain_also_where_a_later_start_clears_them():
    """SOAK-1 was FAIL for a correct switch: pauses of the second flow were explained by nothing."""
    world = FakeWorld()
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    plan = replace(plan, subject=replace(plan.subject, tolerances=HARDWARE))
    lab = open_lab(plan, Dut(FakeHost(world)), ClearingApi(world), FakeClock(world))
    storm = replace(pause_storm(lab, (3,), 70.0), needed_s=100.0)
    data = replace(DATA, name="Resumed", phase=RESUMED)
    watched = FlowTotals(lab.generator)
    lab.generator.observed_by(watched)
    lab.generator.push(lab.builder.build([storm, data]))
    lab.generator.start([storm.name])
    lab.clock.sleep(80.0)
    lab.generator.stop([storm.name])
    sent = sum(world.counts(name)[0] for name in world.flows if name.startswith(storm.name))
    lab.generator.start([data.name])
    lab.generator.run_out([data.name], 1.0)
    totals = {flow.plan.name: flow.frames_tx for flow in watched.take()}
    assert totals[storm.name] == sent > 60 * (storm.fps or 0), totals
    assert totals[data.name] > 0, totals
