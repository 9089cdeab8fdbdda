"""The exceptions of the record library."""

from __future__ import annotations


class RecordError(Exception):
    """Keeps a record from being made, kept or read; `str()` is one sentence: the file, line and field, what was found,
    what would be right."""


class RecordsUnwritable(RecordError):
    """A file of a run cannot be written."""
