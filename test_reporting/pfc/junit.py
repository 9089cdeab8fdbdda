"""JUnit XML of runs, for every CI: a suite a run, a case a verdict record; with the properties that sonic-mgmt's reader
of such files (`junit_xml_parser.py`) asks for."""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree import ElementTree

from tests.common.pfc.record.effective_records import NOT_FINISHED
from tests.common.pfc.record.verdict import Status

from .queries import Rows

ELEMENTS = {Status.FAIL: "failure", Status.ERROR: "error"}
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
FILE = "test_reporting/pfc"


def as_junit(runs: Iterable[tuple[Mapping[str, Any], Rows, Rows]]) -> str:
    """One XML document.

    Args:
        runs: each run (a row of `runs`) with its metrics and its records, as `queries` returns them.
    """
    root = ElementTree.Element("testsuites")
    for run, metrics, records in runs:
        root.append(_suite(run, metrics, [record for record in records if record["counts"]]))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", "0")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(run: Mapping[str, Any], metrics: Rows, records: Rows) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_xml(run["run_id"]), time="0", skipped="0",
                                timestamp=run["started"].removesuffix("Z"))
    suite.append(_properties(run, records))
    cases = [_case(record) for record in records] + [_case(row) for row in _unexplained(run, metrics, records)]
    suite.extend(cases)
    suite.set("tests", str(len(cases)))
    for element, name in (("failure", "failures"), ("error", "errors")):
        suite.set(name, str(sum(case.find(element) is not None for case in cases)))
    return suite


def _unexplained(run: Mapping[str, Any], metrics: Rows, records: Rows) -> Rows:
    """What is not PASS although no record says so: what was expected and never measured, a run that has not ended."""
    measured = {(row["device_id"], row["port_id"], row["metric_name"]) for row in records}
    found = [{**row, "scenario": "not measured", "checks": []} for row in metrics
             if row["status"] and (row["device_id"], row["port_id"], row["metric_name"]) not in measured]
    if run["finished"] is None or (run["status"] == Status.ERROR and not records and not found):
        cause = run["cause"] or NOT_FINISHED
        found.append({"device_id": "run", "port_id": "", "metric_name": "run", "scenario": run["run_id"],
                      "status": Status.ERROR, "cause": cause, "checks": []})
    return found


def _properties(run: Mapping[str, Any], records: Rows) -> ElementTree.Element:
    last = records[-1] if records else {}
    values = {"testbed": run["testbed"], "timestamp": run["started"], "host": last.get("device_id", ""),
              "hwsku": last.get("hwsku", ""), "os_version": last.get("os_version", ""), "topology": "", "asic": "",
              "platform": "", "job_id": run["job_id"], "on_behalf_of": last.get("on_behalf_of", ""),
              "software_version": run["software_version"]}
    if run["faults"]:
        values["deliberately_broken"] = "; ".join(run["faults"])
    properties = ElementTree.Element("properties")
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", name=name, value=_xml(value))
    return properties


def _case(row: Mapping[str, Any]) -> ElementTree.Element:
    place = [row["device_id"], row["port_id"], row.get("priority")]
    where = "|".join(str(part) for part in place if part not in ("", None))
    name = " ".join(part for part in (row.get("plan_id", ""), row["scenario"]) if part)
    case = ElementTree.Element("testcase", classname=_xml(row["metric_name"]), name=_xml(f"{name}[{where}]"),
                               file=FILE, line="0", time="0")
    if row["status"] in ELEMENTS:
        reason = ElementTree.SubElement(case, ELEMENTS[Status(row["status"])], message=_xml(row["cause"] or ""))
        reason.text = _xml("\n".join(check["message"] for check in row["checks"] if check["status"] == row["status"]))
    return case


def _xml(text: str) -> str:
    """A text with what XML 1.0 cannot hold (control characters) written as escapes."""
    return NOT_IN_XML.sub(lambda sign: sign.group().encode("unicode_escape", "surrogatepass").decode("ascii"), text)
