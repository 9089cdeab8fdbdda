"""Connections and transactions, in SQLite and in PostgreSQL: all that differs between the two is here.

SQLite has a connection for each transaction, so that no file stays open. A connection to a server costs more than a
record does there: one is kept, tried before it is used again, and never used or closed by a forked process.
"""
from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from .errors import StoreError

BUSY_SECONDS = 5
"""How long a database that does not answer, or a lock that another writer has, is waited for."""
STATEMENT_SECONDS = 60
"""How long one statement that writes may take on a server; a batch takes well under a second."""
ANSWER_SECONDS = STATEMENT_SECONDS + BUSY_SECONDS
"""How long a server may say nothing at all while it is asked: by then a write has met its own limit, and a read of the
tables, which takes seconds at most, is given up."""
BUSY = "pfc busy"
"""In the `info` of a connection: its statements may take as long as they do."""
CREATION = 6_303_841
"""PostgreSQL's advisory lock of whoever creates the tables or changes them (any number that nobody else has)."""


@dataclass(frozen=True)
class Begin:
    """The statements that begin a transaction: to read, to write, and to create or change tables."""

    read: str
    write: str
    change: str


# SQLite: transactions are begun by hand, because Python's driver begins none before a CREATE and none before a SELECT.
# A writer takes the lock at once, so that what it reads before its first write stays true.
BEGIN = {"sqlite": Begin("BEGIN", "BEGIN IMMEDIATE", "BEGIN IMMEDIATE"),
         "postgresql": Begin("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
                             "SET LOCAL lock_timeout = '{busy}s'; SET LOCAL statement_timeout = '{statement}s'",
                             "SET LOCAL lock_timeout = '{statement}s'; SELECT pg_advisory_xact_lock({creation})")}


class Database:
    """Where a database is, and transactions in it."""

    def __init__(self, url: str) -> None:
        """Nothing is connected yet; `url` is of SQLite or PostgreSQL."""
        self.url = make_url(url).render_as_string(hide_password=True).replace("+psycopg:", ":", 1)
        self._engine = _engine(make_url(url))
        self._begin = BEGIN[self._engine.dialect.name]
        self._process = os.getpid()
        weakref.finalize(self, _close, self._engine, self._process)

    def reading(self, doing: str = "read") -> AbstractContextManager[Connection]:
        """A connection whose answers are all of the same moment.

        Raises:
            StoreError: the database cannot be `doing`.
        """
        return self._transaction(doing, self._begin.read)

    def writing(self) -> AbstractContextManager[Connection]:
        """A connection all whose changes are made together, or none of them.

        Raises:
            StoreError: nothing of it was stored.
        """
        return self._transaction("written", self._begin.write)

    def changing(self) -> AbstractContextManager[Connection]:
        """A connection that creates tables or changes them, while nobody else does, however long that takes.

        Raises:
            StoreError: nothing of it was done.
        """
        return self._transaction("opened", self._begin.change, is_busy=True)

    @contextmanager
    def _transaction(self, doing: str, begin: str, is_busy: bool = False) -> Iterator[Connection]:
        if self._process != os.getpid():
            self._engine.dispose(close=False)
            self._process = os.getpid()
        statement = begin.format(busy=BUSY_SECONDS, statement=STATEMENT_SECONDS, creation=CREATION)
        try:
            with self._engine.begin() as connection:
                connection.exec_driver_sql(statement)
                with _busy(connection.info, is_busy):
                    yield connection
        except (SQLAlchemyError, OSError) as error:
            raise StoreError(f"database {self.url} cannot be {doing}: {_reason(error)}") from error


def insert_or(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that can say what becomes of a row that is there already (`on_conflict_...`)."""
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        return create_engine(url, poolclass=NullPool,
                             connect_args={"timeout": BUSY_SECONDS, "isolation_level": None})
    options: dict[str, Any] = {"connect_timeout": BUSY_SECONDS, "tcp_user_timeout": 2000 * BUSY_SECONDS,
                               "application_name": "pfc-report", "client_encoding": "utf8"}
    engine = create_engine(url, pool_size=1, max_overflow=0, pool_pre_ping=True, use_native_hstore=False,
                           connect_args={name: value for name, value in options.items() if name not in url.query})
    event.listen(engine, "do_connect", _connect)
    return engine


def _connect(dialect: Any, record: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Connect to a server; on the connection no answer is waited for for ever, not while it is tried either."""
    from .answered import AnsweredConnection
    connection = AnsweredConnection.connect(*arguments, **options)
    connection.limit_s, connection.may_take_long = ANSWER_SECONDS, lambda: bool(record.info.get(BUSY))
    return connection


@contextmanager
def _busy(info: MutableMapping[Any, Any], is_busy: bool) -> Iterator[None]:
    """What `info` says of a connection meanwhile."""
    info[BUSY] = is_busy
    try:
        yield
    finally:
        info[BUSY] = False


def _close(engine: Engine, process: int) -> None:
    """Close what is open, where this process opened it: another's connection must stay as it is."""
    if process == os.getpid():
        engine.dispose()


def _reason(error: Exception) -> str:
    """The first line of what the database said; psycopg puts a line for each address that it tried."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return (lines or [type(error).__name__])[0]
