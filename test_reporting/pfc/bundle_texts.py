"""What a bundle says of its run in words: a summary of the verdicts, and the versions behind them."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from tests.common.pfc.record.effective_records import Outline, Verdict, aggregate, effective_records, judge
from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.parsing import parse_lines
from tests.common.pfc.record.record_file import RECORDS_FILE
from tests.common.pfc.record.records import SOFTWARE, VERDICT, Record, SeriesKey
from tests.common.pfc.record.run import RUN_FILE, Run
from tests.common.pfc.record.run_reading import read_run
from tests.common.pfc.record.verdict import Status

from .queries import natural
from .report import broken, printable, table

MOST_ROWS = 2000
"""Verdicts in a summary: a port has some hundred."""
NO_START = datetime.min.replace(tzinfo=timezone.utc)
"""The start of a run that does not say when it began: the time of the packing would be another one each time."""
FILES, FILES_MISSING = "files", "files_missing"
"""Fields of a record's evidence: names of files relative to the run's folder, and why others are not there."""


@dataclass(frozen=True)
class Contents:
    """What the folder of a run says.

    Attributes:
        run: the run; None: nothing says which it was.
        records: its records that can be read, those of another run left out.
        problems: what cannot be, and what is of another run.
        sizes: bytes of `run.json` and `records.jsonl` just before they were read, of those that are there.
    """

    run: Run | None
    records: tuple[Record, ...]
    problems: tuple[str, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def verdicts(self) -> list[Record]:
        """The verdict records that count, in the order of ports."""
        keys: dict[SeriesKey, list[Record]] = {}
        for record in self.records:
            if record.kind == VERDICT:
                keys.setdefault(record.series, []).append(record)
        counting = [record for records in keys.values() for record in effective_records(records)]
        return sorted(counting, key=lambda one: (natural(one.device_id), natural(one.port_id), one.plan_id,
                                                 -1 if one.priority is None else one.priority, one.metric_name))

    @property
    def evidence(self) -> list[str]:
        """The files that records name, each once."""
        return list(dict.fromkeys(name for record in self.records for name in _texts(record, FILES)))

    @property
    def lacks(self) -> list[str]:
        """Why some evidence was not kept when it was measured."""
        return list(dict.fromkeys(text for record in self.records for text in _texts(record, FILES_MISSING)))


def read_lines(folder: Path) -> Iterator[Record | RecordError]:
    """Read the records of a run, one after another.

    Raises:
        OSError: there are none, or they cannot be read.
    """
    with (folder / RECORDS_FILE).open("rb") as file:
        yield from parse_lines(file, RECORDS_FILE)


def read_contents(folder: Path) -> Contents:
    """Read the folder of a run; what cannot be read is said, and keeps nothing else back.

    `run.json` comes first: what it says has ended has all its records then.
    """
    run: Run | None = None
    found: list[Record | RecordError] = []
    problems: list[str] = []
    sizes = {name: (folder / name).stat().st_size for name in (RUN_FILE, RECORDS_FILE) if (folder / name).is_file()}
    try:
        run = read_run(folder, (one for one in _lines(folder) if isinstance(one, Record)), NO_START)
    except RecordError as error:
        problems.append(str(error).replace(f"{folder}/", ""))
    try:
        found += read_lines(folder)
    except OSError as error:
        problems.append(f"{RECORDS_FILE} cannot be read: {error.strerror}")
    records = [one for one in found if isinstance(one, Record)]
    problems += [str(one) for one in found if not isinstance(one, Record)]
    own = [record for record in records if run is None or _is_own(record, run, problems)]
    return Contents(run, tuple(own), tuple(dict.fromkeys(problems)), sizes)


def summary(contents: Contents, problems: Sequence[str]) -> str:
    """The verdicts of a run as a text, and what the bundle lacks."""
    run = contents.run
    verdict = _verdict(contents)
    lines = ["no run is known" if run is None else f"run {printable(run.run_id)} on {printable(run.testbed)}"]
    if run is not None:
        lines += [*([f"started {run.started:%Y-%m-%d %H:%M:%S} UTC"] if run.started != NO_START else []),
                  f"finished {run.finished:%Y-%m-%d %H:%M:%S} UTC" if run.finished else "not finished"]
        lines += [printable(broken(run.faults))] if run.faults else []
        lines += [f"{name}: {printable(str(value))}" for name, value in sorted(run.info.items())]
    lines.append(f"verdict: {verdict.status}" + (f": {printable(verdict.cause)}" if verdict.cause else ""))
    lines += ["", *_table(contents.verdicts), ""]
    lines += [f"not kept when it was measured: {printable(lack)}" for lack in contents.lacks]
    lines += [f"not in this bundle: {printable(problem)}" for problem in problems]
    lines.append("records.jsonl has each verdict with its checks and its evidence; `files` there name what lies below"
                 " evidence/.")
    return "\n".join(lines) + "\n"


def versions(contents: Contents, names: Sequence[str]) -> str:
    """What measured, on which switches, and where the packages are listed."""
    run = contents.run
    records = contents.records
    measured = {run.software_version} if run is not None else set()
    measured |= {record.software_version for record in records}
    switches = {(one.device_id, one.os_version or "unknown", one.hwsku or "unknown", one.on_behalf_of)
                for one in records}
    lines = [f"measured by: {printable(', '.join(sorted(measured - {''})) or 'unknown')}"]
    lines += [f"switch {printable(device)}: {printable(build)}, {printable(hwsku)}"
              + (f", on behalf of {printable(behalf)}" if behalf else "")
              for device, build, hwsku, behalf in sorted(switches)]
    listed = [name for name in names if name.startswith("evidence/") and "/versions-" in name]
    lines.append(f"Python and its packages: {', '.join(listed) or 'not kept'}")
    lines.append(f"packed by: {SOFTWARE}")
    return "\n".join(lines) + "\n"


def _table(verdicts: Sequence[Record]) -> list[str]:
    """How many there are of each kind, and a line for each; of very many for those that are not PASS."""
    numbers = Counter(one.status for one in verdicts)
    shown = verdicts if len(verdicts) <= MOST_ROWS else [one for one in verdicts if one.status is not Status.PASS]
    headers = ["device", "port", "priority", "plan id", "metric", "status", "cause"]
    rows = [[one.device_id, one.port_id, one.priority, one.plan_id or one.scenario, one.metric_name, one.status,
             one.cause] for one in shown[:MOST_ROWS]]
    lines = [", ".join(f"{numbers[status]} {status}" for status in Status), table(headers, rows)]
    left_out = len(verdicts) - len(rows)
    return [*lines, f"{left_out} more, the PASS ones first left out, are in {RECORDS_FILE}"] if left_out else lines


def _verdict(contents: Contents) -> Verdict:
    """The verdict of the run, by the rule of the database."""
    keys: dict[SeriesKey, list[Outline]] = {}
    for key in contents.run.expected if contents.run else ():
        keys[key] = []
    for record in contents.records:
        if record.kind == VERDICT:
            keys.setdefault(record.series, []).append(Outline.of(record))
    finished = contents.run is not None and contents.run.finished is not None and not contents.problems
    return aggregate((judge(outlines, finished) for outlines in keys.values()), finished)


def _lines(folder: Path) -> Iterator[Record | RecordError]:
    """As `read_lines`; none where they cannot be read."""
    try:
        yield from read_lines(folder)
    except OSError:
        return


def _is_own(record: Record, run: Run, problems: list[str]) -> bool:
    """Whether a record is one of the run; why not is a problem."""
    try:
        record.check_run(run.run_id, RECORDS_FILE)
    except RecordError as error:
        problems.append(str(error))
        return False
    return True


def _texts(record: Record, name: str) -> list[str]:
    """A list of texts in a record's evidence, whatever else it has there."""
    found = record.evidence.get(name)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
