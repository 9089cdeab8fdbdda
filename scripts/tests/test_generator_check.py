"""The questions of `make generator-check`, answered by virtual traffic generators: one as it should be, and one with a
habit of real ones."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.campaign.broken_testbed import broken_testbed
from virtual_testbed.supervision.state import STATE_VARIABLE

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts/generator_check.py"
TESTBED = "vtb-t0"
HANG_S = 400
LATE, BESIDE, AGAIN, STORM, CAPTURE, SMALL, QUEUES = (
    "How late is it?", "Does a flow start beside one that runs?", "What does a second start of a flow do?",
    "What is said of flows in a storm?", "What does a capture hold once it was stopped?",
    "Are frames of 64 bytes sent and counted?", "How many queues can PFC hold?")


def generator_check(folder: Path, testbed: str = TESTBED) -> subprocess.CompletedProcess[str]:
    """The command; its virtual testbeds and its answers are in `folder`."""
    environment = {**os.environ, STATE_VARIABLE: str(folder), "ANSIBLE_HOME": str(folder / "ansible")}
    return subprocess.run([sys.executable, SCRIPT, testbed, "--results", folder / "results"], cwd=ROOT, check=False,
                          env=environment, capture_output=True, text=True, timeout=HANG_S)


def answers(folder: Path) -> dict[str, dict[str, Any]]:
    """What the command left in its file, by question."""
    path = folder / "results" / f"generator-check-{TESTBED}.json"
    return {one["question"]: one for one in json.loads(path.read_text(encoding="utf-8"))}


@pytest.mark.slow("a testbed that is up and deployed: a minute")
def test_every_question_is_answered(tmp_path: Path) -> None:
    """And printed; the switch is as it was found."""
    with broken_testbed(tmp_path, []):
        ended = generator_check(tmp_path)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        found = answers(tmp_path)
        again = generator_check(tmp_path)
    assert list(found) == [LATE, BESIDE, AGAIN, STORM, CAPTURE, SMALL, QUEUES]
    assert all(one["answered"] and one["so"] for one in found.values()), found
    assert found[LATE]["answer"].startswith("0.0 s to start, 0.0 s to stop, statistics up to "), found[LATE]
    assert found[BESIDE]["answer"] == "it is sent; the first one goes on"
    assert found[AGAIN]["answer"].startswith("sent again; counts "), found[AGAIN]
    assert found[STORM]["answer"].startswith("storm transmitting, held flow "), found[STORM]
    assert found[CAPTURE]["answer"].startswith("1000 frames of 1000, with"), found[CAPTURE]
    assert found[SMALL]["answer"] == "1000 sent and 1000 received of 1000"
    assert found[QUEUES]["answer"] == "OTG does not say" and not found[QUEUES]["entry"]
    assert f"answers: {tmp_path / 'results' / 'generator-check-vtb-t0.json'}" in ended.stdout.splitlines()
    assert all(len(re.findall(f"^{one['question'][:25]}", ended.stdout, re.MULTILINE)) == 1 for one in found.values())
    assert again.returncode == 0, f"the switch was given back: {again.stderr}"


@pytest.mark.slow("a testbed that is up and deployed: a minute")
def test_a_generator_that_starts_no_finished_flow_again_is_found_out(tmp_path: Path) -> None:
    with broken_testbed(tmp_path, ["finished-flows-stay-started"]):
        ended = generator_check(tmp_path)
    found = answers(tmp_path)
    assert found[AGAIN]["answer"].startswith("not sent, and nobody says so; "), found[AGAIN]
    assert found[BESIDE]["answer"] == "it is sent; the first one goes on", "another flow is"
    assert ended.returncode == 0, "that is an answer too"


@pytest.mark.parametrize(("testbed", "sentence"), [
    (TESTBED, "the virtual testbed 'vtb-t0' is not up: bring it up first with `virtual-testbed up vtb-t0`"),
    ("vtb-t9", "testbed 'vtb-t9' is not in "),
])
def test_a_testbed_that_cannot_be_asked_is_refused(tmp_path: Path, testbed: str, sentence: str) -> None:
    ended = generator_check(tmp_path, testbed)
    assert (ended.returncode, ended.stdout) == (3, ""), ended.stdout
    assert ended.stderr.startswith(f"error: {sentence}"), ended.stderr
    assert ended.stderr.count("\n") == 1 and not (tmp_path / "results").exists()
