"""Signals that come before, while and after frames are sent."""
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import types
from collections import Counter
from pathlib import Path

import pytest

import pfctest
from pfctest import cli, options, storm, workers
from pfctest.gaps import Gaps
from pfctest.pacing import SendCounts, StopRequest
from pfctest.storm import StormReport
from pfctest.tests.namespace import ROOT
from pfctest.tests.signalled import PLAN

REQUEST = options.read(["-d", "a,b", "--priority=3", "--duration=1", "--workers=1"])


@pytest.fixture(autouse=True)
def heeded():
    """Also where the tests run in a shell's background, which ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def signalled(*words):
    """The lines that `pfctest.tests.signalled` prints."""
    command = [sys.executable, "-m", "pfctest.tests.signalled", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_worker_heeds_a_signal_that_comes_as_soon_as_it_is_there(number):
    assert signalled("worker", int(number)) == [number.name]


def test_a_signal_that_comes_while_workers_start_is_passed_on_to_all():
    assert set(signalled("parent")) == {"2 SIGTERM"}, "never to those alone that were there first"


def test_what_was_held_back_is_held_back_again():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        with storm.heeding(StopRequest()):
            assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        assert signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.mark.parametrize("ended_by, refused, status", [
    ("SIGTERM", 0, 0), ("SIGINT", 0, 0), ("duration", 0, 2), ("count", 0, 2), ("SIGTERM", 1, 2)])
def test_a_storm_that_is_ended_before_its_second_frame_is_not_judged(ended_by, refused, status):
    gaps = Gaps(335_539)
    gaps.add(0, 10)
    gaps.finish(100)
    assert cli._judge(REQUEST, StormReport(SendCounts(1, refused), gaps, ended_by, True, "ordinary")) == status


def test_what_an_interface_did_not_take_is_told_instead_of_a_judgement(capsys):
    """The gaps are those of sends that every interface took."""
    counts = SendCounts(596, 596, by_interface=Counter(a=596, b=0))
    assert cli._judge(REQUEST, StormReport(counts, Gaps(335_539), "duration", True, "ordinary")) == 2
    assert capsys.readouterr().err == ("error: the storm cannot be judged, as in no two sends every interface took its "
                                       "frame: a took 596 frames, b took 0 frames\n")


def test_a_worker_that_sent_nothing_is_not_forgotten():
    """Its gaps are unknown, not the best."""
    gaps = Gaps(335_539)
    gaps.add(0, 10)
    gaps.add(100, 110)
    reports = [StormReport(SendCounts(2, by_interface=Counter(a=2)), gaps, "duration", True, "ordinary"),
               StormReport(SendCounts(0, 2, by_interface=Counter(b=0)), Gaps(335_539), "duration", True, "ordinary")]
    together = workers._together(reports)
    assert together.counts.by_interface == {"a": 2, "b": 0} and together.gaps.sends == 0


def test_an_interface_that_is_not_released_fails_after_the_report(monkeypatch, capsys):
    gaps = Gaps(335_539)
    gaps.add(0, 10)
    gaps.add(100, 110)
    monkeypatch.setattr(storm, "plan", lambda request: PLAN)
    report = StormReport(SendCounts(4), gaps, "duration", False, "ordinary", "why")
    monkeypatch.setattr(workers, "run", lambda *_: report)
    assert cli.main(["-d", "a,b", "--priority=3", "--duration=1"]) == 2
    said = capsys.readouterr()
    assert "4 frames sent from a, b" in said.out and said.err == "error: why\n"


def interrupt(*_):
    raise KeyboardInterrupt


def test_an_interrupt_before_anything_is_sent_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(options, "read", interrupt)
    with contextlib.suppress(KeyboardInterrupt):  # would end the tests
        assert cli.main([]) == 130
    assert capsys.readouterr().err == "error: interrupted by SIGINT\n"


def test_so_is_one_while_modules_are_read(monkeypatch, capsys):
    class Interrupted(types.ModuleType):
        __getattr__ = interrupt

    monkeypatch.setitem(sys.modules, "pfctest.cli", Interrupted("pfctest.cli"))
    monkeypatch.setattr(os, "_exit", sys.exit)
    code = compile((Path(pfctest.__file__).parent / "__main__.py").read_text(), "main", "exec")
    with contextlib.suppress(KeyboardInterrupt), pytest.raises(SystemExit) as ended:
        exec(code, {"__name__": "__main__"})
    assert ended.value.code == 130 and capsys.readouterr().err == "error: interrupted by SIGINT\n"
