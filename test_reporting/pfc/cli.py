"""The command line `pfc-report`, also `python -m test_reporting.pfc`: looks at runs, and delivers what a database has
missed."""
from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from tests.common.pfc.record.errors import RecordError

from . import commands
from .commands import REFUSED
from .database import DEFAULT_URL, ENVIRONMENT
from .errors import ReportingError

PROGRAM = "pfc-report"
EXAMPLES = """
examples:
  pfc-report show                                    the latest qualification, and why it is not PASS
  pfc-report html RUN --baseline EARLIER_RUN         its page, with what differs
  pfc-report bundle RUN --sign ~/.ssh/id_ed25519     the run with its evidence, signed, to be given away
  pfc-report bundle --check pfc-RUN.zip --signers allowed_signers
  pfc-report trend --testbed lab-1 --metric pfc.lossless
  pfc-report --db postgresql://pfc@db/pfc sync       deliver what a database has missed

exit status of show: 0 all PASS, 1 some FAIL, 2 no FAIL but ERROR; of compare the same of what is different; of
bundle --check: 1 it is not as it was packed, or not signed as it must be; of all: 3 refused
"""
Command = Callable[[argparse.Namespace], int]


class _Parser(argparse.ArgumentParser):
    """argparse's own exit status for bad arguments is 2, which here means a verdict."""

    def error(self, message: str) -> NoReturn:
        raise ReportingError(f"{message}; see {self.prog} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 PASS, 1 FAIL, 2 ERROR (`show`, `compare`), 3 refused."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options = parse(arguments)
        command: Command = options.command
        status = command(options)
        sys.stdout.flush()
        return status
    except RecordError as error:
        commands.say([error])
        return REFUSED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; the last flush must not fail
        return REFUSED


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; `command` of the result is the function to call.

    Raises:
        ReportingError: the arguments are wrong.
    """
    parser = _Parser(prog=PROGRAM, description="Looks at the verdicts of PFC qualifications.", epilog=EXAMPLES,
                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", metavar="URL", action="append",
                        help=f"database, may be repeated for sync and ingest (default: ${ENVIRONMENT}, else "
                             f"{DEFAULT_URL})")
    add = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser).add_parser
    _add_looking(add)
    _add_defects(add)
    _add_moving(add)
    return parser.parse_args(arguments)


def _add_looking(add: Callable[..., argparse.ArgumentParser]) -> None:
    listing = add("list", help="list the latest runs")
    listing.add_argument("--limit", type=_positive, default=20, metavar="N", help="how many (default: %(default)s)")
    listing.set_defaults(command=commands.list_command)
    show = add("show", help="show a run's verdicts, and why they are not PASS")
    show.add_argument("run", nargs="?", metavar="RUN", help="run id, or job id (default: the latest qualification)")
    show.set_defaults(command=commands.show_command)
    compare = add("compare", help="show where two runs differ")
    compare.add_argument("before", metavar="RUN", help="run id of the baseline")
    compare.add_argument("after", metavar="RUN", help="run id of the run that is compared with it")
    compare.set_defaults(command=commands.compare_command)
    html = add("html", help="write a report to look at in a browser, one file")
    html.add_argument("runs", nargs="*", metavar="RUN", help="run id, or job id (default: the latest qualification)")
    html.add_argument("--baseline", metavar="RUN", help="run id, or job id, to show the differences to")
    html.add_argument("--output", type=Path, metavar="FILE", help="file to write (default: report.html in the first "
                      "run's folder, or, if there is none, pfc-report-RUN.html)")
    html.set_defaults(command=commands.html_command)
    trend = add("trend", help="show how the latest qualifications did")
    for name in ("testbed", "device", "port", "metric"):
        trend.add_argument(f"--{name}", default="", metavar=name.upper(), help=f"of this {name} only")
    trend.add_argument("--limit", type=_positive, default=20, metavar="N", help="how many (default: %(default)s)")
    trend.add_argument("--with-broken", action="store_true",
                       help="also runs on a virtual testbed that was broken on purpose (default: left out)")
    trend.set_defaults(command=commands.trend_command)


def _add_defects(add: Callable[..., argparse.ArgumentParser]) -> None:
    defect = add("defect", help="list, add or remove what is known to be wrong: pages name its owner where it is found")
    defect.set_defaults(command=commands.defect_command)
    action = defect.add_subparsers(required=True, metavar="ACTION", parser_class=_Parser, dest="action").add_parser
    action("list", help="list the known defects")
    adding = action("add", help="add one: its failures are named as known in every page from now on")
    adding.add_argument("title", metavar="TITLE", help="what is wrong, in a few words")
    adding.add_argument("--owner", required=True, metavar="NAME", help="who sees to it")
    adding.add_argument("--link", default="", metavar="URL", help="where more of it stands, https://...")
    adding.add_argument("--check", default="", metavar="NAME", help="the check that fails, e.g. resumed-in-time")
    adding.add_argument("--plan-id", default="", metavar="ID", help="the test case in which it fails (default: any)")
    adding.add_argument("--device", default="", metavar="DEVICE", help="on this device only (default: any)")
    adding.add_argument("--hwsku", default="", metavar="HWSKU", help="on this hardware only (default: any)")
    adding.add_argument("--os-version", default="", metavar="BUILD", help="with this build only (default: any)")
    removing = action("remove", help="remove one that is mended")
    removing.add_argument("defect", metavar="ID", help="its id, as `defect list` has it")


def _add_moving(add: Callable[..., argparse.ArgumentParser]) -> None:
    sync = add("sync", help="deliver what lies in files and is not in the database")
    sync.add_argument("--results", type=Path, metavar="DIR",
                      help="folder that holds the runs' folders (default: the database's)")
    sync.set_defaults(command=commands.sync_command)
    ingest = add("ingest", help="store the *.metrics.json files of sonic-mgmt's tests/common/telemetry")
    ingest.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file, or a folder with such files")
    ingest.set_defaults(command=commands.ingest_command)
    export = add("export", help="write metrics (csv), all with checks and evidence (json), or verdicts (junit, allure)")
    export.add_argument("--format", choices=["csv", "json", "junit", "allure"], required=True)
    export.add_argument("--run", metavar="RUN", help="of one run, or of all runs of one job (default: all runs)")
    export.add_argument("--output", type=Path, metavar="FILE",
                        help="file to write (default: standard output); of allure a folder")
    export.set_defaults(command=commands.export_command)
    otlp = add("otlp", help="send a run to an OpenTelemetry collector: metrics, and a trace of its verdicts")
    otlp.add_argument("run", nargs="?", metavar="RUN", help="run id, or job id (default: the latest qualification)")
    otlp.add_argument("--endpoint", metavar="URL", default=commands.COLLECTOR,
                      help="of the collector, OTLP over HTTP (default: %(default)s)")
    otlp.set_defaults(command=commands.otlp_command)
    bundle = add("bundle", help="pack a run, its evidence and checksums into one zip file, or check such a file")
    bundle.add_argument("run", nargs="?", metavar="RUN", help="run id, or job id (default: the latest qualification)")
    bundle.add_argument("--output", type=Path, metavar="FILE",
                        help="file to write (default: pfc-<the run's folder>.zip beside the folder)")
    bundle.add_argument("--overwrite", action="store_true", help="also where there is a file of that name")
    bundle.add_argument("--results", type=Path, metavar="DIR",
                        help="folder that holds the runs' folders (default: the database's)")
    bundle.add_argument("--check", type=Path, metavar="FILE",
                        help="say which files of this bundle are changed, missing or extra; exit status 1 if any are")
    bundle.add_argument("--sign", type=Path, metavar="KEY",
                        help="sign it with this OpenSSH key (a private one, or the public half of one in an SSH agent)")
    bundle.add_argument("--signers", type=Path, metavar="FILE",
                        help="with --check: it must be signed by one of these, a name and a public key a line")
    bundle.set_defaults(command=commands.bundle_command)


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive whole number")
    return int(text)
