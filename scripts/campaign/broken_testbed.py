"""A virtual testbed that is broken on purpose, deployed, and reached as the suite reaches a switch: over SSH and OTG,
from the process that measures."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scripts.campaign.entries import ROOT
from scripts.testbeds import TESTBED_FILE, Failure
from tests.common.pfc.lab.dut import Dut, SwitchState
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.model.ports import ConnectedPort
from tests.common.snappi_tests.client import make_snappi_fast

BIN = Path(sys.executable).parent
TESTBED = "vtb-t0"
SWITCH = "vtb-t0-01"
HANG_S = 400
KEPT = ("redis", "root/etc")  # of a switch's folder: its databases and saved files, which it starts with again

Testbed = Mapping[str, Any]  # what runtime.json says, `environment` of its commands and `folder`
_deployed: dict[str, Path] = {}  # name of a testbed -> what its switches kept once Ansible had deployed them


@contextmanager
def broken_testbed(
    folder: Path, faults: Sequence[str], files: Mapping[str, str] = {}, name: str = TESTBED, kept: Path | None = None,
    testbed_file: Path = TESTBED_FILE,
) -> Iterator[Testbed]:
    """A virtual testbed with faults, deployed, on its own clock. The first of a name is deployed by Ansible; the others
    come up as a testbed does that was deployed before it was taken down.

    Args:
        folder: an empty one, for its state.
        faults: specifications; files in them are relative to this folder.
        files: name -> text of fault classes of one's own, which the specifications name.
        name: of the testbed.
        kept: where other processes find what the switches kept once they were deployed, and this one leaves it; None:
            nowhere.
        testbed_file: that describes it.

    Raises:
        Failure: it does not come up, or Ansible cannot deploy it; the sentence says why.
    """
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible/ansible.cfg"), "ANSIBLE_HOME": str(folder),
                   "PFC_REPORT_DB": f"sqlite:///{folder / 'pfc.db'}"}
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    if name in _deployed and not _deployed[name].is_dir():  # with the folder of the testbed that was deployed
        del _deployed[name]
    if kept is not None and (kept / name).is_dir():
        _deployed[name] = kept / name
    if name in _deployed:
        shutil.copytree(_deployed[name], folder / name / "switches")
    try:
        runtime = {**bring_up(folder, faults, name, testbed_file), "environment": environment, "folder": folder}
        if name not in _deployed:
            _deploy(runtime, name)
            _deployed[name] = _keep(runtime, name)
            _leave(_deployed[name], kept, name)
        make_snappi_fast()
        yield runtime
    finally:
        subprocess.run([BIN / "virtual-testbed", "down", "--purge", "--state", folder], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)


def bring_up(folder: Path, faults: Sequence[str], name: str, testbed_file: Path = TESTBED_FILE) -> dict[str, Any]:
    """What runtime.json says of the testbed.

    Raises:
        Failure: it does not come up.
    """
    command: list[str | Path] = [
        BIN / "virtual-testbed", "up", name, "--clock", "virtual", "--json", "--state", folder,
        "--testbed-file", testbed_file, "--owner-pid", str(os.getpid())]
    for fault in dict.fromkeys(faults):
        command += ["--fault", fault]
    up = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if up.returncode:
        raise Failure(f"the virtual testbed '{name}' did not come up: {' '.join(up.stderr.split())}")
    return dict(json.loads(up.stdout))


def _deploy(runtime: Testbed, name: str) -> None:
    """Runs the playbook."""
    deployed = subprocess.run(
        [BIN / "ansible-playbook", "-i", runtime["inventory"], "deploy_testbed.yml", "-e", f"testbed_name={name}",
         "-e", f"testbed_file={runtime['testbed_file']}"],
        cwd=ROOT / "ansible", env=runtime["environment"], capture_output=True, text=True, check=False)
    if deployed.returncode:
        raise Failure(f"testbed '{name}' could not be deployed: {deployed.stdout}")


def _keep(runtime: Testbed, name: str) -> Path:
    """A copy of what the switches keep from one run to the next."""
    kept: Path = runtime["folder"] / "kept"
    for switch in runtime["switches"]:
        for part in KEPT:
            shutil.copytree(runtime["folder"] / name / "switches" / switch / part, kept / switch / part)
    return kept


def _leave(own: Path, kept: Path | None, name: str) -> None:
    """Leaves a copy for other processes, whole or not at all."""
    if kept is None or (kept / name).exists():
        return
    kept.mkdir(parents=True, exist_ok=True)
    half = kept / f"{name}.{os.getpid()}"
    shutil.copytree(own, half)
    try:
        half.rename(kept / name)
    except OSError:  # another process was first
        shutil.rmtree(half)


class OpenSsh:
    """The switch over one SSH connection, as the suite's host objects are."""

    def __init__(self, switch: Mapping[str, Any], hostname: str = SWITCH) -> None:
        """Connects with the first command.

        Args:
            switch: its entry in runtime.json.
            hostname: its name.
        """
        self.hostname = hostname
        control = Path(switch["redis_socket"]).parent / f"ssh-{hostname}"  # a socket's path must be short
        self._ssh = ["ssh", "-q", "-i", switch["key_file"], "-o", f"UserKnownHostsFile={switch['known_hosts']}",
                     "-o", f"ControlPath={control}", "-o", "ControlMaster=auto", "-o", "ControlPersist=yes",
                     "-p", str(switch["ssh_port"]), f"{switch['user']}@{switch['ssh_host']}"]

    def shell(self, command: str, **options: Any) -> dict[str, Any]:
        """Runs a script as root."""
        done = subprocess.run([*self._ssh, "sudo", "sh"], input=command, capture_output=True, text=True, check=False,
                              timeout=HANG_S)
        return {"stdout": done.stdout, "stderr": done.stderr, "rc": done.returncode}

    def close(self) -> None:
        """Ends the connection."""
        subprocess.run([*self._ssh, "-O", "exit"], capture_output=True, check=False)


class KnownDut(Dut):
    """A switch whose configuration is read once: nobody changes it between two ports."""

    _state: SwitchState | None = None

    def state(self) -> SwitchState:
        """Configuration, ports and version."""
        self._state = self._state or super().state()
        return self._state


def connected_ports() -> list[ConnectedPort]:
    """The ports of vtb-t0: 16 on each of two traffic generators."""
    places = [(n, 1 + n // 16, 1 + n % 16) for n in range(32)]
    return [ConnectedPort(SWITCH, f"Ethernet{4 * n}", f"snappi-vtb-{chassis}", f"127.1.0.{chassis};1;{port}", 100_000)
            for n, chassis, port in places]


@contextmanager
def reserved_switch(testbed: Testbed, name: str = SWITCH, dut: type[KnownDut] = KnownDut) -> Iterator[KnownDut]:
    """A switch; its watchdog is stopped meanwhile. `dut`: what reads it."""
    host = OpenSsh(testbed["switches"][name], name)
    try:
        with SwitchRestorer(host, "broken").watchdog_stopped() as reservation:
            yield dut(host, reservation=reservation)
    finally:
        host.close()
