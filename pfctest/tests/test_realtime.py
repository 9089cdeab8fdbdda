"""What a storm asks of the machine, and gives back."""
from __future__ import annotations

import os

import pytest

from pfctest import realtime


@pytest.fixture
def latency(tmp_path, monkeypatch):
    """Stands for the kernel's file."""
    file = tmp_path / "latency"
    file.touch()
    monkeypatch.setattr(realtime, "_WAKE_LATENCY", str(file))
    return file


def is_open(file):
    return str(file) in {os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")}


def test_no_cpu_sleeps_while_a_pace_is_kept(latency):
    with realtime.scheduled(True):
        assert latency.read_bytes() == bytes(4) and is_open(latency), "the kernel heeds it while the file is open"
    assert not is_open(latency)


def test_without_a_pace_cpus_may_sleep(latency):
    with realtime.scheduled(False):
        assert not is_open(latency)


def test_all_is_left_as_it_is_when_told_so(latency):
    before = os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)
    with realtime.scheduled(True, leave=True) as scheduling:
        assert (os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)) == before
        assert scheduling.name == "ordinary" and not is_open(latency)


def test_scheduling_is_given_back(latency):
    before = os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)
    with pytest.raises(ZeroDivisionError), realtime.scheduled(True):
        raise ZeroDivisionError
    assert (os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)) == before


def test_where_the_kernel_has_no_such_file_frames_are_sent_all_the_same(tmp_path, monkeypatch):
    for path in (tmp_path, tmp_path / "missing"):
        monkeypatch.setattr(realtime, "_WAKE_LATENCY", str(path))
        with realtime.scheduled(True):
            assert not is_open(path)
    assert list(tmp_path.iterdir()) == [], "no file is made in its place"


def test_a_priority_that_may_not_be_taken_again_is_no_error(latency, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with realtime.scheduled(True) as scheduling:
        assert not scheduling.is_real_time
