"""Commands that the switch's command server runs are to their callers what programs are; and nothing depends on it."""
from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from virtual_testbed.sonic import command_client, databases
from virtual_testbed.sonic.command_server import CommandRequest
from virtual_testbed.tests.sonic.conftest import CHECKOUT
from virtual_testbed.tests.sonic.test_ssh import wait_until

# reads its input to the end: runs as long as that is open
WAITS = "sonic-cfggen -j - --print-data"
SLOW_FORKS = """
import os, time
from virtual_testbed.sonic import command_server
fork = os.fork
def slowly():
    pid = fork()
    time.sleep(0.3 if pid else 0)
    return pid
os.fork = slowly
command_server.main()
"""
CONFIG = '{"A": {"b": {"c": "d"}}}'
SAVES = "; sudo config save -y $PWD/saved >/dev/null; stat -c '%a %U' saved; rm -f saved"
ROLLBACK = "sudo config rollback a; sudo config delete-checkpoint a; ls /etc/sonic/checkpoints"
ALIKE = [
    "show pfc counters", "show interfaces status", "pfcwd show config", "sonic-db-cli CONFIG_DB KEYS 'PORT|*'",
    "show no-such", "show interfaces status nowhere", "sonic-db-cli NO_DB KEYS x", "pfcwd stop", "sudo pfcwd stop",
    "sudo pfcwd start Ethernet0 200; sudo pfcwd show config", "COLUMNS=40 show --help", "show --help",
    "sonic-cfggen --nonsense", "redis-dump -d 4 -y -k 'PORT|*'", "sonic-db-dump -n NO_DB", "ecnconfig -q 3",
    "mmuconfig -l", "dropstat -c show", "sudo config checkpoint a; sudo config list-checkpoints", ROLLBACK,
    "echo '{{ PORT|length }}' >a.j2; sonic-cfggen -d -t a.j2; sonic-cfggen -t b.j2; rm a.j2",
    f"echo '{CONFIG}' | {WAITS}", f"printf '\\377' | {WAITS}", "sonic-cfggen -a '[1' --print-data",
    "show pfc counters >&-", "show pfc counters <&-", "show pfc counters >/dev/full",
    "show runningconfiguration all | head -n 1", "show runningconfiguration all | wc -c",
    "LC_ALL=C show pfc counters", "PYTHONIOENCODING=latin1 sonic-db-cli ASIC_DB ECHO ü",
    "sonic-db-cli ASIC_DB SET ä€ ü; sonic-db-cli ASIC_DB GET ä€", f"umask 027{SAVES}", f"umask 002{SAVES}",
    f"cd /; cd - >/dev/null; echo '{CONFIG}' >a.json; sonic-cfggen -j a.json --print-data; rm a.json",
]


def _stat(pid):
    """Parent and command line of a process; of one that has ended 0 and nothing."""
    with contextlib.suppress(OSError):
        folder = Path("/proc", str(pid))
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        return int(fields[1]), "" if fields[0] == "Z" else (folder / "cmdline").read_text(errors="replace")
    return 0, ""


def _below(top):
    """Processes that descend from one, parents first."""
    parents = {int(path.name): _stat(path.name)[0] for path in Path("/proc").glob("[0-9]*")}
    found = [top]
    for pid in found:
        found.extend(child for child, parent in parents.items() if parent == pid)
    return found[1:]


def _server(switch):
    """The pid of a switch's command server."""
    return next(pid for pid in _below(switch.process.pid) if "sonic.command_server" in _stat(pid)[1])


def _client(switch):
    """The pid of the one client that there is."""
    [client] = [pid for pid in _below(switch.process.pid) if "command_client.py" in _stat(pid)[1]]
    return client


def _passes_signals_on(client):
    """Whether a client catches SIGTERM, as it does once its command has said that it starts. Before that, a client
    whose server is killed does without."""
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", Path(f"/proc/{client}/status").read_text(), re.MULTILINE)
    return bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


@contextlib.contextmanager
def _waiting(switch, command):
    """A request whose command waits for input, run by the server: its process, the server's and the command's pid."""
    server = _server(switch)
    with subprocess.Popen(switch.ssh(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        try:
            wait_until(lambda: len(_below(server)) == 1, "the server to run a command")
            [command] = _below(server)
            wait_until(lambda: _passes_signals_on(_client(switch)), "the client to know that it runs")
            yield process, server, command
            wait_until(lambda: command not in _below(server), "the command to end and to be reaped")
        finally:
            process.kill()


def _socket(switch):
    """Where this test finds the server's socket: in the view of the server."""
    folder = Path("/run") if switch.ready["root_view"] == "namespace" else switch.root / "run"
    return Path(f"/proc/{_server(switch)}/root{folder}", command_client.SOCKET)


@contextlib.contextmanager
def _without_server(switch):
    path = _socket(switch)
    away = path.rename(path.with_name("away"))
    try:
        yield
    finally:
        away.rename(path)


def _answers(switch):
    """What comes of each of ALIKE, in one session: output, exit status, errors. How a program was started is no
    difference in a traceback."""
    parts = [f"( {command} ) 2>errors; echo \"=$?\"; cat errors" for command in ALIKE]
    text = switch.run("; echo =====; ".join(parts) + "; rm errors").stdout.decode(errors="replace")
    started = r' *File "<frozen runpy>".*\n| *File ".*", line \d+, in <module>\n *run\(main\)\n'
    return dict(zip(ALIKE, re.sub(started, "", text).split("=====\n"), strict=True))


def test_commands_are_the_same_with_the_server_and_without(switch):
    switch.output("sudo pfcwd start_default")
    served = _answers(switch)
    switch.output("sudo pfcwd start_default")
    with _without_server(switch):
        alone = _answers(switch)
    for command in ALIKE:
        assert served[command] == alone[command], command
    assert served[ROLLBACK] == "Config rolled back successfully.\nCheckpoint deleted successfully.\n=0\n"
    assert "privileges" in served["pfcwd stop"] and "No space" in served["show pfc counters >/dev/full"]
    assert [served[f"umask {mask}{SAVES}"].split()[0] for mask in ("027", "002")] == ["640", "664"]


def test_input_reaches_a_command_that_the_server_runs(switch):
    with _waiting(switch, WAITS) as (process, _, _):
        output, errors = process.communicate(CONFIG.encode(), timeout=60)
        assert (process.returncode, json.loads(output), errors) == (0, json.loads(CONFIG), b"")


@pytest.mark.parametrize("words", ["", "sudo "])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_ends_a_command_as_it_ends_a_program(switch, words, number):
    with _waiting(switch, f"{words}{WAITS}; echo $?") as (process, server, command):
        os.kill(_client(switch), number)
        wait_until(lambda: command not in _below(server), "the command to end before its input does")
        output, errors = process.communicate(timeout=60)
        assert output.split()[-1:] == [b"%d" % (128 + number)], errors.decode()


def test_a_command_ends_with_its_session(switch):
    with _waiting(switch, f"sudo {WAITS}") as (process, _, _):
        process.kill()


def test_more_than_a_pipe_holds(switch):
    """All of it arrives, and a reader that stops early ends the command as it ends a program."""
    text = "x" * 300000
    with databases.connect(switch.redis.socket, "ASIC_DB") as connection:
        connection.call("SET", "big", text)
    assert switch.output("sonic-db-cli ASIC_DB GET big") == f"{text}\n"
    early = "{ sonic-db-cli ASIC_DB GET big; echo =$? >&2; } 2>status | head -c 3; cat status; rm status"
    assert switch.output(early) == "xxx=1\n"


def test_many_at_once_and_nothing_is_left(switch):
    server, expected = _server(switch), switch.output("show interfaces status")
    wait_until(lambda: not _below(server), "the server to reap the first")
    open_files = len(os.listdir(f"/proc/{server}/fd"))
    clients = [subprocess.Popen(switch.ssh("show interfaces status; sudo pfcwd show config >/dev/null"),
                                stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) for _ in range(6)]
    assert {client.communicate(timeout=60)[0].decode() for client in clients} == {expected}
    wait_until(lambda: not _below(server), "the server to reap all")
    wait_until(lambda: len(os.listdir(f"/proc/{server}/fd")) <= open_files, "the server to close what it was given")


def test_connections_that_ask_nothing_or_nonsense_stop_nobody(switch):
    server, path, expected = _server(switch), str(_socket(switch)), switch.output("pfcwd show config")
    wait_until(lambda: not _below(server), "the server to reap the first")
    before = len(os.listdir(f"/proc/{server}/fd"))
    with contextlib.ExitStack() as stack:
        for number in range(140):
            connection = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            connection.connect(path)
            if number % 2:
                with contextlib.suppress(BrokenPipeError):  # refused already: another account, or too many
                    connection.send(b"show\0nonsense")
        assert switch.output("pfcwd show config") == expected
    wait_until(lambda: len(os.listdir(f"/proc/{server}/fd")) <= before, "the server to close its side")
    assert _server(switch) == server


def test_a_killed_server_takes_its_commands_along_and_later_ones_do_without(switch):
    with _waiting(switch, f"{WAITS}; echo $?; show pfc counters") as (process, server, command):
        os.kill(server, signal.SIGKILL)
        wait_until(lambda: not _stat(command)[1], "the command to end before its input does")
        output, _ = process.communicate(timeout=60)
    assert output.startswith(b"137\n") and b"Port Rx" in output
    switch.stop_server()
    switch.start()
    assert _server(switch) != server


def test_the_server_ends_with_the_ssh_server(switch):
    server = _server(switch)
    assert switch.stop_server() == 0
    wait_until(lambda: not _stat(server)[1], "the command server to end")
    assert not (switch.root / "run" / command_client.SOCKET).exists()
    switch.start()
    server = _server(switch)
    switch.process.kill()
    switch.process.wait()
    switch.process.stdout.close()
    wait_until(lambda: not _stat(server)[1], "the command server to end with a killed SSH server")
    switch.start()


def test_a_server_that_does_not_answer_is_left_for_good(tmp_path, monkeypatch):
    """The client gives up, and what the server would start later learns that in time."""
    monkeypatch.setattr(command_client, "START_S", 0.05)
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(command_client.SOCKET)
        listener.listen()
        accepted = []
        thread = threading.Thread(target=lambda: accepted.append(listener.accept()[0]))
        thread.start()
        assert command_client._hand_over(str(tmp_path), b"request") is None
        thread.join()
        with accepted[0] as connection, pytest.raises(BrokenPipeError):
            connection.send(command_client.STARTED)


def test_a_command_becomes_another_program_before_its_server_goes_on(tmp_path):
    """As on a busy machine: the server may no longer give that process a group (EACCES), and needs not."""
    command = [sys.executable, "-I", "-S", command_client.__file__, str(tmp_path), "sudo", "echo", "done"]
    environment = {"PATH": os.environ["PATH"], "SONIC_VIEW": "environment"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / command_client.SOCKET))
        listener.listen()
        server = subprocess.Popen([sys.executable, "-c", SLOW_FORKS, str(listener.fileno())], cwd=CHECKOUT,
                                  pass_fds=[listener.fileno()])
    try:
        for _ in range(2):
            answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            assert (answer.returncode, answer.stdout) == (0, "done\n"), answer
        assert server.poll() is None
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("message", [
    b"", b"show\0nonsense", b"show\0x\x0018\0strict\x000", b"\xff\x000\x000\0strict\0x"])
def test_a_message_that_is_no_request(message):
    with pytest.raises(ValueError):
        CommandRequest.parse(message)
