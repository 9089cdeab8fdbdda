"""The museum: each bug can be injected, is told once in docs/museum.md, and names test cases that there are."""
import re

import pytest

from scripts.campaign.entries import ROOT, FieldBug
from scripts.campaign.groups import port_groups
from scripts.campaign.museum import MUSEUM
from tests.common.pfc.cases.plan import port_cases
from virtual_testbed.faults import parse_fault

REPOSITORIES = {"sonic-buildimage", "sonic-swss", "sonic-sairedis", "sonic-utilities", "sonic-mgmt", "SONiC"}
DOCS = ROOT / "docs/museum.md"
ROW = re.compile(r"^\| ([A-Za-z-]+)#(\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
IDS = [bug.entry.name for bug in MUSEUM]


def rows() -> dict[tuple[str, int], tuple[str, str, str]]:
    """Report -> what happened, faults, test cases that see it, as the documentation has them."""
    text = DOCS.read_text(encoding="utf-8").split("\n## No fault of the data plane\n")[0]
    found = {(repository, int(number)): (happened, faults, seen)
             for repository, number, happened, faults, seen in ROW.findall(text)}
    assert len(found) == len(ROW.findall(text)), "a report is told twice"
    return found


def shown(fault: str) -> str:
    """A specification as the documentation has it: `name@rx,priority=3`, on all ports `name@all`."""
    return re.sub(r"[{}]", "", fault).replace("@*", "@all")


def test_there_are_thirty_or_more_of_the_field_s_trackers() -> None:
    assert len(MUSEUM) >= 30 and {bug.repository for bug in MUSEUM} <= REPOSITORIES
    assert len({*IDS}) == len(IDS), "each of them once"


@pytest.mark.parametrize("bug", MUSEUM, ids=IDS)
def test_a_bug_can_be_injected_and_names_test_cases_that_there_are(bug: FieldBug) -> None:
    for fault in bug.entry.at(port_groups()[0].roles):
        assert parse_fault(fault).name == fault.partition("@")[0]
    assert bug.entry.cases and {*bug.entry.cases} <= {case.plan_id for case in port_cases()}
    assert bug.happened.endswith(".") and bug.entry.source == "museum"


def test_the_documentation_tells_each_of_them_and_no_other() -> None:
    told = rows()
    assert {*told} == {(bug.repository, bug.number) for bug in MUSEUM}
    for bug in MUSEUM:
        happened, faults, seen = told[bug.repository, bug.number]
        assert happened == bug.happened
        assert re.findall(r"`([^`]+)`", faults) == [shown(fault) for fault in bug.entry.faults], bug.number
        assert ("IPv6" in faults) == (bug.entry.ip_version == 6)
        assert {*re.findall(r"([A-Z0-9]+-\d+):", seen)} <= {*bug.entry.cases}, seen
        assert seen.startswith("not seen: ") or re.match(r"[A-Z0-9]+-\d+: ", seen), seen


def test_what_is_not_seen_is_said_why() -> None:
    text = DOCS.read_text(encoding="utf-8").split("\n## What is not seen\n")[1].split("\n## ")[0]
    for (repository, number), (_, _, seen) in rows().items():
        assert not seen.startswith("not seen") or f"| {repository}#{number} |" in text
