"""One testbed of a job, in a process of its own: brought up where it is virtual, deployed, swept, taken down.

`testbed_run.json` in its folder says how that ended; it is not there while it lasts, nor if the process was killed.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scripts import testbeds
from scripts.early import own_faults
from scripts.suite import DEPLOY_LOG, REASON, SUITE, Ended, how_it_ended, run_suite, suite_command
from scripts.sweeping.job import Job, load
from tests.common.clone import ROOT
from tests.common.pfc.lab.clock import WallClock

RESUME = "tests/common/pfc/resume"  # the option without which no run goes on
SWEEP = "test_port_sweep.py"
STRESS = "test_full_load.py"
RUN_FILE = "testbed_run.json"
LOG = "testbed_run.log"
MEASURING = "sweep"
LEASED = re.compile(r" run (\S+) \(.* has this switch, and its lease runs out in (\d+) s ")
TRIES = 3  # processes that are killed, one after another: then something is wrong that another one does not mend


def read_ended(folder: Path) -> Ended | None:
    """How the run of a folder ended; None: it did not, or that is not known."""
    try:
        return Ended(**json.loads((folder / RUN_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def carry_out(job: Job, testbed: str) -> Ended:
    """Sweeps a testbed, from bringing it up to taking it down.

    Raises:
        KeyboardInterrupt: a signal asked for the end; everything is taken down.
    """
    folder = job.folder_of(testbed)
    try:
        entry = testbeds.read_entry(testbed, Path(job.testbed_file))
        with contextlib.ExitStack() as stack:
            found = _found(stack, job, testbed, entry)
            ended = _swept(job, found, bool(entry.get("virtual") or job.deploy))
            testbeds.step("clean-up")
        return ended
    except testbeds.Refusal as refusal:
        why = "; ".join([str(refusal), *_last_reason(folder / LOG)])
        return Ended(None, why, refused=not isinstance(refusal, testbeds.Failure))
    except OSError as error:
        return Ended(None, f"testbed '{testbed}' was not swept to its end: {testbeds.reason(error)}")


def _last_reason(log: Path) -> list[str]:
    """What a step said before it failed; nothing where that is not known."""
    try:
        return [str(reason) for reason in REASON.findall(log.read_text(encoding="utf-8", errors="replace"))[-1:]]
    except OSError:
        return []


def _swept(job: Job, testbed: testbeds.TestbedFiles, is_deployed: bool) -> Ended:
    """Deploys a testbed that is up, where that is asked for, and sweeps it."""
    folder = job.folder_of(testbed.name)
    try:
        if is_deployed:
            testbeds.step("deployment")
            testbeds.deploy(testbed, folder / DEPLOY_LOG)
    except testbeds.Refusal as refusal:
        return Ended(None, str(refusal))
    testbeds.step(MEASURING)
    ended = how_it_ended(measure(job, testbed), folder, TRIES)
    lease = LEASED.search(ended.cause)
    if lease is not None and lease[1] == job.run_id_of(testbed.name):
        testbeds.step(f"the lease of this part on a machine that is gone: {lease[2]} s until it runs out")
        WallClock().sleep(float(lease[2]))
        testbeds.step(MEASURING)
        ended = how_it_ended(measure(job, testbed), folder, TRIES)
    return ended


def _found(stack: contextlib.ExitStack, job: Job, name: str, entry: Mapping[str, Any]) -> testbeds.TestbedFiles:
    """The testbed with its endpoints; a virtual one is there until the stack ends."""
    if not entry.get("virtual"):
        return testbeds.hardware_testbed(name, entry, Path(job.testbed_file))
    testbeds.step("bring-up")
    return stack.enter_context(testbeds.virtual_testbed(name, Path(job.testbed_file), own_faults(job.faults, entry)))


def measure(job: Job, testbed: testbeds.TestbedFiles) -> int:
    """Runs the suite, and goes on with it where a signal killed it; returns pytest's exit status."""
    folder = job.folder_of(testbed.name)
    status = 0
    for _ in range(TRIES):
        status = run_suite(command(job, testbed), folder)
        if status >= 0:
            break
        print(f"pytest was killed by {signal.Signals(-status).name}", flush=True)
    return status


def command(job: Job, testbed: testbeds.TestbedFiles) -> list[str]:
    """pytest, for the sweep of a testbed, or for what an earlier one left of it."""
    folder = job.folder_of(testbed.name)
    names = [SWEEP] if job.ports or job.ports_only else [SWEEP, STRESS]
    modules = [f"{SUITE}/{name}" for name in names if (ROOT / "tests" / SUITE / name).is_file()]
    earlier = (folder / "records.jsonl").is_file() and (ROOT / RESUME).is_dir()
    return suite_command(
        testbed, folder, modules, "--pfc-resume" if earlier else "--pfc-results", str(folder),
        "--pfc-run-id", job.run_id_of(testbed.name), "--pfc-job-id", job.job_id, "--pfc-concurrency", job.concurrency,
        "--pfc-ip-version", job.ip_version, *([f"--pfc-ports={job.ports}"] if job.ports else []),
        *(["--pfc-both"] if job.both else []), *(["--pfc-change-config"] if job.change_config else []),
        *(["--pfc-same-generator"] if job.same_generator else []), "--log-cli-level=WARNING")


def write_ended(ended: Ended, folder: Path) -> None:
    """Keeps how it ended: the old text or the new one, whole."""
    new = folder / f".{RUN_FILE}"
    new.write_text(json.dumps(asdict(ended)) + "\n", encoding="utf-8")
    new.replace(folder / RUN_FILE)


def main(arguments: Sequence[str] | None = None) -> int:
    """The process of one testbed; its exit status says nothing, `testbed_run.json` does."""
    parser = argparse.ArgumentParser(prog="sweep of a testbed")
    for name in ("results", "job", "testbed"):
        parser.add_argument(name)
    options = parser.parse_args(arguments)
    testbeds.catch_signals()
    testbeds.adopt_orphans()
    job = load(Path(options.results), options.job)
    testbeds.environment(Path(options.results))
    folder = job.folder_of(options.testbed)
    try:
        ended = carry_out(job, options.testbed)
    except KeyboardInterrupt:
        ended = Ended(None, "interrupted")
    finally:
        testbeds.end_orphans()
    write_ended(ended, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
