"""Runs sonic-mgmt's own PFC and watchdog tests on a virtual testbed, as they are, in simulated time: `make upstream`.

The tests are run in a copy of the checkout, with its own conftest, fixtures, helpers and Ansible modules, in an
environment of their own (`.venv-upstream`). docs/other-suites.md says what is put beside them, and why.
Exit status: 0 all that were to run passed, 1 one failed, 2 none failed but not all passed (errors in fixtures, skipped,
not run), 3 refused.
"""
from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from scripts.against_sonic.checkout import NO_GIT
from scripts.command import exit_status_of_run
from scripts.output import put
from scripts.suite import DEPLOY_LOG, EXIT_STATUS, PYTEST_LOG
from scripts.testbeds import Failure, catch_signals, deploy, environment, shown, step, virtual_testbed
from scripts.upstream.options import REPORT, UpstreamRequest, check, parse
from scripts.upstream.python_3_12 import environment_of_theirs
from scripts.upstream.running import OUTCOMES, TheirRun, replaced_modules, run_theirs, taken_places, why_none
from scripts.upstream.table import (
    FAILED, PASSED, UpstreamSession, OutcomeRow, counts, one_line, short, table,
)
from scripts.upstream.tree import changed_in, copy_tree, state_of
from tests.common.pfc.record.records import new_run_id
from tests.common.pfc.record.verdict import Status


class Traces(NamedTuple):
    """What a run left of sonic-mgmt as it is, and what it did not.

    Attributes:
        is_same: whether the checkout is as it was before.
        changed_in_copy: files of the checkout that differ in the copy that was run, or are missing there.
        taken_places: in the place of what this project put something of its own.
        replaced: sonic-mgmt's Ansible modules that were not the ones to run.
    """

    is_same: bool
    changed_in_copy: Sequence[str]
    taken_places: Sequence[str]
    replaced: Sequence[str]

    def lines(self) -> list[str]:
        """For the terminal: which of sonic-mgmt's files are others, and what was replaced."""
        return [f"its files that differ in the copy that was run: {listed(self.changed_in_copy)}; its Ansible modules"
                f" that were replaced: {listed(self.replaced)}",
                f"replaced by something of this project: {listed(self.taken_places, '; ')} (docs/other-suites.md)"]


def listed(names: Sequence[str], between: str = ", ") -> str:
    """Names in a line; `none` where there are none."""
    return between.join(names) or "none"


def upstream(options: argparse.Namespace) -> int:
    """Runs all steps; returns the exit status.

    Raises:
        Refusal: it cannot be carried out, or a step before the tests failed.
    """
    began = time.monotonic()
    wanted = check(options)
    results = options.results.resolve()
    environment(results)
    python = environment_of_theirs(wanted.python)
    folder = results / f"upstream-{new_run_id()}"
    folder.mkdir(parents=True)
    before = state_of(wanted.tree)
    with TemporaryDirectory(prefix="sonic-mgmt-") as scratch:
        copy = Path(scratch) / "sonic-mgmt"
        step(f"a copy of {wanted.tree.folder}, {wanted.tree.commit()}")
        copy_tree(wanted.tree, copy)
        run = their_run(wanted, copy, python, folder)
        session = measure(options, wanted, run)
        changed = changed_in(copy, wanted.tree)
        replaced = replaced_modules(copy)
    traces = Traces(state_of(wanted.tree) == before, changed, taken_places(run), replaced)
    return conclude(options, wanted, session, folder, traces, time.monotonic() - began)


def their_run(wanted: UpstreamRequest, copy: Path, python: Path, folder: Path) -> TheirRun:
    """The session of their pytest in a copy of the checkout, which leaves what it leaves in a folder."""
    return TheirRun(copy, python, wanted.names, folder, wanted.options, wanted.habits is not None, wanted.suites)


def measure(options: argparse.Namespace, wanted: UpstreamRequest, run: TheirRun) -> UpstreamSession:
    """Brings the testbed up, deploys it, runs the tests, and takes it down again."""
    broken = f", deliberately broken: {', '.join(options.fault)}" if options.fault else ""
    step(f"virtual testbed {options.testbed}{spoken(wanted.habits)}{broken}")
    if find_spec("numba") is None:
        step("numba is not installed: tests with several senders take hours, `make compiled` installs it")
    file = Path(options.testbed_file).resolve()
    with virtual_testbed(options.testbed, file, options.fault, wanted.habits) as testbed:
        step("Ansible deploys the testbed")
        deploy(testbed, run.folder / DEPLOY_LOG)
        step(f"sonic-mgmt's tests (all that pytest prints: {shown(run.folder / PYTEST_LOG)})")
        return run_theirs(run, testbed.testbed_file.parent, say_row)


def spoken(habits: Sequence[str] | None) -> str:
    """What is between sonic-mgmt and the traffic generator; empty: nothing, it speaks OTG."""
    if habits is None:
        return ""
    return ", behind IxNetwork's API" + (f" of a chassis with {', '.join(habits)}" if habits else "")


def say_row(row: OutcomeRow) -> None:
    """A line for a test that has ended."""
    put(f"{row.result:8}{row.seconds:6.0f} s  {short(row.test)}\n", sys.stdout)


def conclude(options: argparse.Namespace, wanted: UpstreamRequest, session: UpstreamSession, folder: Path,
             traces: Traces, seconds: float) -> int:
    """Prints the table and writes the report; returns the exit status.

    Raises:
        Failure: nothing was planned.
    """
    rows = session.all_rows()
    if not rows:
        raise Failure(f"no test is left to run: {one_line(' '.join(why_none(folder)))} ({shown(folder / PYTEST_LOG)})")
    compared = "size and time of its files" if wanted.tree.commit() == NO_GIT else "git status"
    kept = f"unchanged ({compared} before and after)" if traces.is_same else "CHANGED while the tests ran"
    count = "; ".join(f"grep -c '\"result\": \"{result}\"' {shown(folder / OUTCOMES)}" for result in (PASSED, FAILED))
    lines = [table(rows), "", f"sonic-mgmt: {wanted.tree.folder}, {wanted.tree.commit()}; {kept}",
             *traces.lines(),
             f"testbed: {options.testbed}{spoken(wanted.habits)}, {', '.join(options.fault) or 'no fault'}"]
    if session.left_out:
        lines.append(f"left out, since they restart the switch or its services: {len(session.left_out)} tests"
                     " (--tests names them)")
    lines += [f"{counts(rows)} after {seconds:.0f} s", f"counted by: {count}"]
    put("\n".join(lines) + "\n", sys.stdout)
    report = {"date": datetime.now(timezone.utc).isoformat(timespec="seconds"), "commit": wanted.tree.commit(),
              "project": wanted.project,
              "testbed": options.testbed, "faults": options.fault, "habits": wanted.habits, "suites": wanted.suites,
              "unchanged": traces.is_same,
              "changed_in_copy": traces.changed_in_copy,
              "taken_places": traces.taken_places,
              "replaced": traces.replaced,
              "seconds": round(seconds),
              "left_out": session.left_out,
              "tests": [asdict(row) for row in rows]}
    (folder / REPORT).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return EXIT_STATUS[status_of(rows, session, traces.is_same)]


def status_of(rows: Sequence[OutcomeRow], session: UpstreamSession, is_same: bool) -> Status:
    """What it all comes to.

    Args:
        rows: one for each test that was to run.
        session: how it ended.
        is_same: whether the checkout is as before.
    """
    found = {row.result for row in rows}
    if FAILED in found:
        return Status.FAIL
    return Status.PASS if found == {PASSED} and session.ended == 0 and is_same else Status.ERROR


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and no traceback for what cannot be done."""
    catch_signals()
    return exit_status_of_run(lambda: upstream(parse(arguments, __doc__ or "")))


if __name__ == "__main__":
    sys.exit(main())
