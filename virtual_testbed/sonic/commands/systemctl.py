"""`systemctl`: the units of a switch's containers, as far as its agent knows them.

`swss` can be restarted, and syncd, teamd and bgp with it, as their units require each other in an image.
"""
from __future__ import annotations

import sys

from virtual_testbed.sonic.commands.context import is_root, run, this_switch
from virtual_testbed.sonic.commands.restarting import ask_for, await_begin, running_containers
from virtual_testbed.sonic.restarts import CONTAINERS

_ALWAYS = ("docker", "ssh", "sshd", "networking", "monit", "rsyslog")
_EXITED = ("determine-reboot-cause", "process-reboot-cause", "config-setup")
_IDLE = ("warmboot-finalizer",)
_RESTARTS = "swss"
_ACTIVE, _INACTIVE = 0, 3
_NOT_FOUND = 4
_USAGE = ("usage: systemctl status|is-active|show|start|reset-failed UNIT..., systemctl restart swss, "
          "systemctl reload rsyslog, "
          "systemctl is-system-running, systemctl list-units --state=failed")


def state_of(unit: str, running: set[str]) -> tuple[str, str] | None:
    """ActiveState and SubState of a unit; None: there is none of this name."""
    if unit in CONTAINERS:
        return ("active", "running") if unit in running else ("inactive", "dead")
    if unit in _ALWAYS:
        return "active", "running"
    if unit in _EXITED:
        return "active", "exited"
    return ("inactive", "dead") if unit in _IDLE else None


def _status(units: list[str], running: set[str]) -> int:
    status = _ACTIVE
    for unit in units:
        found = state_of(unit, running)
        if found is None:
            print(f"Unit {unit}.service could not be found.", file=sys.stderr)
            status = _NOT_FOUND
            continue
        active, sub = found
        print(f"{unit}.service - {unit} container\n     Loaded: loaded (/usr/lib/systemd/system/{unit}.service; "
              f"enabled)\n     Active: {active} ({sub})")
        status = max(status, _ACTIVE if active == "active" else _INACTIVE)
    return status


def _is_active(units: list[str], running: set[str]) -> int:
    states = [(state_of(unit, running) or ("inactive", "dead"))[0] for unit in units]
    print("\n".join(states))
    return _ACTIVE if "active" in states else _INACTIVE


def _show(units: list[str], running: set[str], names: list[str], is_bare: bool) -> int:
    for unit in units:
        active, sub = state_of(unit, running) or ("inactive", "dead")
        values = {"ActiveState": active, "SubState": sub, "Result": "success"}
        for name in names or list(values):
            if name in values:
                print(values[name] if is_bare else f"{name}={values[name]}")
    return _ACTIVE


def _restart(units: list[str]) -> int:
    if not is_root():
        sys.exit("Failed to restart: Access denied")
    for unit in units:
        if unit != _RESTARTS:
            sys.exit(f"error: systemctl restart {unit} cannot be carried out on this switch: expected {_RESTARTS} "
                     "(with which syncd, teamd and bgp restart)")
    switch = this_switch()
    ask_for(switch, _RESTARTS)
    await_begin(switch, f"systemctl restart {_RESTARTS}")
    return _ACTIVE


def main() -> None:
    """The command."""
    words = sys.argv[1:]
    names = [words[place + 1] for place, word in enumerate(words[:-1]) if word in ("-p", "--property")]
    plain = [word for place, word in enumerate(words)
             if not word.startswith("-") and words[place - 1:place] not in (["-p"], ["--property"])]
    verb, *named = plain or [""]
    units = [name.removesuffix(".service") for name in named]
    running = running_containers(this_switch())
    if verb == "is-system-running":
        is_up = running.issuperset(CONTAINERS)
        print("running" if is_up else "starting")
        sys.exit(0 if is_up else 1)
    if verb == "list-units":
        if not {"--state=failed", "--failed"} & set(words):
            sys.exit("error: systemctl list-units knows failed units alone on this switch (there are none): "
                     f"expected --state=failed; {_USAGE}")
        print("0 loaded units listed.")
        return
    if not units:
        sys.exit(_USAGE)
    if verb == "restart":
        sys.exit(_restart(units))
    if verb in ("start", "reset-failed"):  # what can be started is started already, and nothing has failed
        return
    if verb == "reload" and units == ["rsyslog"]:  # its lines are on the disk already
        return
    if verb not in ("status", "is-active", "show"):
        sys.exit(_USAGE)
    sys.exit(_status(units, running) if verb == "status" else _is_active(units, running) if verb == "is-active" else
             _show(units, running, names, "--value" in words))


if __name__ == "__main__":
    run(main)
