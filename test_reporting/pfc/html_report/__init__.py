"""The HTML report: one file that needs nothing else. `docs/reporting.md` describes it."""
from __future__ import annotations

from .report import Written, write_report

__all__ = ["Written", "write_report"]
