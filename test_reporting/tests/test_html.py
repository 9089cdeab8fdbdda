"""The HTML report as it is written; `test_html_in_browser.py` looks at it in a browser."""
from __future__ import annotations

import base64
import hashlib
import json
import shlex

import pytest

from test_reporting.pfc.cli import main
from test_reporting.pfc import write_page
from test_reporting.pfc.html_report import chunk, page_budget
from test_reporting.tests import benchmarks
from test_reporting.tests.html_samples import HOSTILE, MARKUP, Page, hostile_run, timeline
from test_reporting.tests.samples import RUN_ID, verdict


FAILED = "FAIL vtb-t0-01 \u00b7 Arista-7060CX-32S-C32 \u00b7 SONiC.20260101 \u00b7 2 ports"


@pytest.fixture
def page(database, tmp_path):
    """Write the report, and take it apart."""

    def written(*arguments):
        path = tmp_path / "report.html"
        assert main(["html", *arguments, "--output", str(path)]) == 0
        return Page(path)

    return written


def test_it_is_in_the_folder_of_the_run_unless_said_otherwise(run, database, capsys):
    run(verdict(1), verdict(2, "FAIL", port_id="Ethernet8"))
    assert main(["html"]) == 0
    path = database.parent / RUN_ID / "report.html"
    assert capsys.readouterr().out == f"{path}: FAIL, {path.stat().st_size} bytes\n"
    assert Page(path).root.all("h1")[0].words == FAILED
    assert [one.name for one in path.parent.glob("*report*")] == ["report.html"], "nothing else is left behind"


@pytest.mark.parametrize(("is_stored", "urls"), [
    (True, None), (False, None), (True, "postgresql://127.0.0.1:1/none"), (True, "kusto:///out"),
])
def test_a_run_has_its_page_whatever_the_databases_do(run, database, is_stored, urls):
    run(verdict(1), verdict(2, "FAIL", port_id="Ethernet8"))
    if not is_stored:
        database.unlink()
    path = write_page(database.parent / RUN_ID, RUN_ID, is_stored, urls)
    assert path == database.parent / RUN_ID / "report.html"
    assert Page(path).root.all("h1")[0].words == FAILED


def test_without_such_a_folder_it_is_here(run, database, tmp_path, monkeypatch):
    run(verdict(1))
    (database.parent / RUN_ID).rename(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    assert main(["html"]) == 0
    assert (tmp_path / f"pfc-report-{RUN_ID}.html").is_file()


def test_the_matrix_has_each_port_with_its_metrics_and_priorities(run, page):
    run(verdict(1), verdict(2, "FAIL", scenario="other"), verdict(3, "ERROR", priority=4), verdict(4, priority=None),
        verdict(5, port_id="Ethernet16", metric_name="pfc.lossy", priority=0),
        verdict(6, port_id="Ethernet8", priority=7),
        verdict(7, "ERROR", port_id="Ethernet8", priority=5, record_id="e"),
        verdict(8, port_id="Ethernet8", priority=5, replaces="e"),
        expected=[["vtb-t0-01", "Ethernet99", "pfc.lossless"]])
    made = page()
    heads = [cell.words for cell in made.by_id["matrix"].all("table")[0].all("thead")[0].all("th")]
    priorities = [f"priority {number}" for number in (0, 3, 4, 5, 7)]
    assert heads == ["port", "pfc.lossless", "pfc.lossy", "all together", *priorities]
    none = "–"
    assert made.matrix() == [
        ["Ethernet0", "FAIL", none, "PASS 1", none, "FAIL 1/2", "ERROR 1/1", none, none],
        ["Ethernet99", "ERROR: not measured", *[none] * 7],
        ["Ethernet8", "PASS", none, none, none, none, none, "PASS 1", "PASS 1"],
        ["Ethernet16", none, "PASS", none, "PASS 1", none, none, none, none]], "what is not PASS comes first"
    assert "PASS 2 ports" in made.section("matrix"), "the others are folded"
    assert "nothing was measured 1 verdict, 1 port" in made.section("failures")
    assert "tried again 1 ERROR that a later measurement replaced" in made.section("environment")
    assert [(record["status"], record["counts"]) for record in made.records(1)] == [
        ("PASS", 1), ("ERROR", 0), ("PASS", 1)]


def test_a_cell_opens_to_all_that_was_recorded(run, page):
    run(verdict(1, "FAIL", evidence={"timeline": timeline(50), "files": ["evidence/a.pcap"]}, deviations=["d"]))
    (record,) = page().records()
    (check,) = record["checks"]
    assert [check[name] for name in ("name", "status", "expected", "seen", "where")] == [
        "blocked-while-paused", "FAIL", "0 frames", 12, "vtb-t0-01 Ethernet0 priority 3"]
    assert check["message"] == "expected 0 frames, got 12 (FAIL)"
    assert record["evidence"]["files"] == ["evidence/a.pcap"] and record["deviations"] == ["d"]
    assert record["labels"] == {"tg.traffic_rate": "50"} and record["cause"] == "the cause"
    assert record["case"] == ["PFC-1", "pause-lossless-single"] and record["metric"] == "pfc.lossless"
    assert [row["label"] for row in record["plots"][0]["rows"]] == [
        "priority 3 (test)", "priority 0", "priority 3 (test): in the switch, or lost",
        "Ethernet0 priority 3: PFC received", "Ethernet4 priority 3: PFC sent"]


def test_a_message_that_says_no_more_is_stored_once(run, page):
    check = {**verdict()["checks"][0], "message": "vtb-t0-01 Ethernet0 priority 3: expected 0 frames, got 12"}
    run(*(verdict(number, checks=[check]) for number in range(3)))
    made = page()
    assert [record["checks"][0]["message"] for record in made.records()] == ["", "", ""]
    assert len(made.unpacked("d0")["checks"]) == 1


def test_what_failed_is_grouped_by_what_went_wrong(run, page):
    run(*(verdict(number, "FAIL", port_id=f"Ethernet{number}") for number in range(15)),
        *(verdict(20 + number, "ERROR", port_id=f"Ethernet{number}", priority=4, checks=[],
                  cause=f"Ethernet{number} is down after {number} s") for number in range(3)))
    words = page().section("failures")
    assert "FAIL blocked-while-paused 15 verdicts, 1 test case, 15 ports, priority 3" in words
    assert "The first 12 of 15; all of them are in the matrix" in words
    assert "ERROR Ethernet0 is down after 0 s 3 verdicts, 1 test case, 3 ports, priority 4" in words
    assert words.index("FAIL blocked") < words.index("ERROR Ethernet0")


def test_a_run_that_has_not_finished_says_so(run, page):
    run(verdict(1), finish=False)
    made = page()
    assert made.root.all("h1")[0].words.startswith("ERROR") and "the run has not finished" in made.root.words
    assert "ended it has not" in made.section("environment")


def test_a_run_without_any_verdict_says_so(run, page):
    run()
    made = page()
    assert made.root.all("h1")[0].words.startswith("ERROR") and made.matrix() == []
    assert "No port has a verdict: nothing was measured" in made.section("matrix")


def test_environment_and_build(run, page):
    run(verdict(1, on_behalf_of="t1-7"), job_id="job-1", software_version="sonic-mgmt-pfc 9",
        plan_ids_not_selected="HOP-1")
    made = page()
    facts = {row.children[0].words: row.children[1].words for row in made.by_id["environment"].all("tr")}
    assert facts | {"ended": "", "took": ""} == {
        "run": RUN_ID, "job": "job-1", "testbed": "vtb-t0", "device": "vtb-t0-01", "on behalf of": "t1-7",
        "HwSKU": "Arista-7060CX-32S-C32", "OS version": "SONiC.20260101", "started": "2026-01-31 13:00:00 UTC",
        "ended": "", "took": "", "software": "sonic-mgmt-pfc 9", "origin": "qualification",
        "plan ids not selected": "HOP-1"}
    assert "not carried out 1 test case, of HOP" in made.root.words


def test_differences_to_a_baseline_and_flaky_metrics(run, page):
    run(verdict(1), verdict(2, "FAIL", port_id="Ethernet8"), verdict(3, port_id="Ethernet16"), run_id="a",
        started="2026-01-31T12:00:00Z")
    run(verdict(4, "FAIL"), verdict(5, port_id="Ethernet8"), run_id="b")
    made = page("b", "--baseline", "a")
    assert "Flaky" not in made.section("failures"), "nothing has come back yet"
    words = made.section("differences")
    assert "b compared with a on vtb-t0, started 2026-01-31 12:00:00 UTC: 1 new failure, 1 gone, 1 fixed." in words
    run(verdict(6), verdict(7, "FAIL", port_id="Ethernet8"), run_id="c", started="2026-01-31T14:00:00Z")
    assert "Flaky 2 metrics of ports with a verdict that came back" in page("c").section("failures")
    assert "differences" not in page("b").by_id


def test_what_was_broken_on_purpose_is_said_first(run, page):
    run(verdict(1), run_id="a", started="2026-01-31T12:00:00Z")
    run(verdict(2, "FAIL"), run_id="b", faults=["pause-ignored@Ethernet0", MARKUP])
    assert not [one for one in page("a").root.all("p") if one.attributes.get("class") == "broken"]
    made = page("b", "--baseline", "a")
    said, = [one for one in made.root.all("p") if one.attributes.get("class") == "broken"]
    assert said.words == f"deliberately broken: pause-ignored@Ethernet0, {MARKUP}"
    assert "deliberately broken" not in made.section("differences")
    words = page("a", "--baseline", "b").section("differences")
    assert "started 2026-01-31 13:00:00 UTC, deliberately broken: pause-ignored@Ethernet0" in words
    assert "pause-ignored@Ethernet0" not in page("a").root.words
    both = [one.words for one in page("a", "b").root.all("section") if one.attributes.get("class") == "cover"]
    assert [f"pause-ignored@Ethernet0, {MARKUP}" in one for one in both] == [False, True]


def test_the_runs_of_a_job_are_compared_by_testbed(run, page):
    for number, job in enumerate(("j", "k")):
        for testbed in ("t0", "t1") if job == "j" else ("t0",):
            run(verdict(number, "FAIL" if job == "j" else "PASS", testbed=testbed), run_id=f"{job}-{testbed}",
                job_id=job, testbed=testbed, started=f"2026-01-31T1{number}:00:00Z")
    made = page("j", "--baseline", "k")
    assert len(made.matrix()) == 2
    assert "j-t0 compared with k-t0 on t0" in made.section("differences")
    assert "j-t1 on t1: the baseline has no run of this testbed" in made.section("differences")


def test_runs_of_the_baseline_that_nothing_is_compared_with_are_named(run, page):
    run(verdict(1), run_id="a")
    for number, testbed in enumerate(("vtb-t0", "vtb-t0", "t9")):
        run(verdict(number, testbed=testbed), run_id=f"k-{number}", job_id="k", testbed=testbed,
            started=f"2026-01-31T1{number}:00:00Z")
    words = page("a", "--baseline", "k").section("differences")
    assert "a compared with k-0 on vtb-t0" in words and words.count("compared with nothing") == 2
    assert "k-1 on vtb-t0, of the baseline, is compared with nothing: another run of the baseline on this " in words
    assert "k-2 on t9, of the baseline, is compared with nothing: no run here is of this testbed" in words


def test_every_link_leads_to_a_cell(run, page):
    """A place that is gone may have had a column that this run has not."""
    run(verdict(1), verdict(2, priority=None), verdict(3, priority=None, metric_name="pfc.other"), run_id="a",
        started="2026-01-31T12:00:00Z")
    run(verdict(4, "FAIL"), verdict(5, "ERROR", port_id="Ethernet8", checks=[]), run_id="b")
    made = page("b", "--baseline", "a")
    links = [one.attributes["href"] for one in made.root.all("a")]
    assert "2 gone" in made.section("differences") and len(links) > 8
    assert not [link for link in links if link[1:] not in made.by_id]


def test_commands_can_be_pasted(run, page):
    name = "b'; rm -r x #"
    run(*(verdict(number, port_id=f"Ethernet{number}") for number in range(101)), run_id="a")
    run(verdict(1, port_id="x"), run_id=name)
    words = page(name, "--baseline", "a").section("differences")
    assert f"pfc-report compare a {shlex.quote(name)}" in words


def test_what_failed_checks_come_to_is_said_below_the_verdict(run, page):
    run(verdict(1, "FAIL"), run_id="a", diagnosis=f"vtb-t0-01 Ethernet0: pauses stop nothing; {MARKUP}")
    run(verdict(2), run_id="b", started="2026-01-31T14:00:00Z")
    headline, = [one.words for one in page("a").root.all("p") if one.attributes.get("class") == "headline"]
    assert headline == f"vtb-t0-01 Ethernet0: pauses stop nothing; {MARKUP}"
    assert "pauses stop nothing" not in page("b").root.words


def test_info_does_not_stand_for_a_fact(run, page):
    run(verdict(1), **{"OS version": "another"})
    made = page()
    assert "switch SONiC.20260101 on Arista-7060CX-32S-C32" in " ".join(made.root.words.split())
    assert "OS version another" in made.section("environment")


def test_numbers_that_scripts_have_not_are_texts(run, page):
    """And what PostgreSQL and SQLite hold as JSON text that is none does not hide a port."""
    large, small = 2**53 + 1, 2**53 - 1
    check = {**verdict(status="FAIL")["checks"][0], "expected": small, "seen": -large}
    run(verdict(1, "FAIL", checks=[check], evidence={"bytes": [large, small, 0.12345678901234567]},
                labels={"x": large}, deviations=[large]))
    (record,) = page().records()
    assert record["evidence"] == {"bytes": [str(large), small, 0.12345678901234567]}
    assert record["checks"][0]["expected"] == small and record["checks"][0]["seen"] == str(-large)
    assert record["labels"] == {"x": str(large)} and record["deviations"] == [str(large)]
    assert chunk.for_script('{"x": Infinity, "y": [NaN, 1]}') == '{"x": "Infinity", "y": ["NaN", 1]}'


@pytest.mark.parametrize("name, largest, says, kept", [
    ("MOST_EVIDENCE", 400, "and no evidence", {"checks": 1, "evidence": None}),
    ("MOST_CHECKS", 1, "no checks, which", {"checks": None, "evidence": {"frames": {"sent": 1000, "received": 12}}})])
def test_what_does_not_fit_is_named(run, page, monkeypatch, name, largest, says, kept):
    monkeypatch.setattr(page_budget, name, largest)
    run(*(verdict(number) for number in range(10)), verdict(20, "FAIL"))
    made = page()
    passed, failed = made.records()[0], made.records()[-1]
    assert says in made.section("about")
    assert (passed["checks"] and len(passed["checks"])) == kept["checks"] and passed["evidence"] == kept["evidence"]
    assert failed["evidence"] and failed["checks"], "what is not PASS keeps what it has"


def test_evidence_of_failures_is_bounded_too(run, page, monkeypatch):
    monkeypatch.setattr(page_budget, "MOST_EVIDENCE", 300)
    run(*(verdict(number, "FAIL", evidence={"text": "x" * 100}) for number in range(5)))
    made = page()
    assert [record["evidence"] is None for record in made.records()] == [False, False, True, True, True]
    assert "a record whose evidence is not here says so" in made.section("about")


def test_it_is_one_file_that_runs_nothing_but_its_own_script(run, page):
    run(verdict(1, "FAIL"))
    made = page()
    policy = next(one.attributes["content"] for one in made.root.all("meta")
                  if one.attributes.get("http-equiv") == "Content-Security-Policy")
    script = [one for one in made.root.all("script") if "type" not in one.attributes]
    digests = [f"'sha256-{base64.b64encode(hashlib.sha256(one.text.encode()).digest()).decode()}'"
               for one in [*script, *made.root.all("style")]]
    assert policy == (f"default-src 'none'; script-src {digests[0]}; style-src {digests[1]}; base-uri 'none'; "
                      "form-action 'none'") and len(digests) == 2
    for names in ([one.attributes for one in made.root.all(name)] for name in ("a", "script", "link", "img", "button")):
        assert all((each.get("href") or "#").startswith("#") and not {"src", "style", "onclick"} & set(each)
                   for each in names)


def test_hostile_texts_are_text(database, url, page):
    hostile_run(database.parent / "h", url)
    made = page("h")
    assert "harmed" not in "".join(one.text for one in made.root.all("script") if "type" not in one.attributes)
    assert [one.attributes.get("type") for one in made.root.all("script")][-2:] == ["application/json", None]
    assert {one.attributes.get("type") for one in made.root.all("script")[:-2]} == {"application/octet-stream"}
    assert not made.root.all("img") and "\u202e" not in made.source and "\0" not in made.source
    ports = [row[0] for row in made.matrix()]
    assert len(ports) == len(HOSTILE)
    assert {HOSTILE[0], HOSTILE[5], "\\u202e\u05e9\u05dc\u05d5\u05dd", HOSTILE[8]} <= set(ports)
    number = ports.index(HOSTILE[2])
    assert made.records(number)[0]["checks"][0]["expected"] == HOSTILE[2]
    assert json.loads(made.by_id["index"].text)["ports"][number][2] == HOSTILE[2]


def test_the_benchmark_measures_a_whole_page(tmp_path):
    figures = {name: value for name, value, _ in benchmarks.figures_of_html(tmp_path, (2, 8, 8))}
    made = Page(tmp_path / "report.html")
    assert set(figures) == {"reporting.html.1k.write_s", "reporting.html.1k.size_mb"}
    assert len(made.matrix()) == 16 and "1,013 PASS, 11 FAIL" in made.root.words
    assert sum(len(made.records(port)) for port in range(16)) == 1024


def test_numbers_are_listed(run, page):
    number = verdict(1, kind="final", value=12.5, unit="us", metric_name="head.response")
    del number["checks"], number["status"]
    run(number, verdict(2))
    assert "head.response 12.5 us" in page().root.words


def test_what_cannot_be_done_is_said(run, database, tmp_path, capsys):
    run(verdict(1))
    assert main(["html", "nothing"]) == 3
    assert "no run 'nothing'" in capsys.readouterr().err
    assert main(["html", "--baseline", "nothing"]) == 3
    assert main(["html", "--output", str(tmp_path / "no" / "report.html")]) == 3
    assert "cannot be written: No such file or directory" in capsys.readouterr().err
    assert main(["html", "--output", str(tmp_path)]) == 3 and not list(tmp_path.parent.glob(f".{tmp_path.name}.*"))


def test_postgresql_says_the_same(run, database, page, postgresql, monkeypatch):
    records = [verdict(1), verdict(2, "FAIL", scenario="other"), verdict(3, "ERROR", priority=4, checks=[])]
    run(*records)
    first = page()
    monkeypatch.setenv("PFC_REPORT_DB", postgresql.url(postgresql.new_database()))
    assert main(["sync", "--results", str(database.parent)]) == 0
    second = page()
    assert second.matrix() == first.matrix() and second.records() == first.records()
    assert second.section("failures") == first.section("failures")


def lost(number, places, **fields):
    """A FAIL whose failed checks looked at these places."""
    checks = [{**verdict(status="FAIL")["checks"][0], "name": "background-unaffected", "metric_name": "pfc.lossy",
               "where": where, "expected": "all 1000 frames", "seen": seen} for where, seen in places]
    return verdict(number, "FAIL", metric_name="pfc.lossy", checks=checks,
                   cause="expected the 5 frames, got 6 (and 5 more) (and 1 more)", **fields)


def test_a_failure_stands_at_the_priority_that_lost(run, page):
    run(verdict(1), lost(2, [("vtb-t0-01 Ethernet0 priority 0", 990), ("vtb-t0-01 Ethernet0 priority 1", 0)]),
        lost(3, [("vtb-t0-01 Ethernet4 priority 5", 1)], priority=4, scenario="elsewhere"))
    made = page()
    heads = [cell.words for cell in made.by_id["matrix"].all("table")[0].all("thead")[0].all("th")]
    assert heads == ["port", "pfc.lossless", "pfc.lossy", *(f"priority {number}" for number in (0, 1, 3, 4))]
    assert made.matrix() == [["Ethernet0", "PASS", "FAIL", "FAIL 1/1", "FAIL 1/1", "PASS 1", "FAIL 1/1"]], (
        "priority 3 was paused and lost nothing; what failed at another port stands where it was tested")
    assert [record["victims"] for record in made.records()] == [[], [0, 1], []]
    assert "1 PASS, 2 FAIL" in made.root.words, "a verdict that stands at two priorities counts once"
    words = made.section("failures")
    assert "vtb-t0-01 Ethernet0 priorities 0, 1 PFC-1 pause-lossless-single while priority 3 is tested" in words
    assert "all 1000 frames 0" in words and "990" not in words, "the check that is farthest off is shown"


def test_the_headline_concludes(run, page):
    where = "vtb-t0-01 Ethernet0 priority 1"
    run(lost(1, [(where, 0)]), lost(2, [(where, 7)], plan_id="X"))
    made = page()
    headline, = [one.words for one in made.root.all("p") if one.attributes.get("class") == "headline"]
    assert headline == (f"background-unaffected fails at {where} in 2 test cases, first in PFC-1: expected all 1000 "
                        "frames, got 0")
    cause, = [one.words for one in made.root.all("p") if one.attributes.get("class") == "cause"]
    assert cause == "first cause: expected the 5 frames, got 6" and "(and 1 more)" not in made.root.words


def test_the_first_screen_has_plot_testbed_and_provenance(run, page):
    drawn = timeline()
    drawn["frames_rx"]["priority 1 (background)"] = [0, 500, 500, 500, 1000]
    info = {"suite_commit": "0123456789abcdef0123456789abcdef01234567 and changes", "operator": "ada@lab",
            "command": "pfc-qualify --testbed vtb-t0", "serial": "SN-1", "ports": {
                "under_test": {"port": "Ethernet0", "generator": "ixia-02", "location": "10.0.0.2;1;2"},
                "tx": {"port": "Ethernet4", "generator": "ixia-01", "location": "10.0.0.1;1;1"}},
            "priorities": {"lossless": [3, 4], "watched": [3], "dscps": {"3": [3], "4": [4, 5], "1": [6, 7, 8, 9]},
                           "dscp_map": "AZURE", "pool": "egress_lossless_pool", "pool_bytes": 15982720}}
    evidence = {"timeline": drawn, "tx_port": "Ethernet4", "speed_mbps": 100000,
                "files": ["evidence/0001-session/vtb-t0-01-configuration-before-1.json", "evidence/../../etc/passwd",
                          "evidence/0002-preflight-Ethernet0/traffic-1.json",
                          "evidence/0003-PFC-1/vtb-t0-01-counters-2.txt",
                          "evidence/0003-PFC-1/traffic-1.json", "evidence/0003-PFC-1/../x-counters-1.txt",
                          "evidence/../x/up-configuration-before-1.json", "javascript:x-configuration-before-1.json"]}
    run(lost(1, [("vtb-t0-01 Ethernet0 priority 1", 0)], evidence=evidence), software_version="sonic-mgmt-pfc 9",
        info=info)
    made = page()
    first = next(one for one in made.root.all("section") if one.attributes.get("class") == "cover")
    picture = first.all("svg")[0]
    assert picture.attributes["aria-label"] == (
        "PFC-1 pause-lossless-single, Ethernet0: priority 1 (background) received at most 0 frames/s in the storm, "
        "1 k at other times")
    kinds = [one.attributes["class"] for one in picture.all("path")]
    assert kinds == ["other", "other", "victim"] and len(first.all("svg")) == 2, "one is for phones"
    for words in ("ixia-01 10.0.0.1;1;1", "ixia-02 10.0.0.2;1;2", "data 100G", "Ethernet4 in, Ethernet0 under test",
                  "priority 1 loses", "PFC on priority 3", "sonic-mgmt-pfc 9 (0123456789ab and changes)", "serial SN-1",
                  "ada@lab", "pfc-qualify --testbed vtb-t0", "FAIL in this run, the only one known",
                  "PFC on priorities 3 and 4; the watchdog, when it runs, is for priority 3;",
                  "DSCP \u2192 priority (AZURE): 3 \u2192 3, 4, 5 \u2192 4, 4 others \u2192 1; "
                  "egress_lossless_pool 15,982,720 bytes;",
                  "all of it: evidence/0001-session/vtb-t0-01-configuration-before-1.json",
                  "evidence/0003-PFC-1: traffic-1.json, vtb-t0-01-counters-2.txt",
                  "show pfc counters, show queue counters Ethernet0, show pfcwd stats"):
        assert words in first.words, words
    assert not [one for one in ("passwd", "up-configuration", "javascript", "preflight", "x-counters")
                if one in first.words]


def test_a_sweep_says_once_how_ports_are_configured_that_are_alike(run, page):
    alike = {"lossless": [3, 4], "watched": [3, 4], "pool": "p", "pool_bytes": 9000}
    groups = [{**alike, "ports": [f"Ethernet{number}" for number in range(0, 120, 4)]},
              {**alike, "lossless": [3], "ports": ["Ethernet120", "Ethernet124"]},
              *[{**alike, "lossless": [number], "ports": [f"Ethernet{number}"]} for number in (1, 2, 5)]]
    run(verdict(1), info={"priorities_by_ports": groups})
    words = page().root.words
    for said in ("30 ports (Ethernet0 to Ethernet116): PFC on priorities 3 and 4; the watchdog, when it runs, is for",
                 "Ethernet120 and Ethernet124: PFC on priority 3;", "Ethernet1: PFC on priority 1;",
                 "2 more groups of ports"):
        assert said in words, words


@pytest.mark.parametrize("groups", [None, 7, [7], [{}], [{"ports": "x", "lossless": "3"}]])
def test_groups_of_ports_that_are_something_else_are_not_said(run, page, groups):
    run(verdict(1), info={"priorities_by_ports": groups})
    assert "configuration of the switch" not in page().root.words


@pytest.mark.parametrize("priorities", [None, 7, {}, {"lossless": "3"}, {"dscps": {"3": "x"}, "watched": [True]},
                                        {"dscps": [3], "pool": "p", "pool_bytes": "many"}])
def test_a_configuration_that_is_something_else_is_not_said(run, page, priorities):
    run(verdict(1), info={"priorities": priorities})
    assert "configuration of the switch" not in page().root.words


def test_the_picture_tells_who_lost_from_who_was_not_held(run, page):
    run(verdict(1, "FAIL", evidence={"timeline": timeline(50), "tx_port": "Ethernet4"}))
    loser, = [one.words for one in page().root.all("span") if one.attributes.get("class") == "loser"]
    assert loser == "priority 3 is not held"


def test_the_plot_of_an_error_is_no_proof(run, page):
    run(verdict(1, "ERROR", evidence={"timeline": timeline(50)}))
    made = page()
    caption, = made.root.all("figcaption")
    assert caption.words.endswith("; no verdict rests on it: this was no measurement")
    headline, = [one.words for one in made.root.all("p") if one.attributes.get("class") == "headline"]
    assert headline == "Could not be measured at vtb-t0-01 Ethernet0 priority 3: the cause"


def test_evidence_is_linked_where_the_page_lies_beside_it(run, page, database):
    name = "evidence/0001-session/vtb-t0-01-configuration-before-1.json"
    run(verdict(1, "FAIL", evidence={"timeline": timeline(), "files": [name]}))
    assert main(["html"]) == 0
    links = [one.attributes["href"] for one in Page(database.parent / RUN_ID / "report.html").root.all("a")]
    assert name in links and name not in [one.attributes["href"] for one in page().root.all("a")]


def test_the_latest_runs_say_since_when(run, page):
    for number, status in enumerate(("PASS", "FAIL", "ERROR", "FAIL")):
        run(verdict(number, status, os_version=f"build-{number}"), run_id=f"r{number}",
            started=f"2026-01-31T1{number}:00:00Z")
    run(verdict(9), run_id="broken", started="2026-01-31T12:30:00Z", faults=["x"])
    made = page("r3")
    strip = [one.words for one in made.root.all("span") if (one.attributes.get("class") or "").startswith("past ")]
    assert strip == ["P", "F", "E", "P", "F"]
    assert ("FAIL since 2026-01-31 11:00:00 UTC, 2 runs in a row; PASS in the run before that of build-0, "
            "2026-01-31 10:00:00 UTC") in made.root.words
    assert "PASS in this run, the only one that was broken like this" in page("broken").root.words


def test_one_reason_of_several_priorities_is_one_group(run, page):
    run(*(verdict(number, "ERROR", priority=number, checks=[], plan_id=f"X-{number}",
                  cause=f"vtb-t0-01 Ethernet0{where}: the run ended before it was measured")
          for number, where in enumerate(("", " priority 1", " priorities 3, 4"))))
    title, = [one.all("b")[0].words for one in page().by_id["failures"].all("summary")]
    assert title == "the run ended before it was measured"


def test_what_one_check_found_is_one_reason_for_both_metrics(run, page):
    cause = "vtb-t0-01 Ethernet0 priority 3: expected a stopped watchdog, got a storm"
    check = {**verdict(status="ERROR")["checks"][0], "name": "watchdog-stopped", "status": "ERROR"}
    run(verdict(1, "ERROR", metric_name="pfc.lossy", checks=[], cause=cause),
        verdict(2, "ERROR", checks=[check], cause=cause))
    summary, = [one.words for one in page().by_id["failures"].all("summary")]
    assert summary.startswith("ERROR watchdog-stopped 2 verdicts, 1 test case, 1 port")


def test_a_sweep_has_a_front_panel(run, page):
    run(*(verdict(number, "FAIL" if number == 2 else "PASS", port_id=f"Ethernet{4 * number}") for number in range(20)))
    made = page()
    jacks = [one for one in made.root.all("a") if (one.attributes.get("class") or "").startswith("jack")]
    assert [one.words for one in jacks] == [str(4 * number) for number in range(20)]
    assert [one.words for one in jacks if "FAIL" in one.attributes["class"]] == ["8"]
    assert all(one.attributes["href"][1:] in made.by_id for one in jacks)


def test_what_is_worse_than_the_baseline_has_its_causes_and_its_plot(run, page):
    good, bad = timeline(0), timeline(50)
    run(verdict(1, evidence={"timeline": good}), verdict(2, priority=4),
        *(verdict(10 + number, plan_id=f"X-{number}") for number in range(13)), run_id="a",
        started="2026-01-31T12:00:00Z")
    run(verdict(3, "FAIL", evidence={"timeline": bad}), verdict(4, "FAIL", priority=4), run_id="b",
        diagnosis="vtb-t0-01 Ethernet0: some frames leave")
    made = page("b", "--baseline", "a")
    words = made.section("differences")
    assert "2 places worse, one cause: vtb-t0-01 Ethernet0: some frames leave; 13 places of the baseline not" in words
    assert [one.words.split()[0] for one in made.by_id["differences"].all("details") if "open" in one.attributes] == [
        "new"], "many that are gone are folded"
    links = [one.attributes["href"] for one in made.by_id["differences"].all("a")]
    assert links[:2] == ["#c0-p3", "#c0-p3"] and "while priority 4 is tested" in words, "at the priority that lost"
    labels = [one.attributes["aria-label"] for one in made.by_id["differences"].all("svg")]
    assert ["0 frames/s in the storm" in labels[0], "100 frames/s in the storm" in labels[1]] == [True, True]
