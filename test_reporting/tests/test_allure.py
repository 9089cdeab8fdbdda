"""The folder that Allure reads."""
from __future__ import annotations

import json
import re

import pytest

from test_reporting.pfc.cli import main
from test_reporting.tests.samples import RUN_ID, verdict

model = pytest.importorskip("allure_commons.model2", reason="allure-python-commons is not installed")


@pytest.fixture
def written(tmp_path):
    """Write the folder; returns it and its results, the first measured first."""

    def write(*arguments):
        folder = tmp_path / "allure"
        assert main(["export", "--format", "allure", "--output", str(folder), *arguments]) == 0
        found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*-result.json")]
        return folder, sorted(found, key=lambda one: (one["stop"], one["name"]))

    return write


def test_a_result_for_each_verdict_in_allure_s_own_form(run, written):
    run(verdict(1000), verdict(2000, "FAIL", port_id="Ethernet8"),
        verdict(3000, "ERROR", port_id="Ethernet9", checks=[]))
    _, results = written()
    assert [one["status"] for one in results] == ["passed", "failed", "broken"]
    assert results[1]["statusDetails"] == {
        "message": "the cause", "trace": "blocked-while-paused: expected 0 frames, got 12 (FAIL)"}
    assert results[1]["name"] == "PFC-1 pause-lossless-single pfc.lossless [vtb-t0-01 Ethernet8 priority 3]"
    for kind, things in ((model.TestResult, results), (model.TestStepResult, [results[1]["steps"][0]]),
                         (model.Label, results[0]["labels"]), (model.Parameter, results[0]["parameters"]),
                         (model.StatusDetails, [results[1]["statusDetails"]])):
        known = {field.name for field in kind.__attrs_attrs__}
        assert all(set(thing) <= known for thing in things), kind
    statuses = {getattr(model.Status, name) for name in ("PASSED", "FAILED", "BROKEN")}
    assert {one["status"] for one in results} == statuses
    assert [one["start"] for one in results[1:]] == [one["stop"] for one in results[:-1]], "one follows the other"


def test_the_history_of_a_verdict_has_one_id(run, written, tmp_path):
    run(verdict(1), run_id="a")
    run(verdict(2, "FAIL"), run_id="b")
    found = {name: written("--run", name)[1] for name in ("a", "b")}
    assert found["b"][-1]["historyId"] == found["a"][0]["historyId"]
    assert len({one["uuid"] for one in found["b"]}) == 2, "results of another run have names of their own"


def test_known_defects_are_links_and_categories(run, written):
    run(verdict(1, "FAIL"), verdict(2, "FAIL", checks=[{**verdict()["checks"][0], "status": "FAIL", "name": "other"}]))
    main(["defect", "add", "pauses leak", "--owner", "ada", "--check", "blocked-while-paused", "--link",
          "https://x.org/1"])
    folder, results = written()
    assert sorted(len(one["links"]) for one in results) == [0, 1]
    known = next(one for one in results if one["links"])
    assert known["links"] == [{"type": "issue", "name": "pauses leak (ada)", "url": "https://x.org/1"}]
    first, *others = json.loads((folder / "categories.json").read_text(encoding="utf-8"))
    assert first["name"] == "known: pauses leak (ada)" and len(others) == 2
    matches = [bool(re.fullmatch(first["traceRegex"], one["statusDetails"]["trace"])) for one in results]
    assert matches == [bool(one["links"]) for one in results]


def test_the_environment(run, written):
    run(verdict(1, os_version="build \u00e9"), software_version="sonic-mgmt-pfc 9", faults=["a", "b"])
    folder, _ = written()
    assert (folder / "environment.properties").read_text(encoding="ascii").splitlines() == [
        "testbed=vtb-t0", f"run={RUN_ID}", "software=sonic-mgmt-pfc 9", "build=build \\xe9",
        "hwsku=Arista-7060CX-32S-C32", "broken=a; b"]


def test_it_needs_a_folder(run, tmp_path, capsys):
    run(verdict(1))
    assert main(["export", "--format", "allure"]) == 3 and "--output must name it" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main(["export", "--format", "allure", "--output", str(tmp_path / "file")]) == 3
    assert "cannot be written" in capsys.readouterr().err
