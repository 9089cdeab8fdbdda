"""Has the switch's command server (`command_server`) run a command: `command_client FOLDER MODULE WORD...`.

Starts by path with `-I -S` for every command, so it imports nothing that is not built into Python. It hands over what a
process is born with, waits, and ends as the command did. Where no server takes the command it becomes the command.
"""
import _signal  # type: ignore[import-not-found]  # `signal` and `socket` import `enum`, which takes long
import _socket
import os
import sys

SOCKET = "commands.sock"
STARTED = b"\0"  # the first message of a command's process; the last one is its return code, as `subprocess` has it
START_S = 10.0
RETURN_CODE_BYTES = 4
_PACKAGE = "virtual_testbed.sonic.commands."
_FORWARDED = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM)
_OWN_VARIABLES = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")  # set by the wrapper, for the command itself


def _is_ordinary() -> bool:
    """True when a Python of the server's kind is what this command would get."""
    if None in (sys.stdin, sys.stdout, sys.stderr) or sys.stdout.encoding != "utf-8":
        return False
    return not any(name.startswith("PYTHON") and name not in _OWN_VARIABLES for name in os.environ)


def _request(module: str, words: list[str]) -> bytes:
    """The message that goes to the server beside the descriptors: see `command_server.CommandRequest`."""
    mask = os.umask(0o077)
    os.umask(mask)
    head = [module, os.geteuid(), mask, sys.stdout.errors, len(words), *words]
    variables = [name + b"=" + value for name, value in os.environb.items()]
    return b"\0".join([*(os.fsencode(str(part)) for part in head), *variables])


def _hand_over(folder: str, request: bytes) -> _socket.socket | None:
    """A connection to the process that has become the command; None when none has, and none will."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    connection.settimeout(START_S)
    try:
        here = os.open(".", os.O_PATH)
        os.chdir(folder)  # the name of a socket has room for 107 characters, this folder's may have more
        try:
            connection.connect(SOCKET)
        finally:
            os.fchdir(here)
        descriptors = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2, here))
        connection.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
        started = _has_started(connection)
    except OSError:
        started = False
    if not started:
        connection.close()
    return connection if started else None


def _has_started(connection: _socket.socket) -> bool:
    """A process that cannot say that it starts does not start."""
    try:
        return connection.recv(RETURN_CODE_BYTES) == STARTED
    except TimeoutError:
        connection.shutdown(_socket.SHUT_RD)
        return connection.recv(RETURN_CODE_BYTES) == STARTED


def _forward(connection: _socket.socket, number: int) -> None:
    try:
        connection.send(bytes([number]))
    except OSError:  # the server is gone and so is the command, which ends the wait for it
        return


def _wait(connection: _socket.socket) -> None:
    """End as the command does; without a return code it was killed with its server."""
    connection.settimeout(None)
    for number in _FORWARDED:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, lambda number, frame: _forward(connection, number))
    try:
        answer = connection.recv(RETURN_CODE_BYTES)
    except OSError:
        answer = b""
    code = int.from_bytes(answer, sys.byteorder, signed=True) if answer else -_signal.SIGKILL
    if code < 0:
        if code != -_signal.SIGKILL:
            _signal.signal(-code, _signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def main() -> None:
    """The program."""
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    folder, module, *words = sys.argv[1:]
    connection = _hand_over(folder, _request(module, words)) if _is_ordinary() else None
    if connection is not None:
        _wait(connection)
    os.execv(sys.executable, [sys.executable, "-P", "-S", "-m", _PACKAGE + module, *words])


if __name__ == "__main__":
    main()
