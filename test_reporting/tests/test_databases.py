"""Several databases at once, runs that are gone on with, runs of one job."""
from __future__ import annotations

import json

import pytest

from tests.common.pfc.record.record_file import RunEnd
from tests.common.pfc.record.run_reading import run_of
from test_reporting.pfc.cli import main
from test_reporting.pfc.database import database_urls, results_folder
from test_reporting.pfc.delivery import RunDelivery
from test_reporting.tests.samples import RUN, RUN_ID, ask, lines, parsed, started, verdict


@pytest.mark.parametrize("text, urls", [
    ("sqlite:///a b.db postgresql://u:p@h/d\nkusto:///k", ("sqlite:///a b.db", "postgresql://u:p@h/d", "kusto:///k")),
    ("sqlite:///a.db sqlite:///a.db", ("sqlite:///a.db",)), (["sqlite:///a.db"], ("sqlite:///a.db",)),
    ("  ", ("sqlite:///results/pfc.db",))])
def test_several_urls(text, urls):
    assert database_urls(text) == urls


def test_files_are_beside_the_embedded_database_wherever_it_is_named(monkeypatch):
    assert str(results_folder("postgresql://h/d sqlite:////somewhere/pfc.db")) == "/somewhere"
    assert str(results_folder("postgresql://h/d")) == "results"


def test_a_run_is_in_all_databases_and_one_in_trouble_stops_no_other(database, url, tmp_path):
    said = []
    (tmp_path / "file").write_text("")
    urls = [url, f"sqlite:///{tmp_path / 'second.db'}", f"sqlite:///{tmp_path / 'file' / 'x.db'}",
            f"kusto:///{tmp_path / 'kusto'}"]
    writer = started(database.parent / RUN_ID, urls, said.append)
    writer.write(parsed(verdict(1)))
    assert (writer.finish(), len(said)) == (RunEnd(stored=False), 2)
    assert all("file cannot be created: Not a directory" in sentence or "x.db" in sentence for sentence in said)
    for path in (database, tmp_path / "second.db"):
        assert [row[3:] for row in ask(path)] == [(0, "PASS")]
    assert len(list((tmp_path / "kusto").iterdir())) == 1
    (tmp_path / "file").unlink()
    assert main(["--db", urls[2], "--db", url, "sync", "--results", str(database.parent)]) == 0
    assert [row[3:] for row in ask(tmp_path / "file" / "x.db")] == [(0, "PASS")]


def test_a_slow_database_does_not_slow_the_run_down(database, url):
    times = iter([0, 0.5, 1, 4, 10, 11])
    said = []
    delivery = RunDelivery(database.parent / RUN_ID, said.append, url, lambda: next(times))
    run = run_of(RUN)
    for number in range(3):
        delivery.deliver(run, parsed(verdict(number)))
    assert said == [f"database {url} took 3.0 s for 1 records; the run goes on, its records are in "
                    f"{database.parent / RUN_ID} and delivered at the end"]
    assert ask(database, "select count(*) from records") == [(2,)] and next(times) == 10, "it was not asked again"


def test_a_killed_run_is_gone_on_with(database, url):
    folder = database.parent / RUN_ID
    expected = [["vtb-t0-01", "Ethernet0", "pfc.lossless"], ["vtb-t0-01", "Ethernet8", "pfc.lossy"]]
    first = started(folder, url, run={**RUN, "expected": expected})
    errors = parsed(verdict(1, "ERROR"))
    first.write(errors)
    with (folder / "records.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(verdict(2)) + "\n" + json.dumps(verdict(9))[:50])  # and then it was killed
    second = started(folder, url, run={"run_id": RUN_ID, "testbed": "vtb-t0"})
    assert ask(database, "select count(*) from records") == [(2,)], "what the database had missed"
    second.write(parsed(verdict(3, replaces=errors[0].record_id)))
    second.finish()
    assert ask(database, "select status, cause from runs") == [("ERROR", "nothing was measured")], "of Ethernet8"
    assert [(row[1], row[4]) for row in ask(database)] == [("Ethernet0", "PASS"), ("Ethernet8", "ERROR")]
    assert ask(database, "select started from runs") == [(RUN["started"],)]
    assert len(lines(folder / "records.jsonl")) == 3


def test_parts_of_a_job_are_shown_together(database, url, capsys):
    for part, status in (("part-1", "PASS"), ("part-2", "FAIL")):
        writer = started(database.parent / part, url, run={**RUN, "run_id": part, "job_id": "sweep-7"})
        writer.write(parsed(verdict(1, status, run_id=part)))
        writer.finish()
    assert main(["show", "sweep-7"]) == 1
    shown = capsys.readouterr().out
    assert "run part-1 on vtb-t0" in shown and "run part-2 on vtb-t0" in shown
    assert main(["show", "part-1"]) == 0
    assert main(["export", "--format", "csv", "--run", "sweep-7"]) == 0
    assert capsys.readouterr().out.count("part-2") == 2
    assert ask(database, "select distinct job_id from records") == [("sweep-7",)]


def test_the_software_version_is_this_projects_unless_it_is_given(database, url):
    for run_id, given in (("a", {}), ("b", {"software_version": "mine 1.0"})):
        writer = started(database.parent / run_id, url, run={**RUN, "run_id": run_id, **given})
        writer.write(parsed(verdict(1, run_id=run_id)))
    versions = dict(ask(database, "select run_id, software_version from records"))
    assert versions["a"].startswith("sonic-mgmt-pfc ") and versions["b"] == "mine 1.0"
