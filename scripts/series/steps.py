"""The changes of the series, in their order. docs/upstream.md has them as a table.

A step names the modules and folders that it is about. What these import, and no earlier step has, comes along with
them, and so do the unit tests that need nothing of a later step (`scripts/series/changes.py`).
"""
from __future__ import annotations

from dataclasses import dataclass

LOGIC = "tests/common/pfc"
SEAM = "tests/snappi_tests/pfc/qualification"
CONTRACT = "tests/snappi_tests/unit_tests/qualification/unit_test_contract.py"
"""Reads the seam's text, which no import shows."""


@dataclass(frozen=True)
class Step:
    """One change.

    Attributes:
        name: what `SERIES=` takes.
        title: what the change does, the subject of its commit.
        alone: why it can be taken without those that come later.
        heads: modules and folders that it is about, relative to the checkout.
        families: the families of the test plan whose cases it brings.
    """

    name: str
    title: str
    alone: str
    heads: tuple[str, ...]
    families: tuple[str, ...] = ()


def _logic(*names: str) -> tuple[str, ...]:
    """Modules and folders of the qualification's logic."""
    return tuple(f"{LOGIC}/{name}" for name in names)


def _seam(*names: str) -> tuple[str, ...]:
    """Modules of the seam."""
    return tuple(f"{SEAM}/{name}.py" for name in names)


STEPS = (
    Step("core-1", "Add verdicts of PFC, and the JSON lines that keep them",
         "standard library only; any suite can write its verdicts with it",
         _logic("record/collector.py", "record/record_file.py")),
    Step("core-2", "Add what a PFC test plan speaks of: ports, priorities, traffic, measurements",
         "values and arithmetic without a switch or a generator",
         _logic("model/measurement.py", "model/numbered_rows.py")),
    Step("core-3", "Add readers of a switch's PFC counters and tables, and the way to a generator",
         "reads a switch and speaks OTG; decides nothing",
         _logic("lab/dut.py", "lab/generator.py", "lab/counter_polling.py", "lab/generator_ports.py")),
    Step("core-4", "Add flows, checks, the plan of a port pair, the preflight, and what puts a switch back",
         "refuses what cannot be measured; any test can call it first",
         _logic("lab/planning.py", "lab/preflight.py", "lab/restore.py", "lab/option.py")),
    Step("core-5", "Add the course of a PFC case: storm, data in it, stop, data again",
         "carries out PFC-1 to PFC-4 for who calls it",
         _logic("cases/qualifier.py", "cases/pauses.py", "cases/plan.py", "lab/serving.py")),
    Step("core-6", "Add tests of PFC-1 to PFC-4 on sonic-mgmt's fixtures",
         "the four cases of the PFC test plan, complete",
         _seam("conftest", "test_pfc_plan") + _logic("simulated_time", "deliberate_faults")
         + _seam("files/deliberate_faults") + (CONTRACT,),
         ("PFC",)),
    Step("switch-changes", "Add changes of a switch's configuration and of its watchdog, which are put back",
         "nothing calls it before reservations; cases that change the switch build on it",
         _logic("lab/configuration.py", "lab/watchdog.py", "cases/changed_switch.py", "cases/watchdog/__init__.py",
                "cases/watchdog/watched.py")),
    Step("reservations",
         "Add reservations of switches, put back after a kill; remarks on a lab; checks of cables",
         "folders that nothing imports; needed where the lab reserves no testbeds",
         _logic("lease", "remarks", "further_ports", "cables")),
    Step("generators",
         "Add what a Keysight chassis needs beside OTG, what a testbed's entry says, and a limit to a storm's length",
         "folders that nothing imports; a lab whose generator speaks OTG itself needs neither",
         _logic("ixnetwork", "conditions", "storm_chain")),
    Step("addresses", "Add ports without an address or in port channels, dynamic buffers, aging",
         "folders that nothing imports; each widens what can be measured",
         _logic("addresses", "aging", "dynamic_buffers")),
    Step("cases-1", "Add PFC cases: pause frames of every kind, frame sizes",
         "two families more; nothing else changes",
         _seam("test_received_frames", "test_frame_sizes"),
         ("FRAME", "SIZE")),
    Step("host-pauses", "Add pause storms from a Linux host",
         "a folder that nothing imports; for labs whose generator sends no PFC",
         _logic("host_pauses") + _seam("files/host_pauses")),
    Step("cases-2", "Add PFC cases: how long pauses last",
         "a family more; nothing else changes",
         _seam("test_pause_timing"),
         ("TIME",)),
    Step("cases-3", "Add PFC cases: classes against each other, counters",
         "two families more; nothing else changes",
         _seam("test_class_pauses", "test_counters"),
         ("CLASS", "COUNT")),
    Step("accounting", "Add books of every frame: what was sent, arrived, and is missing",
         "a folder that nothing imports; adds checks to the cases that are there",
         _logic("accounting")),
    Step("cases-4", "Add PFC cases: full lines, many to one",
         "two families more; nothing else changes",
         _seam("test_line_rate", "test_many_to_one"),
         ("LOAD", "M2O")),
    Step("cases-5", "Add PFC cases: mixed speeds, headroom",
         "two families more; nothing else changes",
         _seam("test_mixed_speed", "test_headroom"),
         ("SPEED", "HEAD")),
    Step("cases-6", "Add PFC cases: pause frames that a switch sends",
         "a family more; nothing else changes",
         _seam("test_sent_pauses"),
         ("SENT",)),
    Step("watchdog", "Add the PFC watchdog: its times, start and stop, storms with data in them, and their checks",
         "nothing calls it before cases-7",
         _logic("cases/watchdog/quiet.py", "cases/watchdog/repeated.py", "cases/watchdog/timers.py",
                "cases/watchdog/watched.py")),
    Step("cases-7", "Add PFC cases: the watchdog",
         "a family more; nothing else changes",
         _seam("test_watchdog"),
         ("WD",)),
    Step("cases-8", "Add PFC cases: link flaps",
         "a family more; nothing else changes",
         _seam("test_link_flap"),
         ("FLAP",)),
    Step("cases-9", "Add PFC cases: other lossless sets, VLAN tags",
         "two families more; nothing else changes",
         _seam("test_lossless_sets", "test_tagged"),
         ("LSET", "TAG")),
    Step("cases-10", "Add PFC cases: parameters in pairs, long storms, once more after all others",
         "three families more; nothing else changes",
         _seam("test_pairs", "test_soak", "files/soak", "test_afterwards") + _logic("pairs", "soak"),
         ("PAIRS", "SOAK", "AFTER")),
    Step("sessions-1", "Add readers of records, run.json, and a summary",
         "each is a folder that nothing imports; without them a session has its records",
         _logic("record", "delivery", "summary") + _seam("files/delivery", "files/summary")),
    Step("sessions-2", "Add what a session may be told: which cases, going on after an end",
         "each is a folder that nothing imports; without them a session carries out everything anew",
         _logic("selection", "resume") + _seam("files/selection", "files/resume")),
    Step("evidence", "Add evidence of a failure: files, a timeline",
         "a folder that nothing imports; no verdict depends on it",
         _logic("evidence")),
    Step("diagnosis", "Add a diagnosis of a failure, in one sentence",
         "a folder that nothing imports; no verdict depends on it",
         _logic("diagnosis") + _seam("files/diagnosis")),
    Step("latency", "Add the latency of data flows, as evidence",
         "a folder that nothing imports; no verdict depends on it",
         _logic("latency") + _seam("files/latency")),
    Step("sweep-1", "Add what is measured on all ports of a switch at once, and a choice of other ports",
         "nothing calls it before sweep-2; unit tests show what it does",
         _logic("sweep/port_sweep.py", "sweep/watchdog_all_ports.py", "sweep/waves.py", "replacement")),
    Step("sweep-2", "Add a sweep of every port of a switch, in waves, with full load and the watchdog on all of them",
         "a folder that nothing imports; one port at a time stays as it is",
         _logic("sweep") + _seam("files/sweep", "test_port_sweep", "test_full_load", "test_watchdog_all_ports"),
         ("SWEEP",)),
    Step("switch-chain", "Add back-pressure over several switches in a row",
         "a folder that nothing imports; one switch needs none of it",
         _logic("switch_chain") + _seam("test_hop_by_hop"),
         ("HOP",)),
)
