"""One SSH request as a real process: pipes or a pseudo-terminal, signals, exit status, and an end with its channel."""
from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

_CHUNK = 65536
# The first process of a session has a terminal as its own once it opens it; $0 is the terminal.
_TAKE_TERMINAL = 'exec "$@" 0<>"$0" 1>&0 2>&0'
_GRACE_S = 1.0
Channel = asyncssh.SSHServerProcess[bytes]
Pump = Coroutine[Any, Any, None]


@dataclass(frozen=True)
class ProcessSpec:
    """The process to start for a request: `arguments`, environment, working folder."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path


async def serve(channel: Channel, spec: ProcessSpec) -> None:
    """Run a process to its end and report that to the client. Its process group ends with the channel."""
    try:
        process, master = await _start(channel, spec)
    except OSError as error:
        channel.stderr.write(f"{spec.arguments[0]}: {error.strerror}\n".encode())
        channel.exit(126)
        return
    pumps = _terminal_pumps(channel, process, master) if master is not None else _pipe_pumps(channel, process)
    feeding = asyncio.ensure_future(pumps[0])
    draining = [asyncio.ensure_future(pump) for pump in pumps[1:]]
    closed = asyncio.ensure_future(channel.channel.wait_closed())
    try:
        everything: asyncio.Future[list[Any]] = asyncio.gather(process.wait(), *draining, return_exceptions=True)
        waiting: list[asyncio.Future[Any]] = [everything, closed]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if everything.done():
            _report(channel, process.returncode or 0)
    finally:
        await _end_group(process)
        for task in (feeding, closed, *draining):
            task.cancel()
        await asyncio.gather(feeding, closed, *draining, return_exceptions=True)
        if master is not None:
            os.close(master)


async def _start(channel: Channel, spec: ProcessSpec) -> tuple[asyncio.subprocess.Process, int | None]:
    """The process, and its terminal if it has one. A start that is cancelled is completed first, and what it started
    ended: asyncio would wait for a process that nobody asked to end."""
    on_terminal = channel.get_terminal_type() is not None
    starting: asyncio.Future[tuple[asyncio.subprocess.Process, int | None]] = asyncio.ensure_future(
        _start_on_terminal(channel, spec) if on_terminal else _start_on_pipes(spec))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        process, master = await starting
        await _end_group(process)
        if master is not None:
            os.close(master)
        raise


def _report(channel: Channel, status: int) -> None:
    if status < 0:
        channel.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"), False)
    else:
        channel.exit(status)


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """Hang up what is left of the process group, as a terminal does; then kill what does not go."""
    if not _signal_group(process.pid, signal.SIGHUP):
        return
    _signal_group(process.pid, signal.SIGCONT)
    if process.returncode is None:
        try:
            await asyncio.wait_for(process.wait(), _GRACE_S)
        except asyncio.TimeoutError:
            _signal_group(process.pid, signal.SIGKILL)
            await process.wait()


def _signal_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


async def _start_on_pipes(spec: ProcessSpec) -> tuple[asyncio.subprocess.Process, int | None]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *spec.arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(spec.environment), cwd=spec.folder,
        start_new_session=True)
    return process, None


def _pipe_pumps(channel: Channel, process: asyncio.subprocess.Process) -> list[Pump]:
    assert process.stdin and process.stdout and process.stderr
    return [_feed(channel, process, process.stdin), _drain(process.stdout, channel.stdout),
            _drain(process.stderr, channel.stderr)]


async def _feed(channel: Channel, process: asyncio.subprocess.Process, stdin: asyncio.StreamWriter) -> None:
    """The client's input, binary-clean; its signals go to the process group."""
    while True:
        try:
            data = await channel.stdin.read(_CHUNK)
        except asyncssh.SignalReceived as received:
            _signal_group(process.pid, getattr(signal, f"SIG{received.signal}", signal.SIGTERM))
            continue
        except (asyncssh.BreakReceived, asyncssh.TerminalSizeChanged):
            continue
        try:
            if not data:
                stdin.close()
                return
            stdin.write(data)
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            return


async def _drain(source: asyncio.StreamReader, sink: asyncssh.SSHWriter[bytes]) -> None:
    while data := await source.read(_CHUNK):
        sink.write(data)
        try:
            await sink.drain()
        except (BrokenPipeError, ConnectionError):
            return


async def _start_on_terminal(channel: Channel, spec: ProcessSpec) -> tuple[asyncio.subprocess.Process, int | None]:
    master, slave = os.openpty()
    try:
        _set_size(master, channel.get_terminal_size())
        environment = {**spec.environment, "TERM": str(channel.get_terminal_type())}
        process = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", _TAKE_TERMINAL, os.ttyname(slave), *spec.arguments, stdin=slave, stdout=slave,
            stderr=slave, env=environment, cwd=spec.folder, start_new_session=True)
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)
    os.set_blocking(master, False)
    return process, master


def _set_size(master: int, size: tuple[int, int, int, int]) -> None:
    width, height, pixel_width, pixel_height = size
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, pixel_width, pixel_height))


def _terminal_pumps(channel: Channel, process: asyncio.subprocess.Process, master: int) -> list[Pump]:
    return [_type(channel, process, master), _display(master, channel.stdout)]


async def _type(channel: Channel, process: asyncio.subprocess.Process, master: int) -> None:
    """The client's keys to the terminal."""
    while True:
        try:
            data = await channel.stdin.read(_CHUNK)
        except asyncssh.TerminalSizeChanged as size:
            _set_size(master, (size.width, size.height, size.pixwidth, size.pixheight))
            continue
        except asyncssh.SignalReceived as received:
            _signal_group(process.pid, getattr(signal, f"SIG{received.signal}", signal.SIGTERM))
            continue
        except asyncssh.BreakReceived:
            data = b"\x03"
        await _write_all(master, data or b"\x04")
        if not data:
            return


async def _write_all(master: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(master, data):]
        except BlockingIOError:
            await _ready(master, writing=True)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return


async def _display(master: int, sink: asyncssh.SSHWriter[bytes]) -> None:
    """What the terminal shows to the client, until its last process is gone (EIO)."""
    while True:
        try:
            data = os.read(master, _CHUNK)
        except BlockingIOError:
            await _ready(master, writing=False)
            continue
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return
        if not data:
            return
        sink.write(data)
        await sink.drain()


async def _ready(descriptor: int, writing: bool) -> None:
    """Wait until a descriptor can be read or written."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    add, remove = (loop.add_writer, loop.remove_writer) if writing else (loop.add_reader, loop.remove_reader)
    add(descriptor, _settle, ready)
    try:
        await ready
    finally:
        remove(descriptor)


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
