"""LSET and TAG: pauses where both ports of the pair are configured otherwise than the switch was found, for one case;
then that is put back (`configuration`). LSET: other sets of lossless priorities than the switch's own, one to all
eight. TAG: ports that sort frames by the priority in their VLAN tag (IEEE 802.1p) instead of their DSCP. The steps and
checks in between are those of PFC-1 to PFC-4, in LSET-7 to LSET-11 and TAG-3 those of other families."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from ..lab.configuration import (
    configured, lossless_set, read_config, trusting_tags, with_priorities_of, with_tags,
)
from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..model.measurement import Measurement, PortUnderTest
from ..model.qos import PRIORITIES
from ..model.scenario import Scenario
from ..record.case import PlanCase, Target
from ..record.verdict import LOSSLESS
from . import class_pauses, headroom, sent_pauses, timing_storms
from .changed_switch import CHANGEABLE, changeable, inside
from .checks import judge, validity
from .engine import Procedure, Table, Targets, settled_counters, with_late_counts
from .parts import CasePart, MeasureParts, RunInParts, in_parts
from .pauses import global_pause, pause_lossless, pause_lossy
from .restarted import restart_pair
from .storm_sequence import measure
from .targets import all_lossless
from .watchdog import actions, watched

ONE = PlanCase("lossless-set-one", "LSET-1")
THREE = PlanCase("lossless-set-three", "LSET-2")
SEVEN = PlanCase("lossless-set-seven", "LSET-3")
EIGHT = PlanCase("global-pause-all-lossless", "LSET-4", (LOSSLESS,))
PUT_BACK = PlanCase("lossless-set-put-back", "LSET-5")
EACH = PlanCase("lossless-set-each", "LSET-6")
SEVEN_COVERED = PlanCase("lossless-set-headroom", "LSET-7", (LOSSLESS,))
SEVEN_SENT = PlanCase("lossless-set-sent-pauses", "LSET-8")
SEVEN_STOPPED = PlanCase("lossless-set-storms", "LSET-9")
SEVEN_TIMED = PlanCase("lossless-set-own-times", "LSET-10")
SEVEN_WATCHED = PlanCase("lossless-set-watchdog", "LSET-11")
TAGGED = PlanCase("tagged-lossless", "TAG-1")
TAGGED_AFTERWARDS = PlanCase("tagged-after-shutdown", "TAG-2")
TAGGED_STOPPED = PlanCase("tagged-storms", "TAG-3")

PRIORITY_TAG = 0  # IEEE 802.1Q: a tag without a VLAN; the frame is in the port's own, whichever that is
NEEDS = f"{CHANGEABLE}, generators with eight PFC queues, and a lossy priority that some DSCP value reaches"
EACH_DATA_S = 2


def in_turn(runs: Mapping[str, Measurement], **configured: Any) -> RunInParts:
    """Storms by their keys in the record, in the order in which they were measured; `configured`: how the switch was,
    for the record."""
    parts = tuple(CasePart(run, validity, judge, name) for name, run in runs.items())
    return RunInParts(parts, parts[-1].run.settled, configured)


def storm(lab: Lab, scenario: Scenario, before: DutCounters) -> Measurement:
    """The test plan's steps: one of the storms of a case."""
    return with_late_counts(lab, measure(lab, scenario, before), validity, judge)


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


def every_other(subject: PortUnderTest) -> list[Target]:
    """Each of the eight priorities but that of LSET-1."""
    return [tuple(priority for priority in PRIORITIES if (priority,) != alone) for alone in one(subject)]


def whole_port_changeable(subject: PortUnderTest) -> list[Target]:
    """The whole port, where such sets can be configured."""
    return [()] if _lossy(subject) else []


def pauses_of_a_set(lab: Lab, target: Target, before: DutCounters, and_lossy: bool = False) -> RunInParts:
    """LSET-1 to LSET-3: PFC-2's steps with the target as the lossless set. `and_lossy`: what is lossy then, the
    switch's own set among it, is paused too, and must be spared as in PFC-3."""
    with _lossless(lab, target) as other:
        runs = {"pause_lossless": storm(other, pause_lossless(target, other.subject.qos), before)}
        if and_lossy:
            scenario = pause_lossy(other.subject.qos.reached_lossy, other.subject.qos)
            runs["pause_lossy"] = storm(other, scenario, runs["pause_lossless"].after)
    return in_turn(runs, configured_lossless=list(target))


def global_pause_of_eight(lab: Lab, target: Target, before: DutCounters) -> RunInParts:
    """LSET-4: PFC-4's steps with PFC enabled for all eight priorities."""
    eight = tuple(PRIORITIES)
    with _lossless(lab, eight) as other:
        run = storm(other, global_pause(target, other.subject.qos), before)
    return in_turn({"global_pause": run}, configured_lossless=list(eight))


def put_back(lab: Lab, target: Target, before: DutCounters) -> RunInParts:
    """LSET-5: seven lossless priorities, and then the switch's own again. A storm on those must hold them, and a storm
    on what was lossless in between must change nothing."""
    seven = all_but_one(lab.subject)[0]
    qos = lab.subject.qos
    with _lossless(lab, seven):
        pass
    lossless = storm(lab, pause_lossless(qos.lossless, qos), before)
    lossy = storm(lab, pause_lossy(_lossy(lab.subject), qos), lossless.after)
    return in_turn({"pause_lossless": lossless, "pause_lossy": lossy}, configured_lossless=list(seven))


def each_alone(lab: Lab, target: Target, before: DutCounters) -> RunInParts:
    """LSET-6: PFC-1's steps, with less data, for each priority in turn while it alone is lossless."""
    runs: dict[str, Measurement] = {}
    for priority in target:
        with _lossless(lab, (priority,)) as other:
            scenario = pause_lossless((priority,), other.subject.qos)
            run = storm(other, replace(scenario, data_s=EACH_DATA_S), before)
        runs[f"priority {priority}"] = run
        before = run.after
    return in_turn(runs, configured_lossless="each alone")


def of_seven(procedure: Procedure[Any]) -> Procedure[Any]:
    """Another case, about a lossless set of seven."""
    return inside(_lossless, procedure, Targets(all_but_one, NEEDS))


def pauses_by_tag(lab: Lab, target: Target, before: DutCounters, restarted: bool = False) -> RunInParts:
    """TAG-1 and TAG-2: PFC-1's steps for each lossless priority in turn, while both ports trust the tag. `restarted`:
    once both were down and are up again."""
    runs: dict[str, Measurement] = {}
    with _tagged(lab, target) as other:
        if restarted:
            restart_pair(lab)
            before = settled_counters(lab)
        for priority in target:
            run = storm(other, pause_lossless((priority,), other.subject.qos), before)
            runs[f"priority {priority}"] = run
            before = run.after
    return in_turn(runs, vlan_id=PRIORITY_TAG)


def _lossy(subject: PortUnderTest) -> Target:
    """Lossy priorities that some DSCP value reaches; none where nothing may be changed, or where the sender's pause of
    one priority holds others too."""
    qos = subject.qos
    if not subject.changeable or subject.tolerances.pfc_queues < len(PRIORITIES):
        return ()
    return qos.reached_lossy


@contextmanager
def _lossless(lab: Lab, priorities: Target) -> Iterator[Lab]:
    """What to measure with while exactly these priorities are lossless on the pair."""
    pair = lab.subject.pair
    config_db = read_config(lab)
    rows = lossless_set(config_db, lab.dut.name, (pair.rx.port, pair.tx.port), priorities)
    other = with_priorities_of(lab, config_db, rows)
    with configured(lab, config_db, rows):
        yield other


@contextmanager
def _tagged(lab: Lab, _: Target) -> Iterator[Lab]:
    """What to measure with while both ports of the pair trust the tag."""
    pair = lab.subject.pair
    config_db = read_config(lab)
    rows = trusting_tags(config_db, lab.dut.name, (pair.rx.port, pair.tx.port))
    with configured(lab, config_db, rows):
        yield with_tags(lab, PRIORITY_TAG)


def reconfigured_case(
    measured: MeasureParts, targets: Callable[[PortUnderTest], list[Target]]
) -> Procedure[RunInParts]:
    """A case that is measured so, about these targets."""
    return in_parts(measured, Targets(targets, NEEDS))


watched_seven = of_seven(actions.CASES[actions.DROP_SEVERAL])
by_tag = changeable(all_lossless)
CASES: Table = {
    ONE: reconfigured_case(partial(pauses_of_a_set, and_lossy=True), one),
    THREE: reconfigured_case(pauses_of_a_set, three),
    SEVEN: reconfigured_case(pauses_of_a_set, all_but_one),
    EIGHT: reconfigured_case(global_pause_of_eight, whole_port_changeable),
    PUT_BACK: reconfigured_case(put_back, whole_port_changeable),
    EACH: reconfigured_case(each_alone, every_other),
    SEVEN_COVERED: of_seven(headroom.CASES[headroom.SEVERAL]),
    SEVEN_SENT: of_seven(sent_pauses.CASES[sent_pauses.SEVERAL]),
    SEVEN_STOPPED: of_seven(timing_storms.CASES[timing_storms.STORMS]),
    SEVEN_TIMED: of_seven(class_pauses.CASES[class_pauses.OWN_TIMES]),
    SEVEN_WATCHED: replace(watched_seven, targets=watched.in_software(watched_seven.targets).where(
        lambda subject: watched.follows_set(subject.qos), watched.HAS_FIELD)),
    TAGGED: in_parts(pauses_by_tag, by_tag),
    TAGGED_AFTERWARDS: in_parts(partial(pauses_by_tag, restarted=True), by_tag),
    TAGGED_STOPPED: inside(_tagged, timing_storms.CASES[timing_storms.STORMS], by_tag),
}
