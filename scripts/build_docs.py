"""Makes a site of the documentation by mkdocs (extra `docs`): build/docs/index.html.

The pages are those of docs/, with CONTRIBUTING.md and CHANGELOG.md beside them; links to other files of the repository,
which a site has not, become plain names. A link that leads nowhere ends it with a sentence.
"""
from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")
"""Pages beside the folder docs/ that the site has too."""
LINK = re.compile(r"(!?)\[([^\]\[]*(?:\[[^\]]*\][^\]\[]*)*)\]\(([^)\s#]*)(#[\w-]*)?\)")
TESTPLAN = "testplan"


def stage(folder: Path) -> None:
    """Copies the pages into a folder, with the links that the site has."""
    shutil.copytree(ROOT / "docs", folder, dirs_exist_ok=True)
    for name in PAGES:
        shutil.copy(ROOT / name, folder / name)
    for page in folder.rglob("*.md"):
        place = page.relative_to(folder)
        own = ROOT / place if str(place) in PAGES else ROOT / "docs" / place
        page.write_text(_linked(page.read_text(encoding="utf-8"), own, len(place.parts) - 1), encoding="utf-8")


def _linked(text: str, page: Path, depth: int) -> str:
    """A page's text; code is left as it is."""
    parts = re.split(r"(^```.*?^```$|`[^`\n]*`(?!\]))", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if number % 2 else LINK.sub(lambda found: _link(found, page, depth), part)
                   for number, part in enumerate(parts))


def _link(found: re.Match[str], page: Path, depth: int) -> str:
    mark, words, target = found.group(1, 2, 3)
    anchor = found[4] or ""
    if not target or "://" in target:
        return found[0]
    path = (page.parent / target).resolve()
    if path.is_dir() and (path / "README.md").is_file():
        path = path / "README.md"
    if path in [ROOT / name for name in PAGES]:
        return f"{mark}[{words}]({'../' * depth}{path.name}{anchor})"
    if path.is_relative_to(ROOT / "docs"):
        up = "../" * depth
        return f"{mark}[{words}]({up}{path.relative_to(ROOT / 'docs').as_posix()}{anchor})"
    return words if path.exists() else found[0]


def anchor_of(heading: str, separator: str = "-") -> str:
    """The anchor of a heading, as GitHub makes it: the pages' links use those."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", separator)


def build(site: Path) -> None:
    """Builds the site.

    Raises:
        SystemExit, Exception: of mkdocs, where a page is not as it should be; it has said what.
    """
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config
    with tempfile.TemporaryDirectory() as name:
        stage(Path(name))
        config: Any = load_config(config_file=str(ROOT / "mkdocs.yml"), docs_dir=name, site_dir=str(site))
        config["mdx_configs"] = {**config["mdx_configs"], "toc": {"slugify": anchor_of, "permalink": False}}
        config["nav"] = [_entry(one) for one in config["nav"]]
        build_site(config)


def _entry(entry: Any) -> Any:
    """An entry of the navigation; that of the test plan gets a line for each of its pages."""
    if entry != {"Test plan": TESTPLAN}:
        return entry
    pages = sorted(path.name for path in (ROOT / "docs" / TESTPLAN).glob("*.md") if path.name != "README.md")
    return {"Test plan": [{"All test cases": f"{TESTPLAN}/README.md"}, *(f"{TESTPLAN}/{name}" for name in pages)]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds it, and says where it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "docs", metavar="DIR", help="default: build/docs")
    options = parser.parse_args(arguments)
    try:
        from mkdocs.exceptions import MkDocsException
    except ImportError as error:
        print(f"error: mkdocs, of the extra docs, is not installed ({error})", file=sys.stderr)
        return 3
    try:
        build(options.site.resolve())
    except MkDocsException as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    print(f"{options.site / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
