"""A job of `pfc-sweep` of which something is killed, with its parts here and on workers of Dask: each port has its
verdicts once, those that an undisturbed job has, and the switches are as before."""
from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scripts.campaign.broken_testbed import OpenSsh
from scripts.tests.dask_cluster import DaskCluster, dask_cluster
from scripts.tests.small_lab import NAMES, small_lab
from scripts.tests.test_sweep_command import (
    FAULT,
    HANG_S,
    check_verdicts,
    command,
    environment,
    ports_of,
    pytest_of,
    sweep,
    wait_for_ports,
)

pytestmark = [
    pytest.mark.slow("a job over two testbeds for each thing that can be killed in it"),
    pytest.mark.long("test_sweep_kills.py kills what one testbed has"),
]

JOB = "night"


@dataclass(frozen=True)
class Lab:
    """Two testbeds that are up, and Dask's workers that reach both."""

    testbed_file: Path
    state: Path
    cluster: DaskCluster

    def watchdogs(self) -> dict[str, Any]:
        """PFC_WD of each switch's CONFIG_DB."""
        found = {}
        for name in NAMES:
            runtime = json.loads((self.state / name / "runtime.json").read_text(encoding="utf-8"))
            host = OpenSsh(runtime["switches"][f"{name}-01"])
            try:
                found[name] = json.loads(host.shell("sonic-cfggen -d --print-data")["stdout"])["PFC_WD"]
            finally:
                host.close()
        return found


@pytest.fixture(name="lab", scope="module")
def fixture_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A port of the second testbed is broken."""
    folder = tmp_path_factory.mktemp("lab")
    with small_lab(folder, [FAULT]) as testbed_file, dask_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield Lab(testbed_file, folder / "state", cluster)


def process_of(results: Path, name: str) -> int:
    """The process that carries out a testbed's part of the job."""
    wanted = [b"-m", b"scripts.sweeping.testbed_run", os.fsencode(results), JOB.encode(), name.encode(), b""]
    found = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if _words(path)[1:] == wanted]
    assert len(found) == 1, found
    return found[0]


def _words(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\0")
    except OSError:  # it has ended
        return []


def parent_of(pid: int) -> int:
    """Who started a process."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


@pytest.mark.parametrize(("executor", "victim"), [
    ("here", "pytest"), ("here", "testbed's process"), ("here", "pfc-sweep"),
    ("dask", "pytest"), ("dask", "pfc-sweep"), ("dask", "worker"),
])
def test_nothing_is_lost_and_nothing_twice(lab: Lab, tmp_path: Path, executor: str, victim: str) -> None:
    """Only where the command itself is killed it takes `--resume` to come to the job's end."""
    scheduler = []
    if executor == "dask":
        scheduler = ["--scheduler", lab.cluster.address]
        for name in ("left", "right"):
            if name not in lab.cluster.workers or lab.cluster.workers[name].poll() is not None:
                lab.cluster.add(name, "--testbed", ",".join(NAMES))
    before = lab.watchdogs()
    folder = tmp_path / JOB / NAMES[0]
    told = ["--testbed-file", str(lab.testbed_file), "--testbed", ",".join(NAMES), "--job", JOB, "--ports-only"]
    with subprocess.Popen(command(tmp_path, *told, *scheduler), env=environment(tmp_path), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as child:
        wait_for_ports(folder, 1, child)
        process = process_of(tmp_path, NAMES[0])
        pids = {"pytest": pytest_of, "testbed's process": lambda _: process, "pfc-sweep": lambda _: child.pid,
                "worker": lambda _: parent_of(process)}
        os.kill(pids[victim](folder), signal.SIGKILL)
        measured = len(ports_of(folder))
        said = child.communicate(timeout=HANG_S)[0]
    status = child.returncode
    if victim == "pfc-sweep":
        resumed = sweep(tmp_path, "--resume", JOB, *scheduler)
        status = resumed.returncode
        said = resumed.stdout + resumed.stderr
    assert measured < 4, "nothing was left to measure when it was killed"
    assert status == 1, said
    check_verdicts(tmp_path / JOB)
    assert lab.watchdogs() == before, said
