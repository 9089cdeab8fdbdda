"""Pause storms from this machine on ports of a virtual switch, judged by the suite's own steps with data of 1 s:
`python -m scripts.tests.paused_by_host RUNTIME FOLDER`, inside the network namespace of both. Prints JSON: what came of
each of `RUNS`.

RUNTIME is what `virtual-testbed up --json` printed, FOLDER has `pfctest.pyz`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import snappi

from scripts.campaign.broken_testbed import KnownDut, OpenSsh
from scripts.tests.pause_lab import HOST, INTERFACES, SWITCH, connected_ports
from tests.common.pfc.cases.checks import judge, validity
from tests.common.pfc.cases.engine import finding_of, settled_counters
from tests.common.pfc.cases.pauses import SEVERAL_LOSSLESS, SINGLE_LOSSLESS, pause_lossless
from tests.common.pfc.cases.plan import targets
from tests.common.pfc.cases.storm_sequence import measure
from tests.common.pfc.host_pauses.pauses import HostPauses
from tests.common.pfc.lab.clock import WallClock
from tests.common.pfc.lab.lab import Lab
from tests.common.pfc.lab.planning import open_lab, plan_device
from tests.common.pfc.lab.port_plan import LabFacts, PortRequest
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.model.counters import DutCounters
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.record.verdict import Status

TRIES = 5  # of a storm that this machine, busy with other work, did not keep up without a gap


@dataclass(frozen=True)
class Run:
    """A test case on a port whose pauses come from an interface."""

    name: str
    port: str
    case: PlanCase
    interface: str = ""


RUNS = (
    Run("PFC-1", "Ethernet0", SINGLE_LOSSLESS),
    Run("PFC-2 on a broken port", "Ethernet4", SEVERAL_LOSSLESS),
    Run("PFC-1 by another port's cable", "Ethernet0", SINGLE_LOSSLESS, INTERFACES["Ethernet4"]),
)


class ThisMachine:
    """The host that pauses come from."""

    hostname = HOST

    def shell(self, command: str, **options: Any) -> dict[str, Any]:
        """Runs a script."""
        done = subprocess.run(["sh"], input=command, capture_output=True, text=True, check=False)
        return {"stdout": done.stdout, "stderr": done.stderr, "rc": done.returncode}


class Bench:
    """Judges ports of the switch."""

    def __init__(self, dut: KnownDut, runtime: Mapping[str, Any], folder: str) -> None:
        self._dut = dut
        self._folder = folder
        self._api = snappi.api(location=runtime["otg"]["url"])
        self._settled: dict[tuple[str, str], DutCounters | None] = {}  # a reading with all in it that came before

    def judge(self, run: Run) -> dict[str, Any]:
        """What came of a run: why it was no measurement, and whether that was gaps in the storm alone, each time; names
        of all checks, and what is not PASS by priority and name."""
        lab = self._lab(run)
        assert isinstance(lab.pause_source, HostPauses), "the testbed names this machine"
        target = targets(run.case, lab.subject)[0]
        cable = (run.port, lab.subject.pauses_from)
        scenario = replace(pause_lossless(target, lab.subject.qos), data_s=1)
        try:
            self._settled[cable] = self._settled.get(cable) or lab.pause_source.arrived(lab, lab.dut.counters())
            for _ in range(TRIES):
                settled = self._settled[cable]
                storm = measure(lab, scenario, settled_counters(lab) if settled is None else settled)
                storm = lab.pause_source.confirmed(lab, storm)
                finding = finding_of(lab, storm, validity, judge)
                self._settled[cable] = finding.settled
                if {check.name for check in finding.invalid} != {"storm-unbroken"}:
                    break
        except QualificationError as error:
            return {"invalid": [str(error)], "checks": [], "bad": {}, "gaps": False}
        bad = {f"{check.priority} {check.name}": check.message for check in finding.checks
               if check.status is not Status.PASS}
        return {"invalid": [check.message for check in finding.invalid], "bad": bad,
                "gaps": {check.name for check in finding.invalid} == {"storm-unbroken"},
                "checks": sorted({check.name for check in finding.checks})}

    def _lab(self, run: Run) -> Lab:
        ports = {run.port: run.interface or INTERFACES[run.port]}
        source = {"host": HOST, "ports": ports, "python": sys.executable, "folder": self._folder}
        testbed = {"conf-name": "small-1", "duts": [SWITCH], "pfc_pause_source": source}
        facts = LabFacts(testbed, lambda _: self._dut.state(), connected_ports(), {})
        plan = plan_device(facts, SWITCH, PortRequest())
        return open_lab(plan, self._dut, self._api, WallClock(), host_of=lambda name: ThisMachine())


def main(runtime_file: str, folder: str) -> None:
    """See the module."""
    runtime = json.loads(Path(runtime_file).read_text(encoding="utf-8"))
    host = OpenSsh(runtime["switches"][SWITCH], SWITCH)
    try:
        with SwitchRestorer(host, "paused-by-host").watchdog_stopped() as reservation:
            bench = Bench(KnownDut(host, reservation=reservation), runtime, folder)
            print(json.dumps({run.name: bench.judge(run) for run in RUNS}))
    finally:
        host.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
