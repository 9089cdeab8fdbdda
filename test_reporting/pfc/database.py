"""Which database: its URL, and opening it. SQLAlchemy is imported only when one is opened."""
from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import StoreError

if TYPE_CHECKING:
    from .store import Store

ENVIRONMENT = "PFC_REPORT_DB"
DEFAULT_URL = "sqlite:///results/pfc.db"
SQLITE_FILE = "sqlite:///"


def database_url(url: str | None = None) -> str:
    """The database to use: the argument, else $PFC_REPORT_DB, else `results/pfc.db` in the current directory."""
    return url or os.environ.get(ENVIRONMENT) or DEFAULT_URL


def results_folder(url: str | None = None) -> Path:
    """Where runs are kept that were not given a folder: beside an embedded database, else `results`."""
    path = database_file(database_url(url))
    return path.parent if path else Path("results")


def database_file(url: str) -> Path | None:
    """The file of an embedded database; None for any other."""
    name = url.removeprefix(SQLITE_FILE).partition("?")[0]
    return Path(name) if url.startswith(SQLITE_FILE) and name and name != ":memory:" else None


def open_store(url: str | None = None, must_exist: bool = False) -> Store:
    """Open the database, creating its tables where they are missing.

    Args:
        url: a database URL; None for the default.
        must_exist: refuse an embedded database that is not there, instead of creating it.

    Raises:
        StoreError: one sentence that names the database (never its password) and what is wrong.
    """
    chosen = database_url(url)
    if not chosen.startswith("sqlite:"):
        scheme = chosen.partition(":")[0]
        raise StoreError(f"database scheme '{scheme}' is not supported; "
                         f"it must be a file, {SQLITE_FILE}PATH, for instance {DEFAULT_URL}")
    path = database_file(chosen)
    if path is None:
        raise StoreError(f"database '{chosen}' names no file; it must be {SQLITE_FILE}PATH, for instance {DEFAULT_URL}")
    if must_exist and not path.is_file():
        raise StoreError(f"there is no database {path} yet; a run creates it, {ENVIRONMENT} or --db names another one")
    try:
        from .store import Store
    except ImportError as error:
        raise StoreError(f"database '{chosen}' cannot be used: SQLAlchemy is not installed ({error})") from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"database {path} cannot be created: {error.strerror}") from error
    return Store(chosen)
