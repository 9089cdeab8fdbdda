"""The picture of the chain: its instants are measured, its numbers are the documentation's, it is drawn."""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import plot_chain

ROOT = Path(__file__).parents[2]


def test_the_instants_measured_are_the_computed_ones():
    assert plot_chain.measure() == plot_chain.COMPUTED_PS


def test_the_documentation_has_the_same_instants():
    text = (ROOT / "docs" / "data-plane.md").read_text(encoding="utf-8")
    section = text.split("\n## Back-pressure hop by hop\n")[1].split("\n## ")[0]
    rows = [row.split("|") for row in section.splitlines() if row.startswith("| `vtb-chain-")]
    columns = [[int(re.sub(r"\D", "", cell)) for cell in row[6:10]] for row in rows]
    instants = list(plot_chain.COMPUTED_PS.values())
    assert columns == [[sent, sent, received, received] for sent, received in zip(instants[::2], instants[1::2])]


def test_no_picture_of_other_instants(monkeypatch, tmp_path, capsys):
    measured = {**plot_chain.COMPUTED_PS, "received by the sender": 1}
    monkeypatch.setattr(plot_chain, "measure", lambda: measured)
    assert plot_chain.main(["--output", str(tmp_path / "chain.svg")]) == 1
    assert "the instants differ" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_the_picture_is_drawn_and_always_the_same(tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `docs` is not installed")
    paths = [tmp_path / name for name in ("chain.svg", "again.svg", "chain.png")]
    done = subprocess.run([sys.executable, "-m", "scripts.plot_chain", "--output", *paths], capture_output=True,
                          text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith(" ".join(["written:", *map(str, paths)]) + "\n"), done.stderr
    first, second = (path.read_bytes() for path in paths[:2])
    assert first == second and first.startswith(b"<?xml") and paths[2].read_bytes().startswith(b"\x89PNG")
    assert plot_chain.IMAGE.read_bytes().startswith(b"<?xml")
