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


@pytest.mark.parametrize("real_time", [False, True])
def test_no_cpu_sleeps_while_frames_are_sent(latency, real_time):
    with realtime.scheduled(real_time):
        assert latency.read_bytes() == bytes(4) and is_open(latency), "the kernel heeds it while the file is open"
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
    monkeypatch.setattr(realtime, "_WAKE_LATENCY", str(tmp_path))
    with realtime.scheduled(False):
        assert not is_open(tmp_path)
