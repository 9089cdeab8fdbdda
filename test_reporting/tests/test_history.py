"""Matrix, differences and trend; `test_postgresql.py` compares what the commands say of both databases."""
from __future__ import annotations

import pytest

from test_reporting.pfc import history, queries
from test_reporting.pfc.cli import main
from test_reporting.pfc.database import open_store
from test_reporting.tests.samples import RUN, parsed, started, verdict


@pytest.fixture
def run(database, url):
    """Store a run: each record is (status, port, priority), and fields."""
    minutes = iter(range(100))

    def store(run_id, *records, finish=True, **fields):
        began = f"2026-01-31T13:{next(minutes):02}:00Z"
        writer = started(database.parent / run_id, url, run={**RUN, "run_id": run_id, "started": began, **fields})
        writer.write(parsed(*[verdict(number, status, run_id=run_id, port_id=port, priority=priority, **more)
                              for number, (status, port, priority, more) in enumerate(records)]))
        if finish:
            writer.finish()

    return store


def test_the_matrix_has_a_cell_for_each_port_and_priority(run, url):
    run("a", ("PASS", "Ethernet16", 3, {}), ("FAIL", "Ethernet8", 3, {}),
        ("PASS", "Ethernet8", 3, {"plan_id": "PFC-2"}), ("ERROR", "Ethernet8", 4, {"record_id": "e"}),
        ("PASS", "Ethernet8", 4, {"replaces": "e"}),
        ("ERROR", "Ethernet8", 5, {}), ("PASS", "Ethernet8", None, {"metric_name": "pfc.lossy"}),
        ("PASS", "Ethernet8", 5, {"metric_name": "pfc.lossy"}))
    run("other", ("FAIL", "Ethernet8", 3, {}))
    with open_store(url).reading() as connection:
        cells = queries.matrix(connection, "a")
        records = queries.port_records(connection, "a", "vtb-t0-01", "Ethernet8")
    assert [(record["priority"], record["status"], record["counts"], len(record["checks"])) for record in records] == [
        (3, "FAIL", True, 1), (3, "PASS", True, 1), (4, "ERROR", False, 1), (4, "PASS", True, 1), (5, "ERROR", True, 1),
        (None, "PASS", True, 1), (5, "PASS", True, 1)]
    assert [(cell["port_id"], cell["priority"], cell["status"], cell["PASS"], cell["FAIL"], cell["ERROR"])
            for cell in cells] == [
        ("Ethernet8", None, "PASS", 1, 0, 0), ("Ethernet8", 3, "FAIL", 1, 1, 0), ("Ethernet8", 4, "PASS", 1, 0, 0),
        ("Ethernet8", 5, "ERROR", 1, 0, 1), ("Ethernet16", 3, "PASS", 1, 0, 0)]


def test_differences_are_named_and_what_is_the_same_is_not(run, url, capsys):
    run("a", ("PASS", "Ethernet0", 3, {}), ("PASS", "Ethernet4", 3, {}), ("FAIL", "Ethernet8", 3, {}),
        ("ERROR", "Ethernet12", 3, {}), ("PASS", "Ethernet16", 3, {}), ("PASS", "Ethernet20", 3, {}))
    run("b", ("PASS", "Ethernet0", 3, {}), ("FAIL", "Ethernet4", 3, {}), ("PASS", "Ethernet8", 3, {}),
        ("PASS", "Ethernet12", 3, {}), ("ERROR", "Ethernet16", 3, {}), ("PASS", "Ethernet24", None, {}))
    with open_store(url).reading() as connection:
        found = {row["port_id"]: (row["change"], row["before"], row["after"])
                 for row in history.differences(connection, "a", "b")}
    assert found == {
        "Ethernet4": ("new failure", "PASS", "FAIL"), "Ethernet8": ("fixed", "FAIL", "PASS"),
        "Ethernet12": ("measured again", "ERROR", "PASS"), "Ethernet16": ("could not be measured", "PASS", "ERROR"),
        "Ethernet20": ("gone", "PASS", None), "Ethernet24": ("new", None, "PASS")}
    assert main(["compare", "a", "b"]) == 1
    shown = capsys.readouterr().out
    assert "new failure" in shown and shown.splitlines()[-1].count("1 ") == 6
    assert main(["compare", "a", "a"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no difference"


@pytest.mark.parametrize("after, exit_status", [("FAIL", 1), ("ERROR", 2), ("PASS", 0)])
def test_the_exit_status_of_compare_says_whether_it_became_worse(run, after, exit_status):
    run("a", ("PASS", "Ethernet0", 3, {}), ("FAIL", "Ethernet4", 3, {}))
    run("b", (after, "Ethernet0", 3, {}), ("FAIL", "Ethernet4", 3, {}))
    assert main(["compare", "a", "b"]) == exit_status
    run("c", ("PASS", "Ethernet0", 3, {}))
    assert main(["compare", "a", "c"]) == 2, "what is gone is not measured"


def test_an_error_that_was_tried_again_is_no_difference(run, url):
    run("a", ("PASS", "Ethernet0", 3, {}))
    run("b", ("ERROR", "Ethernet0", 3, {"record_id": "e"}), ("PASS", "Ethernet0", 3, {"replaces": "e"}))
    with open_store(url).reading() as connection:
        assert history.differences(connection, "a", "b") == []


@pytest.mark.parametrize("statuses, is_flaky", [
    (("PASS", "FAIL", "PASS"), True), (("FAIL", "PASS", "FAIL"), True),
    (("PASS", "PASS", "FAIL", "FAIL"), False), (("FAIL", "FAIL", "PASS", "PASS"), False), (("PASS", "FAIL"), False),
    (("PASS", "ERROR", "PASS"), False), (("PASS", "ERROR", "FAIL", "ERROR"), False),
    (("PASS", "ERROR", "FAIL", "ERROR", "PASS"), True)])
def test_a_verdict_that_comes_back_is_flaky(run, url, statuses, is_flaky):
    for number, status in enumerate(statuses):
        run(f"run-{number}", (status, "Ethernet0", 3, {}))
    last = f"run-{len(statuses) - 1}"
    with open_store(url).reading() as connection:
        assert len(history.flaky_series(connection, last)) == is_flaky
        assert not history.flaky_series(connection, "run-1"), "what came later says nothing"
        assert not history.flaky_series(connection, last, runs=2)
        marks = {row["flaky"] for row in history.differences(connection, f"run-{len(statuses) - 2}", last)}
    assert marks <= {is_flaky}


def test_a_verdict_that_comes_back_with_another_build_is_not_flaky(run, url):
    builds = [("PASS", "1"), ("FAIL", "2"), ("PASS", "1"), ("FAIL", "2"), ("PASS", "3")]
    for number, (status, build) in enumerate(builds):
        run(f"run-{number}", (status, "Ethernet0", 3, {"os_version": build}))
    with open_store(url).reading() as connection:
        assert history.flaky_cases(connection, "run-4") == set()


def test_each_test_case_is_flaky_by_itself(run, url):
    """Runs of some test cases alone do not make the others flaky, and a regression beside a flaky case is none."""
    whole = [("FAIL", "Ethernet0", 3, {"plan_id": "WD-1"}), ("PASS", "Ethernet0", 3, {})]
    run("a", ("PASS", "Ethernet0", 3, {}), ("PASS", "Ethernet0", 4, {}))
    run("b", *whole, ("FAIL", "Ethernet0", 4, {}))
    run("c", ("PASS", "Ethernet0", 3, {}))
    run("d", *whole, ("PASS", "Ethernet0", 4, {}))
    run("e", ("FAIL", "Ethernet0", 3, {}), ("FAIL", "Ethernet0", 4, {}))
    with open_store(url).reading() as connection:
        assert {case[1:3] for case in history.flaky_cases(connection, "e")} == {(4, "PFC-1")}
        marks = {row["priority"]: row["flaky"] for row in history.differences(connection, "d", "e")
                 if row["plan_id"] == "PFC-1"}
    assert marks == {3: False, 4: True}


def test_runs_that_were_deliberately_broken_make_nothing_flaky(run, url):
    run("a", ("PASS", "Ethernet0", 3, {}))
    run("b", ("FAIL", "Ethernet0", 3, {}), faults=["pause-ignored@Ethernet0"])
    run("c", ("PASS", "Ethernet0", 3, {}))
    run("d", ("FAIL", "Ethernet0", 3, {}))
    with open_store(url).reading() as connection:
        assert history.flaky_cases(connection, "c") == history.flaky_cases(connection, "d") == set()


def test_runs_that_were_deliberately_broken_are_in_a_trend_on_request(run, capsys):
    run("healthy", ("PASS", "Ethernet0", 3, {}))
    run("broken", ("FAIL", "Ethernet0", 3, {}), faults=["pause-ignored@Ethernet0", "lossy-dropped"])
    assert main(["trend"]) == 0
    shown = capsys.readouterr().out
    assert "healthy" in shown and "pause-ignored" not in shown and "FAIL" not in shown.split("healthy")[1], shown
    assert shown.splitlines()[-1] == "left out: 1 run on a deliberately broken testbed (--with-broken)"
    assert main(["trend", "--with-broken"]) == 0
    shown = capsys.readouterr().out
    assert "pause-ignored@Ethernet0, lossy-dropped" in shown and "left out" not in shown, shown
    assert main(["trend", "--testbed", "other"]) == 0
    assert "left out" not in capsys.readouterr().out, "of another testbed none is"


def test_runs_that_were_deliberately_broken_say_so_where_they_are_asked_for(run, capsys):
    run("healthy", ("PASS", "Ethernet0", 3, {}))
    assert main(["list"]) == main(["show"]) == main(["compare", "healthy", "healthy"]) == 0
    assert "deliberately broken" not in capsys.readouterr().out
    run("broken", ("FAIL", "Ethernet0", 3, {}), faults=["pause-ignored@Ethernet0"])
    banner = "deliberately broken: pause-ignored@Ethernet0"
    assert main(["list"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "deliberately broken" in shown[1] and "pause-ignored@Ethernet0" in shown[4] and len(shown) == 6, shown
    for command, line in ((["show"], 1), (["show", "broken"], 1), (["compare", "healthy", "broken"], 1)):
        assert main(command) == 1
        assert capsys.readouterr().out.splitlines()[line].endswith(banner)


def test_trend(run, capsys):
    run("a", ("PASS", "Ethernet0", 3, {}), ("PASS", "Ethernet4", 3, {}))
    run("b", ("PASS", "Ethernet0", 3, {}), ("FAIL", "Ethernet4", 3, {}))
    run("c", ("PASS", "Ethernet0", 3, {}), finish=False)
    run("d", ("FAIL", "Ethernet0", 3, {}), testbed="other")

    def rows(*options):
        assert main(["trend", *options]) == 0
        return [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()
                if "│" in line][1:]

    assert [[row[0], row[3], *row[4:]] for row in rows("--testbed", "vtb-t0")] == [
        ["a", "SONiC.20260101", "PASS", "2", "0", "0"], ["b", "SONiC.20260101", "FAIL", "1", "1", "0"],
        ["c", "SONiC.20260101", "not finished", "0", "0", "1"]]
    assert [row[0] for row in rows("--limit", "2")] == ["c", "d"]
    assert [row[5:] for row in rows("--port", "Ethernet4", "--testbed", "vtb-t0")] == [
        ["1", "0", "0"], ["0", "1", "0"], ["0", "0", "0"]]


def test_trend_of_a_number(database, capsys):
    number = verdict(1, run_id="a", kind="final", value=12.5, unit="us", metric_name="head.response")
    del number["checks"], number["status"]
    writer = started(database.parent / "a", run={**RUN, "run_id": "a"})
    writer.write(parsed(number))
    writer.finish()
    assert main(["trend", "--metric", "head.response"]) == 0
    assert "12.5 us" in capsys.readouterr().out
    writer = started(database.parent / "b", run={**RUN, "run_id": "b", "faults": ["slow-response"]})
    writer.write(parsed({**number, "run_id": "b", "value": 99.5, "faults": ["slow-response"]}))
    writer.finish()
    assert main(["trend", "--metric", "head.response"]) == 0
    assert "99.5 us" not in capsys.readouterr().out
    assert main(["trend", "--metric", "head.response", "--with-broken"]) == 0
    assert "99.5 us" in capsys.readouterr().out
    place = ["--device", "vtb-t0-01", "--port", "Ethernet0"]
    assert main(["trend", "--metric", "head.response", *place]) == 0
    assert "12.5 us" in capsys.readouterr().out
    assert main(["trend", "--metric", "head.response", "--port", "Ethernet4"]) == 0
    assert "12.5 us" not in capsys.readouterr().out


def test_hostile_texts_do_not_reach_the_terminal(run, capsys):
    port = "\x1b[2J\u202eEthernet\0<b>" + "x" * 10_240
    run("a\x1b]0;title\x07", ("PASS", port, 3, {"os_version": port}))
    run("b", ("FAIL", port, 3, {"os_version": port}), testbed=port)
    assert main(["compare", "a\x1b]0;title\x07", "b"]) == 1
    assert main(["trend"]) == 0
    shown = capsys.readouterr().out
    assert all(sign.isprintable() or sign == "\n" for sign in shown) and len(shown) < 20_000
