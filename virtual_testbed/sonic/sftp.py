"""SFTP and scp: the files that the switch's commands see."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import asyncssh

from virtual_testbed.sonic.command_wrappers import SWITCH_PATHS


class SwitchFiles(asyncssh.SFTPServer):
    """File transfers of one session.

    In a root view nothing is to do: the server lives in it. Elsewhere the switch's own folders are below `prefix`,
    other paths are the host's with the rights of the account.
    """

    def __init__(self, channel: asyncssh.SSHServerChannel[Any], prefix: Path) -> None:
        super().__init__(channel)
        self._prefix = prefix

    def map_path(self, path: bytes) -> bytes:
        """From the client's path to the real one."""
        text = path.decode(errors="surrogateescape")
        if self._prefix == Path("/") or not text.startswith("/") or Path(text).is_relative_to(self._prefix):
            return path
        if any(Path(text).is_relative_to(folder) for folder in SWITCH_PATHS):
            return str(self._prefix / text.lstrip("/")).encode(errors="surrogateescape")
        return path

    def exit(self) -> None:
        """End the session with exit status 0, which OpenSSH's scp waits for."""
        self.channel.exit(0)
