"""What one pytest session of the qualification knows: its plan, the verdicts heard so far, where they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.common.pfc.listener import METRICS, Listener, Planned
from tests.common.pfc.plan import PortPlan
from tests.common.pfc.records import RecordWriter, RunLabels, new_run_id
from tests.common.pfc.scenario import PlanCase

UNKNOWN = "unknown"
PARAMETER = "enum_one_dut_lossless_prio"


class Session:
    """The state of a session."""

    def __init__(self, run_id: str | None, folder: str | None) -> None:
        """`run_id` and `folder` are the options `--pfc-run-id` and `--pfc-results`."""
        self.run_id = run_id or new_run_id()
        self.folder = Path(folder or Path("results") / self.run_id).absolute()
        self.plan: PortPlan | None = None
        self.began = False
        self.listener = Listener(None, RunLabels(self.run_id, "", UNKNOWN, UNKNOWN))
        self.notes: list[str] = []
        self._testbed = ""
        self._report: Any = None
        self._items: dict[str, Planned] = {}

    def begin(self, items: Sequence[Any], testbed: str) -> None:
        """Tests are about to run on `testbed`: each item is going to end in a verdict."""
        self.began = True
        self._testbed = testbed
        self.listener = Listener(RecordWriter(self.folder), RunLabels(self.run_id, testbed, UNKNOWN, UNKNOWN))
        for item in items:
            planned = self._planned(item)
            if planned is not None:
                self._items[item.nodeid] = planned
                self.listener.plan(planned)

    def announce(self) -> None:
        """The switch is known: what all its records carry."""
        assert self.plan is not None, "a port has to be planned before its records are announced"
        state = self.plan.state
        labels = RunLabels(self.run_id, self._testbed, state.os_version, state.hwsku)
        self.listener.announce(state.device, labels)

    def open_report(self, listener_class: Any) -> None:
        """Opens the reporting end of the run: `test_reporting.pfc.listener.Listener`, or None where it is not there."""
        if listener_class is None:
            self.notes.append("verdicts are in the records only: test_reporting is not installed here")
            return
        self._report = listener_class(self.folder, say=self.notes.append)
        self._report.start({"run_id": self.run_id, "testbed": self._testbed, **self._left_out()})
        self._report.expect(
            sorted({(one.device, one.port, metric) for one in self.listener.planned for metric in METRICS})
        )

    def broken(self, nodeid: str, cause: str, after: bool = False) -> None:
        """Something around an item broke; that is its ERROR unless it has a verdict already.

        `after`: in its clean-up, so that the user has to hear of it beside any verdict.
        """
        if nodeid in self._items:
            if after:
                self.notes.append(f"clean-up: {cause}")
            self.listener.miss(self._items[nodeid], cause)

    def finish(self) -> bool:
        """The session ends.

        Returns:
            Whether every planned item was measured and is PASS, and its verdict kept.
        """
        for planned in self.listener.unheard:
            self.listener.miss(
                planned,
                f"{planned.device} {planned.port} priority {planned.priority}: the run ended before it was measured",
            )
        self.notes += dict.fromkeys(self.listener.lost)
        if self._report is not None:
            outcome = self._report.finish()
            if not outcome.stored or outcome.lost:
                return False
            if outcome.status.value != "PASS" and self.listener.all_passed():
                self.notes.append(f"the run is stored as {outcome.status.value}: {outcome.cause}")
                return False
        return self.listener.all_passed()

    def _left_out(self) -> dict[str, str]:
        """What the report says of lossless priorities that were not selected: the verdicts do not speak for them."""
        if self.plan is None:
            return {}
        qos, selected = self.plan.subject.qos, {one.priority for one in self.listener.planned}
        left = ", ".join(str(priority) for priority in qos.lossless if priority not in selected)
        if not left:
            return {}
        self.notes.append(
            f"the verdicts do not speak for {qos.device} {qos.port} priority {left}: lossless, but not selected"
        )
        return {"lossless_priorities_not_selected": left}

    def _planned(self, item: Any) -> Planned | None:
        """The verdict that an item owes: its marker `pfc_case` says for which test case, its parameter for which
        priority."""
        marker = item.get_closest_marker("pfc_case")
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if marker is None or PARAMETER not in parameters:
            return None
        device, _, priority = str(parameters[PARAMETER]).partition("|")
        port = self.plan.subject.pair.rx.port if self.plan is not None else "unknown"
        case: PlanCase = marker.args[0]
        return Planned(device, port, int(priority), case)
