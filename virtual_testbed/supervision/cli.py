"""The command `virtual-testbed`: up, down, status, logs."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import click
from tabulate import tabulate

from virtual_testbed.faults import FaultError, absolute, parse_fault
from virtual_testbed.ixnetwork.habits import CARD, HABITS, HabitError, read_habits
from virtual_testbed.lab_files.cables import WireError, wire_link
from virtual_testbed.lab_files.description import DescriptionError, Testbed, load_testbed
from virtual_testbed.sonic.watchdog_scripts import ScriptError, read_scripts
from virtual_testbed.supervision.child import tail
from virtual_testbed.supervision.lifecycle import (
    LifecycleError,
    TestbedStatus,
    bring_up,
    down_command,
    inspect,
    take_down,
)
from virtual_testbed.supervision.plan import Options
from virtual_testbed.supervision.state import DEFAULT_STATE, STATE_VARIABLE, StateError, TestbedFolder, folders_of

_STATE = click.option(
    "--state", "state", type=click.Path(path_type=Path, file_okay=False), default=Path(DEFAULT_STATE),
    envvar=STATE_VARIABLE, show_default=True, show_envvar=True, help="Folder where testbeds keep their files.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def _refuse(sentence: str) -> NoReturn:
    """End with one sentence."""
    click.echo(f"error: {sentence}", err=True)
    sys.exit(1)


def _sentences(command: Callable[..., None]) -> Callable[..., None]:
    """What is wrong with the input or the testbed is said in one sentence, without a traceback."""
    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (DescriptionError, FaultError, HabitError, LifecycleError, ScriptError, StateError, WireError) as error:
            _refuse(str(error))
        except OSError as error:
            _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    return run


EXAMPLES = """\b
Examples:
  virtual-testbed up vtb-t0                                   a T0 switch and its traffic generators
  virtual-testbed up vtb-t0 --fault pause-ignored@Ethernet8   one that is broken
  virtual-testbed status vtb-t0                               its addresses, and how to log in
  virtual-testbed logs vtb-t0 engine -n 50                    what its data plane logged
  virtual-testbed down --purge                                take all down, forget their switches
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXAMPLES)
def main() -> None:
    """Virtual SONiC testbeds: switches with SSH and Redis, traffic generators with OTG, all on loopback."""


@main.command()
@click.argument("name")
@click.option("--testbed-file", type=click.Path(path_type=Path, dir_okay=False), default=Path("ansible/testbed.yaml"),
              show_default=True,
              help="Testbed file; the graph files are in files/ beside it, or in files/ of its entry's lab_folder.")
@_STATE
@click.option("--clock", type=click.Choice(["realtime", "virtual"]), default="realtime", show_default=True,
              help="Follow the wall clock, or stand still until advanced.")
@click.option("--fault", "faults", multiple=True, metavar="SPEC",
              help="What the switches do wrong: NAME[@[SWITCH:]PORT[,key=value...]], NAME built in or FILE.py:CLASS. "
                   "May be repeated.")
@click.option("--root-view", type=click.Choice(["auto", "environment"]), default="auto", show_default=True,
              help="Give each switch its own view of the root folder where the kernel allows it, or never.")
@click.option("--wire", "wires", multiple=True, metavar="[SWITCH:]PORT=INTERFACE",
              help="Let pause frames pass between a switch port and an interface of this machine (a veth). "
                   "May be repeated.")
@click.option("--swss", type=click.Path(path_type=Path, file_okay=False), metavar="CHECKOUT",
              help="A checkout of sonic-swss: its scripts decide where the watchdogs see storms begin and end.")
@click.option("--ixnetwork", is_flag=True, help="Put IxNetwork's REST API in front of the traffic generator, as an API "
              "server of Keysight's does.")
@click.option("--habit", "habits", multiple=True, metavar="NAME",
              help="What the chassis behind IxNetwork's API does; may be repeated, implies --ixnetwork. One of: "
                   f"{', '.join(HABITS)}, {CARD}TYPE.")
@click.option("--owner-pid", type=click.IntRange(min=1), metavar="PID",
              help="Take the testbed down when this process ends, however it ends.")
@_JSON
@_sentences
def up(name: str, testbed_file: Path, state: Path, *, as_json: bool, **asked: Any) -> None:
    """Start the virtual testbed NAME and wait until all of it is up."""
    testbed = load_testbed(name, testbed_file)
    read_habits(asked["habits"])
    asked["habits"] = asked["habits"] if asked.pop("ixnetwork") or asked["habits"] else None
    options = Options(**{**asked, "faults": tuple(absolute(spec) for spec in asked["faults"]),
                         "wires": tuple(wire_link(spec, testbed.generator_links) for spec in asked["wires"])})
    for spec in options.faults:
        _check_fault(spec, testbed)
    if options.swss is not None:
        swss = options.swss.resolve()
        _check_scripts(swss, testbed)
        options = replace(options, swss=swss)
    folder = TestbedFolder(state.resolve() / name)
    runtime = bring_up(testbed, folder, options)
    click.echo(json.dumps(runtime, indent=1) if as_json else _summary(runtime, folder))


def _check_scripts(swss: Path, testbed: Testbed) -> None:
    """Every switch needs the scripts of its ASIC."""
    for asic_type in {switch.hwsku.asic_type for switch in testbed.switches}:
        read_scripts(swss, asic_type)


def _check_fault(spec: str, testbed: Testbed) -> None:
    """A fault on something that the testbed does not have would silently do nothing."""
    fault = parse_fault(spec)
    scope = fault.scope
    names = [switch.name for switch in testbed.switches]
    if scope.switch is not None and scope.switch not in names:
        raise FaultError(f"fault '{spec}': testbed {testbed.name} has no switch {scope.switch} "
                         f"(it has: {', '.join(names)})")
    switches = [switch for switch in testbed.switches if scope.switch in (None, switch.name)]
    for port in (scope.port, *(fault.values.get(option) for option in fault.port_options)):
        if port is not None and not any(port in switch.hwsku.ports for switch in switches):
            raise FaultError(f"fault '{spec}': no port {port} on {', '.join(switch.name for switch in switches)}")
    speeds = {link.speed_mbps for link in testbed.generator_links} | {link.speed_mbps for link in testbed.switch_links}
    if scope.speed_mbps not in (None, *speeds):
        raise FaultError(f"fault '{spec}': testbed {testbed.name} has no link of {scope.speed_mbps} Mb/s "
                         f"(it has: {', '.join(map(str, sorted(speeds)))})")


def _access(runtime: dict[str, Any], folder: TestbedFolder) -> list[tuple[str, str]]:
    """How switches and traffic generators are reached: what, and where."""
    ssh = [(f"ssh to {name}", shlex.join(["ssh", "-F", _short(folder.ssh / "config"), name]))
           for name in runtime["switches"]]
    return [*ssh, ("password", f"in {_short(folder.ssh / 'password')} (user admin)"), ("OTG", runtime["otg"]["url"]),
            ("OTG over gRPC", runtime["otg"]["grpc"]),
            *([("IxNetwork", runtime["otg"]["ixnetwork"])] if runtime["otg"]["ixnetwork"] else [])]


def _summary(runtime: dict[str, Any], folder: TestbedFolder) -> str:
    """How to use what is up now."""
    rows = [
        *_access(runtime, folder),
        ("clock", f"{runtime['clock']['mode']}, {runtime['clock']['url']}"),
        ("testbed file", _short(Path(runtime["testbed_file"]))),
        ("inventory", _short(Path(runtime["inventory"]))),
        ("root view", runtime["root_view"]),
        ("faults", ", ".join(runtime["faults"]) or "none"),
        ("wires", _wires(runtime)),
        ("watchdog", _watchdog(runtime)),
        ("stop it with", down_command(folder)),
    ]
    return f"testbed {runtime['testbed']} is up\n" + tabulate(rows, tablefmt="plain")


def _wires(runtime: dict[str, Any]) -> str:
    """The ports that are bound to interfaces of this machine."""
    return ", ".join(f"{port}={interface}" for port, interface in runtime["wires"].items()) or "none"


def _watchdog(runtime: dict[str, Any]) -> str:
    """Who decides what the switches' watchdogs do."""
    return f"scripts of {runtime['swss']}" if runtime.get("swss") else "model"


def _short(path: Path) -> str:
    """A path relative to the current folder where it is below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


@main.command()
@click.argument("name", required=False)
@_STATE
@click.option("--purge", is_flag=True, help="Forget the switches' configuration, keys and logs too.")
@_sentences
def down(name: str | None, state: Path, *, purge: bool) -> None:
    """Stop the virtual testbed NAME, or all of the state folder. The switches keep their configuration."""
    folders = _folders(state, name)
    for folder in folders:
        was_up = take_down(folder, purge)
        click.echo(f"testbed {folder.name} {'is down now' if was_up else 'was not up'}"
                   f"{', its switches are forgotten' if purge else ''}")
    if not folders:
        click.echo(f"{f'testbed {name} is not' if name else 'no testbed is'} up in {_short(state.resolve())}")


def _folders(state: Path, name: str | None) -> list[TestbedFolder]:
    """The testbeds of a state folder, or the one of this name."""
    return [folder for folder in folders_of(state.resolve()) if name in (None, folder.name)]


@main.command()
@click.argument("name", required=False)
@_STATE
@_JSON
@_sentences
def status(name: str | None, state: Path, *, as_json: bool) -> None:
    """Show the virtual testbed NAME, or all of the state folder. Exit status 0 only when all of it is up."""
    folders = _folders(state, name)
    if not folders:
        _refuse(f"no testbed {name or ''}".rstrip() + f" is known in {_short(state.resolve())}")
    found = [inspect(folder) for folder in folders]
    if as_json:
        click.echo(json.dumps([_as_json(one) for one in found], indent=1))
    else:
        click.echo("\n\n".join(_table(one, folder) for one, folder in zip(found, folders)))
    sys.exit(0 if all(one.state == "up" for one in found) else 1)


def _as_json(found: TestbedStatus) -> dict[str, Any]:
    """A status for programs: runtime.json and what was seen."""
    return {"testbed": found.name, "state": found.state, "reason": found.reason, "clock_now": found.clock,
            "runtime": found.runtime}


def _table(found: TestbedStatus, folder: TestbedFolder) -> str:
    """A status for people."""
    lines = [f"testbed {found.name}: {found.state}" + (f" ({found.reason})" if found.reason else "")]
    if found.runtime is None:
        return lines[0]
    lines += [f"{what}: {where}" for what, where in _access(found.runtime, folder)]
    if found.clock is not None:
        lines.append(f"clock: {found.clock['mode']}, at {found.clock['now_ns'] / 1e9:.3f} s, "
                     f"{found.clock['lag_ns'] / 1e6:.3f} ms behind")
    for name, switch in found.runtime["switches"].items():
        reason = switch.get("root_view_reason")
        lines.append(f"root view of {name}: {switch['root_view']}" + (f" ({reason})" if reason else ""))
    lines.append("faults: " + (", ".join(found.runtime["faults"]) or "none"))
    lines.append("wires: " + _wires(found.runtime))
    lines.append("watchdog: " + _watchdog(found.runtime))
    rows = [(child.name, child.state, child.pid, child.restarts, child.last_death) for child in found.children]
    lines.append(tabulate(rows, headers=["child", "state", "pid", "restarts", "last death"]))
    return "\n".join(lines)


@main.command()
@click.argument("name")
@click.argument("child", required=False)
@click.option("-n", "count", type=click.IntRange(min=1), default=20, show_default=True, help="Lines of each log.")
@_STATE
@_sentences
def logs(name: str, child: str | None, count: int, state: Path) -> None:
    """Show the end of the logs of testbed NAME, or of one CHILD (supervisor, engine, SWITCH.ssh, SWITCH.redis)."""
    folder = next(iter(_folders(state, name)), None)
    if folder is None:
        _refuse(f"no testbed {name} is known in {_short(state.resolve())}")
    names = sorted(path.name.removesuffix(".log") for path in folder.logs.glob("*.log"))
    if child is not None and child not in names:
        _refuse(f"testbed {name} has no log of {child} (it has: {', '.join(names) or 'none'})")
    for one in [child] if child is not None else names:
        if child is None:
            click.echo(f"==> {one}")
        for line in tail(folder.log(one), count):
            click.echo(line)


if __name__ == "__main__":
    main()
