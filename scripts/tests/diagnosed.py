"""The built-in faults of the catalogue, each alone, as the unit tests of the diagnosis need them: what was declared of
each, and the verdicts that are not PASS. `python -m scripts.tests.diagnosed FOLDER [FAULT ...]` measures them (none
named: every one) and puts what it finds in the place of what `diagnosis_faults.json` and `diagnosis_declared.json` have
of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scripts.campaign.broken_testbed import broken_testbed, connected_ports, reserved_switch
from scripts.campaign.catalogue import FAULTS
from scripts.campaign.entries import ROOT, CampaignEntry
from scripts.campaign.groups import PortGroup, port_groups
from scripts.campaign.judging import EntryBench, carry_out
from scripts.campaign.stages import stages
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.verdict import Check, Status

UNIT_TESTS = ROOT / "tests/common/unit_tests/pfc"
FOUND = UNIT_TESTS / "diagnosis_faults.json"
DECLARED = UNIT_TESTS / "diagnosis_declared.json"


def whole_switch() -> PortGroup:
    """The ports of a group that has the switch to itself: all others are bystanders."""
    return replace(port_groups()[0], ports=tuple(connected_ports()))


def declared(entry: CampaignEntry, group: PortGroup) -> dict[str, Any]:
    """What was declared of an entry, at the ports of a group."""
    said = entry.declared
    assert said is not None, f"{entry.name} is broken"
    return {"fault": entry.name, "port": group.roles[said.at], "priorities": sorted(said.priorities),
            "metrics": sorted(said.metrics), "says": said.pattern(group.roles), "unseen": entry.unseen}


def observed(bench: EntryBench, group: PortGroup, entry: CampaignEntry) -> list[Outcome]:
    """What the suite makes of an entry, test case by test case."""
    plan = bench.plan(group, entry.ip_version)
    return [one.outcome for one in carry_out(bench.qualifier(group, plan), stages(entry, plan.subject))]


def bad_verdicts(fault: str, outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The verdicts of a fault's test cases as the records have them; of checks that are PASS the names, by place, once
    for each test case. A verdict that says nothing else is left out."""
    found = [
        {
            "fault": fault, "plan_id": outcome.case.plan_id, "device_id": verdict.device, "port_id": verdict.port,
            "priority": verdict.priority, "metric_name": verdict.metric_name, "cause": verdict.error,
            "checks": [_short(check) for check in verdict.checks if check.status is not Status.PASS],
            "passed": passed,
        }
        for outcome in outcomes for verdict, passed in zip(outcome.verdicts, passed_once(outcome), strict=True)
    ]
    return [one for one in found if one["checks"] or one["passed"] or one["cause"]]


def passed_once(outcome: Outcome) -> Iterator[dict[str, str]]:
    """For each verdict of a test case what is PASS and no earlier one has: place -> names of checks."""
    known: set[tuple[str, str]] = set()
    for verdict in outcome.verdicts:
        held = {(check.where, check.name) for check in verdict.checks if check.status is Status.PASS} - known
        known |= held
        yield {place: " ".join(sorted(name for where, name in held if where == place)) for place, _ in sorted(held)}


def _short(check: Check) -> dict[str, Any]:
    """A check without what the verdict says, or its other fields."""
    return {name: value for name, value in check.as_record().items() if name not in ("metric_name", "message")}


def measured(folder: Path, entry: CampaignEntry) -> list[dict[str, Any]]:
    """The verdicts of a fault, on a testbed that has no other."""
    folder.mkdir(parents=True)
    group = whole_switch()
    with broken_testbed(folder, entry.at(group.roles)) as testbed, reserved_switch(testbed) as dut:
        return bad_verdicts(entry.name, observed(EntryBench.of(testbed, dut), group, entry))


def put_in_place(file: Path, fault: str, found: Sequence[dict[str, Any]]) -> None:
    """What was found of a fault, instead of what a file has of it: a JSON list with a line for each document."""
    known = json.loads(file.read_text(encoding="ascii")) if file.exists() else []
    documents = [old for old in known if old["fault"] != fault] + list(found)
    file.write_text("[\n" + ",\n".join(map(json.dumps, documents)) + "\n]\n", encoding="ascii")


def main(folder: Path, names: Sequence[str]) -> None:
    """Measures faults, and writes both files."""
    for entry in FAULTS:
        if entry.name in names or not names:
            put_in_place(FOUND, entry.name, [] if entry.unseen else measured(folder / entry.name, entry))
            put_in_place(DECLARED, entry.name, [declared(entry, whole_switch())])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
