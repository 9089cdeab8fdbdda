"""The exceptions of the reporting package; the text of each is one sentence for the user."""
from __future__ import annotations


class ReportingError(Exception):
    """Something that was asked of the reporting cannot be done."""


class RecordError(ReportingError):
    """A record is not what its schema says; the sentence names file, line and field."""


class SpoolError(ReportingError):
    """A file of JSON lines cannot be written or read."""


class StoreError(ReportingError):
    """A database cannot be reached, written or read."""
