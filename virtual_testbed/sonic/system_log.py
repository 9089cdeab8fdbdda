"""A switch's system log, /var/log/syslog: what its programs say, and what orchagent would.

Lines have the form of SONiC's rsyslog (sonic-buildimage `rsyslog.conf.j2`, with the year since #18099): time, host,
severity, tag and text. The time is the wall clock's, as that of `date` on the switch. Every line is on the disk when
`write` returns. A log that has grown large becomes `syslog.1`, and the one before is gone.

The switch's commands may put anything in the place of the file and its folders, and who writes may be root of the
machine: no link is followed, and only a regular file of one name is written into.
"""
from __future__ import annotations

import asyncio
import contextlib
import datetime
import logging
import os
import re
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

FOLDERS, FILE = ("var", "log"), "syslog"
"""Below the switch's root folder."""
SOCKET_FOLDER, SOCKET = "dev", "log"
ERROR, NOTICE, INFO = "ERR", "NOTICE", "INFO"
SEVERITIES = ("EMERG", "ALERT", "CRIT", ERROR, "WARNING", NOTICE, INFO, "DEBUG")
"""By number (RFC 5424)."""
_MESSAGE = re.compile(r"<(\d{1,3})>(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )?(.*)", re.DOTALL)
_MOST_BYTES = 16 << 20
_DATAGRAM_BYTES = 1 << 16
_AT_ONCE = 50
"""Datagrams that are taken before the event loop does something else."""
_log = logging.getLogger(__name__)


class SystemLog:
    """The file; several processes may write into it."""

    def __init__(self, root: Path, host: str) -> None:
        """Nothing is written yet. `root`: the switch's root folder; `host`: its name."""
        self._root = root
        self._host = host

    def write(self, severity: str, text: str) -> None:
        """Add a line. One that cannot be written goes into the process' own log. `text`: with the program's tag."""
        line = line_of(datetime.datetime.now(datetime.UTC), self._host, severity, text)
        try:
            with self._folder() as folder:
                _rotate(folder)
                _append(folder, f"{line}\n".encode(errors="surrogateescape"))  # Redis may have other bytes than UTF-8
        except OSError as error:
            _log.warning("%s: not in the system log (%s): %r", self._host, error, line)

    @contextlib.contextmanager
    def _folder(self) -> Iterator[int]:
        """A descriptor of the log's folder, which is made where it is not there. Raises OSError."""
        with contextlib.ExitStack() as opened:
            folder = _open_folder(self._root, None, opened)
            for name in FOLDERS:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=folder)
                folder = _open_folder(name, folder, opened)
            yield folder

    def take(self, datagram: bytes) -> None:
        """Add what a program has sent."""
        self.write(*read_datagram(datagram))


def _open_folder(name: str | Path, below: int | None, opened: contextlib.ExitStack) -> int:
    follow = os.O_NOFOLLOW if below is not None else 0
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | follow, dir_fd=below)
    opened.callback(os.close, descriptor)
    return descriptor


def _rotate(folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        if os.stat(FILE, dir_fd=folder, follow_symlinks=False).st_size > _MOST_BYTES:
            os.replace(FILE, f"{FILE}.1", src_dir_fd=folder, dst_dir_fd=folder)


def _append(folder: int, line: bytes) -> None:
    """Add to the file, which is of the folder's owner. Raises OSError, also where it is no regular file of one name."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(FILE, flags, 0o644, dir_fd=folder)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise OSError(f"{FILE} is no regular file of one name")
        owner = os.fstat(folder)
        if os.geteuid() == 0 and (found.st_uid, found.st_gid) != (owner.st_uid, owner.st_gid):
            os.fchown(descriptor, owner.st_uid, owner.st_gid)  # the switch's server may have become another account
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def line_of(when: datetime.datetime, host: str, severity: str, text: str) -> str:
    """A line; control characters are `#` and three octal digits, as rsyslog writes them."""
    plain = re.sub(r"[\x00-\x1f\x7f]", lambda found: f"#{ord(found[0]):03o}", text.rstrip("\n"))
    return f"{when:%Y %b} {when.day:2} {when:%H:%M:%S.%f} {host} {severity} {plain}"


def read_datagram(datagram: bytes) -> tuple[str, str]:
    """Severity and text of what a C library, `logger` or Python sends to /dev/log: `<PRIORITY>`, the time or none, the
    text. Without a priority it is a notice, as in rsyslog.
    """
    said = datagram.rstrip(b"\0").decode(errors="replace")
    found = _MESSAGE.fullmatch(said)
    return (SEVERITIES[int(found[1]) % len(SEVERITIES)], found[2]) if found else (NOTICE, said)


@contextlib.contextmanager
def receiving(log: SystemLog, folder: Path) -> Iterator[None]:
    """Programs can write into a log by the socket `log` of a folder, while the running event loop serves. A folder in
    which there can be none changes nothing.
    """
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.setblocking(False)
        try:
            (folder / SOCKET).unlink(missing_ok=True)
            _bind(listener, folder)
        except OSError as error:
            _log.warning("programs cannot write into the system log: no socket in %s: %s", folder, error)
            yield
            return
        loop.add_reader(listener, _read, listener, log)
        try:
            yield
        finally:
            loop.remove_reader(listener)
            (folder / SOCKET).unlink(missing_ok=True)


def _bind(listener: socket.socket, folder: Path) -> None:
    """Make the socket, open to every account of the switch, at a path of any length. Raises OSError."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        listener.bind(f"/proc/self/fd/{descriptor}/{SOCKET}")
        (folder / SOCKET).chmod(0o666)
    finally:
        os.close(descriptor)


def _read(listener: socket.socket, log: SystemLog) -> None:
    """Take some of what is there; of more the event loop tells again."""
    with contextlib.suppress(BlockingIOError):
        for _ in range(_AT_ONCE):
            log.take(listener.recv(_DATAGRAM_BYTES))
