"""Runs a switch's commands without starting a Python for each; started by `serving`.

One single-threaded process of the switch's SSH server has imported what the commands import, and forks for each. A
command's wrapper (`command_client`) hands over streams, working folder, arguments, environment, umask and account; its
signals are passed on, and a command whose client is gone is killed. The commands die with this server, the server with
the SSH server; where there is none the wrapper starts a Python.
"""
from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import os
import pkgutil
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from virtual_testbed.process import PARENT_VARIABLE, die_with_parent
from virtual_testbed.sonic import commands
from virtual_testbed.sonic.command_client import RETURN_CODE_BYTES, SOCKET, STARTED
from virtual_testbed.sonic.commands.context import run
from virtual_testbed.sonic.commands.sudo import become_root
from virtual_testbed.sonic.python_path import PYTHON_PATH

_LIBRARIES = ("jsonpatch", "jsonpointer", "shutil", "tabulate", "yaml")  # what commands import when they need it
_MOST_COMMANDS = 64  # at once; the next one goes without this server
_REQUEST_BYTES = 1 << 18  # more than one message may have (net.core.wmem_default)
_DESCRIPTORS = 4
_FLUSH_FAILED = 120  # exit status of a Python that cannot write its last output
_log = logging.getLogger(__name__)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[int | None]:
    """Run the server in the caller's view and account, at most as long as the caller lives.

    Args:
        folder: where its socket is; made when it does not exist, and the caller's working folder from now on.

    Yields:
        Its pid; None when it cannot be started: the commands do without.
    """
    try:
        folder.mkdir(exist_ok=True)
        os.chdir(folder)  # see `command_client`
        Path(SOCKET).unlink(missing_ok=True)
        process = _start()
    except OSError as error:
        _log.warning("no server for the commands in %s, each starts a Python: %s", folder, error)
        yield None
        return
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()
        (folder / SOCKET).unlink(missing_ok=True)


def _start() -> subprocess.Popen[bytes]:
    """The server, on a socket in the working folder that takes requests already."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = {**inherited, PARENT_VARIABLE: str(os.getpid()), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
                   "PYTHONPATH": PYTHON_PATH}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(SOCKET)
        listener.listen(_MOST_COMMANDS)
        number = listener.fileno()
        return subprocess.Popen([sys.executable, "-P", "-S", "-m", __name__, str(number)], pass_fds=[number],
                                env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                start_new_session=True)


@dataclass(frozen=True)
class CommandRequest:
    """A command that `command_client` wants to be run.

    Attributes:
        module: name in `virtual_testbed.sonic.commands`.
        uid, mask: account and umask of the client; below `sudo` the account is another than the server's.
        errors: what its streams do with what is not UTF-8.
        words: arguments.
        variables: environment, `NAME=value` each.
    """

    module: str
    uid: int
    mask: int
    errors: str
    words: list[str]
    variables: list[bytes]

    @classmethod
    def parse(cls, message: bytes) -> CommandRequest:
        """Read a message. Raises ValueError when it is none."""
        module, uid, mask, errors, count, *rest = message.split(b"\0")
        size = int(count)
        return cls(module.decode(), int(uid), int(mask), errors.decode(), [os.fsdecode(word) for word in rest[:size]],
                   rest[size:])


@dataclass(frozen=True)
class Command:
    """A command that runs: its client, and its process (`ended` is a descriptor that can be read when it has ended)."""

    client: socket.socket
    pid: int
    ended: int


class Server:
    """The loop. Its selector has the listener, clients (with their command once it runs) and processes."""

    def __init__(self, listener: socket.socket) -> None:
        self._pid = os.getpid()
        self._programs = _load_programs()
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)

    def run(self) -> NoReturn:
        """Serve until killed."""
        while True:
            for key, _ in self._selector.select():
                if self._selector.get_map().get(key.fd) is not key:  # another event of this round has ended it
                    continue
                if key.fileobj is self._listener:
                    self._accept()
                elif key.data is None:
                    self._begin(key.fileobj)
                elif key.fileobj is key.data.client:
                    self._hear(key.data)
                else:
                    self._end(key.data)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        client.setblocking(False)
        _, uid, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
        if uid != os.geteuid() or len(self._selector.get_map()) > 2 * _MOST_COMMANDS:
            client.close()
        else:
            self._selector.register(client, selectors.EVENT_READ)

    def _begin(self, client: Any) -> None:
        """Fork for a client's request. One that cannot be met ends the connection."""
        self._selector.unregister(client)
        descriptors: list[int] = []
        try:
            message, descriptors, _flags, _address = socket.recv_fds(client, _REQUEST_BYTES, _DESCRIPTORS)
            request = CommandRequest.parse(message)
            program = self._programs[request.module]
            pid = os.fork()
        except (OSError, ValueError, KeyError) as error:
            _log.warning("a request that cannot be met: %s", error)
            client.close()
        else:
            if pid == 0:
                self._become(client, request, descriptors)
                _run(program, request)
            with contextlib.suppress(PermissionError):  # it has become another program, and has its group by itself
                os.setpgid(pid, pid)  # before a signal is passed on to it
            command = Command(client, pid, os.pidfd_open(pid))
            self._selector.register(client, selectors.EVENT_READ, command)
            self._selector.register(command.ended, selectors.EVENT_READ, command)
        for number in descriptors:
            os.close(number)

    def _become(self, client: socket.socket, request: CommandRequest, descriptors: list[int]) -> None:
        """In the child: be what the client is. What fails here ends it, and the client does without."""
        try:
            for key in list(self._selector.get_map().values()):  # others' connections end with their last descriptor
                _close(key.fileobj)
            self._selector.close()
            *streams, folder = descriptors
            for number, target in zip(streams, (0, 1, 2), strict=True):
                os.dup2(number, target)
            os.fchdir(folder)
            for number in descriptors:
                os.close(number)
            _take_over(request)
            die_with_parent(self._pid)
            os.setpgid(0, 0)  # before it becomes another program, after which the server may not
            client.send(STARTED)
        except (OSError, ValueError):
            os._exit(1)

    def _hear(self, command: Command) -> None:
        """Pass a client's signals on; a client that is gone takes its command along."""
        try:
            numbers = command.client.recv(_MOST_COMMANDS)
        except OSError:
            numbers = b""
        if not numbers:
            self._selector.unregister(command.client)
        for number in numbers or [signal.SIGKILL]:
            with contextlib.suppress(OSError):  # a number that is no signal
                os.killpg(command.pid, number)

    def _end(self, command: Command) -> None:
        """Reap a command, and send its status to the client unless that is gone."""
        _, status = os.waitpid(command.pid, 0)
        self._selector.unregister(command.ended)
        os.close(command.ended)
        with contextlib.suppress(KeyError):
            self._selector.unregister(command.client)
        with contextlib.suppress(OSError):
            code = os.waitstatus_to_exitcode(status)
            command.client.send(code.to_bytes(RETURN_CODE_BYTES, sys.byteorder, signed=True))
        command.client.close()


def _close(file: Any) -> None:
    """Close a socket or a bare descriptor."""
    if isinstance(file, int):
        os.close(file)
    else:
        file.close()


def _load_programs() -> dict[str, Callable[[], object]]:
    """Import all that commands import; returns their programs by the module's name."""
    for name in _LIBRARIES:
        importlib.import_module(name)
    modules = {found.name: importlib.import_module(f"{commands.__name__}.{found.name}")
               for found in pkgutil.iter_modules(commands.__path__)}
    gc.freeze()
    return {name: module.main for name, module in modules.items() if hasattr(module, "main")}


def _take_over(request: CommandRequest) -> None:
    """Make account, umask, environment and streams as they are in a Python that the client has started."""
    if request.uid != os.geteuid():
        become_root()
    if request.uid != os.geteuid():
        raise PermissionError(f"uid {request.uid} cannot be had")
    os.umask(request.mask)
    os.environb.clear()
    for variable in request.variables:
        key, value = variable.split(b"=", 1)
        os.environb[key] = value
    time.tzset()
    errors = request.errors
    sys.stdin = open(0, encoding="utf-8", errors=errors, newline="\n", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", errors=errors, newline="\n", closefd=False)
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", newline="\n", closefd=False)
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, f"__{name}__", getattr(sys, name))


def _run(program: Callable[[], object], request: CommandRequest) -> NoReturn:
    """Run a command as `python -m` does, and end as Python does."""
    sys.argv = [request.module, *request.words]
    status = 0
    try:
        run(program)
    except SystemExit as end:
        status = _exit_status(end.code)
    except BaseException as error:
        traceback.print_exception(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))
        status = 1
        if isinstance(error, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
    try:
        sys.stdout.flush()
    except OSError:
        status = _FLUSH_FAILED
    os._exit(status)


def _exit_status(code: object) -> int:
    """What SystemExit's code means: a number, nothing, or a last word for stderr."""
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    print(code, file=sys.stderr)
    return 1


def main() -> None:
    """The program. Its argument is the descriptor of a socket that listens."""
    die_with_parent()
    listener = socket.socket(fileno=int(sys.argv[1]))
    listener.set_inheritable(False)
    Server(listener).run()


if __name__ == "__main__":
    main()
