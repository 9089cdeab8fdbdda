"""Testbed files that cannot be used, testbeds that are up otherwise than asked for or that a killed process left: one
sentence for each; and children that are interrupted."""
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts import testbeds
from scripts.testbeds import Refusal, files_of, read_entries, reason, virtual_testbed
from tests.common.snappi_tests import port
from virtual_testbed.lab_files import connection_graph


@pytest.mark.parametrize(("content", "sentence"), [
    (b"- {conf-name: lab-\xff}\n", "testbed file {file} is not UTF-8 text: invalid start byte at byte 18"),
    (b"- a: 1\n  b: c: d\n", "testbed file {file} is not YAML: mapping values are not allowed here, line 2"),
    (b"- {a: 1\n", "testbed file {file} is not YAML: expected ',' or '}}', but got '<stream end>', line 2"),
    (b"- \x01\n", "testbed file {file} is not YAML: unacceptable character #x0001: special characters are not allowed"
                  ' in "<unicode string>", position 2'),
    (b"- 2026-13-41\n", "testbed file {file} is not YAML: month must be in 1..12"),
    (b"a: 1\n", "testbed file {file} must hold a list of testbed entries"),
])
def test_a_wrong_testbed_file_is_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "testbed.yaml"
    file.write_bytes(content)
    with pytest.raises(Refusal) as refused:
        read_entries(file)
    assert str(refused.value) == sentence.format(file=file)


@pytest.mark.parametrize(("error", "text"), [
    (FileNotFoundError(2, "No such file or directory", "/nowhere/a"), "/nowhere/a: No such file or directory"),
    (OSError(28, "No space left on device"), "No space left on device"),
    (OSError("gone"), "gone"),
    (OSError(), "OSError"),
])
def test_the_reason_of_an_error_has_no_number(error: OSError, text: str) -> None:
    assert reason(error) == text


@pytest.mark.parametrize(("has_chassis", "habits", "is_used"), [
    (False, None, True),
    (True, None, True),
    (True, (), True),
    (False, (), False),
    (False, ("slow-start",), False),
    (True, ("slow-start",), False),
])
def test_habits_that_a_testbed_which_is_up_may_not_have_are_refused(
    monkeypatch: pytest.MonkeyPatch, has_chassis: bool, habits: Sequence[str] | None, is_used: bool
) -> None:
    """It says whether it has a chassis, and not what that does."""
    runtime = {"owner_pid": None, "faults": [], "clock": {"mode": "virtual"}, "otg": {"ixnetwork": has_chassis},
               "testbed_file": "/t/testbed.yaml", "inventory": "/t/vtb"}
    monkeypatch.setattr(testbeds, "running_testbed", lambda name: runtime)
    context = virtual_testbed("vtb-t0", Path("testbed.yaml"), (), habits)
    if is_used:
        with context as found:
            assert found == files_of("vtb-t0", runtime)
        return
    sentence = ("^virtual testbed 'vtb-t0' is up already, and a chassis gets its API and habits when it is brought up:"
                " end it first with `.*virtual-testbed down vtb-t0`$")
    with pytest.raises(Refusal, match=sentence), context:
        pytest.fail("it was used")


def test_suite_and_virtual_testbed_know_a_traffic_generator_by_the_same_names() -> None:
    """Neither may import the other."""
    assert port.GENERATOR_NAMES == connection_graph.GENERATOR_NAMES


def test_a_virtual_testbed_of_a_process_that_was_killed_is_taken_down_first(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its supervisor is about to do that; a part that is begun anew at once does not meet it."""
    with subprocess.Popen(["true"]) as owner:
        owner.wait()
    runtimes = [{"owner_pid": owner.pid}, None]
    asked: list[str] = []

    def answer(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        asked.append(command[1])
        return subprocess.CompletedProcess(command, 0, json.dumps({"testbed_file": "f", "inventory": "i"}))

    monkeypatch.setattr(testbeds, "running_testbed", lambda name: runtimes.pop(0))
    monkeypatch.setattr(subprocess, "run", answer)
    with testbeds.virtual_testbed("vtb-t0", tmp_path, []) as found:
        assert found.testbed_file == Path("f")
    assert asked == ["down", "up", "down"]


STUBBORN = """
import pathlib, signal, sys, time
log = pathlib.Path(sys.argv[1])
def heard(*signalled):
    log.open("a").write("interrupted\\n")
    if log.read_text().count("interrupted") == 2:
        time.sleep(0.5)
        log.open("a").write("put back\\n")
        sys.exit(2)
signal.signal(signal.SIGINT, heard)
log.write_text("")
while True:
    time.sleep(0.05)
"""
"""Its first interrupt meets something that does not answer; after the second it puts back what it changed."""


def test_an_interrupted_child_is_given_time_whatever_else_comes(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is interrupted twice; what interrupts its parent meanwhile changes nothing."""
    monkeypatch.setattr(testbeds, "CLEAN_UP_SECONDS", 1)
    log = tmp_path / "log"
    pressed: list[float] = []

    def meanwhile() -> None:
        if log.is_file():
            threading.Timer(1.2, signal.raise_signal, (signal.SIGINT,)).start()
            pressed.append(time.monotonic())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        testbeds.run([sys.executable, "-c", STUBBORN, str(log)], tmp_path, meanwhile=meanwhile)
    assert log.read_text() == "interrupted\ninterrupted\nput back\n"
    assert len(pressed) == 1
