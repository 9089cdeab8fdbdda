"""A sample of a campaign, as a user starts it: faults of each source in several bring-ups, two at a time, and a healthy
testbed. Everything has to be as declared."""
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.campaign.entries import ROOT

pytestmark = [
    pytest.mark.slow("brings eight testbeds up"),
    pytest.mark.long("a campaign shows more, and tests of broken switches its entries"),
]

CATALOGUE = (
    "counted-short", "counters-wrap", "drops-uncounted", "misclassified", "pfc-unasked", "watchdog-false-alarm",
    "watchdog-wide", "weights-ignored",
)
"""Faults that take least, of several kinds."""
HANG_S = 1500


def carried_out(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A campaign with its results in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "scripts.campaign", "--results", str(folder), "--at-once", "2", *options], cwd=ROOT,
        capture_output=True, text=True, check=False, timeout=HANG_S)


def results_in(folder: Path) -> list[dict[str, Any]]:
    """The lines of all parts; of what was measured again alone there are two."""
    files = sorted(folder.glob("campaign-*/parts/*/entries.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_sample_of_the_catalogue_is_caught_and_blamed_rightly(tmp_path: Path) -> None:
    done = carried_out(tmp_path, "--sources", "catalogue", "--only", ",".join(CATALOGUE))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {one["entry"]["name"] for one in results_in(tmp_path)} == set(CATALOGUE)
    [campaign] = tmp_path.glob("campaign-*/campaign.html")
    assert "Not as declared: 0" in campaign.read_text(encoding="utf-8")


def test_a_mutant_of_the_suite_lets_a_fault_escape(tmp_path: Path) -> None:
    done = carried_out(tmp_path, "--sources", "catalogue", "--only", "weights-ignored", "--mutant", "no-shares")
    assert done.returncode == 1 and "escaped   catalogue weights-ignored" in done.stdout, done.stdout + done.stderr


def test_a_healthy_testbed_that_was_drawn_passes(tmp_path: Path) -> None:
    done = carried_out(tmp_path, "--sources", "healthy", "--count", "1", "--seed", "sample")
    assert done.returncode == 0 and "passed    healthy 0001" in done.stdout, done.stdout + done.stderr
