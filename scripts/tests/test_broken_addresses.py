"""A switch whose ports have no addresses, as in labs of sonic-mgmt's snappi tests: refused where nothing may be
changed; where it may be, PASS if it is healthy and FAIL if not; and afterwards, also of a run that was killed, the
switch is configured as it was."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.campaign.broken_testbed import HANG_S, SWITCH, OpenSsh, Testbed, broken_testbed
from scripts.campaign.entries import ROOT
from scripts.tests.broken import HEALTHY_RX, HEALTHY_TX

pytestmark = pytest.mark.slow("a testbed for them, and the whole way of a port for each: two minutes")
BROKEN_RX = "Ethernet8"
FAULTS = [f"pause-ignored@{BROKEN_RX}"]
SUITE = "snappi_tests/pfc/qualification"
OUT_OF_THE_VLAN = "sonic-db-cli CONFIG_DB KEYS 'VLAN_MEMBER|*' | xargs sonic-db-cli CONFIG_DB DEL"
REFUSAL = (
    f"{SWITCH} {HEALTHY_RX}: CONFIG_DB gives {HEALTHY_RX} no IPv4 address (INTERFACE|{HEALTHY_RX}|...) and has it in no"
    " VLAN, so no host can sit behind the port: give it one, or let the run do so and take it away again (`make qualify"
    " CHANGE_CONFIG=1`, --pfc-change-config)"
)
KILLED = """
import json, os, signal, sys
from scripts.campaign.broken_testbed import SWITCH, connected_ports, reserved_switch
from tests.common.pfc.addresses.giving import give
from tests.common.pfc.lab.planning import plan_measured
from tests.common.pfc.lab.port_plan import PortRequest
from tests.common.unit_tests.pfc.shell_switch import Clock
with reserved_switch(json.loads(sys.argv[1])) as dut:
    asked = PortRequest(sys.argv[2], "Ethernet64", change_config=True)
    give([plan_measured(dut.state(), connected_ports(), asked)], dut, Clock())
    os.kill(os.getpid(), signal.SIGKILL)
"""


@dataclass(frozen=True)
class Session:
    """A session of the suite that has ended: its exit status, what it printed, and its records."""

    status: int
    printed: str
    records: list[dict[str, Any]]


@pytest.fixture(name="testbed", scope="module")
def fixture_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A testbed whose switch has its ports in no VLAN."""
    with changed_testbed(tmp_path_factory.mktemp("bare"), OUT_OF_THE_VLAN) as testbed:
        yield testbed


@contextmanager
def changed_testbed(folder: Path, script: str) -> Iterator[Testbed]:
    """A testbed on whose switch a script was run; its file does not say that it is virtual."""
    with broken_testbed(folder, FAULTS) as testbed:
        shell(testbed, script)
        entries = yaml.safe_load(Path(testbed["testbed_file"]).read_text(encoding="utf-8"))
        like_hardware = testbed["folder"] / "hardware.yaml"
        like_hardware.write_text(yaml.safe_dump([{**entries[0], "virtual": False}]), encoding="utf-8")
        yield {**testbed, "testbed_file": str(like_hardware)}


def shell(testbed: Testbed, script: str) -> str:
    """What a script prints on the switch."""
    host = OpenSsh(testbed["switches"][SWITCH])
    try:
        answer = host.shell(script)
    finally:
        host.close()
    assert answer["rc"] == 0, answer
    return str(answer["stdout"])


def configuration(testbed: Testbed) -> dict[str, Any]:
    """The switch's CONFIG_DB."""
    return dict(json.loads(shell(testbed, "sonic-cfggen -d --print-data")))


def addresses(testbed: Testbed) -> list[str]:
    """The ports' addresses as orchagent sees them."""
    keys = shell(testbed, "sonic-db-cli APPL_DB KEYS 'INTF_TABLE:Ethernet*'").split()
    return sorted(key for key in keys if "/" in key)


def measure(testbed: Testbed, folder: Path, port: str, *options: str) -> Session:
    """The suite as it is started for a switch."""
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", "pytest.ini", SUITE, "--testbed", "vtb-t0",
         "--testbed_file", testbed["testbed_file"], "--inventory", testbed["inventory"], "--host-pattern", "all",
         "--pfc-port", port, "--pfc-tx-port", HEALTHY_TX, "--pfc-results", str(folder), "--pfc-run-id", port,
         "-p", "no:cacheprovider", *options],
        cwd=ROOT / "tests", env=testbed["environment"], capture_output=True, text=True, check=False, timeout=HANG_S)
    written = folder / "records.jsonl"
    lines = written.read_text(encoding="utf-8").splitlines() if written.exists() else []
    return Session(ended.returncode, ended.stdout + ended.stderr, [json.loads(line) for line in lines])


def test_without_leave_to_change_anything_the_port_is_refused(testbed: Testbed, tmp_path: Path) -> None:
    before = configuration(testbed)
    ended = measure(testbed, tmp_path, HEALTHY_RX, "--pfc-scenario=PFC-1")
    errors = [line for line in ended.printed.splitlines() if line.startswith("ERROR")]
    assert ended.status == 4 and errors == [f"ERROR: {REFUSAL}"], ended.printed
    assert configuration(testbed) == before and not ended.records


@pytest.mark.parametrize("ip_version", ["4", "6"])
def test_a_healthy_port_passes_with_the_address_that_it_is_given(
    testbed: Testbed, tmp_path: Path, ip_version: str
) -> None:
    """With it the ports of M2O's second sender and of the bystanders get theirs."""
    before = configuration(testbed)
    ended = measure(testbed, tmp_path, HEALTHY_RX, "--pfc-change-config", "--pfc-scenario=PFC-1,M2O-5,LSET-1,PFC-4",
                    f"--pfc-ip-version={ip_version}")
    assert ended.status == 0, ended.printed
    assert {record["plan_id"] for record in ended.records} == {"PFC-1", "M2O-5", "LSET-1", "PFC-4"}
    assert {record["status"] for record in ended.records} == {"PASS"}, ended.printed
    assert configuration(testbed) == before and addresses(testbed) == []


def test_a_switch_that_ignores_pauses_fails_there(testbed: Testbed, tmp_path: Path) -> None:
    before = configuration(testbed)
    ended = measure(testbed, tmp_path, BROKEN_RX, "--pfc-change-config", "--pfc-scenario=PFC-1")
    failed = {check["name"] for record in ended.records for check in record["checks"] if check["status"] == "FAIL"}
    assert ended.status == 1 and "blocked-while-paused" in failed, (failed, ended.printed)
    assert configuration(testbed) == before and addresses(testbed) == []


def test_what_a_killed_run_gave_is_no_address_of_the_port_s_and_is_taken_away(
    testbed: Testbed, tmp_path: Path
) -> None:
    """The next run, which must not change anything, refuses the port as if it had none; `make restore` puts it back."""
    before = configuration(testbed)
    kill_a_run(testbed, HEALTHY_RX)
    assert len(addresses(testbed)) >= 2
    assert REFUSAL in measure(testbed, tmp_path, HEALTHY_RX, "--pfc-scenario=PFC-1").printed
    restore(testbed)
    assert configuration(testbed) == before and addresses(testbed) == []


def kill_a_run(testbed: Testbed, port: str) -> None:
    """A run of its own process that is killed while its ports have addresses."""
    known = json.dumps({"switches": testbed["switches"]})
    ended = subprocess.run([sys.executable, "-c", KILLED, known, port], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL


def restore(testbed: Testbed) -> None:
    """`make restore`."""
    folder: Path = testbed["folder"]
    environment = {**os.environ, "VIRTUAL_TESTBED_STATE": str(folder), "ANSIBLE_HOME": str(folder / "ansible")}
    done = subprocess.run([sys.executable, ROOT / "scripts/restore.py", "vtb-t0"], cwd=ROOT, env=environment,
                          check=False, capture_output=True, text=True)
    assert done.returncode == 0 and "is put back" in done.stdout, done.stdout + done.stderr
