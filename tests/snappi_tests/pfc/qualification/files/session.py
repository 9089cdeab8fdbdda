"""What one pytest session of the qualification knows: its plan, the verdicts so far, where they are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases.plan import (
    check_sets,
    deviations,
    impossible,
    parse_set,
    port_cases,
    select,
    summary,
    sweep_cases,
)
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.dut import Dut, Host, SwitchState
from tests.common.pfc.lab.lab import Lab
from tests.common.pfc.lab.observer import RunObserver
from tests.common.pfc.lab.option import auditors, options
from tests.common.pfc.lab.port_plan import PortPlan
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.model.deviations import allowed_for
from tests.common.pfc.model.tolerances import Tolerances
from tests.common.pfc.record.case import PlanCase, PlannedItem, Target
from tests.common.pfc.record.collector import VerdictCollector
from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.outcome import Outcome
from tests.common.pfc.record.record_file import RecordFile, refuse_records
from tests.common.pfc.record.records import Record, RunLabels
from tests.common.pfc.record.run import Run, new_run_id
from tests.common.pfc.record.run_writer import RunEnd, RunWriter
from tests.common.pfc.record.verdict import PortVerdict, Status
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.faults import faults_of

UNKNOWN = "unknown"
PARAMETERS = ("enum_one_dut_lossless_prio", "pfc_target")
PORT_PARAMETER = "enum_dut_portname"
WHOLE_PORT = "all"


def write_target(device: str, target: Target) -> str:
    """A target as a test's parameter has it: `vtb-t0-01|3,4`, or `vtb-t0-01|all` for the whole port."""
    return f"{device}|{','.join(map(str, target)) or WHOLE_PORT}"


def read_target(text: str) -> Target:
    """What `write_target` wrote, and sonic-mgmt's `vtb-t0-01|3`."""
    return tuple(int(part) for part in text.split("|")[1].split(",") if part != WHOLE_PORT)


class Session:
    """The state of a session.

    Attributes:
        run_id, folder, job_id: the run, where it is kept, and what it belongs to (None: nothing).
        extensions: what options add.
        cases, sets, is_asked: the test cases, the sets of priorities to be paused together, and whether the user named
            test cases.
        plan: the port under test; None: it is not known, or there is not one alone.
        began: whether everything that is found is kept.
        collector: what was planned, and the verdicts so far.
        notes: what the user is told in the end.
        conclusions: what the failed checks come to, once the session has ended.
    """

    def __init__(
        self, run_id: str | None, folder: str | None, job_id: str | None = None, results: Path = Path("results")
    ) -> None:
        """`run_id`, `folder` and `job_id` are the options `--pfc-run-id`, `--pfc-results` and `--pfc-job-id`; a run
        without a folder has one below `results`."""
        self.run_id = run_id or new_run_id()
        self.folder = Path(folder or results / self.run_id).absolute()
        self.job_id = job_id
        self.plan: PortPlan | None = None
        self.extensions: Sequence[Extension] = ()
        self.cases: tuple[PlanCase, ...] = port_cases()
        self.sets: list[Target] = []
        self.is_asked = False
        self.began = False
        self._testbed = ""
        self._faults: tuple[str, ...] = ()
        self.collector = VerdictCollector(self._labels())
        self.notes: list[str] = []
        self.conclusions: list[str] = []
        self._writer: RunWriter | None = None
        self._reporting: Any = None
        self._items: dict[str, PlannedItem] = {}
        self._duts: dict[str, Dut] = {}
        self._changed = ExitStack()
        self._qualifier: Qualifier | None = None
        self._gone = ""
        self._observers: list[RunObserver] = []
        self._earlier: Run | None = None
        self._goes_on = False
        self._serial = ""

    def ask(
        self, extensions: Sequence[Extension], scenarios: Sequence[str], sets: Sequence[str], arguments: Sequence[str]
    ) -> None:
        """Takes note of what the user asks for.

        Args:
            extensions: what options add to the session.
            scenarios, sets: the options `--pfc-scenario` and `--pfc-set`.
            arguments: pytest's.

        Raises:
            QualificationError, RecordError: something that there is not.
        """
        self.extensions = extensions
        asked = scenarios or [name for extension in extensions for name in extension.asked(arguments)]
        self.is_asked = bool(asked)
        self.cases = select(",".join(asked).replace(" ", "").split(","))
        self.sets = [parse_set(text) for text in sets]
        for extension in extensions:
            extension.read_options()

    def go_on(self, folder: Path, run_id: str, job_id: str, earlier: Run | None) -> None:
        """Goes on with a run: its records are in this folder.

        Args:
            folder: of the run.
            run_id, job_id: what its records say; empty: they say nothing.
            earlier: what else is known of the run; None: nothing.
        """
        self.folder = folder
        self.run_id = run_id or self.run_id
        self.job_id = self.job_id or job_id
        self._earlier = earlier
        self._goes_on = True

    def on_testbed(self, entry: Mapping[str, Any]) -> None:
        """What the testbed's entry says that changes what verdicts mean.

        Raises:
            QualificationError: the entry says it wrongly.
            RecordError: the run was begun with another entry.
        """
        self.note_faults(entry)
        for extension in self.extensions:
            extension.on_testbed(entry)

    def note_faults(self, entry: Mapping[str, Any]) -> None:
        """Notes what the testbed's entry says is broken on purpose: the run and its records say so from now on.

        Raises:
            QualificationError: the entry says it wrongly.
        """
        faults = faults_of(entry)
        if faults == self._faults:
            return
        self._faults = faults
        for device in {item.device for item in self.collector.planned}:
            self.collector.announce(device, replace(self.collector.labels_of(device), faults=faults))
        if self._writer is not None:
            self._writer.broken_by(faults)

    @property
    def faults(self) -> tuple[str, ...]:
        """What is broken on purpose, also what was in an earlier part of the run; none: nothing."""
        return self._writer.run.faults if self._writer is not None else self._faults

    def begin(self, items: Sequence[Any], testbed: str) -> None:
        """Tests are about to run on `testbed`: each item is going to end in a verdict.

        Raises:
            RecordsUnwritable: the folder cannot be written, or is another run's.
        """
        if not self._goes_on:
            refuse_records(self.folder, self._way_on())
        self._testbed = testbed
        RecordFile(self.folder).create()
        found = (option.observer(self.folder) for option in options())
        self._observers = [observer for observer in found if observer is not None]
        self.collector = VerdictCollector(self._labels())
        self._writer = RunWriter(self.folder, self._run({}), self.notes.append)
        for extension in self.extensions:
            extension.begin()
        for item in items:
            planned = self.planned(item)
            if planned is not None:
                self._items[item.nodeid] = planned
                self.collector.plan(planned)
        if self.plan is not None:
            self.use(self.plan)

    def take(self, hosts: Mapping[str, Host]) -> dict[str, Dut]:
        """Makes switches this run's, unless they are already: their watchdogs are stopped.

        Raises:
            QualificationError: another run has one, or it cannot be changed.
        """
        if not self._duts:
            for observer in self._observers:
                observer.session_started()
            duts = {}
            with ExitStack() as changed:  # one that cannot be had gives the others back
                for name, host in hosts.items():
                    restorer = SwitchRestorer(host, self.run_id, observers=self._observers)
                    reservation = changed.enter_context(restorer.watchdog_stopped())
                    duts[name] = Dut(host, self._observers, reservation)
                self._changed = changed.pop_all()
            self._duts = duts
        return self._duts

    def put_back(self) -> None:
        """The switches are as they were before the first run, and anybody's.

        Raises:
            QualificationError: one is not.
        """
        self._duts = {}
        self._changed.close()

    def qualifier(self, lab: Lab) -> Qualifier:
        """Runs test cases; what the first preflight found holds for the whole session."""
        for observer in lab.observers:
            observer.measured_by(lab.clock)
        if self._qualifier is None:
            self._qualifier = Qualifier(lab, auditors())
        self._qualifier.go_on_with(lab)
        return self._qualifier

    def use(self, plan: PortPlan) -> None:
        """The port under test is known: what all its records carry, once the run has begun."""
        self.plan = plan
        if self._writer is not None:
            self.announce_switch(plan.state, plan.on_behalf_of, plan.subject.tolerances)
            self.notes += plan.remarks

    def check_sets(self) -> None:
        """Whether the sets of priorities that the user wants paused together can be, on the port under test.

        Raises:
            QualificationError: one cannot.
        """
        assert self.plan is not None, "sets of priorities are those of a port"
        check_sets(self.sets, self.cases, self.plan.subject.qos)

    def announce_switch(self, state: SwitchState, on_behalf_of: str | None, tolerances: Tolerances) -> None:
        """A switch is known: what all its records carry."""
        allowed = allowed_for(state.asic, tolerances, deviations())
        self._serial = state.serial
        labels = replace(self._labels(), os_version=state.os_version, hwsku=state.hwsku,
                         on_behalf_of=on_behalf_of or "", deviations=allowed)
        self.collector.announce(state.device, labels)

    def _labels(self) -> RunLabels:
        """What all records of the run carry of a switch of which nothing is known."""
        return RunLabels(self.run_id, self._testbed, UNKNOWN, UNKNOWN, self.job_id or "", faults=self._faults)

    def gone(self, cause: str) -> None:
        """Nothing can be measured any more: what is left is for a run that goes on with this one."""
        self._gone = cause
        way_on = self._way_on()
        self.notes.append(f"the run ends here, {way_on + ' goes on with it' if way_on else 'unfinished'}: {cause}")

    def _way_on(self) -> str:
        """What goes on with the run when it is left; empty: nothing does."""
        return next((extension.way_on for extension in self.extensions if extension.way_on), "")

    def open_report(self, reporting: Any, missing: str = "") -> None:
        """Opens the databases of the run.

        Args:
            reporting: `test_reporting.pfc`; None: a package is `missing`.
            missing: its name.
        """
        if reporting is None:
            self.notes.append(f"verdicts are in the records only: {missing} is not installed here")
        self._reporting = reporting
        delivery = reporting.RunDelivery(self.folder, self.notes.append) if reporting is not None else None
        pair = self.plan.subject.pair if self.plan is not None else None
        found = reporting.provenance(pair, self._serial) if reporting is not None else {}
        run = self._run({**found, **self._left_out()})
        self._writer = RunWriter(self.folder, run, self.notes.append, delivery, self._earlier)
        self._writer.start()
        self.began = True

    def _run(self, info: Mapping[str, Any]) -> Run:
        """The run; each verdict that it expects is an ERROR until there is a record."""
        expected = tuple(key for key in self.collector.expected if UNKNOWN not in key)
        return Run(self.run_id, self._testbed, job_id=self.job_id or "", expected=expected, faults=self._faults,
                   info=info)

    def keep(self, nodeid: str, outcome: Outcome) -> Outcome:
        """Keeps the verdicts that an item ended with; returns what is kept of them. One whose evidence is lost cannot
        be defended: it is no PASS, and measured again by a run that goes on with this one."""
        missing = outcome.evidence.get("files_missing", ())
        lost = next((sentence for sentence in self._lost_evidence() if sentence in missing), None)
        if lost is not None:
            verdicts = [replace(one, error=lost) if one.status is Status.PASS else one for one in outcome.verdicts]
            outcome = replace(outcome, verdicts=verdicts)
        collected = self.collector.add(self._items[nodeid], outcome)
        self._write(collected.records)
        return replace(outcome, verdicts=collected.verdicts)

    def verdicts_of(self, nodeid: str) -> list[PortVerdict]:
        """The verdicts that an item has so far."""
        return self.collector.verdicts_of(self._items[nodeid]) if nodeid in self._items else []

    def _write(self, records: Sequence[Record]) -> None:
        if self._writer is not None and records:
            self._writer.write(records)

    def impossible(self, nodeid: str, reason: str) -> None:
        """An item turned out to be about nothing on this port: it owes no verdict, and the user is told."""
        self.collector.withdraw(self._items.pop(nodeid))
        self.notes.append(reason)

    def broken(self, nodeid: str, cause: str, after: bool = False) -> None:
        """Something around an item broke; that is its ERROR unless it has a verdict already.

        `after`: in its clean-up, so that the user has to hear of it beside any verdict.
        """
        if nodeid in self._items:
            if after:
                self.notes.append(f"clean-up: {cause}")
            self._write(self.collector.missing(self._items[nodeid], cause))

    def finish(self) -> bool:
        """The session ends.

        Returns:
            Whether every planned item was measured and is PASS, and its verdict kept.
        """
        for planned in self.collector.unmeasured:
            cause = f"{planned.where}: the run ended before it was measured"
            cause = f"{cause}: {self._gone}" if self._gone else cause
            if planned.case in sweep_cases():
                self.collector.leave(planned, cause)
            else:
                self._write(self.collector.missing(planned, cause))
        lost = self._lost_evidence()
        left_out = [note for observer in self._observers for note in observer.notes()]
        self.notes += dict.fromkeys([*left_out, *lost])
        self.conclusions = [said for extension in self.extensions for said in extension.conclusions()]
        if self._writer is not None and self.conclusions:
            self._writer.conclude(self.conclusions)
        end = self._writer.finish() if self._writer is not None else RunEnd(stored=True)
        is_reported = self._report_final_metrics()
        self._write_page(end.stored)
        return is_reported and end.stored and not end.unspooled and not lost and self.collector.all_passed()

    def _write_page(self, is_stored: bool) -> None:
        """Writes the page of the run, where the reporting is there; no verdict depends on it."""
        if self._reporting is None:
            return
        try:
            self._reporting.write_page(self.folder, self.run_id, is_stored)
        except (RecordError, OSError) as error:
            self.notes.append(f"the page of the run: {error}")

    def _report_final_metrics(self) -> bool:
        """Reports the verdicts through SONiC's final metrics reporter; returns whether they are not lost there."""
        verdicts = self.collector.metric_verdicts()
        if self._reporting is None or self._writer is None or not verdicts:
            return True
        builds = {one.device: self.collector.labels_of(one.device).os_version for one in verdicts}
        try:
            self._reporting.report_final_metrics(self._writer.run, verdicts, builds)
        except ModuleNotFoundError as error:
            self.notes.append(f"verdicts are not reported as final metrics: {error.name} is not installed here")
        except RecordError as error:
            self.notes.append(f"final metrics: {error}")
            return False
        return True

    def _lost_evidence(self) -> list[str]:
        return [sentence for observer in self._observers for sentence in observer.lost()]

    def _left_out(self) -> dict[str, str]:
        """What the report says of the data, of the port's configuration, and of test cases and lossless priorities that
        were not selected: the verdicts do not speak for them."""
        planned = self.collector.planned
        left = dict[str, str]()
        if self.plan is not None:
            left["ip_version"] = str(self.plan.subject.ip_version)
            left |= {"on_behalf_of": self.plan.on_behalf_of} if self.plan.on_behalf_of else {}
            left |= {"remarks": "; ".join(self.plan.remarks)} if self.plan.remarks else {}
        cases = [case for case in port_cases() if case not in {one.case for one in planned}]
        if cases and not all(one.case in sweep_cases() for one in planned):
            left["plan_ids_not_selected"] = ", ".join(case.plan_id for case in cases)
            self.notes += self._without_a_verdict(cases)
        priorities = self._priorities_left_out(planned)
        if priorities:
            left["lossless_priorities_not_selected"] = priorities
        return left

    def _without_a_verdict(self, cases: Sequence[PlanCase]) -> list[str]:
        """Why there is no verdict of these test cases."""
        subject = self.plan.subject if self.plan else None
        reasons = impossible([case for case in cases if case in self.cases], subject) if subject else []
        left = [case for case in cases if not (subject and case in self.cases and impossible([case], subject))]
        return ([f"the verdicts do not speak for {summary(left)}: not selected"] if left else []) + reasons

    def _priorities_left_out(self, planned: Sequence[PlannedItem]) -> str:
        """Lossless priorities that the first test case, where it was selected, should have been carried out for."""
        alone = {one.target for one in planned if one.case is SINGLE_LOSSLESS}
        if self.plan is None or not alone:
            return ""
        qos = self.plan.subject.qos
        left = ", ".join(str(priority) for priority in qos.lossless if (priority,) not in alone)
        if left:
            self.notes.append(
                f"the verdicts do not speak for {qos.device} {qos.port} priority {left}: lossless, but not selected"
            )
        return left

    def planned(self, item: Any) -> PlannedItem | None:
        """The verdict that an item owes: its marker `pfc_case` says for which test case, its parameter for which
        target. Nothing, if there is no target on this port."""
        marker = item.get_closest_marker("pfc_case")
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if marker is not None and PORT_PARAMETER in parameters:
            device, port = str(parameters[PORT_PARAMETER]).split("|")
            return PlannedItem(device, port, (), marker.args[0])
        texts = [parameters[name] for name in PARAMETERS if name in parameters]
        if marker is None or not texts or not isinstance(texts[0], str | None):
            return None
        port = self.plan.subject.pair.rx.port if self.plan is not None else UNKNOWN
        case: PlanCase = marker.args[0]
        if texts[0] is None:  # the port was not known when tests were collected
            return PlannedItem(UNKNOWN if self.plan is None else self.plan.state.device, port, (), case)
        return PlannedItem(texts[0].split("|")[0], port, read_target(texts[0]), case)
