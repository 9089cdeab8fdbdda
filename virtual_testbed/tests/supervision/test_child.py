"""How long a child may take until it is ready: the time for which other processes had the CPUs does not count."""
from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from virtual_testbed.process import waited_for_cpu_s
from virtual_testbed.supervision import child as children
from virtual_testbed.supervision.child import Child, ChildError
from virtual_testbed.supervision.plan import ChildSpec, Policy

READY = """import json, sys, time
while time.monotonic() < float(sys.argv[1]):
    time.sleep(0.01)
print(json.dumps({"ready": True, "ssh_port": 22}), flush=True)
time.sleep(600)"""
NEVER = "import time; time.sleep(600)"
BUSY = "while True: pass"


@pytest.fixture
def start(tmp_path):
    """Starts a program as a child, waits until it is ready, and ends it."""
    def run(program, *words, ready_s):
        spec = ChildSpec("sw.ssh", "ssh", 2, (sys.executable, "-c", program, *map(str, words)))
        one = Child(spec, tmp_path / "sw.ssh.log", str(tmp_path), Policy(ready_s=ready_s))

        async def started():
            try:
                await one.start()
                return one.ready
            finally:
                await one.stop()
        return asyncio.run(started())
    return run


def test_a_child_that_waits_for_a_cpu_has_more_time(start, monkeypatch):
    monkeypatch.setattr(children, "waited_for_cpu_s", lambda pid: 1000.0)
    assert start(READY, time.monotonic() + 0.5, ready_s=0.2)["ssh_port"] == 22


def test_a_child_that_hangs_is_given_up(start, monkeypatch):
    """However busy the machine was before that."""
    monkeypatch.setattr(children, "waited_for_cpu_s", lambda pid: 0.3)
    with pytest.raises(ChildError, match="^sw.ssh was not ready after 0.1 s; .*sw.ssh.log is empty$"):
        start(NEVER, ready_s=0.1)


def test_what_it_waited_is_said(start, monkeypatch):
    began = time.monotonic()
    monkeypatch.setattr(children, "waited_for_cpu_s", lambda pid: (time.monotonic() - began) / 2 + 70)
    with pytest.raises(ChildError, match="^sw.ssh was not ready after -70 s, and 70 s without a CPU; "):
        start(NEVER, ready_s=-70)


def test_a_redis_that_takes_connections_and_says_nothing_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(children, "_PONG_S", 0.05)
    path = str(tmp_path / "redis.sock")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(path)
        silent.listen()
        assert asyncio.run(children._pong(path)) is False


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the kernel does not count who waits for a CPU")
def test_who_stands_in_the_queue_for_a_cpu_is_known():
    """Two processes that never rest, on one CPU."""
    cpu = min(os.sched_getaffinity(0))
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(2)]
    try:
        for process in processes:
            os.sched_setaffinity(process.pid, {cpu})
        while min(waited_for_cpu_s(process.pid) for process in processes) < 0.05:
            time.sleep(0.01)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert waited_for_cpu_s(processes[0].pid) == 0, "it has ended"
