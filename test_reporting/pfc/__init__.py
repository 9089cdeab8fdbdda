"""Verdicts of a qualification: kept as records, stored in a database, shown. `docs/reporting.md` describes all of it.

Nothing here needs more than the standard library until a database is opened.
"""
from __future__ import annotations

from .errors import RecordError, ReportingError, SpoolError, StoreError
from .listener import Listener, MetricVerdict, Outcome
from .verdict import Status, Verdict, aggregate

__all__ = ["Listener", "MetricVerdict", "Outcome", "RecordError", "ReportingError", "SpoolError", "Status",
           "StoreError", "Verdict", "aggregate"]
