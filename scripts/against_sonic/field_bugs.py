"""Bugs of SONiC's watchdog scripts that were reported from the field, on a virtual switch on which the scripts decide.

They are the scripts' own: the switch must show them as they were reported, or it is not like a switch.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from scripts.against_sonic.redis_server import own_redis
from scripts.against_sonic.scripted import scripted
from virtual_testbed.dataplane.model.counters import WatchdogState
from virtual_testbed.dataplane.model.hooks import Fault, Scope
from virtual_testbed.dataplane.network import Network
from virtual_testbed.sonic.watchdog_scripts import read_scripts
from virtual_testbed.tests.dataplane.testbeds import (
    MS, SECOND, SWITCH, data, network, storm, switch_config, with_watchdog)

_PORT = "Ethernet0"
_XOFF, _XON = "XOFF", "XON"


class UncountedWithoutPfc(Fault):
    """PFC frames are not counted while the watchdog has switched PFC off for all priorities of the port
    (buildimage#29203: Broadcom's SAI on Tomahawk 4 to 6).
    """

    def __init__(self, scope: Scope, priorities: frozenset[int]) -> None:
        super().__init__(scope)
        self._priorities = priorities
        self._off: set[int] = set()

    def watchdog_action(self, queue: int, action: str) -> str:
        """The same, and PFC of that queue is off now."""
        self._off.add(queue)
        return action

    def watchdog_undoes(self, queue: int, parts: frozenset[str]) -> frozenset[str]:
        """All of it, and PFC is on again."""
        self._off.discard(queue)
        return parts

    def counted(self, priority: int, priorities: frozenset[int]) -> frozenset[int]:
        """None while all are off."""
        return frozenset() if self._off >= self._priorities else priorities


class Shown(NamedTuple):
    """What was seen of a bug, and whether that is what was reported."""

    bug: str
    seen: str
    is_as_reported: bool


def field_bugs(swss: Path) -> Iterator[Shown]:
    """Each bug in turn.

    Raises:
        ScriptError: the checkout lacks scripts.
        DatabaseError: Redis failed.
    """
    for platform in ("broadcom", "mellanox", "vs", "cisco-8000"):
        yield _xon_storm(swss, platform)
    yield _all_priorities(swss, "one of two priorities", {3: 0xFFFF}, {1})
    yield _all_priorities(swss, "both", {3: 0xFFFF, 4: 0xFFFF}, set(range(5, 1000)))


@contextlib.contextmanager
def _switch(swss: Path, platform: str, flows: list[object], faults: list[Fault]) -> Iterator[Network]:
    """A switch of this platform whose Ethernet0 is watched: 200 ms to detect and to restore, a poll every 100 ms."""
    config = replace(with_watchdog(switch_config(2), _PORT), asic_type=platform)
    net = network(config, flows, faults)
    with own_redis() as socket, scripted(config, config.ports, socket, read_scripts(swss, platform)) as decider:
        net.decide_watchdog_by(SWITCH, decider)
        yield net


def _state(net: Network, queue: int = 3) -> WatchdogState:
    return net.switch_states(SWITCH).watchdog[_PORT, queue]


def _xon_storm(swss: Path, platform: str) -> Shown:
    """A storm of XOFF becomes one of XON, ends, and comes again as XON."""
    flows = [storm(_XOFF, 0, {3: 0xFFFF}), storm(_XON, 0, {3: 0}), data("data", 1, 0, [3], 3)]
    seen = []
    with _switch(swss, platform, flows, []) as net:
        for stop, start in (([], [_XOFF, "data"]), ([_XOFF], [_XON]), ([_XON], []), ([], [_XON])):
            net.stop_flows(stop)
            net.start_flows(start)
            net.advance_to(net.now_ps + 5 * SECOND)
            seen.append(_state(net).status)
    ends = "operational" if platform == "cisco-8000" else "stormed"
    return Shown(f"swss#4581 on {platform}", f"after XOFF {seen[0]}, in XON {seen[1]}, without {seen[2]}, "
                 f"in XON alone {seen[3]}", seen == ["stormed", ends, "operational", "operational"])


def _all_priorities(swss: Path, what: str, pauses: dict[int, int], expected: set[int]) -> Shown:
    """Storms that never end, on a switch that stops counting when PFC is off for both priorities."""
    fault = UncountedWithoutPfc(Scope(None, _PORT, None, None, 0, None), frozenset({3, 4}))
    with _switch(swss, "broadcom", [storm("storm", 0, pauses)], [fault]) as net:
        net.start_flows(["storm"])
        net.advance_to(20 * SECOND + MS)
        detected = _state(net).detected
    seen = f"{detected} storms detected in 20 s of one"
    return Shown(f"buildimage#29203, {what} in storm", seen, detected in expected)
