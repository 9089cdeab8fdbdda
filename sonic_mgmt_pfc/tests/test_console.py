"""The console scripts of the clone."""
import runpy
from pathlib import Path

import pytest

from sonic_mgmt_pfc import console


def test_the_restoring_command_is_the_script_of_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, str]] = []
    monkeypatch.setattr(runpy, "run_path", lambda path, run_name: ran.append((path, run_name)))
    console.restore()
    assert ran == [(str(console.CLONE / "scripts/restore.py"), "__main__")]


def test_without_a_clone_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(console, "CLONE", tmp_path)
    with pytest.raises(SystemExit, match="^error: pfc-restore needs the clone of the project, and "):
        console.restore()
