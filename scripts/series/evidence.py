"""What a run on a virtual testbed says of each case of the plan: kept in `evidence.json`, shown in the plan documents.

`python -m scripts.series.evidence results/RUN/records.jsonl` writes it anew.
"""
from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.parsing import parse_line, read_lines
from tests.common.pfc.record.records import VERDICT, Record, format_moment
from tests.common.pfc.record.run import RUN_FILE

FILE = Path(__file__).with_name("evidence.json")
OK, REFUSED = 0, 2


class EvidenceError(Exception):
    """No evidence can be made of a file; one sentence for the user."""


@dataclass(frozen=True)
class Evidence:
    """A run.

    Attributes:
        testbed: where it was.
        commit: of this project; empty: unknown.
        began: time of its first record.
        cases: plan id -> verdict -> how many records have it.
    """

    testbed: str
    commit: str
    began: str
    cases: dict[str, dict[str, int]]


def read_evidence(file: Path = FILE) -> Evidence | None:
    """What is kept; None: nothing."""
    return Evidence(**json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None


def evidence_of(records: Sequence[Record], commit: str) -> Evidence:
    """The evidence that the records of a run are.

    Raises:
        EvidenceError: there is no verdict among them, or switches were broken on purpose.
    """
    verdicts = [record for record in records if record.kind == VERDICT]
    if not verdicts:
        raise EvidenceError("there is no verdict in it")
    faults = sorted({fault for record in verdicts for fault in record.faults})
    if faults:
        raise EvidenceError(f"its testbed was broken on purpose ({', '.join(faults)})")
    counts: dict[str, Counter[str]] = {}
    for record in verdicts:
        counts.setdefault(record.plan_id, Counter())[str(record.status)] += 1
    first = min(record.timestamp for record in verdicts)
    return Evidence(verdicts[0].testbed, commit, format_moment(first),
                    {plan_id: dict(count) for plan_id, count in counts.items()})


def evidence_lines(evidence: Evidence | None, plan_ids: Iterable[str]) -> list[str]:
    """What a plan document says of its cases in a run."""
    if evidence is None:
        return ["No run is kept."]
    asked = list(plan_ids)
    total: Counter[str] = Counter()
    for plan_id in asked:
        total.update(evidence.cases.get(plan_id, {}))
    came_to = ", ".join(f"{total[status]} {status}" for status in sorted(total)) or "no verdict"
    built = f", commit {evidence.commit}" if evidence.commit else ""
    lines = [f"A run on the virtual testbed `{evidence.testbed}` ({evidence.began}{built}; stand-alone, without"
             f" sonic-mgmt's fixtures), verdicts of its cases: {came_to}."]
    if total["ERROR"]:
        lines.append("ERROR is what could not be measured: the run has to be repeated for it.")
    missing = [plan_id for plan_id in asked if plan_id not in evidence.cases]
    if missing:
        lines.append(f"Not carried out in it: {', '.join(missing)}.")
    return lines


def commit_of(folder: Path) -> str:
    """The short name of the commit that a run was made with, as its `run.json` has it; empty: it does not say."""
    run = folder / RUN_FILE
    found = json.loads(run.read_text(encoding="utf-8")) if run.is_file() else {}
    return str(found.get("info", {}).get("suite_commit", ""))[:10]


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the evidence of a run; status 2 for a refusal."""
    parser = argparse.ArgumentParser(prog="evidence", description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("records", type=Path, metavar="RECORDS", help="the records.jsonl of a run on a virtual testbed")
    path = parser.parse_args(arguments).records
    try:
        records = [parse_line(line, f"{path} line {number}") for number, line in enumerate(read_lines(path), start=1)]
        found = evidence_of(records, commit_of(path.parent))
    except (RecordError, FileNotFoundError, EvidenceError) as error:
        print(f"error: {path}: {error}", file=sys.stderr)
        return REFUSED
    FILE.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
    print(f"{FILE}: {len(found.cases)} cases")
    return OK


if __name__ == "__main__":
    sys.exit(main())
