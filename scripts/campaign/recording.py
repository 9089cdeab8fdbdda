"""A campaign in the reporting database: a run, with two verdicts of each entry. `campaign.seen`: the verdicts were what
was declared; `campaign.blamed`: port, priority, metric and cause were named. The device is the source, the port the
entry; the faults are those of the entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from scripts.campaign.entries import CampaignEntry
from scripts.campaign.plan import Campaign
from scripts.campaign.results import EntryResult, EntryVerdict
from test_reporting.pfc.delivery import deliver_once
from tests.common.pfc.record.records import SOFTWARE, Record, encode_line
from tests.common.pfc.record.record_file import RECORDS_FILE
from tests.common.pfc.record.run import Run, write_run
from tests.common.pfc.record.verdict import Status

SEEN, BLAMED = "campaign.seen", "campaign.blamed"
STATUS = {EntryVerdict.CAUGHT: Status.PASS, EntryVerdict.PASSED: Status.PASS, EntryVerdict.ERROR: Status.ERROR,
          EntryVerdict.ESCAPED: Status.FAIL, EntryVerdict.MISJUDGED: Status.FAIL}


def record(
    campaign: Campaign, entries: Sequence[CampaignEntry], found: Sequence[EntryResult], folder: Path
) -> list[str]:
    """Writes run and records into the campaign's folder, and delivers them; returns why a database has not got them."""
    records = [one for result in found for one in records_of(campaign, result)]
    began = datetime.fromisoformat(campaign.began)
    ended = datetime.now(timezone.utc) if len(found) == len(entries) else None
    run = Run(campaign.name, "campaign", began, ended, software_version=SOFTWARE, job_id=campaign.name,
              expected=tuple((entry.source, entry.name, SEEN) for entry in entries), info={
                  "campaign": {**asdict(campaign), "judged": len(found)}},
              faults=tuple(dict.fromkeys(fault for result in found for fault in result.faults)))
    write_run(folder, run)
    (folder / RECORDS_FILE).write_bytes(b"".join(encode_line(one.document()) for one in records))
    return [str(error) for error in deliver_once(run, records)]


def records_of(campaign: Campaign, result: EntryResult) -> Iterator[Record]:
    """The verdicts of an entry; an entry that escaped is blamed on nobody, and has one. Each has the same id however
    often it is made."""
    status = STATUS[result.judgement]
    said = f"{result.entry.key}: {result.judgement.value}"
    if result.entry.unseen:  # nothing is to be said of it
        status = Status.PASS if result.is_as_declared else Status.FAIL
    about = f"; {'; '.join(result.diagnosis)}" if result.diagnosis else ""
    one = Record(
        _id(campaign, result, SEEN), campaign.name, datetime.fromisoformat(campaign.began), "campaign",
        result.entry.source, result.entry.name, SEEN, status=status,
        cause=None if status is Status.PASS else f"{said}{about}", job_id=campaign.name, software_version=SOFTWARE,
        faults=result.faults, evidence={"campaign": result.document()},
        labels={"campaign.seed": campaign.seed, "campaign.commit": campaign.commit, "campaign.mutant": campaign.mutant})
    yield one
    if result.judgement is EntryVerdict.CAUGHT and not result.entry.unseen:
        is_right = result.blame.is_right
        why = None if is_right else f"{said}, not named rightly: {', '.join(result.blame.wrong)}{about}"
        yield replace(one, record_id=_id(campaign, result, BLAMED), metric_name=BLAMED, evidence={}, cause=why,
                      status=Status.PASS if is_right else Status.FAIL)


def _id(campaign: Campaign, result: EntryResult, metric: str) -> str:
    """Of a record; one that was measured again is another."""
    return uuid5(NAMESPACE_URL, f"{campaign.name} {result.entry.key} {metric} {result.document()}").hex
