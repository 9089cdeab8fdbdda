"""WD-17 to WD-19: what a watchdog must leave alone. While it runs headroom is as large as without it (WD-17); pauses of
priorities that it does not watch are counted and change nothing, and no more do frames that pause nobody (WD-18). A
storm goes on to be one while the watchdog of another port is stopped and started (WD-19)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ...lab.generator import SETTLE_S
from ...lab.lab import Lab
from ...lab.watchdog import watching
from ...model.checking import at_port, at_priorities, at_queue, fail_unless
from ...model.counters import DutCounters
from ...model.measurement import CaseRun, Measurement
from ...model.ports import PortPair
from ...model.scenario import Scenario, Storm
from ...model.traffic import Role
from ...record.case import PlanCase, Target
from ...record.verdict import LOSSLESS, Check
from ..checks import judge as judge_scenario, validity as validity_of_scenario
from ..engine import Procedure, Table, settled_counters, unmet
from ..frames import all_times
from ..headroom import CASES as HEADROOM, OVERFLOW
from ..parts import CasePart, RunInParts, in_parts
from ..pauses import CASES as PAUSES, LOSSY, pause_lossless
from ..storm_sequence import measure as measure_scenario
from .checks import (
    DATA_S, WatchdogRun, detected, lead_s, no_other_storm, restored, storm_lasted, undisturbed_while_watched,
)
from .steps import TIMERS, storms_over, until_detected, watching_pair
from .watched import NEEDS, WATCHED, all_watched, in_software, watched, watched_alike

ROOM = PlanCase("watchdog-headroom", "WD-17", (LOSSLESS,))
LOSSY_STORM = PlanCase("watchdog-lossy-storm", "WD-18")
OTHER_PORT = PlanCase("watchdog-other-port-restarted", "WD-19", (LOSSLESS,))
RESTART_S = SETTLE_S + lead_s(TIMERS)
"""How long the watchdog of the tx port is stopped, and then runs until it would have detected a storm."""
NO_STORM = "no storm detected"
ALIKE = f"the same lossless priorities {WATCHED} at both ports of the pair"
STOPPED = "watchdog-stopped"
"""The check of other cases that no watchdog runs."""
UNAFFECTED = ("test-unaffected", "background-unaffected")
"""What is asked of frames that pause nobody; the rest is for PFC-4 and FRAME-5, whose frames they are."""


def while_watched(
    procedure: Procedure[Any], ports: Callable[[PortPair], tuple[str, ...]],
    further: Callable[[Lab], Sequence[Scenario]] = lambda lab: (),
) -> Procedure[RunInParts]:
    """The procedure of another case while the watchdog of these ports of the pair runs: it must not detect a storm.
    `further`: what is sent afterwards, while all is well, in the same way."""

    def measure(lab: Lab, target: Target, before: DutCounters) -> RunInParts:
        with watching(lab.dut, lab.clock, ports(lab.subject.pair), lab.subject.qos.lossless) as watchdog:
            watchdog.start(TIMERS)
            run = procedure.measure(lab, target, settled_counters(lab))
            parts = [CasePart(run, partial(_validity, procedure.validity), partial(_judge, procedure.judge, ""))]
            for scenario in further(lab):
                if unmet([*parts[-1].validity(run), *parts[-1].judge(run)]):
                    break
                run = measure_scenario(lab, scenario, run.after)
                parts.append(CasePart(run, partial(_validity, validity_of_scenario),
                                      partial(_judge, _unaffected, f" {scenario.moment}"), f"storm_{len(parts) + 1}"))
        # settled: what was read last has the watchdog's rows
        return RunInParts(tuple(parts), settled=None)

    where_watched = procedure.targets.where(lambda subject: watched(subject.qos), NEEDS).where(
        lambda subject: watched_alike(subject.qos, ports(subject.pair)), ALIKE)
    return in_parts(measure, in_software(where_watched))


def _validity(validity: Callable[[Any], Iterable[Check]], run: CaseRun) -> Iterator[Check]:
    """Without what says that no watchdog runs."""
    return (check for check in validity(run) if check.name != STOPPED)


def _judge(judge: Callable[[Any], Iterable[Check]], when: str, run: CaseRun) -> Iterator[Check]:
    """Also that the watchdog took nothing for a storm. `when`: for the messages."""
    yield from judge(run)
    expected = f"{NO_STORM}{when}"
    stormed = sorted({*run.storms_detected(), *run.stormed()})
    for queue in stormed:
        yield fail_unless("no-storm-detected", at_queue(run.subject, queue), False, expected, "one")
    if not stormed:
        yield fail_unless("no-storm-detected", at_port(run.subject), True, expected, "none")


def _unaffected(run: Measurement) -> Iterator[Check]:
    return (check for check in judge_scenario(run) if check.name in UNAFFECTED)


def pausing_nobody(lab: Lab) -> list[Scenario]:
    """Storms of 802.3x pauses, and of PFC without an enable bit, while data of lossless priorities runs; none where no
    such data gets there."""
    qos = lab.subject.qos
    tested = qos.reached_lossless
    if not tested:
        return []
    paused = replace(pause_lossless(tested, qos), data_s=DATA_S)
    without = replace(paused, storm=Storm.INVALID, frame=all_times(tested, lab), called="PFC without an enable bit")
    return [replace(paused, storm=Storm.GLOBAL), without]


def other_port_restarted(lab: Lab, target: Target, before: DutCounters) -> WatchdogRun:
    """A storm; when it must have been detected the watchdog of the tx port is stopped and started; then it ends."""
    lab.subject.qos.check_reached(target)
    other = lab.subject.pair.tx.port
    with watching_pair(lab) as watchdog:
        with until_detected(lab, target, watchdog, RESTART_S) as traffic:
            watchdog.stop_at(other)
            lab.clock.sleep(SETTLE_S)
            watchdog.start_at(other)
            lab.clock.sleep(RESTART_S - SETTLE_S)
            during = watchdog.counters()
            over = storms_over(lab, traffic, TIMERS)
        lab.clock.sleep(lab.delays.port_s)
        return WatchdogRun(
            lab.subject, before, during, watchdog.stop(), target, {"over": over}, TIMERS, watchdog.queues
        )


def restarted_validity(run: WatchdogRun) -> Iterator[Check]:
    """Whether the storm was a measurement."""
    yield from undisturbed_while_watched(run)
    place = at_priorities(run.subject, run.tested)
    yield from storm_lasted(run, place, run.flows("over", Role.STORM), lead_s(run.timers) + RESTART_S)


def judge_restarted(run: WatchdogRun) -> Iterator[Check]:
    """The storm was detected once, nowhere else, and is over once."""
    yield from detected(run, "while the watchdog of the tx port was stopped and started")
    yield from no_other_storm(run)
    yield from restored(run)


CASES: Table = {
    ROOM: while_watched(HEADROOM[OVERFLOW], lambda pair: (pair.tx.port,)),
    LOSSY_STORM: while_watched(PAUSES[LOSSY], lambda pair: (pair.rx.port, pair.tx.port), pausing_nobody),
    OTHER_PORT: Procedure(other_port_restarted, restarted_validity, judge_restarted, all_watched),
}
