"""What is known to be wrong."""
from __future__ import annotations

import pytest

from test_reporting.pfc.cli import main
from test_reporting.pfc.database import open_store
from test_reporting.pfc.defects import Defect, known
from test_reporting.tests.html_samples import MARKUP, Page
from test_reporting.tests.samples import verdict

ADD = ["defect", "add", "pauses leak", "--owner", "ada", "--check", "blocked-while-paused", "--link",
       "https://example.org/17?a=1&b=2"]


@pytest.fixture
def page(tmp_path):
    """Write the page of the latest run, and take it apart."""

    def written():
        assert main(["html", "--output", str(tmp_path / "p.html")]) == 0
        return Page(tmp_path / "p.html")

    return written


def test_a_failure_that_is_known_has_its_owner(run, page, capsys):
    run(verdict(1, "FAIL"), verdict(2, "FAIL", checks=[{**verdict()["checks"][0], "status": "FAIL", "name": "new"}]))
    assert "Known:" not in page().root.words
    assert main(ADD) == 0
    made = page()
    known_as, = [one for one in made.root.all("p") if one.attributes.get("class") == "known-as"]
    assert known_as.words == (
        "Known: pauses leak, owner ada, https://example.org/17?a=1&b=2. The verdict stays what it is.")
    link, = [one for one in made.root.all("a") if one.attributes["href"].startswith("https:")]
    assert link.attributes["href"] == "https://example.org/17?a=1&b=2"
    assert made.root.all("h1")[0].words.startswith("FAIL"), "a known failure is one"
    assert capsys.readouterr().out.count("added") == 1


def test_it_covers_what_it_says_and_no_more(run, page):
    run(verdict(1, "FAIL"), verdict(2, "FAIL", plan_id="PFC-2"))
    main([*ADD, "--plan-id", "PFC-1"])
    assert "Known:" not in page().root.words, "it fails in another test case too"
    main([*ADD, "--os-version", "another"])
    assert "Known:" not in page().root.words
    main([*ADD, "--os-version", "SONiC.20260101", "--hwsku", "Arista-7060CX-32S-C32", "--device", "vtb-t0-01"])
    assert "Known:" in page().root.words


def test_it_is_listed_once_and_removed(run, url, capsys):
    run(verdict(1))
    assert [main(ADD), main(ADD)] == [0, 0]
    with open_store(url).reading() as connection:
        one, = known(connection)
    assert one == Defect("pauses leak", "ada", "https://example.org/17?a=1&b=2", "blocked-while-paused")
    assert "it is known already" in capsys.readouterr().out
    assert main(["defect", "list"]) == 0 and one.defect_id in capsys.readouterr().out
    assert main(["defect", "remove", one.defect_id]) == 0
    assert main(["defect", "remove", one.defect_id]) == 3
    assert f"no known defect is '{one.defect_id}'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments, says", [
    (["t", "--owner", "a"], "needs --check or --plan-id"),
    (["", "--owner", "a", "--check", "c"], "a title and an owner"),
    (["t", "--owner", "a", "--check", "c", "--link", "javascript:alert(1)"], "must begin with https:// or http://"),
    (["t", "--owner", "a", "--check", "c", "--link", 'https://x" onclick="y'], "must begin with https:// or http://"),
    (["t", "--check", "c"], "--owner"),
])
def test_what_says_too_little_is_refused(run, capsys, arguments, says):
    run(verdict(1))
    assert main(["defect", "add", *arguments]) == 3
    assert says in capsys.readouterr().err


def test_its_texts_are_text(run, page):
    run(verdict(1, "FAIL"))
    main(["defect", "add", MARKUP, "--owner", MARKUP, "--check", "blocked-while-paused"])
    assert page().root.words.count(MARKUP) == 2, "shown, not run"
