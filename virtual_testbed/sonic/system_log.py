"""A switch's system log, /var/log/syslog: what its programs say, and what orchagent would.

Lines have the form of SONiC's rsyslog (sonic-buildimage `rsyslog.conf.j2`, with the year since #18099): time, host,
severity, tag and text. The time is the wall clock's, as that of `date` on the switch. Every line is on the disk when
`write` returns. A log that has grown large becomes `syslog.1`, and the one before is gone.
"""
from __future__ import annotations

import asyncio
import contextlib
import datetime
import logging
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

PATH = "var/log/syslog"
"""Below the switch's root folder."""
SOCKET_FOLDER, SOCKET = "dev", "log"
ERROR, NOTICE, INFO = "ERR", "NOTICE", "INFO"
SEVERITIES = ("EMERG", "ALERT", "CRIT", ERROR, "WARNING", NOTICE, INFO, "DEBUG")
"""By number (RFC 5424)."""
_MESSAGE = re.compile(r"<(\d{1,3})>(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )?(.*)", re.DOTALL)
_MOST_BYTES = 16 << 20
_DATAGRAM_BYTES = 1 << 16
_log = logging.getLogger(__name__)


class SystemLog:
    """The file; several processes may write into it."""

    def __init__(self, path: Path, host: str) -> None:
        """Nothing is written yet. `host`: the switch's name."""
        self._path = path
        self._host = host

    def write(self, severity: str, text: str) -> None:
        """Add a line. One that cannot be written goes into the process' own log. `text`: with the program's tag."""
        line = line_of(datetime.datetime.now(datetime.UTC), self._host, severity, text)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._rotate()
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                if os.geteuid() == 0:  # where the switch's server has become another account, its file this is
                    folder = self._path.parent.stat()
                    os.fchown(descriptor, folder.st_uid, folder.st_gid)
                os.write(descriptor, f"{line}\n".encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            _log.warning("%s: not in the system log (%s): %s", self._host, error, line)

    def take(self, datagram: bytes) -> None:
        """Add what a program has sent."""
        self.write(*read_datagram(datagram))

    def _rotate(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self._path.stat().st_size > _MOST_BYTES:
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))


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
    """Take all that is there."""
    with contextlib.suppress(BlockingIOError):
        while True:
            log.take(listener.recv(_DATAGRAM_BYTES))
