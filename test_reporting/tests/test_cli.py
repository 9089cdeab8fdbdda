from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys

import pytest

from test_reporting.pfc.cli import main
from test_reporting.pfc.queries import natural
from test_reporting.pfc.report import printable
from test_reporting.tests.samples import RUN_ID, verdict


@pytest.mark.parametrize("statuses, exit_status", [
    (["PASS", "PASS"], 0), (["PASS", "FAIL"], 1), (["ERROR", "FAIL"], 1), (["PASS", "ERROR"], 2), ([], 2)])
def test_the_exit_status_of_show_is_the_verdict(run, capsys, statuses, exit_status):
    run(*(verdict(number, status) for number, status in enumerate(statuses)))
    assert main(["show"]) == exit_status
    assert main(["show", RUN_ID]) == exit_status


def test_show_says_what_was_expected_and_seen(run, capsys):
    run(verdict(1), verdict(2, "FAIL", port_id="Ethernet16", priority=4), verdict(3, port_id="Ethernet8"),
        verdict(4, "ERROR", port_id="Ethernet8", metric_name="pfc.lossy", checks=[], cause="the link is down"))
    assert main(["show"]) == 1
    shown = capsys.readouterr().out
    assert shown.splitlines()[0].startswith(f"run {RUN_ID} on vtb-t0, started 2026-01-31 13:00:00, finished ")
    assert [line.split("│")[2:7] for line in shown.splitlines() if "pfc." in line] == [
        [" Ethernet0  ", " pfc.lossless ", " PASS     ", " 0       ", "                  "],
        [" Ethernet8  ", " pfc.lossless ", " PASS     ", " 0       ", "                  "],
        [" Ethernet8  ", " pfc.lossy    ", " ERROR    ", "         ", " the link is down "],
        [" Ethernet16 ", " pfc.lossless ", " FAIL     ", " 1       ", " the cause        "]]
    reasons = shown[shown.index("not PASS:"):]
    assert "│ Ethernet16 │ 4          │ blocked-while-paused" in reasons
    assert "0 frames" in reasons and "│ 12 " in reasons
    assert "the link is down" in reasons
    assert shown.splitlines()[-1] == "FAIL: the cause"


def test_show_says_what_failed_checks_come_to(run, capsys):
    run(verdict(1, "FAIL"), diagnosis="vtb-t0-01 Ethernet0: pauses stop nothing")
    main(["show"])
    assert capsys.readouterr().out.splitlines()[1] == "diagnosis: vtb-t0-01 Ethernet0: pauses stop nothing"


def test_a_run_that_has_not_finished_is_error(run, capsys):
    run(verdict(1), finish=False)
    assert main(["show"]) == 2
    assert "not finished" in capsys.readouterr().out
    assert main(["list"]) == 0
    assert "not finished" in capsys.readouterr().out


def test_list_has_the_latest_runs_and_their_counts(run, capsys):
    run(verdict(1), verdict(2, "FAIL", port_id="Ethernet4"), run_id="first", started="2026-01-31T13:00:00Z")
    run(verdict(1, "ERROR"), run_id="second", started="2026-01-31T14:00:00Z")
    assert main(["list"]) == 0
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()
            if "vtb-t0" in line]
    assert rows == [["first", "vtb-t0", "2026-01-31 13:00:00", "FAIL", "1", "1", "0"],
                    ["second", "vtb-t0", "2026-01-31 14:00:00", "ERROR", "0", "0", "1"]]
    assert main(["list", "--limit", "1"]) == 0
    assert "first" not in capsys.readouterr().out


def test_an_empty_database_can_be_looked_at(run, capsys):
    run(run_id="gone")
    assert main(["export", "--format", "csv", "--run", "gone"]) == 0
    assert capsys.readouterr().out == ""


def test_csv(run, capsys):
    run(verdict(1), verdict(2, "ERROR", port_id='Ether,"net\n4'))
    assert main(["export", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out, newline="")))
    assert [(row["port_id"], row["value"], row["status"], row["cause"]) for row in rows] == [
        ('Ether,"net\n4', "", "ERROR", "the cause"), ("Ethernet0", "0", "PASS", "")]
    assert json.loads(rows[1]["labels"])["device.port.id"] == "Ethernet0"


def test_json(run, tmp_path, capsys):
    run(verdict(1, "FAIL"))
    run(verdict(1), run_id="other")
    output = tmp_path / "out.json"
    assert main(["export", "--format", "json", "--run", RUN_ID, "--output", str(output)]) == 0
    exported = json.loads(output.read_text())
    assert [exported["runs"][0]["run_id"], exported["runs"][0]["status"]] == [RUN_ID, "FAIL"]
    assert [row["status"] for row in exported["metrics"]] == ["FAIL"]
    assert [(row["evidence"], row["checks"][0]["seen"]) for row in exported["records"]] == [
        ({"frames": {"received": 12, "sent": 1000}}, 12)]
    assert main(["export", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2


def test_sync_delivers_the_good_and_names_the_bad(run, database, capsys):
    run(verdict(1), verdict(2))
    with (database.parent / RUN_ID / "records.jsonl").open("a") as file:
        file.write("{}\n" + json.dumps(verdict(3, run_id="other")) + "\n" + json.dumps(verdict(4)) + "\n{torn")
    (database.parent / "broken").mkdir()
    (database.parent / "broken" / "run.json").write_text("{")
    assert main(["sync"]) == 3
    said = capsys.readouterr()
    assert said.out.startswith("1 records delivered to sqlite:///")
    records = database.parent / RUN_ID / "records.jsonl"
    assert [line.partition(": it is not")[0] for line in said.err.splitlines()] == [
        f"error: {records} line 3: field 'schema' is missing",
        f"error: {records}: field 'run_id' is 'other'; it must be '{RUN_ID}'",
        f"error: {database.parent / 'broken' / 'run.json'}"]


def test_sync_delivers_a_folder_that_a_killed_run_left(database, capsys):
    folder = database.parent / "killed"
    folder.mkdir(parents=True)
    (folder / "records.jsonl").write_text(json.dumps(verdict(1, "FAIL")) + "\n" + json.dumps(verdict(2))[:50])
    assert main(["sync"]) == 0
    assert main(["show"]) == 1
    assert "not finished" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, sentence", [
    ([], "the following arguments are required: COMMAND; see pfc-report --help"),
    (["shew"], "argument COMMAND: invalid choice: 'shew'"),
    (["list", "--limit", "0"], "argument --limit: '0' is not a positive whole number"),
    (["export"], "the following arguments are required: --format"),
    (["list"], "there is no database "),
    (["show"], "there is no database "),
    (["sync", "--results", "/nowhere"], "/nowhere is not a folder; --results must name the one that holds the runs' "
                                        "folders"),
    (["--db", "oracle://x", "list"], "database scheme 'oracle' is not supported; it must be a file")])
def test_what_cannot_be_done_is_refused_in_one_sentence(database, capsys, arguments, sentence):
    assert main(arguments) == 3
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(f"error: {sentence}") and said.err.count("\n") == 1


def test_an_unknown_run_is_refused_with_those_that_there_are(run, capsys):
    run(verdict())
    assert main(["show", "nope"]) == 3
    assert capsys.readouterr().err == f"error: the database has no run 'nope'; the latest are {RUN_ID}\n"


def test_hostile_texts_do_not_reach_the_terminal(run):
    run(verdict(1, "FAIL", port_id="\x1b[2J\u202eEthernet\0", cause="x" * 10_240 + "\r\n"), run_id="r\x1b]0;title\x07")
    for encoding, command, status in (("ascii", ["show", "r\x1b]0;title\x07"], 1), ("utf-8", ["list"], 0)):
        result = subprocess.run([sys.executable, "-m", "test_reporting.pfc", *command], capture_output=True,
                                env={**os.environ, "PYTHONIOENCODING": encoding})
        assert (result.returncode, result.stderr) == (status, b"")
        text = result.stdout.decode(encoding)
        assert all(sign.isprintable() or sign == "\n" for sign in text) and len(text) < 10_000


def test_a_reader_that_leaves_early_is_no_error(run):
    run(*(verdict(number, port_id=f"Ethernet{number}") for number in range(300)))
    process = subprocess.Popen([sys.executable, "-m", "test_reporting.pfc", "export", "--format", "json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(30) == 3


def test_long_and_strange_texts_are_shown_short():
    assert printable("\u05d0\u202e\t") == "\u05d0\\u202e\\t"
    assert printable("x" * 301) == "x" * 300 + "... (301 characters)"


def test_ports_are_in_the_order_of_their_numbers():
    assert sorted(["Ethernet16", "Ethernet8", "", "8", "Ethernet8/1"], key=natural) == [
        "", "8", "Ethernet8", "Ethernet8/1", "Ethernet16"]


def test_the_examples_of_the_help_are_understood(capsys):
    """Each line of the help is parsed as it stands."""
    import shlex

    from test_reporting.pfc.cli import EXAMPLES, parse
    lines = [line.strip().split("  ")[0] for line in EXAMPLES.splitlines() if line.startswith("  pfc-report")]
    assert len(lines) == 6 and all(parse(shlex.split(line)[1:]).command for line in lines)
    with pytest.raises(SystemExit):
        main(["--help"])
    assert EXAMPLES.strip() in capsys.readouterr().out
