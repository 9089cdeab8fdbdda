"""Qualifies virtual switches through snappi_ixnetwork and IxNetwork's REST API, with what chassis do: one run a habit.

A correct switch never gets FAIL, whatever the chassis does; what a chassis cannot do is ERROR, with a sentence that
says so; a broken switch is caught. Prints what came of each run, and writes it to `results/ixnetwork-check.json`. Exit
status 0: everything came out as it has to.
"""
from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.common.clone import RESULTS, ROOT  # noqa: E402  (the path has to be there first)
from tests.common.pfc.record.parsing import parse_lines, read_lines  # noqa: E402
from tests.common.pfc.record.record_file import RECORDS_FILE  # noqa: E402
from tests.common.pfc.record.records import Record  # noqa: E402
from tests.common.pfc.record.verdict import Status  # noqa: E402

TESTBED = "vtb-t0"
REPORT = "ixnetwork-check.json"
FOLDER = re.compile(r"^verdicts, evidence and logs: (.+)$", re.MULTILINE)
ODD = ("finished-stay-started", "counts-accumulate", "slow-start", "slow-stop", "waiting-states", "other-spelling")
"""Habits that a correct switch is measured with, all at once."""
SINGLE = ("", *ODD, "late-statistics", "captures-kept", "no-start-beside", "instrumentation-tag")
EVERYTHING = "all"
QUICK = "PFC,FRAME-1,SIZE-1,COUNT-1,HEAD-1,TIME-5,SENT-1,FLAP-1,WD-4,LSET-1,TAG-1"
"""At least one case of each family that a chassis can disturb, without those that take minutes by a clock that is not
exact: congested traffic is then sent for seconds, and has to be computed."""
FAULTS = {
    "pause-ignored@Ethernet0": "PFC-1", "pause-leaks@Ethernet0": "PFC-1", "lossless-dropped@Ethernet0": "PFC-1",
    "pfc-forwarded@Ethernet0": "PFC-1", "xoff-not-sent@Ethernet64": "PFC-1",
    "lossy-queue-paused@Ethernet0": "PFC-3", "global-pause-honoured@Ethernet0": "PFC-4",
    "any-destination-honoured@Ethernet0": "FRAME", "pfc-not-counted@Ethernet0": "COUNT-1",
    "malformed-pfc-sent@Ethernet64": "SENT-1", "pause-outlives-flap@Ethernet0": "FLAP-2",
    "watchdog-blind@Ethernet0": "WD-1", "watchdog-never-restores@Ethernet0": "WD-1",
}
"""Faults of the catalogue, each with test cases that see it."""


@dataclass(frozen=True)
class Expected:
    """What has to come of a run.

    Attributes:
        statuses: that its verdicts may have.
        needed: one that some verdict has to have.
        sentence: an expression that the first reason of what is not PASS has to match; empty: any.
    """

    statuses: frozenset[Status]
    needed: Status
    sentence: str = ""


PASSES = Expected(frozenset({Status.PASS}), Status.PASS)
NOT_STARTED = Expected(frozenset({Status.PASS, Status.ERROR}), Status.ERROR, "sent nothing of|frames sent")
CAUGHT = Expected(frozenset(Status), Status.FAIL)


def refused(sentence: str) -> Expected:
    """Nothing is judged, and the reason is that."""
    return Expected(frozenset({Status.ERROR}), Status.ERROR, sentence)


IPV6 = ("other-spelling",)
"""Habits that show with IPv6 only."""
NO_ROOM = "no room for the instrumentation tag"
REFUSED = {
    "crc-errors": "the cable of Ethernet[0-9]+ has CRC errors",
    "link-flaps": "the link of Ethernet[0-9]+ went down and up",
    "card=ravenEightHundredGigLan": "of a card of type ravenEightHundredGigLan: expected PFC, got none",
    "card=krakenFourHundredGigLan": "of a card of type krakenFourHundredGigLan: expected PFC, got an error",
}
"""Habits with which nothing can be measured, and what has to be said."""


@dataclass(frozen=True)
class CheckedRun:
    """A qualification through IxNetwork's API.

    Attributes:
        habits: of the chassis.
        scenarios: test cases, as of `make qualify`.
        expected: what has to come of it.
        faults: of the switch.
        ip_version: of the data.
    """

    habits: tuple[str, ...]
    scenarios: str
    expected: Expected
    faults: tuple[str, ...] = ()
    ip_version: int = 4

    @property
    def title(self) -> str:
        """What it is, for the table."""
        habits = "all odd ones" if self.habits == ODD else ", ".join(self.habits) or "none"
        version = "" if self.ip_version == 4 else f", IPv{self.ip_version}"
        return f"{habits}{version}{'; ' if self.faults else ''}{', '.join(self.faults)}"


@dataclass
class Came:
    """What came of a run.

    Attributes:
        title: of the run.
        verdicts: test case -> its worst status.
        reason: why the first one that is not PASS is none.
        wrong: what should have been otherwise; empty: nothing.
        seconds: how long it took.
    """

    title: str
    verdicts: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    wrong: str = ""
    seconds: float = 0.0


def runs(scenarios: str, habits: Sequence[str], faults: Sequence[str]) -> list[CheckedRun]:
    """The runs that are asked for.

    Args:
        scenarios: test cases of the runs of correct switches.
        habits: that are tried one by one, and `odd`, all that a correct switch is measured with at once.
        faults: of broken switches that are tried too, through the odd habits; each of `FAULTS`.
    """
    planned = []
    for habit in habits:
        if habit in REFUSED:
            planned.append(CheckedRun((habit,), "PFC-1", refused(REFUSED[habit])))
        else:
            named = ODD if habit == "odd" else tuple(filter(None, [habit]))
            expected = NOT_STARTED if habit == "no-start-beside" else PASSES
            planned.append(CheckedRun(named, scenarios, expected, ip_version=6 if habit in IPV6 else 4))
        if habit == "instrumentation-tag":
            planned.append(CheckedRun((habit,), "SIZE-1", refused(NO_ROOM), ip_version=6))
    return planned + [CheckedRun(ODD, FAULTS[fault], CAUGHT, (fault,)) for fault in faults]


def carry_out(run: CheckedRun, results: Path) -> Came:
    """Brings the testbed up for a run, and takes it down again. `results`: folder of what it leaves."""
    command = [sys.executable, str(ROOT / "scripts" / "qualify.py"), "--testbed", TESTBED, "--ixnetwork",
               "--ip-version", str(run.ip_version), "--results", str(results)]
    for option, values in (("--habit", run.habits), ("--fault", run.faults)):
        command += [text for value in values for text in (option, value)]
    if run.scenarios != EVERYTHING:
        command += ["--scenario", run.scenarios]
    began = time.monotonic()
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, check=False)
    came = Came(run.title, seconds=round(time.monotonic() - began))
    folder = FOLDER.search(ended.stdout)
    if folder is None:
        came.wrong = f"it ended with status {ended.returncode}: {ended.stdout.strip().splitlines()[-1:]}"
        return came
    path = ROOT / folder[1] / RECORDS_FILE
    records = [record for record in parse_lines(read_lines(path), str(path)) if isinstance(record, Record)]
    judged = [(record, record.status) for record in records if record.status is not None]
    for record, status in judged:
        came.verdicts[record.plan_id] = max(came.verdicts.get(record.plan_id, "PASS"), status.value, key=_badness)
    came.reason = next((record.cause or "" for record, status in judged if status is not Status.PASS), "")
    came.wrong = _wrong(run.expected, [status for _, status in judged], came.reason)
    return came


def _badness(status: str) -> int:
    return ("PASS", "ERROR", "FAIL").index(status)


def _wrong(expected: Expected, statuses: Sequence[Status], reason: str) -> str:
    """What should have been otherwise; empty: nothing."""
    odd = sorted({status.value for status in statuses if status not in expected.statuses})
    if odd:
        return f"{', '.join(odd)}: {reason}"
    if expected.needed not in statuses:
        return f"nothing is {expected.needed.value}{f': {reason}' if reason else ''}"
    if expected.sentence and not re.search(expected.sentence, reason):
        return f"the reason is {reason!r}"
    return ""


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", default=QUICK, metavar="NAMES",
                        help=f"test cases of correct switches, or `{EVERYTHING}`, which takes hours (default: {QUICK})")
    parser.add_argument("--habits", default=",".join((*SINGLE, "odd", *REFUSED)), metavar="NAMES",
                        help="what chassis do, one run each; an empty name: nothing odd; `odd`: all at once")
    parser.add_argument("--faults", default=",".join(FAULTS), metavar="NAMES",
                        help=f"broken switches, one run each; an empty name: none (default: {', '.join(FAULTS)})")
    parser.add_argument("--no-faults", action="store_const", const="", dest="faults", help="try no broken switches")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR",
                        help="folder of what the runs leave (default: results)")
    options = parser.parse_args()
    faults = [name for name in options.faults.split(",") if name]
    for name in faults:
        if name not in FAULTS:
            parser.error(f"fault {name!r} is none of those whose test cases are known here: {', '.join(FAULTS)}")
    results = options.results.resolve()
    everything = []
    for run in runs(options.scenario, options.habits.split(","), faults):
        came = carry_out(run, results)
        everything.append(came)
        counts = {status: list(came.verdicts.values()).count(status) for status in ("PASS", "FAIL", "ERROR")}
        found = ", ".join(f"{count} {status}" for status, count in counts.items() if count) or "nothing"
        print(f"{'wrong' if came.wrong else 'right'}  {came.title:60} {found:24} {came.seconds:5.0f} s  {came.wrong}",
              flush=True)
    results.mkdir(parents=True, exist_ok=True)
    (results / REPORT).write_text(json.dumps([asdict(came) for came in everything], indent=1), encoding="utf-8")
    wrong = [came for came in everything if came.wrong]
    print(tabulate([[came.title, came.reason] for came in everything if came.reason], ["habits; faults", "reason"],
                   maxcolwidths=[40, 100]))
    print(f"{len(everything) - len(wrong)} of {len(everything)} runs came out as they have to; {results / REPORT}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
