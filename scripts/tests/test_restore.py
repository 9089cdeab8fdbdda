"""One run at a time has a switch, and what a killed one left is put back: on the virtual T0, over SSH and OTG."""
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import snappi

from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock
from tests.common.pfc.lab.restore import SwitchRestorer

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent
SCRIPT = ROOT / "scripts/restore.py"
SWITCH = "vtb-t0-01"
HANG_S = 120
FOUND = {"GLOBAL": {"POLL_INTERVAL": "200"},
         "Ethernet0": {"action": "drop", "detection_time": "200", "restoration_time": "200"}}
KILLED = """
import os, signal, sys
from pathlib import Path
from scripts.tests.test_restore import Ssh
from tests.common.pfc.lab.restore import SwitchRestorer
with SwitchRestorer(Ssh(Path(sys.argv[1])), "killed").watchdog_stopped():
    os.kill(os.getpid(), signal.SIGKILL)
"""


def read_runtime(folder: Path) -> dict[str, Any]:
    """What runtime.json says of the testbed."""
    return dict(json.loads((folder / "up.json").read_text(encoding="utf-8")))


class Ssh:
    """The switch over SSH, as the suite's host objects are."""

    hostname = SWITCH

    def __init__(self, folder: Path) -> None:
        switch = read_runtime(folder)["switches"][SWITCH]
        self._ssh = ["ssh", "-q", "-i", switch["key_file"], "-o", f"UserKnownHostsFile={switch['known_hosts']}",
                     "-p", str(switch["ssh_port"]), f"{switch['user']}@{switch['ssh_host']}", "sudo", "sh"]

    def shell(self, command: str, **options: Any) -> dict[str, Any]:
        """Runs a script as root."""
        done = subprocess.run(self._ssh, input=command, capture_output=True, text=True, check=False, timeout=HANG_S)
        return {"stdout": done.stdout, "stderr": done.stderr, "rc": done.returncode}

    def watchdog(self) -> dict[str, dict[str, str]]:
        """The watchdog's configuration."""
        config_db = json.loads(self.shell("sonic-cfggen -d --print-data")["stdout"])
        return dict(config_db.get("PFC_WD", {}))


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state folder of a virtual T0 that is up, with its runtime.json as `up.json`. It need not be deployed."""
    folder = tmp_path_factory.mktemp("lease")
    up = subprocess.run(
        [BIN / "virtual-testbed", "up", "vtb-t0", "--clock", "virtual", "--json", "--state", folder,
         "--testbed-file", ROOT / "ansible/testbed.yaml", "--owner-pid", str(os.getpid())],
        cwd=folder, capture_output=True, text=True, check=False)
    assert up.returncode == 0, up.stderr
    (folder / "up.json").write_text(up.stdout, encoding="utf-8")
    try:
        yield folder
    finally:
        subprocess.run([BIN / "virtual-testbed", "down", "--purge", "--state", folder], cwd=ROOT, check=True)


@pytest.fixture(name="switch")
def fixture_switch(folder: Path) -> Ssh:
    """The switch, its watchdog configured."""
    switch = Ssh(folder)
    rows = json.dumps({"PFC_WD": FOUND})
    switch.shell(f"echo '{rows}' > rows.json; config load rows.json -y; rm rows.json")
    assert switch.watchdog() == FOUND
    return switch


def kill_a_run(folder: Path, switch: Ssh) -> None:
    """A process that is killed while it has the switch."""
    ended = subprocess.run([sys.executable, "-c", KILLED, folder], cwd=ROOT, check=False, timeout=HANG_S)
    assert ended.returncode == -signal.SIGKILL
    assert "Ethernet0" not in switch.watchdog()


def restore(folder: Path, *options: str, testbed: str = "vtb-t0") -> subprocess.CompletedProcess[str]:
    """The command."""
    environment = {**os.environ, "VIRTUAL_TESTBED_STATE": str(folder), "ANSIBLE_HOME": str(folder / "ansible")}
    return subprocess.run([sys.executable, SCRIPT, testbed, *options], cwd=ROOT, env=environment, check=False,
                          capture_output=True, text=True, timeout=HANG_S)


def storm(folder: Path) -> snappi.Api:
    """A generator that sends until it is told to stop."""
    api = snappi.api(location=read_runtime(folder)["otg"]["url"])
    config = api.config()
    for name, location in (("one", "127.1.0.1;1;1"), ("two", "127.1.0.2;1;1")):
        config.ports.port(name=name, location=location)
    flow = config.flows.flow(name="storm")[-1]
    flow.tx_rx.port.tx_name = "one"
    flow.tx_rx.port.rx_names = ["two"]
    flow.packet.pfcpause()
    flow.rate.pps = 10
    flow.metrics.enable = True
    api.set_config(config)
    state = api.control_state()
    state.traffic.flow_transmit.state = "start"
    api.set_control_state(state)
    return api


def transmits(api: snappi.Api) -> bool:
    """Whether the flow is being sent."""
    request = api.metrics_request()
    request.flow.flow_names = ["storm"]
    return bool(api.get_metrics(request).flow_metrics[0].transmit == "started")


def test_a_second_run_is_refused_while_the_first_lives(folder: Path, switch: Ssh) -> None:
    """The suite in one sentence before it collects tests; the restoring command too, unless it is forced."""
    runtime = read_runtime(folder)
    with SwitchRestorer(switch, "first").watchdog_stopped():
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-c", "pytest.ini", "snappi_tests/pfc/qualification", "--testbed",
             "vtb-t0", "--testbed_file", runtime["testbed_file"], "--inventory", runtime["inventory"],
             "--host-pattern", "all", "--pfc-results", str(folder / "none"), "-p", "no:cacheprovider"],
            cwd=ROOT / "tests", env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible/ansible.cfg"),
                                     "ANSIBLE_HOME": str(folder / "ansible")},
            capture_output=True, text=True, check=False, timeout=HANG_S)
        refused = restore(folder)
        assert "Ethernet0" not in switch.watchdog()
    assert ended.returncode == 4, ended.stdout
    sentence = f"{SWITCH}: run first (process {os.getpid()} of "
    errors = [line for line in (ended.stdout + ended.stderr).splitlines() if line.startswith("ERROR")]
    assert len(errors) == 1 and errors[0].startswith(f"ERROR: {sentence}"), ended.stdout + ended.stderr
    assert refused.returncode == 3 and refused.stderr.startswith(f"error: {sentence}"), refused.stderr
    assert refused.stderr.endswith("; --force ends it all the same\n"), refused.stderr
    assert switch.watchdog() == FOUND


def test_a_killed_run_is_healed_by_the_next(folder: Path, switch: Ssh) -> None:
    """At once: its process is dead."""
    kill_a_run(folder, switch)
    with SwitchRestorer(switch, "next").watchdog_stopped() as lease:
        assert lease.watchdog == FOUND
    assert switch.watchdog() == FOUND
    assert switch.shell("test -e .pfc_qualification")["rc"] == 1


def test_a_killed_run_is_healed_without_another(folder: Path, switch: Ssh) -> None:
    """And its traffic is stopped."""
    kill_a_run(folder, switch)
    api = storm(folder)
    assert transmits(api)
    done = restore(folder)
    assert done.returncode == 0, done.stderr
    said = done.stdout.split("\n")
    assert said[0].startswith(f"{SWITCH}: what run killed (process ") and said[0].endswith(" changed is put back"), said
    assert said[1] == "testbed vtb-t0: traffic is stopped"
    EndpointClock(read_runtime(folder)["clock"]["url"]).sleep(0.1)  # to stop takes the generator simulated time
    assert switch.watchdog() == FOUND and not transmits(api)
    assert switch.shell("test -e .pfc_qualification")["rc"] == 1


@pytest.mark.parametrize(("testbed", "sentence"), [
    ("vtb-t0", "the virtual testbed 'vtb-t0' is not up: what a killed run left on it, the next run puts back"),
    ("vtb-t9", "testbed 'vtb-t9' is not in {file}; it has vms-snappi-sonic-multidut, "),
])
def test_refusals(tmp_path: Path, testbed: str, sentence: str) -> None:
    ended = restore(tmp_path, testbed=testbed)
    assert ended.returncode == 3
    expected = sentence.format(file=ROOT / "ansible/testbed.yaml")
    assert ended.stderr.startswith(f"error: {expected}"), ended.stderr


def test_a_wrong_option_is_refused(tmp_path: Path) -> None:
    ended = restore(tmp_path, "--for")
    assert (ended.returncode, ended.stderr) == (3, "error: unrecognized arguments: --for\n")


def test_a_switch_that_does_not_answer_is_told(tmp_path: Path) -> None:
    """Hardware that is away: one sentence, and status 1."""
    (tmp_path / "testbed.yaml").write_text("- conf-name: lab-1\n  inv_name: lab\n  dut: [switch-a]\n", encoding="utf-8")
    (tmp_path / "lab").write_text("switch-a ansible_host=127.0.0.1 ansible_port=1\n", encoding="utf-8")
    ended = restore(tmp_path, "--testbed-file", str(tmp_path / "testbed.yaml"), testbed="lab-1")
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: switch-a cannot be reached over SSH: "), ended.stderr
    assert ended.stderr.count("\n") == 1
