"""A run as Allure reads it: a folder with a file for each verdict, the environment, known defects as categories.

https://allurereport.org/docs/how-it-works-test-result-file/ describes the form.
"""
from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import md5
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from tests.common.pfc.record.parsing import parse_moment
from tests.common.pfc.record.verdict import Status

from .defects import Defect
from .errors import FileError
from .queries import Rows

RESULT = "-result.json"
ENVIRONMENT, CATEGORIES = "environment.properties", "categories.json"
STATUSES = {Status.PASS: "passed", Status.FAIL: "failed", Status.ERROR: "broken"}
"""Allure's `broken` is a test that could not say anything: here ERROR."""


def write_allure(folder: Path, runs: Sequence[tuple[Mapping[str, Any], Rows]], defects: Sequence[Defect]) -> int:
    """Write the files; returns how many verdicts there are.

    Args:
        folder: where; it is made. Files of the same names are replaced.
        runs: each run (a row of `runs`) with its records and their checks, as `queries` returns them.
        defects: what is known to be wrong.

    Raises:
        FileError: it cannot be written.
    """
    number = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for run, records in runs:
            counting = [record for record in records if record["counts"]]
            for record, begin in zip(counting, [run["started"], *(one["timestamp"] for one in counting)], strict=False):
                found = result(run, record, begin, defects)
                (folder / f"{found['uuid']}{RESULT}").write_text(json.dumps(found), encoding="utf-8")
                number += 1
        (folder / ENVIRONMENT).write_text(_environment(runs), encoding="utf-8")
        (folder / CATEGORIES).write_text(json.dumps(_categories(defects), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise FileError(f"{folder} cannot be written: {error.strerror}") from error
    return number


def result(run: Mapping[str, Any], record: Mapping[str, Any], begin: str, defects: Sequence[Defect]) -> dict[str, Any]:
    """One verdict.

    Args:
        run: its run.
        record: the verdict record.
        begin: when the one before ended.
        defects: what is known to be wrong.
    """
    where = [record["device_id"], record["port_id"] or "device"]
    priority = record["priority"]
    case = " ".join(filter(None, (record["plan_id"], record["scenario"]))) or record["metric_name"]
    place = f"{' '.join(where)}{'' if priority is None else f' priority {priority}'}"
    name = f"{case} {record['metric_name']} [{place}]"
    stop = _ms(record["timestamp"])
    labels = {"suite": run["testbed"], "parentSuite": "PFC qualification", "subSuite": place,
              "host": record["device_id"], "framework": "sonic-mgmt-pfc", "epic": record["metric_name"],
              "feature": record["plan_id"],
              "tag": "deliberately broken" if run["faults"] else ""}
    return {
        "uuid": str(uuid5(NAMESPACE_URL, f"{run['run_id']}/{record['record_id']}")),
        "historyId": _digest(run["testbed"], name), "testCaseId": _digest(name), "fullName": name, "name": name,
        "status": STATUSES[Status(record["status"])], "statusDetails": _details(record), "stage": "finished",
        "start": min(_ms(begin), stop), "stop": stop, "steps": [_step(check, stop) for check in record["checks"]],
        "labels": [{"name": key, "value": value} for key, value in labels.items() if value],
        "links": _links(record, defects), "attachments": [],
        "parameters": [{"name": key, "value": str(value)} for key, value in (
            ("priority", priority), ("build", record["os_version"]), ("hwsku", record["hwsku"]),
            ("run", run["run_id"])) if value not in (None, "")]}


def _details(record: Mapping[str, Any]) -> dict[str, Any]:
    if record["status"] == Status.PASS:
        return {}
    said = [f"{check['name']}: {check['message']}" for check in record["checks"]
            if check["required"] and check["status"] != Status.PASS]
    return {"message": record["cause"] or "", "trace": "\n".join(said)}


def _step(check: Mapping[str, Any], at: int) -> dict[str, Any]:
    passed = check["status"] == Status.PASS
    return {"name": f"{check['name']}: {check['place']}", "status": STATUSES[Status(check["status"])],
            "statusDetails": {} if passed else {"message": check["message"]}, "stage": "finished", "start": at,
            "stop": at, "steps": [], "attachments": [], "parameters": [
                {"name": name, "value": value if isinstance(value, str) else json.dumps(value)}
                for name, value in (("expected", check["expected"]), ("seen", check["seen"]))]}


def _links(record: Mapping[str, Any], defects: Sequence[Defect]) -> list[dict[str, str]]:
    """The known defects that all failed checks of a record are of."""
    failed = {check["name"] for check in record["checks"] if check["required"] and check["status"] == Status.FAIL}
    build = record["device_id"], record["hwsku"], record["os_version"]
    return [{"type": "issue", "name": f"{one.title} ({one.owner})", "url": one.link} for one in defects
            if failed and one.link and all(one.covers(name, [record["plan_id"]], *build) for name in failed)]


def _categories(defects: Sequence[Defect]) -> list[dict[str, Any]]:
    """Allure finds the failures of a category by their text, in which each line begins with the name of a check."""
    known = [{"name": f"known: {one.title} ({one.owner})", "matchedStatuses": ["failed"],
              "traceRegex": f"(?s)(.*\\n)?{re.escape(one.check_name)}: .*"} for one in defects if one.check_name]
    return [*known, {"name": "not PASS", "matchedStatuses": ["failed"]},
            {"name": "could not be measured", "matchedStatuses": ["broken"]}]


def _environment(runs: Sequence[tuple[Mapping[str, Any], Rows]]) -> str:
    """Java properties: a line has a name and a value, what is special in either is escaped."""
    values: dict[str, list[str]] = {}
    for run, records in runs:
        last = records[-1] if records else {}
        for name, value in (("testbed", run["testbed"]), ("run", run["run_id"]), ("software", run["software_version"]),
                            ("build", last.get("os_version", "")), ("hwsku", last.get("hwsku", "")),
                            ("broken", "; ".join(run["faults"]))):
            if value and value not in values.setdefault(name, []):
                values[name].append(value)
    lines = (f"{name}={', '.join(found)}" for name, found in values.items() if found)
    return "".join(line.encode("unicode_escape").decode("ascii") + "\n" for line in lines)


def _digest(*parts: str) -> str:
    return md5(json.dumps(parts).encode(), usedforsecurity=False).hexdigest()


def _ms(moment: str) -> int:
    return round(parse_moment(moment).timestamp() * 1000)
