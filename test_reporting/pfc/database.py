"""Which databases to use, by their URLs. SQLAlchemy is imported when one is opened, not before."""
from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tests.common.pfc.record.records import Record
from tests.common.pfc.record.run import Run

from .errors import StoreError

if TYPE_CHECKING:
    from .store import Store

ENVIRONMENT = "PFC_REPORT_DB"
DEFAULT_URL = "sqlite:///results/pfc.db"
SQLITE_FILE = "sqlite:///"
KUSTO_FOLDER = "kusto:///"
POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")
FORMS = (f"a file, {SQLITE_FILE}PATH, for instance {DEFAULT_URL}, a server, postgresql://USER@HOST/DATABASE, "
         f"a folder of files for Kusto, {KUSTO_FOLDER}PATH, or a Kusto cluster, kusto+https://CLUSTER/DATABASE")
Urls = str | Sequence[str] | None
"""One URL, several (also in one text, with white space between them), or None: $PFC_REPORT_DB, else the default."""


class Sink(Protocol):
    """What records are delivered to. Delivering twice does what delivering once does."""

    @property
    def url(self) -> str:
        """Its URL, without password."""

    def deliver(self, run: Run, records: Sequence[Record]) -> int:
        """Store a run and those of its records that are not there yet; returns how many those were.

        Raises:
            StoreError: nothing of this was stored.
        """


def database_urls(urls: Urls = None) -> tuple[str, ...]:
    """The URLs of all databases to use, each once."""
    given = urls or os.environ.get(ENVIRONMENT) or DEFAULT_URL
    texts = [given] if isinstance(given, str) else given
    found = [url for text in texts for url in re.split(r"\s+(?=[a-z][a-z0-9+.-]*:/)", text.strip()) if url]
    return tuple(dict.fromkeys(found)) or (DEFAULT_URL,)


def results_folder(urls: Urls = None) -> Path:
    """Where runs are kept that were not given a folder: beside an embedded database, else `results`."""
    files = [file for file in map(database_file, database_urls(urls)) if file]
    return files[0].parent if files else Path("results")


def database_file(url: str) -> Path | None:
    """The file of an embedded database; None for any other."""
    name = url.removeprefix(SQLITE_FILE).partition("?")[0]
    return Path(name) if url.startswith(SQLITE_FILE) and name and name != ":memory:" else None


def open_sink(url: str) -> Sink:
    """Open whatever a URL names.

    Raises:
        StoreError: one sentence that names it (never its password) and what is wrong.
    """
    if url.startswith("kusto:"):
        return _open_kusto(url)
    if url.startswith("kusto+"):
        return _open_cluster(url)
    return open_store(url)


def open_store(urls: Urls = None, must_exist: bool = False) -> Store:
    """Open the first SQL database of these, creating its tables where they are missing.

    Args:
        urls: as `database_urls` takes them.
        must_exist: refuse an embedded database that is not there, instead of creating it.

    Raises:
        StoreError: one sentence that names the database (never its password) and what is wrong.
    """
    chosen = next((url for url in database_urls(urls) if not url.startswith("kusto")), None)
    if chosen is None:
        raise StoreError(f"Kusto, or files for it, cannot be queried here; {ENVIRONMENT} or --db must name {FORMS}")
    scheme = chosen.partition(":")[0]
    if scheme == "sqlite":
        _prepare_file(chosen, must_exist)
    elif scheme in POSTGRESQL:
        chosen = "postgresql+psycopg:" + chosen.partition(":")[2]
    else:
        raise StoreError(f"database scheme '{scheme}' is not supported; it must be {FORMS}")
    return _open(chosen, scheme)


def _open(url: str, scheme: str) -> Store:
    try:
        from sqlalchemy.exc import ArgumentError

        from .store import Store
    except ImportError as error:
        raise StoreError(f"a {scheme} database cannot be used: SQLAlchemy is not installed ({error})") from error
    try:
        return Store(url)
    except ImportError as error:
        raise StoreError(f"a {scheme} database cannot be used: its driver is not installed ({error})") from error
    except (ArgumentError, ValueError) as error:  # their texts may hold the password
        raise StoreError(f"the URL of a {scheme} database cannot be read; it must be {FORMS}") from error


def _prepare_file(url: str, must_exist: bool) -> None:
    path = database_file(url)
    if path is None:
        raise StoreError(f"database '{url}' names no file; it must be {SQLITE_FILE}PATH, for instance {DEFAULT_URL}")
    if must_exist and not path.is_file():
        raise StoreError(f"there is no database {path} yet; a run creates it, {ENVIRONMENT} or --db names another one")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"database {path} cannot be created: {error.strerror}") from error


def _open_kusto(url: str) -> Sink:
    from .kusto import KustoFiles
    name = url.removeprefix(KUSTO_FOLDER)
    if not name or name == url:
        raise StoreError(f"'{url}' names no folder; it must be {KUSTO_FOLDER}PATH, for instance "
                         f"{KUSTO_FOLDER}results/kusto")
    return KustoFiles(Path(name))


def _open_cluster(url: str) -> Sink:
    try:
        from .kusto_cluster import KustoCluster
    except ImportError as error:
        raise StoreError(f"{url} cannot be used: the extra kusto is not installed ({error})") from error
    return KustoCluster(url)
