"""Benchmarks of the generator on one veth pair: how fast it sends, and how long a queue would have been open.

`make bench` has these figures measured with the others; alone: `python -m pfctest.tests.bench`. What is measured and
how to read it: docs/pfctest.md.
"""
from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pfctest import pcap
from pfctest.frame import PfcFrame, decode, encode, pfc_frame
from pfctest.gaps import Gaps
from pfctest.tests.namespace import WHY_NOT, Namespace, namespace, way
from pfctest.timing import pause_time_ps

RUNS, WARM_S, COUNT_S, STORM_S = 5, 0.5, 1.0, 2
SPEEDS = {"100g": 100_000, "400g": 400_000, "800g": 800_000}
MANY = 32
FRAME = encode(pfc_frame("02:00:00:00:00:01", {3: 0xFFFF}))
SEND_LOOP = """
import socket, sys
opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
opened.bind(("near", 0))
frame = bytes.fromhex(sys.argv[1])
while True:
    opened.send(frame)
"""
SEND_AND_SLEEP = """
import json, socket, sys, time
opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
opened.bind(("near", 0))
frame, interval, end, calls = bytes.fromhex(sys.argv[1]), float(sys.argv[2]), time.monotonic() + float(sys.argv[3]), []
while time.monotonic() < end:
    begin = time.monotonic_ns()
    opened.send(frame)
    calls.append((begin, time.monotonic_ns()))
    time.sleep(interval)
print(json.dumps(calls))
"""
SPIN_AND_SEND_NOTHING = """
import json, os, sys, time
period, end, calls = int(sys.argv[1]), time.monotonic_ns() + int(float(sys.argv[2]) * 1e9), []
try:
    os.setpriority(os.PRIO_PROCESS, 0, -20)
except PermissionError:
    pass
now = deadline = time.monotonic_ns()
while now < end:
    while now < deadline:
        now = time.monotonic_ns()
    calls.append((now, now))
    deadline += period * max(1, (now - deadline) // period)
print(json.dumps(calls))
"""


class Figure(NamedTuple):
    """One result: `1/s` are frames in a second, `ratio` is a share of 1 or a quotient, `processes` wanted the CPUs."""

    name: str
    value: float
    unit: str


class Rate(NamedTuple):
    """Frames in a second, and in a CPU second of the sender."""

    per_s: float
    per_cpu_s: float


class ProcessTimes(NamedTuple):
    """The process group of a process, and the CPU seconds that it has used, user and system."""

    group: int
    cpu_s: float


def figures() -> Iterator[Figure]:
    """All figures, or none, with the reason on stderr, where no network namespace can be made."""
    if way() is None:
        print(f"pfctest is not measured: {WHY_NOT}", file=sys.stderr)
        return
    with namespace() as place, tempfile.TemporaryDirectory() as folder:
        place.add_cable(("near", "far"), *((f"many{number}", f"many{number}x") for number in range(MANY)))
        yield from _rates(place, Path(folder))
        for name, speed_mbps in SPEEDS.items():
            yield from _open_shares(place, name, speed_mbps)
        shares = [_storm(place, [f"many{number}" for number in range(MANY)], 100_000) for _ in range(RUNS)]
        yield Figure(f"pfctest.open_share.{MANY}x100g", statistics.median(shares), "ratio")
        yield Figure("pfctest.load_average", os.getloadavg()[0], "processes")


def _rates(place: Namespace, folder: Path) -> Iterator[Figure]:
    """Frames in a second that arrive from the generator, the best of several runs, and how they compare with its peers.

    The peers run in turn with it and are compared by CPU seconds, so that other work on the machine disturbs them
    little (each keeps one CPU busy); the median of the comparisons, so that a CPU that slows down does too.
    """
    senders = _senders(folder)
    runs = [{name: _rate(place, words) for name, words in senders.items()} for _ in range(RUNS)]
    yield Figure("pfctest.max_fps", max(run["pfctest"].per_s for run in runs), "1/s")
    for name in senders:
        if name != "pfctest":
            quotients = [run["pfctest"].per_cpu_s / run[name].per_cpu_s for run in runs]
            yield Figure(f"pfctest.max_fps_over_{name}", statistics.median(quotients), "ratio")


def _senders(folder: Path) -> dict[str, list[str]]:
    """The generator, a plain loop, and the peers that are installed: command lines that send without an end."""
    capture, bytes_ = folder / "frame.pcap", folder / "frame.cfg"
    pcap.write(capture, [FRAME] * 1000, 0)
    bytes_.write_text("{ " + ", ".join(f"0x{byte:02x}" for byte in FRAME) + " }\n", encoding="ascii")
    peers = {"trafgen": ["--dev", "near", "--conf", str(bytes_), "--cpus", "1", "--no-sock-mem"],
             "mausezahn": ["near", "-q", "-c", "0", FRAME.hex()],
             "tcpreplay": ["--topspeed", "--preload-pcap", "--loop", "100000000", "--intf1", "near", str(capture)]}
    return {
        "pfctest": [sys.executable, "-m", "pfctest", "-d", "near", "--priority=3", "--duration=60", "--rate=max"],
        "python_loop": [sys.executable, "-c", SEND_LOOP, FRAME.hex()],
        **{name: [str(shutil.which(name)), *words] for name, words in peers.items() if shutil.which(name)},
    }


def _rate(place: Namespace, words: Sequence[str]) -> Rate:
    """Frames that arrive while a command sends.

    Raises:
        RuntimeError: it ended by itself, or did nothing.
    """
    process = subprocess.Popen(place.command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, start_new_session=True)
    try:
        time.sleep(WARM_S)
        begin = received("far", place), time.monotonic(), _cpu_s(process.pid)
        time.sleep(COUNT_S)
        end = received("far", place), time.monotonic(), _cpu_s(process.pid)
        if process.poll() is not None:
            raise RuntimeError(f"{words[0]} ended: {process.stderr.read().decode() if process.stderr else ''}")
    finally:
        _end(process)
    frames, passed_s, used_s = (later - earlier for later, earlier in zip(end, begin))
    if not used_s:
        raise RuntimeError(f"{words[0]} used no CPU time")
    return Rate(frames / passed_s, frames / used_s)


def _cpu_s(group: int) -> float:
    """CPU seconds that the processes of a process group have used."""
    used_s = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            found = process_times(stat)
            used_s += found.cpu_s if found.group == group else 0
    return used_s


def process_times(stat: Path) -> ProcessTimes:
    """What `/proc/PID/stat` says of a process. Raises OSError: it has ended."""
    fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
    return ProcessTimes(int(fields[2]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a sender and the workers that it may have started, which need not die with it."""
    os.killpg(process.pid, 9)
    process.communicate()


def received(interface: str, place: Namespace) -> int:
    """Frames that an interface has received so far."""
    answer = json.loads(place.run("ip", "-json", "-statistics", "link", "show", "dev", interface).stdout)
    return int(answer[0]["stats64"]["rx"]["packets"])


def _open_shares(place: Namespace, name: str, speed_mbps: int) -> Iterator[Figure]:
    """Shares of open time at twice the minimum rate, medians: the generator's, and of loops that spin and that sleep.

    The loop that spins sends nothing and does nothing else: what it misses, the machine did not let it have.
    """
    own, seen, machine = [], [], []
    interval_ns = pause_time_ps(0xFFFF, speed_mbps) // 2000
    for _ in range(RUNS):
        machine.append(_loop(place, speed_mbps, SPIN_AND_SEND_NOTHING, str(interval_ns), str(STORM_S)))
        with place.receiving("far") as receiver:
            own.append(_storm(place, ["near"], speed_mbps))
            if not is_root():
                continue  # a receiver's buffer would be too small
            times = [time_ns for time_ns, data in receiver.frames() if is_pause(data)]
        seen.append(_share([(time_ns, time_ns) for time_ns in times], speed_mbps))
    yield Figure(f"pfctest.open_share.{name}", statistics.median(own), "ratio")
    if seen:
        yield Figure(f"pfctest.open_share.{name}.at_receiver", statistics.median(seen), "ratio")
    yield Figure(f"pfctest.open_share.{name}.machine", statistics.median(machine), "ratio")
    slept = _loop(place, speed_mbps, SEND_AND_SLEEP, FRAME.hex(), str(interval_ns / 1e9), str(STORM_S))
    yield Figure(f"pfctest.open_share.{name}.send_and_sleep", slept, "ratio")


def is_root() -> bool:
    """Whether the namespace has the rights of the whole machine."""
    return way() == ("unshare", "-n")


def is_pause(data: bytes) -> bool:
    """Whether a frame pauses priority 3, as those of a storm; those after it release."""
    read = decode(data)
    return isinstance(read, PfcFrame) and read.pauses.get(3, 0) > 0


def _storm(place: Namespace, interfaces: Sequence[str], speed_mbps: int) -> float:
    """Share of open time that the generator reports of a storm."""
    words = place.python("pfctest", "-d", ",".join(interfaces), "--priority=3", f"--speed={speed_mbps}",
                         f"--duration={STORM_S}", "--max-open=100", "--json")
    found: dict[str, Any] = json.loads(place.run(*words).stdout)
    return float(found["open_share"])


def _loop(place: Namespace, speed_mbps: int, program: str, *words: str) -> float:
    """Share of open time of a loop that prints when it sent, or would have."""
    return _share(json.loads(place.run(sys.executable, "-c", program, *words).stdout), speed_mbps)


def _share(calls: Sequence[Sequence[int]], speed_mbps: int) -> float:
    """Share of open time of frames that left between these instants."""
    gaps = Gaps(pause_time_ps(0xFFFF, speed_mbps) // 1000)
    for begin_ns, end_ns in calls:
        gaps.add(begin_ns, end_ns)
    share = gaps.open_share
    if share is None:
        raise RuntimeError(f"fewer than two frames came at {speed_mbps} Mb/s")
    return share


if __name__ == "__main__":
    for figure in figures():
        print(f"{figure.name:42} {figure.value:12.4g} {figure.unit}", flush=True)
