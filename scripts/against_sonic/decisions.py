"""SONiC's watchdog scripts and the data plane's own decider: do they decide the same at the same polls?"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from scripts.against_sonic.histories import Round
from scripts.against_sonic.redis_server import own_redis
from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.dataplane.model.hooks import Hooks
from virtual_testbed.dataplane.model.watchdog_decider import (
    OPERATIONAL, PERSONALITIES, STORM, STORMED, Decision, PersonalityDecider, PolledQueue)
from virtual_testbed.sonic import databases
from virtual_testbed.sonic.counters import ObjectIds
from virtual_testbed.sonic.counters_db import CountersDb
from virtual_testbed.sonic.profile import Port, Profile, load_profile
from virtual_testbed.sonic.publisher import Publisher
from virtual_testbed.sonic.watchdog_scripts import Script, ScriptDecider, read_scripts

SWITCH = "compared"
QUEUES_PER_PORT = 8
PORTS = 125
POLLS = 40
SHOWN = 5


class Difference(NamedTuple):
    """The first poll of a history at which one of both decides otherwise."""

    seed: int
    poll: int
    port: str
    queue: int
    model: str
    scripts: str
    reads: str

    def __str__(self) -> str:
        return (f"seed {self.seed} {self.port} queue {self.queue} poll {self.poll}: model "
                f"{self.model or 'nothing'}, scripts {self.scripts or 'nothing'}; {self.reads}")


@dataclass
class Comparison:
    """What the histories of a platform came to; `counts`: histories, polls of queues and decisions."""

    platform: str
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def __str__(self) -> str:
        numbers = ", ".join(f"{value} {name}" for name, value in self.counts.items())
        found = "\n".join(f"  {difference}" for difference in self.differences[:SHOWN])
        return f"{self.platform}: {numbers}, {len(self.differences)} differ" + (f"\n{found}" if found else "")


def compare(platform: str, swss: Path, histories: int, seed: int = 0) -> Comparison:
    """Let both judge so many random histories, 1,000 queues of a switch at a time.

    Raises:
        ScriptError: the checkout has no scripts for that platform.
        DatabaseError: Redis failed.
    """
    scripts = read_scripts(swss, platform)
    comparison = Comparison(platform)
    while comparison.counts["histories"] < histories:
        with own_redis() as socket:
            _Contest(platform, scripts, socket, seed, comparison).run()
        seed += 1
    return comparison


def platforms() -> Sequence[str]:
    """The platforms that the model knows."""
    return tuple(PERSONALITIES)


def _profile() -> Profile:
    """A switch that is large enough."""
    profile = load_profile("Arista-7060CX-32S-C32")
    some = next(iter(profile.ports.values()))
    ports: dict[str, Port] = {f"Ethernet{number}": replace(some, name=f"Ethernet{number}") for number in range(PORTS)}
    return replace(profile, ports=ports, unicast_queues=QUEUES_PER_PORT, multicast_queues=0)


class _Contest:
    """One round: both decide on the same polls, and the queues' states follow what the model decides."""

    def __init__(self, platform: str, scripts: Sequence[Script], socket: str, seed: int,
                 comparison: Comparison) -> None:
        self._comparison = comparison
        ids = ObjectIds(_profile())
        queues = {ids.queue(*queue): queue for queue in ids.queues()}
        self._round = Round(seed, tuple(queues.values()))
        self._config = SwitchConfig(SWITCH, "00:aa:bb:cc:dd:ee", platform, 208, {}, {})
        publisher = Publisher(socket, "COUNTERS_DB")
        self._counters = CountersDb(SWITCH, publisher, ids, Hooks([]))
        self._counters.publish_maps(None)
        self._model = PersonalityDecider(platform)
        self._scripts = ScriptDecider(SWITCH, socket, scripts, queues, self._publish)
        self._socket = socket
        self._states = dict.fromkeys(self._round.queues, OPERATIONAL)
        self._left_out: set[tuple[str, int]] = set()

    def _publish(self, polled: Sequence[PolledQueue], now_ps: int) -> None:
        self._counters.publish_polled(polled, self._config, now_ps)

    def run(self) -> None:
        """All polls of the round."""
        for poll in range(POLLS):
            self._round.advance()
            self._poll(poll)
        self._comparison.counts["histories"] += len(self._round.queues)
        with databases.connect(self._socket, "COUNTERS_DB") as connection:
            connection.call("FLUSHALL")
        self._scripts.close()

    def _poll(self, poll: int) -> None:
        polled = [
            PolledQueue(*key, history.sample, self._states[key], history.config, self._round.is_big_red)
            for key, history in self._round.histories.items()
            if history.config is not None and key not in self._left_out]
        self._comparison.counts["polls"] += len(polled)
        model, scripts = (
            _by_queue(decider.decide(polled, self._round.poll_ms, self._round.now_ps))
            for decider in (self._model, self._scripts))
        for queue in polled:
            found = model.get(queue.key, ""), scripts.get(queue.key, "")
            if found[0] != found[1]:
                self._note(queue, poll, *found)
            self._follow(queue, found[0])
        for key, history in self._round.histories.items():
            if history.config is None:
                self._states[key] = OPERATIONAL

    def _note(self, queue: PolledQueue, poll: int, model: str, scripts: str) -> None:
        """Both have parted: the rest of this history says nothing."""
        self._left_out.add(queue.key)
        self._comparison.differences.append(Difference(
            self._round.seed, poll, queue.port, queue.number, model, scripts, f"{queue.status}, {queue.config}, "
            f"{queue.sample}"))

    def _follow(self, queue: PolledQueue, event: str) -> None:
        if event:
            self._comparison.counts[event] += 1
            self._states[queue.key] = STORMED if event == STORM else OPERATIONAL


def _by_queue(decisions: Sequence[Decision]) -> dict[tuple[str, int], str]:
    return {(decision.port, decision.queue): decision.event for decision in decisions}
