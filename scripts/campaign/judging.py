"""Judges an entry as a user's run judges a port: the suite's own steps with everything that looks on, and the diagnosis
over what is not PASS."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import snappi
import yaml

from scripts.campaign.broken_testbed import SWITCH, KnownDut, Testbed
from scripts.campaign.entries import CampaignEntry, Declaration
from scripts.campaign.groups import GroupDut, PortGroup
from scripts.campaign.results import Blame, EntryResult, EntryVerdict
from scripts.campaign.stages import QUICK_STAGES, Stage, named, stages
from tests.common.pfc.cases.plan import targets
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.diagnosis.rules import diagnose
from tests.common.pfc.diagnosis.symptoms import Diagnosis
from tests.common.pfc.lab.clock import Clock
from tests.common.pfc.lab.option import auditors
from tests.common.pfc.lab.planning import open_lab, plan_device
from tests.common.pfc.lab.port_plan import LabFacts, PortPlan, PortRequest
from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.record.case import Outcome, Target
from tests.common.pfc.record.verdict import PortVerdict, Status, combine
from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock
from tests.common.snappi_tests.client import quiet_snappi

MOST_CHECKS = 20
"""Checks that are not PASS which a result has; of more it says how many."""


@dataclass(frozen=True)
class Carried:
    """A test case that was carried out: of which priorities, what came of it, and how long that took."""

    target: Target
    outcome: Outcome
    seconds: float

    @property
    def called(self) -> str:
        """`PFC-1 3`."""
        return " ".join(filter(None, (self.outcome.case.plan_id, ",".join(map(str, self.target)))))


@dataclass(frozen=True)
class EntryBench:
    """A broken testbed that is up: where entries are judged.

    Attributes:
        testbed: what runtime.json says of it.
        dut: its switch, whose watchdog is stopped.
        clock, api: of the testbed.
    """

    testbed: Testbed
    dut: KnownDut
    clock: Clock
    api: Any

    @classmethod
    def of(cls, testbed: Testbed, dut: KnownDut) -> EntryBench:
        """The bench of a testbed."""
        quiet_snappi()
        return cls(testbed, dut, EndpointClock(testbed["clock"]["url"]), snappi.api(location=testbed["otg"]["url"]))

    def plan(self, group: PortGroup, ip_version: int = 4) -> PortPlan:
        """What is measured in a group."""
        rendered = yaml.safe_load(Path(self.testbed["testbed_file"]).read_text(encoding="utf-8"))
        entry = next(one for one in rendered if SWITCH in one.get("duts", one.get("dut", ())))
        facts = LabFacts(entry, lambda _: self.dut.state(), group.ports, {})
        return plan_device(facts, SWITCH, PortRequest(group.roles["rx"], group.roles["tx"], ip_version, True))

    def qualifier(self, group: PortGroup, plan: PortPlan) -> Qualifier:
        """What carries out the cases of a group."""
        return Qualifier(open_lab(plan, GroupDut(self.dut, group.names), self.api, self.clock), auditors())


def carry_out(qualifier: Qualifier, rounds: Iterator[Stage] | Sequence[Stage], least: int = 1) -> list[Carried]:
    """Carries out stages up to the first in which something is not PASS, but at least so many."""
    carried: list[Carried] = []
    for number, stage in enumerate(rounds, 1):
        for case, target in stage:
            began = time.monotonic()
            outcome = qualifier.qualify(case, target)
            carried.append(Carried(target, outcome, round(time.monotonic() - began, 1)))
        if number >= least and status_of(carried) is not Status.PASS:
            break
    return carried


def status_of(carried: Sequence[Carried]) -> Status:
    """The verdict of all that was carried out together."""
    return combine(verdict.status for one in carried for verdict in one.outcome.verdicts)


def judge(bench: EntryBench, group: PortGroup, entry: CampaignEntry, is_thorough: bool = False) -> EntryResult:
    """What the suite makes of an entry on the ports of a group; `is_thorough`: all of `pfc-qualify --quick` is carried
    out in any case, so that the diagnosis has more to go by."""
    began = time.monotonic()
    since = bench.clock.now()
    plan = bench.plan(group, entry.ip_version)
    qualifier = bench.qualifier(group, plan)
    carried = carry_out(qualifier, stages(entry, plan.subject), QUICK_STAGES if is_thorough else 1)
    if not entry.cases:
        carried += carry_out(qualifier, [asked_for(carried, plan.subject)])
    result = conclude(entry, group, carried)
    return replace(result, seconds=round(time.monotonic() - began, 1), began_s=round(since, 3),
                   simulated_s=round(bench.clock.now() - since, 3))


def asked_for(carried: Sequence[Carried], subject: PortUnderTest) -> Stage:
    """The test cases that the diagnosis says would tell more, as a user would then carry them out."""
    left_out = dict.fromkeys(one.left_out for one in diagnose(judged(carried)) if one.left_out)
    return [(case, target) for case in named(left_out) for target in targets(case, subject)]


def judged(carried: Sequence[Carried]) -> list[tuple[str, PortVerdict]]:
    """The verdicts of what was carried out, with plan ids."""
    return [(one.outcome.case.plan_id, verdict) for one in carried for verdict in one.outcome.verdicts]


def conclude(entry: CampaignEntry, group: PortGroup, carried: Sequence[Carried]) -> EntryResult:
    """What test cases that were carried out say of an entry."""
    found = diagnose(judged(carried))
    judgement = _judgement(entry, status_of(carried))
    bad = [document for one in carried for document in _not_pass(one)]
    return EntryResult(
        entry, dict(group.roles), judgement,
        blame=_blame(entry.declared, group, found),
        diagnosis=[str(one) for one in found],
        cases=[one.called for one in carried],
        case_seconds=[one.seconds for one in carried],
        verdicts={one.called: _verdicts(one.outcome) for one in carried},
        checks=bad[:MOST_CHECKS], more_checks=max(0, len(bad) - MOST_CHECKS),
    )


def _judgement(entry: CampaignEntry, status: Status) -> EntryVerdict:
    if entry.declared is None:
        healthy = {Status.PASS: EntryVerdict.PASSED, Status.FAIL: EntryVerdict.MISJUDGED}
        return healthy.get(status, EntryVerdict.ERROR)
    if status is Status.PASS:
        return EntryVerdict.ESCAPED
    if status in entry.declared.verdicts:
        return EntryVerdict.CAUGHT
    return EntryVerdict.ERROR if status is Status.ERROR else EntryVerdict.MISJUDGED


def _blame(declared: Declaration | None, group: PortGroup, found: Sequence[Diagnosis]) -> Blame:
    """Whether port, priority, metric and cause are named as declared: by the one sentence that there has to be."""
    if declared is None or len(found) != 1:
        return Blame()
    said = found[0]
    return Blame(
        port=said.port == f"{SWITCH} {group.roles[declared.at]}",
        priority=declared.has_priorities(said.priorities),
        metric=bool(said.metrics) and set(said.metrics) <= set(declared.metrics),
        cause=said.is_certain and declared.is_said_by(said.cause, group.roles),
    )


def _verdicts(outcome: Outcome) -> dict[str, str]:
    """Metric -> the verdict over all priorities."""
    metrics = dict.fromkeys(verdict.metric_name for verdict in outcome.verdicts)
    return {metric: combine(one.status for one in outcome.verdicts if one.metric_name == metric).value
            for metric in metrics}


def _not_pass(carried: Carried) -> Iterator[dict[str, Any]]:
    """What is not PASS of a test case, each check once."""
    called = carried.called
    seen: set[Any] = set()
    for verdict in carried.outcome.verdicts:
        for check in verdict.checks:
            if check.status is not Status.PASS and check.required and (check.name, check.where) not in seen:
                seen.add((check.name, check.where))
                yield {"case": called, "name": check.name, "status": check.status.value, "metric": check.metric_name,
                       "message": check.message}
        if verdict.error and not verdict.checks and verdict.error not in seen:
            seen.add(verdict.error)
            yield {"case": called, "name": "", "status": Status.ERROR.value, "metric": verdict.metric_name,
                   "message": verdict.error}
