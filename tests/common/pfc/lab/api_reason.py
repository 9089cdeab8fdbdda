"""What an OTG API server says when it refuses something, as one sentence."""

from __future__ import annotations

import re
from typing import Any


def api_reason(api: Any, error: Exception) -> str:
    """One sentence from what snappi raised: OTG's own errors where there are some; of a call stack (the IxNetwork
    extension puts one into its errors) what stands at its end."""
    details = None
    if hasattr(api, "from_exception"):
        details = api.from_exception(error)
    if details is not None and details.errors:
        return "; ".join(_after_the_stack(one) for one in details.errors)
    text = _after_the_stack(str(error)) or type(error).__name__
    system_error = re.search(r"\[Errno \d+\] ([\w ]+)", text)  # what a chain of HTTP libraries wrapped
    return system_error[1] if system_error else text


def _after_the_stack(text: str) -> str:
    """On one line, without the call stack that it may begin with: place, source and perhaps a line of carets each."""
    return " ".join(re.split(r'\n  File "[^\n]*\n[^\n]*(?:\n[ ~^]*\^[ ~^]*)?(?=\n)', text)[-1].split())
