"""`docker exec` and `docker ps`: as much of the containers of an image as vendors' tools and SONiC's need.

A container has Python, with what `vendor/<container>` has, and keeps files that `tee` writes into it.
"""
from __future__ import annotations

import os
import sys
from pathlib import Path

from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.vendor_sdk import FILE, SDK

_CONTAINERS = ("bgp", "database", "lldp", "pmon", "snmp", "swss", "syncd", "teamd")
_VENDOR = Path(__file__).resolve().parents[1] / "vendor"
_IMAGES = {"bgp": "docker-fpm-frr:latest", "swss": "docker-orchagent:latest"}
_NOT_FOUND = 127
_USAGE = "usage: docker exec [-i] CONTAINER COMMAND [ARG...] | docker ps [--format TEMPLATE]"


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


def _list(template: str) -> None:
    """The containers, as `docker ps --format TEMPLATE` has them."""
    for container in _CONTAINERS:
        image = _IMAGES.get(container, f"docker-{container}:latest")
        print(template.replace("{{.Image}}", image).replace("{{.Names}}", container))


def main() -> None:
    """The command."""
    words = sys.argv[1:]
    if words[:1] == ["ps"]:
        _list(words[words.index("--format") + 1] if "--format" in words[:-1] else "{{.Names}}")
        return
    if words[:1] != ["exec"]:
        sys.exit(_USAGE)
    words = [word for number, word in enumerate(words[1:]) if number or word != "-i"]
    if len(words) < 2:
        sys.exit(_USAGE)
    container, program, *rest = words
    if container not in _CONTAINERS:
        sys.exit(f"Error response from daemon: No such container: {container}")
    if program in ("python", "python3"):
        sys.stdout.flush()
        os.environ["PYTHONPATH"] = str(_VENDOR / container)
        os.execv(sys.executable, [sys.executable, *rest])
    if program in ("tee", "rm"):
        (_tee if program == "tee" else _remove)(this_switch(), rest)
        return
    print(f'OCI runtime exec failed: exec: "{program}": executable file not found in $PATH: unknown', file=sys.stderr)
    sys.exit(_NOT_FOUND)


if __name__ == "__main__":
    run(main)
