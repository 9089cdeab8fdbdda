"""The exceptions of the reporting package; the text of each is one sentence for the user.

Whoever handles `RecordError`, the record library's, handles all of them.
"""
from __future__ import annotations

from tests.common.pfc.record.errors import RecordError


class ReportingError(RecordError):
    """Something that was asked of the reporting cannot be done."""


class FileError(ReportingError):
    """A file that is no run's own, a bundle or someone else's metrics, cannot be written or read."""


class StoreError(ReportingError):
    """A database cannot be reached, written or read."""
