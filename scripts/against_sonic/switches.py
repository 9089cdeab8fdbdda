"""Random testbeds run twice, once with SONiC's watchdog scripts and once with the data plane's own decider: every
counter must be equal, because every frame went the same way.
"""
from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from scripts.against_sonic.decisions import PlatformComparison
from scripts.against_sonic.redis_server import own_redis
from scripts.against_sonic.scripted import scripted
from virtual_testbed.dataplane.network import Network
from virtual_testbed.sonic.watchdog_scripts import Script, read_scripts
from virtual_testbed.tests.dataplane.differential import build_network, command, read_network
from virtual_testbed.tests.dataplane.differential_cases import Case, make_case

FAMILY = "watchdog"
_COUNTED = {"detected": "storm", "restored": "restore"}


def compare_testbeds(platform: str, swss: Path, cases: int) -> PlatformComparison:
    """Run so many random testbeds both ways.

    Raises:
        ScriptError: the checkout has no scripts for that platform.
        DatabaseError: Redis failed.
    """
    scripts = read_scripts(swss, platform)
    comparison = PlatformComparison(platform)
    with contextlib.ExitStack() as stack:
        sockets: list[str] = []
        for seed in range(cases):
            case = _on_platform(make_case(seed, FAMILY), platform)
            while len(sockets) < len(case.configs):
                sockets.append(stack.enter_context(own_redis()))
            _run(case, scripts, sockets, seed, comparison)
    return comparison


def _on_platform(case: Case, platform: str) -> Case:
    """The same testbed with other ASICs."""
    steps = [(time_ps, name, replace(argument, asic_type=platform) if name == "configure" else argument)
             for time_ps, name, argument in case.steps]
    return replace(case, configs=[replace(config, asic_type=platform) for config in case.configs], steps=steps)


def _run(case: Case, scripts: Sequence[Script], sockets: Sequence[str], seed: int,
         comparison: PlatformComparison) -> None:
    with contextlib.ExitStack() as stack:
        model, other = build_network(case), build_network(case)
        for config, socket in zip(case.configs, sockets):
            decider = stack.enter_context(scripted(config, config.ports, socket, scripts))
            other.decide_watchdog_by(config.name, decider)
        comparison.counts["testbeds"] += 1
        found = _differences(case, model, other)
        comparison.differences += [f"testbed {seed} {difference}" for difference in found]
        for key, value in read_network(other, case).items():
            if key[-1] in _COUNTED:
                comparison.counts[_COUNTED[key[-1]]] += value


def _differences(case: Case, model: Network, other: Network) -> list[str]:
    """The first counters that are not equal."""
    for time_ps, name, argument in case.steps:
        for network in (model, other):
            network.advance_to(time_ps)
            command(network, name, argument)
        mine, theirs = read_network(model, case), read_network(other, case)
        found = [f"at {time_ps} ps {' '.join(map(str, key))}: model {mine.get(key)}, scripts {theirs.get(key)}"
                 for key in sorted(mine.keys() | theirs.keys(), key=str) if mine.get(key) != theirs.get(key)]
        if found:
            return found[:1]
    return []
