"""The command line `python -m test_reporting.pfc`: looks at runs, and delivers what a database has missed."""
from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from .database import DEFAULT_URL, ENVIRONMENT, open_store, results_folder
from .errors import ReportingError
from .verdict import Status

REFUSED = 3
EXIT_STATUS = {Status.PASS: 0, Status.FAIL: 1, Status.ERROR: 2}


class _Parser(argparse.ArgumentParser):
    """argparse's own exit status for bad arguments is 2, which here means a verdict."""

    def error(self, message: str) -> NoReturn:
        raise ReportingError(f"{message}; see {self.prog} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 PASS, 1 FAIL, 2 ERROR (`show`), 3 refused."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options = parse(arguments)
        command: Callable[[argparse.Namespace], int] = options.command
        status = command(options)
        sys.stdout.flush()
        return status
    except ReportingError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; the last flush must not fail
        return REFUSED


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; `command` of the result is the function to call.

    Raises:
        ReportingError: the arguments are wrong.
    """
    parser = _Parser(prog="python -m test_reporting.pfc", description="Looks at the verdicts of PFC qualifications.",
                     epilog="exit status of show: 0 all PASS, 1 some FAIL, 2 no FAIL but ERROR; of all: 3 refused")
    parser.add_argument("--db", metavar="URL", help=f"database (default: ${ENVIRONMENT}, else {DEFAULT_URL})")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the latest runs")
    listing.add_argument("--limit", type=_positive, default=20, metavar="N", help="how many (default: %(default)s)")
    listing.set_defaults(command=list_command)
    show = commands.add_parser("show", help="show a run's verdicts, and why they are not PASS")
    show.add_argument("run", nargs="?", metavar="RUN", help="run id (default: the latest qualification)")
    show.set_defaults(command=show_command)
    sync = commands.add_parser("sync", help="deliver what lies in files and is not in the database")
    sync.add_argument("--results", type=Path, metavar="DIR",
                      help="folder that holds the runs' folders (default: the database's)")
    sync.set_defaults(command=sync_command)
    export = commands.add_parser("export", help="write metrics (csv), or metrics, checks and evidence (json)")
    export.add_argument("--format", choices=["csv", "json"], required=True)
    export.add_argument("--run", metavar="RUN", help="one run only (default: all runs)")
    export.add_argument("--output", type=Path, metavar="FILE", help="file to write (default: standard output)")
    export.set_defaults(command=export_command)
    return parser.parse_args(arguments)


def list_command(options: argparse.Namespace) -> int:
    """Print the latest runs."""
    from . import queries, report
    with open_store(options.db, must_exist=True).reading() as connection:
        runs = queries.list_runs(connection, options.limit)
    print(report.runs_table(runs))
    return 0


def show_command(options: argparse.Namespace) -> int:
    """Print one run; the exit status says its verdict."""
    from . import queries, report
    with open_store(options.db, must_exist=True).reading() as connection:
        run = queries.find_run(connection, options.run)
        verdict = queries.run_verdict(connection, run)
        metrics = queries.metric_rows(connection, run["run_id"])
        reasons = queries.failed_checks(connection, run["run_id"])
        reasons += queries.unexplained_records(connection, run["run_id"])
    print(report.run_report(run, verdict, metrics, reasons))
    return EXIT_STATUS[verdict.status]


def sync_command(options: argparse.Namespace) -> int:
    """Deliver all folders of runs; what cannot be delivered is said and does not keep the rest back."""
    store = open_store(options.db)
    from .sync import deliver_folder, run_folders
    results = options.results or results_folder(options.db)
    if not results.is_dir():
        raise ReportingError(f"{results} is not a folder; --results must name the one that holds the runs' folders")
    delivered, problems = 0, 0
    for folder in run_folders(results):
        try:
            delivery = deliver_folder(folder, store)
            delivered += delivery.delivered
            found: Sequence[ReportingError] = delivery.problems
        except ReportingError as error:
            found = [error]
        for problem in found:
            print(f"error: {problem}", file=sys.stderr)
        problems += len(found)
    print(f"{delivered} records delivered to {store.url}")
    return REFUSED if problems else 0


def export_command(options: argparse.Namespace) -> int:
    """Write rows for other programs."""
    from . import queries, report
    with open_store(options.db, must_exist=True).reading() as connection:
        run_id = queries.find_run(connection, options.run)["run_id"] if options.run else None
        metrics = queries.metric_rows(connection, run_id)
        if options.format == "csv":
            text = report.as_csv(metrics)
        else:
            runs = queries.run_rows(connection, run_id)
            records = [record for run in runs for record in queries.record_rows(connection, run["run_id"])]
            text = report.as_json(runs, metrics, records)
    if options.output is None:
        sys.stdout.write(text)
        return 0
    try:
        options.output.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise ReportingError(f"{options.output} cannot be written: {error.strerror}") from error
    return 0


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive whole number")
    return int(text)
