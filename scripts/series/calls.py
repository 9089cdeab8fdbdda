"""How a test of another suite calls what a change of the core brings: shown in the plan documents, tried by a test."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any


def keep_verdict(folder: Path, port: str, lost_frames: int) -> None:
    """Adds a verdict to the JSON lines in a folder."""
    from tests.common.pfc.record.case import PlanCase
    from tests.common.pfc.record.record_file import RecordFile
    from tests.common.pfc.record.records import RunLabels, encode_line, make_record, new_run_id
    from tests.common.pfc.record.verdict import LOSSLESS, Check, PortVerdict, Status

    status = Status.FAIL if lost_frames else Status.PASS
    check = Check("nothing-lost", LOSSLESS, status, "0 frames lost", lost_frames, f"dut-1 {port} priority 3", 3)
    verdict = PortVerdict("dut-1", port, 3, LOSSLESS, [check])
    run = RunLabels(new_run_id(), "my-testbed", os_version="", hwsku="")
    record = make_record(run, PlanCase("my-test", "MINE-1"), verdict, evidence={})
    RecordFile(folder).append([encode_line(record.document())])


def lossless_priorities(config_db: Mapping[str, Any], port: str) -> tuple[int, ...]:
    """Returns the priorities of a port that PFC is enabled for. `config_db`: `sonic-cfggen -d --print-data`."""
    from tests.common.pfc.model.qos import read_port_qos

    return read_port_qos(config_db, "dut-1", port).lossless


def pauses_received(duthost: Any, port: str) -> tuple[int, ...]:
    """Returns the PFC frames that a port has received, by priority. `duthost`: one of sonic-mgmt's `duthosts`."""
    from tests.common.pfc.lab.dut import Dut

    return Dut(duthost).counters().pfc_rx[port]


def failed_before_any_storm(duthost: Any, snappi_api: Any, get_snappi_ports: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sends a few frames of each priority without a storm; returns what went wrong. Raises QualificationError where the
    lab cannot measure the port."""
    from tests.common.pfc.lab.clock import WallClock
    from tests.common.pfc.lab.dut import Dut
    from tests.common.pfc.lab.planning import connected_port, open_lab, plan_measured
    from tests.common.pfc.lab.port_plan import PortRequest
    from tests.common.pfc.lab.preflight import preflight
    from tests.common.pfc.record.verdict import Status

    dut = Dut(duthost)
    plan = plan_measured(dut.state(), [connected_port(row) for row in get_snappi_ports], PortRequest("Ethernet0"))
    checks, _ = preflight(open_lab(plan, dut, snappi_api, WallClock()))
    return [check.message for check in checks if check.status is not Status.PASS]


CALLS: Mapping[str, Callable[..., Any]] = {
    "core-1": keep_verdict,
    "core-2": lossless_priorities,
    "core-3": pauses_received,
    "core-4": failed_before_any_storm,
}
"""Step -> the call."""


def call_of(name: str) -> list[str]:
    """The lines of the call of a step; empty: other suites are not meant to call it."""
    return dedent(inspect.getsource(CALLS[name])).splitlines() if name in CALLS else []
