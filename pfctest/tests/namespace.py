"""Network namespaces with Ethernet cables (veth) in them, for tests and benchmarks: nothing leaves the machine."""
from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_S = 60
_HOLD = "ip link set dev lo up && echo ready && exec cat"
_HEED_SIGNALS = ("import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
                 "signal.signal(signal.SIGHUP, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])")
"""What starts a command that heeds both, also where the tests run in a shell's background or under nohup."""
_WAYS = {("unshare", "-n"): ("--net",), ("unshare", "-Urn"): ("--user", "--preserve-credentials", "--net")}
"""Ways to have a namespace, and how it is entered then; the first keeps the right to real-time scheduling."""


@lru_cache
def way() -> tuple[str, ...] | None:
    """The command that makes a namespace here; None: none does."""
    if not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        return None
    for command in _WAYS:
        if subprocess.run([*command, "ip", "link", "add", "name", "try0", "type", "veth", "peer", "name", "try1"],
                          capture_output=True, check=False).returncode == 0:
            return command
    return None


WHY_NOT = "no network namespace with a veth pair can be made here (unshare, nsenter and ip are needed, and permission)"


class Namespace:
    """A network namespace that lasts as long as a process that waits in it; see `namespace`."""

    def __init__(self, holder: subprocess.Popen[str], enter: Sequence[str]) -> None:
        self._enter = ["nsenter", "--target", str(holder.pid), *enter, "--"]

    def command(self, *words: str | Path) -> list[str]:
        """A command line that runs another one inside."""
        return [*self._enter, *map(str, words)]

    def run(
        self, *words: str | Path, check: bool = True, patience_s: float = _PATIENCE_S
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside, in the project's folder."""
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=check, cwd=ROOT,
                              timeout=patience_s)

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        """Start a command inside, with pipes; it heeds SIGINT even where the tests run in a shell's background."""
        return subprocess.Popen([sys.executable, "-ISc", _HEED_SIGNALS, *self.command(*words)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)

    def python(self, module: str, *words: str | Path) -> list[str]:
        """The words that run a module of this project."""
        return [sys.executable, "-m", module, *map(str, words)]

    def add_cable(self, *cables: tuple[str, str]) -> None:
        """Veth pairs, both ends up, without IPv6 (which sends frames unasked)."""
        lines = [f"link add name {near} type veth peer name {far}\n"
                 + "".join(f"link set dev {end} addrgenmode none up\n" for end in (near, far)) for near, far in cables]
        subprocess.run(self.command("ip", "-batch", "-"), input="".join(lines), text=True, check=True,
                       capture_output=True, timeout=_PATIENCE_S)

    def pull(self, far: str, near: str) -> None:
        """Take the end `far` of a cable down, and wait until the kernel says so of the end `near`: up to a second."""
        self.run("ip", "link", "set", "dev", far, "down")
        for _ in range(200):
            if "state LOWERLAYERDOWN" in self.run("ip", "-oneline", "link", "show", "dev", near).stdout:
                return
            time.sleep(0.05)
        raise AssertionError(f"{near} has a link 10 s after {far} went down")

    @contextmanager
    def receiving(self, interface: str) -> Iterator[Receiver]:
        """Receive on an interface while the context lasts."""
        with self.start(*self.python("pfctest.tests.receive", interface)) as process:
            receiver = Receiver(process)
            try:
                yield receiver
            finally:
                process.kill()


class Receiver:
    """A process that receives on an interface; made by `Namespace.receiving`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._expect("ready")

    def frames(self) -> list[tuple[int, bytes]]:
        """(kernel's time in nanoseconds, frame before the FCS) of all that came since the last call."""
        _pipe(self._process.stdin).write("drain\n")
        _pipe(self._process.stdin).flush()
        found = self._read()
        assert not found["dropped"], f"the receiver lost {found['dropped']} frames"
        kinds = [bytes.fromhex(kind) for kind in found["kinds"]]
        return [(time_ns, kinds[kind]) for time_ns, kind in found["frames"]]

    def data(self) -> list[bytes]:
        """`frames`, without the times."""
        return [data for _, data in self.frames()]

    def take(self, count: int) -> list[tuple[int, bytes]]:
        """`frames`, at least so many: waits for them."""
        found: list[tuple[int, bytes]] = []
        while len(found) < count:
            _pipe(self._process.stdin).write("wait\n")
            _pipe(self._process.stdin).flush()
            self._expect("came")
            found += self.frames()
        return found

    def _expect(self, word: str) -> None:
        line = _pipe(self._process.stdout).readline()
        assert line == f"{word}\n", f"the receiver said {line!r} and {_pipe(self._process.stderr).read()}"

    def _read(self) -> Any:
        return json.loads(_pipe(self._process.stdout).readline())


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


@contextmanager
def namespace() -> Iterator[Namespace]:
    """A fresh namespace, gone at the end with all that is in it.

    Raises:
        AssertionError: none can be made here; ask `way` first.
    """
    how = way()
    assert how is not None, WHY_NOT
    with subprocess.Popen([*how, "sh", "-c", _HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as holder:
        try:
            assert _pipe(holder.stdout).readline() == "ready\n", WHY_NOT
            yield Namespace(holder, _WAYS[(how[0], how[1])])
        finally:
            holder.kill()
