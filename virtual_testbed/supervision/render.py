"""The files with the real endpoints of a running testbed: testbed.yaml, inventory, known_hosts, ssh configuration."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from virtual_testbed.faults import by_file_name
from virtual_testbed.supervision.keys import known_hosts
from virtual_testbed.supervision.plan import USER, LaunchPlan, SwitchAccess
from virtual_testbed.supervision.state import TestbedFolder, write_text

LOOPBACK = "127.0.0.1"
CONTROL_PATHS = "cp"
SSH_TIMEOUT_S = 120
"""For a connection and for sudo: on loopback who does not listen refuses at once, and who is slow has no CPU."""


def rendered_entry(plan: LaunchPlan, engine: Mapping[str, Any]) -> dict[str, Any]:
    """The testbed's entry with its endpoints; `clock` is one that does not follow the wall clock, and `clock_exact` is
    false where generators start and stop flows in their own time. Faults are named only when there are some.

    Args:
        plan: what runs.
        engine: the engine's ready line.
    """
    entry = dict(plan.entry)
    entry["tg_api_server"] = urlsplit(engine["otg_url"]).netloc
    entry["tg_api_transport"] = "http"
    if "ixnetwork_url" in engine:
        entry["tg_api_server"] = urlsplit(engine["ixnetwork_url"]).netloc
        entry["tg_api_transport"] = "ixnetwork"
    for key in ("clock", "realtime_clock", "clock_exact", "faults"):
        entry.pop(key, None)
    entry["clock" if plan.clock == "virtual" else "realtime_clock"] = engine["clock_url"]
    if "ixnetwork_url" in engine:  # a chassis starts and stops flows in its own time
        entry["clock_exact"] = False
    if plan.faults:
        entry["faults"] = [by_file_name(spec) for spec in plan.faults]
    return entry


def ssh_options(folder: TestbedFolder) -> list[str]:
    """Options of the OpenSSH client that pin the host keys and keep the user's own files out of it."""
    return [
        "-o", f"UserKnownHostsFile={_ssh_quote(folder.ssh / 'known_hosts')}",
        "-o", "GlobalKnownHostsFile=/dev/null",
        "-o", "StrictHostKeyChecking=yes",
        "-o", "UpdateHostKeys=no",
        "-o", "IdentitiesOnly=yes",
        "-o", "IdentityAgent=none",
    ]


def _ssh_quote(path: Path) -> str:
    """A path as a value of ssh's configuration: in quotes because of blanks, % doubled because ssh expands it."""
    return '"' + str(path).replace("%", "%%") + '"'


def inventory(plan: LaunchPlan, ports: Mapping[str, int]) -> str:
    """The inventory in sonic-mgmt's group structure, with the endpoints of this run.

    Args:
        plan: what runs.
        ports: SSH port of each switch.
    """
    folder = TestbedFolder(Path(plan.folder))
    switches = [
        f"{switch.name} ansible_host={LOOPBACK} ansible_port={ports[switch.name]} hwsku={switch.hwsku} "
        f"iface_speed={switch.iface_speed}" for switch in plan.switches]
    variables = {
        "ansible_user": USER,
        "ansible_connection": "ssh",
        "ansible_ssh_private_key_file": str(folder.ssh / "id_ed25519"),
        "ansible_ssh_common_args": shlex.join(ssh_options(folder)),
        "ansible_control_path_dir": f"{plan.run_folder}/{CONTROL_PATHS}",
        "ansible_ssh_timeout": SSH_TIMEOUT_S,
        "ansible_python_interpreter": "python3",  # the first in the switch's PATH: the one that runs the testbed
    }
    chassis = [f"{name} ansible_host={address} os=snappi" for name, address in plan.generators.items()]
    group = f"sonic_{plan.inv_name}"
    ptf = str(plan.entry.get("ptf") or f"{plan.testbed}-ptf")
    address = str(plan.entry.get("ptf_ip") or LOOPBACK).partition("/")[0]
    sections = {
        group: switches,
        f"{group}:vars": [f"{name}={value}" for name, value in variables.items()],
        "sonic:children": [group],
        "snappi_chassis": chassis,
        f"{plan.inv_name}:children": ["sonic", "snappi_chassis"],
        "ptf": [f"{ptf} ansible_host={address}"],
    }
    head = f"# Made by `virtual-testbed up {plan.testbed}`; gone after `virtual-testbed down {plan.testbed}`.\n"
    return head + "".join(f"\n[{name}]\n" + "\n".join(lines) + "\n" for name, lines in sections.items())


def ssh_config(plan: LaunchPlan, ports: Mapping[str, int]) -> str:
    """A configuration for `ssh -F FILE SWITCH`."""
    folder = TestbedFolder(Path(plan.folder))
    options = "".join(f"  {option.replace('=', ' ', 1)}\n" for option in ssh_options(folder) if option != "-o")
    common = f"  HostName {LOOPBACK}\n  User {USER}\n  IdentityFile {_ssh_quote(folder.ssh / 'id_ed25519')}\n{options}"
    return "".join(f"Host {switch.name}\n  Port {ports[switch.name]}\n{common}" for switch in plan.switches)


def _pinned(switch: SwitchAccess, port: int) -> tuple[tuple[str, str, int], str]:
    """One entry for known_hosts."""
    return (switch.name, LOOPBACK, port), switch.host_key


def render_all(plan: LaunchPlan, engine: Mapping[str, Any], ports: Mapping[str, int]) -> None:
    """Write all four files into the testbed's folder.

    Args:
        plan: what runs.
        engine: the engine's ready line.
        ports: SSH port of each switch.
    """
    folder = TestbedFolder(Path(plan.folder))
    Path(plan.run_folder, CONTROL_PATHS).mkdir(mode=0o700, exist_ok=True)
    write_text(folder.ssh / "known_hosts", known_hosts(dict(_pinned(s, ports[s.name]) for s in plan.switches)), 0o600)
    write_text(folder.ssh / "config", ssh_config(plan, ports), 0o600)
    head = f"# Made by `virtual-testbed up {plan.testbed}`; gone after `virtual-testbed down {plan.testbed}`.\n"
    entry = yaml.safe_dump([rendered_entry(plan, engine)], sort_keys=False, allow_unicode=True)
    write_text(folder.testbed_file, f"---\n{head}{entry}")
    write_text(folder.path / plan.inv_name, inventory(plan, ports))
