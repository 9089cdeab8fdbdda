"""SONiC's watchdog scripts and the data plane's own decider: do they decide the same at the same polls?"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.against_sonic.histories import Round
from scripts.against_sonic.redis_server import own_redis
from scripts.against_sonic.scripted import QUEUES, scripted
from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.dataplane.model.watchdog_decider import (
    OPERATIONAL, PERSONALITIES, STORM, STORMED, Decision, PersonalityDecider, PolledQueue)
from virtual_testbed.sonic.watchdog_scripts import ScriptDecider, read_scripts

PORTS = [f"Ethernet{number}" for number in range(125)]
POLLS = 40
SHOWN = 5


@dataclass
class PlatformComparison:
    """What the histories, or testbeds, of a platform came to; `counts`: them, polls of queues and decisions.
    `differences` are sentences.
    """

    platform: str
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        numbers = ", ".join(f"{value} {name}" for name, value in self.counts.items())
        found = "\n".join(f"  {difference}" for difference in self.differences[:SHOWN])
        return f"{self.platform}: {numbers}, {len(self.differences)} differ" + (f"\n{found}" if found else "")


def compare(platform: str, swss: Path, histories: int, seed: int = 0) -> PlatformComparison:
    """Let both judge so many random histories, 1,000 queues of a switch at a time.

    Raises:
        ScriptError: the checkout has no scripts for that platform.
        DatabaseError: Redis failed.
    """
    scripts = read_scripts(swss, platform)
    config = SwitchConfig("compared", "00:aa:bb:cc:dd:ee", platform, 208, {}, {})
    comparison = PlatformComparison(platform)
    while comparison.counts["histories"] < histories:
        polls = Round(seed, [(port, queue) for port in PORTS for queue in range(QUEUES)])
        with own_redis() as socket, scripted(config, PORTS, socket, scripts) as decider:
            _Contest(polls, decider, comparison).run()
        seed += 1
    return comparison


def platforms() -> Sequence[str]:
    """The platforms that the model knows."""
    return tuple(PERSONALITIES)


class _Contest:
    """One round: both decide on the same polls, and the queues' states follow what the model decides."""

    def __init__(self, polls: Round, scripts: ScriptDecider, comparison: PlatformComparison) -> None:
        self._round = polls
        self._scripts = scripts
        self._comparison = comparison
        self._model = PersonalityDecider(comparison.platform)
        self._states = dict.fromkeys(polls.queues, OPERATIONAL)
        self._left_out: set[tuple[str, int]] = set()

    def run(self) -> None:
        """All polls of the round."""
        for poll in range(POLLS):
            self._round.advance()
            self._poll(poll)
        self._comparison.counts["histories"] += len(self._round.queues)

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
        self._comparison.differences.append(
            f"seed {self._round.seed} {queue.port} queue {queue.number} poll {poll}: model {model or 'nothing'}, "
            f"scripts {scripts or 'nothing'}; {queue.status}, {queue.config}, {queue.sample}")

    def _follow(self, queue: PolledQueue, event: str) -> None:
        if event:
            self._comparison.counts[event] += 1
            self._states[queue.key] = STORMED if event == STORM else OPERATIONAL


def _by_queue(decisions: Sequence[Decision]) -> dict[tuple[str, int], str]:
    return {(decision.port, decision.queue): decision.event for decision in decisions}
