"""Sweeps the ports of one or several testbeds: each by a process of its own, several at the same time.

A virtual testbed is brought up, deployed and taken down; hardware is used as it stands and deployed only with
--deploy. A job that was ended, or whose machine went down, goes on with --resume. docs/sweep.md
Exit status: 0 every port PASS, 1 some FAIL, 2 no FAIL but some ERROR (a port without a verdict is), 3 refused.
"""
from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.command import exit_status_of_parts  # noqa: E402  (the path has to be there first)
from scripts.parts.executors import SCHEDULER_HELP, executor  # noqa: E402
from scripts.parts.stop import StopSignal  # noqa: E402
from scripts.sweeping.job import Job, create, held, load, resume_command  # noqa: E402
from scripts.sweeping.options import new_job  # noqa: E402
from scripts.output import put  # noqa: E402
from scripts.sweeping.progress import Progress  # noqa: E402
from scripts.sweeping.summary import exit_status, summary  # noqa: E402
from scripts.sweeping.watch import TestbedRun, watch  # noqa: E402
from scripts.testbeds import (  # noqa: E402
    TESTBED_FILE,
    CommandParser,
    Refusal,
    environment,
    shown,
)
from test_reporting.pfc.names import PAGE  # noqa: E402
from tests.common.clone import RESULTS  # noqa: E402
from tests.common.pfc.model.ports import summary as some  # noqa: E402
from virtual_testbed.faults import absolute  # noqa: E402


EXAMPLES = """
examples:
  pfc-sweep                                                  every port of vtb-t0, one after another
  pfc-sweep --testbed lab-1,lab-2 --concurrency max          two testbeds at once, as few waves as can be
  pfc-sweep --ports Ethernet0,Ethernet4 --fault pause-ignored@Ethernet4
  pfc-sweep --resume friday                                  go on with a job that was killed
  pfc-sweep --testbed lab-1,lab-2 --results /lab/results --scheduler tcp://lab-server:8786
                                                             on the machines whose pfc-worker reaches them
"""


def parser() -> CommandParser:
    """The command line."""
    made = CommandParser(prog="pfc-sweep", description=__doc__, epilog=EXAMPLES, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--testbed", action="append", metavar="NAMES",
                      help="testbeds, with commas between them; may be repeated (default: vtb-t0)")
    made.add_argument("--testbed-file", metavar="FILE", help=f"testbed file (default: {shown(TESTBED_FILE)})")
    made.add_argument("--concurrency", metavar="N",
                      help="ports of a testbed that are measured at once, or max (default: 1)")
    made.add_argument("--both", action="store_true",
                      help="measure each port in a wave and alone; its verdict is the worse one (--concurrency: max)")
    made.add_argument("--ports", metavar="PORTS",
                      help="only these ports, with commas between them; no stress after them (default: all)")
    made.add_argument("--ports-only", action="store_true", help="leave out the stress after the sweep")
    made.add_argument("--fault", action="append", metavar="FAULT", type=absolute,
                      help="break the virtual switches, for instance pause-ignored@Ethernet8; may be repeated")
    made.add_argument("--ip-version", choices=["4", "6"], help="of the data (default: 4)")
    made.add_argument("--same-generator", action="store_true",
                      help="data may also enter by a port on the port under test's own traffic generator")
    made.add_argument("--change-config", action="store_true",
                      help="also what changes a hardware switch's configuration and puts it back (on a virtual one "
                           "always): addresses for ports that have none")
    made.add_argument("--deploy", action="store_true", help="deploy hardware testbeds too (virtual ones always are)")
    made.add_argument("--job", metavar="ID", help="id of a new job (default: from time and process)")
    made.add_argument("--resume", metavar="JOB", help="go on with what is left of a job, with its own options")
    made.add_argument("--at-once", type=int, metavar="N", help="testbeds at the same time (default: all)")
    made.add_argument("--scheduler", metavar="ADDRESS", help=SCHEDULER_HELP)
    made.add_argument("--results", default=str(RESULTS), metavar="DIR",
                      help="folder of results (default: results)")
    return made


WITH_RESUME = ("resume", "results", "at_once", "scheduler")


def job_of(options: argparse.Namespace) -> Job:
    """The job that is meant, a new one or an earlier one.

    Raises:
        Refusal: it cannot be carried out.
    """
    if options.at_once is not None and options.at_once < 1:
        raise Refusal(f"--at-once is {options.at_once}, it takes a number from 1 on")
    if options.resume is None:
        job = new_job(options)
        create(job)
        return job
    others = [f"--{name.replace('_', '-')}" for name, value in vars(options).items() if value and
              name not in WITH_RESUME]
    if others:
        raise Refusal(f"--resume goes on with a job with the options that it has: leave out {', '.join(others)}")
    return load(Path(options.results).resolve(), options.resume)


def carry_out(job: Job, scheduler: str | None, at_once: int | None, stop: StopSignal) -> int:
    """Sweeps what is left of a job; returns the exit status.

    Raises:
        Refusal: nothing is left, another command runs the job, or Dask's workers cannot.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(held(job))
        runs = [TestbedRun(job, testbed) for testbed in job.testbeds]
        for run in runs:
            announce(run)
        left = [run for run in runs if not run.is_finished]
        if not left:
            raise Refusal(f"nothing to do: job '{job.job_id}' has a verdict of each port of {', '.join(job.testbeds)}")
        say(f"job {job.job_id}: {', '.join(run.testbed for run in left)}; {shown(job.folder)}")
        columns = shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None
        carrying = stack.enter_context(executor(scheduler, job.folder, [run.part for run in left]))
        try:
            watch(left, carrying, at_once or len(left), stop, Progress(left, sys.stdout, columns).update)
        except Exception as error:  # every testbed's run has ended: what was measured decides, whatever it is
            put(f"error: the job was ended by {error!r}\n", sys.stderr)
    say(summary(runs))
    for run in runs:
        if (run.folder / PAGE).is_file():
            say(f"page of {run.testbed}: {shown(run.folder / PAGE)}")
    say(f"verdicts, evidence and logs: {shown(job.folder)}")
    if any(not run.is_finished for run in runs):
        say(f"what has no verdict, or is ERROR, can be measured again: {resume_command(job)}")
    return exit_status(runs)


def say(text: str) -> None:
    """Lines for the user, if there is still one."""
    put(f"{text}\n", sys.stdout)


def announce(run: TestbedRun) -> None:
    """What was measured before, and is not again."""
    if run.before:
        ports = some([port for _, port in run.before])
        say(f"{run.testbed}: {len(run.before)} of {len(run.tally.places)} ports were measured before, not again:"
            f" {ports}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and status 3 for a refusal, no traceback."""
    return exit_status_of_parts("pfc-sweep", arguments, lambda stop: sweep(arguments, stop))


def sweep(arguments: Sequence[str] | None, stop: StopSignal) -> int:
    """The command; nothing is refused any more once a testbed's run has begun.

    Raises:
        Refusal: it cannot be carried out.
    """
    options = parser().parse_args(arguments)
    job = job_of(options)
    environment(Path(job.results))
    return carry_out(job, options.scheduler, options.at_once, stop)


if __name__ == "__main__":
    sys.exit(main())
