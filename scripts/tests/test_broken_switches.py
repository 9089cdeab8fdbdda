"""The suite is proven by the switches it fails: one virtual testbed, broken in another way on each port, judged port by
port with the real client, over SSH, Ansible and OTG."""
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent
HANG_S = 400
ITEM = "snappi_tests/pfc/qualification/test_pause_lossless.py::test_pause_single_lossless_priority[vtb-t0-01|3]"

OWN_FILE = "shifted.py"  # the worked example of docs/faults.md, relative to the folder where the testbed is started

FAULTS = ("pause-ignored@Ethernet4", "lossy-queue-paused@Ethernet8", "pause-leaks@Ethernet12",
          "pfc-not-counted@Ethernet16", "lossless-dropped@Ethernet20,one_in=4",
          "lossy-dropped@Ethernet24,one_in=4",
          "pfc-forwarded@Ethernet28", "xoff-not-sent@Ethernet68", "watchdog-stop-ignored@Ethernet36",
          "counters-frozen@Ethernet40", f"{OWN_FILE}:Shifted@Ethernet44,priority=3")

CASES = [
    pytest.param("Ethernet0", "Ethernet64", "PASS", "PASS", "", id="healthy"),
    pytest.param("Ethernet4", "Ethernet64", "FAIL", "PASS",
                 "Ethernet4 priority 3: expected 0 frames received while paused, got ", id="pause-ignored"),
    pytest.param("Ethernet8", "Ethernet64", "PASS", "FAIL",
                 "Ethernet8 priority 1: expected all 4988826 frames received while priority 3 was paused, got 0",
                 id="lossy-queue-paused"),
    pytest.param("Ethernet12", "Ethernet64", "FAIL", "PASS",
                 "Ethernet12 priority 3: expected 0 frames received while paused, got ", id="pause-leaks"),
    pytest.param("Ethernet16", "Ethernet64", "FAIL", "PASS",
                 "Ethernet16 priority 3: expected more than 0 PFC frames in the receive counter, got 0",
                 id="pfc-not-counted"),
    pytest.param("Ethernet20", "Ethernet64", "FAIL", "PASS", "Ethernet20 priority 3: expected all ",
                 id="lossless-dropped"),
    pytest.param("Ethernet24", "Ethernet64", "PASS", "FAIL", "Ethernet24 priority 0: expected all ",
                 id="lossy-dropped"),
    pytest.param("Ethernet28", "Ethernet64", "FAIL", "PASS",
                 "Ethernet28 priority 3: expected 0 pause frames forwarded to Ethernet64, got ", id="pfc-forwarded"),
    pytest.param("Ethernet32", "Ethernet68", "FAIL", "PASS",
                 "Ethernet32 priority 3: expected more than 0 PFC frames sent out of Ethernet68 to hold the sender, "
                 "got 0",
                 id="xoff-not-sent"),
    pytest.param("Ethernet36", "Ethernet64", "ERROR", "ERROR",
                 "Ethernet36 priority 3: expected a stopped watchdog, got a watchdog that detected a storm although it "
                 "was stopped", id="watchdog-stop-ignored"),
    pytest.param("Ethernet40", "Ethernet64", "ERROR", "ERROR",
                 "Ethernet40 priority 0: expected 1000 frames with DSCP [8] to leave through queue UC0, got 0",
                 id="counters-frozen"),
    pytest.param("Ethernet44", "Ethernet64", "FAIL", "PASS",
                 "Ethernet44 priority 4: expected 0 PFC frames sent out of Ethernet64, got ", id="own-file"),
]


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What runtime.json says of the broken testbed, deployed."""
    folder = tmp_path_factory.mktemp("broken")
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible/ansible.cfg"), "ANSIBLE_HOME": str(folder),
                   "PFC_REPORT_DB": f"sqlite:///{folder / 'pfc.db'}"}
    command = [BIN / "virtual-testbed", "up", "vtb-t0", "--clock", "virtual", "--json", "--state", folder,
               "--testbed-file", ROOT / "ansible/testbed.yaml", "--owner-pid", str(os.getpid())]
    for fault in FAULTS:
        command += ["--fault", fault]
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/faults.md").read_text(encoding="utf-8"), re.DOTALL)
    (folder / OWN_FILE).write_text(next(block for block in blocks if "class Shifted" in block), encoding="utf-8")
    up = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert up.returncode == 0, up.stderr
    try:
        runtime = json.loads(up.stdout)
        deployed = subprocess.run(
            [BIN / "ansible-playbook", "-i", runtime["inventory"], "deploy_testbed.yml", "-e", "testbed_name=vtb-t0",
             "-e", f"testbed_file={runtime['testbed_file']}"],
            cwd=ROOT / "ansible", env=environment, capture_output=True, text=True, check=False)
        assert deployed.returncode == 0, deployed.stdout
        yield {**runtime, "environment": environment, "folder": folder}
    finally:
        subprocess.run([BIN / "virtual-testbed", "down", "--purge", "--state", folder], cwd=ROOT, check=True)


@pytest.mark.parametrize(("port", "tx_port", "lossless", "lossy", "message"), CASES)
def test_every_fault_is_caught_and_nothing_else(
        testbed: dict[str, Any], port: str, tx_port: str, lossless: str, lossy: str, message: str) -> None:
    results = testbed["folder"] / port
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", "pytest.ini", ITEM, "--testbed", "vtb-t0",
         "--testbed_file", testbed["testbed_file"], "--inventory", testbed["inventory"],
         "--host-pattern", "all", "--pfc-port", port, "--pfc-tx-port", tx_port, "--pfc-results", str(results),
         "--pfc-run-id", port, "-p", "no:cacheprovider"],
        cwd=ROOT / "tests", env=testbed["environment"], capture_output=True, text=True, check=False, timeout=HANG_S)
    records = [json.loads(line) for line in (results / "records.jsonl").read_text().splitlines()]
    assert {record["metric_name"]: record["status"] for record in records} == {
        "pfc.lossless": lossless, "pfc.lossy": lossy}, ended.stdout
    assert ended.returncode == (0 if (lossless, lossy) == ("PASS", "PASS") else 1)
    assert f"vtb-t0-01 {message}" in ended.stdout or not message, ended.stdout
