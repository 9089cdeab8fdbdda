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
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.testbeds import (  # noqa: E402  (the path has to be there first)
    TESTBED_FILE, Refusal, catch_signals, deploy, environment, read_entry, virtual_testbed,
)
from tests.common.clone import RESULTS, ROOT  # noqa: E402
from tests.common.pfc.model.tolerances import KEY  # noqa: E402
from tests.common.pfc.record.parsing import parse_lines, read_lines  # noqa: E402
from tests.common.pfc.record.record_file import RECORDS_FILE  # noqa: E402
from tests.common.pfc.record.records import Record  # noqa: E402
from tests.common.pfc.record.verdict import Status  # noqa: E402
from virtual_testbed.ixnetwork.habits import CARD, HABITS  # noqa: E402

GENERATOR_CHECK = ROOT / "scripts" / "generator_check.py"
TESTBED = "vtb-t0"
REPORT = "ixnetwork-check.json"
FOLDER = re.compile(r"^verdicts, evidence and logs: (.+)$", re.MULTILINE)
ODD = ("finished-stay-started", "counts-accumulate", "slow-start", "slow-stop", "waiting-states", "other-spelling")
"""Habits that a correct switch is measured with, all at once."""
TAGGED = "instrumentation-tag"
SINGLE = ("", *ODD, "late-statistics", "captures-kept", "no-start-beside", TAGGED)
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
        needed: one that some verdict has to have; None: whichever.
        sentence: an expression that the reason of what is not PASS has to match; empty: any.
        errors: test cases that have to be ERROR, and all others PASS; None: whichever.
    """

    statuses: frozenset[Status]
    needed: Status | None
    sentence: str = ""
    errors: frozenset[str] | None = None

    def wrong(self, judged: Sequence[tuple[Record, Status]]) -> str:
        """What should have been otherwise; empty: nothing."""
        reasons = [record.cause or "" for record, status in judged if status is not Status.PASS]
        odd = sorted({status.value for _, status in judged if status not in self.statuses})
        if odd:
            return f"{', '.join(odd)}: {reasons[0]}"
        if self.errors is not None:
            return next(filter(None, (self._not_as_named(record, status) for record, status in judged)), "")
        if self.needed is not None and self.needed not in [status for _, status in judged]:
            return f"nothing is {self.needed.value}{f': {reasons[0]}' if reasons else ''}"
        other = next((reason for reason in reasons if not re.search(self.sentence, reason)), "")
        return f"the reason is '{other}'" if other else ""

    def _not_as_named(self, record: Record, status: Status) -> str:
        """What is ERROR that should have passed, or the other way, or for another reason; empty: it is right."""
        due = Status.ERROR if record.plan_id in (self.errors or ()) else Status.PASS
        if status is not due:
            return f"{record.plan_id} is {status.value}: {record.cause or ''}"
        if due is Status.ERROR and not re.search(self.sentence, record.cause or ""):
            return f"{record.plan_id}: the reason is {record.cause!r}"
        return ""


PASSES = Expected(frozenset({Status.PASS}), Status.PASS)
NOT_STARTED = Expected(frozenset({Status.PASS, Status.ERROR}), Status.ERROR, "frames sent.*, got 0")
CAUGHT = Expected(frozenset(Status), Status.FAIL)
BESIDE = frozenset({"TIME-5", "LSET-9", "TAG-3", "AFTER-6", "WD-4", "WD-6", "WD-7", "WD-13", "WD-14"})
"""Test cases that start a flow while others of theirs run: storms in running data, a second storm beside the first."""
BESIDE_REFUSED = Expected(frozenset({Status.PASS, Status.ERROR}), Status.PASS,
                          f"has to start beside .+ by the testbed's {KEY}", BESIDE)
ASKED = ("no-start-beside",)
"""Habits of which a testbed's entry has to say what `make generator-check` answers, so that families are measured."""


def refused(sentence: str) -> Expected:
    """Nothing is judged, and the reason is that."""
    return Expected(frozenset({Status.ERROR}), Status.ERROR, sentence)


IPV6 = ("other-spelling",)
"""Habits that show with IPv6 only."""
NO_ROOM = "no room for the instrumentation tag"
ALL_WITH_ROOM = Expected(frozenset({Status.PASS, Status.ERROR}), Status.PASS, NO_ROOM)
"""PAIRS has rows of the smallest IPv6 frames."""
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
        testbed: which one.
        asks: whether the generator is asked first, and the testbed's entry has its answers (`make generator-check`).
    """

    habits: tuple[str, ...]
    scenarios: str
    expected: Expected
    faults: tuple[str, ...] = ()
    ip_version: int = 4
    testbed: str = TESTBED
    asks: bool = False

    @property
    def title(self) -> str:
        """What it is, for the table."""
        habits = "all odd ones" if self.habits == ODD else ", ".join(self.habits) or "none"
        version = "" if self.ip_version == 4 else f", IPv{self.ip_version}"
        where = "" if self.testbed == TESTBED else f", {self.testbed}"
        asked = ", as the entry says" if self.asks else ""
        return f"{habits}{version}{where}{asked}{'; ' if self.faults else ''}{', '.join(self.faults)}"


@dataclass(frozen=True)
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


def runs(scenarios: str, habits: Sequence[str], faults: Sequence[str], testbed: str = TESTBED) -> list[CheckedRun]:
    """The runs that are asked for.

    Args:
        scenarios: test cases of the runs of correct switches.
        habits: that are tried one by one, and `odd`, all that a correct switch is measured with at once.
        faults: of broken switches that are tried too, through the odd habits; each of `FAULTS`.
        testbed: of correct switches.
    """
    planned = []
    for habit in habits:
        if habit in REFUSED:
            planned.append(CheckedRun((habit,), "PFC-1", refused(REFUSED[habit]), testbed=testbed))
        else:
            named = ODD if habit == "odd" else tuple(filter(None, [habit]))
            expected = ALL_WITH_ROOM if habit == TAGGED else PASSES
            if habit in ASKED:  # of other test cases there may be none that starts anything beside something
                expected = NOT_STARTED if scenarios == QUICK else replace(NOT_STARTED, needed=None)
            version = 6 if habit in IPV6 else 4
            planned.append(CheckedRun(named, scenarios, expected, ip_version=version, testbed=testbed))
        if habit in ASKED:
            planned.append(CheckedRun((habit,), scenarios, BESIDE_REFUSED, testbed=testbed, asks=True))
        if habit == TAGGED:
            planned.append(CheckedRun((habit,), "SIZE-1", refused(NO_ROOM), ip_version=6, testbed=testbed))
    return planned + [CheckedRun(ODD, FAULTS[fault], CAUGHT, (fault,)) for fault in faults]


def carry_out(run: CheckedRun, results: Path) -> Came:
    """Brings the testbed up for a run, and takes it down again. `results`: folder of what it leaves."""
    began = time.monotonic()
    with TemporaryDirectory() as folder:
        try:
            testbed_file = _testbed_file(run, answers(run, results), Path(folder)) if run.asks else TESTBED_FILE
        except Refusal as error:
            return Came(run.title, wrong=str(error), seconds=round(time.monotonic() - began))
        came = _qualified(run, testbed_file, results)
    return replace(came, seconds=round(time.monotonic() - began))


def answers(run: CheckedRun, results: Path) -> dict[str, Any]:
    """What the generator of a run answers (`make generator-check`), as conditions of its testbed.

    Raises:
        Refusal: it was not asked, or did not answer all.
    """
    results.mkdir(parents=True, exist_ok=True)
    with virtual_testbed(run.testbed, TESTBED_FILE, run.faults, run.habits) as testbed:
        deploy(testbed, results / "deploy.log")
        ended = subprocess.run([sys.executable, str(GENERATOR_CHECK), run.testbed, "--results", str(results)],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, check=False)
    if ended.returncode:
        raise Refusal(f"generator-check ended with status {ended.returncode}: {ended.stdout.strip().splitlines()[-1:]}")
    replies = json.loads((results / f"generator-check-{run.testbed}.json").read_text(encoding="utf-8"))
    entries = ", ".join(reply["entry"] for reply in replies if reply["entry"])
    return dict(yaml.safe_load(f"{{{entries}}}"))


def _testbed_file(run: CheckedRun, conditions: Mapping[str, Any], folder: Path) -> Path:
    """A testbed file whose entry says what the generator does."""
    entry = {**read_entry(run.testbed, TESTBED_FILE), "lab_folder": str(TESTBED_FILE.parent),
             KEY: {**conditions, "reason": "generator-check"}}
    path = folder / "testbed.yaml"
    path.write_text(yaml.safe_dump([entry]), encoding="utf-8")
    return path


def _qualified(run: CheckedRun, testbed_file: Path, results: Path) -> Came:
    """What comes of a run on a testbed of that file."""
    command = [sys.executable, str(ROOT / "scripts" / "qualify.py"), "--testbed", run.testbed, "--ixnetwork",
               "--testbed-file", str(testbed_file), "--ip-version", str(run.ip_version), "--results", str(results)]
    for option, values in (("--habit", run.habits), ("--fault", run.faults)):
        command += [text for value in values for text in (option, value)]
    if run.scenarios != EVERYTHING:
        command += ["--scenario", run.scenarios]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, check=False)
    folder = FOLDER.search(ended.stdout)
    if folder is None:
        last = ended.stdout.strip().splitlines()[-1:]
        return Came(run.title, wrong=f"it ended with status {ended.returncode}: {last}")
    path = ROOT / folder[1] / RECORDS_FILE
    records = [record for record in parse_lines(read_lines(path), str(path)) if isinstance(record, Record)]
    judged = [(record, record.status) for record in records if record.status is not None]
    verdicts: dict[str, str] = {}
    for record, status in judged:
        verdicts[record.plan_id] = max(verdicts.get(record.plan_id, "PASS"), status.value, key=_badness)
    reason = next((record.cause or "" for record, status in judged if status is not Status.PASS), "")
    wrong = run.expected.wrong(judged) if judged else "nothing was judged"
    return Came(run.title, verdicts, reason, wrong)


def _badness(status: str) -> int:
    return ("PASS", "ERROR", "FAIL").index(status)


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
    parser.add_argument("--testbed", default=TESTBED, metavar="NAME",
                        help=f"the virtual testbed of correct switches (default: {TESTBED})")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR",
                        help="folder of what the runs leave (default: results)")
    options = parser.parse_args()
    faults = [name for name in options.faults.split(",") if name]
    for name in faults:
        if name not in FAULTS:
            parser.error(f"fault {name!r} is none of those whose test cases are known here: {', '.join(FAULTS)}")
    habits = options.habits.split(",")
    known = ("odd", *HABITS, *REFUSED)
    for name in filter(None, habits):
        if name not in known and not name.startswith(CARD):
            parser.error(f"habit {name!r} is none: expected some of {', '.join(known)}, {CARD}TYPE")
    results = options.results.resolve()
    environment(results)
    catch_signals()
    everything = []
    for run in runs(options.scenario, habits, faults, options.testbed):
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
