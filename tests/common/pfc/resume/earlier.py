"""What an earlier part of a run left: the verdicts that need no second measurement, and what they were about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..record.case import PlannedItem
from ..record.effective_records import effective_records
from ..record.errors import RecordError, RecordsUnwritable
from ..record.parsing import RecordsUnreadable, parse_lines, read_lines
from ..record.record_file import RECORDS_FILE, RecordFile
from ..record.records import VERDICT, Record
from ..record.verdict import PortVerdict, Status

OPTIONS_FILE = "options.json"
VerdictKey = tuple[str, str, str, int | None, str]  # device, port, plan id, priority (None: the whole port), metric


@dataclass(frozen=True)
class Earlier:
    """An earlier part of a run.

    Attributes:
        run_id, testbed, job_id: the run, and what it belongs to; empty: no record says.
        records: the record of each verdict that counts: one that failed, else the last one.
    """

    run_id: str = ""
    testbed: str = ""
    records: Mapping[VerdictKey, Record] = field(default_factory=dict)
    job_id: str = ""

    def verdicts(self, item: PlannedItem) -> list[PortVerdict] | None:
        """The verdicts of an item; None: it has not all of them, or could not be measured. One that failed was: what
        is ERROR beside a FAIL stays."""
        owed = keys_of(item)
        found = [record for key in owed if (record := self.records.get(key)) is not None]
        statuses = {record.status for record in found}
        measured = Status.ERROR not in statuses or Status.FAIL in statuses
        return [port_verdict(record) for record in found] if measured and len(found) == len(owed) else None

    def unmeasured(self) -> dict[VerdictKey, Record]:
        """Verdict -> its record, of those that were ERROR: the next try takes its place."""
        return {key: record for key, record in self.records.items() if record.status is Status.ERROR}

    def measured(self) -> dict[VerdictKey, PortVerdict]:
        """The verdicts that were PASS or FAIL. They stay, also where their item is measured again for the sake of
        another."""
        return {key: port_verdict(record) for key, record in self.records.items() if record.status is not Status.ERROR}


def keys_of(item: PlannedItem) -> list[VerdictKey]:
    """What an item has one verdict each of."""
    return [(item.device, item.port, item.case.plan_id, priority, metric)
            for priority in item.target or (None,) for metric in item.case.metrics]


def key_of(verdict: PortVerdict, plan_id: str) -> VerdictKey:
    """The one of these that a verdict of this test case is."""
    return verdict.device, verdict.port, plan_id, verdict.priority, verdict.metric_name


def port_verdict(record: Record) -> PortVerdict:
    """What a record says was found, as the test case that found it said it."""
    error = record.cause if record.status is Status.ERROR else None
    return PortVerdict(record.device_id, record.port_id, record.priority, record.metric_name, record.checks, error)


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


def check_options(folder: Path, options: Mapping[str, str]) -> None:
    """Refuses what changes the meaning of a verdict between the parts of a run.

    Args:
        folder: of the run.
        options: of this part, as `keep_options` kept those of the first one.

    Raises:
        RecordError: one differs.
    """
    path = folder / OPTIONS_FILE
    try:
        earlier = {str(name): str(value) for name, value in json.loads(path.read_text(encoding="utf-8")).items()}
    except FileNotFoundError:
        return
    except (OSError, ValueError, AttributeError) as error:
        raise RecordsUnreadable(f"--pfc-resume: {path} cannot be read: {error}") from error
    for name, value in options.items():
        if earlier.get(name, value) != value:
            raise RecordError(
                f"--pfc-resume: {folder} is of a run with {name} {earlier[name]}, this one has {value}: their verdicts"
                " do not belong together"
            )


def read_earlier(folder: Path) -> Earlier:
    """Reads what a run left in its folder. A last line that was cut off is cut from the file: its item is measured
    again.

    Raises:
        RecordError: it is no folder of a run, or a line in it is no record.
    """
    file = RecordFile(folder)
    if not file.path.is_file():
        raise RecordsUnreadable(f"--pfc-resume takes the folder of a run, with its {RECORDS_FILE}: {file.path}: "
                                "No such file or directory")
    records = list(_verdict_records(file))
    file.create()
    last = records[-1] if records else None
    if last is None:
        return Earlier()
    return Earlier(last.run_id, last.testbed, _by_verdict(records), last.job_id)


def _verdict_records(file: RecordFile) -> Iterator[Record]:
    for found in parse_lines(read_lines(file.path), str(file.path)):
        if isinstance(found, RecordError):
            raise RecordError(f"--pfc-resume: {found}") from found
        if found.kind == VERDICT:
            yield found


def _by_verdict(records: list[Record]) -> dict[VerdictKey, Record]:
    found: dict[VerdictKey, list[Record]] = {}
    for record in records:
        found.setdefault(key_of(port_verdict(record), record.plan_id), []).append(record)
    return {key: _deciding(ones) for key, ones in found.items()}


def _deciding(records: list[Record]) -> Record:
    """The one that a verdict's records come to."""
    effective = effective_records(records)
    failed = [record for record in effective if record.status is Status.FAIL]
    return failed[-1] if failed else effective[-1]
