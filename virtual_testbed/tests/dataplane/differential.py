"""Random small testbeds, run by the data plane and by the oracle, compared in every counter at random instants."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import fields
from typing import Any
from unittest.mock import patch

from virtual_testbed.dataplane.compiled import Compiled
from virtual_testbed.dataplane.fast_forward import partition, skip
from virtual_testbed.dataplane.network import Network
from virtual_testbed.faults import BUILT_IN, Fault, Scope
from virtual_testbed.tests.dataplane.differential_cases import Case
from virtual_testbed.tests.dataplane.oracle import Counts, Oracle, OracleFault

PEAKS = {"watermark_bytes": "watermark_bound_bytes", "shared_watermark_bytes": "shared_watermark_bound_bytes"}
"""Peaks of what the data plane may not have stepped, and the bounds that it gives for them."""
US = 10**6
FIRST_SAMPLES = "virtual_testbed.dataplane.compiled.stepper.FIRST_SAMPLES"
CAPTURING: Mapping[str, Callable[[Network, str], None]] = {
    "capture": Network.start_capture, "end capture": Network.stop_capture}
NOT_COMPARED = ("speed_mbps", "tx_errors")
OPTIONS = {"pause-leaks": "period_ms", "slow-response": "factor", "lossless-dropped": "one_in",
           "lossy-dropped": "one_in", "pause-short": "percent", "pfc-unasked": "period_ms", "watchdog-late": "factor"}


def network_fault(fault: OracleFault) -> Fault:
    """The same fault for the data plane."""
    scope = Scope(fault.switch, fault.port, fault.priority, None, fault.since, fault.until)
    options = {OPTIONS[fault.name]: str(fault.value)} if fault.name in OPTIONS else {}
    return BUILT_IN[fault.name](scope, **options)


def build_network(case: Case) -> Network:
    """The case's testbed in the data plane."""
    net = Network([network_fault(fault) for fault in case.faults])
    for link in case.links:
        net.add_link(*link)
    for switch_link in case.switch_links:
        net.add_switch_link(*switch_link)
    for config in case.configs:
        net.configure_switch(config)
    net.set_traffic(case.ports, case.hosts, case.flows)
    return net


def build_oracle(case: Case) -> Oracle:
    """The case's testbed in the oracle."""
    oracle = Oracle(case.configs, case.links, case.switch_links, case.faults)
    oracle.set_traffic(case.ports, case.hosts, case.flows)
    return oracle


def command(model: Network | Oracle, name: str, argument: Any) -> None:
    """Give a command of a case's steps."""
    what: dict[str, Callable[[Any], None]] = {
        "start": model.start_flows, "stop": model.stop_flows, "hold": model.pause_flows, "go on": model.resume_flows,
        "clear": model.clear_flow_counters, "configure": model.configure_switch,
        "down": lambda port: model.set_link(port, False), "up": lambda port: model.set_link(port, True)}
    if name in CAPTURING:
        if isinstance(model, Network):  # a capture changes nothing but how the data plane computes
            CAPTURING[name](model, argument)
    elif name != "read":
        what[name](argument)


def run_case(case: Case, compiled: bool = False) -> tuple[list[str], Network, Oracle]:
    """Differences between data plane and oracle as sentences, and the two.

    Args:
        compiled: compiled code steps whenever it can; else never.
    """
    is_short = case.first_check == 10
    longest = 40 if is_short else skip.LONGEST_CHECK
    with ExitStack() as stack:
        stack.enter_context(patch.multiple(skip, FIRST_CHECK=case.first_check, LONGEST_CHECK=longest))
        stack.enter_context(patch.object(partition, "SHORTEST_PS", US))
        if compiled:
            stack.enter_context(patch.multiple(skip, COMPILED_FROM=0, MANY_REGENERATIONS=0 if is_short else 16,
                                               FIRST_COMPILED=100 if is_short else skip.FIRST_COMPILED,
                                               MOST_COMPILED=400 if is_short else skip.MOST_COMPILED))
            stack.enter_context(patch(FIRST_SAMPLES, 2 if is_short else 64))
        else:
            stack.enter_context(patch.object(Compiled, "stepper", lambda compiled: None))
        return _run_case(case)


def _run_case(case: Case) -> tuple[list[str], Network, Oracle]:
    net, oracle = build_network(case), build_oracle(case)
    for time_ps, name, argument in case.steps:
        for model in (net, oracle):
            model.advance_to(time_ps)
            command(model, name, argument)
        differences = compare(net, oracle, case) if name == "read" else []
        if differences:
            return differences, net, oracle
    return [], net, oracle


def compare(net: Network, oracle: Oracle, case: Case) -> list[str]:
    """Every counter that both have; a peak may lie between the data plane's figure and its bound."""
    mine, theirs = read_network(net, case), oracle.read()
    bounds = {key: mine.pop((*key[:-1], PEAKS[key[-1]])) for key in [*mine] if key[-1] in PEAKS}
    return [f"at {net.now_ps} ps {' '.join(map(str, key))}: data plane {mine.get(key)}"
            f"{f' to {bounds[key]}' if key in bounds else ''}, oracle {theirs.get(key)}"
            for key in sorted(mine.keys() | theirs.keys(), key=str)
            if mine.get(key) != theirs.get(key) and not (
                key in bounds and mine[key] <= theirs.get(key, 0) <= bounds[key])]


def read_network(net: Network, case: Case) -> Counts:
    """The data plane's counters under the oracle's names."""
    found: Counts = {}
    for flow in case.flows:
        _add(found, ("flow", flow.name), net.flow_counters(flow.name))
    for port in case.ports:
        _add(found, ("generator", port.name), net.generator_counters(port.name))
    for config in case.configs:
        counters, states = net.switch_counters(config.name), net.switch_states(config.name)
        parts: list[tuple[str, Mapping[Any, Any]]] = [
            ("port", {(name,): values for name, values in counters.ports.items()}), ("queue", counters.queues),
            ("group", counters.priority_groups), ("watchdog", states.watchdog)]
        for what, values in parts:
            for place, value in values.items():
                _add(found, (what, config.name, *place), value)
        found |= {("port", config.name, name, "oper_up"): is_up for name, is_up in states.oper_up.items()}
        found |= {("drops", config.name, *place): number for place, number in counters.drops.items()}
    return found


def _add(found: Counts, place: tuple[Any, ...], counters: Any) -> None:
    found.update({(*place, field.name): getattr(counters, field.name) for field in fields(counters)
                  if field.name not in NOT_COMPARED})
