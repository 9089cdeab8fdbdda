"""`docker exec`, `docker ps` and `docker inspect`: as much of the containers of an image as vendors' tools, SONiC's and
sonic-mgmt need.

A container has Python, with what `vendor/<container>` has, keeps files that `tee` writes into it, says which of its
programs are critical (`bash -c "... cat /etc/supervisor/critical_processes"`) and that they run (`supervisorctl
status`).
"""
from __future__ import annotations

import os
import sys
from pathlib import Path

from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.commands.restarting import running_containers
from virtual_testbed.sonic.restarts import CONTAINERS
from virtual_testbed.sonic.vendor_sdk import FILE, SDK

_PROGRAMS = {
    "bgp": ("zebra", "staticd", "bgpd", "fpmsyncd"), "database": ("redis",),
    "lldp": ("lldpd", "lldp-syncd", "lldpmgrd"), "pmon": ("xcvrd", "psud"), "snmp": ("snmpd", "snmp-subagent"),
    "swss": ("orchagent", "portsyncd", "neighsyncd", "vlanmgrd", "intfmgrd", "portmgrd", "buffermgrd"),
    "syncd": ("syncd",), "teamd": ("teammgrd", "teamsyncd", "tlm_teamd")}
"""Container -> its critical programs, as its `critical_processes` in sonic-buildimage has them."""
_CRITICAL = "/etc/supervisor/critical_processes"
_VENDOR = Path(__file__).resolve().parents[1] / "vendor"
_IMAGES = {"bgp": "docker-fpm-frr:latest", "swss": "docker-orchagent:latest"}
_NOT_FOUND = 127
_USAGE = ("usage: docker exec [-i] CONTAINER COMMAND [ARG...] | docker ps [-a] [-f NAME=VALUE] [--format TEMPLATE] | "
          "docker inspect -f TEMPLATE CONTAINER")


def _tee(switch: SwitchContext, paths: list[str]) -> None:
    """Keep what comes in."""
    text = sys.stdin.read()
    for path in paths:
        switch.connect("ASIC_DB").call("HSET", SDK, f"{FILE}{path}", text)
    sys.stdout.write(text)


def _remove(switch: SwitchContext, words: list[str]) -> None:
    """Forget files."""
    for path in (word for word in words if not word.startswith("-")):
        switch.connect("ASIC_DB").call("HDEL", SDK, f"{FILE}{path}")


def _parted(words: list[str]) -> list[str]:
    """Words in which the value of a long option is a word of its own: `--format=X` is `--format X`."""
    return [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]


def _list(words: list[str], running: set[str]) -> None:
    """The containers that run (`-a`: all), as `docker ps` has them."""
    options = list(zip(words, words[1:], strict=False))
    template = next((value for name, value in options if name == "--format"), "")
    filters = [value for name, value in options if name in ("-f", "--filter")]
    parts = [value.removeprefix("name=").strip("^/$") for value in filters if value.startswith("name=")]
    shown = [container for container in CONTAINERS if container in running or {"-a", "--all"} & set(words)]
    if not template:
        print("CONTAINER ID   IMAGE   COMMAND   CREATED   STATUS   PORTS   NAMES")
    for container in shown:
        if all(part in container for part in parts):
            values = {"{{.Image}}": _IMAGES.get(container, f"docker-{container}:latest"), "{{.Names}}": container,
                      "{{.Status}}": "Up" if container in running else "Exited (0)"}
            line = template or "virtual        {{.Image}}   \"supervisord\"   -   {{.Status}}      {{.Names}}"
            for name, value in values.items():
                line = line.replace(name, value)
            print(line)


def _inspect(words: list[str], running: set[str]) -> None:
    """Whether a container runs: all that there is to inspect."""
    names = [word for place, word in enumerate(words) if not word.startswith("-") and words[place - 1:place] not in (
        ["-f"], ["--format"])]
    if len(names) != 1 or "{{.State.Running}}" not in words:
        sys.exit(f"error: docker inspect has {{{{.State.Running}}}} alone on this switch; {_USAGE}")
    if names[0] not in CONTAINERS:
        sys.exit(f"Error: No such object: {names[0]}")
    print("true" if names[0] in running else "false")


def _supervisorctl(container: str, rest: list[str]) -> None:
    """`supervisorctl status [PROGRAM...]`: the critical programs of a container that runs do."""
    if rest[:1] != ["status"]:
        sys.exit("error: supervisorctl has status alone on this switch")
    for program in _PROGRAMS[container]:
        if not rest[1:] or program in rest[1:]:
            print(f"{program:<32} RUNNING   pid 1, uptime 0:00:01")


def main() -> None:
    """The command."""
    words = sys.argv[1:]
    running = running_containers(this_switch())
    if words[:1] == ["ps"]:
        _list(_parted(words[1:]), running)
        return
    if words[:1] == ["inspect"]:
        _inspect(_parted(words[1:]), running)
        return
    if words[:1] != ["exec"]:
        sys.exit(_USAGE)
    words = [word for number, word in enumerate(words[1:]) if number or word != "-i"]
    if len(words) < 2:
        sys.exit(_USAGE)
    container, program, *rest = words
    if container not in CONTAINERS:
        sys.exit(f"Error response from daemon: No such container: {container}")
    if container not in running:
        sys.exit(f"Error response from daemon: container {container} is not running")
    if program == "supervisorctl":
        _supervisorctl(container, rest)
        return
    if (container, program) == ("bgp", "vtysh"):
        print("% BGP instance not found")  # FRR's words where no BGP is configured
        return
    if program in ("bash", "sh") and _CRITICAL in " ".join(rest):
        print("\n".join(f"program:{name}" for name in _PROGRAMS[container]))
        return
    if program in ("python", "python3"):
        sys.stdout.flush()
        libraries = os.environ["PYTHONPATH"]  # as the wrapper set it
        os.environ["PYTHONPATH"] = f"{_VENDOR / container}:{libraries}"
        os.execv(sys.executable, [sys.executable, *rest])
    if program in ("tee", "rm"):
        (_tee if program == "tee" else _remove)(this_switch(), rest)
        return
    print(f'OCI runtime exec failed: exec: "{program}": executable file not found in $PATH: unknown', file=sys.stderr)
    sys.exit(_NOT_FOUND)


if __name__ == "__main__":
    run(main)
