"""Verdicts of a qualification: stored in databases, reported, shown. `docs/reporting.md` describes all of it.

Nothing here needs more than the standard library until a database is opened.
"""
from __future__ import annotations

from .delivery import RunDelivery
from .errors import ReportingError, StoreError
from .final_metrics import report_final_metrics
from .page import write_page
from .provenance import provenance

__all__ = ["ReportingError", "RunDelivery", "StoreError", "provenance", "report_final_metrics", "write_page"]
