"""Unit tests of `tests/common/pfc`: a fake switch, a fake traffic generator and recorded command output.

`tests/pytest.ini` of sonic-mgmt writes `funcNamewithModule` into its log lines. A plugin of sonic-mgmt's conftest gives
each record that field; these tests run with `--noconftest`, so the records bring it along here.
"""

from __future__ import annotations

import logging
from typing import Any


class NamedLogRecord(logging.LogRecord):
    """A log record with the field that sonic-mgmt's log format names."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        """As `logging.LogRecord`."""
        super().__init__(*args, **fields)
        self.funcNamewithModule = f"{self.module}.{self.funcName}"


if logging.getLogRecordFactory() is logging.LogRecord:
    logging.setLogRecordFactory(NamedLogRecord)
