"""Tables for the terminal, and files for other programs, made of rows that `queries` returned."""
from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tabulate import tabulate

from tests.common.pfc.record.effective_records import Verdict
from tests.common.pfc.record.verdict import Status

from .defects import Defect
from .queries import Rows, diagnosis_of, faults_of

LONGEST_CELL = 300
LONGEST_DIAGNOSIS = 2000
WIDEST_COLUMN = 60
BROKEN = "deliberately broken"


def runs_table(runs: Rows) -> str:
    """One line a run."""
    headers = ["run", "testbed", "started (UTC)", "status", *Status]
    rows = [[run["run_id"], run["testbed"], _time(run["started"]), _run_status(run),
             *(run[status] for status in Status)] for run in runs]
    return _table_of_runs(headers, rows, runs)


def run_report(run: Mapping[str, Any], verdict: Verdict, metrics: Rows, reasons: Rows) -> str:
    """A run: what was broken on purpose, what its failed checks come to, its metrics, then why some of them are not
    PASS."""
    faults = faults_of(run)
    diagnosis = diagnosis_of(run)
    end = f"finished {_time(run['finished'])}" if run["finished"] else "not finished"
    parts = [f"run {printable(run['run_id'])} on {printable(run['testbed'])}, started {_time(run['started'])}, {end}",
             *([printable(broken(faults))] if faults else []),
             *([f"diagnosis: {printable(diagnosis, LONGEST_DIAGNOSIS)}"] if diagnosis else []), metrics_table(metrics)]
    if reasons:
        parts += ["not PASS:", reasons_table(reasons)]
    cause = f": {printable(verdict.cause)}" if verdict.cause else ""
    return "\n".join([*parts, f"{verdict.status}{cause}"])


def metrics_table(metrics: Rows) -> str:
    """One line a device, port and metric."""
    return table(["device", "port", "metric", "status", "value", "cause"],
                 [[row["device_id"], row["port_id"], row["metric_name"], row["status"], _value(row), row["cause"]]
                  for row in metrics])


def reasons_table(reasons: Rows) -> str:
    """One line a check, or record without one, that is not PASS."""
    headers = ["device", "port", "priority", "check", "status", "expected", "seen", "message"]
    return table(headers, [[row["device_id"], row["port_id"], row["priority"], row.get("name", row["scenario"]),
                            row["status"], _cell(row.get("expected")), _cell(row.get("seen")),
                            row.get("message") or row.get("cause")] for row in reasons])


def comparison(before: Mapping[str, Any], after: Mapping[str, Any], differences: Rows) -> str:
    """Where two runs differ, one line a place; then how many of each kind."""
    titles = [_title(run) for run in (before, after)]
    headers = ["change", "device", "port", "priority", "plan id", "metric", "before", "after", "flaky"]
    rows = [[row["change"], row["device_id"], row["port_id"], row["priority"], row["plan_id"] or row["scenario"],
             row["metric_name"], row["before"] or "-", row["after"] or "-", "flaky" if row["flaky"] else ""]
            for row in differences]
    kinds = Counter(row["change"] for row in differences)
    summary = ", ".join(f"{number} {kind}" for kind, number in kinds.items()) or "no difference"
    return "\n".join([f"before: {titles[0]}", f"after:  {titles[1]}", *([table(headers, rows)] if rows else []),
                      summary])


def trend_table(runs: Rows) -> str:
    """One line a run: its build, and how many metrics are PASS, FAIL and ERROR."""
    headers = ["run", "testbed", "started (UTC)", "build", "status", *Status]
    rows = [[run["run_id"], run["testbed"], run["started"][:19].replace("T", " "), run["os_version"],
             _run_status(run), *(run[status] for status in Status)] for run in runs]
    return _table_of_runs(headers, rows, runs)


def defects_table(defects: Sequence[Defect]) -> str:
    """One line a known defect."""
    return table(["id", "title", "owner", "link", "check", "plan id", "device", "HwSKU", "build"],
                 [[one.defect_id, one.title, one.owner, one.link, one.check_name, one.plan_id, one.device_id, one.hwsku,
                   one.os_version] for one in defects])


def left_out(number: int) -> str:
    """That so many runs are in no trend."""
    return f"left out: {number} {'run' if number == 1 else 'runs'} on a deliberately broken testbed (--with-broken)"


def values_table(values: Rows) -> str:
    """One line a value of a metric that is a number."""
    return table(["run", "device", "port", "metric", "time (UTC)", "value"],
                 [[row["run_id"], row["device_id"], row["port_id"], row["metric_name"],
                   row["timestamp"][:19].replace("T", " "), _value(row)] for row in values])


def broken(faults: Sequence[str]) -> str:
    """`deliberately broken: pause-ignored@Ethernet0`: what was broken on purpose in a testbed."""
    return f"{BROKEN}: {', '.join(faults)}"


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table of texts; long columns are wrapped."""
    texts = [["" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    widths = [WIDEST_COLUMN] * len(headers) if texts else None
    return tabulate(texts, headers=list(headers), tablefmt="simple_outline", disable_numparse=True, maxcolwidths=widths)


def printable(text: str, longest: int = LONGEST_CELL) -> str:
    """A text that is safe on a terminal: control characters and changes of direction are written as escapes."""
    shown = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text)
    return shown if len(shown) <= longest else f"{shown[:longest]}... ({len(text)} characters)"


def as_csv(metrics: Rows) -> str:
    """The rows of `metrics` as comma-separated values with a line of column names; labels are JSON."""
    out = io.StringIO()
    writer = csv.writer(out)
    if metrics:
        writer.writerow(metrics[0])
    for row in metrics:
        writer.writerow(_cell(cell) if isinstance(cell, (dict, list)) else cell for cell in row.values())
    return out.getvalue()


def as_json(runs: Rows, metrics: Rows, records: Rows) -> str:
    """Runs, metrics and records (with checks and evidence) as one JSON object."""
    return json.dumps({"runs": runs, "metrics": metrics, "records": records}, indent=1) + "\n"


def _table_of_runs(headers: Sequence[str], rows: Sequence[Sequence[Any]], runs: Rows) -> str:
    """A table with a line for each run; with what was broken on purpose, if anything was in any of them."""
    found = [", ".join(faults_of(run)) for run in runs]
    if not any(found):
        return table(headers, rows)
    return table([*headers, BROKEN], [[*row, faults] for row, faults in zip(rows, found, strict=True)])


def _title(run: Mapping[str, Any]) -> str:
    """A run in one line."""
    faults = faults_of(run)
    title = f"{printable(run['run_id'])} on {printable(run['testbed'])}, started {_time(run['started'])}"
    return f"{title}, {printable(broken(faults))}" if faults else title


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def _run_status(run: Mapping[str, Any]) -> str:
    if run["status"] or run["finished"]:
        return str(run["status"] or "-")
    return "not finished"


def _value(row: Mapping[str, Any]) -> str:
    return "" if row["value"] is None else f"{row['value']:g} {row['unit']}".strip()
