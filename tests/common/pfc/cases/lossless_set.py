"""LSET-1 to LSET-5: pauses with other sets of lossless priorities than the switch's own, one to all eight.

The set is configured on both ports of the pair for one case and put back when it ends (`configuration`). The steps and
checks in between are those of PFC-2, PFC-3 and PFC-4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..lab.clock import wait_for
from ..lab.configuration import configured, lossless_set, read_config, with_priorities_of
from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import Measurement, PortUnderTest
from ..model.qos import PRIORITIES
from ..model.scenario import Scenario
from ..record.case import PlanCase, Target
from ..record.verdict import LOSSLESS
from .checks import judge
from .engine import Finding, Procedure
from .pauses import global_pause, pause_lossless, pause_lossy
from .storm_sequence import measure
from .validity import validity

ONE = PlanCase("lossless-set-one", "LSET-1")
THREE = PlanCase("lossless-set-three", "LSET-2")
SEVEN = PlanCase("lossless-set-seven", "LSET-3")
EIGHT = PlanCase("global-pause-all-lossless", "LSET-4", (LOSSLESS,))
PUT_BACK = PlanCase("lossless-set-put-back", "LSET-5")

NEEDS = (
    "a switch whose configuration may be changed (a virtual testbed, or --pfc-change-config on hardware), generators"
    " with eight PFC queues, and a lossy priority that some DSCP value reaches"
)
GROUPS_DEADLINE_S = 20.0  # until the switch has derived priority groups; buffermgrd takes seconds


def one(subject: PortUnderTest) -> list[Target]:
    """One priority in the middle of the lossy ones that some DSCP value reaches, so that the set and the switch's own
    have nothing in common."""
    lossy = _lossy(subject)
    return [(lossy[(len(lossy) - 1) // 2],)] if lossy else []


def three(subject: PortUnderTest) -> list[Target]:
    """The three lowest lossy ones."""
    return [lossy[:3]] if (lossy := _lossy(subject)) else []


def all_but_one(subject: PortUnderTest) -> list[Target]:
    """Seven priorities: all but the highest lossy one."""
    if not _lossy(subject):
        return []
    highest = max(priority for priority in PRIORITIES if priority not in subject.qos.lossless)
    return [tuple(priority for priority in PRIORITIES if priority != highest)]


def whole_port(subject: PortUnderTest) -> list[Target]:
    """The whole port."""
    return [()] if _lossy(subject) else []


def pauses_of_a_set(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """LSET-1 to LSET-3: PFC-2's steps with the target as the lossless set. LSET-1 also pauses the switch's own set,
    which is lossy then, and must be spared as in PFC-3."""
    with _lossless(lab, target) as other:
        runs = {"pause_lossless": measure(other, pause_lossless(case, target, other.subject.qos), before)}
        if case is ONE:
            scenario = pause_lossy(case, lab.subject.qos.lossless, other.subject.qos)
            runs["pause_lossy"] = measure(other, scenario, runs["pause_lossless"].after)
    return finding(runs, {"configured_lossless": list(target)})


def global_pause_of_eight(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """LSET-4: PFC-4's steps with PFC enabled for all eight priorities."""
    eight = tuple(PRIORITIES)
    with _lossless(lab, eight) as other:
        run = measure(other, global_pause(case, target, other.subject.qos), before)
    return finding({"global_pause": run}, {"configured_lossless": list(eight)})


def put_back(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """LSET-5: seven lossless priorities, and then the switch's own again. A storm on those must hold them, and a storm
    on what was lossless in between must change nothing."""
    seven, qos = all_but_one(lab.subject)[0], lab.subject.qos
    with _lossless(lab, seven):
        pass
    runs: dict[str, Measurement] = {}
    scenarios: dict[str, Scenario] = {
        "pause_lossless": pause_lossless(case, qos.lossless, qos),
        "pause_lossy": pause_lossy(case, _lossy(lab.subject), qos),
    }
    for name, scenario in scenarios.items():
        runs[name] = measure(lab, scenario, before)
        before = runs[name].after
    return finding(runs, {"configured_lossless": list(seven)})


def _lossy(subject: PortUnderTest) -> Target:
    """Lossy priorities that some DSCP value reaches; none where nothing may be changed, or where the sender's pause of
    one priority holds others too."""
    qos = subject.qos
    if not subject.changeable or subject.tolerances.pfc_queues < len(PRIORITIES):
        return ()
    return tuple(one for one in qos.reachable if one not in qos.lossless)


@contextmanager
def _lossless(lab: Lab, priorities: Target) -> Iterator[Lab]:
    """What to measure with while exactly these priorities are lossless on the pair."""
    pair, config_db = lab.subject.pair, read_config(lab)
    rows = lossless_set(config_db, lab.dut.name, (pair.rx.port, pair.tx.port), priorities)
    other = with_priorities_of(lab, config_db, rows)
    with configured(lab, config_db, rows):
        wait_for_groups(lab, {(port, priority) for port in (pair.rx.port, pair.tx.port) for priority in priorities})
        yield other


def wait_for_groups(lab: Lab, owed: set[tuple[str, int]]) -> None:
    """Waits until the switch has a priority group for each lossless priority of the ports (APPL_DB, which has those of
    CONFIG_DB and derived ones).

    Raises:
        QualificationError: one is missing.
    """
    missing: set[tuple[str, int]] = set()

    def complete() -> bool:
        text = lab.dut.ask({"groups": "sonic-db-cli APPL_DB KEYS 'BUFFER_PG_TABLE:*'"})["groups"]
        missing.clear()
        missing.update(owed - _groups(text))
        return not missing

    if not wait_for(complete, GROUPS_DEADLINE_S, lab.clock, 2.0):
        port, priority = min(missing)
        raise QualificationError(
            f"{lab.subject.where(priority, port)}: PORT_QOS_MAP|{port} pfc_enable has it, but"
            f" {GROUPS_DEADLINE_S:.0f} s later the switch has no priority group for it (BUFFER_PG_TABLE in APPL_DB)"
        )


def _groups(text: str) -> set[tuple[str, int]]:
    """Port and number of each priority group, from keys like `BUFFER_PG_TABLE:Ethernet0:3-4`."""
    found = set()
    for _, ports, numbers in (line.strip().split(":") for line in text.splitlines() if line.count(":") == 2):
        first, _, last = numbers.partition("-")
        found |= {(port, one) for port in ports.split(",") for one in range(int(first), int(last or first) + 1)}
    return found


def finding(runs: Mapping[str, Measurement], configured_as: Mapping[str, Any]) -> Finding:
    """The runs together: nothing is judged unless each was a measurement. The evidence also says how the switch was
    configured."""
    invalid = [check for run in runs.values() for check in validity(run)]
    checks = [] if invalid else [check for run in runs.values() for check in judge(run)]
    evidence = {**configured_as, **{name: run.evidence() for name, run in runs.items()}}
    return Finding(checks, invalid, evidence, list(runs.values())[-1].after)


CASES: Mapping[PlanCase, Procedure] = {
    ONE: Procedure(pauses_of_a_set, one, NEEDS),
    THREE: Procedure(pauses_of_a_set, three, NEEDS),
    SEVEN: Procedure(pauses_of_a_set, all_but_one, NEEDS),
    EIGHT: Procedure(global_pause_of_eight, whole_port, NEEDS),
    PUT_BACK: Procedure(put_back, whole_port, NEEDS),
}
