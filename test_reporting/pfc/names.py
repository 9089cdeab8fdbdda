"""Names made of whatever a run or job is called: for folders, and as ids."""
from __future__ import annotations

import re
from hashlib import sha256

from tests.common.pfc.record.parsing import LONGEST_RUN_ID

LONGEST_FOLDER_NAME = 80
PAGE = "report.html"
"""Of a run, in its folder."""


def short_id(text: str) -> str:
    """A run id for any text: itself where it is not too long, else the beginning of it and a digest."""
    return text if len(text) <= LONGEST_RUN_ID else f"{text[:LONGEST_RUN_ID // 2]}-{_digest(text)}"


def folder_name(run_id: str) -> str:
    """A file name for any run id: itself where it is plain and short, else a readable part of it and a digest."""
    plain = re.sub(r"[^A-Za-z0-9._:+-]", "_", run_id)[:LONGEST_FOLDER_NAME].lstrip(".")
    return plain if plain == run_id else f"{plain}-{_digest(run_id)}"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
