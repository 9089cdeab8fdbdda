"""Carries out parts of the commands that are given --scheduler: a worker of Dask on this machine, in this clone.

It ends with Ctrl-C: what it carries out is interrupted, puts back what it changed, and is begun anew by another worker.
A scheduler is started with `dask scheduler`. docs/sweep.md
"""
from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.output import put  # noqa: E402  (the path has to be there first)
from scripts.parts.running import ENDING_S, POLL_S  # noqa: E402
from scripts.suite import REFUSED  # noqa: E402
from scripts.testbeds import CommandParser, Refusal  # noqa: E402

try:
    from distributed import Worker

    from scripts.parts.worker_parts import REACHES, WorkerParts
except ModuleNotFoundError as missing:
    sys.exit(f"error: pfc-worker needs the extra `cluster` of this package, {missing.name} is not installed:"
             " pip install -c constraints.txt -e '.[cluster]'")

EXAMPLES = """
examples:
  pfc-worker tcp://lab-server:8786                            virtual testbeds, as many at once as there are processors
  pfc-worker tcp://lab-server:8786 --testbed lab-1,lab-2      also two testbeds that this machine reaches
"""
SCHEDULER_S = 60
"""To wait for the scheduler."""


def parser() -> CommandParser:
    """The command line."""
    made = CommandParser(prog="pfc-worker", description=__doc__, epilog=EXAMPLES, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("scheduler", metavar="ADDRESS", help="of Dask's scheduler, for instance tcp://lab-server:8786")
    made.add_argument("--testbed", action="append", default=[], metavar="NAMES",
                      help="hardware testbeds that this machine reaches, with commas between them; may be repeated")
    made.add_argument("--at-once", type=int, default=os.cpu_count() or 1, metavar="N",
                      help="parts at the same time (default: the number of processors)")
    made.add_argument("--name", default=f"{socket.gethostname()}-{os.getpid()}", help="(default: from machine and"
                      " process)")
    made.add_argument("--host", help="address of this machine by which the others reach it (default: found by itself)")
    made.add_argument("--verbose", action="store_true", help="print what Dask logs")
    return made


async def serve(options: argparse.Namespace, testbeds: Sequence[str]) -> None:
    """Is a worker until a signal comes, or the scheduler is gone.

    Raises:
        OSError, RuntimeError, TimeoutError, ValueError: it cannot be one.
    """
    parts = WorkerParts()
    asked = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, asked.set)
    worker = Worker(options.scheduler, name=options.name, host=options.host, nthreads=options.at_once,
                    resources={REACHES + name: 1 for name in testbeds}, plugins=(parts,), memory_limit=0,
                    death_timeout=SCHEDULER_S)
    async with worker:
        put(f"worker {options.name} of {options.scheduler} carries out {options.at_once} at once; it reaches"
            f" {', '.join(testbeds) or 'virtual testbeds only'}\n", sys.stdout)
        ends = [asyncio.create_task(asked.wait()), asyncio.create_task(worker.finished())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        parts.end()
        async with asyncio.timeout(ENDING_S + 2 * POLL_S):
            while not parts.is_idle:
                await asyncio.sleep(0.1)
        for end in ends:
            end.cancel()
    if not asked.is_set():
        raise ConnectionError(f"Dask's scheduler at {options.scheduler} is gone")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and status 3 for a refusal, no traceback."""
    try:
        options = parser().parse_args(arguments)
        if options.at_once < 1:
            raise Refusal(f"--at-once is {options.at_once}, it takes a number from 1 on")
        testbeds = [name for text in options.testbed for name in text.replace(" ", "").split(",")]
        if not all(testbeds):
            raise Refusal(f"--testbed is {','.join(options.testbed)!r}, it takes names of testbeds with commas between"
                          " them")
        logging.getLogger("distributed").setLevel(logging.INFO if options.verbose else logging.CRITICAL)
        asyncio.run(serve(options, testbeds))
    except Refusal as refusal:
        put(f"error: {refusal}\n", sys.stderr)
        return REFUSED
    except (OSError, RuntimeError, TimeoutError, ValueError) as error:
        put(f"error: worker of {options.scheduler}: {error.__cause__ or error}\n", sys.stderr)
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
