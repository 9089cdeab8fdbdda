"""One child process of the supervisor: started, waited for until it is ready, ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from virtual_testbed.process import PARENT_VARIABLE, RUN_VARIABLE, waited_for_cpu_s
from virtual_testbed.supervision.plan import ChildSpec, Policy, kept_ports
from virtual_testbed.supervision.state import read_json, write_json

_PROBE_PAUSE_S = 0.02
_PONG_S = 5.0
_TAIL_BYTES = 4096
_LINE_BYTES = 1 << 20


class ChildError(Exception):
    """A child that did not become ready; the text is one sentence."""


class Child:
    """A child process and what became of it.

    Attributes:
        up: set while it is ready.
        ready: its ready line (empty for Redis).
        restarts: how often it was started again.
        last_death: sentence about its last death.
    """

    def __init__(self, spec: ChildSpec, log: Path, run_folder: str, policy: Policy) -> None:
        self.spec = spec
        self.log = log
        self.up = asyncio.Event()
        self.ready: dict[str, Any] = {}
        self.restarts = 0
        self.last_death: str | None = None
        self._policy = policy
        self._environment = {**os.environ, RUN_VARIABLE: run_folder, PARENT_VARIABLE: str(os.getpid())}
        self._process: asyncio.subprocess.Process | None = None
        self._stdout = Path(run_folder, f"{spec.name}.out")
        self._started_at = 0.0

    @property
    def pid(self) -> int | None:
        """Its pid while it runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    @property
    def age_s(self) -> float:
        """Seconds since it was started last."""
        return time.monotonic() - self._started_at

    async def start(self) -> None:
        """Start it and wait until it is ready.

        Raises:
            ChildError: it ended first, said something else, or took too long; it does not run any more then.
        """
        self._started_at = time.monotonic()
        try:
            await self._spawn()
            await self._become_ready()
        except ChildError:
            await self._kill()
            raise
        self.up.set()

    async def wait(self) -> str:
        """Wait until it has ended; says how, in words."""
        if self._process is None:
            return "was never started"
        status = await self._process.wait()
        self.up.clear()
        return describe_exit(status)

    async def stop(self) -> None:
        """End it: SIGTERM, and SIGKILL when that is not enough."""
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), self._policy.stop_s)
        await self._kill()

    def last_line(self) -> str:
        """The last line of its log, empty when there is none."""
        lines = tail(self.log, 1)
        return lines[0] if lines else ""

    async def _spawn(self) -> None:
        """Start the program; stderr goes to its log, and so does Redis' stdout.

        The others' stdout goes to a file and not into a pipe: whatever a child started may hold a pipe open for longer
        than the child lives, and a full one would stop it.
        """
        arguments = [*self.spec.command, *([self.spec.argument_file] if self.spec.argument_file else [])]
        with self.log.open("ab") as log, self._stdout.open("wb") as stdout:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=log if self.spec.socket else stdout,
                    stderr=log, env=self._environment)
            except OSError as error:
                raise ChildError(f"{self.spec.name} cannot be started: {arguments[0]}: {error.strerror}") from error

    async def _become_ready(self) -> None:
        """Poll for the ready line, or for Redis' answer; on a busy machine a child has more time."""
        process = self._process
        assert process is not None
        while not await self._is_ready():
            if process.returncode is not None:
                raise ChildError(f"{self.spec.name} ended with {describe_exit(process.returncode)} "
                                 f"before it was ready{self._tail()}")
            waited_s = waited_for_cpu_s(process.pid)
            if self.age_s - waited_s > self._policy.ready_s:
                raise ChildError(f"{self.spec.name} was not ready after {self._policy.ready_s:g} s"
                                 f"{f', and {waited_s:.0f} s without a CPU' if waited_s >= 1 else ''}{self._tail()}")
            await asyncio.sleep(_PROBE_PAUSE_S)

    async def _is_ready(self) -> bool:
        """True when Redis answers PING (it says LOADING while it reads its files) or the ready line is complete."""
        if self.spec.socket is not None:
            return await _pong(self.spec.socket)
        with self._stdout.open("rb") as stdout:
            line = stdout.readline(_LINE_BYTES)
        if line.endswith(b"\n") or len(line) == _LINE_BYTES:
            self.ready = self._parse(line)
            return True
        return False

    def _parse(self, line: bytes) -> dict[str, Any]:
        """The ready line's values; the ports in it are kept for the next start."""
        try:
            ready = json.loads(line)
            if ready["ready"] is not True:
                raise ValueError("it is not ready")
            self._change_arguments(kept_ports(self.spec.kind, ready))
        except (ValueError, KeyError, TypeError) as error:
            raise ChildError(f"{self.spec.name} printed {line[:200].decode(errors='replace').strip()!r} instead of its "
                             f"ready line ({type(error).__name__}: {error})") from None
        return dict(ready)

    def _change_arguments(self, changes: Mapping[str, Any]) -> None:
        """Change values of its argument file; it reads them at its next start."""
        if self.spec.argument_file is not None and changes:
            path = Path(self.spec.argument_file)
            write_json(path, {**read_json(path), **changes}, mode=path.stat().st_mode & 0o777)

    async def _kill(self) -> None:
        """Kill it unless it has ended, and wait."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        self.up.clear()

    def _tail(self) -> str:
        """The end of its log for a message."""
        lines = tail(self.log, 5)
        return f"; {self.log} ends: {' | '.join(lines)}" if lines else f"; {self.log} is empty"


async def _pong(socket: str) -> bool:
    """True when Redis answers on a unix socket."""
    try:
        reader, writer = await asyncio.open_unix_connection(socket)
    except OSError:
        return False
    try:
        writer.write(b"PING\r\n")
        return (await asyncio.wait_for(reader.readline(), _PONG_S)).startswith(b"+PONG")
    except OSError:  # a TimeoutError is one
        return False
    finally:
        writer.close()


def describe_exit(status: int) -> str:
    """`exit status n` or the signal's name, from a return code as subprocess has it."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


def tail(path: Path, count: int) -> list[str]:
    """The last lines of a log that are not empty, at most `count`."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES * max(1, count)))
            lines = file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [line.rstrip() for line in lines if line.strip()][-count:]
