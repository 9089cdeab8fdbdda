"""What one case costs through snappi_ixnetwork: requests to IxNetwork's API and seconds of this machine, beside the
sequence of sonic-mgmt's `run_traffic` (`tests/common/snappi_tests/traffic_generation.py`) on the same flows.

`.venv-ixnetwork/bin/python scripts/bench_ixnetwork.py vtb-t0`, with the testbed up on the virtual clock and with
`--ixnetwork`: traffic itself takes no time then, so that the seconds are those of configuring, starting, stopping and
reading (and of computing the traffic).
"""
from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.lab_command import PASS, find_testbed, run_in_lab  # noqa: E402  (the path has to be there first)
from scripts.testbeds import TESTBED_FILE, environment  # noqa: E402
from tests.common.clone import RESULTS  # noqa: E402
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS, pause_lossless  # noqa: E402
from tests.common.pfc.cases.qualifier import Qualifier  # noqa: E402
from tests.common.pfc.cases.storm_sequence import scenario_traffic  # noqa: E402
from tests.common.pfc.lab.clock import Clock, wait_for  # noqa: E402
from tests.common.pfc.lab.dut import Dut  # noqa: E402
from tests.common.pfc.lab.option import adapted, open_clock  # noqa: E402
from tests.common.pfc.lab.planning import open_lab  # noqa: E402
from tests.common.pfc.lab.restore import SwitchRestorer  # noqa: E402
from tests.common.pfc.record.records import new_run_id  # noqa: E402
from tests.common.snappi_tests.snappi_fixtures import open_api  # noqa: E402
from tests.common.standalone import StandaloneLab  # noqa: E402

ARP_S = 60
STOP_TRIES = 20
STATISTICS_S = 2


@dataclass
class RequestCost:
    """What something cost: requests to IxNetwork's API, and seconds of wall time."""

    requests: int = 0
    seconds: float = 0.0


@contextmanager
def counted() -> Iterator[RequestCost]:
    """Counts requests of this process while the context lasts."""
    cost = RequestCost()
    send: Callable[..., Any] = requests.Session.request

    def request(*arguments: Any, **options: Any) -> Any:
        cost.requests += 1
        return send(*arguments, **options)

    began = time.monotonic()
    requests.Session.request = request  # type: ignore[method-assign]
    try:
        yield cost
    finally:
        requests.Session.request = send  # type: ignore[method-assign]
        cost.seconds = time.monotonic() - began


def upstream(api: Any, clock: Clock, config: Any, data: list[str], seconds: float) -> None:
    """sonic-mgmt's sequence: one start for all flows, then it waits until data has stopped, and reads.

    Args:
        api: snappi's API object.
        clock: what to wait on.
        config: with storm and data.
        data: names of the flows that end by themselves.
        seconds: how long they last.
    """
    api.set_config(config)
    state = api.control_state()
    state.protocol.all.state = state.protocol.all.START
    api.set_control_state(state)
    request = api.states_request()
    request.choice = request.IPV4_NEIGHBORS

    def resolved() -> bool:
        return all(one.link_layer_address for one in api.get_states(request).ipv4_neighbors)

    wait_for(resolved, ARP_S, clock, 1.0)
    state = api.control_state()
    state.traffic.flow_transmit.state = state.traffic.flow_transmit.START
    api.set_control_state(state)
    clock.sleep(seconds)
    metrics = api.metrics_request()
    metrics.flow.flow_names = data
    for _ in range(STOP_TRIES):
        if all(flow.transmit == "stopped" for flow in api.get_metrics(metrics).flow_metrics):
            break
        clock.sleep(1.0)
    clock.sleep(STATISTICS_S)
    metrics.flow.flow_names = []
    api.get_metrics(metrics)
    state.traffic.flow_transmit.state = state.traffic.flow_transmit.STOP
    api.set_control_state(state)


def bench(lab: StandaloneLab) -> int:
    """Both on one port: PFC-1 as the suite carries it out, and its flows as sonic-mgmt would send them."""
    plan = lab.port_plan
    clock = open_clock(lab.tbinfo)
    with SwitchRestorer(lab.host(plan.state.device), new_run_id(), clock).watchdog_stopped() as reservation:
        dut = Dut(lab.host(plan.state.device), (), reservation)
        measured = open_lab(plan, dut, adapted(open_api(lab.tbinfo, lab.duthosts[0]), clock), clock)
        target = measured.subject.qos.lossless[:1]
        qualifier = Qualifier(measured)
        with counted() as first:
            qualifier.qualify(SINGLE_LOSSLESS, target)
        with counted() as ours:
            qualifier.qualify(SINGLE_LOSSLESS, target)
        scenario = pause_lossless(target, measured.subject.qos)
        whole = scenario_traffic(measured, scenario)
        traffic = measured.builder.build([whole.flows[name] for name in whole.names()])  # without the time after it
        data = [name for name in traffic.names() if traffic.flows[name].pause is None]
        with counted() as theirs:
            upstream(measured.generator.api, clock, traffic.config, data, scenario.storm_lead_s + scenario.data_s)
    rows = [(title, cost.requests, round(cost.seconds, 1)) for title, cost in (
        ("PFC-1 with the preflight", first), ("PFC-1", ours), ("sonic-mgmt's sequence on its flows", theirs))]
    print(tabulate(rows, ["on one port", "requests", "seconds"]))
    print(f"PFC-1 against that sequence: {ours.requests / theirs.requests:.1f} times the requests,"
          f" {ours.seconds / theirs.seconds:.1f} times the time")
    return PASS


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("testbed", metavar="TESTBED")
    options = parser.parse_args()
    environment(RESULTS)
    return run_in_lab(find_testbed(options.testbed, TESTBED_FILE, None, "bring it up first"), bench)


if __name__ == "__main__":
    sys.exit(main())
