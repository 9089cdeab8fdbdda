"""The built-in faults, each alone: which test cases are carried out for it, and what the suite made of them. Run as a
program it measures all of them and writes the verdicts that are not PASS, of which the fast tests of the diagnosis
live: `python -m scripts.tests.diagnosed FOLDER FILE [FAULT ...]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scripts.campaign.broken_testbed import connected_ports
from scripts.tests.broken import Bench, Case, broken_bench
from tests.common.pfc.accounting.bystanders import with_bystanders
from tests.common.pfc.cases.plan import port_cases
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.option import auditors
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.verdict import Check, Status
from tests.common.unit_tests.pfc.fakes import plan_port

BY_ID = {plan.plan_id: plan for plan in port_cases()}
NEAR, FAR = "Ethernet64", "Ethernet0"  # the tx port of ports below Ethernet64, and of those above it


@dataclass(frozen=True)
class Alone:
    """A fault that is measured as if it were the only one: its port has no other that its test cases would notice.

    Attributes:
        name: the fault.
        port: where it is.
        plan_ids: the test cases, in the plan's order.
        options: of its specification, `priority=3`.
        data_enters: it is on the port that data comes in on.
        everywhere: it is on all ports of the switch.
    """

    name: str
    port: str
    plan_ids: tuple[str, ...]
    options: str = ""
    data_enters: bool = False
    everywhere: bool = False

    @property
    def fault(self) -> str:
        """Its specification."""
        return f"{self.name}@{'*' if self.everywhere else self.port}{',' if self.options else ''}{self.options}"

    @property
    def pair(self) -> tuple[str, str]:
        """Port under test and tx port."""
        if self.data_enters:
            return FAR, self.port
        return self.port, NEAR if int(self.port[8:]) < 64 else FAR

    def cases(self) -> list[Case]:
        """What has to be carried out."""
        return [Case(self.fault, "", "", frozenset(), "", BY_ID[plan_id], self.pair) for plan_id in self.plan_ids]


def alone(name: str, number: int, plan_ids: str, options: str = "") -> Alone:
    """A fault of port `number` of the switch: one where pauses arrive."""
    return Alone(name, f"Ethernet{4 * number}", tuple(plan_ids.split()), options)


def entering(name: str, number: int, plan_ids: str, options: str = "") -> Alone:
    """A fault of a port that data comes in on."""
    return Alone(name, f"Ethernet{4 * number}", tuple(plan_ids.split()), options, data_enters=True)


FAULTS = (
    alone("watchdog-stop-ignored", 1, "PFC-1 PFC-2"),
    alone("counters-frozen", 2, "PFC-1 PFC-2 PFC-3", "from=120s"),
    alone("pause-ignored", 3, "PFC-1 PFC-2 FRAME-1 COUNT-3 TIME-2 TIME-6 CLASS-2 WD-1"),
    alone("lossy-queue-paused", 4, "PFC-1 PFC-2 PFC-3 FRAME-1"),
    alone("pause-leaks", 5, "PFC-1 PFC-2 COUNT-3"),
    alone("slow-response", 6, "PFC-1 TIME-5"),
    alone("pause-short", 7, "PFC-1 TIME-1 TIME-2 TIME-3 TIME-6 CLASS-1 CLASS-2 CLASS-3"),
    alone("pause-long", 25, "PFC-1 TIME-1 TIME-2 TIME-3 TIME-6 CLASS-1 CLASS-2"),
    alone("times-swapped", 26, "PFC-1 TIME-1 TIME-2 TIME-6 CLASS-1 CLASS-2"),
    alone("times-rounded", 2, "PFC-1 TIME-7 CLASS-1 CLASS-2"),
    alone("zero-quanta-ignored", 9, "PFC-1 TIME-1 TIME-2 TIME-6 CLASS-2"),
    alone("zero-source-ignored", 10, "PFC-1 FRAME-1 FRAME-2"),
    alone("empty-vector-honoured", 11, "PFC-1 FRAME-4 FRAME-5 FRAME-6 COUNT-2"),
    alone("global-pause-honoured", 12, "PFC-1 PFC-4"),
    alone("unknown-opcode-honoured", 13, "PFC-1 FRAME-7"),
    alone("any-destination-honoured", 14, "PFC-1 FRAME-8"),
    alone("pfc-not-counted", 15, "PFC-1 PFC-3 COUNT-1"),
    alone("pfc-miscounted", 25, "PFC-1 PFC-2 PFC-3 COUNT-1"),
    alone("pfc-counted-as-data", 26, "PFC-1 COUNT-1 COUNT-3"),
    alone("pfc-counted-as-drop", 27, "PFC-1 COUNT-1 COUNT-3"),
    alone("pfc-forwarded", 28, "PFC-1 PFC-3 FRAME-8"),
    alone("lossless-dropped", 29, "PFC-1 PFC-4 FRAME-1 SENT-1 LOAD-1 COUNT-3 M2O-2", "one_in=4"),
    alone("lossy-dropped", 30, "PFC-1 PFC-3 FRAME-1 LOAD-1 COUNT-3 M2O-1", "one_in=4"),
    alone("frames-copied", 7, "PFC-1 LOAD-1 COUNT-3", "one_in=5000"),
    alone("counters-negative", 31, "PFC-1 PFC-2"),
    alone("weights-ignored", 5, "M2O-3"),
    entering("headroom-missing", 17, "PFC-1 COUNT-3 M2O-1 HEAD-1 HEAD-3"),
    entering("xoff-not-sent", 18, "PFC-1 PFC-2 SENT-1 COUNT-3 M2O-1 HEAD-1"),
    entering("xoff-one-priority-only", 25, "PFC-2 SENT-2"),
    entering("xoff-wrong-priority", 20, "PFC-1 PFC-2 SENT-1 M2O-1 HEAD-2"),
    entering("xon-not-sent", 21, "PFC-1 TIME-5 SENT-1"),
    entering("refresh-missing", 22, "PFC-1 SENT-1"),
    entering("pfc-unasked", 23, "TIME-4 LOAD-1", "priority=0,period_ms=700"),
    entering("zero-source-sent", 24, "PFC-1 SENT-1"),
    entering("malformed-pfc-sent", 19, "PFC-1 SENT-1"),
    alone("watchdog-blind", 27, "WD-1 WD-2 WD-3 WD-5"),
    alone("watchdog-false-alarm", 10, "WD-4"),
    alone("watchdog-late", 13, "WD-1 WD-5"),
    alone("watchdog-leaks", 14, "WD-1 WD-2"),
    alone("watchdog-wide", 9, "WD-1 WD-2"),
    alone("watchdog-never-restores", 11, "WD-1 WD-2 WD-5"),
    alone("watchdog-uncounted", 8, "WD-1 WD-2"),
    alone("pfc-removal-ignored", 6, "LSET-1 LSET-5"),
    alone("drops-uncounted", 12, "M2O-2"),
    # it leaves its port shut for ever, whose frames then fill the tx port that others share
    alone("pause-outlives-flap", 8, "PFC-1 FLAP-2 FLAP-3"),
    alone("resume-all", 1, "PFC-1 CLASS-1 CLASS-2 CLASS-3"),
    alone("pause-replaces", 2, "PFC-1 CLASS-1 CLASS-2 CLASS-3"),
    alone("refresh-ignored", 3, "PFC-1 TIME-1 TIME-2 TIME-3 TIME-6 CLASS-2"),
    alone("shorter-ignored", 4, "PFC-1 TIME-1 TIME-6 CLASS-2"),
    alone("one-time-for-all", 5, "PFC-1 TIME-6 CLASS-1 CLASS-2"),
    alone("pause-acts-elsewhere", 6, "PFC-1 PFC-2", "on=Ethernet28"),
    alone("pfc-counted-elsewhere", 7, "PFC-1 COUNT-1", "on=Ethernet44"),
    alone("pause-ignored-after-link-up", 9, "PFC-1 FLAP-2 FLAP-4"),
    alone("size-dropped", 10, "PFC-1 SIZE-1 SIZE-2 SIZE-4", "max=200"),
    entering("misclassified", 17, "PFC-1", "dscp=3,to=0"),
    entering("xoff-elsewhere", 18, "PFC-1 PFC-2", "on=Ethernet48"),
    entering("xoff-from-lossy", 19, "PFC-1 M2O-2 COUNT-3"),
    alone("watchdog-action-missing", 11, "WD-1 WD-2 WD-3"),
    alone("watchdog-restores-late", 12, "WD-1 WD-5"),
    alone("watchdog-undo-missing", 13, "WD-1 WD-2"),
    alone("watchdog-second-storm-missed", 14, "WD-1 WD-5 WD-8 WD-10"),
    alone("drops-counted-as-sent", 15, "PFC-1 M2O-2"),
    alone("sent-counted-as-received", 25, "PFC-1 COUNT-1 COUNT-3"),
    alone("counters-of-another", 26, "PFC-1", "of=Ethernet108"),
    alone("queue-miscounted", 27, "PFC-1"),
    alone("counters-wrap", 28, "PFC-1"),
    alone("counters-late", 3, "PFC-1 PFC-2 PFC-3", "from=60s"),
    alone("held-frames-aged", 1, "PFC-1 PFC-2 SENT-1 COUNT-3 M2O-1"),
    alone("aging-stays-on", 1, ""),  # no frame is dropped by it, nor where no vendor's command is
    alone("pause-late", 15, "PFC-1 TIME-5", "ns=1200"),
    alone("counted-short", 26, "PFC-1"),
    entering("headroom-short", 17, "HEAD-1 HEAD-3"),
    entering("xoff-early", 18, "HEAD-3"),
    entering("maps-unbound", 17, "PFC-1 PFC-2"),
    entering("map-entry-wrong", 18, "PFC-1 PFC-2 M2O-1 HEAD-1", "priority=4,to=0"),
    entering("maps-kept", 19, "PFC-1 LSET-1 TAG-1"),
    entering("lossless-groups-missing", 20, "PFC-1 PFC-2 COUNT-3 M2O-1 HEAD-1"),
    entering("buffer-change-lost", 21, "HEAD-3 HEAD-4"),
    alone("egress-limited", 1, "PFC-1 PFC-2 COUNT-3 M2O-1"),
    alone("watchdog-action-kept", 2, "WD-1 WD-3 WD-11"),
    alone("watchdog-set-kept", 3, "WD-1 LSET-1"),
    alone("watchdog-any-pause", 4, "WD-1 WD-4"),
    alone("watchdog-restores-in-storm", 5, "WD-1 WD-2 WD-5"),
    replace(alone("watchdog-one-port-only", 6, "WD-1 WD-6"), everywhere=True),
    alone("watchdog-hits-another", 7, "WD-1 WD-3", "priority=3,to=4"),
    alone("watchdog-drops-counted-as-sent", 8, "WD-1 WD-5"),
    alone("drops-counted-twice", 9, "M2O-2 COUNT-3"),
    entering("watermarks-frozen", 22, "PFC-1 COUNT-3 HEAD-3"),
    alone("storm-never-arrives", 13, "PFC-1 PFC-4 FRAME-4"),
    alone("control-uncounted", 14, "PFC-1 PFC-4 FRAME-7"),
    alone("finished-flows-stay-started", 16, ""),  # of the generator behind a port: no switch is at fault
)


def observed(bench: Bench, one: Alone) -> Iterator[Outcome]:
    """What the suite makes of a fault's port, test case by test case, with all that options look at besides."""
    ports = connected_ports()
    plan = with_bystanders(plan_port(bench.dut, ports, *one.pair), ports)
    plan = replace(plan, subject=replace(plan.subject, changeable=True))
    qualifier = Qualifier(plan.lab(bench.dut, bench.api, bench.clock), auditors())
    for case in one.cases():
        yield qualifier.qualify(case.plan, case.target(plan.subject))


def bad_verdicts(fault: str, outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The verdicts of a fault's test cases as the records have them; of checks that are PASS the names, by place, once
    for each test case. A verdict that says nothing else is left out."""
    found = [
        {
            "fault": fault, "plan_id": outcome.case.plan_id, "device_id": verdict.device, "port_id": verdict.port,
            "priority": verdict.priority, "metric_name": verdict.metric_name, "cause": verdict.error,
            "checks": [_short(check) for check in verdict.checks if check.status is not Status.PASS],
            "passed": passed,
        }
        for outcome in outcomes for verdict, passed in zip(outcome.verdicts, passed_once(outcome), strict=True)
    ]
    return [one for one in found if one["checks"] or one["passed"] or one["cause"]]


def passed_once(outcome: Outcome) -> Iterator[dict[str, str]]:
    """For each verdict of a test case what is PASS and no earlier one has: place -> names of checks."""
    known: set[tuple[str, str]] = set()
    for verdict in outcome.verdicts:
        held = {(check.where, check.name) for check in verdict.checks if check.status is Status.PASS} - known
        known |= held
        yield {place: " ".join(sorted(name for where, name in held if where == place)) for place, _ in sorted(held)}


def _short(check: Check) -> dict[str, Any]:
    """A check without what the verdict says, or its other fields."""
    return {name: value for name, value in check.as_record().items() if name not in ("metric_name", "message")}


def measured(folder: Path, one: Alone) -> list[dict[str, Any]]:
    """The verdicts of a fault, on a testbed that has no other."""
    folder.mkdir(parents=True)
    with broken_bench(folder, [one.fault]) as bench:
        return bad_verdicts(one.name, list(observed(bench, one)))


def as_lines(documents: Sequence[dict[str, Any]]) -> str:
    """A JSON list with a line for each of these."""
    return "[\n" + ",\n".join(map(json.dumps, documents)) + "\n]\n"


def main(folder: Path, file: Path, names: Sequence[str]) -> None:
    """Measures faults (none named: every one) and writes what was found in place of what the file says of them."""
    known = json.loads(file.read_text(encoding="ascii")) if file.exists() else []
    for one in FAULTS:
        if one.plan_ids and (one.name in names or not names):
            found = measured(folder / one.name, one)
            known = [old for old in known if old["fault"] != one.name] + found
            file.write_text(as_lines(known), encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
