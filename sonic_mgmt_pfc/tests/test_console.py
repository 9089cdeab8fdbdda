"""The console scripts of the clone."""
import runpy
import sys
from pathlib import Path

import pytest

from sonic_mgmt_pfc import console


def test_commands_are_the_scripts_of_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, str]] = []
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(runpy, "run_path", lambda path, run_name: ran.append((path, run_name)))
    monkeypatch.setattr(runpy, "run_module", lambda name, run_name, alter_sys: ran.append((name, run_name)))
    monkeypatch.setenv("PFC_REPORT_DB", "")
    console.qualify()
    console.restore()
    console.sweep()
    console.report()
    console.campaign()
    paths = [str(console.CLONE / "scripts" / name) for name in ("qualify.py", "restore.py", "sweep.py")]
    assert ran == [(what, "__main__") for what in (*paths, "test_reporting.pfc", "scripts.campaign")]


def test_without_a_clone_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(console, "CLONE", tmp_path)
    with pytest.raises(SystemExit, match="^error: pfc-restore needs the clone of the project, and "):
        console.restore()
