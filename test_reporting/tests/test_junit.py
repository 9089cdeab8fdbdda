from __future__ import annotations

from xml.etree import ElementTree

import pytest

from test_reporting.pfc.cli import main
from test_reporting.tests.samples import RUN, RUN_ID, parsed, started, verdict


@pytest.fixture
def exported(database, capsys):
    def export(*records, finish=True, **fields):
        writer = started(database.parent / RUN_ID, run={**RUN, **fields})
        writer.write(parsed(*records))
        if finish:
            writer.finish()
        assert main(["export", "--format", "junit"]) == 0
        return ElementTree.fromstring(capsys.readouterr().out)

    return export


def outcomes(root):
    return [(case.get("name"), [child.tag for child in case]) for case in root.iter("testcase")]


def test_a_case_for_each_record_and_for_what_was_not_measured(exported):
    root = exported(verdict(1), verdict(2, "FAIL", port_id="Ethernet8"), verdict(3, "ERROR", priority=None),
                    expected=[["vtb-t0-01", "Ethernet16", "pfc.lossy"]])
    assert outcomes(root) == [
        ("PFC-1 pause-lossless-single[vtb-t0-01|Ethernet0|3]", []),
        ("PFC-1 pause-lossless-single[vtb-t0-01|Ethernet8|3]", ["failure"]),
        ("PFC-1 pause-lossless-single[vtb-t0-01|Ethernet0]", ["error"]),
        ("not measured[vtb-t0-01|Ethernet16]", ["error"])]
    suite = root.find("testsuite")
    assert {name: suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": RUN_ID, "tests": "4", "failures": "1", "errors": "2", "skipped": "0"}
    failure = root.find(".//failure")
    assert (failure.get("message"), failure.text) == ("the cause", "expected 0 frames, got 12 (FAIL)")
    properties = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert properties["testbed"] == "vtb-t0" and properties["os_version"] == "SONiC.20260101"
    assert "deliberately_broken" not in properties


def test_what_was_broken_on_purpose_is_a_property(exported):
    root = exported(verdict(1), faults=["pause-ignored@Ethernet0", "lossy-dropped"])
    properties = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert properties["deliberately_broken"] == "pause-ignored@Ethernet0; lossy-dropped"


@pytest.mark.parametrize("finish, cause", [(True, "nothing was measured"), (False, "the run has not finished")])
def test_a_run_without_verdicts_or_without_end_is_not_green(exported, finish, cause):
    root = exported(finish=finish)
    assert outcomes(root) == [(f"{RUN_ID}[run]", ["error"])] and root.find(".//error").get("message") == cause


def test_a_run_that_was_killed_is_not_green(exported):
    assert exported(verdict(1), finish=False).get("errors") == "1"


def test_an_error_that_was_tried_again_is_not_red(exported):
    root = exported(verdict(1, "ERROR", record_id="e"), verdict(2, replaces="e"))
    assert [children for _, children in outcomes(root)] == [[]]


@pytest.mark.parametrize("text", ["<b>&'\"]]>", "\0\x1b[2J", "\u202e\u05d0", "\ud800", "\ufffe", "x" * 10_240])
def test_hostile_texts_are_xml(exported, text):
    root = exported(verdict(1, "FAIL", port_id=text, cause=text, scenario=text), testbed=text)
    assert root.find(".//failure").get("message")
