"""The type of columns that hold JSON: `jsonb` in PostgreSQL, text in SQLite. For Python it is JSON text in both."""
from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Dialect, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine


class JsonAsText(FunctionElement[str]):
    """SQL of a JSON column as text."""

    name = "json_as_text"
    inherit_cache = True
    type = Text()


@compiles(JsonAsText)
def _as_it_is(element: JsonAsText, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(JsonAsText, "postgresql")
def _cast(element: JsonAsText, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **options)} AS TEXT)"


class JsonText(TypeDecorator[str]):
    """Takes and gives JSON text. PostgreSQL orders the keys of what it gives in its own way."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column's type in this database."""
        return dialect.type_descriptor(JSONB() if dialect.name == "postgresql" else Text())

    def bind_processor(self, dialect: Dialect) -> None:
        """A value goes in as the text that it is."""

    def result_processor(self, dialect: Dialect, coltype: Any) -> None:
        """A value comes out as text."""

    def column_expression(self, column: ColumnElement[str]) -> ColumnElement[str]:
        """SQL of what a query gives."""
        return JsonAsText(column)
