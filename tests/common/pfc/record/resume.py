"""What an earlier part of a run left: the verdicts that need no second measurement. A run that was killed goes on with
what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model.errors import QualificationError
from .listener import Planned, VerdictKey
from .records import READABLE, RecordsUnwritable
from .verdict import Check, PortVerdict, Status

OPTIONS_FILE = "options.json"


@dataclass(frozen=True)
class Earlier:
    """An earlier part of a run.

    Attributes:
        run_id, testbed, job_id: the run, and what it belongs to; empty: no record says.
        records: the last record of each verdict.
    """

    run_id: str = ""
    testbed: str = ""
    records: Mapping[VerdictKey, Mapping[str, Any]] = field(default_factory=dict)
    job_id: str = ""

    def verdicts(self, planned: Planned) -> list[PortVerdict] | None:
        """The verdicts of an item; None: it has not all of them, or could not be measured. One that failed was: what
        is ERROR beside a FAIL stays."""
        found = [record for key in planned.keys() if (record := self.records.get(key)) is not None]
        statuses = {record["status"] for record in found}
        measured = Status.ERROR.value not in statuses or Status.FAIL.value in statuses
        return [_verdict(record) for record in found] if measured and len(found) == len(planned.keys()) else None

    def unmeasured(self) -> dict[VerdictKey, str]:
        """Verdict -> id of its record, of those that were ERROR: the next try takes its place."""
        return {key: str(record.get("record_id")) for key, record in self.records.items()
                if record["status"] == Status.ERROR.value}

    def measured(self) -> dict[VerdictKey, PortVerdict]:
        """Those that were PASS or FAIL. They stand, also where their item is measured again for the sake of another."""
        return {key: _verdict(record) for key, record in self.records.items()
                if record["status"] in (Status.PASS.value, Status.FAIL.value)}


def check_options(folder: Path, options: Mapping[str, str]) -> None:
    """Nothing that changes what a verdict means may differ between the parts of a run.

    Args:
        folder: of the run.
        options: of this part, as `keep_options` kept those of the first one.

    Raises:
        QualificationError: one does.
    """
    path = folder / OPTIONS_FILE
    try:
        earlier = {str(name): str(value) for name, value in json.loads(path.read_text(encoding="utf-8")).items()}
    except FileNotFoundError:
        return
    except (OSError, ValueError, AttributeError) as error:
        raise QualificationError(f"--pfc-resume: {path} cannot be read: {error}") from error
    for name, value in options.items():
        if earlier.get(name, value) != value:
            raise QualificationError(
                f"--pfc-resume: {folder} is of a run with {name} {earlier[name]}, this one has {value}: their verdicts"
                " do not belong together"
            )


def refuse_records(folder: Path) -> None:
    """A new run has a folder of its own: its verdicts may mean something else.

    Raises:
        RecordsUnwritable: the folder has a run's records.
    """
    path = folder / "records.jsonl"
    if path.is_file() and path.stat().st_size:
        raise RecordsUnwritable(
            f"{path} has the records of a run: go on with it by --pfc-resume={folder}, or name another folder"
        )


def keep_options(folder: Path, options: Mapping[str, str], goes_on: bool) -> None:
    """Keeps what the verdicts of a run are about, once.

    Args:
        folder: of the run.
        options: name -> value.
        goes_on: whether an earlier part of the run may have kept them.

    Raises:
        RecordsUnwritable: it cannot be kept.
    """
    path = folder / OPTIONS_FILE
    if goes_on and path.exists():
        return
    new = folder / f".{OPTIONS_FILE}"
    try:
        new.write_text(json.dumps(dict(options), indent=1) + "\n", encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise RecordsUnwritable(f"{path} cannot be written: {error.strerror}") from error


def read_earlier(folder: Path) -> Earlier:
    """Reads what a run left in its folder. A last line that was cut off is cut from the file: its item is measured
    again.

    Raises:
        QualificationError: it is no folder of a run, or a line in it is no record.
    """
    path = folder / "records.jsonl"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise QualificationError(
            f"--pfc-resume takes the folder of a run, with its records.jsonl: {path}: {error.strerror}"
        ) from error
    whole = data[:data.rfind(b"\n") + 1]
    records = list(_records(path, whole))
    if len(whole) < len(data):
        _cut(path, len(whole))
    run = records[-1] if records else {}
    run_id, testbed, job_id = (str(run.get(name, "")) for name in ("run_id", "testbed", "job_id"))
    return Earlier(run_id, testbed, {_key(one): one for one in records}, job_id)


def _records(path: Path, data: bytes) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(data.splitlines(), 1):
        try:
            record = json.loads(line)
            if record["schema"] not in READABLE:
                raise ValueError(f"schema {record['schema']!r}, expected one of {', '.join(map(str, READABLE))}")
            _key(record)
            _verdict(record)
        except (ValueError, KeyError, TypeError) as error:
            raise QualificationError(f"{path} line {number} is no record of this version: {error!r}") from error
        yield record


def _cut(path: Path, size: int) -> None:
    try:
        with path.open("r+b") as file:
            file.truncate(size)
    except OSError as error:
        raise QualificationError(
            f"{path} ends in the middle of a line and cannot be mended: {error.strerror}"
        ) from error


def _key(record: Mapping[str, Any]) -> VerdictKey:
    return (record["device_id"], record["port_id"], record["plan_id"], record["priority"], record["metric_name"])


def _verdict(record: Mapping[str, Any]) -> PortVerdict:
    checks = [
        Check(check["name"], check["metric_name"], Status(check["status"]), check["expected"], check["seen"],
              check["where"])
        for check in record["checks"]
    ]
    error = record["cause"] if record["status"] == Status.ERROR.value else None
    return PortVerdict(record["device_id"], record["port_id"], record["priority"], record["metric_name"], checks, error)
