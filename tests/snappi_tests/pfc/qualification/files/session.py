"""What one pytest session of the qualification knows: its plan, the verdicts so far, where they are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.common.pfc.cases.plan import deviations, port_cases, sweep_cases, targets
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.dut import Dut, Host, SwitchState
from tests.common.pfc.lab.generator import GeneratorTiming
from tests.common.pfc.lab.lab import Lab
from tests.common.pfc.lab.observer import RunObserver
from tests.common.pfc.lab.option import auditors, first, options
from tests.common.pfc.lab.port_plan import PortPlan
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.lab.signals import as_interrupts, put_off
from tests.common.pfc.model.deviations import allowed_for
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.tolerances import Tolerances
from tests.common.pfc.record.case import Outcome, PlanCase, PlannedItem, Target
from tests.common.pfc.record.collector import VerdictCollector
from tests.common.pfc.record.record_file import RecordFile, RecordWriter, refuse_records
from tests.common.pfc.record.records import RunLabels, new_run_id
from tests.common.pfc.record.verdict import PortVerdict, Status
from tests.snappi_tests.pfc.qualification.files.extension import Extension

UNKNOWN = "unknown"
TARGET_PARAMETER = "pfc_target"
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
        goes_on: whether an earlier part of the run is in the folder.
        cases, is_asked: the test cases, and whether the user named some.
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
        self.is_asked = False
        self.began = False
        self.testbed = ""
        self._faults: tuple[str, ...] = ()
        self._earlier_faults: Sequence[str] = ()
        self.collector = VerdictCollector(self._labels())
        self.notes: list[str] = []
        self.conclusions: list[str] = []
        self._writer = RecordWriter(self.folder, self.run_id, self.notes.append)
        self._items: dict[str, PlannedItem] = {}
        self._duts: dict[str, Dut] = {}
        self._restorers: dict[str, SwitchRestorer] = {}
        self._heeded = ExitStack()
        self._not_back = ""
        self._qualifier: Qualifier | None = None
        self._gone = ""
        self._observers: list[RunObserver] = []
        self.goes_on = False
        self.serial = ""

    def ask(self, extensions: Sequence[Extension], arguments: Sequence[str]) -> None:
        """Takes note of what the user asks for, by options and by pytest's arguments; raises QualificationError or
        RecordError where there is no such thing. `extensions`: what options add."""
        self.extensions = extensions
        asked = next(filter(None, (extension.asked(arguments) for extension in extensions)), None)
        self.is_asked = asked is not None
        self.cases = tuple(asked or port_cases())
        for extension in extensions:
            extension.read_options()

    def go_on(self, folder: Path, run_id: str, job_id: str, faults: Sequence[str] = ()) -> None:
        """Goes on with the run whose records are in this folder; `run_id` and `job_id` are empty where they do not say
        it. `faults`: what was broken on purpose in the testbed then."""
        self.folder = folder
        self.run_id = run_id or self.run_id
        self.job_id = self.job_id or job_id
        self._earlier_faults = faults
        self.goes_on = True

    def on_testbed(self, entry: Mapping[str, Any]) -> None:
        """Notes what the testbed's entry says that changes what verdicts mean; raises QualificationError where it says
        it wrongly, RecordError where the run was begun with another entry."""
        for extension in self.extensions:
            extension.on_testbed(entry)

    def note_faults(self, faults: tuple[str, ...]) -> None:
        """Notes what is broken on purpose in the testbed: the run and its records say so from now on."""
        self._faults = faults
        for device in {item.device for item in self.collector.planned}:
            self.collector.announce(device, replace(self.collector.labels_of(device), faults=faults))
        self._writer.broken_by(faults)

    @property
    def faults(self) -> tuple[str, ...]:
        """What is broken on purpose, also what was in an earlier part of the run; none: nothing."""
        return tuple(dict.fromkeys([*self._earlier_faults, *self._faults]))

    @property
    def measured_before(self) -> bool:
        """Whether an earlier part of the run has verdicts."""
        return any(extension.has_verdicts for extension in self.extensions)

    def begin(self, items: Sequence[Any], testbed: str) -> None:
        """Begins the run of tests on `testbed`: each item is going to end in a verdict. Raises RecordsUnwritable where
        the folder cannot be written, or is another run's."""
        if not self.goes_on:
            refuse_records(self.folder, self._way_on())
        self.testbed = testbed
        RecordFile(self.folder).create()
        found = (option.observer(self.folder) for option in options())
        self._observers = [observer for observer in found if observer is not None]
        labels = self._labels()
        self.collector = first(one.collector(labels) for one in self.extensions) or VerdictCollector(labels)
        for extension in self.extensions:
            extension.begin()
        for item in items:
            planned = self.planned(item)
            if planned is not None:
                self._items[item.nodeid] = planned
                self.collector.plan(planned)
        self.began = True
        if self.plan is not None:
            self._announce_plan(self.plan)
        left_out = {name: text for one in self.extensions for name, text in one.not_spoken_for().items()}
        writer = first(extension.writer(left_out) for extension in self.extensions)
        self._writer = writer or RecordWriter(self.folder, self.run_id, self.notes.append)
        self._writer.start()

    def take(self, hosts: Mapping[str, Host]) -> dict[str, Dut]:
        """Makes switches this run's, unless they are already: their watchdogs are stopped. Raises QualificationError
        where another run has one, or it cannot be changed."""
        if not self._duts:
            self._heeded.push(as_interrupts())
            for observer in self._observers:
                observer.session_started()
            duts = {}
            with ExitStack() as taken:
                taken.callback(self.put_back)  # one that cannot be had gives the others back
                for name, host in hosts.items():
                    fresh = SwitchRestorer(host, self.run_id, observers=self._observers)
                    restorer = self._restorers.setdefault(name, fresh)  # what it did not put back is still to come
                    duts[name] = Dut(host, self._observers, restorer.stop_watchdog())
                taken.pop_all()
            self._duts = duts
        return self._duts

    def put_back(self) -> None:
        """Puts the switches back as they were before the first run, and gives them up; raises QualificationError where
        one is not: then the next call tries it once more. A signal that comes meanwhile interrupts afterwards."""
        self._duts = {}
        failed: list[str] = []
        with put_off() as came:
            for restorer in self._restorers.values():  # one that stays away keeps no other from coming back
                try:
                    restorer.put_back()
                except Exception as error:
                    failed.append(str(error) if isinstance(error, QualificationError) else repr(error))
        if self._not_back:  # it was tried again: what was noted of the first time holds no more
            self.notes = [note for note in self.notes if not note.endswith(self._not_back)]
        self._not_back = "; ".join(failed)
        if failed and not came:
            raise QualificationError(self._not_back)
        self._heeded.close()
        if came:
            raise KeyboardInterrupt(self._not_back)

    def qualifier(self, lab: Lab) -> Qualifier:
        """What runs test cases: one for the whole session, in which what its first preflight found holds."""
        for observer in lab.observers:
            observer.measured_by(lab.clock)
        if self._qualifier is None:
            self._qualifier = Qualifier(lab, auditors())
        self._qualifier.go_on_with(lab)
        return self._qualifier

    @property
    def timing(self) -> GeneratorTiming | None:
        """How late the traffic generators are, which the first preflight measured; None: none has."""
        generator = self._qualifier.lab.generator if self._qualifier is not None else None
        return generator.timing if generator is not None and generator.is_timed else None

    def use(self, plan: PortPlan) -> None:
        """Takes the plan of the port under test; once the run has begun, its records carry what that says. Raises
        QualificationError where the user asks for something that this port has not."""
        for extension in self.extensions:
            extension.on_port(plan.subject)
        self.plan = plan
        if self.began:
            self._announce_plan(plan)

    def _announce_plan(self, plan: PortPlan) -> None:
        self.announce_switch(plan.state, plan.on_behalf_of, plan.subject.tolerances)
        self.notes += plan.remarks

    def targets(self, case: PlanCase) -> list[Target]:
        """What a test case is about on the port under test; none: it cannot be carried out there."""
        assert self.plan is not None, "targets are those of a port"
        found = targets(case, self.plan.subject)
        asked = (extension.targets(case) for extension in self.extensions)
        return next((one for one in asked if one), found) if found else []

    def announce_switch(self, state: SwitchState, on_behalf_of: str | None, tolerances: Tolerances) -> None:
        """Notes what all records of a switch carry, which is known now."""
        allowed = allowed_for(state.asic, tolerances, deviations())
        self.serial = state.serial
        labels = replace(self._labels(), os_version=state.os_version, hwsku=state.hwsku,
                         on_behalf_of=on_behalf_of or "", deviations=allowed)
        self.collector.announce(state.device, labels)

    def _labels(self) -> RunLabels:
        """What all records of the run carry of a switch of which nothing is known."""
        return RunLabels(self.run_id, self.testbed, UNKNOWN, UNKNOWN, self.job_id or "", faults=self._faults)

    def gone(self, cause: str) -> None:
        """Notes that nothing can be measured any more: what is left is for a run that goes on with this one."""
        self._gone = cause
        way_on = self._way_on()
        self.notes.append(f"the run ends here, {way_on + ' goes on with it' if way_on else 'unfinished'}: {cause}")

    def _way_on(self) -> str:
        """What goes on with the run when it is left; empty: nothing does."""
        return next((extension.way_on for extension in self.extensions if extension.way_on), "")

    def keep(self, nodeid: str, outcome: Outcome) -> list[PortVerdict]:
        """Keeps verdicts of an item; returns all that are kept of it. One whose evidence is lost cannot be defended: it
        is no PASS, and measured again by a run that goes on with this one."""
        missing = outcome.evidence.get("files_missing", ())
        lost = next((sentence for sentence in self._lost_evidence() if sentence in missing), None)
        if lost is not None:
            verdicts = [replace(one, error=lost) if one.status is Status.PASS else one for one in outcome.verdicts]
            outcome = replace(outcome, verdicts=verdicts)
        self._writer.write(self.collector.add(self._items[nodeid], outcome))
        return self.verdicts_of(nodeid)

    def verdicts_of(self, nodeid: str) -> list[PortVerdict]:
        """The verdicts that an item has so far."""
        return self.collector.verdicts_of(self._items[nodeid]) if nodeid in self._items else []

    def impossible(self, nodeid: str, reason: str) -> None:
        """Withdraws an item that is about nothing on this port: it owes no verdict, and the user is told."""
        self.collector.withdraw(self._items.pop(nodeid))
        self.notes.append(reason)

    def broken(self, nodeid: str, cause: str, after: bool = False) -> None:
        """Makes what broke around an item its ERROR, unless it has a verdict already. `after`: in its clean-up, so that
        the user has to hear of it beside any verdict."""
        if nodeid in self._items:
            if after:
                self.notes.append(f"clean-up: {cause}")
            self._writer.write(self.collector.missing(self._items[nodeid], cause))

    def finish(self) -> bool:
        """Ends the session; returns whether every planned item was measured and is PASS, and its verdict kept."""
        judged = {(one.device, one.port) for one in self.collector.metric_verdicts()}  # no reader misses more
        for planned in self.collector.unmeasured:
            cause = ": ".join(filter(None, [f"{planned.where}: the run ended before it was measured", self._gone]))
            if planned.case in sweep_cases() and (planned.device, planned.port) not in judged:
                self.collector.leave(planned, cause)
            else:
                self._writer.write(self.collector.missing(planned, cause))
        lost = self._lost_evidence()
        left_out = [note for observer in self._observers for note in observer.notes()]
        self.notes += dict.fromkeys([*left_out, *lost])
        self.conclusions = [said for extension in self.extensions for said in extension.conclusions()]
        if self.conclusions:
            self._writer.conclude(self.conclusions)
        end = self._writer.finish()
        is_told = all([extension.ended(end) for extension in self.extensions])
        return is_told and end.stored and not end.unspooled and not lost and self.collector.all_passed()

    def _lost_evidence(self) -> list[str]:
        return [sentence for observer in self._observers for sentence in observer.lost()]

    def device(self, items: Sequence[Any], devices: Sequence[str]) -> str:
        """The switch that is measured: of a testbed's `devices` the one that items were written for, else the first."""
        written = [planned.device for item in items if (planned := self.planned(item)) is not None]
        return next((device for device in written if device in devices), devices[0])

    def planned(self, item: Any) -> PlannedItem | None:
        """The verdict that an item owes: its marker `pfc_case` says for which test case, its parameter for which
        target. Nothing, if there is no target on this port."""
        marker = item.get_closest_marker("pfc_case")
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if marker is not None and PORT_PARAMETER in parameters:
            device, port = str(parameters[PORT_PARAMETER]).split("|")
            return PlannedItem(device, port, (), marker.args[0])
        text = parameters.get(TARGET_PARAMETER, ())
        if marker is None or not isinstance(text, str | None):
            return None
        port = self.plan.subject.pair.rx.port if self.plan is not None else UNKNOWN
        if text is None:  # the port was not known when tests were collected
            return PlannedItem(UNKNOWN if self.plan is None else self.plan.state.device, port, (), marker.args[0])
        return PlannedItem(text.split("|")[0], port, read_target(text), marker.args[0])
