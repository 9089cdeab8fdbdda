"""The settings of a host in the place of sonic-mgmt's PTF container: a plain SSH host of the testbed, without an
interface to the switch, on which supervisord has no program.

Fixtures want it before they know whether a test sends anything by it. They copy files there, ask whether a program
runs, and change the addresses of its interfaces `eth0` and `eth1`, which it has for that alone.
"""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from virtual_testbed.supervision.endpoints import Endpoints

MODULE = "virtual_testbed.sonic.ssh"
"""The program that serves it; its argument is the file of settings."""
PROGRAMS = Path(__file__).with_name("ptf")


def write_settings(folder: Path, found: Endpoints, name: str) -> Path:
    """Writes the settings, and returns the file.

    Args:
        folder: for the host's files; made where it does not exist.
        found: the running testbed, whose switches' key opens this host too.
        name: of the host.
    """
    access = next(iter(found.switches.values()))
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "name": name, "hostname": name, "user": access.user, "password": "",
        "authorized_keys": f"{access.key_file}.pub", "host_key": str(folder / "host_key"), "port": 0,
        "root": str(folder / "root"), "bin": str(folder / "bin"), "programs": str(PROGRAMS)}
    file = folder / "host.json"
    file.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    return file


def with_host(inventory: str, found: Endpoints, name: str, port: int) -> str:
    """An inventory that has the host, in the place of any other of the group `ptf`. `port`: of its SSH server."""
    access = next(iter(found.switches.values()))
    variables: dict[str, Any] = {
        "ansible_host": access.ssh_host, "ansible_port": port, "ansible_user": access.user,
        "ansible_connection": "ssh", "ansible_ssh_private_key_file": access.key_file,
        "ansible_ssh_common_args": "'-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
                                   " -o IdentitiesOnly=yes -o IdentityAgent=none'",
        "ansible_python_interpreter": "python3"}
    line = " ".join([name, *(f"{key}={value}" for key, value in variables.items())])
    head, _, rest = inventory.partition("\n[ptf]\n")
    _, _, after = rest.partition("\n\n")
    return f"{head}\n[ptf]\n{line}\n" + (f"\n{after}" if after else "")
