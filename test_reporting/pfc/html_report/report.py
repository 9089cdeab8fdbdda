"""Writing the page: read all runs, then let the template and the ports' chunks run into the file, port by port."""
from __future__ import annotations

import base64
import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from sqlalchemy import Connection

from tests.common.pfc.record.effective_records import NOTHING_MEASURED, Verdict, aggregate
from tests.common.pfc.record.run import RUN_FILE
from tests.common.pfc.record.verdict import Status

from .. import queries
from ..errors import ReportingError
from ..history import FLAKY_RUNS
from ..names import PAGE, folder_name
from . import chunk, rate_plot, texts
from .differences import MOST_ROWS, left_out
from .page_budget import MOST_EVIDENCE, PageBudget, page_budget_of
from .failures import MOST_GROUPS
from .ports import STATUSES, PageNumbering, tally, worst
from .view import MOST_NUMBERS, RunView, column, read_view

HERE = Path(__file__).parent
TEMPLATE = "report.html.j2"
SCRIPT = "report.js"
STYLE = "report.css"
PRIORITIES = range(8)
MOST_OPEN = 3
"""Reasons that stand open when the page does."""
MOST_EXAMPLES = 10
"""Reasons whose first verdict stands open in the page, with its plot."""


@dataclass(frozen=True)
class Written:
    """A page that was written: where, how large, and the verdict that it shows."""

    path: Path
    size: int
    verdict: Verdict


def write_report(connection: Connection, names: Sequence[str], baseline: str | None, output: Path | None,
                 results: Path) -> Written:
    """Write the page of some runs.

    Args:
        connection: to the database, whose answers are all of one moment.
        names: ids of runs or of jobs; none: the latest qualification.
        baseline: the run, or job, to compare with.
        output: the file; None: `report.html` in the first run's folder; if there is none, `pfc-report-RUN.html` here.
        results: the folder that holds the runs' folders.

    Raises:
        ReportingError: there is no such run, or the file cannot be written.
    """
    before = queries.runs_of(connection, baseline) if baseline else []
    runs = _runs(connection, names)
    path = output or _default_output(results, names[0] if names else runs[0]["run_id"])
    views, budget, numbering = _read(connection, runs, before, _run_beside(path))
    verdict = aggregate(view.verdict for view in views)
    page = _environment().get_template(TEMPLATE).generate(
        views=views, verdict=verdict, tally=tally([port for view in views for port in view.ports], numbering),
        packed=_packed(connection, views, budget, numbering), index=lambda: _index(views, numbering), budget=budget,
        uncompared=left_out(before, [view.comparison for view in views if view.comparison],
                            [view.run for view in views]),
        numbering=numbering, metric_number=numbering.metrics.number,
        script=Markup(_text(SCRIPT)), style=Markup(_text(STYLE)), policy=_policy())
    return Written(path, _write(path, page), verdict)


def _runs(connection: Connection, names: Sequence[str]) -> queries.Rows:
    """The runs that are named, each once."""
    found = [run for name in names or (None,) for run in queries.runs_of(connection, name)]
    return list({run["run_id"]: run for run in found}.values())


def _run_beside(path: Path) -> str:
    """The id of the run in whose folder a page lies; empty: in none."""
    try:
        found = json.loads((path.parent / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(found.get("run_id", "")) if isinstance(found, dict) else ""


def _read(connection: Connection, runs: queries.Rows, before: queries.Rows,
          beside: str) -> tuple[list[RunView], PageBudget, PageNumbering]:
    numbering = PageNumbering()
    views = list[RunView]()
    for run in runs:
        first = sum(len(view.ports) for view in views)
        views.append(read_view(connection, run, first, numbering,
                               (before, len(before) == len(runs) == 1) if before else None,
                               run["run_id"] == beside))
    return views, page_budget_of(connection, [run["run_id"] for run in runs]), numbering


def _packed(connection: Connection, views: Sequence[RunView], budget: PageBudget,
            numbering: PageNumbering) -> Iterator[tuple[str, Markup]]:
    """The blocks of packed data, each with its id: the statuses that the filters need, then each port's records."""
    codes = {port.number: port.codes for view in views for port in view.ports}
    yield "codes", Markup(chunk.packed(json.dumps(codes, separators=(",", ":"))))
    for view in views:
        for port in view.ports:
            records = chunk.chunk(connection, port, view.started, budget, numbering)
            yield f"d{port.number}", Markup(chunk.packed(records))


def _index(views: Sequence[RunView], numbering: PageNumbering) -> Markup:
    """What the script must know at once, as JSON that no HTML parser can misread."""
    document = {
        "statuses": STATUSES, "cases": numbering.cases.all(), "metrics": numbering.metrics.all(),
        "runs": [{"run_id": view.run["run_id"], "started_ms": int(view.started.timestamp() * 1000),
                  "links": view.links} for view in views],
        "ports": [[number, port.device_id, port.port_id] for number, view in enumerate(views) for port in view.ports],
        "record": chunk.RECORD_FIELDS, "check": chunk.CHECK_FIELDS, "build": chunk.BUILD_FIELDS}
    return Markup(json.dumps(document, separators=(",", ":")).replace("<", "\\u003c"))


def _environment() -> Environment:
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
                              finalize=texts.finalized, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(moment=texts.moment, ranges=texts.ranges, shell=shlex.quote, jack=texts.jack)
    environment.globals.update(
        caption=rate_plot.caption, draw=rate_plot.draw, plot_widths=rate_plot.WIDTHS, most_open=MOST_OPEN,
        counted=texts.counted, long=texts.long, column=column, worst=worst, priorities=PRIORITIES, statuses=STATUSES,
        PASS=Status.PASS, most_numbers=MOST_NUMBERS, most_groups=MOST_GROUPS, most_examples=MOST_EXAMPLES,
        most_rows=MOST_ROWS, nothing_measured=NOTHING_MEASURED, flaky_runs=FLAKY_RUNS, room=texts.size(MOST_EVIDENCE))
    return environment


def _policy() -> str:
    """The page's Content-Security-Policy: its own script and style by their digests, nothing else, from nowhere."""
    digests = {name: base64.b64encode(hashlib.sha256(_text(name).encode("utf-8")).digest()).decode("ascii")
               for name in (SCRIPT, STYLE)}
    return (f"default-src 'none'; script-src 'sha256-{digests[SCRIPT]}'; style-src 'sha256-{digests[STYLE]}'; "
            "base-uri 'none'; form-action 'none'")


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _default_output(results: Path, name: str) -> Path:
    folder = results / folder_name(name)
    return folder / PAGE if folder.is_dir() else Path(f"pfc-report-{folder_name(name)}.html")


def _write(path: Path, parts: Iterator[Any]) -> int:
    """Write the file so that whoever opens it finds the old page or the new one, whole; returns its size in bytes."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with new.open("w", encoding="utf-8", newline="\n") as file:
            for part in parts:
                file.write(part)
            size = file.tell()
        new.replace(path)
        return size
    except OSError as error:
        raise ReportingError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
