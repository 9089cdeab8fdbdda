"""A switch that restarts in the middle of a qualification: ERROR, which says what was found, never PASS or FAIL."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.common.clone import ROOT

pytestmark = pytest.mark.slow("two qualifications, each with a testbed of its own")
ERROR = 2
"""The exit status."""


@pytest.mark.parametrize("fault, sentence", [
    ("switch-reboots@*,from=100s", "vtb-t0-01 cannot be reached over SSH"),
    ("switch-reboots@*,from=100s,only=services", "ended with status 1: COUNTERS_PORT_NAME_MAP is empty!"),
])
def test_a_restart_in_a_run_is_an_error(tmp_path: Path, fault: str, sentence: str) -> None:
    command = [sys.executable, str(ROOT / "scripts/qualify.py"), "--fault", fault, "--scenario", "PFC-1",
               "--results", str(tmp_path / "results")]
    done = subprocess.run(command, env={**os.environ, "VIRTUAL_TESTBED_STATE": str(tmp_path / "state")},
                          capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == ERROR, f"{done.stdout}{done.stderr}"
    verdicts = [line.split()[-1] for line in done.stdout.splitlines() if line.startswith("vtb-t0-01  Ethernet0")]
    assert verdicts == ["ERROR", "ERROR"], done.stdout
    assert sentence in done.stdout.splitlines()[-1], done.stdout
