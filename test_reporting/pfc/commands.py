"""What each command of `pfc-report` does; the exit status is what a function returns."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.effective_records import Verdict, aggregate
from tests.common.pfc.record.verdict import Status

from .database import Sink, database_urls, open_sink, open_store, results_folder
from .errors import ReportingError
from .page import page_of

REFUSED = 3
COLLECTOR = "http://127.0.0.1:4318"
"""Where OpenTelemetry's collector listens unless told otherwise."""
LONGEST_SENTENCE = 4000
"""Characters of a problem that is said: the longest path there is (PATH_MAX is 4096), or nearly."""
DIFFERENT = 1
"""A bundle is not as it was packed."""
EXIT_STATUS = {Status.PASS: 0, Status.FAIL: 1, Status.ERROR: 2}


def list_command(options: argparse.Namespace) -> int:
    """Print the latest runs."""
    from . import queries, report
    with open_store(options.db, must_exist=True).reading() as connection:
        runs = queries.list_runs(connection, options.limit)
    print(report.runs_table(runs))
    return 0


def show_command(options: argparse.Namespace) -> int:
    """Print one run, or all runs of a job; the exit status says the verdict."""
    from . import queries, report
    verdicts: list[Verdict] = []
    with open_store(options.db, must_exist=True).reading() as connection:
        for run in queries.runs_of(connection, options.run):
            verdict = queries.run_verdict(connection, run)
            metrics = queries.metric_rows(connection, run["run_id"])
            reasons = queries.failed_checks(connection, run["run_id"])
            reasons += queries.unexplained_records(connection, run["run_id"])
            print(report.run_report(run, verdict, metrics, reasons))
            verdicts.append(verdict)
    return EXIT_STATUS[aggregate(verdicts).status]


def compare_command(options: argparse.Namespace) -> int:
    """Print where two runs differ; 0 when nothing became worse."""
    from . import history, queries, report
    with open_store(options.db, must_exist=True).reading() as connection:
        before, after = (queries.find_run(connection, name) for name in (options.before, options.after))
        rows = history.differences(connection, before["run_id"], after["run_id"])
    print(report.comparison(before, after, rows))
    found = {row["after"] for row in rows}
    return EXIT_STATUS[next((status for status in (Status.FAIL, Status.ERROR) if status in found),
                            Status.ERROR if None in found else Status.PASS)]


def trend_command(options: argparse.Namespace) -> int:
    """Print how the latest qualifications did."""
    from . import history, report
    selection = history.Selection(options.testbed, options.device, options.port, options.metric, options.with_broken)
    with open_store(options.db, must_exist=True).reading() as connection:
        runs = history.trend(connection, selection, options.limit)
        values = history.numbers(connection, selection, options.limit) if options.metric else []
        left_out = 0 if options.with_broken else history.broken_runs(connection, selection)
    print(report.trend_table(runs))
    if left_out:
        print(report.left_out(left_out))
    if values:
        print(report.values_table(values))
    return 0


def html_command(options: argparse.Namespace) -> int:
    """Write the HTML report; says where, and how large it is."""
    written = page_of(options.runs, options.baseline, options.output, results_folder(options.db), options.db)
    print(f"{written.path}: {written.verdict.status}, {written.size} bytes")
    return 0


def defect_command(options: argparse.Namespace) -> int:
    """List what is known to be wrong, add to it, or remove from it."""
    from .defects import Defect, check_defect, known
    from .report import defects_table
    store = open_store(options.db, must_exist=True)
    if options.action == "add":
        defect = Defect(options.title, options.owner, options.link, options.check, options.plan_id, options.device,
                        options.hwsku, options.os_version)
        check_defect(defect)
        is_new = store.add_defect(defect)
        print(f"{defect.defect_id}: {'added' if is_new else 'it is known already'}")
        return 0
    if options.action == "remove":
        if not store.remove_defect(options.defect):
            raise ReportingError(f"no known defect is '{options.defect}'; `pfc-report defect list` names them")
        print(f"{options.defect}: removed")
        return 0
    with store.reading() as connection:
        print(defects_table(known(connection)))
    return 0


def sync_command(options: argparse.Namespace) -> int:
    """Deliver all folders of runs; what cannot be delivered is said and does not keep the rest back."""
    results = options.results or results_folder(options.db)
    if not results.is_dir():
        raise ReportingError(f"{results} is not a folder; --results must name the one that holds the runs' folders")
    problems = 0
    for url in database_urls(options.db):
        try:
            problems += _sync(results, open_sink(url))
        except RecordError as error:
            problems += say([error])
    return REFUSED if problems else 0


def _sync(results: Path, sink: Sink) -> int:
    """Deliver to one database; returns how much was in trouble."""
    from .sync import deliver_folder, run_folders
    delivered = 0
    problems = 0
    for folder in run_folders(results):
        try:
            delivery = deliver_folder(folder, sink)
            delivered += delivery.delivered
            problems += say(delivery.problems)
        except RecordError as error:
            problems += say([error])
    print(f"{delivered} records delivered to {sink.url}")
    return problems


def ingest_command(options: argparse.Namespace) -> int:
    """Store what sonic-mgmt's `tests/common/telemetry` wrote; what is no record does not keep the rest back."""
    from .ingest import ingest, metrics_files
    problems = 0
    for path in [file for given in options.paths for file in metrics_files(given)]:
        try:
            found, said = ingest(path, options.db)
            print(f"{path}: {found} records")
            problems += say(said)
        except RecordError as error:
            problems += say([error])
    return REFUSED if problems else 0


def export_command(options: argparse.Namespace) -> int:
    """Write rows for other programs."""
    if options.format == "allure":
        return _write_allure(options)
    text = _exported(options)
    if options.output is None:
        sys.stdout.write(text)
        return 0
    try:
        options.output.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise ReportingError(f"{options.output} cannot be written: {error.strerror}") from error
    return 0


def otlp_command(options: argparse.Namespace) -> int:
    """Send a run, or all runs of a job, to an OpenTelemetry collector."""
    from . import queries
    if not options.endpoint.startswith(("http://", "https://")):
        raise ReportingError(f"--endpoint is '{options.endpoint}'; it must be an address such as {COLLECTOR}")
    try:
        from . import otlp
    except ImportError as error:
        raise ReportingError(f"nothing can be sent to a collector: a package of the extra otlp is not installed "
                             f"({error})") from error
    with open_store(options.db, must_exist=True).reading() as connection:
        for name in [run["run_id"] for run in queries.runs_of(connection, options.run)]:
            run, = queries.run_rows(connection, name)
            spans = otlp.send(options.endpoint, run, queries.metric_rows(connection, name),
                              queries.record_rows(connection, name))
            print(f"{report_id(name)}: {spans} spans and the metrics of its ports, to {options.endpoint}")
    return 0


def report_id(run_id: str) -> str:
    """The id of a run as a terminal may have it."""
    from .report import printable
    return printable(run_id)


def _write_allure(options: argparse.Namespace) -> int:
    """Write the folder that Allure reads."""
    from . import allure, defects, queries
    if options.output is None:
        raise ReportingError("--format allure writes a folder: --output must name it")
    with open_store(options.db, must_exist=True).reading() as connection:
        names = [run["run_id"] for run in queries.runs_of(connection, options.run)]
        runs = [(run, queries.record_rows(connection, name)) for name in names
                for run in queries.run_rows(connection, name)]
        written = allure.write_allure(options.output, runs, defects.known(connection))
    print(f"{options.output}: {written} verdicts")
    return 0


def _exported(options: argparse.Namespace) -> str:
    from . import junit, queries, report
    with open_store(options.db, must_exist=True).reading() as connection:
        names = [run["run_id"] for run in queries.runs_of(connection, options.run)] if options.run else [None]
        metrics = [row for name in names for row in queries.metric_rows(connection, name)]
        if options.format == "csv":
            return report.as_csv(metrics)
        runs = [run for name in names for run in queries.run_rows(connection, name)]
        records = {run["run_id"]: queries.record_rows(connection, run["run_id"]) for run in runs}
    if options.format == "json":
        return report.as_json(runs, metrics, [record for run in runs for record in records[run["run_id"]]])
    return junit.as_junit((run, [row for row in metrics if row["run_id"] == run["run_id"]], records[run["run_id"]])
                          for run in runs)


def bundle_command(options: argparse.Namespace) -> int:
    """Pack a run with all its evidence into one file, or look whether such a file is as it was packed."""
    from . import bundle
    if options.check is not None:
        if options.run or options.output or options.results or options.overwrite or options.sign:
            raise ReportingError("bundle --check takes the name of a bundle and nothing but --signers; without --check "
                                 "a run is packed")
        problems, signer = bundle.check(options.check, options.signers)
        if not problems:
            print(f"{options.check}: every file is as it was packed{f', signed by {signer}' if signer else ''}")
        return DIFFERENT if say(f"{options.check}: {problem}" for problem in problems) else 0
    if options.signers:
        raise ReportingError("--signers says who may have signed a bundle, for --check; --sign signs one")
    folder = _folder_of(options.run, options.results or results_folder(options.db), options.db)
    made = bundle.make(folder, options.output or folder.parent / f"pfc-{folder.absolute().name}.zip", options.overwrite,
                       options.sign)
    print(f"{made.path}: {made.files} files, {made.path.stat().st_size} bytes, SHA-256 {made.sha256}")
    return REFUSED if say(f"{made.path}: {problem}" for problem in made.problems) else 0


def _folder_of(name: str | None, results: Path, urls: Any) -> Path:
    """The folder of the run that the user names; of the latest qualification unless one is named."""
    from . import bundle, queries
    folder = bundle.run_folder(results, name) if name else None
    if folder is not None:
        return folder
    with open_store(urls, must_exist=True).reading() as connection:
        runs = [run["run_id"] for run in queries.runs_of(connection, name)]
    if len(runs) > 1:
        raise ReportingError(f"'{name}' is a job of {len(runs)} runs, a bundle is of one: {', '.join(runs)}")
    folder = bundle.run_folder(results, runs[0])
    if folder is None:
        raise ReportingError(f"the database has run '{runs[0]}', but its folder is not below {results}, and a bundle "
                             "is made of its files; --results names the folder that holds the runs' folders")
    return folder


def say(problems: Iterable[Any]) -> int:
    """Print problems; returns how many."""
    from .report import printable
    said: Sequence[Any] = list(problems)
    for problem in said:
        print(f"error: {printable(str(problem), LONGEST_SENTENCE)}", file=sys.stderr)
    return len(said)
