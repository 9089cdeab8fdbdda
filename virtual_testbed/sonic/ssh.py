"""The SSH server of one switch, or of a plain host: `python -m virtual_testbed.sonic.ssh SWITCH.json`.

Requests run as real processes in the switch's root view (`root_view`). In PATH are its commands (`command_wrappers`)
and the ordinary programs of an image (`image_programs`), nothing else of the host. Listens on 127.0.0.1; prints
one JSON line when ready; ends on SIGTERM and with its parent.
"""
from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from virtual_testbed.process import RUN_VARIABLE, die_with_parent
from virtual_testbed.sonic import command_server, command_wrappers, databases, processes, root_view, system_log
from virtual_testbed.sonic.agent_keys import BOOT_KEY, DOWN, REBOOT
from virtual_testbed.sonic.profile import ProfileError, load_profile
from virtual_testbed.sonic.python_path import PACKAGE_ROOT
from virtual_testbed.sonic.resp import Connection, DatabaseError
from virtual_testbed.sonic.restarts import BOOT_TIME, SSH
from virtual_testbed.sonic.sftp import SwitchFiles
from virtual_testbed.sonic.ssh_auth import Account, Login

_log = logging.getLogger(__name__)
_CLIENT_VARIABLES = ("LANG", "LC_", "TERM", "COLORTERM")
_BANNER = "OpenSSH_9.2p1 Debian-2+deb12u5"
"""As the SSH server of an image says who it is; sonic-mgmt takes a switch for up when it reads that."""
PLAIN_PORTS = {"eth0": "02:00:00:00:00:00", "eth1": "02:00:00:00:00:01"}
"""The interfaces of a host that is no switch."""
_POWER_S = 0.1
"""How often the server looks whether the switch reboots, wall clock."""
_DATABASE_S = 1.0


class SettingsError(Exception):
    """An argument file that cannot be used; the text is one sentence."""


@dataclass(frozen=True)
class Settings:
    """The argument file. `root_view` is `auto` or `environment` (no namespaces), `build` the image's version. A host
    without `hwsku` is no switch; `programs` is a further folder of programs.
    """

    name: str
    hostname: str
    user: str
    password: str
    authorized_keys: Path
    host_key: Path
    port: int
    root: Path
    bin: Path
    redis_socket: str = ""
    hwsku: str = ""
    mac: str = ""
    programs: str = ""
    root_view: str = "auto"
    build: str = command_wrappers.BUILD

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Read an argument file. Raises SettingsError."""
        try:
            data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            names = {field.name for field in dataclasses.fields(cls)}
            values = {name: value for name, value in data.items() if name in names}
            if values.setdefault("root_view", "auto") not in ("auto", root_view.ENVIRONMENT):
                raise SettingsError(f"root_view must be auto or environment, found {values['root_view']}")
            if values.get("hwsku"):
                values = {**values, "redis_socket": data["redis_socket"], "mac": data["mac"]}
            for name in ("authorized_keys", "host_key", "root", "bin"):
                values[name] = Path(values[name]).resolve()
            return cls(**values)
        except (OSError, ValueError) as error:
            raise SettingsError(f"{path} cannot be read: {error}") from error
        except (KeyError, TypeError) as error:
            raise SettingsError(f"{path} lacks something: {error}") from error


@dataclass(frozen=True)
class Keys:
    """The host key (PEM text) and the accepted client keys (text), read before the view hides their files."""

    host: str
    authorized: str


def _read_keys(settings: Settings) -> Keys:
    """Read keys; a host key that does not exist is made and kept. Raises OSError."""
    if not settings.host_key.exists():
        key = asyncssh.generate_private_key("ssh-ed25519")
        with open(os.open(settings.host_key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(key.export_private_key())
    return Keys(settings.host_key.read_text(encoding="utf-8"), settings.authorized_keys.read_text(encoding="utf-8"))


def _layout(settings: Settings) -> root_view.Layout:
    executable = Path(sys.executable)
    keep = {PACKAGE_ROOT, settings.bin, settings.root, executable.parent.parent, executable.resolve().parent.parent,
            Path(sys.prefix), Path(sys.base_prefix)}
    if settings.hwsku:
        keep.add(Path(settings.redis_socket).parent)
    return root_view.Layout(settings.root, settings.hostname, tuple(sorted(keep)), python=settings.bin / "python")


def prepare(settings: Settings) -> root_view.ViewDecision:
    """Write the switch's files and commands, and enter its root view: after this the process is inside.

    Raises:
        ProfileError: unknown HwSKU.
        OSError: a folder cannot be written, or the kernel refuses what it allowed a moment ago.
    """
    settings.bin.mkdir(parents=True, exist_ok=True)
    command_wrappers.write_image_files(settings.root, load_profile(settings.hwsku), settings.mac, settings.build)
    layout = _layout(settings)
    decision = root_view.decide(layout, settings.root_view)
    command_wrappers.write_wrappers(settings.bin, {
        "name": settings.name, "hwsku": settings.hwsku, "redis_socket": settings.redis_socket,
        "root": _root(settings, decision), "mac": settings.mac}, decision.kind)
    found = root_view.enter(layout, decision)
    if found.kind == root_view.NAMESPACE:
        command_wrappers.write_database_files(settings.redis_socket)
    return found


def _prepare_plain_host(settings: Settings) -> root_view.ViewDecision:
    """Enter the root view of a host that has a network of its own, of two ports that are cabled to each other.

    Raises:
        SettingsError: that is not possible here.
        OSError: as `prepare`.
    """
    root_view.skeleton(settings.root)
    settings.bin.mkdir(parents=True, exist_ok=True)
    for port, address in PLAIN_PORTS.items():
        command_wrappers.write_port(settings.root, port, {"address": address})
    layout = dataclasses.replace(_layout(settings), has_own_network=True)
    decision = root_view.decide(layout, settings.root_view)
    if decision.kind != root_view.NAMESPACE:
        raise SettingsError(f"a host that is no switch needs a network of its own: {decision.reason}")
    command_wrappers.write_shell_programs(settings.bin, "", command_wrappers.PLAIN)
    found = root_view.enter(layout, decision)
    (one, address), (other, other_address) = PLAIN_PORTS.items()
    made = subprocess.run(["ip", "link", "add", one, "address", address, "type", "veth", "peer", "name", other,
                           "address", other_address], capture_output=True, text=True, check=False)
    if made.returncode:
        raise SettingsError(f"no interfaces can be made: {made.stderr.strip()}")
    return found


def _root(settings: Settings, decision: root_view.ViewDecision) -> str:
    """What stands before the switch's paths: nothing where it has its own view."""
    return "" if decision.kind == root_view.NAMESPACE else str(settings.root)


class Power:
    """Whether the switch is up, and which reboot was its last, as its agent says: while it reboots nobody can log in.

    A Redis that does not answer, or knows nothing, changes nothing.
    """

    def __init__(self, redis_socket: str) -> None:
        """The switch is taken to be up until the agent says otherwise. `redis_socket`: empty, where there is none."""
        self._socket = redis_socket
        self._connection: Connection | None = None
        self._is_up = True
        self._reboot: str | None = None
        self._read()

    def is_up(self) -> bool:
        """As it is now."""
        self._read()
        return self._is_up

    def has_gone_down(self) -> bool:
        """Whether it is down, or was since it was asked after last: simulated time may have passed a whole reboot."""
        before = self._reboot
        self._read()
        return not self._is_up or self._reboot != before

    def _read(self) -> None:
        """Take what the agent says now."""
        if not self._socket:
            return
        try:
            if self._connection is None:
                self._connection = Connection(self._socket, databases.NUMBERS["STATE_DB"], _DATABASE_S)
            level, reboot = self._connection.call("HMGET", BOOT_KEY, SSH, REBOOT)
        except DatabaseError:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            return
        if level is not None:
            self._is_up = level != DOWN
        if reboot is not None:
            self._reboot = reboot


class Shell:
    """What a login finds: environment, home, and files that follow the databases."""

    def __init__(self, settings: Settings, decision: root_view.ViewDecision) -> None:
        self._settings = settings
        inside = decision.kind == root_view.NAMESPACE
        self.prefix = Path("/") if inside else settings.root
        self.home = self.prefix / "home/admin"
        self._shown: dict[str, dict[str, str]] = {  # port -> what was written of it last, nothing where that failed
            folder.name: {} for folder in (self.prefix / "sys/class/net").glob("Ethernet*")}
        self.environment = {
            "PATH": ":".join(filter(None, (str(settings.bin), settings.programs,
                                           str(command_wrappers.program_folder(settings.bin))))),
            "HOME": str(self.home), "LOCPATH": str(command_wrappers.locale_folder(settings.bin)),
            "USER": settings.user,
            "LOGNAME": settings.user, "SHELL": "/bin/sh", "LANG": "C.UTF-8", "SONIC_VIEW": decision.kind,
            "SONIC_ROOT": _root(settings, decision),
            "PS1": f"{settings.user}@{settings.hostname}:\\w$ " if _shell().endswith("bash") else
                   f"{settings.user}@{settings.hostname}:$ "}
        if not inside:
            self.environment["TMPDIR"] = str(settings.root / "tmp")
            self.environment[RUN_VARIABLE] = os.environ.get(RUN_VARIABLE, "")  # by which a killed run's are found

    def variables(self, sent: Mapping[str, str]) -> dict[str, str]:
        """The environment of a request, with what the client sent of locale and terminal."""
        wanted = {name: value for name, value in sent.items() if name.startswith(_CLIENT_VARIABLES)}
        return {**self.environment, **wanted}

    def refresh(self) -> None:
        """Bring /sys/class/net up to date with the databases; a Redis that is away changes nothing."""
        if not self._shown:
            return
        keys = [f"PORT_TABLE:{port}" for port in self._shown]
        try:
            with databases.connect(self._settings.redis_socket, "APPL_DB") as connection:
                rows = databases.read_fields(connection, keys, ("oper_status", "speed", "mtu"))
            with databases.connect(self._settings.redis_socket, "CONFIG_DB") as connection:
                mac = databases.read_row(connection, "DEVICE_METADATA", "localhost").get("mac")
            for port, row in zip(self._shown, rows, strict=True):
                self._show_port(port, row, mac)
        except (DatabaseError, OSError) as error:
            _log.warning("%s: /sys/class/net is not up to date: %s", self._settings.name, error)

    def boot(self) -> None:
        """Begin uptime, with what lives in memory alone empty."""
        for folder in ("dev/shm", "tmp"):
            for path in (self.prefix / folder).glob("*"):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
        self.start_uptime()

    def start_uptime(self) -> None:
        """Note that the switch is up since now."""
        (self.prefix / BOOT_TIME.lstrip("/")).write_text(f"{time.time()}\n", encoding="ascii")

    def _show_port(self, port: str, row: Mapping[str, str], mac: str | None) -> None:
        """Files of a port, where they are not so yet; one without a row, while its switch restarts, is down."""
        up = row.get("oper_status") == "up"
        said = {name: row[name] for name in ("speed", "mtu") if name in row} | ({"address": mac} if mac else {})
        values = {"operstate": "up" if up else "down", "carrier": "1" if up else "0", **said}
        if values != self._shown[port]:
            self._shown[port] = {}
            command_wrappers.write_port(self.prefix, port, values)
            self._shown[port] = values


def _shell() -> str:
    return "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"


async def run_server(settings: Settings, keys: Keys, decision: root_view.ViewDecision,
                     machine: socket.socket | None = None) -> None:
    """Serve until SIGTERM. `machine`: a socket of the machine's network, for a host that has another one."""
    shell = Shell(settings, decision)
    log = system_log.SystemLog(shell.prefix, settings.hostname)
    with system_log.receiving(log, shell.prefix / system_log.SOCKET_FOLDER):
        await _serve(settings, keys, decision, shell, machine)


async def _serve(settings: Settings, keys: Keys, decision: root_view.ViewDecision, shell: Shell,
                 machine: socket.socket | None) -> None:
    shell.refresh()
    os.chdir(shell.home)
    account = Account.read(settings.user, settings.password, keys.authorized)
    requests = Requests(shell)
    logins = Logins(account)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    async def listen(port: int) -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1", port, server_factory=logins.make, server_version=_BANNER,
            server_host_keys=[asyncssh.import_private_key(keys.host)], process_factory=requests.handle,
            sftp_factory=lambda channel: SwitchFiles(channel, shell.prefix), allow_scp=True, encoding=None,
            line_editor=False, keepalive_interval=30, x11_forwarding=False, agent_forwarding=False, sock=machine)

    listener = await listen(settings.port)
    port = listener.get_port()
    shell.start_uptime()
    print(json.dumps({"ready": True, "ssh_port": port, "root_view": decision.kind,
                      "root_view_reason": decision.reason}), flush=True)
    power = Power(settings.redis_socket)
    while await _happens(power.has_gone_down, stop):
        listener.close()
        logins.end()
        await requests.end()
        if not await _happens(power.is_up, stop):
            return
        shell.boot()
        listener = await listen(port)
    listener.close()
    await requests.end()


async def _happens(condition: Callable[[], bool], stop: asyncio.Event) -> bool:
    """Wait until something of the switch's power happens; False when the server is to end."""
    while not condition():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _POWER_S)
            return False
    return True


class Logins:
    """The connections that are open."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._open: set[asyncssh.SSHServerConnection] = set()

    def make(self) -> Login:
        """What authenticates one more connection."""
        return Login(self._account, self._open)

    def end(self) -> None:
        """Cut all: a switch that reboots says no more to its clients."""
        for connection in tuple(self._open):
            connection.abort()


class Requests:
    """The requests that run now."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._running: set[asyncio.Task[None]] = set()

    async def handle(self, channel: processes.Channel) -> None:
        """Run what a client asks for, to its end: a command, or a shell."""
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        self._shell.refresh()
        command = channel.command
        arguments = ["/bin/sh", "-c", command] if command else [_shell(), *_interactive_options()]
        environment = self._shell.variables(dict(channel.env))
        await processes.serve(channel, processes.ProcessSpec(arguments, environment, self._shell.home))

    async def end(self) -> None:
        """Cancel all; each ends its process group."""
        running = set(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=3)


def _interactive_options() -> list[str]:
    return ["--norc", "--noprofile", "-i"] if _shell().endswith("bash") else ["-i"]


def main(arguments: list[str]) -> int:
    """The program."""
    if len(arguments) != 1:
        print("usage: python -m virtual_testbed.sonic.ssh SWITCH.json", file=sys.stderr)
        return 2
    die_with_parent()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # ignored under nohup, and every command would inherit that
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("asyncssh").setLevel(logging.WARNING)
    try:
        settings = Settings.read(Path(arguments[0]))
        keys = _read_keys(settings)
        if settings.hwsku:
            decision = prepare(settings)
            with command_server.serving(command_wrappers.command_folder(_root(settings, decision))):
                asyncio.run(run_server(settings, keys, decision))
        else:
            with socket.create_server(("127.0.0.1", settings.port)) as machine:
                asyncio.run(run_server(settings, keys, _prepare_plain_host(settings), machine))
    except (SettingsError, ProfileError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
