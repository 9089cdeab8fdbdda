"""A campaign on two workers of Dask, one of which dies in the middle: nothing is lost, and nothing is judged twice."""
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.campaign.entries import ROOT
from scripts.tests.dask_cluster import dask_cluster

pytestmark = [
    pytest.mark.slow("brings three testbeds up on workers of Dask"),
    pytest.mark.long("test_parts_cluster.py shows it with parts that do nothing"),
]

FAULTS = ("misclassified", "watchdog-false-alarm", "queue-miscounted", "counters-of-another", "counters-wrap",
          "counted-short", "xoff-early", "maps-unbound")
"""Two parts of what takes least."""
HANG_S = 1200


def entries_in(results: Path) -> list[str]:
    """The names of the entries that have a line, as often as they have one."""
    lines = [line for file in results.glob("campaign-*/parts/*/entries.jsonl")
             for line in file.read_text(encoding="utf-8").splitlines(keepends=True)]
    return [json.loads(line)["entry"]["name"] for line in lines if line.endswith("\n")]  # one may be half there


def part_processes(results: Path) -> dict[str, int]:
    """Name of a part that is carried out -> its process."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode().split("\0")
        except OSError:  # it has ended
            continue
        if words[1:3] == ["-m", "scripts.campaign.part"] and Path(words[4]).is_relative_to(results):
            found[Path(words[4]).name] = int(path.parent.name)
    return found


def parent_of(pid: int) -> int:
    """Who started a process."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


def test_a_campaign_loses_nothing_and_judges_nothing_twice_when_a_worker_dies(tmp_path: Path) -> None:
    """What it had judged counts; the entry that it was at is judged by the other worker."""
    results = tmp_path / "results"
    with dask_cluster(tmp_path / "cluster") as cluster:
        for name in ("left", "right"):
            cluster.add(name, "--at-once", "1")
        words = [sys.executable, "-m", "scripts.campaign", "--results", str(results), "--sources", "catalogue",
                 "--only", ",".join(FAULTS), "--scheduler", cluster.address, "--at-once", "2"]
        with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as campaign:
            deadline = time.monotonic() + HANG_S
            while not (judged := entries_in(results)):
                assert time.monotonic() < deadline and campaign.poll() is None, "nothing was judged"
                time.sleep(0.05)
            running = part_processes(results)
            begun = next(results.glob("campaign-*/parts/*/entries.jsonl")).parent.name
            worker = parent_of(running[begun])
            name, = (name for name, one in cluster.workers.items() if one.pid == worker)
            cluster.kill(name)
            said = campaign.communicate(timeout=HANG_S)[0]
    assert len(running) == 2 and len(judged) < len(FAULTS), f"{running} ran when {judged} were judged"
    assert campaign.returncode == 0, said
    assert sorted(entries_in(results)) == sorted(FAULTS), said
