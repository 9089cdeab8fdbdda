"""The site of the documentation, built by mkdocs as `make docs` builds it."""
from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the extra docs is not installed")
from scripts.build_docs import ROOT, anchor_of, stage  # noqa: E402

INDEX = ROOT / "docs" / "README.md"


class Links(HTMLParser):
    """The links and pictures of a page, and the ids that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        given = dict(attrs)
        self.ids |= {given["id"] or ""} if "id" in given else set()
        self.found += [given[name] or "" for name in ("href", "src") if given.get(name)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-W", "ignore", "-m", "scripts.build_docs", "--site", str(folder)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "WARNING" not in answer.stdout + answer.stderr, answer.stderr
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    pages = {path.with_name("index.html") if path.name == "README.html" else path for path in pages}
    assert not [str(page) for page in pages if not (site / page).is_file()]


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {path: Links(path) for path in site.rglob("*.html")}
    broken = []
    for path, links in pages.items():
        for link in links.found if path.name != "404.html" else ():
            target, _, anchor = link.partition("#")
            if "://" in link or target.startswith(("mailto:", "data:", "javascript:")):
                continue
            there = (path.parent / target).resolve() if target else path
            if not there.exists() or anchor and there in pages and anchor not in pages[there].ids:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


def test_a_link_that_leads_nowhere_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    from scripts import build_docs
    real = build_docs.stage

    def broken(folder: Path) -> None:
        real(folder)
        page = folder / "tutorial.md"
        page.write_text(page.read_text(encoding="utf-8") + "\n[x](nowhere.md)\n", encoding="utf-8")

    monkeypatch.setattr(build_docs, "stage", broken)
    assert build_docs.main(["--site", str(tmp_path / "site")]) == 3
    assert "error: " in capsys.readouterr().err


def test_the_index_has_every_page_once() -> None:
    named = re.findall(r"\]\(([^)#]+)\)", INDEX.read_text(encoding="utf-8"))
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("*.md") if path != INDEX]
    assert sorted(set(pages) - set(named)) == [], "pages that the index does not name"
    assert [name for name in pages if named.count(name) != 1 and name != "glossary.md"] == []


def test_the_order_of_the_site_is_that_of_the_index(site: Path) -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = re.findall(r": ([\w-]+\.md)$", config[config.index("nav:"):], re.MULTILINE)
    named = re.findall(r"\]\(([\w./-]+\.md)\)", INDEX.read_text(encoding="utf-8"))
    index = [name.removeprefix("../") for name in named]
    order = list(dict.fromkeys(name for name in index if name in nav))
    order = [*order[1:3], order[0], *order[3:]]  # the index begins with whose words they are
    assert [name for name in nav if name in order] == order


def test_anchors_are_those_of_github() -> None:
    assert anchor_of("Where would one change ...?") == "where-would-one-change-"


def test_code_is_left_as_it_is(tmp_path: Path) -> None:
    stage(tmp_path)
    text = (tmp_path / "tutorial.md").read_text(encoding="utf-8")
    assert 'api = snappi.api(location=json.load(open(".virtual_testbed/vtb-t0/runtime.json"))["otg"]["url"])' in text
