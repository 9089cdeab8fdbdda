"""The queries of the Grafana dashboard, asked of a real PostgreSQL server. Grafana itself is not here: how the panels
look is not tested."""
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import test_reporting.pfc
from test_reporting.pfc.database import open_store
from test_reporting.tests.samples import RUN, parsed, started, verdict

DASHBOARD = Path(test_reporting.pfc.__file__).parent / "grafana" / "dashboard.json"
DOCUMENT = json.loads(DASHBOARD.read_text(encoding="utf-8"))
PANELS = {panel["title"]: panel for panel in DOCUMENT["panels"]}
VARIABLES = {one["name"] for one in DOCUMENT["templating"]["list"]}


@pytest.fixture(scope="module")
def asked(postgresql, tmp_path_factory):
    """What a query answers as Grafana's data source asks it: rows as mappings."""
    import psycopg
    from psycopg.rows import dict_row
    url = postgresql.url(postgresql.new_database())
    folder = tmp_path_factory.mktemp("runs")
    open_store(url)
    for day, (run_id, status, faults) in enumerate((("a", "PASS", []), ("b", "FAIL", []), ("c", "FAIL", ["x@E0"])), 1):
        run = {**RUN, "run_id": run_id, "started": f"2026-01-0{day}T13:00:00Z", "faults": faults,
               "info": {"diagnosis": "pauses stop nothing"} if status == "FAIL" else {}}
        writer = started(folder / run_id, url, run=run)
        writer.write(parsed(verdict(day, status, run_id=run_id, faults=faults, timestamp=f"2026-01-0{day}T13:00:01.0Z"),
                            verdict(day, run_id=run_id, faults=faults, port_id="Ethernet4", metric_name="pfc.lossy",
                                    timestamp=f"2026-01-0{day}T13:00:01.0Z", record_id=f"l{day}")))
        writer.finish()

    def ask(sql, broken="no"):
        sql = re.sub(r"\$__timeFilter\(([^()]+)\)",
                     r"\1 BETWEEN '2026-01-01T00:00:00Z' AND '2026-02-01T00:00:00Z'", sql)
        sql = re.sub(r"\$__timeGroupAlias\(([^(),]+), *'1d'\)",
                     r'floor(extract(epoch from \1)/86400)*86400 AS "time"', sql)
        sql = sql.replace("$testbed", "'vtb-t0'").replace("$broken", broken)
        assert "$" not in sql, f"a variable or macro that the test does not know: {sql}"
        with psycopg.connect(url, row_factory=dict_row) as connection:
            return connection.execute(sql).fetchall()

    return ask


@pytest.mark.parametrize("title", PANELS)
def test_every_panel_has_an_answer_without_a_cast(asked, title):
    for target in PANELS[title]["targets"]:
        assert "::" not in target["rawSql"] and "cast(" not in target["rawSql"].lower()
        assert set(re.findall(r"\$([a-z]+)", target["rawSql"])) <= VARIABLES
        rows = asked(target["rawSql"])
        assert rows, "there is something to show"
        if target["format"] == "time_series":
            assert "time" in rows[0]


def test_what_the_panels_say(asked):
    sql = {title: panel["targets"][0]["rawSql"] for title, panel in PANELS.items()}
    assert asked(sql["Ports whose latest verdict is FAIL"]) == [{"FAIL": 1}]
    assert asked(sql["Ports whose latest verdict is ERROR"]) == [{"ERROR": 0}]
    runs = asked(sql["Latest runs"])
    assert [(row["run_id"], row["status"], row["diagnosis"]) for row in runs] == [
        ("b", "FAIL", "pauses stop nothing"), ("a", "PASS", None)], "what was broken on purpose is left out"
    assert [row["run_id"] for row in asked(sql["Latest runs"], broken="yes")] == ["c", "b", "a"]
    assert [(row["port_id"], row["cause"]) for row in asked(sql["What is not PASS"])] == [("Ethernet0", "the cause")]
    failing, = asked(sql["Checks that fail most"])
    assert (failing["check"], failing["failures"]) == ("blocked-while-paused", 1)
    build, = asked(sql["PASS by build"])
    assert (build["verdicts"], float(build["PASS, percent"])) == (4, 75.0)
    variable, = [one["query"] for one in DOCUMENT["templating"]["list"] if one["type"] == "query"]
    assert asked(variable) == [{"testbed": "vtb-t0"}]


def test_panels_do_not_overlap_and_have_one_source():
    places = set()
    for panel in DOCUMENT["panels"]:
        box = panel["gridPos"]
        own = {(x, y) for x in range(box["x"], box["x"] + box["w"]) for y in range(box["y"], box["y"] + box["h"])}
        assert not own & places and box["x"] + box["w"] <= 24
        places |= own
        assert panel["datasource"]["uid"] == "${DS_PFC}" == panel["targets"][0]["datasource"]["uid"]
