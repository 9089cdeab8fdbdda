"""One qualification, end to end: bring the testbed up, deploy it, test it, print the verdicts, leave nothing running.

A virtual testbed (`virtual: true` in its testbed entry) is brought up and taken down here; one that is up already is
used as it is, and stays up. Hardware is used as it stands and deployed only with --deploy.
Exit status: 0 PASS, 1 FAIL, 2 ERROR (nothing FAIL, but not everything could be measured), 3 refused.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.command import exit_status_of_run  # noqa: E402  (the path has to be there first)
from scripts.early import default_ports  # noqa: E402
from scripts.output import put  # noqa: E402
from scripts.qualifying.options import check, parse  # noqa: E402
from scripts.qualifying.progress import FamilyProgress, ItemEvents, LogTail  # noqa: E402
from scripts.suite import (  # noqa: E402
    ALL_RAN,
    DEPLOY_LOG,
    EXIT_STATUS,
    PYTEST_LOG,
    SUITE,
    Ended,
    how_it_ended,
    run_suite,
    suite_command,
)
from scripts.testbeds import (  # noqa: E402
    Refusal,
    TestbedFiles,
    catch_signals,
    deploy,
    environment,
    hardware_testbed,
    note_command,
    reason,
    shown,
    step,
    virtual_testbed,
)
from test_reporting.pfc.names import PAGE  # noqa: E402
from tests.common.clone import ROOT  # noqa: E402
from tests.common.pfc.record.records import new_run_id  # noqa: E402
from tests.common.pfc.record.verdict import Status, combine  # noqa: E402

ITEM_LOG = "items.jsonl"
PASSWORD = re.compile(r"(?<=//)([^:/@\s]*):[^@/\s]*@")


@dataclass(frozen=True)
class PortRun:
    """The run of one port.

    Attributes:
        port: its name; empty: the suite chooses.
        run_id: of the run.
        folder: of its results.
        job_id: joins the runs of several ports; empty: there is one.
    """

    port: str
    run_id: str
    folder: Path
    job_id: str = ""


def pytest_command(testbed: TestbedFiles, options: argparse.Namespace, run: PortRun) -> list[str]:
    """pytest for a port under test."""
    folder = run.folder
    given = [*(["--pfc-port", run.port] if run.port else []),
             *(["--pfc-job-id", run.job_id] if run.job_id else []),
             *(f"--pfc-scenario={names}" for names in options.scenario),
             *(f"--pfc-set={priorities}" for priorities in options.set),
             *(["--pfc-change-config"] if options.change_config else []),
             *(["--pfc-same-generator"] if options.same_generator else []),
             *([f"--pfc-soak={options.soak}"] if options.soak else []),
             *(["--color=yes"] if options.verbose and is_terminal() else [])]
    return suite_command(testbed, folder, [SUITE], "--pfc-ip-version", options.ip_version, "--pfc-results",
                         str(folder), "--pfc-run-id", run.run_id, "-p", "scripts.qualifying.item_log", "--pfc-item-log",
                         str(folder / ITEM_LOG), *given)


def measure(testbed: TestbedFiles, options: argparse.Namespace, run: PortRun) -> tuple[Ended, FamilyProgress]:
    """Runs the suite and shows how far it is; returns how it ended, and what it found."""
    folder = run.folder
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    events = ItemEvents(folder / ITEM_LOG)
    progress = FamilyProgress(None if options.verbose else sys.stdout, is_terminal())
    log = LogTail(folder / PYTEST_LOG, sys.stdout)

    def look() -> None:
        for event in events.read():
            progress.take(event)
        if options.verbose:
            log.copy()

    try:
        ended = how_it_ended(run_suite(pytest_command(testbed, options, run), folder, look), folder)
    except KeyboardInterrupt:
        look()
        ended = Ended(None, "interrupted")
    except OSError as error:
        ended = Ended(None, f"the tests did not come to their end: {reason(error)}")
    progress.end()
    return ended, progress


def is_terminal() -> bool:
    """Whether a line that was printed can be drawn again."""
    return sys.stdout is not None and sys.stdout.isatty()


def qualify(options: argparse.Namespace) -> int:
    """Runs all steps; returns the exit status.

    Raises:
        Refusal: it cannot be carried out, or a step before the tests failed.
    """
    began = time.monotonic()
    entry = check(options)
    results = options.results.resolve()
    environment(results)
    by_speed: Mapping[int, str | None] = {0: options.port} if options.port else default_ports(
        entry, Path(options.testbed_file).resolve(), options.same_generator)
    ports = {speed_mbps: port for speed_mbps, port in by_speed.items() if port is not None}
    for speed_mbps in by_speed.keys() - ports.keys():
        step(f"no port of {speed_mbps // 1000}G is measured: data would have to enter by another one of that speed, on"
             " another traffic generator")
    run = begin(results)
    job_id = run.run_id if len(ports) > 1 else ""
    said: dict[str, Status] = {}
    with contextlib.ExitStack() as stack:
        testbed = found(stack, options, entry)
        if entry.get("virtual") or options.deploy:
            step("Ansible deploys the testbed")
            deploy(testbed, run.folder / DEPLOY_LOG)
        for speed_mbps, port in ports.items():
            run = replace(begin(results) if said else run, port=port, job_id=job_id)
            called = f"{port or 'the first port'}, {speed_mbps // 1000}G" if job_id else ""
            of = f" of {called}" if called else ""
            kind = "quick qualification" if options.quick else "qualification"
            step(f"{kind}{of} (all that pytest prints: {shown(run.folder / PYTEST_LOG)})")
            since = time.monotonic() if said else began
            ended, progress = measure(testbed, options, run)
            if ended.refused and not said:
                raise Refusal(ended.cause)
            said[called] = conclude(ended, progress, run.folder, options.verbose, time.monotonic() - since)
            if ended.pytest is None:  # interrupted
                break
    status = combine(said.values())
    if job_id:
        left = [f"{port}, {speed_mbps // 1000}G not measured" for speed_mbps, port in [*ports.items()][len(said):]]
        status = combine([status, Status.ERROR]) if left else status
        each = "; ".join([*(f"{called} {one.value}" for called, one in said.items()), *left])
        say(f"{status.value} after {time.monotonic() - began:.0f} s: {each}")
    return EXIT_STATUS[status]


def begin(results: Path) -> PortRun:
    """A run, with a folder of its own."""
    run_id = new_run_id()
    folder = results / run_id
    folder.mkdir(parents=True)
    return PortRun("", run_id, folder)


def found(stack: contextlib.ExitStack, options: argparse.Namespace, entry: Mapping[str, Any]) -> TestbedFiles:
    """The testbed with its endpoints; a virtual one that is brought up is there until the stack ends."""
    testbed_file = Path(options.testbed_file).resolve()
    if not entry.get("virtual"):
        return hardware_testbed(options.testbed, entry, testbed_file)
    broken = f", deliberately broken: {', '.join(options.fault)}" if options.fault else ""
    step(f"virtual testbed {options.testbed}{broken}")
    return stack.enter_context(virtual_testbed(
        options.testbed, testbed_file, options.fault, options.habit if options.ixnetwork else None))


def conclude(ended: Ended, progress: FamilyProgress, folder: Path, verbose: bool, seconds: float) -> Status:
    """Says what was found of a port; the last line is the verdict with its first cause. Returns the verdict.

    Args:
        ended: how pytest ended.
        progress: what it found.
        folder: of the run.
        verbose: whether pytest's own summary was printed.
        seconds: that it all took.
    """
    status = progress.status
    found = progress.verdict.get("cause", "")
    cause = "; ".join(filter(None, [found if ended.pytest in ALL_RAN else "", ended.cause])) or found
    if not cause and ended.pytest != 0:
        session = "every verdict is PASS, but not" if progress.verdict else "not every item was measured by"
        cause = f"{session} the session: {shown(folder / PYTEST_LOG)} says why"
    if status is Status.PASS and cause:
        status = Status.ERROR
    lines = [] if verbose else progress.verdict.get("summary", [])
    page = [f"page: {shown(folder / PAGE)}"] if (folder / PAGE).is_file() else []
    databases = PASSWORD.sub(r"\1:***@", os.environ["PFC_REPORT_DB"])
    say(*lines, *page, f"verdicts, evidence and logs: {shown(folder)}", f"reporting database: {databases}",
        f"{status.value} after {seconds:.0f} s{': ' if cause else ''}{cause}")
    return status


def say(*lines: str) -> None:
    """Lines for the user, if there is still one."""
    put("".join(f"{line}\n" for line in lines), sys.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and no traceback for what cannot be done."""
    catch_signals()
    note_command("pfc-qualify", arguments)
    return exit_status_of_run(lambda: qualify(parse(arguments, __doc__ or "")))


if __name__ == "__main__":
    sys.exit(main())
