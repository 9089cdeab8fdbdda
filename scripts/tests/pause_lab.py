"""A virtual switch with four ports of 10 Gb/s, two of them with a cable to this machine, in a network namespace of
its own: 65535 quanta last 3.4 ms there, so this machine is seldom too slow to keep a queue shut."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pfctest.tests.namespace import Namespace, namespace
from scripts.build_pfctest import build
from scripts.tests.small_lab import ROOT, describe
from tests.common.pfc.model.ports import ConnectedPort

BIN = Path(sys.executable).parent
NAME, SWITCH, HOST = "small-1", "small-1-01", "linux-01"
SPEED_MBPS = 10_000
INTERFACES = {"Ethernet0": "host0", "Ethernet4": "host4"}
FAULTS = ("pause-ignored@Ethernet4,priority=3", "lossy-queue-paused@Ethernet4,priority=4")
POLL_MS = 250  # of the switch's counters: in real time the suite waits for them in real time


@dataclass(frozen=True)
class PauseLab:
    """The testbed, up and deployed.

    Attributes:
        place: where it and the machine's ends of the cables are.
        folder: everything that is kept.
        runtime: what `up --json` printed.
        testbed_file: its testbed file, which names the machine as the source of pauses.
        inventories: the testbed's inventory and one with the machine.
    """

    place: Namespace
    folder: Path
    runtime: dict[str, Any]
    testbed_file: Path
    inventories: tuple[Path, Path]

    @property
    def generator(self) -> Path:
        """The folder that pfctest is run from."""
        return self.folder / "generator"


def connected_ports() -> list[ConnectedPort]:
    """The switch's ports: two on each of two traffic generators."""
    return [ConnectedPort(SWITCH, f"Ethernet{4 * n}", f"snappi-{1 + n // 2}", f"127.1.0.{1 + n // 2};1;{1 + n % 2}",
                          SPEED_MBPS) for n in range(4)]


@contextmanager
def pause_lab(folder: Path) -> Iterator[PauseLab]:
    """Brings it up and takes it down.

    Args:
        folder: an empty one.
    """
    testbed_file = describe(folder)
    links = folder / "files" / f"sonic_{NAME}_links.csv"
    links.write_text(links.read_text(encoding="utf-8").replace(",100000,", f",{SPEED_MBPS},"), encoding="utf-8")
    with namespace() as place:
        place.add_cable(*((interface, f"sw{interface[4:]}") for interface in INTERFACES.values()))
        try:
            yield _deployed(place, folder, testbed_file)
        finally:
            place.run(BIN / "virtual-testbed", "down", "--purge", "--state", folder / "state")


def _deployed(place: Namespace, folder: Path, testbed_file: Path) -> PauseLab:
    wires = [f"--wire={port}=sw{interface[4:]}" for port, interface in INTERFACES.items()]
    faults = [word for fault in FAULTS for word in ("--fault", fault)]
    up = place.run(BIN / "virtual-testbed", "up", NAME, "--json", "--state", folder / "state", "--testbed-file",
                   testbed_file, "--owner-pid", str(os.getpid()), *wires, *faults)
    runtime = json.loads(up.stdout)
    (folder / "runtime.json").write_text(up.stdout, encoding="utf-8")
    lab = PauseLab(place, folder, runtime, folder / "paused.yaml", (Path(runtime["inventory"]), folder / "machine"))
    lab.inventories[1].write_text(
        f"[pauses]\n{HOST} ansible_connection=local ansible_become=false ansible_python_interpreter={sys.executable}\n",
        encoding="utf-8")
    entry = yaml.safe_load(Path(runtime["testbed_file"]).read_text(encoding="utf-8"))[0]
    entry["pfc_pause_source"] = {
        "host": HOST, "ports": INTERFACES, "python": sys.executable, "folder": str(lab.generator)}
    lab.testbed_file.write_text(yaml.safe_dump([entry]), encoding="utf-8")
    build(folder / "pfctest.pyz")
    play(lab, "deploy_testbed.yml", f"testbed_name={NAME}", f"testbed_file={runtime['testbed_file']}")
    play(lab, "pfc_generator.yml", f"pfc_generator_hosts={HOST}", "pfc_generator_state=copied",
         f"pfc_generator_folder={lab.generator}", f"pfc_generator_archive={folder / 'pfctest.pyz'}")
    tables = " ".join(f"sonic-db-cli CONFIG_DB HSET 'FLEX_COUNTER_TABLE|{group}' POLL_INTERVAL {POLL_MS};"
                      for group in ("PORT", "QUEUE"))
    place.run("ssh", "-F", folder / "state" / NAME / "ssh/config", SWITCH, tables)
    return lab


def play(lab: PauseLab, playbook: str, *variables: str) -> None:
    """Runs a playbook of the project inside the namespace."""
    inventories = [word for inventory in lab.inventories for word in ("-i", str(inventory))]
    extra = [word for variable in variables for word in ("-e", variable)]
    done = lab.place.run(*environment(lab), BIN / "ansible-playbook", *inventories, ROOT / "ansible" / playbook, *extra,
                         check=False)
    assert done.returncode == 0, done.stdout


def environment(lab: PauseLab) -> list[str]:
    """The words that give a command Ansible's settings."""
    return ["env", f"ANSIBLE_CONFIG={ROOT / 'ansible/ansible.cfg'}", f"ANSIBLE_HOME={lab.folder / 'ansible'}"]
